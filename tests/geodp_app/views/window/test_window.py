"""The real window, driven by clicks and keys."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import shapely
from PySide6.QtCore import QPoint, QSettings, QSize, QStandardPaths, Qt, QTimer
from PySide6.QtGui import QImage, QPainter, QStatusTipEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox, QScrollArea, QToolBar, QToolButton, QWidget
from pytestqt.qtbot import QtBot
from window_driver import (
    L_SHAPE,
    LEFT,
    Lasting,
    action,
    choose,
    choose_file,
    click,
    double_click,
    drag,
    draw_l,
    finish_run,
    first_step,
    front,
    key,
    layer,
    log_of,
    open_window,
    painted,
    run,
    settle,
    type_into,
)

from geodp_app.document.document import Document
from geodp_app.document.work import LEARNERS, Work
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.files.learned_file import read_learned
from geodp_app.files.points import read_examples
from geodp_app.palette import load_palette
from geodp_app.views.panels.dialogs import VertexDialog, VertexModel
from geodp_app.views.run.live_run import REST
from geodp_app.views.widgets import panes
from geodp_app.views.window.main_window import MainWindow
from geometry.geojson import read_geojson
from geometry.halfplane import Sheet

CONTROL = Qt.KeyboardModifier.ControlModifier
HOLE = ((60, 60), (80, 60), (80, 80), (60, 80))


#: Of a cover whose runs take moments.
N, RUN = 2_000, {"learner": "cover", "k": 2, "n_steps": 4, "finish": "none"}


def quick(window: MainWindow, **run: object) -> None:
    window.document.set_sampling(n=N)
    window.document.set_run(**{**RUN, **run})


@pytest.fixture
def finished(qtbot: QtBot, lasting: Lasting) -> MainWindow:
    """After such a run."""
    return lasting.after_run(qtbot, Drawing(256, (Shape(L_SHAPE),)), N, **RUN)


def test_from_the_first_click_to_the_reopened_file(qtbot, window, tmp_path, monkeypatch):
    draw_l(window)
    key(window, Qt.Key.Key_H)
    for x, y in HOLE:
        click(window, x, y)
    click(window, *HOLE[0])  # closes
    (shape,) = window.document.drawing.shapes
    assert len(shape.outer) == 6
    assert len(shape.holes) == 1
    drawn = window.document.drawing.region()
    assert drawn.area == 50 * 150 + 100 * 50 - 20 * 20

    key(window, Qt.Key.Key_Z, CONTROL)
    assert window.document.drawing.shapes[0].holes == ()
    key(window, Qt.Key.Key_Z, CONTROL)
    assert window.document.drawing.shapes == ()
    key(window, Qt.Key.Key_Z, CONTROL | Qt.KeyboardModifier.ShiftModifier)
    key(window, Qt.Key.Key_Y, CONTROL)
    assert window.document.drawing.region().equals(drawn)

    quick(window)
    key(window, Qt.Key.Key_F6)
    examples = window.document.work.examples
    assert len(examples.points) == 2_000
    assert examples.labels.mean() == pytest.approx(drawn.area / 256**2, abs=0.05)

    first_step(qtbot, window)
    key(window, Qt.Key.Key_F5)
    finish_run(qtbot, window)
    log = log_of(window)
    assert len(log.records) == 4
    assert log.at_end
    assert window.timeline.text() == "The end"

    window.timeline.track.setValue(4)
    assert window.timeline.words.text() == "Triangle 4 of 4"
    action(window, "back")
    action(window, "back")
    assert log.cursor == 2
    assert log.release is not None
    assert window.timeline.track.value() == 2

    target, learned = tmp_path / "target.geojson", tmp_path / "learned.geojson"
    choose_file(monkeypatch, target)
    action(window, "export_drawing")
    assert read_geojson(target).on_grid(256).normalize().equals_exact(drawn.normalize(), 1e-6)
    choose_file(monkeypatch, learned)
    action(window, "export_learned")
    assert read_learned(learned).release == log.release

    session = tmp_path / "work.geodp"
    choose_file(monkeypatch, session)
    action(window, "save")
    assert not window.document.history.dirty
    work = window.document.work
    window.files.start_anew()
    assert window.document.drawing.shapes == ()
    action(window, "open")
    assert window.document.drawing == work.drawing
    assert np.array_equal(window.document.work.examples.points, examples.points)
    again = log_of(window)
    assert again.release == log.release
    assert again.records == log.records


def test_a_run_that_waits_for_the_learner_is_said_to_be_asked_for(window, monkeypatch):
    draw_l(window)
    quick(window)
    key(window, Qt.Key.Key_F6)
    by_id, words = window.commands.by_id, "Preparing the learner…"
    monkeypatch.setattr(window.runs.controller, "prepared", False)
    for name in (Qt.Key.Key_F5, Qt.Key.Key_F10):
        key(window, name)
        assert window.learner.text() == f"{words} Your run starts then."
        assert by_id["run"].text() == "Pause"
        assert by_id["stop"].isEnabled()
        assert not by_id["step"].isEnabled()
        key(window, Qt.Key.Key_F5)
        assert window.learner.text() == words
        assert by_id["run"].text() == "Run"
        assert not by_id["stop"].isEnabled()


def test_what_a_run_will_spend_is_shown_before_its_first_step(qtbot, window, monkeypatch):
    draw_l(window)
    quick(window)
    key(window, Qt.Key.Key_F6)
    monkeypatch.setattr(window.runs.controller, "_next", lambda: None)  # it takes its time
    key(window, Qt.Key.Key_F10)
    qtbot.waitUntil(lambda: log_of(window).privacy is not None)
    window.runs.changed.emit(False)
    assert window.figures.budget.values["δ"].text() == "10⁻⁶"
    assert window.why.aim.text().endswith("times as likely.")


def test_forward_leads_to_the_end_and_zooms_are_of_a_step(finished: MainWindow) -> None:
    window, by_id = finished, finished.commands.by_id

    def enabled() -> set[str]:
        names = ("back", "forward", "zoom_to_chosen", "zoom_to_streak")
        return {name for name in names if by_id[name].isEnabled()}

    assert enabled() == {"back"}
    action(window, "back")
    assert window.timeline.words.text() == "Triangle 4 of 4"
    assert enabled() == {"back", "forward", "zoom_to_chosen", "zoom_to_streak"}
    action(window, "forward")
    assert window.timeline.text() == "The end"
    action(window, "release_view")
    action(window, "back")
    assert enabled() == {"back", "forward", "zoom_to_chosen"}
    action(window, "release_view")
    assert "zoom_to_streak" in enabled()


def test_the_sample_follows_the_number_that_is_typed(window: MainWindow) -> None:
    window.document.open_example("three")
    quick(window)
    field = window.settings.count
    type_into(field, "700")
    assert window.document.work.examples is None  # nobody has asked for a sample
    key(window, Qt.Key.Key_F6)
    before = window.document.work
    assert before.examples is not None
    type_into(field, "1,500")
    drawn = window.document.work.examples
    assert len(drawn.labels) == window.document.work.sampling.n == 1_500
    key(window, Qt.Key.Key_Z, CONTROL)
    assert window.document.work.examples is before.examples
    assert window.document.work.sampling == before.sampling
    assert field.value() == 700
    # what takes long is asked for
    type_into(field, "3e5")
    outcome = "The sample is still the old one: Sample draws 300,000 examples"
    assert window.status_line.text() == outcome
    assert window.document.work.examples is before.examples
    assert window.document.work.sampling.n == 300_000


def test_a_sample_that_cannot_be_drawn_or_is_imported_stays(window: MainWindow) -> None:
    window.document.open_example("three")
    quick(window)
    key(window, Qt.Key.Key_F6)
    examples = window.document.work.examples
    assert examples is not None
    choose(window.settings.distribution, "Painted")
    assert window.document.work.sampling.distribution == "painted"
    assert window.document.work.examples is examples
    assert "still the old one: nothing is painted yet" in window.status_line.text()
    window.document.change("import", examples=examples, simulated=False)
    type_into(window.settings.count, "44")
    assert window.document.work.examples is examples
    assert "imported and stay" in window.status_line.text()


def test_no_run_follows_a_number_that_is_refused(qtbot: QtBot, finished: MainWindow) -> None:
    window = finished
    assert window.runs.live
    log, work = window.runs.current, window.document.work
    fields = window.settings.count, window.settings.k, window.settings.epsilon
    for text, field in itertools.product(("-5", "99999999999", "many", ""), fields):
        window.status_line.tell("")
        type_into(field, text)
        assert "is not a number from" in window.status_line.text()
        assert window.document.work is work
    qtbot.wait(2 * REST)
    assert window.runs.current is log
    assert not window.runs.busy


def test_the_keys_of_the_timeline_move_no_vertex_at_its_ends(finished: MainWindow) -> None:
    window = finished
    key(window, Qt.Key.Key_D)
    click(window, *L_SHAPE[2])
    drawn, log = window.document.drawing, window.runs.current
    for arrow, end in ((Qt.Key.Key_Right, len(log.records)), (Qt.Key.Key_Left, 0)):
        for _ in range(len(log.records) + 2):
            key(window, arrow, Qt.KeyboardModifier.AltModifier)
        assert log.cursor == end
        assert window.document.drawing is drawn
    key(window, Qt.Key.Key_Right)
    assert window.document.drawing != drawn


def test_export_is_a_button_that_says_what_it_waits_for_and_what_it_wrote(
    qtbot, window, tmp_path, monkeypatch
):
    button = window.commands.button("export_learned")
    assert isinstance(button, QToolButton)
    assert button.isVisible()
    assert button.text() == "Export…"
    QTest.mouseClick(button, LEFT)
    assert window.status_line.text() == "Export waits for a run (F5): nothing is learned yet"
    window.document.open_example("three")
    quick(window)
    key(window, Qt.Key.Key_F6)
    first_step(qtbot, window)
    waits = "Export waits for the end of the run: nothing is released before"
    QTest.mouseClick(button, LEFT)
    assert window.status_line.text() == button.toolTip() == waits
    assert not button.isEnabled()
    key(window, Qt.Key.Key_F5)
    finish_run(qtbot, window)
    assert button.isEnabled()
    assert button.toolTip() != waits
    path = tmp_path / "three.geojson"
    choose_file(monkeypatch, path)
    QTest.mouseMove(button)
    QTest.mouseClick(button, LEFT)
    polygons = len(shapely.get_parts(read_geojson(path).on_grid(256)))
    outcome = window.status_line.text()
    assert outcome.startswith(f"GeoJSON written: three.geojson in {tmp_path}; {polygons} polygon")
    assert "privacy statement" in outcome


def test_a_double_click_closes_without_a_stray_vertex(window: MainWindow) -> None:
    key(window, Qt.Key.Key_P)
    click(window, 25, 25)
    click(window, 150, 25)
    double_click(window, 150, 150)
    (shape,) = window.document.drawing.shapes
    assert shape.outer == ((25, 25), (150, 25), (150, 150))


def test_ctrl_z_takes_back_a_vertex_before_it_takes_back_a_shape(window: MainWindow) -> None:
    draw_l(window)
    click(window, 220, 220)
    click(window, 250, 220)
    key(window, Qt.Key.Key_Z, CONTROL)
    key(window, Qt.Key.Key_Z, CONTROL)
    assert window.editor.current.draft is None
    assert len(window.document.drawing.shapes) == 1
    key(window, Qt.Key.Key_Z, CONTROL)
    assert window.document.drawing.shapes == ()


def test_space_lends_the_hand(window: MainWindow) -> None:
    key(window, Qt.Key.Key_P)
    before = window.plane.getViewBox().viewRange()
    window.plane.setFocus()
    QTest.keyPress(window.plane, Qt.Key.Key_Space)
    drag(window, (125, 125), (137, 130), (150, 135), (160, 140))
    QTest.keyRelease(window.plane, Qt.Key.Key_Space)
    assert window.plane.getViewBox().viewRange() != before
    assert window.editor.current.draft is None


def test_letters_typed_into_a_field_are_not_tools(window: MainWindow) -> None:
    window.set_tool("select")
    window.document.set_run(learner="cover")
    field = window.settings.delta
    assert not field.isVisible()
    window.settings.privacy_fold.button.click()
    assert field.isVisible()
    type_into(field, "1e-8")
    assert window.document.work.run["delta"] == 1e-8
    assert window.editor.tool == "select"


def test_the_release_view_hides_what_is_private(finished: MainWindow) -> None:
    window = finished
    assert window.plane_pane.mark.isVisible()
    action(window, "release_view")
    assert not window.plane_pane.mark.isVisible()
    assert not window.dual_pane.mark.isVisible()
    assert not window.figures.errors.isVisible()
    assert not window.chart.isVisible()  # axes without errors say nothing
    window.resize(window.size() - QSize(1, 0))  # a resized window hides no less
    assert not window.chart.isVisible()
    assert not window.settings.count.isVisible()  # n is private
    assert not window.dual.controls.shade_row.isVisible()
    assert window.commands.by_id["release_view"].isChecked()
    visible = [
        item
        for item in window.plane.getPlotItem().items
        if item.isVisible() and item.boundingRect().width() > 0
    ]
    allowed = {id(layer(window, "region")), id(window.plane.border)}
    assert {id(item) for item in visible} <= allowed
    action(window, "release_view")
    assert window.plane_pane.mark.isVisible()
    assert window.chart.isVisible()


def test_without_noise_nothing_is_shown_in_the_release_view(qtbot, window):
    draw_l(window)
    quick(window, learner="greedy-cover")
    run(qtbot, window)
    assert not painted(window, "region").isEmpty()
    action(window, "release_view")
    settle(qtbot, window)
    assert window.why.what.text().startswith("Nothing to publish: no noise was drawn")
    for name in ("region", "earlier", "newest"):
        assert painted(window, name).isEmpty()
    assert not window.plane.learned.numbers.badges
    assert not any(sheet.chosen.marks for sheet in window.dual.sheets.values())


def test_the_drawing_is_neither_told_nor_changed_in_the_release_view(qtbot, window):
    action(window, "live")  # what was released stays in sight
    draw_l(window)
    crossing = Shape(((210, 210), (240, 240), (240, 210), (210, 240)))
    before = Drawing(256, (*window.document.drawing.shapes, crossing))
    window.document.edit("draw", before)
    qtbot.waitUntil(lambda: "cross" in window.status_line.text())
    action(window, "vertex_table")
    table = window.vertices
    action(window, "release_view")
    assert "cross" not in window.status_line.text()
    assert not table.isVisible()
    assert not window.commands.by_id["vertex_table"].isEnabled()
    for tool in ("polygon", "vertices", "rectangle"):
        window.set_tool(tool)
        drag(window, (50, 50), (60, 55), (70, 60))
        click(window, 200, 50)
        key(window, Qt.Key.Key_Return)
    assert window.document.drawing == before
    action(window, "release_view")
    assert table.isVisible()
    assert "cross" in window.status_line.text()
    action(window, "vertex_table")


def test_closing_with_changes_asks_and_can_be_taken_back(qtbot, window, monkeypatch):
    draw_l(window)
    asked: list[str] = []

    def answer(box: QMessageBox) -> QMessageBox.StandardButton:
        asked.append(box.text())
        return QMessageBox.StandardButton.Cancel

    monkeypatch.setattr(QMessageBox, "exec", answer)
    assert not window.close()
    assert asked
    assert window.isVisible()


def test_closing_in_the_middle_of_a_run_leaves_no_process(qtbot, tmp_path, monkeypatch):
    discard = QMessageBox.StandardButton.Discard
    monkeypatch.setattr(QMessageBox, "exec", lambda _: discard)
    with open_window(tmp_path) as window:
        window.document.open_example("three")
        window.document.set_sampling(n=50_000)
        window.document.set_run(learner="cover")
        window.sample()
        seen: list[object] = []
        window.runs.progressed.connect(seen.append)
        key(window, Qt.Key.Key_F5)
        qtbot.waitUntil(lambda: bool(seen))
        link = window.runs.controller.link
        assert link is not None
        pid = link.pid
        assert window.close()
        assert not Path(f"/proc/{pid}/exe").exists()


def test_a_damaged_session_and_a_full_disk_are_told_and_lose_nothing(
    qtbot, window, tmp_path, monkeypatch
):
    draw_l(window)
    drawn = window.document.drawing
    outcome: list[str] = []
    monkeypatch.setattr(window, "complain", lambda what, why: outcome.append(f"{what}: {why}"))
    monkeypatch.setattr(window.files, "may_discard", lambda: True)
    broken = tmp_path / "broken.geodp"
    broken.write_bytes(b"PK\x03\x04 no zip at all")
    assert not window.files.open(broken)
    assert "broken.geodp" in outcome[0]
    assert window.document.drawing == drawn

    choose_file(monkeypatch, Path("/dev/full/no.geodp"))
    action(window, "save")
    assert len(outcome) == 2
    assert window.document.history.dirty
    assert window.document.drawing == drawn


def test_the_first_minute_one_key_from_opening_to_a_shape(window: MainWindow) -> None:
    window.begin()
    assert window.document.work.examples is not None
    assert not window.document.history.dirty
    assert not window.document.history.undo_label
    assert window.commands.by_id["run"].isEnabled()
    assert window.status_line.text()


def test_the_vertex_table_moves_vertices() -> None:
    document = Document(Work(drawing=Drawing(256, (Shape(L_SHAPE),))))
    model = VertexModel(document)
    assert model.rowCount() == 6
    assert model.setData(model.index(1, 3), "225")
    assert document.drawing.shapes[0].outer[1] == (225, 50)
    assert not model.setData(model.index(1, 3), "257")
    assert not model.setData(model.index(1, 4), "north")
    document.undo()
    assert document.drawing.shapes[0].outer[1] == (200, 50)


def test_the_vertex_table_opens_once_and_is_freed(qtbot: QtBot, window: MainWindow) -> None:
    """Its menu entry is ticked as long as it is open, however it is closed."""
    entry = window.commands.by_id["vertex_table"]
    for close in ("entry", "window"):
        action(window, "vertex_table")
        assert entry.isChecked()
        assert len(window.findChildren(VertexDialog)) == 1
        shown = window.vertices
        assert shown.isVisible()
        if close == "entry":
            action(window, "vertex_table")
        else:
            shown.close()
        assert not entry.isChecked()
        assert window.vertices is None
        qtbot.waitUntil(lambda: not window.findChildren(VertexDialog))
    draw_l(window)  # nothing that was freed follows the drawing


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_pictures_are_written_whole(qtbot, window, tmp_path, monkeypatch, suffix):
    draw_l(window)
    path = tmp_path / f"picture.{suffix}"
    choose_file(monkeypatch, path)
    action(window, "export_picture")
    start = path.read_bytes()[:200]
    assert start.startswith(b"\x89PNG") or b"<svg" in start or b"<?xml" in start
    assert [each.name for each in tmp_path.glob("picture*")] == [path.name]
    assert path.stat().st_mode & 0o777 == 0o600  # the curator's view
    path.unlink()
    window.set_release_view(True)
    action(window, "export_picture")
    assert path.stat().st_mode & 0o044


def test_the_release_view_of_an_unfinished_run_shows_nothing_of_it(qtbot, window):
    draw_l(window)
    quick(window)
    action(window, "release_view")
    first_step(qtbot, window)
    threshold = window.figures.budget.values["Noisy threshold"]
    assert threshold.text() == "–"
    action(window, "release_view")
    assert threshold.text() != "–"


def test_what_is_told_stands_for_the_hint_and_gives_way_to_a_tip(window, qtbot, monkeypatch):
    line = window.status_line
    assert line.text()
    monkeypatch.setattr(panes, "TELL_FOR", 50)
    window.status_line.tell("somewhere.geojson: shapes: 2, vertices: 11")
    line.say(hint="Click to place a vertex.")
    assert line.text().startswith("somewhere")
    # pointing at a command of a menu
    QApplication.sendEvent(window, QStatusTipEvent("Take back the last change"))
    assert line.text() == "Take back the last change"
    QApplication.sendEvent(window, QStatusTipEvent(""))
    assert line.text().startswith("somewhere")
    # the bar has no message of its own that could lie over the line
    assert window.statusBar().currentMessage() == ""
    qtbot.waitUntil(lambda: line.text() == "Click to place a vertex.")


def named(window: MainWindow) -> set[str]:
    """What the one action for Run and Pause is called, wherever it has a name."""
    made = window.commands.by_id["run"]
    bars = window.findChildren(QToolBar)
    buttons = [button for bar in bars if (button := bar.widgetForAction(made)) is not None]
    assert len(buttons) == 1
    shown = (button.text() for button in buttons if isinstance(button, QToolButton))
    tip, status = made.toolTip(), made.statusTip()
    assert tip.endswith(status)
    assert "(F5)" in tip
    names = [made.text(), *shown, tip.split(" (")[0], status.split()[0]]
    return {*names, *(button.accessibleName() for button in buttons)}


def test_run_is_called_pause_while_it_pauses(qtbot: QtBot, window: MainWindow) -> None:
    assert named(window) == {"Run"}
    window.document.open_example("three")
    window.document.set_sampling(n=50_000)
    window.document.set_run(learner="cover")
    window.sample()
    (bar,) = (
        each for each in window.findChildren(QToolBar) if each.windowTitle() == "Sample and run"
    )
    step = bar.widgetForAction(window.commands.by_id["step"])
    place = step.x()
    key(window, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: window.runs.controller.state == "selecting")
    assert named(window) == {"Pause"}
    assert step.x() == place  # what is beside it does not move away from the pointer
    action(window, "stop")
    qtbot.waitUntil(lambda: not window.runs.busy)
    assert named(window) == {"Run"}


def test_between_two_steps_nothing_is_said_to_be_selected(qtbot: QtBot, window: MainWindow) -> None:
    draw_l(window)
    quick(window, k=1, n_steps=2)
    window.runs.set_speed(0)
    key(window, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: window.runs.controller.state == "waiting")
    assert window.timeline.text() == "Triangle 1 of 2"


def test_a_run_stopped_between_two_steps_has_no_next_and_is_shaded(qtbot, window, monkeypatch):
    draw_l(window)
    quick(window, n_steps=8)
    window.runs.set_speed(0)
    controller, stop = window.runs.controller, window.commands.by_id["stop"]
    tags, aims, ask = [], [], controller.ask

    def then_stop(question: object) -> int:
        tags.append(ask(question))
        aims.append(window.why.aim.text())
        if len(tags) == 1:  # before it can be answered
            QTimer.singleShot(0, stop.trigger)
        return tags[-1]

    monkeypatch.setattr(controller, "ask", then_stop)
    key(window, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: bool(tags))
    qtbot.waitUntil(lambda: not window.runs.busy)
    assert aims[0].startswith("Next: ")
    assert window.why.aim.text() == ""
    settle(qtbot, window)
    assert len(tags) > 1  # it is asked once more


def test_finished_is_said_only_as_long_as_what_finished_is_there(qtbot, window):
    draw_l(window)
    quick(window, k=1, n_steps=1)
    key(window, Qt.Key.Key_F5)
    finish_run(qtbot, window)
    assert window.learner.text() == "Finished"
    action(window, "clear_examples")
    assert window.learner.text() == "Ready"
    action(window, "undo")
    assert window.learner.text() == "Finished"
    key(window, Qt.Key.Key_R)
    drag(window, (210, 210), (240, 240))
    assert window.learner.text() == "Ready"
    action(window, "undo")
    action(window, "reset")
    assert window.learner.text() == "Ready"


def test_the_large_sheet_has_the_same_room_whatever_was_shown_before(qtbot, window):
    draw_l(window)
    quick(window)
    key(window, Qt.Key.Key_F6)
    room = window.dual.sheets[Sheet.FLAT_ABOVE].geometry()
    assert room.width() > 400
    for shown in (Sheet.STEEP_LEFT, Sheet.FLAT_BELOW, Sheet.STEEP_RIGHT, Sheet.FLAT_ABOVE):
        window.dual.thumbs[shown].click()
        if shown == Sheet.STEEP_RIGHT:
            action(window, "dark_theme")
        qtbot.wait(20)
        places = {s: v.geometry() for s, v in window.dual.sheets.items() if v.isVisible()}
        assert places == {shown: room}


def test_the_first_window_is_no_larger_than_the_screen(qtbot: QtBot, tmp_path: Path) -> None:
    """The off-screen platform's screen is 800 x 800."""
    QStandardPaths.setTestModeEnabled(True)
    kept = QSettings(str(tmp_path / "kept.ini"), QSettings.Format.IniFormat)
    for _ in range(2):
        window = MainWindow(load_palette("light"), kept, recovery=tmp_path / "recovery")
        room = window.screen().availableGeometry()
        assert (room.width(), room.height()) == (800, 800)
        window.show()
        qtbot.wait(20)
        assert window.width() <= 800
        assert window.height() <= 800 - 24  # its title bar
        # as a larger screen would have left it
        window.resize(1900, 1200)
        kept.setValue("geometry", window.saveGeometry())
        window.abandon()
        window.hide()
        window.deleteLater()


