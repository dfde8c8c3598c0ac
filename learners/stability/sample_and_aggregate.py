"""Divides a sample into chunks, trains a model on each, and counts their votes (algorithm 4).

Every record goes to one of K chunks by a coin of its own, so a record more, less, or replaced
changes one chunk and moves no other record: one model differs, and every query has one vote that
differs (docs/privacy.md, lemma S1).  K is public; the sizes of the chunks are random.  Departs from
the source, which cuts the sample into equal parts: their size would publish n, and a record removed
would shift all the others.

Any object with `fit(X, y)` and `predict(X)` can be trained, by a copy for each chunk.  The lemma
asks that a model depends on its own chunk only: the copies must not share state.  Whatever happens
in a chunk ends in a vote:

* an empty chunk votes for the first class, a chunk with one label for that;
* where training or predicting raises an error, or predicts no class, the vote is the first class.
  An error that stopped the run would publish something about one chunk.

One vote a chunk and query: O(K) trainings, O(m K) predictions, O(m classes) memory.

The winner is the class with most votes, the first of equals.  Its distance to instability (BTT
section 3.2) is the number of votes that may change with the winner staying the same for sure,
whatever one further vote does:

    distance = min over rivals b of  ceil((votes(winner) - votes(b) + [winner < b]) / 2)  -  1.

Proof.  One changed vote moves the difference of two classes by at most 2.  So b wins only after r
changes with 2 r > gap, or 2 r >= gap where b precedes the winner: at least ceil((gap + [winner <
b]) / 2) of them; moving so many votes from the winner to b is enough (the winner has at least
these).  The least such r is the number of changes to another winner; all data at r - 2 or fewer
changes have neighbours with the same winner only.

* One changed vote moves the distance by at most 1: the number of changes to another winner does.
* If the distance is at least 1, every single change leaves the winner.

Departs from the source: BTT take votes(first) - votes(second) with sensitivity 1, but a vote that
moves from the first to the second changes that by 2.  The simple repair max(0, ceil(gap/2) - 1)
is never more than the distance here, and at most one less.

The baseline: every query is answered, and every query pays
------------------------------------------------------------
m times a class is drawn with probability proportional to exp(r * votes), exactly
(:mod:`learners.privacy.exponential_mechanism`).  One vote that moves changes two scores by 1, in
opposite directions: bounded range 2r, so 2r-DP and (2r)^2/8-zCDP a query (docs/privacy.md, lemma
S8). The accounts of m adaptive draws:

zcdp       m (2r)^2 / 8, converted; basic composition where that grants more.
advanced   2r-DP each by advanced composition (Dwork, Rothblum, Vadhan 2010); BTT's comparison.

In both r falls with the root of m, and a class wins surely only if it leads by about
ln(classes m / beta) / r votes: so K grows with the root of m, where stability needs the logarithm
of m and the root of the number of unstable queries.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geometry.arrays import Floats, Ints
from geometry.coordinates import unmasked
from learners.core.selection import Cancelled, SelectionProgress
from learners.declaration import check_count
from learners.privacy.accounting import (
    GIVEN_UP,
    Charge,
    Neighbours,
    PrivacySpent,
    check_budget,
    inner_budget,
)
from learners.privacy.composition import advanced_rate, selection_account
from learners.privacy.exponential_mechanism import exponential_index
from learners.privacy.noise import below_array
from learners.privacy.randomness import RandomSource

#: Calls a function on each item, in order or side by side, and gives the results in order:
#: `map`, or the `map` of an executor of concurrent.futures.
Mapper = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True, slots=True)
class ConstantModel:
    """Predicts one label, whatever it is asked."""

    label: Any

    def predict(self, X: Any) -> NDArray[Any]:
        """The label, once for each row."""
        return np.full(len(X), self.label)


@dataclass(frozen=True, slots=True)
class ChunkModels:
    """Models of all chunks, in their order.

    Attributes
    ----------
    models : tuple
    classes : ndarray, shape (classes,)
        Public labels, ascending.
    sizes : ndarray of int64, shape (K,)
        Records of each chunk (for the curator).
    failed : int
        Chunks whose training raised an error (for the curator).
    """

    models: tuple[Any, ...]
    classes: NDArray[Any]
    sizes: Ints
    failed: int

    def votes(self, X: Any, mapper: Mapper = map) -> Ints:
        """Votes for each class at points X (m, ...), int64 (m, classes); rows sum to K."""
        counts = np.zeros((len(X), len(self.classes)), dtype=np.int64)
        rows = np.arange(len(X))
        for voted in by_model(partial(_vote, X, self.classes), self.models, len(X), mapper):
            counts[rows, voted] += 1
        return counts


#: Predictions that wait to be counted at most, and models whose predictions may in any case.
_WAITING, _LEAST = 1 << 24, 16


def by_model(
    job: Callable[[Any], Any], models: Sequence[Any], points: int, mapper: Mapper
) -> Iterator[Any]:
    """What a job says of so many points by each model, in order; an executor is given no more
    models at a time than there is room for what they say."""
    most = max(_LEAST, _WAITING // max(1, points))
    for first in range(0, len(models), most):
        yield from mapper(job, models[first : first + most])


def _vote(points: Any, classes: NDArray[Any], model: Any) -> Ints:
    """Indices of the classes that a model predicts."""

    def voted() -> Ints:
        predicted = one_each(model.predict(points), points)
        index = np.minimum(np.searchsorted(classes, predicted), len(classes) - 1)
        return np.where(classes[index] == predicted, index, 0)

    return np.broadcast_to(in_any_case("predicting", voted, 0)[0], len(points))


def _train(base: Any, default: Any, chunk: tuple[Any, NDArray[Any]]) -> tuple[Any, bool]:
    """A copy of the base trained on one chunk, and whether that failed."""
    X, y = chunk
    labels = np.unique(y)
    if len(labels) < 2:
        return ConstantModel(labels[0] if len(labels) else default), False
    model = fresh_copy(base)
    return in_any_case("training", lambda: trained(model, X, y), ConstantModel(default))


def in_any_case(what: str, job: Callable[[], Any], default: Any) -> tuple[Any, bool]:
    """What a job on a chunk gives, and whether it failed: the default then, and a warning.

    An error that stopped the run would publish something about the chunk.
    """
    try:
        return job(), False
    except Cancelled:
        raise
    except Exception as error:
        warnings.warn(
            f"{what} on a chunk failed, it votes for the first class: {error!r}", stacklevel=2
        )
        return default, True


def one_each(predicted: Any, points: Any) -> NDArray[Any]:
    """Predictions, one for each point; a ValueError if they are not."""
    values = np.asarray(predicted)
    if values.shape != (len(points),):
        raise ValueError(f"predictions have shape {values.shape}")
    return values


def fresh_copy(base: Any) -> Any:
    """An object of its own to train: a copy of one with `fit`, or what a factory returns."""
    if isinstance(base, type) or not hasattr(base, "fit"):
        return base()
    return copy.deepcopy(base)


def trained(model: Any, X: NDArray[Any], y: NDArray[Any]) -> Any:
    """The trained model: what its `fit` returns, or itself where that returns None."""
    fitted = model.fit(X, y)
    return model if fitted is None else fitted


def check_base(base: Any) -> None:
    """Refuse what cannot be trained, before anything is spent.

    Raises
    ------
    ValueError
        Unless base has `fit` and `predict`, or is a factory.
    """
    factory = isinstance(base, type) or (callable(base) and not hasattr(base, "fit"))
    if not factory and not (hasattr(base, "fit") and hasattr(base, "predict")):
        raise ValueError(
            f"the base learner must have fit and predict, or be a factory of such: {base!r}"
        )


def check_classes(classes: ArrayLike) -> Ints:
    """Public labels as int64, ascending, shape (classes,).

    Raises
    ------
    ValueError
        Unless there are at least two, whole numbers, all different.
    """
    labels = np.asarray(classes)
    if labels.ndim != 1 or len(labels) < 2 or labels.dtype.kind not in "iub":
        raise ValueError(f"classes must be at least two whole numbers, got {classes!r}")
    ascending = np.unique(labels.astype(np.int64))
    if len(ascending) != len(labels):
        raise ValueError(f"classes must differ, got {classes!r}")
    return ascending


def same_examples(X: ArrayLike, y: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Points and labels as arrays, a label for each point.

    Raises
    ------
    ValueError
        If they are not as many; the message does not tell how many.
    """
    points, labels = unmasked(X), unmasked(y)
    if points.ndim == 0 or labels.ndim != 1 or len(points) != len(labels):
        raise ValueError(
            "X and y must hold the same examples: a row of X and a label, shape (n,), for each"
        )
    return points, labels


