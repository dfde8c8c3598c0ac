"""Rows of finite classes: points, thresholds, Occam's learner, VC dimension, private learners.

Nissim's lecture *Private Learning 1* (2017).  Classes and distributions are such that it is close:
each wrong hypothesis errs a little more than is allowed, where nothing else does.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learners.cover.threshold_learner import ThresholdLearner, threshold_class_size
from learners.finite.empirical_risk import choose_least
from learners.finite.finite_class import (
    ConceptClass,
    FiniteClass,
    FiniteClassLearner,
    PointClass,
    PrivateFiniteClassLearner,
    ThresholdClass,
)
from learners.finite.sample_sizes import (
    consistent_examples,
    consistent_size,
    dichotomies,
    lower_bound_size,
    one_sided_examples,
    private_examples,
    sauer_bound,
    vc_dimension,
)
from learners.privacy.randomness import SeededRandom
from learners.theory.pac import LabelledDistribution, check_promise
from promises.bounds import learning_run
from promises.row import Row, Verdict, exact, simulated

ALPHA, BETA = 0.1, 0.1
_KEPT = f"error at most {ALPHA:g} with probability {1 - BETA:g}"
_LECTURE = "Nissim, Private Learning 1"

# -- 14: points and thresholds -----------------------------------------------------------------


def _one_sided(concepts: ConceptClass, index: int, decisive: int, n: int) -> Fraction:
    """Probability of error above alpha: all weight but a little more than alpha is elsewhere.

    The learner is run for every number of examples at the decisive point.
    """
    weight = Fraction(ALPHA) + Fraction(1, 10**9)
    truth = concepts.predict(index, np.arange(concepts.domain))
    other = concepts.domain - 1 if decisive == 0 else 0
    failed = Fraction(0)
    for seen in range(n + 1):
        X = np.array([decisive] * seen + [other] * (n - seen))
        learned = FiniteClassLearner(concepts=concepts).fit(X, truth[X])
        wrong = learned.predict(np.arange(concepts.domain)) != truth
        error = weight * wrong[decisive] + (1 - weight) * wrong[other]
        if error > ALPHA:
            failed += math.comb(n, seen) * weight**seen * (1 - weight) ** (n - seen)
    return failed


def _enumerated(concepts: ConceptClass, index: int, decisive: int) -> Verdict:
    n = one_sided_examples(ALPHA, BETA)
    failed = _one_sided(concepts, index, decisive, n)
    # what arithmetic of doubles says is at most alpha is a little above a tenth
    return exact(failed <= BETA, f"fails with probability {float(failed):.4f}, exactly")


# -- 15: Occam's learner, VC dimension ---------------------------------------------------------


def wrong_points(wrong: int, per_mille: int) -> tuple[FiniteClass, LabelledDistribution]:
    """A class whose last concept is right; each other errs on a point of its own, of that weight.

    Parameters
    ----------
    wrong : int
        Hypotheses that err.
    per_mille : int
        Weight of the point of each, in thousandths.
    """
    concepts = np.vstack([np.eye(wrong, wrong + 1), np.zeros((1, wrong + 1))])
    weights = np.full(wrong + 1, per_mille)
    weights[-1] = 1000 - wrong * per_mille
    return FiniteClass(concepts), LabelledDistribution.labelled(np.zeros(wrong + 1), weights)


_NINE, _NINE_LAW = wrong_points(9, 110)
_TEN = f"10 hypotheses, 9 of which err by 11 %, alpha = beta = {ALPHA:g}"


def _occam(runs: int) -> Verdict:
    n = consistent_examples(_NINE.size, ALPHA, BETA)
    run = learning_run(lambda i: FiniteClassLearner(concepts=_NINE), _NINE_LAW, n)
    return simulated(check_promise(run, alpha=ALPHA, beta=BETA, runs=runs))


_LINE = ThresholdClass(999, "x < t")
_LINE_LAW = LabelledDistribution.labelled(np.arange(1000) < 400)


def _vc(runs: int) -> Verdict:
    n = consistent_size(1, ALPHA, BETA)
    run = learning_run(lambda i: FiniteClassLearner(concepts=_LINE), _LINE_LAW, n)
    return simulated(check_promise(run, alpha=ALPHA, beta=BETA, runs=runs))


_RARE_ALPHA, _RARE_BETA = 1 / 8, 1 / 100


def _vc_lower(runs: int) -> Verdict:
    """One example fewer: whatever is said of a point that was not seen is wrong for a target."""
    del runs
    n = lower_bound_size(2, _RARE_ALPHA, _RARE_BETA) - 1
    weight = Fraction(_RARE_ALPHA) + Fraction(1, 10**9)
    unseen = (1 - weight) ** n
    pair = FiniteClass(np.array([[0, 0], [0, 1]]))
    wrong = set()
    for target in range(2):
        learned = FiniteClassLearner(concepts=pair).fit([0] * n, [0] * n)
        wrong.add(bool(learned.predict([1])[0] != target))
    return exact(
        unseen > _RARE_BETA and True in wrong,
        f"fails with probability {float(unseen):.4f} on n - 1 = {n} examples, exactly",
    )


def _growth(runs: int) -> Verdict:
    del runs
    cells = np.arange(14)
    intervals = np.array([(cells >= a) & (cells <= b) for a in range(15) for b in range(14)])
    parities = np.array([[(r & x).bit_count() % 2 for x in range(32)] for r in range(32)])
    known = (
        (intervals, 2),
        (np.array([cells < t for t in range(15)]), 1),
        (np.vstack([np.zeros(14), np.eye(14)]), 1),
        (parities, 5),
    )
    good = all(vc_dimension(concepts) == vc for concepts, vc in known)
    for concepts, vc in known:
        for n in range(vc + 1, concepts.shape[1] + 1):
            many = len(dichotomies(concepts, range(n)))
            good &= many <= sauer_bound(n, vc) <= (math.e * n / vc) ** vc
    return exact(good, "intervals, thresholds, points and parities of 5 bits, all n up to 14 or 32")


# -- 16: private learners of finite classes ----------------------------------------------------

_EPSILON = 0.5


def _weights(concepts: FiniteClass, sample: ArrayLike, rate: float) -> NDArray[np.float64]:
    table = np.asarray(sample, dtype=int).reshape(-1, 2)
    mistakes = (concepts.concepts[:, table[:, 0]] != table[:, 1]).sum(axis=1)
    weights = np.exp(-rate * mistakes)
    return np.asarray(weights / weights.sum())


def _private(runs: int) -> Verdict:
    """Of every sample of three examples of two points, all replacements, at the printed rate."""
    del runs
    concepts = FiniteClass(np.array([[0, 0], [1, 0], [0, 1], [1, 1]]))
    kinds = list(itertools.product(range(2), range(2)))
    spent = choose_least(np.zeros(4, int), 1, _EPSILON, SeededRandom(0), "replace-one").spent
    rate, worst = spent.charges[0].each, 0.0
    for two in itertools.combinations_with_replacement(kinds, 2):
        laws = [_weights(concepts, [*two, one], rate) for one in kinds]
        pairs = itertools.combinations(laws, 2)
        worst = max(worst, *(float(np.abs(np.log(a / b)).max()) for a, b in pairs))
    figures = f"at most {worst:.4f} of epsilon = {_EPSILON:g} is lost"
    return exact(worst <= _EPSILON * (1 + 1e-12), figures)


def _realizable(runs: int) -> Verdict:
    n = private_examples(_NINE.size, ALPHA, BETA, _EPSILON)
    return _draws(_NINE, _NINE_LAW, n, runs)


def _draws(
    concepts: ConceptClass,
    law: LabelledDistribution,
    n: int,
    runs: int,
    above: Fraction | int = 0,
    **more: Any,
) -> Verdict:
    given = {"concepts": concepts, "epsilon": _EPSILON} | more
    run = learning_run(lambda i: PrivateFiniteClassLearner(**given, seed=i), law, n)
    return simulated(check_promise(lambda i: run(i) - above, alpha=ALPHA, beta=BETA, runs=runs))


#: Of O(.): 1 - exp(-epsilon/2) is more than epsilon/3 up to epsilon = 1.
_CONSTANT = 3
_PRINTED = math.ceil(
    _CONSTANT * math.log(_NINE.size / BETA) * max(1 / _EPSILON**2, 1 / (ALPHA * _EPSILON))
)


def _printed(runs: int) -> Verdict:
    """At the lecture's rate, epsilon/2: that of neighbours that replace an example."""
    return _draws(_NINE, _NINE_LAW, _PRINTED, runs, neighbours="replace-one")


