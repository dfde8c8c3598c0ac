"""What is installed, and with what: packages, ranges for users, pins for development."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
NEEDED = [Requirement(text) for text in PROJECT["project"]["dependencies"]]
WANTED = NEEDED + [Requirement(text) for extra in EXTRAS.values() for text in extra]
PINS = {
    canonicalize_name(name): Version(version)
    for name, version in re.findall(
        r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE
    )
}


def range_of(name: str) -> Requirement:
    return next(needed for needed in NEEDED if needed.name == name)


@pytest.mark.parametrize("version", ["6.9.1", "6.11.0", "6.11.1", "6.12.0"])
def test_releases_of_qt_known_to_be_bad_are_refused(version: str) -> None:
    assert version not in range_of("PySide6-Essentials").specifier


@pytest.mark.parametrize("version", ["6.10.0", "6.11.2"])
def test_other_releases_of_qt_are_taken(version: str) -> None:
    assert version in range_of("PySide6-Essentials").specifier


def test_qt_leaves_reference_counts_alone() -> None:
    """PySide6 6.12.0 on Python 3.11 takes one of None's away at every call, until Python aborts.

    From Python 3.12 on None is immortal and its count constant.
    """
    program = (
        "import sys\n"
        "from PySide6.QtWidgets import QApplication, QWidget\n"
        "application = QApplication([])\n"
        "widget = QWidget()\n"
        "before = [sys.getrefcount(one) for one in (None, True, False)]\n"
        "for _ in range(100):\n"
        "    widget.setVisible(True)\n"
        "    widget.setVisible(False)\n"
        "after = [sys.getrefcount(one) for one in (None, True, False)]\n"
        "print(max(abs(a - b) for a, b in zip(after, before)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True
    )
    assert int(done.stdout) < 20


def test_pins_are_within_the_ranges_for_users() -> None:
    for requirement in WANTED:
        pin = PINS.get(canonicalize_name(requirement.name))
        assert pin is not None, f"{requirement.name} is not in constraints.txt"
        assert pin in requirement.specifier, f"{requirement} excludes {pin} of constraints.txt"


def test_every_package_is_installed_and_nothing_else() -> None:
    """A folder with an __init__.py that pyproject.toml forgets would be missing from the wheel."""
    listed = set(PROJECT["tool"]["setuptools"]["packages"])
    roots = {name.partition(".")[0] for name in listed}
    assert roots == {"assets", "geodp_app", "geometry", "learners"}
    found = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for root in roots
        for path in (ROOT / root).rglob("__init__.py")
    }
    assert listed == found


def index_page(*addresses: str) -> str:
    """README as a package index shows it."""
    page: str = runpy.run_path(str(ROOT / "setup.py"))["index_page"](
        (ROOT / "README.md").read_text(encoding="utf-8"), *addresses
    )
    return page


def test_no_link_of_the_page_on_an_index_leads_nowhere() -> None:
    bare = index_page()
    links = re.findall(r"\]\(([^)\s]+)\)", bare)
    assert links
    assert all(re.match("https?:|#", link) for link in links)
    assert "![" not in bare
    assert (
        "The full tables, with the cover, forests, cities and every loss:\ndocs/accuracy.md" in bare
    )


def test_with_addresses_all_links_and_pictures_of_the_page_are_absolute() -> None:
    shown = index_page("https://pages.example/", "https://raw.example/")
    assert "![A run: triangle after triangle" in shown
    assert "](https://raw.example/docs/pictures/run.gif)" in shown
    assert "[docs/accuracy.md](https://pages.example/docs/accuracy.md)" in shown
    assert "](https://pages.example/docs/guide.md#notebooks)" in shown
    own = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", shown)
    assert len(links) == len(re.findall(r"\]\(([^)\s]+)\)", own))
    assert all(re.match("https?:|#", link) for link in links)


def test_setup_installs_the_pins() -> None:
    setup = (ROOT / ".ci" / "setup").read_text(encoding="utf-8")
    assert "--constraint constraints.txt" in setup
