"""Painter paths from grid coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import shapely
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainterPath, QPen, QPolygonF
from shapely.geometry.base import BaseGeometry


def ring_path(rings: Iterable[Sequence[tuple[float, float]]]) -> QPainterPath:
    """Closed rings, grid units, filled by the even-odd rule."""
    path = QPainterPath()
    path.setFillRule(Qt.FillRule.OddEvenFill)
    for ring in rings:
        path.addPolygon(QPolygonF([QPointF(x, y) for x, y in ring]))
        path.closeSubpath()
    return path


def shape_path(shape: BaseGeometry) -> QPainterPath:
    """A polygonal shapely geometry, grid units."""
    rings = []
    for part in shapely.get_parts(shape):
        if part.geom_type == "Polygon" and not part.is_empty:
            rings += [part.exterior, *part.interiors]
    return ring_path([np.asarray(ring.coords)[:-1, :2].tolist() for ring in rings])


def line_path(vertices: Sequence[tuple[float, float]]) -> QPainterPath:
    """An open line through vertices, grid units."""
    path = QPainterPath()
    for i, (x, y) in enumerate(vertices):
        if i == 0:
            path.moveTo(x, y)
        else:
            path.lineTo(x, y)
    return path


def cosmetic(
    colour: str, width: float = 1.5, *, dash: Sequence[float] = (), alpha: float = 1.0
) -> QPen:
    """A pen whose width is in pixels at any zoom."""
    pen = QPen(tinted(colour, alpha), width)
    pen.setCosmetic(True)
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    if dash:
        pen.setDashPattern(list(dash))
    return pen


def tinted(colour: str, alpha: float) -> QColor:
    """A colour with an opacity in 0..1."""
    tint = QColor(colour)
    tint.setAlphaF(alpha)
    return tint
