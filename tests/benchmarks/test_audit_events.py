"""Audits: the bound is honest, broken learners are caught, and correct ones are not."""

import itertools
import json
import math
import random
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pytest
from counted import counted
from scipy import stats
from terminal import fails

from benchmarks.audits.declared import SUBJECTS
from benchmarks.audits.events import Audit, Auditable, Event, audit, audit_pairs
from geodp_app.cli import main
from geometry.halfplane import HalfplaneLattice
from learners import ThresholdLearner
from learners.core.accuracy import clopper_pearson
from learners.core.releases import CoverRelease
from learners.core.selection import Cancelled
from learners.cover.threshold_learner import threshold_mistakes, threshold_piece
from learners.privacy.accounting import PrivacySpent


def audited(name: str, runs: int, seed: int = 1, **changes: Any) -> Audit:
    """An audit of a subject, epsilon = 1, its runs drawn from one seed."""
    subject = replace(SUBJECTS[name], **changes)
    factory = subject.factory(1.0, 1e-6, "add-remove", seed)
    return audit_pairs(factory, subject.pairs("add-remove"), subject.events, runs)


# -- the bound ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Toy:
    """A release of one number, with a claim."""

    value: int
    privacy: PrivacySpent


class ToyLearner:
    """Draws its number from a law that may depend on the sample's size alone."""

    def __init__(self, draw: Callable[[int], int], delta: float = 0.0) -> None:
        self._draw = draw
        self._delta = delta

    def fit(self, X: Any, y: Any) -> None:
        spent = PrivacySpent(1.0, self._delta, "add-remove", "basic", (), True)
        self.release_ = Toy(self._draw(len(y)), spent)


NONE: tuple[list[int], list[int]] = ([], [])
ONE: tuple[list[int], list[int]] = ([0], [0])
VALUE = {"value": lambda release: (release.value,)}


def response(coins: random.Random, p: float) -> Callable[[int], int]:
    """Randomized response: the number of examples modulo 2, true with probability p."""
    return lambda n: (n % 2) ^ (coins.random() >= p)


def test_the_bound_fails_no_more_often_than_its_confidence_says() -> None:
    """At 90 %: a learner of loss exactly 1 is put above 1 in at most one audit of ten."""
    coins = random.Random(5)
    toy = ToyLearner(response(coins, math.e / (1 + math.e)))
    found = [audit(lambda: toy, NONE, ONE, VALUE, 300, confidence=0.9) for _ in range(200)]
    failed = sum(one.refuted for one in found)
    assert failed <= stats.binom.ppf(0.999, 200, 0.1)
    # neither is it useless: the events are the right ones
    assert np.median([one.lower for one in found]) > 0.4
    assert sum(one.upper < 1 for one in found) <= stats.binom.ppf(0.999, 200, 0.1)


def test_a_search_through_accidents_finds_nothing() -> None:
    """60 outcomes whatever the sample is: an event chosen on the tested runs would show loss."""
    coins = random.Random(6)
    toy = ToyLearner(lambda n: coins.randrange(60))
    found = [audit(lambda: toy, NONE, ONE, VALUE, 480, confidence=0.9) for _ in range(120)]
    assert sum(one.lower > 0 for one in found) <= stats.binom.ppf(0.999, 120, 0.1)


def test_a_loss_is_found_up_to_the_width_of_the_interval() -> None:
    coins = random.Random(7)
    toy = ToyLearner(response(coins, math.e**1.5 / (1 + math.e**1.5)))
    found = audit(lambda: toy, NONE, ONE, VALUE, 20_000)
    assert 1.3 < found.lower < 1.5 < found.upper < 1.7
    assert found.refuted
    assert found.curve[-1] == (found.runs, found.lower)
    assert found.runs == 5_000
    assert found.searched == 10_000


def test_delta_is_taken_off() -> None:
    """A learner that tells the sample with probability 0.2, else nothing."""
    coins = random.Random(8)

    def draw(n: int) -> int:
        return n % 2 if coins.random() < 0.2 else 2

    telling = audit(lambda: ToyLearner(draw, 0.1), NONE, ONE, VALUE, 4_000)
    assert telling.refuted
    assert telling.lower > 1.5
    allowed = audit(lambda: ToyLearner(draw, 0.25), NONE, ONE, VALUE, 4_000)
    assert not allowed.refuted


