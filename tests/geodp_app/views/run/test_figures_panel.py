"""The figures: right numbers, private ones marked and hidden on demand, an honest budget."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QLabel

from geodp_app.palette import load_palette
from geodp_app.runs.figures import FiguresView
from geodp_app.views.run.cards import FiguresPanel
from geodp_app.views.widgets.bars import ShareBar
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
