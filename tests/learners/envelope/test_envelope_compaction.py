"""Boxes that are merged or cut hold every piece once, under a bound that is none too low."""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from compiled import compiled
from counted import counted
from dual_boxes import Rectangle, edges_in, some_edge
from envelope_laws import factorise_everything, watched_strands
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from geometry.halfplane import HalfplaneLattice, Sheet
from learners.core.records import inside_piece
from learners.core.selection import Cancelled, PieceKind, set_cover_score
from learners.envelope import boxes as box_loops, race, strands
from learners.envelope.boxes import (
    NEGATIVES,
    ORDERS,
    POSITIVES,
    SHEETS,
    edge_count,
    edge_in,
    orders_of,
)
from learners.envelope.compaction import compact
from learners.envelope.envelope_selection import EnvelopeSelection
from learners.envelope.partition import BOXES, COMPACTIONS, FACTORISED, MIX_USED, PLAIN, Partition
from learners.envelope.target import make_target
from learners.privacy.randomness import SeededRandom

#: Called with a strand after each of its slices of work.
AfterSlice = Callable[[strands.Strand], None]


def boxes_of(partition: Partition) -> NDArray[np.int64]:
    return partition.boxes[: partition.tally[BOXES]]


def refine(
    lattice: HalfplaneLattice, piece: PieceKind, n: int, rate: float, after: AfterSlice
) -> tuple[list[strands.Strand], NDArray[np.int64], NDArray[np.bool_]]:
    """The strands of a selection after 40 slices of work, or when it ends; and its sample."""
    rng = np.random.default_rng(5)
    points = rng.integers(0, lattice.d + 1, (n, 2))
    labels = (points.sum(axis=1) < lattice.d) ^ (rng.random(n) < 0.2)
    score = set_cover_score("disjunction", 1, int(labels.sum()), 0, 0)
    slices = 0

    def look(now: list[strands.Strand]) -> None:
        nonlocal slices
        if slices:
            for strand in now:
                after(strand)
        slices += 1
        if slices > 40:
            raise Cancelled

    with pytest.MonkeyPatch.context() as patch, watched_strands(look) as seen:
        patch.setattr(strands, "_WORK_PER_CALL", 100)
        patch.setattr(race, "_WORTH_TWO", 2)
        selection = EnvelopeSelection(lattice, piece)
        try:
            selection.select(counted(points, labels, lattice.d), score, rate, SeededRandom(1))
        except Cancelled:
            assert piece == "triangle"
    return seen, points, labels


def merge_half(strand: strands.Strand) -> None:
    compact(strand.target, strand.partition, strand.mass)


def edge_of(box: NDArray[np.int64], e: int) -> tuple[int, Rectangle]:
    return int(box[SHEETS]) >> (3 * e) & 7, tuple(box[4 * e : 4 * e + 4].tolist())


def orders_covered(
    parts: list[NDArray[np.int64]], lattice: HalfplaneLattice
) -> Counter[tuple[tuple[int, int, int], ...]]:
    """For every set of admitted edges that some box holds, how many orders the boxes stand for."""
    covered: Counter[tuple[tuple[int, int, int], ...]] = Counter()
    within = functools.lru_cache(maxsize=None)(functools.partial(edges_in, lattice))
    for box in itertools.chain(*parts):
        edges = [within(*edge_of(box, e)) for e in range(3) if edge_in(box, e)]
        for chosen in itertools.product(*edges):
            covered[tuple(sorted(chosen))] += int(orders_of(box))
    return covered


