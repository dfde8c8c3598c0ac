"""Covers that find k by themselves: when they end, what that costs, and what they publish."""

import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from enumerated_runs import PIECES, Model, neighbours
from finished_runs import logged
from scripted_cover import Script, covered, random_pieces, sample
from terminal import printed

from geodp import Examples, Frame
from geodp_app.cli import main
from geodp_app.document.work import RunSettings, Work
from geodp_app.drawing.shapes import Drawing
from geodp_app.files.learned_file import read_learned
from geodp_app.files.run_record import RunRecord
from geodp_app.files.session import load_session, save_session
from geodp_app.files.strict_reading import DamagedFileError
from geodp_app.runs.questions import shade_question
from geodp_app.runs.run_log import RunLog
from geodp_app.runs.settings_advice import verdict
from geodp_app.runs.why import why
from learners import ConvexPolygonLearner, DiscUnionLearner, PolygonUnionLearner
from learners.core.codec import release_from_dict, release_to_dict
from learners.core.records import TileStep
from learners.core.releases import SharpenedRelease
from learners.cover import set_cover
from learners.cover.set_cover import (
    Budget,
    ends_before,
    plan_budget,
    rate_before_sharpening,
    score_k,
)
from learners.privacy.accounting import PrivacySpent
from learners.privacy.composition import run_rate, spent_after
from learners.privacy.randomness import SeededRandom

# -- the law ---------------------------------------------------------------------------------

EPSILON, DELTA = 0.4, 0.02


@dataclass(frozen=True)
class Ending(Model):
    """A run that ends by its noisy counts, and draws at rates that they choose."""

    steps: int = 0

    def ends(self, b: int, steps: int) -> bool:
        return steps < self.steps and ends_before("auto", budget_of(self.eta, self.steps), b)

    def rate(self, b: int, first: int) -> float:
        return rate_before_sharpening(self.eta, b, first)

    def begun(self, first: int) -> int | None:
        return first


def budget_of(eta: float, steps: int) -> Budget:
    spent = PrivacySpent(EPSILON, DELTA, "add-remove", "optimal", (), True)
    return Budget(steps, Fraction(1), 0, eta, spent)


@pytest.mark.parametrize("role", ["disjunction", "conjunction"])
@pytest.mark.parametrize("steps", [2, 3])
@pytest.mark.parametrize("least", [1, 2])
def test_a_run_that_may_end_costs_no_more_than_the_planned_one(monkeypatch, role, steps, least):
    """Every transcript of all tiny samples and all their neighbours; counts end it below `least`.

    Rates are lower in steps with more left, and lower again where there was more at first.
    """
    noise = 0.6 * EPSILON / steps
    granted = run_rate(EPSILON, DELTA, steps, noise)
    pairs = neighbours(2 if steps < 3 else 1, 3)

    def worst(eta: float) -> float:
        monkeypatch.setattr(set_cover, "_LEAST_WEIGHT", (least - 0.5) * eta)
        monkeypatch.setattr(set_cover, "_FIRST_NATS", 1.5 * eta)
        monkeypatch.setattr(set_cover, "_LATER_NATS", 1.2 * eta)
        found = 0.0
        for measure in ((0.25, 0.25, 0.5), (0.02, 0.08, 0.9)):
            model = Ending(role, 1, PIECES[role], measure, eta, noise=noise, steps=steps)
            assert model.law((), steps).sum() == pytest.approx(1)
            found = max(found, *(model.delta(a, b, steps, EPSILON) for a, b in pairs))
        return found

    assert worst(granted) <= DELTA
    assert worst(4 * granted) > DELTA


def test_whether_a_run_ends_tells_of_an_example() -> None:
    """So it is a part of the transcript that is charged, and not a public number."""
    eta = set_cover._LEAST_WEIGHT / 1.5
    model = Ending("disjunction", 1, PIECES["disjunction"], (0.1, 0.1, 0.8), eta, 0.3, steps=2)
    lasting = [
        sum(
            mass
            for b, mass in model.thresholds(gain)
            if not ends_before("auto", budget_of(eta, 2), b)
        )
        for gain in (1, 2)
    ]
    assert 0 < lasting[0] < lasting[1] < 1


# -- the engine ------------------------------------------------------------------------------


def test_a_run_is_the_beginning_of_one_for_k_1_and_ends_before_the_first_low_count() -> None:
    plan = plan_budget(1.0, 1e-6, 8, 0.1, "add-remove", True, 0.6)
    made = []
    for seed in range(40):
        examples, pieces = sample(seed, n=400), random_pieces(seed, 8, 3)
        whole, ended = (
            list(covered(examples, Script(pieces), plan, SeededRandom(seed), k=k))
            for k in (1, "auto")
        )
        counts = [record.release.threshold + plan.margin for record in whole]
        low = [j for j, count in enumerate(counts) if j and plan.eta * count < 5]
        made.append(len(ended))
        assert len(ended) == (low[0] if low else 8)
        assert [r.release for r in ended] == [r.release for r in whole[: len(ended)]]
        assert [r.steps for r in ended] == [8] * (len(ended) - 1) + [len(ended)]
    assert len(set(made)) > 3


