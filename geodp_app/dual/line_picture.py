"""What a window shows of the dual lines: all of them, some of them, or how dense they are.

Drawing 2,000 lines takes 5 ms; 20,000 hide the plane and one another.  The choice is by what
crosses the window, so zooming in turns a density into lines and thinned lines into all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from geodp_app.dual.density import Density, count_lines, raster_over
from geodp_app.dual.lines import ExampleLines, Floats, Segments, cut, ends
from geodp_app.dual.shading import Scale, density_scale
from geodp_app.dual.sheets import Window
from geometry.halfplane import HalfplaneLattice, Sheet

#: At most so many distinct lines are drawn, and beyond so many a density is.
MOST_DRAWN, MOST_THINNED = 2_000, 20_000
#: Over a density so many of its lines are drawn, to see what it is made of.
SOME_DRAWN = 250

#: Cells along the longer side of a density.
CELLS = 256


@dataclass(frozen=True, slots=True)
class LinePicture:
    """Lines or a density in a window of one sheet.  Private.

    Attributes
    ----------
    window : Window
    positive, negative : ndarray of float64, shape (2 m, 2)
        End points (u, v), grid units, of the lines drawn, two by two.
    density : Density or None
    scale : Scale or None
        Range of the density.
    note : str
        What is shown, for the person.
    """

    window: Window
    positive: Floats
    negative: Floats
    density: Density | None
    scale: Scale | None
    note: str


def draw_lines(
    lattice: HalfplaneLattice,
    sheet: Sheet,
    lines: ExampleLines,
    window: Window,
    *,
    shown: tuple[bool, bool] = (True, True),
    stop: Callable[[], bool] = lambda: False,
) -> LinePicture | None:
    """The picture of a window.

    Parameters
    ----------
    lattice : HalfplaneLattice
    sheet : Sheet
    lines : ExampleLines
    window : Window
        Grid units.
    shown : (bool, bool)
        Whether lines of positive and of negative examples are wanted.
    stop : callable
        Asked now and then; when true the result is None.
    """
    t, s = lines.on(sheet)
    segments = _wanted(cut(lattice, t, s, window), lines, shown)
    crossing = len(segments.index)
    if crossing > MOST_THINNED:
        some = segments.index
        density = count_lines(
            lattice, t[some], s[some], lines.counts[some], raster_over(lattice, window, CELLS), stop
        )
        if density is None:
            return None
        note = f"{int(lines.counts[some].sum()):,} lines, {SOME_DRAWN} of them drawn"
        part = slice(SOME_DRAWN)
        few = Segments(some[part], segments.low[part], segments.high[part])
        drawn, positive = ends(lattice, t, s, few), np.repeat(lines.positive[few.index], 2)
        scale = density_scale(density.counts)
        return LinePicture(window, drawn[positive], drawn[~positive], density, scale, note)
    every = -(-crossing // MOST_DRAWN)
    if every > 1:  # a prefix of the scattered order is every so-manieth line, and stays when zoomed
        part = slice(crossing // every)
        segments = Segments(segments.index[part], segments.low[part], segments.high[part])
    drawn = ends(lattice, t, s, segments)
    positive = np.repeat(lines.positive[segments.index], 2)
    return LinePicture(
        window, drawn[positive], drawn[~positive], None, None, _note(crossing, every)
    )


def _wanted(segments: Segments, lines: ExampleLines, shown: tuple[bool, bool]) -> Segments:
    if all(shown):
        return segments
    positive = lines.positive[segments.index]
    kept = (positive & shown[0]) | (~positive & shown[1])
    return Segments(segments.index[kept], segments.low[kept], segments.high[kept])


def _note(crossing: int, every: int) -> str:
    if every > 1:
        return f"every {ordinal(every)} of {crossing:,} lines shown"
    if crossing == 0:
        return "no line here"
    return "1 line" if crossing == 1 else f"{crossing:,} lines"


def ordinal(number: int) -> str:
    """2nd, 3rd, 11th."""
    tens, ones = number // 10 % 10, number % 10
    ending = "th" if tens == 1 else {1: "st", 2: "nd", 3: "rd"}.get(ones, "th")
    return f"{number}{ending}"
