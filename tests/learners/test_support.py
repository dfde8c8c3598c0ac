"""Support: its law, its threshold, its budget, what it covers and what it publishes."""

import itertools
import math
from decimal import Decimal, getcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import shapely
from counted import counted
from grids import disc
from heard_draws import silent_noise
from noise_laws import at_least
from numpy.typing import NDArray
from scipy import stats
from tiny_samples import SAMPLES, TYPES, Example, all_neighbours, in_quarters, most_moved

import assets
from geodp_app.document.sampling import draw_points, place_target
from geometry.geojson import read_geojson
from geometry.polygons import contains_points
from geometry.tiling import tile_square
from learners import PolygonUnionLearner
from learners.core import support
from learners.core.codec import release_from_dict, release_to_dict
from learners.core.releases import TilesRelease, support_shape, support_words
from learners.core.support import (
    DOUBT,
    FALSE_CELLS,
    MOST_PER_SIDE,
    Support,
    cells_per_side,
    least_count,
    noisy_support,
    reported_blocks,
)
from learners.privacy.accounting import MOST_RATE
from learners.privacy.noise import discrete_laplace_array, most_noise
from learners.privacy.randomness import SeededRandom
from learners.tiles.tiles import plan_tiles


def fitted(d: int = 64, n: int = 4000, **parameters: Any) -> PolygonUnionLearner:
    result = {"grid": d, "seed": 5, "support": 0.2, **parameters}
    return PolygonUnionLearner(**result).fit(*disc(d, n))


def released(model: PolygonUnionLearner) -> Support:
    assert isinstance(model.release_, TilesRelease)
    assert model.release_.support is not None
    return model.release_.support


# -- the account ---------------------------------------------------------------------------


def test_no_rounding_lets_the_shares_exceed_epsilon() -> None:
    random = np.random.default_rng(3)
    for epsilon, share in zip(random.uniform(0.01, 12, 2000), random.random(2000), strict=True):
        short, part = float(round(epsilon, 4)), max(1e-3, float(round(share, 3)) - 1e-3)
        budget = plan_tiles(short, 1e-6, "add-remove", True, True, part)
        spent = 1 / budget.scale + 1 / budget.support_scale + Fraction(budget.eta)
        assert spent <= Fraction(short)


@pytest.mark.parametrize("share", [0, 0.0, 1, 1.0, 1.5, -0.1, math.nan, math.inf])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="support must"):
        PolygonUnionLearner(support=share).plan()


@pytest.mark.parametrize("k", [1, 3, "auto"])
def test_covers_release_no_support(k: Any) -> None:
    with pytest.raises(ValueError, match="give k or support, not both"):
        PolygonUnionLearner(k=k, support=0.1).plan()


def test_the_largest_epsilon_can_be_drawn_with() -> None:
    spent = plan_tiles(1e300, 1e-6, "add-remove", True, True, 0.1).spent
    assert [charge.each for charge in spent.charges[1:]] == [MOST_RATE, MOST_RATE]
    assert released(fitted(epsilon=1e6)).per_side > 1


# -- the law -------------------------------------------------------------------------------


def cells_of(examples: tuple[tuple[int, int, int], ...], per_side: int) -> list[int]:
    """Examples in each cell of the grid 0..1, from the top row down."""
    return [len(examples)] if per_side == 1 else in_quarters(examples)


def law_given(
    examples: tuple[tuple[int, int, int], ...], count: int, scale: Fraction
) -> dict[tuple[bool, ...], float]:
    """Probability of every outcome on the grid 0..1, given the noisy number of examples."""
    per_side = cells_per_side(count, scale, 1)
    t = least_count(per_side**2, scale)
    # that a cell stays below is the mirror image of its being reached: 1 - c would round
    chances = [
        (at_least(c - t + 1, scale), at_least(t - c, scale)) for c in cells_of(examples, per_side)
    ]
    return {
        outcome: math.prod(c[one] for c, one in zip(chances, outcome, strict=True))
        for outcome in itertools.product((False, True), repeat=per_side**2)
    }


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("count", [-5, 1000])
def test_neighbours_differ_by_epsilon_at_most_over_every_outcome(epsilon, count):
    scale = 1 / Fraction(epsilon)
    assert cells_per_side(count, scale, 1) == (1 if count < 0 else 2)

    def law(examples: tuple[Example, ...]) -> list[float]:
        return list(law_given(examples, count, scale).values())

    assert all(sum(law(examples)) == pytest.approx(1) for examples in SAMPLES)
    worst = most_moved(law, all_neighbours(TYPES, 3))
    assert worst == pytest.approx(epsilon, rel=1e-6)
    assert worst <= epsilon * (1 + 1e-9)


