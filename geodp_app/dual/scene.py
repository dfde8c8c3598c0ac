"""Places the marks of the dual plane (chosen points, the sampler's boxes), and chooses windows onto
it and the sentences beside it.

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
from geodp_app.dual.sheets import (
    Scale,
    ShadeMode,
    dual_position,
    equation_words,
    number,
    region,
    sheet_words,
)
from geodp_app.runs.protocol import Window, extent
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from learners.core.records import Piece, TileStep
from learners.core.selection import HeavyBox

#: A neighbourhood shows about so many lines.
_NEAR_LINES = 60
#: Without examples it is this share of the sheet, on each side.
_NEAR_SHARE = 1 / 32
#: No window is smaller than so many lattice steps.
LEAST_STEPS = 16


@dataclass(frozen=True, slots=True)
class Mark:
    """A chosen dual point."""

    #: From 1.
    step: int
    #: Place of the halfplane in its piece, from 0, and how many it has.
    edge: int
    edges: int
    #: Where it lies, in grid units.
    sheet: Sheet
    u: float
    v: float
    #: Steps since; 0 for the newest piece.
    age: int
    #: Whether all pieces are shown alike.
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

    `first`: step of the first piece.  `whole`: all are alike, none is the newest.
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
    marks: Sequence[Mark], pixels: NDArray[np.float64], at: tuple[float, float], radius: float
) -> Mark | None:
    """The mark whose pixel, one row of `pixels` each, is nearest; None beyond the radius."""
    if not len(marks):
        return None
    gaps = np.hypot(pixels[:, 0] - at[0], pixels[:, 1] - at[1])
    # of marks at one place the newest, which lies on top
    best = min(range(len(marks)), key=lambda i: (gaps[i], marks[i].age))
    return marks[best] if gaps[best] <= radius else None


def neighbourhood(lattice: HalfplaneLattice, mark: Mark, lines: ExampleLines | None) -> Window:
    """A window around a mark in which single lines can be told apart.

    `lines`: None where the size must not depend on private data.
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


CELLS = "Every cell has one label: no halfplane is chosen, and there is no dual plane to draw"
_CHANGE = (
    "Colour: how much likelier (purple) or less likely (green) each place is with this one report."
)
_LINES = "Examples are lines, a halfplane is a point"
EMPTY = "Sample examples to see their dual lines"
_RELEASE = "Only the chosen points are shown: they are published."
EMPTY_RELEASE = "Nothing has been released yet: chosen points will appear here"
_NO_PROBABILITIES = (
    "No probabilities are known: the choice was not random, or rests on a tile's neighbours or on "
    "which examples were kept for a check."
)


@dataclass(frozen=True, slots=True)
class TileShown:
    """The tile whose dual plane is shown: its step, from 1, of how many tiles."""

    number: int
    tiles: int
    step: TileStep

    @property
    def name(self) -> str:
        """Which tile it is."""
        return self.step.tile.name or f"tile {self.number:,} of {self.tiles:,}"

    @property
    def title(self) -> str:
        """What a heading has room for."""
        return "this zone" if self.step.zone else self.name

    @property
    def place(self) -> str:
        """Where it lies, in the frame of the grid."""
        tile = self.step.tile
        box = f"x {tile.x0}–{tile.x1}, y {tile.y0}–{tile.y1}"
        return f"{self.name}: {box}" if self.step.zone else box

    @property
    def label(self) -> str:
        """Say which label the drawn piece gives inside it and which outside."""
        inside, outside = (1, 0) if self.step.inside else (0, 1)
        edges = len(self.step.piece)
        if not edges:
            whole = "the zone" if self.step.zone else "the tile"
            return f"No halfplane was chosen: all of {whole} is labelled {inside}."
        many = "halfplane" if edges == 1 else f"{edges} halfplanes"
        return f"Inside the {many} it is labelled {inside}, outside {outside}."

    @property
    def numbered(self) -> str:
        """What a sentence has room for."""
        return "this zone" if self.step.zone else f"tile {self.number:,}"


def reading_words(lattice: HalfplaneLattice) -> str:
    """How to read the sheets."""
    chord = lattice.measure == "chord"
    upper, lower = ("Above, Right", "Below, Left") if chord else ("Above", "Below")
    return f"{_LINES}. It holds examples whose lines lie above it ({upper}) or below ({lower})."


def shading_words(mode: ShadeMode, edge: int, edges: int) -> str:
    """What the colours answer."""
    others = {2: ", the other fixed", 3: ", the others fixed"}.get(edges, "")
    moved = f"edge {edge + 1}" if others else "it"
    if mode == "probability":
        given = f" for {moved}" if others else " to be chosen"
        return f"Colour: how likely each place was{given}{others}."
    return f"Colour: how good the piece would be with {moved} elsewhere{others}."


def released_words(tile: TileShown | None) -> tuple[str, str]:
    """What the release view says: how to read it, and where nothing is released."""
    if tile is None:
        return _RELEASE, EMPTY_RELEASE
    no_piece = "No halfplane in " + tile.numbered.replace(" ", "\u00a0")
    return f"{tile.label} {_RELEASE}", no_piece


def whole_words(marks: Sequence[Mark], *, release: bool) -> str:
    """What the dual plane of a whole run says; in the `release` view it has no lines."""
    example = next((mark for mark in marks if mark.edges == 3), None)
    which = (
        f": {example.text} is edge {example.edge + 1} of triangle {example.step}" if example else ""
    )
    if not marks:
        return "Every tile has a dual plane of its own: step to one to see it."
    lines = "" if release else "Each line is an example. "
    return f"{lines}Each numbered point is an edge that was chosen{which}."


def curator_words(
    lattice: HalfplaneLattice,
    tile: TileShown | None,
    mode: ShadeMode,
    shade: Scale | None,
    edge: int,
    edges: int,
) -> tuple[str, str]:
    """How to read lines and shading, and what is said without examples; `shade`: of the colours."""
    if shade is not None and shade.signed:
        words = _CHANGE
    elif mode == "off" or (shade is None and mode != "probability"):
        words = reading_words(lattice) if tile is None else f"{_LINES}."  # beside the tile's label
    else:
        words = _NO_PROBABILITIES if shade is None else shading_words(mode, edge, edges)
    if tile is None:
        return words, EMPTY
    return f"{tile.label} {words}", f"No examples in {tile.numbered}"


def hover_words(
    halfplane: Halfplane,
    digits: int,
    counts: tuple[int, int] | None = None,
    shade: tuple[Scale, float] | None = None,
) -> str:
    """The readout for the halfplane under the pointer.

    Parameters
    ----------
    halfplane : Halfplane
    digits : int
        After the point.
    counts : (int, int), optional
        Positive and negative examples in it; private.
    shade : (Scale, float), optional
        The value under the pointer and its scale; private.
    """
    name = sheet_words(halfplane.lattice, halfplane.sheet).name
    u, v = dual_position(halfplane)
    parts = [
        f"{name}: u = {number(u, digits)}, v = {number(v, digits)}",
        equation_words(halfplane, digits),
    ]
    if counts is not None:
        parts.append(f"holds {counts[0]:,} positive and {counts[1]:,} negative")
    if shade is not None:
        scale, value = shade
        unit = "" if scale.percent else " examples"
        kind = scale.label.split()[0]
        parts.append(f"{kind} {scale.text(value)}{unit}")
    return "  ·  ".join(parts)
