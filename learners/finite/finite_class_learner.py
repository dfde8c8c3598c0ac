"""Learners of a finite class: the consistent one, and the private one by the exponential mechanism.

* :class:`FiniteClassLearner` takes a concept of the fewest mistakes, so a consistent one if there
  is any: Occam's learner, and agnostic empirical risk minimization.  Not private.
* :class:`PrivateFiniteClassLearner` draws concept h with probability proportional to
  exp(-epsilon * mistakes of h): the generic private learner of Kasiviswanathan et al. 2008,
  section 3 (Nissim's lecture).  epsilon-DP with delta = 0, proper, for any class; or, as a
  baseline, by noise on every concept's mistakes (:mod:`learners.finite.empirical_risk`).  Proofs:
  docs/privacy.md, lemmas F1 and F2.

Both are linear in the size of the class, which for thresholds and points may be millions.

What they promise for independent examples, with exact constants
(:mod:`learners.theory.sample_sizes`): error at most alpha with probability 1 - beta

* consistent, where some concept errs nowhere: n >= ln(|C|/beta) / -ln(1 - alpha);
* private, likewise: n >= ln(|C|/beta) / -ln(1 - alpha (1 - exp(-epsilon)));
* above the best concept's error, any distribution: n >= ln(|C|/beta) / -ln(cosh t - alpha sinh t),
  t the smaller of epsilon and artanh alpha; without privacy t = artanh alpha.

The source's bounds are O(ln(|C|/beta)) times 1/(epsilon alpha), or 1/(epsilon alpha) + 1/alpha^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learners.accounting import Neighbours
from learners.finite.empirical_risk import ErmRelease, Mechanism, choose_least
from learners.finite.finite_class import ConceptClass, check_domain_points, count_labels
from learners.plain_estimator import PlainClassifier
from learners.randomness import open_source
from learners.sklearn_support import keyword_parameters


@dataclass(frozen=True, slots=True)
class FiniteClassDiagnostics:
    """What only the curator may see.

    Attributes
    ----------
    examples : int
    mistakes, fewest_mistakes : int
        On the sample, by the chosen concept, and by the best one.
    """

    examples: int
    mistakes: int
    fewest_mistakes: int


@keyword_parameters()
class _FiniteClass(PlainClassifier):
    concepts: ConceptClass

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Labels 0/1, int64 of shape (n,), of points 0..domain-1, shape (n,) or (n, 1).

        Raises
        ------
        ValueError
            If a point is not of the domain.
        """
        self._require_fitted()
        points = check_domain_points(X, self.concepts.domain)
        return self.concepts.predict(self.release_.index, points).astype(np.int64)

    def _mistakes(self, X: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.int64], int]:
        """Of every concept; and the number of examples."""
        self._begin()
        positives, negatives = count_labels(X, y, self.concepts.domain)
        count = int(positives.sum() + negatives.sum())
        return self.concepts.mistakes(positives, negatives), count

    def _learned(self, release: ErmRelease, mistakes: NDArray[np.int64], examples: int) -> Self:
        self.diagnostics_ = FiniteClassDiagnostics(
            examples, int(mistakes[release.index]), int(mistakes.min())
        )
        self.release_: ErmRelease = release
        return self


@keyword_parameters()
class FiniteClassLearner(_FiniteClass):
    """The first concept of the fewest mistakes; not private.

    Parameters
    ----------
    concepts : ConceptClass
        A :class:`learners.finite.finite_class.FiniteClass`, PointClass or ThresholdClass.

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

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from examples.

        Parameters
        ----------
        X : array of int, shape (n,) or (n, 1)
            Points 0..domain-1.
        y : array, shape (n,)
            Labels 0 or 1.

        Raises
        ------
        ValueError
            If an example is out of range.
        """
        mistakes, examples = self._mistakes(X, y)
        parameters = (("concepts", self.concepts.size), ("domain", self.concepts.domain))
        index = int(np.argmin(mistakes))
        release = ErmRelease(type(self).__name__, index, None, parameters, None)
        return self._learned(release, mistakes, examples)


@keyword_parameters()
class PrivateFiniteClassLearner(_FiniteClass):
    """epsilon-private learner of any finite class, delta = 0.

    Parameters
    ----------
    concepts : ConceptClass
        A :class:`learners.finite.finite_class.FiniteClass`, PointClass or ThresholdClass.  Public.
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

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn privately; parameters and errors as in :class:`FiniteClassLearner`.

        The sample may be empty: whether it is is private too.
        """
        mistakes, examples = self._mistakes(X, y)
        source = open_source(self.seed)
        choice = choose_least(mistakes, 1, self.epsilon, source, self.neighbours, self.mechanism)
        parameters = (
            ("concepts", self.concepts.size),
            ("domain", self.concepts.domain),
            ("mechanism", self.mechanism),
        )
        name = type(self).__name__
        release = ErmRelease(name, choice.index, choice.noisy_sums, parameters, choice.spent)
        return self._learned(release, mistakes, examples)
