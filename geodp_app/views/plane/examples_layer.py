"""Draws examples on the plane: symbols while they are few, a pixel a grid point when they are many.

Positives are discs, negatives rings, wrong ones crosses, those already decided small grey dots:
colour is never the only sign.  A few are symbols as the plot draws them.  Of more of them the same
symbols, smaller, are set pixel by pixel into a picture of what is on the screen: that takes a
millisecond, and they have their size at any zoom and on any screen.  Of still more there is a
picture of the grid: up to d = 2048 it has one pixel for each grid point and is exact, never binned.
Its row 0 is y = 0 (y up).  The one report that is looked at has a ring.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QRect, QRectF
from PySide6.QtGui import QImage, QPainter, QTransform
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from geodp_app.palette import Palette
from geodp_app.runs.protocol import Window
from geodp_app.runs.questions import OneReport
from geodp_app.views.widgets.plotting import Dots, Layer, PictureItem, cosmetic, tinted

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
    """Examples and what each is at one moment of a run: private."""

    #: Shape (n, 2).
    points: NDArray[np.int64]
    #: Values of Kind; shape (n,).
    kinds: NDArray[np.uint8]

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
        return cls(points, kinds)

    def chosen(self, kind: Kind) -> NDArray[np.int64]:
        """Points of one kind, shape (m, 2)."""
        chosen: NDArray[np.int64] = self.points[self.kinds == kind]
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

    `places`: shape (n,): of the same points, see :func:`grid_places`.
    """
    _, side = picture_scale(d)
    codes = np.zeros(side * side, dtype=np.uint8)
    np.maximum.at(codes, places, examples.kinds)
    return codes.reshape(side, side)


#: Up to here symbols are drawn by the plot, and up to there set into a picture: so many of these
#: still leave some of the plane free.
MOST_SYMBOLS, MOST_MARKS = 2_000, 20_000
#: From here on the marks of negatives, the most of them, are smaller.
CROWDED = 8_000

_SIZES = {Kind.DECIDED: 3.0, Kind.NEGATIVE: 5.0, Kind.POSITIVE: 5.0, Kind.WRONG: 7.0}
_SYMBOLS = {Kind.DECIDED: "o", Kind.NEGATIVE: "o", Kind.POSITIVE: "o", Kind.WRONG: "x"}
#: Sides of the marks, in device-independent pixels.
_SIDES = {Kind.DECIDED: 2, Kind.NEGATIVE: 3, Kind.POSITIVE: 3, Kind.WRONG: 5}


def mark(kind: Kind, ratio: int, *, crowded: bool = False) -> NDArray[np.bool_]:
    """Pixels of a mark on a screen with so many of them to a device-independent one; of negatives
    that are `crowded` smaller.

    It has shape (side, side) and is symmetric: a disc, a ring or a cross.
    """
    side = (_SIDES[kind] - (crowded and kind == Kind.NEGATIVE)) * ratio
    x = np.abs(np.arange(side) - (side - 1) / 2)
    if kind == Kind.WRONG:
        cross: NDArray[np.bool_] = np.abs(x[:, None] - x) < 0.75 * ratio
        return cross
    distance = np.hypot(x[:, None], x)
    hole = side / 2 - ratio if kind == Kind.NEGATIVE else -1.0
    round_: NDArray[np.bool_] = (distance <= side / 2) & (distance >= hole)
    return round_


