"""The tile learner: its account, its tiles, and what a run publishes."""

import itertools
import multiprocessing
import os
import signal
import threading
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import shapely
from grids import disc
from numpy.typing import NDArray
from patience import HANGS
from shapely.geometry import MultiPoint, Polygon

from geometry.halfplane import HalfplaneLattice
from geometry.polygons import contains_points, piece_polygon
from learners import ConvexPolygonLearner, PolygonUnionLearner
from learners.core.records import TileStep
from learners.core.releases import CoverRelease
from learners.core.selection import Selected, Watch
from learners.cover.polygons import fit_convex
from learners.cover.set_cover import plan_budget
from learners.envelope.envelope_selection import ConceptDraw
from learners.privacy.accounting import (
    ARITHMETIC,
    LEAST_DELTA,
    MOST_RATE,
    halve_for_replacement,
    neglected_delta,
)
from learners.privacy.composition import spent_after
from learners.privacy.randomness import SeededRandom
from learners.tiles import tiles
from learners.tiles.tile_choice import MOST_PER_SIDE, usual_per_side
from learners.tiles.tiles import MISTAKES_SHARE, noisy_count, plan_tiles


def fitted(d: int = 64, n: int = 4000, **parameters: Any) -> PolygonUnionLearner:
    return PolygonUnionLearner(grid=d, seed=5, **parameters).fit(*disc(d, n))


# -- the account ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    [
        {"counted": False},
        {"counted": True},
        {"counted": True, "tiles_counted": True},
        {"counted": True, "tiles_counted": True, "chosen": True},
        *({"counted": True, "support": share} for share in (1e-3, 0.1, 1 / 3, 0.9)),
    ],
    ids=str,
)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_count_and_one_tile_spend_no_more_than_epsilon(epsilon, neighbours, form):
    """And what else there may be: support, mistakes, the numbers of examples in tiles."""
    budget = plan_tiles(epsilon, 1e-6, neighbours, True, **form)
    inner = epsilon if neighbours == "add-remove" else halve_for_replacement(epsilon, 1e-6)[0]
    support = form.get("support", 0.0)
    mistakes = MISTAKES_SHARE * form.get("chosen", False)
    count = 0.02 * (1 - support - mistakes) / (1 + form.get("tiles_counted", False))
    noisy = {
        "noisy number of examples": (budget.scale, count * form["counted"]),
        "support counts": (budget.support_scale, support),
        "noisy number of mistakes": (budget.mistakes_scale, mistakes),
        "tile counts": (budget.tile_scale, count * form.get("tiles_counted", False)),
    }
    noisy = {name: each for name, each in noisy.items() if each != (None, 0)}
    statement, drawn = budget.spent, Fraction(budget.eta)
    assert [charge.name for charge in statement.charges] == [*noisy, "selections"]
    assert statement.charges[-1].each == budget.eta
    for charge, (scale, share) in zip(statement.charges, noisy.values(), strict=False):
        assert charge.each == pytest.approx(share * inner, rel=1e-14)
        # the noise is at least as wide as what is charged, and hardly wider
        assert 0.999 * charge.each < 1 / scale <= Fraction(charge.each)
        drawn += 1 / scale
    arithmetic = 2 * Fraction(ARITHMETIC)
    assert 0.999 * inner < drawn + arithmetic <= Fraction(inner) * (1 + Fraction(1, 10**15))
    charged = sum(Fraction(charge.alone) for charge in statement.charges) + arithmetic
    assert abs(charged - Fraction(inner)) <= Fraction(inner) * Fraction(1, 10**14)
    assert (statement.epsilon, statement.account, statement.steps) == (epsilon, "basic", 1)


def test_delta_pays_for_neglected_events_only() -> None:
    assert fitted(tiles=2).privacy_.delta == LEAST_DELTA
    # an example replaced is in one tile, twice, or in two; no rate is larger
    assert neglected_delta(MOST_RATE, 1, "replace-one") < LEAST_DELTA
    assert neglected_delta(MOST_RATE, 2, "add-remove") < LEAST_DELTA


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [1000.0, 1e300])
def test_no_rate_is_above_the_greatest_that_is_used(epsilon: float, neighbours: Any) -> None:
    for counted in (True, False):
        budget = plan_tiles(epsilon, 1e-6, neighbours, True, counted)
        assert budget.eta == budget.spent.charges[-1].each == MOST_RATE
        assert (budget.spent.epsilon, budget.spent.delta) == (epsilon, LEAST_DELTA)
    assert plan_budget(1e6, 1e-6, 2, 0.1, "add-remove", private=True).eta == MOST_RATE


