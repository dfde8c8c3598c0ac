"""Piles of reports, as the benchmark lays them, and draws from them that must end soon."""

import sys
from pathlib import Path
from typing import Any

from counted import counted

from geometry.halfplane import HalfplaneLattice, Measure
from learners.core.selection import Cancelled, Selected, SelectionProgress, set_cover_score
from learners.envelope.envelope_selection import EnvelopeSelection
from learners.privacy.randomness import SeededRandom

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from piles import piles


def draw_in_time(
    places: int, kind: Any, steps: int, n: int, role: Any, most: int, margin: int,
    measure: Measure = "chord",
) -> Selected:  # fmt: skip
    """A piece drawn from these piles; cancelled if it takes more than `most` boxes."""
    points, labels = piles(places, kind, steps, n, 1024, seed=0)
    positives = int(labels.sum())
    score = set_cover_score(role, 2, positives - margin, positives, len(labels) - positives)

    def watch(progress: SelectionProgress) -> None:
        if progress.boxes > most:
            raise Cancelled

    piece = "triangle" if role == "disjunction" else "halfplane"
    selection = EnvelopeSelection(HalfplaneLattice(1024, measure), piece)  # type: ignore[arg-type]
    counts = counted(points, labels, 1024)
    return selection.select(counts, score, 0.19 / 2, SeededRandom(3), watch)
