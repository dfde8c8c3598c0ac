"""Tells how one sheet, a chart of the dual plane, is drawn: its words, its region, windows onto it,
and the colours of its shading.

Frame: grid units, floats (lattice units / 2**bits; :mod:`geometry.halfplane`).  Floats only draw:
what is chosen or counted is decided on the lattice.

Shading (private) says how good a piece would be with one edge elsewhere: by exact cells for few
examples, else by a raster of exact scores (:class:`geodp_app.runs.protocol.ShadedSheet`).  Cells
carry their probability; of a raster only how likely a point is relative to the best one is known,
exp(nats * (score - best)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import Polygon

from geodp_app.runs.protocol import ShadedSheet, Window, extent
from geometry.arrays import Floats, Ints
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from learners.core.selection import SheetDensities


@dataclass(frozen=True, slots=True)
class SheetWords:
    """What a person reads on a sheet: its name, what a point is, what the axes are."""

    name: str
    meaning: str
    across: str
    up: str


_NAMES = {
    Sheet.FLAT_ABOVE: ("Above", "halfplanes above a line"),
    Sheet.FLAT_BELOW: ("Below", "halfplanes below a line"),
    Sheet.STEEP_RIGHT: ("Right", "halfplanes right of a steep line"),
    Sheet.STEEP_LEFT: ("Left", "halfplanes left of a steep line"),
}


def sheet_words(lattice: HalfplaneLattice, sheet: Sheet) -> SheetWords:
    """Words of a sheet in the lattice's measure."""
    name, meaning = _NAMES[sheet]
    if lattice.measure == "paper":
        return SheetWords(name, meaning, "height at the left edge, b", "slope of the line, a")
    if sheet.flat:
        return SheetWords(name, meaning, "height at the left edge", "height at the right edge")
    return SheetWords(name, meaning, "x at the bottom edge", "x at the top edge")


def region(lattice: HalfplaneLattice) -> Polygon:
    """The admitted dual points of any sheet, closed (:meth:`HalfplaneLattice.admits`)."""
    d = lattice.d
    if lattice.measure == "paper":
        e = extent(lattice)
        return shapely.box(e.u0, e.v0, e.u1, e.v1)
    return Polygon([(-d, 0), (0, 0), (0, -d), (2 * d, d), (d, d), (d, 2 * d)])


def nearest_halfplane(
    lattice: HalfplaneLattice, sheet: Sheet, u: float, v: float
) -> Halfplane | None:
    """The halfplane at the lattice point nearest to (u, v); None outside the region.

    On the border of the region, where rounding may leave it, the nearest of the four lattice
    points around is taken that is admitted.
    """
    unit = 1 << lattice.bits
    x, y = u * unit, v * unit
    if not (math.isfinite(x) and math.isfinite(y)):
        return None
    around = [(i, j) for i in (math.floor(x), math.ceil(x)) for j in (math.floor(y), math.ceil(y))]
    admitted = [point for point in around if lattice.admits(*point)]
    if not admitted or sheet not in lattice.sheets:
        return None
    nearest = min(admitted, key=lambda p: (p[0] - x) ** 2 + (p[1] - y) ** 2)
    return lattice.halfplane(sheet, *nearest)


def dual_position(halfplane: Halfplane) -> tuple[float, float]:
    """(u, v) of a halfplane in grid units."""
    unit = 1 << halfplane.lattice.bits
    return halfplane.u / unit, halfplane.v / unit


def boundary_ends(halfplane: Halfplane) -> tuple[float, float]:
    """Heights of the boundary at the two edges of the square; for steep sheets they run along x."""
    u, v = dual_position(halfplane)
    if halfplane.lattice.measure == "chord":
        return u, v
    return u, u + v * halfplane.lattice.d


def equation_words(halfplane: Halfplane, digits: int = 1) -> str:
    """The halfplane in words, such as ``y ≥ line from (0, 312.4) to (1024, 77.0)``."""
    d, (first, last) = halfplane.lattice.d, boundary_ends(halfplane)
    one, two = number(first, digits), number(last, digits)
    sign = "≥" if halfplane.sheet.upper else "≤"
    if halfplane.sheet.flat:
        return f"y {sign} line from (0, {one}) to ({d}, {two})"
    return f"x {sign} line from ({one}, 0) to ({two}, {d})"


def number(value: float, digits: int) -> str:
    """A number with that many digits after the point, with a true minus sign and no minus zero."""
    text = f"{value:,.{digits}f}"
    if float(text.replace(",", "")) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def digits_for(step: float) -> int:
    """Digits after the point that tell values `step` apart; 1 to 9."""
    if not step > 0:
        return 1
    return min(max(1, math.ceil(-math.log10(step))), 9)


