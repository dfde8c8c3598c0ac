"""The controller in a window's thread, with a real learner's process at the other end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from jobs import GRID, job
from pytestqt.qtbot import QtBot
from recorded_runs import Recorder, hopeless, question, until

from geodp_app.runs.learner_process import make_learner
from geodp_app.runs.protocol import ReportQuestion, ShadedSheet, ShareQuestion
from geometry.halfplane import Sheet


def test_a_run_by_steps_then_to_its_end(recorder: Recorder, qtbot: QtBot) -> None:
    c, work = recorder.controller, job()
    c.start(work)
    assert c.state == "paused"
    assert not c.pending
    qtbot.wait(100)
    assert recorder.all("stepped") == []
    c.step()
    until(qtbot, lambda: len(recorder.all("stepped")) == 1)
    assert c.state == "paused"
    c.run()
    until(qtbot, lambda: c.state == "finished")
    assert recorder.states == ["paused", "selecting", "paused", "selecting", "finished"]
    model = make_learner(work.settings, GRID)
    expected = list(model.steps(work.points, work.labels))
    records = [reply.record for reply in recorder.all("stepped")]  # type: ignore[attr-defined]
    assert [r.release for r in records] == [r.release for r in expected]
    assert recorder.all("finished") == [model.release_]
    c.step()
    assert c.state == "finished"
    c.reset()
    assert c.state == "ready"
    assert recorder.all("stopped") == []


def test_a_slow_run_waits_between_steps_and_pauses_there(recorder: Recorder, qtbot: QtBot) -> None:
    c = recorder.controller
    c.set_delay(30)
    c.start(job())
    c.run()
    until(qtbot, lambda: c.state == "waiting")
    assert len(recorder.all("stepped")) == 1
    c.pause()
    assert c.state == "paused"
    c.run()
    until(qtbot, lambda: c.state == "waiting")
    # a shorter delay holds at once
    c.set_delay(0.05)
    until(qtbot, lambda: c.state == "finished")


def test_pause_lets_the_step_under_way_end(recorder: Recorder, qtbot: QtBot) -> None:
    c = recorder.controller
    c.start(job(epsilon=5.0))
    c.run()
    until(qtbot, lambda: c.state == "selecting")
    c.pause()
    assert c.state == "selecting"
    until(qtbot, lambda: c.state == "paused")
    steps = len(recorder.all("stepped"))
    assert steps >= 1
    qtbot.wait(100)
    assert len(recorder.all("stepped")) == steps


def test_a_process_that_stops_when_asked_is_kept(
    recorder: Recorder, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    c = recorder.controller
    # however busy the machine is: that it hears soon is tests/learners/envelope/test_race.py's
    monkeypatch.setattr(c._patience, "start", lambda: None)
    c.start(hopeless())
    c.run()
    until(qtbot, lambda: len(recorder.all("progressed")) >= 2)
    pid = c.pid
    c.cancel()
    until(qtbot, lambda: recorder.all("stopped") == [None])
    until(qtbot, lambda: c.state == "ready")
    assert c.pid == pid
    outcome = len(recorder.said)
    qtbot.wait(150)
    assert len(recorder.said) == outcome
    c.start(job())
    c.run()
    until(qtbot, lambda: c.state == "finished")


def test_a_paused_run_is_cancelled_at_once(recorder: Recorder, qtbot: QtBot) -> None:
    c = recorder.controller
    c.start(job())
    c.step()
    until(qtbot, lambda: len(recorder.all("stepped")) == 1)
    c.cancel()
    assert c.state == "ready"
    assert recorder.all("stopped") == [None]
    c.run()
    qtbot.wait(100)
    assert len(recorder.all("stepped")) == 1


def test_a_new_run_ends_the_one_under_way(recorder: Recorder, qtbot: QtBot) -> None:
    """Nothing of the old run is heard once the new one has been started."""
    c = recorder.controller
    c.start(hopeless())
    c.run()
    until(qtbot, lambda: bool(recorder.all("progressed")))
    recorder.said.clear()
    c.start(job())
    assert c.state == "paused"
    assert recorder.all("stopped") == [None]
    c.run()
    assert c.pending
    until(qtbot, lambda: c.state == "finished")
    # three triangles, and a zone for each of their edges
    stepped = [r.record.step for r in recorder.all("stepped")]  # type: ignore[attr-defined]
    assert stepped == list(range(1, 13))
    assert len({r.run for r in recorder.all("stepped")}) == 1  # type: ignore[attr-defined]
    assert recorder.all("stopped") == [None]


def test_wrong_settings_fail_the_run_with_the_reason(recorder: Recorder, qtbot: QtBot) -> None:
    c = recorder.controller
    c.start(job(epsilon=-1.0))
    c.run()
    until(qtbot, lambda: c.state == "failed")
    assert recorder.all("failed") == ["The run failed: epsilon must be a positive number, got -1.0"]
    c.start(job())
    c.step()
    until(qtbot, lambda: bool(recorder.all("stepped")))


def test_only_the_newest_question_waits_and_is_answered_when_there_is_time(
    recorder: Recorder, qtbot: QtBot
) -> None:
    c = recorder.controller
    c.start(hopeless())
    c.step()
    until(qtbot, lambda: bool(recorder.all("progressed")))
    tags = [c.ask(question()) for _ in range(3)]
    assert len(set(tags)) == 3
    qtbot.wait(150)
    assert recorder.all("answered") == []
    # a cancelled run takes its questions along
    c.cancel()
    until(qtbot, lambda: c.state == "ready")
    tags = [c.ask(question()) for _ in range(3)]
    # the first was sent at once, the second was replaced before it could be
    until(qtbot, lambda: len(recorder.all("answered")) == 2)
    qtbot.wait(150)
    assert [reply.tag for reply in recorder.all("answered")][-1] == tags[2]  # type: ignore
    assert tags[1] not in [reply.tag for reply in recorder.all("answered")]  # type: ignore


def test_questions_of_three_kinds_wait_beside_each_other(recorder: Recorder, qtbot: QtBot) -> None:
    c = recorder.controller
    c.start(job())
    c.step()
    shaded = question()
    chosen = shaded.lattice.halfplane(Sheet.FLAT_ABOVE, 0, 0)
    report = ReportQuestion(shaded, chosen, (3, 4), True, False, shaded.score)
    share = ShareQuestion(shaded, (chosen,))
    asked = [c.ask(report), c.ask(shaded), c.ask(report), c.ask(share)]
    until(qtbot, lambda: len(recorder.all("answered")) >= 3)
    qtbot.wait(50)
    outcome = {reply.tag: reply.answer for reply in recorder.all("answered")}  # type: ignore
    assert sorted(outcome) == asked[1:]
    assert all(isinstance(sheet, ShadedSheet) for sheet in outcome[asked[1]])
    assert abs(outcome[asked[2]].chosen) <= 0.1 * shaded.score.k
    assert 0 < outcome[asked[3]].share <= 1


def test_a_question_gives_way_to_a_step_and_is_asked_again(
    recorder: Recorder, qtbot: QtBot
) -> None:
    c = recorder.controller
    c.start(job())
    c.step()
    until(qtbot, lambda: len(recorder.all("stepped")) == 1)
    rng = np.random.default_rng(0)
    lines = replace(question(), points=rng.integers(0, GRID + 1, (60, 2)), labels=np.ones(60, bool))
    tag = c.ask(lines)
    c.step()
    assert c.state == "selecting"
    until(qtbot, lambda: bool(recorder.all("answered")))
    assert [reply.tag for reply in recorder.all("answered")] == [tag]  # type: ignore[attr-defined]
    until(qtbot, lambda: len(recorder.all("stepped")) == 2)
