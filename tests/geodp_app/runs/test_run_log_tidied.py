"""The log of a run whose last step changes labels along borders."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from finished_runs import logged

from geodp import Examples, Frame
from geodp_app.document.work import RunSettings
from geodp_app.files.run_record import RunRecord
from geodp_app.files.strict_reading import DamagedFileError
from geodp_app.runs.run_log import RunLog
from geodp_app.runs.why import why
from learners.core.records import TileStep

GRID = 128
SETTINGS = {
    "tiles": RunSettings("tiles", seed=2),
    "cover": RunSettings("cover", k=2, n_steps=4, seed=2),
}
both = pytest.mark.parametrize("learner", list(SETTINGS))


def examples(n: int, seed: int) -> Examples:
    points = np.random.default_rng(seed).integers(0, GRID + 1, (n, 2))
    labels = np.abs(points - 60).sum(axis=1) < 44
    return Examples(points, labels.astype(np.int64), Frame(GRID))


@cache
def finished(learner: str) -> RunLog:
    return logged(SETTINGS[learner], examples(6_000, seed=1), examples(3_000, seed=7))


@both
def test_at_the_end_the_window_shows_what_is_released(learner: str) -> None:
    log = finished(learner)
    last = log.records[-1]
    assert isinstance(last.release, TileStep)
    assert last.release.tidied is not None
    assert all(getattr(each.release, "tidied", None) is None for each in log.records[:-1])
    assert log.release is not None
    # a run that has ended rests where its shape is the one released
    log.cursor = len(log.records) + 1
    assert log.at_end
    assert log.region().equals(log.release.shape())
    log.cursor = len(log.records)
    assert log.region().equals(log.release.shape())
    for sample, error in (
        (examples(6_000, seed=1), last.diagnostics.empirical_error),
        (examples(3_000, seed=7), log.figures(last.step).test_error),
    ):
        wrong = log.release.predict(sample.points) != sample.labels
        assert error == pytest.approx(wrong.mean())
    assert log.wrong.mean() == pytest.approx(last.diagnostics.empirical_error)
    outcome = why(last, log.settings.declared, log.role, 2)
    assert "slits and teeth at borders" in outcome
    log.cursor -= 1
    assert log.region().symmetric_difference(log.release.shape()).area > 0
    assert "slits and teeth" not in why(log.records[-2], log.settings.declared, log.role, 2)


@both
def test_a_session_keeps_it(learner: str) -> None:
    stored = finished(learner).run
    assert RunRecord.from_lines(stored.to_lines()) == stored


@both
def test_an_earlier_step_that_has_it_is_refused(learner: str) -> None:
    log = finished(learner)
    lines = log.run.to_lines()
    first = log.triangles + 1
    data, last = json.loads(lines[first]), json.loads(lines[len(log.records)])
    data["tidied"] = last["tidied"]
    with pytest.raises(DamagedFileError, match="last step"):
        RunRecord.from_lines([*lines[:first], json.dumps(data), *lines[first + 1 :]])
