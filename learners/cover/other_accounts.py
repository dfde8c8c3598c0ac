"""A set cover by other accounts than the best, to be compared: the noise is the same.

The *naive* one above all, by which KMMS motivate their section 3 (example 3.3).  It knows nothing
of set cover: every selection is a general exponential mechanism, weighted by exp(eta' q / 2) and
eta'-DP, and m of them are composed by basic composition, m eta' = epsilon_s, or by advanced
composition (:mod:`learners.privacy.composition`), whichever grants more.  With m proportional to
k the loss of a step grows like k or sqrt(k), that of the run like k^2 or k^1.5; the set-cover
account's eta does not depend on m, so the loss of the run grows like k.

All of them are valid (docs/privacy.md, lemma A1), and none grants more than the optimal one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

from learners.cover.set_cover import Budget
from learners.privacy.accounting import (
    AccountName,
    Charge,
    after_arithmetic,
    inner_budget,
    selection_account,
)
from learners.privacy.composition import advanced_rate

AccountChoice = Literal["optimal", "naive", "basic", "zcdp", "set-cover"]


def by_account(budget: Budget, account: AccountChoice) -> Budget:
    """The same run with the rate that this account grants its selections.

    Parameters
    ----------
    budget : Budget
        By the optimal account, with noisy counts, of neighbours that add, remove or replace one
        example.
    account : {"optimal", "naive", "basic", "zcdp", "set-cover"}

    Raises
    ------
    ValueError
        If there is no such account, or the budget is too small for it.
    """
    if account not in get_args(AccountChoice):
        raise ValueError(f"unknown account {account!r}: use one of {get_args(AccountChoice)}")
    if account == "optimal":
        return budget
    rates, kept = rates_by_account(budget)
    name: AccountName
    if account == "naive":
        name = max(("basic", "advanced"), key=lambda one: rates[one])
        rate = rates[name] / 2
    else:
        name, rate = account, rates[account]
    eta, counts = rate * kept, budget.spent.charge("noisy counts")
    assert counts is not None
    charges = (counts, Charge("selections", eta, budget.steps))
    return replace(budget, eta=eta, spent=replace(budget.spent, account=name, charges=charges))


def rates_by_account(budget: Budget) -> tuple[dict[AccountName, float], float]:
    """Nats for each selection by every other account, with the same noisy counts, and the part of
    them that an account keeps for the rounding of its own lines.

    By "basic" and "advanced" composition a selection has half of these nats per example: KMMS weigh
    by exp(epsilon^ q / 2).
    """
    spent, steps = budget.spent, budget.steps
    assert spent.neighbours != "replace-label"  # of a set cover
    inner = inner_budget(spent.epsilon, spent.delta, spent.neighbours)
    counts = spent.charge("noisy counts")
    left = after_arithmetic(inner[0] - (counts.alone if counts else 0.0), inner[1], steps)
    granted = selection_account(*left, steps)
    rates: dict[AccountName, float] = dict(granted.alternatives)
    kept = granted.eta / rates[granted.name]
    return rates | {"advanced": advanced_rate(*left, steps)}, kept
