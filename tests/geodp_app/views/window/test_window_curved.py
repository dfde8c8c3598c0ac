"""Discs and ellipses in the real window: chosen in the panel, run, stepped, kept, exported."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot
from window_driver import Lasting, action, dual_lattice, painted, run as run_to_end, settle

from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.dual.scene import CELLS
from geodp_app.formatting import amount
from geodp_app.runs.questions import conic_question
from geodp_app.runs.run_log import RunLog
from geodp_app.views.window.main_window import MainWindow
from geometry.halfplane import HalfplaneLattice
from geometry.lift import Conic


def round_shape(x: int, y: int, w: int, h: int) -> Shape:
    """An ellipse drawn with 48 corners."""
    angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    return Shape(
        tuple((round(x + w * np.cos(a)), round(y + h * np.sin(a))) for a in angle)  # type: ignore[arg-type]
    )


TARGET = Drawing(256, (round_shape(90, 100, 55, 55), round_shape(180, 180, 50, 50)))


@pytest.fixture
def window(lasting: Lasting) -> MainWindow:
    made = lasting.as_new()
    made.document.edit("draw", TARGET)
    made.document.set_sampling(n=6_000)
    return made


def run(qtbot: QtBot, window: MainWindow, **settings: object) -> RunLog:
    """Run to the end, by its key."""
    window.document.set_run(**{"learner": "discs", "k": 2, "seed": 5, **settings})
    return run_to_end(qtbot, window)


def test_the_dual_plane_of_discs_is_that_of_their_centres(qtbot: QtBot, window: MainWindow) -> None:
    log = run(qtbot, window)
    conics = window.conics
    assert window.duals.currentWidget() is conics
    newest = log.pieces[-1][0]
    assert isinstance(newest, Conic)
    radius = newest.parameters[2] / (1 << newest.lattice.bits)
    assert window.dual_pane.heading.text() == (
        f"Dual plane: centres of discs of radius {amount(radius)}"
    )
    assert [mark.step for mark in conics.centres.marks] == list(range(1, len(log.records) + 1))
    window.runs.move_cursor(len(log.records))
    settle(qtbot, window)
    marks = conics.centres.marks
    assert [mark.step for mark in marks] == list(range(1, log.cursor + 1))
    assert (marks[-1].u, marks[-1].v) == newest.centre
    assert conics.shaded is not None
    # a ghost on the plane, with its own exact counts
    x, y = newest.centre
    conics.try_at(x + 20, y - 10)
    question = conic_question(log, log.cursor)
    other = question.at(x + 20, y - 10)
    assert conics.candidate == question.judge(other)
    assert question.judge(other).words in conics.readout.text()
    ghost = painted(window, "pointed").boundingRect()
    left, bottom, right, top = other.polygon().bounds
    assert (ghost.left(), ghost.top()) == pytest.approx((left, bottom), abs=1e-6)
    assert (ghost.right(), ghost.bottom()) == pytest.approx((right, top), abs=1e-6)
    QTest.keyClick(conics.plot, Qt.Key.Key_Escape)
    assert conics.candidate is None
    assert painted(window, "pointed").isEmpty()
    # what is published is the centres alone
    action(window, "release_view")
    assert conics.candidate is None
    assert conics.positive.path().isEmpty()
    assert conics.negative.path().isEmpty()
    assert conics.shaded is None
    assert len(conics.centres.marks) == 6
    action(window, "release_view")


def test_cells_have_no_dual_plane_and_halfplanes_bring_it_back(
    qtbot: QtBot, window: MainWindow
) -> None:
    run(qtbot, window, learner="quadtree")
    dual = window.dual
    assert window.duals.currentWidget() is dual
    assert dual.stack.empty.text() == CELLS
    assert dual_lattice(window) is None
    window.runs.move_cursor(1)
    assert dual.stack.empty.text() == CELLS
    run(qtbot, window, learner="convex-cover", k=1)
    assert dual_lattice(window) == HalfplaneLattice(256)
    assert not dual.stack.empty.isVisible()
