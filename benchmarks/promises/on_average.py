"""Rows of stability on average, consistent randomization and gradient descent.

Bassily, Thakurta, Thakkar 2018 (BTT), section 5.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learners.core.accuracy import mean_bounds
from learners.stability.base_learners import GradientDescentClassifier, Order, visits
from promises.bounds import most_outliers, outlier_share, prediction_stability, uniform_stability
from promises.row import Row, Verdict, exact
from promises.soft_labels import BETA, asked, planned, soft
from promises.stability import kept

# -- 28, 30: theorem 5.14 by one pass -----------------------------------------------------------

_FAR, _MOVES = 0.3, 0.75
_PLACES = np.array([[32, 32], [1, 1], [60, 60], [32, 60]])
_DESCENT = soft(len(_PLACES), len(_PLACES), _MOVES, _FAR)
_RATE = 2 * _MOVES / _DESCENT.each


def _disc(count: int, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    X = rng.integers(0, 65, (count, 2))
    inside = ((X - 32) ** 2).sum(axis=1) < 20**2
    return X, (inside ^ (rng.random(count) < 0.05)).astype(int)


def _of_descent(runs: int) -> Verdict:
    base = GradientDescentClassifier(grid=64, steps=_DESCENT.each, rate=_RATE, order="one-pass")

    def run(i: int) -> bool:
        X, y = _disc(_DESCENT.examples, np.random.default_rng(i))
        records = list(asked(base, _DESCENT, _FAR, i).fit(X, y).steps(_PLACES))
        return all(
            one.release.value is not None and abs(one.release.value - one.diagnostics.mean) <= _FAR
            for one in records
        )

    return kept(run, BETA, runs)


# -- 29: consistent randomization --------------------------------------------------------------

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
            outcome = [
                base.fit(_X[list(rows)], _Y[list(rows)]).predict_proba(_X)[:, 1].copy()
                for rows in samples
            ]
            expected.append(odds @ np.array(outcome))
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
            met = int((visits(order, n, steps, run) == run % n).sum())
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


ROWS: tuple[Row, ...] = (
    Row(
        (29,), "BTT, definition 5.9",
        "Gradient descent on a permutation has consistent randomization: expected predictions do "
        "not depend on the coins.",
        "3 examples of 3 kinds, 3 steps of 2; all samples", _randomization, 60, 6,
    ),
    Row(
        (30,), "BTT, lemma 5.8 and corollary 5.10",
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
        planned(_DESCENT, f"a disc, alpha = {_FAR:g}, steps of {_RATE:.2g}"), _of_descent, 60, 5,
    ),
)  # fmt: skip
