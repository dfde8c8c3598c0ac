"""The dual view, driven by real mouse and key events off-screen."""

import numpy as np
import pytest
from own_clock import unhindered
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QImage, QKeyEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot
from window_driver import hover, pixel

from geodp_app.dual.lines import SOME_DRAWN
from geodp_app.dual.scene import EMPTY, EMPTY_RELEASE, reading_words
from geodp_app.dual.sheets import dual_position
from geodp_app.palette import load_palette, ramp
from geodp_app.runs.protocol import (
    Change,
    ChangedSheet,
    ShadedCell,
    ShadedSheet,
    Window,
    extent,
)
from geodp_app.views.dual.dual_view import DualView
from geodp_app.views.dual.sheet_stack import SheetView
from geodp_app.views.widgets.plotting import rgba_image
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from learners.core.records import Piece
from learners.core.selection import HeavyBox

LATTICE = HalfplaneLattice(64)
UNIT = 1 << LATTICE.bits
RNG = np.random.default_rng(5)
POINTS = RNG.integers(0, 65, size=(300, 2))
LABELS = POINTS.sum(axis=1) < 60


def piece(*places: tuple[int, float, float]) -> Piece:
    """Halfplanes at (sheet, u, v) in grid units."""
    return tuple(LATTICE.halfplane(Sheet(s), int(u * UNIT), int(v * UNIT)) for s, u, v in places)


PIECES = (
    piece((0, 10, 20), (1, 50, 30), (2, 5, 5)),
    piece((0, 30, 5), (1, 40, 60), (3, 20.5, 40.25)),
)
_SIDES = ((0, 64, 0, 64), (32, 48, 32, 64), (16, 32, 32, 48))
BOXES = (HeavyBox((0, 1, 3), tuple(tuple(UNIT * end for end in box) for box in _SIDES), 0.7),)


def raster() -> tuple[ShadedSheet, ...]:
    """Scores that fall from left to right on every sheet."""
    scores = np.repeat(-np.arange(12.0)[:, None], 12, axis=1)
    return tuple(ShadedSheet(s, (), scores, Window(-64.0, 128.0, -64.0, 128.0)) for s in range(4))


@pytest.fixture
def view(qtbot: QtBot) -> DualView:
    """A dual view with a sample and two pieces."""
    view = DualView()
    qtbot.addWidget(view)
    view.resize(900, 900)
    view.set_lattice(LATTICE)
    view.set_examples(POINTS, LABELS)
    view.set_pieces(PIECES)
    with qtbot.waitExposed(view):
        view.show()
    settle(qtbot, view)
    return view


def settle(qtbot: QtBot, view: DualView) -> None:
    """Wait until windows rest and everything is drawn."""
    qtbot.wait(40)
    qtbot.waitUntil(lambda: not view.pictures.background.busy)
    QApplication.processEvents()


def told_of(qtbot: QtBot, view: DualView, at: QPoint | None) -> Halfplane | None:
    """What is told when the pointer has come to a place of the large sheet, or has left it.

    The first of two moves may be told of by itself, so the last word counts.
    """
    sheet, told = view.sheets[view.sheet], list[Halfplane | None]()
    view.dual_hovered.connect(told.append)
    if at is None:
        QApplication.sendEvent(sheet.plot, QEvent(QEvent.Type.Leave))
    else:
        hover(qtbot, sheet, at)
    view.pointer.look()
    return told[-1]