class MarksItem(pg.GraphicsObject):  # type: ignore[misc]
    """Marks of examples at their places on the screen, all of one kind alike."""

    def __init__(self) -> None:
        super().__init__()
        self._sets: list[tuple[Kind, NDArray[np.int64]]] = []
        self._colours: list[int] = []
        self._bounds = QRectF()
        self._drawn: tuple[object, QImage] | None = None

    def show_marks(
        self, sets: list[tuple[Kind, NDArray[np.int64]]], colours: list[int], grid: int
    ) -> None:
        """Show points of each kind, later ones above earlier ones; colours by kind."""
        self.prepareGeometryChange()
        self._sets, self._colours, self._drawn = sets, colours, None
        over = 0.05 * grid  # marks of points at the border reach beyond it
        box = QRectF(-over, -over, grid + 2 * over, grid + 2 * over)
        self._bounds = box if sets else QRectF()
        self.update()

    def boundingRect(self) -> QRectF:
        """The grid and what marks at its border take."""
        return self._bounds

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """Paint the marks; made anew only for another place, zoom or screen."""
        if not self._sets:
            return
        place = painter.worldTransform()
        # where a widget is drawn into a picture, its painter's device is still the widget
        ratio = painter.paintEngine().paintDevice().devicePixelRatioF()
        room = painter.viewport() if widget is None else widget.rect()
        box = place.mapRect(self._bounds).toAlignedRect() & room
        if box.isEmpty():
            return
        key = (place, box, ratio)
        if self._drawn is None or self._drawn[0] != key:
            self._drawn = key, self._draw(place, box, ratio)
        painter.save()
        painter.resetTransform()
        painter.drawImage(box.topLeft(), self._drawn[1])
        painter.restore()

    def _draw(self, place: QTransform, box: QRect, ratio: float) -> QImage:
        width, height = math.ceil(box.width() * ratio), math.ceil(box.height() * ratio)
        times = max(1, round(ratio))
        edge = max(_SIDES.values()) * times  # no mark is cut by the end of a row
        codes = np.zeros((height + 2 * edge, width + 2 * edge), dtype=np.uint8)
        flat, stride = codes.reshape(-1), codes.shape[1]
        crowded = sum(len(points) for _, points in self._sets) > CROWDED
        for kind, points in self._sets:
            pixels = mark(kind, times, crowded=crowded)
            x, y = points.T.astype(np.float64)
            u = place.m11() * x + place.m21() * y + (place.dx() - box.x())
            v = place.m12() * x + place.m22() * y + (place.dy() - box.y())
            shift = edge + 0.5 - len(pixels) / 2  # from a point to the corner of its mark
            column = np.floor(u * ratio + shift).astype(np.int64)
            row = np.floor(v * ratio + shift).astype(np.int64)
            inside = (row >= 0) & (row <= len(codes) - len(pixels))
            inside &= (column >= 0) & (column <= stride - len(pixels))
            corner = (row * stride + column)[inside]
            for down, right in np.argwhere(pixels):
                flat[corner + (down * stride + right)] = kind
        inner = np.ascontiguousarray(codes[edge : edge + height, edge : edge + width])
        image = coloured(inner, self._colours)
        image.setDevicePixelRatio(ratio)
        return image


def coloured(codes: NDArray[np.uint8], colours: list[int]) -> QImage:
    """A picture of kinds, its first row on top; `colours` are those of the kinds in order."""
    height, width = codes.shape
    indexed = QImage(codes.data, width, height, width, QImage.Format.Format_Indexed8)
    indexed.setColorTable([0, *colours])
    return indexed.convertToFormat(QImage.Format.Format_ARGB32_Premultiplied)


