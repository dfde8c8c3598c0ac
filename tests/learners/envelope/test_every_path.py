"""Lemmas E1 to E4 of docs/privacy.md by brute force: every path of tiny samplers is walked.

The compiled code runs once for each outcome of its coins (:mod:`sampler_paths`), and probabilities
are summed as fractions.  So what is compared with the ideal law is the law of the code as it
stands, its rounding included.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
import pytest
from any_pieces import all_halfplanes
from counted import counted
from numba import njit
from sampler_paths import (
    Piece,
    Tape,
    Trial,
    copy_of,
    ideal_law,
    off,
    orders_in,
    piece_of,
    state_of,
    trials,
    walk,
    weight,
)

from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice
from learners.core.records import inside_piece
from learners.core.selection import Score, mistakes_score
from learners.envelope import factorised_boxes, race, strands
from learners.envelope.boxes import (
    ORDERS,
    POSITIVES,
    SHEETS,
    first_boxes,
    pack_sheets,
    pairs_across,
)
from learners.envelope.partition import BOXES, COMPACTIONS, FORGOTTEN, MIX_USED, PLAIN, SPLITS
from learners.envelope.race import divide, run_race, weigh_all
from learners.envelope.strands import Examples, Strand, start_strand
from learners.envelope.target import Expected, make_target
from learners.envelope.workspace import make_workspace
from learners.privacy.randomness import SeededRandom

#: The lattice's step is a grid unit, so that a class has few members.
LATTICE = HalfplaneLattice(2, bits=0)

#: The same with steps of a quarter: a side of 12 has cells of one step and of two.
FINE = HalfplaneLattice(2, bits=2)

#: What lemma 5 says of one draw, half of what is charged.
ROUNDING = 2.0**-39

POINTS = np.array([[0, 0], [1, 0], [2, 1], [1, 1], [0, 2], [2, 2], [1, 2]])
LABELS = np.array([1, 1, 0, 1, 0, 0, 1], dtype=bool)

SMALLER = Score(1, -3, 0)
MISTAKES = mistakes_score(int(LABELS.sum()))
RATE = 0.7

#: No score is further below a bound.
MOST = 2 * len(POINTS)

#: Every measure's prior of a piece by its edges.
PRIOR = (1.0, 0.5, 0.25, 0.125)

#: Sheet and rectangle of an edge.
Edge = tuple[int, tuple[int, int, int, int]]


@pytest.fixture(autouse=True)
def one_trial_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strands, "_WORK_PER_CALL", 0)


def box_of(*edges: Edge, orders: int = 1) -> list[int]:
    row = [0] * 16
    for e, (_, rectangle) in enumerate(edges):
        row[4 * e : 4 * e + 4] = rectangle
    row[SHEETS], row[ORDERS] = pack_sheets(tuple(sheet for sheet, _ in edges)), orders
    return row


def strand_of(
    rows: Any,
    score: Score,
    lattice: HalfplaneLattice = LATTICE,
    *,
    sample: GridCounts | None = None,
    rate: float = RATE,
    most_boxes: int = 1 << 10,
    eta: float | None = None,
) -> Strand:
    """A strand whose class is what these boxes hold; with close pairs of a sample that is given, or
    with places of both labels."""
    counts = sample or counted(POINTS.clip(max=lattice.d), LABELS, lattice.d)
    examples = Examples.of(counts, sample is not None, eta)
    assert len(examples.shared) or examples.left is not examples.totals or sample is None
    target = make_target(lattice, score, rate, counts.n, PRIOR)
    boxes = np.array(rows, dtype=np.int64)
    strand = start_strand(lattice, target, examples, boxes, SeededRandom(0), most_boxes, 1 << 16)
    weigh_all([strand])
    return strand


@njit(cache=True, nogil=True, error_model="numpy")
def factorise(
    target: Any, tables: Any, ordinates: Any, partition: Any, index: Any, work: Any
) -> Any:
    """A call of it from compiled code: it has a place in the cache, and no wrapper for Python."""
    return factorised_boxes.factorise(target, tables, ordinates, partition, index, work)


def factorised(strand: Strand) -> Strand:
    """The same with its boxes factorised, small as they are."""
    strand.workspace = strand.workspace or make_workspace()
    for index in range(strand.partition.tally[BOXES]):
        strand.partition.tree[len(strand.partition.boxes) + index] = math.inf
        assert factorise(
            strand.target, strand.tables, strand.ordinates, strand.partition, index,
            strand.workspace,
        )  # fmt: skip
    return strand


def value_of(piece: Piece, score: Score, d: int = LATTICE.d) -> int:
    """By looking at each example."""
    inside = inside_piece(piece, POINTS.clip(max=d))
    return score.value(int((inside & LABELS).sum()), int((inside & ~LABELS).sum()))


def law_of(rows: Any, score: Score, lattice: HalfplaneLattice = LATTICE) -> dict[Piece, Fraction]:
    pieces = orders_in(rows, lattice, PRIOR)
    return ideal_law(pieces, lambda piece: value_of(piece, score), RATE)


def assert_every_path(
    strand: Strand,
    law: dict[Piece, Fraction],
    depth: int,
    states: int,
    lattice: HalfplaneLattice = LATTICE,
) -> tuple[Fraction, list[Strand]]:
    """After each trial, what is accepted has the ideal law; what is left, and where it stands."""
    left = Fraction(1)
    met = []
    for accepted, undecided, followed in walk(strand, lattice, MOST, depth, states):
        assert off(accepted, law) < ROUNDING
        assert undecided < left
        left = undecided
        met += followed
    assert all(one.partition.tally[FORGOTTEN] == 0 for one in met)
    return left, met


# -- a changing partition ----------------------------------------------------------------------

FLAT = [box_of((0, (0, 3, 0, 2))), box_of((1, (-1, 1, 0, 2)))]
STEEP = [box_of((2, (0, 2, 0, 2)), (3, (0, 2, 0, 2)), orders=2), box_of((2, (1, 3, 1, 3)))]


@pytest.mark.parametrize("score", [SMALLER, MISTAKES])
@pytest.mark.parametrize("rows", [FLAT, STEEP])
def test_every_path_of_halved_boxes(rows: Any, score: Score) -> None:
    left, met = assert_every_path(strand_of(rows, score), law_of(rows, score), 6, 8)
    assert left < 0.4
    assert max(one.partition.tally[BOXES] for one in met) > len(rows)


def test_every_path_of_boxes_bounded_by_close_pairs() -> None:
    """A grid of positives with two negatives in their midst."""
    lattice = HalfplaneLattice(3, bits=0)
    points = np.array(list(itertools.product(range(4), repeat=2)))
    labels = np.ones(16, dtype=bool)
    labels[[3, 10]] = False
    rows = [box_of((1, (0, 3, 0, 3)), (3, (0, 2, 1, 4)))]
    score = mistakes_score(14)
    strand = strand_of(rows, score, lattice, sample=counted(points, labels, 3), rate=0.3)
    assert pairs_across(strand.partition.boxes[0]) > 0

    def value(piece: Piece) -> int:
        inside = inside_piece(piece, points)
        return -int(np.count_nonzero(inside != labels))

    law = ideal_law(orders_in(rows, lattice, PRIOR), value, 0.3)
    left, _ = assert_every_path(strand, law, 3, 3, lattice)
    assert left < 0.8


#: Two examples of either label in the middle, and two elsewhere.
CROWD = np.array([[1, 1]] * 4 + [[0, 2], [2, 1]])
CROWD_LABELS = np.array([1, 1, 0, 0, 1, 0], dtype=bool)
CROWD_ROWS = [box_of((0, (0, 3, 0, 3))), box_of((1, (0, 2, 0, 2)))]


def crowd_value(piece: Piece) -> int:
    inside = inside_piece(piece, CROWD)
    return SMALLER.value(int((inside & CROWD_LABELS).sum()), int((inside & ~CROWD_LABELS).sum()))


def crowd_strand(monkeypatch: pytest.MonkeyPatch, halved: bool, most_boxes: int) -> Strand:
    """Boxes that leave the middle open; `halved` bounds the score by half of the parts' sum."""
    monkeypatch.setattr("learners.envelope.target._HEAVY", np.inf if halved else 0.0)
    monkeypatch.setattr(strands, "_MOSTLY", 0.0 if halved else 2.0)
    monkeypatch.setattr(strands, "_HEAVY", 0.0)
    sample = counted(CROWD, CROWD_LABELS, 2)
    return strand_of(CROWD_ROWS, SMALLER, sample=sample, most_boxes=most_boxes, eta=1.0)


