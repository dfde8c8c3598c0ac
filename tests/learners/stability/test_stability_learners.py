"""Polygons by stability: releases, points, records; and what one chunk may not stop."""

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from chi_square import assert_drawn_from
from numpy.typing import NDArray

from geometry.grid_counts import GridCounts
from learners import StabilityLearner
from learners.core.examples import check_examples
from learners.core.selection import SelectionProgress
from learners.privacy.randomness import SeededRandom
from learners.stability.base_learners import MajorityCells
from learners.stability.label_private import random_rows
from learners.stability.sample_and_aggregate import VoteProgress
from learners.stability.stability_learner import FIRST_CELLS, final_learner, label_points, shuffled
from learners.stability.stable_queries import QueryRelease

D = 64


def sample(n: int, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, D + 1, (n, 2))
    return X, (X.sum(axis=1) <= 60).astype(int)


def learner(**more: Any) -> StabilityLearner:
    given: dict[str, Any] = {
        "k": 1, "grid": D, "base": MajorityCells(grid=D, cells=8), "epsilon": 2.0, "seed": 3
    }  # fmt: skip
    return StabilityLearner(**given | more)


def test_counts_are_voted_on_as_their_rows_are() -> None:
    """In the order of the counts, so that each example has the same coin."""
    counts = GridCounts.of_examples(*check_examples(*sample(3000), D), D)
    rows = np.repeat(np.arange(len(counts)), counts.amounts)
    X, y = counts.points[rows], counts.labels[rows]
    assert learner().fit_counts(counts).answers_ == learner().fit(X, y).answers_
    assert learner().fit_counts(counts).release_ == learner().fit(X, y).release_


class Oracle:
    """Answers by a function; ⊥ where that says None; counts what is asked."""

    def __init__(self, f: Any, halts: int = 10**9) -> None:
        self.f, self.halts, self.asked = f, halts, []

    def __call__(self, points: NDArray[np.int64]) -> list[QueryRelease]:
        found = []
        for x, y in points.tolist():
            self.asked.append((x, y))
            value = self.f(x, y) if self.halts else None
            status = "answered" if value is not None else "unstable" if self.halts else "halted"
            self.halts -= status == "unstable"
            found.append(QueryRelease(len(self.asked), value, status, self.halts, 10**6))
        return found


# -- public points -------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 5, 16, 33])
def test_refined_points_are_asked_once_and_reach_the_border(d: int) -> None:
    oracle = Oracle(lambda x, y: int(2 * x + y <= d))
    found = label_points(oracle, "refined", d, 10**6, SeededRandom(1))
    assert [p for p, _ in found] == oracle.asked
    assert len(set(oracle.asked)) == len(oracle.asked)
    assert all(0 <= x <= d and 0 <= y <= d for x, y in oracle.asked)
    known = {p: a.value for p, a in found}
    # what was asked tells the whole square: two lattice neighbours that differ enclose the border
    for x in range(0, d + 1):
        asked = sorted(y for a, y in known if a == x)
        for low, high in itertools.pairwise(asked):
            if known[x, low] != known[x, high] and high - low > 1:
                assert high - low <= math.ceil(d / FIRST_CELLS)
    if d >= 16:
        assert len(known) < (d + 1) ** 2 / 2


def test_points_end_with_the_budget_and_with_the_halts() -> None:
    for choice in ("refined", "random"):
        oracle = Oracle(lambda x, y: int(x < y))
        found = label_points(oracle, choice, 100, 40, SeededRandom(2))  # type: ignore[arg-type]
        assert len(found) == len(oracle.asked) == 40
    oracle = Oracle(lambda x, y: None if x == 50 else 1, halts=1)
    found = label_points(oracle, "refined", 100, 1000, SeededRandom(2))
    # the level in which the run was halted is the last
    assert len(found) == (FIRST_CELLS + 1) ** 2
    assert sum(a.status == "unstable" for _, a in found) == 1
    with pytest.raises(ValueError, match="points must be"):
        StabilityLearner(points="all").plan()  # type: ignore[arg-type]


def test_a_shuffle_is_uniform() -> None:
    source, points = SeededRandom(5), [(0, 0), (1, 1), (2, 2)]
    seen = Counter(tuple(shuffled(points, source)) for _ in range(1200))
    assert_drawn_from(dict.fromkeys(itertools.permutations(points), 1 / 6), seen, 1200, 6)