def test_neighbours_differ_by_both_charges_with_the_noisy_number_of_examples() -> None:
    wide, scale = Fraction(5, 2), Fraction(1, 2)
    counts = range(-30, 60)
    assert {cells_per_side(count, scale, 1) for count in counts} == {1, 2}

    def odds(examples: tuple[Example, ...]) -> list[float]:
        """Of all noisy numbers and outcomes, up to a factor that all samples share."""
        return [
            math.exp(-abs(count - len(examples)) / wide) * p
            for count in counts
            for p in law_given(examples, count, scale).values()
        ]

    worst = most_moved(odds, all_neighbours(TYPES, 2))
    assert worst <= float(1 / wide + 1 / scale) * (1 + 1e-9)


def test_one_example_moves_one_cell_by_one_whatever_its_label(monkeypatch):
    points, labels = disc(63, 60_000)
    scale, count = Fraction(10), 60_000
    per_side = cells_per_side(count, scale, 63)
    # the tile below that is filled counts five less
    asked = silent_noise(monkeypatch, support, [0] * (per_side**2 - 1) + [-5])
    t = least_count(per_side**2, scale) + 5
    tile = tile_square(63, per_side)[-1]
    here = points[:1] * 0 + (tile.x0, tile.y1)
    away = points[~tile.holds(points)]
    for label in (0, 1):
        for copies, reached in ((t - 1, False), (t, True)):
            all_points = np.concatenate([away, np.repeat(here, copies, axis=0)])
            marks = np.concatenate([labels[: len(away)], np.full(copies, label)])
            found = noisy_support(counted(all_points, marks, 63), count, scale, SeededRandom(0))
            assert found.cells == (*[True] * (per_side**2 - 1), reached)
    assert set(asked) == {(scale, per_side**2)}


# -- the threshold and the cells -----------------------------------------------------------