def test_labels_by_chance_keep_no_draw_with_a_huge_epsilon_busy() -> None:
    rng = np.random.default_rng(1)
    points, labels = rng.integers(0, 65, (200, 2)), rng.integers(0, 2, 200)
    model = PolygonUnionLearner(grid=64, epsilon=1000.0, seed=1).fit(points, labels)
    assert model.privacy_.charges[-1].each == MOST_RATE


def test_one_tile_costs_as_much_as_all() -> None:
    spent = plan_tiles(1.0, 1e-6, "add-remove", True, True).spent
    assert [spent_after(spent, j)[0] for j in (0, 1, 35, 36)] == [0.0, 1.0, 1.0, 1.0]


def test_the_count_is_the_number_of_examples_with_laplace_noise(monkeypatch) -> None:
    monkeypatch.setattr(tiles, "discrete_laplace", lambda source, scale: 10 * scale)
    assert noisy_count(700, Fraction(50), SeededRandom(1)) == 1200


# -- tiles ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "per_side"),
    [(-40, 1), (0, 1), (10, 1), (10**3, 3), (10**4, 5), (10**5, 8), (10**6, 15)],
)
def test_tiles_grow_with_the_fourth_root_of_the_examples(count: int, per_side: int) -> None:
    assert usual_per_side(count, 1.0, 1024) == per_side
    # what counts is eta times the number of examples
    assert usual_per_side(10 * count, 0.1, 1024) == per_side


def test_tiles_are_limited() -> None:
    assert usual_per_side(10**15, 1.0, 1 << 20) == MOST_PER_SIDE
    assert usual_per_side(10**6, 1.0, 8) == 4
    assert usual_per_side(10**6, 1.0, 1) == 1


def test_an_example_reaches_its_own_tile_only() -> None:
    """With the same random bits, a changed example changes nothing in the other tiles."""
    points, labels = disc(64, 4000)
    changed = labels.copy()
    changed[:400] = ~changed[:400]
    points[:400] = (70 // 2 - 20, 40)
    runs = [
        list(PolygonUnionLearner(grid=64, tiles=3, seed=5).steps(points, which))
        for which in (labels, changed)
    ]
    differing = [
        one.release.tile for one, other in zip(*runs, strict=True) if one.release != other.release
    ]
    assert [tile.holds(points[:1]).all() for tile in differing] == [True]


# -- edges ---------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 1 << 20])
def test_the_smallest_and_the_largest_grid(d: int) -> None:
    points, labels = disc(d, 500)
    model = PolygonUnionLearner(grid=d, seed=1).fit(points, labels)
    assert model.release_.d == d
    assert model.polygons_.is_valid


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 3, "tiles": 2}, "not both"),
        ({"n_steps": 3}, "give k"),
        ({"alpha": 0.1}, "give k"),
        ({"selection": "arrangement"}, "give k"),
        ({"edges": 3}, "edges must be a whole number and lie between 1 and 2, not 3"),
        ({"edges": 0}, "edges must be a whole number and lie between 1 and 2, not 0"),
        ({"tiles": 66}, "has no 66 tiles"),
    ],
)
def test_what_makes_no_sense_is_refused(parameters: dict[str, Any], message: str) -> None:
    model = PolygonUnionLearner(**{"grid": 64, **parameters})
    with pytest.raises(ValueError, match=message):
        model.steps(*disc(64, 10))
    assert not hasattr(model, "release_")


def test_one_edge_a_tile() -> None:
    release = fitted(edges=1).release_
    assert max(len(step.piece) for step in release.tiles) == 1


@pytest.mark.parametrize("seed", range(4))
def test_a_run_that_is_watched_draws_the_same_tile_by_tile(seed: int) -> None:
    def run(watch: Watch | None) -> list[TileStep]:
        model = PolygonUnionLearner(grid=64, seed=seed)
        return [record.release for record in model.steps(*disc(64, 4000), watch=watch)]

    assert run(None) == run(lambda progress: None)


def tile_threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name.startswith("tile")]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to threads")
def test_a_run_that_is_given_up_stops_inside_its_draws(heard: None) -> None:
    points, labels = disc(1024, 30_000)
    labels = labels ^ (np.random.default_rng(1).random(len(labels)) < 0.3)
    # a draw by itself, with so many wrong labels, takes many minutes
    steps = PolygonUnionLearner(grid=1024, seed=1, tiles=1).steps(points, labels)
    here = threading.get_ident()
    threading.Timer(0.5, signal.pthread_kill, [here, signal.SIGINT]).start()
    begun = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        next(steps)
    assert time.process_time() - begun < 120  # only what is waited for to its end takes so long
    assert not tile_threads()


