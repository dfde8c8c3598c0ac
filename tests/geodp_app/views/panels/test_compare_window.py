"""The window that compares learners, driven by clicks."""

import csv
import itertools
import os
import signal

import numpy as np
from patience import HANGS
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit, QPushButton, QScrollArea
from pytestqt.qtbot import QtBot
from window_driver import LEFT, action, draw_l

from geodp import Examples, Frame
from geodp_app.files.learned_file import read_learned
from geodp_app.formatting import csv_text, percentage
from geodp_app.palette import load_palette
from geodp_app.runs.comparison import TABLE
from geodp_app.runs.rehearsal import best_of, rehearsal_cells
from geodp_app.views.compare.compare_views import stroke_pen
from geodp_app.views.compare.compare_window import CompareWindow
from geodp_app.views.window.main_window import MainWindow


def target(window: MainWindow) -> None:
    draw_l(window)
    window.document.set_sampling(n=2_000)


def opened(qtbot: QtBot, window: MainWindow) -> CompareWindow:
    action(window, "compare")
    made = window.comparison
    qtbot.waitUntil(made.isVisible)
    return made


def press(button: QPushButton) -> None:
    assert button.isEnabled(), f"{button.text()} is disabled"
    QTest.mouseClick(button, LEFT)


def choose(compare: CompareWindow, *names: str) -> None:
    """Click boxes until exactly these are checked."""
    for name, box in compare.boxes.items():
        if box.isChecked() != (name in names):
            QTest.mouseClick(box, LEFT, pos=QPoint(10, box.height() // 2))
        assert box.isChecked() == (name in names)


def run(qtbot: QtBot, compare: CompareWindow) -> None:
    press(compare.compare_button)
    assert compare.controller.busy
    qtbot.waitUntil(lambda: not compare.controller.busy)
    assert compare.banner.text() == ""


def row_rect(compare: CompareWindow, line: int, column: int) -> QRect:
    return compare.table.visualRect(compare.table.model().index(line, column))


def test_three_learners_on_a_drawing(qtbot, window, tmp_path, monkeypatch):
    target(window)
    window.document.set_run(epsilon=2.0)
    compare = opened(qtbot, window)
    assert not compare.save_button.isEnabled()
    choose(compare, "tiles", "histogram", "greedy-cover")
    compare.counts["greedy-cover"].setValue(1)
    run(qtbot, compare)

    assert window.document.work.examples is not None  # sampled, as Run does
    # what the private ones spent is in the note of runs on the sample
    charges = [(charge.privacy.epsilon, charge.finished) for charge in window.document.work.spent]
    assert charges == [(2.0, True), (2.0, True)]
    assert window.document.work.spent[0].privacy.delta == 1e-40  # as its statement says
    table, plane = compare.table, compare.plane
    assert [table.name(line) for line in range(table.rowCount())] == [
        "tiles",
        "histogram",
        "greedy-cover",
    ]
    texts = [[table.item(line, c).text() for c in range(6)] for line in range(3)]
    assert texts[2][:2] == ["Greedy cover, k = 1", "no"]
    assert texts[0][1] == "yes"
    assert all("%" in line[2] for line in texts)
    assert list(plane.items) == ["tiles", "histogram", "greedy-cover"]
    assert all(item.path().elementCount() > 3 for item in plane.items.values())
    assert not plane.target.path().isEmpty()
    assert "ε = 4" in compare.cost.text()
    assert "Not private, for comparison only: greedy-cover. Do not publish." in compare.cost.text()
    assert "20,000 new points" in compare.caution.text()

    QTest.mouseClick(table.viewport(), LEFT, pos=row_rect(compare, 1, 2).center())
    assert plane.highlighted == "histogram"
    assert plane.items["histogram"].pen().widthF() > plane.items["tiles"].pen().widthF()
    assert plane.items["histogram"].zValue() > plane.items["greedy-cover"].zValue()

    box = row_rect(compare, 0, 0)
    QTest.mouseClick(table.viewport(), LEFT, pos=QPoint(box.left() + 15, box.center().y()))
    assert not plane.items["tiles"].isVisible()
    QTest.mouseClick(table.viewport(), LEFT, pos=QPoint(box.left() + 15, box.center().y()))
    assert plane.items["tiles"].isVisible()

    window.set_dark(True)
    dark = load_palette("dark")
    assert plane.items["tiles"].pen().color().name().upper() == dark.learned
    window.set_dark(False)

    folder = tmp_path / "out"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(folder), ""))
    press(compare.save_button)
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["greedy-cover.geojson", "histogram.geojson", "tiles.geojson", TABLE]
    )
    assert read_learned(folder / "tiles.geojson").release == compare.rows[0].release
    assert (folder / TABLE).stat().st_mode & 0o777 == 0o600
    with (folder / TABLE).open(newline="") as text:
        lines = list(csv.DictReader(text))
    assert [line["learner"] for line in lines] == ["tiles", "histogram", "greedy-cover"]
    assert float(lines[0]["error"]) == compare.rows[0].error
    assert (lines[2]["epsilon"], lines[2]["k"]) == ("", "1")
    press(compare.save_button)  # the folder is not empty any more
    assert "is not empty" in compare.banner.text()

    finish = window.document.work.run["finish"]
    for given in ({"finish": "none" if finish == "sharpen" else "sharpen"}, {"epsilon": 1.0}):
        before = window.document.work
        window.document.set_run(**given)
        assert compare.stale.isVisible()
        window.document.set_run(**{name: before.run[name] for name in given})
        assert not compare.stale.isVisible()
    window.document.set_run(epsilon=1.0)
    choose(compare, "quadtree")
    run(qtbot, compare)
    assert list(plane.items) == ["quadtree"]
    assert [row.name for row in compare.rows] == ["quadtree"]
    assert table.rowCount() == 1
    assert "ε = 1" in compare.cost.text()
    assert not compare.stale.isVisible()
    assert plane.highlighted is None


