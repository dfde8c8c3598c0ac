"""Draws on the plane what a run learned, and what is left out of it.

Of the learned pieces or tiles the newest flashes in, earlier ones fade.  Pieces have their numbers,
and the newest one's edges theirs, in the colours of their points in the dual plane.  Below lies
what is left out, both public: by the mask, and where there were too few reports.

Of a run by votes: where the chunks agree, and the public points that were asked.  The margin is a
tint of the two label colours, stronger where more chunks agree; an answer is a square, filled for 1
and open for 0; ⊥ is a cross.  Colour is never the only sign.  Points that were asked about after
the run look alike; the words beside the newest say the same, and, where private data are shown, how
the chunks voted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyqtgraph as pg
import shapely
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPainterPath
from PySide6.QtWidgets import QGraphicsPathItem
from shapely.geometry.base import BaseGeometry

from geodp_app.files.run_record import Question
from geodp_app.palette import Palette, edge_colours, greyed
from geodp_app.runs.protocol import Window
from geodp_app.views.widgets.plotting import (
    Badge,
    Badges,
    Dots,
    Layer,
    PictureItem,
    added,
    cosmetic,
    line_path,
    shape_path,
    tinted,
)
from geodp_app.views.widgets.tasks import timer
from geometry.halfplane import Region
from geometry.polygons import piece_sides
from geometry.tiling import EdgeZone, Tile
from learners.core.records import halfplanes_of, piece_shape
from learners.stability.sample_and_aggregate import PLACES, VoteView

#: The flash: opacity from strong to resting, in frames of 33 ms.
_FLASH = 0.6
_REST = 0.16
#: A tile is all of its square: at rest the learned shape in it must be seen.
_REST_TILE = 0.05
_FRAMES = 18


class LearnedLayer(Layer):
    """Items of the hypothesis in one plot; in the release view the region and the numbers of pieces
    stay."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        super().__init__(plot)
        self.tiling = self._add(z - 0.1, QGraphicsPathItem())
        self._tiled: Sequence[Tile | EdgeZone] = ()
        self.region = self._add(z, QGraphicsPathItem(), stays=True)
        self.earlier = self._add(z + 0.1, QGraphicsPathItem())
        self.newest = self._add(z + 0.2, QGraphicsPathItem())
        self.pointed = self._add(z + 0.3, QGraphicsPathItem())
        self.again = self._add(z + 0.05, QGraphicsPathItem())
        self._sides = [self._add(z + 0.25, QGraphicsPathItem()) for _ in range(3)]
        self.numbers = Badges(plot.vb, z + 9)
        self._pieces: Sequence[tuple[Region, ...]] = ()
        self._whole, self.lit, self._d = False, -1, 1
        self._frame = _FRAMES
        self.flash = timer(plot, 33, self._fade, again=True)
        self._theme, self._past = self._palette, False
        self._tile: Tile | EdgeZone | None = None

    def set_palette(self, palette: Palette) -> None:
        self._theme = palette
        self._palette = palette = greyed(palette) if self._past else palette
        self._pen_tiling()
        self.region.setPen(cosmetic(palette.learned, 2.4))
        self.region.setBrush(tinted(palette.learned, 0.14))
        self.earlier.setPen(cosmetic(palette.learned, 1.0, alpha=0.45))
        self.newest.setPen(cosmetic(palette.chosen, 2.0))
        self.again.setPen(cosmetic(palette.learned, 1.0, alpha=0.5))
        self.pointed.setPen(cosmetic(palette.accent, 1.6, dash=(6, 4)))
        self.pointed.setBrush(tinted(palette.accent, 0.10))
        self.numbers.set_palette(palette)
        self._number()
        self._fade()

    def set_past(self, past: bool) -> None:
        """Grey: what is learned is out of date; or not."""
        if past != self._past:
            self._past = past
            self.set_palette(self._theme)

    def show(
        self,
        region: BaseGeometry | None,
        pieces: Sequence[tuple[Region, ...]],
        d: int,
        *,
        flash: bool,
        whole: bool = False,
    ) -> None:
        """Show the hypothesis so far; the last piece is the newest, but not of a `whole` run."""
        self._tile = None
        self._tiled = ()
        self.tiling.setPath(QPainterPath())
        newest = [] if whole else pieces[-1:]
        self._pieces, self._whole, self._d = pieces, whole, d
        shapes = [piece_shape(piece, d) for piece in pieces]
        self.earlier.setPath(_paths(shapes[: len(pieces) - len(newest)]))
        made = _paths(shapes[len(pieces) - len(newest) :])
        self._show(region, made, flash=flash and bool(newest))
        self._number()

    def light_edge(self, edge: int) -> None:
        """Light an edge of the newest piece, from 0; -1 for none."""
        if edge != self.lit:
            self.lit = edge
            self._number()

    def edge_at(self, x: float, y: float, radius: float) -> int:
        """The newest piece's edge within a radius of a place, all in grid units; -1 for none."""
        sides = self._newest_sides()
        lines = [shapely.LineString(ends) if ends else None for ends in sides]
        gaps = [line.distance(shapely.Point(x, y)) if line else np.inf for line in lines]
        return int(np.argmin(gaps)) if gaps and min(gaps) <= radius else -1

    def _newest_sides(self) -> Sequence[tuple[tuple[float, float], ...] | None]:
        """Both ends of what is seen of each of the newest piece's edges."""
        piece = () if self._whole or not self._pieces else halfplanes_of(self._pieces[-1])
        return piece_sides(piece, self._d) if piece else ()

    def _number(self) -> None:
        """Numbers of the pieces; of the newest, numbers and colours of its edges."""
        colours, grey, badges = edge_colours(self._palette), self._palette.soft_ink, []
        sides = self._newest_sides()
        for i, item in enumerate(self._sides):
            ends = sides[i] if i < len(sides) and len(sides) > 1 else None
            item.setPath(QPainterPath() if ends is None else line_path(ends))
            item.setPen(cosmetic(colours[i], 6.0 if i == self.lit else 3.0))
            if ends is not None:
                (x0, y0), (x1, y1) = ends
                badges.append(Badge((x0 + x1) / 2, (y0 + y1) / 2, str(i + 1), colours[i]))
        taken = shapely.Polygon()
        for i, piece in enumerate(self._pieces):
            newest = i == len(self._pieces) - 1 and not self._whole
            shape = piece_shape(piece, self._d)
            own = shape.difference(taken)
            place = (own if own.area > shape.area / 50 else shape).representative_point()
            taken = taken.union(shape)
            colour = self._palette.chosen if newest else self._palette.learned
            if shape.is_empty:  # it lies outside of the square: its number is above it
                place, colour = shapely.Point((i + 1) / 16 * self._d, 1.04 * self._d), grey
            badges.append(Badge(place.x, place.y, str(i + 1), colour, main=True))
        self.numbers.show_with(badges=badges)

    def _pen_tiling(self) -> None:
        """Borders of zones cross the learned shape at all angles: they are fainter than tiles'."""
        zones = self._tile is not None and bool(self._tile.name)
        width, alpha = (0.6, 0.22) if zones else (1.0, 0.4)
        self.tiling.setPen(cosmetic(self._palette.border, width, alpha=alpha))

    def show_again(self, shapes: Sequence[BaseGeometry]) -> None:
        """Show the outlines of other runs, each faint: where they agree they add up."""
        self.again.setPath(_paths(shapes))

    def show_tiles(
        self,
        region: BaseGeometry | None,
        tiling: Sequence[Tile | EdgeZone],
        newest: Tile | EdgeZone | None,
        *,
        flash: bool,
    ) -> None:
        """Show the hypothesis so far, all tiles, and the newest of those learned."""
        self._tile = newest
        if tiling is not self._tiled:  # from step to step of a run they are the same
            self._tiled = tiling
            self.tiling.setPath(_tiles_path(tiling))
        self._pieces = ()
        self._number()
        self._pen_tiling()
        self.earlier.setPath(QPainterPath())
        path = QPainterPath() if newest is None else _tiles_path([newest])
        self._show(region, path, flash=flash and newest is not None)

    def _show(self, region: BaseGeometry | None, newest: QPainterPath, *, flash: bool) -> None:
        self.region.setPath(QPainterPath() if region is None else shape_path(region))
        self.newest.setPath(newest)
        self._frame = 0 if flash else _FRAMES
        self._fade()
        if self._frame < _FRAMES:
            self.flash.start()

    def flash_to(self, share: float) -> None:
        """Let the newest piece look as it does after that share of its flash, and stay so."""
        self.flash.stop()
        self._frame = round(share * _FRAMES)
        self._tint()

    def try_piece(self, piece: tuple[Region, ...], d: int) -> None:
        """Show a piece that could be in place of the newest, in that one's frame; none if empty."""
        path = QPainterPath()
        if piece and self._tile is not None:
            path = shape_path(self._tile.piece_polygon(halfplanes_of(piece)))
        elif piece:
            path = shape_path(piece_shape(piece, d))
        self.pointed.setPath(path)

    def _fade(self) -> None:
        self._frame = min(self._frame + 1, _FRAMES)
        if self._frame >= _FRAMES:
            self.flash.stop()
        self._tint()

    def _tint(self) -> None:
        share = 1 - self._frame / _FRAMES
        rest = _REST if self._tile is None else _REST_TILE
        alpha = rest + (_FLASH - rest) * share * share
        self.newest.setBrush(tinted(self._palette.chosen, alpha))


