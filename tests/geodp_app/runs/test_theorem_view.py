"""The theorem's figures are those of the table of theorems, beside what accounts grant the run."""

from __future__ import annotations

import math

import pytest

from geodp_app.document.work import RunSettings
from geodp_app.runs.verdict import CARDS, THEOREMS, answer
from geometry.lift import ConicLattice
from learners import ConvexPolygonLearner, PolygonUnionLearner
from learners.cover.set_cover import Finish
from learners.theory.theorems import alpha_for, examples_for, find_theorem


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
