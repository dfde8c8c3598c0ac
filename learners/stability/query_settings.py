"""Public numbers of a run of classification queries: halts T and chunks K (corollary 4.1).

A model trained on a chunk errs on a random query with probability at most e = alpha (realizable:
some concept of the class errs nowhere) or e = gamma + alpha (agnostic: the best errs with
probability gamma).  Among m independent queries the share of chunks that err sums to at most

    e m + sqrt(m ln(1/beta) / 2)        with probability 1 - beta (Hoeffding),

so at most T = 3 (that) queries have more than K/3 wrong votes.  At all others the right class leads
by at least K/3 votes, its distance to instability is at least K/6 - 1, and with

    K = 6 (w + u + 2)                     w the margin, u what noise adds with probability beta,

all of them are answered, rightly, with probability 1 - beta.  Error and ⊥ together: at most T/m.

Departs from the source: BTT print ln(m/beta) for ln(1/beta) in T, and
K = 136 ln(4mT/min(delta, beta/2)) sqrt(T ln(2/delta)) / epsilon chunks for a gap of sensitivity 1;
both can be asked for (`constants = "printed"`), K doubled, as one record moves the gap by 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from learners.accounting import check_budget
from learners.estimator import check_count
from learners.stability.sparse_vector import Constants, SparseVectorBudget, plan_sparse_vector

#: Share of the chunks that must agree, by default, for an answer with probability 1 - beta.
DEFAULT_AGREEMENT = 0.85

#: Probability with which noise may turn away a query on which so many agree.
DEFAULT_BETA = 0.1


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """Public parameters of a run.

    Attributes
    ----------
    queries, halts, chunks : int
        m, T, K.
    beta : float
        Probability that the promise fails, in all.
    """

    queries: int
    halts: int
    chunks: int
    beta: float

    @property
    def error(self) -> float:
        """Most of the queries that are answered wrong or not at all, as a fraction."""
        return min(1.0, self.halts / self.queries)


def halts_needed(
    queries: int, alpha: float, beta: float, *, gamma: float = 0.0, constants: Constants = "tight"
) -> int:
    """T = ceil(3 ((gamma + alpha) m + sqrt(m ln(1/beta) / 2))), with ln(m/beta) as printed.

    Parameters
    ----------
    queries : int
        m.
    alpha : float
        Error of a chunk's model beyond the best concept's, in [0, 1].
    beta : float
        In (0, 1).
    gamma : float
        Error of the best concept, in [0, 1]; 0 in the realizable case.
    constants : {"tight", "printed"}

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    m = check_count("queries", queries)
    if not (0 <= alpha <= 1 and 0 <= gamma <= 1 and 0 < beta < 1):
        raise ValueError(
            f"alpha and gamma must lie in [0, 1] and beta in (0, 1), got {alpha}, {gamma}, {beta}"
        )
    log = math.log((m if constants == "printed" else 1) / beta)
    return max(1, math.ceil(3 * ((gamma + alpha) * m + math.sqrt(m * log / 2))))


def chunks_needed(budget: SparseVectorBudget, beta: float, agreement: float = 2 / 3) -> int:
    """Chunks that answer every query on which this share agrees, with probability 1 - beta.

    Parameters
    ----------
    budget : SparseVectorBudget
    beta : float
        For all queries together, in (0, 1).
    agreement : float
        Share of the chunks that vote for the winner, in (1/2, 1]; taken to four digits.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    if not 0.5002 < agreement <= 1:
        raise ValueError(f"agreement must lie in (1/2, 1], got {agreement}")
    # distance >= gap/2 - 1 must exceed w + u
    share = Fraction(agreement).limit_denominator(10_000)
    return math.ceil((budget.margin + budget.slip(beta) + 2) * 2 / (2 * share - 1))


def default_chunks(budget: SparseVectorBudget, chunks: int | None) -> int:
    """K: as given, or as many as answer queries on which 85 % of the chunks agree.

    Raises
    ------
    ValueError
        If the number that is given is none.
    """
    if chunks is None:
        return chunks_needed(budget, DEFAULT_BETA, DEFAULT_AGREEMENT)
    return check_count("chunks", chunks)


def printed_chunks(epsilon: float, delta: float, queries: int, halts: int, beta: float) -> int:
    """Twice BTT's 136 ln(4mT/min(delta, beta/2)) sqrt(T ln(2/delta)) / epsilon."""
    check_budget(epsilon, delta)
    log = math.log(4 * queries * halts / min(delta, beta / 2))
    return math.ceil(2 * 136 * log * math.sqrt(halts * math.log(2 / delta)) / epsilon)


def plan_queries(
    epsilon: float,
    delta: float,
    *,
    queries: int,
    alpha: float,
    beta: float = 0.1,
    gamma: float = 0.0,
    constants: Constants = "tight",
) -> QuerySettings:
    """T and K with the promise of corollary 4.1: half of beta for the queries, half for the noise.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    halts = halts_needed(queries, alpha, beta / 2, gamma=gamma, constants=constants)
    if constants == "printed":
        chunks = printed_chunks(epsilon, delta, queries, halts, beta)
    else:
        budget = plan_sparse_vector(epsilon, delta, queries=queries, halts=halts)
        chunks = chunks_needed(budget, beta / 2)
    return QuerySettings(queries, halts, chunks, beta)
