"""The chart of errors, driven by a real mouse and keys."""

from __future__ import annotations

import math

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from step_figures import visible_curves, with_errors

from geodp_app.palette import load_palette
from geodp_app.views.run.error_chart import ErrorChart

LEFT = Qt.MouseButton.LeftButton
POINTS = tuple(
    with_errors(step, 0.4 / step + 0.01 * step, 0.01 * step, 0.4 / step, 0.5 / step)
    for step in range(1, 9)
)


@pytest.fixture
def chart(qtbot) -> ErrorChart:
    made = ErrorChart()
    qtbot.addWidget(made)
    made.resize(640, 260)
    made.show()
    qtbot.waitExposed(made)
    return made


def at(chart: ErrorChart, step: float) -> QPoint:
    """Where a step is, on the viewport."""
    scene = chart.plot.getViewBox().mapViewToScene(QPointF(step, 0))
    return QPoint(chart.plot.mapFromScene(scene).x(), chart.plot.viewport().height() // 2)


def ticks(chart: ErrorChart, side: str) -> list[str]:
    """What is written along an axis."""
    image = QImage(10, 10, QImage.Format.Format_ARGB32)
    painter = QPainter(image)
    _, _, texts = chart.plot.getAxis(side).generateDrawSpecs(painter)
    painter.end()
    return [text for _, _, text in texts]


def picked(chart: ErrorChart) -> list[int]:
    steps: list[int] = []
    chart.step_picked.connect(steps.append)
    return steps


def test_empty_it_says_what_to_do(chart: ErrorChart) -> None:
    assert "F5" in chart.message.text()
    assert visible_curves(chart) == 0
    steps = picked(chart)
    QTest.mouseClick(chart.plot.viewport(), LEFT, pos=QPoint(200, 60))
    assert steps == []


def test_a_click_goes_to_the_nearest_step_that_was_made(chart: ErrorChart) -> None:
    chart.set_points(POINTS, 12, 8)
    steps = picked(chart)
    for where in (3, 5.3, 11.5):
        QTest.mouseClick(chart.plot.viewport(), LEFT, pos=at(chart, where))
    assert steps == [3, 5, 8]
    assert chart.step == 8


def test_dragging_scrubs_and_tells_each_step_once(chart: ErrorChart) -> None:
    chart.set_points(POINTS, 12, 8)
    steps = picked(chart)
    view = chart.plot.viewport()
    QTest.mousePress(view, LEFT, pos=at(chart, 2))
    for where in (2.1, 2.3, 3.0, 3.2, 4.0):
        QTest.mouseMove(view, at(chart, where))
    QTest.mouseRelease(view, LEFT, pos=at(chart, 4))
    assert steps == [2, 3, 4]
    low, high = chart.plot.viewRange()[0]
    assert low < 1 < 12 < high  # it has not been dragged away


def test_hovering_reads_the_values_of_a_step_without_going_there(chart: ErrorChart) -> None:
    chart.set_points(POINTS, 12, 8)
    steps = picked(chart)
    QTest.mouseMove(chart.plot.viewport(), at(chart, 2))
    text = chart.readout.text().replace("\u00a0", " ")
    assert text == (
        "Step 2 of 12: Test 25.0 %, Empirical 22.0 %, False positives 2.00 %, "
        "False negatives 20.0 %"
    )
    assert steps == []
    assert chart.step == 8


def test_otherwise_the_values_are_those_of_the_step_shown(chart: ErrorChart) -> None:
    chart.set_points(POINTS, 12, 8)
    assert chart.readout.text().startswith("Step 8 of 12:")
    chart.set_points(POINTS, 12, 4)
    assert chart.readout.text().startswith("Step 4 of 12:")


def test_arrow_keys_move_within_the_steps_made(chart: ErrorChart) -> None:
    chart.set_points(POINTS, 12, 7)
    steps = picked(chart)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Home):
        QTest.keyClick(chart.plot, key)
    assert steps == [8, 7, 1]
    QTest.keyClick(chart.plot, Qt.Key.Key_End)
    assert steps == [8, 7, 1, 8]


