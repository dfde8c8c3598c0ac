"""The cell of the arrangement of dual lines around one dual point (private)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp_app.dual.lines import ExampleLines, distances
from geodp_app.dual.sheets import Window
from geometry.clipping import Vertex, clip
from geometry.duality import dual_line
from geometry.halfplane import Halfplane, HalfplaneLattice

#: Lines are looked at in order of their distance, so many at a time.
_SOME = 64


def cell_around(
    lattice: HalfplaneLattice, lines: ExampleLines, halfplane: Halfplane, window: Window
) -> NDArray[np.float64]:
    """Corners of the cell that holds a halfplane's dual point, cut to a window.

    Halfplanes of one cell hold the same examples.  A point on a line belongs to the cell whose
    halfplanes hold that line's example (they are closed): below it, of an upper sheet.

    Parameters
    ----------
    lattice : HalfplaneLattice
    lines : ExampleLines
    halfplane : Halfplane
        Of the lattice's sheets.
    window : Window
        Grid units of the dual plane.

    Returns
    -------
    ndarray of float64, shape (m, 2)
        (u, v) in grid units, counterclockwise; no rows if the point is outside the window.
    """
    unit = 1 << lattice.bits
    place = halfplane.u / unit, halfplane.v / unit
    if not window.holds(*place):
        return np.empty((0, 2))
    u0, u1, v0, v1 = (round(e * unit) for e in (window.u0, window.u1, window.v0, window.v1))
    corners: tuple[Vertex, ...] = ((u0, v0, 1), (u1, v0, 1), (u1, v1, 1), (u0, v1, 1))
    upper = halfplane.sheet.upper
    t, s = lines.on(halfplane.sheet)
    gaps = distances(lattice, t, s, *place)
    stretch = 1.0 if lattice.measure == "chord" else float(lattice.d)
    order = np.argsort(gaps)
    for start in range(0, len(order), _SOME):
        if gaps[order[start]] > _radius(corners, place, unit, stretch):
            break
        for i in order[start : start + _SOME].tolist():
            a, b, c = dual_line(lattice, halfplane.sheet, (int(lines.x[i]), int(lines.y[i])))
            side = a * halfplane.u + b * halfplane.v - c
            sign = 1 if side > 0 or (side == 0 and not upper) else -1
            corners = clip(corners, (sign * a, sign * b, sign * c))
            if not corners:
                return np.empty((0, 2))
    return np.array([(u / w, v / w) for u, v, w in corners]) / unit


def _radius(
    corners: tuple[Vertex, ...], place: tuple[float, float], unit: int, stretch: float
) -> float:
    """How far the corners are from a place, as lines' distances are measured."""
    return max(
        max(abs(u / w / unit - place[0]), stretch * abs(v / w / unit - place[1]))
        for u, v, w in corners
    )