def lines_drawn(sheet: SheetView) -> int:
    return sum(len(item.getData()[0]) // 2 for item in (sheet.positive, sheet.negative))


def picture(view: QWidget) -> QImage:
    return view.grab().toImage()


def large(view: DualView) -> list[Sheet]:
    """Sheets that can be seen large."""
    return [number for number, sheet in view.sheets.items() if sheet.isVisible()]


def test_every_sheet_shows_all_lines_by_class(qtbot: QtBot, view: DualView) -> None:
    distinct = {(x, y) for x, y in POINTS.tolist()}
    for number, sheet in view.sheets.items():
        view.show_sheet(number)
        settle(qtbot, view)
        assert large(view) == [number]
        assert lines_drawn(sheet) == len(distinct)
        assert sheet.positive.opts["pen"].style() == Qt.PenStyle.SolidLine
        assert sheet.negative.opts["pen"].style() == Qt.PenStyle.CustomDashLine
        assert view.note == f"{len(distinct)} lines"


def test_one_sheet_is_large_and_a_click_or_a_key_on_a_small_one_brings_it(qtbot, view):
    thumbs = view.thumbs
    assert [thumb.text() for thumb in thumbs.values()] == ["Above", "Below", "Right", "Left"]
    assert large(view) == [view.sheet] == [Sheet.FLAT_ABOVE]
    for number, name in ((Sheet.STEEP_LEFT, "Left"), (Sheet.FLAT_BELOW, "Below")):
        qtbot.mouseClick(thumbs[number], Qt.MouseButton.LeftButton)
        assert large(view) == [view.sheet] == [number]
        assert view.title.startswith(name)
    qtbot.keyClick(thumbs[Sheet.STEEP_RIGHT], Qt.Key.Key_Space)
    assert large(view) == [view.sheet] == [Sheet.STEEP_RIGHT]
    view.set_lattice(HalfplaneLattice(64, "paper"))
    settle(qtbot, view)
    assert [thumb.isVisible() for thumb in thumbs.values()] == [True, True, False, False]
    assert large(view) == [view.sheet] == [Sheet.FLAT_ABOVE]
    assert lines_drawn(view.sheets[Sheet.FLAT_ABOVE]) > 0


def test_the_large_sheet_is_that_of_the_newest_pieces_edge(qtbot: QtBot, view: DualView) -> None:
    """Also after a change of the edge or of the step; a sheet of another edge asks about that."""
    assert (view.sheet, view.title) == (Sheet.FLAT_ABOVE, "Above, edge 1 of 3")
    with qtbot.waitSignal(view.shade_wanted) as asked:
        qtbot.mouseClick(view.controls.edges[1], Qt.MouseButton.LeftButton)
    assert asked.args == [1, "off"]
    assert (view.sheet, view.title) == (Sheet.FLAT_BELOW, "Below, edge 2 of 3")
    with qtbot.waitSignal(view.shade_wanted) as asked:
        qtbot.mouseClick(view.thumbs[Sheet.STEEP_LEFT], Qt.MouseButton.LeftButton)
    assert asked.args == [2, "off"]
    assert (view.controls.edge, view.title) == (2, "Left, edge 3 of 3")
    with qtbot.assertNotEmitted(view.shade_wanted, wait=20):  # no edge lies there
        qtbot.mouseClick(view.thumbs[Sheet.STEEP_RIGHT], Qt.MouseButton.LeftButton)
    assert (view.controls.edge, view.title) == (2, "Right")
    view.set_pieces(PIECES[:1])  # its third edge is steep
    assert (view.sheet, view.title) == (Sheet.STEEP_RIGHT, "Right, edge 3 of 3")
    numbers = {s: [m.edge + 1 for m in thumb.marks] for s, thumb in view.thumbs.items()}
    assert numbers == {Sheet(0): [1], Sheet(1): [2], Sheet(2): [3], Sheet(3): []}


def test_hidden_sheets_wait_until_they_are_seen(qtbot: QtBot, view: DualView) -> None:
    view.show_sheet(Sheet.FLAT_BELOW)
    settle(qtbot, view)
    view.show_sheet(Sheet.FLAT_ABOVE)
    view.set_examples(POINTS[:3], LABELS[:3])
    settle(qtbot, view)
    assert lines_drawn(view.sheets[Sheet.FLAT_ABOVE]) == 3
    assert lines_drawn(view.sheets[Sheet.FLAT_BELOW]) > 3
    view.show_sheet(Sheet.FLAT_BELOW)
    settle(qtbot, view)
    assert lines_drawn(view.sheets[Sheet.FLAT_BELOW]) == 3
    view.show_sheet(Sheet.FLAT_ABOVE)
    assert lines_drawn(view.sheets[Sheet.FLAT_ABOVE]) == 3


def test_only_lines_of_alive_examples_and_wanted_classes_are_drawn(qtbot, view):
    view.set_examples(POINTS, LABELS, LABELS)
    sheet = view.sheets[Sheet.FLAT_ABOVE]
    assert len(sheet.negative.getData()[0]) == 0
    assert len(sheet.positive.getData()[0]) > 0
    view.controls.positive.click()
    assert lines_drawn(sheet) == 0


@pytest.mark.parametrize("number", list(Sheet))
def test_hovering_tells_the_halfplane_whose_dual_point_is_under_the_pointer(qtbot, view, number):
    sheet = view.sheets[number]
    view.show_sheet(number)
    settle(qtbot, view)
    halfplane = told_of(qtbot, view, pixel(sheet, 25.0, 40.0))
    assert isinstance(halfplane, Halfplane)
    assert halfplane.sheet == number
    step = sheet.plot.window().width / sheet.plot.box.width()
    assert np.abs(np.array(dual_position(halfplane)) - (25, 40)).max() <= step
    name = view.thumbs[number].text()
    assert view.readout.text().startswith(f"{name}: u = ")
    inside = halfplane.contains(POINTS)
    counts = (int((inside & LABELS).sum()), int((inside & ~LABELS).sum()))
    assert f"holds {counts[0]} positive and {counts[1]} negative" in view.readout.text()
    view.show_halfplane(halfplane)
    assert [s for s, v in view.sheets.items() if v.pointer.halfplane is not None] == [number]
    assert pixel(sheet, *sheet.pointer.halfplane) == pixel(sheet, *dual_position(halfplane))


def test_outside_the_region_and_off_the_plot_there_is_no_halfplane(qtbot, view):
    sheet = view.sheets[Sheet.FLAT_ABOVE]
    for elsewhere in (pixel(sheet, -30.0, -30.0), None):
        assert told_of(qtbot, view, pixel(sheet, 25.0, 40.0)) is not None
        assert told_of(qtbot, view, elsewhere) is None


def test_a_click_on_a_chosen_point_picks_its_step(qtbot: QtBot, view: DualView) -> None:
    view.show_sheet(Sheet.FLAT_BELOW)
    settle(qtbot, view)
    viewport = view.sheets[Sheet.FLAT_BELOW].plot.viewport()
    with qtbot.waitSignal(view.step_picked) as picked:
        at = pixel(view.sheets[Sheet.FLAT_BELOW], 50, 30)
        qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=at + QPoint(2, -2))
    assert picked.args == [1]
    with qtbot.waitSignal(view.step_picked) as picked:
        at = pixel(view.sheets[Sheet.FLAT_BELOW], 40, 60)
        qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=at)
    assert picked.args == [2]
    with qtbot.assertNotEmitted(view.step_picked, wait=50):
        at = pixel(view.sheets[Sheet.FLAT_BELOW], 20, 10)
        qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=at)


