"""Numbers of examples of every theorem: both directions agree, and errors say what is missing."""

import math

import pytest
from terminal import printed

from geodp_app.cli import main
from learners.theory.theorems import (
    PARAMETERS,
    THEOREMS,
    Theorem,
    alpha_for,
    examples_for,
    find_theorem,
)

#: Enough for any theorem; epsilon is small, or privacy says nothing about generalization.
EVERYTHING = {
    "k": 3, "d": 32, "size": 1000, "vc": 4, "experts": 7,
    "epsilon": 0.05, "delta": 1e-6, "neighbours": "replace-one",
    "queries": 700_000, "halts": 3, "gamma": 0.001, "stable": 0.5,
}  # fmt: skip

BETA = 0.01

by_name = pytest.mark.parametrize("theorem", THEOREMS, ids=lambda theorem: theorem.name)


def n_for(theorem: Theorem, alpha: float) -> int:
    found = examples_for(theorem, alpha, BETA, EVERYTHING)
    assert found is not None
    return found


@by_name
def test_the_number_for_an_error_gives_it_back(theorem: Theorem) -> None:
    for asked in (0.1, 0.05, 0.0123):
        n = examples_for(theorem, asked, BETA, EVERYTHING)
        if n is None:  # so little is not proved of any number
            continue
        alpha = alpha_for(theorem, n, BETA, EVERYTHING)
        assert alpha <= asked
        if asked == 0.1:
            # widths of soft labels are 1 over a whole number: 0.0938 takes as many
            assert alpha > 0.0937
            assert n_for(theorem, alpha) <= n
        assert alpha_for(theorem, 1, BETA, EVERYTHING) is None
        # three digits: what is printed is no less than what is proved
        assert float(f"{alpha:.3g}") == alpha


@pytest.mark.parametrize("name", ["vc", "vc-agnostic", "queries", "labels"])
@pytest.mark.parametrize("dimension", [10**6, 10**9, 10**30])
def test_a_huge_dimension_is_no_work(name: str, dimension: int) -> None:
    theorem = find_theorem(name)
    asked = EVERYTHING | {"vc": dimension}
    n = examples_for(theorem, 0.1, BETA, asked)
    assert n is None or n > dimension


@by_name
def test_less_error_takes_more_examples(theorem: Theorem) -> None:
    numbers = [n_for(theorem, alpha) for alpha in (0.12, 0.1, 0.08)]
    assert numbers == sorted(set(numbers))


@by_name
def test_what_is_missing_is_named(theorem: Theorem) -> None:
    assert set(theorem.needs) <= set(PARAMETERS)
    for name in theorem.needs:
        with pytest.raises(ValueError, match=rf"needs {name} \("):
            examples_for(theorem, 0.1, BETA, {**EVERYTHING, name: None})


@pytest.mark.parametrize(("alpha", "beta"), [(0, 0.1), (1, 0.1), (math.nan, 0.1), (0.1, 1)])
def test_errors_outside_0_to_1_are_refused(alpha: float, beta: float) -> None:
    for theorem in THEOREMS:
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            examples_for(theorem, alpha, beta, EVERYTHING)


def test_privacy_costs_examples_and_composition_by_set_cover_saves_some() -> None:
    at = {name: n_for(find_theorem(name), 0.1) for name in (
        "conjunction", "conjunction-naive", "conjunction-greedy", "occam", "private-finite",
        "laplace-losses", "parity", "private-parity", "vc", "vc-lower", "experts",
        "private-experts",
    )}  # fmt: skip
    assert at["conjunction-greedy"] < at["conjunction"] < at["conjunction-naive"]
    assert at["occam"] < at["private-finite"] < at["laplace-losses"]
    assert at["parity"] < at["private-parity"]
    assert at["vc-lower"] < at["vc"]
    assert at["experts"] < at["private-experts"]


def test_a_smaller_class_of_conjunctions_needs_fewer_examples() -> None:
    for name in ("consistent", "private-consistent"):
        known, every = (find_theorem(f"{kind}-{name}") for kind in ("monotone", "conjunction"))
        assert n_for(known, 0.1) < n_for(every, 0.1)


def test_plan_asks_a_theorem_in_both_directions(capsys: pytest.CaptureFixture[str]) -> None:
    ask = ["plan", "--theorem", "occam", "--size", "1000", "--beta", "0.01"]
    outcome = printed(capsys, *ask)
    assert outcome["n"] == n_for(find_theorem("occam"), 0.1)
    assert outcome["exact"] is True
    assert main([*ask, "--n", str(outcome["n"])]) == 0
    assert "examples suffice for alpha = 0.0" in capsys.readouterr().out
    assert main([*ask, "--n", "1"]) == 0
    assert "void" in capsys.readouterr().out


def test_plan_lists_the_theorems(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--theorems"]) == 0
    shown = capsys.readouterr().out
    assert all(f"{theorem.name}: {theorem.promise}" in shown for theorem in THEOREMS)
    assert [one["theorem"] for one in printed(capsys, "plan", "--theorems")] == [
        theorem.name for theorem in THEOREMS
    ]


@pytest.mark.parametrize(
    ("asked", "outcome"),
    [
        (["--theorem", "occam"], "theorem 'occam' needs size"),
        (["--theorem", "ockham"], "unknown theorem 'ockham': use one of cover, convex-cover"),
        (["--theorem", "vc-lower", "--vc", "3"], "alpha up to 1/8 and beta up to 1/100"),
        (["--theorem", "experts", "--experts", "0"], "must be at least 1, not 0"),
    ],
)
def test_plan_says_what_is_wrong(asked, outcome, capsys):
    assert main(["plan", *asked]) == 2
    shown = capsys.readouterr()
    assert outcome in shown.err
    assert shown.out == ""


def test_what_is_not_exact_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--theorem", "cover-printed", "--k", "4"]) == 0
    assert "O(.)" in capsys.readouterr().out
