"""Dots of a plane: the picture is pyqtgraph's, and nothing is made anew that has not changed."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
import pytest
from PySide6.QtGui import QColor, QImage
from pytestqt.qtbot import QtBot

from geodp_app.views.widgets.plotting import Dots, cosmetic

POINTS = np.random.default_rng(0).integers(0, 65, (40, 2))


def picture(qtbot: QtBot, dots: pg.ScatterPlotItem) -> QImage:
    """Of a plot with a pen, a brush, and these dots at POINTS."""
    plot = pg.PlotWidget()
    qtbot.addWidget(plot)
    plot.resize(200, 200)
    plot.setRange(xRange=(0, 64), yRange=(0, 64))
    plot.addItem(dots)
    plot.grab()  # axes find their width
    return plot.grab().toImage()


@pytest.mark.parametrize(("symbol", "size"), [("o", 5.0), ("x", 9.0)])
def test_they_look_as_those_of_pyqtgraph(qtbot: QtBot, symbol: str, size: float) -> None:
    ours, theirs = Dots(3.0, symbol), pg.ScatterPlotItem(symbol=symbol, size=size)
    ours.show_at(POINTS[:7])
    theirs.setData(pos=POINTS.astype(float))
    for dots in (ours, theirs):
        dots.setPen(cosmetic("#c0392b", 1.5))
        dots.setBrush(pg.mkBrush(QColor("#2c3e50")))
    ours.show_at(POINTS, size)
    assert picture(qtbot, ours) == picture(qtbot, theirs)


def test_none_of_them_are_nothing(qtbot: QtBot) -> None:
    dots = Dots(5.0)
    dots.show_at(POINTS)
    dots.show_at([])
    assert dots.boundingRect().isNull()
    assert picture(qtbot, dots) == picture(qtbot, pg.ScatterPlotItem())


def test_what_is_shown_already_is_not_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    dots = Dots(5.0)
    plain = dots.setData
    monkeypatch.setattr(
        dots, "setData", lambda **data: made.append(len(data["pos"])) or plain(**data)
    )
    dots.show_at([])
    dots.show_at(POINTS)
    dots.show_at(POINTS.copy())
    assert made == [len(POINTS)]
    moved = POINTS.copy()
    moved[3] += 1
    dots.show_at(moved)
    dots.show_at(moved, 6.0)
    dots.show_at([])
    assert made == [len(POINTS)] * 3 + [0]
