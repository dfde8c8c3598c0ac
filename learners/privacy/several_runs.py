"""Computes what several runs on one data set cost together, and whether a budget allows one more.

Runs are chosen one by one, each in view of what was released before, and so are their parameters.
A rule that stops before a budget is exceeded, a *privacy filter* (Rogers, Roth, Ullman, Vadhan,
*Privacy odometers and filters*, 2016), makes all of them together (epsilon, delta)-DP
(docs/privacy.md, lemma R1):

basic   the sums of epsilon and of delta do not exceed the budget
renyi   the sum of Renyi divergences of one order, fixed beforehand, does not exceed what the budget
        leaves at that order, and the sum of delta is at most half of the budget's

What one run costs at an order is lemma R2; that runs may be asked in turns, lemma R4.  Numbers
count as they are written: ten times 0.1 is 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from learners.privacy.accounting import APART, GIVEN_UP, PrivacySpent, Relation, check_budget
from learners.privacy.composition import zcdp_budget, zcdp_order, zcdp_tail
from learners.privacy.privacy_loss import delta_besides, mechanism, rounding_epsilon

#: How the costs of several runs are put together.
Composition = Literal["basic", "renyi"]

#: From the strongest to the weakest protection, as far as one implies another.
_RELATIONS: tuple[Relation, ...] = ("add-remove", "replace-one", "replace-label")

#: Beyond, exp would overflow; such a run promises nothing anyway.
_LARGEST_POWER = 700.0


def joint_relation(relations: Iterable[Relation]) -> Relation:
    """What statements that differ can be added up for: the weakest of them; add-remove for none."""
    return max(relations, key=_RELATIONS.index, default="add-remove")


def restated(
    epsilon: float, delta: float, stated: Relation, relation: Relation
) -> tuple[float, float]:
    """Epsilon and delta of a statement for other neighbours.

    To replace an example, or its label, is to remove one and to add one: two neighbouring steps,
    (2·epsilon, (1 + e^epsilon)·delta).  To replace a label is to replace an example.

    Raises
    ------
    ValueError
        If the statement says nothing about these neighbours.
    """
    if _RELATIONS.index(stated) > _RELATIONS.index(relation):
        raise ValueError(f"a statement for {stated} neighbours says nothing about {relation} ones")
    if stated != "add-remove" or relation == "add-remove":
        return epsilon, delta
    power = math.exp(min(epsilon, _LARGEST_POWER))
    return 2 * epsilon, min((1 + power) * delta, 1.0)


def added_up(costs: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Epsilon and delta of runs together, by basic composition."""
    epsilon, delta = _sums(costs)
    return float(epsilon), min(float(delta), 1.0)


def together(runs: Iterable[PrivacySpent], relation: Relation | None = None) -> tuple[float, float]:
    """Epsilon and delta of runs together by basic composition, for the neighbours of a relation.

    By default these are those of the weakest statement among them: where some add or remove an
    example and others replace one, or its label, the sum is for replacing.

    Raises
    ------
    ValueError
        If a statement says nothing about these neighbours.
    """
    stated = tuple(runs)
    about = relation or joint_relation(run.neighbours for run in stated)
    return added_up(restated(run.epsilon, run.delta, run.neighbours, about) for run in stated)


def _sums(costs: Iterable[tuple[float, float]]) -> tuple[Fraction, Fraction]:
    epsilon = delta = Fraction(0)
    for one, other in costs:
        epsilon, delta = epsilon + _written(one), delta + _written(other)
    return epsilon, delta


def _written(value: float) -> Fraction:
    """The decimal number that stands for it, exactly."""
    return Fraction(repr(float(value)))