def assign_chunks(n: int, chunks: int, source: RandomSource) -> Ints:
    """A chunk in 0..chunks-1 for each of n records, independent and uniform, int64 (n,)."""
    return below_array(source, chunks, n)


def split_chunks(
    X: NDArray[Any], y: NDArray[Any], chunk: Ints, chunks: int
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """The records of every chunk, in the order of the sample."""
    order = np.argsort(chunk, kind="stable")
    ends = np.cumsum(np.bincount(chunk, minlength=chunks))
    for rows in np.split(order, ends[:-1]):
        yield X[rows], y[rows]


def train_chunks(
    base: Any,
    X: NDArray[Any],
    y: NDArray[Any],
    chunk: Ints,
    chunks: int,
    classes: NDArray[Any],
    *,
    mapper: Mapper = map,
    progress: Callable[[int], None] | None = None,
) -> ChunkModels:
    """Train a model on each chunk.

    Parameters
    ----------
    base : object with fit and predict, or factory of such
    X : ndarray, shape (n, ...)
    y : ndarray, shape (n,)
    chunk : ndarray of int64, shape (n,)
        In 0..chunks-1.
    chunks : int
        K.
    classes : ndarray, shape (classes,)
    mapper : callable
        `map`, or the `map` of an executor: the models do not depend on which.
    progress : callable, optional
        Called with the number of models trained; may raise Cancelled.
    """
    models: list[Any] = []
    failures = 0
    parts = split_chunks(X, y, chunk, chunks)
    for model, failed in mapper(partial(_train, base, classes[0]), parts):
        models.append(model)
        failures += failed
        if progress is not None:
            progress(len(models))
    sizes = np.bincount(chunk, minlength=chunks)
    return ChunkModels(tuple(models), classes, sizes, failures)


def winners(counts: Ints) -> Ints:
    """The class with most votes (m, classes), the first of equals, int64 of shape (m,)."""
    return np.asarray(np.argmax(counts, axis=1), dtype=np.int64)


def distances(counts: Ints) -> Ints:
    """Distance of each winner to instability, int64 (m,), at least 0, by votes (m, classes).

    Raises
    ------
    ValueError
        If there are fewer than two classes.
    """
    m, classes = counts.shape
    if classes < 2:
        raise ValueError(f"votes need at least two classes, got {classes}")
    rows = np.arange(m)
    first = winners(counts)
    gaps = counts[rows, first][:, None] - counts
    # the winner keeps what is equal from the classes after it
    gaps += first[:, None] < np.arange(classes)
    changes = (gaps + 1) // 2
    changes[rows, first] = np.iinfo(np.int64).max
    return np.asarray(changes.min(axis=1) - 1)


#: Places along a side of the square at which the vote is counted.
PLACES = 65


@dataclass(frozen=True, slots=True, eq=False)
class VoteView:
    """What a curator may watch of a run by votes: how the chunks vote, and what has been asked.

    The answers are published in the end; the margins are private.

    Attributes
    ----------
    chunks : int
        K.
    margins : ndarray of float64, shape (PLACES, PLACES)
        (votes for 1 - votes for 0) / K, in -1..1; [i, j] at abscissa i d / (PLACES - 1) and
        ordinate j d / (PLACES - 1).
    asked : ndarray of int64, shape (m, 2)
        Public points asked so far, grid units.
    answers : ndarray of int8, shape (m,)
        1 or 0, or -1 for ⊥.
    halts_left, queries_left : int
        Of the budget.
    """

    chunks: int
    margins: Floats
    asked: Ints
    answers: NDArray[np.int8]
    halts_left: int
    queries_left: int


@dataclass(frozen=True, slots=True)
class VoteProgress(SelectionProgress):
    """Progress of a run by votes: `trials` of `boxes` chunks are trained, then points are asked."""

    votes: VoteView | None = None


def places(d: int) -> Ints:
    """The grid points (PLACES^2, 2) at which margins are counted, nearest to a regular raster."""
    axis = np.rint(np.linspace(0, d, PLACES)).astype(np.int64)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)


