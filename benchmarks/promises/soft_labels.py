"""Rows of soft labels, their diagnostics, on-average stability and gradient descent.

Bassily, Thakurta, Thakkar 2018 (BTT), section 5.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learners.confidence import mean_bounds
from learners.randomness import SeededRandom
from learners.stability.base_learners import (
    GradientDescentClassifier,
    Order,
    _visits,
    prediction_stability,
    uniform_stability,
)
from learners.stability.classifiers import StableSoftClassifier
from learners.stability.end_quality import strong_failure
from learners.stability.quality import most_outliers, outlier_share
from learners.stability.query_sizes import QuerySizes, soft_sizes, soft_width
from learners.stability.soft_labels import SoftQueries, plan_soft_queries
from learners.stability.sparse_vector import difference_tail
from learners.stability.stable_queries import chunks_needed
from learners.theory.pac import check_promise
from promises.row import Row, Verdict, exact, simulated
from promises.stability import kept

DELTA, EPSILON, BETA = 1e-6, 20.0, 0.2

# -- 28: the general guarantee ------------------------------------------------------------------

_M, _T, _WIDTH = 20, 3, 0.1
_BUDGET = plan_soft_queries(1.0, DELTA, queries=_M, halts=_T)
_CHUNKS = chunks_needed(_BUDGET, BETA, 1.0)


def _general(runs: int) -> Verdict:
    inside = np.full(_CHUNKS, 0.05)
    across = np.where(np.arange(_CHUNKS) % 2, 0.095, 0.105)

    def run(i: int) -> bool:
        queries = SoftQueries(_BUDGET, SeededRandom(i))
        hard = np.random.default_rng(i).permutation(_M) < _T
        told = [(queries.ask(across if one else inside, _WIDTH).release, one) for one in hard]
        return all(
            release.value is not None and abs(release.value - (0.1 if one else 0.05)) < 1e-9
            for release, one in told
        )

    return kept(run, BETA, runs)


# -- 28, 30: theorem 5.14 -----------------------------------------------------------------------


class _Shares:
    """Predicts at j the share of ones in column j of the first n0 examples.

    One of these replaced changes it by 1/n0, on average of squares by 2 p (1 - p) / n0^2.
    """

    def __init__(self, each: int) -> None:
        self.each = each

    def fit(self, X: Any, y: Any) -> _Shares:
        self.shares = X[: self.each].mean(axis=0)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        return np.asarray(self.shares[X])


_ALPHA = 0.2
_STABLE = math.sqrt(0.5)
_COLUMNS = np.array([0.5, 0.35, 0.05, 0.02, 0.0, 0.95, 0.98, 1.0, 0.04, 0.96])


def _soft(queries: int, halts: int, stable: float, alpha: float) -> QuerySizes:
    found = soft_sizes(
        queries=queries, halts=halts, stable=stable, alpha=alpha, beta=BETA, epsilon=EPSILON,
        delta=DELTA,
    )  # fmt: skip
    assert found is not None
    return found


_SHARES = _soft(len(_COLUMNS), 2, _STABLE, _ALPHA)


def _asked(base: Any, sizes: QuerySizes, alpha: float, seed: int) -> StableSoftClassifier:
    return StableSoftClassifier(
        base=base, epsilon=EPSILON, queries=sizes.queries, halts=sizes.halts, chunks=sizes.chunks,
        width=soft_width(alpha), seed=seed,
    )  # fmt: skip


def _of_shares(runs: int) -> Verdict:
    def run(i: int) -> bool:
        rng = np.random.default_rng(i)
        X = rng.random((_SHARES.examples, len(_COLUMNS))) < _COLUMNS
        y = rng.integers(0, 2, len(X))  # not looked at
        model = _asked(_Shares(_SHARES.each), _SHARES, _ALPHA, i).fit(X, y)
        told = [record.release.value for record in model.steps(np.arange(len(_COLUMNS)))]
        return all(
            value is not None and abs(value - p) <= _ALPHA
            for value, p in zip(told, _COLUMNS.tolist(), strict=True)
        )

    return kept(run, BETA, runs)


_FAR, _MOVES = 0.3, 0.75
_PLACES = np.array([[32, 32], [1, 1], [60, 60], [32, 60]])
_DESCENT = _soft(len(_PLACES), len(_PLACES), _MOVES, _FAR)
_RATE = 2 * _MOVES / _DESCENT.each


def _disc(count: int, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    X = rng.integers(0, 65, (count, 2))
    inside = ((X - 32) ** 2).sum(axis=1) < 20**2
    return X, (inside ^ (rng.random(count) < 0.05)).astype(int)


def _of_descent(runs: int) -> Verdict:
    base = GradientDescentClassifier(grid=64, steps=_DESCENT.each, rate=_RATE, order="one-pass")

    def run(i: int) -> bool:
        X, y = _disc(_DESCENT.examples, np.random.default_rng(i))
        records = list(_asked(base, _DESCENT, _FAR, i).fit(X, y).steps(_PLACES))
        return all(
            one.release.value is not None and abs(one.release.value - one.diagnostics.mean) <= _FAR
            for one in records
        )

    return kept(run, BETA, runs)


# -- 29: quality --------------------------------------------------------------------------------


def _weak_to_strong(runs: int) -> Verdict:
    """The law of the answer, exactly, where a prediction is the share of n0 coins."""
    worst, least = 0.0, 1.0
    budget = plan_soft_queries(4.0, DELTA, queries=10, halts=2)
    for i in range(runs):
        p, n, width = 0.01 + 0.01 * (i % 4), (20, 50, 200)[i % 3], (0.1, 0.2, 0.25)[i % 3]
        chunks = (300, 400, 600)[(i // 3) % 3]
        hits = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        off = sum(h for k, h in enumerate(hits) if k / n >= width)
        fails = 0.0
        for outside in range(chunks + 1):
            if 2 * outside >= chunks:
                turned = 1.0
            else:
                # the first bin leads: in the place of ties it comes before the others
                distance = math.ceil((chunks - 2 * outside + 1) / 2) - 1
                at = distance - budget.margin - 1
                turned = 1.0
                if at >= 0:
                    turned = difference_tail(budget.threshold_scale, budget.query_scale, at)
            log = math.lgamma(chunks + 1) - math.lgamma(outside + 1)
            log -= math.lgamma(chunks - outside + 1)
            fails += math.exp(log) * off**outside * (1 - off) ** (chunks - outside) * turned
        bound = strong_failure(budget, chunks, n, 2 * p * (1 - p) / n**2, width, p)
        worst, least = max(worst, fails - bound), min(least, bound)
    return exact(
        worst <= 1e-12 and least < 0.1,
        f"never more than stated, in {runs} settings; stated are {least:.1g} and more",
    )


_DIMENSION, _NEAR = 4, 0.1
#: ln of the odds that definition 5.11 asks for at half of alpha, and the chance that 2 x.1 / s^2 of
#: variance 16 and mean 8 is between these: what a learner off by alpha/2 does not decide.
_ODDS = math.log((1 - _NEAR / 2) / (_NEAR / 2))
_UNDECIDED = (math.erf((_ODDS - 8) / 4 / 2**0.5) - math.erf((-_ODDS - 8) / 4 / 2**0.5)) / 2


def _logistic(X: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of a logistic regression, by Newton's steps."""
    w = np.zeros(X.shape[1])
    for _ in range(8):
        p = 1 / (1 + np.exp(-X @ w))
        w += np.linalg.solve((X.T * (p * (1 - p) + 1e-3)) @ X, X.T @ (y - p) - 1e-3 * w)
    return w


