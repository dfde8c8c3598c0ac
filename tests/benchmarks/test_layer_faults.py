"""The bench of full disks finds what it looks for.  At length: benchmarks/layer_faults.py."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from programs import program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX files and signals")


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = program("layer_faults", monkeypatch)
    monkeypatch.setattr(module, "ENDINGS", {"predict": (".fgb",)})
    return module


def test_a_layer_that_does_not_fit_is_refused(
    faults: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = faults.limits_below([10, 8192], 4)
    assert limits == sorted(set(limits))
    assert {0, 9, 10, 4096, 8191} <= set(limits)
    assert max(limits) == 8191
    monkeypatch.setattr(faults, "limits_below", lambda sizes, _: [0, max(sizes) - 1])
    (outcome,) = faults.limited(faults.Bench(tmp_path, points=50), 1)
    assert outcome.faults == []
    assert outcome.refused == outcome.cases == 4


def test_an_interrupt_at_any_call_leaves_all_or_nothing(
    faults: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "ENDINGS", {"learn": (".gpkg",)})
    (outcome,) = faults.interrupted(faults.Bench(tmp_path, points=50), 1)
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
def test_every_fault_is_told(
    faults: ModuleType, code: int, result: str, found: dict[str, bytes], fault: str
) -> None:
    assert faults.fault_of(code, result, found, {}, {"a": b"123"})[: len(fault)] == fault
    assert bool(faults.fault_of(code, result, found, {}, {"a": b"123"})) == bool(fault)