@pytest.mark.parametrize("most_boxes", [4, 1 << 10])
@pytest.mark.parametrize("halved", [False, True])
def test_every_path_of_boxes_that_leave_places_open(halved, most_boxes, monkeypatch):
    """Also when boxes are used up and merged again."""
    monkeypatch.setattr(strands, "_RISE", 1e9)
    monkeypatch.setattr(strands, "_PROGRESS", -1e9)
    strand = crowd_strand(monkeypatch, halved, most_boxes)
    assert (strand.pairs.crossed.size > 0) == halved
    law = ideal_law(orders_in(CROWD_ROWS, LATTICE, PRIOR), crowd_value, RATE)
    _, met = assert_every_path(strand, law, 6, 4)
    kinds = {
        min(int(pairs_across(box)) + 1, 1)
        for one in met
        for box in one.partition.boxes[: one.partition.tally[BOXES]]
    }
    assert (min(kinds) < 0, max(kinds) > 0) == (not halved, halved)
    assert any(one.partition.tally[COMPACTIONS] for one in met) == (most_boxes == 4)


def test_every_path_in_the_measure_of_the_paper() -> None:
    """Slopes and intercepts that miss the box's readings are rejected, and split boxes."""
    lattice = HalfplaneLattice(1, "paper", bits=0)
    strand = strand_of(first_boxes(lattice, 1), SMALLER, lattice)
    pieces = Counter((one,) for one in all_halfplanes(lattice))
    law = ideal_law(pieces, lambda piece: value_of(piece, SMALLER, lattice.d), RATE)
    left, _ = assert_every_path(strand, law, 2, 2, lattice)
    assert left < 0.8


