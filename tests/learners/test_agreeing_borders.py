"""Tiles that agree with their neighbours: who knows whom, what it costs, and the law of a draw."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from concept_laws import Outcome, examples, grid_points, law
from numpy.typing import NDArray

from geometry.halfplane import HalfplaneLattice, Sheet
from geometry.tiling import Tile, TileIndex, chessboard, tile_square
from learners import PolygonUnionLearner
from learners.core.records import TileStep, inside_piece
from learners.tiles.borders import (
    MOST_NATS,
    MOST_PLACES,
    border_strength,
    labels_beside,
)

RATE, STRENGTH = 0.6, Fraction(2)

#: Two by two tiles of two by two grid points, those of one colour first: upper left, lower right.
TILES = tuple(itertools.chain(*chessboard(tile_square(3, 2))))

#: The tile to the left is labelled 0 above and 1 below, the one below everywhere 1.
ABOVE = HalfplaneLattice(1, bits=0).halfplane(Sheet.FLAT_ABOVE, 1, 1)
RELEASED = {0: TileStep(TILES[0], (ABOVE,), inside=False), 1: TileStep(TILES[1], (), inside=True)}


def step(tile: Tile, inside: bool) -> TileStep:
    return TileStep(tile, (), inside)


def labels_of(outcome: Outcome) -> NDArray[np.bool_]:
    """Labels of the tile's grid points, [x, y]."""
    _, mask, inside = outcome
    held = np.array([mask >> place & 1 == 1 for place in range(4)]).reshape(2, 2)
    return held == inside


def disagreement(labels: NDArray[np.bool_]) -> float:
    """Nats of the labels of the upper right tile, by hand: a side has two grid points."""
    left = int(labels[0, 1]) + int(not labels[0, 0])
    below = int((~labels[:, 0]).sum())
    return min(MOST_NATS, float(STRENGTH) * (left + below) / 2)


# -- the chessboard ------------------------------------------------------------------------


@pytest.mark.parametrize("per_side", [1, 2, 3, 6])
def test_no_two_tiles_of_a_colour_share_a_side(per_side: int) -> None:
    tiles = tile_square(40, per_side)
    first, others = chessboard(tiles)
    assert sorted(map(str, first + others)) == sorted(map(str, tiles))
    for one, other in itertools.chain(
        itertools.combinations(first, 2), itertools.combinations(others, 2)
    ):
        across = one.x0 == other.x0 and (one.y1 + 1 == other.y0 or other.y1 + 1 == one.y0)
        up = one.y0 == other.y0 and (one.x1 + 1 == other.x0 or other.x1 + 1 == one.x0)
        assert not across
        assert not up


def test_every_later_tile_knows_all_its_neighbours_and_no_earlier_one_any() -> None:
    first, others = chessboard(tile_square(40, 4))
    index = TileIndex.of(first + others)
    released = {number: step(tile, inside=True) for number, tile in enumerate(first)}
    for tile in first:
        assert len(labels_beside(tile, index, {}, STRENGTH).points) == 0
    for tile in others:
        inner = (tile.x0 > 0) + (tile.x1 < 40) + (tile.y0 > 0) + (tile.y1 < 40)
        expected = labels_beside(tile, index, released, STRENGTH)
        assert expected.nats * expected.shares.sum() == pytest.approx(inner * STRENGTH)


def test_the_strength_is_that_of_a_side_in_mean_distances() -> None:
    assert border_strength(10_000, 5) == 10
    assert border_strength(0, 5) == border_strength(-7.0, 5) == 0


# -- what disagreement costs ---------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_the_cost_counts_the_grid_points_that_differ(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, per_side = 35, 3
    first, others = chessboard(tile_square(d, per_side))
    index, lattice = TileIndex.of(first + others), HalfplaneLattice(11)

    def at_random(tile: Tile) -> TileStep:
        low, high = 0, 11 << lattice.bits
        sheet = Sheet(int(rng.integers(4)))
        line = lattice.halfplane(sheet, *map(int, rng.integers(low, high, 2)))
        return TileStep(tile, (line,), bool(rng.integers(2)))

    released = {number: at_random(tile) for number, tile in enumerate(first)}
    picture = np.zeros((d + 1, d + 1), dtype=np.bool_)
    for known in released.values():
        own = grid_points(d)
        own = own[known.tile.holds(own)]
        picture[tuple(own.T)] = known.predict(own)
    strength = Fraction(1, 7)
    for tile in others:
        drawn = at_random(tile)
        differing = Fraction(0)
        for x, y in itertools.product(range(tile.x0, tile.x1 + 1), range(tile.y0, tile.y1 + 1)):
            label = bool(drawn.predict(np.array([[x, y]]))[0])
            for beside in ((x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)):
                outside = not tile.holds(np.array([beside]))[0]
                if outside and min(beside) >= 0 and max(beside) <= d:
                    differing += Fraction(int(label != picture[beside]), 12)
        expected = labels_beside(tile, index, released, strength)
        own = inside_piece(drawn.piece, expected.points) == drawn.inside
        assert expected.cost(own) == pytest.approx(float(strength * differing), rel=1e-15)


