"""Rows of errors, promises and VC dimension; what a learner without privacy gives away.

Nissim's lecture *Private Learning 1* (2017); Kaplan, Mansour, Matias, Stemmer 2019, section 2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from benchmarks.audits.declared import SUBJECTS
from benchmarks.audits.events import audit_pairs
from learners.core.accuracy import clopper_pearson
from learners.finite.finite_class import MemorizingLearner
from learners.finite.sample_sizes import combined_vc_bound, dichotomies, vc_dimension
from learners.privacy.randomness import SeededRandom
from learners.theory.pac import LabelledDistribution
from promises.bounds import empirical_error
from promises.row import Row, Verdict, always, exact

_LECTURE = "Nissim, Private Learning 1"

# -- 12: observation 2.2 -----------------------------------------------------------------------


def _classes(runs: int) -> list[NDArray[np.bool_]]:
    cells = np.arange(9)
    rng = np.random.default_rng(0)
    known = [
        np.array([cells < t for t in range(10)]),
        np.array([(cells >= a) & (cells <= b) for a in range(10) for b in range(9)]),
        np.vstack([np.zeros(9, bool), np.eye(9, dtype=bool)]),
    ]
    return known + [rng.random((int(rng.integers(3, 14)), 9)) < 0.5 for _ in range(runs)]


def _combined(runs: int) -> Verdict:
    """All unions and all intersections of two and of three concepts, enumerated."""
    good, closest = True, 0.0
    for concepts in _classes(runs):
        found = dichotomies(concepts)
        vc = vc_dimension(found)
        for k, join in itertools.product((2, 3), (np.logical_or, np.logical_and)):
            joined = found
            for _ in range(k - 1):
                pairs = join(joined[:, None, :], found[None, :, :])
                joined = dichotomies(pairs.reshape(-1, found.shape[1]))
            got, bound = vc_dimension(joined), combined_vc_bound(vc, k)
            good &= got <= bound <= max(2 * vc * k * math.log2(3 * k), 1)
            closest = max(closest, got / max(bound, 1))
    return exact(good, f"{runs + 3} classes; the dimension reaches {closest:.0%} of the bound")


# -- 13: errors and promises -------------------------------------------------------------------


def _interval(runs: int) -> Verdict:
    """How often each end is on the wrong side, as sums of the binomial law."""
    n, confidence, worst = 40, 0.95, 0.0
    ends = [clopper_pearson(k, n, confidence) for k in range(n + 1)]
    for step in range(1, runs):
        p = step / runs
        law = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        for wrong in ([low > p for low, _ in ends], [high < p for _, high in ends]):
            worst = max(worst, math.fsum(h for h, one in zip(law, wrong, strict=True) if one))
    return exact(worst <= 1 - confidence + 1e-12, f"{worst:.4f} at most; {n} runs, confidence 95 %")


def _errors(runs: int) -> Verdict:
    """Against a sum over all examples that a distribution can give."""
    good = True
    for i in range(runs):
        rng = np.random.default_rng(i)
        weights = rng.integers(0, 20, (6, 2))
        weights[0, 0] += 1
        law = LabelledDistribution(weights)
        for concept in itertools.product((0, 1), repeat=6):
            wrong = sum(int(weights[x, 1 - concept[x]]) for x in range(6))
            good &= law.error(concept) == Fraction(wrong, int(weights.sum()))
        X, y = law.sample(200, SeededRandom(i))
        predicted = rng.integers(0, 2, 6)[X]
        good &= empirical_error(predicted, y) == Fraction(int((predicted != y).sum()), 200)
    return exact(good, f"{64 * runs:,} concepts, in fractions")


_POINTS, _SEEN = 400, 50


def _overfits(runs: int) -> Verdict:
    """The lecture's h with h(x_i) = y_i that is random elsewhere."""
    law = LabelledDistribution.labelled(np.arange(_POINTS) < 150)
    on_sample, on_new = Fraction(0), []
    for i in range(runs):
        X, y = law.sample(_SEEN, SeededRandom(i))
        model = MemorizingLearner(points=_POINTS, seed=i).fit(X, y)
        on_sample = max(on_sample, empirical_error(model.predict(X), y))
        on_new.append(float(law.error(model.predict(np.arange(_POINTS)))))
    outcome = f"error on the sample {float(on_sample):g}, on new points {np.mean(on_new):.3f} on "
    outcome += f"average and {min(on_new):.3f} at least, in {runs} runs"
    return always(on_sample == 0 and min(on_new) > 0.3, outcome)


def _refuted(name: str) -> Callable[[int], Verdict]:
    """An audit of a learner without privacy, against a claim of epsilon = 1."""

    def check(runs: int) -> Verdict:
        subject = SUBJECTS[name]
        found = audit_pairs(
            subject.factory(1.0, 1e-6, "add-remove", 1),
            subject.pairs("add-remove"), subject.events, runs, claim=(1.0, 1e-6),
        )  # fmt: skip
        outcome = f"epsilon is at least {found.lower:.2f}, at confidence 99.9 %, by {runs:,} runs"
        return exact(found.refuted, f"{outcome}: {found.event}, on {found.pair}")

    return check


ROWS: tuple[Row, ...] = (
    Row(
        (12,), "KMMS, observation 2.2",
        "Unions and intersections of k concepts have VC dimension O(k log(k) VC).",
        "thresholds, intervals, points and random classes on 9 points, k = 2 and 3", _combined,
        40, 3, "The largest N that the growth function does not rule out, never more than the "
        "textbook's 2 VC k log2(3k).",
    ),
    Row(
        (13,), f"{_LECTURE}, error on a sample and on a distribution",
        "Both errors are exact fractions.",
        "random weights of 6 points, all concepts", _errors, 40, 3,
    ),
    Row(
        (13,), f"{_LECTURE}, probably approximately correct",
        "A simulation's bounds of a probability of failure are wrong no more often than they say.",
        "every probability in steps of 1/500, Clopper and Pearson 1934", _interval, 500, 50,
    ),
    Row(
        (13,), f"{_LECTURE}, overfitting",
        "A hypothesis that agrees with the sample and is random elsewhere errs on no example, and "
        "on nearly half of new points.",
        f"{_POINTS} points, {_SEEN} examples", _overfits, 200, 20,
    ),
    Row(
        (14,), f"{_LECTURE}, where is the privacy problem?",
        "The learner of thresholds that returns the largest point labelled 1 is not private: "
        "geodp audit refutes epsilon = 1.",
        "nine thresholds x < t, one example more or less", _refuted("finite-class"), 4_000, 400,
    ),
    Row(
        (14,), f"{_LECTURE}, is solving the equations privacy preserving?",
        "Gaussian elimination is not private: geodp audit refutes epsilon = 1.",
        "one bit, one example more or less", _refuted("parity"), 4_000, 400,
    ),
    Row(
        (13,), f"{_LECTURE}, overfitting",
        "Nor is the hypothesis that agrees with the sample and is random elsewhere.",
        "four points, one example more or less", _refuted("memorizing"), 4_000, 800,
    ),
)  # fmt: skip