def typed(field: QLineEdit, text: str) -> None:
    QTest.mouseClick(field, LEFT)
    QTest.keyClicks(field, text)


def test_a_rehearsal_on_a_drawing_has_a_row_for_each_and_the_command_to_run(
    qtbot, window, tmp_path, monkeypatch
):
    target(window)
    compare = opened(qtbot, window)
    choose(compare, "histogram", "quadtree", "greedy-cover")
    compare.counts["greedy-cover"].setValue(1)
    assert compare.compare_button.text() == "Compare"
    typed(compare.rehearsal.epsilons, "0.05 2")
    typed(compare.rehearsal.sizes, "300, 900")
    compare.rehearsal.samples.setValue(2)
    assert compare.compare_button.text() == "Rehearse"
    run(qtbot, compare)
    rows, table = compare.rehearsed, compare.table
    private = [("histogram", 0.05), ("quadtree", 0.05), ("histogram", 2.0), ("quadtree", 2.0)]
    wanted = [
        (n, *one)
        for n in (300, 900)
        for one in [*private[:2], ("greedy-cover", None), *private[2:]]
    ]
    found = [(row.n, row.contender.kind.id, row.record()["epsilon"]) for row in rows]
    assert found == wanted
    assert all(len(row.errors) == 2 for row in rows)
    # the figures are those of the command's table
    texts = [[table.item(line, c).text() for c in range(7)] for line in range(10)]
    assert [line[1:] for line in texts] == [list(line[1:]) for line in rehearsal_cells(rows)]
    assert sum("*" in line[3] for line in texts) == 4
    # nothing was sampled for it, nor spent
    assert window.document.work.examples is None
    assert window.document.work.spent == ()
    assert "nothing was spent" in compare.caution.text()
    assert not compare.pane.mark.isVisible()

    # the advised one is picked, its shape shown alone, its command there to copy
    advised = best_of(rows)[-1]
    assert rows[table.currentRow()] is advised
    shown = [name for name, item in compare.plane.items.items() if item.isVisible()]
    assert shown == [advised.name]
    error = percentage(advised.record()["error"])
    words = f"ε = 2, 900 reports: {error} of labels wrong, the least of these learners."
    assert compare.advice.text() == f"{words} To learn so:\n{advised.command}"
    press(compare.copy_button)
    assert QApplication.clipboard().text() == advised.command
    line = next(i for i, row in enumerate(rows) if row.contender.kind.id == "greedy-cover")
    table.scrollToItem(table.item(line, 1))
    QTest.mouseClick(table.viewport(), LEFT, pos=row_rect(compare, line, 1).center())
    assert compare.advice.text() == "Not private: for comparison only."
    assert not compare.copy_button.isEnabled()

    path = tmp_path / "r.csv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    press(compare.save_button)
    assert path.read_text() == csv_text(row.record() for row in rows)

    for asked in ({"noise": 0.1}, {"n": 1_000}):
        before = window.document.work.sampling
        window.document.set_sampling(**asked)
        assert compare.stale.isVisible() == ("noise" in asked)
        window.document.set_sampling(n=before.n, noise=before.noise)
    window.document.set_run(neighbours="replace-one")
    assert compare.stale.isVisible()
    window.document.set_run(neighbours="add-remove")
    assert not compare.stale.isVisible()

    # what a learner refuses lets what is there stay
    compare.rehearsal.epsilons.clear()
    typed(compare.rehearsal.epsilons, "-1")
    press(compare.compare_button)
    assert compare.banner.text() == (
        "Histogram, epsilon = -1: epsilon must be a number and be above 0, not -1.0."
    )
    assert compare.rehearsed == rows
    assert not compare.controller.busy

    compare.rehearsal.epsilons.clear()
    compare.rehearsal.sizes.clear()
    typed(compare.rehearsal.sizes, "10,000")
    press(compare.compare_button)
    assert compare.banner.text().startswith("Reports: '10,000' is not a number")
    compare.rehearsal.sizes.clear()
    table.selectRow(0)
    assert compare.copy_button.isEnabled()
    choose(compare, "greedy-cover")
    typed(compare.rehearsal.sizes, "300")
    run(qtbot, compare)
    assert len(compare.rehearsed) == 1
    assert not compare.copy_button.isEnabled()  # without privacy there is no command
    compare.rehearsal.sizes.clear()
    choose(compare, "histogram")
    run(qtbot, compare)  # a comparison again
    assert [row.name for row in compare.rows] == ["histogram"]
    assert compare.rehearsed == []
    assert not compare.advice.isVisible()
    assert not compare.copy_button.isVisible()
    assert compare.pane.mark.isVisible()


