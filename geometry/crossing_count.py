"""Counts how often outlines cross, no further than a limit.

What a union of polygons costs grows with the points in which their outlines cross, and n edges
can cross n^2 / 4 times: a file of 200 kB may ask for hours and gigabytes.  A line sweeps over the
edges, along the axis on which fewer of them lie side by side, and each is tried with those that lie
beside it; signs of determinants in doubles decide, which is exact enough to count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry


def crossings_up_to(limit: int, edges: NDArray[np.float64]) -> int:
    """Proper crossings among edges, or more than `limit` if there are more.

    Parameters
    ----------
    limit : int
    edges : ndarray of float, shape (n, 4)
        x1, y1, x2, y2 in any frame.  Edges that share an end do not cross.

    Returns
    -------
    int
        The count; beyond `limit` it is only known to be larger than that.
    """
    from geometry.crossing_loop import swept  # compiled: loaded where it is needed

    sweeps = []
    for axis in (0, 1):
        ends = edges[:, [axis, 1 - axis, axis + 2, 3 - axis]]
        ends = np.where(ends[:, :1] <= ends[:, 2:3], ends, ends[:, [2, 3, 0, 1]])
        ends = ends[np.argsort(ends[:, 0])]
        beside = np.searchsorted(ends[:, 0], ends[:, 2], side="right")
        sweeps.append((int(beside.sum()), axis, ends, beside))
    _, _, ends, beside = min(sweeps)
    return int(swept(limit, np.ascontiguousarray(ends), beside))


def edges_of(shapes: Sequence[BaseGeometry]) -> NDArray[np.float64]:
    """Edges, shape (n, 4), of all rings of polygons and multipolygons."""
    ends, ring = shapely.get_coordinates(shapely.get_rings(shapes), return_index=True)
    same = ring[1:] == ring[:-1]
    edges: NDArray[np.float64] = np.hstack([ends[:-1], ends[1:]])[same]
    return edges
