"""The documents are true of the code: links, lemmas and names exist.

That their commands and examples run: test_doc_examples.  Examples in docstrings run by themselves
(``--doctest-modules`` in pyproject.toml).
"""

import inspect
import json
import linecache
import re
import subprocess
import sys
from pathlib import Path
from typing import Self

import numpy as np
import pytest

import learners
from learners import PolygonUnionLearner
from learners.privacy.randomness import SeededRandom
from learners.tiles import tiles

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
NOTEBOOKS = sorted(ROOT.glob("docs/notebooks/*.ipynb"))
MODULES = sorted(
    path
    for folder in ("geometry", "learners", "geodp_app", "benchmarks", "tests")
    for path in (ROOT / folder).rglob("*.py")
)
PRIVACY = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
_NAME = r"(?:[A-Z]?\d+(?:\.\d+)*|[A-Z])\b"
_LEMMAS = re.compile(rf"\b[Ll]emma ({_NAME})|\b[Ll]emmas ({_NAME}(?:(?:, | and | to ){_NAME})*)")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def text_of(page: Path) -> str:
    """What a page says; of a notebook, what is not code."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".md":
        return text
    cells = (cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")
    return "\n".join("".join(cell["source"]) for cell in cells)


def slugs(page: str) -> set[str]:
    """The anchors of a page's headings, as hosts of Markdown make them."""
    headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.replace(" ", "-") for heading in plain}


def lemmas_named(text: str) -> set[str]:
    """Lemmas of docs/privacy.md that a text names; those of the sources have a dot in them."""
    flowing = re.sub(r"\s*\n[\s#]*", " ", text)
    found: set[str] = set()
    for listed in map("".join, _LEMMAS.findall(flowing)):
        for first, last in re.findall(rf"({_NAME})(?: to (\d+))?", listed):
            found |= {str(n) for n in range(int(first), int(last) + 1)} if last else {first}
    return {lemma for lemma in found if "." not in lemma}


LEMMAS = {
    match[1]: section
    for section in re.split(r"^#+ ", PRIVACY, flags=re.MULTILINE)
    if (match := re.match(r"Lemma (\w+)\b", section))
}


# -- links -------------------------------------------------------------------------------------


