"""The sentences beside n, and warnings of budgets that protect hardly anybody."""

import itertools
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from every_learner import every_release
from terminal import fails, geodp

from assets import examples
from geodp import Examples, Frame
from geodp_app.document.document import Document
from geodp_app.document.work import RunSettings, Work
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.files.points import format_examples
from geodp_app.progress import warn_of_budget
from geodp_app.runs.learner_process import make_learner
from geodp_app.runs.settings_advice import CARDS, THEOREMS, answer, verdict
from geodp_app.runs.why import published_words
from geometry.halfplane import HalfplaneLattice
from geometry.lift import ConicLattice
from learners import ConvexPolygonLearner, PolygonUnionLearner, ThresholdLearner
from learners.core.releases import CoverRelease
from learners.cover.set_cover import Finish
from learners.privacy.accounting import budget_warning
from learners.theory.theorems import alpha_for, examples_for, find_theorem

SQUARE = Drawing(64, (Shape(((8, 8), (40, 8), (40, 40), (8, 40))),))


def work(n: int, **run: object) -> Work:
    base = Work(drawing=SQUARE)
    settings = base.run.with_(**{"learner": "cover", "k": 1, **run})
    return replace(base, sampling=replace(base.sampling, n=n), run=settings)


def test_few_examples_promise_nothing_and_say_so() -> None:
    outcome = verdict(work(100))
    assert "nothing below error 50\u00a0%" in outcome.promise
    assert "privacy holds" in outcome.promise
    assert "No estimate is made" in outcome.practice  # its grid is small


@pytest.mark.parametrize("run", [{"finish": "none"}, {}])
def test_one_example_is_spoken_of_as_one(run: dict[str, object]) -> None:
    outcome = verdict(work(1, **run))
    assert "for 1 example" in outcome.promise
    assert not re.search(r"\b1 \w+s\b", f"{outcome.promise} {outcome.practice} {outcome.warning}")


def test_the_promise_is_the_theorems() -> None:
    n = 10_000_000
    asked = {"k": 1, "d": 64, "epsilon": 1.0, "delta": 1e-6, "neighbours": "add-remove"}
    alpha = alpha_for(find_theorem("cover"), n, 0.1, asked)
    promise = verdict(work(n, finish="none")).promise
    told = re.search(r"error at most ([\d.]+)\u00a0% with probability 0.9, with \d+ steps", promise)
    # what is promised holds: it is rounded up
    assert alpha <= float(told[1]) / 100 <= 1.01 * alpha
    assert promise.endswith("if one triangle fits the shape exactly.")


@pytest.mark.parametrize(("epsilon", "rate"), [(1.0, 1.0), (100.0, 16.0)])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_the_promise_for_one_triangle_is_that_of_a_draw_from_all(epsilon, rate, neighbours):
    """By the exponential mechanism's tail: no more than size * exp(-rate * mistakes) beyond."""
    n, lattice = 10_000, HalfplaneLattice(64)
    promise = verdict(work(n, epsilon=epsilon, neighbours=neighbours, finish="sharpen")).promise
    outcome = re.search(r"error at most ([\d.]+)\u00a0% with probability 0.9", promise)
    size = (lattice.points_per_sheet * len(lattice.sheets)) ** 3
    if neighbours == "replace-one":
        rate = min(16.0, epsilon / 2)
    sure = find_theorem("private-finite").sizes
    wanted = {"size": size, "beta": 0.1, "epsilon": rate, "neighbours": "add-remove"}
    alpha = float(outcome[1]) / 100
    assert sure(alpha=1.1 * alpha, **wanted) <= n < sure(alpha=0.9 * alpha, **wanted)


def test_a_seeded_run_and_a_greedy_one_are_not_called_private() -> None:
    assert "not private" in verdict(work(1_000, seed=3)).promise
    assert "No privacy" in verdict(work(1_000, learner="greedy-cover")).promise


def on_grid(n: int, **run: object) -> Work:
    """As `work`, on a grid of the size that was measured."""
    made = work(n, **run)
    return replace(made, drawing=Drawing(1024))


def test_a_hopeless_sample_is_called_so() -> None:
    outcome = verdict(on_grid(30, learner="tiles", epsilon=0.3)).practice
    assert outcome.startswith("Hopeless: with 30 examples at ε = 0.3 the noise is larger")
    assert "Expect to learn nothing." in outcome
    assert "Hopeless" not in verdict(on_grid(1_000, learner="tiles")).practice


