"""Computes how many independent examples are needed, with exact constants: of finite classes, and
by VC dimension.

alpha is the error (or the loss, of losses in [0, 1]) that may be exceeded with probability at
most beta; L = ln(number of hypotheses / beta).  Let h be *bad* if it must not be chosen, M(h) its
mistakes (or losses) on the sample, h* a best hypothesis.

realizable   M(h*) = 0.  The mechanism with weights exp(-r M) chooses a bad h, of error a > alpha,
             with probability at most E exp(-r M(h)) = (1 - a (1 - exp(-r)))^n, for h* alone
             weighs 1.  Over all h: |C| (1 - alpha (1 - exp(-r)))^n <= beta.  A consistent learner
             is r = infinity.
agnostic     h is bad if its error exceeds that of h* by more than alpha.  D = M(h) - M(h*) is a
             sum of n terms in [-1, 1] of mean above alpha.  h is chosen with probability at
             most E min(1, exp(-r D)) <= E exp(-t D) for 0 <= t <= r.  exp is convex, so each term
             gives at most cosh t - alpha sinh t, least at t = artanh alpha.  Over all h: |C|
             (cosh t - alpha sinh t)^n <= beta.  Without privacy (1 - alpha^2)^(n/2).

These proofs need neither uniform convergence nor a division of alpha and beta; from
artanh(alpha) on, privacy costs an agnostic learner no more examples.  The sources (Nissim,
Nikolov, Kasiviswanathan et al. 2008) have O(L/(r alpha)) and O(L/(r alpha) + L/alpha^2).

one-sided    Points and thresholds, any consistent concept (Nissim's O(1)): an all-0 answer, or a
             border at the outermost example of one label, errs on one set of points only, and if
             that has probability above alpha no example may lie in it: (1 - alpha)^n <= beta,
             whatever the size of the class.

uniform      all |M(h)/n - error of h| <= alpha: 2 |C| exp(-2 n alpha^2) <= beta (Hoeffding).
laplace      all noises are within W = ceil(s ln(2 |C|/beta)) with probability 1 - beta/2, s their
             scale (docs/privacy.md, lemma 3);
             then a bad h is chosen only if M(h) - M(h*) <= 2 W.  By the moments above, with any
             t > 0: (2 |C|/beta) exp(2 t W) (...)^n <= 1; the best of a few t is taken.

Dichotomies, shattering, VC dimension and growth.

A class is a bool matrix, one row a concept, one column a point.  Its *dichotomies* on some points
are the distinct rows of those columns; it *shatters* m points if there are 2^m of them; its VC
dimension is the most points that it shatters (Vapnik, Chervonenkis 1971).

* A finite class: :func:`vc_dimension`, exactly, by a search over sets that grow point by point,
  and only as long as every labelling of them keeps enough concepts.  The problem is hard in general
  (Papadimitriou, Yannakakis 1996), so the work is limited and what exceeds it is refused.
* The Sauer-Shelah bound, and from it the growth of unions and intersections of k concepts, which
  combine k dichotomies: at most Sauer(n, v)^k (KMMS section 2; Blumer, Ehrenfeucht, Haussler,
  Warmuth 1989, lemma 3.2.3).  A class that does not reach 2^n dichotomies on n points has VC
  dimension below n: :func:`combined_vc_bound`, by exact arithmetic, where the textbook writes
  O(v k log k).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from geometry.arrays import Flags
from learners.declaration import check_count, check_open_unit
from learners.privacy.accounting import noise_scale

#: Beyond this many examples a promise is void, and none are searched for.
MAX_EXAMPLES = 10**15


def least_count(enough: Callable[[int], bool], above: int = 0) -> int:
    """The least n > above with enough(n), of a condition that stays true from some n on."""
    low, high = above, above + 1
    while not enough(high):
        low, high = high, 2 * high
    # whatever rounding does, the condition was seen to hold at what is returned
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def consistent_examples(size: int, alpha: float, beta: float) -> int:
    """n for a consistent learner (Occam): |C| (1 - alpha)^n <= beta."""
    log_size = _check(size, alpha, beta)
    return math.ceil(log_size / -math.log1p(-alpha))


def one_sided_examples(alpha: float, beta: float) -> int:
    """n for the consistent learner of points or of thresholds: (1 - alpha)^n <= beta."""
    return consistent_examples(1, alpha, beta)


def agnostic_examples(size: int, alpha: float, beta: float) -> int:
    """n for empirical risk minimization to come within alpha of the best hypothesis."""
    log_size = _check(size, alpha, beta)
    return math.ceil(log_size / _agnostic(alpha, math.atanh(alpha)))


def uniform_convergence_examples(size: int, alpha: float, beta: float) -> int:
    """n for every hypothesis' average on the sample to be within alpha of its expectation."""
    log_size = _check(size, alpha, beta)
    return math.ceil((log_size + math.log(2)) / (2 * alpha**2))


