"""Rows of Boolean learners: conjunctions and disjunctions, consistent ones, parity, amplification.

Kaplan, Mansour, Matias, Stemmer 2019 (KMMS), section 3; the lecture notes *Private and PAC;
experts*; Nissim's lecture *Private Learning 1*.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learners.boolean.conjunction import (
    ConjunctionLearner,
    DisjunctionLearner,
    StrawmanConjunctionLearner,
    StrawmanDisjunctionLearner,
    cover_budget,
)
from learners.boolean.consistent_conjunction import (
    ConsistentConjunctionLearner,
    ConsistentDisjunctionLearner,
    GreedyConjunctionLearner,
    GreedyDisjunctionLearner,
    PrivateConsistentConjunctionLearner,
    PrivateConsistentDisjunctionLearner,
    consistency_examples,
    consistent_examples,
    greedy_examples,
    literals_of,
    mistakes_of_all,
)
from learners.boolean.formulas import Literal, evaluate, read_columns
from learners.boolean.parity import COIN, ParityLearner, PrivateParityLearner, plan_parity
from learners.core.selection import Role
from learners.cover.set_cover import theorem_steps
from learners.finite.amplification import AmplifiedLearner, plan_amplification
from learners.privacy.exponential_mechanism import utility_loss
from learners.privacy.randomness import SeededRandom
from learners.theory.cover_sizes import cover_examples, strawman_examples
from learners.theory.pac import LabelledDistribution, check_promise
from promises.row import Row, Verdict, exact, simulated

ALPHA, BETA, D = 0.1, 0.05, 8
_KEPT = f"error at most {ALPHA:g} with probability {1 - BETA:g}"
CUBE = np.array(list(itertools.product((0, 1), repeat=D)))
_COLUMNS = read_columns(CUBE)

# -- formulas on random targets and distributions ----------------------------------------------


@dataclass(frozen=True)
class Promise:
    """A learner and the number of examples at which it promises something.

    Attributes
    ----------
    make : callable
        The learner of a seed.
    role : {"conjunction", "disjunction"}
    literals : int
        Most literals of a target.
    examples : int
    monotone : bool
        Whether targets have variables alone.
    """

    make: Callable[[int], Any]
    role: Role
    literals: int
    examples: int
    monotone: bool = False


def sample_of(
    promise: Promise, examples: int, run: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float64]]:
    """Examples X, y of a random target and distribution; the cube's true labels and weights."""
    rng = np.random.default_rng([examples, run])
    number = int(rng.integers(1, promise.literals + 1))
    signs = rng.integers(2, size=number) * (not promise.monotone)
    variables = rng.choice(D, number, replace=False)
    target = [Literal(int(j), bool(s)) for j, s in zip(variables, signs, strict=True)]
    truth = evaluate(promise.role, target, _COLUMNS)
    # heavy and light points; the rarer label gets its share
    weights = np.exp(rng.normal(0, rng.uniform(0, 3), len(CUBE)))
    for label in (truth, ~truth):
        weights[label] *= rng.uniform(0.3, 1) / weights[label].sum()
    weights /= weights.sum()
    counts = rng.multinomial(examples, weights)
    return np.repeat(CUBE, counts, axis=0), np.repeat(truth, counts), truth, weights


def run_of(promise: Promise, examples: int | None = None) -> Callable[[int], float]:
    """A run for :func:`learners.theory.pac.check_promise`: its true error."""

    def run(i: int) -> float:
        X, y, truth, weights = sample_of(promise, examples or promise.examples, i)
        predicted = promise.make(i).fit(X, y).predict(CUBE) == 1
        return float(weights[predicted != truth].sum())

    return run


def checked(promise: Promise, runs: int, alpha: float = ALPHA, beta: float = BETA) -> Verdict:
    """The verdict on an (alpha, beta) promise."""
    return simulated(check_promise(run_of(promise), alpha=alpha, beta=beta, runs=runs))


