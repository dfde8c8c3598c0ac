"""The widgets' own facts: rows that fold, dots, number fields, work beside the window."""

import gc
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pyqtgraph as pg
import pytest
from patience import HANGS
from PySide6.QtCore import QObject, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from geodp_app.views.dual.dual_controls import DualControls
from geodp_app.views.widgets.number_fields import (
    DecimalField,
    FieldGuard,
    SizeField,
    SmallNumberField,
    WholeField,
)
from geodp_app.views.widgets.panes import FoldingRow
from geodp_app.views.widgets.plotting import Dots, cosmetic
from geodp_app.views.widgets.tasks import Background, collect_between_events


def test_groups_fold_when_they_do_not_fit_and_unfold_when_they_do(qtbot: QtBot) -> None:
    row = FoldingRow()
    first, second = QPushButton("first of two"), QPushButton("second")
    row.set_groups(first, second)
    qtbot.addWidget(row)
    row.show()
    needed = row.sizeHint().width()
    row.resize(needed + 50, 100)
    assert first.y() == second.y()
    assert second.geometry().right() == row.rect().right()
    row.resize(needed - 1, 100)
    qtbot.waitUntil(lambda: second.y() > first.y())
    assert row.minimumSizeHint().width() <= max(first.width(), second.width())
    row.resize(needed, 100)
    qtbot.waitUntil(lambda: second.x() > first.x())


def test_the_controls_of_the_dual_plane_fold_where_it_is_narrow(qtbot: QtBot) -> None:
    controls = DualControls()
    qtbot.addWidget(controls)
    controls.set_edges(3)
    controls.show()
    assert controls.minimumSizeHint().width() < controls.sizeHint().width() * 2 / 3
    controls.resize(controls.sizeHint().width() + 10, 80)
    shades, fit = controls.shade_row, controls.fit
    qtbot.waitUntil(lambda: fit.mapTo(controls, QPoint()).x() > shades.geometry().right())
    controls.resize(controls.minimumSizeHint().width(), 160)
    qtbot.waitUntil(lambda: fit.mapTo(controls, QPoint()).y() > shades.geometry().bottom())


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
    ours, theirs = Dots(size, symbol), pg.ScatterPlotItem(symbol=symbol, size=size)
    ours.show_at(POINTS[:7])
    theirs.setData(pos=POINTS.astype(float))
    for dots in (ours, theirs):
        dots.setPen(cosmetic("#c0392b", 1.5))
        dots.setBrush(pg.mkBrush(QColor("#2c3e50")))
    ours.show_at(POINTS)
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
    dots.show_at([])
    assert made == [len(POINTS)] * 2 + [0]


def test_the_result_comes_with_its_key(qtbot: QtBot) -> None:
    background = Background()
    with qtbot.waitSignal(background.done) as outcome:
        background.submit("sum", lambda stop: 1 + 1)
        assert background.busy
    assert outcome.args == ["sum", 2]
    assert not background.busy


def test_a_newer_request_replaces_an_older_one_and_tells_it_to_stop(qtbot: QtBot) -> None:
    background, started, stopped = Background(), threading.Event(), threading.Event()
    outcome: list[tuple[object, object]] = []
    background.done.connect(lambda key, result: outcome.append((key, result)))

    def endless(stop: object) -> str:
        started.set()
        while not stop():  # type: ignore[operator]
            time.sleep(0.001)
        stopped.set()
        return "old"

    background.submit("a", endless)
    assert started.wait(HANGS)
    background.submit("a", lambda stop: "new")
    background.submit("b", lambda stop: "other")
    qtbot.waitUntil(lambda: not background.busy)
    assert stopped.is_set()
    assert outcome == [("a", "new"), ("b", "other")]


