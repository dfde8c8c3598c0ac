"""What learners are audited by: tiny grids, with the samples and events that show most.

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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.audits.events import Auditable, Outcome, Pair, Statistic
from learners.declaration import Learner
from learners.finite.experts import PrivateExperts
from learners.finite.finite_class import PointClass, ThresholdClass
from learners.privacy.accounting import Neighbours
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
class Declared:
    """How a learner is audited: on a tiny grid, by events of its release.

    Attributes
    ----------
    name : str
        At the command line.
    title : str
    runs : int
        In all, by default: about a minute's.
    events : tuple of str
        Names of :func:`statistics`.
    parameters : tuple of (str, value)
        Besides epsilon, delta, neighbours and seed.
    point : int or tuple of int
        Where all examples are.
    """

    name: str
    title: str
    runs: int
    events: tuple[str, ...]
    parameters: tuple[tuple[str, Any], ...] = (("grid", GRID),)
    point: int | tuple[int, ...] = POINT


@dataclass(frozen=True, slots=True)
class Subject:
    """A learner to be audited, as it is declared.

    Attributes
    ----------
    audit : Declared
    learner : callable
        Its class or a function that takes the parameters by name.
    parameters : tuple of (str, value)
        Besides `epsilon`, `delta`, `neighbours` and `seed`.
    takes : frozenset of str
        Which of `epsilon`, `delta`, `neighbours` and `seed` it has.
    """

    audit: Declared
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
        Declared("private-experts", "experts drawn by multiplicative weights", 10_000, ("number",)),
        _GameOfExperts, (("rounds", 24),), _PRIVACY,
    ),
    Subject(
        Declared("stable-queries", "private answers of chunks at one point", 20_000, ("number",)),
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

_ONE = (("grid", GRID), ("k", 1))
_QUICK = (*_ONE, ("max_boxes", 256))
_AREA, _COUNT = "label and area", "label and noisy count"

#: Runs that refute any epsilon up to about 6 of a learner that draws nothing.
_TELLING = 4_000


def _formulas() -> Iterator[Declared]:
    one, forms = (("k", 1),), ("conjunction", "disjunction")
    both = ("literals", "literals and noisy count")
    for form in forms:
        yield Declared(form, f"{form}, k = 1", 30_000, both, one)
    for form in forms:
        title = f"{form} by a list of good literals, k = 1"
        yield Declared(f"strawman-{form}", title, 30_000, both[:1], one)
    for form in forms:
        yield Declared(f"greedy-{form}", f"greedy {form}", _TELLING, both[:1], ())
    for form in forms:
        yield Declared(f"consistent-{form}", f"consistent {form}", _TELLING, both[:1], ())
    for form in forms:
        yield Declared(f"private-consistent-{form}", f"consistent {form}", 50_000, both[:1], ())


#: In the order of the registry; an audit's name begins with its learner's.
_DECLARED: tuple[Declared, ...] = (
    Declared(
        "cover", "union of triangles, k = 1, by the source's score", 4_000, (_AREA, _COUNT),
        (*_ONE, ("finish", "none")),
    ),
    Declared("cover-triangle", "one triangle by its mistakes", 4_000, (_AREA,), _ONE),
    Declared("tiles", "union of polygons by tiles", 4_000, (_AREA, _COUNT)),
    Declared(
        "tiles-given", "union of polygons by one tile that is given", 4_000, (_AREA,),
        (("grid", GRID), ("tiles", 1)),
    ),
    Declared("convex", "convex polygon by tiles", 800, (_AREA, _COUNT)),
    Declared("convex-cover", "convex polygon, k = 1", 5_000, (_AREA, _COUNT), _ONE),
    Declared("discs", "union of discs, k = 1", 20_000, (_AREA, _COUNT), _ONE),
    Declared("ellipses", "union of ellipses, k = 1", 20_000, (_AREA, _COUNT), _ONE),
    Declared(
        "threshold", "halfplane along an axis", 100_000, ("label",),
        (("grid", 8), ("direction", "right")), (0, 0),
    ),
    Declared(
        "stability", "triangles from private answers of chunks", 8_000, (_AREA,),
        (*_ONE, ("base", "majority"), ("chunks", _CHUNKS), ("queries", 9)),
    ),
    Declared("histogram", "interpolated noisy histogram", 20_000, (_AREA, _COUNT)),
    Declared("plain-histogram", "plain noisy histogram", 20_000, (_AREA, _COUNT)),
    Declared(
        "plain-histogram-cell", "noisy histogram of one cell that is given", 30_000, ("label",),
        (("grid", GRID), ("cells", 1)),
    ),
    Declared("quadtree", "noisy quadtree", 20_000, ("label and number of tiles", _AREA)),
    Declared("greedy-cover", "greedy cover", _TELLING, (_AREA,), _QUICK),
    Declared("greedy-convex", "greedy convex polygon", _TELLING, (_AREA,), _QUICK),
    Declared(
        "polytope", "convex polytope in space, k = 1", 10_000, (_COUNT,),
        # a corner: what is in the middle is in every halfspace
        (*_ONE, ("reach", 1), ("levels", 4)), (0, 0, 0),
    ),
    Declared(
        "simplices", "union of simplices in space, k = 1", 2_000, (_COUNT,),
        (*_ONE, ("levels", 2)), (1, 1, 1),
    ),
    Declared(
        "balls", "union of balls in space, k = 1", 10_000, (_COUNT,),
        (*_ONE, ("centres", 3), ("levels", 2)), (1, 1, 1),
    ),
    Declared(
        "polynomials", "union of regions of degree 2, k = 1", 4_000, (_AREA, _COUNT),
        (*_ONE, ("reach", 1), ("levels", 4)),
    ),
    *_formulas(),
    Declared("parity", "parity of one bit", _TELLING, ("parity",), (), (1,)),
    Declared("private-parity", "parity of one bit", 50_000, ("parity",), (("beta", None),), (1,)),
    Declared(
        "finite-class", "thresholds, up to the largest point labelled 1", _TELLING, ("concept",),
        (("concepts", "source's thresholds"),), 4,
    ),
    Declared(
        "private-finite-class", "thresholds as a finite class", 100_000, ("concept",),
        (("concepts", "thresholds"),), 0,
    ),
    Declared(
        "private-finite-class-laplace", "points as a finite class, noise on all losses", 50_000,
        ("concept", "first noisy sum"), (("concepts", "points"), ("mechanism", "laplace")), 0,
    ),
    Declared(
        "empirical-risk", "the better of two hypotheses", _TELLING, ("concept",),
        (("losses", "mistakes"),), 0,
    ),
    Declared(
        "private-empirical-risk", "one of two hypotheses by its loss", 100_000, ("concept",),
        (("losses", "mistakes"),), 0,
    ),
    Declared(
        "memorizing", "examples by heart, random elsewhere", _TELLING, ("label of the point",),
        (("points", 4),), 0,
    ),
)  # fmt: skip


def _declared() -> Iterator[Subject]:
    """A subject for every audit that is declared, and one for every other learner."""
    ids = {learner.id for learner in LEARNERS}
    owners = [max((i for i in ids if audit.name.startswith(i)), key=len) for audit in _DECLARED]
    for learner in LEARNERS:
        own = [audit for audit, owner in zip(_DECLARED, owners, strict=True) if owner == learner.id]
        title = learner.title[0].lower() + learner.title[1:]
        for audit in own or [Declared(learner.id, title, 20_000, (_AREA,))]:
            yield _subject(learner, audit)


def _subject(learner: Learner, audit: Declared) -> Subject:
    given = dict(learner.fixed) | dict(audit.parameters)
    parameters = {name: _NAMED.get(name, {}).get(value, value) for name, value in given.items()}
    takes = frozenset(name for name in _PRIVACY if learner.parameter(name) is not None)
    return Subject(audit, learner.load(), tuple(parameters.items()), takes)


#: By the name that the command takes.
SUBJECTS: dict[str, Subject] = {subject.audit.name: subject for subject in (*_declared(), *_APART)}