@pytest.mark.parametrize("size", [(640, 400), (1366, 728)])
def test_any_size_can_be_had_and_everything_reached(qtbot, window, size):
    window.status_line.tell("A long sentence that would not fit " * 9)
    window.resize(*size)
    qtbot.wait(50)
    assert (window.width(), window.height()) == size
    area = window.centralWidget()
    assert isinstance(area, QScrollArea)
    inside = area.widget()
    assert inside is not None

    def all_in_reach() -> bool:
        least, room = inside.minimumSizeHint(), area.viewport()
        across, down = area.horizontalScrollBar(), area.verticalScrollBar()
        return (
            across.maximum() >= least.width() - room.width()
            and down.maximum() >= least.height() - room.height()
        )

    qtbot.waitUntil(all_in_reach)
    assert window.status_line.toolTip().startswith("A long sentence")


@pytest.mark.parametrize("size", [(1366, 768), (1600, 1000)])
def test_the_chart_of_errors_is_high_enough_to_be_read(qtbot, window, size):
    window.resize(*size)
    qtbot.waitUntil(lambda: window.chart.plot.getViewBox().height() >= 120)
    area = window.centralWidget()
    assert isinstance(area, QScrollArea)
    assert area.verticalScrollBar().maximum() == 0
    before = window.chart.height()
    window.resize(size[0], size[1] + 400)
    qtbot.waitUntil(lambda: window.chart.height() > before + 20)


