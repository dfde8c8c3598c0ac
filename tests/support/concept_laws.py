"""The law of labelled pieces on tiny grids by brute force, and draws against it."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from any_pieces import all_halfplanes
from chi_square import assert_drawn_from, power
from counted import counted
from grids import grid_points
from quick_draws import QuickBits, one_sample

from geometry.halfplane import HalfplaneLattice
from learners.core.records import inside_piece
from learners.envelope.envelope_selection import PRIOR, ConceptSelection
from learners.envelope.target import NOTHING, Expected
from learners.privacy.randomness import RandomSource

#: Edges, bit mask of the grid points inside, label inside.
Outcome = tuple[int, int, bool]


def mask_of(inside: np.ndarray) -> int:
    return sum(1 << i for i, held in enumerate(inside.tolist()) if held)


@cache
def pieces_by_mask(lattice: HalfplaneLattice, edges: int) -> list[Counter[int]]:
    """For each number of edges, how many lattice pieces hold which grid points."""
    points = grid_points(lattice.d)
    one: Counter[int] = Counter()
    for halfplane in all_halfplanes(lattice):
        one[mask_of(halfplane.contains(points))] += 1
    found = [Counter({mask_of(np.ones(len(points), dtype=bool)): 1})]
    for _ in range(edges):
        more: Counter[int] = Counter()
        for held, count in found[-1].items():
            for mask, times in one.items():
                more[held & mask] += count * times
        found.append(more)
    return found


def law(
    lattice: HalfplaneLattice,
    edges: int,
    points: np.ndarray,
    labels: np.ndarray,
    rate: float,
    expected: Expected = NOTHING,
) -> dict[Outcome, float]:
    """Probabilities as the module states them."""
    grid = {tuple(p): i for i, p in enumerate(grid_points(lattice.d).tolist())}
    rows = [(grid[tuple(p)], label) for p, label in zip(points.tolist(), labels, strict=True)]
    wanted = [
        (grid[tuple(p)], held, share)
        for p, held, share in zip(
            expected.points.tolist(), expected.held, expected.shares, strict=True
        )
    ]
    weights: dict[Outcome, float] = {}
    for size, masks in enumerate(pieces_by_mask(lattice, edges)):
        total = masks.total()
        for mask, count in masks.items():
            prior = PRIOR[size] / 2 * count / total
            wrong = sum(mask >> place & 1 != label for place, label in rows)
            for inside, mistakes in ((True, wrong), (False, len(rows) - wrong)):
                differ = sum(
                    share for place, one, share in wanted if (mask >> place & 1 == inside) != one
                )
                cost = min(expected.most, expected.nats * differ)
                weights[size, mask, inside] = prior * math.exp(-rate * mistakes - cost)
    whole = math.fsum(weights.values())
    return {outcome: weight / whole for outcome, weight in weights.items()}


def draw(
    selection: ConceptSelection,
    points: np.ndarray,
    labels: np.ndarray,
    rate: float,
    source: RandomSource,
    expected: Expected = NOTHING,
) -> Outcome:
    counts = counted(points, labels, selection.lattice.d)
    selected = selection.select(counts, rate, source, None, expected)
    inside = inside_piece(selected.piece, grid_points(selection.lattice.d))
    return len(selected.piece), mask_of(inside), selected.inside


def assert_same_law(
    selection: ConceptSelection,
    points: np.ndarray,
    labels: np.ndarray,
    rate: float,
    draws: int,
    *,
    outcomes: int = 6,
    off: float = 0.25,
    others: Sequence[Mapping[Outcome, float]] = (),
    expected: Expected = NOTHING,
) -> None:
    """Chi-square over the outcomes, rare ones pooled.

    There must be enough draws: a rate that is higher or lower by the share `off`, or the `others`
    if there are any, are caught with probability above 0.995.
    """

    def at(rate: float) -> dict[Outcome, float]:
        return law(selection.lattice, selection.edges, points, labels, rate, expected)

    stated = at(rate)
    for other in others or (at(rate * (1 - off)), at(rate * (1 + off))):
        assert power(stated, other, draws) > 0.995
    source = QuickBits(draws)
    with one_sample():
        seen = Counter(
            draw(selection, points, labels, rate, source, expected) for _ in range(draws)
        )
    assert_drawn_from(stated, seen, draws, outcomes)


def examples(d: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Positive in a corner, one label in ten wrong."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, d + 1, (n, 2))
    return points, (points.sum(axis=1) <= d) ^ (rng.random(n) < 0.1)