# -- the learner ---------------------------------------------------------------------------------


def test_nothing_public_depends_on_the_number_of_examples() -> None:
    X, y = sample(30_000)
    sizes = [dict(learner().fit(X[:n], y[:n]).release_.parameters) for n in (0, 1, 30_000)]
    assert sizes[0] == sizes[1] == sizes[2]


def test_the_polygons_are_a_function_of_the_answers() -> None:
    X, y = sample(30_000)
    model = learner().fit(X, y)
    known = [(p, a.value) for p, a in model.answers_ if a.value is not None]
    again = final_learner(1, D).fit(
        np.array([p for p, _ in known]), np.array([v for _, v in known])
    )
    assert again.release_.pieces == model.release_.pieces


@pytest.mark.parametrize(("points", "unanswered"), [("refined", "omit"), ("random", "coin")])
def test_every_choice_runs_and_workers_do_not_matter(points: str, unanswered: str) -> None:
    X, y = sample(20_000)
    runs = [
        learner(points=points, unanswered=unanswered, queries=60, workers=w, epsilon=4.0).fit(X, y)
        for w in (1, 3)
    ]
    assert runs[0].release_ == runs[1].release_
    assert runs[0].answers_ == runs[1].answers_


def test_with_labels_alone_protected_points_of_the_sample_are_labelled() -> None:
    """Their own labels are used nowhere; and the statement says what is protected."""
    X, y = sample(20_000)
    model = learner(neighbours="replace-label", queries=60, epsilon=4.0).fit(X, y)
    rows = random_rows(len(X), 60, SeededRandom(3))
    assert [point for point, _ in model.answers_] == [tuple(p) for p in X[rows].tolist()]
    assert sum(answer.value is not None for _, answer in model.answers_) > 10
    assert model.privacy_.neighbours == "replace-label"
    assert dict(model.release_.parameters)["public_points"] == "sample"
    flipped = y.copy()
    flipped[rows] = 1 - y[rows]
    again = learner(neighbours="replace-label", queries=60, epsilon=4.0).fit(X, flipped)
    assert (again.release_, again.answers_) == (model.release_, model.answers_)
    # another label of a voter moves one vote of a query at most (lemma S1)
    voter = next(row for row in range(len(X)) if row not in rows)
    flipped = y.copy()
    flipped[voter] = 1 - y[voter]
    leads = []
    for outcome in (y, flipped):
        seen: list[SelectionProgress] = []
        other = learner(neighbours="replace-label", queries=60, epsilon=4.0)
        other.fit(X, outcome, watch=seen.append)
        votes = [one.votes for one in seen if isinstance(one, VoteProgress) and one.votes][-1]
        leads.append(votes.margins * votes.chunks)
    assert np.abs(leads[0] - leads[1]).max() <= 2 + 1e-9


def test_labels_alone_need_examples_to_ask_about_and_no_other_points() -> None:
    X, y = sample(50)
    with pytest.raises(ValueError, match="too few to give 50"):
        learner(neighbours="replace-label", queries=50).steps(X, y)
    with pytest.raises(ValueError, match="leave out points"):
        learner(neighbours="replace-label", queries=5, points="random").steps(X, y)


def test_the_default_base_learns_a_triangle() -> None:
    X, y = sample(3000)
    model = StabilityLearner(k=1, grid=D, chunks=40, epsilon=8.0, seed=1).fit(X, y)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"points": "all"}, "points"), ({"unanswered": "x"}, "unanswered"),
        ({"base": 1}, "fit and predict"), ({"workers": 0}, "workers"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_anything_is_drawn(wrong, message):
    with pytest.raises(ValueError, match=message):
        learner(**wrong).steps(np.array([[0, 1]] if "grid" in wrong else [[3, 4]]), [1])


def test_a_budget_that_needs_millions_of_chunks_is_refused_before_anything_runs() -> None:
    """By public numbers alone: the same with any sample, and not when chunks are given."""
    small = StabilityLearner(grid=16, epsilon=1e-6)
    for n in (0, 1, 40):
        with pytest.raises(ValueError, match=r"needs \d+,\d{3},\d{3} chunks.*a larger epsilon"):
            small.fit(np.ones((n, 2), dtype=np.int64), np.ones(n, dtype=np.int64))
    few = StabilityLearner(grid=16, epsilon=1e-6, chunks=10, queries=5)
    assert few.fit([[1, 1]], [1]).release_ is not None
