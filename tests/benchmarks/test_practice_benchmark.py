"""benchmarks/practice.py: the planner's table is what the data say; what its ends are."""

import sys
from types import ModuleType

import pytest
from programs import program


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return program("practice", monkeypatch)


def test_the_table_is_made_from_the_data(bench: ModuleType) -> None:
    made = bench.table(bench.read(bench.DATA))
    assert made == bench.TABLE.read_text(encoding="utf-8")


def lines(bench: ModuleType, errors: dict[str, str], n: int = 100) -> list[object]:
    """Of a kind with one target, the same for both distributions and every epsilon."""
    return [
        bench.Line(
            bench.Cell("one", target, None, distribution, n, epsilon),
            20.0,
            tuple(float(error) for error in seeds.split()),
        )
        for target, seeds in errors.items()
        for distribution in bench.BOTH
        for epsilon in bench.EPSILONS
    ]


def test_the_ends_leave_a_fifth_of_the_runs_out(bench, monkeypatch):
    kind = bench.Kind("tiles", (("a", None),), ((100, 20),))
    monkeypatch.setattr(bench, "MARGIN", 1.0)
    monkeypatch.setitem(bench.KINDS, "one", kind)
    seeds = " ".join(str(error) for error in range(1, 10))
    found = bench.fit(lines(bench, {"a": seeds}), "one")
    assert found.sizes == (100,)
    assert found.least == ((1,),) * 5
    assert found.largest == ((9,),) * 5
    seeds = " ".join(str(error) for error in range(1, 16))
    found = bench.fit(lines(bench, {"a": seeds}), "one")
    assert found.least == ((2,),) * 5
    assert found.largest == ((14,),) * 5


def test_shapes_that_were_not_tried_have_a_margin(bench, monkeypatch):
    kind = bench.Kind("tiles", (("a", None),), ((100, 2),))
    monkeypatch.setitem(bench.KINDS, "one", kind)
    found = bench.fit(lines(bench, {"a": "2.5 95"}), "one")
    assert found.least == ((2,),) * 5
    assert found.largest == ((100,),) * 5


def test_more_examples_are_never_worse_and_a_missing_target_hides_a_size(bench, monkeypatch):
    kind = bench.Kind("tiles", (("a", None), ("b", None)), ((100, 1), (200, 1), (400, 1)))
    monkeypatch.setattr(bench, "MARGIN", 1.0)
    monkeypatch.setitem(bench.KINDS, "one", kind)
    data = lines(bench, {"a": "19", "b": "18.5"}, 100)
    data += lines(bench, {"a": "3", "b": "6"}, 200)
    data += lines(bench, {"a": "5", "b": "7"}, 400)
    data += lines(bench, {"a": "1"}, 800)
    found = bench.fit(data, "one")
    assert found.sizes == (100, 200, 400)
    assert found.least[0] == (18.5, 3, 3)
    assert found.largest[0] == (19, 7, 7)
    assert found.hopeless == (100,) * 5  # at least nine tenths of 20 %


def test_it_measures_once_and_checks(bench, monkeypatch, tmp_path, capsys):
    def run(*argv: object) -> str:
        monkeypatch.setattr(sys, "argv", ["practice.py", *map(str, argv)])
        bench.main()
        return capsys.readouterr().out

    monkeypatch.setattr(bench, "FRESH", 1_000)
    kind = bench.Kind("tiles", (("tri", None), ("polygon-1", None)), ((30, 2),))
    monkeypatch.setitem(bench.KINDS, "few-edges", kind)
    out = tmp_path / "p.csv"
    run("measure", "--kinds", "few-edges", "-o", out)
    data = bench.read(out)
    assert len(data) == 20
    assert {len(line.errors) for line in data if line.cell.target == "tri"} == {2}
    assert {len(line.errors) for line in data if line.cell.target == "polygon-1"} == {1}
    assert all(0 < error < 100 for line in data for error in line.errors)
    text = out.read_text()
    run("measure", "--kinds", "few-edges", "-o", out)
    assert out.read_text() == text
    shown = run("check", "--cases", 2, "--most", 300, "--kinds", "few-edges", "outlines")
    assert "| few-edges |" in shown
    assert "| outlines |" in shown
