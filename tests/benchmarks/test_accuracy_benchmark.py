"""benchmarks/accuracy.py runs, and its figures are what its headings say."""

import importlib
import json
import math
import sys
from types import ModuleType

import numpy as np
import pytest
import shapely
from known_targets import square_geojson
from programs import program


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """benchmarks/accuracy.py, without its warming up."""
    module = program("accuracy", monkeypatch)
    monkeypatch.setattr(module, "warm_up", lambda wanted: None)
    return module


@pytest.fixture
def cases(bench: ModuleType) -> ModuleType:
    """benchmarks/accuracy_cases.py."""
    return importlib.import_module("accuracy_cases")


@pytest.fixture
def figures(bench: ModuleType) -> ModuleType:
    """benchmarks/accuracy_tables.py."""
    return importlib.import_module("accuracy_tables")


def run(
    bench: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *argv: object,
) -> str:
    """What the command prints."""
    monkeypatch.setattr(sys, "argv", ["accuracy.py", *map(str, argv)])
    bench.main()
    return capsys.readouterr().out


def cells(line: str) -> list[str]:
    """A table's line."""
    return [cell.strip() for cell in line.strip("|").split("|")]


# -- whole runs --------------------------------------------------------------------------------


def test_a_quick_run_prints_tables(bench, cases, monkeypatch, capsys, write):
    for module in (bench, cases):
        monkeypatch.setattr(module, "GRID", 64)  # the best piece is found sooner
    monkeypatch.setattr(bench, "draw", bench.draw.__wrapped__)  # nothing of this grid is kept
    outline = write("o.geojson", {**square_geojson(10, 20), "name": "Square"})
    monkeypatch.setattr(bench.importlib.util, "find_spec", lambda name: None)
    argv = ["--quick", "--targets", "tri", "--outlines", outline, "--extra", "forest", "boosting"]
    shown = run(bench, monkeypatch, capsys, *argv, "--learners", "tiles", "greedy-cover")
    head = shown.splitlines()[0]
    assert head.startswith("`python benchmarks/accuracy.py --quick --targets tri")
    assert "o.geojson" in head
    assert "diffprivlib not installed" in head
    assert "No rows of dp-boosting: interpret-core is not installed here." in shown
    assert "No rows of forest: scikit-learn is not installed here." in shown
    assert "random forest" not in shown
    assert str(outline.parent) not in head
    assert head.endswith("seeds 0, 2,000 fresh points")
    assert "drawn: mean test error over all cases, in %" in shown
    assert "drawn, n = 300: test error in %" in shown
    assert "outlines: median bytes of the GeoJSON file" in shown
    assert "Goals" not in shown
    lines = [cells(line) for line in shown.splitlines() if line.startswith("|")]
    assert ["learner", "what", "private", "told", "n = 300"] in lines
    assert ["", "tiles", "greedy-cover"] in lines
    by_name = {line[0]: line[1:] for line in lines}
    assert "greedy-cover" in by_name
    assert float(by_name["tri, uniform"][0]) < 20


def test_json_lines_make_the_same_tables(bench, monkeypatch, capsys, tmp_path):
    argv = ["--quick", "--learners", "tiles", "--targets", "tri", "--part", "drawn"]
    paths = []
    for n in (100, 200):
        text = run(bench, monkeypatch, capsys, *argv, "--n", n, "--json")
        paths.append(tmp_path / f"{n}.jsonl")
        paths[-1].write_text(text)
        head, *rows = map(json.loads, text.splitlines())
        assert head["seeds"] == "0"
        assert [row["case"]["distribution"] for row in rows] == ["uniform", "clustered"]
        assert all(len(row["errors"]) == len(row["sizes"]) == 1 for row in rows)
    shown = run(bench, monkeypatch, capsys, "--tables", *paths)
    assert "| n = 100 | n = 200 |" in shown
    assert shown.count("`python benchmarks/accuracy.py") == 2
    assert "| tiles, mean over the eight cases, n = 10,000 | ≤ 3.2 | – | not measured |" in shown


def test_boosting_is_given_directions_and_their_public_bounds(bench, cases, monkeypatch):
    given = {}

    class Boosting:
        def __init__(self, **options):
            given.update(options)

        def fit(self, X, y):
            given["X"] = X

        def predict(self, X):
            return X[:, 0] > 0

    module = ModuleType("interpret.privacy")
    module.DPExplainableBoostingClassifier = Boosting
    monkeypatch.setitem(sys.modules, "interpret.privacy", module)
    points = np.array([[0, 0], [1024, 1024], [1024, 0], [512, 512]])
    examples = bench.Examples(points, np.array([0, 1, 1, 0]), None)
    case = cases.Case("drawn", "L", "uniform", 4)
    _, predict, size = bench.runner("dp-boosting")("dp-boosting", case, examples, 3)
    assert given["X"].shape == (4, bench.DIRECTIONS)
    bounds = [given["privacy_bounds"][i] for i in range(bench.DIRECTIONS)]
    for (low, high), places in zip(bounds, given["X"].T, strict=True):
        assert low <= places.min() + 1e-9
        assert places.max() <= high + 1e-9
    assert (given["epsilon"], given["random_state"]) == (1.0, 3)
    # the first direction is that of x, from the middle
    assert predict(points).tolist() == [False, True, True, False]
    assert size is None


