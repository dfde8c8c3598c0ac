"""The envelope sampler draws from the law that the arrangement enumerates.

Every draw is exact, so chi-square must not reject: seeds are fixed, and each case is a
statement about thousands of draws.  Whole classifications of the sample are compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from compiled import compiled
from counted import counted
from dual_boxes import edges_in
from envelope_laws import (
    assert_same_law,
    factorise_everything,
    pieces_in_boxes,
    random_examples,
    score_of,
    strands_of_a_draw,
)

from geometry.columns import count_columns
from geometry.halfplane import MAX_D, HalfplaneLattice
from learners.core.records import inside_piece
from learners.core.selection import Cancelled, PieceKind, Score, SelectionProgress
from learners.envelope import race, strands, trials
from learners.envelope.boxes import NEGATIVES, ORDERS, POSITIVES, SHEETS, first_boxes, pack_sheets
from learners.envelope.compaction import compact
from learners.envelope.envelope_selection import EnvelopeSelection
from learners.envelope.target import make_target
from learners.privacy.randomness import SeededRandom

exact_value = compiled(trials.exact_value)


@pytest.mark.parametrize(
    ("d", "n", "measure", "role", "draws"),
    [
        # every pair of size, measure and role
        (8, 12, "chord", "disjunction", 1500),
        (8, 12, "paper", "conjunction", 600),
        (11, 30, "chord", "conjunction", 1150),
        (11, 30, "paper", "disjunction", 1050),
    ],
)
def test_halfplanes_follow_the_enumerated_law(
    d: int, n: int, measure: str, role: str, draws: int
) -> None:
    points, labels = random_examples(d, n, seed=d)
    selection = EnvelopeSelection(HalfplaneLattice(d, measure), "halfplane", table_bytes=1 << 18)
    rate = 0.9
    score = score_of(role, 2, labels, 3)
    assert_same_law(selection, points, labels, score, rate, draws, seed=d + n)


@pytest.mark.parametrize(
    ("measure", "role", "draws"),
    [
        ("chord", "disjunction", 1450),
        ("chord", "conjunction", 1050),
        ("paper", "disjunction", 800),
        ("paper", "conjunction", 700),
    ],
)
def test_triangles_follow_the_enumerated_law(measure: str, role: str, draws: int) -> None:
    points, labels = random_examples(8, 12, seed=3)
    selection = EnvelopeSelection(HalfplaneLattice(8, measure), "triangle", table_bytes=1 << 18)
    rate = 1.0 if measure == "chord" else 3.5
    score = score_of(role, 1, labels, 4)
    assert_same_law(selection, points, labels, score, rate, draws, seed=5, surely=0.9999)


@pytest.mark.parametrize(("d", "rate", "draws"), [(64, 3.0, 250), (1024, 4.0, 200)])
def test_triangles_of_the_papers_box_follow_the_enumerated_law(
    d: int, rate: float, draws: int
) -> None:
    """Where nearly all lines miss the square, or are steep."""
    points, labels = random_examples(d, 8, seed=3)
    selection = EnvelopeSelection(HalfplaneLattice(d, "paper"), "triangle", table_bytes=1 << 22)
    score = score_of("disjunction", 1, labels, 3)
    assert_same_law(selection, points, labels, score, rate, draws, seed=5)


def test_triangles_on_a_coarse_lattice_with_many_ties() -> None:
    points, labels = random_examples(4, 14, seed=9)
    selection = EnvelopeSelection(HalfplaneLattice(4, bits=1), "triangle", table_bytes=1 << 18)
    score = score_of("disjunction", 2, labels, 5)
    assert_same_law(selection, points, labels, score, 0.7, 850, seed=11)


def crowded_examples(d: int, n: int, side: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """As random_examples, but all within a square of that side in the middle of the grid."""
    points, labels = random_examples(side, n, seed)
    return points + d // 2, labels


@pytest.mark.parametrize(
    ("d", "side", "measure", "rate", "draws"),
    [
        (5000, 12, "chord", 2.0, 230),
        (MAX_D, 3000, "chord", 2.5, 200),
        (1024, 500, "paper", 4.0, 800),
        (5000, 2500, "paper", 4.0, 800),
    ],
)
def test_halfplanes_on_a_wide_grid_follow_the_enumerated_law(
    d: int, side: int, measure: str, rate: float, draws: int
) -> None:
    """Chord: a few cells of wide columns hold all examples, and boundaries pass between these."""
    points, labels = crowded_examples(d, 14, side, seed=3)
    selection = EnvelopeSelection(HalfplaneLattice(d, measure), "halfplane", table_bytes=1 << 22)
    score = score_of("disjunction", 1, labels, int(labels.sum()) // 2)
    assert_same_law(selection, points, labels, score, rate, draws, seed=12)


def test_triangles_on_a_wide_grid_follow_the_enumerated_law() -> None:
    points, labels = crowded_examples(MAX_D, 10, 3000, seed=3)
    selection = EnvelopeSelection(HalfplaneLattice(MAX_D), "triangle", table_bytes=1 << 24)
    score = score_of("disjunction", 1, labels, int(labels.sum()) // 2)
    assert_same_law(selection, points, labels, score, 2.8, 160, seed=13)


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
    for _ in range(300):
        piece = []
        while len(piece) < 3:
            u, v = (int(c) for c in rng.integers(lattice.low, lattice.high + 1, 2))
            if rng.random() < 0.3:
                u, v = middle, middle if measure == "chord" else 0
            if lattice.admits(u, v):
                piece.append(
                    lattice.halfplane(lattice.sheets[rng.integers(len(lattice.sheets))], u, v)
                )
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
    points, labels = random_examples(8, 12, seed=3)
    selection = EnvelopeSelection(HalfplaneLattice(8), "triangle", table_bytes=0)
    score = score_of("disjunction", 1, labels, 4)
    selected = assert_same_law(selection, points, labels, score, 1.0, 1000, seed=6)
    dropped = sum(one.details["tables_dropped"] > 0 for one in selected)
    assert dropped > len(selected) / 5


@pytest.mark.parametrize(
    ("measure", "d", "n", "rate", "draws"),
    [("chord", 11, 40, 1.2, 1000), ("paper", 64, 60, 1.5, 330)],
)
def test_the_law_survives_compactions(
    measure: str, d: int, n: int, rate: float, draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def compact_at_every_pause(monkeypatch: pytest.MonkeyPatch, work: int) -> None:
    """Strands stop after so much work, and merge boxes then until they weigh half as much again."""
    plain = strands.Strand.advance

    def advance(strand: strands.Strand, horizon: float) -> None:
        plain(strand, horizon)
        if strand.accepted is None:
            compact(strand.target, strand.partition, 0.5 * strand.mass)

    monkeypatch.setattr(strands.Strand, "advance", advance)
    monkeypatch.setattr(strands, "_WORK_PER_CALL", work)


@pytest.mark.parametrize(
    ("measure", "factorised", "work", "draws"),
    [
        ("chord", False, 20, 450),
        ("chord", True, 20, 450),
        pytest.param("paper", False, 60, 1000, marks=pytest.mark.slow),
    ],
)
def test_the_law_survives_compactions_at_any_time(
    measure: str, factorised: bool, work: int, draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    compact_at_every_pause(monkeypatch, work)
    if factorised:
        factorise_everything(monkeypatch)
        monkeypatch.setattr(strands, "_PLAIN_BOXES", 0)
    chord = measure == "chord"
    points, labels = random_examples(8, 12, seed=8 if chord else 3)
    selection = EnvelopeSelection(HalfplaneLattice(8, measure), "triangle", table_bytes=1 << 18)
    score, rate = score_of("disjunction", 1, labels, 4), 1.5 if chord else 1.8
    selected = assert_same_law(selection, points, labels, score, rate, draws, seed=14)
    compactions = [one.details["compactions"] for one in selected]
    assert sorted(compactions)[len(compactions) // 2] >= 3
    if factorised:
        assert sum(one.details["factorised"] > 0 for one in selected) > len(selected) / 2


def test_the_law_survives_full_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be merged: many draws go on from 16 boxes a strand that are as they are."""
    monkeypatch.setattr(strands, "_RISE", -1.0)
    monkeypatch.setattr(race, "_WORTH_TWO", 2)
    points, labels = random_examples(11, 30, seed=11)
    selection = EnvelopeSelection(
        HalfplaneLattice(11), "halfplane", max_boxes=1, table_bytes=1 << 18
    )
    score = score_of("disjunction", 2, labels, 3)
    selected = assert_same_law(selection, points, labels, score, 1.5, 2200, seed=8, off=0.5)
    assert max(one.progress.boxes for one in selected) == 32
    full = sum(one.details["strands_full"] > 0 for one in selected)
    assert full > len(selected) / 4