def test_dropped_work_tells_nothing(qtbot: QtBot) -> None:
    background = Background()
    background.submit("a", lambda stop: 1)
    background.drop("a")
    assert not background.busy
    with qtbot.assertNotEmitted(background.done, wait=50):
        pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_error_ends_one_request_only(qtbot: QtBot) -> None:
    background = Background()
    outcome: list[object] = []
    background.done.connect(lambda key, result: outcome.append(result))
    background.submit("bad", lambda stop: 1 // 0)
    background.submit("good", lambda stop: 1)
    qtbot.waitUntil(lambda: not background.busy)
    assert outcome == [None, 1]


def test_the_thread_ends_with_its_owner(qtbot: QtBot) -> None:
    before = set(threading.enumerate())
    background = Background()
    (thread,) = set(threading.enumerate()) - before
    del background
    gc.collect()
    qtbot.waitUntil(lambda: not thread.is_alive())


class Circle(QObject):
    """It holds on to itself, so that only a search for garbage frees it."""

    def __init__(self) -> None:
        super().__init__()
        self.itself = self


def test_no_other_thread_frees_what_a_window_left_behind(qtbot: QtBot) -> None:
    freed_by: list[threading.Thread] = []
    weakref.finalize(Circle(), lambda: freed_by.append(threading.current_thread()))

    def work() -> None:
        kept = [[number] for number in range(200_000)]  # makes Python look for garbage by itself
        assert kept

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert freed_by == []
    keeper = collect_between_events(0.05)
    younger: list[list[int]] = []

    def freed() -> bool:
        # what earlier tests left to be deleted is taken off the count of young objects
        younger.extend([number] for number in range(2 * gc.get_threshold()[0]))
        return bool(freed_by)

    qtbot.waitUntil(freed)
    assert freed_by == [threading.current_thread()]
    keeper.timer.stop()


def test_an_application_with_windows_begins_with_it() -> None:
    begin = "from geodp_app.views.window.app import make_application as make; make(offscreen=True)"
    said = subprocess.run(
        [sys.executable, "-c", f"import gc; {begin}; print(gc.isenabled())"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert said.stdout == "False\n"


# -- fields of numbers -----------------------------------------------------------------------------


@pytest.fixture
def page(qapp: QApplication) -> QScrollArea:
    """A page longer than its view, with a field of each kind and one that cannot be turned."""
    body = QWidget()
    column = QVBoxLayout(body)
    fields = (
        WholeField(1, 200),
        DecimalField(0.001, 1000, decimals=3, step=0.1, suffix=" %"),
        SizeField(1, 10_000_000),
        SmallNumberField(1e-30, 0.5),
        QLineEdit(),
        QComboBox(),
    )
    for field, value in zip(fields, (5, 1.0, 30_000, 1e-6, None, None), strict=True):
        column.addWidget(field)
        field.setObjectName("words" if type(field) is QLineEdit else "")
        if value is not None:
            field.setValue(value)  # type: ignore[attr-defined]
    fields[-1].addItems(["a", "b"])  # type: ignore[attr-defined]
    column.addStretch(1)
    body.setMinimumHeight(2000)
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setWidget(body)
    area.resize(300, 300)
    area.show()
    area.activateWindow()
    QApplication.processEvents()  # it is laid out
    return area


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (WholeField, "12", 12),
        (WholeField, "-5", None),
        (WholeField, "99999999", None),
        (WholeField, "", None),
        (DecimalField, "2.5", 2.5),
        (DecimalField, "0,25", 0.25),
        (DecimalField, "1e-2", 0.01),
        (DecimalField, "1,000", None),  # one, or a thousand
        (DecimalField, "0", None),
        (DecimalField, "0.0015", None),  # more decimals than are kept
        (DecimalField, "nan", None),
        (SizeField, "1e5", 100_000),
        (SizeField, "20 000", 20_000),
        (SizeField, "1.5", None),
        (SizeField, "99999999999", None),
        (SmallNumberField, "1e-9", 1e-9),
        (SmallNumberField, "0.7", None),
    ],
)
def test_a_number_is_taken_as_typed_or_refused_in_words(page, kind, text, value):
    field = page.findChildren(kind)[0]
    before, taken, refused = field.value(), [], []
    field.valueChanged.connect(taken.append)
    field.refused.connect(refused.append)
    field.setFocus()
    field.selectAll()
    QTest.keyClick(field, Qt.Key.Key_Delete)
    QTest.keyClicks(field, text)
    assert taken == []  # nothing runs by half a number
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert field.value() == (before if value is None else value)
    assert taken == ([] if value is None else [value])
    assert len(refused) == (value is None)
    if refused:
        assert (text or "Nothing") in refused[0]
        assert refused[0].endswith(" stays.")
        assert field.accessibleDescription() == refused[0]


def turn(field: QWidget) -> None:
    """The wheel, one notch down over a field, as the window system tells of it."""
    window = field.window()
    at = field.mapTo(window, field.rect().center())
    QTest.wheelEvent(window.windowHandle(), QPointF(at), QPoint(0, -120))


def test_the_wheel_changes_what_has_the_focus_and_nothing_else(page: QScrollArea) -> None:
    guard = FieldGuard(page)
    guard.guard(page)
    words = page.findChildren(QLineEdit, "words")[0]
    for kind in (WholeField, DecimalField, SizeField, QComboBox):
        field = page.findChildren(kind)[0]

        def shown(field: QWidget = field) -> object:
            return field.value() if isinstance(field, QAbstractSpinBox) else field.currentIndex()

        words.setFocus()
        page.verticalScrollBar().setValue(0)
        before = shown()
        turn(field)
        assert (shown(), words.hasFocus()) == (before, True)
        assert page.verticalScrollBar().value() > 0  # the page has moved
        page.verticalScrollBar().setValue(0)
        field.setFocus()
        turn(field)
        assert shown() != before


def test_enter_ends_the_typing_after_the_number_is_taken(page: QScrollArea) -> None:
    guard, heard = FieldGuard(page), []
    guard.guard(page)
    field = page.findChildren(WholeField)[0]
    guard.entered.connect(lambda: heard.append(field.value()))
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, "42")
    QTest.keyClick(field, Qt.Key.Key_Return)
    QApplication.processEvents()
    assert heard == [42]