def private_examples(
    size: int, alpha: float, beta: float, rate: float, *, agnostic: bool = False
) -> int:
    """n for the exponential mechanism with weights exp(-rate * mistakes).

    Parameters
    ----------
    size : int
        Number of hypotheses.
    alpha, beta : float
        In (0, 1).
    rate : float
        epsilon, or epsilon/2 when an example is replaced: nats per mistake, or per unit of a
        loss in [0, 1].
    agnostic : bool
        Whether alpha is meant above the best hypothesis' error; else some hypothesis errs
        nowhere.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    log_size = _check(size, alpha, beta)
    if not rate > 0:
        raise ValueError(f"rate must be positive, got {rate}")
    if agnostic:
        return math.ceil(log_size / _agnostic(alpha, min(rate, math.atanh(alpha))))
    return math.ceil(log_size / _realizable(alpha, rate))


def laplace_examples(
    size: int, alpha: float, beta: float, epsilon: float, *, agnostic: bool = False
) -> int:
    """n for the baseline with noise on every hypothesis; epsilon for add/remove neighbours."""
    log_size = _check(size, alpha, beta) + math.log(2)
    reach = 2 * math.ceil(float(noise_scale(epsilon, size)) * log_size)
    moment = _agnostic if agnostic else _realizable
    top = math.atanh(alpha) if agnostic else 20.0
    rates = [top * 2 ** (-i / 8) for i in range(200)]
    # the moments' logs vanish with the rate, so small ones divide by next to nothing
    return math.ceil(
        min((log_size + t * reach) / moment(alpha, t) for t in rates if moment(alpha, t) > 0)
    )


def _realizable(alpha: float, rate: float) -> float:
    """-ln E exp(-rate M) of one example, error alpha."""
    return -math.log1p(alpha * math.expm1(-rate))


def _agnostic(alpha: float, rate: float) -> float:
    """-ln(cosh t - alpha sinh t), t at most artanh alpha."""
    return -math.log1p(2 * math.sinh(rate / 2) ** 2 - alpha * math.sinh(rate))


def _check(size: int, alpha: float, beta: float) -> float:
    """ln(size / beta)."""
    if size < 1:
        raise ValueError(f"there must be at least one hypothesis, got {size}")
    check_open_unit(alpha=alpha, beta=beta)
    return math.log(size) - math.log(beta)


#: Words that are looked at before a class is called too large: half a minute at most.
MOST_WORK = 1_000_000_000

#: Largest VC dimension whose growth is summed exactly: one of millions would take hours.
_EXACT = 1000


def as_class(concepts: ArrayLike) -> Flags:
    """A class as a bool matrix (concepts, points).

    Raises
    ------
    ValueError
        If it is no matrix of 0 and 1, or has no concept.
    """
    matrix = np.asarray(concepts)
    if matrix.ndim != 2 or len(matrix) == 0:
        raise ValueError(f"a class must have shape (concepts, points), got {matrix.shape}")
    if matrix.dtype != np.bool_ and not ((matrix == 0) | (matrix == 1)).all():
        raise ValueError("a class must hold 0 and 1 only")
    return matrix.astype(np.bool_, copy=False)


def dichotomies(concepts: ArrayLike, points: Sequence[int] | None = None) -> Flags:
    """The distinct labellings of some points, in lexicographic order.

    Parameters
    ----------
    concepts : array of bool, shape (concepts, points)
    points : sequence of int, optional
        Columns; by default all.

    Returns
    -------
    ndarray of bool, shape (dichotomies, len(points))

    Raises
    ------
    ValueError
        If the class is none, or a point is not one of its columns.
    """
    matrix = as_class(concepts)
    if points is not None:
        outside = [p for p in points if not 0 <= p < matrix.shape[1]]
        if outside:
            raise ValueError(f"point {outside[0]} is not one of the {matrix.shape[1]} of the class")
        matrix = matrix[:, list(points)]
    if matrix.shape[1] == 0:
        # np.unique of no columns: all concepts label nothing alike
        return np.zeros((1, 0), dtype=np.bool_)
    # bytes sort like the bits that they pack
    packed = np.unique(np.packbits(matrix, axis=1), axis=0)
    return np.unpackbits(packed, axis=1, count=matrix.shape[1]).astype(np.bool_)


def shatters(concepts: ArrayLike, points: Sequence[int]) -> bool:
    """Whether the points, distinct columns of the class, get all 2^m labellings."""
    if len(set(points)) < len(points):
        return False
    return len(dichotomies(concepts, points)) == 1 << len(points)


def vc_dimension(concepts: ArrayLike, most_work: int = MOST_WORK) -> int:
    """The VC dimension of a finite class, exactly; as :func:`largest_shattered`."""
    return len(largest_shattered(concepts, most_work))


def largest_shattered(concepts: ArrayLike, most_work: int = MOST_WORK) -> tuple[int, ...]:
    """Points that the class shatters, as many as possible.

    Parameters
    ----------
    concepts : array of bool, shape (concepts, points)
    most_work : int
        Limit on the 64-bit words of concepts that are looked at.

    Returns
    -------
    tuple of int
        Columns, increasing; of the largest shattered sets, the first that the search meets.

    Raises
    ------
    ValueError
        If the class is none, or would take more work.
    """
    matrix = dichotomies(concepts)
    # equal columns, or opposite ones, are never shattered together
    _, first = np.unique(matrix ^ matrix[:1], axis=1, return_index=True)
    points = sorted(first.tolist())
    # concepts are the bits of whole numbers
    packed = np.packbits(matrix[:, points], axis=0, bitorder="little").T
    ones = {
        p: int.from_bytes(row.tobytes(), "little") for p, row in zip(points, packed, strict=True)
    }
    words, work = -(-len(matrix) // 64), 0

    def extended(
        chosen: tuple[int, ...], cells: list[int], candidates: list[int], target: int
    ) -> tuple[int, ...] | None:
        """Points that are shattered, so many, depth first; None if there are none.

        Points chosen so far cut the concepts into cells, one a labelling.  To shatter t points, s
        of them must leave 2^(t - s) concepts in every cell.  A point that fails so with a set fails
        with all larger sets, for one of the parts of a small cell is small.
        """
        nonlocal work
        if len(chosen) == target:
            return chosen
        work += len(candidates) * len(cells) * words
        if work > most_work:
            raise ValueError(
                f"the class is too large: with {len(matrix)} distinct concepts on "
                f"{matrix.shape[1]} points, whether {target} of them are shattered takes more than "
                f"{most_work:,} units of work ({target - 1} are); use fewer points, or raise "
                "most_work"
            )
        least = 1 << (target - len(chosen) - 1)
        good = [p for p in candidates if _cuts(cells, ones[p], least)]
        for i, point in enumerate(good):
            if len(chosen) + len(good) - i < target:
                return None
            own = ones[point]
            parts = [part for cell in cells for part in (cell & own, cell & ~own)]
            found = extended((*chosen, point), parts, good[i + 1 :], target)
            if found is not None:
                return found
        return None

    best: tuple[int, ...] = ()
    # 2^m concepts are needed to shatter m points
    for target in range(1, len(matrix).bit_length()):
        found = extended((), [(1 << len(matrix)) - 1], points, target)
        if found is None:
            break
        best = found
    return best


def _cuts(cells: list[int], ones: int, least: int) -> bool:
    """Whether a point leaves so many concepts on both sides in every cell."""
    for cell in cells:
        inside = (cell & ones).bit_count()
        if inside < least or cell.bit_count() - inside < least:
            return False
    return True


# -- growth --------------------------------------------------------------------------------


def sauer_bound(n: int, vc: int) -> int:
    """Most dichotomies of n points by a class of VC dimension vc: sum of C(n, i), i <= vc."""
    if n < 0 or vc < 0:
        raise ValueError(f"n and the VC dimension must not be negative, got {n} and {vc}")
    term = total = 1
    for i in range(min(n, vc)):
        term = term * (n - i) // (i + 1)
        total += term
    return total


def log2_growth(n: int, vc: int) -> float:
    """log2 of :func:`sauer_bound`, rounded up a little; of VC dimensions above 1000 a bound on it.

    That is n, or n H(vc / n) bits of entropy for vc < n / 2: with p = vc / n each of the sum's
    terms is at most p^-vc (1 - p)^(vc - n) times its share of the binomial law.  It exceeds the
    log by at most 1/2 log2(8 vc).
    """
    if vc <= _EXACT:
        number = sauer_bound(n, vc)  # of any size: its logarithm is rounded up a little
        shift = max(0, number.bit_length() - 64)
        return shift + math.log2((number >> shift) + (1 if shift else 0)) + 1e-9
    if n <= 2 * vc:
        return float(n)
    bits = vc * math.log2(n / vc) - (n - vc) * math.log1p(-vc / n) / math.log(2)
    return bits * (1 + 1e-12)


def combined_vc_bound(vc: int, k: int) -> int:
    """VC dimension of unions or intersections of k concepts of a class of VC dimension vc.

    Exact arithmetic: the largest N with Sauer(n, vc)^k >= 2^n for all n <= N, since no N + 1 points
    are then shattered, and so no more either.  Textbook: 2 vc k log2(3 k) (Blumer et al. 1989,
    lemma 3.2.3), usually written O(vc k log k).
    """
    check_count("k", k)
    n = 1
    while sauer_bound(n, vc) ** k >= 1 << n:
        n += 1
    return n - 1


# -- examples that suffice, and that are needed --------------------------------------------


def consistent_size(vc: int, alpha: float, beta: float) -> int:
    """n with which every consistent concept has error at most alpha, with probability 1 - beta.

    The least n >= 8/alpha with 2 Sauer(2n, vc) 2^(-alpha n / 2) <= beta (Blumer et al. 1989,
    theorem 2.1).  Textbook: max(4/alpha log2(2/beta), 8 vc/alpha log2(13/alpha)), never less.

    Raises
    ------
    ValueError
        If alpha or beta is not in (0, 1), or vc < 0.
    """
    check_open_unit(alpha=alpha, beta=beta)

    def enough(n: int) -> bool:
        return 1 + log2_growth(2 * n, vc) - alpha * n / 2 <= math.log2(beta)

    # beyond 2 vc / (alpha ln 2) the left side decreases, so the first n that is found by halving
    # is the least; any n at which it holds is valid
    return least_count(enough, above=math.ceil(8 / alpha) - 1)


def deviation(n: int, vc: int, beta: float) -> float:
    """How far errors on n examples and on new ones are apart, of all concepts, but for beta.

    sqrt(8 ln(4 Sauer(2n, vc) / beta) / n): P(some are further apart than a) <= 4 Sauer(2n, vc)
    exp(-n a^2 / 8) (Vapnik, Chervonenkis 1971).  For twice the chance that two samples differ by
    a/2 bounds it where n a^2 >= 2, which holds here, and examples of both are swapped by fair coins
    (Hoeffding, for each of Sauer(2n, vc) labellings).

    Raises
    ------
    ValueError
        If n < 1, vc < 0, or beta is not in (0, 1).
    """
    check_open_unit(beta=beta)
    log = math.log(2) * log2_growth(2 * check_count("n", n), vc) + math.log(4 / beta)
    return math.sqrt(8 * log / n)


def agnostic_size(vc: int, alpha: float, beta: float) -> int:
    """n with which the best concept on the sample errs by at most alpha more than the best there
    is, with probability 1 - beta: the least found with twice :func:`deviation` at most alpha.

    Raises
    ------
    ValueError
        If alpha or beta is not in (0, 1), or vc < 0.
    """
    check_open_unit(alpha=alpha, beta=beta)
    return least_count(lambda n: 2 * deviation(n, vc, beta) <= alpha)


def lower_bound_size(vc: int, alpha: float, beta: float) -> int:
    """n below which no learner has error at most alpha with probability 1 - beta on every target.

    max of (vc - 1)/(32 alpha) and (1 - alpha)/alpha ln(1/beta): Ehrenfeucht, Haussler, Kearns,
    Valiant 1989, theorem 1, for a class of VC dimension at least 2 in the first and with two
    concepts that agree on a point and differ on another in the second.

    Raises
    ------
    ValueError
        Unless 0 < alpha <= 1/8 and 0 < beta <= 1/100, where the theorem holds.
    """
    if not (0 < alpha <= 1 / 8 and 0 < beta <= 1 / 100):
        raise ValueError(
            f"the bound holds for alpha up to 1/8 and beta up to 1/100, got {alpha} and {beta}"
        )
    return math.ceil(max((vc - 1) / (32 * alpha), (1 - alpha) / alpha * math.log(1 / beta)))
