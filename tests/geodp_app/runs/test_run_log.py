"""The log of a run against the learner's own books."""

from dataclasses import replace

import numpy as np
import pytest
import shapely
from finished_runs import GRID, N, begun, examples, finished

from geodp_app.document.sampling import fresh_sample
from geodp_app.document.work import RunSettings, SampleSettings, Work
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.runs.edge_law import shade
from geodp_app.runs.learner_process import make_learner
from geodp_app.runs.questions import shade_question
from geodp_app.runs.run_log import RunLog
from learners import PolygonUnionLearner
from learners.core.records import (
    predict_pieces,
)
from learners.core.releases import CoverRelease, TilesRelease
from learners.core.selection import HeavyBox
from learners.cover.set_cover import Finish
from learners.privacy.composition import spent_after
from learners.tiles.tile_choice import CHOICE_SHARE

ALL = ("cover", "convex-cover", "greedy-cover", "greedy-convex")


@pytest.mark.parametrize("learner", ALL)
def test_masks_and_figures_are_those_of_the_learners_books(learner: str) -> None:
    # few examples, so that a greedy search for triangles is short
    n = 40 if learner == "greedy-cover" else N
    log, release = finished(learner, n)
    assert isinstance(release, CoverRelease)
    assert log.role is not None
    sample, test = examples(n, seed=1), examples(500, seed=7)
    taken = np.zeros(2, dtype=int)
    for step, record in enumerate(log.records, start=1):
        known, figures = record.diagnostics, log.figures(step)
        log.cursor = step - 1
        before = log.alive
        assert np.count_nonzero(before & (sample.labels == 1)) == known.positives_alive
        assert np.count_nonzero(before & (sample.labels == 0)) == known.negatives_alive
        log.cursor = step
        assert log.pieces == release.pieces[:step]
        gone = before & ~log.alive
        assert np.count_nonzero(gone & (sample.labels == 1)) == figures.known.positives_taken
        assert np.count_nonzero(gone & (sample.labels == 0)) == figures.known.negatives_taken
        taken += figures.known.positives_taken, figures.known.negatives_taken
        covered = None if log.role == "conjunction" else taken[0]
        assert figures.positives_covered == covered
        predicted = predict_pieces(log.role, release.pieces[:step], sample.points)
        assert (log.wrong == (predicted != sample.labels)).all()
        assert figures.known.empirical_error == pytest.approx(np.mean(log.wrong))
        guessed = predict_pieces(log.role, release.pieces[:step], test.points)
        assert figures.test_error == pytest.approx(np.mean(guessed != test.labels))
        assert (figures.step, figures.steps, figures.known) == (step, record.steps, known)
        assert figures.threshold == record.release.threshold
    assert log.cursor == log.planned == len(release.pieces)


def test_a_log_of_tiles_is_that_of_the_learners_books() -> None:
    log, release = finished("tiles")
    assert isinstance(release, TilesRelease)
    sample, test = examples(N, seed=1), examples(500, seed=7)
    own = sample.labels == 1
    guesses = [list(release.staged_predict(points)) for points in (sample.points, test.points)]
    taken = 0
    for step, record in enumerate(log.records, start=1):
        tile, known, figures = release.tiles[step - 1].tile, record.diagnostics, log.figures(step)
        here = tile.holds(sample.points)
        assert np.count_nonzero(here & own) == known.positives_alive
        assert np.count_nonzero(here & ~own) == known.negatives_alive
        log.cursor = step
        assert log.shown == release.tiles[:step]
        seen = np.any([each.tile.holds(sample.points) for each in log.shown], axis=0)
        assert (~log.alive == seen).all()
        predicted, guessed = (each[step - 1] for each in guesses)
        assert (log.wrong == (predicted != sample.labels)).all()
        assert figures.known.empirical_error == pytest.approx(np.mean(log.wrong))
        assert figures.test_error == pytest.approx(np.mean(guessed != test.labels))
        taken += np.count_nonzero(here & predicted & own)
        assert figures.positives_covered == taken
        assert (figures.threshold, figures.account) == (None, "basic")
        points, labels = log.seen_by(step)
        assert (points == tile.to_own_frame(sample.points[here])).all()
        assert (labels == own[here]).all()
    assert log.cursor == log.planned == len(release.tiles) == 9
    assert log.positives == np.count_nonzero(own)