ShadeMode = Literal["off", "score", "probability"]

#: Probabilities below the largest by this factor share the darkest colour.
_DECADES = 4
#: The streak of probability is where it is at least this share of the largest.
_STREAK = 1e-2


@dataclass(frozen=True, slots=True)
class Scale:
    """A range of values and the words on its colour bar."""

    low: float
    high: float
    logarithmic: bool
    #: Whether values read as percentages.
    percent: bool
    #: On the colour bar.
    label: str
    #: Whether nought is in the middle, and the colours go both ways from it.
    signed: bool = False

    def places(self, values: Floats) -> Floats:
        """Where values lie on the bar, clipped to 0..1; NaN stays."""
        low, high = self.low, self.high
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.logarithmic:
                values = np.log(np.maximum(values, low))
                low, high = math.log(low), math.log(high)
            shares: Floats = np.clip((values - low) / (high - low or 1.0), 0.0, 1.0)
        return shares

    def ticks(self) -> list[tuple[float, str]]:
        """(place on the bar, text) of values worth reading."""
        if self.logarithmic:
            first, last = math.floor(math.log10(self.low)), math.floor(math.log10(self.high))
            values = [10.0**e for e in range(first, last + 1) if 10.0**e >= self.low * 0.999]
        else:
            values = _round_values(self.low, self.high)
        places = self.places(np.array(values, dtype=np.float64))
        return [(float(p), self.text(v)) for p, v in zip(places, values, strict=True)]

    def text(self, value: float) -> str:
        """A value in words."""
        if self.percent:
            if 0 < value < 1e-6:
                return "< 0.0001 %"
            return f"{value * 100:.3g} %"
        step = (self.high - self.low) / 5
        return number(value, 0 if step >= 1 or self.logarithmic else 2)


def density_scale(counts: Ints) -> Scale:
    """Range of a density; logarithmic where a few cells hold most lines."""
    some = counts[counts > 0]
    most = int(some.max(initial=1))
    uneven = len(some) > 0 and most > 30 * float(np.median(some))
    return Scale(1.0 if uneven else 0.0, max(float(most), 2.0), uneven, False, "lines per cell")


def common_scale(scales: Sequence[Scale]) -> Scale | None:
    """One range for several densities; logarithmic if one of them needs it."""
    if not scales:
        return None
    low, high = max(s.low for s in scales), max(s.high for s in scales)
    return replace(scales[0], low=low, high=high, logarithmic=low > 0)


def shade_scale(
    sheets: Sequence[ShadedSheet], mode: ShadeMode, nats: float | None = None
) -> Scale | None:
    """The common range of all sheets; None when there is nothing to shade.

    `nats`: of the exponential mechanism, per example of score; a raster needs it for probabilities.
    """
    if mode == "off" or not sheets:
        return None
    values = [shade_values(sheet, mode, nats, best_score(sheets)) for sheet in sheets]
    finite = np.concatenate([v[np.isfinite(v)].ravel() for v in values])
    if not finite.size:
        return None
    high = float(finite.max())
    if mode == "score":
        low = float(finite.min())
        return Scale(low, high if high > low else low + 1, False, False, "score in examples")
    if high <= 0:
        return None
    low = max(float(finite.min()), high * 10.0**-_DECADES)
    exact = any(sheet.cells for sheet in sheets)
    label = "probability" if exact else "relative to the best"
    return Scale(min(low, high / 10), high, True, True, label)


def change_scale(eta: float) -> Scale:
    """The range of what one report can change: ln of the ratio of probabilities, -eta..eta."""
    return Scale(-eta, eta, False, False, "ln of with/without", signed=True)


def search_values(densities: SheetDensities) -> tuple[list[tuple[int, Floats]], Scale]:
    """Where a selection under way still looks, by sheet, relative to the most; and its range."""
    most = max((float(density.max(initial=0.0)) for _, density in densities), default=0.0) or 1.0
    relative = [
        (sheet, np.where(density > 0, density.astype(np.float64) / most, np.nan))
        for sheet, density in densities
    ]
    return relative, Scale(1e-3, 1.0, True, True, "still possible")


def best_score(sheets: Sequence[ShadedSheet]) -> float:
    """The largest score of a raster, in examples; 0 if there is none."""
    known = [s.scores[np.isfinite(s.scores)] for s in sheets if s.scores is not None]
    return max((float(scores.max()) for scores in known if scores.size), default=0.0)