def test_half_lines_are_tried_for_the_last_number() -> None:
    """A geometric shift: no single number shows as much as all from one on."""
    coins = random.Random(9)
    toy = ToyLearner(lambda n: round(coins.gauss(30 * (n % 2), 30)))
    found = audit(lambda: toy, NONE, ONE, VALUE, 8_000)
    assert found.event.limit is not None
    assert found.lower > 0.3


def test_an_event_says_what_it_holds() -> None:
    plain = Event("label", frozenset({(1,), (2,)}))
    assert plain.holds((1,))
    assert not plain.holds((0,))
    assert str(plain) == "label is 1, 2"
    limited = Event("label and count", frozenset({(1,)}), 5)
    assert limited.holds((1, 5))
    assert not limited.holds((1, 4))
    assert not limited.holds((0, 6))
    assert not limited.holds(())
    assert str(limited) == "label and count is 1, at least 5"
    assert replace(limited, upwards=False).holds((1, 4))


@pytest.mark.parametrize("runs", [1, 50, 30_000, 300_000])
def test_the_interval_is_clopper_and_pearsons_at_any_size(runs: int) -> None:
    for seen in {0, 1, runs // 100, runs // 3, runs - 1, runs}:
        lower, upper = clopper_pearson(seen, runs, 0.9995)
        low = stats.beta.ppf(0.0005, seen, runs - seen + 1) if seen else 0.0
        high = stats.beta.ppf(0.9995, seen + 1, runs - seen) if seen < runs else 1.0
        assert lower == pytest.approx(low, rel=1e-7)
        assert upper == pytest.approx(high, rel=1e-7)


def test_what_cannot_be_audited_is_refused() -> None:
    toy = ToyLearner(lambda n: 0)
    with pytest.raises(ValueError, match="at least 8"):
        audit(lambda: toy, NONE, ONE, VALUE, 7)
    with pytest.raises(ValueError, match="statistic"):
        audit(lambda: toy, NONE, ONE, {}, 100)
    with pytest.raises(ValueError, match="confidence"):
        audit(lambda: toy, NONE, ONE, VALUE, 100, confidence=1.0)

    class Bare:
        def fit(self, X: Any, y: Any) -> None:
            self.release_ = replace(SPENT_NOTHING)

    with pytest.raises(ValueError, match="claims no privacy"):
        audit(Bare, NONE, ONE, VALUE, 100)


SPENT_NOTHING = CoverRelease("x", HalfplaneLattice(2), (), None, "conjunction", (), ())


class BestSoFar(ThresholdLearner):
    """A run that half of the time is cancelled, and then returns the best that was seen."""

    coins = random.Random(3)

    def fit(self, X: Any, y: Any, **_: Any) -> Self:
        def impatient(progress: object) -> None:
            if self.coins.random() < 0.5:
                raise Cancelled

        try:
            return super().fit(X, y, watch=impatient)
        except Cancelled:
            lattice = HalfplaneLattice(self.grid)
            mistakes = threshold_mistakes(counted(X, y, self.grid), "right")
            piece = threshold_piece(lattice, "right", int(np.argmin(mistakes)))
            spent = self.plan()
            name = type(self).__name__
            self.release_ = CoverRelease(name, lattice, (), spent, "conjunction", (piece,), ())
            return self


# -- learners that are correct are not flagged -------------------------------------------------

#: Runs of which the audit says something within moments.
RUNS = {
    "threshold": 1_500, "private-parity": 1_500, "private-finite-class": 800,
    "plain-histogram-cell": 600, "histogram": 300, "plain-histogram": 300, "quadtree": 300,
    "conjunction": 400, "disjunction": 400, "discs": 300, "private-empirical-risk": 800,
    "strawman-conjunction": 400, "private-experts": 200, "stable-queries": 200, "ellipses": 300,
    "private-consistent-conjunction": 400, "private-finite-class-laplace": 400,
}  # fmt: skip


PRIVATE = [name for name, subject in SUBJECTS.items() if subject.private]


@pytest.mark.parametrize("name", PRIVATE)
def test_a_correct_learner_is_not_flagged(name: str) -> None:
    """Of others the fewest runs that there can be: their events are of their releases."""
    if name == "convex":
        pytest.skip("100 ms a run; the command audits it")
    fewest = 8 * len(SUBJECTS[name].pairs("add-remove"))
    found = audited(name, RUNS.get(name, fewest), seed=2)
    assert not found.refuted
    assert found.epsilon == 1
    assert found.delta <= 1e-6


@pytest.mark.parametrize("name", [name for name in SUBJECTS if name not in PRIVATE])
def test_a_learner_that_is_not_private_is_refuted(name: str) -> None:
    """Nissim: "where is the privacy problem?", and the hypothesis that overfits."""
    subject = SUBJECTS[name]
    factory = subject.factory(1.0, 1e-6, "add-remove", 1)
    pairs = subject.pairs("add-remove")
    found = audit_pairs(factory, pairs, subject.events, 160, claim=subject.claim(1.0, 1e-6))
    assert found.refuted, found
    assert (found.epsilon, found.delta) == (1.0, 1e-6)
    with pytest.raises(ValueError, match="say which claim"):
        audit_pairs(factory, pairs, subject.events, 160)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_pairs_are_neighbours(neighbours: Any) -> None:
    for subject in SUBJECTS.values():
        for pair in subject.pairs(neighbours, (0, 1, 3)):
            (X, y), (Z, t) = pair.sample, pair.neighbour
            if neighbours == "replace-one":
                assert np.array_equal(X, Z)
                assert np.count_nonzero(np.asarray(y) != np.asarray(t)) == 1
            else:
                assert len(np.asarray(t)) == len(np.asarray(y)) + 1
                assert np.array_equal(t[:-1], y)  # type: ignore[index]
                assert np.array_equal(Z[:-1], X)  # type: ignore[index]


# -- the command -------------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    code = main(["audit", *map(str, argv)])
    outcome = capsys.readouterr()
    return code, outcome.out, outcome.err


def test_the_command_prints_bound_and_claim(capsys, tmp_path) -> None:
    plot = tmp_path / "a.svg"
    argv = ("--learner", "threshold", "--runs", 200, "--seed", 3, "--json")
    code, out, err = run(capsys, *argv, "--plot", plot)
    assert (code, err) == (0, "")
    outcome = json.loads(out)
    assert outcome["claim"] == {"epsilon": 1.0, "delta": 0.0}
    assert 0 <= outcome["lower"] <= 1
    assert not outcome["refuted"]
    # the same seed, the same runs
    assert run(capsys, *argv)[1] == out
    picture = ET.parse(plot).getroot()
    assert picture.tag.endswith("svg")
    assert "claim: 1" in plot.read_text()
    code, out, _ = run(capsys, *argv[:-1], "--n", 1, "--neighbours", "replace-one")
    assert code == 0
    assert "claimed 1 at delta = 0: not refuted" in out
    assert "1 of label" in out


def test_the_command_tells_a_refuted_claim_by_its_exit_code(capsys, monkeypatch) -> None:
    broken = replace(SUBJECTS["threshold"], learner=BestSoFar)
    monkeypatch.setitem(SUBJECTS, "threshold", broken)
    code, out, _ = run(capsys, "--learner", "threshold", "--runs", 1200, "--seed", 1)
    assert code == 3
    assert "REFUTED" in out


def test_the_command_lists_learners_and_refuses_what_it_cannot_do(capsys, tmp_path) -> None:
    code, out, _ = run(capsys, "--learner", "list")
    assert code == 0
    assert [line.partition(":")[0] for line in out.splitlines()] == list(SUBJECTS)
    for argv, message in (
        (("--learner", "nobody"), "unknown learner 'nobody'"),
        (("--learner", "all", "--plot", tmp_path / "a.svg"), "--plot draws one"),
        (("--learner", "private-parity", "--runs", 5), "runs must be at least"),
        (
            ("--learner", "private-parity", "--plot", tmp_path / "no" / "a.svg"),
            "there is no folder",
        ),
        ((), "--learner"),
    ):
        assert message in fails(capsys, "audit", *argv)


def test_every_run_is_watched_and_has_its_own_learner() -> None:
    made: list[Auditable] = []
    subject = SUBJECTS["private-parity"]
    factory = subject.factory(1.0, 1e-6, "add-remove", 4)

    def make() -> Auditable:
        made.append(factory())
        return made[-1]

    seen: list[int] = []
    audit_pairs(make, subject.pairs("add-remove"), subject.events, 100, watch=seen.append)
    assert seen == list(range(1, len(seen) + 1))
    # one more states the claim
    assert len(made) == len(seen) + 1 == len({id(one) for one in made})
    seeds = [one.seed for one in made]  # type: ignore[attr-defined]
    assert all(b == a + 1 for a, b in itertools.pairwise(seeds))