@pytest.mark.parametrize("kind", ["halved", "factorised", "paper"])
def test_every_path_where_labels_are_expected(kind: str) -> None:
    """What is accepted by its score is kept by what it differs in, and no box changes where not."""
    places = np.array([[0, 0], [0, 1], [1, 1]])
    expected = Expected(places, np.array([True, False, True]), np.array([1, 2, 2]), 0.4, 1.5)
    if kind == "paper":
        # slopes of 3 and more: readings are rounded, and points on the line are not on theirs
        lattice = HalfplaneLattice(2, "paper", bits=0)
        rows, pieces = first_boxes(lattice, 1), Counter((h,) for h in all_halfplanes(lattice))
    else:
        lattice = LATTICE if kind == "halved" else FINE
        rows = FLAT if kind == "halved" else [box_of((0, (-2, 10, 0, 2)))]
        pieces = orders_in(rows, lattice, PRIOR)
    strand = replace(strand_of(rows, MISTAKES, lattice), expected=expected)
    if kind == "factorised":
        strand = factorised(strand)
    law = ideal_law(pieces, lambda piece: value_of(piece, MISTAKES, lattice.d), RATE)
    law = {piece: p * Fraction(weight(strand, piece)) for piece, p in law.items()}
    whole = sum(law.values())
    law = {piece: p / whole for piece, p in law.items()}
    assert len({weight(strand, piece) for piece in law}) >= 3
    left, _ = assert_every_path(strand, law, 2, 2, lattice)
    assert left < 0.95


# -- factorised boxes --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edges", "score", "paired"),
    [
        ([(0, (-2, 10, 0, 2))], SMALLER, 0),
        ([(1, (-2, 7, 1, 3))], MISTAKES, 0),
        # for each pair of cells its own bound
        ([(0, (0, 3, 6, 10)), (0, (2, 12, 2, 3))], SMALLER, 1),
        ([(1, (-2, 7, 1, 3)), (0, (-1, 2, 6, 10))], MISTAKES, 2),
        # three edges
        ([(3, (2, 4, 4, 6)), (3, (2, 11, 4, 5)), (1, (0, 9, 2, 3))], SMALLER, 0),
        ([(1, (6, 7, 0, 3)), (2, (5, 7, 2, 4)), (0, (5, 14, 3, 4))], MISTAKES, 0),
    ],
)
def test_every_path_of_factorised_boxes(edges: list[Edge], score: Score, paired: int) -> None:
    rows = [box_of(*edges)]
    strand = factorised(strand_of(rows, score, FINE))
    assert strand.workspace.paired[0] == paired
    left, met = assert_every_path(strand, law_of(rows, score, FINE), 2, 2, FINE)
    assert left < 0.1
    assert any(one.partition.tally[BOXES] > 1 for one in met)
    assert all((one.partition.factors[:1, MIX_USED] != PLAIN).all() for one in met)


# -- compaction --------------------------------------------------------------------------------


