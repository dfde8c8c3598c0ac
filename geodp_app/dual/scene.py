"""Marks on a sheet: chosen dual points, the sampler's boxes, and what to look at.

Frame: grid units of the dual plane (:mod:`geodp_app.dual.sheets`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from geodp_app.dual.lines import ExampleLines, distances
from geodp_app.dual.sheets import Window, dual_position, extent, region
from geometry.halfplane import HalfplaneLattice, Sheet
from learners.core.records import Piece
from learners.core.selection import HeavyBox

#: A neighbourhood shows about so many lines.
_NEAR_LINES = 60
#: Without examples it is this share of the sheet, on each side.
_NEAR_SHARE = 1 / 32
#: No window is smaller than so many lattice steps.
LEAST_STEPS = 16


@dataclass(frozen=True, slots=True)
class Mark:
    """A chosen dual point.

    Attributes
    ----------
    step : int
        From 1.
    edge, edges : int
        Place of the halfplane in its piece, from 0, and how many it has.
    sheet : Sheet
    u, v : float
        Grid units.
    age : int
        Steps since; 0 for the newest piece.
    whole : bool
        Whether all pieces are shown alike.
    """

    step: int
    edge: int
    edges: int
    sheet: Sheet
    u: float
    v: float
    age: int
    whole: bool = False

    @property
    def text(self) -> str:
        """Its number; the newest also says which edge it is, when there are three."""
        if self.whole and self.edges > 1:
            return f"{self.step}.{self.edge + 1}"
        if self.age == 0 and self.edges > 1:
            return f"{self.step}, edge {self.edge + 1}"
        return str(self.step)


def chosen_marks(
    pieces: Sequence[Piece], first: int = 1, *, whole: bool = False
) -> tuple[Mark, ...]:
    """Marks of the pieces, oldest first; the last piece is the newest.

    Parameters
    ----------
    pieces : sequence of tuple of Halfplane
    first : int
        Step of the first piece.
    whole : bool
        All alike: none is the newest.
    """
    return tuple(
        Mark(
            *(i + first, edge, len(piece), halfplane.sheet, *dual_position(halfplane)),
            age=len(pieces) - 1 - i + whole,
            whole=whole,
        )
        for i, piece in enumerate(pieces)
        for edge, halfplane in enumerate(piece)
    )


def newest_mark(marks: Sequence[Mark], sheet: Sheet, edge: int = 0) -> Mark | None:
    """The newest mark on a sheet; of several, that of the edge or else the first."""
    here = [mark for mark in marks if mark.sheet == sheet]
    return min(here, key=lambda m: (m.age, m.edge != edge, m.edge), default=None)


def nearest_mark(
    marks: Sequence[Mark],
    pixels: NDArray[np.float64],
    at: tuple[float, float],
    radius: float,
) -> Mark | None:
    """The mark whose pixel, one row of `pixels` each, is nearest; None beyond the radius."""
    if not len(marks):
        return None
    gaps = np.hypot(pixels[:, 0] - at[0], pixels[:, 1] - at[1])
    # of marks at one place the newest, which lies on top
    best = min(range(len(marks)), key=lambda i: (gaps[i], marks[i].age))
    return marks[best] if gaps[best] <= radius else None


def neighbourhood(
    lattice: HalfplaneLattice,
    mark: Mark,
    lines: ExampleLines | None,
) -> Window:
    """A window around a mark in which single lines can be told apart.

    Parameters
    ----------
    lattice : HalfplaneLattice
    mark : Mark
    lines : ExampleLines or None
        None where the size must not depend on private data.
    """
    whole, unit = extent(lattice), 1 << lattice.bits
    most = whole.width * _NEAR_SHARE
    ratio = 1.0 if lattice.measure == "chord" else 1 / lattice.d
    radius = most
    if lines is not None and len(lines) > _NEAR_LINES:
        gaps = distances(lattice, *lines.on(mark.sheet), mark.u, mark.v)
        radius = float(np.partition(gaps, _NEAR_LINES)[_NEAR_LINES])
    radius = max(min(radius, most), LEAST_STEPS / 2 / unit)
    high = max(radius * ratio, LEAST_STEPS / 2 / unit)
    return Window(mark.u - radius, mark.u + radius, mark.v - high, mark.v + high)


def boxes_on(
    views: Sequence[HeavyBox], sheet: Sheet, unit: int
) -> tuple[tuple[tuple[float, float, float, float], float], ...]:
    """Rectangles (u0, u1, v0, v1) on a sheet with an opacity in 0..1, the lightest first.

    `unit`: lattice units in one of the grid.
    """
    most = max((view.share for view in views), default=0.0)
    if most <= 0:
        return ()
    found = [
        ((u0 / unit, u1 / unit, v0 / unit, v1 / unit), 0.15 + 0.85 * view.share / most)
        for view in views
        for number, (u0, u1, v0, v1) in zip(view.sheets, view.rectangles, strict=True)
        if number == sheet
    ]
    return tuple(sorted(found, key=lambda item: item[1]))


def region_in(lattice: HalfplaneLattice, window: Window) -> tuple[BaseGeometry, BaseGeometry]:
    """The admitted region's part in a window, and the rest of the window."""
    box = shapely.box(window.u0, window.v0, window.u1, window.v1)
    whole = region(lattice)
    return whole.intersection(box), box.difference(whole)
