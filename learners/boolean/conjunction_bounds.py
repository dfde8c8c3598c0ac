"""How many examples the Boolean learners need: error at most alpha, except with probability beta.

All for independent examples labelled by some conjunction of the class (for disjunctions the same,
with the labels exchanged), with every constant kept.  H is the finite set of functions that the
learner may return.

*Consistent learners* (Occam's razor; Blumer et al. 1987).  A function of error above alpha agrees
with n examples with probability below (1 - alpha)^n <= exp(-alpha n); a union bound over H gives

    n >= (ln|H| + ln(1/beta)) / alpha.                                                        (1)

Elimination returns one of 3^d + 1 functions: every variable occurs, occurs negated, or is free;
and the constant 0; monotone, one of 2^d.  The lectures' (d ln 3 + ln(1/beta)) / alpha, with the
constant counted.  Greedy cover returns at most s = ceil(k ln n) literals: (1 - 1/k)^s n < 1
examples are then left to gain, so none.  Then |H| is the number of sets of at most s of the 2d
literals.

*Learners that make mistakes.*  Let h make e n mistakes on n examples, p its true error, and
t = (ln|H| + ln(1/b)) / n.  By Chernoff, P(e <= p - sqrt(2 p t)) <= exp(-t n), so but with
probability b all h in H have p - sqrt(2 p t) <= e, and solving for sqrt(p)

    p <= e + t + sqrt(t^2 + 2 t e).                                                           (2)

*Private consistency learner.*  But with probability beta/2 the draw makes at most A / eta
mistakes, A = ln|H| + ln(2/beta) (:func:`learners.privacy.exponential_mechanism.utility_loss`; some
function makes none).  In (2) with b = beta/2, e = A / (eta n) and t = A / n:

    n >= (A / alpha) (1 + 1/eta + sqrt(1 + 2/eta)).                                           (3)

*Private set cover* (KMMS claim 3.1 and theorem 3.5).  Split beta in three equal parts b.  But with
probability 2b, all m thresholds lie in [gain - 2 Delta, gain], and every selected literal scores
at least -lambda, lambda = (ln(2d + 1) + ln(m/b)) / eta: one of the target's k literals scores 0,
the maximum, because it decides at least a k-th of what is left to gain and nothing to lose.
A literal that scores -lambda or more loses at most lambda examples, and of G left to gain it
leaves at most

    G (1 - 1/k) + 2 Delta / k + lambda,    after m steps (1 - 1/k)^m n + 2 Delta + k lambda.

Together at most (1 - 1/k)^m n + 2 Delta + (k + m) lambda mistakes; KMMS bound this by
max{alpha n / 2, 4 Delta} + 4 k lambda ln(2/alpha) at m = ceil(2k ln(2/alpha)).  H are the sets
of at most m literals; (2) with the third b.

*The strawman* (:mod:`learners.boolean.conjunction`).  But with probability b all noise is at most
Delta: then the target's literals, which lose nothing, are listed, and a listed one loses at most
2 Delta.  But with another b all m draws gain at least what the best of the list does, less lambda =
(ln(2d + 1) + ln(m/b)) / eta, and so a k-th of what is left, less lambda.  Together at most
(1 - 1/k)^m n + k lambda + 2 m Delta mistakes, and Delta is in proportion to d.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from learners.boolean.conjunction import cover_budget, strawman_budget
from learners.core.checks import check_count, check_open_unit
from learners.core.scores import softened_shortfall
from learners.cover.other_accounts import AccountChoice
from learners.finite.sample_sizes import MAX_EXAMPLES, least_count
from learners.privacy.accounting import AccountName, Neighbours, inner_budget
from learners.privacy.exponential_mechanism import private_rate, utility_loss


def log_conjunctions(d: int, *, monotone: bool = False) -> float:
    """ln(3^d + 1), all functions that conjunctions over d variables can be; or ln(2^d), of those
    without negations."""
    if monotone:
        return d * math.log(2)
    return d * math.log(3) + math.log1p(math.exp(-d * math.log(3)))


def log_formulas(d: int, most: int) -> float:
    """Bound on ln of the number of functions of at most `most` literals over d variables.

    The sets of so many of 2d literals, or all conjunctions if these are fewer.
    """
    terms = [
        math.lgamma(2 * d + 1) - math.lgamma(i + 1) - math.lgamma(2 * d - i + 1)
        for i in range(min(most, 2 * d) + 1)
    ]
    top = max(terms)
    return min(top + math.log(sum(math.exp(a - top) for a in terms)), log_conjunctions(d))


def consistent_examples(d: int, alpha: float, beta: float, *, monotone: bool = False) -> int:
    """Examples that elimination over d variables needs, by (1).

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    _check(alpha, beta, d=d)
    log_size = log_conjunctions(d, monotone=monotone)
    return math.ceil((log_size + math.log(1 / beta)) / alpha)


