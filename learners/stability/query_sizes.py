"""Computes how many examples private queries need, with halts T and chunks K, by BTT's theorems.

    4.3, 4.4   of m queries at most alpha m are answered wrong or not at all: :func:`query_sizes`
    4.6, 4.7   a hypothesis learned from the answers errs by at most alpha: :func:`label_sizes`
    5.14       all of m predictions in [0, 1] come within alpha of what is expected of a model:
               :func:`soft_sizes`

The source states orders of growth, up to logarithms (in our copy the formulas are lost, and follow
from its corollary 4.1).  Here every constant is kept, with the tight constants of the noise; beta
is divided evenly among the events below (*derived*).

Queries.  By corollary 4.1 (:mod:`learners.stability.stable_queries`) T = 3 ((gamma + e) m +
sqrt(m ln(1/b) / 2)) halts and K chunks do if every chunk's model errs by at most gamma + e, gamma
the error of the best concept.  A model does, but for b/K, if its chunk has n0 examples:
realizable, gamma = 0, by a consistent learner (`consistent_size` of
:mod:`learners.finite.sample_sizes`); else by one that minimizes mistakes (`agnostic_size`).  Given
T = alpha m this tells e, and n0.

Sizes of chunks.  Coins send each of n examples to one of K chunks.  By Chernoff's bound some chunk
gets fewer than n0 with probability at most K exp(-n D(p || 1/K)), p = (n0 - 1) / n, D the relative
entropy of two coins.

Labels.  A learner minimizes mistakes on m public points with these answers.  At most T of them are
not the true labels, so it errs on at most 2 T / m more of the points than the best concept does.
Realizable: if e = 2 T / m, on new points it errs by at most e + 2 sqrt(e A) + 4 A, A = (ln S(2m) +
ln(4/b)) / m (:mod:`learners.theory.cover_sizes`).  Else by at most gamma + 2 T / m + 2 a, a the
`deviation` of m examples there.  The largest T that keeps this at alpha is taken.  T >= 3 gamma m,
so alpha must be more than 7 gamma: the source's O(gamma).

Soft labels.  nu is the largest 1 over a whole number up to 4/3 alpha (:func:`soft_width`).  A
learner that takes n0 of its chunk's examples is c/n0-stable on average, so q = 8 c^2 / (n0 nu^2)
(:mod:`learners.stability.quality`).  But for b, at every query at most O = q K + sqrt(K ln(m/b) /
2) of K predictions are outliers, the others lie within nu/4 of their mean, and some histogram is
stable if K - 2 O >= 2 (w + u + 2).  Where the mean is within nu/4 of 0 or 1 that is the first: its
end bin holds the others.  So at most the T other queries fail a test, each one, and all are
answered, within 3/4 nu <= alpha if O < K/3.  Of q the best of some is taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from learners.declaration import check_count, check_open_unit
from learners.finite import sample_sizes as dimension
from learners.finite.sample_sizes import least_count
from learners.privacy.composition import MOST_MECHANISMS
from learners.stability.soft_labels import plan_soft_queries
from learners.stability.stable_queries import chunks_needed, plan_sparse_vector


@dataclass(frozen=True, slots=True)
class QuerySizes:
    """Public numbers of a run that keeps its promise: m queries, T halts, K chunks; n0 examples of
    each chunk, and n, so many that no chunk gets fewer than n0, but for its part of beta."""

    queries: int
    halts: int
    chunks: int
    each: int
    examples: int


def examples_of_chunks(chunks: int, each: int, beta: float) -> int:
    """n with which each of K chunks gets `each` examples by coins, with probability 1 - beta.

    Raises ValueError if a count is below 1, or beta not in (0, 1).
    """
    k, least = check_count("chunks", chunks), check_count("each", each)
    check_open_unit(beta=beta)
    if k == 1:
        return least

    def enough(n: int) -> bool:
        few, share = (least - 1) / n, 1 / k
        entropy = math.log((1 - few) / (1 - share)) * (1 - few)
        entropy += few * math.log(few / share) if few else 0.0
        return few < share and math.log(k) - n * entropy <= math.log(beta)

    return least_count(enough, above=k * least - 1)


def query_sizes(
    *,
    vc: int,
    queries: int,
    alpha: float,
    beta: float,
    gamma: float = 0.0,
    agnostic: bool = False,
    epsilon: float,
    delta: float,
    **others: Any,
) -> QuerySizes | None:
    """Theorems 4.3 and 4.4: at most alpha m of m queries are answered wrong or not at all.

    Raises ValueError if a parameter is out of range.

    Returns QuerySizes or None: None if m queries are too few, or alpha too close to 3 gamma.

    Parameters
    ----------
    vc : int
        VC dimension of the class that is learned on each chunk.
    queries : int
        m.
    alpha, beta : float
        In (0, 1).
    gamma : float
        Error of the best concept, in [0, 1); 0 unless `agnostic`.
    agnostic : bool
        Whether labels need not be those of a concept.
    epsilon, delta, others :
        As of :func:`learners.stability.stable_queries.plan_sparse_vector`.
    """
    check_open_unit(alpha=alpha, beta=beta)
    wrong = alpha * check_count("queries", queries)
    privacy = {"epsilon": epsilon, "delta": delta, **others}
    return _planned(vc, queries, wrong, beta / 4, gamma, agnostic, privacy)


def label_sizes(
    *,
    vc: int,
    queries: int,
    alpha: float,
    beta: float,
    gamma: float = 0.0,
    agnostic: bool = False,
    epsilon: float,
    delta: float,
    **others: Any,
) -> QuerySizes | None:
    """Theorems 4.6 and 4.7: what is learned from m answers errs by at most alpha on new points.

    Parameters and errors as of :func:`query_sizes`; `vc` is of the final class, too, and `queries`
    the number of public points.

    Returns QuerySizes or None: None if m points are too few, or alpha too close to 7 gamma.
    """
    check_open_unit(alpha=alpha, beta=beta)
    m, part = check_count("queries", queries), beta / 5
    if agnostic:
        wrong = (alpha - gamma - 2 * dimension.deviation(m, vc, part)) / 2
    else:
        growth = math.log(2) * dimension.log2_growth(2 * m, vc) + math.log(4 / part)
        room, root = alpha - 3 * growth / m, math.sqrt(growth / m)
        wrong = (math.sqrt(room) - root) ** 2 / 2 if room > root**2 else 0.0
    privacy = {"epsilon": epsilon, "delta": delta, **others}
    return _planned(vc, m, wrong * m, part, gamma, agnostic, privacy)


def soft_width(alpha: float) -> float:
    """nu with which predictions come within alpha in (0, 3/4]: the largest 1 over a whole number
    that is at most 4/3 alpha."""
    return 1 / math.ceil(0.75 / alpha - 1e-9)


def soft_sizes(
    *,
    queries: int,
    halts: int,
    stable: float,
    alpha: float,
    beta: float,
    epsilon: float,
    delta: float,
    **others: Any,
) -> QuerySizes | None:
    """Theorem 5.14: m predictions within alpha of those that are expected of one model.

    Raises ValueError if a parameter is out of range.

    Returns QuerySizes or None: None for alpha above 3/4, where nothing need be learned.

    Parameters
    ----------
    queries, halts : int
        m, and T: the queries whose expected prediction is further than a quarter of
        :func:`soft_width` from 0 and from 1 (`halts` of
        :class:`learners.stability.quality.EndQuality`).
    stable : float
        c of a learner that takes n0 of its chunk's examples and is c/n0-stable on average; of one
        pass of gradient descent by S = n0 steps of eta, eta n0 / 2.
    alpha, beta : float
        In (0, 3/4] and (0, 1).
    epsilon, delta, others :
        As of :func:`learners.stability.soft_labels.plan_soft_queries`.
    """
    check_open_unit(alpha=alpha, beta=beta)
    if not stable > 0:
        raise ValueError(f"stable must be positive, got {stable}")
    if alpha > 0.75:
        return None
    width = soft_width(alpha)
    budget = plan_soft_queries(queries=queries, halts=halts, epsilon=epsilon, delta=delta, **others)
    part = beta / 3
    lead = 2 * (budget.margin + budget.slip(part) + 2)
    log = math.log(queries / part)

    def sizes(share: float) -> tuple[int, int]:
        each = math.ceil(8 * stable**2 / (share * width**2))
        # K - 2 O >= lead, a quadratic in the root of K; and O < K / 3
        kept = 1 - 2 * share
        root = (math.sqrt(2 * log) + math.sqrt(2 * log + 4 * kept * lead)) / (2 * kept)
        return math.ceil(max(root**2, log / (2 * (1 / 3 - share) ** 2))) + 1, each

    best = min((sizes(step / 64) for step in range(1, 20)), key=math.prod)
    examples = examples_of_chunks(*best, part)
    return QuerySizes(queries, halts, *best, examples)


def _planned(
    vc: int,
    queries: int,
    wrong: float,
    part: float,
    gamma: float,
    agnostic: bool,
    privacy: dict[str, Any],
) -> QuerySizes | None:
    """Chunks, and examples of each, of models that err by gamma and as much more as so many wrong
    answers, or halts, allow; None if they allow none."""
    if not 0 <= gamma < 1:
        raise ValueError(f"gamma must lie in [0, 1), got {gamma}")
    if gamma and not agnostic:
        raise ValueError(f"some concept errs nowhere unless agnostic: gamma is 0, got {gamma}")
    halts = min(math.floor(wrong), MOST_MECHANISMS)
    spread = math.sqrt(queries * math.log(1 / part) / 2)
    excess = (halts / 3 - spread) / queries - gamma
    if excess <= 1e-9:
        return None
    budget = plan_sparse_vector(queries=queries, halts=halts, **privacy)
    chunks = chunks_needed(budget, part)
    needed = dimension.agnostic_size if agnostic else dimension.consistent_size
    # beyond 1/2 not even a coin is ruled out
    each = needed(vc, min(excess, 0.5), part / chunks)
    return QuerySizes(queries, halts, chunks, each, examples_of_chunks(chunks, each, part))