_LEARNERS: dict[Role, tuple[Any, Any, Any, Any]] = {
    "conjunction": (
        ConsistentConjunctionLearner,
        GreedyConjunctionLearner,
        ConjunctionLearner,
        PrivateConsistentConjunctionLearner,
    ),
    "disjunction": (
        ConsistentDisjunctionLearner,
        GreedyDisjunctionLearner,
        DisjunctionLearner,
        PrivateConsistentDisjunctionLearner,
    ),
}
K = 2
_PLAN, _NAIVE = (cover_examples(D, K, ALPHA, BETA, account=one) for one in ("optimal", "naive"))


def _promises(role: Role) -> dict[str, Promise]:
    consistent, greedy, cover, one_draw = _LEARNERS[role]
    assert _PLAN.examples is not None
    assert _NAIVE.examples is not None
    run = {"k": K, "n_steps": _PLAN.steps, "beta": _PLAN.beta}
    return {
        "consistent": Promise(
            lambda seed: consistent(), role, D, consistent_examples(D, ALPHA, BETA)
        ),
        "greedy": Promise(lambda seed: greedy(), role, K, greedy_examples(D, K, ALPHA, BETA)),
        "private cover": Promise(
            lambda seed: cover(**run, seed=seed), role, K, _PLAN.examples
        ),
        "naive cover": Promise(
            lambda seed: cover(**run, account="naive", seed=seed), role, K, _NAIVE.examples
        ),
        "one private draw": Promise(
            lambda seed: one_draw(seed=seed), role, D, consistency_examples(D, ALPHA, BETA, 1.0)
        ),
        "monotone": Promise(
            lambda seed: consistent(monotone=True), role, D,
            consistent_examples(D, ALPHA, BETA, monotone=True), monotone=True,
        ),
        "one private monotone draw": Promise(
            lambda seed: one_draw(seed=seed, monotone=True), role, D,
            consistency_examples(D, ALPHA, BETA, 1.0, monotone=True), monotone=True,
        ),
    }  # fmt: skip


#: By name and role.
PROMISES: dict[str, Promise] = {
    f"{name}, {role}": promise for role in _LEARNERS for name, promise in _promises(role).items()
}

# -- 3: mistakes on the sample -----------------------------------------------------------------

_ON_SAMPLE, _SAMPLE = 0.2, 40_000


def _claim(runs: int) -> Verdict:
    """KMMS claim 3.1, with Delta and lambda of the run: max{alpha n / 2, 4 Delta} + 4 k lambda ln.

    Delta holds but with half of beta, lambda with the other half.
    """
    steps = theorem_steps(K, _ON_SAMPLE)
    budget = cover_budget(1.0, 1e-6, steps, BETA / 2, "add-remove", False)
    short = utility_loss(math.log(2 * D + 1), budget.eta, BETA / 2 / steps)
    bound = max(_ON_SAMPLE * _SAMPLE / 2, 4 * budget.margin)
    bound += 4 * K * short * math.log(2 / _ON_SAMPLE)
    promise = Promise(
        lambda seed: ConjunctionLearner(k=K, alpha=_ON_SAMPLE, beta=BETA / 2, seed=seed),
        "conjunction", K, _SAMPLE,
    )  # fmt: skip

    def run(i: int) -> float:
        X, y, *_ = sample_of(promise, _SAMPLE, i)
        return float(np.count_nonzero(promise.make(i).fit(X, y).predict(X) != y))

    found = simulated(check_promise(run, alpha=bound, beta=BETA, runs=runs))
    return Verdict(found.word, f"{found.figures}; the bound is {bound:,.0f} mistakes")


# -- 4: naive composition ----------------------------------------------------------------------


