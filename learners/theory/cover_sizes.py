"""Computes how many examples private covers by k pieces need: error at most alpha, but for
probability beta.

Source: KMMS claim 3.1 (set cover with noisy counts), the exponential mechanism's tail over a finite
class, and uniform convergence, with every constant kept.  Examples are independent draws, and k
pieces of the class err on none of them.  All of it is a worst case: runs usually need far fewer.

A run makes m steps.  Beta is split in three equal parts b.  But with probability 2b

noise        all m noisy counts lie in [count - 2 Delta, count], Delta as in
             :mod:`learners.cover.set_cover`;
selection    every selected piece scores at least -lambda, lambda = (ln|pieces| + ln(m/b)) / eta:
             one of the k good pieces scores 0, the maximum.

A piece that scores -lambda or more loses at most lambda examples, and of G left to gain leaves at
most G (1 - 1/k) + 2 Delta/k + lambda; after m steps (1 - 1/k)^m n + 2 Delta + k lambda.  So e n
examples of n are wrong, and the error p on new points is, but for the third b:

classes      (of literals, KMMS theorem 3.5, or any, theorem 3.2)  m = ceil(k ln(4/alpha)),
             e n = (1 - 1/k)^m n + 2 Delta + (k + m) lambda.  H are the sets of at most m pieces,
             t = (ln|H| + ln(1/b)) / n.  By Chernoff P(e <= p - sqrt(2 p t)) <= exp(-t n), so
             p <= e + t + sqrt(t^2 + 2 t e).
polygons     (theorems 4.7 and 5.1)  m = ceil(2k ln(2/alpha)); a step with more than 4 Delta left
             gains a 1/(2k) of them, less lambda, so e n = max(alpha n/2, 4 Delta) +
             (2k + m) lambda; KMMS have 4k lambda ln(2/alpha) in the last place, never less.
             p <= e + 2 sqrt(e A) + 4 A, A = (ln S(2n) + ln(4/b)) / n (relative deviations: Vapnik
             and Chervonenkis 1974; Bousquet, Boucheron, Lugosi 2004, section 3).
             S(N) <= (N^2 - N + 2)^edges is the number of ways in which so many halfplanes label N
             points (Cover 1965): no VC constant is involved.
strawman     (:mod:`learners.boolean.conjunction`)  All noise is at most Delta: the target's
             literals, which lose nothing, are listed, and a listed one loses at most 2 Delta.  Each
             draw gains a k-th of what is left, less lambda: e n = (1 - 1/k)^m n + k lambda +
             2 m Delta, and Delta is in proportion to d.

The n of polygons does not grow with d where it is large: from d = 256 on the lattice has fewer
pieces, and fits less (:func:`lattice_note`).

What KMMS's proof asks for with the constants that it prints, to be compared, is for a share
alpha of mistakes *on the sample*; for new points they print none.  The counts spend epsilon beside
the selections' epsilon, which is left as printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from geometry.halfplane import FINE_D, HalfplaneLattice, Measure
from learners.boolean.conjunction import cover_budget, strawman_budget
from learners.boolean.consistent_conjunction import check_sizes, log_formulas
from learners.core.selection import softened_shortfall
from learners.cover.set_cover import AccountChoice, Budget, by_account, plan_budget, theorem_steps
from learners.finite.sample_sizes import MAX_EXAMPLES, least_count
from learners.privacy.accounting import AccountName, Neighbours
from learners.privacy.exponential_mechanism import log_over, utility_loss


@dataclass(frozen=True, slots=True)
class CoverPlan:
    """What a run of a private set cover must be like to guarantee alpha and beta.

    Attributes
    ----------
    examples : int or None
        n; None if no n up to MAX_EXAMPLES suffices.
    steps, beta :
        n_steps and beta of the learner.
    eta : float
        Nats per example in each selection; granted by the `account`.
    noise : int
        Delta, in examples.
    selection_loss : float
        lambda, in examples a step.
    training_error : callable
        Of n: bound on the share of n examples that are wrong.
    """

    examples: int | None
    steps: int
    beta: float
    eta: float
    account: AccountName
    noise: int
    selection_loss: float
    training_error: Callable[[int], float]


def cover_steps(k: int, alpha: float) -> int:
    """Steps after which at most a share alpha/4 is left to gain but for noise: ceil(k ln(4/alpha)).

    KMMS take ceil(2k ln(2/alpha)), :func:`learners.cover.set_cover.theorem_steps`.
    """
    return math.ceil(k * math.log(4 / alpha))


def polygon_examples(
    d: int,
    k: int,
    alpha: float,
    beta: float,
    *,
    edges: int = 3,
    measure: Measure = "chord",
    epsilon: float = 1.0,
    delta: float = 1e-6,
    neighbours: Neighbours = "add-remove",
    account: AccountChoice = "optimal",
) -> CoverPlan:
    """Examples, steps and beta with which a cover of the plane has error at most alpha.

    Parameters
    ----------
    d, k : int
        Size of the grid, and pieces of a good hypothesis.
    alpha, beta : float
        In (0, 1).
    edges : int
        Halfplanes of a piece: 3 of a union of triangles, 1 of a convex polygon.
    measure, epsilon, delta, neighbours :
        As in :class:`learners.cover.polygons.PolygonUnionLearner`.
    account : {"optimal", "naive", "basic", "zcdp", "set-cover"}
        Of the selections.  Runs have the optimal one; others are there to be compared.

    Raises
    ------
    ValueError
        If a parameter is out of range, or the budget is too small to run at all.

    Examples
    --------
    >>> plan = polygon_examples(1024, 4, 0.1, 0.1)
    >>> plan.examples, plan.steps
    (1428377, 24)
    """
    check_sizes(alpha, beta, k=k)
    steps = theorem_steps(k, alpha)
    budget = plan_budget(epsilon, delta, steps, beta / 3, neighbours, private=True)
    budget = by_account(budget, account)
    pieces = piece_count(HalfplaneLattice(d, measure), edges)
    loss = (math.log(pieces) + log_over(steps, beta / 3)) / budget.eta

    def wrong(n: int) -> float:
        return max(alpha * n / 2, 4 * budget.margin) + (2 * k + steps) * loss

    def error(e: float, n: int) -> float:
        dichotomies = edges * steps * math.log((2 * n) ** 2 - 2 * n + 2)
        a = (dichotomies + log_over(12, beta)) / n
        return min(1.0, e + 2 * math.sqrt(e * a) + 4 * a)

    return _planned(budget, alpha, beta, loss, wrong, error)


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
) -> CoverPlan:
    """The same of the private conjunction of k of 2d literals."""
    check_sizes(alpha, beta, d=d, k=k)
    steps = cover_steps(k, alpha)
    budget = cover_budget(epsilon, delta, steps, beta / 3, neighbours, True, account)
    loss = utility_loss(math.log(2 * d + 1), budget.eta, beta / 3 / steps)
    fixed = 2 * budget.margin + (k + steps) * loss
    return _of_class(budget, k, alpha, beta, loss, fixed, log_formulas(d, steps))


def set_cover_examples(
    size: int,
    k: int,
    alpha: float,
    beta: float,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    neighbours: Neighbours = "add-remove",
    softened: bool = False,
) -> CoverPlan:
    """The same of unions (or intersections) of k pieces of any class of that size; `softened`
    where the selections' law is that of :func:`learners.core.selection.softened_nats`."""
    if size < 1:
        raise ValueError(f"there must be at least one hypothesis, got {size}")
    check_sizes(alpha, beta, k=k)
    steps, log_pieces = cover_steps(k, alpha), math.log(size)
    budget = plan_budget(epsilon, delta, steps, beta / 3, neighbours, private=True)
    loss = utility_loss(log_pieces, budget.eta, beta / 3 / steps)
    if softened:
        # the best piece scores 0, so only those of less than its weight times beta / N fall short
        loss = softened_shortfall(loss * budget.eta) / budget.eta
    fixed = 2 * budget.margin + (k + steps) * loss
    return _of_class(budget, k, alpha, beta, loss, fixed, steps * log_pieces)


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
    """The same of the strawman among conjunctions; in proportion to d."""
    check_sizes(alpha, beta, d=d, k=k)
    steps = cover_steps(k, alpha)
    budget = strawman_budget(epsilon, delta, d, steps, beta / 3, neighbours)
    loss = utility_loss(math.log(2 * d + 1), budget.eta, beta / 3 / steps)
    fixed = k * loss + 2 * steps * budget.margin
    return _of_class(budget, k, alpha, beta, loss, fixed, log_formulas(d, steps))


