"""The benchmarks run, and what they compare selects from the same law."""

import importlib
import json
import re
import subprocess
import sys
from dataclasses import replace
from types import ModuleType

import pytest
from programs import FOLDER, program


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return program("selection", monkeypatch)


@pytest.fixture
def here(bench: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The same, with its work done in this process, and a unit of one second."""
    monkeypatch.setattr(bench, "apart", lambda label, work, *arguments: work(*arguments))
    monkeypatch.setattr(bench, "unit_seconds", lambda repeats: 1.0)
    monkeypatch.setattr(bench, "QUICK", replace(bench.QUICK, n=100, growth=(1_000,)))
    return bench


@pytest.mark.parametrize("n", [1, 2, 25])
def test_peers_find_the_mass_of_the_exact_arrangement(bench: ModuleType, n: int) -> None:
    peers = importlib.import_module("peers")
    asked = bench.first_question(bench.Case(bench.OCTAGON, 8, n), seed=0)
    masses = {
        re.search(r"log mass (\S+)", method(asked))[1]  # type: ignore[index]
        for method in (peers.polygonize, peers.sweep, peers.arrangement)
    }
    assert len(masses) == 1


def test_work_is_measured_in_a_fresh_process() -> None:
    """And by a fresh one: a process inherits the peak memory of its parent."""
    code = """
from selection import OCTAGON, Case, apart, time_method
(found,) = apart("five lines", time_method, "slab sweep", Case(OCTAGON, 8, 5), 0)
print(found.seconds, found.memory)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=True)
    seconds, memory = map(float, done.stdout.split())
    assert seconds > 0
    assert 20 < memory < 1000


def test_what_fails_in_its_process_is_a_row_that_says_so(bench: ModuleType) -> None:
    case = bench.Case("no such target", 1, 5)
    work = (bench.time_method, "slab sweep", case)
    row = bench.Bench(seeds=(0,)).row("five", bench.Goal(1), "{}", *work)
    assert row.note.startswith("failed: no example 'no such target'")
    assert row.met(1.0) is False
    assert bench.table([row], 1.0).splitlines()[-1].startswith("| five | – | – |")


def test_the_growth_table(here, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["selection.py", "--quick", "--part", "growth"])
    here.main()
    shown = capsys.readouterr().out
    assert re.match(r"`python benchmarks/selection.py --quick --part growth`: geodp .*cores", shown)
    assert "seeds 0; U = 1.0 s" in shown
    lines = [line for line in shown.splitlines() if line.startswith("|")]
    assert [line.count("|") for line in lines] == [10, 10, 10, 10]
    assert lines[2].startswith("| halfplane, octagon, n = 1,000 | ")
    assert lines[3].startswith("| triangle, tri, n = 1,000 | ")


def test_every_step_has_a_row(here, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["selection.py", "--quick", "--json", "--part", "steps"])
    here.main()
    rows = json.loads(capsys.readouterr().out)["rows"]
    names = [row["name"] for row in rows]
    assert len(set(names)) == len(rows) == 2 * sum(here.TARGETS.values())
    assert "star, clustered, n = 100, step 5 of 5" in names
    assert all(len(row["seconds"]) == 1 and row["met"] is None for row in rows)


def test_a_goal_binds_median_worst_and_memory(bench: ModuleType) -> None:
    goal = bench.Goal(2, 10)

    def met(seconds: tuple[float, ...], memory: float = 100.0) -> bool | None:
        found: bool | None = bench.Row("", seconds, memory, goal).met(unit=1.0)
        return found

    assert met((1.0, 1.5, 9.0))
    assert not met((1.0, 2.5, 3.0))
    assert not met((1.0, 1.5, 11.0))
    assert not met((1.0,), memory=1600.0)
    assert bench.Row("", (99.0,), 100.0).met(unit=1.0) is None