def test_cancel_and_closing_end_the_process(qtbot: QtBot, window: MainWindow) -> None:
    target(window)
    window.document.set_sampling(n=100_000)
    compare = opened(qtbot, window)
    choose(compare, "histogram", "greedy-cover")
    compare.counts["greedy-cover"].setValue(20)
    press(compare.compare_button)
    qtbot.waitUntil(lambda: len(compare.rows) == 1)
    link = compare.controller.link
    press(compare.cancel_button)
    assert not compare.controller.busy
    assert link.join(HANGS)
    assert list(compare.plane.items) == ["histogram"]
    assert compare.state.text() == "Cancelled: 1 of 2 done"
    assert compare.compare_button.isEnabled()

    press(compare.compare_button)
    assert compare.rows == []
    assert compare.plane.items == {}
    link = compare.controller.link
    compare.close()
    assert link.join(HANGS)
    assert not compare.isVisible()
    qtbot.wait(50)
    assert compare.rows == []

    assert opened(qtbot, window) is compare
    press(compare.compare_button)
    key_press = Qt.Key.Key_Escape
    QTest.keyClick(compare, key_press)
    assert not compare.controller.busy
    assert compare.isVisible()
    QTest.keyClick(compare, key_press)
    assert not compare.isVisible()


def test_without_a_drawing_some_examples_are_held_out(qtbot: QtBot, window: MainWindow) -> None:
    points = np.random.default_rng(0).integers(0, 257, (2_000, 2))
    labels = (points.sum(axis=1) <= 256).astype(np.int64)
    window.document.change("import", examples=Examples(points, labels, Frame(256)), simulated=False)
    compare = opened(qtbot, window)
    choose(compare, "histogram")
    run(qtbot, compare)
    assert 300 < compare.rows[0].tested < 500
    assert "held out (20%)" in compare.caution.text()
    assert not compare.rehearsal.isEnabled()  # nobody can simulate more of these