def _gaussian(rng: np.random.Generator, n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    y = rng.integers(0, 2, n)
    return (2 * y - 1)[:, None] + rng.normal(size=(n, _DIMENSION)), y


def _example(runs: int) -> Verdict:
    rng = np.random.default_rng(0)
    points = _gaussian(rng, runs)[0]
    models = [_logistic(*_gaussian(rng, 1000)) for _ in range(30)]
    expected = np.mean([1 / (1 + np.exp(-points @ w)) for w in models], axis=0)
    weak = np.minimum(expected, 1 - expected) <= _NEAR
    found = check_promise(lambda i: float(not weak[i]), alpha=0.5, beta=_UNDECIDED, runs=runs)
    return simulated(found)


#: Three labelled points of a grid of 8, and how likely each is.
_X, _Y = np.array([[0, 0], [8, 3], [8, 8]]), np.array([0, 1, 1])
_CHANCES = np.array([0.5, 0.3, 0.2])


def _randomization(runs: int) -> Verdict:
    """Expected predictions over all samples of three, for `runs` values of the coins."""
    n = 3
    samples = list(itertools.product(range(n), repeat=n))
    odds = np.array([np.prod(_CHANCES[list(rows)]) for rows in samples])

    def apart(order: Order) -> float:
        """The largest difference of expected predictions with different coins."""
        expected = []
        for coins in range(runs):
            base = GradientDescentClassifier(grid=8, steps=n, rate=2.0, order=order, coins=coins)
            told = [
                base.fit(_X[list(rows)], _Y[list(rows)]).predict_proba(_X)[:, 1].copy()
                for rows in samples
            ]
            expected.append(odds @ np.array(told))
        return float(np.ptp(np.array(expected), axis=0).max())

    found = apart("permutation")
    return exact(
        found < 1e-12,
        f"{found:.1g} apart with {runs} values of the coins; with replacement, which is not "
        f"promised, {apart('replacement'):.3f}",
    )


# -- 30: on-average stability -------------------------------------------------------------------


def _outliers(runs: int) -> Verdict:
    p, n, width, chunks, beta = 0.3, 200, 0.4, 60, 0.1
    share = outlier_share(n, 2 * p * (1 - p) / n**2, width)
    most = most_outliers(chunks, share, beta)

    def run(i: int) -> bool:
        means = np.random.default_rng(i).binomial(n, p, chunks) / n
        return int((np.abs(means - p) > width / 4).sum()) <= most

    return kept(run, beta, runs)


def _reduction(runs: int) -> Verdict:
    """All samples of three, all replacements, all orders; the mean and the worst drift."""
    n, rate = 3, 0.5
    figures, holds = [], True
    for steps in range(2, 2 + runs):
        base = GradientDescentClassifier(grid=8, steps=steps, rate=rate, order="one-pass")
        learned = {
            rows: base.fit(_X[list(rows)], _Y[list(rows)]).weights_
            for rows in itertools.product(range(3), repeat=n)
        }
        average = uniform = 0.0
        for rows, new, i in itertools.product(learned, range(3), range(n)):
            other = (*rows[:i], new, *rows[i + 1 :])
            chance = float(np.prod(_CHANCES[list(rows)]) * _CHANCES[new]) / n
            average += chance * float(np.linalg.norm(learned[rows] - learned[other]))
            shuffled = [
                float(
                    np.linalg.norm(
                        learned[tuple(rows[j] for j in way)] - learned[tuple(other[j] for j in way)]
                    )
                )
                for way in itertools.permutations(range(n))
            ]
            uniform = max(uniform, math.fsum(shuffled) / len(shuffled))
        bound = uniform_stability(n, min(steps, n), rate, "permutation")
        holds = holds and 0 < average <= uniform <= bound
        figures.append(f"{average:.3f} on average, {uniform:.3f} uniformly, at most {bound:.3f}")
    return exact(holds, "; ".join(figures))


def _squares(order: Order) -> Callable[[int], Verdict]:
    n, steps, rate = 20, 20, 1.0
    points = np.array([[32, 32], [1, 1], [60, 60]])
    stated = prediction_stability(n, steps, rate, order)

    def check(runs: int) -> Verdict:
        rng = np.random.default_rng(7)
        found, worst = [], 0.0
        for run in range(runs):
            X, y = _disc(n + 1, rng)
            rows = np.arange(n)
            rows[run % n] = n
            pair = [
                GradientDescentClassifier(grid=64, steps=steps, rate=rate, order=order, coins=run)
                .fit(X[which], y[which])
                .predict_proba(points)[:, 1]
                for which in (np.arange(n), rows)
            ]
            found.append((pair[0] - pair[1]) ** 2)
            # for these coins: 2 L eta for each time that the example is met, a quarter of it
            met = int((_visits(order, n, steps, run) == run % n).sum())
            worst = max(worst, float(np.abs(pair[0] - pair[1]).max()) - 2 * rate * met / 4)
        low, high = mean_bounds(np.array(found), 1.0, 0.002)
        word = "confirmed" if high.max() <= stated else "not refuted"
        if low.max() > stated or worst > 1e-12:
            word = "refuted"
        return Verdict(  # type: ignore[arg-type]
            word,
            f"gamma^2 is {max(0.0, low.max()):.4f} to {high.max():.4f} at the worst of 3 places, "
            f"stated {stated:.4f}; no prediction moved by more than its coins grant",
        )

    return check


def _planned(sizes: QuerySizes, more: str) -> str:
    return (
        f"{more}; epsilon = {EPSILON:g}, beta = {BETA:g}, m = {sizes.queries}, T = {sizes.halts}: "
        f"K = {sizes.chunks:,}, n0 = {sizes.each:,}, n = {sizes.examples:,}"
    )


ROWS: tuple[Row, ...] = (
    Row(
        (28,), "BTT, theorem 5.6",
        "Queries with a stable histogram are answered by its bin, and T others by their shifted "
        "one.",
        f"m = {_M}, T = {_T}, width {_WIDTH:g}, epsilon = 1, beta = {BETA:g}: K = {_CHUNKS:,}",
        _general, 500, 8,
    ),
    Row(
        (28, 12), "BTT, theorem 5.14",
        "All predictions are within alpha of the expected one, if all but T of these are near 0 "
        "or 1.",
        _planned(_SHARES, f"shares of columns, alpha = {_ALPHA:g}"), _of_shares, 100, 5,
        "The source has a chunk of n/K examples; here sizes are by coins, and n is so large that "
        "each chunk has n0, of which the learner takes the first n0.",
    ),
    Row(
        (29,), "BTT, lemma 5.13",
        "Weak quality at the chunks makes strong quality of the private prediction.",
        "shares of 20 to 200 coins, 300 to 600 chunks, epsilon = 4; exact laws", _weak_to_strong,
        36, 9,
        "The failure is a sum over the law of outliers, which is less than the source's bound.",
    ),
    Row(
        (29,), "BTT, section 5: Gaussian classes, logistic regression",
        "All but few queries are of weak quality: the expected prediction is near 0 or 1.",
        f"{_DIMENSION} dimensions, variance 1, n0 = 1,000, alpha = {_NEAR:g}; the expectation of "
        "30 models", _example, 4000, 100,
        "The formulas of the example are lost in our copy: the share of the queries is worked out "
        "again from the two normal laws.",
    ),
    Row(
        (29,), "BTT, definition 5.9",
        "Gradient descent on a permutation has consistent randomization: expected predictions do "
        "not depend on the coins.",
        "3 examples of 3 kinds, 3 steps of 2; all samples", _randomization, 60, 6,
    ),
    Row(
        (30,), "BTT, lemma 5.8",
        "Of K predictions no more are outliers than stability on average tells.",
        "shares of 200 coins of 0.3, width 0.4, K = 60, beta = 0.1", _outliers, 1000, 100,
    ),
    Row(
        (30,), "BTT, section 5: the reduction",
        "What is uniformly stable on a shuffled sample is stable on average on any.",
        "one pass over 3 examples of 3 kinds, 2 to 4 steps; all samples and orders", _reduction,
        3, 1,
    ),
    Row(
        (30,), "Hardt, Recht, Singer 2016; with replacement",
        "The predictions of gradient descent are stable by its sum of steps.",
        "a disc, n = 20, 20 steps of 1", _squares("replacement"), 1500, 60,
    ),
    Row(
        (30,), "Hardt, Recht, Singer 2016; one permutation",
        "The same, of examples in a random order.",
        "a disc, n = 20, 20 steps of 1", _squares("permutation"), 1500, 60,
    ),
    Row(
        (30,), "BTT, section 5: one pass",
        "The same, of examples in the order of the sample, on average over the one replaced.",
        "a disc, n = 20, 20 steps of 1", _squares("one-pass"), 1500, 60,
    ),
    Row(
        (30, 28), "BTT, theorem 5.14, by one pass of gradient descent",
        "All queries are answered, within alpha of the chunks' mean.",
        _planned(_DESCENT, f"a disc, alpha = {_FAR:g}, steps of {_RATE:.2g}"), _of_descent, 60, 5,
    ),
)  # fmt: skip
