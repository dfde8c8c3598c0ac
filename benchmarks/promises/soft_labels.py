"""Rows of soft labels and of predictions near 0 or 1; on-average stability is in on_average.py.

Bassily, Thakurta, Thakkar 2018 (BTT), section 5.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learners.privacy.randomness import SeededRandom
from learners.stability.classifiers import StableSoftClassifier
from learners.stability.quality import end_quality, strong_failure
from learners.stability.query_sizes import QuerySizes, soft_sizes, soft_width
from learners.stability.soft_labels import SoftQueries, plan_soft_queries
from learners.stability.stable_queries import chunks_needed, difference_tail
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
        outcome = [(queries.ask(across if one else inside, _WIDTH).release, one) for one in hard]
        return all(
            release.value is not None and abs(release.value - (0.1 if one else 0.05)) < 1e-9
            for release, one in outcome
        )

    return kept(run, BETA, runs)


def _printed_privacy(runs: int) -> Verdict:
    """The printed constants with 2T halts and 2m tests; refused if they do not do."""
    refused = 0
    for i in range(runs):
        epsilon, delta, halts = 0.1 * (1 + i % 10), 10.0 ** -(3 + i % 7), (1, 5, 30)[i // 3 % 3]
        try:
            plan_soft_queries(
                epsilon, delta, queries=(50, 1000)[i % 2], halts=halts, constants="printed"
            )
        except ValueError:
            refused += 1
    return exact(refused == 0, f"{refused} of {runs} settings lack it")


# -- 28: theorem 5.14 -----------------------------------------------------------------------


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


def soft(queries: int, halts: int, stable: float, alpha: float) -> QuerySizes:
    found = soft_sizes(
        queries=queries, halts=halts, stable=stable, alpha=alpha, beta=BETA, epsilon=EPSILON,
        delta=DELTA,
    )  # fmt: skip
    assert found is not None
    return found


_SHARES = soft(len(_COLUMNS), 2, _STABLE, _ALPHA)


def asked(base: Any, sizes: QuerySizes, alpha: float, seed: int) -> StableSoftClassifier:
    return StableSoftClassifier(
        base=base, epsilon=EPSILON, queries=sizes.queries, halts=sizes.halts, chunks=sizes.chunks,
        width=soft_width(alpha), seed=seed,
    )  # fmt: skip


def _of_shares(runs: int) -> Verdict:
    def run(i: int) -> bool:
        rng = np.random.default_rng(i)
        X = rng.random((_SHARES.examples, len(_COLUMNS))) < _COLUMNS
        y = rng.integers(0, 2, len(X))  # not looked at
        model = asked(_Shares(_SHARES.each), _SHARES, _ALPHA, i).fit(X, y)
        outcome = [record.release.value for record in model.steps(np.arange(len(_COLUMNS)))]
        return all(
            value is not None and abs(value - p) <= _ALPHA
            for value, p in zip(outcome, _COLUMNS.tolist(), strict=True)
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


_COINS, _SURE, _END = (0.02, 0.09, 0.1, 0.11, 0.3, 0.89, 0.9, 0.91, 0.99), 0.1, 0.1


def _definitions(runs: int) -> Verdict:
    """Predictions are shares of 50 coins; wrong is a verdict against what the binomial law says."""
    n, chunks = 50, 400
    weak, strong = [], []
    for p in _COINS:
        law = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        ends = [sum(h for k, h in enumerate(law) if k / n <= _END),
                sum(h for k, h in enumerate(law) if k / n >= 1 - _END)]  # fmt: skip
        weak.append(p <= _END or p >= 1 - _END)
        strong.append(max(ends) >= 1 - BETA)
    outcome = 0

    def run(i: int) -> bool:
        nonlocal outcome
        drawn = np.random.default_rng(i).binomial(n, _COINS, (chunks, len(_COINS))) / n
        found = end_quality(drawn, _END, BETA, confidence=1 - _SURE)
        outcome += sum(one != "open" for one in (*found.weak, *found.strong))
        least, most = found.halts
        return (
            all(one == "open" or (one == "yes") == true
                for one, true in zip((*found.weak, *found.strong), (*weak, *strong), strict=True))
            and least <= weak.count(False) <= most
        )  # fmt: skip

    verdict = kept(run, _SURE, runs)
    share = outcome / (runs * 2 * len(_COINS))
    return Verdict(verdict.word, f"{verdict.figures}; {share:.0%} of the verdicts are not open")


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


def planned(sizes: QuerySizes, more: str) -> str:
    return (
        f"{more}; epsilon = {EPSILON:g}, beta = {BETA:g}, m = {sizes.queries}, T = {sizes.halts}: "
        f"K = {sizes.chunks:,}, n0 = {sizes.each:,}, n = {sizes.examples:,}"
    )


ROWS: tuple[Row, ...] = (
    Row(
        (28,), "BTT, theorem 5.4",
        "Soft labels with the printed lambda are (epsilon, delta)-DP.",
        "epsilon 0.1 to 1, delta 1e-3 to 1e-9, T up to 30, m up to 1,000", _printed_privacy,
        630, 63,
    ),
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
        planned(_SHARES, f"shares of columns, alpha = {_ALPHA:g}"), _of_shares, 100, 5,
        "The source has a chunk of n/K examples; here sizes are by coins, and n is so large "
        "that each chunk has n0, of which the learner takes the first n0.",
    ),
    Row(
        (29,), "BTT, definitions 5.11 and 5.12",
        "All verdicts on weak and strong quality are right, and T lies between its bounds.",
        f"shares of 50 coins at {len(_COINS)} places, 400 chunks, alpha = {_END:g}, confidence "
        f"{1 - _SURE:g}", _definitions, 1000, 40,
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
        "The share of the queries is worked out again from the two normal laws.",
    ),
)  # fmt: skip