def test_covers_by_several_triangles_say_what_was_measured_and_when() -> None:
    measured = {
        "sharpen": (
            "the right k given", "5.9 % with 1,000 examples, 0.94 % with 10,000", "errors of 3–8 %"
        ),
        "none": (
            "k from the drawing", "3.4 % with 10,000 examples, 2.5 % with 20,000",
            "errors of 15–19 %",
        ),
    }  # fmt: skip
    for finish, (k_words, few_words, many_words) in measured.items():
        few = verdict(on_grid(9_000, learner="cover", k=5, finish=finish)).practice
        assert f"with {k_words}" in few
        assert f"mean errors of {few_words}" in few
        assert "no estimate is made" in few
        many = verdict(on_grid(9_000, learner="cover", k=6, finish=finish)).practice
        assert "with k = 12" in many
        assert f"where tiles had 2–3 %: {many_words}" in many


def test_of_sharpened_edges_no_error_is_proved() -> None:
    outcome = verdict(on_grid(9_000, learner="cover", k=2, finish="sharpen"))
    assert outcome.promise.startswith("Proved: nothing about the error of sharpened edges")
    assert "sharpened" not in verdict(on_grid(9_000, learner="cover", k=2, finish="none")).promise


@pytest.mark.parametrize(
    ("n", "run", "reason"),
    [
        (9_000, {"epsilon": 30.0}, "ε was measured from 0.1 to 10, not at 30"),
        (9_000_000, {}, "not at 9,000,000"),
        (9_000, {"learner": "cover", "k": 1, "delta": 1e-9}, "δ = 1e-06"),
    ],
)
def test_what_was_not_measured_is_not_estimated(n, run, reason):
    outcome = verdict(on_grid(n, **{"learner": "tiles", **run})).practice
    assert outcome.startswith("No estimate is made: ")
    assert reason in outcome


@pytest.mark.parametrize("k", [2, 12, "auto"])
def test_what_was_measured_by_another_measure_is_not_told(k: int | str) -> None:
    assert verdict(work(10_000, k=k)).practice.startswith("Measured at ε = 1")
    outcome = verdict(work(10_000, k=k, measure="paper")).practice
    assert outcome == "No estimate is made: only runs with the chord measure were measured."


def test_what_support_takes_of_epsilon_is_told() -> None:
    outcome = verdict(on_grid(9_000, learner="tiles", epsilon=2.0, support=0.5)).practice
    plain = verdict(on_grid(9_000, learner="tiles")).practice
    assert outcome == f"{plain} The rest of ε is for support."
    # of a learner that releases none it takes nothing
    kept = verdict(on_grid(9_000, learner="convex", support=0.5))
    assert kept == verdict(on_grid(9_000, learner="convex"))


def test_by_tiles_too_a_seed_and_a_number_of_tiles_are_told() -> None:
    outcome = verdict(on_grid(1_000, learner="tiles", seed=3, tiles=4))
    assert "not private" in outcome.promise
    assert "as many tiles as a run chooses itself" in outcome.practice


@pytest.mark.parametrize(("epsilon", "n"), [(0.1, 1_000), (1.0, 100), (10.0, 100)])
def test_the_error_of_a_threshold_is_what_runs_reach_on_average(epsilon: float, n: int) -> None:
    made = verdict(on_grid(n, learner="threshold", epsilon=epsilon)).practice
    found = re.search(r"about ([\d.]+)\u00a0% if", made)
    errors = []
    fresh = np.random.default_rng(99).integers(0, 1025, (20_000, 2))
    for seed in range(60):
        X = np.random.default_rng(seed).integers(0, 1025, (n, 2))
        model = ThresholdLearner(epsilon=epsilon, seed=seed).fit(X, X[:, 0] <= 400)
        errors.append(np.mean(model.predict(fresh) != (fresh[:, 0] <= 400)))
    assert 0.6 < 100 * np.mean(errors) / float(found[1]) < 1.6