def test_numbers_of_chosen_points_lie_beside_the_legend_and_the_colour_bar(qtbot, view):
    view.resize(430, 430)
    qtbot.mouseClick(view.controls.modes[1], Qt.MouseButton.LeftButton)
    view.set_shading(raster(), nats=1.0)
    moved = 0
    for u in range(0, 64, 2):
        # along the region's border, above the corner that it leaves empty, and below the other
        for sheet, v in ((Sheet.FLAT_BELOW, u - 63), (Sheet.FLAT_BELOW, u + 63)):
            view.set_pieces((piece((sheet, u, v)),))
            view.show_sheet(sheet)
            settle(qtbot, view)
            chosen = view.sheets[sheet].chosen
            frames = [each for each in (view.stack.legend, view.stack.scale) if each.isVisible()]
            assert len(frames) == 2
            viewport = view.sheets[sheet].plot.viewport()
            places = []
            for frame in frames:
                corner = viewport.mapFromGlobal(frame.mapToGlobal(QPoint(0, 0)))
                in_box = view.sheets[sheet].plot.box.mapFromScene(
                    view.sheets[sheet].plot.mapToScene(corner)
                )
                places.append(QRectF(in_box, frame.size().toSizeF()))
            ((words, path),) = chosen.written(view.font())
            assert words == "1"
            assert not any(path.boundingRect().intersects(place) for place in places)
            # without the frames, some words would be where they are
            covered, chosen.covered = chosen.covered, ()
            ((_, plain),) = chosen.written(view.font())
            chosen.covered = covered
            moved += any(plain.boundingRect().intersects(place) for place in places)
        if moved >= 2:
            break
    assert moved >= 2


