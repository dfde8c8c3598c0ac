"""Places and close pairs of both labels: what bounds them, boxes, draws where there are many."""

from typing import Literal, get_args

import numpy as np
import pytest
from compiled import compiled
from counted import as_counter, counted
from envelope_laws import (
    assert_same_law,
    pair_all,
    pieces_in_boxes,
    random_examples,
    score_of,
    strands_of_a_draw,
)
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from piled import draw_in_time

from geometry.columns import count_columns, make_tables
from geometry.counting import NEGATIVE, POSITIVE, line_row
from geometry.grid_counts import GridCounts, settle_conflicts
from geometry.halfplane import HalfplaneLattice
from learners.core.records import inside_piece
from learners.core.selection import Cancelled, SelectionProgress, mistakes_score
from learners.envelope import close_pairs, pile_gains, strands
from learners.envelope.boxes import pairs_across
from learners.envelope.close_pairs import make_pairs, take_pairs
from learners.envelope.compaction import compact
from learners.envelope.envelope_selection import EnvelopeSelection
from learners.envelope.partition import BOXES, bound_of, open_points
from learners.envelope.strands import Examples, Strand
from learners.privacy.randomness import SeededRandom

Sample = tuple[NDArray[np.int64], NDArray[np.bool_]]


#: What bounds scores: places of both labels, halved sums with close pairs, or either.
Bounds = Literal["places", "halved", "either"]


def bound_by(patch: pytest.MonkeyPatch, bounds: Bounds) -> None:
    """Every place of both labels is looked at, or none; and close pairs, or none; no piles."""
    patch.setattr(pile_gains, "_MOST_CELLS", -1)
    patch.setattr("learners.envelope.target._HEAVY", np.inf if bounds == "halved" else 0.0)
    patch.setattr(strands, "_MOSTLY", 2.0)
    if bounds != "places":
        pair_all(patch)
        patch.setattr(strands, "_MOSTLY", 0.0)
        patch.setattr(strands, "_HEAVY", 0.0)


def crowded(d: int, n: int, seed: int) -> Sample:
    """Each of few places holds examples of both labels, in unequal numbers, and others one."""
    rng = np.random.default_rng(seed)
    places = rng.integers(0, d + 1, (5, 2))
    alone, labels = random_examples(d, 4, seed)
    points = np.concatenate([places[rng.integers(0, 5, n)], places, places, alone])
    outcome = np.repeat([True, False], 5)
    return points, np.concatenate([rng.random(n) < 0.5, outcome, labels])


def test_every_box_knows_the_points_it_leaves_open() -> None:
    points, labels = crowded(9, 20, seed=1)
    lattice = HalfplaneLattice(9)
    with pytest.MonkeyPatch.context() as patch:
        bound_by(patch, "places")
        examples = Examples.of(counted(points, labels, 9), eta=1.0)
    assert len(examples.shared) > 3
    for x, y, negatives, positives in examples.shared.tolist():
        here = (points == (x, y)).all(axis=1)
        assert (negatives, positives) == ((here & ~labels).sum(), (here & labels).sum())
    tables = make_tables(examples.totals, lattice.basis, 1 << 20)
    rng = np.random.default_rng(2)
    for _ in range(100):
        sheets = rng.integers(0, 4, 6).tolist()
        at = rng.integers(0, 9 << lattice.bits, (6, 2)).tolist()
        rows, held = np.zeros(6, dtype=np.int64), []
        for i, (sheet, (u, v)) in enumerate(zip(sheets, at, strict=True)):
            rows[i] = line_row(tables, sheet, u, v, POSITIVE if i < 3 else NEGATIVE)
            halfplane = lattice.halfplane(lattice.sheets[sheet], u, v)
            held.append(halfplane.contains(examples.shared[:, :2]))
        left = np.all(held[:3], axis=0) & ~np.all(held[3:], axis=0)
        word = int(open_points(tables, examples.shared, rows))
        assert word == sum(1 << i for i in np.flatnonzero(left).tolist())


