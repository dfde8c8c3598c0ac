"""What can be audited: learners on tiny grids, with the samples and events that show most.

A learner's worst case is small: a few copies of one example, one more of it or not.  On a grid of
three points a side, or over two variables, a run takes a few milliseconds at most, nearly all of
it fixed cost, so that thousands of runs are a matter of a minute.

The samples are `n` copies of one labelled point for several n, and the same with one example more
at that point, of either label (or, for neighbours that replace one example, with its label the
other way round).  Copies matter: the probability of a label that few mistakes make unlikely
changes by nearly the whole factor e^epsilon.

Learners that are not private are subjects too, for whatever epsilon and delta they are asked:
Nissim's "where is the privacy problem?" and "overfitting h".  What is not learned from a sample by
`fit` has an adapter here: a game of experts, private answers of chunks.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from learners.accounting import Neighbours
from learners.audit import Auditable, Outcome, Pair, Statistic
from learners.declaration import Audit, Learner
from learners.finite.experts import PrivateExperts
from learners.finite.finite_class import PointClass, ThresholdClass
from learners.registry import LEARNERS
from learners.stability.base_learners import MajorityCells
from learners.stability.classifiers import StableQueryClassifier

#: Copies of the example that the samples hold.
SIZES = (0, 2)

#: Grid size of the learners in the plane, and their point.
GRID, POINT = 2, (1, 1)

_PLANE = np.array(list(itertools.product(range(GRID + 1), repeat=2)), dtype=np.int64)
_PLACE = POINT[0] * (GRID + 1) + POINT[1]


@dataclass(frozen=True, slots=True)
class Subject:
    """A learner to be audited, as it is declared.

    Attributes
    ----------
    audit : Audit
    learner : callable
        Its class or a function that takes the parameters by name.
    parameters : tuple of (str, value)
        Besides `epsilon`, `delta`, `neighbours` and `seed`.
    takes : frozenset of str
        Which of `epsilon`, `delta`, `neighbours` and `seed` it has.
    """

    audit: Audit
    learner: Callable[..., Auditable]
    parameters: tuple[tuple[str, Any], ...]
    takes: frozenset[str]

    @property
    def private(self) -> bool:
        """Whether it claims anything."""
        return "epsilon" in self.takes

    @property
    def events(self) -> dict[str, Statistic]:
        """Statistics of its release, by name."""
        known = statistics(self.audit.point)
        return {name: known[name] for name in self.audit.events}

    def factory(
        self, epsilon: float, delta: float, neighbours: Neighbours, seed: int | None
    ) -> Callable[[], Auditable]:
        """Makes learners; with a seed each has the next one of a fixed series of its own."""
        asked = {"epsilon": epsilon, "delta": delta, "neighbours": neighbours}
        given = dict(self.parameters) | {k: v for k, v in asked.items() if k in self.takes}
        numbers = itertools.count()

        def make() -> Auditable:
            if "seed" not in self.takes:
                return self.learner(**given)
            own = None if seed is None else (seed << 32) + next(numbers)
            return self.learner(**given, seed=own)

        return make

    def claim(self, epsilon: float, delta: float) -> tuple[float, float] | None:
        """What is put to the test: these, of a learner that claims nothing; else its own claim."""
        return None if self.private else (epsilon, delta)

    def pairs(self, neighbours: Neighbours, sizes: Sequence[int] = SIZES) -> list[Pair]:
        """Neighbouring samples, for each number of copies and all labels."""
        pairs = []
        for n in sizes:
            for label in (0, 1) if n else (0,):
                base = [label] * n
                copies = f"{n} of label {label}" if n else "no example"
                if neighbours == "replace-one":
                    name = f"{copies} and one of label 0, or of label 1"
                    pairs.append(Pair(name, self._sample([*base, 0]), self._sample([*base, 1])))
                    continue
                for extra in (0, 1):
                    name = f"{copies}, and one of label {extra} more"
                    more = self._sample([*base, extra])
                    pairs.append(Pair(name, self._sample(base), more))
        return pairs

    def _sample(self, labels: list[int]) -> tuple[Any, Any]:
        shape = (len(labels), *np.shape(self.audit.point))
        return np.full(shape, self.audit.point, dtype=np.int64), np.array(labels, dtype=np.int64)


# --- what is looked at -------------------------------------------------------------------------


def _label(point: tuple[int, ...]) -> Statistic:
    """Label of the examples' point."""
    at = np.array([point], dtype=np.int64)
    return lambda release: (int(release.predict(at)[0]),)


def _label_and_area(release: Any) -> Outcome:
    """Label of the examples' point, and how many grid points are labelled 1."""
    labels = release.predict(_PLANE)
    return int(labels[_PLACE]), int(labels.sum())


def _count_and(first: Statistic) -> Statistic:
    """A statistic, and the noisy count of the release: of its first step, or of all examples."""

    def both(release: Any) -> Outcome:
        parameters = dict(release.parameters)
        if "noisy_count" in parameters:
            return (*first(release), int(parameters["noisy_count"]))
        return (*first(release), int(release.thresholds[0]))

    return both