def test_an_example_is_highlighted_on_every_sheet(view: DualView) -> None:
    before = picture(view)
    view.show_example(10, 50)
    assert all(len(sheet.example.ends) == 2 for sheet in view.sheets.values())
    assert picture(view) != before
    view.show_example(None)
    assert picture(view) == before


def test_wheel_drag_and_keys_move_the_window(qtbot: QtBot, view: DualView) -> None:
    view.show_sheet(Sheet.FLAT_ABOVE)
    settle(qtbot, view)
    sheet = view.sheets[Sheet.FLAT_ABOVE]
    viewport, first = sheet.plot.viewport(), sheet.plot.window()
    at = QPointF(pixel(sheet, 30, 30))
    wheel = QWheelEvent(
        at,
        QPointF(viewport.mapToGlobal(at.toPoint())),
        QPoint(),
        QPoint(0, 240),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(viewport, wheel)
    nearer = sheet.plot.window()
    assert nearer.width < first.width
    assert nearer.holds(30, 30)
    start = at.toPoint()
    qtbot.mousePress(viewport, Qt.MouseButton.LeftButton, pos=start)
    for step in (20, 40, 60):
        QTest.mouseMove(viewport, start + QPoint(step, 0), 20)
    qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=start + QPoint(60, 0))
    dragged = sheet.plot.window()
    assert dragged.u0 < nearer.u0
    assert dragged.width == pytest.approx(nearer.width)
    sheet.plot.setFocus()
    for key, moved in (
        (Qt.Key.Key_Right, lambda a, b: b.u0 > a.u0),
        (Qt.Key.Key_Up, lambda a, b: b.v0 > a.v0),
        (Qt.Key.Key_Plus, lambda a, b: b.width < a.width),
        (Qt.Key.Key_Minus, lambda a, b: b.width > a.width),
    ):
        before = sheet.plot.window()
        qtbot.keyClick(sheet.plot, key)
        assert moved(before, sheet.plot.window())
    qtbot.keyClick(sheet.plot, Qt.Key.Key_F)
    assert sheet.plot.window().width == pytest.approx(first.width)


def test_the_plot_keeps_its_keys_from_shortcuts_of_the_window(view: DualView) -> None:
    plot, none = view.sheets[Sheet.FLAT_ABOVE].plot, Qt.KeyboardModifier.NoModifier
    for key, modifiers, kept in (
        (Qt.Key.Key_F, none, True),
        (Qt.Key.Key_Plus, Qt.KeyboardModifier.ShiftModifier, True),
        (Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier, False),
        (Qt.Key.Key_F, Qt.KeyboardModifier.ShiftModifier, False),
        (Qt.Key.Key_P, none, False),
    ):
        event = QKeyEvent(QEvent.Type.ShortcutOverride, key, modifiers)
        event.ignore()
        QApplication.sendEvent(plot, event)
        assert event.isAccepted() == kept


