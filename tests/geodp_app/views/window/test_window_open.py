"""Opening something else never touches the session's file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox
from window_driver import action, choose_file, click, drag, drop, finish_run, key, log_of

from assets import example_path
from geodp_app.views.window.main_window import MainWindow
from geometry.halfplane import Sheet
from learners.registry import offered

CSV = "x,y,label\n3,4,1\n50,60,0\n"
ANSWER = QMessageBox.StandardButton


def draw(window: MainWindow) -> None:
    key(window, Qt.Key.Key_R)
    drag(window, (50, 50), (120, 120), (200, 200))


@pytest.fixture
def session(window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session that was drawn and saved, and is open."""
    path = tmp_path / "mine.geodp"
    draw(window)
    choose_file(monkeypatch, path)
    action(window, "save")
    assert window.windowTitle().startswith("mine.geodp")
    return path


def by_open(window: MainWindow, path: Path) -> None:
    action(window, "open")


def by_recent(window: MainWindow, path: Path) -> None:
    window.files.recent.add(path)
    menu = window.commands.by_id["open_recent"].menu()
    menu.aboutToShow.emit()
    menu.actions()[0].trigger()


def by_example(window: MainWindow, path: Path) -> None:
    menu = window.commands.by_id["open_example"].menu()
    next(entry for entry in menu.actions() if entry.text() == "Croatia").trigger()


WAYS = (by_open, drop, by_recent, by_example)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["target", "examples"])
def test_opening_something_else_leaves_the_session_and_its_file_alone(
    window, session, tmp_path, monkeypatch, way, kind
):
    before = session.read_bytes()
    other = example_path("croatia") if kind == "target" else tmp_path / "p.csv"
    if kind == "examples":
        other.write_text(CSV)
    choose_file(monkeypatch, other)
    way(window, other)
    assert window.document.path is None
    assert not window.windowTitle().startswith("mine.geodp")
    assert not window.document.history.dirty  # what is there is in a file of its own
    # Save asks for a name
    choose_file(monkeypatch, tmp_path / "other.geodp")
    action(window, "save")
    assert session.read_bytes() == before
    assert window.document.path == tmp_path / "other.geodp"


@pytest.mark.parametrize("way", WAYS)
def test_unsaved_work_is_asked_about_before_something_else_is_opened(
    window, session, monkeypatch, way
):
    draw_more = window.document.drawing
    key(window, Qt.Key.Key_R)
    drag(window, (210, 210), (220, 220), (240, 240))
    changed = window.document.drawing
    assert changed != draw_more
    asked: list[str] = []
    answers = iter([ANSWER.Cancel, ANSWER.Discard])

    def answer(box: QMessageBox) -> QMessageBox.StandardButton:
        asked.append(box.text())
        return next(answers)

    monkeypatch.setattr(QMessageBox, "exec", answer)
    other = example_path("croatia")
    choose_file(monkeypatch, other)
    way(window, other)
    assert asked == ["Save the changes to mine.geodp?"]
    assert (window.document.drawing, window.document.path) == (changed, session)
    way(window, other)
    assert window.document.work.name == "Croatia"
    assert window.document.path is None
    action(window, "undo")  # even what was given up can be had again
    assert window.document.drawing == changed


def test_an_import_is_an_edit_of_the_session(window, session, tmp_path, monkeypatch):
    drawn = window.document.drawing
    (tmp_path / "p.csv").write_text(CSV)
    choose_file(monkeypatch, tmp_path / "p.csv")
    action(window, "import_examples")
    assert window.document.path == session
    assert window.document.history.dirty
    assert window.document.drawing == drawn
    assert window.document.work.examples is not None
    choose_file(monkeypatch, example_path("croatia"))
    action(window, "import_target")
    assert window.document.path == session
    assert window.document.work.examples is not None
    action(window, "undo")
    action(window, "undo")
    assert window.document.drawing == drawn
    assert not window.document.history.dirty


def test_examples_are_opened_without_a_drawing_that_is_not_theirs(
    window, session, tmp_path, monkeypatch
):
    (tmp_path / "reports.csv").write_text(CSV)
    choose_file(monkeypatch, tmp_path / "reports.csv")
    action(window, "open")
    work = window.document.work
    assert (work.name, work.drawing.shapes, work.bounds) == ("reports", (), None)
    assert (work.drawing.grid, work.simulated) == (256, False)  # the grid is a setting


def test_new_and_something_else_begin_with_nothing_zoomed_or_begun(qtbot, window, tmp_path):
    whole = window.plane.getViewBox().viewRange()
    (tmp_path / "p.csv").write_text(CSV)
    for begin in (window.files.start_anew, lambda: window.files.open(tmp_path / "p.csv")):
        window.document.new(window.document.work)
        sheet = window.dual.sheets[Sheet.STEEP_LEFT]
        window.dual.show_sheet(sheet.sheet)
        sheet.plot.zoom(0.1)
        window.plane.getViewBox().scaleBy((0.2, 0.2))
        key(window, Qt.Key.Key_P)
        click(window, *window.plane.getViewBox().viewRect().center().toTuple())
        assert window.editor.current.draft is not None
        key(window, Qt.Key.Key_V)
        begin()
        assert window.editor.tool == "polygon"
        assert window.commands.by_id["polygon"].isChecked()
        assert window.editor.current.draft is None
        assert not window.editor.undo_vertex()
        assert window.dual.sheet == Sheet.FLAT_ABOVE
        qtbot.wait(50)
        ranges = []
        for number in Sheet:
            window.dual.show_sheet(number)
            qtbot.wait(50)
            ranges.append(np.ptp(window.dual.sheets[number].plot.box.viewRange(), axis=1))
        assert np.ptp(ranges, axis=0).max() < 0.05 * np.max(ranges)  # all are as whole
        if begin == window.files.start_anew:
            window.set_tool("select")
            assert window.document.drawing.grid == 1024
        else:
            assert window.plane.getViewBox().viewRange() != whole  # another grid, shown whole
        d = window.document.drawing.grid
        (left, right), (low, high) = window.plane.getViewBox().viewRange()
        assert left <= 0 <= d <= right
        assert low <= 0 <= d <= high


# -- no examples --------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [each.id for each in offered("window") if each.private])
def test_no_examples_and_one_are_neighbours_that_both_run_and_release(
    qtbot, window, tmp_path, learner
):
    for rows in ("", "3,4,1\n"):
        path = tmp_path / f"p{len(rows)}.csv"
        path.write_text("x,y,label\n" + rows)
        assert window.files.open(path)
        assert window.document.work.examples is not None
        window.document.set_run(learner=learner, k=1, n_steps=1)
        key(window, Qt.Key.Key_F5)
        finish_run(qtbot, window)
        log = log_of(window)
        assert log.release is not None
        qtbot.waitUntil(lambda: window.display.at_rest)
        target = tmp_path / f"learned{len(rows)}.geojson"
        log.cursor = 0
        window.display.refresh()
        window.runs.move_cursor(len(log.records))
        session = tmp_path / f"s{len(rows)}.geodp"
        with pytest.MonkeyPatch.context() as patch:
            choose_file(patch, target)
            action(window, "export_learned")
            choose_file(patch, session)
            action(window, "save_as")
        assert target.exists()
        window.files.start_anew()
        assert window.files.open(session)
        again = log_of(window)
        assert again.release == log.release
