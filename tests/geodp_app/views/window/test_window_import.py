"""Importing examples in the real window: choices, bounds, rows that do not fit, big files."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import geopandas
import pytest
import shapely
import shapely.geometry
from patience import HANGS
from PySide6.QtCore import QPoint, QPointF, QRect, Qt, QTimer
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QCheckBox,
    QComboBox,
    QLineEdit,
    QMessageBox,
    QWidget,
)
from window_driver import (
    LEFT,
    NONE,
    action,
    choose_file,
    drag,
    drop,
    finish_run,
    key,
)

import geodp
from geodp import Bounds
from geodp_app.files.ledger import Ledger
from geodp_app.palette import load_palette
from geodp_app.runs.settings_advice import verdict
from geodp_app.views.panels.import_dialog import ImportDialog
from geodp_app.views.window import window_files
from geodp_app.views.window.main_window import MainWindow

REPORTS = "longitude, latitude, flooded\n13.5,43.25,yes\n19,46,no\n"
BAD = REPORTS + "north,43,yes\n25,43,yes\n14,44,perhaps\n"
BOX = {"type": "Polygon", "coordinates": [[[12, 42], [20, 42], [20, 47], [12, 47], [12, 42]]]}


@pytest.fixture
def complaints(window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    outcome: list[str] = []
    monkeypatch.setattr(window, "complain", lambda what, why: outcome.append(why))
    return outcome


def by_open(window: MainWindow, path: Path) -> None:
    action(window, "open")


def by_import(window: MainWindow, path: Path) -> None:
    action(window, "import_examples")


def settle(dialog: ImportDialog) -> None:
    """Until nothing is being read, or the dialog is closed."""
    end = time.monotonic() + HANGS
    QTest.qWait(20)
    while dialog.isVisible() and dialog.background.busy and time.monotonic() < end:
        QTest.qWait(10)
    QTest.qWait(20)


@pytest.fixture
def answering() -> Iterator[Callable[[Callable[[ImportDialog], None]], list[ImportDialog]]]:
    """Do this in the dialog once it has read the file; which dialogs there were."""
    failed: list[BaseException] = []
    timers: list[QTimer] = []

    def begin(act: Callable[[ImportDialog], None]) -> list[ImportDialog]:
        seen: list[ImportDialog] = []

        def look() -> None:
            dialog = QApplication.activeModalWidget()
            if isinstance(dialog, ImportDialog):
                seen.append(dialog)
                try:
                    settle(dialog)
                    act(dialog)
                except BaseException as error:  # told by the test, not by the event loop
                    failed.append(error)
                if dialog.isVisible():  # a test that failed would wait for ever
                    dialog.reject()
            elif isinstance(dialog, QMessageBox):
                dialog.reject()

        timer = QTimer(singleShot=True)
        timer.timeout.connect(look)
        timer.start(50)
        timers.append(timer)
        return seen

    yield begin
    for timer in timers:  # one that saw no dialog must not see the next test's
        timer.stop()
    if failed:
        raise failed[0]


def fill(dialog: ImportDialog, *values: str) -> None:
    for field, value in zip(dialog.bounds.fields.values(), values, strict=True):
        field.setFocus()
        field.selectAll()
        QTest.keyClick(field, Qt.Key.Key_Backspace)
        if value.isascii():
            QTest.keyClicks(field, value)
        else:
            field.insert(value)  # as from the clipboard
    settle(dialog)


@pytest.fixture
def shown(window: MainWindow, tmp_path: Path) -> Iterator[Callable[[str], ImportDialog]]:
    """A dialog about a file of such text, once it has read it."""
    dialogs: list[ImportDialog] = []

    def show(text: str) -> ImportDialog:
        path, work = write(tmp_path / f"{len(dialogs)}.csv", text), window.document.work
        dialog = ImportDialog(path, work, load_palette("light"), opening=True, parent=window)
        dialogs.append(dialog)
        dialog.show()
        settle(dialog)
        return dialog

    yield show
    for dialog in dialogs:
        dialog.reject()
        dialog.deleteLater()


def close_all() -> list[ImportDialog]:
    """Close what would wait for ever; which dialogs these were."""
    dialog = QApplication.activeModalWidget()
    if not isinstance(dialog, ImportDialog):
        return []
    dialog.reject()
    return [dialog]


def write(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize("way", [by_open, drop, by_import])
def test_reports_of_other_columns_are_taken_with_the_bounds_of_a_map_file(
    window, tmp_path, monkeypatch, answering, way
):
    path = write(tmp_path / "p.csv", REPORTS)
    box = write(tmp_path / "box.geojson", BOX)
    choose_file(monkeypatch, path)

    def take(dialog: ImportDialog) -> None:
        assert dialog.preview.item(0, 2).text() == "yes"
        assert [
            each.currentText()
            for each in (dialog.choices.first, dialog.choices.second, dialog.choices.label)
        ] == ["longitude", "latitude", "flooded"]
        assert (dialog.choices.inside.currentText(), dialog.choices.outside.currentText()) == (
            "yes", "no",
        )  # fmt: skip
        assert [field.text() for field in dialog.bounds.fields.values()] == [""] * 4
        assert not dialog.take.isEnabled()
        choose_file(monkeypatch, box)
        QTest.mouseClick(dialog.bounds.from_map, LEFT)
        settle(dialog)
        assert dialog.take.isEnabled()
        QTest.mouseClick(dialog.take, LEFT)

    seen = answering(take)
    way(window, path)
    assert len(seen) == 1
    work = window.document.work
    assert work.bounds == Bounds(12, 42, 20, 47)
    # d = 256: (1.5 of 8, 1.25 of 5) and (7 of 8, 4 of 5)
    assert work.examples.points.tolist() == [[48, 64], [224, 205]]
    assert work.examples.labels.tolist() == [1, 0]
    assert not work.simulated
    assert window.document.path is None
    assert window.document.history.dirty == (way is by_import)


#: Two places across 180 degrees, inside and outside.
PLACES = shapely.points([[177.5, -17.5], [-177.5, -12.5]])
_METRES = geopandas.GeoSeries(PLACES, crs=4326).to_crs(3460)  # Fiji's
#: A sheet; what else is read: tests/geodp_app/files/test_one_table.py.
SHEET = "sep=;\nlon;lat;wet\n177,5;-17,5;1,0\n-177,5;-12,5;0,0\n"


@pytest.mark.parametrize("name", ["sheet.csv", "a.gpkg", "f.parquet"])
def test_a_file_of_any_kind_is_taken_by_clicks(window, tmp_path, monkeypatch, answering, name):
    path = tmp_path / name
    frame = geopandas.GeoDataFrame({"wet": ["yes", "no"]}, geometry=_METRES)
    if path.suffix == ".csv":
        path.write_text(SHEET)
    else:
        frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_file(path)
    choose_file(monkeypatch, path)

    def take(dialog: ImportDialog) -> None:
        fill(dialog, "175", "-20", "-175", "-10")
        assert dialog.take.isEnabled()
        QTest.mouseClick(dialog.take, LEFT)

    seen = answering(take)
    by_import(window, path)
    assert len(seen) == 1
    work = window.document.work
    assert work.bounds == Bounds(175, -20, -175, -10)
    rows = zip(work.examples.points.tolist(), work.examples.labels.tolist(), strict=True)
    assert sorted(rows) == [([64, 64], 1), ([192, 192], 0)]  # an index of GDAL's may turn them


def test_points_in_metres_on_the_border_lie_within_as_in_python(window, tmp_path, answering):
    path = tmp_path / "p.gpkg"
    places = geopandas.points_from_xy([12, 20, 12, 15], [42, 42, 46, 44])
    frame = geopandas.GeoDataFrame({"wet": ["yes", "no"] * 2}, geometry=places, crs=4326)
    frame.to_crs(3035).to_file(path)

    def take(dialog: ImportDialog) -> None:
        fill(dialog, "12", "42", "20", "47")
        QTest.mouseClick(dialog.take, LEFT)

    answering(take)
    assert window.files.open(path)
    own = geodp.read_points(path, bounds=(12, 42, 20, 47), grid=window.document.drawing.grid)
    assert window.document.work.examples.points.tolist() == own.points.tolist()


def test_bad_rows_are_listed_and_left_out_only_on_demand(window, tmp_path, answering):
    path = write(tmp_path / "p.csv", BAD)

    def leave_out(dialog: ImportDialog) -> None:
        fill(dialog, "12", "42", "20", "47")
        table = dialog.misfits.table
        shown = [[table.item(i, j).text() for j in range(4)] for i in range(table.rowCount())]
        assert shown == [
            ["3", "4", "longitude", "'north' is not a number"],
            ["4", "5", "longitude", "25 is outside the bounds 12..20"],
            ["5", "6", "flooded", "'perhaps' means neither inside nor outside"],
        ]
        assert "3 of 5 rows do not fit" in dialog.misfits.words.text()
        assert not dialog.take.isEnabled()
        QTest.keyClick(dialog.bounds.fields["West"], Qt.Key.Key_Return)
        assert dialog.isVisible()  # Enter does no more than the button
        QTest.keyClick(dialog.misfits.leave_out, Qt.Key.Key_Space)
        assert dialog.take.isEnabled()
        fill(dialog, "12", "42", "26", "47")  # other rows: decide again
        assert dialog.misfits.table.rowCount() == 2
        assert not dialog.take.isEnabled()
        QTest.keyClick(dialog.misfits.leave_out, Qt.Key.Key_Space)
        assert dialog.take.isEnabled()
        QTest.keyClick(dialog.bounds.fields["West"], Qt.Key.Key_Return)

    answering(leave_out)
    assert window.files.open(path)
    examples = window.document.work.examples
    assert examples.labels.tolist() == [1, 0, 1]
    assert "2 rows left out" in window.status_line.text()


def test_bounds_that_all_rows_miss_cannot_be_confirmed(shown) -> None:
    dialog = shown(REPORTS)
    fill(dialog, "-20", "-47", "-12", "-42")
    assert not dialog.misfits.leave_out.isEnabled()
    assert dialog.problem.text().startswith("No row fits")
    assert not dialog.summary.isVisible()  # nothing of nothing is inside, or to be expected
    assert not dialog.expected.isVisible()
    assert not dialog.take.isEnabled()
    dialog.accept()
    assert dialog.isVisible()
    fill(nothing := shown(REPORTS.partition("\n")[0]), "12", "42", "20", "47")
    assert not nothing.summary.isVisible()
    assert nothing.expected.text().startswith("There are no examples")


def test_what_is_wrong_with_bounds_is_said_while_they_are_typed(shown) -> None:
    dialog, said = shown(REPORTS), []
    tries = [
        ("12", "42", "20", ""),  # not typed yet: nothing is wrong
        ("-", "42", "20", "47"),
        ("east", "42", "20", "47"),
        ("20", "42", "12", "47"),
        ("12", "42", "20", "95"),
        ("nan", "42", "20", "47"),
    ]
    for values in tries:
        fill(dialog, *values)
        assert not dialog.take.isEnabled()
        said.append(dialog.problem.text() if dialog.problem.isVisible() else "")
        assert dialog.hint.isVisible() != dialog.problem.isVisible()
    # a minus sign and a decimal comma as a map's page has them
    fill(dialog, "−12,5°", "42", "20", "47")
    assert dialog.bounds.bounds() == Bounds(-12.5, 42, 20, 47)
    assert dialog.take.isEnabled()
    assert said[:2] == ["", ""]
    assert all(words[0].isupper() for words in said[2:])
    assert said[2].startswith("West: 'east' is not a number")
    assert "west < east" in said[3]
    assert "north <= 90" in said[4]
    assert "finite" in said[5]


def test_points_on_a_grid_that_the_file_states_are_read_on_no_other(shown) -> None:
    """They would lie elsewhere in the bounds; degrees are read on any."""
    stated = '# geodp {"grid": 128, "bounds": [12, 42, 20, 47]}\n'
    for head, fits in (("x,y", False), ("lon,lat", True)):
        dialog = shown(f"{stated}{head},label,place\n13,43,1,port\n?,46,0,hill\n")
        QTest.mouseClick(dialog.misfits.leave_out, LEFT)
        assert dialog.take.isEnabled()
        dialog.choices.grid.setValue(256)
        settle(dialog)
        dialog.misfits.leave_out.setChecked(True)
        assert dialog.take.isEnabled() == fits
        assert ("a grid of size 128" in dialog.problem.text()) != fits


STATED = '# geodp {"grid": 128, "bounds": [300000, 4800000, 600000, 5100000, "EPSG:32633"]}\n'


def test_bounds_in_metres_that_a_file_states_cut_its_degrees_as_in_python(shown, tmp_path) -> None:
    text = f"{STATED}lon,lat,wet\n13,43.5,yes\n14,44,no\n"
    dialog, own = shown(text), geodp.read_points(write(tmp_path / "own.csv", text))
    assert dialog.take.isEnabled()
    assert dialog.checked.examples.frame == own.frame
    assert dialog.checked.examples.points.tolist() == own.points.tolist()
    assert dialog.bounds.title() == "Public bounds, in EPSG:32633"
    assert coloured(dialog, (13, 44)) != coloured(dialog, (11, 44))
    fill(dialog, "400000", "4800000", "600000", "5100000")  # in metres, too
    assert dialog.checked.dropped == 1
    dialog.bounds.map.dragged.emit(Bounds(12, 43, 15, 45))
    settle(dialog)
    assert dialog.bounds.title() == "Public bounds"
    assert dialog.checked.examples.frame.bounds == Bounds(12, 43, 15, 45)


def test_bounds_across_the_antimeridian_are_drawn_at_both_ends_of_the_map(shown) -> None:
    dialog = shown(REPORTS)
    sea = coloured(dialog, (5, -10))
    fill(dialog, "170", "-20", "-170", "-5")
    assert coloured(dialog, (5, -10)) == sea
    assert coloured(dialog, (175, -10)) == coloured(dialog, (-175, -10)) != sea


def coloured(dialog: ImportDialog, place: tuple[float, float]) -> str:
    """What the map of the bounds shows at a place in degrees."""
    chart = dialog.bounds.map
    name: str = chart.grab().toImage().pixelColor(chart.to_widget(*place).toPoint()).name()
    return name


def test_the_dialog_fits_on_the_screen(shown) -> None:
    """Nobody reaches the buttons of a larger one."""
    dialog = shown(REPORTS)
    room = dialog.screen().availableGeometry()
    assert dialog.width() < room.width() < 1160
    assert dialog.height() < room.height()


def test_a_box_is_dragged_on_a_map_that_has_seen_no_point(shown) -> None:
    dialog = shown(REPORTS)
    elsewhere = shown(REPORTS.replace("13.5", "-70.5").replace("46", "-46"))
    chart = dialog.bounds.map
    assert chart.grab().toImage() == elsewhere.bounds.map.grab().toImage()
    start, end = (chart.to_widget(*place).toPoint() for place in ((10, 40), (30, 60)))
    QTest.mousePress(chart, LEFT, NONE, start)
    QTest.mouseMove(chart, (start + end) / 2)
    QTest.mouseMove(chart, end)
    QTest.mouseRelease(chart, LEFT, NONE, end)
    settle(dialog)
    dragged = dialog.bounds.bounds().as_tuple()
    assert dragged == pytest.approx((10, 40, 30, 60), abs=4)
    assert all(value == round(value) for value in dragged)  # round numbers
    assert [float(field.text()) for field in dialog.bounds.fields.values()] == list(dragged)
    assert dialog.take.isEnabled()


def test_a_drag_keeps_its_corner_while_the_map_zooms_and_ends_at_escape(shown) -> None:
    dialog = shown(REPORTS)
    chart = dialog.bounds.map
    fill(dialog, "-60", "-30", "-20", "10")

    def drag_to(lon: float, lat: float) -> None:
        QTest.mouseMove(chart, chart.to_widget(lon, lat).toPoint())

    start = chart.to_widget(0, 0).toPoint()
    QTest.mousePress(chart, LEFT, NONE, start)
    drag_to(30, 30)
    wheel(chart, chart.to_widget(30, 30), 240)
    drag_to(30, 31)
    west, south, *_ = dialog.bounds.bounds().as_tuple()
    assert (west, south) == pytest.approx((0, 0), abs=1)
    QTest.keyClick(chart, Qt.Key.Key_Escape)
    assert dialog.isVisible()
    drag_to(50, 50)
    assert dialog.bounds.bounds().as_tuple() == (-60, -30, -20, 10)
    QTest.mouseRelease(chart, LEFT, NONE, start)
    QTest.keyClick(chart, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def wheel(widget: QWidget, at: QPointF, turn: int) -> None:
    place, none = QPointF(widget.mapToGlobal(at)), Qt.MouseButton.NoButton
    phase, angle = Qt.ScrollPhase.NoScrollPhase, QPoint(0, turn)
    event = QWheelEvent(at, place, QPoint(), angle, none, NONE, phase, False)
    QApplication.sendEvent(widget, event)


def test_latitudes_are_written_where_the_whole_earth_is_shown(shown) -> None:
    dialog = shown(REPORTS)
    dialog.resize(1200, 740)
    QTest.qWait(20)
    chart = dialog.bounds.map
    left, top = (round(each) for each in chart.to_widget(-180, 60).toTuple())
    assert left > 20  # the map is wider than the earth
    picture = chart.grab(QRect(left + 2, top - 14, 24, 12)).toImage()
    ink = QColor(load_palette("light").ink)
    assert any(
        picture.pixelColor(x, y).lightness() < ink.lightness() + 40
        for x in range(picture.width()) for y in range(picture.height())
    )  # fmt: skip


def test_the_map_is_moved_and_zoomed_by_keys(shown) -> None:
    dialog = shown(REPORTS)
    chart = dialog.bounds.map
    chart.setFocus()
    whole = chart.to_widget(10, 40)
    QTest.keyClick(chart, Qt.Key.Key_Left)
    assert chart.to_widget(10, 40) == whole  # there is nothing beyond
    for name in (Qt.Key.Key_Plus, Qt.Key.Key_Plus, Qt.Key.Key_Right, Qt.Key.Key_Up):
        before = chart.to_widget(10, 40)
        QTest.keyClick(chart, name)
        assert chart.to_widget(10, 40) != before
    QTest.keyClick(chart, Qt.Key.Key_Home)
    assert chart.to_widget(10, 40) == whole


def test_columns_and_labels_that_nothing_tells_are_asked_for(shown) -> None:
    dialog = shown("a,b,state,when\n3,4,dry,9\n50,60,wet,8\n7,8,wet,7\n")
    choices = dialog.choices
    assert dialog.hint.text() == "Choose the column of: Longitude, Latitude, Label."
    for box, keys in ((choices.kind, "w"), (choices.first, "a"), (choices.second, "b")):
        QTest.keyClicks(box, keys)
    assert dialog.hint.text() == "Choose the column of: Label."
    assert not dialog.bounds.isVisible()
    QTest.keyClicks(choices.label, "s")
    settle(dialog)
    assert dialog.hint.text() == "Choose which label is inside and which is outside."
    assert not dialog.take.isEnabled()
    QTest.keyClicks(choices.inside, "w")
    settle(dialog)
    assert choices.outside.currentText() == "dry"
    assert dialog.take.isEnabled()
    choices.label.setCurrentText("a")  # the same column twice
    assert "twice" in dialog.hint.text()
    assert not dialog.take.isEnabled()
    choices.label.setCurrentText("state")
    settle(dialog)
    choices.inside.setCurrentText("wet")
    settle(dialog)
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    assert not dialog.isVisible()
    examples = dialog.checked.examples
    assert examples.points.tolist() == [[3, 4], [50, 60], [7, 8]]
    assert examples.labels.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("labels", "said"),
    [(["yes", "0", "1"], [1, 0, 1]), (["yes", "no", "TRUE", "0.0"], [1, 0, 1, 0]),
     (["yes", "1"], [1, 1]), (["1", "0", "-1"], None), (["yes", "no", "1", "maybe"], None)],
)  # fmt: skip
def test_words_that_say_inside_or_outside_may_stand_side_by_side(shown, tmp_path, labels, said):
    """As elsewhere; where it can be another answer, or none, the dialog asks."""
    text = "x,y,wet\n" + "".join(f"{i},1,{label}\n" for i, label in enumerate(labels))
    dialog = shown(text)
    assert dialog.take.isEnabled() == (said is not None)
    if said is not None:
        own = geodp.read_points(write(tmp_path / "own.csv", text))
        assert dialog.checked.examples.labels.tolist() == own.labels.tolist() == said


def test_what_to_expect_is_what_the_planner_says_of_as_many_examples(window, shown):
    work = window.document.work
    window.document.new(replace(work, run=work.run.with_("tiles")))
    dialog = shown(REPORTS + "14,43,yes\n15,44,no\n" * 4000)
    assert not dialog.expected.isVisible()
    fill(dialog, "12", "42", "20", "47")
    assert dialog.expected.isVisible()
    outcome, examples = dialog.expected.text(), dialog.checked.examples
    assert "8,002 examples" in outcome
    where = {"bounds": Bounds(12, 42, 20, 47), "simulated": False}
    taken = replace(window.document.work, examples=examples, **where)
    assert verdict(taken).practice in outcome


@pytest.mark.parametrize("way", [by_open, by_import])
def test_cancel_leaves_everything_as_it_was(
    window, tmp_path, monkeypatch, complaints, answering, way
):
    key(window, Qt.Key.Key_R)
    drag(window, (50, 50), (120, 120), (200, 200))
    window.document.mark_saved(tmp_path / "mine.geodp")
    path = write(tmp_path / "p.csv", REPORTS)
    choose_file(monkeypatch, path)
    before = window.document.work

    def cancel(dialog: ImportDialog) -> None:
        fill(dialog, "12", "42", "20", "47")
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
        assert not dialog.isVisible()

    seen = answering(cancel)
    way(window, path)
    assert len(seen) == 1
    assert window.document.work is before
    assert not window.document.history.dirty
    assert window.document.path == tmp_path / "mine.geodp"
    assert complaints == []


def test_the_bounds_of_the_target_are_the_first_offer(window, shown) -> None:
    window.files.open_example("croatia")
    bounds = window.document.work.bounds
    assert bounds is not None
    assert shown(REPORTS).bounds.bounds() == bounds


def test_bounds_that_a_file_states_keep_all_their_digits(shown) -> None:
    """A point of their border lies within."""
    west, east = 13.1234567898765, 20.12345678987654
    stated = f'# geodp {{"grid": 128, "bounds": [{west}, 42, {east}, 47]}}\n'
    dialog = shown(f"{stated}lon,lat,label,place\n{west},43,1,port\n?,46,0,hill\n")
    assert dialog.bounds.bounds() == Bounds(west, 42, east, 47)
    assert [misfit.row for misfit in dialog.checked.misfits] == [2]


@pytest.mark.parametrize("large", [False, True])
def test_files_that_leave_no_question_open_without_one(window, tmp_path, monkeypatch, large):
    """A large one shows how far it is read, and closes by itself."""
    if large:
        monkeypatch.setattr(window_files, "SMALL", 0)
    stated = '# geodp {"grid": 128, "bounds": [12, 42, 20, 47]}\n'
    degrees = stated + "lon,lat,label\n13.5,43.25,1\n19,46,0\n"
    for text in ("x,y,label\n3,4,1\n50,60,0\n", degrees):
        questions: list[ImportDialog] = []
        timer = QTimer(singleShot=True)
        timer.timeout.connect(lambda kept=questions: kept.extend(close_all()))
        timer.start(60_000)
        assert window.files.open(write(tmp_path / "p.csv", text))
        timer.stop()  # it must not close a dialog of the next test
        assert not questions
        assert window.document.work.examples is not None
    assert window.document.work.examples.points.tolist() == [[24, 32], [112, 102]]
    assert window.document.work.frame.d == 128


@pytest.mark.parametrize("large", [False, True])
def test_bounds_of_the_points_are_asked_about_however_small_a_strict_file_is(
    window, tmp_path, monkeypatch, answering, large
):
    if large:
        monkeypatch.setattr(window_files, "SMALL", 0)
    head = '# geodp {"grid": 128, "bounds": [12, 42, 20, 47]}\nlon,lat,label\n'
    path = write(tmp_path / "p.csv", f"{head}12,42,1\n20,47,0\n")

    def agree(dialog: ImportDialog) -> None:
        assert not dialog.take.isEnabled()
        QTest.keyClick(dialog.known_bounds, Qt.Key.Key_Space)
        QTest.mouseClick(dialog.take, LEFT)

    seen = answering(agree)
    assert window.files.open(path)
    assert len(seen) == 1
    assert window.document.work.examples.points.tolist() == [[0, 0], [128, 128]]


def test_a_wrong_row_of_a_strict_file_is_asked_about(window, tmp_path, answering):
    path = write(tmp_path / "p.csv", "x,y,label\n3,4,1\n300,60,0\n")

    def widen(dialog: ImportDialog) -> None:
        assert dialog.misfits.table.item(0, 3).text() == "300 is off the grid 0..256"
        assert not dialog.take.isEnabled()
        dialog.choices.grid.setValue(512)
        settle(dialog)
        QTest.mouseClick(dialog.take, LEFT)

    answering(widen)
    assert window.files.open(path)
    assert window.document.drawing.grid == 512
    assert window.document.work.examples.points.tolist() == [[3, 4], [300, 60]]


def test_a_file_that_cannot_be_read_is_told_and_the_dialog_goes(window, tmp_path, complaints):
    before = window.document.work
    for text, reason in (("", "the file is empty"), ("1,2,0\n", "holds numbers")):
        assert not window.files.open(write(tmp_path / "p.csv", text))
        assert reason in complaints.pop()
    assert QApplication.activeModalWidget() is None
    assert window.document.work is before


def test_of_several_files_that_are_dropped_none_is_taken(window, tmp_path, complaints):
    paths = [write(tmp_path / name, "x,y,label\n3,4,1\n") for name in ("p.csv", "q.csv")]
    before = window.document.work
    drop(window, *paths)
    assert window.document.work is before
    assert complaints == [
        "It is not one file of this machine: drop one; of a shapefile, the .shp alone."
    ]
    drop(window, paths[1])
    assert len(window.document.work.examples.labels) == 1


def test_the_release_view_shows_no_rows(window, tmp_path, complaints, answering):
    action(window, "release_view")
    seen = answering(lambda dialog: None)
    assert not window.files.open(write(tmp_path / "p.csv", REPORTS))
    QTest.qWait(80)
    assert not seen
    assert "leave the release view first" in complaints[0]


def test_the_release_view_tells_nothing_of_what_was_opened(window, tmp_path, monkeypatch):
    monkeypatch.setattr(window.files, "asks", False)
    path = write(tmp_path / "p.csv", "x,y,label\n1,2,1\n3,4,0\n")
    for release, told in ((True, "Opened p.csv"), (False, "p.csv: 2 examples, 1 with label 1")):
        window.set_release_view(release)
        window.document.new(window.document.work)  # nothing to save
        assert window.files.open(path)
        assert window.status_line.text() == told


def test_a_million_rows_are_read_beside_the_window_until_cancelled(window, tmp_path, answering):
    text = "longitude,latitude,flooded\n" + "13.5,43.25,yes\n19.0,46.0,no\n" * 500_000
    path = write(tmp_path / "p.csv", text)
    before = window.document.work
    shares: list[int] = []
    dialog = ImportDialog(path, before, load_palette("light"), opening=True, parent=window)
    dialog.show()
    while len(shares) < 5:
        QTest.qWait(5)
        if dialog.progress.value() not in shares:
            shares.append(dialog.progress.value())
    assert dialog.progress.isVisible()
    assert shares == sorted(shares)
    assert shares[-1] < dialog.progress.maximum()
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
    assert not dialog.background.busy
    assert dialog.checked is None
    assert window.document.work is before
    dialog.deleteLater()


def test_every_widget_that_takes_keys_has_a_name(shown) -> None:
    dialog = shown(BAD)
    fill(dialog, "12", "42", "20", "47")
    kinds = (QComboBox, QLineEdit, QAbstractSpinBox, QCheckBox)
    named = [
        each
        for kind in kinds
        for each in dialog.findChildren(kind)
        if each.focusPolicy() & Qt.FocusPolicy.TabFocus
        and not isinstance(each.parent(), QAbstractSpinBox)
    ]
    others: list[QWidget] = [dialog.preview, dialog.misfits.table, dialog.bounds.map]
    for each in (*named, *others):
        assert each.accessibleName(), each
    # the keyboard comes everywhere, and back
    seen, at = set[QWidget](), dialog.focusWidget()
    while at not in seen:
        seen.add(at)
        QTest.keyClick(at, Qt.Key.Key_Tab)
        at = dialog.focusWidget()
    assert {*others, *dialog.bounds.fields.values(), dialog.misfits.leave_out} <= seen
    assert {dialog.choices.label, dialog.choices.grid, dialog.bounds.from_map} <= seen


PERSONS = "lon,lat,label,user_id\n12,42,1,7\n19,46,0,7\n20,47,1,8\n"


def test_whose_rows_are_and_bounds_of_the_points_are_asked_about(
    window, tmp_path, answering, monkeypatch
):
    path = tmp_path / "p.csv"
    path.write_text(PERSONS)
    choose_file(monkeypatch, path)

    def answer(dialog: ImportDialog) -> None:
        dialog.bounds.set_bounds(Bounds(12, 42, 20, 47))
        settle(dialog)
        assert not dialog.take.isEnabled()
        assert dialog.hint.text().startswith("Choose the column that says whose a row is")
        QTest.keyClicks(dialog.choices.person, "Each")
        settle(dialog)
        assert dialog.known_bounds.isVisible()
        assert not dialog.take.isEnabled()
        QTest.keyClick(dialog.known_bounds, Qt.Key.Key_Space)
        assert dialog.take.isEnabled()
        dialog.bounds.set_bounds(Bounds(12, 42, 20, 47.5))
        settle(dialog)
        assert not dialog.known_bounds.isVisible()
        assert dialog.take.isEnabled()
        QTest.mouseClick(dialog.take, LEFT)

    seen = answering(answer)
    action(window, "import_examples")
    assert len(seen) == 1
    examples = window.document.work.examples
    assert examples is not None
    assert examples.labels.tolist() == [1, 0, 1]


def test_of_each_person_one_row_is_taken_and_the_release_says_so(
    qtbot, window, tmp_path, answering, monkeypatch
):
    rows = [
        f"{12 + i % 70 / 9},{42 + i % 47 / 10},{int(i % 70 < 30)},u{i % 1500}" for i in range(3000)
    ]
    path = tmp_path / "p.csv"
    path.write_text("\n".join(["lon,lat,label,user_id", *rows, "13,43,1,"]))
    choose_file(monkeypatch, path)
    ledger = Ledger.create(tmp_path / "geodp.ledger", unit="user_id")

    def answer(dialog: ImportDialog) -> None:
        fill(dialog, "12", "42", "20", "47")
        QTest.keyClicks(dialog.choices.person, "user")
        settle(dialog)
        wrong = "Row 3001 (line 3002), column user_id: is empty: it must name a person."
        assert dialog.problem.text().startswith(wrong)
        assert not dialog.take.isEnabled()
        dialog.reject()

    answering(answer)
    action(window, "import_examples")
    path.write_text("\n".join(["lon,lat,label,user_id", *rows]))

    def again(dialog: ImportDialog) -> None:
        fill(dialog, "12", "42", "20", "47")
        dialog.choices.person.setCurrentIndex(1 + dialog.choices.label.currentIndex())
        settle(dialog)
        assert "whose a row is, is chosen twice" in dialog.hint.text()
        assert not dialog.take.isEnabled()
        QTest.keyClicks(dialog.choices.person, "user")
        settle(dialog)
        assert dialog.summary.text().startswith("1,500 examples fit, one of each user_id")
        assert dialog.title.text() == "p.csv: 3,000 rows"
        QTest.mouseClick(dialog.take, LEFT)

    answering(again)
    action(window, "import_examples")
    examples = window.document.work.examples
    assert examples is not None
    grid = examples.frame.d
    own = geodp.read_points(path, bounds=(12, 42, 20, 47), grid=grid, id="user_id")
    assert (examples.unit, len(examples.labels)) == ("user_id", 1500)
    assert (examples.points == own.points).all()
    assert (examples.labels == own.labels).all()
    window.document.set_run(learner="cover", k=2, n_steps=1, finish="none")
    action(window, "run")
    finish_run(qtbot, window)
    assert [entry.end for entry in ledger.state().entries] == ["released"]

    # what files and reports say of it: test_points_options; what a session keeps: test_session
    assert ("unit", "user_id") in window.runs.log.release.parameters

    # which row is taken depends on the labels
    failures: list[str] = []
    window.runs.controller.failed.connect(failures.append)
    window.document.set_run(learner="stability", neighbours="replace-label")
    action(window, "run")
    qtbot.waitUntil(lambda: bool(failures))
    assert "labels alone cannot be protected" in failures[0]
    assert "--" not in failures[0]
    assert len(ledger.state().entries) == 1


def test_of_several_layers_of_points_one_is_asked_for(window, tmp_path, answering, monkeypatch):
    path = tmp_path / "p.gpkg"
    for layer, label in (("a", 0), ("b", 1)):
        places = geopandas.points_from_xy([13, 14], [43, 44])
        frame = geopandas.GeoDataFrame({"label": [label] * 2}, geometry=places, crs=4326)
        frame.to_file(path, layer=layer)
    offered: list[list[str]] = []

    def choose(parent: QWidget, title: str, words: str, layers: list[str], *more: object):
        offered.append(layers)
        answering(answer)
        return "b", True

    monkeypatch.setattr(window_files.QInputDialog, "getItem", choose)
    choose_file(monkeypatch, path)

    def answer(dialog: ImportDialog) -> None:
        dialog.bounds.set_bounds(Bounds(12, 42, 20, 47))
        dialog.choices.inside.setCurrentIndex(0)
        dialog.choices.outside.setCurrentIndex(1)
        settle(dialog)
        QTest.mouseClick(dialog.take, LEFT)

    action(window, "import_examples")
    assert offered == [["a", "b"]]
    examples = window.document.work.examples
    assert examples is not None
    assert examples.labels.tolist() == [1, 1]
