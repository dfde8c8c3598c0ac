"""The one report that is looked at, on the plane (private)."""

from __future__ import annotations

import pyqtgraph as pg

from geodp_app.palette import Palette, load_palette
from geodp_app.runs.one_report import OneReport
from geodp_app.views.widgets.paths import cosmetic

_SIZE = 16.0


class ReportLayer:
    """A ring around the report: a circle for a positive one, a diamond for a negative one."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        self.ring = pg.ScatterPlotItem(pxMode=True, size=_SIZE)
        self.ring.setZValue(z)
        plot.addItem(self.ring, ignoreBounds=True)
        self._palette = load_palette("light")
        self._report: OneReport | None = None

    def set_palette(self, palette: Palette) -> None:
        """Take the colours."""
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
