"""Sharpened covers: the law of the zones' draws, what a run is charged, and what it publishes."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
import shapely
from any_pieces import any_pieces
from chi_square import assert_drawn_from
from concept_laws import grid_points, law, mask_of
from counted import counted
from numpy.typing import NDArray
from tiny_samples import all_neighbours
from watched_selections import watched_selections

from geodp_app.runs.step_gains import Decisions
from geometry.halfplane import HalfplaneLattice, Sheet
from geometry.tiling import EdgeZone, EdgeZones
from learners import PolygonUnionLearner
from learners.core.codec_parts import step_to_dict
from learners.core.records import StepDiagnostics, StepRecord, StepRelease, TileStep, inside_piece
from learners.core.releases import CoverRelease, SharpenedRelease
from learners.core.selection import Cancelled
from learners.cover.set_cover import plan_budget, private_steps, rate_before_sharpening
from learners.cover.sharpening import plan_sharpened, sharpened_steps, zone_groups, zone_side
from learners.envelope.envelope_selection import EnvelopeSelection
from learners.privacy.accounting import (
    ARITHMETIC,
    LEAST_DELTA,
    MOST_RATE,
    Neighbours,
    neglected_delta,
)
from learners.privacy.composition import spent_after
from learners.privacy.randomness import SeededRandom
from learners.tiles.tile_choice import usual_per_side

Outcome = tuple[int, int, bool]
Sample = tuple[tuple[tuple[int, int], bool], ...]

# -- the law of the draws ----------------------------------------------------------------------


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lattices of whole grid units, so that their pieces can be enumerated."""
    monkeypatch.setattr(HalfplaneLattice, "finest_bits", staticmethod(lambda d, measure: 0))


def triangles(d: int) -> tuple[tuple[Any, ...], ...]:
    """The lower left half of the square, and a corner at its upper right."""
    lattice = HalfplaneLattice(d, bits=0)
    return (
        (
            lattice.halfplane(Sheet.FLAT_ABOVE, 0, 0),
            lattice.halfplane(Sheet.STEEP_RIGHT, 0, 0),
            lattice.halfplane(Sheet.FLAT_BELOW, d, 0),
        ),
        (
            lattice.halfplane(Sheet.FLAT_ABOVE, d, d - 1),
            lattice.halfplane(Sheet.STEEP_RIGHT, d, d - 1),
            lattice.halfplane(Sheet.FLAT_BELOW, d, d),
        ),
    )


def released(pieces: tuple[tuple[Any, ...], ...], threshold: int = 1) -> Iterator[StepRecord]:
    """A cover that has published these pieces."""
    seen = StepDiagnostics(0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, 0.0)
    for step, piece in enumerate(pieces, start=1):
        yield StepRecord(step, len(pieces), StepRelease(piece, threshold), seen)


def rows_of(sample: Sample) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    points = np.array([point for point, _ in sample], dtype=np.int64).reshape(-1, 2)
    return points, np.array([label for _, label in sample], dtype=np.bool_)


@cache
def _zone_law(zone: EdgeZone, sample: Sample, rate: float) -> dict[Outcome, float]:
    points, labels = rows_of(sample)
    return law(zone.lattice, 2, zone.to_own_frame(points), labels, rate)


def zone_laws(
    zones: tuple[EdgeZone, ...], sample: Sample, rate: float
) -> list[dict[Outcome, float]]:
    """By enumeration, of the draws of all zones given the triangles; they are independent."""
    groups = zone_groups(zones, rows_of(sample)[0])
    return [
        _zone_law(zone, tuple(sorted(sample[row] for row in rows.tolist())), rate)
        for zone, rows in zip(zones, groups, strict=True)
    ]


