"""A ledger keeps what was entered.  The long version: benchmarks/ledger_faults.py."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from programs import program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX files and signals")


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return program("ledger_faults", monkeypatch)


def test_a_disk_that_fills_at_any_byte_keeps_the_ledger(faults, tmp_path) -> None:
    outcome = faults.full_disk(tmp_path, stride=499)
    assert outcome.faults == []
    assert outcome.cases > 10


def test_processes_that_are_killed_have_drawn_nothing_that_is_not_entered(faults, tmp_path) -> None:
    outcome = faults.killed(tmp_path, 4)
    assert outcome.faults == []
    assert outcome.cases == 12
