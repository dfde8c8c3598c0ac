"""What a run is likely to reach in practice: an estimate, not a bound.

The planner's guarantee holds for every shape and sample and is far from what runs do.  Here the
terms of its proof are kept at their typical size, for k pieces that fit the shape:

saturation   a piece is good enough when it gains b/k examples, so (1 - 1/k)^m of the examples to
             gain may be left after m steps;
counts       thresholds lie about Delta below the true counts, and as many examples may be left;
selection    a smooth law over D numbers loses about D/eta examples a step (the mean of a
             Gamma(D) variable): D = 2 for a halfplane, 6 for a triangle; what is lost on the side
             of the gain is mended by later steps, so half of it counts.

A run by tiles errs on a number of examples that hardly depends on n: about 0.7 % at n = 10^4,
0.09 % at 10^5 and 0.01 % at 10^6, epsilon = 1, shapes of 3 to 14 edges.  More examples make more
tiles, each of which costs a few nats, and pieces that fit better.

tests/test_rule_of_thumb.py holds both against runs: within a factor of three on the shapes that
k pieces fit.
"""

from __future__ import annotations

import math

from learners.accounting import LEAST_DELTA, Neighbours, check_budget, inner_budget
from learners.set_cover import default_steps, plan_budget
from learners.theory.planner import Setting

#: Mistakes of a run by tiles, times epsilon.
_BY_TILES = 90

_NUMBERS = {"union": 6, "convex": 2}


def expected_error(
    setting: Setting, examples: int, gain_share: float, steps: int | None = None
) -> float:
    """Error on new points that a run is likely to reach, 0..1/2.

    Parameters
    ----------
    setting : Setting
        Of a run with the learner's defaults.
    examples : int
        n.
    gain_share : float
        Share of the examples to gain, 0..1: positives for a union, negatives for a convex
        polygon.
    steps : int, optional
        m; the learner's default if None.

    Raises
    ------
    ValueError
        If the budget is too small to run at all.
    """
    m = default_steps(setting.k) if steps is None else steps
    budget = plan_budget(
        setting.epsilon, setting.delta, m, setting.beta, setting.neighbours, private=True
    )
    left = gain_share * (1 - 1 / setting.k) ** m
    noise = budget.margin / examples
    selection = m * _NUMBERS[setting.learner] / budget.eta / examples / 2
    # no run does worse than to learn nothing
    return min(0.5, gain_share, left + noise + selection)


def expected_error_by_tiles(epsilon: float, neighbours: Neighbours, examples: int) -> float:
    """Error on new points that a run by tiles is likely to reach on a shape of few edges, 0..1/2.

    Raises
    ------
    ValueError
        If epsilon states no guarantee.
    """
    return min(0.5, _mistakes(epsilon, neighbours) / examples)


def examples_by_tiles(epsilon: float, neighbours: Neighbours, error: float) -> int:
    """Examples with which a run by tiles is likely to reach an error, in (0, 1).

    Raises
    ------
    ValueError
        If epsilon states no guarantee.
    """
    return math.ceil(_mistakes(epsilon, neighbours) / error)


def _mistakes(epsilon: float, neighbours: Neighbours) -> float:
    check_budget(epsilon, LEAST_DELTA)
    return _BY_TILES / inner_budget(epsilon, LEAST_DELTA, neighbours)[0]