def test_zoom_to_chosen_shows_the_newest_point_and_fit_everything(qtbot, view):
    whole = extent(LATTICE)
    for number, place in ((0, (30, 5)), (1, (40, 60)), (2, None), (3, (20.5, 40.25))):
        sheet = view.sheets[Sheet(number)]
        view.show_sheet(Sheet(number))
        settle(qtbot, view)
        assert view.window_shown.width > whole.width
        if place is None:  # an older piece has its point there
            assert not [mark for mark in sheet.chosen.marks if mark.age == 0]
            continue
        qtbot.mouseClick(view.controls.zoom, Qt.MouseButton.LeftButton)
        settle(qtbot, view)
        assert view.window_shown.width < whole.width / 2
        assert view.window_shown.holds(*place)
        assert lines_drawn(sheet) > 0
        qtbot.mouseClick(view.controls.fit, Qt.MouseButton.LeftButton)
        assert view.window_shown.width > whole.width
    view.show_sheet(Sheet.STEEP_RIGHT)
    settle(qtbot, view)
    view.zoom_to_chosen()
    assert view.sheets[Sheet.STEEP_RIGHT].plot.window().holds(5, 5)
    view.set_pieces(())
    view.zoom_to_chosen()
    assert "No chosen point" in view.readout.text()


def test_fit_shows_all_of_every_sheet_in_sight(qtbot: QtBot, view: DualView) -> None:
    view.set_pieces(PIECES, whole=True)
    settle(qtbot, view)
    assert large(view) == list(Sheet)
    for sheet in view.sheets.values():
        sheet.plot.zoom(0.5)
    qtbot.mouseClick(view.controls.fit, Qt.MouseButton.LeftButton)
    assert all(sheet.plot.window().width > LATTICE.d for sheet in view.sheets.values())
    # without a class of halfplanes nothing is plotted of the one before
    view.set_lattice(None, "None")
    assert large(view) == []
    assert view.stack.empty.isVisible()
    view.set_lattice(LATTICE)
    assert large(view) != []


def test_no_sentence_is_cut_off_in_a_small_pane(qtbot: QtBot, view: DualView) -> None:
    """As wide as in a window of 1180 pixels."""
    view.resize(467, 460)
    settle(qtbot, view)
    assert view.readout.text() == reading_words(LATTICE)
    assert view.readout.heightForWidth(view.readout.width()) <= view.readout.height()
    view.set_pieces(PIECES, whole=True)
    settle(qtbot, view)
    titles = [sheet.title for sheet in view.sheets.values()]
    assert all(title.sizeHint().width() <= title.width() for title in titles)
    view.resize(900, 900)
    settle(qtbot, view)
    assert titles[2].text() == "<b>Right</b>: halfplanes right of a steep line"


def test_where_nothing_is_shaded_no_probability_is_said_to_be_missing(view: DualView) -> None:
    view.zoom_to_streak()
    assert "No probability" not in view.readout.text()
    view.set_shading(raster(), nats=None)
    view.zoom_to_streak()
    assert view.readout.text() == "No probability to speak of lies on this sheet"


def test_the_deepest_zoom_still_tells_lattice_points_apart(qtbot: QtBot, view: DualView) -> None:
    """Also where the sheet's own coordinates are large: the paper's measure on a fine grid."""
    for lattice in (HalfplaneLattice(1024), HalfplaneLattice(1024, "paper")):
        view.set_lattice(lattice)
        view.show_sheet(Sheet.FLAT_BELOW)
        unit = 1 << lattice.bits
        wanted = lattice.halfplane(Sheet.FLAT_BELOW, 700 * unit + 3, 701 * unit - 1)
        sheet = view.sheets[Sheet.FLAT_BELOW]
        u, v = dual_position(wanted)
        sheet.zoom_to(type(extent(lattice))(u - 9 / unit, u + 9 / unit, v - 9 / unit, v + 9 / unit))
        settle(qtbot, view)
        assert sheet.plot.window().width < 60 / unit
        assert told_of(qtbot, view, pixel(sheet, u, v)) == wanted
        assert not picture(view).isNull()


