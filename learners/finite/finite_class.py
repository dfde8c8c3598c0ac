"""Learns finite concept classes over a finite domain 0..N-1, with privacy and without.

All that a learner of a finite class needs is the number of mistakes of every concept, and that
depends on the sample only through the positive and negative examples at each point.  Points and
thresholds (Nissim's lecture: POINT_d and THRESH_d) count theirs in O(N); any other class is a bool
matrix.

* :class:`FiniteClassLearner` takes a concept of the fewest mistakes, so a consistent one if there
  is any: Occam's learner, and agnostic empirical risk minimization.  Not private.
* :class:`PrivateFiniteClassLearner` draws concept h with probability proportional to
  exp(-epsilon * mistakes of h): the generic private learner of Kasiviswanathan et al. 2008,
  section 3 (Nissim's lecture).  epsilon-DP with delta = 0, proper, for any class; or, as a
  baseline, by noise on every concept's mistakes (:mod:`learners.finite.empirical_risk`).  Proofs:
  docs/privacy.md, lemmas F1 and F2.

Both are linear in the size of the class, which for thresholds and points may be millions.
Of these the learner without privacy needs ln(1/beta) / -ln(1 - alpha) examples, however many points
there are (:func:`learners.finite.sample_sizes.one_sided_examples`).

What they promise for independent examples, with exact constants
(:mod:`learners.finite.sample_sizes`): error at most alpha with probability 1 - beta

* consistent, where some concept errs nowhere: n >= ln(|C|/beta) / -ln(1 - alpha);
* private, likewise: n >= ln(|C|/beta) / -ln(1 - alpha (1 - exp(-epsilon)));
* above the best concept's error, any distribution: n >= ln(|C|/beta) / -ln(cosh t - alpha sinh t),
  t the smaller of epsilon and artanh alpha; without privacy t = artanh alpha.

The source's bounds are O(ln(|C|/beta)) times 1/(epsilon alpha), or 1/(epsilon alpha) + 1/alpha^2.

*By heart* (:class:`MemorizingLearner`): a hypothesis that agrees with its sample and is random
elsewhere, for demonstration. Nissim's lecture *Private Learning 1* asks whether a small error on
the sample means a small error on the distribution, and answers by this h: h(x_i) = y_i for all i,
and h(x) random for other x. It errs on no example and on about half of what is new; and its labels
give every example away. Neither can happen to a learner that is private: what is private
generalizes (docs/privacy.md, lemma F4), and `geodp audit --learner memorizing` refutes any claim of
privacy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from geometry.arrays import Flags, Ints
from geometry.coordinates import unmasked
from learners.core.sklearn_support import WithParameters, predict_as_came, share_right
from learners.declaration import check_count
from learners.finite.empirical_risk import ErmRelease, Mechanism, chosen
from learners.finite.sample_sizes import as_class
from learners.privacy.accounting import Neighbours
from learners.privacy.noise import below_array
from learners.privacy.randomness import open_source


@dataclass(frozen=True, slots=True)
class MemorizedLabels:
    """What a run returns; it must not be published, as nothing of it is private: labels of points
    0..N-1."""

    learner: str
    table: tuple[bool, ...]
    privacy: None = None

    def predict(self, X: ArrayLike) -> Ints:
        """Labels 0/1, shape (n,), of points 0..N-1, as the learner takes them; else ValueError."""
        labels = np.array(self.table, dtype=np.int64)
        return np.asarray(labels[check_domain_points(X, len(labels))])


class MemorizingLearner(WithParameters):
    """Learns its examples by heart; not private.

    Parameters
    ----------
    points : int
        N: examples are among 0..N-1.
    seed : int, optional
        Of the labels of points that were not seen.

    Attributes
    ----------
    release_ : MemorizedLabels

    Examples
    --------
    >>> model = MemorizingLearner(points=1000, seed=1).fit([3, 4, 5], [1, 0, 1])
    >>> model.predict([3, 4, 5]).tolist()
    [1, 0, 1]
    """

    points: int = 1000
    seed: int | None = None

    positive: Any = None
    predict, score = predict_as_came, share_right

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Take down the labels of points X, (n,) or (n, 1); the last of a point that has several.

        Raises
        ------
        ValueError
            If a point or a label is out of range.
        """
        configured = self._fresh()
        points = check_count("points", configured.points)
        where = check_domain_points(X, points)
        labels = below_array(open_source(configured.seed), 2, points) == 1
        labels[where] = self._check_labels(y, len(where))
        self.release_ = MemorizedLabels(type(self).__name__, tuple(labels.tolist()))
        return self

    def _zeros_and_ones(self, X: ArrayLike) -> Ints:
        release: MemorizedLabels = self._fitted()
        return release.predict(X)


