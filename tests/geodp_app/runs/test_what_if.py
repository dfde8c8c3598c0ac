"""Candidates in place of a chosen halfplane: their counts, and their odds under the law."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from geodp_app.runs.protocol import ShadeQuestion
from geodp_app.runs.questions import Candidate, WhatIf, odds_words
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from learners.core.records import Piece
from learners.core.selection import Score, mistakes_score, set_cover_score

LATTICE = HalfplaneLattice(3, "chord", 1)
#: All halfplanes of all sheets: few enough to sum over.
CLASS = [
    LATTICE.halfplane(sheet, u, v)
    for sheet in LATTICE.sheets
    for u in range(LATTICE.low, LATTICE.high + 1)
    for v in range(LATTICE.low, LATTICE.high + 1)
    if LATTICE.admits(u, v)
]
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


def holds(halfplane: Halfplane, x: int, y: int) -> bool:
    """By the boundary's height at the point, in exact halves of a grid step."""
    ends, d = (halfplane.u, halfplane.v), LATTICE.d
    at, height = (x, y) if halfplane.sheet.flat else (y, x)
    gap = 2 * d * height - ((d - at) * ends[0] + at * ends[1])
    return gap >= 0 if halfplane.sheet in (Sheet.FLAT_ABOVE, Sheet.STEEP_RIGHT) else gap <= 0


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
def test_counts_scores_and_odds_are_those_of_the_exponential_mechanism(
    name: str, edge: int, others: Piece
) -> None:
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
    words = odds_words(log_odds)
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
        assert odds_words(log_odds) == "as likely as the chosen one"
