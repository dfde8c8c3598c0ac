"""Learners on counts: the same run as on rows, exact for more examples than 32 bits can count."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from counted import TIMES, counted, times_as_many
from grids import grid_points
from numpy.typing import NDArray

from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice
from geometry.lift import ConicLattice
from learners import (
    ConvexPolygonLearner,
    ConvexPolytopeLearner,
    DiscUnionLearner,
    GreedyConvexLearner,
    GreedyUnionLearner,
    NoisyHistogramLearner,
    PolygonUnionLearner,
    QuadtreeLearner,
    ThresholdLearner,
)
from learners.core.estimator import Estimator
from learners.core.selection import mistakes_score
from learners.cover import cover_run
from learners.cover.best_piece import best_piece, gain_less_loss
from learners.curved.selection import ConicSelection, count_areas
from learners.envelope.envelope_selection import ConceptSelection
from learners.privacy.randomness import SeededRandom
from learners.tiles import tiles

Make = Callable[[int], Estimator]

LEARNERS: dict[str, Make] = {
    "union by tiles": lambda d: PolygonUnionLearner(grid=d, seed=4),
    "union of k": lambda d: PolygonUnionLearner(k=1, n_steps=2, grid=d, seed=4),
    "convex by tiles": lambda d: ConvexPolygonLearner(grid=d, seed=4),
    "convex of k": lambda d: ConvexPolygonLearner(k=2, n_steps=3, grid=d, seed=4),
    "histogram": lambda d: NoisyHistogramLearner(grid=d, seed=4),
    "quadtree": lambda d: QuadtreeLearner(grid=d, seed=4),
    "greedy union": lambda d: GreedyUnionLearner(k=2, grid=d, max_boxes=600, loss_weight=3),
    "greedy convex": lambda d: GreedyConvexLearner(k=2, grid=d, max_boxes=600, loss_weight=3),
    "threshold": lambda d: ThresholdLearner(grid=d, seed=4),
    "discs": lambda d: DiscUnionLearner(k=1, n_steps=2, grid=min(d, 2048), seed=4),
}


def rows(d: int, n: int, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """A corner of the square, one label in twenty wrong, and a crowd on a few points."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, d + 1, (n, 2))
    points[: n // 5] = points[rng.integers(0, 8, n // 5)]
    return points, (points.sum(axis=1) < d) ^ (rng.random(n) < 0.05)


def dense(points: NDArray[np.int64], labels: NDArray[np.bool_], d: int) -> NDArray[np.int64]:
    counts = np.zeros((2, *(d + 1,) * points.shape[1]), dtype=np.int64)
    np.add.at(counts, (labels.astype(int), *points.T), 1)
    return counts


def entries(points: NDArray[np.int64], labels: NDArray[np.bool_]) -> NDArray[np.int64]:
    """As a database might give them: unordered, some places twice, some empty."""
    table = np.column_stack([points, labels])
    some = len(table) // 3
    parts = [np.unique(part, axis=0, return_counts=True) for part in (table[:some], table[some:])]
    found = np.concatenate([np.column_stack(part) for part in parts])
    found = np.concatenate([found, np.zeros((1, found.shape[1]), dtype=np.int64)])
    return np.random.default_rng(1).permutation(found)


def run(learner: Estimator, *sample: Any) -> tuple[Any, list[Any]]:
    """The release, and the records without their seconds."""
    steps = learner.steps(*sample) if len(sample) == 2 else learner.steps_counts(*sample)
    records = [
        replace(record, diagnostics=replace(record.diagnostics, seconds=0.0)) for record in steps
    ]
    # nan is unlike itself
    return learner.release_, [(record.release, repr(record.diagnostics)) for record in records]


@pytest.mark.parametrize("name", LEARNERS)
def test_rows_array_and_entries_make_the_same_run(name: str) -> None:
    d, make = 40, LEARNERS[name]
    points, labels = rows(d, 1500)
    expected = run(make(d), points, labels)
    assert run(make(d), dense(points, labels, d)) == expected
    assert run(make(d), entries(points, labels)) == expected
    counts = GridCounts.of_examples(points, labels, d)
    assert run(make(d), counts) == expected
    assert make(d).fit_counts(counts).release_ == expected[0]
    assert run(make(d), points[::-1], labels[::-1]) == expected


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "discs"])
def test_so_they_do_where_columns_are_wide(name: str) -> None:
    d, make = 4096, LEARNERS[name]
    points, labels = rows(d, 1500)
    expected = run(make(d), points, labels)
    assert run(make(d), entries(points, labels)) == expected


def test_so_they_do_in_space() -> None:
    points = np.random.default_rng(2).integers(0, 7, (2000, 3))
    labels = points.sum(axis=1) < 11

    def make() -> ConvexPolytopeLearner:
        return ConvexPolytopeLearner(k=2, n_steps=2, grid=6, seed=4)

    expected = run(make(), points, labels)
    assert run(make(), dense(points, labels, 6)) == expected
    assert run(make(), entries(points, labels)) == expected