@pytest.mark.parametrize(
    ("measure", "piece", "d", "bits", "rate"),
    [
        ("chord", "halfplane", 6, 1, 1.5),
        ("paper", "halfplane", 2, 1, 1.5),  # its lattice grows with the fourth power of d
        ("chord", "triangle", 1, 0, 0.3),
        ("paper", "triangle", 1, 0, 0.3),
    ],
)
def test_merged_boxes_hold_every_piece_once(measure, piece, d, bits, rate):
    lattice = HalfplaneLattice(d, measure, bits=bits)
    merged = 0

    def merge(strand: strands.Strand) -> None:
        nonlocal merged
        before = strand.partition.tally[BOXES]
        merge_half(strand)
        merged += before - strand.partition.tally[BOXES]

    found, _, _ = refine(lattice, piece, 2000, rate, merge)
    assert merged > 5
    covered = orders_covered([boxes_of(s.partition) for s in found], lattice)
    for edges, orders in covered.items():
        assert orders == len(set(itertools.permutations(edges)))
    size = 1 if piece == "halfplane" else 3
    assert sum(covered.values()) == (len(lattice.sheets) * lattice.points_per_sheet) ** size


@pytest.mark.parametrize("measure", ["chord", "paper"])
def test_bounds_never_fall_below_a_value_after_compactions(measure: str) -> None:
    lattice = HalfplaneLattice(64, measure)
    found, points, labels = refine(lattice, "triangle", 3000, 0.4, merge_half)
    rng = np.random.default_rng(2)
    checked = 0
    for strand in found:
        assert strand.partition.tally[COMPACTIONS] > 10
        boxes = boxes_of(strand.partition)
        for box in boxes[rng.integers(0, len(boxes), 1500)]:
            chosen = [some_edge(lattice, *edge_of(box, e), rng) for e in range(3)]
            edges = [edge for edge in chosen if edge is not None]
            if len(edges) < 3:
                continue
            piece = tuple(lattice.halfplane(Sheet(s), u, v) for s, u, v in edges)
            held = inside_piece(piece, points)
            assert np.count_nonzero(held & labels) <= box[POSITIVES]
            assert np.count_nonzero(held & ~labels) >= box[NEGATIVES]
            checked += 1
    assert checked > 500


@pytest.mark.parametrize("factorised", [False, True])
def test_the_mass_rises_by_no_more_than_allowed(factorised, monkeypatch):
    """The tree holds the masses of the boxes that are left; a merged box is plain."""
    if factorised:
        factorise_everything(monkeypatch)
    shares = itertools.cycle((0.0, 0.01, 0.2, 3.0))
    freed = 0

    def merge(strand: strands.Strand) -> None:
        nonlocal freed
        partition, share = strand.partition, next(shares)
        mass, used = strand.mass, partition.tally[BOXES]
        fewer = compact(strand.target, partition, share * mass)
        assert fewer == (partition.tally[BOXES] < used)
        assert mass * (1 - 1e-9) <= strand.mass <= mass * (1 + share + 1e-9)
        masses = partition.tree[len(partition.boxes) :]
        assert strand.mass == pytest.approx(masses.sum())
        assert (masses[partition.tally[BOXES] :] == 0).all()
        assert (partition.factors[partition.tally[BOXES] :, MIX_USED] == PLAIN).all()
        freed += used - partition.tally[BOXES]

    found, _, _ = refine(HalfplaneLattice(64), "triangle", 3000, 0.1, merge)
    assert freed > 500
    assert factorised == all(strand.partition.tally[FACTORISED] > 10 for strand in found)