@pytest.mark.parametrize("merge_all", [False, True])
def test_every_path_when_the_boxes_are_used_up(merge_all, monkeypatch):
    """Boxes are merged again, or trials go on from the boxes as they are."""
    if merge_all:
        monkeypatch.setattr(strands, "_RISE", 1e9)
        monkeypatch.setattr(strands, "_PROGRESS", -1e9)
    rows = [box_of((0, (0, 3, 0, 3)))]
    strand = strand_of(rows, SMALLER, most_boxes=4)
    _, met = assert_every_path(strand, law_of(rows, SMALLER), 9, 3)
    assert any(one.partition.tally[COMPACTIONS] for one in met)
    assert any(one.full for one in met) or merge_all


def test_a_strand_that_begins_again_has_the_same_law() -> None:
    strand = strand_of(FLAT, SMALLER)
    law = law_of(FLAT, SMALLER)
    for _ in range(3):
        taken = [trial.after for trial in trials(strand, LATTICE, MOST)]
        strand = max(
            (one for one in taken if one.accepted is None),
            key=lambda one: one.partition.tally[SPLITS],
        )
    strand = next(
        one.after for one in trials(strand, LATTICE, MOST) if one.after.accepted is not None
    )
    strand.restart(SeededRandom(0))
    assert_every_path(strand, law, 1, 1)


PAIRED = [box_of((0, (0, 3, 6, 10)), (0, (2, 12, 2, 3)))]


@pytest.mark.parametrize("score", [SMALLER, MISTAKES, Score(2, -1, 3)])
@pytest.mark.parametrize("kind", ["halved", "factorised", "factorised twice"])
def test_a_strand_that_is_aimed_at_another_law_has_that_law(kind: str, score: Score) -> None:
    """Its boxes were refined for another score and another rate."""
    twice, lattice = kind == "factorised twice", LATTICE if kind == "halved" else FINE
    rows = PAIRED if twice else FLAT if kind == "halved" else [box_of((0, (-2, 10, 0, 2)))]
    strand = strand_of(rows, Score(1, -7, 0, total=score is MISTAKES), lattice, rate=RATE / 2)
    if kind != "halved":
        strand = factorised(strand)
    if twice:
        list(trials(strand, lattice, MOST))
    while strand.boxes_used == len(rows) and not twice:
        taken = [trial.after for trial in trials(strand, lattice, MOST)]
        strand = max((one for one in taken if one.accepted is None), key=lambda one: one.boxes_used)
    target = make_target(lattice, score, RATE, len(POINTS), PRIOR)
    strand.aim(target, SeededRandom(0))
    weigh_all([strand])
    assert (strand.partition.factors[:, MIX_USED] == PLAIN).all()
    if twice:
        strand = factorised(strand)
        assert strand.workspace.paired[0]
    assert_every_path(strand, law_of(rows, score, lattice), 2, 2, lattice)


# -- the race ----------------------------------------------------------------------------------

RACE = [
    [box_of((0, (0, 2, 0, 3)))], [box_of((1, (0, 2, 0, 2))), box_of((1, (2, 3, 0, 2)))],
]  # fmt: skip


#: Whose trial is the next one, and which outcome it has.
Order = list[tuple[int, Trial]]


class Script:
    """A source with so many chunks, and zeros after them."""

    private = False

    def __init__(self, chunks: Tape) -> None:
        self.chunks = np.array(chunks, dtype="<u2").tobytes()

    def bytes(self, count: int) -> bytes:
        assert len(self.chunks) < count
        return self.chunks.ljust(count, b"\0")

    def spawn(self) -> Self:
        raise NotImplementedError


def wait_of(nats: float) -> Tape:
    """Chunks of a wait of so many nats."""
    number = int(math.exp(-nats) * 2.0**64)
    assert 1 << 48 <= number < (1 << 64) - (1 << 48)
    return [number >> shift & 0xFFFF for shift in (48, 32, 16, 0)]


def races(
    start: Sequence[Strand], depth: int
) -> Iterator[tuple[Fraction, list[tuple[int, Trial]]]]:
    """All orders in which the strands' trials can come, until one accepts.

    The next trial is a strand's with probability its mass over the mass of all: waits forget.
    """

    def go_on(now, given, past):
        masses = [Fraction(strand.mass) for strand in now]
        for number, strand in enumerate(now):
            for trial in trials(strand, LATTICE, MOST):
                chance = given * masses[number] / sum(masses) * trial.probability
                path = [*past, (number, trial)]
                if trial.after.accepted is not None or len(path) == depth:
                    yield chance, path
                else:
                    after = [*now[:number], trial.after, *now[number + 1 :]]
                    yield from go_on(after, chance, path)

    return go_on(start, Fraction(1), [])