def _growth(runs: int) -> Verdict:
    """How n grows when k doubles, at k = 256."""
    del runs
    powers = {}
    for account in ("naive", "set-cover", "optimal"):
        few, many = (cover_examples(500, k, 0.1, 0.1, account=account).examples for k in (256, 512))
        assert few is not None
        assert many is not None
        powers[account] = math.log2(many / few)
    outcome = ", ".join(f"{account} {power:.2f}" for account, power in powers.items())
    close = abs(powers["naive"] - 1.5) < 0.15 and powers["set-cover"] < 1.15
    return exact(close and powers["optimal"] < 1.15, f"powers of k: {outcome}")


# -- 5: what the source is better than ---------------------------------------------------------

_STRAWMAN = strawman_examples(D, K, ALPHA, BETA)
_STRAWMEN: dict[Role, Any] = {
    "conjunction": StrawmanConjunctionLearner,
    "disjunction": StrawmanDisjunctionLearner,
}


def _strawman(role: Role, runs: int) -> Verdict:
    assert _STRAWMAN.examples is not None
    given = {"k": K, "n_steps": _STRAWMAN.steps, "beta": _STRAWMAN.beta}
    promise = Promise(lambda seed: _STRAWMEN[role](**given, seed=seed), role, K, _STRAWMAN.examples)
    return checked(promise, runs)


def _variables(runs: int) -> Verdict:
    """How n grows from 100 variables to 10,000."""
    del runs
    outcome, factors = [], []
    for name, needed in (("the list", strawman_examples), ("the cover", cover_examples)):
        few, many = (needed(d, 4, 0.1, 0.1).examples for d in (100, 10_000))
        assert few is not None
        assert many is not None
        factors.append(many / few)
        outcome.append(f"{few:,} to {many:,} by {name}")
    return exact(factors[0] > 50 and factors[1] < 3, "; ".join(outcome))


# -- 20: the lecture notes ---------------------------------------------------------------------

_FIRST = np.array([[0, 0, 1, 0, 1, 1], [0] * 6, [0, 0, 0, 0, 1, 0]]), np.array([1, 0, 1])
_SECOND = np.array(
    [[0, 0, 1, 0, 1, 1], [0, 1, 0, 1, 1, 0], [1, 0, 0, 0, 1, 0], [1, 1, 0, 1, 0, 0],
     [0, 0, 0, 1, 0, 0]]
)  # fmt: skip


def _agreeing(X: NDArray[np.int64], y: NDArray[np.int64]) -> list[list[Literal]]:
    """The monotone conjunctions that err nowhere."""
    table = mistakes_of_all(read_columns(X), y == 1, only=1)
    return [literals_of(int(i), X.shape[1], only=1) for i in np.flatnonzero(table == 0)]


def _examples(runs: int) -> Verdict:
    del runs
    consistent = ConsistentConjunctionLearner(monotone=True)
    alone = (
        _agreeing(*_FIRST) == [[Literal(4)]] == [list(consistent.fit(*_FIRST).release_.literals)]
    )
    every = read_columns(np.array(list(itertools.product((0, 1), repeat=6))))
    nothing = np.zeros(len(_SECOND), dtype=int)
    cautious = evaluate("conjunction", consistent.fit(_SECOND, nothing).release_.literals, every)
    right = min(
        float(np.mean(evaluate("conjunction", one, every) == cautious))
        for one in _agreeing(_SECOND, nothing)
    )
    return exact(alone and right >= 0.75, f"r5 alone; right on {right:.1%} of vectors at least")


_SIZE = 2**D
_THEOREM_1 = math.ceil(2 * math.log(_SIZE) / ALPHA)
_FAILS_1 = math.exp(-ALPHA * _THEOREM_1 / 2)

#: Of the notes' private mechanism; its n of a smaller alpha is no matter of a simulation.
_COARSE = 0.25
_PRIVATE = math.ceil(8 * math.log(_SIZE) / _COARSE**2)
_FAILS_2 = _SIZE * (math.exp(-(_COARSE**2) * _PRIVATE / 4) + math.exp(-(_COARSE**2) * _PRIVATE / 2))


