"""A run controller with a real learner's process at the other end, one for each module."""

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot
from recorded_runs import Recorder


@pytest.fixture(scope="module")
def _one(qapp: object) -> Iterator[Recorder]:
    recorder = Recorder()
    yield recorder
    recorder.controller.close()


@pytest.fixture
def recorder(_one: Recorder, qtbot: QtBot) -> Recorder:
    """A controller without a run, its process ready."""
    _one.controller.reset()
    _one.controller.set_delay(0)
    qtbot.waitUntil(lambda: _one.controller.state == "ready")
    qtbot.wait(200)  # what a run before this one may still send
    _one.said.clear()
    return _one