def _tiles_and(first: Statistic) -> Statistic:
    """A statistic, and the number of tiles."""
    return lambda release: (*first(release), len(release.tiles))


def _index(release: Any) -> Outcome:
    """Which concept of a finite class."""
    return (int(release.index),)


def _parity(release: Any) -> Outcome:
    """The bits of the parity; none for ⊥."""
    return () if release.parity is None else tuple(release.parity)


def _literals(release: Any) -> Outcome:
    """The set of literals as one number; the constant does not count."""
    codes = {2 * one.variable + one.negated for one in release.literals if one is not None}
    return (sum(1 << code for code in codes),)


def statistics(point: int | tuple[int, ...]) -> dict[str, Statistic]:
    """Statistics of a release, by the names that audits are declared with.

    Parameters
    ----------
    point : int or tuple of int
        Where the audit's examples are.
    """
    label = _label(point if isinstance(point, tuple) else (point,))
    return {
        "label": label,
        "label and area": _label_and_area,
        "label and noisy count": _count_and(label),
        "label and number of tiles": _tiles_and(label),
        "concept": _index,
        "first noisy sum": lambda release: (int(release.noisy_sums[0]),),
        "literals": _literals,
        "literals and noisy count": _count_and(_literals),
        "parity": _parity,
        "label of the point": lambda release: (int(release.predict([point])[0]),),
        "number": lambda release: (release.number,),
    }


# --- what is not learned by fit ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Counted:
    """A release of one whole number."""

    number: int
    privacy: Any


class _GameOfExperts:
    """Two experts; example j says who errs in round j, and in the other rounds nobody does."""

    def __init__(self, *, rounds: int, **privacy: Any) -> None:
        self._rounds, self._privacy = rounds, privacy

    def fit(self, X: Any, y: Any) -> _GameOfExperts:
        if len(y) > self._rounds:
            raise ValueError(f"the game has {self._rounds} rounds, so at most as many examples")
        losses = np.zeros((self._rounds, 2), dtype=np.int64)
        losses[np.arange(len(y)), np.asarray(y)] = 1
        game = PrivateExperts(experts=2, rounds=self._rounds, **self._privacy)
        release = game.run(losses)
        self.release_ = _Counted(sum(release.chosen), release.privacy)
        return self


class _VotesOfChunks:
    """How many queries at one point are answered before the run is halted, negative if by 0."""

    def __init__(self, *, grid: int, chunks: int, queries: int, **privacy: Any) -> None:
        self._point = np.array([POINT] * queries)
        self._queries = StableQueryClassifier(
            base=MajorityCells(grid=grid, cells=1), queries=queries, chunks=chunks, **privacy
        )

    def fit(self, X: Any, y: Any) -> _VotesOfChunks:
        model = self._queries.fit(np.asarray(X).reshape(-1, 2), np.asarray(y, dtype=np.int64))
        values = [record.release.value for record in model.steps(self._point)]
        answered = sum(value is not None for value in values)
        number = answered if 1 in values else -answered
        self.release_ = _Counted(number, model.release_.privacy)
        return self


#: Chunks of which all agree on a point are just about stable at epsilon = 1 and delta = 1e-6.
_CHUNKS = 100

_PRIVACY = frozenset({"epsilon", "delta", "neighbours", "seed"})

_APART: tuple[Subject, ...] = (
    Subject(
        Audit(
            "private-experts", "experts drawn by multiplicative weights", (), POINT,
            ("number",), 10_000,
        ),
        _GameOfExperts, (("rounds", 24),), _PRIVACY,
    ),
    Subject(
        Audit(
            "stable-queries", "private answers of chunks at one point", (), POINT, ("number",),
            20_000,
        ),
        _VotesOfChunks, (("grid", GRID), ("chunks", _CHUNKS), ("queries", 20)), _PRIVACY,
    ),
)  # fmt: skip


# --- subjects ----------------------------------------------------------------------------------


def _wrong(X: Any, y: Any) -> Any:
    """Losses of two hypotheses: everything is 0, everything is 1."""
    return np.stack([np.asarray(y) == 1, np.asarray(y) == 0], axis=1).astype(np.int64)


#: Parameters that audits are declared with, by name and by what they are called there.
_NAMED: dict[str, dict[str, Any]] = {
    "concepts": {
        "thresholds": ThresholdClass(8),
        "source's thresholds": ThresholdClass(8, "x < t"),
        "points": PointClass(2, all_zero=False),
    },
    "losses": {"mistakes": _wrong},
    "base": {"majority": MajorityCells(grid=GRID, cells=1)},
}


def _subject(learner: Learner, audit: Audit) -> Subject:
    given = dict(learner.fixed) | dict(audit.parameters)
    parameters = {name: _NAMED.get(name, {}).get(value, value) for name, value in given.items()}
    takes = frozenset(name for name in _PRIVACY if learner.parameter(name) is not None)
    return Subject(audit, learner.load(), tuple(parameters.items()), takes)


#: By the name that the command takes.
SUBJECTS: dict[str, Subject] = {
    audit.name: _subject(learner, audit) for learner in LEARNERS for audit in learner.audits
} | {subject.audit.name: subject for subject in _APART}
