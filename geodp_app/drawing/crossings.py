"""Where segments between grid points meet, decided in integers.

Candidates are pairs whose bounding boxes meet (an STR tree), so an outline of n edges costs about
n log n; signs of integer determinants decide.  A meeting is a proper crossing, an overlap of
positive length, or a touch: an end of one segment on the other.

Frame: grid units 0..2**20.  A turn is at most 2**40 in size and a difference of two 2**41, so
every product stays below 2**62.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

#: Kinds of meeting.
CROSS, OVERLAP, TOUCH = 1, 2, 3

#: Edges asked for their neighbours at a time: bounds the memory that a scribble takes.
_BLOCK = 256

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Meetings:
    """Pairs of segments that meet.

    Attributes
    ----------
    first, second : ndarray of int, shape (m,)
        Rows of the segments.
    kind : ndarray of int, shape (m,)
        CROSS, OVERLAP or TOUCH.
    at : ndarray of float, shape (m, 2)
        Where: the crossing rounded once, the middle of the overlap, or the touching end (exact).
    """

    first: Ints
    second: Ints
    kind: Ints
    at: NDArray[np.float64]

    @classmethod
    def joined(cls, parts: Sequence[Meetings]) -> Meetings:
        """The meetings of all parts."""
        none = np.zeros(0, dtype=np.int64)
        return cls(
            np.concatenate([none, *(part.first for part in parts)]),
            np.concatenate([none, *(part.second for part in parts)]),
            np.concatenate([none, *(part.kind for part in parts)]),
            np.concatenate([np.zeros((0, 2)), *(part.at for part in parts)]),
        )


def candidates(edges: Ints, following: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Pairs of segments that may meet beside where one follows the other, block by block.

    Parameters
    ----------
    edges : ndarray of int, shape (n, 4)
        x1, y1, x2, y2.
    following : ndarray of int, shape (n,)
        Row of the segment that begins where this one ends, or -1; such pairs are left out.

    Yields
    ------
    first, second : ndarray of int, shape (m,)
        Each pair once, first < second.
    """
    low, high = np.minimum(edges[:, :2], edges[:, 2:]), np.maximum(edges[:, :2], edges[:, 2:])
    boxes = shapely.box(low[:, 0], low[:, 1], high[:, 0], high[:, 1])
    tree = shapely.STRtree(boxes)
    for start in range(0, len(edges), _BLOCK):
        found: NDArray[Any] = tree.query(boxes[start : start + _BLOCK])
        first, second = found[0].astype(np.int64) + start, found[1].astype(np.int64)
        keep = (first < second) & (following[first] != second) & (following[second] != first)
        yield first[keep], second[keep]


def meetings(edges: Ints, first: Ints, second: Ints) -> Meetings:
    """Those of the given pairs of segments that meet.

    Parameters
    ----------
    edges : ndarray of int, shape (n, 4)
        x1, y1, x2, y2; none of length zero.
    first, second : ndarray of int, shape (m,)
        Rows of the pairs to look at.
    """
    ax, ay, bx, by = edges[first].T
    cx, cy, dx, dy = edges[second].T
    c_side = _turn(ax, ay, bx, by, cx, cy)
    d_side = _turn(ax, ay, bx, by, dx, dy)
    a_side = _turn(cx, cy, dx, dy, ax, ay)
    b_side = _turn(cx, cy, dx, dy, bx, by)

    kind = np.zeros(len(first), dtype=np.int64)
    at = np.zeros((len(first), 2))
    crossing = (np.sign(c_side) * np.sign(d_side) < 0) & (np.sign(a_side) * np.sign(b_side) < 0)
    kind[crossing] = CROSS
    # a + t (b - a) with t = a_side / (a_side - b_side): integers up to the one division, which
    # rounds once for Python's integers however large they are
    share, whole = a_side[crossing], (a_side - b_side)[crossing]
    for axis, start, way in ((0, ax, bx - ax), (1, ay, by - ay)):
        scaled = start[crossing] * whole + share * way[crossing]
        at[crossing, axis] = scaled.astype(object) / whole.astype(object)

    along = (c_side == 0) & (d_side == 0)
    for side, x, y, (x1, y1, x2, y2) in (
        (c_side, cx, cy, (ax, ay, bx, by)),
        (d_side, dx, dy, (ax, ay, bx, by)),
        (a_side, ax, ay, (cx, cy, dx, dy)),
        (b_side, bx, by, (cx, cy, dx, dy)),
    ):
        touching = (side == 0) & ~along & _within(x, y, x1, y1, x2, y2)
        kind[touching] = TOUCH
        at[touching] = np.stack([x, y], axis=1)[touching]
    rows = np.flatnonzero(along)
    kind[rows], at[rows] = _on_one_line(edges[first[rows]], edges[second[rows]])

    met = kind > 0
    return Meetings(first[met], second[met], kind[met], at[met])


def all_meetings(edges: Ints, following: Ints) -> Iterator[Meetings]:
    """All meetings of segments that do not follow one another, block by block."""
    for first, second in candidates(edges, following):
        yield meetings(edges, first, second)


def _turn(ax: Ints, ay: Ints, bx: Ints, by: Ints, cx: Ints, cy: Ints) -> Ints:
    """Twice the signed area of the triangle a, b, c."""
    return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)


def _within(x: Ints, y: Ints, x1: Ints, y1: Ints, x2: Ints, y2: Ints) -> NDArray[np.bool_]:
    """Whether points are in the boxes of segments."""
    across = (np.minimum(x1, x2) <= x) & (x <= np.maximum(x1, x2))
    inside: NDArray[np.bool_] = across & (np.minimum(y1, y2) <= y) & (y <= np.maximum(y1, y2))
    return inside


def _on_one_line(one: Ints, other: Ints) -> tuple[Ints, NDArray[np.float64]]:
    """Kind and place of the meetings of segments on common lines; kind 0 where they are apart."""
    low1, high1 = _ordered(one)
    low2, high2 = _ordered(other)
    low = np.where((_key(low1) >= _key(low2))[:, None], low1, low2)
    high = np.where((_key(high1) <= _key(high2))[:, None], high1, high2)
    length = _key(high) - _key(low)
    kind = np.where(length > 0, OVERLAP, np.where(length == 0, TOUCH, 0))
    return kind.astype(np.int64), (low + high) / 2


def _ordered(edges: Ints) -> tuple[Ints, Ints]:
    """Ends of segments, the lexicographically smaller first."""
    start, end = edges[:, :2], edges[:, 2:]
    swap = (_key(start) > _key(end))[:, None]
    return np.where(swap, end, start), np.where(swap, start, end)


def _key(points: Ints) -> Ints:
    """A number that orders points by x, then y: along a line, one way."""
    return points[:, 0] * (1 << 32) + points[:, 1]
