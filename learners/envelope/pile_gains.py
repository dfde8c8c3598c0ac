"""Bounds what a line gains that passes through piles of reports, about as many of either label.

A *pile* is some grid points within few steps of each other, with about as many examples of either
label.  A line that passes beside it holds all of it or nothing; one that passes through it, and few
lines do, may hold positives without negatives: :func:`gain_of` bounds by how much, for all lines of
a rectangle of dual points, and :mod:`learners.envelope.piled_lines` draws by that bound.

In each pile equal numbers of both labels are taken out, so that at most one label is left.  All are
integers; docs/privacy.md, lemma E6.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from geometry.arrays import Ints
from geometry.compiled_loops import inner, njit
from geometry.counting import coefficients
from geometry.grid_counts import GridCounts, settle_conflicts
from learners.envelope.close_pairs import as_many_of_both

#: Points of a pile are at most so many steps from the next one: the number that balances best.
_STEPS = 3, 6

#: Piles lie in at most so many of the cells of 1/64 of the square's side.
_CELLS, _MOST_CELLS = 64, 1024

#: So much of the rarer label lies in cells with as much of the other one, and in piles.
_MOSTLY = 0.5

#: So few points are bounded as well by themselves (:mod:`learners.envelope.target`).
_FEW_POINTS = 12

#: Points of a pile that are told apart by bits of a word.
_BITS = 62

#: Of so many sets that lines part from a pile all triples are looked at.
_FEW_WORDS = 64


class Piles(NamedTuple):
    """The examples that were taken out, by piles.

    Attributes
    ----------
    points : int64 array, shape (m, 3)
        x, y, and positives less negatives that were taken out there; pile after pile.
    begins : int64 array, shape (piles + 1,)
        The first point of each.
    corners : int64 array, shape (piles, 4)
        Least and greatest x, least and greatest y.
    least, most : int64 array, shape (piles,)
        x of a line through the pile is at least, and need not be more than that.
    """

    points: Ints
    begins: Ints
    corners: Ints
    least: Ints
    most: Ints


def find_piles(counts: GridCounts) -> tuple[Piles, GridCounts] | None:
    """The piles of a sample, and the examples that are not taken out; None where most of it does
    not lie in piles."""
    together = min(counts.positives, counts.negatives)
    if not together or counts.begins.sum() <= _FEW_POINTS:
        return None
    size = counts.d // _CELLS + 1
    cells = counts.points // size
    both = counts.by_group(cells[:, 0] * (_CELLS + 1) + cells[:, 1], (_CELLS + 1) ** 2)
    if (both.sum(axis=0) > 0).sum() > _MOST_CELLS or both.min(axis=0).sum() < _MOSTLY * together:
        return None
    net = settle_conflicts(counts)
    if not len(net):
        nothing = np.zeros((0, 3), np.int64)
        corners, none = np.zeros((0, 4), np.int64), np.zeros(0, np.int64)
        return Piles(nothing, np.zeros(1, np.int64), corners, none, none), net
    linked = [_linked(net, steps) for steps in _STEPS]
    points, amounts, taken, begins = min(linked, key=lambda one: np.abs(one[1] - one[2]).sum())
    if np.abs(amounts - taken).sum() > (1 - _MOSTLY) * 2 * together:
        return None
    rest = amounts - taken
    order = np.lexsort((points[:, 1], points[:, 0]))
    order = order[rest[order] != 0]
    left = GridCounts(counts.d, points[order], rest[order] > 0, np.abs(rest[order]))
    points = np.column_stack([points, taken])
    first = begins[:-1]
    corners = np.column_stack(
        [f.reduceat(points[:, axis], first) for axis in (0, 1) for f in (np.minimum, np.maximum)]
    )
    limits = [_limits(points[a:b]) for a, b in itertools.pairwise(begins)]
    least, most = np.array(limits, dtype=np.int64).T
    return Piles(points, begins, corners, least.copy(), most.copy()), left


def _linked(net: GridCounts, steps: int) -> tuple[Ints, ...]:
    """Points, pile after pile, their amounts, what of these is taken out, and where piles begin."""
    # loaded where there are piles: most runs have none
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    pairs = cKDTree(net.points).query_pairs(steps, p=np.inf, output_type="ndarray")
    links = coo_array((np.ones(len(pairs), bool), pairs.T), (len(net), len(net)))
    many, pile = connected_components(links, directed=False)
    order = np.argsort(pile, kind="stable")
    pile, amounts = pile[order], np.where(net.labels, net.amounts, -net.amounts)[order]
    begins = np.searchsorted(pile, np.arange(many + 1))
    # what is taken out of a pile sums to 0
    gained, lost = as_many_of_both((amounts.clip(0), (-amounts).clip(0)), begins[:-1], pile)
    return net.points[order], amounts, gained - lost, begins


def _limits(points: Ints) -> tuple[int, int]:
    """What x is at least of a line through a pile, and at most."""
    points = points[points[:, 2] != 0]
    if not len(points):
        return 0, 0
    runs = _runs(points)
    if len(points) > _BITS:
        return -(-runs // 2), runs
    words = parted(points)
    few = len(words) <= _FEW_WORDS
    gains = np.zeros(len(words), dtype=np.int64)
    least = _least(words, np.ascontiguousarray(points[:, 2]), gains, few)
    return max(int(least), 0 if few else -(-runs // 3)), int(gains.max(initial=0))


def _runs(points: Ints) -> int:
    """The most that a convex piece gains: points that follow each other in each column, or row."""
    totals = []
    for axis in (0, 1):
        order = np.lexsort((points[:, 1 - axis], points[:, axis]))
        total = best = run = 0
        line = None
        for *at, gain in points[order].tolist():
            if at[axis] != line:
                total, best, run, line = total + best, 0, 0, at[axis]
            run = max(run, 0) + gain
            best = max(best, run)
        totals.append(total + best)
    return min(totals)


def parted(points: Ints) -> Ints:
    """The sets of at most 62 points that a line parts from the others, as words, each once.

    Every set is cut off in a general direction, which may be taken near one in which two points
    are level.
    """
    xy = points[:, :2] - points[:, :2].min(axis=0)
    across = (xy[:, None] - xy[None]).reshape(-1, 2)
    across = across[across.any(axis=1)]
    if not len(across):
        return np.zeros(0, dtype=np.int64)
    across //= np.gcd(across[:, 0], across[:, 1])[:, None]
    across = np.unique(across, axis=0)
    # by the direction in which two points are level, and then along them, either way
    level = np.column_stack([-across[:, 1], across[:, 0]]) @ xy.T
    along = across @ xy.T
    wide = 2 * int(np.abs(along).max()) + 1
    order = np.argsort(level * wide + along, axis=1)
    words = np.bitwise_or.accumulate(np.int64(1) << order.astype(np.int64), axis=1)[:, :-1]
    return np.unique(words)


@njit(cache=True, nogil=True, error_model="numpy")
def _least(words, amounts, gains, three):
    """The least b for which what any two sets hold together gains no more than the sum of both
    sets' gains, each counted as b at least; or any three, too.  `gains` gets what each set gains.
    """
    # by bytes of a word
    sums = np.zeros((8, 256), dtype=np.int64)
    for byte in range(8):
        for bits in range(256):
            for i in range(8):
                if (bits >> i) & 1 and 8 * byte + i < len(amounts):
                    sums[byte, bits] += amounts[8 * byte + i]
    least = np.int64(0)
    for i in range(len(words)):
        gains[i] = _sum(sums, words[i])
    for i in range(len(words)):
        for j in range(i):
            both = words[i] & words[j]
            gain = _sum(sums, both)
            high, low = max(gains[i], gains[j]), min(gains[i], gains[j])
            if gain > max(high, least) + max(low, least):
                least = gain - high if gain <= 2 * high else (gain + 1) >> 1
            if not three:
                continue
            for k in range(j):
                gain = _sum(sums, both & words[k])
                if gain <= max(high, least) + max(low, least) + max(gains[k], least):
                    continue
                first, third = max(high, gains[k]), min(low, gains[k])
                second = high + low + gains[k] - first - third
                if gain - first - second <= second:
                    least = gain - first - second
                elif gain - first <= 2 * first:
                    least = (gain - first + 1) >> 1
                else:
                    least = (gain + 2) // 3
    return least


@inner
def _sum(sums, word):
    total = np.int64(0)
    for byte in range(8):
        total += sums[byte, (word >> (8 * byte)) & 255]
    return total


@inner
def gain_of(basis, piles, sheet, u0, u1, v0, v1):
    """(x, whether it may be less in parts) of the lines of a rectangle of dual points."""
    low_u, high_u, low_v, high_v = u0, u1 - 1, v0, v1 - 1
    if sheet & 1:
        low_u, high_u, low_v, high_v = high_u, low_u, high_v, low_v
    # the greatest halfplane and the smallest
    a, b, c = coefficients(basis, sheet, low_u, low_v)
    p, q, r = coefficients(basis, sheet, high_u, high_v)
    points, begins, corners = piles.points, piles.begins, piles.corners
    total, vague = np.int64(0), False
    for i in range(len(corners)):
        x0, x1, y0, y1 = corners[i, 0], corners[i, 1], corners[i, 2], corners[i, 3]
        if x0 == x1 and y0 == y1:
            continue
        if a * (x1 if a > 0 else x0) + b * (y1 if b > 0 else y0) < c:
            continue
        if p * (x0 if p > 0 else x1) + q * (y0 if q > 0 else y1) >= r:
            continue
        sure, some, inside, outside, unsure = np.int64(0), np.int64(0), False, False, False
        for k in range(begins[i], begins[i + 1]):
            x, y, gain = points[k, 0], points[k, 1], points[k, 2]
            if a * x + b * y < c:
                outside = True
            elif p * x + q * y >= r:
                inside = True
                sure += gain
            else:
                unsure = True
                some += max(gain, 0)
        if unsure or (inside and outside):
            vague |= unsure
            total += max(piles.least[i], min(piles.most[i], sure + some))
    return total, vague