def _of_class(
    budget: Budget, k: int, alpha: float, beta: float, loss: float, fixed: float, log_class: float
) -> CoverPlan:
    """With hypotheses of a class of this log size, and `fixed` mistakes however many examples."""
    left, log_part = (1 - 1 / k) ** budget.steps, log_class + math.log(1 / (beta / 3))

    def error(e: float, n: int) -> float:
        t = log_part / n
        return e + t + math.sqrt(t * t + 2 * t * e)

    return _planned(budget, alpha, beta, loss, lambda n: left * n + fixed, error)


def _planned(
    budget: Budget,
    alpha: float,
    beta: float,
    loss: float,
    wrong: Callable[[int], float],
    error: Callable[[float, int], float],
) -> CoverPlan:
    """With the least n whose wrong examples keep the error on new points at alpha."""

    def training_error(n: int) -> float:
        return min(1.0, wrong(n) / n)

    def enough(n: int) -> bool:
        return error(training_error(n), n) <= alpha

    return CoverPlan(
        least_count(enough) if enough(MAX_EXAMPLES) else None, budget.steps, beta / 3, budget.eta,
        budget.spent.account, budget.margin, loss, training_error,
    )  # fmt: skip


def piece_count(lattice: HalfplaneLattice, edges: int) -> int:
    """Number of lattice pieces, ordered tuples of so many halfplanes."""
    return int((lattice.points_per_sheet * len(lattice.sheets)) ** edges)


