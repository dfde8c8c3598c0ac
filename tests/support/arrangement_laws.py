"""The law of a selection by the arrangement, by how it classifies the examples."""

from dataclasses import dataclass
from fractions import Fraction

from geometry.grid_counts import GridCounts
from learners.core.selection import Score
from learners.cover.arrangement_selection import ArrangementSelection


@dataclass(frozen=True, slots=True)
class Outcome:
    """One way to classify the sample, and what the mechanism gives it.

    Attributes
    ----------
    inside : tuple of bool, length m
        Which entries the piece holds.
    count : int
        Lattice pieces (halfplanes, or ordered triples) that do so.
    value : int
        Their score.
    probability : float
        Of this outcome; over `count` for one lattice piece.
    """

    inside: tuple[bool, ...]
    count: int
    value: int
    probability: float


def arrangement_law(
    selection: ArrangementSelection, counts: GridCounts, score: Score, rate: float
) -> list[Outcome]:
    """Up to the rounding of the weights; errors as of the selection."""
    law = selection.prepare(counts, score, rate)
    place = {example: i for i, example in enumerate(law.classes.examples)}
    return [
        Outcome(
            tuple(bool(inside >> place[x, y] & 1) for x, y in counts.points.tolist()),
            count,
            law.values[inside],
            float(Fraction(count * law.weights[law.values[inside]], law.total)),
        )
        for inside, count in law.counts.items()
    ]
