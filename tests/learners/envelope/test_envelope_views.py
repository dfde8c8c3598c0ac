"""Where the envelope's boxes lie, and the heaviest of them: for those who watch a draw."""

import gc
import weakref

import numpy as np
import pytest
from envelope_laws import watched_strands
from watched_draw import sample, select

from geometry.halfplane import HalfplaneLattice
from learners.core.records import inside_piece
from learners.core.selection import HeavyBox, SelectionProgress, SheetDensities
from learners.envelope import views
from learners.envelope.boxes import POSITIVES, SHEETS
from learners.envelope.partition import BOXES

R = 16


def by_hand(boxes: tuple[HeavyBox, ...], lattice: HalfplaneLattice) -> np.ndarray:
    """Every box's share put evenly on its rectangles, shape (4, R, R)."""
    ends = np.linspace(lattice.low, lattice.high + 1, R + 1)
    rows = [
        (box.share, *row) for box in boxes for row in zip(box.sheets, box.rectangles, strict=True)
    ]
    shares, sheets, sides = map(np.array, zip(*rows, strict=True))
    low, high = np.split(sides.reshape(-1, 2, 2), 2, axis=2)
    held = np.minimum(high, ends[1:]) - np.maximum(low, ends[:-1])
    across, up = (held.clip(0) / (high - low)).swapaxes(0, 1)
    weights = shares * (sheets == np.arange(4)[:, None])
    return np.einsum("sb,bi,bj->sij", weights, across, up, optimize=True)


def watched(kind: str, rate: float) -> list[tuple[SheetDensities, tuple[HeavyBox, ...]]]:
    seen = []

    def watch(progress: SelectionProgress) -> None:
        seen.append((progress.density(R), progress.heaviest(progress.boxes)))

    selected = select(kind, watch, rate)
    # what is handed out keeps no tables
    assert selected.progress.density is None  # type: ignore[attr-defined]
    return seen


@pytest.mark.parametrize(("kind", "edges"), [("halfplane", 1), ("triangle", 3)])
def test_a_density_is_that_of_all_boxes(kind, edges, monkeypatch):
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


# -- the heaviest boxes ---------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "size"), [("halfplane", 1), ("triangle", 3)])
def test_all_boxes_share_the_whole_mass_and_come_by_weight(kind: str, size: int) -> None:
    seen: list[tuple[SelectionProgress, tuple[HeavyBox, ...]]] = []

    def watch(progress: SelectionProgress) -> None:
        seen.append((progress, progress.heaviest(progress.boxes)))

    select(kind, watch)
    assert seen
    for progress, boxes in seen:
        shares = [box.share for box in boxes]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) == pytest.approx(1.0)
        assert 0 < len(boxes) <= progress.boxes
        for box in boxes:
            assert len(box.sheets) == len(box.rectangles) == size
            for u0, u1, v0, v1 in box.rectangles:
                assert u0 < u1
                assert v0 < v1
    assert seen[-1][0].boxes > 5


def test_few_boxes_are_the_first_of_many() -> None:
    def watch(progress: SelectionProgress) -> None:
        every = [box.share for box in progress.heaviest(progress.boxes)]
        assert [box.share for box in progress.heaviest(7)] == every[:7]
        assert progress.heaviest(0) == ()

    select("triangle", watch)


def test_rectangles_are_those_of_the_partition() -> None:
    """A box's count of positives bounds every piece drawn from its rectangles."""
    boxes: list[HeavyBox] = []

    def watch(progress: SelectionProgress) -> None:
        boxes[:] = progress.heaviest(10**9)

    with watched_strands() as seen:
        select("triangle", watch)
    rows = {
        (*row[:12].tolist(), int(row[SHEETS])): row
        for strand in seen
        for row in strand.partition.boxes[: strand.partition.tally[BOXES]]
    }
    points, labels = sample()
    lattice = HalfplaneLattice(64)
    rng = np.random.default_rng(6)
    checked = 0
    for box in boxes[:1000]:
        corners = [c for rectangle in box.rectangles for c in rectangle]
        row = rows[(*corners, sum(sheet << 3 * e for e, sheet in enumerate(box.sheets)))]
        chosen = [(int(rng.integers(*r[:2])), int(rng.integers(*r[2:]))) for r in box.rectangles]
        if all(lattice.admits(u, v) for u, v in chosen):
            piece = tuple(
                lattice.halfplane(lattice.sheets[sheet], u, v)
                for sheet, (u, v) in zip(box.sheets, chosen, strict=True)
            )
            held = inside_piece(piece, points)
            assert np.count_nonzero(held & labels) <= row[POSITIVES]
            checked += 1
    assert checked > 30


def test_watching_changes_no_draw_and_equality_ignores_the_boxes() -> None:
    looked: list[SelectionProgress] = []

    def watch(progress: SelectionProgress) -> None:
        progress.heaviest(60)
        looked.append(progress)

    plain, watched = select("triangle", None), select("triangle", watch)
    assert looked
    assert plain == watched
    assert "heaviest" not in repr(watched)


def test_a_selection_hands_out_final_boxes_without_the_tables() -> None:
    assert select("triangle", None).progress.heaviest is None  # type: ignore[attr-defined]
    tables: list[weakref.ref[object]] = []
    last: list[tuple[HeavyBox, ...]] = []

    def watch(progress: SelectionProgress) -> None:
        last[:] = [progress.heaviest(60)]
        held = progress.heaviest.args[0]  # type: ignore[attr-defined]
        tables[:] = [weakref.ref(partition.boxes) for partition in held]

    selected = select("triangle", watch)
    gc.collect()
    assert all(table() is None for table in tables)
    assert selected.progress.heaviest(60) == last[0]  # type: ignore[attr-defined]
    assert len(selected.progress.heaviest(3)) == 3  # type: ignore[attr-defined]