VotesAccount = Literal["zcdp", "advanced"]


@dataclass(frozen=True, slots=True)
class NoisyVotesBudget:
    """What one run may spend: m queries at a rate of r nats per vote."""

    queries: int
    rate: float
    spent: PrivacySpent


def plan_noisy_votes(
    epsilon: float,
    delta: float,
    *,
    queries: int,
    account: VotesAccount = "zcdp",
    neighbours: Neighbours = "add-remove",
    private: bool = True,
) -> NoisyVotesBudget:
    """The largest rate at which m queries are (epsilon, delta)-DP.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    check_budget(epsilon, delta)
    inner_budget(epsilon, delta, neighbours)
    m = check_count("queries", queries)
    if account not in get_args(VotesAccount):
        raise ValueError(f"account must be 'zcdp' or 'advanced', got {account!r}")
    # the set-cover account is not valid: an example keeps mattering
    options = dict(selection_account(epsilon, delta, m).alternatives)
    other = options["zcdp"] if account == "zcdp" else advanced_rate(epsilon, delta, m)
    spread = max(options["basic"], other) * (1 - GIVEN_UP)
    charges = (Charge("noisy votes", spread, m),)
    spent = PrivacySpent(epsilon, delta, neighbours, account, charges, private)
    return NoisyVotesBudget(m, spread / 2, spent)


class NoisyVotes:
    """A run of the baseline."""

    def __init__(self, budget: NoisyVotesBudget, source: RandomSource) -> None:
        self._budget = budget
        self._source = source
        self.queries_left = budget.queries

    def ask(self, votes: Ints) -> int:
        """The index of a class, drawn by its votes, int64 of shape (classes,).

        Raises
        ------
        ValueError
            If all m queries have been asked.
        """
        if self.queries_left == 0:
            raise ValueError(
                f"the budget is used up: all {self._budget.queries} queries have been asked"
            )
        self.queries_left -= 1
        return exponential_index(self._source, votes, self._budget.rate)