def greedy_examples(d: int, k: int, alpha: float, beta: float) -> int:
    """Examples that the greedy cover needs if some conjunction of k literals is right, by (1)."""
    _check(alpha, beta, d=d, k=k)

    def enough(n: int) -> bool:
        most = max(1, math.ceil(k * math.log(n)))
        return alpha * n >= log_formulas(d, most) + math.log(1 / beta)

    return least_count(enough)


def consistency_rate(epsilon: float, neighbours: Neighbours) -> Fraction:
    """Nats per mistake in the private consistency learner: all of epsilon under add/remove.

    Raises
    ------
    ValueError
        If epsilon is not positive, or there are no such neighbours.
    """
    rate = private_rate(epsilon, one_way=True)
    # with delta = 0 a replacement halves epsilon, and exactly
    return rate * Fraction(inner_budget(1.0, 0.0, neighbours)[0])


def consistency_examples(
    d: int,
    alpha: float,
    beta: float,
    epsilon: float,
    neighbours: Neighbours = "add-remove",
    *,
    monotone: bool = False,
) -> int:
    """Examples that the private consistency learner needs, by (3)."""
    _check(alpha, beta, d=d)
    eta = float(consistency_rate(epsilon, neighbours))
    log_part = log_conjunctions(d, monotone=monotone) + math.log(2 / beta)
    return math.ceil(log_part / alpha * (1 + 1 / eta + math.sqrt(1 + 2 / eta)))


def cover_steps(k: int, alpha: float) -> int:
    """Steps after which at most a share alpha/4 is left to gain but for noise: ceil(k ln(4/alpha)).

    KMMS take ceil(2k ln(2/alpha)), :func:`learners.cover.set_cover.theorem_steps`.
    """
    return math.ceil(k * math.log(4 / alpha))


@dataclass(frozen=True, slots=True)
class CoverPlan:
    """What a run of the private set cover must be like to guarantee alpha and beta.

    Attributes
    ----------
    examples : int or None
        n; None if no n up to 10^15 suffices.
    steps, beta :
        n_steps and beta of the learner.
    eta : float
        Nats per example in each selection; granted by the `account`.
    noise : int
        Delta, in examples.
    selection_loss : float
        lambda, in examples a step.
    """

    examples: int | None
    steps: int
    beta: float
    eta: float
    account: AccountName
    noise: int
    selection_loss: float


