"""Support in the real window: set among the settings of tiles, hatched and told, kept, exported."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import shapely
from contrast import contrast
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot
from window_driver import Lasting, action, at, open_window, run as run_to_end, settle, shape_of

from geodp import Examples, Frame
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.palette import load_palette
from geodp_app.runs.run_log import RunLog
from geodp_app.views.window.main_window import MainWindow
from learners.core.releases import support_shape

TARGET = Drawing(256, (Shape(((20, 60), (100, 60), (100, 190), (20, 190))),))
SQUARE = shapely.box(0, 0, 256, 256)
HATCHED = "Hatched: too few reports (ε\xa0=\xa00.2)"


def reported(window: MainWindow) -> None:
    """Nobody reports from the eastern half."""
    points = np.random.default_rng(1).integers(0, (120, 257), (6_000, 2))
    labels = ((points > (20, 60)) & (points < (100, 190))).all(axis=1).astype(np.int64)
    examples = Examples(points, labels, Frame(256))
    window.document.change("import", examples=examples, simulated=False)


@pytest.fixture
def window(lasting: Lasting) -> MainWindow:
    made = lasting.as_new()
    made.document.edit("draw", TARGET)
    reported(made)
    made.document.set_run(learner="tiles", seed=5, support=0.2)
    return made


def hatched(window: MainWindow) -> shapely.Geometry:
    return shape_of(window.plane.support.hatching.path())


def supported(log: RunLog) -> shapely.Geometry:
    assert log.release is not None
    shape = support_shape(log.release)
    assert shape is not None
    return shape


def test_what_is_not_supported_is_hatched_and_told(qtbot: QtBot, window: MainWindow) -> None:
    assert window.plane.support.hatching.path().isEmpty()
    assert window.plane_pane.note.words == ""
    log = run_to_end(qtbot, window)
    expected = SQUARE.difference(supported(log))
    assert 0.2 < expected.area / SQUARE.area < 0.7
    for step in (1, len(log.records)):
        window.runs.move_cursor(step)
        settle(qtbot, window)
        assert hatched(window).symmetric_difference(expected).area < 1e-6
        assert window.plane_pane.note.words == HATCHED
    assert "cells (" in window.plane_pane.note.toolTip()
    action(window, "release_view")
    assert hatched(window).symmetric_difference(expected).area < 1e-6
    assert window.plane_pane.note.words == HATCHED
    # a run without it hatches what its counts of tiles tell
    window.document.set_run(support=None)
    action(window, "release_view")
    log = run_to_end(qtbot, window)
    assert hatched(window).symmetric_difference(SQUARE.difference(supported(log))).area < 1e-6
    assert window.plane_pane.note.words == "Hatched: hardly any reports"
    window.document.set_run(learner="threshold")
    run_to_end(qtbot, window)
    assert window.plane.support.hatching.path().isEmpty()
    assert window.plane_pane.note.words == ""


def test_its_field_stands_beside_that_of_tiles(window: MainWindow) -> None:
    field = window.settings.fields["support"]
    assert field.value() == 20
    assert not field.isHidden()
    field.setValue(0)
    assert window.document.work.run["support"] is None
    assert field.text() == "not released"
    field.setValue(12.5)
    assert window.document.work.run["support"] == 0.125
    window.document.undo()  # both changes are one: they were spun
    assert field.value() == 20
    for learner in ("cover", "convex", "histogram"):
        window.document.set_run(learner=learner)
        assert field.isHidden()
        assert "support" not in window.document.work.run.parameters()


def runs_of(marks: list[bool]) -> list[int]:
    """Lengths of the runs of marks."""
    return [len(list(run)) for marked, run in itertools.groupby(marks) if marked]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_hatching_is_quiet_and_as_fine_at_any_zoom(
    qtbot: QtBot, tmp_path: Path, theme: str
) -> None:
    canvas = load_palette("dark" if theme == "dark" else "light").canvas.lower()
    with open_window(tmp_path, theme=theme) as window:
        window.plane.support.show(shapely.box(0, 0, 120, 256), 256)
        window.plane.empty.hide()
        for zoom in (1, 6):
            window.plane.getViewBox().scaleBy((1 / zoom, 1 / zoom), center=(120, 128))
            qtbot.wait(50)
            image: QImage = window.plane.grab().toImage()
            to_global = window.plane.viewport().mapToGlobal
            spot = window.plane.mapFromGlobal(to_global(at(window, 120, 130)))
            row = [image.pixelColor(spot.x() + i, spot.y()).name() for i in range(-60, 61)]
            assert set(row[:58]) == {canvas}
            marks = [colour != canvas for colour in row[62:]]
            assert len(runs_of(marks)) > 3
            assert max(runs_of(marks)) <= 4
            assert max(runs_of([not mark for mark in marks])) <= 12
            assert max(contrast(colour, canvas) for colour in row) < 4  # quiet