@pytest.mark.parametrize("factorised", [False, True])
def test_the_law_survives_division(factorised: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strands are divided whenever one runs alone, in most draws when others have accepted."""
    monkeypatch.setattr(race, "_WORTH_TWO", 2)
    monkeypatch.setattr(strands, "_WORK_PER_CALL", 20)
    if factorised:
        factorise_everything(monkeypatch)
        monkeypatch.setattr(strands, "_PLAIN_BOXES", 0)
    ended = []
    plain = race.divide

    def divide(strand: strands.Strand, all_of_them: Sequence[strands.Strand]) -> strands.Strand:
        ended.append(any(one.accepted is not None for one in all_of_them))
        return plain(strand, all_of_them)

    monkeypatch.setattr(race, "divide", divide)
    points, labels = random_examples(8, 12, seed=3)
    selection = EnvelopeSelection(HalfplaneLattice(8), "triangle", table_bytes=1 << 18)
    score = score_of("disjunction", 1, labels, 4)
    selected = assert_same_law(selection, points, labels, score, 1.0, 1000, seed=9)
    assert sum(ended) > len(selected) / 6
    assert len(ended) >= len(selected)


def test_the_law_survives_weighing_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masses are weighed anew again and again when hardly any loss of mass is allowed."""
    monkeypatch.setattr(race, "_LIGHT", 1e30)
    monkeypatch.setattr(strands, "_WORK_PER_CALL", 20)
    points, labels = random_examples(8, 12, seed=3)
    selection = EnvelopeSelection(HalfplaneLattice(8), "triangle", table_bytes=1 << 18)
    assert_same_law(
        selection, points, labels, score_of("disjunction", 1, labels, 4), 1.0, 1000, seed=7
    )


@pytest.mark.parametrize(
    ("piece", "d", "n", "draws", "off"),
    [("halfplane", 11, 30, 1000, 0.5), ("triangle", 8, 12, 800, 0.25)],
)
def test_the_law_survives_factorised_boxes(
    piece: PieceKind, d: int, n: int, draws: int, off: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Boxes are factorised as soon as they are first drawn in vain."""
    factorise_everything(monkeypatch)
    monkeypatch.setattr(strands, "_PLAIN_BOXES", 0)
    points, labels = random_examples(d, n, seed=d)
    selection = EnvelopeSelection(HalfplaneLattice(d), piece, table_bytes=1 << 18)
    score = score_of("disjunction", 2, labels, 4)
    rate = 0.75 if piece == "halfplane" else 1.0
    selected = assert_same_law(selection, points, labels, score, rate, draws, seed=12, off=off)
    factorised = sum(one.details["factorised"] > 0 for one in selected)
    assert factorised > len(selected) / 2


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
    others = []
    for _ in range(3000):
        u, v = (int(x) for x in rng.integers(selection.lattice.low, selection.lattice.high, 2))
        if selection.lattice.admits(u, v):
            sheet = selection.lattice.sheets[rng.integers(4)]
            held = selection.lattice.halfplane(sheet, u, v).contains(points)
            others.append(score.value(int((held & labels).sum()), int((held & ~labels).sum())))
    assert value >= max(others) - 20


def test_bounds_never_fall_below_a_value() -> None:
    """After thousands of splits every box's bound is at least the value of pieces inside it."""
    rng = np.random.default_rng(2)
    points = rng.integers(0, 65, (2000, 2))
    labels = (np.abs(points - 30).sum(axis=1) < 20) ^ (rng.random(2000) < 0.05)
    selection = EnvelopeSelection(HalfplaneLattice(64), "triangle")
    score = score_of("disjunction", 2, labels, int(labels.sum()))
    checked = 0
    for strand in strands_of_a_draw(selection, counted(points, labels, 64), score, 0.4):
        for box, piece in pieces_in_boxes(strand, selection.lattice, 400, rng):
            held = inside_piece(piece, points)
            assert np.count_nonzero(held & labels) <= box[POSITIVES]
            assert np.count_nonzero(held & ~labels) >= box[NEGATIVES]
            checked += 1
    assert checked > 200


def test_the_boxes_always_cover_the_class() -> None:
    """Lattice points of the admitted boxes add up, before and after refinement."""
    for measure in ("chord", "paper"):
        lattice = HalfplaneLattice(3, measure, bits=1)
        covered = Counter(
            edge
            for box in first_boxes(lattice, 1)
            for edge in edges_in(lattice, int(box[SHEETS]) & 7, tuple(box[:4].tolist()))
        )
        assert set(covered.values()) == {1}
        assert len(covered) == len(lattice.sheets) * lattice.points_per_sheet


def test_ordered_triples_are_counted_once_each() -> None:
    lattice = HalfplaneLattice(1, bits=0)
    weights = Counter(int(box[ORDERS]) for box in first_boxes(lattice, 3))
    rectangles = len(lattice.sheets) * 5
    assert sum(orders * count for orders, count in weights.items()) == rectangles**3
    assert weights == {1: rectangles, 3: rectangles * (rectangles - 1), 6: 1140}


def test_a_seed_repeats_the_draw_and_threads_decide_nothing() -> None:
    points, labels = random_examples(64, 500, seed=1)
    selection = EnvelopeSelection(HalfplaneLattice(64), "triangle")
    score = score_of("disjunction", 2, labels, 40)
    counts = counted(points, labels, 64)
    first = selection.select(counts, score, 0.3, SeededRandom(4)).piece
    assert all(
        selection.select(counts, score, 0.3, SeededRandom(4)).piece == first for _ in range(5)
    )


def test_cancelling_from_the_watch_releases_nothing() -> None:
    points, labels = random_examples(1024, 20_000, seed=1)
    selection = EnvelopeSelection(HalfplaneLattice(1024), "triangle")
    seen: list[SelectionProgress] = []

    def stop(progress: SelectionProgress) -> None:
        seen.append(progress)
        raise Cancelled

    with pytest.raises(Cancelled):
        selection.select(counted(points, labels, 1024), score_of("disjunction", 1, labels, 5000),
                         5.0, SeededRandom(1), stop)  # fmt: skip
    assert len(seen) == 1
    assert seen[0].trials > 0
