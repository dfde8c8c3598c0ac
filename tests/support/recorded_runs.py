"""What a run controller says, with jobs and questions for it."""

import numpy as np
from jobs import GRID, job

from geodp_app.document.work import RunSettings
from geodp_app.runs.protocol import Job, ShadeQuestion
from geodp_app.views.run.run_controller import RunController
from geometry.halfplane import HalfplaneLattice
from learners.core.selection import set_cover_score


class Recorder:
    """A controller and everything it said."""

    def __init__(self) -> None:
        self.controller = RunController()
        self.said: list[tuple[str, object]] = []
        c = self.controller
        for name in ("preparing", "stopped"):
            getattr(c, name).connect(lambda name=name: self.said.append((name, None)))
        for name in ("state_changed", "progressed", "stepped", "finished", "failed", "answered"):
            getattr(c, name).connect(lambda what, name=name: self.said.append((name, what)))

    @property
    def states(self) -> list[object]:
        return self.all("state_changed")

    def all(self, name: str) -> list[object]:
        return [what for said, what in self.said if said == name]


def hopeless(n: int = 20_000) -> Job:
    """A job whose first selection takes many minutes."""
    rng = np.random.default_rng(1)
    points = rng.integers(0, 1025, (n, 2))
    settings = RunSettings("cover", k=1, n_steps=1, epsilon=40.0, seed=1)
    return Job(points, rng.random(n) < 0.5, 1024, settings)


def question(n: int = 20) -> ShadeQuestion:
    work = job(n=n)
    score = set_cover_score("conjunction", 2, 5, int(work.labels.sum()), int((~work.labels).sum()))
    return ShadeQuestion(work.points, work.labels, HalfplaneLattice(GRID), score, 0.1, ())
