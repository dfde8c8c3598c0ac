"""The window at work: nothing raises, nothing piles up.  The long version: benchmarks/soak.py."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from PySide6.QtWidgets import QApplication

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
FOLDER = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def soak(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """benchmarks/soak.py."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("soak")


def test_sixty_operations_leave_no_handles(
    soak: ModuleType, qapp: QApplication, tmp_path: Path
) -> None:
    hand = soak.Soak(tmp_path, seed=2)
    try:
        for once in (hand.sample, hand.step, hand.compare, hand.picture):
            once()  # what is made once is made now
        first = hand.at_rest()
        hand.go(60)
        last = hand.at_rest()
    finally:
        hand.close()
    assert hand.raised == []
    assert not hand.complaints
    assert len(hand.done) > 10
    assert soak.grown(first, last, most_mib=100) == []


def test_growth_is_noticed(soak: ModuleType) -> None:
    first = soak.Count(500, 1.0, 200.0, 100.0, 13, 7, 2, 800, 10_000)
    assert soak.grown(first, first, 32) == []
    for more in (
        {"anonymous_mib": 140.0},
        {"descriptors": 20},
        {"children": 3},
        {"qt_objects": 900},
    ):
        assert len(soak.grown(first, replace(first, **more), 32)) == 1