class _Crowd(PictureItem):
    """A picture that loses no example where it is seen smaller than it is."""

    def __init__(self) -> None:
        super().__init__()
        self._codes, self._colours = np.zeros((1, 1), dtype=np.uint8), [0]
        self._most = self._pooled = 1

    def show_codes(self, codes: NDArray[np.uint8], colours: list[int], window: Window) -> None:
        """Show what is at each pixel, 0 for nothing."""
        self._codes, self._colours, self._pooled = codes, colours, 1
        # crowded examples hide each other: there some of them say more than the weightiest
        self._most = math.isqrt(codes.size // (2 * max(1, int(np.count_nonzero(codes)))))
        self.set_image(coloured(codes, colours), window)

    def paint(self, painter: QPainter, *_: object) -> None:
        """Of pixels that share one on the screen the weightiest is seen."""
        if self.image is None:
            return
        place, side = self.boundingRect(), len(self._codes)
        shown = painter.worldTransform().mapRect(place).width()
        shown = max(1.0, shown * painter.device().devicePixelRatioF())
        by = max(1, min(self._most, math.ceil(side / shown)))
        if by != self._pooled:
            self._pooled, self.image = by, coloured(pooled(self._codes, by), self._colours)
        # the last row and column may reach over the picture, with nothing in them there
        over = by * self.image.width() / side
        size = place.width() * over, place.height() * over
        painter.drawImage(QRectF(place.x(), place.y(), *size), self.image)


def pooled(codes: NDArray[np.uint8], by: int) -> NDArray[np.uint8]:
    """The greatest of by x by pixels, of shape (ceil(side / by),) twice."""
    for axis in (0, 1):
        codes = np.maximum.reduceat(codes, np.arange(0, codes.shape[axis], by), axis=axis)
    return codes


class ExamplesLayer(Layer):
    """The examples' items in one plot."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        super().__init__(plot)
        self._image = self._add(z, _Crowd())
        self._marks = self._add(z, MarksItem())
        self._scatters = {
            kind: self._add(z + kind / 10, Dots(_SIZES[kind], _SYMBOLS[kind])) for kind in Kind
        }
        self.shown: ExampleKinds | None = None
        #: Points and the pixels they are on.
        self._places: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
        self._grid = 1

    def set_palette(self, palette: Palette) -> None:
        for kind, pen, brush in (
            (Kind.DECIDED, None, tinted(palette.soft_ink, 0.45)),
            (Kind.NEGATIVE, cosmetic(palette.negative, 1.0), None),
            (Kind.POSITIVE, None, tinted(palette.positive, 0.85)),
            (Kind.WRONG, cosmetic(palette.danger, 1.1, alpha=0.85), None),
        ):
            self._scatters[kind].setPen(pg.mkPen(pen))
            self._scatters[kind].setBrush(pg.mkBrush(brush))
        inks = palette.soft_ink, palette.negative, palette.positive, palette.danger
        #: Of the kinds in order: marks, which take more room, let what lies below shine through.
        self._colours, self._faint = (
            [tinted(ink, alpha).rgba() for ink, alpha in zip(inks, alphas, strict=True)]
            for alphas in ((0.35, 0.75, 0.9, 1.0), (0.35, 0.6, 0.8, 1.0))
        )
        if self.shown is not None:
            self.show(self.shown, self._grid)

    def show(self, examples: ExampleKinds | None, grid: int) -> None:
        """Show these examples of a grid 0..grid; None clears."""
        self.shown, self._grid = examples, grid
        n = 0 if examples is None else len(examples.points)
        few, many = n <= MOST_SYMBOLS, n > MOST_MARKS
        sets = [] if examples is None or many else [(kind, examples.chosen(kind)) for kind in Kind]
        symbols = dict(sets) if few else {}
        for kind, scatter in self._scatters.items():
            scatter.show_at(symbols.get(kind, ()))
        self._marks.show_marks([] if few else sets, self._faint, grid)
        if examples is None or not many:
            self._image.set_image(None, None)
            return
        if self._places is None or self._places[0] is not examples.points:
            self._places = examples.points, grid_places(examples.points, grid)
        share, side = picture_scale(grid)
        reach = side * share - 0.5
        codes = picture(examples, grid, self._places[1])
        self._image.show_codes(codes, self._colours, Window(-0.5, reach, -0.5, reach))


_SIZE = 16.0


class ReportLayer(Layer):
    """A ring around the report: a circle for a positive one, a diamond for a negative one."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        super().__init__(plot)
        self.ring = self._add(z, Dots(_SIZE))
        self._report: OneReport | None = None

    def set_palette(self, palette: Palette) -> None:
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
            pos=[report.point],
            symbol="o" if report.label else "d",
            pen=cosmetic(p.selection, 2.5),
            brush=pg.mkBrush(ink if report.present else p.canvas),
        )
