"""How often outlines cross, counted no further than a limit.

What a union of polygons costs grows with the points in which their outlines cross, and n edges
can cross n^2 / 4 times: a file of 200 kB may ask for hours and gigabytes.  Counting first, and
stopping at the limit, costs about n log n.  Candidates are pairs whose boxes meet (an STR tree);
signs of determinants in doubles decide, which is exact enough to count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

#: Edges asked for their neighbours at a time: each may have all others, 16 bytes a pair.
_BLOCK = 64


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
    x1, y1, x2, y2 = edges.T
    boxes = shapely.box(
        np.minimum(x1, x2), np.minimum(y1, y2), np.maximum(x1, x2), np.maximum(y1, y2)
    )
    tree = shapely.STRtree(boxes)
    count = 0
    for start in range(0, len(edges), _BLOCK):
        found: NDArray[Any] = tree.query(boxes[start : start + _BLOCK])
        first, second = found[0] + start, found[1]
        keep = first < second
        count += int(_cross(edges[first[keep]], edges[second[keep]]).sum())
        if count > limit:
            break
    return count


def edges_of(shapes: Sequence[BaseGeometry]) -> NDArray[np.float64]:
    """Edges, shape (n, 4), of all rings of polygons and multipolygons."""
    ends, ring = shapely.get_coordinates(shapely.get_rings(shapes), return_index=True)
    same = ring[1:] == ring[:-1]
    edges: NDArray[np.float64] = np.hstack([ends[:-1], ends[1:]])[same]
    return edges


def _cross(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.bool_]:
    a, b, c, d = one[:, :2], one[:, 2:], other[:, :2], other[:, 2:]
    apart: NDArray[np.bool_] = _side(a, b, c) * _side(a, b, d) < 0
    return apart & (_side(c, d, a) * _side(c, d, b) < 0)


def _side(
    a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]
) -> NDArray[np.float64]:
    turn = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    return np.sign(turn)