def test_setting_points_emits_nothing(chart: ErrorChart) -> None:
    steps = picked(chart)
    chart.set_points(POINTS, 12, 3)
    chart.set_points(POINTS[:2], 12, 2)
    chart.set_points((), 0, 0)
    assert steps == []


def test_the_plain_scale_stacks_and_the_logarithmic_one_does_not(chart: ErrorChart) -> None:
    chart.set_points(POINTS, 12, 8)
    assert chart.in_band.isVisible()
    assert chart.out_band.isVisible()
    top = chart.empirical.getData()[1]
    assert top == pytest.approx([sum(p.errors[2:]) for p in POINTS])
    QTest.mouseClick(chart.log_button, LEFT)
    assert not chart.in_band.isVisible()
    assert visible_curves(chart) == 4
    assert chart.empirical.getData()[1] == pytest.approx([math.log10(p.errors[1]) for p in POINTS])


def test_an_error_of_nothing_is_drawn_on_the_floor_of_the_logarithmic_scale(chart):
    points = (with_errors(1, 0.2, 0.1, 0.1, 0.3), with_errors(2, 0.0, 0.0, 0.0, 0.0))
    chart.log_button.setChecked(True)
    chart.set_points(points, 2, 2)
    bottom = chart.plot.viewRange()[1][0]
    assert chart.empirical.getData()[1][1] == pytest.approx(bottom)
    assert "Empirical 0" in chart.readout.text()


def test_without_a_test_sample_there_is_no_test_curve(chart: ErrorChart) -> None:
    points = tuple(with_errors(p.step, p.errors[1], 0.0, p.errors[1]) for p in POINTS)
    chart.set_points(points, 8, 8)
    x, _ = chart.held_out.getData()
    assert x is None or len(x) == 0
    assert "Test –" in chart.readout.text()


def test_the_release_view_hides_errors_but_not_steps(chart: ErrorChart) -> None:
    chart.set_points(POINTS, 12, 8)
    chart.set_release_view(True)
    assert visible_curves(chart) == 0
    assert not chart.in_band.isVisible()
    assert not chart.readout.isVisible()
    assert not chart.mark.isVisible()
    assert "private" in chart.message.text()
    assert ticks(chart, "left") == []
    # the scale itself must not tell the errors either
    assert ticks(chart, "bottom")[-1] == "12"
    QTest.mouseMove(chart.plot.viewport(), at(chart, 2))
    assert chart.readout.text() == "No errors to show"
    steps = picked(chart)
    QTest.mouseClick(chart.plot.viewport(), LEFT, pos=at(chart, 3))
    assert steps == [3]
    chart.set_release_view(False)
    assert visible_curves(chart) == 3
    assert chart.mark.isVisible()


def test_curves_differ_by_dash_and_marker_not_by_colour_alone(chart: ErrorChart) -> None:
    chart.set_points(POINTS, 12, 8)
    empirical, test = chart.empirical.opts, chart.held_out.opts
    assert empirical["pen"].style() == Qt.PenStyle.SolidLine
    assert test["pen"].dashPattern()
    assert empirical["symbol"] != test["symbol"]


@pytest.mark.parametrize("name", ["light", "dark"])
def test_a_long_run_and_a_narrow_chart_are_drawn(chart: ErrorChart, name) -> None:
    chart.set_palette(load_palette(name))
    points = tuple(with_errors(s, 0.4 / s, 0.1 / s, 0.3 / s, 0.5 / s) for s in range(1, 401))
    chart.set_points(points, 400, 400)
    chart.resize(220, 160)
    labels = ticks(chart, "bottom")
    assert 1 <= len(labels) <= 5
    assert not chart.grab().isNull()