def test_long_sides_are_read_at_places_spread_along_them() -> None:
    first, others = chessboard(tile_square(1000, 2))
    index = TileIndex.of(first + others)
    released = {number: step(tile, inside=True) for number, tile in enumerate(first)}
    tile = others[0]
    expected = labels_beside(tile, index, released, STRENGTH)
    left, below = expected.points.reshape(2, MOST_PLACES, 2)
    for side in (left, below):
        across, along = np.sort(np.ptp(side, axis=0))
        assert across == 0
        assert along > 480
    # everything differs, on two sides
    assert expected.cost(np.zeros(len(expected.points), dtype=np.bool_)) == MOST_NATS
    assert expected.cost(np.ones(len(expected.points), dtype=np.bool_)) == 0


# -- the law -------------------------------------------------------------------------------


def agreeing_law(points: NDArray[np.int64], labels: NDArray[np.bool_]) -> dict[Outcome, float]:
    """By brute force over every lattice piece."""
    plain = law(HalfplaneLattice(1, bits=0), 2, points, labels, RATE)
    weights = {
        outcome: p * math.exp(-disagreement(labels_of(outcome))) for outcome, p in plain.items()
    }
    total = math.fsum(weights.values())
    return {outcome: weight / total for outcome, weight in weights.items()}


def test_a_tile_is_drawn_by_the_law_of_agreeing_pieces() -> None:
    """With what it expects; that draws follow such a law: test_concept_selection.py."""
    expected = labels_beside(TILES[2], TileIndex.of(TILES), RELEASED, STRENGTH)
    points, labels = examples(1, 5, seed=3)
    stated = agreeing_law(points, labels)
    assert law(HalfplaneLattice(1, bits=0), 2, points, labels, RATE, expected) == pytest.approx(
        stated
    )


def test_no_neighbouring_sample_moves_a_probability_by_more_than_the_rate() -> None:
    """All samples of up to two examples in the tile, and all their neighbours."""
    places = [(tuple(p), label) for p in grid_points(1).tolist() for label in (False, True)]

    def of(sample: tuple[object, ...]) -> dict[Outcome, float]:
        points = np.array([p for p, _ in sample], dtype=np.int64).reshape(-1, 2)  # type: ignore[misc]
        return agreeing_law(points, np.array([label for _, label in sample], dtype=bool))  # type: ignore[misc]

    worst = 0.0
    for size in range(3):
        for sample in itertools.combinations_with_replacement(places, size):
            less = of(sample)
            for extra in places:
                more = of((*sample, extra))
                worst = max(worst, *(abs(math.log(more[o] / less[o])) for o in less))
    assert 0.5 * RATE < worst <= RATE + 1e-12


def test_fewer_labels_differ_across_the_borders_of_tiles() -> None:
    """Against tiles that know nothing of each other: the same sample, the strength set to 0."""
    points = np.random.default_rng(1).integers(0, 101, (1500, 2))
    x, y = points.T / 100
    labels = y < 0.5 + 0.2 * np.sin(9 * x)

    def differing(strength: float) -> int:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("learners.tiles.borders._STRENGTH", strength)
            total = 0
            for seed in range(12):
                model = PolygonUnionLearner(grid=100, seed=seed, tiles=4).fit(points, labels)
                places = np.indices((101, 101)).reshape(2, -1).T
                picture = model.predict(places).reshape(101, 101).astype(bool)
                for cut in [i * 101 // 4 for i in range(1, 4)]:
                    total += np.count_nonzero(picture[cut - 1] != picture[cut])
                    total += np.count_nonzero(picture[:, cut - 1] != picture[:, cut])
            return total

    assert differing(0.5) < 0.9 * differing(0.0)
