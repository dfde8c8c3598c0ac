"""Joints: how an outline passes from one side to the next where tiles' borders lie between them.

Two tiles' edges seldom meet at their border, so the outline has a jog there, or a tooth.  The shape
has none: borders are the learner's.  What leads along borders from the middle of one side to the
middle of the next gives way to the path, with corners on the old one, that has the least of

    (area between the paths) / u^2 + TURN_NATS * (how far it turns, in radians),

u^2 the area in which one nat is expected.  The first FREE_NATS between a straight piece and the old
path count little, an eighth: an edge is known worst at its ends, best in its middle, which is why
joints reach up to there.  A path that turns one way turns no farther than the two sides do; a jog
turns there and back.  So jogs and teeth go if they are small enough, and a corner stays.

Dynamic programming finds the least over the corners that :func:`joint` tries.  Nothing here is
exact or needs to be: a function of what is released (docs/privacy.md, lemmas 7 and 8).  What was
measured: docs/decisions/0035-joints.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: What a turn by a radian weighs, in nats.
TURN_NATS = 8.0

#: So many nats between a new straight piece and the old path are known not to be meant.
FREE_NATS = 2.0

#: What these count, until those beyond do.
FREE_WEIGHT = 1 / 8

#: A straight piece leaves at most this share of the square between it and the old path.
MOST_SHARE = 1 / 500

#: Corners are tried so far from the end of a side, in u.
_DISTANCES = 2.0 ** np.arange(-1, 6, 0.75)

#: Along borders corners are tried at most so many u apart, but for the next.
_STEP = 4.0

#: At most so many on one stretch along a border.
_MOST_STOPS = 8

#: A straight piece passes over at most so many corners: bounds the work.
_MOST_PASSED = 60


def joint(
    path: NDArray[np.float64], squares: NDArray[np.float64], sides: tuple[bool, bool], most: float
) -> NDArray[np.float64]:
    """The corners of the path that weighs least.

    Parameters
    ----------
    path : ndarray of float64, shape (m + 1, 2)
        From the middle of one side to the middle of the next, in grid units.
    squares : ndarray of float64, shape (m,)
        u^2 along each stretch of it, in square grid units.
    sides : tuple of bool
        Whether its first stretch, and its last, is of a side; else the outline begins, or ends,
        there.
    most : float
        A straight piece leaves at most this area between it and the old path.

    Returns
    -------
    ndarray of float64, shape (r, 2)
        With the two ends, but for one that lies on a side and is no corner.
    """
    points, stretch = stops_along(path, squares, sides)
    last = len(points) - 1
    # up to the one a piece lies on the first side alone, from the other on, on the second alone
    leaves = int(np.searchsorted(stretch, int(sides[0])))
    returns = int(np.searchsorted(stretch, len(squares) - int(sides[1])))
    before = _angle(path[1] - path[0]) if sides[0] else None
    after = _angle(path[-1] - path[-2]) if sides[1] else None

    # least[i][k]: up to point i + 1 + k, if the last piece begins at point i
    least: list[NDArray[np.float64]] = []
    angles: list[NDArray[np.float64]] = []
    came: list[NDArray[np.int64]] = []
    for i in range(last):
        ahead = points[i : i + _MOST_PASSED + 2]
        costs, turned = pieces_between(ahead, squares[stretch[i : i + len(ahead) - 1]], most)
        passed = np.arange(1, len(costs))
        # along a side there is one way
        costs[1:][(i + passed < leaves) | (i >= returns)] = np.inf
        if i == 0:
            reached = np.zeros((1, len(costs)))
            if before is not None:
                reached += TURN_NATS * _turns(before, turned)
            starts = np.array([-1])
        else:
            starts = np.arange(max(0, i - _MOST_PASSED - 1), i)
            to = np.array([least[h][i - 1 - h] for h in starts])
            along = np.array([angles[h][i - 1 - h] for h in starts])
            reached = to[:, None] + TURN_NATS * _turns(along[:, None], turned[None, :])
        chosen = reached.argmin(axis=0)
        least.append(reached[chosen, np.arange(len(costs))] + costs)
        angles.append(turned)
        came.append(starts[chosen])

    ends = np.arange(max(0, last - _MOST_PASSED - 1), last)
    totals = np.array([least[h][last - 1 - h] for h in ends])
    if after is not None:
        totals += TURN_NATS * _turns(after, np.array([angles[h][last - 1 - h] for h in ends]))
    visited = [last]
    start = int(ends[totals.argmin()])
    while start >= 0:
        at = visited[-1]
        visited.append(start)
        start = int(came[start][at - 1 - start])
    return points[_corners(visited[::-1], stretch, sides)]


def stops_along(
    path: NDArray[np.float64], squares: NDArray[np.float64], sides: tuple[bool, bool]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Corners that are tried, (n + 1, 2), and on which stretch each of them but the last begins."""
    found, stretch = [], []
    for i, square in enumerate(squares):
        begin, ahead = path[i], path[i + 1] - path[i]
        length, unit = float(np.hypot(*ahead)), float(np.sqrt(square))
        if length == 0:
            continue
        near = unit * _DISTANCES / length
        near = near[near < 1]
        if i == 0 and sides[0]:
            parts = np.concatenate([[0.0], 1 - near[::-1]])
        elif i == len(squares) - 1 and sides[1]:
            parts = np.concatenate([[0.0], near])
        else:
            count = min(_MOST_STOPS, int(length / (_STEP * unit)) + 1)
            parts = np.arange(count) / count
        found.append(begin + ahead * parts[:, None])
        stretch += [i] * len(parts)
    return np.vstack([*found, path[-1:]]), np.array(stretch)


