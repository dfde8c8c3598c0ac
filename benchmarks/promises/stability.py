"""Rows of private learning by stable votes: sparse vector to label-private learners.

Bassily, Thakurta, Thakkar 2018 (BTT), sections 2 to 4.  Where a theorem plans more examples than
can be drawn one by one, each chunk's are drawn as counts of a small domain, which has the same law,
and the votes go to the program's own queries; soft labels are in soft_labels.py and on_average.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learners.privacy.randomness import SeededRandom
from learners.stability.classifiers import StableQueryClassifier
from learners.stability.query_sizes import QuerySizes, label_sizes, query_sizes
from learners.stability.sample_and_aggregate import (
    VotesAccount,
    distances,
    plan_noisy_votes,
    winners,
)
from learners.stability.stable_queries import (
    Constants,
    DistanceTest,
    SparseVector,
    SparseVectorBudget,
    StableQueries,
    plan_sparse_vector,
    tail,
)
from learners.theory.pac import check_promise
from promises.bounds import halts_needed, noisy_chunks, plan_queries, printed_chunks
from promises.row import Row, Verdict, exact, simulated

DELTA = 1e-6


def kept(run: Callable[[int], bool], beta: float, runs: int) -> Verdict:
    """The verdict on a promise that fails with probability at most beta; run(i) says if it held."""
    return simulated(check_promise(lambda i: float(not run(i)), alpha=0.5, beta=beta, runs=runs))


# -- 22, 24: sparse vector, online queries -----------------------------------------------------

_M, _T, BETA = 40, 3, 0.1


def _budget(constants: Constants) -> tuple[SparseVectorBudget, int]:
    """The budget, and u: how far beyond the margin a value is told right."""
    budget = plan_sparse_vector(1.0, DELTA, queries=_M, halts=_T, constants=constants)
    if constants == "tight":
        return budget, budget.slip(BETA)
    return budget, math.ceil(4 * budget.threshold_scale * math.log(2 * _M * _T / BETA))


def _low(run: int) -> list[bool]:
    """Which T - 1 of the m queries are low, or unstable: the first, the last or any."""
    low = np.arange(_M) < _T - 1
    mixed = np.random.default_rng(run).permutation(low)
    return [bool(one) for one in (low, low[::-1], mixed)[run % 3]]


def _sparse_vector(runs: int) -> Verdict:
    budget, reach = _budget("printed")

    def run(i: int) -> bool:
        tests = SparseVector(budget, SeededRandom(i))
        side = (budget.margin + reach + 1, budget.margin - reach - 1)
        return all(tests.test(side[low]) != low for low in _low(i))

    return kept(run, BETA, runs)


def _online(constants: Constants) -> Callable[[int], Verdict]:
    budget, reach = _budget(constants)

    def run(i: int) -> bool:
        queries = StableQueries(budget, SeededRandom(i))
        far = budget.margin + reach + 1
        found = [(queries.ask(5, 0 if low else far).value, low) for low in _low(i)]
        return all(low or value == 5 for value, low in found)

    return lambda runs: kept(run, BETA, runs)


def _printed_privacy(runs: int) -> Verdict:
    """By composition of what T halts cost, and of what passes at distance 0; refused if not."""
    refused = 0
    for i in range(runs):
        epsilon, delta = 0.1 * (1 + i % 10), 10.0 ** -(3 + i % 7)
        queries, halts = (10, 1000, 10**5)[i % 3], (1, 7, 60)[i // 3 % 3]
        try:
            plan_sparse_vector(
                epsilon, delta, queries=queries, halts=min(halts, queries), constants="printed"
            )
        except ValueError:
            refused += 1
    return exact(refused == 0, f"{refused} of {runs} settings lack it")


# -- 23: distance to instability ---------------------------------------------------------------


def _distance(runs: int) -> Verdict:
    """P(no answer) at the source's own distance, in closed form, for `runs` settings."""
    worst = 0.0
    for i in range(runs):
        epsilon, delta, beta = 0.1 * 1.3 ** (i % 10), 10.0 ** -(2 + i % 7), 0.5 ** (1 + i % 9)
        test = DistanceTest.plan(epsilon, delta)
        far = math.floor((math.log(1 / delta) + math.log(1 / beta)) / epsilon) + 1
        # not answered if the noise is at most w - far, as likely as at least far - w
        missed = tail(test.scale, far - test.margin - 1) if far > test.margin else 1.0
        worst = max(worst, missed / beta)
    return exact(worst <= 1, f"at most {worst:.3f} of beta, in {runs} settings")