@pytest.mark.parametrize("cells", [1, 4, 36, 4096])
@pytest.mark.parametrize(
    "scale", [Fraction(1, 16), Fraction(1, 3), Fraction(1), Fraction(10), Fraction(2000, 7)]
)
def test_the_threshold_is_the_least_with_few_empty_cells(cells: int, scale: Fraction) -> None:
    """The noise's law is summed in fifty digits."""
    getcontext().prec = 50
    p = (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
    none = (1 - p) / (1 + p)
    # P(z >= t): what is left when 0 and all below t are taken away
    left, t = (1 - none) / 2, 1
    allowed = Decimal(FALSE_CELLS.numerator) / Decimal(FALSE_CELLS.denominator) / cells
    while left > allowed:
        left -= none * p**t
        t += 1
    assert least_count(cells, scale) == t


def test_the_number_of_cells_is_a_public_function_of_the_noisy_count() -> None:
    scale = Fraction(10)
    by_count = [cells_per_side(10**e, scale, 1024) for e in range(1, 8)]
    assert by_count == [1, 1, 2, 6, 17, 49, 64]
    assert cells_per_side(-40, scale, 1024) == cells_per_side(0, scale, 1024) == 1
    assert cells_per_side(10**12, scale, 2) == 3
    assert cells_per_side(10**12, scale, 1024) == MOST_PER_SIDE
    for count in (700, 12_345, 250_000):
        m = cells_per_side(count, scale, 1024)
        assert 4 * m**2 * least_count(m**2, scale) <= count
        assert 4 * (m + 1) ** 2 * least_count((m + 1) ** 2, scale) > count
        # what counts is epsilon times the number of examples, but for whole numbers
        assert abs(cells_per_side(10 * count, 10 * scale, 1024) - m) <= 1


@pytest.mark.parametrize(
    ("name", "distribution"), [("italy", "clustered"), ("croatia", "gaussian")]
)
def test_it_covers_the_examples_and_not_the_empty_sea(name: str, distribution: Any) -> None:
    d, n = 1024, 30_000
    shape, _ = place_target(read_geojson(assets.example_path(name)), d)
    rng = np.random.default_rng(1)
    points = draw_points(shape, 6 * n, d, distribution, rng)
    # reports come from the land and from what lies near it
    points = points[contains_points(shape.buffer(20), points)][:n]
    rows = counted(points, contains_points(shape, points), d)
    found = noisy_support(rows, n, Fraction(10), SeededRandom(4))
    region = found.shape(d)
    assert shapely.contains_xy(region, points).mean() >= 0.95
    cells = [tile.holds(points).any() for tile in tile_square(d, found.per_side)]
    # no cell without examples, and there are many of them
    assert not any(s and not held for s, held in zip(found.cells, cells, strict=True))
    sea = shapely.box(0, 0, d, d).difference(shape.buffer(20))
    assert sea.difference(region).area > 0.5 * sea.area


# -- the release ---------------------------------------------------------------------------


def test_its_shape_is_made_of_its_cells() -> None:
    found = Support(2, 5, (True, False, False, True))
    half = 31.5  # between the grid points 31 and 32
    cells = shapely.box(0, half, half, 63), shapely.box(half, 0, 63, half)
    assert found.shape(63).symmetric_difference(shapely.union_all(cells)).area < 1e-9
    assert found.shape(63).is_valid
    assert Support(1, 5, (False,)).shape(63).is_empty
    assert Support(1, 5, (True,)).shape(63).equals(shapely.box(0, 0, 63, 63))


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        "01",
        {"cells": 2, "threshold": 9},
        {"cells": 2, "threshold": 9, "rows": "0110"},
        {"cells": 2, "threshold": 9, "rows": ["01", "1"]},
        {"cells": 2, "threshold": 9, "rows": ["011", "1"]},
        {"cells": 2, "threshold": 9, "rows": ["0110"]},
        {"cells": 2, "threshold": 9, "rows": ["01", "12"]},
        {"cells": True, "threshold": 9, "rows": ["1"]},
        {"cells": 0, "threshold": 9, "rows": []},
        {"cells": -1, "threshold": 9, "rows": ["1"]},
        {"cells": 65, "threshold": 9, "rows": ["0" * 65] * 65},
        {"cells": 10**9, "threshold": 9, "rows": []},
        {"cells": 2, "threshold": 0, "rows": ["01", "10"]},
        {"cells": 2, "threshold": 9, "rows": ["01", "10"], "count": 7},
    ],
)
def test_damaged_support_is_refused(value: object) -> None:
    data = release_to_dict(fitted(tiles=1, n=50).release_)
    assert release_from_dict(
        {**data, "support": {"cells": 2, "threshold": 9, "rows": ["01", "10"]}}
    )
    with pytest.raises(ValueError, match=r"support|'rows' is missing"):
        release_from_dict({**data, "support": value})


def test_support_that_has_cost_nothing_is_refused() -> None:
    data = release_to_dict(fitted(tiles=1, n=50).release_)
    charges = [each for each in data["privacy"]["charges"] if each["name"] != "support counts"]
    for privacy, message in (
        (None, "support: the privacy statement does not say what"),
        ({**data["privacy"], "charges": charges}, "its charges compose to"),
    ):
        with pytest.raises(ValueError, match=message):
            release_from_dict({**data, "privacy": privacy})


def test_more_cells_than_grid_points_are_refused() -> None:
    data = release_to_dict(fitted(d=1, tiles=1, n=50).release_)
    rows = {"cells": 3, "threshold": 9, "rows": ["000"] * 3}
    with pytest.raises(ValueError, match="a grid of size 1 has no 3 cells along a side"):
        release_from_dict({**data, "support": rows})


