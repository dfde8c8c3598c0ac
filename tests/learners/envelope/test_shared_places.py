"""Places with examples of both labels: what bounds them, and draws where there are many."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import pytest
from counted import counted
from envelope_laws import (
    assert_same_law,
    pair_all,
    pieces_in_boxes,
    random_examples,
    score_of,
    strands_of_a_draw,
)
from numpy.typing import NDArray
from piled import draw_in_time

from geometry.counting import NEGATIVE, POSITIVE, line_row, make_tables
from geometry.halfplane import HalfplaneLattice
from learners.core.records import inside_piece
from learners.envelope import pile_gains, shared_points, strands
from learners.envelope.boxes import pairs_across
from learners.envelope.compaction import compact
from learners.envelope.envelope_selection import EnvelopeSelection
from learners.envelope.partition import BOXES, bound_of, open_points
from learners.envelope.strands import Examples, Strand

Sample = tuple[NDArray[np.int64], NDArray[np.bool_]]


#: What bounds scores: places of both labels, halved sums with close pairs, or either.
Bounds = Literal["places", "halved", "either"]


def bound_by(patch: pytest.MonkeyPatch, bounds: Bounds) -> None:
    """Every place of both labels is looked at, or none; and close pairs, or none; no piles."""
    patch.setattr(pile_gains, "_MOST_CELLS", -1)
    patch.setattr(shared_points, "_HEAVY", np.inf if bounds == "halved" else 0.0)
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