@pytest.mark.parametrize("name", LEARNERS)
def test_diagnostics_of_a_sample_taken_many_times_are_its_own_times_as_many(name: str) -> None:
    """Exact beyond 2^31, against Python's integers; the shape is found."""
    d, times, make = 12, 1 << 33, LEARNERS[name]
    grid = grid_points(d)
    labels = ((grid - 5) ** 2).sum(axis=1) <= 16 if name == "discs" else grid.sum(axis=1) < 11
    if name == "threshold":
        labels = grid[:, 0] <= 4
    amounts = times + np.arange(len(grid))
    learner = make(d)
    table = np.column_stack([grid, labels, amounts])
    records = list(learner.steps_counts(table))
    assert (learner.predict(grid) == labels).mean() > (0.8 if "greedy" in name else 0.95)
    left = np.ones(len(grid), dtype=bool)
    wrong = 0.0
    for record, predicted in zip(records, learner.staged_predict(grid), strict=True):
        false_positives = sum(amounts[(predicted == 1) & ~labels].tolist())
        wrong = sum(amounts[predicted != labels].tolist()) / sum(amounts.tolist())
        if name != "convex by tiles":
            assert record.diagnostics.empirical_error == wrong
            rate = false_positives / sum(amounts.tolist())
            assert record.diagnostics.false_positive_rate == rate
        tile = getattr(record.release, "tile", None)
        held = left if tile is None else tile.holds(grid)
        assert record.diagnostics.positives_alive == sum(amounts[held & labels].tolist())
        assert record.diagnostics.negatives_alive == sum(amounts[held & ~labels].tolist())
        if tile is None:
            decided = np.array(predicted == 1)
            left = left & ~decided if learner.role == "disjunction" else left & decided


# -- 64 bits --------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [60, 4096])
def test_64_bits_draw_concepts_as_32_do(d: int) -> None:
    few = counted(*rows(d, 1200), d)
    selection = ConceptSelection(HalfplaneLattice(d))
    one = selection.select(few, 0.5, SeededRandom(3))
    other = selection.select(times_as_many(few), 0.5 / TIMES, SeededRandom(3))
    assert (other.piece, other.inside) == (one.piece, one.inside)
    assert other.progress.trials == one.progress.trials


@pytest.mark.parametrize("weight", [None, 2])
@pytest.mark.parametrize(
    ("piece", "role"), [("triangle", "disjunction"), ("halfplane", "conjunction")]
)
def test_the_best_piece_of_many_is_that_of_few(piece, role, weight):
    """A product of a weight and a loss may be far beyond 64 bits."""
    few = counted(*rows(30, 300), 30)
    found = []
    for counts in (few, times_as_many(few)):
        objective = gain_less_loss(role, weight, counts.positives, counts.negatives)
        found.append(best_piece(counts, HalfplaneLattice(30), piece, objective, max_boxes=3000))
    assert found[1].piece == found[0].piece
    assert (found[1].value, found[1].gap) == (found[0].value * TIMES, found[0].gap * TIMES)


def test_64_bits_draw_discs_as_32_do() -> None:
    few = counted(*rows(50, 300), 50)
    many = times_as_many(few)
    assert [area.dtype for area in (*count_areas(few), *count_areas(many))] == (
        [np.int32] * 2 + [np.int64] * 2
    )
    selection = ConicSelection(ConicLattice(50, "disc"))
    one = selection.select(few, mistakes_score(few.positives), 0.1, SeededRandom(3))
    other = selection.select(many, mistakes_score(many.positives), 0.1 / TIMES, SeededRandom(3))
    assert other.piece == one.piece


# -- refusals -------------------------------------------------------------------------------


@pytest.fixture
def nothing_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(seed: object) -> None:
        raise AssertionError("a source of randomness was opened")

    monkeypatch.setattr(tiles, "open_source", drawn)
    monkeypatch.setattr(cover_run, "open_source", drawn)


CROWD = 123_456_789


@pytest.mark.usefixtures("nothing_drawn")
@pytest.mark.parametrize("k", [None, 1])
@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (GridCounts.of_entries([(0, 0, 1, CROWD)], 9), r"grid 0\.\.9, not on 0\.\.8"),
        (np.full((2, 10, 10), CROWD), r"grid 0\.\.9, not on 0\.\.8"),
        ([(0, 0, 1, CROWD), (9, 0, 1, CROWD)], r"entry 1: x = 9 is not in 0\.\.8"),
        (np.full((2, 9, 9, 9), CROWD), r"shape \(2, d \+ 1, d \+ 1\)"),
        (3, r"shape \(m, 4\)"),
        (
            GridCounts.of_examples(np.zeros((CROWD % 7, 3), np.int64), np.zeros(CROWD % 7) > 1, 8),
            "3 coordinates, not 2",
        ),
    ],
)
def test_counts_that_cannot_be_used_are_refused_before_anything_is_drawn(counts, said, k):
    learner = PolygonUnionLearner(k=k, grid=8)
    with pytest.raises(ValueError, match=said) as refusal:
        learner.steps_counts(counts)
    assert str(CROWD) not in str(refusal.value)
    with pytest.raises(ValueError, match=said):
        learner.fit_counts(counts)


@pytest.mark.usefixtures("nothing_drawn")
def test_too_many_pieces_for_so_many_examples_are_refused() -> None:
    few = [(0, 0, 1, 2_800_000_000_003)]
    with pytest.raises(ValueError, match="smaller k") as refusal:
        PolygonUnionLearner(k=101, grid=8).steps_counts(few)
    assert str(few[0][3]) not in str(refusal.value)
    with pytest.raises(AssertionError, match="opened"):
        PolygonUnionLearner(k=99, grid=8).steps_counts(few)


@pytest.mark.parametrize("grid", [16.5, "16", None])
def test_a_grid_that_is_no_number_is_refused_for_rows_and_counts(grid: Any) -> None:
    model = PolygonUnionLearner(grid=grid)
    with pytest.raises(ValueError, match="grid must be a whole number, got"):
        model.fit([[0, 1]], [1])
    with pytest.raises(ValueError, match="grid must be a whole number, got"):
        model.fit_counts([[0, 1, 1, 1]])