def test_the_tiles_of_a_run_are_known_from_its_first_step() -> None:
    done, release = finished("tiles")
    sample = examples(N, seed=1)
    log = begun(done.settings, sample)
    assert log.tiling == ()
    log.add(done.records[0])
    assert log.tiling == tuple(step.tile for step in release.tiles)
    assert log.tile_lattice(1) == release.lattice
    # tiles that no square is divided into: only what is known
    odd = replace(done.records[0], steps=10**12)
    log = begun(done.settings, sample)
    log.add(odd)
    assert log.tiling == (release.tiles[0].tile,)


def test_the_region_of_a_run_by_tiles_grows_tile_by_tile_and_ends_as_the_releases_shape() -> None:
    log, release = finished("tiles")
    for step in range(len(log.records) + 1):
        log.cursor = step
        parts = [each.shape() for each in release.tiles[:step]]
        assert log.region().area == pytest.approx(sum(part.area for part in parts))
        assert log.region().is_valid
    assert log.region().equals_exact(release.shape(), 0)


def test_how_many_tiles_there_will_be_is_known_when_it_was_asked_for() -> None:
    for tiles, planned in ((None, 0), (5, 25)):
        settings = RunSettings("tiles", tiles=tiles)
        log = begun(settings)
        assert log.planned == planned
        assert log.privacy is None  # until the learner says what it will spend
        log.plan = PolygonUnionLearner(grid=GRID, tiles=tiles).plan()
        assert (log.privacy.delta, log.privacy.account) == (1e-40, "basic")
        # without a count to pay for, all of epsilon is for the pieces
        selections = log.privacy.charge("selections")
        assert selections.each == pytest.approx(0.98 * 0.995 if tiles is None else 1.0)
        assert log.shown == log.tiling == ()


@pytest.mark.parametrize("learner", ["tiles", "cover", "convex-cover"])
def test_epsilon_so_far_ends_at_the_runs_own(learner: str) -> None:
    log, release = finished(learner)
    assert release.privacy is not None
    assert log.privacy == release.privacy
    steps = range(1, len(log.records) + 1)
    costs = [log.figures(step).epsilon_so_far for step in steps]
    assert costs == [spent_after(release.privacy, step)[0] for step in steps]
    assert costs[-1] == 2.0
    assert (costs[0] == 2.0) == (learner == "tiles")
    assert log.figures(2).eta == release.privacy.charges[-1].each


def test_a_greedy_log_has_no_privacy_figures() -> None:
    log, _ = finished("greedy-cover", 40)
    figures = log.figures(1)
    assert (figures.eta, figures.epsilon_so_far, figures.account) == (None, None, None)
    assert figures.threshold is None
    assert log.privacy is None


@pytest.mark.parametrize(("finish", "planned", "steps"), [("none", 4, 4), ("sharpen", 16, 4)])
def test_privacy_is_known_before_the_release(finish: Finish, planned: int, steps: int) -> None:
    """And so are the steps, unless the first noisy count tells how many zones there will be."""
    settings = RunSettings("cover", k=2, finish=finish)
    log = begun(settings)
    assert log.planned == planned
    log.plan = make_learner(settings, GRID).plan()
    assert (log.privacy.steps, log.privacy.epsilon, log.privacy.private) == (steps, 1.0, True)


@pytest.mark.parametrize("learner", ALL)
def test_the_region_at_the_end_is_the_releases_shape(learner: str) -> None:
    log, release = finished(learner, 40)
    log.cursor = len(log.records)
    assert log.region().equals_exact(release.shape(), 0)
    log.cursor = 0
    start = log.region()
    whole = shapely.box(0, 0, GRID, GRID)
    assert start.is_empty if log.role == "disjunction" else start.equals(whole)


def test_the_cursor_follows_the_last_step_until_somebody_looks_back() -> None:
    done, _ = finished("cover")
    sample = examples(N, seed=1)
    log = begun(done.settings, sample)
    boxes = (HeavyBox((0,), ((0, 1, 0, 1),), 0.5),)
    assert log.views == ()
    log.add(done.records[0], boxes)
    log.add(done.records[1])
    assert log.cursor == 2
    assert log.views == ()
    log.cursor = 1
    assert log.views == boxes
    log.add(done.records[2])
    assert log.cursor == 1
    for step in (-1, 4):
        with pytest.raises(ValueError, match=r"0\.\.3"):
            log.cursor = step


def test_steps_come_in_order_and_only_those_made_have_figures() -> None:
    done, _ = finished("cover")
    sample = examples(10, seed=1)
    log = begun(done.settings, sample)
    with pytest.raises(ValueError, match="step 2 does not follow step 0"):
        log.add(done.records[1])
    with pytest.raises(ValueError, match="step 1 is outside"):
        log.figures(1)
    with pytest.raises(ValueError, match="step 0 is outside"):
        shade_question(log, 0)