@pytest.mark.parametrize("side", [3, 2])
def test_one_example_moves_all_zones_together_by_no_more_than_the_rate(coarse, side):
    """All samples of up to two examples, or one, and all their neighbours with one more."""
    rate = 0.7
    zones = EdgeZones(triangles(2), side).all()
    assert (len(zones) > 6) == (side == 2)
    assert sum(not zone.polygon().is_empty for zone in zones) >= 4
    places = [((x, y), label) for x, y in grid_points(2).tolist() for label in (False, True)]
    worst = 0.0
    for sample, more in all_neighbours(places, 2 if side == 3 else 1):
        # the worst outcome of all zones has the worst of each
        moved = [
            0.0 if one is other else max(abs(math.log(other[o] / one[o])) for o in one)
            for one, other in zip(*(zone_laws(zones, s, rate) for s in (sample, more)), strict=True)
        ]
        worst = max(worst, sum(moved))
    assert 0.5 * rate < worst <= rate + 1e-12


def test_a_zone_draws_by_the_enumerated_law(coarse: None) -> None:
    """Over the outcomes of runs of the sharpening itself."""
    rate, times, pieces = 0.4, 600, triangles(2)[:1]
    rng = np.random.default_rng(2)
    points = rng.integers(0, 3, (40, 2)).tolist()
    sample = tuple(((x, y), bool(x <= 1) ^ (i % 4 == 0)) for i, (x, y) in enumerate(points))
    counts, source = counted(*rows_of(sample), 2), SeededRandom(times)
    # the largest zones that there are
    zones = EdgeZones(pieces, zone_side(-5, rate, 2)).all()
    groups = zone_groups(zones, rows_of(sample)[0])
    assert sum(map(len, groups)) == len(sample)
    assert 3 <= len(groups[0]) < len(sample)
    seen: Counter[Outcome] = Counter()
    for _ in range(times):
        records = sharpened_steps(counts, released(pieces), eta=rate, source=source, watch=None)
        _, first = itertools.islice(records, 2)
        step = first.release
        assert isinstance(step, TileStep)
        assert step.tile == zones[0]
        inside = inside_piece(step.piece, grid_points(zones[0].lattice.d))
        seen[len(step.piece), mask_of(inside), step.inside] += 1
    wanted = zone_laws(zones, sample, rate)[0]
    assert_drawn_from(wanted, seen, times, outcomes=4)


def test_an_example_reaches_the_zone_that_holds_it_alone() -> None:
    """By the same random bits, given the triangles."""
    pieces = tuple(step.halfplanes for step in cover_of(sharpened()))
    points, labels = sample_of(64, 3000)
    groups = zone_groups(EdgeZones(pieces).all(), points)
    chosen = int(np.argmax([len(rows) for rows in groups]))
    changed = labels.copy()
    changed[groups[chosen]] ^= True
    runs = [
        list(
            sharpened_steps(
                counted(points, which, 64),
                released(pieces),
                eta=0.7,
                source=SeededRandom(1),
                watch=None,
            )
        )[len(pieces) :]
        for which in (labels, changed)
    ]
    one, other = ([step_to_dict(record.release) for record in run] for run in runs)
    assert [i for i, step in enumerate(one) if step != other[i]][:1] == [chosen]


# -- charges -----------------------------------------------------------------------------------

