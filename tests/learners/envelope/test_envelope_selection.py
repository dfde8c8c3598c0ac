"""The envelope sampler draws from the law that the arrangement enumerates.

Every draw is exact, so chi-square must not reject: seeds are fixed, and each case is a
statement about thousands of draws.  Whole classifications of the sample are compared.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from any_pieces import any_halfplane
from compiled import compiled
from counted import counted
from envelope_laws import (
    assert_same_law,
    factorise_everything,
    random_examples,
    score_of,
)

from geometry.columns import count_columns
from geometry.grid_counts import GridCounts
from geometry.halfplane import MAX_D, HalfplaneLattice
from learners.core.records import inside_piece
from learners.core.selection import PieceKind, Score, Selected
from learners.envelope import envelope_selection, race, strands, trials
from learners.envelope.boxes import pack_sheets
from learners.envelope.envelope_selection import EnvelopeSelection, RefinedSelection
from learners.envelope.target import make_target
from learners.privacy.randomness import RandomSource, SeededRandom

exact_value = compiled(trials.exact_value)

COVER, CUT = "disjunction", "conjunction"


def triangles(draws: int, seed: int, table_bytes: int = 1 << 18) -> list[Selected]:
    """Draws of triangles that must follow the enumerated law."""
    points, labels = random_examples(8, 12, seed=3)
    selection = EnvelopeSelection(HalfplaneLattice(8), "triangle", table_bytes=table_bytes)
    score = score_of("disjunction", 1, labels, 4)
    return assert_same_law(selection, points, labels, score, 1.0, draws, seed)


@pytest.mark.parametrize(
    ("piece", "lattice", "n", "side", "sampled", "role", "k", "noisy", "rate", "draws", "seed"),
    [
        # every pair of a piece, a measure and a role
        ("halfplane", HalfplaneLattice(8), 12, 8, 8, COVER, 2, 3, 0.9, 1500, 20),
        ("halfplane", HalfplaneLattice(8, "paper"), 12, 8, 8, CUT, 2, 3, 0.9, 600, 20),
        ("triangle", HalfplaneLattice(8), 12, 8, 3, CUT, 1, 4, 1.0, 1050, 5),
        ("triangle", HalfplaneLattice(8, "paper"), 12, 8, 3, COVER, 1, 4, 3.5, 800, 5),
        # nearly all lines miss the square, or are steep
        ("triangle", HalfplaneLattice(64, "paper"), 8, 64, 3, COVER, 1, 3, 3.0, 250, 5),
        # many ties
        ("triangle", HalfplaneLattice(4, bits=1), 14, 4, 9, COVER, 2, 5, 0.7, 850, 11),
        # a few cells of wide columns hold all examples, and boundaries pass between these
        ("halfplane", HalfplaneLattice(5000), 14, 12, 3, COVER, 1, None, 2.0, 230, 12),
        ("triangle", HalfplaneLattice(MAX_D), 10, 3000, 3, COVER, 1, None, 2.8, 160, 13),
        # not so in the measure of the paper
        ("halfplane", HalfplaneLattice(5000, "paper"), 14, 2500, 3, COVER, 1, None, 4.0, 800, 12),
    ],
)  # fmt: skip
def test_draws_follow_the_enumerated_law(
    piece: PieceKind, lattice: HalfplaneLattice, n: int, side: int, sampled: int, role: str, k: int,
    noisy: int | None, rate: float, draws: int, seed: int,
) -> None:  # fmt: skip
    """Examples lie in a square of that side, in the middle if it is not the whole."""
    points, labels = random_examples(side, n, sampled)
    points += lattice.d // 2 * (side < lattice.d)
    room = 1 << (18 if lattice.d < 64 else 24)
    selection = EnvelopeSelection(lattice, piece, table_bytes=room)
    score = score_of(role, k, labels, int(labels.sum()) // 2 if noisy is None else noisy)
    surely = 0.9999 if (piece, lattice.d) == ("triangle", 8) else 0.995
    assert_same_law(selection, points, labels, score, rate, draws, seed, surely=surely)


@pytest.mark.parametrize("measure", ["chord", "paper"])
@pytest.mark.parametrize("d", [30, 4097, 2**16 + 3, MAX_D])
def test_the_exact_value_is_the_score(d: int, measure: str) -> None:
    """Also with vertical boundaries; a value below what is asked for may be any value below."""
    rng = np.random.default_rng(d)
    lattice = HalfplaneLattice(d, measure)
    points = rng.integers(0, d + 1, (400, 2))
    points[:100] = d // 3 + rng.integers(-(d // 1000), d // 1000 + 1, (100, 2))
    labels = rng.random(400) < 0.5
    totals = count_columns(counted(points, labels, d))
    basis = np.array(lattice.basis)
    middle = (d // 3) << lattice.bits
    for _ in range(120):
        upright = [lattice.halfplane(sheet, middle, middle * (measure == "chord"))
                   for sheet in lattice.sheets]  # fmt: skip
        piece = [
            rng.choice(upright) if rng.random() < 0.3 else any_halfplane(lattice, rng)
            for _ in range(3)
        ]
        held = inside_piece(tuple(piece), points)
        positives, negatives = int((held & labels).sum()), int((held & ~labels).sum())
        theta = np.array([c for h in piece for c in (h.u, h.v)])
        sheets = pack_sheets(tuple(int(h.sheet) for h in piece))
        for score in (
            Score(1, 0, 1000),
            Score(2, 1000, 0),
            Score(3, -50, 20),
            Score(1, -80, 0, total=True),
        ):
            value = score.value(positives, negatives)
            target = make_target(lattice, score, 1.0, len(points))
            for least in (value - 7, value, value + 1, value + 40):
                for most in (positives, positives + 30):
                    got = exact_value(target, totals, basis, sheets, theta, least, most)
                    assert got == value if least <= value else got < least


def test_the_law_survives_dropped_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables hold so few lines that they are dropped and made anew in many draws."""
    monkeypatch.setattr(race, "_WORTH_TWO", 2)
    selected = triangles(1000, seed=6, table_bytes=0)
    dropped = sum(one.details["tables_dropped"] > 0 for one in selected)
    assert dropped > len(selected) / 5