@lru_cache(maxsize=4096)
def renyi_cost(spent: PrivacySpent, relation: Relation, order: float) -> tuple[float, float]:
    """Renyi divergence that a run is charged at an order, and delta beside it (lemma R2).

    Either by the statement alone, as of any mechanism of pure epsilon but for delta; or, if that is
    less, by the charges one by one; of persons with several examples, by the statement.

    Parameters
    ----------
    spent : PrivacySpent
    relation : {"add-remove", "replace-one", "replace-label"}
        Neighbours for which it is added up.
    order : float
        Above 1.

    Raises
    ------
    ValueError
        If the statement says nothing about these neighbours.
    """
    epsilon, delta = restated(spent.epsilon, spent.delta, spent.neighbours, relation)
    cost = min(order * (epsilon * epsilon) / 2, epsilon)  # a square may be beyond all numbers
    if spent.charges and spent.account in ("basic", "optimal") and spent.rows == 1:
        moves = 1 if relation == "add-remove" else 2
        costs: dict[bool, list[float]] = {True: [], False: []}
        for charge in spent.charges:
            one = mechanism(charge, spent.neighbours, relation)
            cost_of = charge.times * min(order * one.rho, one.epsilon)
            costs[charge.name == APART].append(cost_of)
        sum_ = math.fsum(costs[False])
        sum_ += rounding_epsilon(spent, moves) * (2 * order - 1) / (order - 1)
        sum_ = max(sum_, *costs[True], 0.0)  # an example is in one or the other (lemma 11)
        if sum_ <= cost:
            cost, delta = sum_, delta_besides(spent, moves)
    return cost * (1 + GIVEN_UP), delta


@dataclass(frozen=True, slots=True)
class Budget:
    """What all runs on a data set may cost together.

    Attributes
    ----------
    epsilon, delta : float
        Positive and finite; 0 to below 1.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        check_budget(self.epsilon, self.delta or 0.5)


@dataclass(frozen=True, slots=True)
class Rule:
    """How runs are added up; fixed before the first of them.

    Attributes
    ----------
    relation : {"add-remove", "replace-one", "replace-label"}
        The neighbours that the sum is about.
    order : float or None
        Of the Renyi divergences that are added up; None for basic composition.
    """

    relation: Relation
    order: float | None = None

    @classmethod
    def of_budget(cls, budget: Budget, relation: Relation, composition: Composition) -> Rule:
        """The rule; its order is the one at which zCDP would spend the budget best.

        Raises
        ------
        ValueError
            If the composition needs a delta, and there is none, or a smaller epsilon.
        """
        if composition == "basic":
            return cls(relation)
        if budget.delta == 0:
            raise ValueError("composition by Renyi divergence needs a delta above 0")
        half = budget.delta / 2
        order = zcdp_order(zcdp_budget(budget.epsilon, half), half)
        rounded = float(f"{order:.4g}")
        if rounded <= 1:
            raise ValueError(
                f"composition by Renyi divergence needs a smaller epsilon than {budget.epsilon:g}"
            )
        return cls(relation, rounded)

    def cost(self, spent: PrivacySpent) -> tuple[float, float]:
        """What a run counts, of epsilon or of the divergence, and of delta.

        Raises
        ------
        ValueError
            If its statement says nothing about the rule's neighbours.
        """
        if self.order is None:
            return restated(spent.epsilon, spent.delta, spent.neighbours, self.relation)
        return renyi_cost(spent, self.relation, self.order)

    def capacity(self, budget: Budget) -> tuple[float, float]:
        """What the costs of all runs may add up to.

        By the Renyi divergence it may be 0 or less: then nothing fits.
        """
        if self.order is None:
            return budget.epsilon, budget.delta
        half = budget.delta / 2
        tail = zcdp_tail(self.order, half) if half else math.inf
        return (budget.epsilon - tail) * (1 - GIVEN_UP), half

    def allows(self, budget: Budget, runs: Iterable[PrivacySpent]) -> bool:
        """Whether these runs together stay within the budget; exact in what is written.

        Raises
        ------
        ValueError
            If a statement says nothing about the rule's neighbours.
        """
        spent = _sums(self.cost(run) for run in runs)
        most = self.capacity(budget)
        if not any(spent):
            return True
        return spent[0] <= _written(max(most[0], 0.0)) and spent[1] <= _written(most[1])