class ConceptClass(Protocol):
    """Concepts 0..size-1 on points 0..domain-1."""

    @property
    def size(self) -> int:
        """Number of concepts, |C|."""

    @property
    def domain(self) -> int:
        """Number of points, N."""

    def mistakes(self, positives: Ints, negatives: Ints) -> Ints:
        """Mistakes of every concept, shape (size,), given the examples at each point."""

    def predict(self, index: int, points: Ints) -> Flags:
        """Labels of points by one concept."""


@dataclass(frozen=True, slots=True)
class FiniteClass(ConceptClass):
    """A class given by all its labels.

    Parameters
    ----------
    concepts : array of 0/1, shape (size, domain)

    Raises
    ------
    ValueError
        If there is no concept or no point, or a label is neither 0 nor 1.
    """

    concepts: Flags

    def __post_init__(self) -> None:
        matrix = as_class(self.concepts)
        if matrix.shape[1] == 0:
            raise ValueError("a class must have at least one point")
        object.__setattr__(self, "concepts", matrix)

    @classmethod
    def of(cls, concepts: Sequence[Callable[[Any], bool]], domain: Sequence[Any]) -> FiniteClass:
        """The labels that functions give to the points of a domain."""
        return cls(np.array([[bool(c(x)) for x in domain] for c in concepts], dtype=np.bool_))

    @property
    def size(self) -> int:
        return len(self.concepts)

    @property
    def domain(self) -> int:
        return int(self.concepts.shape[1])

    def mistakes(self, positives: Ints, negatives: Ints) -> Ints:
        """Mistakes of every concept, int64 of shape (size,); O(size * domain)."""
        wrong = np.where(self.concepts, negatives, positives)
        return np.asarray(wrong.sum(axis=1, dtype=np.int64))

    def predict(self, index: int, points: Ints) -> Flags:
        return np.asarray(self.concepts[index, points])


@dataclass(frozen=True, slots=True)
class PointClass:
    """Concept 0 labels everything 0, concept j + 1 the point j alone 1; VC dimension 1.

    The source's learner of points returns h = 0 where no example is positive, though its class has
    points alone.  Here h = 0 is in the class, and comes first: of equals the learner without
    privacy takes the first, so it is that learner.

    Parameters
    ----------
    domain : int
        Number of points.
    all_zero : bool
        Whether there is the concept that labels everything 0.  Without it concept j is the point
        j.
    """

    domain: int
    all_zero: bool = True

    def __post_init__(self) -> None:
        check_count("domain", self.domain)

    @property
    def size(self) -> int:
        """Number of concepts, |C|."""
        return self.domain + self.all_zero

    def mistakes(self, positives: Ints, negatives: Ints) -> Ints:
        """Mistakes of every concept: all positives elsewhere, and negatives on the point."""
        total = positives.sum()
        of_points = np.asarray(total - positives + negatives)
        return np.concatenate([[total], of_points]) if self.all_zero else of_points

    def predict(self, index: int, points: Ints) -> Flags:
        """Labels of points by one concept."""
        return np.asarray(points == index - self.all_zero)


#: Which points a threshold t labels 1.
Rule = Literal["x >= t", "x < t"]


@dataclass(frozen=True, slots=True)
class ThresholdClass(ConceptClass):
    """Concept t, 0 <= t <= d + 1, labels x in 0..d by x >= t, or by x < t; VC dimension 1.

    The source's thresholds are x < j (and x <= j, which is x < j + 1).  By either rule one concept
    labels everything 0 and one everything 1.  Of consistent ones the first, the least t, is the
    source's by x < t: it ends at the last positive example, and is h = 0 if there is none.

    Parameters
    ----------
    d : int
    rule : {"x >= t", "x < t"}

    Raises
    ------
    ValueError
        If d < 1, or there is no such rule.
    """

    d: int
    rule: Rule = "x >= t"

    def __post_init__(self) -> None:
        check_count("d", self.d)
        if self.rule not in get_args(Rule):
            raise ValueError(f"unknown rule {self.rule!r}: use one of {get_args(Rule)}")

    @property
    def size(self) -> int:
        return self.d + 2

    @property
    def domain(self) -> int:
        return self.d + 1

    def mistakes(self, positives: Ints, negatives: Ints) -> Ints:
        """Mistakes of every concept: of x >= t positives below t and negatives from t on."""
        if self.rule == "x < t":
            # the same borders with the labels exchanged
            positives, negatives = negatives, positives
        moved = np.concatenate([[negatives.sum()], positives - negatives])
        return np.asarray(np.cumsum(moved, dtype=np.int64))

    def predict(self, index: int, points: Ints) -> Flags:
        return np.asarray((points >= index) == (self.rule == "x >= t"))