@pytest.mark.parametrize(
    ("learner", "n", "k"), [("cover", 60, 3), ("convex-cover", 60, 3), ("tiles", 220, 1)]
)
def test_shading_scores_the_chosen_halfplane_as_the_record_does(learner, n, k):
    """The question of a step leads to the very score that the learner saw."""
    log, release = finished(learner, n)
    asked = 0
    for record in log.records:
        for edge, chosen in enumerate(record.release.piece):
            asked += 1
            question = shade_question(log, record.step, edge)
            assert len(question.others) == len(record.release.piece) - 1
            assert chosen not in question.others
            assert question.lattice == release.lattice
            heeds = learner == "tiles" and record.step > 5  # its neighbours, of nine tiles
            assert question.rate == (0 if heeds else release.privacy.charges[-1].each / k)
            known = record.diagnostics
            assert len(question.points) == known.positives_alive + known.negatives_alive
            unit = 1 << chosen.lattice.bits
            point = shapely.Point(chosen.u / unit, chosen.v / unit)
            sheet = next(s for s in shade(question) if s.sheet == chosen.sheet)
            scores = [c.score for c in sheet.cells if shapely.Polygon(c.outline).intersects(point)]
            assert record.diagnostics.score in scores
    assert asked > 2
    if learner == "tiles":
        assert {step.inside for step in release.tiles if step.piece} == {True, False}
    else:
        with pytest.raises(ValueError, match="halfplane 3"):
            shade_question(log, 1, 3)


@pytest.mark.parametrize("learner", ["tiles", "convex-cover"])
def test_a_log_is_stored_and_restored(learner: str) -> None:
    log, release = finished(learner)
    log.cursor = len(log.records)
    work = Work(drawing=Drawing(GRID), examples=examples(N, seed=1), simulated=False)
    again = RunLog(work, log.run)
    assert again.records == log.records
    assert again.release == release
    assert again.cursor == len(log.records)
    assert again.figures(3) == replace(log.figures(3), test_error=None)
    without = RunLog(replace(work, examples=None), log.run)
    assert len(without.alive) == 0
    assert without.region().equals(log.region())


SQUARE = Drawing(100, (Shape(((20, 20), (80, 20), (80, 80), (20, 80))),))


def test_a_test_sample_is_drawn_like_the_examples_but_clean_and_independent() -> None:
    work = Work(drawing=SQUARE, sampling=SampleSettings(n=50, noise=0.4, seed=5))
    test = fresh_sample(work, 4000)
    inside = ((test.points >= 20) & (test.points <= 80)).all(axis=1)
    assert (inside == test.labels).all()
    assert inside.mean() == pytest.approx((61 / 101) ** 2, abs=0.03)
    again = fresh_sample(replace(work, sampling=SampleSettings(seed=6)), 4000)
    assert (again.points == test.points).all()
    clustered = fresh_sample(replace(work, sampling=SampleSettings(distribution="clustered")), 4000)
    assert clustered.points.std() < 0.8 * test.points.std()


def test_there_is_no_test_sample_for_imported_examples_or_for_nothing() -> None:
    work = Work(drawing=SQUARE, examples=examples(10, seed=1), simulated=False)
    assert fresh_sample(work) is None
    painted = Work(drawing=SQUARE, sampling=SampleSettings(distribution="painted"))
    assert fresh_sample(painted) is None
    nothing = Work(drawing=Drawing(100), sampling=SampleSettings(distribution="gaussian"))
    assert fresh_sample(nothing) is None
    log = RunLog(nothing)
    assert not log.wrong.any()


@pytest.mark.parametrize(
    ("n", "tiles", "support", "chose"),
    [(6_000, None, None, True), (N, None, None, False), (6_000, 2, 0.1, False)],
)
def test_the_rate_of_a_tile_leaves_out_what_choosing_their_number_took(n, tiles, support, chose):
    sample = examples(n, seed=1, noise=0.0)
    settings = RunSettings("tiles", epsilon=2.0, seed=2, tiles=tiles, support=support)
    model = make_learner(settings, GRID)
    log = begun(settings, sample)
    log.plan = model.plan()
    granted = log.plan.charge("selections")
    for record in model.steps(sample.points, sample.labels):
        log.add(record)
    assert log.figures(1).eta == pytest.approx(granted.each * (1 - CHOICE_SHARE if chose else 1))
