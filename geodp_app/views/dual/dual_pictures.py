"""Keeps the pictures of the dual plane up to date: lines, densities and shading.

Only sheets in sight are drawn; the others when they come into sight.  Up to 20,000 lines are cut
and drawn at once (some milliseconds); more are counted, and cells painted, beside the window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QPointF, Qt, Signal
from PySide6.QtGui import QColor, QImage, QPainter, QPolygonF

from geodp_app.dual.lines import MOST_THINNED, ExampleLines, LinePicture, distinct_lines, draw_lines
from geodp_app.dual.sheets import (
    Scale,
    ShadeMode,
    SheetValues,
    best_score,
    change_scale,
    colours,
    common_scale,
    search_values,
    shade_scale,
    shade_values,
    streak,
    to_the_border,
)
from geodp_app.palette import Palette, diverging_ramp, load_palette, ramp
from geodp_app.runs.protocol import Change, ShadedSheet, Window, extent
from geodp_app.views.dual.sheet_stack import SheetView
from geodp_app.views.widgets.plotting import rgba_image
from geodp_app.views.widgets.tasks import Background
from geometry.halfplane import HalfplaneLattice, Sheet
from learners.core.selection import SheetDensities


def cells_image(
    sheet: ShadedSheet, colours: NDArray[np.uint8], window: Window, stop: Callable[[], bool]
) -> tuple[QImage, Window] | None:
    """An image of the cells in a window, its first row at the least v, and the window.

    `colours`: shape (m, 4): one for each cell.  `stop`: asked now and then; when true the result is
    None.
    """
    longer = max(window.width, window.height)
    sides = np.array([window.width, window.height])
    size = np.maximum(1, np.rint(_CELLS_SIZE * sides / longer)).astype(int)
    image = QImage(int(size[0]), int(size[1]), QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    scale = size / sides
    origin = np.array([window.u0, window.v0])
    with QPainter(image) as painter:
        painter.setPen(Qt.PenStyle.NoPen)
        for count, (cell, colour) in enumerate(zip(sheet.cells, colours.tolist(), strict=True)):
            if count % 256 == 0 and stop():
                return None
            pixels = (cell.outline - origin) * scale
            if len(pixels) < 3 or (pixels.max(0) < 0).any() or (pixels.min(0) > size).any():
                continue  # out of sight
            painter.setBrush(QColor(*colour))
            painter.drawPolygon(QPolygonF([QPointF(x, y) for x, y in pixels.tolist()]))
    return image, window


#: Room around the window, as a share of it, in which lines are kept for panning.
_ROOM = 0.25
#: Pixels along a side of the image of shaded cells.
_CELLS_SIZE = 900

Shading = tuple[ShadedSheet, ...]


class DualPictures(QObject):
    """The private pictures of all sheets."""

    #: The colour bar or the words may have to change.
    changed = Signal()

    def __init__(self, views: Mapping[Sheet, SheetView], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._views = views
        self._lattice: HalfplaneLattice | None = None
        self._ramps = _ramps(load_palette("light"))
        self._sight: frozenset[Sheet] = frozenset()
        self._stale = set(views)
        self._pending: Callable[[], ExampleLines] | None = None
        #: How many examples have lines.
        self.size = 0
        self._shown = (True, True)
        self._known: dict[bool, tuple[object, LinePicture]] = {}
        self._pictures: dict[Sheet, LinePicture] = {}
        #: What the sheets are coloured by (private).
        self.drawn: dict[Sheet, SheetValues] = {}
        self.background = Background(self)
        self.background.done.connect(self._done)
        #: As it was asked for; empty where something else is shown in its place.
        self.shading: Shading = ()
        self._detail: ShadedSheet | None = None
        self._mode: ShadeMode = "off"
        self._nats: float | None = None
        #: Whether drawing waits for :meth:`draw`.
        self.held = False
        self.lines: ExampleLines | None = None
        self.shade_scale: Scale | None = None
        self.density_scale: Scale | None = None
        for view in views.values():
            view.moved.connect(self._moved)

    @property
    def rasters(self) -> bool:
        """Whether rasters shade the sheets, which can be finer, and not exact cells."""
        return any(sheet.scores is not None for sheet in self.shading)

    def set_palette(self, palette: Palette) -> None:
        self._ramps = _ramps(palette)
        self._stale = set(self._views)
        self.draw()

    def set_lattice(self, lattice: HalfplaneLattice | None) -> None:
        """Take the class of halfplanes; everything is drawn anew."""
        self._lattice = lattice
        self._forget()

    def set_sight(self, sheets: frozenset[Sheet]) -> None:
        """Which sheets can be seen; the others wait."""
        self._sight = sheets
        if self._detail is not None and self._detail.sheet not in sheets:
            self._detail = None
            self._take_shading()
        self.draw()

    def set_examples(
        self,
        points: NDArray[np.int64] | None,
        labels: NDArray[np.generic] | None,
        alive: NDArray[np.bool_] | None,
    ) -> None:
        """Take the examples whose lines are drawn; the arrays must not change afterwards."""
        self.background.clear()  # pictures of other examples would come late
        self.lines, self._pending, self._known = None, None, {}
        self.size = 0 if points is None else len(points)
        if self.size and points is not None and labels is not None:
            self._pending = lambda: distinct_lines(points, labels, alive)
        self._stale = set(self._views)
        if self.size == 0:
            self._forget()
        self.draw()

    def set_shown(self, shown: tuple[bool, bool]) -> None:
        """Whether lines of positive and of negative examples are wanted."""
        self._shown = shown
        self._stale = set(self._views)
        self.draw()

    def set_shading(self, sheets: Shading, mode: ShadeMode, nats: float | None) -> None:
        """Shade the sheets by score or probability, or not."""
        self.shading, self._nats = sheets, nats
        self.set_mode(mode)

    def set_mode(self, mode: ShadeMode) -> None:
        """Shade them by another one."""
        self._mode, self._detail = mode, None
        self._take_shading()

    def set_detail(self, detail: ShadedSheet) -> None:
        """Shade a window of one sheet finely, with colours of its own range."""
        self._detail = detail
        self._take_shading()

    def small(self, sheet: Sheet) -> tuple[QImage, Window] | None:
        """The shading of a sheet as a small picture and where it lies; None without a raster."""
        scale, drawn = self.shade_scale, self.drawn.get(sheet)
        if self.shading:  # of all of it, also where a window is shaded finely
            scale = shade_scale(self.shading, self._mode, self._nats)
            shown = next((each for each in self.shading if each.sheet == sheet), None)
            if scale is None or shown is None:
                return None
            best = best_score(self.shading)
            drawn = SheetValues(shown, shade_values(shown, self._mode, self._nats, best))
        if scale is None or drawn is None or drawn.values.ndim != 2:
            return None
        tints = colours(scale, drawn.values, self._ramps[scale.signed])
        return rgba_image(tints), drawn.shaded.window

    def streak(self, sheet: Sheet) -> Window | None:
        """The window of a sheet that holds what is most probable, if that is known."""
        found = next((each for each in self.shading if each.sheet == sheet), None)
        return None if found is None else streak(found, self._nats, best_score(self.shading))

    def set_change(self, change: Change, eta: float) -> None:
        """Shade the sheets by what one report changes, on a scale that is fixed."""
        self.shading, self._detail = (), None
        sheets = [SheetValues(each.shaded, each.log_ratios) for each in change.sheets]
        if change.why_none is not None:
            sheets = self._everywhere([(sheet, np.zeros((1, 1))) for sheet in self._views])
        self._show_values(sheets, change_scale(eta))

    def set_search(self, densities: SheetDensities) -> None:
        """Shade the sheets by where a selection under way still looks."""
        self.shading, self._detail = (), None
        relative, scale = search_values(densities)
        self._show_values(self._everywhere(relative), scale)

    def _everywhere(self, values: Iterable[tuple[int, NDArray[np.float64]]]) -> list[SheetValues]:
        """Rasters, by sheet, that lie over all of it."""
        whole = extent(self._lattice) if self._lattice is not None else Window(0, 1, 0, 1)
        return [SheetValues(ShadedSheet(sheet, (), None, whole), each) for sheet, each in values]

    def _show_values(self, drawn: Iterable[SheetValues], scale: Scale | None) -> None:
        self.shade_scale = scale
        self.drawn = {Sheet(each.shaded.sheet): each for each in drawn}
        for number, view in self._views.items():
            self.background.drop(("cells", number))
            if number not in self.drawn:
                view.set_shading(None, None)
        self._stale = set(self._views)
        self.draw()
        self.changed.emit()

    def _take_shading(self) -> None:
        """Make values and their scale: of the detail alone, where there is one."""
        detail, mode, nats = self._detail, self._mode, self._nats
        ranged = self.shading if detail is None else (detail,)
        scale, best = shade_scale(ranged, mode, nats), best_score(ranged)
        shown = () if scale is None else (*self.shading, *ranged)
        drawn = [SheetValues(each, shade_values(each, mode, nats, best)) for each in shown]
        self._show_values(drawn, scale)

    def shade_at(self, sheet: Sheet, u: float, v: float) -> float | None:
        """The shading's value under a dual point, if any."""
        return self.drawn[sheet].at(u, v) if sheet in self.drawn else None

    # drawing what is in sight

    def _forget(self) -> None:
        self._pictures = {}
        self.background.clear()
        for view in self._views.values():
            view.set_lines(None)
            view.density.set_image(None, None)
        self._stale = set(self._views)
        self._colour_densities()

    def draw(self) -> None:
        """Draw what is in sight and has changed."""
        if self.held or self._lattice is None or not self._sight:
            return
        if self._pending is not None:
            pending, self._pending = self._pending, None
            if self.size > MOST_THINNED:
                self.background.submit("lines", lambda stop: pending())
            else:
                self.lines = pending()
        for sheet in self._sight & self._stale:
            self._draw(self._views[sheet])
        self._colour_densities()

    def _moved(self, view: SheetView) -> None:
        self._stale.add(view.sheet)
        self.draw()

    def _draw(self, view: SheetView) -> None:
        """Draw a sheet's lines and shading in its window, or ask for them."""
        lattice, lines, window = self._lattice, self.lines, view.plot.window().grown(_ROOM)
        assert lattice is not None
        self._stale.discard(view.sheet)
        if lines is not None:
            shown, sheet, known = self._shown, view.sheet, self._known

            def draw(stop: Callable[[], bool] = lambda: False) -> LinePicture | None:
                # two sheets that differ in the side alone share their lines
                asked = (lattice, sheet.flat, window, shown)
                before, picture = known.get(sheet.flat, (None, None))
                if before != asked:
                    picture = draw_lines(lattice, sheet, lines, window, shown=shown, stop=stop)
                    if picture is not None:
                        known[sheet.flat] = asked, picture
                return picture

            if len(lines) > MOST_THINNED:
                view.note = "counting lines …"
                self.background.submit(("picture", view.sheet), draw)
            else:
                self.background.drop(("picture", view.sheet))
                self._show_lines(view, draw())
        self._shade(view, window)

    def _shade(self, view: SheetView, window: Window) -> None:
        drawn, scale = self.drawn.get(view.sheet), self.shade_scale
        if drawn is None or scale is None:
            return
        raster = drawn.values.ndim == 2
        values = to_the_border(drawn.values) if raster else drawn.values
        tints = colours(scale, values, self._ramps[scale.signed])
        if drawn.shaded.cells:
            paint = partial(cells_image, drawn.shaded, tints, window)
            self.background.submit(("cells", view.sheet), paint)
        elif raster:
            view.set_shading(rgba_image(tints), drawn.shaded.window)

    def _done(self, key: object, result: object) -> None:
        if isinstance(result, ExampleLines):
            self.lines = result
            self._stale = set(self._views)
            self.draw()
        elif isinstance(key, tuple):
            view = self._views[key[1]]
            if isinstance(result, LinePicture):
                self._show_lines(view, result)
                self._colour_densities()
            elif isinstance(result, tuple):
                view.set_shading(*result)
        self.changed.emit()

    def _show_lines(self, view: SheetView, picture: LinePicture | None) -> None:
        view.set_lines(picture)
        self._pictures.pop(view.sheet, None)
        if picture is not None:
            self._pictures[view.sheet] = picture

    def _colour_densities(self) -> None:
        """Colour all densities in sight by one scale."""
        seen = {s: p for s, p in self._pictures.items() if s in self._sight}
        self.density_scale = common_scale([p.scale for p in seen.values() if p.scale is not None])
        for sheet, view in self._views.items():
            density = seen[sheet].density if sheet in seen else None
            if density is None or self.density_scale is None:
                view.density.set_image(None, None)
            else:
                counts = density.counts.astype(np.float64)
                tints = colours(self.density_scale, counts, self._ramps[False])
                view.density.set_image(rgba_image(tints), density.window)
        self.changed.emit()


def _ramps(palette: Palette) -> dict[bool, NDArray[np.uint8]]:
    """Colours by whether values go both ways from nought."""
    return {False: ramp(palette), True: diverging_ramp(palette)}