def _distance_privacy(runs: int) -> Verdict:
    """What an unstable value passes with, at the printed threshold, and what one step changes."""
    worst, odds = 0.0, 0.0
    for i in range(runs):
        epsilon, delta = 0.1 * 1.3 ** (i % 10), 10.0 ** -(2 + i % 7)
        test = DistanceTest.plan(epsilon, delta)
        # not above ln(1/delta)/epsilon: noise is whole
        worst = max(worst, tail(test.scale, math.floor(math.log(1 / delta) / epsilon)) / delta)
        odds = max(odds, float(1 / test.scale) / epsilon)
    outcome = f"passes with at most {worst:.3f} of delta, odds of {odds:.6f} of epsilon at most"
    return exact(worst <= 1 and odds <= 1, f"{outcome}; {runs} settings")


# -- 25: sub-sample and aggregate --------------------------------------------------------------

_PLACES, _EXAMPLES = np.arange(10), 60
_CHUNKS = printed_chunks(10.0, DELTA, len(_PLACES), 2, 0.2)


class _Table:
    """For each of ten places the label of most examples there."""

    def fit(self, X: Any, y: Any) -> _Table:
        self.labels = np.bincount(X, weights=2 * y - 1, minlength=10) > 0
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        return self.labels[X].astype(np.int64)


def _aggregate(runs: int) -> Verdict:
    truth = (_PLACES % 3 == 0).astype(np.int64)

    def run(i: int) -> bool:
        rng = np.random.default_rng(i)
        X = rng.integers(0, 10, _EXAMPLES * _CHUNKS)
        # six examples a place, their majority right with probability .77; coins at the first
        flipped = rng.random(len(X)) < np.where(X == 0, 0.5, 0.31)
        model = StableQueryClassifier(
            base=_Table, epsilon=10.0, queries=len(_PLACES), halts=2, chunks=_CHUNKS,
            constants="printed", seed=i,
        ).fit(X, truth[X] ^ flipped)  # fmt: skip
        return bool((model.answer(_PLACES)[1:] == truth[1:]).all())

    return kept(run, 0.2, runs)


# -- 26, 27: queries and labels, realizable and agnostic ---------------------------------------