def cover_examples(
    d: int,
    k: int,
    alpha: float,
    beta: float,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    neighbours: Neighbours = "add-remove",
    account: AccountChoice = "optimal",
    n_steps: int | None = None,
) -> CoverPlan:
    """Examples, steps and beta with which the private set cover has error at most alpha.

    Parameters
    ----------
    d, k : int
        Variables, and literals that suffice.
    alpha, beta : float
        In (0, 1).
    epsilon, delta, neighbours, account :
        As in :class:`learners.boolean.conjunction.ConjunctionLearner`.
    n_steps : int, optional
        By default :func:`cover_steps`.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    _check(alpha, beta, d=d, k=k)
    steps = (
        cover_steps(k, alpha) if n_steps is None else check_count("the number of steps", n_steps)
    )
    sizes = (math.log(2 * d + 1), log_formulas(d, steps))
    return _cover_plan(k, steps, sizes, alpha, beta, (epsilon, delta, neighbours, account))


def set_cover_examples(
    log_pieces: float,
    k: int,
    alpha: float,
    beta: float,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    neighbours: Neighbours = "add-remove",
    softened: bool = False,
) -> CoverPlan:
    """The same for unions (or intersections) of k pieces of any finite class (KMMS theorem 3.2).

    Parameters
    ----------
    log_pieces : float
        Natural log of the number of pieces; H are the sets of at most m of them.
    k, alpha, beta, epsilon, delta, neighbours :
        As in :func:`cover_examples`.
    softened : bool
        Whether the selections' law is that of :func:`learners.core.scores.softened_nats`.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    _check(alpha, beta, k=k)
    if not log_pieces >= 0:
        raise ValueError(f"there must be at least one piece, got ln of their number {log_pieces}")
    steps = cover_steps(k, alpha)
    sizes = (log_pieces, steps * log_pieces)
    privacy: tuple[float, float, Neighbours, AccountChoice] = (
        epsilon, delta, neighbours, "optimal",
    )  # fmt: skip
    return _cover_plan(k, steps, sizes, alpha, beta, privacy, softened=softened)


def _cover_plan(
    k: int,
    steps: int,
    log_sizes: tuple[float, float],
    alpha: float,
    beta: float,
    privacy: tuple[float, float, Neighbours, AccountChoice],
    *,
    softened: bool = False,
) -> CoverPlan:
    """For classes of these log sizes: candidates of a step, and hypotheses in all."""
    epsilon, delta, neighbours, account = privacy
    third = beta / 3
    budget = cover_budget(epsilon, delta, steps, third, neighbours, True, account)
    loss = utility_loss(log_sizes[0], budget.eta, third / steps)
    if softened:
        # the best piece scores 0, so only those of less than its weight times beta / N fall short
        loss = softened_shortfall(loss * budget.eta) / budget.eta
    fixed = 2 * budget.margin + (k + steps) * loss
    examples = _enough(k, steps, fixed, log_sizes[1] + math.log(1 / third), alpha)
    name = budget.spent.account
    return CoverPlan(examples, steps, third, budget.eta, name, budget.margin, loss)


def _enough(k: int, steps: int, fixed: float, log_part: float, alpha: float) -> int | None:
    """The least n whose `fixed` mistakes, and what m steps leave, keep (2) within alpha."""
    left = (1 - 1 / k) ** steps

    def enough(n: int) -> bool:
        e, t = left + fixed / n, log_part / n
        return e + t + math.sqrt(t * t + 2 * t * e) <= alpha

    return least_count(enough) if enough(MAX_EXAMPLES) else None


def strawman_examples(
    d: int,
    k: int,
    alpha: float,
    beta: float,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    neighbours: Neighbours = "add-remove",
) -> CoverPlan:
    """Examples, steps and beta with which the strawman has error at most alpha; in proportion to d.

    Parameters and errors as of :func:`cover_examples`.
    """
    _check(alpha, beta, d=d, k=k)
    steps, third = cover_steps(k, alpha), beta / 3
    budget = strawman_budget(epsilon, delta, d, steps, third, neighbours)
    loss = utility_loss(math.log(2 * d + 1), budget.eta, third / steps)
    fixed = k * loss + 2 * steps * budget.margin
    examples = _enough(k, steps, fixed, log_formulas(d, steps) + math.log(1 / third), alpha)
    name = budget.spent.account
    return CoverPlan(examples, steps, third, budget.eta, name, budget.margin, loss)


def _check(alpha: float, beta: float, **counts: int) -> None:
    check_open_unit(alpha=alpha, beta=beta)
    for name, count in counts.items():
        check_count(name, count)