def test_only_boxes_that_meet_in_a_face_are_merged() -> None:
    """Halves and quarters, beside boxes of other sheets, of other orders, or with a gap between."""
    lattice = HalfplaneLattice(16, bits=2)
    target = make_target(lattice, set_cover_score("disjunction", 1, 0, 0, 0), 0.1, 10)
    rows = [
        # u0, u1, v0, v1, sheet, orders, positives, negatives
        (0, 4, 0, 8, 0, 1, 7, 3),
        (4, 8, 0, 8, 0, 1, 9, 4),
        (8, 16, 0, 4, 0, 1, 1, 1),
        (8, 16, 4, 8, 0, 1, 1, 0),
        (16, 20, 0, 8, 1, 1, 2, 2),
        (20, 24, 0, 8, 2, 1, 2, 2),
        (32, 36, 0, 8, 0, 1, 2, 2),
        (36, 40, 0, 8, 0, 3, 2, 2),
        (0, 4, 20, 28, 0, 1, 2, 2),
        (5, 9, 20, 28, 0, 1, 2, 2),
        # nothing of it is admitted
        (0, 4, -100, -90, 0, 1, 2, 2),
    ]
    partition = strands.make_partition(16, 2, np.int32)
    for box, (u0, u1, v0, v1, sheet, orders, positives, negatives) in zip(
        partition.boxes, rows, strict=False
    ):
        box[:] = 0
        box[:4] = u0, u1, v0, v1
        box[SHEETS], box[ORDERS] = sheet | 7 << 3 | 7 << 6, orders
        box[POSITIVES], box[NEGATIVES] = positives, negatives
    partition.tally[BOXES] = len(rows)

    def left() -> set[tuple[int, ...]]:
        columns = [0, 1, 2, 3, SHEETS, ORDERS, POSITIVES, NEGATIVES]
        return {
            (*row[:4], row[4] & 7, *row[5:]) for row in boxes_of(partition)[:, columns].tolist()
        }

    assert edge_count(partition.boxes[0]) == 1
    race.weigh(target, partition)
    assert compact(target, partition, math.inf)
    once = {(0, 8, 0, 8, 0, 1, 9, 3), (8, 16, 0, 8, 0, 1, 1, 0)}
    assert left() == once | set(rows[4:10])
    assert compact(target, partition, math.inf)
    assert left() == {(0, 16, 0, 8, 0, 1, 9, 0)} | set(rows[4:10])
    assert not compact(target, partition, math.inf)
    assert partition.tally[COMPACTIONS] == 3


def test_a_budget_is_kept_and_compaction_ends_when_it_brings_little(monkeypatch):
    """From some point on trials go on without splits, and the selection still ends."""
    monkeypatch.setattr(race, "_WORTH_TWO", 2)
    rng = np.random.default_rng(4)
    points = rng.integers(0, 65, (2000, 2))
    labels = (np.abs(points - 30).sum(axis=1) < 20) ^ (rng.random(2000) < 0.05)
    score = set_cover_score("disjunction", 2, 300, int(labels.sum()), int((~labels).sum()))
    most = []
    selection = EnvelopeSelection(HalfplaneLattice(64), "triangle", max_boxes=2048)
    drawn = selection.select(
        counted(points, labels, 64), score, 0.1, SeededRandom(5), lambda now: most.append(now.boxes)
    )
    assert max(most) <= 2048
    assert drawn.details["compactions"] > 4
    assert drawn.details["strands_full"] == 2


# -- boxes are cut to what carries base measure ---------------------------------------------

trim = compiled(box_loops.trim)

LATTICE = HalfplaneLattice(3, bits=1)
SIDE = LATTICE.d << LATTICE.bits
INTERVALS = st.tuples(
    st.integers(LATTICE.low, LATTICE.high), st.integers(LATTICE.low, LATTICE.high)
).map(lambda ends: (min(ends), max(ends) + 1))


def admitted(u0: int, u1: int, v0: int, v1: int) -> set[tuple[int, int]]:
    return {(u, v) for u in range(u0, u1) for v in range(v0, v1) if LATTICE.admits(u, v)}


@settings(max_examples=600, deadline=None)
@given(u=INTERVALS, v=INTERVALS, e=st.integers(0, 2))
def test_a_trimmed_rectangle_is_the_bounding_box_of_its_admitted_points(u, v, e):
    box = np.zeros(16, dtype=np.int64)
    box[4 * e : 4 * e + 4] = *u, *v
    rest = np.delete(box, range(4 * e, 4 * e + 4))
    points = admitted(*u, *v)
    changed = trim(SIDE, box, e)
    u0, u1, v0, v1 = box[4 * e : 4 * e + 4].tolist()
    assert changed == ((u0, u1, v0, v1) != (*u, *v))
    assert (np.delete(box, range(4 * e, 4 * e + 4)) == rest).all()
    if not points:
        assert u0 == u1 or v0 == v1
        return
    assert (u0, u1) == (min(p[0] for p in points), max(p[0] for p in points) + 1)
    assert (v0, v1) == (min(p[1] for p in points), max(p[1] for p in points) + 1)
