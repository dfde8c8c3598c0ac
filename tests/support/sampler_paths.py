"""Every path of a tiny envelope sampler: the compiled loop runs once for each outcome of its coins.

The coins of one trial are a box, a point of it, and how far its score may fall below the bound, in
whole units.  For each the tape of 16-bit chunks is written by which the compiled code sees just
that, and its probability is a fraction: the doubles that ``less`` compares with are fractions, a
uniform integer is one of so many, and of the 2**64 numbers from which the exponential variate is
made those are counted, by bisection, that the code rounds to so much and more.  A tape ends where
the trial does; that the code read it to its end, and no further, is checked each time.

What a trial leaves behind is the partition as the code left it.  Paths that led to the same one
are followed together.
"""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from compiled import compiled

from geometry.halfplane import Halfplane, HalfplaneLattice
from learners.core.records import inside_piece
from learners.envelope import chunks as draws, factorised_boxes
from learners.envelope.boxes import (
    ORDERS,
    SHEETS,
    edge_count,
    edge_in,
    line_of,
    paper_box,
    proposals,
)
from learners.envelope.partition import BOXES, MIX_USED, PLAIN
from learners.envelope.strands import Strand, piece_at
from learners.envelope.target import NOTHING
from learners.envelope.workspace import CELLS, MIX, SIDE

Piece = tuple[Halfplane, ...]
Tape = list[int]

exponential = compiled(draws.exponential)
examine = compiled(factorised_boxes.examine)
weigh_cells = compiled(factorised_boxes.weigh_cells)
weigh_beside = compiled(factorised_boxes.weigh_beside)

#: Of the numbers that the exponential variate is made of, with four chunks.
_ALL = 1 << 64

#: A wait that the law of one strand does not depend on.
_SOME_WAIT = [32767, 65535, 65535, 65535]


@dataclass(frozen=True)
class Trial:
    """One outcome of a trial's coins: its probability, its tape after the wait, and the strand."""

    probability: Fraction
    tape: Tape
    after: Strand


def copy_of(strand: Strand) -> Strand:
    """The same, sharing the tables of lines, which only save time."""
    parts = {name: part.copy() for name, part in strand.partition._asdict().items()}
    return replace(strand, partition=strand.partition._replace(**parts), theta=strand.theta.copy())


def run(strand: Strand, tape: Tape, wait: Tape = _SOME_WAIT, *, whole: bool = True) -> Strand:
    """The strand after the trial of a tape."""
    after = copy_of(strand)
    tape = wait + tape
    after.chunks = np.zeros(len(tape) + draws.RESERVE, dtype=np.uint16)
    after.chunks[: len(tape)] = tape
    after.chunks.flags.writeable = False  # as bits are: the loop is compiled once
    after.at = 0
    while after.at == 0:
        after.advance(math.inf)
    assert after.at == len(tape) or not whole
    return after


def state_of(strand: Strand) -> bytes:
    """All that later trials depend on."""
    partition, used = strand.partition, strand.partition.tally[BOXES]
    capacity = len(partition.boxes)
    parts = (
        partition.boxes[:used], partition.factors[:used], partition.tree[capacity:][:used],
        partition.tally,
    )  # fmt: skip
    kept = (strand.full, strand.log_mass, capacity, strand.target.reference)
    return b"".join(part.tobytes() for part in parts) + repr(kept).encode()


# -- coins -------------------------------------------------------------------------------------


def _less(p: float) -> Tape:
    """Chunks for which U < p; those for which not: one chunk of 65535, as p is at most one half."""
    chunks = [0]
    while (p := p * 65536.0) < 1.0:
        chunks.append(0)
    return chunks


def leaves(tree: Any, capacity: int) -> list[tuple[int, Fraction, Tape]]:
    """What ``draw_box`` may draw from a tree."""
    found, open_nodes = [], [(1, Fraction(1), [])]
    while open_nodes:
        node, probability, tape = open_nodes.pop()
        if node >= capacity:
            found.append((node - capacity, probability, tape))
            continue
        left, right = float(tree[2 * node]), float(tree[2 * node + 1])
        lighter = 2 * node + (left > right)
        p = min(left, right) / (left + right)
        more = [65535] if p > 0 else []
        open_nodes.append((lighter ^ 1, probability * (1 - Fraction(p)), tape + more))
        if p > 0:
            open_nodes.append((lighter, probability * Fraction(p), tape + _less(p)))
    return found


def _digits(number: int) -> Tape:
    return [number >> shift & 0xFFFF for shift in (48, 32, 16, 0)]


