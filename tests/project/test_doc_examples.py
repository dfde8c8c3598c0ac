"""Every command and every Python example of README, guide and the pages of questions runs.

In-process and on small samples; whole ones are slow.  Commands of all other pages are at least
understood: the parser takes them, and scripts have the options that they are given.
"""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import shapely

from geodp import InputError
from geodp_app.cli import build_parser, main

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
#: Pages whose examples run, in the order of their lines, in one folder for each page.
RUN = [
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("gallery", "guide", "index", "scale", "stability")),
    *sorted((ROOT / "docs" / "questions").glob("*.md")),
]
#: Its text is an exercise (tests/learners/test_registry.py) or shows names without a sample.
NOT_ALONE = {"docs/architecture.md", "docs/stability.md"}
POINTS = "sample --target L --n 500 --grid 128 -o points.csv"
#: Samples of more are drawn smaller, unless all is to be whole.
FEW = 2_000


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def commands(page: Path, program: str = "geodp ") -> list[str]:
    """Lines of fenced or indented code that begin with a program, without what is said of them."""
    lines: list[str] = []
    fenced = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif (fenced or line.startswith("    ")) and line.strip().startswith(program):
            lines.append(line.strip())
    return lines


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


#: Its commands and its Python take turns.
PUBLISHED = ROOT / "docs" / "questions" / "publish-a-map.md"
WITH_COMMANDS = [page for page in RUN if commands(page) and page != PUBLISHED]
WITH_PYTHON = [
    page
    for page in PAGES
    if python_blocks(page) and name_of(page) not in NOT_ALONE and page != PUBLISHED
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports as people have them, by the names that the pages use."""
    geopandas = pytest.importorskip("geopandas")
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    lon, lat = rng.uniform(14.8, 16.2, 300), rng.uniform(45.0, 46.0, 300)
    columns = {
        "lon": lon, "lat": lat, "label": (lon < 15.5).astype(int), "reporter": np.arange(300) // 2,
        "east_of": lon, "north_of": lat, "wet": np.where(lon < 15.5, "yes", "no"),
    }  # fmt: skip
    frame = geopandas.GeoDataFrame(
        columns, geometry=geopandas.points_from_xy(lon, lat), crs="EPSG:4326"
    )
    plain = frame.drop(columns="geometry")
    plain.to_csv(folder / "reports.csv", index=False)
    plain[["lon", "lat", "label"]].assign(label=1).to_csv(folder / "positives.csv", index=False)
    (folder / "reports").mkdir()
    plain.to_parquet(folder / "reports" / "reports.parquet")
    places = frame[["label", "geometry"]]
    places.to_file(folder / "reports.gpkg")
    places.drop(columns="label").to_file(folder / "houses.gpkg")
    states = np.where(lon < 15.5, "flooded", np.where(lat < 45.1, "", "dry"))
    plain[["lon", "lat"]].assign(state=states).to_csv(folder / "states.csv", index=False)
    for layer, west in (("coast", 15.0), ("inland", 15.6)):
        box = [shapely.box(west, 45.0, west + 0.6, 46.0)]
        district = geopandas.GeoDataFrame(geometry=box, crs="EPSG:4326").to_crs("EPSG:32633")
        district.to_file(folder / "districts.gpkg", layer=layer)
    halves = shapely.box([14, 15.5], 45, [15.5, 17], 46)
    districts = geopandas.GeoDataFrame({"name": ["west", "east"]}, geometry=halves, crs=4326)
    districts.to_file(folder / "parts.gpkg")
    return folder


@pytest.fixture
def there(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one page, with those files, and nothing of the program's."""
    for path in files.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line: str, *, whole: bool) -> int:
    """Its exit code; unless it is to be whole, with a small sample, and of a window nothing."""
    command = shlex.split(line, comments=True)[1:]
    if whole:
        return main(command)
    if command[0] == "shot":  # takes seconds; test_shot takes pictures
        return 0 if build_parser().parse_args(command) else 2
    if command[0] == "sample":
        place = command.index("--n") + 1
        command[place] = str(min(int(command[place]), FEW))
    return main(command)


# -- README, guide, questions ------------------------------------------------------------------


def test_pages_with_examples_are_found() -> None:
    named = {name_of(page) for page in WITH_COMMANDS}
    assert {"README.md", "docs/guide.md", "docs/questions/bounds.md", "docs/index.md"} <= named
    assert len(commands(ROOT / "docs" / "guide.md")) > 15


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_commands_run(page, whole, there, capsys):
    made_here = any(line.startswith("geodp sample") for line in commands(page))
    if not made_here:  # what another page makes
        assert run(f"geodp {POINTS}", whole=whole) == 0
    for line in commands(page):
        if "parquet:p.parquet" in line:
            make_parquet(page)
        assert run(line, whole=whole) == 0, f"{line}: {capsys.readouterr().err}"


def make_parquet(page: Path) -> None:
    """Carry out the one line of Python of such a page."""
    (line,) = commands(page, "python -c")
    exec(shlex.split(line)[2])


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_python_examples_run(page: Path, there: Path) -> None:
    for block in python_blocks(page):
        exec(compile(block, name_of(page), "exec"), {})


def test_a_map_is_published_as_its_page_says(there: Path) -> None:
    """From a GeoPackage of reports to one that answers for itself, read by geopandas."""
    geopandas = pytest.importorskip("geopandas")
    make, read = python_blocks(PUBLISHED)
    exec(compile(make, PUBLISHED.name, "exec"), {})
    assert geopandas.read_file("people.gpkg").columns.tolist() == ["state", "geometry"]
    for line in commands(PUBLISHED):
        assert run(line, whole=True) == 0
    exec(compile(read, PUBLISHED.name, "exec"), {})
    layer = geopandas.read_file("published.gpkg").set_index("layer").loc["learned"]
    assert "(1, 1e-40)-differentially private" in layer["statement"]
    assert "lie on the right side of the shape" in layer["accuracy"]
    assert "reports" in layer["support"]
    assert 0.9 < layer["right_low"] < layer["right_high"] <= 1
    assert layer.geometry.is_valid
    assert (there / "published.png").read_bytes().startswith(b"\x89PNG")


# -- everywhere --------------------------------------------------------------------------------


def test_commands_of_other_pages_are_understood() -> None:
    parser, odd = build_parser(), []
    for line in {line for page in PAGES if page not in RUN for line in commands(page)}:
        try:
            parser.parse_args(shlex.split(line, comments=True)[1:])
        except InputError as error:
            odd.append(f"{line}: {error}")
    assert odd == []


def test_benchmarks_have_the_options_that_they_are_given() -> None:
    scripts = (ROOT / "benchmarks").rglob("*.py")
    known = "".join(path.read_text(encoding="utf-8") for path in scripts)
    lines = {line for page in PAGES for line in commands(page, "python benchmarks/")}
    assert len(lines) > 20
    odd = []
    for line in lines:
        words = shlex.split(line.translate({ord(c): " " for c in "[]"}), comments=True)[1:]
        there = (ROOT / words[0]).is_file()
        options = [word for word in words[1:] if word.startswith("--")]
        odd += [line] if not there or any(f'"{word}"' not in known for word in options) else []
    assert odd == []


def test_make_has_the_targets_that_are_named() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert set(re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE)) <= targets
