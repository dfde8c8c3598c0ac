"""Answers that come late: of another step, edge, run or view they are not shown."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest
from pytestqt.qtbot import QtBot
from window_driver import Lasting, action, log_of, settle

from geodp import Examples
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.files.run_record import RunRecord
from geodp_app.runs.odds import Candidate, WhatIf
from geodp_app.runs.protocol import (
    Answered,
    AsGood,
    Change,
    Progressed,
    Question,
    ShadedSheet,
    ShadeQuestion,
    Window,
)
from geodp_app.runs.questions import find_report
from geodp_app.runs.run_log import RunLog
from geodp_app.views.plane.examples_layer import ExampleKinds
from geodp_app.views.window.main_window import MainWindow
from learners.core.records import Diagnostics, StepRecord
from learners.core.selection import HeavyBox, SelectionProgress
from learners.stability.sample_and_aggregate import VoteView

TARGET = Drawing(256, (Shape(((30, 40), (220, 60), (100, 230))),))


class Asked:
    """Takes the questions of a window in place of the learner's process, and answers when told."""

    def __init__(self, window: MainWindow, patch: pytest.MonkeyPatch) -> None:
        self._window, self.questions = window, list[tuple[int, Question]]()
        patch.setattr(window.runs.controller, "ask", self.take)

    def take(self, question: Question) -> int:
        self.questions.append((-len(self.questions) - 1, question))
        return self.questions[-1][0]

    def answer(self) -> None:
        """Everything that was asked, at once, by sheets that are all alike."""
        for tag, question in self.questions:
            scores = np.zeros((8, 8))
            window = Window(-9.0, 99.0, -9.0, 99.0)
            sheets = tuple(ShadedSheet(s, (), scores, window) for s in range(4))
            shades = isinstance(question, ShadeQuestion)
            answer = sheets if shades else (AsGood(0.5, 0.4, 0.6, exact=False),)
            self._window.runs.controller.answered.emit(Answered(0, tag, answer))


@pytest.fixture
def window(qtbot: QtBot, lasting: Lasting) -> MainWindow:
    """After a run by tiles, at a step with halfplanes."""
    made = lasting.after_run(qtbot, TARGET, 2_000, learner="tiles", tiles=3, seed=5)
    made.runs.move_cursor(divided(log_of(made))[0])
    settle(qtbot, made)
    return made


@pytest.fixture
def asked(window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(window, monkeypatch)


def divided(log: RunLog) -> list[int]:
    """Steps that drew more than one halfplane."""
    found = [r.step for r in log.records if len(r.release.piece) > 1]
    assert len(found) > 1
    return found


def look_again(qtbot: QtBot, window: MainWindow, asked: Asked) -> None:
    """Have the shading of another step asked for."""
    assert window.runs.current is not None
    window.runs.move_cursor(divided(window.runs.current)[1])
    qtbot.waitUntil(lambda: bool(asked.questions))
    assert window.dual.pictures.shade_scale is None


def test_an_answer_is_shown_while_its_moment_lasts(qtbot, window, asked):
    look_again(qtbot, window, asked)
    asked.answer()
    assert window.dual.pictures.shade_scale is not None


def test_what_one_report_changes_is_said_of_its_step_and_of_its_sample(qtbot, window):
    log, examples = log_of(window), window.document.work.examples
    report = find_report(examples, tuple(examples.points[0].tolist()), 0.0, True)
    window.display.show_report(report)
    settle(qtbot, window)
    assert window.why.report.text().startswith(f"{report.words} ")
    for step in (0, log.last):
        window.runs.move_cursor(step)
        settle(qtbot, window)
        assert window.why.report.text() == report.words
    window.runs.set_live(False)
    window.document.set_sample(seed=77)  # it may not be one of these
    settle(qtbot, window)
    assert not window.why.report.isVisible()


#: What may happen between a question and its answer.
CHANGES = {
    "the release view": lambda w: action(w, "release_view"),
    "a step back": lambda w: w.runs.walk(-1),
    "another edge": lambda w: w.dual.controls.edges[1].click(),
    "other settings": lambda w: (w.runs.set_live(False), w.document.set_run(epsilon=0.5)),
    "other examples": lambda w: w.sample(),
    "no run": lambda w: w.runs.reset(),
    "another session": lambda w: w.runs.adopt(w.runs.log.run),
    "an undo": lambda w: w.undo(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_answer_of_another_moment_is_dropped(qtbot, window, asked, change):
    look_again(qtbot, window, asked)
    CHANGES[change](window)
    asked.answer()
    assert window.dual.pictures.shade_scale is None
    assert not window.dual.pictures.rasters


# -- what the release view is given ---------------------------------------------------------------

PRIVATE = (
    AsGood, HeavyBox, Candidate, Change, Diagnostics, ExampleKinds, Examples, Progressed, RunLog,
    RunRecord, SelectionProgress, ShadedSheet, StepRecord, VoteView, WhatIf,
)  # fmt: skip


def parts(value: Any) -> Iterator[Any]:
    """A value and all that it holds."""
    yield value
    if isinstance(value, PRIVATE):
        return
    if is_dataclass(value):
        for field in fields(value):
            yield from parts(getattr(value, field.name, None))
    elif isinstance(value, tuple | list):
        for one in value:
            yield from parts(one)


def spied(name: str, real: Any, outcome: list[tuple[str, Any]]) -> Any:
    """The same method, which also notes what it is given."""

    def spy(*args: Any, **kwargs: Any) -> None:
        outcome.extend((name, one) for one in (*args, *kwargs.values()))
        real(*args, **kwargs)

    return spy


@pytest.fixture
def given(window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """What the views are told to show from now on, each with who is told."""
    outcome: list[tuple[str, Any]] = []
    views = (window.plane, window.dual, window.conics, window.chart, window.figures, window.why,
             window.timeline, window.dual.stack.strip, window.query_card)  # fmt: skip
    for view in views:
        for name in vars(type(view)):
            if name.startswith(("set_", "show_")):
                monkeypatch.setattr(view, name, spied(name, getattr(view, name), outcome))
    return outcome


def test_the_release_view_is_given_nothing_private(qtbot, window, asked, given):
    """Whatever is told to show what, also when answers and news of a selection come late."""
    look_again(qtbot, window, asked)
    log = log_of(window)
    assert any(isinstance(part, PRIVATE) for _, one in given for part in parts(one))
    action(window, "release_view")
    given.clear()
    asked.answer()
    box = HeavyBox((0,), ((0, 9, 0, 9),), 1.0)
    density = ((0, np.ones((4, 4), dtype=np.float32)),)
    news = Progressed(
        log.cursor + 1, SelectionProgress(7, 8, 0.0), 9.0, views=(box,), density=density
    )
    window.runs.progressed.emit(news)
    assert window.timeline.text().endswith("Selecting…")
    assert "trials" not in window.timeline.note.toolTip()
    for step in range(len(log.records) + 1):
        window.runs.move_cursor(step)
        window.runs.progressed.emit(replace(news, step=step + 1))
    window.display.show_report(None)
    settle(qtbot, window)
    shown = [(name, part) for name, one in given for part in parts(one)]
    assert shown
    assert [(name, part) for name, part in shown if isinstance(part, PRIVATE)] == []
    arrays = [(name, part) for name, part in shown if isinstance(part, np.ndarray) and part.size]
    assert arrays == []
    assert window.timeline.track.gains == ()
    assert window.dual.pictures.lines is None
