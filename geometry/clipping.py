"""Convex polygons with rational corners cut by lines, exactly and in integers.

Corners are homogeneous integers (U, V, W): one greatest common divisor a new corner, where
fractions would take one an operation.  Frames are the callers'.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

#: Integers (a, b, c) of a closed side a*u + b*v >= c.
Inequality = tuple[int, int, int]
#: A rational point (U/W, V/W) as integers (U, V, W) without common factor, W > 0.
Vertex = tuple[int, int, int]


def reduced(u: int, v: int, w: int) -> Vertex:
    """Homogeneous coordinates without their common factor; w > 0."""
    common = math.gcd(u, v, w)
    return u // common, v // common, w // common


def side(inequality: Inequality, vertex: Vertex) -> int:
    """Positive, zero or negative as a*u + b*v - c is at the vertex."""
    a, b, c = inequality
    return a * vertex[0] + b * vertex[1] - c * vertex[2]


def clip(vertices: Sequence[Vertex], inequality: Inequality) -> tuple[Vertex, ...]:
    """The part of a convex polygon in a closed halfplane (Sutherland and Hodgman 1974).

    Parameters
    ----------
    vertices : sequence of (U, V, W)
        Counterclockwise, each once.
    inequality : (a, b, c)

    Returns
    -------
    tuple of (U, V, W)
        Counterclockwise, each once, without common factors where they are new.  A polygon that
        only touches the line leaves the corner or the edge on it, one beyond it nothing.

    Notes
    -----
    The figure is convex and signs are exact: one pass is complete, and a corner on the line is
    met once and never twice.
    """
    sides = [side(inequality, vertex) for vertex in vertices]
    if min(sides, default=0) >= 0:
        return tuple(vertices)
    kept: list[Vertex] = []
    for i, (here, at) in enumerate(zip(vertices, sides, strict=True)):
        before, was = vertices[i - 1], sides[i - 1]
        if at * was < 0:
            # the combination on which the inequality is an equality
            high, low = (abs(was), abs(at))
            kept.append(reduced(*(high * p + low * q for p, q in zip(here, before, strict=True))))
        if at >= 0:
            kept.append(here)
    return tuple(kept)


def clip_area(vertices: Sequence[Vertex], inequality: Inequality) -> tuple[Vertex, ...]:
    """As :func:`clip`, but nothing where no area is left, of a polygon that has some."""
    # its corners span it, so some area is left if and only if a corner is strictly inside
    if any(side(inequality, vertex) > 0 for vertex in vertices):
        return clip(vertices, inequality)
    return ()