#: A quarter of the labels is wrong, so that 22 % more of the points is 11 % more error.
_FOUR = wrong_points(4, 220)[0]
_NOISE = Fraction(1, 4)
_FOUR_LAW = LabelledDistribution.labelled(np.zeros(5), [220, 220, 220, 220, 120], _NOISE)
_AGNOSTIC = private_examples(_FOUR.size, ALPHA, BETA, _EPSILON, agnostic=True)

_BITS = 10
_POINTS = PointClass(1 << _BITS)
_POINT = 3
_POINT_WEIGHTS = np.full(1 << _BITS, 87)
_POINT_WEIGHTS[_POINT] = 11_000
_POINT_LAW = LabelledDistribution.labelled(np.arange(1 << _BITS) == _POINT, _POINT_WEIGHTS)
_THRESHOLDS = ThresholdClass((1 << _BITS) - 1, "x < t")
_THRESHOLD_LAW = LabelledDistribution.labelled(np.arange(1 << _BITS) < 400)
_OF_BITS = private_examples((1 << _BITS) + 1, ALPHA, BETA, _EPSILON)

_SIDE = 16
_GRID = np.array([[x, y] for x in range(_SIDE + 1) for y in range(_SIDE + 1)])
_ON_GRID = private_examples(threshold_class_size(_SIDE), ALPHA, BETA, _EPSILON)