def pieces_between(
    ahead: NDArray[np.float64], squares: NDArray[np.float64], most: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What straight pieces from the first of these points to each of the others weigh, without the
    turns, and their angles; the first of them lies on the old path."""
    vectors = ahead[1:] - ahead[0]
    lengths = np.hypot(*vectors.T)
    units = vectors / np.where(lengths > 0, lengths, 1.0)[:, None]
    lefts = np.stack([-units[:, 1], units[:, 0]], axis=1)
    # shape (points, pieces)
    places, heights = (ahead - ahead[0]) @ units.T, (ahead - ahead[0]) @ lefts.T
    widths = np.diff(places, axis=0)
    passed = np.arange(len(vectors))
    about = passed[:, None] <= passed
    total = np.zeros(len(vectors))
    for side in (heights, -heights):
        above = _area_above(side[:-1], side[1:]) * widths
        # what leads back over the same place is taken off
        total += np.abs(np.where(about, above, 0.0).sum(axis=0))
    nats = total / np.minimum.accumulate(squares)
    costs = np.maximum(FREE_WEIGHT * nats, nats - FREE_NATS)
    costs[(total > most) | (lengths == 0)] = np.inf
    costs[0] = 0.0
    return costs, np.arctan2(vectors[:, 1], vectors[:, 0])


def _area_above(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Over a line of length 1, under a stretch with ends at these heights over it."""
    high, low = np.maximum(left, right), np.minimum(left, right)
    fall = np.where(high > low, high - low, 1.0)
    crossing = np.where(high > 0, high, 0.0) ** 2 / (2 * fall)
    return np.where(low >= 0, (left + right) / 2, crossing)


def _angle(vector: NDArray[np.float64]) -> float:
    return float(np.arctan2(vector[1], vector[0]))


def _turns(one: NDArray[np.float64] | float, other: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far it is from one angle to the other, in radians."""
    return np.abs((other - one + np.pi) % (2 * np.pi) - np.pi)


def _corners(visited: list[int], stretch: NDArray[np.int64], sides: tuple[bool, bool]) -> list[int]:
    """Those of the visited points that are no stops on a stretch of the old path."""
    last = visited[-1]

    def stop(before: int, at: int, after: int) -> bool:
        return before == at - 1 and after == at + 1 and stretch[before] == stretch[at]

    found = [] if sides[0] and visited[1] == 1 else [0]
    found += [at for i, at in enumerate(visited[1:-1]) if not stop(visited[i], at, visited[i + 2])]
    return found if sides[1] and visited[-2] == last - 1 else [*found, last]
