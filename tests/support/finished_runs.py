"""Finished runs with their logs, made once."""

from functools import cache

import numpy as np

from geodp import Examples, Frame
from geodp_app.document.work import RunSettings, Work
from geodp_app.drawing.shapes import Drawing
from geodp_app.runs.learner_process import make_learner
from geodp_app.runs.run_log import RunLog
from learners.core.releases import Release

GRID, N = 64, 500


def examples(n: int, seed: int, noise: float = 0.03) -> Examples:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, GRID + 1, (n, 2))
    labels = (np.abs(points - 30).sum(axis=1) < 22) ^ (rng.random(n) < noise)
    return Examples(points, labels.astype(np.int64), Frame(GRID))


def begun(
    settings: RunSettings, sample: Examples | None = None, test: Examples | None = None
) -> RunLog:
    """The log of a run that has made no step, of no examples by default."""
    sample = examples(0, seed=1) if sample is None else sample
    drawing = Drawing(sample.frame.d)
    work = Work(drawing=drawing, run=settings, examples=sample, simulated=False)
    return RunLog(work, test=test)


def logged(
    settings: RunSettings, sample: Examples, test: Examples | None = None, **given: int
) -> RunLog:
    """The log of a run to its end, on a test sample if there is one."""
    model = make_learner(settings, sample.frame.d)
    model.set_params(**given)
    log = begun(settings, sample, test)
    log.plan = model.plan()
    for record in model.steps(sample.points, sample.labels):
        log.add(record)
    log.finish(model.release_)
    return log


@cache
def finished(learner: str, n: int = N) -> tuple[RunLog, Release]:
    """A finished run with a test sample; a greedy search for triangles ends early."""
    settings = RunSettings(learner, epsilon=2.0, k=3, n_steps=3, seed=2, tiles=3, finish="none")
    given = {"max_boxes": 4096} if learner == "greedy-cover" else {}
    log = logged(settings, examples(n, seed=1), examples(500, seed=7), **given)
    assert log.release is not None
    return log, log.release