@pytest.mark.parametrize(
    ("measure", "d", "n", "rate", "draws"),
    [("chord", 11, 40, 1.2, 1000), ("paper", 64, 60, 1.5, 330)],
)
def test_the_law_survives_compactions(measure, d, n, rate, draws, monkeypatch):
    """There is little more room than for the first boxes: most draws merge boxes several times."""
    monkeypatch.setattr(race, "_WORTH_TWO", 2)
    points, labels = random_examples(d, n, seed=d)
    lattice = HalfplaneLattice(d, measure)
    selection = EnvelopeSelection(lattice, "halfplane", max_boxes=1, table_bytes=1 << 18)
    score = score_of("disjunction", 2, labels, 20)
    selected = assert_same_law(selection, points, labels, score, rate, draws, seed=8)
    compactions = [one.details["compactions"] for one in selected]
    assert sorted(compactions)[len(compactions) // 4] >= 3
    assert max(one.progress.boxes for one in selected) <= 32


def test_the_law_survives_weighing_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masses are weighed anew again and again when hardly any loss of mass is allowed."""
    monkeypatch.setattr(race, "_LIGHT", 1e30)
    monkeypatch.setattr(strands, "_WORK_PER_CALL", 20)
    triangles(1000, seed=7)


class RefinedAhead(EnvelopeSelection):
    """Its draws find boxes that were refined for another score, at another rate."""

    def select(
        self, counts: GridCounts, score: Score, rate: float, source: RandomSource, *_: Any
    ) -> Selected:
        refined = RefinedSelection(EnvelopeSelection(self.lattice, self.piece, table_bytes=1 << 18))
        refined.expect(counts, replace(score, c_pos=score.c_pos - 3), 0.4 * rate)
        refined.refine(lambda: False)
        return refined.select(counts, score, rate, source)


@pytest.mark.parametrize(
    ("factorised", "piece", "d", "n", "rate", "draws", "off"),
    [(False, "halfplane", 11, 30, 0.75, 1000, 0.5), (True, "triangle", 8, 12, 1.0, 800, 0.25)],
)
def test_the_law_survives_boxes_that_were_refined_ahead(
    factorised, piece, d, n, rate, draws, off, monkeypatch
) -> None:
    if factorised:
        factorise_everything(monkeypatch)
    monkeypatch.setattr(race, "_WORTH_TWO", 2)
    monkeypatch.setattr(envelope_selection, "_DRAWS_AHEAD", 2)
    points, labels = random_examples(d, n, seed=d)
    selection = RefinedAhead(HalfplaneLattice(d), piece, table_bytes=1 << 18)
    score = score_of("disjunction", 2, labels, 4)
    assert_same_law(selection, points, labels, score, rate, draws, seed=12, off=off)


def test_a_score_far_below_the_first_bound_is_found() -> None:
    """Every piece loses thousands of nats: masses would underflow if they were not weighed anew."""
    rng = np.random.default_rng(0)
    points = rng.integers(0, 33, (20_000, 2))
    labels = rng.random(20_000) < 0.5
    selection = EnvelopeSelection(HalfplaneLattice(32), "halfplane")
    score = score_of("disjunction", 1, labels, int(labels.sum()))
    drawn = selection.select(counted(points, labels, 32), score, 1.0, SeededRandom(1))
    held = inside_piece(drawn.piece, points)
    value = score.value(int((held & labels).sum()), int((held & ~labels).sum()))
    assert value < -4000
    # nothing else among many random pieces comes near
    for _ in range(2000):
        held = any_halfplane(selection.lattice, rng).contains(points)
        other = score.value(int((held & labels).sum()), int((held & ~labels).sum()))
        assert value >= other - 20
