"""Opening something else never touches the session's file; examples in degrees get their bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QTimer, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QMessageBox
from pytestqt.qtbot import QtBot
from window_driver import LEFT, NONE, action, click, drag, finish_run, key, open_window, wait

from assets import example_path
from geodp_app.views.bounds_dialog import BoundsDialog
from geodp_app.views.main_window import MainWindow
from geometry.grid import Bounds
from geometry.halfplane import Sheet
from learners.registry import offered

CSV = "x,y,label\n3,4,1\n50,60,0\n"
DEGREES = "lon,lat,label\n13.5,43.25,1\n19,46,0\n"
ANSWER = QMessageBox.StandardButton


@pytest.fixture
def window(qtbot: QtBot, tmp_path: Path) -> Iterator[MainWindow]:
    with open_window(qtbot, tmp_path) as made:
        yield made


def choose_file(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))


def draw(window: MainWindow) -> None:
    key(window, Qt.Key.Key_R)
    drag(window, (50, 50), (120, 120), (200, 200))


def drop(window: MainWindow, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    under, copy = window.plane.viewport(), Qt.DropAction.CopyAction
    QApplication.sendEvent(under, QDragEnterEvent(QPoint(9, 9), copy, data, LEFT, NONE))
    QApplication.sendEvent(under, QDropEvent(QPointF(9, 9), copy, data, LEFT, NONE))


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


def by_drop(window: MainWindow, path: Path) -> None:
    drop(window, path)


def by_import(window: MainWindow, path: Path) -> None:
    action(window, "import_examples")


def by_recent(window: MainWindow, path: Path) -> None:
    window.files.recent.add(path)
    menu = window.commands.by_id["open_recent"].menu()
    menu.aboutToShow.emit()
    menu.actions()[0].trigger()


def by_example(window: MainWindow, path: Path) -> None:
    menu = window.commands.by_id["open_example"].menu()
    next(entry for entry in menu.actions() if entry.text() == "Croatia").trigger()


WAYS = (by_open, by_drop, by_recent, by_example)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["target", "examples"])
def test_opening_something_else_leaves_the_session_and_its_file_alone(
    window: MainWindow,
    session: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    way: Callable[[MainWindow, Path], None],
    kind: str,
) -> None:
    before = session.read_bytes()
    other = example_path("croatia") if kind == "target" else tmp_path / "p.csv"
    if kind == "examples":
        other.write_text(CSV)
    choose_file(monkeypatch, other)
    way(window, other)
    assert window.document.path is None
    assert not window.windowTitle().startswith("mine.geodp")
    assert not window.document.dirty  # what is there is in a file of its own
    # Save asks for a name
    choose_file(monkeypatch, tmp_path / "other.geodp")
    action(window, "save")
    assert session.read_bytes() == before
    assert window.document.path == tmp_path / "other.geodp"


@pytest.mark.parametrize("way", WAYS)
def test_unsaved_work_is_asked_about_before_something_else_is_opened(
    window: MainWindow,
    session: Path,
    monkeypatch: pytest.MonkeyPatch,
    way: Callable[[MainWindow, Path], None],
) -> None:
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


def test_an_import_is_an_edit_of_the_session(
    window: MainWindow, session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = window.document.drawing
    (tmp_path / "p.csv").write_text(CSV)
    choose_file(monkeypatch, tmp_path / "p.csv")
    action(window, "import_examples")
    assert window.document.path == session
    assert window.document.dirty
    assert window.document.drawing == drawn
    assert window.document.work.examples is not None
    choose_file(monkeypatch, example_path("croatia"))
    action(window, "import_target")
    assert window.document.path == session
    assert window.document.work.examples is not None
    action(window, "undo")
    action(window, "undo")
    assert window.document.drawing == drawn
    assert not window.document.dirty


def test_examples_are_opened_without_a_drawing_that_is_not_theirs(
    window: MainWindow, session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "reports.csv").write_text(CSV)
    choose_file(monkeypatch, tmp_path / "reports.csv")
    action(window, "open")
    work = window.document.work
    assert (work.name, work.drawing.shapes, work.bounds) == ("reports", (), None)
    assert (work.drawing.grid, work.simulated) == (256, False)  # the grid is a setting


def test_new_and_something_else_begin_with_nothing_zoomed_or_begun(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    whole = window.plane.getViewBox().viewRange()
    (tmp_path / "p.csv").write_text(CSV)
    for begin in (window.start_anew, lambda: window.files.open(tmp_path / "p.csv")):
        window.document.new(window.document.work)
        sheet = window.dual.sheets[Sheet.STEEP_LEFT]
        window.dual.show_sheet(sheet.sheet)
        sheet.plot.zoom(0.1)
        window.plane.getViewBox().scaleBy((0.2, 0.2))
        key(window, Qt.Key.Key_P)
        click(window, *window.plane.getViewBox().viewRect().center().toTuple())
        assert window.editor.draft is not None
        key(window, Qt.Key.Key_V)
        begin()
        assert window.editor.tool == "polygon"
        assert window.commands.by_id["polygon"].isChecked()
        assert window.editor.draft is None
        assert not window.editor.undo_vertex()
        assert window.dual.sheet == Sheet.FLAT_ABOVE
        qtbot.wait(50)
        ranges = []
        for number in Sheet:
            window.dual.show_sheet(number)
            qtbot.wait(50)
            ranges.append(np.ptp(window.dual.sheets[number].plot.box.viewRange(), axis=1))
        assert np.ptp(ranges, axis=0).max() < 0.05 * np.max(ranges)  # all are as whole
        if begin == window.start_anew:
            window.set_tool("select")
            assert window.document.drawing.grid == 1024
        else:
            assert window.plane.getViewBox().viewRange() != whole  # another grid, shown whole
        d = window.document.drawing.grid
        (left, right), (low, high) = window.plane.getViewBox().viewRange()
        assert left <= 0 <= d <= right
        assert low <= 0 <= d <= high


# -- bounds -------------------------------------------------------------------------------------


def answering(act: Callable[[BoundsDialog], None]) -> list[BoundsDialog]:
    """Do this in the dialog once it is there; which dialogs there were."""
    seen: list[BoundsDialog] = []

    def look() -> None:
        dialog = QApplication.activeModalWidget()
        if isinstance(dialog, BoundsDialog):
            seen.append(dialog)
            act(dialog)
            if dialog.isVisible():  # a test that failed would wait for ever
                dialog.reject()
        elif isinstance(dialog, QMessageBox):
            dialog.reject()

    QTimer.singleShot(50, look)
    return seen


def fill(dialog: BoundsDialog, *values: str) -> None:
    for field, value in zip(dialog.fields.values(), values, strict=True):
        field.setFocus()
        field.selectAll()
        QTest.keyClick(field, Qt.Key.Key_Backspace)
        if value.isascii():
            QTest.keyClicks(field, value)
        else:
            field.insert(value)  # as from the clipboard


@pytest.mark.parametrize("way", [by_open, by_drop])
def test_points_in_degrees_are_opened_with_bounds_that_are_typed(
    window: MainWindow,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    way: Callable[[MainWindow, Path], None],
) -> None:
    path = tmp_path / "p.csv"
    path.write_text(DEGREES)
    choose_file(monkeypatch, path)

    def type_and_open(dialog: BoundsDialog) -> None:
        assert [field.text() for field in dialog.fields.values()] == [""] * 4
        assert not dialog.use.isEnabled()
        fill(dialog, "12", "42", "20", "47")
        assert dialog.use.isEnabled()
        QTest.mouseClick(dialog.use, LEFT)

    assert len(answering(type_and_open)) == 0
    way(window, path)
    work = window.document.work
    assert work.bounds == Bounds(12, 42, 20, 47)
    assert work.examples is not None
    assert work.examples.points.tolist() == [[48, 64], [224, 205]]
    assert window.document.path is None


def test_what_is_wrong_with_bounds_is_said_while_they_are_typed(
    window: MainWindow, tmp_path: Path
) -> None:
    path = tmp_path / "p.csv"
    path.write_text(DEGREES)
    said: list[str] = []

    def mistype(dialog: BoundsDialog) -> None:
        tries = [
            ("12", "42", "20", ""),  # not typed yet: nothing is wrong
            ("-", "42", "20", "47"),
            ("east", "42", "20", "47"),
            ("20", "42", "12", "47"),
            ("12", "42", "20", "95"),
            ("nan", "42", "20", "47"),
            ("12", "42", "20", "1e999"),
        ]
        for values in tries:
            fill(dialog, *values)
            assert not dialog.use.isEnabled()
            said.append(dialog.problem.text() if dialog.problem.isVisible() else "")
            QTest.keyClick(dialog.fields["North"], Qt.Key.Key_Return)
            assert dialog.isVisible()  # Enter does no more than the button
        # a minus sign and a decimal comma as a map's page has them
        fill(dialog, "−12,5°", "42", "20", "47")
        assert dialog.bounds() == Bounds(-12.5, 42, 20, 47)

    dialogs = answering(mistype)
    before = window.document.work
    assert not window.files.open(path)
    assert len(dialogs) == 1
    assert said[:2] == ["", ""]
    assert said[2].startswith("West: 'east' is not a number")
    assert "west < east" in said[3]
    assert "north <= 90" in said[4]
    assert all("finite" in text for text in said[5:])
    assert window.document.work is before


def test_cancel_leaves_everything_as_it_was(
    window: MainWindow, session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.csv"
    path.write_text(DEGREES)
    choose_file(monkeypatch, path)
    before = window.document.work
    complaints: list[str] = []
    monkeypatch.setattr(window, "complain", lambda what, why: complaints.append(why))
    for way in (by_open, by_drop, by_import):
        dialogs = answering(lambda dialog: QTest.keyClick(dialog, Qt.Key.Key_Escape))
        way(window, path)
        assert len(dialogs) == 1
        assert window.document.work is before
        assert (window.document.path, window.document.dirty) == (session, False)
    assert complaints == []


def test_a_point_off_the_bounds_is_told_in_the_dialog_which_stays(
    window: MainWindow, tmp_path: Path
) -> None:
    path = tmp_path / "p.csv"
    path.write_text(DEGREES)

    def too_small_then_right(dialog: BoundsDialog) -> None:
        fill(dialog, "12", "42", "15", "47")
        QTest.mouseClick(dialog.use, LEFT)
        assert dialog.isVisible()
        assert "row 2 (line 3), column lon: 19 is outside the bounds 12..15" in (
            dialog.problem.text()
        )
        assert "--bounds" not in dialog.problem.text()
        fill(dialog, "12", "42", "20", "47")
        assert not dialog.problem.isVisible()
        QTest.mouseClick(dialog.use, LEFT)

    answering(too_small_then_right)
    assert window.files.open(path)
    assert window.document.work.bounds == Bounds(12, 42, 20, 47)


def test_the_bounds_of_the_target_are_the_first_offer(window: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(DEGREES)
    window.files.open_example("croatia")
    bounds = window.document.work.bounds
    assert bounds is not None
    offered: list[Bounds] = []

    def accept(dialog: BoundsDialog) -> None:
        offered.append(dialog.bounds())
        QTest.keyClick(dialog.fields["West"], Qt.Key.Key_Return)

    answering(accept)
    assert window.files.open(path)
    assert offered == [bounds]
    assert window.document.work.bounds == bounds


def test_the_dialog_says_that_bounds_are_public_and_has_names(
    window: MainWindow, tmp_path: Path
) -> None:
    path = tmp_path / "reports.csv"
    path.write_text(DEGREES)

    def look(dialog: BoundsDialog) -> None:
        words = " ".join(
            label.text() for label in dialog.findChildren(type(dialog.problem)) if label.isVisible()
        )
        assert "reports.csv" in words
        assert "Bounds are public" in words
        assert "never takes them from the points" in words
        names = [field.accessibleName() for field in dialog.fields.values()]
        assert names == ["West", "South", "East", "North"]

    assert len(dialogs := answering(look)) == 0
    window.files.open(path)
    assert len(dialogs) == 1


# -- no examples --------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [each.id for each in offered("window") if each.private])
def test_no_examples_and_one_are_neighbours_that_both_run_and_release(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, learner: str
) -> None:
    for rows in ("", "3,4,1\n"):
        path = tmp_path / f"p{len(rows)}.csv"
        path.write_text("x,y,label\n" + rows)
        assert window.files.open(path)
        assert window.document.work.examples is not None
        window.document.set_run(learner=learner, k=1, n_steps=1)
        key(window, Qt.Key.Key_F5)
        finish_run(qtbot, window)
        log = window.runs.current
        assert log is not None
        assert log.release is not None
        wait(qtbot, lambda: window.display.settled)
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
        window.start_anew()
        assert window.files.open(session)
        again = window.runs.current
        assert again is not None
        assert again.release == log.release