def test_a_learner_that_fails_is_a_note(bench, figures):
    case = bench.Case("drawn", "no such target", "uniform", 10)
    row = bench.Bench((0,), fresh=10).row(case, "tiles")
    assert row.errors == ()
    assert row.note.startswith("failed: no example 'no such target'")
    findings = figures.Findings.of([row])
    assert findings.mean("tiles", 10) is None
    assert "no such target, uniform: tiles: failed" in list(figures.tables(findings, False))[-1]


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["--seeds", "0"], "--seeds must be at least 1"),
        (["--n", "0"], "--n must be at least 1"),
        (["--part", "outlines"], "needs --outlines"),
        (["--part", "cities"], "needs --cities"),
        (["--wrong", "0.5"], "--wrong must be at least 0 and below 0.5"),
        (["--wrong", "0.1", "--cities", "c.csv"], "--wrong is not for cities"),
        (["--learners", "oracle"], "invalid choice"),
    ],
)
def test_wrong_options_are_refused(bench, monkeypatch, capsys, argv, reason):
    with pytest.raises(SystemExit):
        bench.parse(argv)
    assert reason in capsys.readouterr().err


# -- cases -------------------------------------------------------------------------------------


def test_learners_of_a_case_see_the_same_sample(cases):
    case = cases.Case("drawn", "L", "clustered", 500)
    one, other = cases.draw(case, 100, 0), cases.draw.__wrapped__(case, 100, 0)
    for mine, theirs in zip(one, other, strict=True):
        assert (mine.points == theirs.points).all()
        assert (mine.labels == theirs.labels).all()
    assert len(one[0].labels) == 500
    assert len(one[1].labels) == 100
    assert (one[0].points[:100] != one[1].points).any()
    assert (cases.draw(case, 100, 1)[0].points != one[0].points).any()
    uniform = cases.draw(cases.Case("drawn", "L", "uniform", 500), 100, 0)[0]
    assert (uniform.points != one[0].points).any()


def test_a_share_of_the_labels_to_learn_from_is_wrong_and_no_other(cases):
    right = cases.Case("drawn", "L", "clustered", 5_000)
    learned, tested = cases.draw(right, 100, 0)
    flawed, fresh = cases.draw(cases.replace(right, wrong=0.2), 100, 0)
    assert (flawed.points == learned.points).all()
    # four standard errors
    assert abs((flawed.labels != learned.labels).mean() - 0.2) < 4 * (0.16 / 5_000) ** 0.5
    assert set(flawed.labels.tolist()) == {0, 1}
    assert (fresh.labels == tested.labels).all()


def test_every_seed_has_an_octagon_of_its_own(cases):
    case = cases.Case("octagons", cases.OCTAGON, "uniform", 100)
    shapes = [case.place(np.random.default_rng(seed))[0] for seed in range(5)]
    for shape in shapes:
        assert shapely.get_num_coordinates(shape) == 9
        assert shape.equals(shape.convex_hull)
        assert shape.within(shapely.box(0, 0, cases.GRID, cases.GRID))
    assert len({shape.area for shape in shapes}) == 5
    assert case.k == 8


def test_an_outline_lies_in_its_padded_box(cases, write):
    path = write("o.geojson", square_geojson(10, 20))
    (case,) = cases.outline_cases([path], (50,))
    shape, frame = case.place(np.random.default_rng(0))
    assert frame.bounds.as_tuple() == (9, 9, 21, 21)
    assert shape.area / cases.GRID**2 == pytest.approx((10 / 12) ** 2)
    assert (case.name, case.k) == ("o", None)


def test_a_fifth_of_the_cities_is_held_out(cases, write):
    lines = [f"{6 + i / 4},{36 + i / 5},{i % 2}" for i in range(43)]
    path = write("IT.csv", "\n".join(["lon,lat,label", *lines]))
    write("IT.bounds", "6,36,19,48\n")
    (case,) = cases.city_cases([path])
    assert (case.name, case.k, case.n) == ("IT", None, 35)
    whole = cases.read_cities(path)
    assert whole.frame.bounds.as_tuple() == (6, 36, 19, 48)
    expected = sorted(map(tuple, np.column_stack([whole.points, whole.labels]).tolist()))
    for seed in range(2):
        learned, tested = cases.draw.__wrapped__(case, 1_000, seed)
        assert (len(learned.labels), len(tested.labels)) == (35, 8)
        parts = [np.column_stack([part.points, part.labels]) for part in (learned, tested)]
        assert sorted(map(tuple, np.concatenate(parts).tolist())) == expected
    first, second = (cases.draw.__wrapped__(case, 1_000, seed)[1] for seed in range(2))
    assert (first.points != second.points).any()


