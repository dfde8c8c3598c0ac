"""What KMMS's proof asks for with the constants that it prints: to be compared, by teachers.

Source: Kaplan, Mansour, Matias, Stemmer 2019 (KMMS).  Their theorems state orders of growth; these
constants stand in the claims behind them:

claim 3.1    m = 2k ln(2/alpha) steps; counts within Delta = (m/epsilon) ln(m/beta); if every
             selection loses at most lambda, the result errs on at most max{alpha n/2, 4 Delta} +
             4 k lambda ln(2/alpha) of n examples
theorem 3.2  a selection may fail with probability beta / (4 k ln(2/alpha))
claim 3.4    selections with epsilon^ = epsilon / (2 ln(e/delta)) each, for epsilon < 1
lemma 4.6    a halfplane of the grid 0..d: lambda = (8/epsilon^) ln(2d/beta').  By the same proof,
             three at once lose at most three times that
prop. 2.5    a piece of a finite class H: lambda = (2/epsilon^) ln(|H|/beta')

So n examples are enough for a share alpha of mistakes *on the sample*.  For new points KMMS refer
to standard bounds and print no constant; :mod:`learners.theory.planner` has one of its own.  The
counts spend epsilon beside the selections' epsilon, which is left as printed.
"""

from __future__ import annotations

import math


def selection_epsilon(epsilon: float, delta: float) -> float:
    """epsilon^ of each selection, claim 3.4."""
    return epsilon / (2 * (1 - math.log(delta)))


def selection_failure(k: int, alpha: float, beta: float) -> float:
    """beta' of each selection, theorem 3.2."""
    return beta / (4 * k * math.log(2 / alpha))


def halfplanes_loss(edges: int, d: int, epsilon: float, beta: float) -> float:
    """lambda of a piece of so many halfplanes, in examples; lemma 4.6."""
    return 8 * edges / epsilon * math.log(2 * d / beta)


def finite_loss(log_size: float, epsilon: float, beta: float) -> float:
    """lambda of a piece of a finite class of size exp(log_size), in examples; proposition 2.5."""
    return 2 / epsilon * (log_size - math.log(beta))


def sample_examples(k: int, alpha: float, beta: float, epsilon: float, loss: float) -> int:
    """The least n that claim 3.1 makes err on at most alpha n of its own examples.

    Parameters
    ----------
    k : int
        Pieces of a good hypothesis.
    alpha, beta : float
        In (0, 1).
    epsilon : float
        Of the noisy counts.
    loss : float
        lambda, in examples.
    """
    steps = 2 * k * math.log(2 / alpha)
    margin = steps / epsilon * math.log(steps / beta)
    lost = 4 * k * loss * math.log(2 / alpha)
    return math.ceil(max(2 * lost, 4 * margin + lost) / alpha)
