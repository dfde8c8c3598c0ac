"""What is changed along borders: the least of a sum over all labellings, and no more than noise."""

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from unittest import mock

import numpy as np
import pytest
import shapely
from any_pieces import any_halfplane
from hypothesis import given, strategies as st
from shapely.geometry import box

from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from geometry.polygons import units
from geometry.tiling import EdgeZones, Tile, tile_square, tiles_shape
from learners import ConvexPolygonLearner, PolygonUnionLearner
from learners.core.codec import release_from_dict, release_to_dict
from learners.core.records import Piece, StepRecord, Tidied, TileStep
from learners.core.releases import Release, TilesRelease
from learners.cover import sharpening
from learners.tiles import tidying, tiles
from learners.tiles.tidying import (
    EXPECTED,
    MOST_NATS,
    STRENGTH,
    largest_speck,
    least_cut,
    one_nat_side,
    tidied,
    without_large,
    without_speck,
)
from learners.tiles.tiles import plan_tiles

D = 1024
TILES = tile_square(D, 16)
LATTICE = HalfplaneLattice(65)

#: A tile in the middle of the square: 64 grid points a side.
MIDDLE = 16 * 7 + 7


def total(
    labels: np.ndarray, new: np.ndarray, weights: np.ndarray, pairs: np.ndarray, lengths: np.ndarray
) -> float:
    between = new[pairs[:, 0]] != new[pairs[:, 1]]
    return float(weights[labels != new].sum() + lengths[between].sum())


@given(st.integers(0, 10**6), st.integers(1, 8))
def test_the_cut_is_the_least_of_all_labellings(seed: int, faces: int) -> None:
    rng = np.random.default_rng(seed)
    every = list(itertools.combinations(range(faces), 2))
    joined = [pair for pair in every if rng.random() < 0.6]
    pairs = np.array(joined, dtype=np.int64).reshape(-1, 2)
    labels = rng.random(faces) < 0.5
    weights, lengths = rng.exponential(1, faces), rng.exponential(0.7, len(pairs))
    found = least_cut(labels, weights, pairs, lengths)
    least = min(
        total(labels, np.array(new), weights, pairs, lengths)
        for new in itertools.product([False, True], repeat=faces)
    )
    # capacities are whole: every one is rounded
    assert total(labels, found, weights, pairs, lengths) == pytest.approx(least, abs=0.01)


def test_the_cut_holds_whatever_the_sizes() -> None:
    """Areas and lengths of a large grid with many examples: capacities stay within 32 bits."""
    pairs, labels = np.array([[0, 1], [1, 2]]), np.array([True, False, True])
    for scale in (1.0, 1e6, 1e12):
        weights = scale * np.array([1e4, 1.0, 1e4])
        assert least_cut(labels, weights, pairs, scale * np.array([1.0, 1.0])).all()
        found = least_cut(labels, weights, pairs, scale * np.array([0.4, 0.4]))
        assert found.tolist() == labels.tolist()


def test_connected_changes_are_taken_back_together() -> None:
    """Faces 0-1-2 in a row and 3 apart; 1 and 2 change one way, 0 the other."""
    labels = np.array([True, False, False, True])
    changed = ~labels
    pairs = np.array([[0, 1], [1, 2]])
    weights = np.array([1.0, 1.0, 1.0, 1.5])
    kept = without_large(labels, changed, weights, pairs, 1.5)
    assert (kept != labels).tolist() == [True, False, False, True]
    assert (without_large(labels, changed, weights, pairs, 2.0) == changed).all()
    assert (without_large(labels, changed, weights, pairs, 0.5) == labels).all()


def test_the_side_of_a_square_with_one_nat() -> None:
    count, rate = 10_000, 0.5
    side = one_nat_side(count, D * D, rate)
    assert side**2 / D**2 * count * rate == pytest.approx(1)
    assert one_nat_side(-3, D * D, rate) == one_nat_side(1, D * D, rate)


def lines(*outcome: tuple[Sheet, int]) -> Piece:
    """Halfplanes of a tile's own frame along its axes."""
    return tuple(LATTICE.halfplane(sheet, *2 * [at << LATTICE.bits]) for sheet, at in outcome)