def test_the_wheel_does_not_zoom(chart: ErrorChart, qtbot) -> None:
    chart.set_points(POINTS, 12, 8)
    before = chart.plot.viewRange()
    at, turn = QPointF(200, 60), QPoint(0, 240)
    none, plain = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier
    event = QWheelEvent(at, at, QPoint(), turn, none, plain, Qt.ScrollPhase.NoScrollPhase, False)
    QApplication.sendEvent(chart.plot.viewport(), event)
    assert chart.plot.viewRange() == before


def test_the_legend_stands_beside_the_plot(chart: ErrorChart) -> None:
    chart.set_points(POINTS, 12, 8)
    chart.resize(chart.minimumSizeHint())
    QApplication.processEvents()
    assert chart.plot.getViewBox().height() >= 120
    assert chart.readout.size() == chart.readout.sizeHint()
    beside = chart.readout.mapTo(chart, QPoint(chart.readout.width(), 0)).x()
    assert beside <= chart.plot.x()
    assert len(ticks(chart, "left")) >= 3
    assert all(text.endswith("%") for text in ticks(chart, "left"))


def shown(chart: ErrorChart) -> QImage:
    QApplication.processEvents()
    image: QImage = chart.plot.viewport().grab().toImage()
    return image


@pytest.mark.parametrize("name", ["light", "dark"])
def test_the_two_kinds_of_error_differ_without_colour(chart: ErrorChart, name) -> None:
    """False positives are hatched: about a pixel in eight; false negatives are filled."""
    p = load_palette(name)
    chart.set_palette(p)
    points = tuple(with_errors(step, 0.2, 0.1, 0.1) for step in range(1, 9))
    chart.set_points(points, 8, 8)
    image = shown(chart)
    box = chart.plot.getViewBox()

    def grey(share: float) -> list[int]:
        """Of pixels around a height, between two steps."""
        scene = box.mapViewToScene(QPointF(4.5, share))
        spot = chart.plot.mapFromScene(scene)
        around = [(spot.x() + i, spot.y() + j) for i in range(-8, 8) for j in range(-8, 8)]
        return [image.pixelColor(x, y).lightness() for x, y in around]

    hatched, plain = grey(0.05), grey(0.15)
    assert len(set(plain)) == 1
    ground = QColor(p.panel).lightness()
    assert 0.75 < hatched.count(ground) / len(hatched) < 0.95


@pytest.mark.parametrize("first", [2, 6, 11])
def test_a_line_parts_the_acts_and_each_has_its_name(chart: ErrorChart, first: int) -> None:
    chart.set_points(POINTS, 12, 8)
    plain = shown(chart)
    chart.set_points(POINTS, 12, 8, first)
    marked = shown(chart)
    box = chart.plot.getViewBox()
    line = chart.plot.mapFromScene(box.mapViewToScene(QPointF(first + 0.5, 0))).x()
    middle = chart.plot.viewport().height() // 2
    assert any(
        plain.pixel(x, middle) != marked.pixel(x, middle) for x in (line - 1, line, line + 1)
    )
    triangles, sharpening = (word.mapToScene(word.boundingRect()) for word in chart.acts)
    one, other = triangles.boundingRect(), sharpening.boundingRect()
    assert [word.toPlainText() for word in chart.acts] == ["Triangles", "Sharpening"]
    assert not one.intersects(other)
    assert one.left() < other.left()
    assert other.left() >= line - 1
    highest = max(box.mapViewToScene(QPointF(1, p.test_error)).y() for p in POINTS[:1])
    assert one.bottom() <= highest + 6  # the words are above the curves


@pytest.mark.parametrize("first", [0, 12, 13])
def test_a_run_of_one_act_has_no_mark(chart: ErrorChart, first: int) -> None:
    chart.set_points(POINTS, 12, 8)
    plain = shown(chart)
    chart.set_points(POINTS, 12, 8, 5)
    chart.set_points(POINTS, 12, 8, first)
    assert shown(chart) == plain
