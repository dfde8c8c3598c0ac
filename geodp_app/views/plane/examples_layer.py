"""Examples on the plane: symbols while there are few, one pixel a grid point when there are many.

Positives are discs, negatives rings, wrong ones crosses, those already decided small grey dots:
colour is never the only sign.  Above some ten thousand points a picture is the only thing that can
be panned smoothly; up to d = 2048 it has one pixel for each grid point and is exact, never binned.
Frame of a picture: row 0 is y = 0 (y up).  The one report that is looked at has a ring.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtGui import QImage

from geodp_app.dual.sheets import Window
from geodp_app.palette import Palette, load_palette
from geodp_app.runs.one_report import OneReport
from geodp_app.views.widgets.plotting import Dots, PictureItem, cosmetic, tinted

#: Largest side of a picture, in pixels; finer grids share pixels.
MAX_SIDE = 2049


class Kind(IntEnum):
    """What an example is, in the order in which later ones hide earlier ones."""

    DECIDED = 1  #: taken by an earlier step
    NEGATIVE = 2
    POSITIVE = 3
    WRONG = 4  #: the hypothesis so far says otherwise


@dataclass(frozen=True, slots=True)
class ExampleKinds:
    """Examples and what each is at one moment of a run: private.

    Attributes
    ----------
    points : ndarray of int64, shape (n, 2)
    kinds : ndarray of uint8, shape (n,)
        Values of Kind.
    labels : ndarray of bool, shape (n,)
    """

    points: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    labels: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        points: NDArray[np.int64],
        labels: NDArray[np.bool_],
        decided: NDArray[np.bool_] | None = None,
        wrong: NDArray[np.bool_] | None = None,
    ) -> ExampleKinds:
        """Classify the examples; before a run nothing is decided and nothing wrong."""
        # sums and products: a choice by a million truth values takes ten times as long
        kinds = np.uint8(Kind.NEGATIVE) + labels * np.uint8(Kind.POSITIVE - Kind.NEGATIVE)
        if decided is not None:
            kinds = kinds * ~decided + np.uint8(Kind.DECIDED) * decided
        if wrong is not None:
            kinds = np.maximum(kinds, np.uint8(Kind.WRONG) * wrong)
        return cls(points, kinds, labels)

    def chosen(self, kind: Kind, label: bool | None = None) -> NDArray[np.int64]:
        """Points of one kind (and label), shape (m, 2)."""
        mask = self.kinds == kind
        if label is not None:
            mask &= self.labels == label
        chosen: NDArray[np.int64] = self.points[mask]
        return chosen


def grid_places(points: NDArray[np.int64], d: int) -> NDArray[np.int64]:
    """Index of each example's pixel in the flat picture of the grid {0..d}^2, shape (n,)."""
    share, side = picture_scale(d)
    x, y = points.T if share == 1 else points.T // share
    places: NDArray[np.int64] = y * side + x
    return places