def leads(page: Path, link: str) -> bool:
    """Whether a link of a page leads somewhere; into the web it may lead anywhere."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path) if path else page
    if re.match(r"[a-z]+:", link) or not target.exists():
        return bool(re.match(r"[a-z]+:", link))
    return not anchor or anchor in slugs(target.read_text(encoding="utf-8"))


def test_links_lead_somewhere() -> None:
    links = [
        (page, link)
        for page in [*PAGES, *NOTEBOOKS]
        for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page))
    ]
    assert len(links) > 500
    assert [(name_of(page), link) for page, link in links if not leads(page, link)] == []


def test_pictures_are_light_and_shown() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for picture in sorted((ROOT / "docs" / "pictures").iterdir()):
        most = 1_500_000 if picture.suffix == ".gif" else 350_000
        assert picture.stat().st_size < most, picture.name
        assert f"pictures/{picture.name}" in pages, f"{picture.name} is shown nowhere"


# -- lemmas ------------------------------------------------------------------------------------


def test_lemmas_are_found_in_texts() -> None:
    assert len(LEMMAS) >= 20
    assert lemmas_named("see docs/privacy.md, lemmas 1\nto 3 and X2, and lemma P.") == {
        "1", "2", "3", "X2", "P",
    }  # fmt: skip
    assert lemmas_named("KMMS lemma 4.6; Hoeffding's lemma and more") == set()
    assert lemmas_named("by lemma 3, W is small") == {"3"}


def test_a_lemma_links_to_code_and_test_and_the_code_links_back() -> None:
    folders, odd = "learners|geometry|geodp_app", []
    for lemma, section in LEMMAS.items():
        code = re.findall(rf"\]\(\.\./((?:{folders})/(?:\w+/)?\w+\.py)\)", section)
        if not code or not re.search(r"\]\(\.\./tests/(?:\w+/)*test_\w+\.py\)", section):
            odd.append(f"lemma {lemma} links to no code or to no test")
        for path in code:
            text = (ROOT / path).read_text(encoding="utf-8")
            if "docs/privacy.md" not in text or lemma not in lemmas_named(text):
                odd.append(f"{path} does not name lemma {lemma} of docs/privacy.md")
    assert odd == []


def test_lemmas_that_are_named_exist() -> None:
    named = {path: lemmas_named(path.read_text(encoding="utf-8")) for path in [*MODULES, *PAGES]}
    del named[Path(__file__)]
    unknown = {name_of(path): found - set(LEMMAS) for path, found in named.items()}
    assert {path: lemmas for path, lemmas in unknown.items() if lemmas} == {}


def test_names_in_the_proofs_exist() -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    code = tests + "".join(path.read_text(encoding="utf-8") for path in MODULES)
    for name in set(re.findall(r"`(test_\w+)`", PRIVACY)):
        assert f"def {name}(" in tests, name
    assert set(re.findall(r"`([A-Za-z_]\w+)`", PRIVACY)) <= set(re.findall(r"\w+", code))
    # "`names` in [module](../path.py)": defined there, not only somewhere
    placed = re.findall(r"((?:`\w+`(?:,\s| and\s|\s))+)in\s\[\w+\]\(\.\./([\w/]+\.py)\)", PRIVACY)
    assert len(placed) > 8
    for names, path in placed:
        text = (ROOT / path).read_text(encoding="utf-8")
        for name in re.findall(r"`(\w+)`", names):
            assert re.search(rf"^(?:def |class )?{name}\b", text, re.MULTILINE), f"{name}: {path}"


# -- API reference -----------------------------------------------------------------------------

#: The script without an index to search in, and without looking for garbage: a third of its time;
#: of these packages.
_QUICKLY = """
import gc, runpy, sys
import pdoc
gc.disable()
packages = sys.argv.pop(1).split()
configure, make = pdoc.render.configure, pdoc.pdoc
pdoc.render.configure = lambda **options: configure(search=False, **options)
pdoc.pdoc = lambda *names, **options: make(*(n for n in names if n in packages), **options)
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""


