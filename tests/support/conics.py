"""Discs and ellipses of a lattice, enumerated: their scores, and that draws follow their law."""

import itertools
from collections import Counter

from chi_square import assert_drawn_from, power
from quick_draws import QuickBits

from geometry.grid_counts import GridCounts
from geometry.lift import ConicLattice
from learners.core.selection import POWER, Score, mistakes_score, set_cover_score
from learners.curved import conic_boxes as boxes
from learners.curved.selection import ConicSelection

Theta = tuple[int, ...]


def target_of(lattice: ConicLattice, score: Score, rate: float = 1.0) -> boxes.ConicTarget:
    return boxes.ConicTarget(
        score.k, score.c_pos, score.c_neg, score.total, POWER / rate, 0,
        len(lattice.low), lattice.d, lattice.bits,
    )  # fmt: skip


def score_of(rule: str, counts: GridCounts) -> Score:
    """Of a cover of two pieces, three positives above the threshold; or of the mistakes."""
    if rule == "mistakes":
        return mistakes_score(counts.positives)
    return set_cover_score(
        "disjunction", 2, counts.positives - 3, counts.positives, counts.negatives
    )


def value_of(lattice: ConicLattice, counts: GridCounts, score: Score, theta: Theta) -> int:
    held = counts.amounts * lattice.conic(*theta).contains(counts.points)
    return score.value(int(held[counts.labels].sum()), int(held[~counts.labels].sum()))


def law(lattice: ConicLattice, counts: GridCounts, score: Score, rate: float) -> dict[Theta, float]:
    """Every member's probability under the stated law."""
    spans = (range(b, h + 1) for b, h in zip(lattice.low, lattice.high, strict=True))
    weights = {
        theta: (1 - rate / POWER * value_of(lattice, counts, score, theta)) ** -POWER
        for theta in itertools.product(*spans)
    }
    total = sum(weights.values())
    return {theta: weight / total for theta, weight in weights.items()}


def assert_draws_follow_the_law(
    lattice: ConicLattice, counts: GridCounts, score: Score, rate: float,
    factors: tuple[float, float], draws: int, max_boxes: int, seed: int,
) -> None:  # fmt: skip
    """Member by member; rates of these factors would be seen with probability above 0.995."""
    told, *others = (law(lattice, counts, score, factor * rate) for factor in (1.0, *factors))
    assert min(power(told, other, draws) for other in others) > 0.995
    source, selection = QuickBits(seed), ConicSelection(lattice, max_boxes)
    drawn = Counter(
        selection.select(counts, score, rate, source).piece[0].parameters  # type: ignore[attr-defined]
        for _ in range(draws)
    )
    assert_drawn_from(told, drawn, draws, outcomes=20)
