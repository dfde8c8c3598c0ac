"""The log of a run whose zones, or whose last step, decide points a second time."""

import itertools
import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import shapely
from finished_runs import begun, logged

from geodp import Examples, Frame
from geodp_app.document.work import RunSettings
from geodp_app.files.run_record import RunRecord
from geodp_app.files.strict_reading import DamagedFileError
from geodp_app.runs.edge_law import change
from geodp_app.runs.learner_process import make_learner
from geodp_app.runs.questions import report_question, shade_question, share_question
from geodp_app.runs.run_log import RunLog
from geodp_app.runs.step_gains import Decisions
from geodp_app.runs.why import aim_words, why
from geodp_app.views.run.timeline import Course
from geometry.tiling import EdgeZone, EdgeZones
from learners.core.records import StepRecord, TileStep, predict_pieces
from learners.core.releases import SharpenedRelease
from learners.cover.set_cover import rate_before_sharpening
from learners.privacy.composition import spent_after

GRID, EPSILON, STEPS = 64, 4.0, 3
#: Examples, so that every edge has one zone, or four.
FEW, MANY = 600, 6_000


def examples(n: int, seed: int) -> Examples:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, GRID + 1, (n, 2))
    labels = (np.abs(points - 30).sum(axis=1) < 22) ^ (rng.random(n) < 0.03)
    return Examples(points, labels.astype(np.int64), Frame(GRID))


@cache
def finished(n: int = FEW, **more: float) -> tuple[RunLog, SharpenedRelease]:
    """A finished run with a test sample; the log knows of no release before its last step."""
    sample = examples(n, seed=1)
    settings = RunSettings("cover", epsilon=EPSILON, k=2, n_steps=STEPS, seed=2, **more)
    model = make_learner(settings, GRID)
    log = begun(settings, sample, examples(500, seed=7))
    log.plan = model.plan()
    assert log.planned == 4 * STEPS  # at least: the triangles tell how many zones there are
    for record in model.steps(sample.points, sample.labels):
        log.add(record)
    log.finish(model.release_)
    assert isinstance(log.release, SharpenedRelease)
    return log, log.release


def nobody(record: StepRecord) -> bool:
    """Whether no example is nearest to the edge that a step draws again."""
    known = record.diagnostics
    return record.step > STEPS and not known.positives_alive + known.negatives_alive


def staged(release: SharpenedRelease, points: np.ndarray) -> list[np.ndarray]:
    """Labels after no step, the first one and so on, point by point and zone by zone."""
    found = [np.zeros(len(points), dtype=bool)]
    for step in range(1, STEPS + 1):
        found.append(predict_pieces("disjunction", release.pieces[:step], points))
    for each in release.zones:
        labels = found[-1].copy()
        for row, point in enumerate(points):
            if each.tile.holds(point[None])[0]:
                labels[row] = each.predict(point[None])[0]
        found.append(labels)
    if release.zones[-1].tidied is not None:
        # the last step changes what all zones label together
        found[-1] = release.predict(points) != 0
    return found


@pytest.mark.parametrize("n", [FEW, MANY])
def test_there_are_zones_of_every_edge(n: int) -> None:
    log, release = finished(n)
    zones = len(EdgeZones(release.pieces, release.side))
    assert zones == len(release.zones)
    assert zones > 3 * STEPS
    assert len(log.records) == log.planned == STEPS + zones
    # the newest step of which there is something to see
    there = [r.step for r in log.records if not nobody(r)]
    assert log.newest == there[-1]
    assert [isinstance(r.release, TileStep) for r in log.records] == [False] * STEPS + [
        True
    ] * zones
    first = begun(log.settings)
    first.add(log.records[0])
    # a zone an edge, at least
    assert first.planned == 4 * STEPS
    assert log.tiling == tuple(step.tile for step in release.zones)
    log.cursor = STEPS
    assert log.shown[-1].tile is None
    log.cursor = STEPS + 2
    assert log.shown[-1].tile is not None
    assert log.shown[STEPS:] == release.zones[:2]


