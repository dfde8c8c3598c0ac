"""Chunks, votes of models, private classification queries: laws, neighbours, promises."""

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from typing import Any, Self

import numpy as np
import pytest
from chi_square import assert_counted, assert_drawn_from
from majority import Majority, sample
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from stability_laws import Law, divided_law, query_law, worst_of_neighbours

from learners.core.selection import Cancelled
from learners.privacy.randomness import SeededRandom
from learners.stability.base_learners import MajorityCells
from learners.stability.classifiers import StableQueryClassifier
from learners.stability.sample_and_aggregate import (
    ChunkModels,
    ConstantModel,
    assign_chunks,
    distances,
    split_chunks,
    train_chunks,
    winners,
)
from learners.stability.stable_queries import plan_sparse_vector

CLASSES = np.array([0, 1])


class Slow(Majority):
    """Takes longer for some chunks than for others."""

    def fit(self, X: Any, y: Any) -> Majority:
        time.sleep(0.002 * (len(y) % 3))
        return super().fit(X, y)


class Broken:
    """Fails where an example at 13 is seen, and predicts nonsense where one at 7 is."""

    def fit(self, X: Any, y: Any) -> Self:
        if (X == 13).any():
            raise RuntimeError("thirteen")
        self.odd = bool((X == 7).any())
        return self

    def predict(self, X: Any) -> Any:
        return np.full(3, 5) if self.odd else np.ones(len(X), dtype=int)


# -- chunks --------------------------------------------------------------------------------------


def test_every_record_goes_to_one_chunk_by_a_coin_of_its_own() -> None:
    chunk = assign_chunks(6000, 5, SeededRandom(1))
    sizes = np.bincount(chunk, minlength=5)
    assert_counted(np.ones(5), sizes, outcomes=5)
    pairs = np.bincount(5 * chunk[::2] + chunk[1::2], minlength=25)
    assert_counted(np.ones(25), pairs, outcomes=25)
    X = np.arange(12).reshape(6, 2)
    parts = list(split_chunks(X, np.arange(6), np.array([2, 0, 2, 2, 0, 4]), 5))
    assert [y.tolist() for _, y in parts] == [[1, 4], [], [0, 2, 3], [], [5]]
    assert parts[2][0].tolist() == X[[0, 2, 3]].tolist()