@pytest.mark.parametrize("bounds", get_args(Bounds))
def test_no_piece_scores_more_than_its_box_promises(bounds: Bounds) -> None:
    """Of boxes as they are halved, merged, and halved again."""
    rng = np.random.default_rng(2)
    points, labels = crowded(64, 300, seed=4)
    lattice = HalfplaneLattice(64)
    score = score_of("disjunction", 2, labels, int(labels.sum()) // 2)
    with pytest.MonkeyPatch.context() as patch:
        bound_by(patch, bounds)
        found = strands_of_a_draw(
            EnvelopeSelection(lattice, "triangle"), counted(points, labels, 64), score, 0.05
        )

    kinds = {"lowered": 0, "left": 0}

    def check(strand: Strand) -> None:
        for box, piece in pieces_in_boxes(strand, lattice, 400, rng):
            held = inside_piece(piece, points)
            positives, negatives = (int((held & of).sum()) for of in (labels, ~labels))
            assert score.value(positives, negatives) <= bound_of(strand.target, box)
            kinds["lowered"] += bool(pairs_across(box) < -1)
            kinds["left"] += bool(pairs_across(box) >= 0)

    for strand in found:
        check(strand)
        merged = [compact(strand.target, strand.partition, np.inf) for _ in range(3)]
        assert merged[0]
        check(strand)
        before = strand.partition.tally[BOXES]
        strand.accepted = None
        for _ in range(20):
            strand.advance(np.inf)
        assert strand.partition.tally[BOXES] > before
        check(strand)
    assert (kinds["lowered"] > 50) == (bounds != "halved")
    assert kinds["left"] > 50 or bounds != "halved"


@pytest.mark.parametrize(
    ("measure", "piece", "role", "k", "bounds", "seed"),
    [
        ("chord", "triangle", "disjunction", 1, "places", 7),
        ("paper", "halfplane", "disjunction", 1, "either", 3),
    ],
)
def test_draws_follow_the_enumerated_law(measure, piece, role, k, bounds, seed):
    points, labels = crowded(6, 6, seed)
    selection = EnvelopeSelection(HalfplaneLattice(6, measure), piece, table_bytes=1 << 18)
    score = score_of(role, k, labels, 6)
    with pytest.MonkeyPatch.context() as patch:
        bound_by(patch, bounds)
        assert_same_law(selection, points, labels, score, 1.0, 900, seed=5, surely=0.99)


@pytest.mark.parametrize(
    ("places", "kind", "role", "measure"),
    [
        (1, "at", "conjunction", "chord"),
        (1, "at", "disjunction", "paper"),
        (3, "at", "disjunction", "chord"),
        (300, "at", "disjunction", "chord"),
        (1, "opposite", "disjunction", "chord"),
    ],
)
def test_piles_of_both_labels_take_few_boxes(places, kind, role, measure):
    draw_in_time(places, kind, 1, 20_000, role, 60_000, margin=60, measure=measure)


# -- close pairs ----------------------------------------------------------------------------

most_crossed = compiled(close_pairs.most_crossed)


@pytest.fixture
def all_in_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    pair_all(monkeypatch)


@pytest.mark.parametrize("most", [True, False])
@given(st.integers(0, 10**6), st.integers(0, 300), st.integers(1, 40))
def test_what_is_left_and_the_pairs_are_all_examples(most: bool, seed: int, n: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    points, labels = rng.integers(0, d + 1, (n, 2)), rng.random(n) < rng.random()
    counts = settle_conflicts(counted(points, labels, d))
    with pytest.MonkeyPatch.context() as patch:
        if most:
            pair_all(patch)
        left, pairs = take_pairs(counts)
    whole = as_counter(left)
    for px, py, nx, ny, amount in pairs.tolist():
        assert amount > 0
        whole[px, py, True] += amount
        whole[nx, ny, False] += amount
    assert whole == as_counter(counts)
    if most:
        # in one cell, the whole square, no two of different labels are left
        assert len(set(left.labels.tolist())) <= 1


def test_boxes_have_room_for_the_pairs_of_three_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    pair_all(monkeypatch)
    points = np.array([[0, 0], [1, 0]])
    for amount, found in ((1 << 26, 1), ((1 << 26) + 1, 0)):
        amounts = np.array([amount, 1 << 26])
        counts = GridCounts(1, points, np.array([True, False]), amounts)
        _, pairs = take_pairs(counts)
        assert len(pairs) == found
        assert 8 * (3 * pairs[:, 4].sum() + 1) + 6 < 1 << 31


@pytest.mark.parametrize(("d", "bits"), [(3, 0), (5, 1), (20, 6)])
def test_a_cell_holds_the_most_pairs_that_one_of_its_lines_parts(d: int, bits: int) -> None:
    lattice = HalfplaneLattice(d, "chord", bits)
    rng = np.random.default_rng(d)
    pairs = np.column_stack([rng.integers(0, d + 1, (40, 4)), rng.integers(1, 4, 40)])
    pairs = pairs[(pairs[:, :2] != pairs[:, 2:4]).any(axis=1)]
    counts = counted(pairs[:, :2], np.ones(len(pairs), dtype=bool), d)
    tables = make_tables(count_columns(counts), lattice.basis, 1 << 16)
    table = make_pairs(lattice, pairs, tables)

    def parted(sheet: int, u: int, v: int) -> int:
        halfplane = lattice.halfplane(lattice.sheets[sheet], u, v)
        held = halfplane.contains(pairs[:, :2]) & ~halfplane.contains(pairs[:, 2:4])
        return int(pairs[held, 4].sum())

    exact, above = 0, []
    for sheet in range(4):
        for _ in range(150):
            u0, v0 = (int(rng.integers(lattice.low, lattice.high + 1)) for _ in range(2))
            u1 = min(u0 + int(rng.integers(1, 2 + (lattice.high >> 3))), lattice.high + 1)
            v1 = min(v0 + int(rng.integers(1, 2 + (lattice.high >> 3))), lattice.high + 1)
            bound = most_crossed(table, sheet, u0, u1, v0, v1)
            some = [(int(rng.integers(u0, u1)), int(rng.integers(v0, v1))) for _ in range(8)]
            inside = [parted(sheet, u, v) for u, v in some if lattice.admits(u, v)]
            assert all(one <= bound for one in inside)
            above += [bound - one for one in inside]
            if table.step == 1:
                for u, v in some:
                    if lattice.admits(u, v):
                        # a cell of one point knows its line exactly
                        assert most_crossed(table, sheet, u, u + 1, v, v + 1) == parted(sheet, u, v)
                        exact += 1
    assert above
    assert exact > 100 or table.step > 1


@pytest.mark.usefixtures("all_in_pairs")
def test_draws_with_pairs_follow_the_enumerated_law() -> None:
    seed = 3
    points, labels = random_examples(8, 12, seed)
    labels ^= np.random.default_rng(seed).random(12) < 0.3
    _, pairs = take_pairs(settle_conflicts(counted(points, labels, 8)))
    assert len(pairs)
    selection = EnvelopeSelection(HalfplaneLattice(8), "triangle", table_bytes=1 << 18)
    score = mistakes_score(int(labels.sum()))
    assert_same_law(selection, points, labels, score, 3.0, 280, seed=5, surely=0.999)


def test_wrong_labels_take_fewer_boxes_with_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    points = rng.integers(0, 1025, (50_000, 2))
    labels = (points[:, 0] > 240) & (points[:, 1] > 280) & (points.sum(axis=1) < 1200)
    labels ^= rng.random(len(points)) < 0.1
    counts = counted(points, labels, 1024)

    def draw(most: int) -> int:
        def watch(progress: SelectionProgress) -> None:
            if progress.boxes > most:
                raise Cancelled

        selection = EnvelopeSelection(HalfplaneLattice(1024), "triangle")
        score = mistakes_score(int(labels.sum()))
        return selection.select(counts, score, 1.0, SeededRandom(3), watch).progress.boxes

    needed = draw(1 << 30)
    monkeypatch.setattr(close_pairs, "_FEW", 0)
    with pytest.raises(Cancelled):
        draw(4 * needed)


@pytest.mark.parametrize(("n", "wrong"), [(50, 0.5), (3_000, 0.5), (3_000, 0.1), (20_000, 0.3)])
def test_there_are_no_more_pairs_than_is_known_before(n: int, wrong: float) -> None:
    rng = np.random.default_rng(n)
    points = rng.integers(0, 257, (n, 2))
    labels = (points[:, 0] < 90) ^ (rng.random(n) < wrong)
    settled = settle_conflicts(counted(points, labels, 256))
    _, pairs = take_pairs(settled)
    assert 0 < pairs[:, 4].sum() <= close_pairs.most_pairs(settled) < n