@pytest.mark.parametrize("why", ["decided", "outside", "elsewhere"])
def test_a_report_that_changes_nothing_has_the_colour_of_nought_on_its_own_scale(qtbot, view, why):
    """Whatever lies below: a density of lines has other colours, and another scale."""
    rng = np.random.default_rng(4)
    view.set_change(Change((), 0.0, 0.0, 0.0, why), 0.5)
    settle(qtbot, view)
    plain = view.sheets[view.sheet].plot.grab().toImage()
    view.sheets[view.sheet].density.set_image(
        rgba_image(rng.integers(0, 256, (64, 64, 4), dtype=np.uint8)), extent(LATTICE)
    )
    assert view.sheets[view.sheet].plot.grab().toImage() == plain
    scale = view.pictures.shade_scale
    assert (scale.low, scale.high, scale.signed) == (-0.5, 0.5, True)
    for sheet in view.sheets:
        assert view.pictures.shade_at(sheet, 10.0, 10.0) == 0.0


def test_the_release_view_is_the_same_whatever_the_private_data(qtbot, view):
    """Pixel by pixel: no line, shading, box, highlight or note, nor any that comes late."""
    view.controls.choose("score", 1)
    view.set_shading(raster())
    view.set_boxes(BOXES)
    view.show_example(10, 50)
    settle(qtbot, view)
    private = picture(view)
    view.set_examples(np.tile(POINTS, (100, 1)), np.tile(LABELS, 100))  # drawn beside the window
    assert view.pictures.background.busy
    view.set_release_view(True)
    settle(qtbot, view)
    released = picture(view)
    late = Sheet.FLAT_ABOVE
    density = np.ones((8, 8), dtype=np.float32)
    view.set_examples(POINTS[:9], LABELS[:9])
    view.set_shading(raster(), nats=1.0)
    view.set_detail(raster()[late])
    view.set_change(Change((ChangedSheet(raster()[late], density),), 0.1, 0.2, 0.0), 1.0)
    view.set_search(((late, density),))
    view.set_boxes(BOXES)
    view.show_example(10, 50)
    settle(qtbot, view)
    assert picture(view) == released
    assert all(view.pictures.small(sheet) is None for sheet in view.sheets)
    assert view.pictures.lines is view.pictures.shade_scale is None
    assert released != private
    for sheet in view.sheets.values():
        assert not any(item.isVisible() for item in sheet.private_items)
        assert sheet.chosen.isVisible()
    for private in (view.controls.lines, view.controls.shade_row, view.controls.streak, view.bar):
        assert not private.isVisible()
    assert view.note == ""
    other = DualView()
    qtbot.addWidget(other)
    other.resize(900, 900)
    other.set_lattice(LATTICE)
    other.set_pieces(PIECES)
    other.controls.choose("off", 1)  # which edge it is about is the person's choice
    other.set_release_view(True)
    with qtbot.waitExposed(other):
        other.show()
    settle(qtbot, other)
    assert picture(other) == released
    sheet = view.sheets[Sheet.FLAT_ABOVE]
    told_of(qtbot, view, pixel(sheet, 25.0, 40.0))
    assert "holds" not in view.readout.text()
    assert "score" not in view.readout.text()
    view.set_release_view(False)
    settle(qtbot, view)
    assert lines_drawn(sheet) == 0
    view.set_examples(POINTS[:9], LABELS[:9])
    settle(qtbot, view)
    assert lines_drawn(sheet) == 9
    assert all(item.isVisible() for item in sheet.private_items)


