"""Dichotomies, shattering, VC dimension and growth functions.

A class is a bool matrix, one row a concept, one column a point.  Its *dichotomies* on some points
are the distinct rows of those columns; it *shatters* m points if there are 2^m of them; its VC
dimension is the most points that it shatters (Vapnik, Chervonenkis 1971).

* A finite class: :func:`vc_dimension`, exactly, by a search over sets that grow point by point,
  and only as long as every labelling of them keeps enough concepts.  The problem is hard in general
  (Papadimitriou, Yannakakis 1996), so the work is limited and what exceeds it is refused.
* The Sauer-Shelah bound, and from it the growth of unions and intersections of k concepts, which
  combine k dichotomies: at most Sauer(n, v)^k (KMMS section 2; Blumer, Ehrenfeucht, Haussler,
  Warmuth 1989, lemma 3.2.3).  A class that does not reach 2^n dichotomies on n points has VC
  dimension below n; :func:`vc_from_growth` finds the least such n.  This is exact arithmetic,
  where the textbook writes O(v k log k).
* Halfspaces: Cover's count (1965), and the dichotomies of given points of the plane.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Words that are looked at before a class is called too large: half a minute at most.
MOST_WORK = 1_000_000_000

#: Largest coordinate of points whose dichotomies are counted.
_FURTHEST = 1 << 29


def as_class(concepts: ArrayLike) -> NDArray[np.bool_]:
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


def dichotomies(concepts: ArrayLike, points: Sequence[int] | None = None) -> NDArray[np.bool_]:
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
    search = _Search(matrix, sorted(first.tolist()), most_work)
    best: tuple[int, ...] = ()
    # 2^m concepts are needed to shatter m points
    for target in range(1, len(matrix).bit_length()):
        found = search.find(target)
        if found is None:
            break
        best = found
    return best


class _Search:
    """Depth first, with concepts as the bits of whole numbers.

    Points chosen so far cut the concepts into cells, one a labelling.  To shatter t points, s of
    them must leave 2^(t - s) concepts in every cell.  A point that fails so with a set fails with
    all larger sets, for one of the parts of a small cell is small.
    """

    def __init__(self, matrix: NDArray[np.bool_], points: list[int], most_work: int) -> None:
        self._shape = matrix.shape
        packed = np.packbits(matrix[:, points], axis=0, bitorder="little").T
        numbers = (int.from_bytes(row.tobytes(), "little") for row in packed)
        self._ones = dict(zip(points, numbers, strict=True))
        self._words = -(-len(matrix) // 64)
        self._work, self._most = 0, most_work

    def find(self, target: int) -> tuple[int, ...] | None:
        """Points that are shattered, so many; None if there are none."""
        return self._extend((), [(1 << self._shape[0]) - 1], list(self._ones), target)

    def _extend(
        self, chosen: tuple[int, ...], cells: list[int], candidates: list[int], target: int
    ) -> tuple[int, ...] | None:
        if len(chosen) == target:
            return chosen
        self._spend(len(candidates) * len(cells) * self._words, target)
        least = 1 << (target - len(chosen) - 1)
        good = [p for p in candidates if _cuts(cells, self._ones[p], least)]
        for i, point in enumerate(good):
            if len(chosen) + len(good) - i < target:
                return None
            ones = self._ones[point]
            parts = [part for cell in cells for part in (cell & ones, cell & ~ones)]
            found = self._extend((*chosen, point), parts, good[i + 1 :], target)
            if found is not None:
                return found
        return None

    def _spend(self, work: int, target: int) -> None:
        self._work += work
        if self._work > self._most:
            raise ValueError(
                f"the class is too large: with {self._shape[0]} distinct concepts on "
                f"{self._shape[1]} points, whether {target} of them are shattered takes more than "
                f"{self._most:,} units of work ({target - 1} are); use fewer points, or raise "
                "most_work"
            )


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


def combined_growth(n: int, vc: int, k: int) -> int:
    """Most dichotomies of n points by unions, or by intersections, of k concepts: Sauer^k."""
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    return int(sauer_bound(n, vc) ** k)


def vc_from_growth(growth: Callable[[int], int]) -> int:
    """Bound on the VC dimension: the largest N such that growth(n) >= 2^n for all n <= N.

    With growth(N + 1) < 2^(N + 1) no N + 1 points are shattered, and so no more either.
    The growth must be below 2^n in the end.
    """
    n = 1
    while growth(n) >= 1 << n:
        n += 1
    return n - 1


def combined_vc_bound(vc: int, k: int) -> int:
    """VC dimension of unions or intersections of k concepts of a class of VC dimension vc.

    Exact arithmetic: the largest N with Sauer(N, vc)^k >= 2^N.  Textbook: O(vc k log k), see
    :func:`textbook_vc_bound`.
    """
    return vc_from_growth(lambda n: combined_growth(n, vc, k))


def textbook_vc_bound(vc: int, k: int) -> float:
    """2 vc k log2(3 k): Blumer et al. 1989, lemma 3.2.3; usually written O(vc k log k)."""
    return 2 * vc * k * math.log2(3 * k)


# -- halfspaces ----------------------------------------------------------------------------


def halfspace_growth(n: int, dimension: int = 2) -> int:
    """Most dichotomies of n points by halfspaces: 2 sum of C(n - 1, i), i <= dimension.

    Attained in general position (Cover 1965); in the plane n^2 - n + 2.  A class of halfspaces
    has VC dimension dimension + 1.
    """
    if n < 1:
        return 1
    return 2 * sauer_bound(n - 1, dimension)


def combined_halfspaces_vc_bound(count: int, dimension: int = 2) -> int:
    """VC dimension of classes made of `count` halfspaces by a fixed rule, such as and, or.

    k triangles are 3k halfplanes, a convex polygon of k edges is k of them.  The largest N with
    halfspace_growth(N)^count >= 2^N: Cover's count is less than Sauer's bound.
    """
    if count < 1:
        raise ValueError(f"there must be at least one halfspace, got {count}")
    return vc_from_growth(lambda n: int(halfspace_growth(n, dimension) ** count))


def halfplane_dichotomies(points: ArrayLike) -> frozenset[int]:
    """The sets of points that closed halfplanes cut out, whatever their position; exact.

    Every cut can be turned until its border holds two of the points, unless it takes all or
    none; then those on the border are taken from one end up to some place, or not at all.

    Parameters
    ----------
    points : array of int, shape (n, 2)
        Distinct; |coordinates| at most 2^29.

    Returns
    -------
    frozenset of int
        Bit i stands for point i; O(n^2) sets, O(n^3) operations.

    Raises
    ------
    ValueError
        If points coincide, or are no pairs of such whole numbers.
    """
    xy = np.asarray(points)
    if xy.size == 0:
        return frozenset({0})
    if xy.ndim != 2 or xy.shape[1] != 2 or xy.dtype.kind not in "iu":
        raise ValueError(f"points must be whole numbers of shape (n, 2), got {xy.dtype} {xy.shape}")
    # products of differences, and differences of these, then fit into 64 bits
    if int(xy.max()) > _FURTHEST or int(xy.min()) < -_FURTHEST:
        raise ValueError(f"coordinates must lie within {_FURTHEST} of 0")
    xy = xy.astype(np.int64)
    n = len(xy)
    if len(np.unique(xy, axis=0)) < n:
        raise ValueError("two of the points coincide")
    full = (1 << n) - 1
    found = {0, full}
    for i, j in combinations(range(n), 2):
        along = xy[j] - xy[i]
        side = along[0] * (xy[:, 1] - xy[i, 1]) - along[1] * (xy[:, 0] - xy[i, 0])
        left = sum(1 << int(p) for p in np.flatnonzero(side > 0))
        border = np.flatnonzero(side == 0)
        ordered = border[np.argsort(xy[border] @ along)]
        taken, whole = 0, sum(1 << int(p) for p in border)
        for p in (None, *ordered.tolist()):
            taken |= 0 if p is None else 1 << p
            for cut in (left | taken, left | whole ^ taken):
                found |= {cut, full ^ cut}
    return frozenset(found)


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
    _check_open_unit(alpha, beta)

    def enough(n: int) -> bool:
        log2_growth = _log2(sauer_bound(2 * n, vc))
        return 1 + log2_growth - alpha * n / 2 <= math.log2(beta)

    low = math.ceil(8 / alpha) - 1
    high = low + 1
    # beyond 2 vc / (alpha ln 2) the left side decreases, so the first n that is found by halving
    # is the least; any n at which it holds is valid
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


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


def _log2(number: int) -> float:
    """log2 of a whole number of any size, rounded up a little."""
    shift = max(0, number.bit_length() - 64)
    return shift + math.log2((number >> shift) + (1 if shift else 0)) + 1e-9


def _check_open_unit(alpha: float, beta: float) -> None:
    if not (0 < alpha < 1 and 0 < beta < 1):
        raise ValueError(f"alpha and beta must lie strictly between 0 and 1, got {alpha}, {beta}")
