"""The figures and the chart of errors: right numbers, private ones marked and hidden."""

import math
from dataclasses import fields, replace

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel
from step_figures import visible_curves, with_errors

from geodp_app.formatting import percentage
from geodp_app.palette import load_palette
from geodp_app.runs.figures import FiguresView
from geodp_app.views.run.cards import FiguresPanel
from geodp_app.views.run.error_chart import ErrorChart
from geodp_app.views.widgets.plotting import ShareBar
from learners.core.records import StepDiagnostics

VIEW = FiguresView(
    step=3,
    steps=12,
    title="Step 3 of 12",
    known=StepDiagnostics(
        5000, 900, 1204, 7, -312.4, 0.0061, 0.0020, 0.0041, 1.23, 12430, 8112, 0.0
    ),
    test_error=0.0054,
    positives_covered=31250,
    positives=41000,
    threshold=9876,
    epsilon=1.0,
    delta=1e-6,
    epsilon_so_far=0.25,
    eta=0.0653,
    account="set-cover",
    neighbours="add-remove",
)


@pytest.fixture
def panel(qtbot) -> FiguresPanel:
    made = FiguresPanel()
    qtbot.addWidget(made)
    qtbot.addWidget(made.budget)
    made.resize(900, 240)
    made.show()
    made.budget.show()
    made.budget.fold.button.click()
    return made


def shown(panel: FiguresPanel) -> dict[str, str]:
    """Label and number of every row that can be seen."""
    return {
        label: value.text().replace("\u00a0", " ")
        for card in (*panel.cards, panel.budget)
        for label, value in card.values.items()
        if value.isVisible()
    }


def words(panel: FiguresPanel) -> str:
    """Everything that can be read."""
    labels = panel.findChildren(QLabel) + panel.budget.findChildren(QLabel)
    return " ".join(each.text() for each in labels if each.isVisible())


def test_every_figure_is_shown(panel: FiguresPanel) -> None:
    panel.show_figures(VIEW)
    assert shown(panel) == {
        "Test error": "0.54 %",
        "Empirical error": "0.61 %",
        "False positives": "0.20 %",
        "False negatives": "0.41 %",
        "Positives covered": "76.2 %",
        "Positives taken": "1,204",
        "Negatives taken": "7",
        "Score": "−312.4",
        "Time": "1.2 s",
        "Trials": "12,430",
        "Boxes": "8,112",
        "Noisy threshold": "9,876",
        "η per step": "0.0653",
        "Account": "set cover",
        "δ": "10⁻⁶",
        "Neighbours": "add or remove one",
    }
    assert panel.budget.spent.text() == "0.25 of ε = 1"
    assert panel.step.heading.text() == "Step 3 of 12"


def test_what_is_charged_and_how_is_in_a_fold_that_opens_by_click_and_key(qtbot) -> None:
    made = FiguresPanel()
    qtbot.addWidget(made.budget)
    made.budget.show()
    assert not any(value.isVisible() for value in made.budget.values.values())
    assert made.budget.spent.isVisible()
    button = made.budget.fold.button
    assert button.accessibleName() == "What is charged, and how"
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert all(value.isVisible() for value in made.budget.values.values())
    qtbot.keyClick(button, Qt.Key.Key_Space)
    assert not any(value.isVisible() for value in made.budget.values.values())


def test_without_a_run_there_are_dashes(panel: FiguresPanel) -> None:
    panel.show_figures(VIEW)
    panel.show_figures(FiguresView())
    assert set(shown(panel).values()) == {"–"}
    assert panel.step.heading.text() == "No steps yet"
    assert panel.budget.bar.share == 0


def test_private_cards_are_marked_and_the_public_one_is_not(panel: FiguresPanel) -> None:
    for card in (*panel.cards, panel.budget):
        marks = [each for each in card.findChildren(QLabel) if each.objectName() == "privateMark"]
        assert len(marks) == (card is not panel.budget)
        assert card.property("private") == (card is not panel.budget)


