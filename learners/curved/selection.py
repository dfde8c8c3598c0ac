"""Draws pieces bounded by curves, and bodies, by the exponential mechanism: discs and ellipses up
to a rounding that is charged, what can be listed exactly.

*Discs and ellipses.*  The class is a lattice of :mod:`geometry.lift`, the same in every step, the
law P(theta) proportional to

    weight(value) = (1 - rate * value / POWER) ** -POWER,

value the integer of :class:`learners.core.selection.Score`, at most 0.  Where a member
fits that is exp(rate * value); one that falls short by much counts as if the rate were lower, so a
law without a member that fits is no sharper for more examples
(docs/decisions/0019-softened-scores.md).  A lattice of discs has some 2**60 members at d = 1024,
one of ellipses 2**76: none is enumerated.  As in
:mod:`learners.envelope.envelope_selection`,

1. keep boxes of parameters that cover the class.  Its outer shape holds what some member of a
   box may hold, its inner one what all hold, so bound = min(k * P(outer) + c_pos,
   -k * N(inner) + c_neg) is at least every value in it (with many examples of both labels on one
   grid point a lower bound is, see below);
2. draw a box in proportion to its lattice points times weight(bound), theta uniform in it, and
   accept with probability weight(value(theta)) / weight(bound);
3. after a rejection halve the box across the side that matters most; start again.

So but for rounding the accepted theta has the target law, however boxes are split (docs/privacy.md,
lemma L1, with the bounds of boxes and the charge of 2**-38 for arithmetic).  No draw is cut short:
when the boxes are used up, trials go on from the envelope as it is.

**Shared points.**  A box that leaves open a grid point with many examples of both labels would
count its positives as held and its negatives as not, in boxes about every outline through the
point: a draw would not end.  So the heaviest such points, at most :data:`MOST`, are counted apart
(lemma L1; measured: docs/decisions/0019-softened-scores.md).  Point i has the weight 2**i in prefix
sums like those of the examples, so what counts the examples of a shape gives the set of the points
that it holds, as a word of bits.

Complexity: tables O(m + d^2) for m entries, then O(d) a trial and a split; how many it takes
depends on the data, and so does the time (docs/privacy.md).  Labels that fit are easy: a few
hundred boxes for a disc, ten thousand for an ellipse.  One ellipse that fits badly takes some
400,000, the late steps of a cover up to millions, whatever n is.

*Lists* of halfspaces, simplices, balls and regions of polynomials (:mod:`geometry.lift`).
KMMS: their constructions extend to constant dimension D, in time exponential in D; an arrangement
of n hyperplanes has n^D cells, and a simplex is one of n^(D(D+1)) tuples.  Here the class is public
and small, and every member is scored: halfspaces from prefix sums over the levels of each normal,
simplices from four-dimensional ones over the levels of each four normals; balls and regions bounded
by a polynomial are halfspaces of lifted points.  One member is drawn by
:func:`learners.privacy.exponential_mechanism.exponential_index`, exactly (docs/privacy.md, lemma
L2).

A simplex in D dimensions is one of L^(D+1) choices of levels for each D + 1 directions.  Processor
seconds of one step, n = 20,000, d = 16: halfspaces of reach 2 (5,138) .02, of reach 8 (820,514) .2;
simplices of 4 levels (175,104) .2, of 8 (2,801,664) .6, of 10 (6,840,000) 1.3.  With 16 levels
there are 45 million: refused, with their number and what it means.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from geometry.arrays import Ints
from geometry.columns import Counts
from geometry.grid_counts import GridCounts
from geometry.halfplane import Region
from geometry.lift import (
    Conic,
    ConicLattice,
    HalfspaceLattice3,
    ListedLattice,
    Normal,
    spanning_fours,
)
from learners.core.selection import (
    POWER,
    Score,
    Selected,
    SelectionProgress,
    Watch,
    check_max_boxes,
    softened_nats,
)
from learners.curved import conic_boxes as boxes
from learners.curved.conic_boxes import ConicTarget, Refinement
from learners.envelope.chunks import RESERVE
from learners.envelope.target import heavy_points
from learners.privacy.exponential_mechanism import exponential_index
from learners.privacy.randomness import RandomSource, filled

#: Most points taken out: their bits fit 32-bit tables.
MOST = 30


class Tables(NamedTuple):
    """Prefix sums of a sample, each of shape (d + 2, d + 2): examples of the grid points left, of
    either label; and in `points` 2**i at shared point i, of shape (1, 1) when there is none.

    `shared`, int64 of shape (m, 2), are negatives and positives of each shared point, the heaviest
    first.
    """

    negatives: Counts
    positives: Counts
    points: Counts
    shared: Ints


def make_tables(counts: GridCounts, eta: float) -> Tables:
    """Take the shared points out, and count; eta, nats an example, steers the sampler, never its
    law."""
    second = heavy_points(counts, eta, MOST)
    left = np.ones(len(counts), dtype=np.bool_)
    left[second] = left[second - 1] = False
    negatives, positives = count_areas(counts.where(left), counts.count_type)
    points = np.zeros((1, 1), dtype=counts.count_type)
    if len(second):
        bits = np.int64(1) << np.arange(len(second))
        cells = np.zeros((counts.d + 1, counts.d + 1), dtype=np.int64)
        cells[counts.points[second, 1], counts.points[second, 0]] = bits
        points = _prefix_sums(cells, counts.count_type)
    shared = np.column_stack([counts.amounts[second - 1], counts.amounts[second]])
    return Tables(negatives, positives, points, shared)


def count_areas(counts: GridCounts, kind: type | None = None) -> tuple[Counts, Counts]:
    """Prefix sums of the negatives and of the positives, each of shape (d + 2, d + 2).

    Entry [j, i] counts the examples with x < i and y < j: an arc runs along its rows.
    """
    side = counts.d + 1
    x, y = counts.points.T
    negatives, positives = counts.by_group(y * side + x, side * side)
    kind = kind or counts.count_type
    return (
        _prefix_sums(negatives.reshape(side, side), kind),
        _prefix_sums(positives.reshape(side, side), kind),
    )


def _prefix_sums(cells: Ints, kind: type) -> Counts:
    side = len(cells)
    area: Counts = np.zeros((side + 1, side + 1), dtype=kind)
    area[1:, 1:] = cells.cumsum(axis=0).cumsum(axis=1)
    return area


#: Trials between two looks at the watch; one takes up to some 50 microseconds.
_TRIALS_PER_CALL = 1000

#: Boxes at first.
_FIRST_BOXES = 1 << 8


@dataclass(frozen=True, slots=True)
class ConicSelection:
    """Sampler of the discs or ellipses of a lattice.

    `max_boxes` are kept; at most 2**22, as the proof of the arithmetic assumes, and rounded up to a
    power of two.
    """

    lattice: ConicLattice
    max_boxes: int = 1 << 22

    def __post_init__(self) -> None:
        check_max_boxes(self.max_boxes)

    def select(
        self,
        counts: GridCounts,
        score: Score,
        rate: float,
        source: RandomSource,
        watch: Watch | None = None,
    ) -> Selected:
        """Draw one (see :class:`learners.core.selection.Sampler`).

        Raises ValueError if a score may be above 0.
        """
        if score.value(counts.positives, 0) > 0:
            raise ValueError("scores of discs and ellipses must be at most 0")
        lattice, members = self.lattice, self.lattice.members
        tables = make_tables(counts, rate * score.k)
        target = ConicTarget(
            k=score.k,
            c_pos=score.c_pos,
            c_neg=score.c_neg,
            total=score.total,
            half=POWER / rate,
            reference=0,
            size=len(lattice.low),
            d=lattice.d,
            bits=lattice.bits,
        )
        # one box with every member
        room = 1 << (self.max_boxes - 1).bit_length()
        state = boxes.make_refinement(min(_FIRST_BOXES, room))
        box = state.boxes[0]
        box[boxes.LOW : boxes.LOW + target.size] = lattice.low
        box[boxes.HIGH : boxes.HIGH + target.size] = lattice.high
        box[boxes.POSITIVES] = tables.positives[-1, -1]
        box[boxes.SOME] = (1 << len(tables.shared)) - 1
        boxes.recount(target, tables, box)
        state.tally[boxes.BOXES] = 1
        target = _weighed(target, state)
        chunks, at = np.empty(0, dtype=np.uint16), 0
        theta = np.zeros(boxes.HIGH, dtype=np.int64)

        def progress() -> SelectionProgress:
            log_mass = math.log(float(state.tree[1])) + softened_nats(target.reference, rate)
            trials, made = int(state.tally[boxes.TRIALS]), int(state.tally[boxes.BOXES])
            return SelectionProgress(trials, made, log_mass - math.log(members))

        while True:
            chunks, at = filled(source, chunks, at, RESERVE)
            why, at = boxes.run(target, tables, state, chunks, at, _TRIALS_PER_CALL, theta)
            if why == boxes.ACCEPTED:
                conic: Conic = lattice.conic(*theta[: target.size].tolist())
                return Selected((conic,), progress())
            full = why == boxes.FULL and len(state.boxes) < self.max_boxes
            if full:
                state = boxes.grow(state)
            if full or why == boxes.STARVED:
                target = _weighed(target, state)
            if watch is not None:
                watch(progress())


def _weighed(target: ConicTarget, state: Refinement) -> ConicTarget:
    """The same target, and all boxes weighed so that the best bound weighs 1."""
    target = target._replace(reference=int(boxes.best_bound(target, state)))
    boxes.weigh(target, state)
    return target


#: Most members of a class that is enumerated: about a third of a gigabyte while one is drawn.
MOST_MEMBERS = 1 << 23

#: What one member costs, measured: seconds and bytes.
_SECONDS, _BYTES = 1.8e-7, 40


@dataclass(frozen=True, slots=True)
class LiftedSelection:
    """Sampler of balls, or of regions bounded by a polynomial: halfspaces of lifted points.

    See :class:`learners.core.selection.Sampler`; counts are of points of the lattice's dimensions.

    Raises ValueError if the class is too large to be enumerated.
    """

    lattice: ListedLattice

    def __post_init__(self) -> None:
        refuse_large("regions", self.lattice.directions * (self.lattice.levels + 1))

    def _sets(self) -> tuple[tuple[Normal, ...], ...]:
        """Normals whose halfspaces are intersected, a level of each."""
        return tuple((normal,) for normal in self.lattice.normals)

    def select(
        self,
        counts: GridCounts,
        score: Score,
        rate: float,
        source: RandomSource,
        watch: Watch | None = None,
    ) -> Selected:
        """Draw one piece."""
        sets = self._sets()
        parts: list[Ints] = []
        scored = 0
        for values in values_of(self.lattice, sets, counts, score):
            parts.append(values.ravel())
            scored += values.size
            if watch is not None:
                watch(SelectionProgress(scored, 0, -math.inf))
        values = np.concatenate(parts)
        index = exponential_index(source, values, rate)
        starts = np.cumsum([0, *(len(part) for part in parts)])
        chosen = int(np.searchsorted(starts, index, side="right")) - 1
        levels = [self.lattice.levels_of(normal) for normal in sets[chosen]]
        places = np.unravel_index(index - starts[chosen], [len(each) for each in levels])
        piece: tuple[Region, ...] = tuple(
            self.lattice.member(normal, int(each[place]))
            for normal, each, place in zip(sets[chosen], levels, places, strict=True)
        )
        best = int(values.max())
        log_mass = rate * best + math.log(float(np.mean(np.exp(rate * (values - best)))))
        return Selected(piece, SelectionProgress(scored, 0, log_mass))


@dataclass(frozen=True, slots=True)
class HalfspaceSelection3(LiftedSelection):
    """Sampler of single halfspaces of a lattice; errors as above."""

    lattice: HalfspaceLattice3

    def __post_init__(self) -> None:
        refuse_large("halfspaces", self.lattice.members)


@dataclass(frozen=True, slots=True)
class SimplexSelection3(LiftedSelection):
    """Sampler of simplices of a lattice with reach 1.

    Raises ValueError if the reach is larger, or the class is too large to be enumerated.
    """

    lattice: HalfspaceLattice3

    def __post_init__(self) -> None:
        if self.lattice.reach != 1:
            raise ValueError(f"simplices have normals of reach 1, not {self.lattice.reach}")
        refuse_large("simplices", simplex_count(self.lattice))

    def _sets(self) -> tuple[tuple[Normal, ...], ...]:
        return spanning_fours(self.lattice.normals)


def simplex_count(lattice: HalfspaceLattice3) -> int:
    """Number of simplices of the lattice."""
    counts = {normal: len(lattice.levels_of(normal)) for normal in lattice.normals}
    fours = spanning_fours(lattice.normals)
    return sum(math.prod(counts[normal] for normal in four) for four in fours)


def refuse_large(what: str, members: int) -> None:
    """Refuse a class that takes too long.

    Raises
    ------
    ValueError
        With the number of members, and what it would cost.
    """
    if members > MOST_MEMBERS:
        raise ValueError(
            f"{members:,} {what} would be scored in every step, about {members * _SECONDS:,.0f} s "
            f"and {members * _BYTES / 1e9:,.1f} GB each; at most {MOST_MEMBERS:,} are taken: "
            "use fewer levels"
        )


def values_of(
    lattice: ListedLattice,
    sets: tuple[tuple[Normal, ...], ...],
    counts: GridCounts,
    score: Score,
) -> Iterator[Ints]:
    """Scores of all members, an array for each set of normals, an axis for each normal."""
    spots = lattice.lift(counts.points[counts.begins])
    negatives, positives = counts.by_group(np.cumsum(counts.begins) - 1, len(spots))

    def held(normal: Normal) -> Ints:
        """Of each grid point, how many levels after the first still hold it."""
        found = np.searchsorted(lattice.levels_of(normal), spots @ np.array(normal), side="right")
        return np.asarray(found - 1)

    # sets of several share their normals; of single ones there may be too many to be kept
    known = {n: held(n) for n in {n for chosen in sets if len(chosen) > 1 for n in chosen}}
    for chosen in sets:
        shape = [len(lattice.levels_of(normal)) for normal in chosen]
        cells = np.zeros(len(spots), dtype=np.int64)
        for normal, count in zip(chosen, shape, strict=True):
            cells = cells * count + (known[normal] if normal in known else held(normal))
        gained = score.k * _at_least(cells, positives, shape) + score.c_pos
        lost = -score.k * _at_least(cells, negatives, shape) + score.c_neg
        yield gained + lost if score.total else np.minimum(gained, lost)


def _at_least(cells: Ints, counts: Ints, shape: list[int]) -> Ints:
    """How many lie in cells whose every coordinate is at least that of the entry."""
    # sums of counts below 2^53 are exact in doubles
    flat = np.bincount(cells, weights=counts, minlength=math.prod(shape)).astype(np.int64)
    table = flat.reshape(shape)
    for axis in range(len(shape)):
        table = np.flip(np.cumsum(np.flip(table, axis), axis=axis), axis)
    return table
