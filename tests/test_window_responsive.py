"""The window stays alive while a run of 100,000 examples goes on in its own process."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot
from window_driver import finish_run, open_window, wait


# a cover's steps take seconds: what else may hold up a frame than the run's work?  Tiles come
# faster than frames: what counts is what the window itself does for each
@pytest.mark.parametrize(
    ("learner", "clock"), [("cover", time.perf_counter), ("tiles", time.thread_time)]
)
def test_frames_are_not_blocked_while_a_large_run_goes_on(
    qtbot: QtBot, tmp_path: Path, learner: str, clock: Callable[[], float]
) -> None:
    with open_window(qtbot, tmp_path) as window:
        window.document.open_example("star")
        window.document.set_sampling(n=100_000)
        window.document.set_run(learner=learner)
        window.sample()
        wait(qtbot, lambda: window.runs.controller.state == "ready")
        qtbot.wait(1_000)  # the dual lines of the sample are drawn
        beats: list[float] = []
        heart = QTimer(interval=5)
        heart.timeout.connect(lambda: beats.append(clock()))
        heart.start()
        window.runs.run_or_pause()
        wait(qtbot, lambda: window.runs.current is not None and window.runs.current.cursor >= 3)
        if learner == "tiles":
            finish_run(qtbot, window)
        wait(qtbot, lambda: len(beats) > 60)
        gaps = np.diff(beats)
        # the share, not the worst: on a busy machine any process may wait for its turn
        assert np.percentile(gaps, 98) < 0.1
        window.runs.cancel()