@pytest.mark.parametrize("n", [0, 1])
def test_hardly_any_examples_have_no_support(n: int) -> None:
    assert released(fitted(n=n)).cells == (False,)


# -- what the counts of tiles tell ---------------------------------------------------------


def enough(scale: Fraction, sizes: NDArray[np.int64], per_side: int) -> int:
    """Examples of the largest block that are enough to tell empty blocks from evenly full ones."""
    each = int(max(sizes))
    both = most_noise(scale, each, DOUBT) + most_noise(scale, each, DOUBT / per_side**2)
    return both + 1 + each * per_side**2  # all of it in whole numbers


@pytest.mark.parametrize("tiles", [3, 12])
def test_evenly_reported_blocks_are_all_called_reported(tiles: int) -> None:
    """With as many examples as are just enough for single tiles."""
    scale, runs, noise, hatched = Fraction(20), 400, SeededRandom(6), 0
    held = np.full(tiles**2, enough(scale, np.array([1]), tiles))
    for _ in range(runs):
        counts = held + discrete_laplace_array(noise, scale, len(held))
        told = reported_blocks(counts.tolist(), scale, int(held.sum()))
        assert told is not None
        assert told.per_side == tiles
        hatched += not all(told.reported)
    assert stats.binom.sf(hatched - 1, runs, DOUBT) > 1e-4


@pytest.mark.parametrize(("tiles", "per_side"), [(5, 5), (8, 4), (10, 2)])
def test_blocks_of_tiles_are_taken_for_reported_as_rarely_as_said(tiles, per_side):
    """Every second block is empty; the others have as many examples as make up for it."""
    scale, runs = Fraction(20), 400
    along = np.arange(tiles) * per_side // tiles
    block = (per_side * along[:, None] + along[None, :]).ravel()
    sizes = np.bincount(block)
    full = np.arange(per_side**2) % 2 == 0
    # so many that blocks of this size are the smallest that are enough
    amounts = np.where(full, enough(scale, sizes, per_side) * per_side**2 / full.sum(), 0)
    held = (amounts / sizes)[block].round().astype(int)
    noise, found = SeededRandom(5), []
    for _ in range(runs):
        counts = held + discrete_laplace_array(noise, scale, len(held))
        told = reported_blocks(counts.tolist(), scale, int(held.sum()))
        assert told is not None
        assert told.per_side == per_side
        found.append(told.reported)
    reported = np.array(found)
    for wrong in (reported[:, ~full], ~reported[:, full]):
        assert stats.binom.sf(wrong.sum() - 1, wrong.size, DOUBT) > 1e-4


def test_too_few_examples_tell_nothing_of_where_they_were() -> None:
    assert reported_blocks([10] * 16, Fraction(100), 160) is None
    release = PolygonUnionLearner(grid=64, seed=5).fit(*disc(64, 400)).release_
    assert support_shape(release) is None
    assert "too small to tell" in support_words(release)


def test_a_run_by_tiles_tells_where_hardly_anybody_reported() -> None:
    """All examples lie in the lower half."""
    points, _ = disc(64, 60_000)
    points[:, 1] //= 2
    release = PolygonUnionLearner(grid=64, seed=5).fit(points, points[:, 0] < 20).release_
    shape = support_shape(release)
    assert shape is not None
    # an empty tile in twenty passes for one with reports
    assert shape.intersection(shapely.box(0, 40, 64, 64)).area < 0.2 * 64 * 24
    assert shape.intersection(shapely.box(0, 0, 64, 24)).area > 0.99 * 64 * 24
    assert "had hardly any reports" in support_words(release)
    # it is read back from a file with the release
    again = release_from_dict(release_to_dict(release))
    assert support_shape(again).equals(shape)
    everywhere = PolygonUnionLearner(grid=64, seed=5).fit(*disc(64, 60_000)).release_
    assert support_shape(everywhere) is None
    assert support_words(everywhere).startswith("there were reports in all")
