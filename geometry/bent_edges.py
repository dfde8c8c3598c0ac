"""Edges that bend from one system to another, cut into parts that are true to a tolerance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

#: Edges get no more vertices where there would be more than so many.
_MOST = 2_000_000
#: An edge is halved at most so often.
_HALVINGS = 26

Array = NDArray[np.float64]
#: Points (n, 2) of one system in another, NaN where it does not reach.
Move = Callable[[Array], Array]
#: How far edges are off, shape (n,), at a share of their length: of their ends p, p1 here and
#: q, q1 there.
Off = Callable[[Array, Array, Array, Array, float], Array]


def bent(
    xy: Array, ring_of: NDArray[np.int64], move: Move, off: Off, tolerance: float, fixed: Array
) -> tuple[Array, NDArray[np.int64], bool]:
    """Rings in another system, with vertices put in where edges would be off.

    Parameters
    ----------
    xy : ndarray, shape (n, 2)
        Vertices of closed rings, one ring after the other.
    ring_of : ndarray of int, shape (n,)
        The number of each vertex's ring, from 0 up.
    move : callable
    off : callable
    tolerance : float
        In the unit of `off`.
    fixed : ndarray, shape (n, 2)
        Where vertices lie there; NaN of those that move.

    Returns
    -------
    there : ndarray, shape (m, 2)
    ring_of : ndarray of int, shape (m,)
    true : bool
        Whether all edges are.
    """
    there = np.where(np.isnan(fixed), move(xy), fixed)
    waiting = np.r_[ring_of[1:] == ring_of[:-1], False]
    true = False
    for _ in range(_HALVINGS):
        at = np.flatnonzero(waiting)
        p, p1, q, q1 = xy[at], xy[at + 1], there[at], there[at + 1]
        reached = np.isfinite(q + q1).all(axis=1)
        far = np.maximum(off(p, p1, q, q1, 0.5), off(p, p1, q, q1, 0.25))
        # NaN is not; a vertex that is there twice, at a pole, is no edge
        split = ~(far <= tolerance) & reached & (p != p1).any(axis=1)
        true = not split.any()
        at = at[split]
        if true or len(xy) + len(at) > _MOST:
            break
        middle = (xy[at] + xy[at + 1]) / 2
        waiting[:] = False
        waiting[at] = True
        xy = np.insert(xy, at + 1, middle, axis=0)
        there = np.insert(there, at + 1, move(middle), axis=0)
        waiting = np.insert(waiting, at + 1, True)
        ring_of = np.insert(ring_of, at + 1, ring_of[at])
    return there, ring_of, true