def _paths(shapes: Iterable[BaseGeometry]) -> QPainterPath:
    path = QPainterPath()
    for shape in shapes:
        path.addPath(shape_path(shape))
    return path


def _tiles_path(tiles: Sequence[Tile | EdgeZone]) -> QPainterPath:
    path = QPainterPath()
    for tile in tiles:
        if isinstance(tile, EdgeZone):
            path.addPath(shape_path(tile.polygon()))
            continue
        left, bottom, right, top = (float(edge) for edge in tile.edges)
        path.addRect(left, bottom, right - left, top - bottom)
    return path


class MaskLayer:
    """The mask in one plot: its outline, and a veil over what it leaves out."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        self.veil = added(plot, z, QGraphicsPathItem())

    def show(self, region: BaseGeometry | None, d: int) -> None:
        """Cover what lies on the grid 0..d and not in a region, in grid units; None covers none."""
        rest = shapely.Polygon() if region is None else shapely.box(0, 0, d, d) - region
        self.veil.setPath(shape_path(rest))

    def set_palette(self, palette: Palette) -> None:
        self.veil.setPen(cosmetic(palette.soft_ink, 1.0, alpha=0.7))
        self.veil.setBrush(tinted(palette.soft_ink, 0.13))


class SupportLayer(MaskLayer):
    """Support in one plot, which is released: hatching where there were too few reports."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        self.veil = self.hatching = added(plot, z, _Hatching())

    def set_palette(self, palette: Palette) -> None:
        self.hatching.setPen(Qt.PenStyle.NoPen)
        self.hatching.setBrush(QBrush(tinted(palette.soft_ink, 0.5), Qt.BrushStyle.BDiagPattern))


