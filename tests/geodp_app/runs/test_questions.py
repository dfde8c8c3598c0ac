"""Candidates in place of a chosen halfplane: their counts, and their odds under the law."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from any_pieces import all_halfplanes, holds

from geodp_app.runs.protocol import ShadeQuestion
from geodp_app.runs.questions import Candidate, ConicQuestion, WhatIf, centres_inside, ratio_words
from geometry.halfplane import HalfplaneLattice, Sheet
from geometry.lift import Conic, ConicLattice
from learners.core.records import Piece
from learners.core.selection import POWER, Score, mistakes_score, set_cover_score

LATTICE = HalfplaneLattice(3, "chord", 1)
CLASS = all_halfplanes(LATTICE)
RNG = np.random.default_rng(6)
POINTS = RNG.integers(0, 4, size=(23, 2))
LABELS = POINTS.sum(axis=1) < 3
LABELS[::7] = ~LABELS[::7]
#: Most of the square, not all of it.
OTHERS: Piece = (
    LATTICE.halfplane(Sheet.FLAT_ABOVE, 1, 0),
    LATTICE.halfplane(Sheet.STEEP_LEFT, 6, 4),
)
SCORES = {
    "disjunction": set_cover_score("disjunction", 3, 14, 11, 12),
    "conjunction": set_cover_score("conjunction", 2, 9, 11, 12),
    "mistakes": mistakes_score(11),
}
ETA = 0.7


def counts(piece: Piece) -> tuple[int, int]:
    """Positive and negative examples in a piece, one by one."""
    found = [0, 0]
    for (x, y), label in zip(POINTS.tolist(), LABELS.tolist(), strict=True):
        if all(holds(halfplane, x, y) for halfplane in piece):
            found[0 if label else 1] += 1
    return found[0], found[1]


def question(score: Score, others: Piece = OTHERS, rate: float | None = None) -> ShadeQuestion:
    rate = ETA / score.k if rate is None else rate
    return ShadeQuestion(POINTS, LABELS, LATTICE, score, rate, others)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize(("edge", "others"), [(0, ()), (0, OTHERS), (1, OTHERS), (2, OTHERS)])
def test_counts_scores_and_odds_are_those_of_the_exponential_mechanism(name, edge, others):
    """Over the whole class: the odds are those of two probabilities that sum to 1."""
    score, chosen = SCORES[name], CLASS[77]
    piece = (*others[:edge], chosen, *others[edge:])
    what_if = WhatIf(question(score, others), piece, edge)
    candidates = [what_if.judge(halfplane) for halfplane in CLASS]
    values = []
    for halfplane, candidate in zip(CLASS, candidates, strict=True):
        assert candidate.piece == (*others[:edge], halfplane, *others[edge:])
        held = counts(candidate.piece)
        assert (candidate.positives, candidate.negatives) == held
        values.append(score.value(*held) / score.k)
        assert candidate.score == values[-1]
    weights = np.exp(ETA * np.array(values))
    law = weights / weights.sum()
    assert len(set(values)) > 3
    at_chosen = law[CLASS.index(chosen)]
    odds = [candidate.log_odds for candidate in candidates]
    assert odds == pytest.approx(np.log(law / at_chosen).tolist(), abs=1e-9)
    assert odds[CLASS.index(chosen)] == 0


def test_without_a_law_there_are_no_odds() -> None:
    what_if = WhatIf(question(SCORES["mistakes"], (), rate=0.0), (CLASS[5],), 0)
    candidate = what_if.judge(CLASS[9])
    assert candidate.log_odds is None
    assert "likely" not in candidate.words
    assert candidate.words.startswith(f"{candidate.positives} positive, {candidate.negatives} ")


def test_the_words_are_the_numbers() -> None:
    candidate = Candidate(OTHERS, 1234, 56, -3.25, math.log(8))
    assert candidate.words == (
        "1,234 positive, 56 negative: score −3.25; 8 times more likely than the chosen one"
    )


@pytest.mark.parametrize("log_odds", [-40.0, -9.0, -4.7, -0.5, 0.02, 1.0, 4.5, 9.1, 9.3, 700.0])
def test_odds_are_said_as_times_or_as_a_power_of_ten(log_odds: float) -> None:
    words = ratio_words(log_odds)
    found = re.fullmatch(r"(\S+) times (more|less) likely than the chosen one", words)
    assert found
    assert found.group(2) == ("more" if log_odds > 0 else "less")
    times = found.group(1)
    if times.startswith("10") and times[2:].translate(PLAIN).isdigit():
        assert int(times[2:].translate(PLAIN)) == round(abs(log_odds) / math.log(10))
        assert abs(log_odds) > math.log(1e4)
    else:
        assert float(times.replace(",", "")) == pytest.approx(math.exp(abs(log_odds)), rel=0.05)


PLAIN = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def test_what_is_as_likely_is_said_to_be() -> None:
    for log_odds in (0.0, 0.009, -0.009):
        assert ratio_words(log_odds) == "as likely as the chosen one"


# where else a disc or an ellipse could be: counts, scores and odds against exact membership

SAMPLE = np.random.default_rng(8).integers(0, 65, size=(400, 2))
INSIDE = (SAMPLE[:, 0] - 30) ** 2 + (SAMPLE[:, 1] - 25) ** 2 < 300


def some(kind: str) -> Conic:
    lattice = ConicLattice(64, kind)
    unit = 1 << lattice.bits
    form = (13.5,) if kind == "disc" else (20.25, 9.0, -11.5)
    return lattice.conic(*(round(value * unit) for value in (31.0, 27.5, *form)))


@pytest.mark.parametrize("kind", ["disc", "ellipse"])
def test_every_pixel_counts_what_the_conic_holds_when_it_is_centred_there(kind: str) -> None:
    conic, resolution = some(kind), 23
    counts = centres_inside(conic, SAMPLE, resolution)
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
            held = [int(np.count_nonzero(each.contains(SAMPLE))) for each in near]
            wrong += not min(held) <= counts[i, j] <= max(held)
    assert wrong == 0


@pytest.mark.parametrize("kind", ["disc", "ellipse"])
def test_odds_are_those_of_the_exponential_mechanism_over_centres(kind: str) -> None:
    conic, lattice, rate = some(kind), ConicLattice(64, kind, bits=0), 0.05
    chosen = lattice.conic(*(round(v / (1 << conic.lattice.bits)) for v in conic.parameters))
    score = set_cover_score("disjunction", 2, 120, int(INSIDE.sum()), int((~INSIDE).sum()))
    question = ConicQuestion(chosen, SAMPLE, INSIDE, score, rate)

    def weighed(other: Conic) -> tuple[int, int, int, float]:
        held = other.contains(SAMPLE)
        positives, negatives = int((held & INSIDE).sum()), int((held & ~INSIDE).sum())
        value = score.value(positives, negatives)
        return positives, negatives, value, (1 - rate * value / POWER) ** -POWER

    base = weighed(chosen)[3]
    for p, q in itertools.product(range(0, 65, 8), repeat=2):
        other = lattice.conic(p, q, *chosen.parameters[2:])
        positives, negatives, value, weight = weighed(other)
        judged = question.judge(other)
        assert (judged.positives, judged.negatives) == (positives, negatives)
        assert judged.score == value / score.k
        assert judged.log_odds == pytest.approx(math.log(weight / base), abs=1e-9)


def test_a_choice_that_was_not_drawn_has_no_odds() -> None:
    conic = some("disc")
    judged = ConicQuestion(conic, SAMPLE, INSIDE, Score(1, 0, 0, total=True), 0.0).judge(conic)
    assert judged.log_odds is None
    assert "likely" not in judged.words


def test_centres_stay_in_the_square() -> None:
    question = ConicQuestion(some("disc"), SAMPLE, INSIDE, Score(1, 0, 0), 0.1)
    assert question.at(-3.0, 5.0) is None
    assert question.at(5.0, 64.4) is None
    found = question.at(12.25, 63.5)
    assert found.centre == (12.25, 63.5)
    assert found.parameters[2:] == question.conic.parameters[2:]