def test_problems_are_told_in_the_window(qtbot: QtBot, window: MainWindow) -> None:
    compare = opened(qtbot, window)
    press(compare.compare_button)
    assert compare.banner.text().startswith("There are no examples: draw a target")
    assert not compare.controller.busy
    choose(compare)
    assert not compare.compare_button.isEnabled()

    target(window)
    choose(compare, "tiles")
    press(compare.compare_button)
    assert not compare.banner.isVisible()
    link = compare.controller.link
    qtbot.waitUntil(lambda: link.pid is not None)
    assert link.pid is not None
    os.kill(link.pid, signal.SIGKILL)  # as a system short of memory does
    qtbot.waitUntil(lambda: not compare.controller.busy)
    assert "process ended" in compare.banner.text()
    assert compare.rows == []


def test_every_learner_has_a_stroke_of_its_own() -> None:
    from geodp_app.runs.comparison import KINDS

    for theme in ("light", "dark"):
        pens = [stroke_pen(name, load_palette(theme), 1.0) for name in KINDS]
        assert len({(pen.color().name(), tuple(pen.dashPattern())) for pen in pens}) == len(KINDS)


def test_the_comparison_is_not_seen_in_the_release_view(qtbot, window):
    target(window)
    compare = opened(qtbot, window)
    choose(compare, "tiles")
    run(qtbot, compare)
    action(window, "release_view")
    assert not compare.isVisible()
    assert not window.commands.by_id["compare"].isEnabled()
    window.set_release_view(True)  # once more, as the tour does
    action(window, "release_view")
    assert compare.isVisible()
    assert compare.table.rowCount() == 1
    compare.reject()
    for _ in range(2):
        action(window, "release_view")
        assert not compare.isVisible()
    action(window, "release_view")
    window.document.new(window.document.work)  # nothing to save
    action(window, "lesson")  # leaves the release view
    qtbot.waitUntil(lambda: not compare.controller.busy)
    assert compare.isVisible()
    assert not window.runs.release_view


def test_nothing_is_cut_or_covered_in_the_smallest_window(qtbot, window):
    target(window)
    compare = opened(qtbot, window)
    # nobody reaches the buttons of a window that is higher than the screen
    assert compare.height() <= compare.screen().availableGeometry().height()
    compare.resize(compare.minimumSize())
    qtbot.wait(20)
    assert compare.height() <= 1080 / 1.5 - 100  # less the bars of screen and window
    room = compare.choices.viewport().width()
    for field in compare.counts.values():
        assert field.mapTo(compare.choices.widget(), field.rect().topRight()).x() < room
    choose(compare, "histogram")
    typed(compare.rehearsal.epsilons, "1")
    compare.rehearsal.samples.setValue(1)
    run(qtbot, compare)
    window.document.set_run(delta=1e-7)
    typed(compare.rehearsal.epsilons, "half")
    press(compare.compare_button)
    parts = (
        compare.banner, compare.choices, compare.rehearsal, compare.settings_note,
        compare.compare_button, compare.table, compare.advice, compare.caution, compare.stale,
    )  # fmt: skip
    qtbot.wait(20)
    for above, below in itertools.pairwise(parts):
        top = below.mapTo(compare, QPoint()).y()
        assert above.mapTo(compare, QPoint(0, above.height())).y() <= top, below
        assert below.heightForWidth(below.width()) <= below.height(), below


def test_the_keyboard_stops_at_nothing_without_a_name(qtbot, window):
    compare = opened(qtbot, window)
    for each in compare.findChildren(QScrollArea):
        assert not each.focusPolicy() & Qt.FocusPolicy.TabFocus