def lattice_note(lattice: HalfplaneLattice) -> str | None:
    """What a guarantee for k pieces of a lattice as coarse as this one assumes; None of a fine one.

    KMMS's observation 4.1, that every halfplane has a member that labels all grid points like it,
    fails at large d (:mod:`geometry.halfplane`).
    """
    if lattice.d <= FINE_D:
        return None
    # of an edge's ends half a step; by the source's box its slope moves in steps, too
    reach = (1 if lattice.measure == "chord" else 1 + lattice.d) / (2 << lattice.bits)
    return (
        f"At d = {lattice.d:,} the class of halfplanes is coarse: some shapes of k pieces have no "
        f"fit without mistakes, as they have up to d = {FINE_D:,}. Every edge is met within "
        f"{reach:.2g} of a grid unit, so only points as near to an edge can come out wrong for "
        "that; the guarantee is for shapes that fit."
    )


def triangle_rate(epsilon: float, delta: float, neighbours: Neighbours) -> float:
    """Nats per mistake of one triangle that is drawn by its mistakes, with all of the budget
    (docs/decisions/0020-one-triangle.md); ValueError if the budget is too small to run at all.

    It is what the theorem of a draw from a finite class is asked with as its epsilon, of neighbours
    that add or remove an example: replacing one was paid for.  That is more than a pure guarantee
    of the same epsilon grants; delta pays for the rest.
    """
    return plan_budget(epsilon, delta, 1, 0.5, neighbours, private=True, noise_share=0.0).eta


# -- KMMS's own constants ----------------------------------------------------------------------


def printed_selection_epsilon(epsilon: float, delta: float) -> float:
    """epsilon^ of each selection, claim 3.4, for epsilon < 1: epsilon / (2 ln(e/delta))."""
    return epsilon / (2 * (1 - math.log(delta)))


def printed_halfplanes_loss(edges: int, d: int, epsilon: float, beta: float) -> float:
    """lambda of a piece of so many halfplanes of the grid 0..d, in examples: lemma 4.6, and by the
    same proof of three at once at most three times that."""
    return 8 * edges / epsilon * math.log(2 * d / beta)


def printed_finite_loss(log_size: float, epsilon: float, beta: float) -> float:
    """lambda of a piece of a finite class of size exp(log_size), in examples; proposition 2.5."""
    return 2 / epsilon * (log_size - math.log(beta))


def printed_sample_examples(k: int, alpha: float, beta: float, epsilon: float, loss: float) -> int:
    """The least n of which claim 3.1 makes at most alpha n wrong, at selections that lose `loss`.

    m = 2k ln(2/alpha) steps, counts within Delta = (m/epsilon) ln(m/beta); at most
    max{alpha n/2, 4 Delta} + 4k lambda ln(2/alpha) are wrong.
    """
    steps = 2 * k * math.log(2 / alpha)
    margin = steps / epsilon * math.log(steps / beta)
    lost = 4 * k * loss * math.log(2 / alpha)
    return math.ceil(max(2 * lost, 4 * margin + lost) / alpha)


def printed_examples(
    *,
    k: int,
    alpha: float,
    beta: float,
    epsilon: float,
    delta: float,
    d: int = 0,
    edges: int = 0,
    size: int = 0,
) -> int:
    """The same of pieces of so many halfplanes, or of a class of that size; a selection fails with
    probability at most beta / (4k ln(2/alpha)), theorem 3.2."""
    each = printed_selection_epsilon(epsilon, delta)
    failure = beta / (4 * k * math.log(2 / alpha))
    if edges:
        loss = printed_halfplanes_loss(edges, d, each, failure)
    else:
        loss = printed_finite_loss(math.log(size), each, failure)
    return printed_sample_examples(k, alpha, beta, epsilon, loss)