class _OnGrid:
    """A learner of grid points that is asked by their number."""

    def __init__(self, learner: ThresholdLearner) -> None:
        self._learner = learner

    def fit(self, X: NDArray[np.int64], y: NDArray[np.bool_]) -> _OnGrid:
        self._learner.fit(_GRID[X], y)
        return self

    def predict(self, X: NDArray[np.int64]) -> NDArray[np.int64]:
        return self._learner.predict(_GRID[X])


def _drawing(runs: int) -> Verdict:
    law = LabelledDistribution.labelled(_GRID[:, 0] <= 5)
    run = learning_run(
        lambda i: _OnGrid(ThresholdLearner(grid=_SIDE, epsilon=_EPSILON, seed=i)), law, _ON_GRID
    )
    return simulated(check_promise(run, alpha=ALPHA, beta=BETA, runs=runs))


_N1 = one_sided_examples(ALPHA, BETA)
_PROPER = (
    "The printed rate epsilon/2 is that of neighbours that replace an example; of others "
    "it is epsilon (lemma F1)."
)

ROWS: tuple[Row, ...] = (
    Row(
        (14,),
        f"{_LECTURE}, example 0",
        f"points: the positive one, else h = 0, has {_KEPT} from ln(1/beta) / alpha on, however "
        "many points there are",
        f"n = {_N1}; the target's point has just more than alpha; every outcome enumerated",
        lambda runs: _enumerated(PointClass(1000), 4, 3),
        1,
        1,
        "h = 0 is in the class. The lecture's other way, a random member of its class of "
        "points alone, does not keep this: on 18 even points it fails with probability 27 % "
        "at this n.",
    ),
    Row(
        (14,),
        f"{_LECTURE}, example 1",
        f"thresholds x < j: up to the last positive example has {_KEPT} with O(1) examples",
        f"n = {_N1}; the last point below j has just more than alpha; every outcome enumerated",
        lambda runs: _enumerated(ThresholdClass(999, "x < t"), 500, 499),
        1,
        1,
        "x <= j is written x < j + 1. Where no example is positive h = 0 is returned: the "
        "lecture's other way, a random member, does not keep this.",
    ),
    Row(
        (15,),
        f"{_LECTURE}, Occam's razor",
        f"a consistent hypothesis has {_KEPT}",
        f"{_TEN}, n = {consistent_examples(_NINE.size, ALPHA, BETA)}",
        _occam,
        4_000,
        300,
        "n = ln(|C|/beta) / -ln(1 - alpha), never more than the printed ln(|C|/beta) / alpha.",
    ),
    Row(
        (15,),
        f"{_LECTURE}; Blumer et al. 1989, theorem 2.1",
        f"a consistent concept of VC dimension 1 has {_KEPT}",
        f"1,001 thresholds, n = {consistent_size(1, ALPHA, BETA)}",
        _vc,
        2_000,
        150,
        "The lecture's O(.) with Blumer's constants.",
    ),
    Row(
        (15,),
        f"{_LECTURE}; Ehrenfeucht et al. 1989, theorem 1",
        "with fewer examples than the lower bound every learner fails more often, for some target",
        f"alpha = {_RARE_ALPHA:g}, beta = {_RARE_BETA:g}, two concepts that differ on one point",
        _vc_lower,
        1,
        1,
        "The lecture's Omega(.) with the constants of Ehrenfeucht et al., alpha up to 1/8.",
    ),
    Row(
        (15,),
        f"{_LECTURE}, VC dimension",
        "a class of VC dimension d has at most (e n / d)^d dichotomies on n > d points",
        "four classes of known dimension",
        _growth,
        1,
        1,
    ),
    Row(
        (16,),
        f"{_LECTURE}; Kasiviswanathan et al. 2008",
        "weights exp(epsilon q / 2) are (epsilon, 0)-differentially private",
        f"4 concepts on 2 points, all samples of 3 examples, epsilon = {_EPSILON:g}",
        _private,
        1,
        1,
        _PROPER,
    ),
    Row(
        (16,),
        f"{_LECTURE}, private Occam's razor",
        f"the private learner has {_KEPT}, O((ln|C| + ln(1/beta)) max(1/epsilon^2, 1/(alpha "
        "epsilon))) as printed",
        f"{_TEN}, epsilon = {_EPSILON:g}, constant {_CONSTANT}: n = {_PRINTED}",
        _printed,
        4_000,
        300,
        "n is planned without the 1/epsilon^2, from 1 - alpha (1 - exp(-rate)).",
    ),
    Row(
        (16,),
        "learners/finite/sample_sizes.py, for Nissim's private learner",
        f"the same with n = ln(|C|/beta) / -ln(1 - alpha (1 - exp(-epsilon))): {_KEPT}",
        f"{_TEN}, epsilon = {_EPSILON:g}, n = "
        f"{private_examples(_NINE.size, ALPHA, BETA, _EPSILON)}",
        _realizable,
        4_000,
        300,
    ),
    Row(
        (16,),
        f"{_LECTURE}, extended to agnostic learning",
        f"no hypothesis is right: within {ALPHA:g} of the best with probability {1 - BETA:g}",
        f"5 hypotheses, a quarter of the labels wrong, epsilon = {_EPSILON:g}, n = {_AGNOSTIC}",
        lambda runs: _draws(_FOUR, _FOUR_LAW, _AGNOSTIC, runs, above=_NOISE),
        4_000,
        300,
    ),
    Row(
        (16,),
        f"{_LECTURE}, private points",
        f"O(d) examples: {_KEPT}",
        f"2^{_BITS} points and h = 0, the target's has 11 %, epsilon = {_EPSILON:g}, n = "
        f"{_OF_BITS}",
        lambda runs: _draws(_POINTS, _POINT_LAW, _OF_BITS, runs),
        4_000,
        200,
    ),
    Row(
        (16,),
        f"{_LECTURE}, private thresholds",
        f"O(d) examples: {_KEPT}",
        f"2^{_BITS} + 1 thresholds x < j, epsilon = {_EPSILON:g}, n = {_OF_BITS}",
        lambda runs: _draws(_THRESHOLDS, _THRESHOLD_LAW, _OF_BITS, runs),
        4_000,
        200,
    ),
    Row(
        (16,),
        f"{_LECTURE}, private thresholds on the drawing",
        f"a halfplane with one free coordinate: {_KEPT}",
        f"{threshold_class_size(_SIDE)} halfplanes of a {_SIDE + 1} x {_SIDE + 1} grid, epsilon = "
        f"{_EPSILON:g}, n = {_ON_GRID}",
        _drawing,
        1_000,
        60,
        "The direction may be learned too, from four times as many members.",
    ),
)