def all_but(number: int, piece: Piece, *, inside: bool = True) -> tuple[TileStep, ...]:
    """Label 1 everywhere but in one tile, which has a piece."""
    whole = [TileStep(tile, (), True) for tile in TILES]
    whole[number] = TileStep(TILES[number], piece, inside)
    return tuple(whole)


def release_of(steps: tuple[TileStep, ...], found: Tidied | None) -> TilesRelease:
    last = replace(steps[-1], tidied=found)
    return TilesRelease("", LATTICE, (), None, (*steps[:-1], last))


def test_a_slit_is_closed_where_the_noise_explains_it() -> None:
    """It is 3.5 wide and 64 long, along the right border of a tile: of 16 nats where u is 3.74."""
    steps = all_but(MIDDLE, lines((Sheet.STEEP_LEFT, 60)))
    tile = TILES[MIDDLE]
    area, around = 3.5 * 64, 2 * (3.5 + 64)
    assert D * D - tiles_shape(step.shape() for step in steps).area == pytest.approx(area)
    enough = math.sqrt(area / MOST_NATS)
    assert area / enough**2 < STRENGTH * around / enough
    assert tidied(steps, 0.99 * enough) is None
    found = tidied(steps, 1.01 * enough)
    assert found.outline.polygon().equals(box(0, 0, D, D))
    _, bottom, right, top = map(float, tile.edges)
    slit = box(right - 3.5, bottom, right, top)
    assert found.changed.polygon().symmetric_difference(slit).area < 4 * slit.length / units(D)
    points = np.array([[tile.x0 + 61, tile.y0 + 9], [tile.x1, tile.y1], [tile.x0, tile.y0]])
    assert release_of(steps, None).predict(points).tolist() == [0, 0, 1]
    assert release_of(steps, found).predict(points).tolist() == [1, 1, 1]


def test_a_notch_is_closed_where_that_saves_more_than_it_weighs() -> None:
    """In the lower border of a half, w wide and h high: its two sides are saved, 2 h."""
    notch = lines((Sheet.STEEP_RIGHT, 40), (Sheet.FLAT_BELOW, 24))
    steps = [TileStep(tile, (), tile.y0 >= TILES[MIDDLE].y0) for tile in TILES]
    steps[MIDDLE] = TileStep(TILES[MIDDLE], notch, False)
    wide = 23.5
    enough = wide / 2 / STRENGTH
    assert wide * 24.5 / enough**2 < MOST_NATS
    left = tidied(steps, 0.99 * enough)  # its side along the border is no step any more
    corner = TILES[MIDDLE].x0 + 40, TILES[MIDDLE].y0 + 24
    corners = shapely.get_coordinates(left.outline.polygon())
    assert np.hypot(*(corners - corner).T).min() < 1
    found = tidied(steps, 1.01 * enough)
    assert found.changed.polygon().area == pytest.approx(wide * 24.5, rel=0.01)


def test_specks_of_rounding_are_dropped() -> None:
    """Parts and holes of a thousandth of a grid unit that hold no grid point."""
    grain = 1 / units(D)
    speck = box(9.5, 7.25, 9.5 + 1 / 1024, 7.25 + 1 / 1024)
    at_point = box(40 - grain, 60 - grain, 40 + grain, 60 + grain)
    shape = box(0, 0, 100, 100).difference(shapely.union(speck, at_point))
    found = tidying.without_specks(shape, grain)
    assert found.equals(box(0, 0, 100, 100).difference(at_point))
    around = tidying.without_specks(shapely.union(speck, box(20, 20, 21, 21)), grain)
    assert around.equals(box(20, 20, 21, 21))
    assert tidying.without_specks(speck, grain).is_empty


def test_no_more_than_a_hundredth_of_the_square_changes() -> None:
    """However few examples there are: u is as large as the square."""
    assert tidied(all_but(MIDDLE, ()), D) is None  # nothing to change
    whole = all_but(MIDDLE, (), inside=False)
    assert tidied(whole, D) is not None  # a tile, 1/256
    tiles = tile_square(D, 4)
    steps = [TileStep(tile, (), i != 5) for i, tile in enumerate(tiles)]
    assert tidied(steps, D) is None  # one of 16


