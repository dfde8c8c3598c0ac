"""Runs to ask a learner's process for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from geodp_app.document.work import RunSettings
from geodp_app.runs.protocol import Job

GRID = 64


def job(learner: str = "cover", n: int = 400, **settings: object) -> Job:
    rng = np.random.default_rng(1)
    points = rng.integers(0, GRID + 1, (n, 2))
    labels = np.abs(points - 30).sum(axis=1) < 25
    chosen = RunSettings(learner=learner, k=2, n_steps=3, seed=4)  # type: ignore[arg-type]
    return Job(points, labels, GRID, replace(chosen, **settings))  # type: ignore[arg-type]