@pytest.mark.parametrize("n", [FEW, MANY])
def test_decisions_are_those_of_each_point_by_itself(n: int) -> None:
    log, release = finished(n)
    sample = examples(100, seed=5)
    points, labels = sample.points, sample.labels != 0
    decisions = Decisions(points, labels, "disjunction")
    for record in log.records:
        decisions.add(record.release)
    expected = staged(release, points)
    assert len(expected) - 1 == len(log.records)
    holds = np.array([[step.tile.holds(p[None])[0] for p in points] for step in release.zones])
    assert (holds.sum(axis=0) == 1).all()
    for step, predicted in enumerate(expected):
        assert (decisions.predicted(step) == predicted).all()
        assert (decisions.wrong(step) == (predicted != labels)).all()
        # the triangles leave what none of them covers; after them, zones to come are left
        left = ~holds[: step - STEPS].any(axis=0) if step > STEPS else ~predicted
        assert (decisions.alive(step) == left).all()
        if step > STEPS:
            decided = np.flatnonzero(holds[step - STEPS - 1])
            assert (decisions.decided_by(step) == decided).all()


def test_figures_are_those_of_the_learners_books() -> None:
    log, release = finished(MANY)
    sample, test = examples(MANY, seed=1), examples(500, seed=7)
    own, clean = sample.labels != 0, test.labels != 0
    found = list(zip(release.staged_predict(sample.points), release.staged_predict(test.points),
                     strict=True))  # fmt: skip
    assert len(found) == len(log.records)
    for step, (predicted, guessed) in enumerate(found, start=1):
        log.cursor = step
        figures = log.figures(step)
        assert (log.wrong == (predicted != own)).all()
        assert figures.known.empirical_error == pytest.approx(np.mean(log.wrong))
        assert figures.test_error == pytest.approx(np.mean((guessed != 0) != clean))
        assert figures.positives_covered == np.count_nonzero((predicted != 0) & own)
    assert (log.wrong == (release.predict(sample.points) != own)).all()


def test_the_region_of_every_step_is_where_that_step_predicts_1() -> None:
    log, release = finished(MANY)
    rng = np.random.default_rng(3)
    points = rng.integers(0, GRID + 1, (1_000, 2))
    looked_at = shapely.points(points.astype(float))
    decisions = Decisions(points, np.zeros(len(points), bool), "disjunction")
    for record in log.records:
        decisions.add(record.release)
    for step in range(1, len(log.records) + 1):
        log.cursor = step
        region = log.region()
        assert region.is_valid
        # borders between zones are no borders of the region, but for a hair of rounding
        away = shapely.distance(region.boundary, looked_at) > 1e-3
        assert np.count_nonzero(away) > 800
        inside = shapely.covers(region, looked_at)
        assert (inside == decisions.predicted(step))[away].all()
    assert log.region().equals(release.shape())


def test_in_a_run_with_a_check_nothing_is_counted_that_the_learner_did_not_see() -> None:
    log, _ = finished(MANY, check=0.4)
    first = log.records[0].diagnostics
    seen = first.positives_alive + first.negatives_alive
    assert seen < 0.8 * MANY
    for step in range(STEPS + 1, len(log.records) + 1):
        before, now = (log.records[at].diagnostics.empirical_error for at in (step - 2, step - 1))
        right, lost = log.gain(step)
        assert right - lost == pytest.approx(seen * (before - now))
        assert "before)" not in said(log, log.records[step - 1])  # of all examples of the zone
    # before the first step nobody knows how many of them it will see
    new = begun(log.settings, examples(MANY, seed=1))
    assert "as many of the uncovered positives and as few negatives" in aim_words(new)
    new.add(log.records[0])
    assert f"the {first.positives_alive - first.positives_taken:,} uncovered" in aim_words(new)


def test_a_zone_gains_the_mistakes_before_it_less_those_after_it() -> None:
    log, release = finished(MANY)
    sample = examples(MANY, seed=1)
    own = sample.labels != 0
    wrong = [int((labels != own).sum()) for labels in release.staged_predict(sample.points)]
    cover = predict_pieces("disjunction", release.pieces, sample.points)
    for step, (before, after) in enumerate(itertools.pairwise(wrong), start=2):
        if step <= STEPS:
            assert log.wrong_before(step) is None
            continue
        right, lost = log.gain(step)
        assert right - lost == before - after
        assert 0 in (right, lost)
        assert log.gains[step - 1] == max(0, before - after)
        held = release.zones[step - STEPS - 1].tile.holds(sample.points)
        assert log.wrong_before(step) == np.count_nonzero((cover != own) & held)
        if release.zones[step - STEPS - 1].tidied is None:
            own_score = log.records[step - 1].diagnostics.score
            assert after - before == -own_score - log.wrong_before(step)
    assert max(log.gains[STEPS:]) > 0
    with pytest.raises(ValueError, match="step 0 is outside"):
        log.wrong_before(0)


