"""Where else a disc or an ellipse could be: counts, scores and odds against exact membership."""

import math

import numpy as np
import pytest

from geodp_app.runs.questions import ConicQuestion, centres_inside
from geometry.lift import Conic, ConicLattice
from learners.core.selection import POWER, Score, set_cover_score

RNG = np.random.default_rng(8)
POINTS = RNG.integers(0, 65, size=(400, 2))
LABELS = (POINTS[:, 0] - 30) ** 2 + (POINTS[:, 1] - 25) ** 2 < 300


def some(kind: str) -> Conic:
    lattice = ConicLattice(64, kind)
    unit = 1 << lattice.bits
    form = (13.5,) if kind == "disc" else (20.25, 9.0, -11.5)
    return lattice.conic(*(round(value * unit) for value in (31.0, 27.5, *form)))


@pytest.mark.parametrize("kind", ["disc", "ellipse"])
def test_every_pixel_counts_what_the_conic_holds_when_it_is_centred_there(kind: str) -> None:
    conic, resolution = some(kind), 23
    counts = centres_inside(conic, POINTS, resolution)
    unit, wrong = 1 << conic.lattice.bits, 0
    for i in range(resolution):
        for j in range(resolution):
            p, q = ((c + 0.5) * 64 / resolution for c in (i, j))
            # a lattice point is not the pixel's centre: points near the outline may differ
            near = [
                conic.lattice.conic(x, y, *conic.parameters[2:])
                for x in (math.floor(p * unit), math.ceil(p * unit))
                for y in (math.floor(q * unit), math.ceil(q * unit))
            ]
            held = [int(np.count_nonzero(each.contains(POINTS))) for each in near]
            wrong += not min(held) <= counts[i, j] <= max(held)
    assert wrong == 0


@pytest.mark.parametrize("kind", ["disc", "ellipse"])
def test_odds_are_those_of_the_exponential_mechanism_over_centres(kind: str) -> None:
    conic = some(kind)
    lattice = ConicLattice(64, kind, bits=0)
    chosen = lattice.conic(*(round(v / (1 << conic.lattice.bits)) for v in conic.parameters))
    score, rate = (
        set_cover_score("disjunction", 2, 120, int(LABELS.sum()), int((~LABELS).sum())),
        0.05,
    )
    question = ConicQuestion(chosen, POINTS, LABELS, score, rate)
    weights = {}
    for p in range(0, 65, 8):
        for q in range(0, 65, 8):
            other = lattice.conic(p, q, *chosen.parameters[2:])
            held = other.contains(POINTS)
            value = score.value(int((held & LABELS).sum()), int((held & ~LABELS).sum()))
            weights[p, q] = (1 - rate * value / POWER) ** -POWER
            judged = question.judge(other)
            assert judged.score == value / score.k
            assert (judged.positives, judged.negatives) == (
                (held & LABELS).sum(),
                (held & ~LABELS).sum(),
            )
    own = chosen.contains(POINTS)
    value = score.value(int((own & LABELS).sum()), int((own & ~LABELS).sum()))
    base = (1 - rate * value / POWER) ** -POWER
    for (p, q), weight in weights.items():
        odds = question.judge(lattice.conic(p, q, *chosen.parameters[2:])).log_odds
        assert odds == pytest.approx(math.log(weight / base), abs=1e-9)


def test_a_choice_that_was_not_drawn_has_no_odds() -> None:
    conic = some("disc")
    judged = ConicQuestion(conic, POINTS, LABELS, Score(1, 0, 0, total=True), 0.0).judge(conic)
    assert judged.log_odds is None
    assert "likely" not in judged.words


def test_centres_stay_in_the_square() -> None:
    question = ConicQuestion(some("disc"), POINTS, LABELS, Score(1, 0, 0), 0.1)
    assert question.at(-3.0, 5.0) is None
    assert question.at(5.0, 64.4) is None
    found = question.at(12.25, 63.5)
    assert found.centre == (12.25, 63.5)
    assert found.parameters[2:] == question.conic.parameters[2:]