def test_a_run_without_examples_makes_one_step_or_few() -> None:
    plan = plan_budget(1.0, 1e-6, 8, 0.1, "add-remove", True, 0.6)
    nobody, pieces = (np.zeros((0, 2)), np.zeros(0)), random_pieces(1, 8, 3)
    made = [
        len(list(covered(nobody, Script(pieces), plan, SeededRandom(seed), k="auto")))
        for seed in range(60)
    ]
    assert np.mean(made) < 2
    assert max(made) > 1  # by chance: the noise may say that there is something


# -- the learner -----------------------------------------------------------------------------

GRID, N = 64, 3_000


def examples(n: int = N, seed: int = 1) -> Examples:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, GRID + 1, (n, 2))
    labels = (np.abs(points - 30).sum(axis=1) < 22) ^ (rng.random(n) < 0.01)
    return Examples(points, labels.astype(np.int64), Frame(GRID))


def settings_of(seed: int = 10, **changes: Any) -> RunSettings:
    return RunSettings("cover", epsilon=1.0, k="auto", seed=seed, **changes)


@cache
def finished(seed: int = 10) -> RunLog:
    return logged(settings_of(seed), examples())


def test_a_run_that_ends_early_states_the_charges_of_all_its_planned_steps() -> None:
    log = finished()
    assert log.triangles < 8
    assert log.release.privacy == log.plan
    spent = {charge.name: charge.times for charge in log.plan.charges}
    assert (spent["noisy counts"], spent["selections"]) == (8, 8)
    assert isinstance(log.release, SharpenedRelease)
    assert len(log.release.pieces) == len(log.release.thresholds) == log.triangles
    assert dict(log.release.parameters) == {"k": "auto", "steps": 8, "beta": 0.1}
    assert release_from_dict(json.loads(json.dumps(release_to_dict(log.release)))) == log.release