def check_domain_points(X: ArrayLike, domain: int) -> Ints:
    """Points of the domain, int of shape (n,) or (n, 1), as int64 of shape (n,).

    Raises ValueError if the shape is another, or a point is no whole number in 0..domain-1; the
    message names the first such row.
    """
    points = unmasked(X)
    if points.ndim == 2 and points.shape[1] == 1:
        points = points[:, 0]
    if points.ndim != 1:
        raise ValueError("X must have shape (n,) or (n, 1)")
    if points.dtype.kind not in "iufb":
        raise ValueError(f"X must hold numbers, got an array of {points.dtype}")
    # NaN fails every comparison
    good = (points >= 0) & (points < domain) & (points == np.floor(points))
    if not good.all():
        row = int(np.flatnonzero(~good)[0])
        raise ValueError(f"row {row}: {points[row]} is not a point of the domain 0..{domain - 1}")
    return points.astype(np.int64)


def count_labels(points: Ints, labels: Flags, domain: int) -> tuple[Ints, Ints]:
    """Positive and negative examples at each point, int64 of shape (domain,)."""
    positives = np.bincount(points[labels], minlength=domain)
    negatives = np.bincount(points[~labels], minlength=domain)
    return positives, negatives


@dataclass(frozen=True, slots=True)
class FiniteClassDiagnostics:
    """What only the curator may see: mistakes on the sample, by the chosen concept, and by the best
    one."""

    examples: int
    mistakes: int
    fewest_mistakes: int


class _FiniteClass(WithParameters):
    concepts: ConceptClass

    positive: Any = None
    predict, score = predict_as_came, share_right

    def _zeros_and_ones(self, X: ArrayLike) -> Ints:
        index = self._fitted().index
        points = check_domain_points(X, self.concepts.domain)
        return self.concepts.predict(index, points).astype(np.int64)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from examples; whether there are any is private too.

        Raises ValueError if an example or a parameter is out of range.

        Parameters
        ----------
        X : array of int, shape (n,) or (n, 1)
            Points 0..domain-1.
        y : array, shape (n,)
            Labels 0 or 1.
        """
        own, domain = self._fresh(), self.concepts.domain
        points = check_domain_points(X, domain)
        labels = self._check_labels(y, len(points))
        mistakes = self.concepts.mistakes(*count_labels(points, labels, domain))
        choice, more = chosen(own, mistakes, 1)
        made = int(mistakes[choice.index])
        self.diagnostics_ = FiniteClassDiagnostics(len(points), made, int(mistakes.min()))
        sizes = (("concepts", self.concepts.size), ("domain", domain))
        self.release_: ErmRelease = choice.release(self, (*sizes, *more))
        return self


class FiniteClassLearner(_FiniteClass):
    """The first concept of the fewest mistakes; not private.

    Parameters
    ----------
    concepts : ConceptClass
        A :class:`FiniteClass`, :class:`PointClass` or :class:`ThresholdClass`.

    Attributes
    ----------
    release_ : ErmRelease
        Its privacy is None.
    diagnostics_ : FiniteClassDiagnostics
        Its `fewest_mistakes` is 0 if the concept is consistent.

    Examples
    --------
    >>> from learners.finite.finite_class import ThresholdClass
    >>> model = FiniteClassLearner(concepts=ThresholdClass(9))
    >>> model.fit([1, 3, 6, 8], [0, 0, 1, 1]).release_.index
    4
    """


class PrivateFiniteClassLearner(_FiniteClass):
    """epsilon-private learner of any finite class, delta = 0.

    Parameters
    ----------
    concepts : ConceptClass
        A :class:`FiniteClass`, :class:`PointClass` or :class:`ThresholdClass`.  Public.
    epsilon : float
    mechanism : {"exponential", "laplace"}
        "laplace" is the baseline with noise on every concept's mistakes, all of which it releases.
    neighbours : {"add-remove", "replace-one"}
    seed : int, optional
        Makes the run reproducible and therefore not private; the release says so.

    Attributes
    ----------
    release_ : ErmRelease
        What may be published.
    diagnostics_ : FiniteClassDiagnostics

    Examples
    --------
    >>> from learners.finite.finite_class import ThresholdClass
    >>> X = list(range(1000))
    >>> model = PrivateFiniteClassLearner(concepts=ThresholdClass(999), seed=3)
    >>> model.fit(X, [x >= 400 for x in X]).score(X, [x >= 400 for x in X]) > 0.98
    True
    """

    epsilon: float = 1.0
    mechanism: Mechanism = "exponential"
    neighbours: Neighbours = "add-remove"
    seed: int | None = None