def test_no_setting_is_wider_than_the_dock(window: MainWindow) -> None:
    window.resize(1366, 768)
    window.document.open_example("three")
    settings = window.settings
    folds = settings.learner_fold, settings.privacy_fold, settings.sample_fold
    for fold in folds:
        fold.button.setChecked(True)
    for learner in LEARNERS:
        window.document.set_run(learner=learner)
        QApplication.processEvents()
        room, column = settings.viewport().rect(), settings.widget()
        assert column.width() == room.width(), learner
        for field in column.findChildren(QWidget):
            if field.isVisible():
                left = field.mapTo(settings.viewport(), QPoint(0, 0)).x()
                name = f"{learner}: {field.accessibleName()}"
                assert room.left() <= left, name
                assert left + field.width() <= room.right() + 1, name
    for fold in folds:
        fold.button.setChecked(False)


def test_no_number_of_the_plane_is_cut_by_its_border(qtbot: QtBot, window: MainWindow) -> None:
    plane = window.plane
    for height in range(700, 760, 9):
        window.resize(1100, height)
        qtbot.wait(20)
        for axis in plane.sides.values():
            image = QImage(10, 10, QImage.Format.Format_ARGB32)
            painter = QPainter(image)
            _, _, texts = axis.generateDrawSpecs(painter)
            painter.end()
            assert texts
            shown = plane.mapToScene(plane.viewport().rect()).boundingRect()
            shown.adjust(-1, -1, 1, 1)  # places are no whole pixels
            for place, _, words in texts:
                assert shown.contains(axis.mapRectToScene(place)), words


