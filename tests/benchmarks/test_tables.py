"""Programs of benchmarks/ on small samples print the rows that they say, of what they say."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from programs import program
from shapely.geometry import LineString, Polygon, box

from geodp_app.tables.counts import read_counts
from geodp_app.tables.source import table_source
from geometry.polygons import contains_points

Printed = Callable[..., list[str]]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ModuleType]:
    """A program with other constants."""

    def changed(name: str, **constants: Any) -> ModuleType:
        module = program(name, monkeypatch)
        for constant, value in constants.items():
            monkeypatch.setattr(module, constant, value)
        return module

    return changed


@pytest.fixture
def printed(small, monkeypatch, capsys):
    """The lines of a program with other constants."""

    def run(name: str, *arguments: str, **constants: Any) -> list[str]:
        module = small(name, **constants)
        monkeypatch.setattr("sys.argv", [f"{name}.py", *arguments])
        module.main()
        return capsys.readouterr().out.splitlines()

    return run


def test_what_a_check_costs_and_how_often_it_misses(printed: Printed) -> None:
    sizes = {"cost": (300,), "blocks": (20_000,)}
    given = {"SHAPES": ("L",), "TESTED": 2_000, "SIZES": sizes, "DRAWN": (("histogram", 300),)}
    _, first, mean, missed, blocks = printed("checks", "--seeds", "1", "--runs", "2", **given)
    assert re.fullmatch(r"n = 300, L: [\d.]+|n = 300, L: nan", first)
    assert mean.startswith("n = 300, mean: ")
    assert "histogram, n = 300, 2 runs: missed {'all': " in missed
    assert re.fullmatch(r"L, n = 20,000: [012] of 2 runs", blocks)


def test_persons_have_a_row_for_every_shape_and_their_mean(printed: Printed) -> None:
    few = ["--n", "200", "--seeds", "1", "--rows", "3", "--learner", "histogram", "--spread"]
    shown = printed("persons", *few, "0.1", "inf", SHAPES=("L", "star"))
    assert [line.split(" | ")[:3] for line in shown[-6:]] == [
        [f"| {spread}", "200", shape]
        for spread in ("0.1", "inf")
        for shape in ("L", "star", "mean")
    ]
    assert printed("persons", *few, "inf", "--plain", SHAPES=("L", "star"))[-3:] != shown[-3:]


def test_all_reports_of_a_person_lie_around_a_home(small: Callable[..., ModuleType]) -> None:
    examples, owners = small("persons").reports("L", 50, 0.0, 0.0, 1)
    assert len({*map(tuple, examples.points.tolist())}) == len(set(owners)) == 50
    assert 50 < len(owners) < 250


def test_parities_of_each_size(printed: Printed) -> None:
    lines = printed("parity", "--quick", unit_seconds=lambda repeats: 1.0)
    rows = [line for line in lines if line.startswith("| ") and "d = 64" in line]
    assert len(rows) == 2
    assert "training error 0.000; ranks 64" in rows[0]


def test_examples_are_labelled_by_one_parity(small: Callable[..., ModuleType]) -> None:
    bench = small("parity")
    X, y = bench.draw(70, 200, 3)
    took, outcome = bench.seconds(bench.ParityLearner, X, y)
    assert took > 0
    assert "training error 0.000" in outcome
    assert set(np.unique(y)) == {0, 1}


def test_every_literal_of_the_target_is_needed(small: Callable[..., ModuleType]) -> None:
    bench = small("conjunctions")
    X, y = bench.draw_sample(4, 500, 20, np.random.default_rng(0))
    assert (X[:, :4].sum(axis=1) == np.where(y, 4, 3)).all()
    sparse, y = bench.sparse_sample(4, 500, 50, 6, 0)
    assert (sparse[:, :4].toarray().sum(axis=1) == np.where(y, 4, 3)).all()
    assert set(sparse.data) == {1}


def test_conjunctions_have_a_table_of_examples_and_a_drawing(printed, tmp_path):
    asked = ["--quick", "--part", "examples", "--picture", str(tmp_path / "drawing.svg")]
    shown = printed("conjunctions", *asked, VARIABLES=20, FRESH=1000)
    rows = [row.split("|")[1:-1] for row in shown if re.match(r"\| \d", row)]
    assert [int(row[0]) for row in rows] == [2, 4]
    for row in rows:
        naive, _, best = (int(cell.replace(",", "")) for cell in row[1:4])
        assert float(row[4]) == pytest.approx(naive / best, abs=0.051)
        guaranteed = [int(cell.replace(",", "")) for cell in row[5:7]]
        assert guaranteed[0] > guaranteed[1] > best
    drawing = ElementTree.parse(tmp_path / "drawing.svg").getroot()
    lines = drawing.findall("{http://www.w3.org/2000/svg}polyline")
    assert [len(line.attrib["points"].split()) for line in lines] == [2, 2, 2]


@pytest.mark.parametrize("kind", ["grid", "degrees", "persons", "degrees-persons"])
def test_rows_of_a_table_are_labelled_by_the_target_in_several_files(small, tmp_path, kind):
    scale = small("scale", PART=2_000)
    place = scale.make_rows(tmp_path, kind, 5_000, "star")
    assert len(list(place.iterdir())) == 3
    found = read_counts(table_source(f"parquet:{place}/*.parquet"), scale.options_of(kind)).counts
    inside = contains_points(scale.load_target("star", scale.GRID), found.points)
    assert (found.labels == inside).all()
    # of n persons about 1 - 1/e have a row
    assert found.n == 5_000 if "persons" not in kind else 3_000 < found.n < 3_300


def test_scale_has_a_line_for_every_size(printed: Printed, tmp_path: Path) -> None:
    shown = printed(
        "scale", "--rows", "1e3", "3e3", "--folder", str(tmp_path), "--tiles", "2", PART=2_000,
        apart=lambda work, *arguments: work(*arguments), unit_seconds=lambda: 1.0,
    )  # fmt: skip
    lines = [line for line in shown if line.startswith("|")]
    assert [line.count("|") for line in lines] == [13] * 4
    assert lines[2].startswith("| grid | 1,000 | ")
    assert lines[3].startswith("| grid | 3,000 | ")


def test_files_of_the_rows_are_read_and_labelled(small, printed, tmp_path):
    scale = small("scale")
    some = {name: scale.FILES[name] for name in ("x,y,label", "with `--id`", "GeoParquet")}
    asked = ["--engine", "none", "--rows", "1e3", "--folder", str(tmp_path)]
    given = {"apart": lambda work, *arguments: work(*arguments), "unit_seconds": lambda *_: 1.0}
    given["measure_file"] = partial(scale.measure_file, times=1)
    shown = printed("scale", *asked, FILES=some, **given)
    lines = [line for line in shown if line.startswith("|")]
    assert [line.split(" | ")[0][2:] for line in lines[2:]] == list(some)


def test_tidying_has_a_row_for_each_distribution_and_the_outlines(printed: Printed) -> None:
    asked = ["--learners", "tiles", "--n", "300", "--seeds", "2"]
    shown = printed("tidying", *asked, TARGETS={"tri": 1}, OUTLINES=("flood",))
    rows = [line.split(" | ") for line in shown if line.startswith("| ") and "300" in line]
    assert [row[0] for row in rows] == ["| uniform, 300", "| clustered, 300", "| outlines, 300"]
    assert {len(row) for row in rows} == {8}
    assert all(" → " in row[column] for row in rows for column in (1, 3, 4, 5, 6, 7))


def test_steps_are_turns_there_and_back_by_a_border(small: Callable[..., ModuleType]) -> None:
    bench, border = small("tidying"), LineString([(512, 1), (512, 1023)])

    def jog(at: float, high: float) -> Polygon:
        return Polygon(
            [(0, 0), (0, 300), (at, 300), (at, 300 + high), (1024, 300 + high), (1024, 0)]
        )

    assert bench.steps(jog(512, 20), border, 128) == 1
    # far from the border, longer than a third of a tile, a corner, and a tooth of two steps
    assert bench.steps(jog(560, 20), border, 128) == 0
    assert bench.steps(jog(512, 60), border, 128) == 0
    assert bench.steps(box(0, 0, 512, 300), border, 128) == 0
    tooth = [(0, 0), (0, 300), (508, 300), (512, 320), (516, 300), (1024, 300), (1024, 0)]
    assert bench.steps(Polygon(tooth), border, 128) == 2


def test_every_number_of_tiles_has_a_row(printed: Printed) -> None:
    shown = printed(
        "tiles_a_side", "--n", "300", "--tiles", "2", "3", TARGETS={"tri": 1},
        picture=lambda model: np.zeros((1025, 1025), dtype=np.bool_),
    )  # fmt: skip
    assert [line.split(" | ")[:2] for line in shown[-4:]] == [
        ["| tri", "m = 2"],
        ["| tri", "m = 3"],
        ["| tri", "histogram"],
        ["| tri", "nearest example"],
    ]