def test_the_release_view_drops_a_window_that_private_data_chose(qtbot, view):
    """And zooms to a chosen point alike for any sample."""
    widths = []
    view.sheets[Sheet.STEEP_RIGHT].zoom_to(Window(3.0, 4.0, 3.0, 4.0))  # is not shown now
    for n in (len(POINTS), 100):
        view.set_examples(POINTS[:n], LABELS[:n])
        settle(qtbot, view)
        view.zoom_to_chosen()
        near = view.sheets[Sheet.FLAT_ABOVE].plot.window().width
        view.set_release_view(True)
        widths.append(view.sheets[Sheet.FLAT_ABOVE].plot.window().width)
        assert near < widths[-1] / 2
        view.zoom_to_chosen()
        widths.append(view.sheets[Sheet.FLAT_ABOVE].plot.window().width)
        view.set_release_view(False)
    assert widths[:2] == pytest.approx(widths[2:], rel=0.1)
    assert view.sheets[Sheet.STEEP_RIGHT].plot.window().width > LATTICE.d


def test_small_pictures_are_of_the_theme_that_is_shown(qtbot: QtBot, view: DualView) -> None:
    dark = load_palette("dark")
    view.controls.choose("score")
    view.set_shading(raster())
    view.set_palette(dark)
    settle(qtbot, view)
    changed = picture(view.stack.strip)
    view.set_shading(raster())
    settle(qtbot, view)
    assert picture(view.stack.strip) == changed


def test_shading_is_asked_for_shown_and_read(qtbot: QtBot, view: DualView) -> None:
    with qtbot.waitSignal(view.shade_wanted) as asked:
        qtbot.mouseClick(view.controls.modes[1], Qt.MouseButton.LeftButton)
    assert asked.args == [0, "score"]
    with qtbot.waitSignal(view.shade_wanted) as asked:
        qtbot.mouseClick(view.controls.edges[2], Qt.MouseButton.LeftButton)
    assert asked.args == [2, "score"]
    plain = picture(view)
    view.set_shading(raster(), nats=0.3)
    settle(qtbot, view)
    assert picture(view) != plain
    assert view.bar.isVisible()
    assert (view.bar.scale.low, view.bar.scale.high) == (-11.0, 0.0)
    assert "with edge 3 elsewhere" in view.readout.text()
    sheet = view.sheets[Sheet.STEEP_LEFT]
    assert view.sheet == Sheet.STEEP_LEFT
    told_of(qtbot, view, pixel(sheet, 25.0, 40.0))
    assert "score −5 examples" in view.readout.text()
    with qtbot.waitSignal(view.shade_wanted) as asked:
        qtbot.mouseClick(view.controls.modes[2], Qt.MouseButton.LeftButton)
    assert asked.args == [2, "probability"]
    assert view.bar.scale.percent
    view.set_shading(None)
    assert not view.bar.isVisible()


def test_cells_are_painted_where_they_are(qtbot: QtBot, view: DualView) -> None:
    """The better cell's colour is on its side of the common edge."""
    view.set_examples(None, None)
    view.set_pieces(())
    view.show_sheet(Sheet.FLAT_ABOVE)
    lower = ShadedCell(np.array([[0.0, 0], [64, 64], [64, 0]]), -9.0, 0.1)
    upper = ShadedCell(np.array([[0.0, 0], [64, 64], [0, 64]]), 0.0, 0.9)
    view.controls.choose("score")
    view.set_shading((ShadedSheet(0, (lower, upper), None, Window(-64.0, 128.0, -64.0, 128.0)),))
    settle(qtbot, view)
    sheet = view.sheets[Sheet.FLAT_ABOVE]
    image = sheet.plot.viewport().grab().toImage()
    above, below = (image.pixelColor(pixel(sheet, u, v)) for u, v in ((10, 50), (50, 10)))
    table = ramp(load_palette("light"))
    best, worst = (tuple(table[i].tolist()) for i in (-1, 0))
    assert above.getRgb()[:3] == best
    assert below.getRgb()[:3] == worst
    sheet.zoom_to(type(extent(LATTICE))(31.9, 32.1, 31.9, 32.1))
    settle(qtbot, view)
    image = sheet.plot.viewport().grab().toImage()
    assert image.pixelColor(pixel(sheet, 31.95, 32.05)).getRgb()[:3] == best
    assert image.pixelColor(pixel(sheet, 32.05, 31.95)).getRgb()[:3] == worst