def _theorem_1(runs: int) -> Verdict:
    consistent = PROMISES["monotone, conjunction"].make
    promise = Promise(consistent, "conjunction", D, _THEOREM_1, monotone=True)
    return checked(promise, runs, beta=_FAILS_1)


def _notes_private(runs: int) -> Verdict:
    def make(seed: int) -> PrivateConsistentConjunctionLearner:
        return PrivateConsistentConjunctionLearner(
            epsilon=_COARSE, neighbours="replace-one", seed=seed, monotone=True
        )

    promise = Promise(make, "conjunction", D, _PRIVATE, monotone=True)
    return checked(promise, runs, _COARSE, _FAILS_2)


# -- 14, 17: parity, and amplification ---------------------------------------------------------

#: Vectors of weight one: a parity that is wrong in one bit errs on an eighth of them.
_VECTORS = np.eye(D, dtype=int)
_PARITY = LabelledDistribution.labelled(np.arange(D) % 2)
_PARITY_ALPHA, _PARITY_BETA = 0.12, 0.1
_PARITY_KEPT = f"error at most {_PARITY_ALPHA:g} with probability {1 - _PARITY_BETA:g}"


def _parity_run(make: Callable[[int], Any], n: int) -> Callable[[int], Fraction]:
    """Its error; 1 for no answer."""

    def run(i: int) -> Fraction:
        X, y = _PARITY.sample(n, SeededRandom(10_000 + i))
        model = make(i).fit(_VECTORS[X], y)
        if model.release_.parity is None:
            return Fraction(1)
        return _PARITY.error(model.predict(_VECTORS))

    return run


def _parities(make: Callable[[int], Any], n: int, runs: int) -> Verdict:
    found = check_promise(_parity_run(make, n), alpha=_PARITY_ALPHA, beta=_PARITY_BETA, runs=runs)
    return simulated(found)


_ELIMINATION = math.ceil(
    (D * math.log(2) + math.log(1 / _PARITY_BETA)) / -math.log1p(-_PARITY_ALPHA)
)
_SOURCE, _TIGHT = (
    plan_parity(1.0, "add-remove", _PARITY_BETA, constants).examples_needed(
        D, _PARITY_ALPHA, _PARITY_BETA
    )
    for constants in ("source", "tight")
)


def _parity_privacy(runs: int) -> Verdict:
    """The losses of one block, f = 1/2 and p = epsilon/4, when an example is replaced."""
    del runs
    good, lost = True, 0.0
    for step in range(1, 101):
        epsilon = step / 100
        p = epsilon / 4
        loss = max(math.log((1 + p) / (1 - p)), math.log(1 - p + 2 * p))
        good &= loss <= epsilon
        lost = max(lost, loss / epsilon)
    return exact(good, f"at most {lost:.3f} of epsilon is lost, epsilon up to 1")


#: A block is silent with probability 1/2, and wrong in a fifth of the other cases at most.
_FAILURE = 0.6


def _one_block(error: float) -> int:
    used = plan_parity(1.0).used / COIN
    return math.ceil(math.log(2**D / 0.2) / -math.log1p(-used * error))


_AMPLIFIED = plan_amplification(1.0, _PARITY_BETA, failure=_FAILURE).examples_needed(
    _one_block, _PARITY_ALPHA, _PARITY_BETA
)


def _amplified(seed: int) -> AmplifiedLearner:
    return AmplifiedLearner(
        learner=PrivateParityLearner(beta=None), beta=_PARITY_BETA, failure=_FAILURE, seed=seed
    )


# -- rows --------------------------------------------------------------------------------------

_RANDOM = f"random targets and distributions over {D} variables"
_KMMS = "KMMS"
_NOTES = "Notes, Private and PAC"
_LECTURE = "Nissim, Private Learning 1"
_CONSTANTS = "Every constant kept."