@pytest.mark.parametrize(
    ("run", "outcome"),
    [
        ({}, ""),
        ({"learner": "tiles", "delta": 0.5}, ""),  # it has no such field
        ({"epsilon": 50.0}, "Warning: ε = 50 protects hardly anybody"),
        ({"delta": 2e-4}, "Warning: δ = 0.0002 protects hardly anybody"),  # 1/5,000
        ({"delta": 1.9e-4}, ""),
        ({"learner": "greedy-cover", "epsilon": 50.0}, ""),
    ],
)
def test_a_silly_budget_is_warned_about(run: dict[str, object], outcome: str) -> None:
    warning = verdict(work(5_000, **run)).warning
    assert warning.startswith(outcome) if outcome else warning == ""


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": -1.0}, {"delta": 2.0}, {"beta": 0.0}, {"beta": 0.0, "k": 4},
        {"learner": "tiles", "epsilon": -1.0}, {"k": "auto", "epsilon": -1.0},
    ],
)  # fmt: skip
def test_impossible_settings_are_named(change: dict[str, object]) -> None:
    assert "cannot run" in verdict(work(1_000, **change)).practice


_MOSTLY = re.compile(
    r"With so few examples at this ε up to (\d+) of the (\d+) triangles may find nothing"
    r"(?:: ([\d,]+) would do)?\."
)


@pytest.mark.parametrize("name", examples())
def test_it_is_said_which_sample_is_too_small_for_an_example(name: str) -> None:
    document = Document()
    document.open_example(name)
    run = document.work.run
    assert (run.learner, run["epsilon"]) == ("cover", 1.0)
    assert verdict(document.work).warning == ""
    if run["k"] == 1:
        return
    # with a tenth and less of its reports they would not, and it says what would do
    n, outcome = document.work.sampling.n, None
    while outcome is None:
        n //= 10
        assert n
        document.set_sampling(n=n)
        outcome = _MOSTLY.search(verdict(document.work).warning)
    noisy, steps = int(outcome[1]), int(outcome[2])
    assert steps == run.cover_steps
    assert 4 * noisy > steps
    assert outcome[3]
    document.set_sampling(n=int(outcome[3].replace(",", "")))
    assert not _MOSTLY.search(verdict(document.work).warning)


@pytest.mark.slow
@pytest.mark.parametrize("name", examples())
def test_three_quarters_of_an_examples_triangles_gain_at_its_own_settings(name: str) -> None:
    gained = []
    for seed in range(3):
        document = Document()
        document.open_example(name)
        document.set_sampling(seed=seed)
        document.sample()
        work = document.work
        assert work.examples is not None
        model = make_learner(work.run.with_(seed=seed), work.drawing.grid)
        records = model.steps(work.examples.points, work.examples.labels)
        first = itertools.takewhile(lambda record: record.release.tile is None, records)
        known = [record.diagnostics for record in first]
        gained += [each.positives_taken > each.negatives_taken for each in known]
    assert 4 * sum(gained) >= 3 * len(gained)


def test_what_may_be_published_is_all_that_was_charged_for() -> None:
    drawn = {"selections", "sharpening"}
    for name, release in every_release().items():
        if not hasattr(release, "steps"):
            continue
        outcome = published_words(release)
        charges = release.privacy.charges if release.privacy else ()
        assert all(charge.name in outcome for charge in charges if charge.name not in drawn), name
        assert ("Nothing to publish" in outcome) == (release.privacy is None), name


# the theorem's figures are those of the table of theorems, beside what accounts grant the run