@pytest.mark.parametrize(
    "packages",
    [
        "learners",
        pytest.param(
            "geodp assets geometry learners geodp_app !geodp_app.__main__ !geodp_app.qgis",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_api_reference_is_built_and_every_public_name_is_in_it(packages, tmp_path):
    script = ROOT / ".ci" / "reference.py"
    command = [sys.executable, "-c", _QUICKLY, packages, str(script), str(tmp_path)]
    command.append("--without-source")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for module in MODULES:
        path = module.relative_to(ROOT).with_suffix("")
        if "qgis" in path.parts:  # its modules are imported by QGIS alone
            continue
        if path.parts[0] in packages.split() and path.name != "__main__":
            page = path.parent if path.name == "__init__" else path
            assert (tmp_path / page).with_suffix(".html").is_file(), page
    page = (tmp_path / "learners.html").read_text(encoding="utf-8")
    missing = [name for name in learners.__all__ if f'id="{name}"' not in page]
    assert not missing


# -- each thing has one place ---------------------------------------------------------------

PRODUCT = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for folder in ("geometry", "learners", "geodp_app")
    for path in sorted((ROOT / folder).rglob("*.py"))
} | {"geodp.py": (ROOT / "geodp.py").read_text(encoding="utf-8")}


def rows() -> list[tuple[str, ...]]:
    """Thing, its places and what holds it, of each row."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.split("## One road for each thing")[1].split("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [tuple(re.split(r"(?<!\\) \| ", line.strip("| "))) for line in lines[1:]]


ROWS = rows()


def test_the_table_names_what_people_look_for() -> None:
    assert len(ROWS) > 12
    assert len({row[0] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_it_is_done_there_alone(row: tuple[str, ...]) -> None:
    _, places, held = row
    named = [place.removeprefix("../") for place in re.findall(r"\]\(([^)#]+)\)", places)]
    assert named, "no place is named"
    assert all((ROOT / place).exists() for place in named)
    searched = re.findall(r"`([^`]+)`", held)
    for pattern in searched:
        words = re.compile(pattern.replace("\\|", "|"), re.MULTILINE)
        found = [name for name, text in PRODUCT.items() if words.search(text)]
        assert found, f"{pattern} is nowhere"
        others = [name for name in found if not any(name.startswith(place) for place in named)]
        assert not others, f"{pattern} is elsewhere, too"
    contracts = re.findall(r"“([^”]+)”", held)
    declared = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert all(f'name = "{contract}"' in declared for contract in contracts)
    tests = [test for test in re.findall(r"\]\(\.\./([^)]+)\)", held)]
    assert all((ROOT / test).is_file() for test in tests)
    assert searched or contracts or tests, "nothing holds it"


# -- the ten steps of docs/guarantee.md -----------------------------------------------------

PAGE = (ROOT / "docs" / "guarantee.md").read_text(encoding="utf-8")

#: Lines of code in backticks, and the module that they are in.
_QUOTED = re.compile(r"((?:`[^`]+`(?: and\s)?)+)\sin \[\w+\]\(\.\./([\w/]+\.py)\)")


def quoted() -> dict[Path, list[str]]:
    """The lines that the page quotes, by file."""
    found: dict[Path, list[str]] = {}
    for lines, path in _QUOTED.findall(PAGE):
        found.setdefault(ROOT / path, []).extend(re.findall(r"`([^`]+)`", lines))
    return found


def test_quoted_lines_are_in_the_code() -> None:
    lines = quoted()
    assert sum(map(len, lines.values())) >= 12
    for path, some in lines.items():
        code = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
        for line in some:
            assert line in code, f"{path.name}: {line}"


def test_letters_are_names_of_the_code() -> None:
    rows = re.findall(r"^\| [^|]*(?:\\\|[^|]*)*\|.*\| (`.*) \|$", PAGE, re.MULTILINE)
    names = {name for row in rows for name in re.findall(r"`([\w.]+)`", row)}
    assert len(names) >= 14
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "learners").rglob("*.py"))
    for name in names:
        assert re.search(rf"\b{re.escape(name)}\b", code), name


class Watched(SeededRandom):
    """A source that takes down for which lines of the learners its bits are."""

    asked: list[set[tuple[str, str]]]

    def bytes(self, count: int) -> bytes:
        frame = inspect.currentframe()
        lines = set()
        while frame is not None:
            name = frame.f_code.co_filename
            lines.add((name, linecache.getline(name, frame.f_lineno).strip()))
            frame = frame.f_back
        self.asked.append(lines)
        return super().bytes(count)

    def spawn(self) -> Self:
        child = Watched(self._seed, f"{self._path}/child {len(self.asked)}")
        child.asked = self.asked
        return child


def test_a_run_draws_by_the_lines_of_the_page_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call of the source comes through one of them, and each of them calls it."""
    source = Watched(1)
    source.asked = []
    monkeypatch.setattr(tiles, "open_source", lambda seed: source)
    monkeypatch.setattr("learners.tiles.tile_choice.LEAST_PAYS", 50)
    rng = np.random.default_rng(1)
    points = rng.integers(0, 17, (400, 2))
    labels = points.sum(axis=1) < 16
    PolygonUnionLearner(grid=16, support=0.1, epsilon=2.0).fit(points, labels)
    drawing = {
        (str(path), line)
        for path, lines in quoted().items()
        for line in lines
        if re.search(r"source|draw\.complete", line) and "SystemRandom" not in line
    }
    assert len(drawing) == 8
    seen: set[tuple[str, str]] = set()
    for lines in source.asked:
        assert lines & drawing, sorted(line for _, line in lines)
        seen |= lines & drawing
    assert seen == drawing
