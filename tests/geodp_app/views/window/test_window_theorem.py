"""The page of the theorem in the real window: it follows the settings, and holds no private n."""

import pytest
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot
from window_driver import LEFT, Lasting, action, type_into

from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.runs.settings_advice import Answer, answer
from geodp_app.views.widgets.panes import PrivateMark
from geodp_app.views.window.main_window import MainWindow

SQUARE = Drawing(256, (Shape(((40, 40), (200, 40), (200, 150), (40, 150))),))


@pytest.fixture
def window(lasting: Lasting) -> MainWindow:
    made = lasting.as_new()
    made.document.edit("draw", SQUARE)
    bar = made.pages.tabBar()
    names = [bar.tabText(i) for i in range(bar.count())]
    QTest.mouseClick(bar, LEFT, pos=bar.tabRect(names.index("Theorem")).center())
    assert made.theorem.isVisible()
    return made


def outcome(qtbot: QtBot, window: MainWindow) -> Answer:
    qtbot.waitUntil(lambda: not window.theorem.background.busy)
    found = window.theorem.answer
    assert found is not None
    return found


def shown(window: MainWindow, label: str) -> tuple[str, ...]:
    for card in window.theorem.cards:
        if label in card.values:
            return tuple(value.text() for value in card.values[label])
    raise AssertionError(label)


def test_the_figures_are_the_theorems(qtbot: QtBot, window: MainWindow) -> None:
    a = outcome(qtbot, window)
    assert a == answer(window.document.work.run, 256)
    for label, numbers in a.numbers.items():
        assert shown(window, label) == numbers
    assert shown(window, "Error at planned n")[0] == "–"


def test_they_follow_the_settings_and_the_fields(qtbot: QtBot, window: MainWindow) -> None:
    def proved() -> int:
        outcome(qtbot, window)
        return int(shown(window, "Proved here")[0].replace(",", ""))

    before, steps = proved(), outcome(qtbot, window).steps
    window.settings.epsilon.setValue(2.0)
    assert proved() < before
    k = window.document.work.run["k"] + 3
    window.settings.k.setValue(k)
    more = proved()
    assert outcome(qtbot, window).steps > steps
    # as many triangles whether their edges are drawn again or not
    for finish in ("sharpen", "none"):
        window.document.set_run(finish=finish)
        assert proved() == more
        assert shown(window, "Steps m")[1] == str(2 * k)
    field = window.theorem.alpha
    type_into(field, "0.02")
    assert "ln(2 / 0.02)" in outcome(qtbot, window).formulas[0]
    window.theorem.planned.setValue(100_000_000)
    outcome(qtbot, window)
    assert shown(window, "Error at planned n")[0].endswith("%")


def test_the_private_number_of_examples_is_not_used(qtbot: QtBot, window: MainWindow) -> None:
    before = outcome(qtbot, window)
    window.document.set_sampling(n=2_000)
    action(window, "draw_sample")
    assert not window.theorem.background.busy  # nothing was asked
    window.document.set_sampling(n=70_000)
    action(window, "draw_sample")
    assert not window.theorem.background.busy
    assert window.theorem.answer is before


def test_the_steps_of_the_theorem_can_be_used_and_taken_back(qtbot, window):
    a = outcome(qtbot, window)
    button = window.theorem.use
    window.theorem.ensureWidgetVisible(button)
    own = shown(window, "Steps m")[1]
    assert own != str(a.steps)
    QTest.mouseClick(button, LEFT)
    assert window.document.work.run["n_steps"] == a.steps
    assert window.settings.fields["n_steps"].value() == a.steps
    outcome(qtbot, window)
    assert shown(window, "Steps m") == (str(a.steps), str(a.steps))
    assert not button.isEnabled()
    action(window, "undo")
    assert window.document.work.run["n_steps"] is None
    outcome(qtbot, window)
    assert shown(window, "Steps m")[1] == own
    assert button.isEnabled()


def test_other_learners_have_no_such_theorem(qtbot: QtBot, window: MainWindow) -> None:
    page = window.theorem
    outcome(qtbot, window)
    window.document.set_run(learner="tiles")
    assert page.note.isVisible()
    assert not page.cards[0].isVisible()
    assert page.answer is None
    window.document.set_run(learner="convex-cover")
    outcome(qtbot, window)
    assert not page.note.isVisible()
    assert page.cards[0].isVisible()


def test_settings_that_cannot_run_are_explained(qtbot: QtBot, window: MainWindow) -> None:
    outcome(qtbot, window)
    window.document.set_run(epsilon=500.0, delta=1e-40, n_steps=1_000)
    qtbot.waitUntil(lambda: not window.theorem.background.busy)
    assert window.theorem.problem.isVisible()
    assert "cannot run" in window.theorem.problem.text()
    assert shown(window, "Steps m") == ("–", "–")
    assert not window.theorem.use.isEnabled()


def test_nothing_of_it_is_private_and_it_stays_in_the_release_view(qtbot, window):
    a = outcome(qtbot, window)
    action(window, "release_view")
    assert window.theorem.isVisible()
    assert all(card.isVisible() for card in window.theorem.cards)
    assert window.theorem.answer is a
    assert not window.theorem.findChildren(PrivateMark)


def test_what_is_not_in_sight_is_not_worked_out(qtbot: QtBot, window: MainWindow) -> None:
    before = outcome(qtbot, window)
    window.pages.setCurrentWidget(window.settings)
    window.settings.epsilon.setValue(3.0)
    assert not window.theorem.background.busy
    assert window.theorem.answer is before
    window.pages.setCurrentWidget(window.theorem)
    assert outcome(qtbot, window).numbers["Basic"] != before.numbers["Basic"]
