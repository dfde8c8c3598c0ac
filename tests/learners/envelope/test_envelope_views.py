"""Where the envelope's boxes lie: pictures for the curator, against the boxes themselves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from watched_draw import select

from geometry.halfplane import HalfplaneLattice
from learners.core.selection import HeavyBox, SelectionProgress, SheetDensities
from learners.envelope import views

R = 16


def by_hand(boxes: tuple[HeavyBox, ...], lattice: HalfplaneLattice) -> np.ndarray:
    """Every box's share put evenly on its rectangles, shape (4, R, R)."""
    size = (lattice.high + 1 - lattice.low) / R
    ends = [lattice.low + i * size for i in range(R + 1)]
    pictures = np.zeros((4, R, R))
    for box in boxes:
        for sheet, (u0, u1, v0, v1) in zip(box.sheets, box.rectangles, strict=True):
            across, up = (
                [
                    max(0, min(b, high) - max(a, low)) / (high - low)
                    for a, b in itertools.pairwise(ends)
                ]
                for low, high in ((u0, u1), (v0, v1))
            )
            pictures[sheet] += box.share * np.outer(across, up)
    return pictures


def watched(kind: str, rate: float) -> list[tuple[SheetDensities, tuple[HeavyBox, ...]]]:
    seen = []

    def watch(progress: SelectionProgress) -> None:
        seen.append((progress.density(R), progress.heaviest(progress.boxes)))

    selected = select(kind, watch, rate)
    # what is handed out keeps no tables
    assert selected.progress.density is None  # type: ignore[attr-defined]
    return seen


@pytest.mark.parametrize(("kind", "edges"), [("halfplane", 1), ("triangle", 3)])
def test_a_density_is_that_of_all_boxes(
    kind: str, edges: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "_MOST", 1 << 30)
    lattice = HalfplaneLattice(64)
    seen = watched(kind, 0.05)
    for density, boxes in (seen[0], seen[-1]):
        assert [sheet for sheet, _ in density] == [int(sheet) for sheet in lattice.sheets]
        assert {(one.shape, one.dtype) for _, one in density} == {((R, R), np.dtype(np.float32))}
        pictures = np.stack([one for _, one in density])
        assert pictures.sum() == pytest.approx(edges, rel=1e-4)
        assert pictures == pytest.approx(by_hand(boxes, lattice), abs=1e-4)


def test_some_boxes_stand_for_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "_MOST", 300)
    density, boxes = watched("triangle", 0.1)[-1]
    assert len(boxes) > 1500
    pictures = np.stack([one for _, one in density])
    assert pictures.sum() == pytest.approx(3, rel=1e-4)
    # three hundred rectangles an edge: a pixel is off by a few of them
    off = np.abs(pictures - by_hand(boxes, HalfplaneLattice(64)))
    assert off.max() < 0.06
    assert off.sum() < 0.9