def test_a_corner_stays() -> None:
    """Three tiles are labelled 1, and a quarter of a fourth: corners at all angles of 90."""
    piece = lines((Sheet.STEEP_LEFT, 30), (Sheet.FLAT_BELOW, 30))
    steps = [TileStep(tile, (), False) for tile in TILES]
    for number in (MIDDLE, MIDDLE + 16, MIDDLE - 1, MIDDLE + 15):
        steps[number] = TileStep(TILES[number], (), True)
    steps[MIDDLE] = TileStep(TILES[MIDDLE], piece, True)
    for unit in (0.5, 2.0):
        assert tidied(steps, unit) is None
    # steps along borders become slopes where u is a quarter of them; the piece's corner stays
    found = tidied(steps, 8.0)
    right, top = TILES[MIDDLE].x0 + 30, TILES[MIDDLE].y0 + 30
    corners = shapely.get_coordinates(found.outline.polygon())
    assert np.hypot(*(corners - [right, top]).T).min() < 1


POINTS = np.random.default_rng(1).integers(0, 257, (8_000, 2))
LABELS = np.hypot(*(POINTS - 128).T) < 85


def run(k: int | None) -> tuple[PolygonUnionLearner, list[StepRecord]]:
    model = PolygonUnionLearner(k=k, grid=256, seed=3)
    return model, list(model.steps(POINTS, LABELS))


#: The same, made once.
ran = cache(run)


def drawn(release: Release) -> tuple[TileStep, ...]:
    """What was drawn of each tile, or of each zone."""
    steps = getattr(release, "zones", None) or release.tiles
    return tuple(replace(step, tidied=None) for step in steps)


@pytest.mark.parametrize("k", [None, 2])
def test_it_is_a_function_of_what_is_released(k, monkeypatch):
    """No draw, and no charge, is another one without it."""
    model, records = ran(k)
    release = model.release_
    tidy = records[-1].release.tidied
    assert tidy is not None
    eta = release.privacy.charges[-1].each
    scale = None
    if k is None:
        scale = plan_tiles(1.0, 1e-6, "add-remove", False, True, tiles_counted=True).tile_scale
        public = dict(release.parameters)
        eta -= public.get("choice_rate", 0.0)
        eta *= 1 - 2 * public.get("wrong_labels", 0.0)
        unit = one_nat_side(public["noisy_count"], 256**2, eta)
    else:
        area = sum(step.shape().area for step in drawn(release))
        unit = one_nat_side(release.thresholds[0], area, eta)
    assert tidied(drawn(release), unit, scale) == tidy
    for module in (tiles, sharpening):
        monkeypatch.setattr(module, "tidied", lambda steps, unit, scale=None: None)
    untidy, others = run(k)
    plain = untidy.release_
    assert drawn(plain) == drawn(release)
    assert plain.privacy == release.privacy
    assert [each.release for each in others[:-1]] == [each.release for each in records[:-1]]


@pytest.mark.parametrize("k", [None, 2])
def test_records_release_shape_and_file_agree(k: int | None) -> None:
    model, (*_, last) = ran(k)
    release = model.release_
    assert last.diagnostics.empirical_error == pytest.approx(1 - model.score(POINTS, LABELS))
    assert release_from_dict(json.loads(json.dumps(release_to_dict(release)))) == release
    grid = np.indices((257, 257)).reshape(2, -1).T.astype(np.int64)
    shape, predicted = release.shape(), release.predict(grid)
    assert shape.is_valid
    spots = shapely.points(grid.astype(float))
    sure = shapely.distance(shape.boundary, spots) > max(1e-9, 2 / units(256))
    assert (shapely.contains(shape, spots)[sure] == predicted[sure]).all()
    assert (list(release.staged_predict(grid))[-1] == predicted).all()
    # off what is changed, labels are those that were drawn
    tidy = last.release.tidied
    steps = drawn(release)
    key = "tiles" if k is None else "zones"
    plain = replace(release, **{key: steps}).predict(grid)
    off = ~tidy.changed.holds(grid)
    assert (plain[off] == predicted[off]).all()
    assert (plain != predicted).any()