def test_triangles_spend_three_tenths_and_the_first_zone_all_the_rest() -> None:
    log, release = finished()
    privacy = release.privacy
    assert log.privacy == privacy
    costs = [log.figures(step).epsilon_so_far for step in range(1, len(log.records) + 1)]
    assert costs == [spent_after(privacy, step)[0] for step in range(1, len(log.records) + 1)]
    assert costs[:STEPS] == sorted(set(costs[:STEPS]))
    assert costs[STEPS - 1] == pytest.approx(0.3 * EPSILON, rel=1e-7)
    assert costs[STEPS - 1] < 0.3 * EPSILON
    assert costs[STEPS:] == [EPSILON] * len(release.zones)
    selections, sharpening = privacy.charge("selections"), privacy.charge("sharpening")
    assert selections is not None
    assert sharpening.each == pytest.approx(0.7 * EPSILON, rel=1e-9)
    for step in range(1, len(log.records) + 1):
        eta = sharpening.each
        if step <= STEPS:
            counts = release.thresholds[step - 1], release.thresholds[0]
            eta = rate_before_sharpening(selections.each, *counts)
        assert log.figures(step).eta == eta


def test_what_is_asked_about_a_zone_is_of_its_own_examples_alone() -> None:
    log, release = finished(MANY)
    sample = examples(MANY, seed=1)
    sharpening = release.privacy.charge("sharpening")  # type: ignore[union-attr]
    assert sharpening is not None
    asked = 0
    for step, each in enumerate(release.zones, start=STEPS + 1):
        zone = each.tile
        assert isinstance(zone, EdgeZone)
        held = zone.holds(sample.points)
        points, labels = log.seen_by(step)
        assert (points == sample.points[held] - (zone.x0, zone.y0)).all()
        assert (labels == (sample.labels[held] != 0)).all()
        assert log.tile_lattice(step) == zone.lattice
        assert share_question(log, step) is None
        if not each.piece:
            continue
        asked += 1
        question = shade_question(log, step)
        assert question.lattice == zone.lattice
        assert question.rate == sharpening.each
        right = question.labels == (each.predict(sample.points[held]) == each.inside)
        known = log.records[step - 1].diagnostics
        assert known.score == np.count_nonzero(right) - len(right)
    assert asked > 2


def test_a_report_changes_the_law_of_its_own_zone_alone() -> None:
    log, release = finished()
    sample = examples(FEW, seed=1)
    eta = log.figures(len(log.records)).eta
    assert eta is not None
    step = next(i for i, each in enumerate(release.zones, STEPS + 1) if len(each.piece) == 1)
    held = release.zones[step - STEPS - 1].tile.holds(sample.points)
    inner, outer = (int(np.flatnonzero(rows)[0]) for rows in (held, ~held))
    for row, why_none in ((inner, None), (outer, "elsewhere")):
        point, label = tuple(sample.points[row].tolist()), bool(sample.labels[row])
        question = report_question(log, step, 0, point, label, True)
        assert question.why_none == why_none
        if why_none is None:
            ratios = np.concatenate([s.log_ratios.ravel() for s in change(question).sheets])
            ratios = ratios[np.isfinite(ratios)]
            assert np.abs(ratios).max() <= eta * (1 + 1e-12)
            assert np.ptp(ratios) > 0


# -- why --------------------------------------------------------------------------------------


def said(log: RunLog, record: StepRecord) -> str:
    before = log.wrong_before(record.step)
    return why(record, log.settings.declared, log.role, log.settings["k"], before)


def number(text: str) -> int:
    return 0 if text == "none" else int(text.replace(",", ""))


