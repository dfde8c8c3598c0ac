"""The baseline: every query is answered, and every query pays.

m times a class is drawn with probability proportional to exp(r * votes), exactly
(:mod:`learners.privacy.exponential_mechanism`).  One vote that moves changes two scores by 1, in
opposite directions: bounded range 2r, so 2r-DP and (2r)^2/8-zCDP a query (docs/privacy.md, lemma
S8). The accounts of m adaptive draws:

zcdp       m (2r)^2 / 8, converted; basic composition where that grants more.
advanced   2r-DP each by advanced composition (Dwork, Rothblum, Vadhan 2010); BTT's comparison.

In both r falls with the root of m, and a class wins surely only if it leads by about
ln(classes m / beta) / r votes: so K grows with the root of m, where stability needs the logarithm
of m and the root of the number of unstable queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from learners.parameters import check_count
from learners.privacy.accounting import (
    GIVEN_UP,
    Charge,
    Neighbours,
    PrivacySpent,
    check_budget,
    inner_budget,
)
from learners.privacy.composition import advanced_rate, selection_account
from learners.privacy.exponential_mechanism import exponential_index
from learners.privacy.randomness import RandomSource

VotesAccount = Literal["zcdp", "advanced"]


@dataclass(frozen=True, slots=True)
class NoisyVotesBudget:
    """What one run may spend: m queries at a rate of r nats per vote."""

    queries: int
    rate: float
    spent: PrivacySpent


def plan_noisy_votes(
    epsilon: float,
    delta: float,
    *,
    queries: int,
    account: VotesAccount = "zcdp",
    neighbours: Neighbours = "add-remove",
    private: bool = True,
) -> NoisyVotesBudget:
    """The largest rate at which m queries are (epsilon, delta)-DP.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    check_budget(epsilon, delta)
    inner_budget(epsilon, delta, neighbours)
    m = check_count("queries", queries)
    if account not in get_args(VotesAccount):
        raise ValueError(f"account must be 'zcdp' or 'advanced', got {account!r}")
    # the set-cover account is not valid: an example keeps mattering
    options = dict(selection_account(epsilon, delta, m).alternatives)
    other = options["zcdp"] if account == "zcdp" else advanced_rate(epsilon, delta, m)
    spread = max(options["basic"], other) * (1 - GIVEN_UP)
    charges = (Charge("noisy votes", spread, m),)
    spent = PrivacySpent(epsilon, delta, neighbours, account, charges, private)
    return NoisyVotesBudget(m, spread / 2, spent)


class NoisyVotes:
    """A run of the baseline."""

    def __init__(self, budget: NoisyVotesBudget, source: RandomSource) -> None:
        self._budget = budget
        self._source = source
        self.queries_left = budget.queries

    def ask(self, votes: NDArray[np.int64]) -> int:
        """The index of a class, drawn by its votes, int64 of shape (classes,).

        Raises
        ------
        ValueError
            If all m queries have been asked.
        """
        if self.queries_left == 0:
            raise ValueError(
                f"the budget is used up: all {self._budget.queries} queries have been asked"
            )
        self.queries_left -= 1
        return exponential_index(self._source, votes, self._budget.rate)