def test_other_runs_are_not_tidied() -> None:
    outcome = PolygonUnionLearner(grid=256, seed=3, tiles=6).fit(POINTS, LABELS).release_
    assert drawn(outcome) == outcome.tiles
    assert ConvexPolygonLearner(grid=256, seed=3).fit(POINTS, LABELS).score(POINTS, LABELS) > 0.9


@pytest.mark.parametrize(
    ("name", "value", "outcome"),
    [
        ("outline", [[[[0, 0], [9, 9], [9, 0], [0, 9]]]], "cross"),
        ("outline", [[[[0, 0], [9, 9], [9, 257 * units(256)]]]], "off the square"),
        ("changed", [[[[0, 0], [9, 9.0], [9, 0]]]], "tidied"),
        ("changed", [[]], "ring"),
        ("other", [], "changed and outline"),
    ],
)
def test_a_damaged_outline_is_refused(name: str, value: object, outcome: str) -> None:
    data = release_to_dict(ran(None)[0].release_)
    data["tiles"][-1]["tidied"][name] = value
    with pytest.raises(ValueError, match=outcome):
        release_from_dict(data)


def test_the_last_tile_alone_has_an_outline() -> None:
    data = release_to_dict(ran(None)[0].release_)
    data["tiles"][0]["tidied"] = data["tiles"][-1]["tidied"]
    with pytest.raises(ValueError, match="last tile"):
        release_from_dict(data)


@given(st.integers(0, 10**6), st.integers(1, 12), st.floats(0.1, 30))
def test_any_pieces_on_tiny_grids(seed: int, d: int, unit: float) -> None:
    """Never an error, and never more than a hundredth of the square in one piece."""
    rng = np.random.default_rng(seed)
    tiles = tile_square(d, int(rng.integers(1, min(4, d + 1) + 1)))
    lattice = HalfplaneLattice(max(1, d), "chord", 2)
    steps = [
        TileStep(
            tile,
            tuple(any_halfplane(lattice, rng) for _ in range(rng.integers(3))),
            bool(rng.integers(2)),
        )
        for tile in tiles
    ]
    found = tidied(steps, unit)
    if found is not None:
        after = found.outline.polygon()
        assert after.is_valid
        # labels along borders and then sides: each of both changes no more
        before = tiles_shape(step.shape() for step in steps)
        for part in shapely.get_parts(before.symmetric_difference(after)):
            assert part.area <= 3 * d * d / 100 + 8 * part.length / units(d)


@given(st.integers(0, 10**6), st.floats(1, 20))
def test_the_sum_is_never_larger_than_that_of_what_is_drawn(seed: int, unit: float) -> None:
    """By shapely, of whole shapes; changes of any size are kept here, and sides stay."""
    rng, d = np.random.default_rng(seed), 64
    lattice = HalfplaneLattice(24)
    steps = [
        TileStep(tile, (any_halfplane(lattice, rng),) * int(rng.integers(2)), rng.random() < 0.5)
        for tile in tile_square(d, 3)
    ]
    with (
        mock.patch.object(tidying, "MOST_NATS", math.inf),
        mock.patch.object(tidying, "_MOST_SHARE", math.inf),
        mock.patch.object(tidying, "straightened", return_value=None),
    ):
        found = tidied(steps, unit)
    before = tiles_shape(step.shape() for step in steps)
    if found is None:
        return
    after, border = found.outline.polygon(), box(0, 0, d, d).boundary.buffer(1e-6)
    lengths = [shape.boundary.difference(border).length for shape in (before, after)]
    moved, changed = before.symmetric_difference(after).area, found.changed.polygon().area
    # corners are moved by less than two grains
    assert changed == pytest.approx(moved, abs=4 * sum(lengths) / units(d))
    assert changed / unit + STRENGTH * lengths[1] < STRENGTH * lengths[0] + 0.5


def test_a_run_ends_as_drawn_if_the_faces_cannot_be_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(lines: object, grain: float) -> None:
        raise shapely.errors.GEOSException("TopologyException")

    assert tidied(all_but(MIDDLE, (), inside=False), D) is not None
    monkeypatch.setattr(tidying, "cut_faces", fails)
    assert tidied(all_but(MIDDLE, (), inside=False), D) is None


