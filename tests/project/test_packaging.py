"""What is installed, with what, and what of it is loaded: packages, ranges, pins."""

import json
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from geodp_app.cli import VERBS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
NEEDED = [Requirement(text) for text in PROJECT["project"]["dependencies"]]
WANTED = NEEDED + [Requirement(text) for extra in EXTRAS.values() for text in extra]
PINS = {
    canonicalize_name(name): Version(version)
    for name, version in re.findall(
        r"^([\w.-]+)==(\S+)", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE
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
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
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
    assert "Every loss, cities, covers and methods without privacy: docs/accuracy.md." in " ".join(
        bare.split()
    )


def test_with_addresses_all_links_and_pictures_of_the_page_are_absolute() -> None:
    shown = index_page("https://pages.example/", "https://raw.example/")
    assert "![A run: triangle after triangle" in shown
    assert "](https://raw.example/docs/pictures/run.gif)" in shown
    assert "[docs/accuracy.md](https://pages.example/docs/accuracy.md)" in shown
    assert "](https://pages.example/docs/notebooks/index.md)" in shown
    own = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", shown)
    assert len(links) == len(re.findall(r"\]\(([^)\s]+)\)", own))
    assert all(re.match("https?:|#", link) for link in links)


def test_every_pin_has_hashes_and_setup_asks_for_them() -> None:
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pins = re.findall(r"^([\w.-]+==.*(?:\n    --hash=sha256:[0-9a-f]{64}.*)+)$", text, re.MULTILINE)
    assert len(pins) == len(re.findall(r"^[\w.-]+==", text, re.MULTILINE)) > 60
    setup = (ROOT / ".ci" / "setup").read_text(encoding="utf-8")
    assert "--require-hashes --requirement constraints.txt" in setup


def test_versions_are_those_of_the_pins() -> None:
    done = subprocess.run([ROOT / ".ci" / "versions"], capture_output=True, text=True, check=True)
    found = [Requirement(line) for line in done.stdout.splitlines()]
    assert {canonicalize_name(each.name) for each in found} == set(PINS)
    assert all(PINS[each.name] in each.specifier for each in found if each.marker is None)


# -- without Qt --------------------------------------------------------------------------------

#: A Python in which there is no Qt, running commands one after the other.
_NO_QT = """
import importlib.abc, json, sys

class NoQt(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("PySide6", "pyqtgraph", "shiboken6"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NoQt())
from geodp_app.cli import main
for command in json.load(sys.stdin):
    print(main(command), file=sys.stderr)
"""


def test_commands_run_where_there_is_no_qt(tmp_path: Path) -> None:
    points, out = str(tmp_path / "p.csv"), str(tmp_path / "l.geojson")
    quiet = ["--seed", "1", "--quiet"]
    target = str(ROOT / "assets/examples/tri.geojson")
    done = {
        "sample": ["--target", target, "--n", "200", "--grid", "32", *quiet, "-o", points],
        "learn": [points, *quiet, "-o", out],
        "evaluate": [out, points],
        "predict": [out, points, "--quiet", "-o", str(tmp_path / "q.csv")],
        "areas": [out, "--districts", out, "--quiet"],
        "compare": [points, "--learners", "quadtree", *quiet],
        "rehearse": ["--target", target, "--n", "9", "--learners", "quadtree", *quiet],
        "plan": ["--alpha", ".1"],
        "learners": [],
        "plugin": ["--quiet", "-o", str(tmp_path / "p.zip")],
        "--version": [],
    }
    refused = {"render": [out, "-o", str(tmp_path / "h.png")], "shot": ["-o", "w.png"]}
    commands = [[verb, *options] for verb, options in {**done, **refused}.items()]
    outcome = subprocess.run(
        [sys.executable, "-c", _NO_QT],
        input=json.dumps(commands), capture_output=True, text=True, check=True,
        cwd=ROOT,
    ).stderr.splitlines()  # fmt: skip
    without = "geodp was installed without its window: pip install PySide6-Essentials pyqtgraph"
    assert [line for line in outcome if without not in line] == ["0"] * len(done) + ["2"] * 2
    assert len(outcome) == len(commands) + len(refused)


def test_the_readme_names_all_that_the_command_line_needs() -> None:
    found = re.search(r"pip install --no-deps geodp.*\n.*pip install (.+)", README)
    window = {"pyqtgraph", "PySide6-Essentials"}
    assert set(found[1].split()) == {each.name for each in NEEDED} - window


# -- other people's packages -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stranger", "start"),
    [("geometry.py", ["-m", "geodp_app", "--version"]),
     ("learners/__init__.py", ["-m", "geodp_app", "--version"]),
     ("assets.py", ["-c", "import geodp"])],
)  # fmt: skip
def test_what_hides_a_package_is_named_and_not_run(tmp_path, stranger, start):
    path = tmp_path / stranger
    path.parent.mkdir(exist_ok=True)
    path.write_text("print('run')\n")
    done = subprocess.run(
        [sys.executable, *start], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == (2 if "-m" in start else 1)
    assert done.stdout == ""
    name = Path(stranger).parts[0].removesuffix(".py")
    line = done.stderr.splitlines()[-1]
    assert f"{path} hides geodp's package {name!r}: rename it" in line
    assert "-m" not in start or done.stderr.count("\n") == 1


def test_a_distribution_over_a_package_is_named(tmp_path: Path) -> None:
    """Both lie in one folder of packages, and the other one came last."""
    for name in ("assets", "geodp_app", "geometry", "learners"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "geometry/grid.py").write_text("class Cell: ...\n")
    record = tmp_path / "other_geometry-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: other-geometry\nVersion: 1.0\n")
    (record / "RECORD").write_text("geometry/grid.py,,\ngeometry/__init__.py,,\n")
    done = subprocess.run(
        [sys.executable, "-m", "geodp_app", "learners"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "other-geometry ('geometry') lies over packages of geodp" in done.stderr


# -- what a program loads before it is needed -----------------------------------------------

LEARN = """
from learners import QuadtreeLearner
try:
    QuadtreeLearner().predict([[0, 0]])
except ValueError:
    pass
QuadtreeLearner(grid=16).fit([[1, 2]], [1]).predict([[0, 0]])
"""
EVERY_LEARNER = """
import learners, learners.theory.pac, learners.theory.theorems
for name in learners.__all__:
    getattr(learners, name)
"""
DOCUMENT = """
import geodp_app.document.document, geodp_app.files.document_files
import geodp_app.files.autosave, geodp_app.files.session
"""
PARSER = "from geodp_app.cli import build_parser; build_parser()"
#: Measured: `import geodp` takes 60 ms beside numpy's own; one of these would double it.
LARGE = "PySide6 numba scipy shapely pandas matplotlib sklearn ibis"


def loaded(program: str) -> tuple[set[str], str]:
    """The modules that a program has loaded at its end, and what it says."""
    program += "\nimport sys; print(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *said, names = done.stdout.splitlines()
    return set(names.split()), "\n".join(said)


def test_programs_go_without() -> None:
    """Carried out one after the other: what one of them loads the later ones are found with."""
    steps = [
        ("import learners, learners.catalogue", "numba scipy"),
        ("import geodp; assert 'PolygonUnionLearner' in dir(geodp)", LARGE),
        ("import geodp_app.files.run_record", "numba"),
        (DOCUMENT, "numba PySide6 pyqtgraph scipy"),
        (PARSER, "PySide6 pyqtgraph numba scipy ibis duckdb pyarrow"),
        ("from geodp_app.cli import main; main(['--version'])", "scipy"),
        # numba looks up scipy's version, which loads none of its parts
        (EVERY_LEARNER, "scipy.special scipy.ndimage"),
        (LEARN, "sklearn"),
    ]
    shown = "import sys; print(); print('loaded', *sys.modules)"
    _, said = loaded("\n".join(f"{program}\n{shown}" for program, _ in steps))
    after = [set(line.split()) for line in said.splitlines() if line.startswith("loaded ")]
    for (program, without), modules in zip(steps, after, strict=True):
        assert not modules & set(without.split()), program
        assert modules & {"geodp", "geodp_app", "learners"}


def test_help_loads_no_verb_and_none_of_what_verbs_need() -> None:
    modules, said = loaded("from geodp_app.cli import main; main(['--help'])")
    verbs = {f"geodp_app.commands.{verb}" for verb in ("learn", "open")}
    assert not modules & {"numpy", "shapely", *verbs}
    assert all(f"    {verb} " in said for verb in VERBS)