def _formulas(
    systems: tuple[int, ...],
    name: str,
    source: str,
    promise: str,
    setting: str,
    sizes: tuple[int, int],
    departure: str = "",
) -> tuple[Row, ...]:
    """A row for each role."""
    return tuple(
        Row(
            systems,
            source,
            f"{promise.format(role)}: {_KEPT}",
            f"{_RANDOM}, {setting}n = {PROMISES[f'{name}, {role}'].examples:,}",
            partial(checked, PROMISES[f"{name}, {role}"]),
            *sizes,
            departure,
        )
        for role in _LEARNERS
    )


ROWS: tuple[Row, ...] = (
    *_formulas(
        (1, 20), "consistent", f"{_NOTES}; Blumer et al. 1987",
        "the consistent {} of literals", "", (2_000, 150),
    ),
    *_formulas(
        (1,), "greedy", f"{_KMMS}, section 3; Haussler 1988",
        "the greedy {} of k ln n literals", f"k = {K}, ", (2_000, 150),
    ),
    Row(
        (3,),
        f"{_KMMS}, claim 3.1",
        "a private cover errs on at most max{alpha n / 2, 4 Delta} + 4 k lambda ln(2/alpha) "
        f"examples of the sample, with probability {1 - BETA:g}",
        f"{_RANDOM}, k = {K}, alpha = {_ON_SAMPLE:g}, n = {_SAMPLE:,}, epsilon = 1",
        _claim, 300, 30,
        "Counts and selections share epsilon, where the source spends it on each.",
    ),
    *_formulas(
        (3, 5), "private cover", f"{_KMMS}, theorem 3.5", "the private {} of k literals",
        f"k = {K}, epsilon = 1, delta = 1e-6, ", (1_000, 100),
        f"{_CONSTANTS} The optimal account in place of claim 3.4, ceil(k ln(4/alpha)) steps, the "
        "constant as one more candidate.",
    ),
    *_formulas(
        (4,), "naive cover", f"{_KMMS}, example 3.3", "the same by naive composition, {}",
        f"k = {K}, epsilon = 1, delta = 1e-6, ", (400, 40), _CONSTANTS,
    ),
    *(
        Row(
            (5,), f"{_KMMS}, introduction; Gupta et al. 2010",
            f"the strawman {role}, a private list of good literals and a cover from it: {_KEPT}",
            f"{_RANDOM}, k = {K}, epsilon = 1, delta = 1e-6, n = {_STRAWMAN.examples:,}",
            partial(_strawman, role), 400, 40,
            "Positive and negative examples are in one part each, so both parts have all of "
            "epsilon.",
        )
        for role in _LEARNERS
    ),
    Row(
        (5,), f"{_KMMS}, introduction",
        "the strawman's n grows as the number of variables, the private cover's as its logarithm",
        "planned n, k = 4, alpha = beta = 0.1, 100 and 10,000 variables", _variables, 1, 1,
    ),
    Row(
        (4, 5),
        f"{_KMMS}, example 3.3 and theorem 3.5",
        "n grows as k^1.5 by naive composition, as k by the accounts of set covers",
        "planned n for 500 variables, alpha = beta = 0.1, k = 256 and 512",
        _growth,
        1,
        1,
        "Up to logarithms of k.",
    ),
    *_formulas(
        (20,), "one private draw", _NOTES, "the private consistent {} over all 3^d + 1",
        "epsilon = 1, ", (2_000, 150),
        "The notes' class is the monotone one; their rate is epsilon/2, here epsilon where an "
        "example is added or removed.",
    ),
    *_formulas(
        (20,), "monotone", f"{_NOTES}, theorem 1", "the consistent monotone {}", "", (2_000, 150),
    ),
    *_formulas(
        (20,), "one private monotone draw", _NOTES, "the private consistent monotone {}",
        "epsilon = 1, ", (2_000, 150), "(2) of learners/boolean/consistent_conjunction.py in "
        "place of the notes' bound, which needs more examples.",
    ),
    Row(
        (20,),
        f"{_NOTES}, the two examples",
        "r5 is the only AND that agrees with the first sample; with the second the AND of all "
        "variables is right on at least 3/4 of all vectors",
        "all 64 ANDs of subsets of six variables",
        _examples,
        1,
        1,
        "monotone=True is the notes' class; by default literals may be negated.",
    ),
    Row(
        (20,),
        f"{_NOTES}, theorem 1 as printed",
        f"a consistent AND errs on more than {ALPHA:g} with probability at most exp(-alpha n / 2)",
        f"{_RANDOM}, n = 2 ln|C| / alpha = {_THEOREM_1}",
        _theorem_1,
        4_000,
        150,
    ),
    Row(
        (20,),
        f"{_NOTES}, the private mechanism as printed",
        "n = 8 ln|C| / (alpha min{alpha, epsilon}) examples: fails with probability at most "
        "|C| (exp(-epsilon alpha n / 4) + exp(-alpha^2 n / 2))",
        f"{_RANDOM}, alpha = epsilon = {_COARSE:g}, n = {_PRIVATE}",
        _notes_private,
        4_000,
        150,
        "At their rate, epsilon/2, which is that of neighbours that replace an example.",
    ),
    Row(
        (14,),
        f"{_LECTURE}, example 2",
        f"parity by Gaussian elimination, O(d) examples: {_PARITY_KEPT}",
        f"{D} bits, vectors of weight one, n = {_ELIMINATION}",
        lambda runs: _parities(lambda i: ParityLearner(), _ELIMINATION, runs),
        2_000,
        100,
        "n = (d ln 2 + ln(1/beta)) / -ln(1 - alpha).",
    ),
    Row(
        (17,),
        f"{_LECTURE}, private parity",
        "fail with probability 1/2, take each example with probability epsilon/4: epsilon-DP",
        "arithmetic of lemma P, epsilon = 0.01, 0.02, ..., 1, an example replaced",
        _parity_privacy,
        1,
        1,
        "It is refused above epsilon = 3.8, where it would cost more.",
    ),
    Row(
        (17,),
        f"{_LECTURE}, private parity; Kasiviswanathan et al. 2008",
        f"amplified by log(1/beta) runs, the source's constants: {_PARITY_KEPT}",
        f"{D} bits, vectors of weight one, epsilon = 1, n = {_SOURCE:,}",
        lambda runs: _parities(
            lambda i: PrivateParityLearner(beta=_PARITY_BETA, constants="source", seed=i),
            _SOURCE, runs,
        ),
        2_000,
        150,
        "Blocks on parts of the sample in place of runs with less epsilon; the first that answers "
        "is taken, for every one that does is good at this n.",
    ),
    Row(
        (17,),
        "learners/boolean/parity.py, for Nissim's private parity",
        f"the same with the largest constants that are epsilon-DP: {_PARITY_KEPT}",
        f"{D} bits, vectors of weight one, epsilon = 1, n = {_TIGHT:,}",
        lambda runs: _parities(
            lambda i: PrivateParityLearner(beta=_PARITY_BETA, seed=i), _TIGHT, runs
        ),
        2_000,
        150,
    ),
    Row(
        (16, 17),
        f"{_LECTURE}, amplification",
        "a private learner that fails half of the time is amplified by log(1/beta) runs: "
        f"{_PARITY_KEPT}",
        f"one block of private parity of {D} bits, silent half of the time, epsilon = 1, n = "
        f"{_AMPLIFIED:,}",
        lambda runs: _parities(_amplified, _AMPLIFIED, runs),
        1_000,
        80,
        "Runs on parts of the sample, each with all of epsilon, in place of runs on all of it with "
        "less; then a private choice by a part that no run has seen.",
    ),
)  # fmt: skip