def picture_scale(d: int) -> tuple[int, int]:
    """(grid points along a pixel's side, pixels along the picture's side)."""
    share = -(-(d + 1) // MAX_SIDE)
    return share, -(-(d + 1) // share)


def picture(examples: ExampleKinds, d: int, places: NDArray[np.int64]) -> NDArray[np.uint8]:
    """What is at each pixel: a Kind, or 0 for nothing; uint8 of shape (side, side).

    Parameters
    ----------
    examples : ExampleKinds
    d : int
    places : ndarray of int64, shape (n,)
        Of the same points, see :func:`grid_places`.
    """
    _, side = picture_scale(d)
    codes = np.zeros(side * side, dtype=np.uint8)
    np.maximum.at(codes, places, examples.kinds)
    return codes.reshape(side, side)


#: Up to here symbols are drawn; more of them hide one another, and each frame takes longer.
MOST_SYMBOLS = 6_000

#: Sizes in pixels while there are few; with more of them they shrink to half.
_SIZES = {Kind.DECIDED: 3.0, Kind.NEGATIVE: 5.0, Kind.POSITIVE: 5.0, Kind.WRONG: 7.0}
_FEW = 1_500
_SYMBOLS = {Kind.DECIDED: "o", Kind.NEGATIVE: "o", Kind.POSITIVE: "o", Kind.WRONG: "x"}


class ExamplesLayer:
    """The examples' items in one plot."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        self._image = PictureItem()
        self._image.setZValue(z)
        self._scatters = {}
        plot.addItem(self._image, ignoreBounds=True)
        for kind in Kind:
            scatter = Dots(_SIZES[kind], _SYMBOLS[kind])
            scatter.setZValue(z + kind / 10)
            self._scatters[kind] = scatter
            plot.addItem(scatter)
        self._examples: ExampleKinds | None = None
        #: Points and the pixels they are on.
        self._places: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
        self._grid = 1

    def set_palette(self, palette: Palette) -> None:
        """Colours of the symbols."""
        clear = pg.mkBrush(None)
        pens = {
            Kind.DECIDED: pg.mkPen(None),
            Kind.NEGATIVE: cosmetic(palette.negative, 1.0),
            Kind.POSITIVE: pg.mkPen(None),
            Kind.WRONG: cosmetic(palette.danger, 1.1, alpha=0.85),
        }
        brushes = {
            Kind.DECIDED: pg.mkBrush(tinted(palette.soft_ink, 0.45)),
            Kind.NEGATIVE: clear,
            Kind.POSITIVE: pg.mkBrush(tinted(palette.positive, 0.85)),
            Kind.WRONG: clear,
        }
        for kind, scatter in self._scatters.items():
            scatter.setPen(pens[kind])
            scatter.setBrush(brushes[kind])
        self._colours = {
            Kind.DECIDED: _rgba(palette.soft_ink, 0.35),
            Kind.NEGATIVE: _rgba(palette.negative, 0.75),
            Kind.POSITIVE: _rgba(palette.positive, 0.9),
            Kind.WRONG: _rgba(palette.danger, 0.9),
        }
        if self._examples is not None:
            self.show(self._examples, self._grid)

    def show(self, examples: ExampleKinds | None, grid: int) -> None:
        """Show these examples of a grid 0..grid; None clears."""
        self._examples, self._grid = examples, grid
        few = examples is not None and len(examples.points) <= MOST_SYMBOLS
        shrink = 1.0
        if examples is not None and len(examples.points) > _FEW:
            shrink = max(0.5, (_FEW / len(examples.points)) ** 0.35)
        for kind, scatter in self._scatters.items():
            points = examples.chosen(kind) if examples is not None and few else _NONE
            scatter.show_at(points, _SIZES[kind] * shrink)
        if examples is None or few:
            self._image.set_image(None, None)
            return
        if self._places is None or self._places[0] is not examples.points:
            self._places = examples.points, grid_places(examples.points, grid)
        codes = picture(examples, grid, self._places[1])
        share, side = picture_scale(grid)
        indexed = QImage(codes.data, side, side, side, QImage.Format.Format_Indexed8)
        indexed.setColorTable([0, *(self._colours[kind] for kind in Kind)])
        image = indexed.convertToFormat(QImage.Format.Format_ARGB32_Premultiplied)
        reach = side * share - 0.5
        self._image.set_image(image, Window(-0.5, reach, -0.5, reach))

    def set_visible(self, visible: bool) -> None:
        """Show or hide everything."""
        self._image.setVisible(visible)
        for scatter in self._scatters.values():
            scatter.setVisible(visible)


_NONE: NDArray[np.int64] = np.zeros((0, 2), dtype=np.int64)


def _rgba(colour: str, alpha: float) -> int:
    return tinted(colour, alpha).rgba()


_SIZE = 16.0


class ReportLayer:
    """A ring around the report: a circle for a positive one, a diamond for a negative one."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        self.ring = Dots(_SIZE)
        self.ring.setZValue(z)
        plot.addItem(self.ring, ignoreBounds=True)
        self._palette = load_palette("light")
        self._report: OneReport | None = None

    def set_palette(self, palette: Palette) -> None:
        """Draw in the colours of another palette, light or dark."""
        self._palette = palette
        self.show(self._report)

    def show(self, report: OneReport | None) -> None:
        """Another report, or none."""
        self._report = report
        if report is None:
            self.ring.setData([], [])
            return
        p = self._palette
        ink = p.positive if report.label else p.negative
        self.ring.setData(
            [report.point[0]],
            [report.point[1]],
            symbol="o" if report.label else "d",
            pen=cosmetic(p.selection, 2.5),
            brush=pg.mkBrush(ink if report.present else p.canvas),
        )

    def set_visible(self, visible: bool) -> None:
        """Show or hide it."""
        self.ring.setVisible(visible)