# -- figures -----------------------------------------------------------------------------------


def test_a_mean_has_the_standard_error_of_its_values(figures):
    mean = figures.Mean.of([0.01, 0.02, 0.03])
    assert mean.value == pytest.approx(0.02)
    assert mean.error == pytest.approx(0.01 / math.sqrt(3))
    assert str(mean) == "2.00 ± 0.58"
    assert str(figures.Mean.of([0.00125])) == "0.125"
    assert str(figures.Mean(0.1234, 0.01)) == "12.3 ± 1.0"
    assert str(figures.Mean(0.0109, 0.00003)) == "1.090 ± 0.003"
    assert str(figures.Mean(0.0109, 0.0)) == "1.09 ± 0.00"
    assert str(figures.Mean.of([0.0001, 0.0002])) == "0.0150 ± 0.0050"
    over = figures.Mean.over([mean, figures.Mean(0.04, 0.003)])
    assert over.value == pytest.approx(0.03)
    assert over.error == pytest.approx(math.sqrt(1e-4 / 3 + 9e-6) / 2)
    assert figures.Mean.over([mean, figures.Mean(0.04, None)]).error is None


def row(figures: ModuleType, learner: str, error: float, **case: object):
    """A row with this error under two seeds."""
    given = {"part": "drawn", "target": "tri", "distribution": "uniform", "n": 100_000} | case
    return figures.Row(figures.Case(**given), learner, (error, error), (1.0, 3.0), (10, 20))


def test_the_best_depth_is_taken_in_every_case(bench, figures):
    rows = [
        row(figures, "dp-forest-8", 0.02),
        row(figures, "dp-forest-10", 0.01),
        row(figures, "dp-forest-8", 0.03, target="L"),
        row(figures, "dp-forest-10", 0.04, target="L"),
    ]
    findings = figures.Findings.of(rows)
    assert findings.mean("dp-forest", 100_000).value == pytest.approx(0.02)
    assert findings.mean("dp-forest-8", 100_000).value == pytest.approx(0.025)
    assert figures.shown_learners(findings) == ["dp-forest"]
    assert bench.forest_names(rows[0].case)[-1] == "dp-forest-16"
    small = figures.Case("drawn", "tri", "uniform", 1_000)
    assert bench.forest_names(small) == ("forest", "dp-forest-6", "dp-forest-8", "dp-forest-10")


def test_goals_are_met_or_not(figures):
    rows = [
        row(figures, name, error, target=target, distribution=distribution)
        for target in figures.TARGETS
        for distribution in figures.DISTRIBUTIONS
        for name, error in (("tiles", 0.004), ("histogram", 0.03 if target == "tri" else 0.01))
    ]
    rows.append(row(figures, "convex", 0.0031, part="octagons", target="octagon"))
    lines = {line[0]: line[1:] for line in figures.goal_lines(figures.Findings.of(rows))}
    assert len(lines) == 8
    assert lines["tiles, mean over the eight cases, n = 100,000"] == (
        "≤ 0.5",
        "0.400 ± 0.000",
        "yes",
    )
    assert lines["tiles, mean over the eight cases, n = 10,000"][2] == "not measured"
    fifth = "n = 100,000: a fifth of the interpolated histogram's"
    assert lines[f"tiles, tri, uniform, {fifth}"][::2] == ("≤ 0.6", "yes")
    assert lines[f"tiles, L, clustered, {fifth}"][::2] == ("≤ 0.2", "no")
    assert lines["convex, random octagons, n = 100,000"] == ("≤ 0.3", "0.310 ± 0.000", "no")
    partial = figures.Findings.of(rows[2:-1])
    lines = {line[0]: line[1:] for line in figures.goal_lines(partial)}
    assert lines["tiles, mean over the eight cases, n = 100,000"][2] == "not measured"
    assert lines[f"tiles, tri, uniform, {fifth}"][2] == "not measured"


def test_real_data_is_told_beside_the_strongest_other_learner(figures):
    rows = [
        row(figures, name, error, part=part, target=target, n=n)
        for part, target, n in (("outlines", "Italy", 1_000), ("cities", "IT", 12_540))
        for name, error in (("tiles", 0.04), ("histogram", 0.05))
    ]
    lines = list(figures.real_lines(figures.Findings.of(rows)))
    assert lines == [
        ("outlines, n = 1,000", "4.00 ± 0.00", "–", "5.00 ± 0.00", "1.25"),
        ("cities, IT, n = 12,540", "4.00 ± 0.00", "–", "5.00 ± 0.00", "1.25"),
    ]
    whole = "\n".join(figures.tables(figures.Findings.of(rows), goals=False))
    assert whole.startswith("Real data: mean test error in %")
    assert "|  | tiles | cover | histogram | histogram / tiles |" in whole