def test_pieces_of_one_halfplane_have_no_edges_to_choose(view: DualView) -> None:
    assert view.controls.edges[0].isVisible()
    view.set_pieces((piece((0, 10, 20)),))
    assert not view.controls.edges[0].isVisible()
    assert view.sheets[Sheet.FLAT_ABOVE].chosen.marks[0].text == "1"


def test_boxes_are_outlined_while_a_selection_runs(view: DualView) -> None:
    before = picture(view)
    view.set_boxes(BOXES)
    assert picture(view) != before
    view.set_boxes(())
    assert picture(view) == before


def test_many_lines_become_a_density_without_holding_up_the_window(qtbot: QtBot) -> None:
    view = DualView()
    qtbot.addWidget(view)
    view.resize(900, 900)
    with qtbot.waitExposed(view):
        view.show()
    view.set_lattice(HalfplaneLattice(1024))
    points = RNG.integers(0, 1025, size=(100_000, 2))
    labels, alive = points[:, 0] < 500, np.ones(100_000, dtype=bool)
    start = unhindered()
    view.set_examples(points, labels, alive)
    assert unhindered() - start < 0.1
    settle(qtbot, view)
    sheet = view.sheets[Sheet.FLAT_ABOVE]
    assert view.note == f"100,000 lines, {SOME_DRAWN} of them drawn"
    assert lines_drawn(sheet) == SOME_DRAWN
    assert view.bar.isVisible()
    view.set_examples(points[:5], labels[:5])
    settle(qtbot, view)
    assert lines_drawn(sheet) == 5
    assert not view.bar.isVisible()


def test_the_empty_view_says_what_will_appear(qtbot: QtBot) -> None:
    view = DualView()
    qtbot.addWidget(view)
    view.show()
    assert (view.stack.empty.isVisible(), view.stack.empty.text()) == (True, EMPTY)
    view.set_lattice(LATTICE)
    assert view.stack.empty.isVisible()
    view.set_release_view(True)
    assert view.stack.empty.text() == EMPTY_RELEASE
    view.set_release_view(False)
    view.set_examples(POINTS, LABELS)
    assert not view.stack.empty.isVisible()
    view.set_lattice(None)
    assert view.stack.empty.isVisible()


def test_the_words_of_the_empty_view_hide_no_axis(qtbot: QtBot) -> None:
    view = DualView()
    qtbot.addWidget(view)
    view.set_lattice(LATTICE)
    with qtbot.waitExposed(view):
        view.show()
    for side in (380, 440, 700):
        view.resize(side, side)
        settle(qtbot, view)
        axis = view.sheets[view.sheet].plot.axes["left"]
        viewport = view.sheets[view.sheet].plot.viewport()
        numbers = viewport.mapToGlobal(
            view.sheets[view.sheet].plot.mapFromScene(axis.sceneBoundingRect().bottomRight())
        )
        assert view.stack.empty.isVisible()
        assert view.stack.empty.mapToGlobal(QPoint(0, 0)).x() > numbers.x()


def test_both_palettes_and_accessible_names(view: DualView) -> None:
    light = picture(view)
    view.set_palette(load_palette("dark"))
    assert picture(view) != light
    names = [sheet.plot.accessibleName() for sheet in view.sheets.values()]
    assert names == [f"Dual plane, sheet {name}" for name in ("Above", "Below", "Right", "Left")]
    buttons = (view.controls.streak, view.controls.zoom, view.controls.fit)
    thumbs = (view.stack.strip, *view.thumbs.values())
    for widget in (view, view.readout, view.bar, *thumbs, *view.controls.edges, *buttons):
        assert widget.accessibleName()
    assert view.thumbs[Sheet.FLAT_BELOW].accessibleDescription() == ("Edge 2 of the newest piece")