def test_a_draw_that_fails_is_told_and_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, calls = ConceptDraw.complete, itertools.count()

    def complete(self: ConceptDraw, *arguments: Any, **named: Any) -> Selected:
        if next(calls) == 3:
            raise MemoryError("no room")
        return plain(self, *arguments, **named)

    monkeypatch.setattr(ConceptDraw, "complete", complete)
    with pytest.raises(MemoryError, match="no room"):
        fitted()
    assert not tile_threads()


def test_the_frame_of_a_tile_is_no_larger_than_needed() -> None:
    assert fitted(tiles=3).release_.lattice == HalfplaneLattice(21)


def _learns(n: int) -> None:
    points = np.arange(2 * n).reshape(n, 2) % 17
    PolygonUnionLearner(grid=16, seed=1).fit(points, points[:, 0] > 8)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_process_forked_after_a_run_can_learn_too() -> None:
    """It has no threads of its parent's and must not wait for them."""
    _learns(40)
    child = multiprocessing.get_context("fork").Process(target=_learns, args=(40,))
    child.start()
    child.join(HANGS)
    hangs = child.is_alive()
    child.kill()
    assert not hangs
    assert child.exitcode == 0


# -- the convex polygon fitted to a region --------------------------------------------------


def octagon(d: int, seed: int) -> Polygon:
    """The hull of random points that has eight corners."""
    rng = np.random.default_rng(seed)
    while True:
        hull = MultiPoint(rng.random((9, 2)) * d).convex_hull
        if len(hull.exterior.coords) == 9:
            return hull


@pytest.mark.parametrize("seed", range(3))
def test_a_convex_region_is_fitted_closely(seed: int) -> None:
    target = octagon(256, seed)
    edges = fit_convex(HalfplaneLattice(256), lambda p: contains_points(target, p).astype(int))
    shape = piece_polygon(edges, 256)
    assert shapely.area(shape.symmetric_difference(target)) < 0.01 * target.area
    assert len(edges) <= 12


def test_a_spur_far_away_does_not_draw_the_polygon_out() -> None:
    square = shapely.box(60, 60, 160, 160)
    spur = shapely.box(230, 230, 233, 233)

    def predict(points: NDArray[np.int64]) -> NDArray[np.int64]:
        return contains_points(square.union(spur), points).astype(np.int64)

    shape = piece_polygon(fit_convex(HalfplaneLattice(256), predict), 256)
    assert shapely.area(shape.symmetric_difference(square)) < 0.04 * square.area


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("d", [1, 16, 300])
def test_one_label_everywhere(d: int, label: int) -> None:
    edges = fit_convex(HalfplaneLattice(d), lambda p: np.full(len(p), label))
    grid = np.array([[x, y] for x in range(0, d + 1, max(1, d // 16)) for y in (0, d // 2, d)])
    held = np.ones(len(grid), dtype=bool)
    for edge in edges:
        held &= edge.contains(grid)
    assert np.mean(held == label) > (0.95 if d > 1 else 0.2)


def test_the_number_of_edges_can_be_limited() -> None:
    target = octagon(256, 1)
    edges = fit_convex(HalfplaneLattice(256), lambda p: contains_points(target, p).astype(int), 5)
    assert len(edges) <= 5


def test_the_learner_releases_a_convex_polygon_at_the_price_of_its_tiles() -> None:
    target = octagon(256, 2)
    points = np.random.default_rng(0).integers(0, 257, (20_000, 2))
    labels = contains_points(target, points)
    model = ConvexPolygonLearner(grid=256, seed=3)
    records = list(model.steps(points, labels))
    release = model.release_
    assert isinstance(release, CoverRelease)
    assert release.role == "conjunction"
    assert release.thresholds == ()
    assert release.pieces == tuple(r.release.piece for r in records)
    assert [r.steps for r in records] == [len(records)] * len(records)
    privacy = release.privacy
    assert (privacy.account, privacy.epsilon, privacy.steps) == ("basic", 1.0, 1)
    outcome = {"tiles", "edges", "noisy_count", "noisy_mistakes", "choice_rate"}
    assert set(dict(release.parameters)) == outcome
    errors = [r.diagnostics.empirical_error for r in records]
    assert errors[-1] == pytest.approx(1 - model.score(points, labels))
    assert errors[-1] < 0.02
    assert shapely.equals(model.polygons_.convex_hull, model.polygons_)
