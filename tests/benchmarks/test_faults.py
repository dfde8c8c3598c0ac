"""Whatever fails, the old file or the new one is whole.  The long versions: benchmarks/faults.py,
layer_faults.py and ledger_faults.py.
"""

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from programs import program

from geodp_app.files import writing
from geodp_app.files.writing import atomic_write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX files and signals")


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """benchmarks/faults.py, without real disks."""
    module = program("faults", monkeypatch)
    monkeypatch.setattr(module, "_small_disk", lambda outcome: None)
    return module


def test_a_disk_that_fills_at_any_byte_keeps_the_old_file(faults, tmp_path):
    outcome = faults.full_disk(tmp_path, stride=23)
    assert outcome.losses == []
    assert outcome.cases > 80
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("unnamed", [hasattr(os, "O_TMPFILE"), False])
def test_every_prefix_of_a_save_leaves_the_old_file_or_the_new(
    faults: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unnamed: bool
) -> None:
    if not unnamed:
        monkeypatch.setattr(writing, "_write_unnamed", lambda *_: False)
    outcome = faults.power_cut(tmp_path)
    assert outcome.losses == []
    # three kinds of files; every prefix of the calls, one of them with two outcomes, and the end
    calls = (
        "create chmod write fsync link replace fsync"
        if unnamed
        else ("create chmod write fsync replace fsync")
    )
    assert all(note.endswith(": " + calls) for note in outcome.notes)
    assert outcome.cases == 3 * (len(calls.split()) + 3)


@pytest.mark.parametrize("missing", ["fsync", "replace"])
def test_the_check_of_the_order_sees_a_step_that_is_left_out(faults, tmp_path, missing):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    steps = faults.recorded(lambda: atomic_write(path, "newer"))
    calls = [call for call, *_ in steps]
    first = calls.index(missing)
    cut = list(faults.after_power_cut(steps[:first] + steps[first + 1 :], str(path), b"old"))
    assert cut != [b"newer"]
    if missing == "fsync":
        assert b"new" not in cut[:-1]
        assert cut[-1] == b"ne"  # half of it


def test_a_process_killed_while_it_saves_loses_nothing(faults: ModuleType, tmp_path: Path) -> None:
    outcome = faults.killed(tmp_path, kills=8)
    assert outcome.losses == []
    assert outcome.cases >= 8 * 5


@pytest.mark.slow
def test_two_hundred_kills_and_every_byte(faults: Any, tmp_path: Path) -> None:
    for outcome in (faults.killed(tmp_path, kills=200), faults.read_only(tmp_path)):
        assert outcome.losses == []


# -- layers -----------------------------------------------------------------------------------


@pytest.fixture
def layers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = program("layer_faults", monkeypatch)
    monkeypatch.setattr(module, "ENDINGS", {"predict": (".fgb",)})
    return module


def test_a_layer_that_does_not_fit_is_refused(layers, tmp_path, monkeypatch):
    limits = layers.limits_below([10, 8192], 4)
    assert limits == sorted(set(limits))
    assert {0, 9, 10, 4096, 8191} <= set(limits)
    assert max(limits) == 8191
    monkeypatch.setattr(layers, "limits_below", lambda sizes, _: [0, max(sizes) - 1])
    (outcome,) = layers.limited(layers.Bench(tmp_path, points=50), 1)
    assert outcome.faults == []
    assert outcome.refused == outcome.cases == 4


def test_an_interrupt_at_any_call_leaves_all_or_nothing(layers, tmp_path, monkeypatch):
    monkeypatch.setattr(layers, "ENDINGS", {"learn": (".gpkg",)})
    (outcome,) = layers.interrupted(layers.Bench(tmp_path, points=50), 1)
    assert outcome.faults == []
    assert 5 < outcome.refused < outcome.cases - 1  # before the first name, and after


@pytest.mark.parametrize(
    ("code", "result", "found", "fault"),
    [
        (0, "", {"a": b"12"}, "ends well, with files of"),
        (1, "", {}, "ends with 1"),
        (2, "/a: is full\n", {}, "says"),
        (2, "/a: make room\nTraceback\n", {}, "says"),
        (2, "/a: make room\n", {"a": b"12"}, "files are"),
        (2, "/a: make room\n", {}, ""),
        (0, "written\n", {"a": b"123"}, ""),
    ],
)
def test_every_fault_is_told(layers, code, result, found, fault):
    assert layers.fault_of(code, result, found, {}, {"a": b"123"})[: len(fault)] == fault
    assert bool(layers.fault_of(code, result, found, {}, {"a": b"123"})) == bool(fault)


# -- the ledger -------------------------------------------------------------------------------


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return program("ledger_faults", monkeypatch)


def test_a_disk_that_fills_at_any_byte_keeps_the_ledger(ledger, tmp_path) -> None:
    outcome = ledger.full_disk(tmp_path, stride=499)
    assert outcome.faults == []
    assert outcome.cases > 10


def test_processes_that_are_killed_have_drawn_nothing_that_is_not_entered(ledger, tmp_path) -> None:
    outcome = ledger.killed(tmp_path, 4)
    assert outcome.faults == []
    assert outcome.cases == 12