def test_the_small_lesson_compares_and_what_is_private_is_written_for_its_owner_alone(
    qtbot, window, tmp_path, monkeypatch
):
    def by_menu(name: str, menu: str) -> None:
        (shown,) = (each.menu() for each in window.menuBar().actions() if each.text() == menu)
        shown.popup(window.mapToGlobal(QPoint(0, 0)))
        QTest.mouseClick(
            shown, LEFT, pos=shown.actionGeometry(window.commands.by_id[name]).center()
        )

    monkeypatch.setattr(QMessageBox, "exec", lambda _: QMessageBox.StandardButton.Discard)
    window.document.set_sampling(distribution="painted", noise=0.5)  # and nothing is painted
    action(window, "release_view")
    by_menu("lesson", "&Help")
    examples, compare = window.document.work.examples, window.comparison
    assert len(examples.labels) == 40
    qtbot.waitUntil(lambda: len(compare.rows) == 2)
    assert [row.contender.kind.id for row in compare.rows] == ["cover", "greedy-cover"]
    compare.close()
    front(window)
    log = run(qtbot, window)
    for name in ("export_examples", "export_steps"):
        choose_file(monkeypatch, tmp_path / name)  # it gets its ending
        by_menu(name, "&File")
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    written = read_examples(tmp_path / "export_examples.csv")
    assert np.array_equal(written.points, examples.points)
    assert np.array_equal(written.labels, examples.labels)
    first, *steps = map(json.loads, (tmp_path / "export_steps.jsonl").read_text().splitlines())
    assert "private" in first["warning"].lower()
    assert len(steps) == len(log.records)