def test_one_record_changes_one_model_and_one_vote() -> None:
    """Add, remove or replace, at any place of the sample, with the other records' coins kept."""
    X, y = sample(60)
    chunk = assign_chunks(61, 7, SeededRandom(2))
    base = MajorityCells(grid=16, cells=4)
    points = X[:20]

    def votes(rows: list[int], labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        models = train_chunks(base, X[rows], labels[rows], chunk[rows], 7, CLASSES).models
        return [m.predict(points) for m in models]

    rows = list(range(60))
    whole = votes(rows, y)
    for gone in range(0, 60, 7):
        other = votes([r for r in rows if r != gone], y)
        differ = [i for i in range(7) if (whole[i] != other[i]).any()]
        assert set(differ) <= {int(chunk[gone])}
        flipped = y.copy()
        flipped[gone] ^= 1
        differ = [i for i in range(7) if (whole[i] != votes(rows, flipped)[i]).any()]
        assert set(differ) <= {int(chunk[gone])}


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_votes_do_not_depend_on_who_trains(pool: type[Executor]) -> None:
    X, y = sample(300)
    y = (np.random.default_rng(1).random(300) < 0.5).astype(int)
    chunk = assign_chunks(300, 40, SeededRandom(3))
    alone = train_chunks(Slow(), X, y, chunk, 40, CLASSES)
    with pool(2) as executor:
        together = train_chunks(Slow(), X, y, chunk, 40, CLASSES, mapper=executor.map)
        assert [m.predict(X[:1]) for m in together.models] == [
            m.predict(X[:1]) for m in alone.models
        ]
        np.testing.assert_array_equal(together.votes(X, executor.map), alone.votes(X))


def test_an_executor_is_given_no_more_models_than_there_is_room_for() -> None:
    """It predicts by all that it is given, however late that is counted."""
    labels = tuple(map(ConstantModel, [0, 1, 1] * 40))
    models = ChunkModels(labels, CLASSES, np.zeros(120, dtype=int), 0)
    given: list[int] = []

    def all_at_once(job: Callable[[Any], Any], items: Any) -> list[Any]:
        given.append(len(items))
        return [job(item) for item in items]

    for many, most in ((1, 120), (1 << 20, 16)):
        given.clear()
        votes = models.votes(np.broadcast_to(np.zeros(1), many), all_at_once)
        assert votes.shape == (many, 2)
        assert (votes == [40, 80]).all()
        assert (max(given), sum(given)) == (most, 120)


def test_whatever_happens_in_a_chunk_is_a_vote() -> None:
    X = np.array([[1], [2], [13], [3], [7], [4], [5], [6]])
    y = np.array([1, 0, 1, 0, 1, 0, 1, 1])
    chunk = np.array([0, 0, 1, 1, 2, 2, 4, 4])
    with pytest.warns(UserWarning, match="training on a chunk failed"):
        models = train_chunks(Broken(), X, y, chunk, 5, CLASSES)
    with pytest.warns(UserWarning, match="predicting on a chunk failed"):
        counts = models.votes(X[:2])
    # trained; failed; nonsense; empty; one label alone
    assert models.failed == 1
    assert models.sizes.tolist() == [2, 2, 2, 0, 2]
    assert counts.tolist() == [[3, 2], [3, 2]]
    assert models.models[4].predict([0, 0]).tolist() == [1, 1]
    unknown = ChunkModels((Majority().fit(X, [1]),), np.array([0, 2]), models.sizes, 0)
    assert unknown.votes(X[:1]).tolist() == [[1, 0]]


def test_a_person_who_stops_is_obeyed() -> None:
    class Stopped(Majority):
        def fit(self, X: Any, y: Any) -> Majority:
            raise Cancelled

    X, y = sample(50)
    with pytest.raises(Cancelled):
        train_chunks(Stopped(), X, y, np.zeros(50, dtype=np.int64), 1, CLASSES)


# -- the whole mechanism, enumerated -------------------------------------------------------------


def answers_law(labels: tuple[int, ...], chunks: int, m: int, budget: Any) -> Law:
    """Answers to m equal queries."""

    @cache
    def of(votes: tuple[int, int]) -> Law:
        counts = np.array([votes])
        return query_law((int(winners(counts)[0]),) * m, (int(distances(counts)[0]),) * m, budget)

    return divided_law(labels, chunks, of)


@pytest.mark.parametrize(("epsilon", "delta", "halts"), [(1.0, 0.3, 1), (0.5, 0.2, 2)])
def test_whole_runs_keep_epsilon_and_delta_for_all_neighbours(epsilon, delta, halts):
    budget = plan_sparse_vector(epsilon, delta, queries=2, halts=halts)
    worst = worst_of_neighbours(lambda labels: answers_law(labels, 3, 2, budget), 4, epsilon)
    assert 0 < worst <= delta


def test_the_classifier_follows_that_law() -> None:
    labels = (1, 1, 0, 1)
    budget = plan_sparse_vector(1.0, 0.3, queries=2, halts=1)
    law = answers_law(labels, 3, 2, budget)
    runs, seen = 800, Counter[tuple[int | None, ...]]()
    for seed in range(runs):
        model = StableQueryClassifier(
            base=Majority(), epsilon=1.0, delta=0.3, queries=2, chunks=3, seed=seed
        ).fit(np.zeros((4, 1)), labels)
        records = list(model.steps(np.zeros((2, 1))))
        seen[tuple(r.release.value for r in records if r.release.status != "halted")] += 1
    assert_drawn_from(law, seen, runs, outcomes=5)


# -- the classifier ------------------------------------------------------------------------------


def test_stable_queries_are_answered_exactly_and_the_rest_is_visible() -> None:
    X, y = sample(20_000)
    model = StableQueryClassifier(
        base=MajorityCells(grid=16, cells=2), queries=40, halts=2, epsilon=4.0, seed=3
    ).fit(X, y)
    points = np.array([[1, 5], [15, 5], [4, 2]])
    records = list(model.steps(points))
    assert [r.release.value for r in records] == [0, 1, 0]
    assert [r.release.queries_left for r in records] == [39, 38, 37]
    chunks = dict(model.release_.parameters)["chunks"]
    for record in records:
        assert sum(record.diagnostics.votes) == chunks
        assert record.diagnostics.winner == record.release.value
    assert (model.queries_left_, model.halts_left_) == (37, 2)
    assert sum(model.diagnostics_.sizes) == 20_000
    # a release names nothing of the sample
    public = {"queries", "halts", "chunks", "constants"}
    assert {name for name, _ in model.release_.parameters} == public
    other = StableQueryClassifier(
        base=MajorityCells(grid=16, cells=2), queries=40, halts=2, epsilon=4.0, seed=3
    ).fit(X[:9000], np.random.default_rng(1).integers(0, 2, 9000))
    assert other.release_ == model.release_
    answers = other.answer(points)
    assert answers.tolist() == [-1, -1, -1]
    assert other.halts_left_ == 0
    with pytest.raises(ValueError, match="too many"):
        other.steps(np.zeros((38, 2), dtype=int))


def test_any_object_and_many_classes_will_do() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((40_000, 2))
    y = 10 * (X[:, 0] > 0.5) + (X[:, 1] > 0.5)
    model = StableQueryClassifier(
        base=DecisionTreeClassifier(max_depth=4, random_state=0), classes=[0, 1, 10, 11],
        queries=10, epsilon=2.0, seed=1, workers=2,
    ).fit(X, y)  # fmt: skip
    points = [[0.2, 0.2], [0.2, 0.9], [0.9, 0.2], [0.8, 0.8]]
    assert model.answer(points).tolist() == [0, 1, 10, 11]
    assert not model.privacy_.private
    # a factory is as good
    again = StableQueryClassifier(
        base=lambda: DecisionTreeClassifier(max_depth=4, random_state=0),
        classes=[0, 1, 10, 11], queries=10, epsilon=2.0, seed=1,
    ).fit(X, y)  # fmt: skip
    assert again.answer(points).tolist() == [0, 1, 10, 11]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"base": 3}, "must have fit"), ({"chunks": 0}, "chunks"), ({"queries": 0}, "queries"),
        ({"halts": 1.5}, "halts"), ({"classes": [0]}, "classes"), ({"classes": [0, 0]}, "differ"),
        ({"epsilon": -1}, "epsilon"), ({"workers": 0}, "workers"), ({"classes": [1, 2]}, "row"),
    ],
)  # fmt: skip
def test_classifiers_say_what_is_wrong(wrong: dict[str, Any], message: str) -> None:
    X, y = sample(30)
    model = StableQueryClassifier(base=Majority())
    with pytest.raises(ValueError, match=message):
        model.set_params(**wrong).fit(X, y)
    assert not hasattr(model, "release_")


def test_a_classifier_must_be_fitted_and_examples_match() -> None:
    model = StableQueryClassifier(base=Majority())
    with pytest.raises(ValueError, match="not been fitted"):
        model.steps([[1]])
    with pytest.raises(ValueError, match="same examples"):
        model.fit([[1], [2]], [1])
