"""Noisy numbers of examples in tiles: their law, what is released, and what is read off them."""

import itertools
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from counted import counted
from grids import disc
from heard_draws import silent_noise
from numpy.typing import NDArray
from tiny_samples import SAMPLES, TYPES, Example, all_neighbours, in_quarters, most_moved

from geometry.grid_counts import GridCounts
from geometry.tiling import TileIndex, tile_square
from learners import ConvexPolygonLearner, PolygonUnionLearner
from learners.core.codec import release_from_dict, release_to_dict
from learners.core.releases import TilesRelease
from learners.privacy.randomness import SeededRandom
from learners.tiles import tiles
from learners.tiles.tidying import nat_squares
from learners.tiles.tiles import noisy_tile_counts

INDEX = TileIndex.of(tile_square(1, 2))


def rows_of(examples: Any) -> GridCounts:
    table = np.array(examples, dtype=np.int64).reshape(-1, 3)
    return counted(table[:, :2], table[:, 2], 1)


def fitted(**parameters: Any) -> TilesRelease:
    release = PolygonUnionLearner(grid=64, seed=5, **parameters).fit(*disc(64, 4000)).release_
    assert isinstance(release, TilesRelease)
    return release


# -- the law --------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [Fraction(1, 4), Fraction(1), Fraction(100)])
def test_neighbours_differ_by_one_over_the_scale_over_every_outcome(scale: Fraction) -> None:
    seen = np.array(list(itertools.product(range(-2, 6), repeat=4)))

    def odds(examples: tuple[Example, ...]) -> NDArray[np.float64]:
        """Of all counts, up to a factor that all samples share."""
        return np.exp(-np.abs(seen - in_quarters(examples)).sum(axis=1) / float(scale))

    assert most_moved(odds, all_neighbours(TYPES, 3)) == pytest.approx(float(1 / scale))


def test_one_example_moves_one_tile_by_one_whatever_its_label(monkeypatch):
    noise = [3, 0, -2, 7]
    asked = silent_noise(monkeypatch, tiles, noise)
    for examples in SAMPLES:
        rows = rows_of(examples)
        groups = INDEX.groups(rows.points)
        found = noisy_tile_counts(rows, groups, Fraction(7), SeededRandom(1))
        assert found == tuple(np.add(in_quarters(examples), noise))
    assert set(asked) == {(Fraction(7), 4)}


# -- the release ----------------------------------------------------------------------------------


def test_every_tile_says_about_how_many_examples_it_holds() -> None:
    release, (points, _) = fitted(epsilon=8.0), disc(64, 4000)
    groups = release.index().groups(points)
    noise = [step.count - len(rows) for step, rows in zip(release.tiles, groups, strict=True)]
    charge = release.privacy.charge("tile counts")
    assert len(noise) > 3
    assert any(noise)
    assert max(map(abs, noise)) < 12 / charge.alone


def test_no_other_run_counts_them() -> None:
    result = fitted(tiles=3)
    assert {step.count for step in result.tiles} == {None}
    convex = ConvexPolygonLearner(grid=64, seed=5).fit(*disc(64, 4000)).release_
    cover = PolygonUnionLearner(k=2, grid=64, seed=5).fit(*disc(64, 4000)).release_
    assert {step.count for step in cover.zones} == {None}
    for release in (result, convex, cover):
        assert release.privacy.charge("tile counts") is None
        assert '"count"' not in json.dumps(release_to_dict(release))


def test_counts_that_cost_nothing_or_are_missing_are_refused() -> None:
    data = release_to_dict(fitted())
    charges = [each for each in data["privacy"]["charges"] if each["name"] != "tile counts"]
    for privacy, message in (
        (None, "count: the privacy statement does not say what"),
        ({**data["privacy"], "charges": charges}, "its charges compose to"),
    ):
        with pytest.raises(ValueError, match=message):
            release_from_dict({**data, "privacy": privacy})
    for value, message in ((1.5, "count"), (True, "count"), (None, "count")):
        some = [{**data["tiles"][0], "count": value}, *data["tiles"][1:]]
        with pytest.raises(ValueError, match=message):
            release_from_dict({**data, "tiles": some})
    first = {key: value for key, value in data["tiles"][0].items() if key != "count"}
    with pytest.raises(ValueError, match="all tiles have one, or none has"):
        release_from_dict({**data, "tiles": [first, *data["tiles"][1:]]})


# -- what is read off them ------------------------------------------------------------------------


def test_an_even_spread_is_even_whatever_the_noise() -> None:
    """So noise alone changes u in no more than one sample of twenty."""
    rng, areas, scale = np.random.default_rng(2), np.full(49, 100.0), Fraction(100)
    uneven = 0
    for _ in range(200):
        counts = rng.poisson(200, 49) + np.rint(rng.laplace(0, 100, 49)).astype(int)
        squares = nat_squares(counts.tolist(), areas, 3.0, scale)
        uneven += not np.allclose(squares, 9.0)
    assert uneven <= 10


def test_a_dense_tile_has_a_small_unit_and_an_empty_one_a_limited_one() -> None:
    areas = np.array([100.0] * 8 + [50.0] * 2)
    counts = [1000, 0, *[125] * 6, 125, 125]
    squares = nat_squares(counts, areas, 3.0, Fraction(1))
    even = sum(counts) * areas / areas.sum()
    assert squares[0] == pytest.approx(9.0 * even[0] / 1000, rel=0.01)
    assert squares[1] == pytest.approx(4 * 9.0)
    # as many examples on half the area are twice as dense
    assert squares[2] / squares[8] == pytest.approx(2, rel=0.01)


def test_any_counts_give_areas() -> None:
    for counts in ([0, 0], [-5, 3], [7], [10**9, -(10**9)]):
        squares = nat_squares(counts, np.full(len(counts), 4.0), 2.0, Fraction(50))
        assert (squares > 0).all()
        assert np.isfinite(squares).all()