#: Points of the domain; labels are 1 from the middle on.  Rarer and rarer towards it, so that
#: chunks do err.
_POINTS = 24
_TARGET = np.arange(_POINTS) >= _POINTS // 2
_WEIGHTS = 2.0 ** (np.abs(np.arange(_POINTS) - _POINTS // 2 + 0.5) - _POINTS / 2)
_LAW = _WEIGHTS / _WEIGHTS.sum()


def _best_cuts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first t of fewest mistakes of "1 from t on", of counts (..., points, labels)."""
    zeros = np.zeros((*counts.shape[:-2], 1), dtype=np.int64)
    wrong = np.concatenate([zeros, np.cumsum(counts[..., 1] - counts[..., 0], axis=-1)], axis=-1)
    return np.asarray(wrong.argmin(axis=-1))


def _answers(
    sizes: QuerySizes, gamma: float, epsilon: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_], list[int | None]]:
    """Points of m queries, their labels, and the private answers."""
    rng = np.random.default_rng(seed)
    noise = np.where(_TARGET[:, None], [gamma, 1 - gamma], [1 - gamma, gamma])
    drawn = rng.multinomial(sizes.each, (_LAW[:, None] * noise).ravel(), size=sizes.chunks)
    cuts = _best_cuts(drawn.reshape(sizes.chunks, _POINTS, 2))
    ones = np.cumsum(np.bincount(cuts, minlength=_POINTS + 1))[:_POINTS]
    points = rng.choice(_POINTS, sizes.queries, p=_LAW)
    labels = _TARGET[points] ^ (rng.random(sizes.queries) < gamma)
    votes = np.stack([sizes.chunks - ones, ones], axis=1)[points]
    budget = plan_sparse_vector(epsilon, DELTA, queries=sizes.queries, halts=sizes.halts)
    queries = StableQueries(budget, SeededRandom(seed))
    asked = zip(winners(votes).tolist(), distances(votes).tolist(), strict=True)
    return points, labels, [queries.ask(first, far).value for first, far in asked]


_EPSILON = 20.0


def _sizes(plan: Callable[..., QuerySizes | None], **asked: Any) -> QuerySizes:
    found = plan(vc=1, beta=0.3, epsilon=_EPSILON, delta=DELTA, agnostic="gamma" in asked, **asked)
    assert found is not None
    return found


_QUERIES = _sizes(query_sizes, queries=200, alpha=0.3)
_NOISY_QUERIES = _sizes(query_sizes, queries=400, alpha=0.4, gamma=0.02)
_LABELS = _sizes(label_sizes, queries=1500, alpha=0.35)
_NOISY_LABELS = _sizes(label_sizes, queries=5000, alpha=0.49, gamma=0.01)


def _right(sizes: QuerySizes, alpha: float, gamma: float) -> Callable[[int], Verdict]:
    def run(i: int) -> bool:
        _, labels, outcome = _answers(sizes, gamma, _EPSILON, i)
        wrong = sum(value != right for value, right in zip(outcome, labels.tolist(), strict=True))
        return wrong <= alpha * sizes.queries

    return lambda runs: kept(run, 0.3, runs)


def _learned(sizes: QuerySizes, alpha: float, gamma: float) -> Callable[[int], Verdict]:
    def run(i: int) -> bool:
        points, _, outcome = _answers(sizes, gamma, _EPSILON, i)
        coins = np.random.default_rng(i + 10**6).integers(0, 2, len(outcome))
        answers = np.array(
            [coin if value is None else value for value, coin in zip(outcome, coins, strict=True)]
        )
        counts = np.zeros((_POINTS, 2), dtype=np.int64)
        np.add.at(counts, (points, answers), 1)
        off = (np.arange(_POINTS) >= _best_cuts(counts)) != _TARGET
        error = gamma + (1 - 2 * gamma) * float(_LAW[off].sum())
        return error <= alpha

    return lambda runs: kept(run, 0.3, runs)


def _corollary(gamma: float) -> Callable[[int], Verdict]:
    """Votes of chunks that err by about alpha, at the tight T and K."""
    m, alpha, epsilon = 150, 0.02, 10.0
    settings = plan_queries(epsilon, DELTA, queries=m, alpha=alpha, beta=0.2, gamma=gamma)
    budget = plan_sparse_vector(epsilon, DELTA, queries=m, halts=settings.halts)

    def run(i: int) -> bool:
        rng = np.random.default_rng(i)
        # a threshold off by e errs with probability e; labels of noise gamma are never right
        cuts = np.sort(0.5 + rng.uniform(-2 * alpha, 2 * alpha, settings.chunks))
        points = rng.random(m)
        ones = np.searchsorted(cuts, points)
        votes = np.stack([settings.chunks - ones, ones], axis=1)
        truth = (points > 0.5) ^ (rng.random(m) < gamma)
        queries = StableQueries(budget, SeededRandom(i))
        asked = zip(winners(votes).tolist(), distances(votes).tolist(), truth.tolist(), strict=True)
        wrong = sum(queries.ask(first, far).value != right for first, far, right in asked)
        return wrong <= settings.halts

    return lambda runs: kept(run, 0.2, runs)


def _planned(sizes: QuerySizes, more: str) -> str:
    return (
        f"thresholds, VC dimension 1, m = {sizes.queries:,}, {more}, epsilon = {_EPSILON:g}, "
        f"beta = 0.3: T = {sizes.halts:,}, K = {sizes.chunks:,}, n = {sizes.examples:,}; each "
        f"chunk has n0 = {sizes.each:,}, drawn as counts"
    )


# -- 31: the baseline --------------------------------------------------------------------------


def _noisy_votes(account: VotesAccount) -> Callable[[int], Verdict]:
    """P(some query is answered wrong), in closed form, for `runs` numbers of queries."""

    def check(runs: int) -> Verdict:
        worst = 0.0
        for i in range(runs):
            m, agreement = 10 * 2 ** (i // 3), (0.75, 0.9, 1.0)[i % 3]
            budget = plan_noisy_votes(1.0, DELTA, queries=m, account=account)
            chunks = noisy_chunks(budget, BETA, agreement)
            lead = 2 * math.ceil(Fraction(str(agreement)) * chunks) - chunks
            worst = max(worst, -math.expm1(-m * math.log1p(math.exp(-budget.rate * lead))))
        return exact(worst <= BETA, f"probability {worst:.4f} at most, in {runs} settings")

    return check


_SMALL = f"m = {_M}, T = {_T}, T - 1 of them low, epsilon = 1, beta = {BETA:g}"

ROWS: tuple[Row, ...] = (
    Row(
        (22, 24), "BTT, theorem 2.7, theorem 3.6 and corollary 3.10",
        "Tests, online queries and votes of chunks with the printed lambda are "
        "(epsilon, delta)-DP, however many queries pass.",
        "epsilon 0.1 to 1, delta 1e-3 to 1e-9, T up to 60, m up to 100,000", _printed_privacy,
        630, 63,
        "Checked by the optimal composition of T halts, and by the tail at distance 0; settings "
        "for which the printed constants do not do are refused. By default constants are tighter.",
    ),
    Row(
        (23,), "BTT, theorem 3.2",
        "The test of a distance is (epsilon, delta)-DP.",
        "epsilon 0.1 to 1, delta 1e-2 to 1e-8; the printed threshold", _distance_privacy, 70, 70,
    ),
    Row(
        (22,), "BTT, theorem 2.8",
        "All values further than 4 lambda ln(2 m T / beta) from the threshold are told right.",
        f"{_SMALL}; the printed lambda", _sparse_vector, 1000, 30,
    ),
    Row(
        (23,), "BTT, theorem 3.5",
        "A value whose distance to instability is more than (ln(1/delta) + ln(1/beta)) / epsilon "
        "is released with probability 1 - beta.",
        "epsilon 0.1 to 1, delta 1e-2 to 1e-8, beta 1/2 to 1/512", _distance, 630, 63,
    ),
    Row(
        (24,), "BTT, corollary 3.9",
        "All queries that are stable enough are answered by their true value, if fewer than T "
        "are not.",
        f"{_SMALL}; the printed lambda and distance", _online("printed"), 1000, 30,
    ),
    Row(
        (24,), "BTT, corollary 3.9, tight constants",
        "The same at the distance that this noise needs, lemma S4.",
        f"{_SMALL}; {_budget('tight')[0].margin} votes for w, {_budget('tight')[1]} for u; printed "
        f"{_budget('printed')[0].margin} and {_budget('printed')[1]}",
        _online("tight"), 1000, 30,
    ),
    Row(
        (25,), "BTT, theorem 3.11",
        "Where a sub-sample is right with probability 3/4, at all places but T - 1, its answer is "
        "released.",
        f"10 places, one of them coins, T = 2, epsilon = 10, beta = 0.2: K = {_CHUNKS:,}, n = "
        f"{_EXAMPLES * _CHUNKS:,}", _aggregate, 60, 5,
        "K is twice the printed number: one example moves the gap between two classes by 2.",
    ),
    Row(
        (26,), "BTT, corollary 4.1, realizable",
        "At most T of m queries are answered wrong or not at all.",
        f"models that err by 0.02, m = 150, epsilon = 10, beta = 0.2: T = "
        f"{halts_needed(150, 0.02, 0.1)}", _corollary(0.0), 100, 8,
    ),
    Row(
        (26,), "BTT, corollary 4.1, agnostic",
        "The same if labels are wrong with probability gamma.",
        f"gamma = 0.05, else as above: T = {halts_needed(150, 0.02, 0.1, gamma=0.05)}",
        _corollary(0.05), 100, 8,
    ),
    Row(
        (26, 12), "BTT, theorem 4.3",
        "At most alpha m of m queries are answered wrong or not at all, if some concept never "
        "errs.",
        _planned(_QUERIES, "alpha = 0.3"), _right(_QUERIES, 0.3, 0.0), 100, 8,
        "The source states an order of growth; this is with every constant kept.",
    ),
    Row(
        (26, 12), "BTT, theorem 4.4",
        "The same if the best concept errs by gamma, for alpha above 3 gamma.",
        _planned(_NOISY_QUERIES, "alpha = 0.4, gamma = 0.02"),
        _right(_NOISY_QUERIES, 0.4, 0.02), 100, 6,
        "The source states an order of growth; this is with every constant kept.",
    ),
    Row(
        (27, 12), "BTT, theorem 4.6",
        "A learner of m public points with private labels errs by at most alpha, if some concept "
        "never errs.",
        _planned(_LABELS, "alpha = 0.35"), _learned(_LABELS, 0.35, 0.0), 100, 6,
        "The source states an order of growth, and sets m by it; here m is chosen.",
    ),
    Row(
        (27, 12), "BTT, theorem 4.7",
        "The same if the best concept errs by gamma, for alpha above 7 gamma.",
        _planned(_NOISY_LABELS, "alpha = 0.49, gamma = 0.01"),
        _learned(_NOISY_LABELS, 0.49, 0.01), 100, 6,
        "The source states an order of growth, and sets m by it; here m is chosen.",
    ),
    Row(
        (31,), "BTT, section 1; zCDP",
        "If every query pays, all m queries on which three quarters, nine tenths or all of the "
        "chunks agree are answered right.",
        f"m = 10 and twice as many each time, epsilon = 1, beta = {BETA:g}; K grows with the root "
        "of m", _noisy_votes("zcdp"), 36, 6,
    ),
    Row(
        (31,), "BTT, section 1; advanced composition",
        "The same by advanced composition.",
        f"as above, beta = {BETA:g}", _noisy_votes("advanced"), 36, 6,
    ),
)  # fmt: skip