def replayed(start: Sequence[Strand], path: Order, in_turns: bool) -> Any:
    """What the code settles on when the trials come in this order of their clocks."""
    step = 0.25 / sum(strand.mass for strand in start)
    scripts: list[Tape] = [[] for _ in start]
    clocks, masses = [0.0] * len(start), [strand.mass for strand in start]
    for time, (number, trial) in enumerate(path, start=1):
        scripts[number] += wait_of((time * step - clocks[number]) * masses[number]) + trial.tape
        clocks[number], masses[number] = time * step, trial.after.mass
    racing = []
    for number, strand in enumerate(start):
        copy = copy_of(strand)
        if number != path[-1][0]:
            # its next trial comes after all, whatever becomes of it
            late = (len(path) + 1) * step - clocks[number]
            scripts[number] += wait_of(late * masses[number])
        copy.source = Script(scripts[number])
        copy.chunks = copy.chunks[:0]
        copy.at = 0
        racing.append(copy)
    return run_race(racing, LATTICE, 0.0, None, in_turns=in_turns)


@pytest.mark.parametrize("light", [race._LIGHT, 1e300])
def test_every_race_of_two_strands(light: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first acceptance has the law of both classes together, and the code finds it.

    So it does when masses are weighed anew, and clocks with them, after every turn.
    """
    start = [strand_of(rows, SMALLER) for rows in RACE]
    weigh_all(start)
    law = law_of([*RACE[0], *RACE[1]], SMALLER)
    accepted: list[dict[Piece, Fraction]] = [{}, {}]
    total = Fraction(0)
    ends = []
    for chance, path in races(start, 2):
        total += chance
        winner, last = path[-1]
        if last.after.accepted is not None:
            piece = piece_of(last.after, LATTICE)
            so_far = accepted[len(path) - 1]
            so_far[piece] = so_far.get(piece, Fraction(0)) + chance
            ends.append((path, winner, piece))
    assert total == 1
    for one in accepted:
        assert off(one, law) < ROUNDING
    monkeypatch.setattr(race, "_LIGHT", light)
    for i, (path, winner, piece) in enumerate(ends[::5]):
        drawn, won = replayed(start, path, in_turns=i % 2 == 0)
        assert (drawn.piece, won) == (piece, winner)


def test_every_race_of_a_divided_strand() -> None:
    """Whatever a strand has been through, its two parts together have the law of the whole."""
    strand = strand_of([*RACE[0], *RACE[1]], SMALLER)
    law = law_of([*RACE[0], *RACE[1]], SMALLER)
    states = {
        state_of(one.after): one.after
        for one in trials(strand, LATTICE, MOST)
        if one.after.accepted is None
    }
    divided = 0
    for state in list(states.values())[:6]:
        clock, mass = state.clock, state.mass
        whole = copy_of(state)
        parts = [whole, divide(whole, [whole])]
        assert [part.clock for part in parts] == [clock, clock]
        assert sum(part.mass for part in parts) == pytest.approx(mass, rel=1e-15)
        divided += all(part.mass > 0 for part in parts)
        accepted: list[dict[Piece, Fraction]] = [{}, {}]
        for chance, path in races(parts, 2):
            _, last = path[-1]
            if last.after.accepted is not None:
                piece, so_far = piece_of(last.after, LATTICE), accepted[len(path) - 1]
                so_far[piece] = so_far.get(piece, Fraction(0)) + chance
        for one in accepted:
            assert off(one, law) < ROUNDING
    assert divided > 2


# -- the test can fail -------------------------------------------------------------------------


def test_a_bound_that_is_too_low_is_seen() -> None:
    """One positive too few in one box: pieces with all of them are accepted too rarely."""
    strand = strand_of(FLAT, MISTAKES)
    law = law_of(FLAT, MISTAKES)
    low = copy_of(strand)
    low.partition.boxes[0, POSITIVES] -= 1
    weigh_all([low])
    accepted, _, _ = next(walk(low, LATTICE, MOST, 1, 1))
    assert off(accepted, law) > 0.01


def test_a_place_of_both_labels_that_is_held_for_less_is_seen(monkeypatch):
    strand = crowd_strand(monkeypatch, halved=False, most_boxes=1 << 10)
    law = ideal_law(orders_in(CROWD_ROWS, LATTICE, PRIOR), crowd_value, RATE)
    low = copy_of(strand)
    low.partition.boxes[0, ORDERS] -= 8
    weigh_all([low])
    accepted, _, _ = next(walk(low, LATTICE, MOST, 1, 1))
    assert off(accepted, law) > 0.01
