"""Clipping the result in the real window: chosen in the menu, seen on the plane, exported, kept."""

import json
from pathlib import Path

import geopandas
import numpy as np
import pytest
import shapely
from contrast import contrast
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QPainterPath
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot
from window_driver import (
    LEFT,
    NONE,
    Lasting,
    action,
    at,
    choose_file,
    key,
    log_of,
    painted,
    run as run_to_end,
    shape_of,
)

from geodp import Bounds
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.files.learned_file import read_learned
from geodp_app.palette import load_palette
from geodp_app.runs.run_log import RunLog
from geodp_app.views.plane.examples_layer import Kind
from geodp_app.views.run import live_run
from geodp_app.views.window import window_files
from geodp_app.views.window.main_window import MainWindow

#: A square of the grid, and a map that leaves out its right half and a hole.
TARGET = Drawing(256, (Shape(((40, 40), (216, 40), (216, 216), (40, 216))),))
MAP = shapely.box(0, 20, 128, 240).difference(shapely.box(80, 80, 100, 100))
LEARNERS = ("tiles", "discs")


@pytest.fixture
def window(lasting: Lasting) -> MainWindow:
    return lasting.drawn(TARGET, 3_000, learner="tiles", seed=5)


@pytest.fixture
def finished(qtbot: QtBot, lasting: Lasting) -> MainWindow:
    """After a run by tiles."""
    return lasting.after_run(qtbot, TARGET, 3_000, learner="tiles", seed=5)


def written(path: Path, shape: shapely.Geometry = MAP, **member: object) -> Path:
    """A map file, by default in units of the grid."""
    member = member or {"frame": "grid", "grid": 256}
    path.write_text(json.dumps({**json.loads(shapely.to_geojson(shape)), "geodp": member}))
    return path


def click_menu(window: MainWindow, title: str, name: str) -> None:
    """Open a menu with the mouse and click an entry."""
    bar, made = window.menuBar(), window.commands.by_id[name]
    entry = next(each for each in bar.actions() if each.text() == f"&{title}")
    QTest.mouseClick(bar, LEFT, NONE, bar.actionGeometry(entry).center())
    menu = entry.menu()
    assert menu.isVisible()
    QTest.mouseClick(menu, LEFT, NONE, menu.actionGeometry(made).center())


