"""One draw of the envelope sampler with somebody who watches its boxes."""

import numpy as np
from counted import counted

from geometry.halfplane import HalfplaneLattice
from learners.core.selection import SelectionProgress, set_cover_score
from learners.envelope.envelope_selection import EnvelopeSelection
from learners.privacy.randomness import SeededRandom


def sample() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    points = rng.integers(0, 65, (2000, 2))
    return points, (np.abs(points - 30).sum(axis=1) < 20) ^ (rng.random(2000) < 0.05)


def select(kind: str, watch: object, rate: float = 0.05) -> object:
    points, labels = sample()
    score = set_cover_score("disjunction", 2, 300, int(labels.sum()), int((~labels).sum()))
    selection = EnvelopeSelection(HalfplaneLattice(64), kind)  # type: ignore[arg-type]

    def look(progress: SelectionProgress) -> None:
        # what is told amid work has nothing to look at
        if not progress.amid:
            watch(progress)  # type: ignore[operator]

    outcome = None if watch is None else look
    return selection.select(counted(points, labels, 64), score, rate, SeededRandom(5), outcome)