@pytest.mark.parametrize(("n", "kinds"), [(FEW, {0, 1, 2}), (MANY, {0, 1, 2})])
def test_a_zone_says_whose_edge_it_draws_and_how_many_are_wrong_before_and_after(n, kinds):
    log, release = finished(n)
    sample = examples(n, seed=1)
    own = sample.labels != 0
    cover = predict_pieces("disjunction", release.pieces, sample.points)
    found = set()
    for record, each in zip(log.records[STEPS:], release.zones, strict=True):
        held = each.tile.holds(sample.points)
        many = int(held.sum())
        triangle, edge = divmod(each.tile.edge_number, 3)
        own_parts = [z for z in release.zones if z.tile.edge_number == each.tile.edge_number]
        place = own_parts.index(each) + 1
        part = f"part {place} of " if len(own_parts) > 1 else ""
        draws = f"Draws {part}edge {edge + 1} of triangle {triangle + 1} again, "
        outcome = said(log, record)
        if many < 2:
            continue
        near = f"{draws}among the {many:,} examples nearest to it. "
        assert outcome.startswith(near)
        inside, edges = int(each.inside), len(each.piece)
        labels = (
            f"No edge is needed: all are labelled {inside}, ",
            f"A halfplane labels them {inside} inside and {1 - inside} outside, ",
            f"2 halfplanes label them {inside} inside and {1 - inside} outside, ",
        )[edges]
        rest = outcome.removeprefix(near)
        assert rest.startswith(labels)
        match = re.fullmatch(
            r"([\d,]+|none) wrongly \(([\d,]+|none) before\)\. Score: (−?)([\d,]+)\.",
            rest.removeprefix(labels).partition(" It is the last")[0],
        )
        assert match, rest
        after, before, sign, score = match.groups()
        wrong = int((each.predict(sample.points[held]) != own[held]).sum())
        assert number(after) == number(score) == wrong
        assert number(before) == int((cover != own)[held].sum())
        assert (sign == "−") == (wrong > 0)
        found.add(edges)
    assert found == kinds


def test_a_zone_of_one_example_or_none_is_told_in_plain_words() -> None:
    log, release = finished()
    # a zone that is all of an edge of the first triangle, or a part of one
    record = log.records[STEPS]
    bare = TileStep(release.zones[0].tile, (), False)
    edge = why(record, log.settings.declared, log.role, 2, 0).split(" again")[0]
    assert edge in ("Draws edge 1 of triangle 1", "Draws part 1 of edge 1 of triangle 1")

    def outcome(positives: int, score: float, before: int) -> str:
        known = replace(
            record.diagnostics, positives_alive=positives, negatives_alive=0, score=score
        )
        odd = replace(record, release=bare, diagnostics=known)
        return why(odd, log.settings.declared, log.role, 2, before)

    assert outcome(0, 0.0, 0) == f"{edge} again; no example is nearest to it. Score: 0."
    assert outcome(1, -1.0, 0) == (
        f"{edge} again, by the one example nearest to it. No edge is needed: "
        "it is labelled 0, 1 wrongly (none before). Score: −1."
    )
    assert outcome(12, -3.0, 1_005) == (
        f"{edge} again, among the 12 examples nearest to it. No edge is "
        "needed: all are labelled 0, 3 wrongly (1,005 before). Score: −3."
    )


@pytest.mark.parametrize("n", [FEW, MANY])
@pytest.mark.parametrize("empty", [(), (0, 2, 3), (8,), tuple(range(9))])
def test_the_course_has_a_stop_for_each_triangle_and_each_edge_that_has_examples(n, empty):
    """While the run grows, against its records looked through one by one; `empty` are edges that no
    example is nearest to."""
    done, release = finished(n)
    log = begun(done.settings)
    none = {"positives_alive": 0, "negatives_alive": 0}
    edges = [step.tile.edge_number for step in release.zones]  # type: ignore[union-attr]
    assert set(edges) == set(range(3 * STEPS))
    seen: dict[bool, list[tuple[int, int]]] = {False: [], True: []}
    for record in done.records:
        edge = -1 if record.step <= STEPS else edges[record.step - STEPS - 1]
        known = record.diagnostics
        if edge in empty:
            known = replace(known, **none)
        record = replace(record, diagnostics=known)
        log.add(record)
        idle = nobody(record)
        for public, stops in seen.items():
            if public or not idle:
                if edge >= 0 and stops[-1][1] == edge:
                    stops.pop()  # the newest step of an edge stands for it
                stops.append((record.step, edge))
        over = len(log.records) == len(done.records)
        if over:
            log.finish(release)
        for public, stops in seen.items():
            titles = [
                (step, f"Triangle {step} of {STEPS}" if edge < 0
                 else f"Sharpening edge {edge + 1} of {3 * STEPS}")
                for step, edge in stops
            ]  # fmt: skip
            every = [(0, f"Before triangle 1 of {STEPS}"), *titles]
            block = every[: STEPS + 1] + every[STEPS + 1 :][-1:]
            end = [(len(log.records) + 1, "The end")] if over else []
            for opened, expected in ((True, every + end), (False, block + end)):
                course = Course.of(log, opened=opened, public=public)
                assert [tuple(stop) for stop in course.stops] == expected
                assert (course.first, course.sharpens) == (STEPS, True)
                assert course.planned >= len(expected) - (1 if over else 0)
                assert [course.position(step) for step, _ in expected] == [*range(len(expected))]
            gains = Course.of(log, opened=False, public=public).gains(log)
            assert sum(gains) <= sum(log.gains)
    assert len(seen[True]) == 4 * STEPS
    there = {edges[r.step - STEPS - 1] for r in log.records[STEPS:] if not nobody(r)}
    assert there.isdisjoint(empty)
    assert [edge for _, edge in seen[False]] == [-1] * STEPS + sorted(there)
    assert Course.of(log, opened=True).planned == len(seen[False]) + 1


