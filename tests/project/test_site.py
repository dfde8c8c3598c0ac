"""The site that `make docs` builds: complete, without a dead link, and by itself.

The build takes half a minute and is slow; that links of the Markdown lead somewhere is tested fast
by test_docs.
"""

import importlib
import re
import subprocess
import sys
from fnmatch import fnmatch
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

import geodp

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")]


def entries(page: str) -> list[str]:
    """What the indexes of a page list."""
    text = (DOCS / page).with_suffix(".md").read_text(encoding="utf-8")
    found = re.findall(r"^```\{toctree\}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in found for line in block.splitlines()]
    return [(Path(page).parent / line).as_posix() for line in lines if line and line[0] != ":"]


def documented() -> dict[str, str]:
    """The names that pages of the reference document in full, with their pages."""
    names: dict[str, str] = {}
    for path in sorted((DOCS / "reference").glob("*.md")):
        module = ""
        for kind, name in re.findall(r"^\.\. (\w+):: (\S+)", path.read_text("utf-8"), re.MULTILINE):
            if kind == "currentmodule":
                module = f"{name}."
            elif kind.startswith("auto") and kind != "autosummary":
                full = name if name.startswith(("geodp.", "learners.")) else module + name
                assert full not in names, f"{full} is documented twice"
                names[full] = path.stem
    return names


def test_every_page_is_in_the_index() -> None:
    patterns = [entry for page in PAGES for entry in entries(page)]
    assert len(patterns) > 30
    left_out = [page for page in PAGES if not any(fnmatch(page, entry) for entry in patterns)]
    assert left_out == ["index"], "list them in a toctree of docs/index.md"


def test_every_question_is_on_the_first_page() -> None:
    first = (DOCS / "index.md").read_text(encoding="utf-8")
    for path in (DOCS / "questions").glob("*.md"):
        assert f"(questions/{path.name})" in first, path.name


def test_a_question_begins_with_a_short_answer() -> None:
    for path in (DOCS / "questions").glob("*.md"):
        title, _, answer = path.read_text(encoding="utf-8").split("\n")[:3]
        assert title.startswith("# ")
        assert answer.startswith("**Short answer.** "), path.name


def test_every_public_name_is_in_the_reference() -> None:
    names = documented()
    for name in geodp.__all__:
        assert name == "__version__" or f"geodp.{name}" in names, name
    for full in names:
        module, _, name = full.rpartition(".")
        assert getattr(importlib.import_module(module), name).__doc__, full


# -- the site itself ---------------------------------------------------------------------------


class Page(HTMLParser):
    """What a page links to, what it loads, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if "src" in values:
            self.loaded.append(values["src"])
        if tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(values["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built, with warnings as errors."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run(
        [*build, str(DOCS), str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_no_link_of_the_site_is_dead_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 100
    for path, page in pages.items():
        for written in page.links + page.loaded:
            link, anchor = urldefrag(unquote(written))
            if re.match(r"[a-z]+:", link):
                assert written not in page.loaded or link.startswith("data:"), (path.name, written)
                continue
            target = (path.parent / link.partition("?")[0]).resolve() if link else path
            if "modules" in target.relative_to(site).parts:  # pdoc's: built beside it
                continue
            assert target.exists(), f"{path.relative_to(site)} links to {written}"
            if anchor and target.suffix == ".html":
                assert anchor in pages[target].anchors, f"{path.relative_to(site)}: {written}"
    for path in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?https?:|@import", path.read_text("utf-8")), path.name
