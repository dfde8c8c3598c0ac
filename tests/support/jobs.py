"""Runs to ask a learner's process for."""

import numpy as np

from geodp_app.document.work import RunSettings
from geodp_app.runs.protocol import Job

GRID = 64


def job(learner: str = "cover", n: int = 400, **settings: object) -> Job:
    rng = np.random.default_rng(1)
    points = rng.integers(0, GRID + 1, (n, 2))
    labels = np.abs(points - 30).sum(axis=1) < 25
    chosen = RunSettings(learner, k=2, n_steps=3, seed=4)
    return Job(points, labels, GRID, chosen.with_(**settings))