def shade_values(
    sheet: ShadedSheet, mode: ShadeMode, nats: float | None = None, best: float = 0.0
) -> Floats:
    """Values of the cells, shape (m,), or of the raster, shape (r, r); NaN where none is known."""
    if sheet.cells:
        of_score = mode == "score"
        return np.array([cell.score if of_score else cell.probability for cell in sheet.cells])
    if sheet.scores is None:
        return np.empty(0)
    if mode == "score":
        return sheet.scores
    if nats is None:
        return np.full_like(sheet.scores, np.nan)
    likelihood: Floats = np.exp(nats * (sheet.scores - best))
    return likelihood


def colours(scale: Scale, values: Floats, ramp: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Colours with opacity, uint8 of shape (..., 4); NaN is clear.

    `ramp`: shape (256, 3): from the least to the greatest (:func:`geodp_app.palette.ramp`).
    """
    table = np.zeros((257, 4), dtype=np.uint8)
    table[:256, :3], table[:256, 3] = ramp, 255
    places = scale.places(values) * 255
    places[np.isnan(places)] = 256
    whole = table.view(np.uint32)[:, 0]  # one look-up a value, not one a channel
    shades: NDArray[np.uint8] = whole[np.rint(places).astype(np.intp), None].view(np.uint8)
    return shades


def to_the_border(values: Floats) -> Floats:
    """A raster to be drawn under what hides the outside of the region, shape (columns, rows).

    Nothing is known of a cell that the border cuts if its centre is outside: it takes the greatest
    value of the eight around it, or the border would have gaps.
    """
    around = np.pad(values, 1, constant_values=np.nan)
    columns, rows = values.shape
    shifts = [(i, j) for i in range(3) for j in range(3)]
    near = np.fmax.reduce([around[i : i + columns, j : j + rows] for i, j in shifts])
    return np.where(np.isnan(values), near, values)


@dataclass(frozen=True, eq=False)
class SheetValues:
    """What one sheet is coloured by, also under dual points."""

    shaded: ShadedSheet
    #: Of its cells, shape (m,), or of its raster, shape (r, r); NaN where none is known.
    values: Floats

    @cached_property
    def _cells(self) -> tuple[NDArray[np.intp], shapely.STRtree]:
        """Which cells are areas, and these by place."""
        outlines = [cell.outline for cell in self.shaded.cells]
        areas = np.flatnonzero([len(outline) >= 3 for outline in outlines])
        return areas, shapely.STRtree([shapely.Polygon(outlines[i]) for i in areas])

    def at(self, u: float, v: float) -> float | None:
        """The value at a dual point in grid units; None where none is known.

        On an edge it is that of one of the cells beside it.
        """
        if self.shaded.cells:
            areas, tree = self._cells
            found = tree.query(shapely.Point(u, v), predicate="intersects")
            return float(self.values[areas[found[0]]]) if len(found) else None
        if self.values.ndim != 2:
            return None
        window, (columns, rows) = self.shaded.window, self.values.shape
        i = math.floor((u - window.u0) / window.width * columns)
        j = math.floor((v - window.v0) / window.height * rows)
        if not (0 <= i < columns and 0 <= j < rows) or math.isnan(self.values[i, j]):
            return None
        return float(self.values[i, j])


def streak(sheet: ShadedSheet, nats: float | None, best: float) -> Window | None:
    """The window of a sheet that holds nearly all of its probability, with room around it.

    None where the sheet holds no probability, or none is known.  `nats` and `best`: as for
    :func:`shade_values`.
    """
    shares = shade_values(sheet, "probability", nats, best)
    if not shares.size or not np.nanmax(shares, initial=0.0) > 0:
        return None
    likely = shares >= _STREAK * np.nanmax(shares)
    if sheet.cells:
        corners = np.concatenate([sheet.cells[i].outline for i in np.flatnonzero(likely)])
        (u0, v0), (u1, v1) = corners.min(axis=0), corners.max(axis=0)
    else:
        window, (columns, rows) = sheet.window, shares.shape
        wide, high = window.width / columns, window.height / rows
        across, up = (np.flatnonzero(likely.any(axis=axis)) for axis in (1, 0))
        u0, u1 = window.u0 + wide * across[0], window.u0 + wide * (across[-1] + 1)
        v0, v1 = window.v0 + high * up[0], window.v0 + high * (up[-1] + 1)
    return Window(float(u0), float(u1), float(v0), float(v1)).grown(0.25)


def _round_values(low: float, high: float) -> list[float]:
    """Round values in low..high, four or so."""
    span = high - low
    step = 10.0 ** math.floor(math.log10(span / 3)) if span > 0 else 1.0
    step *= next(f for f in (1, 2, 5, 10) if span / (step * f) <= 5)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]