@functools.cache
def falls(rate: float, unit: int, least: int) -> int:
    """How many of the 2**64 numbers let a score fall by `least` and more, in parts of `unit`.

    The variate falls as the number rises; all the numbers that count are below the others.
    """
    if least == 0:
        return _ALL

    def so_far(number: int) -> bool:
        spread, _ = exponential(np.array([*_digits(number), 0, 0], dtype=np.uint16), 0)
        return int(unit * spread / rate) >= least

    low, high = 1 << 48, _ALL - (1 << 48)
    assert so_far(low)
    assert not so_far(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if so_far(middle) else (low, middle)
    return high


def _plain_points(lattice: HalfplaneLattice, box: Any) -> list[tuple[Fraction, Tape, bool]]:
    """Points of a plain box: probability, chunks, and whether they lie in the class.

    The first edge outside of the class ends a trial.
    """
    paths: list[tuple[Fraction, Tape, bool]] = [(Fraction(1), [], True)]
    paper = paper_box(lattice)
    for e in range(edge_count(box)):
        u0, u1, v0, v1 = (int(side) for side in box[4 * e : 4 * e + 4])
        if paper is None:
            across, up = u1 - u0, v1 - v0
        else:
            side, sheet = lattice.d * paper.cells, int(box[SHEETS]) >> 3 * e & 7
            across, up = proposals(paper, side, sheet, u0, u1, v0, v1)
        longer = []
        for probability, tape, inside in paths:
            if not inside:
                longer.append((probability, tape, False))
                continue
            for i, j in itertools.product(range(across), range(up)):
                if paper is None:
                    admitted = lattice.admits(u0 + i, v0 + j)
                else:
                    admitted = line_of(paper, side, sheet, u0, u1, v0, v1, i, j)[0]
                longer.append((probability / (across * up), [*tape, i, j], bool(admitted)))
        paths = longer
    return paths


def _cell_points(
    lattice: HalfplaneLattice, strand: Strand, index: int
) -> list[tuple[Fraction, Tape, bool]]:
    """The same of a factorised box, by all of its cells."""
    box, work = strand.partition.boxes[index], strand.workspace
    assert work is not None
    examine(strand.tables, strand.ordinates, box, work)
    mix = int(strand.partition.factors[index, MIX_USED]) - 1
    peak, _ = weigh_cells(strand.target, box, mix, work)
    paths: list[tuple[Fraction, Tape, bool, int]] = [(Fraction(1), [], True, -1)]
    for e in range(edge_count(box)):
        ends, lower = work.ends[e], int(box[SHEETS]) >> 3 * e & 1
        longer = []
        for probability, tape, inside, before in paths:
            if not inside:
                longer.append((probability, tape, False, before))
                continue
            if work.paired[0] and e == 1:
                weigh_beside(strand.target, box, mix, peak, before, work)
            for cell, share, chunks in list(leaves(work.weights[e], CELLS)):
                i, j = cell // SIDE, cell % SIDE
                (u0, u1), (v0, v1) = (int(x) for x in ends[0, i : i + 2]), ends[1, j : j + 2]
                across, up = u1 - u0, int(v1 - v0)
                for k, m in itertools.product(range(across), range(up)):
                    u, v = (1 - u1 + k, 1 - int(v1) + m) if lower else (u0 + k, int(v0) + m)
                    now = probability * share / (across * up)
                    longer.append((now, [*tape, *chunks, k, m], lattice.admits(u, v), cell))
        paths = longer
    return [(probability, tape, inside) for probability, tape, inside, _ in paths]


def trials(strand: Strand, lattice: HalfplaneLattice, most: int) -> Iterator[Trial]:
    """All outcomes of the next trial; their probabilities sum to 1.

    most : no score of the class falls further below a bound than that.
    """
    while strand.partition.tally[BOXES] == len(strand.partition.boxes) and not strand.full:
        strand = copy_of(strand)
        strand.make_room()
    alone = replace(strand, expected=NOTHING)
    for index, chance, tape in leaves(strand.partition.tree, len(strand.partition.boxes)):
        box = strand.partition.boxes[index]
        unit = 1
        if strand.partition.factors[index, MIX_USED] == PLAIN:
            points = _plain_points(lattice, box)
        else:
            unit = MIX
            points = _cell_points(lattice, strand, index)
        for probability, chunks, inside in points:
            if inside:
                for share, fall, after in _by_fall(alone, tape + chunks, unit, unit * most):
                    for odds, coin in _kept(strand, after, lattice):
                        now, own = chance * probability * share * odds, tape + chunks + fall + coin
                        yield Trial(now, own, run(strand, own) if coin else _as(strand, after))
            else:
                after = run(strand, tape + chunks)
                assert after.accepted is None
                yield Trial(chance * probability, tape + chunks, after)


def _as(strand: Strand, after: Strand) -> Strand:
    return replace(after, expected=strand.expected)


def weight(strand: Strand, piece: Piece) -> float:
    """What a piece weighs for what is expected of it."""
    return math.exp(-strand.expected.cost(inside_piece(piece, strand.expected.points)))


def _kept(strand: Strand, after: Strand, lattice: HalfplaneLattice) -> list[tuple[Fraction, Tape]]:
    """Whether what is accepted by its score is kept, and the coin's tape; at once where nothing is
    expected."""
    if after.accepted is None or not len(strand.expected.points):
        return [(Fraction(1), [])]
    p = Fraction(weight(strand, piece_of(after, lattice)))
    if p == 1:
        return [(p, [0])]
    # numbers as near to p as it may be rounded
    return [(p, _beside(p, -1)), (1 - p, _beside(p, 1))]


def _beside(p: Fraction, way: int) -> Tape:
    """Chunks of a number that is 2**-45 of p below it, or above, up to where the two differ."""
    digits = [_digits(int(one * _ALL)) for one in (p, p * (1 + Fraction(way, 1 << 45)))]
    same = next(i for i, (one, other) in enumerate(zip(*digits, strict=True)) if one != other)
    return digits[1][: same + 1]


def _by_fall(
    strand: Strand, tape: Tape, unit: int, most: int
) -> Iterator[tuple[Fraction, Tape, Strand]]:
    """What comes of a point, by how far its score may fall: less than is needed, or enough.

    What comes of two numbers of units, if it is the same, comes of all between them.
    """
    rate = strand.target.rate

    def at(fall: int) -> tuple[Tape, Strand, tuple[bool, bytes]]:
        # the last of the 2**64 numbers that let it fall so far, and no further
        last = falls(rate, unit, fall + 1) if fall < most else falls(rate, unit, fall) - 1
        chunks = _digits(last)
        after = run(strand, tape + chunks)
        return chunks, after, (after.accepted is not None, state_of(after))

    def changes(low: int, high: int, first: Any, last: Any) -> Iterator[tuple[int, Any]]:
        if first[2] == last[2]:
            return
        if high - low == 1:
            yield high, last
            return
        middle = (low + high) // 2
        seen = at(middle)
        yield from changes(low, middle, first, seen)
        yield from changes(middle, high, seen, last)

    first, last = at(0), at(most)
    assert last[1].accepted is not None
    begun = [(0, first), *changes(0, most, first, last)]
    counts = [falls(rate, unit, begin) for begin, _ in begun] + [0]
    for (_, (chunks, after, _)), (count, beyond) in zip(begun, pairwise(counts), strict=True):
        yield Fraction(count - beyond, _ALL), chunks, after


# -- laws --------------------------------------------------------------------------------------


def piece_of(strand: Strand, lattice: HalfplaneLattice) -> Piece:
    """What a strand has accepted."""
    packed = int(strand.partition.boxes[strand.accepted, SHEETS])
    return piece_at(lattice, packed, strand.theta)


def ideal_law(
    pieces: Counter[Piece], value: Callable[[Piece], int], rate: float
) -> dict[Piece, Fraction]:
    """P(piece) proportional to its weight times exp(rate * value), to fifty digits."""
    with localcontext(prec=50):
        weights = {
            piece: Fraction(weight) * Fraction((Decimal(rate) * value(piece)).exp())
            for piece, weight in pieces.items()
        }
    whole = sum(weights.values())
    return {piece: weight / whole for piece, weight in weights.items()}


def walk(
    strand: Strand, lattice: HalfplaneLattice, most: int, depth: int, states: int
) -> Iterator[tuple[dict[Piece, Fraction], Fraction, list[Strand]]]:
    """After each trial: P(piece accepted in it), P(not yet decided), and the states followed.

    Of the states that rejected trials led to, the likeliest so many are followed, the others stay
    undecided.
    """
    followed = [(Fraction(1), strand)]
    undecided = Fraction(1)
    for _ in range(depth):
        accepted: dict[Piece, Fraction] = {}
        reached: dict[bytes, tuple[Fraction, Strand]] = {}
        for given, state in followed:
            total = Fraction(0)
            for trial in trials(state, lattice, most):
                total += trial.probability
                now = given * trial.probability
                if trial.after.accepted is None:
                    key = state_of(trial.after)
                    before = reached.get(key, (Fraction(0), trial.after))
                    reached[key] = before[0] + now, trial.after
                else:
                    piece = piece_of(trial.after, lattice)
                    accepted[piece] = accepted.get(piece, Fraction(0)) + now
            # not a coin is missing
            assert total == 1
        undecided -= sum(accepted.values())
        likeliest = sorted(reached.values(), key=lambda one: one[0], reverse=True)
        followed = likeliest[:states]
        yield accepted, undecided, [state for _, state in followed]
        if not followed:
            return


def off(found: dict[Piece, Fraction], law: dict[Piece, Fraction]) -> float:
    """The greatest relative error of a law, found up to a factor."""
    assert found.keys() == law.keys()
    whole = sum(found.values())
    return max(abs(float(found[piece] / (law[piece] * whole) - 1)) for piece in law)


def orders_in(boxes: Any, lattice: HalfplaneLattice, prior: Any) -> Counter[Piece]:
    """Every piece of boxes in the measure "chord", and its weight: its prior times its orders."""
    pieces: Counter[Piece] = Counter()
    for box in boxes:
        sides = [
            [
                lattice.halfplane(lattice.sheets[int(box[SHEETS]) >> 3 * e & 7], u, v)
                for u in range(box[4 * e], box[4 * e + 1])
                for v in range(box[4 * e + 2], box[4 * e + 3])
                if lattice.admits(u, v)
            ]
            for e in range(3)
            if edge_in(box, e)
        ]
        for piece in itertools.product(*sides):
            edges = sorted(piece, key=lambda edge: (edge.sheet, edge.u, edge.v))
            pieces[tuple(edges)] += int(box[ORDERS]) * prior[len(sides)]
    return pieces