def test_more_steps_may_be_asked_for_and_are_paid_for() -> None:
    model = PolygonUnionLearner(k="auto", n_steps=12)
    plan = model.plan()
    assert plan.steps == 12
    assert [charge.times for charge in plan.charges] == [12, 12, 1]


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (ConvexPolygonLearner(k="auto"), "k must be a whole number, got 'auto'"),
        (DiscUnionLearner(k="auto"), "k must be a whole number, got 'auto'"),
        (PolygonUnionLearner(k="auto", alpha=0.1), "alpha chooses the number of steps by k"),
        (
            PolygonUnionLearner(k="auto", finish="none"),
            "k = 'auto' is for covers that are sharpened",
        ),
        (PolygonUnionLearner(k="auto", tiles=3), "a run with k pieces has no tiles"),
    ],
)
def test_where_k_cannot_be_found_it_is_asked_for(model: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        model.fit(np.array([[1, 1]]), np.array([1]))


# -- the log, files, words -------------------------------------------------------------------


def test_the_log_knows_triangles_from_zones_and_ends_with_the_release() -> None:
    log = finished()
    assert log.release is not None
    kinds = [isinstance(record.release, TileStep) for record in log.records]
    assert kinds == [number >= log.triangles for number in range(len(kinds))]
    assert log.planned == len(log.records)
    assert log.cursor == log.newest
    log.cursor = log.planned
    assert log.region().equals(log.release.shape())
    points = examples().points
    staged = log.release.staged_predict(points)
    for step, labels in enumerate(staged, start=1):
        assert log.figures(step).known.empirical_error == pytest.approx(
            float(np.mean(labels != examples().labels))
        )


def test_what_is_spent_so_far_holds_for_whether_a_run_goes_on() -> None:
    log = finished(several())
    assert log.plan is not None
    triangles = log.triangles
    for step in range(1, triangles):
        assert log.figures(step).epsilon_so_far == spent_after(log.plan, step + 1)[0]
    last = log.figures(len(log.records)).epsilon_so_far
    assert last == log.plan.epsilon
    assert log.figures(triangles + 1).epsilon_so_far == log.plan.epsilon


def several() -> int:
    """A seed whose run makes some triangles, but not all that were planned."""
    return next(s for s in range(5, 60) if 3 <= finished(s).triangles < 8)


def test_a_step_is_explained_with_all_that_is_left() -> None:
    log = finished()
    learner = log.settings.declared
    said = why(log.records[0], learner, log.role, score_k(log.settings["k"]))
    b = log.records[0].release.threshold  # type: ignore[union-attr]
    assert f"Wanted: {b:,} or more (noisy count {b:,} over k = 1)" in said
    question = shade_question(log, 1)
    assert question.score.k == 1
    assert question.score.c_pos == -b


def test_sessions_keep_a_run_wherever_it_stands(tmp_path: Path) -> None:
    log = finished(several())
    found = examples()
    work = Work(
        drawing=Drawing(GRID), run=settings_of(several()), examples=found,
        simulated=False,
    )  # fmt: skip
    run = log.run
    for made in (0, 1, log.triangles, log.triangles + 1, len(log.records)):
        whole = made >= len(log.records)
        part = replace(run, records=run.records[:made], release=run.release if whole else None)
        save_session(tmp_path / "a.geodp", work, part)
        opened = load_session(tmp_path / "a.geodp")
        assert opened.run == part
        assert opened.work.run["k"] == "auto"
        again = RunLog(opened.work, part)
        assert again.triangles == min(made, log.triangles)


def test_a_run_is_read_strictly() -> None:
    lines = finished(several()).run.to_lines()
    head = json.loads(lines[0])
    head["settings"]["k"] = "some"
    with pytest.raises(DamagedFileError, match="line 1: cover: k must be a whole number"):
        RunRecord.from_lines([json.dumps(head), *lines[1:]])
    # a triangle that is no longer the last is followed by no zone
    last = finished(several()).triangles
    odd = json.loads(lines[last])
    odd["steps"] += 4
    with pytest.raises(DamagedFileError, match=f"line {last + 2}"):
        RunRecord.from_lines([*lines[:last], json.dumps(odd), *lines[last + 1 :]])


def test_the_verdict_claims_no_theorem() -> None:
    outcome = verdict(Work(run=RunSettings("cover", k="auto")))
    assert outcome.promise.startswith("Proved: nothing about the error of a run that finds k")
    assert "Measured at ε = 1" in outcome.practice


# -- the command line ------------------------------------------------------------------------


@pytest.fixture
def points(tmp_path: Path) -> Path:
    path = tmp_path / "p.csv"
    found = examples()
    rows = [f"{x},{y},{label}" for (x, y), label in zip(found.points, found.labels, strict=True)]
    path.write_text("\n".join(["x,y,label", *rows]) + "\n")
    return path


@pytest.mark.parametrize("asked", [[], ["--k", "auto"]])
def test_learn_needs_no_k(points: Path, tmp_path: Path, asked: list[str]) -> None:
    out = tmp_path / "l.geojson"
    argv = ["learn", str(points), "--grid", "64", "--learner", "cover", *asked, "-o", str(out)]
    assert main([*argv, "--seed", "5", "--quiet"]) == 0
    model = PolygonUnionLearner(k="auto", grid=GRID, seed=5)
    found = examples()
    model.fit(found.points, found.labels)
    assert read_learned(out).release == model.release_


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["learn", "P", "--learner", "discs", "--k", "auto"], "it is for --learner cover"),
        (["learn", "P", "--learner", "cover", "--k", "some"], "--k"),
        (["learn", "P", "--learner", "cover", "--alpha", "0.1"], "give --k K, or no --alpha"),
        (["plan", "--theorem", "set-cover", "--k", "auto"], "--k auto means nothing to a theorem"),
    ],
)
def test_where_k_is_needed_it_is_asked_for(points, tmp_path, capsys, argv, reason):
    given = [str(points) if word == "P" else word for word in argv]
    out = ["-o", str(tmp_path / "l.geojson"), "--grid", "64"] if argv[0] == "learn" else []
    assert main([*given, *out]) == 2
    assert reason in capsys.readouterr().err


def test_plan_says_that_nothing_is_proved(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--learner", "cover", "--n", "10000"]) == 0
    assert "Nothing is proved of the error of a cover that finds k" in capsys.readouterr().out
    found = printed(capsys, "plan", "--learner", "cover", "--n", "10000")
    assert (found["k"], found["proved"], found["in_practice"]) == ("auto", False, [])
    assert math.isclose(found["epsilon"], 1)


def test_compare_needs_no_k(points, tmp_path, capsys):
    folder = tmp_path / "shapes"
    argv = ["compare", str(points), "--learners", "cover", "--seed", "1", "--grid", "64"]
    assert main([*argv, "--json", "--quiet", "-o", str(folder)]) == 0
    (row,) = json.loads(capsys.readouterr().out)["learners"]
    assert (row["name"], row["epsilon"]) == ("cover", 1.0)
    assert dict(read_learned(Path(row["file"])).release.parameters)["k"] == "auto"