BUDGETS = [(1.0, 1e-6), *itertools.product((0.05, 1.0, 20.0), (1e-3, 1e-12))]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_cover_and_zones_spend_no_more_than_epsilon(epsilon, delta, neighbours):
    twice = 2 if neighbours == "replace-one" else 1
    for steps in (1, 4, 8, 60):
        budget = plan_sharpened(epsilon, delta, steps, 0.1, neighbours, private=True)
        alone = plan_budget(0.3 * epsilon, delta * (1 - 2**-20), steps, 0.1, neighbours, True)
        assert budget.cover.spent.epsilon == alone.spent.epsilon
        assert budget.cover.spent.delta == pytest.approx(alone.spent.delta, rel=1e-15)
        assert budget.cover.eta == pytest.approx(alone.eta, rel=1e-12)
        assert (budget.cover.scale, budget.cover.margin) == (alone.scale, alone.margin)
        spent = budget.spent
        assert (spent.epsilon, spent.delta, spent.neighbours) == (epsilon, delta, neighbours)
        assert spent.charges[:2] == budget.cover.spent.charges
        (last,) = spent.charges[2:]
        assert (last.name, last.each, last.times) == ("sharpening", budget.eta, 1)
        zones = twice * (budget.eta + 2 * ARITHMETIC)
        assert 0.999999 * 0.7 * epsilon < zones <= 0.7 * epsilon * (1 + 1e-15)
        # what the draws of two zones neglect has its part of delta
        assert neglected_delta(budget.eta, 2, neighbours) <= 2**-20 * delta
        covered = spent_after(spent, steps)[0]
        assert 0.29 * epsilon < covered <= 0.3 * epsilon + 1e-10
        assert covered + zones <= epsilon + 1e-10
        some = range(0, steps + 1, max(1, steps // 12))
        stages = [spent_after(spent, step)[0] for step in some]
        assert stages[0] == 0
        assert stages == sorted(stages)
        for step in (steps + 1, steps + 2, 4 * steps):
            assert spent_after(spent, step)[0] == epsilon


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_no_zone_has_a_rate_above_the_greatest(neighbours: Neighbours) -> None:
    budget = plan_sharpened(1e6, 1e-6, 4, 0.1, neighbours, private=True)
    assert budget.eta == budget.spent.charges[-1].each == MOST_RATE
    assert (budget.spent.epsilon, budget.spent.delta) == (1e6, 1e-6)


def test_a_delta_that_pays_for_no_arithmetic_is_refused() -> None:
    """The draws of the zones are off by an event whose probability has a part of delta."""
    # all that is left is the cover's
    zones = neglected_delta(MOST_RATE, 2, "replace-one")
    assert zones > 2**-20 * 1e-38
    budget = plan_sharpened(100.0, 1e-38, 4, 0.1, "replace-one", private=True)
    assert budget.cover.spent.delta + zones <= 1e-38 * (1 + 1e-15)
    with pytest.raises(ValueError, match=r"use a delta above 2\.03e-40"):
        plan_sharpened(100.0, 2.02e-40, 4, 0.1, "replace-one", private=True)
    plan_sharpened(100.0, 1e-35, 4, 0.1, "replace-one", private=True)
    with pytest.raises(ValueError, match="use a delta above 1e-40"):
        plan_sharpened(1.0, LEAST_DELTA, 4, 0.1, "add-remove", private=True)
    plan_sharpened(1.0, 1.01 * LEAST_DELTA, 4, 0.1, "add-remove", private=True)
    for epsilon, delta, word in ((0.0, 1e-6, "epsilon"), (1.0, 1.0, "delta"), (1.0, 0.0, "delta")):
        with pytest.raises(ValueError, match=f"{word} must"):
            plan_sharpened(epsilon, delta, 4, 0.1, "add-remove", private=True)


@pytest.mark.parametrize(
    ("parameters", "steps", "charged"),
    [
        ({"k": 1}, 1, 1),
        ({"k": 5, "epsilon": 0.3, "delta": 1e-9, "neighbours": "replace-one"}, 10, 3),
        ({"k": 1, "n_steps": 3}, 3, 2),
        ({"k": 3, "n_steps": 3}, 3, 3),
        ({"k": 2, "alpha": 0.1, "finish": "none"}, 12, 2),
    ],
)
def test_a_run_has_so_many_triangles_and_charges(parameters, steps, charged):
    model = PolygonUnionLearner(grid=16, **parameters)
    planned = model.plan()
    assert (planned.steps, planned.epsilon) == (steps, model.epsilon)
    names = ["noisy counts", "selections", "sharpening"]
    assert [one.name for one in planned.charges] == (names[:charged] if charged > 1 else names[1:2])


# -- runs --------------------------------------------------------------------------------------


def sample_of(d: int, n: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """A square, which two triangles cover."""
    points = np.random.default_rng(3).integers(0, d + 1, (n, 2))
    return points, ((points > d // 5) & (points < 0.7 * d)).all(axis=1)


#: Examples of a run whose edges have a zone each, and of one with four cells an edge.
FEW, MANY = 3_000, 40_000
both = pytest.mark.parametrize("n", [FEW, MANY])


@cache
def run(n: int) -> tuple[PolygonUnionLearner, tuple[StepRecord, ...]]:
    model = PolygonUnionLearner(k=2, grid=64, seed=5)
    return model, tuple(model.steps(*sample_of(64, n)))


def sharpened(n: int = FEW) -> SharpenedRelease:
    release = run(n)[0].release_
    assert isinstance(release, SharpenedRelease)
    return release


def cover_of(release: SharpenedRelease) -> list[StepRelease]:
    return [StepRelease(p, b) for p, b in zip(release.pieces, release.thresholds, strict=True)]


def by_hand(release: SharpenedRelease, points: NDArray[np.int64], steps: int) -> NDArray[np.int64]:
    """Labels after so many steps, point by point: from the coefficients alone."""

    def holds(piece: Any, x: int, y: int) -> bool:
        return all(a * x + b * y >= c for a, b, c in (h.coefficients for h in piece))

    labels = []
    for x, y in points.tolist():
        label = any(holds(piece, x, y) for piece in release.pieces[:steps])
        zone = int(EdgeZones(release.pieces, release.side).find(np.array([[x, y]]))[0])
        if zone < steps - len(release.pieces):
            step = release.zones[zone]
            label = holds(step.piece, x - step.tile.x0, y - step.tile.y0) == step.inside
        tidied = release.zones[-1].tidied
        if tidied is not None and steps == len(release.pieces) + len(release.zones):
            # corners are multiples of a power of two: shapely is exact
            spot = shapely.Point(x, y)
            if tidied.changed.polygon().covers(spot):
                label = tidied.outline.polygon().covers(spot)
        labels.append(int(label))
    return np.array(labels)


@both
def test_a_run_is_its_triangles_and_then_their_zones(n: int) -> None:
    model, records = run(n)
    release = sharpened(n)
    m, zones = len(release.pieces), EdgeZones(release.pieces, release.side)
    total = m + len(zones)
    assert m == 4
    assert len(zones) > 3 * m
    assert [record.step for record in records] == list(range(1, total + 1))
    # of the cover it is not known yet how many zones its edges will have
    assert {record.steps for record in records[:m]} == {4 * m}
    assert {record.steps for record in records[m:]} == {total}
    assert [record.release for record in records[:m]] == cover_of(release)
    assert tuple(record.release for record in records[m:]) == release.zones
    assert [step.tile for step in release.zones] == list(zones.all())
    assert max(len(step.piece) for step in release.zones) == 2
    assert dict(release.parameters) == {"k": 2, "steps": m, "beta": 0.1}
    assert release.privacy == model.privacy_
    eta = release.privacy.charges[-1].each
    assert release.side == zone_side(release.thresholds[0], eta, 64)


@pytest.mark.parametrize("d", [1, 3, 64, 1024, 1 << 20])
@pytest.mark.parametrize("noisy", [-(10**6), 0, 700, 10**5, 10**7, 2**40])
def test_no_zone_is_longer_than_two_tiles_of_a_run_by_tiles(noisy: int, d: int) -> None:
    side = zone_side(noisy, 0.7, d)
    per_side = usual_per_side(4 * noisy, 0.7, d)
    assert side == math.ceil(2 * (d + 1) / per_side)
    assert 2 <= side <= 2 * (d + 1)


@both
def test_predictions_are_those_of_the_zones(n: int) -> None:
    model, records = run(n)
    release, points = sharpened(n), grid_points(64)[::7]
    last = by_hand(release, points, len(records))
    assert release.predict(points).tolist() == last.tolist()
    assert model.predict(points).tolist() == last.tolist()
    stages = list(release.staged_predict(points))
    assert len(stages) == len(records)
    for steps in (1, 3, 4, 5, 9, 16, len(records)):
        assert stages[steps - 1].tolist() == by_hand(release, points, steps).tolist()
    assert 0 < last.sum() < len(last)
    assert (last != stages[len(release.pieces) - 1]).any()


@both
def test_diagnostics_are_recounted_after_every_step(n: int) -> None:
    records, (points, labels) = run(n)[1], sample_of(64, n)
    release = sharpened(n)
    where = EdgeZones(release.pieces, release.side).find(points)
    for record, predicted in zip(records, release.staged_predict(points), strict=True):
        result = record.diagnostics
        assert result.empirical_error == pytest.approx(np.mean(predicted != labels))
        if isinstance(record.release, TileStep):
            held = where == record.step - len(release.pieces) - 1
            assert result.positives_alive == np.count_nonzero(labels & held)
            assert result.negatives_alive == np.count_nonzero(~labels & held)
            assert result.positives_taken == np.count_nonzero(labels & held & (predicted == 1))
            assert result.negatives_taken == np.count_nonzero(~labels & held & (predicted == 1))
            assert result.score == -np.count_nonzero((predicted != labels) & held)


def test_points_on_a_line_where_edges_tie_keep_the_triangles_label() -> None:
    """A zone without area has no box that could hold them, and no examples that decide."""
    lattice = HalfplaneLattice(9)
    right = lattice.halfplane(Sheet.STEEP_RIGHT, *2 * [9 << lattice.bits])
    slope = lattice.halfplane(Sheet.STEEP_RIGHT, 9 << lattice.bits, 8 << lattice.bits)
    pieces = ((slope, right, right), (right, right, right))
    zones = EdgeZones(pieces).all()
    points = grid_points(9)
    groups = zone_groups(zones, points)
    lost = sorted(set(range(len(points))) - set(np.concatenate(groups).tolist()))
    assert len(lost) > 0
    points_lost = points[lost]
    steps = tuple(
        TileStep(zone, (), inside) for zone, inside in zip(zones, [True, False] * 3, strict=True)
    )
    release = SharpenedRelease("", lattice, (), None, pieces, (1, 1), 1, steps)
    union = [
        int(any(all(h.contains(np.array([p]))[0] for h in piece) for piece in pieces))
        for p in points_lost
    ]
    assert release.predict(points_lost).tolist() == union
    assert list(release.staged_predict(points_lost))[-1].tolist() == union


def test_books_window_and_release_agree_on_any_pieces() -> None:
    """On coarse lattices edges are equal, parallel, or tie along lines of grid points."""
    beyond = 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        lattice = HalfplaneLattice(int(rng.integers(1, 9)), ("chord", "paper")[seed % 2], seed % 3)
        pieces = any_pieces(lattice, int(rng.integers(1, 4)), seed)
        points = grid_points(lattice.d)
        labels = rng.random(len(points)) < 0.5
        records = list(
            sharpened_steps(
                counted(points, labels, lattice.d),
                released(pieces, threshold=int(rng.choice([1, 10**4, 10**6]))),
                eta=0.7,
                source=SeededRandom(seed),
                watch=None,
            )
        )
        m = len(pieces)
        steps = tuple(record.release for record in records[m:])
        zones = steps[0].tile.zones
        release = SharpenedRelease("", lattice, (), None, pieces, (1,) * m, zones.side, steps)
        decisions = Decisions(points, labels, "disjunction")
        for record, predicted in zip(records, release.staged_predict(points), strict=True):
            decisions.add(record.release)
            wrong = np.count_nonzero(predicted != labels)
            assert (decisions.predicted(record.step) == predicted).all()
            assert np.count_nonzero(decisions.wrong(record.step)) == wrong
            if record.step > m:
                error = record.diagnostics.empirical_error
                assert error == pytest.approx(wrong / len(points))
        assert (predicted == release.predict(points)).all()
        held = sum(zone.holds(points) for zone in zones.all())
        beyond += np.count_nonzero(held == 0)
        assert held.max() == 1
    assert beyond > 0  # points that no sharpening reaches were among them


def test_a_run_that_is_cancelled_in_a_zone_releases_nothing() -> None:
    model = PolygonUnionLearner(k=2, grid=64, seed=5)
    zone = False

    def watch(progress: object) -> None:
        if zone:
            raise Cancelled

    stream = model.steps(*sample_of(64, 3000), watch=watch)
    assert [next(stream).step for _ in range(5)] == [1, 2, 3, 4, 5]
    zone = True
    with pytest.raises(Cancelled):
        next(stream)
    assert not hasattr(model, "release_")


# -- how sharply the triangles are drawn -------------------------------------------------------


@pytest.mark.parametrize(
    ("eta", "noisy", "first", "rate"),
    [
        (0.1, 500, 500, 0.1),
        (0.1, 1_000, 1_000, 0.1),
        (0.1, 2_000, 2_000, 0.05),
        (0.1, 1_600, 2_500, 0.06),
        (0.1, 600, 9_600, 0.05),
        (0.1, -40, -30, 0.1),
        (0.2, -40, 10**6, 0.12),
        (16.0, 0, 0, 16.0),
        (0.1, 10**9, 10**9, 1e-7),
    ],
)
def test_what_a_step_has_still_to_cover_weighs_few_nats(eta, noisy, first, rate):
    """100 in the first step; then a quarter of the examples weighs 60, together."""
    assert rate_before_sharpening(eta, noisy, first) == pytest.approx(rate, rel=1e-12)


@pytest.mark.parametrize("finish", ["sharpen", "none"])
@pytest.mark.parametrize("epsilon", [0.4, 60.0])
def test_selections_have_the_rate_that_their_counts_leave(monkeypatch, epsilon, finish):
    """By the published counts alone, and never above what is charged."""
    asked = watched_selections(monkeypatch)
    model = PolygonUnionLearner(k=2, grid=64, n_steps=2, seed=5, epsilon=epsilon, finish=finish)
    release = model.fit(*sample_of(64, 3000)).release_
    granted = release.privacy.charge("selections").each
    wanted = [granted, granted]
    if finish == "sharpen":
        assert release.thresholds[0] > 100
        assert (granted > 100 / release.thresholds[0]) == (epsilon > 1)
        first, second = release.thresholds
        later = 120 / math.sqrt(first * max(1, second))
        wanted = [min(granted, 100 / first), min(granted, 100 / max(1, second), later)]
    rates = [rate for _, rate in asked]
    assert rates == pytest.approx([rate / 2 for rate in wanted], rel=1e-12)


# -- without it --------------------------------------------------------------------------------


def test_without_sharpening_a_run_is_the_papers() -> None:
    """The same pieces and noisy counts as the engine's own run of so many steps."""
    points = np.random.default_rng(3).integers(0, 65, (3000, 2))
    labels = ((points > 12) & (points < 44)).all(axis=1)
    model = PolygonUnionLearner(
        k=2, grid=64, seed=5, n_steps=3, neighbours="replace-one", finish="none"
    ).fit(points, labels)
    release = model.release_
    assert isinstance(release, CoverRelease)
    budget = plan_budget(1.0, 1e-6, 3, 0.1, "replace-one", False)
    records = private_steps(
        counted(points, labels, 64),
        role="disjunction",
        k=2,
        budget=budget,
        selection=EnvelopeSelection(HalfplaneLattice(64), "triangle"),
        source=SeededRandom(5),
    )
    steps = [step for record in records if isinstance(step := record.release, StepRelease)]
    assert [step.halfplanes for step in steps] == list(release.pieces)
    assert tuple(step.threshold for step in steps) == release.thresholds