def test_the_cursor_waits_where_nothing_is_to_be_seen_and_the_end_is_a_step_further() -> None:
    done, release = finished()
    log = begun(done.settings)
    none = {"positives_alive": 0, "negatives_alive": 0}
    newest = 0
    for record in done.records:
        if record.step in (STEPS + 1, len(done.records)):
            record = replace(record, diagnostics=replace(record.diagnostics, **none))
        log.add(record)
        newest = newest if nobody(record) else record.step
        assert log.cursor == log.newest == newest
    assert newest < len(log.records)
    last = len(log.records)
    with pytest.raises(ValueError, match=rf"0\.\.{last}"):
        log.cursor = last + 1
    log.finish(release)
    log.cursor = last + 1
    assert (log.cursor, log.at_end) == (last, True)
    assert log.shown_figures.title == "The end"
    log.cursor = last
    assert not log.at_end


# -- a last step that changes labels along borders -------------------------------------------------


TIDIED_GRID = 128
SETTINGS = {
    "tiles": RunSettings("tiles", seed=2),
    "cover": RunSettings("cover", k=2, n_steps=4, seed=2),
}
both = pytest.mark.parametrize("learner", list(SETTINGS))


def diamond(n: int, seed: int) -> Examples:
    points = np.random.default_rng(seed).integers(0, TIDIED_GRID + 1, (n, 2))
    labels = np.abs(points - 60).sum(axis=1) < 44
    return Examples(points, labels.astype(np.int64), Frame(TIDIED_GRID))


@cache
def tidied(learner: str) -> RunLog:
    return logged(SETTINGS[learner], diamond(6_000, seed=1), diamond(3_000, seed=7))


@both
def test_at_the_end_the_window_shows_what_is_released(learner: str) -> None:
    log = tidied(learner)
    last = log.records[-1]
    assert isinstance(last.release, TileStep)
    assert last.release.tidied is not None
    assert all(getattr(each.release, "tidied", None) is None for each in log.records[:-1])
    assert log.release is not None
    # a run that has ended rests where its shape is the one released
    log.cursor = len(log.records) + 1
    assert log.at_end
    assert log.region().equals(log.release.shape())
    log.cursor = len(log.records)
    assert log.region().equals(log.release.shape())
    for sample, error in (
        (diamond(6_000, seed=1), last.diagnostics.empirical_error),
        (diamond(3_000, seed=7), log.figures(last.step).test_error),
    ):
        wrong = log.release.predict(sample.points) != sample.labels
        assert error == pytest.approx(wrong.mean())
    assert log.wrong.mean() == pytest.approx(last.diagnostics.empirical_error)
    outcome = why(last, log.settings.declared, log.role, 2)
    assert "slits and teeth at borders" in outcome
    log.cursor -= 1
    assert log.region().symmetric_difference(log.release.shape()).area > 0
    assert "slits and teeth" not in why(log.records[-2], log.settings.declared, log.role, 2)


@both
def test_a_session_keeps_it(learner: str) -> None:
    stored = tidied(learner).run
    assert RunRecord.from_lines(stored.to_lines()) == stored


@both
def test_an_earlier_step_that_has_it_is_refused(learner: str) -> None:
    log = tidied(learner)
    lines = log.run.to_lines()
    first = log.triangles + 1
    data, last = json.loads(lines[first]), json.loads(lines[len(log.records)])
    data["tidied"] = last["tidied"]
    with pytest.raises(DamagedFileError, match="last step"):
        RunRecord.from_lines([*lines[:first], json.dumps(data), *lines[first + 1 :]])
