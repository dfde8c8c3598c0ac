"""Axes of the plane: grid units, or degrees where the grid has public bounds."""

from __future__ import annotations

import math

import pyqtgraph as pg

from geometry.grid import Bounds


class PlaneAxis(pg.AxisItem):  # type: ignore[misc]
    """Tick texts for grid coordinates 0..d."""

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation)
        self._across = orientation == "bottom"
        self._grid = 1
        self._bounds: Bounds | None = None
        self.enableAutoSIPrefix(False)
        # a number at the end of the axis would be cut by the plane's border
        self.setStyle(hideOverlappingLabels=True)

    def set_frame(self, grid: int, bounds: Bounds | None) -> None:
        """What the coordinates mean."""
        self._grid, self._bounds = grid, bounds
        self.picture = None
        self.update()

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        """Ticks at round numbers of the unit that is shown; places in grid units."""
        start, unit = self._unit()
        levels = super().tickValues(start + low * unit, start + high * unit, size)
        return [
            (spacing / unit, [(value - start) / unit for value in values])
            for spacing, values in levels
        ]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Texts of the ticks at grid coordinates."""
        start, unit = self._unit()
        if self._bounds is None:
            return [f"{value:.10g}" for value in values]
        digits = max(0, -math.floor(math.log10(spacing * unit) + 1e-9))
        names = "EW" if self._across else "NS"
        return [_degrees(start + value * unit, digits, names) for value in values]

    def _unit(self) -> tuple[float, float]:
        """Value at grid coordinate 0, and of one grid step."""
        b = self._bounds
        if b is None:
            return 0.0, 1.0
        low, high = (b.west, b.east) if self._across else (b.south, b.north)
        return low, (high - low) / self._grid


def aspect_ratio(grid: int, bounds: Bounds | None) -> float:
    """Width of a grid step over its height, on the ground at the middle latitude."""
    if bounds is None:
        return 1.0
    cosine = math.cos(math.radians((bounds.south + bounds.north) / 2))
    ratio = (bounds.east - bounds.west) * max(cosine, 0.05) / (bounds.north - bounds.south)
    return min(max(ratio, 0.1), 10.0)


def _degrees(value: float, digits: int, names: str) -> str:
    if round(value, digits) == 0:
        return "0°"
    return f"{abs(value):.{digits}f}° {names[0] if value > 0 else names[1]}"