class _Hatching(QGraphicsPathItem):
    """Hatching whose lines have their width in pixels at any zoom."""

    def paint(self, painter: QPainter, *_: object) -> None:
        """Fill the path; a pattern would grow with the plane."""
        brush = self.brush()
        brush.setTransform(painter.worldTransform().inverted()[0])
        painter.fillPath(self.path(), brush)


#: Strongest tint of the margin.
_TINT = 0.35

#: Side of a symbol in pixels: that of a point that was asked about after the run is larger.
_SIZE, _QUESTION_SIZE = 7.0, 12.0


def _answers(size: float, none: int | None) -> dict[int | None, Dots]:
    """Dots for the answers 1 and 0, and for ⊥, whose key is `none`."""
    return {key: Dots(size, "x" if key == none else "s") for key in (1, 0, none)}


class VotesLayer(Layer):
    """The items of a run by votes in one plot: margins are private, and which points were asked is
    said by the release's file alone."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        super().__init__(plot)
        self.image = self._add(z - 13, PictureItem())
        self.scatters = _answers(_SIZE, -1)
        for scatter in self.scatters.values():
            self._add(z + 0.1, scatter)
        self._votes: VoteView | None = None
        self._d = 1

    def set_palette(self, palette: Palette) -> None:
        self._palette = palette
        inks = (palette.positive, palette.negative, palette.danger)
        for (answer, scatter), ink in zip(self.scatters.items(), inks, strict=True):
            scatter.setPen(cosmetic(ink, 1.6))
            scatter.setBrush(pg.mkBrush(tinted(ink, 0.9) if answer == 1 else None))
        self.show(self._votes, self._d)

    def show(self, votes: VoteView | None, d: int) -> None:
        """Show a view of a run on a grid 0..d; None clears."""
        self._votes, self._d = votes, d
        for answer, scatter in self.scatters.items():
            scatter.show_at(() if votes is None else votes.asked[votes.answers == answer])
        if votes is None:
            self.image.set_image(None, None)
            return
        half = d / (PLACES - 1) / 2
        window = Window(-half, d + half, -half, d + half)
        self.image.set_image(margin_image(votes.margins, self._palette), window)


def margin_image(margins: NDArray[np.float64], palette: Palette) -> QImage:
    """Margins [i, j] in -1..1 as an image, its first row at the least ordinate."""
    places = len(margins)
    strength = (np.abs(margins.T) * _TINT * 255).round().astype(np.uint32)
    pixels = np.zeros((places, places), dtype=np.uint32)
    for ink, chosen in ((palette.positive, margins.T > 0), (palette.negative, margins.T < 0)):
        rgb = QColor(ink).rgb() & 0xFFFFFF
        pixels[chosen] = strength[chosen] << 24 | rgb
    image = QImage(pixels.tobytes(), places, places, 4 * places, QImage.Format.Format_ARGB32)
    return image.copy()


class QuestionsLayer:
    """The items of questions in one plot."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        self.symbols = _answers(_QUESTION_SIZE, None)
        for symbol in self.symbols.values():
            added(plot, z, symbol)
        self.words = added(plot, z + 0.2, pg.TextItem())
        self.words.hide()

    def set_palette(self, palette: Palette) -> None:
        inks = (palette.positive, palette.negative, palette.danger)
        for (answer, scatter), ink in zip(self.symbols.items(), inks, strict=True):
            scatter.setPen(cosmetic(ink, 2.2))
            scatter.setBrush(pg.mkBrush(ink if answer == 1 else palette.canvas))
        self.words.setColor(palette.ink)
        self.words.fill = pg.mkBrush(tinted(palette.canvas, 0.94))
        self.words.border = cosmetic(palette.border, 1)
        self.words.update()

    def show(self, questions: Sequence[Question], d: int) -> None:
        """Show questions on a grid 0..d, and how the chunks voted where that is given."""
        for answer, scatter in self.symbols.items():
            scatter.show_at([q.point for q in questions if q.release.value == answer])
        self.words.setVisible(bool(questions))
        if not questions:
            return
        newest = questions[-1]
        said = newest.answer[0].upper() + newest.answer[1:]
        self.words.setPlainText("\n".join([said, *filter(None, newest.votes.split("; "))]))
        x, y = newest.point
        self.words.setPos(x, y)
        # towards the middle, so that the words stay in the square
        self.words.setAnchor((-0.08 if 2 * x < d else 1.08, 1.2 if 2 * y < d else -0.2))
