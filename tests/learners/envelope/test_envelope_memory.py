"""What a box takes in memory, and that rows of 32 bits hold what they are given."""

import itertools
import math

import numpy as np
import pytest
from counted import TIMES, counted, times_as_many
from dual_boxes import holds, reading
from envelope_laws import watched_strands
from grids import cornered

from geometry.columns import count_columns
from geometry.grid_counts import GridCounts
from geometry.halfplane import MAX_D, HalfplaneLattice
from learners.core.selection import PieceKind, Score, Selected, set_cover_score
from learners.envelope import partition, race, strands
from learners.envelope.boxes import SHEETS, first_boxes, readings
from learners.envelope.envelope_selection import EnvelopeSelection
from learners.envelope.partition import BOXES, MIX_USED, PLAIN, box_type, grow, make_partition
from learners.envelope.target import make_target
from learners.privacy.randomness import SeededRandom

#: All that a box takes in a cover of the measure "chord".
MOST_BYTES = 104

FEW = np.zeros(3, dtype=np.int32)


def box_bytes(one: partition.Partition) -> float:
    return (one.boxes.nbytes + one.factors.nbytes + one.tree.nbytes) / len(one.boxes)


def select(lattice: HalfplaneLattice, piece: PieceKind, seed: int) -> Selected:
    points, labels = cornered(lattice.d, 3000, lattice.d, 0.05)
    score = set_cover_score("disjunction", 2, 700, int(labels.sum()), int((~labels).sum()))
    counts = counted(points, labels, lattice.d)
    return EnvelopeSelection(lattice, piece).select(counts, score, 0.15, SeededRandom(seed))


@pytest.mark.parametrize("d", [64, 1024, MAX_D])
def test_a_box_takes_104_bytes(d: int) -> None:
    lattice = HalfplaneLattice(d)
    points, labels = cornered(d, 3000, d, 0.05)
    examples = strands.Examples.of(counted(points, labels, d))
    target = make_target(lattice, set_cover_score("disjunction", 1, 9, 0, 0), 0.1, 3000)
    first = first_boxes(lattice, 3)
    strand = strands.start_strand(lattice, target, examples, first, SeededRandom(1), 1 << 20, 0)
    assert box_bytes(strand.partition) <= MOST_BYTES
    *_, grown = grow(strand.partition)
    assert len(grown.boxes) == 2 * len(strand.partition.boxes)
    assert box_bytes(grown) <= MOST_BYTES


def test_32_bits_hold_all_sides_of_boxes_in_the_chord_measure() -> None:
    sizes = {2**e + more for e in range(21) for more in (-1, 0, 1)} | set(range(1, 300))
    for d in sizes:
        if 1 <= d <= MAX_D:
            lattice = HalfplaneLattice(d)
            assert box_type(lattice, FEW) is np.int32
            assert lattice.high + 1 - lattice.low < 2**31


def test_so_they_do_in_the_papers_measure() -> None:
    """Its class is wider; its boxes are not."""
    for d in (1, 16, 32, 1000, 1024, MAX_D):
        lattice = HalfplaneLattice(d, "paper")
        assert box_type(readings(lattice), FEW) is np.int32


def test_boxes_of_many_examples_have_64_bits() -> None:
    many = GridCounts.of_entries([[1, 1, 1, 2**31]], 8)
    assert box_type(HalfplaneLattice(8), count_columns(many)[0]) is np.int64


def test_a_partition_that_has_grown_is_the_same() -> None:
    rng = np.random.default_rng(3)
    one = make_partition(8, 2, np.int32)
    one.boxes[:] = rng.integers(-(1 << 30), 1 << 30, (8, 16))
    one.factors[2], one.factors[5] = (17.0, -3.5, 2.0), (1.0, 8.0, 0.0)
    one.tree[8:] = rng.random(8)
    *_, grown = grow(one)
    assert grown.boxes.dtype == np.int32
    assert (grown.boxes[:8] == one.boxes).all()
    assert (grown.factors[:8] == one.factors).all()
    assert (grown.factors[8:, MIX_USED] == PLAIN).all()
    assert (grown.tree[16:24] == one.tree[8:]).all()
    assert (grown.tree[24:] == 0).all()
    for node in range(1, 16):
        assert grown.tree[node] == grown.tree[2 * node] + grown.tree[2 * node + 1]
    for name in ("coarse", "tally", "clock"):
        assert (getattr(one, name) == getattr(grown, name)).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("lattice", "piece"),
    [
        (HalfplaneLattice(64), "triangle"),
        (HalfplaneLattice(MAX_D), "triangle"),
        (HalfplaneLattice(16, "paper"), "halfplane"),
        (HalfplaneLattice(60), "halfplane"),
        (HalfplaneLattice(4096), "halfplane"),
        (HalfplaneLattice(4096), "triangle"),
    ],
    ids=["widest", "largest", "paper", "narrow columns", "wide columns", "of triangles"],
)
def test_a_seed_draws_the_same_from_rows_of_32_and_of_64_bits(
    lattice: HalfplaneLattice, piece: PieceKind, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 2^31 times the examples, at a rate divided by 2^31: every trial ends as it did."""
    monkeypatch.setattr(strands, "_PROGRESS", -100.0)
    few = counted(*cornered(lattice.d, 3000, lattice.d, 0.05), lattice.d)
    drawn = []
    for counts, kind, times in ((few, np.int32, 1), (times_as_many(few), np.int64, TIMES)):
        assert [packed.dtype for packed in count_columns(counts)] == [kind] * 2
        # as many lines
        room = (2 << 20) * np.dtype(kind).itemsize
        selection = EnvelopeSelection(lattice, piece, 1 << 12, room)
        score, rate = Score(2, -700 * times, 0), 0.15 / times
        one = selection.select(counts, score, rate, SeededRandom(seed))
        drawn.append((one.piece, one.progress, one.details))
    assert drawn[0] == drawn[1]


def test_boxes_of_a_large_grid_in_the_papers_measure_hold_every_piece(monkeypatch):
    """Lines of all slopes and heights: each is read in exactly one box."""
    lattice = HalfplaneLattice(MAX_D, "paper")
    monkeypatch.setattr(race, "_WORTH_TWO", 2)
    with watched_strands() as seen:
        drawn = select(lattice, "halfplane", 1)
    assert all(lattice.admits(edge.u, edge.v) for edge in drawn.piece)
    rows = itertools.chain(*(s.partition.boxes[: s.partition.tally[BOXES]].tolist() for s in seen))
    boxes = list(rows)
    assert len(boxes) > 2 * len(first_boxes(lattice, 1))
    rng = np.random.default_rng(4)
    # uniform in the class, and with slopes and heights of every order of magnitude
    lines = rng.integers(lattice.low, lattice.high + 1, (300, 2)).tolist()
    sizes = 2.0 ** rng.uniform(0, math.log2(lattice.high), (300, 2))
    lines += (sizes * rng.choice([-1, 1], sizes.shape)).astype(np.int64).tolist()
    for u, v in lines:
        for own in lattice.sheets:
            sheet, p, q = reading(lattice, own, u, v)
            found = [b for b in boxes if b[SHEETS] & 7 == sheet and holds(tuple(b[:4]), p, q)]
            assert len(found) == 1