# -- specks ---------------------------------------------------------------------------------

SMALL = HalfplaneLattice(8, "chord")
TILE = tile_square(24, 3)[4]

halfplanes = st.builds(
    Halfplane,
    st.just(SMALL),
    st.sampled_from(list(SMALL.sheets)),
    st.integers(0, 16),
    st.integers(0, 16),
)
steps = st.builds(TileStep, st.just(TILE), st.tuples(halfplanes, halfplanes), st.booleans())


@given(steps, st.integers(0, 400))
def test_a_step_stays_or_has_the_label_of_the_larger_part(step: TileStep, hundredths: int) -> None:
    largest = Fraction(hundredths, 100)
    cleared = without_speck(step, largest)
    whole = TILE.polygon().area
    labelled = step.shape().area
    speck = min(labelled, whole - labelled)
    least = min(float(largest), whole / 50)
    if abs(speck - least) < 1e-9:
        return
    if speck >= least:
        assert cleared == step
    else:
        assert cleared.piece == ()
        assert cleared.inside == (labelled > whole / 2)
        wrong = step.predict(grid_of(TILE)) != cleared.predict(grid_of(TILE))
        # half a unit around the points: their number is about the area
        assert wrong.sum() <= 4 * speck + 2 * (TILE.x1 - TILE.x0)


def grid_of(tile: Tile) -> np.ndarray:
    x, y = np.arange(tile.x0, tile.x1 + 1), np.arange(tile.y0, tile.y1 + 1)
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def test_as_many_examples_are_expected_in_the_largest_speck_as_said() -> None:
    d, count, rate = 1024, 10_000, 0.75
    assert largest_speck(count, rate, d) * count * Fraction(rate) / d**2 == EXPECTED
    # noise may leave no count at all
    assert largest_speck(-3, rate, d) == largest_speck(1, rate, d)


def test_zones_stay_as_they_are() -> None:
    triangle = tuple(Halfplane(SMALL, sheet, 3, 5) for sheet in list(SMALL.sheets)[:3])
    zone = EdgeZones((triangle,)).all()[0]
    step = TileStep(zone, (Halfplane(SMALL, Sheet.FLAT_ABOVE, 0, 1),), True)
    assert without_speck(step, Fraction(10**9)) == step


def parts(release: TilesRelease) -> int:
    """Polygons and holes of what is drawn, before it is tidied."""
    shape = tiles_shape(step.shape() for step in release.tiles)
    polygons = list(getattr(shape, "geoms", [shape]))
    return len(polygons) + sum(len(polygon.interiors) for polygon in polygons)


@pytest.fixture
def sample() -> tuple[np.ndarray, np.ndarray]:
    """A disc in the middle of a grid of size 256: it takes many tiles."""
    points = np.random.default_rng(1).integers(0, 257, (10_000, 2))
    return points, np.hypot(*(points - 128).T) < 85


def test_fewer_parts_come_out(sample, monkeypatch):
    def runs() -> int:
        learners = (PolygonUnionLearner(grid=256, seed=seed) for seed in range(3))
        return sum(parts(learner.fit(*sample).release_) for learner in learners)

    cleared = runs()
    monkeypatch.setattr(tiles, "without_speck", lambda step, largest: step)
    assert cleared < runs()


def test_none_is_left_out_where_the_tiles_are_told(sample, monkeypatch):
    """Nothing is known then of how many examples there are."""

    def run() -> TilesRelease:
        return PolygonUnionLearner(grid=256, seed=3, tiles=6).fit(*sample).release_

    outcome = run()
    monkeypatch.setattr(tiles, "without_speck", lambda step, largest: step)
    assert outcome == run()


@pytest.mark.filterwarnings("error")
def test_zones_with_almost_straight_corners_are_widened_in_silence() -> None:
    points = np.random.default_rng(2).integers(0, 1025, (30_000, 2))
    labels = np.abs(points - 512).sum(axis=1) < 350
    fitted = PolygonUnionLearner(epsilon=1.0, grid=1024, k=6, finish="sharpen", seed=0)
    fitted.fit(points, labels)
    assert fitted.polygons_.is_valid