def clip(window: MainWindow, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    choose_file(monkeypatch, path)
    click_menu(window, "File", "clip")


def drawn(window: MainWindow) -> shapely.Geometry:
    return shape_of(painted(window, "region"))


def veiled(window: MainWindow) -> shapely.Geometry:
    return shape_of(window.plane.mask.veil.path())


def alike(one: shapely.Geometry, other: shapely.Geometry) -> bool:
    return bool(one.symmetric_difference(other).area < 1e-6)


def whole(log: RunLog) -> shapely.Geometry:
    return log.release.shape()


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_learned_shape_is_drawn_and_exported_clipped(
    qtbot, window, tmp_path, monkeypatch, learner
):
    window.document.set_run(learner=learner, k=2)
    log = run_to_end(qtbot, window)
    window.runs.move_cursor(len(log.records))
    assert alike(drawn(window), whole(log))
    clip(window, monkeypatch, written(tmp_path / "map.geojson"))
    expected = whole(log).intersection(MAP)
    assert 0 < expected.area < 0.7 * whole(log).area
    assert alike(drawn(window), expected)
    assert alike(veiled(window), shapely.box(0, 0, 256, 256).difference(MAP))
    assert window.runs.current is log  # no run is made anew
    assert len(window.document.work.spent) <= 1
    out = tmp_path / "out.geojson"
    choose_file(monkeypatch, out)
    action(window, "export_learned")
    file = read_learned(out)
    assert (file.release, file.shape.clipped_to) == (log.release, "map.geojson")
    assert alike(file.target.on_grid(256), expected)


def test_every_step_is_clipped_and_so_is_the_release_view(finished, tmp_path, monkeypatch):
    window, log = finished, log_of(finished)
    clip(window, monkeypatch, written(tmp_path / "map.geojson"))
    for step in range(1, len(log.records) + 1):
        window.runs.move_cursor(step)
        assert alike(drawn(window), log.region().intersection(MAP))
    action(window, "release_view")
    assert alike(drawn(window), whole(log).intersection(MAP))
    # the map is public
    assert window.plane.mask.veil.isVisible()
    assert window.plane_pane.note.text() == "clipped to map.geojson"


def test_crosses_are_of_the_clipped_shape_and_errors_say_that_they_are_not(
    finished, tmp_path, monkeypatch
):
    window, log = finished, log_of(finished)
    sample = window.document.work.examples
    inside = sample.labels != 0
    kept = np.array([MAP.covers(shapely.Point(*at)) for at in sample.points.tolist()])
    titles = window.chart.findChild(QLabel, "paneTitle"), window.figures.errors.heading

    def crosses() -> np.ndarray:
        return window.plane.examples.shown.kinds == Kind.WRONG

    for _ in range(2):
        assert (crosses() == log.wrong).all()
        assert [title.text() for title in titles] == ["Error", "Errors"]
        clip(window, monkeypatch, written(tmp_path / "map.geojson"))
        labelled = (log.release.predict(sample.points) == 1) & kept
        assert (crosses() == (labelled != inside)).all()
        assert (crosses() != log.wrong).any()
        assert [title.text() for title in titles] == ["Error, unclipped", "Errors, unclipped"]
        window.runs.move_cursor(4)
        decided = ~log.alive
        wrong = decided & np.where(kept, log.wrong, inside)
        assert (crosses() == wrong).all()
        window.runs.show_end()
        action(window, "clip_no_more")


def test_it_goes_by_its_action_or_undo_and_comes_back_by_redo(finished, tmp_path, monkeypatch):
    window, log = finished, log_of(finished)
    window.runs.move_cursor(len(log.records))
    assert not window.commands.by_id["clip_no_more"].isEnabled()
    clip(window, monkeypatch, written(tmp_path / "map.geojson"))
    cut = whole(log).intersection(MAP)
    assert window.status_line.text() == (
        "map.geojson: the learned shape is clipped to it where it is shown and exported."
    )
    assert window.plane_pane.note.text() == "clipped to map.geojson"
    click_menu(window, "File", "clip_no_more")
    assert alike(drawn(window), whole(log))
    assert window.plane.mask.veil.path().isEmpty()
    assert window.plane_pane.note.text() == ""
    assert not window.commands.by_id["clip_no_more"].isEnabled()
    key(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert alike(drawn(window), cut)
    key(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert alike(drawn(window), whole(log))
    action(window, "redo")
    assert alike(drawn(window), cut)
    assert window.document.work.within is not None
    assert window.runs.current is log


def test_a_session_keeps_the_map_and_the_run_that_it_clips(finished, tmp_path, monkeypatch):
    window, log = finished, log_of(finished)
    clip(window, monkeypatch, written(tmp_path / "map.geojson"))
    path = tmp_path / "kept.geodp"
    choose_file(monkeypatch, path)
    action(window, "save")
    (tmp_path / "map.geojson").unlink()  # the session has it
    release = log.release
    window.files.start_anew()
    assert window.document.work.within is None
    assert window.plane.mask.veil.path().isEmpty()
    choose_file(monkeypatch, path)
    action(window, "open")
    back = log_of(window)
    assert back.release == release
    window.runs.move_cursor(len(back.records))
    assert alike(drawn(window), whole(back).intersection(MAP))
    assert alike(veiled(window), shapely.box(0, 0, 256, 256).difference(MAP))
    assert window.commands.by_id["clip_no_more"].isEnabled()


def test_the_outlines_of_twenty_runs_are_clipped_too(qtbot, window, tmp_path, monkeypatch):
    monkeypatch.setattr(live_run, "TIMES", 2)
    window.document.sample()
    action(window, "again")
    qtbot.waitUntil(lambda: not window.again.controller.busy and len(window.again.shapes) == 2)

    def outlines() -> QPainterPath:
        return painted(window, "again")

    assert outlines().boundingRect().right() > 190
    clip(window, monkeypatch, written(tmp_path / "map.geojson"))
    corners = [(p.x(), p.y()) for ring in outlines().toSubpathPolygons() for p in ring]
    assert shapely.covers(MAP.buffer(1e-6), shapely.points(corners)).all()
    assert outlines().boundingRect().right() == pytest.approx(128)
    words = "2 runs, one outline each, clipped to map.geojson"
    assert window.plane_pane.note.words == words
    click_menu(window, "File", "clip_no_more")
    assert outlines().boundingRect().right() > 190


def test_what_is_left_out_is_veiled_and_its_outline_is_seen(qtbot, lasting, tmp_path, monkeypatch):
    window, canvas = lasting.as_new(), load_palette("light").canvas.lower()
    clip(window, monkeypatch, written(tmp_path / "map.geojson"))
    qtbot.wait(50)
    image: QImage = window.plane.grab().toImage()

    def colour(x: float, y: float) -> str:
        spot = window.plane.mapFromGlobal(window.plane.viewport().mapToGlobal(at(window, x, y)))
        return image.pixelColor(spot).name()

    assert colour(30, 225) == canvas
    assert colour(200, 225) != canvas
    assert contrast(colour(200, 225), canvas) < 1.5  # quiet
    across = {colour(x, 225) for x in np.arange(126, 130, 0.25)}
    assert max(contrast(each, canvas) for each in across) > 2  # but its edge is drawn


def test_the_tip_says_that_the_map_must_be_public(window: MainWindow) -> None:
    tip = window.commands.by_id["clip"].toolTip()
    assert "public map" in tip
    assert "never one made from the examples" in tip


def test_of_several_layers_of_a_map_one_is_asked_for(window, tmp_path, monkeypatch):
    window.document.change(
        "change the bounds", bounds=Bounds(0, 0, 25.6, 25.6)
    )  # ten steps a degree
    path = tmp_path / "m.gpkg"
    for layer, east in (("sea", 5), ("land", 12.8)):
        shape = [shapely.box(0, 2, east, 24)]
        geopandas.GeoDataFrame(geometry=shape, crs=4326).to_file(path, layer=layer)
    answers = iter([("land", False), ("land", True)])
    monkeypatch.setattr(window_files.QInputDialog, "getItem", lambda *_: next(answers))
    clip(window, monkeypatch, path)
    assert window.document.work.within is None
    clip(window, monkeypatch, path)
    mask = window.document.work.within
    assert mask is not None
    region = mask.region(window.document.work.frame)
    assert region.symmetric_difference(shapely.box(0, 20, 128, 240)).area < 1e-6