@pytest.mark.parametrize("learner", ["cover", "convex-cover"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_examples_are_the_theorems(learner: str, neighbours: str) -> None:
    asked = {"k": 3, "epsilon": 0.7, "delta": 1e-7, "neighbours": neighbours}
    a = answer(RunSettings(learner, **asked), 256, 0.05, 0.2, 20_000_000)
    asked["d"] = 256
    assert a.steps == 23
    for label, name in (
        ("Order alone", "cover-printed"), ("KMMS’s constants", f"{learner}-constants"),
        ("Proved here", learner), ("By naive composition", f"{learner}-naive"),
    ):  # fmt: skip
        n = examples_for(find_theorem(name), 0.05, 0.2, asked)
        assert a.numbers[label] == (f"{n:,}",)
    reached = alpha_for(find_theorem(learner), 20_000_000, 0.2, asked)
    assert a.numbers["Error at planned n"][0] == f"{100 * reached:.2f}\u00a0%"


def test_discs_have_the_theorem_of_any_set_cover() -> None:
    found = answer(RunSettings("discs", k=2), 256, 0.05).numbers
    asked = {
        "k": 2, "size": ConicLattice(256, "disc").members, "epsilon": 1.0, "delta": 1e-6,
        "neighbours": "add-remove",
    }  # fmt: skip
    for label, name in (
        ("Proved here", "conic-cover"),
        ("KMMS’s constants", "set-cover-constants"),
    ):
        n = examples_for(find_theorem(name), 0.05, 0.1, asked)
        assert found[label][0] == f"{n:,}"
    assert found["Order alone"][0] == found["By naive composition"][0] == "–"


@pytest.mark.parametrize(("finish", "share"), [("none", 1.0), ("sharpen", 0.3)])
def test_rates_are_what_each_account_grants(finish: Finish, share: float) -> None:
    """The triangles of a run that is sharpened have three tenths of its epsilon."""
    own = {"k": 5, "epsilon": 2.0, "delta": 1e-5, "n_steps": 11, "finish": finish}
    a = answer(RunSettings("cover", **own), 256, 0.2)
    assert a.numbers["Steps m"] == ("24", "11")
    charge = PolygonUnionLearner(**own, grid=256).plan().charge("selections")
    assert a.numbers["Closed form"][1] == f"{charge.each:.4f}"
    for column, m, left in ((0, 24, 1.6), (1, 11, 1.6 * share)):
        basic, advanced, set_cover, optimal = (
            float(a.numbers[label][column]) for label in CARDS[2][2]
        )
        near = pytest.approx(left, rel=5e-3)  # four decimals are shown
        assert 2 * m * basic == near
        e = 2 * advanced
        assert e * math.sqrt(2 * m * math.log(1e5)) + m * e * math.expm1(e) == near
        assert math.expm1(set_cover) * math.log(math.e / 1e-5) == near
        assert optimal > max(basic, advanced, set_cover)


def test_a_run_without_a_number_of_steps_has_the_learners_own() -> None:
    for learner, k in (("cover", 1), ("cover", 4), ("convex-cover", 6)):
        made = PolygonUnionLearner if learner == "cover" else ConvexPolygonLearner
        found = answer(RunSettings(learner, k=k), 256).numbers
        assert found["Steps m"][1] == str(made(k=k, grid=256).plan().steps)
    for finish in ("none", "sharpen"):
        run = RunSettings("cover", k=4, finish=finish)
        assert answer(run, 256).numbers["Steps m"][1] == "8"


def test_nothing_is_told_of_what_cannot_run_or_has_no_theorem() -> None:
    with pytest.raises(ValueError, match="delta"):
        answer(RunSettings("cover", k=4, delta=1e-40, epsilon=500.0, n_steps=1_000), 256)
    with pytest.raises(ValueError, match="set k"):
        answer(RunSettings("cover", k="auto"), 256)


@pytest.mark.parametrize("learner", THEOREMS)
def test_every_card_has_its_sentence_its_numbers_and_its_source(learner: str) -> None:
    a = answer(RunSettings(learner, k=2), 256)
    assert list(a.numbers) == [label for _, _, labels in CARDS for label in labels]
    assert all(words.endswith(".") for _, words, _ in CARDS)
    assert all("KMMS" in formula for formula in a.formulas)
    assert THEOREMS[learner] in a.formulas[1]
    assert list(a.shares) == list(CARDS[2][2])
    assert max(a.shares.values()) == 1


# -- budgets that protect hardly anybody -----------------------------------------------------------


D = 64


@pytest.fixture
def points(write) -> Path:
    """3,000 examples of the half grid."""
    grid = np.random.default_rng(0).integers(0, D + 1, (3_000, 2))
    labels = (grid.sum(axis=1) <= D).astype(np.int64)
    return write("p.csv", format_examples(Examples(grid, labels, Frame(D))))


def warnings(capsys, *argv: object) -> list[str]:
    """The warnings of a command that must work."""
    assert geodp(*argv) == 0
    return re.findall(r"^geodp: warning: (.*)$", capsys.readouterr().err, re.MULTILINE)


@pytest.mark.parametrize(
    ("epsilon", "delta", "n"),
    [(1.0, 1e-6, None), (20.0, 9.9e-4, None), (1.0, 1e-6, 999_999), (0.1, 1e-5, 10_000)],
)
def test_sound_budgets_are_not_warned_about(epsilon: float, delta: float, n: int | None) -> None:
    assert budget_warning(epsilon, delta, n=n) == ""


@pytest.mark.parametrize(
    ("epsilon", "delta", "n", "outcome"),
    [
        (20.1, 1e-6, None, ["epsilon = 20.1 protects hardly anybody", "e^20.1 times"]),
        (1.0, 1e-3, None, ["delta = 0.001", "one report in 1,000 outright"]),
        (1.0, 1e-6, 1_000_000, ["delta = 1e-06", "one report in 1,000,000 outright"]),
        (30.0, 0.1, 5, ["epsilon = 30", "delta = 0.1"]),
    ],
)
def test_silly_ones_are_in_one_line(epsilon, delta, n, outcome):
    text = budget_warning(epsilon, delta, n=n)
    assert all(part in text for part in outcome)
    assert "\n" not in text


def test_a_delta_that_is_not_used_is_not_called_a_danger() -> None:
    assert budget_warning(1.0, 0.5, used=False) == (
        "delta = 0.5 would be far too large, but this learner needs none"
    )
    assert budget_warning(1.0, 1e-6, used=False, n=10**9) == ""


def released(*thresholds: int) -> CoverRelease:
    lattice = HalfplaneLattice(D)
    pieces = ((),) * len(thresholds)
    return CoverRelease("hand", lattice, (), None, "disjunction", pieces, thresholds)


def test_a_release_is_asked_for_the_number_of_examples(capsys) -> None:
    warn_of_budget(1.0, 5e-4, release=released(1_900, 10))
    assert capsys.readouterr().err == ""
    warn_of_budget(1.0, 5e-4, release=released(2_000, 10))
    assert "delta = 0.0005 protects hardly anybody" in capsys.readouterr().err
    # has been told before the run
    warn_of_budget(1.0, 5e-3, release=released(2_000, 10))
    warn_of_budget(50.0, 1e-9, release=released(2_000, 10))
    warn_of_budget(1.0, 5e-4, release=released(2_000, 10), quiet=True)
    warn_of_budget(1.0, 5e-4, release=released())
    assert capsys.readouterr().err == ""


_COVER = ["--learner", "cover", "--k", 1]
#: Half of 3,000 are to be gained: the noisy count tells 1/2,000 from 1/1,000, not from n.
_COUNTED = [*_COVER, "--finish", "none"]


@pytest.mark.parametrize(
    ("verb", "more", "outcome"),
    [
        ("learn", [], ""),
        ("learn", ["--epsilon", 50], "epsilon = 50 protects hardly anybody"),
        ("learn", [*_COVER, "--delta", 0.01], "one report in 100 outright"),
        ("learn", ["--delta", 0.01], "needs none"),
        ("learn", [*_COVER, "--delta", 0.01, "--epsilon", 50, "--quiet"], ""),
        ("learn", [*_COUNTED, "--delta", 4e-4], ""),  # 1/2,500 is more than 1/n
        ("learn", [*_COUNTED, "--delta", 9e-4], "one report in 1,111 outright"),
        ("compare", ["--epsilon", 25], "epsilon = 25"),
        ("compare", ["--epsilon", 25, "--quiet"], ""),
        ("compare", ["--learners", "greedy-cover", "--k", 1, "--epsilon", 25], ""),
        # n is public here
        ("plan", ["--json", "--delta", 5e-4, "--n", 1_999], ""),
        ("plan", ["--json", "--delta", 5e-4, "--n", 2_000], "one report in 2,000 outright"),
        ("plan", ["--epsilon", 21], "epsilon = 21"),
    ],
)
def test_commands_warn_once_and_not_when_quiet(points, tmp_path, capsys, verb, more, outcome):
    start = {
        "learn": [points, "-o", tmp_path / "h.geojson", "--seed", 1],
        "compare": [points, "--learners", "histogram,quadtree", "--seed", 1],
        "plan": ["--learner", "cover", "--k", 2],
    }[verb]
    found = warnings(capsys, verb, *start, *more)
    assert len(found) == bool(outcome)
    assert outcome in "".join(found)
    assert "3,000" not in "".join(found)


def test_a_plan_that_is_refused_says_so_alone(capsys) -> None:
    assert "measured from 0.1 to 10, not at 1000" in fails(capsys, "plan", "--epsilon", 1000)