def test_the_release_view_shows_nothing_that_depends_on_private_figures(panel):
    public = {
        "step", "steps", "title", "at_end", "threshold", "epsilon", "delta", "epsilon_so_far",
        "eta", "account", "neighbours", "guarantee",
    }  # fmt: skip
    panel.set_release_view(True)
    panel.show_figures(VIEW)
    before = words(panel)
    assert "9,876" in before
    without = {f.name: None for f in fields(FiguresView) if f.name not in public}
    panel.show_figures(replace(VIEW, **without))
    assert words(panel) == before
    assert "private" in panel.note.text()
    panel.set_release_view(False)
    panel.show_figures(VIEW)
    assert "0.54" in words(panel)
    assert not panel.note.isVisible()


@pytest.mark.parametrize(
    ("guarantee", "reason"), [("seeded", "seeded"), ("greedy", "no noise is drawn")]
)
def test_a_run_that_is_not_private_says_so(panel: FiguresPanel, guarantee, reason) -> None:
    panel.show_figures(VIEW)
    assert not panel.budget.banner.isVisible()
    panel.show_figures(replace(VIEW, guarantee=guarantee))
    assert panel.budget.banner.isVisible()
    assert panel.budget.banner.text().startswith("Not private: ")
    assert reason in panel.budget.banner.text()


def test_a_greedy_run_claims_no_guarantee(panel: FiguresPanel) -> None:
    panel.show_figures(replace(VIEW, guarantee="greedy"))
    rows = shown(panel)
    assert {rows[name] for name in ("δ", "Account", "Neighbours")} == {"–"}
    assert panel.budget.spent.text() == "–"


def test_a_run_by_tiles_has_another_account_and_no_threshold(panel: FiguresPanel) -> None:
    panel.show_figures(replace(VIEW, account="basic", delta=1e-40, threshold=None))
    rows = shown(panel)
    assert (rows["Account"], rows["δ"], rows["Noisy threshold"]) == (
        "basic composition", "10⁻⁴⁰", "–",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["light", "dark"])
def test_the_bar_is_as_long_as_the_share(qtbot, name) -> None:
    palette = load_palette(name)
    bar = ShareBar("of a whole")
    qtbot.addWidget(bar)
    bar.resize(400, 8)
    bar.set_palette(palette)
    for name, colour in (("accent", palette.accent), ("danger", palette.danger)):
        bar.set_share(0.25, name)
        image = bar.grab().toImage()
        filled = [x for x in range(400) if image.pixelColor(x, 4) == QColor(colour)]
        assert len(filled) == pytest.approx(100, abs=3)
        assert max(filled) < 104


def test_cards_take_what_width_there_is(panel: FiguresPanel, qtbot) -> None:
    panel.resize(276, 240)
    qtbot.waitUntil(lambda: panel.viewport().width() < 300)
    assert panel.horizontalScrollBar().maximum() == 0
    assert all(card.width() <= panel.viewport().width() for card in panel.cards)


def test_numbers_are_read_out_with_their_names(panel: FiguresPanel) -> None:
    panel.show_figures(VIEW)
    name = panel.step.values["Trials"].accessibleName()
    assert name == "Trials: 12,430"


# -- the chart of errors ---------------------------------------------------------------------------


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


def test_no_value_is_written_over_its_name(chart: ErrorChart) -> None:
    chart.set_points(POINTS, 12, 8)
    readout, swatch = chart.readout, 24
    for share in (1e-6, 0.0999, 0.5, 1.0):
        words = readout.fontMetrics().horizontalAdvance(f"False negatives {percentage(share)}")
        assert swatch + words <= readout.width()


def test_curves_differ_by_dash_and_marker_not_by_colour_alone(chart: ErrorChart) -> None:
    chart.set_points(POINTS, 12, 8)
    empirical, test = chart.empirical.opts, chart.held_out.opts
    assert empirical["pen"].style() == Qt.PenStyle.SolidLine
    assert test["pen"].dashPattern()
    assert empirical["symbol"] != test["symbol"]


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


def charted(chart: ErrorChart) -> QImage:
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
    image = charted(chart)
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
    plain = charted(chart)
    chart.set_points(POINTS, 12, 8, first)
    marked = charted(chart)
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
    plain = charted(chart)
    chart.set_points(POINTS, 12, 8, 5)
    chart.set_points(POINTS, 12, 8, first)
    assert charted(chart) == plain
