"""What the steps of a Boolean set cover may spend, by the account that is asked for.

The learners use the optimal account (:func:`learners.set_cover.plan_budget`).  The others are
there to be compared, with the same noise, the *naive* one above all: KMMS motivate their section 3
by it (example 3.3).  It knows nothing of set cover: every selection is a general exponential
mechanism, weighted by exp(eta' q / 2) and eta'-DP, and m of them are composed by basic
composition, m eta' = epsilon_s, or by advanced composition (Dwork, Rothblum, Vadhan 2010),

    eta' sqrt(2 m ln(1/delta)) + m eta' (exp(eta') - 1) = epsilon_s,

whichever grants more.  With m proportional to k the loss of a step grows like k or sqrt(k), that
of the run like k^2 or k^1.5; the set-cover account's eta does not depend on m, so the loss of the
run grows like k.

The laws of the draws are exact, so nothing need be charged for arithmetic;
:func:`learners.set_cover.plan_budget` takes 2^-37 of epsilon a step off nevertheless, which is
left over.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal, get_args

from learners.accounting import (
    AccountName,
    Charge,
    Neighbours,
    after_arithmetic,
    check_budget,
    inner_budget,
    selection_account,
)
from learners.set_cover import Budget, plan_budget

#: What the noisy counts may cost alone, in parts of epsilon: a selection among literals loses fewer
#: examples than one among triangles, so the counts' noise weighs more
#: (docs/decisions/0010-the-optimal-account.md).
NOISE_SHARE = 0.4

AccountChoice = Literal["optimal", "naive", "basic", "zcdp", "set-cover"]


def cover_budget(
    epsilon: float,
    delta: float,
    steps: int,
    beta: float,
    neighbours: Neighbours,
    private: bool,
    account: AccountChoice = "optimal",
) -> Budget:
    """Noise of the counts and rate of the selections by this account, (epsilon, delta)-DP.

    Raises
    ------
    ValueError
        If a parameter states no guarantee, or there is no such account.
    """
    if account not in get_args(AccountChoice):
        raise ValueError(f"unknown account {account!r}: use one of {get_args(AccountChoice)}")
    budget = plan_budget(epsilon, delta, steps, beta, neighbours, private, NOISE_SHARE)
    if account == "optimal":
        return budget
    inner = inner_budget(epsilon, delta, neighbours)
    counts, _ = budget.spent.charges
    left = after_arithmetic(inner[0] - counts.alone, inner[1], steps)
    granted = selection_account(*left, steps)
    rates: dict[AccountName, float] = dict(granted.alternatives)
    name: AccountName
    if account == "naive":
        rates["advanced"] = advanced_rate(*left, steps)
        name = max(("basic", "advanced"), key=lambda one: rates[one])
        rate = rates[name] / 2
    else:
        name, rate = account, rates[account]
    # the part that the account gives up for the rounding of its own lines
    eta = rate * (granted.eta / rates[granted.name])
    charges = (counts, Charge("selections", eta, steps))
    spent = replace(budget.spent, account=name, charges=charges)
    return replace(budget, eta=eta, spent=spent)


def advanced_rate(epsilon: float, delta: float, steps: int) -> float:
    """The largest eta, within a relative 1e-12, that advanced composition grants m eta-DP steps.

    Raises
    ------
    ValueError
        If epsilon or delta states no guarantee, or steps < 1.
    """
    check_budget(epsilon, delta)
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    spread = math.sqrt(2 * steps * math.log(1 / delta))
    low, high = 0.0, epsilon / spread
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if middle * spread + steps * middle * math.expm1(middle) <= epsilon:
            low = middle
        else:
            high = middle
    return low
