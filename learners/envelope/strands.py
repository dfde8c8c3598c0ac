"""Strands: parts of the class that are refined side by side, until one draw is settled.

A strand that runs alone is divided as soon as it is worth its while, in the beginning and again
when the others have ended, so two are at work whatever part of the class is hard.

The law of a draw: :mod:`learners.envelope.envelope_selection`.  Why the first acceptance of several
strands has it, in whatever order they run: docs/privacy.md, lemma E4; how far their clocks are
rounded, and when one may be left out: lemma 5.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geometry.columns import Counts, column_shift, count_columns
from geometry.counting import LineTables, alike, make_tables
from geometry.grid_counts import GridCounts
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from learners.envelope import core
from learners.envelope.boxes import NO_SHEET, SHEETS
from learners.envelope.close_pairs import ClosePairs, make_pairs, take_pairs
from learners.envelope.compaction import compact
from learners.envelope.factorised_boxes import Workspace, make_workspace, order_by_column
from learners.envelope.paper_box import class_sheets, readings
from learners.envelope.partition import (
    BOXES,
    COMPACTIONS,
    EXACT,
    FACTORISED,
    FORGOTTEN,
    NO_ROW,
    SPLIT_WORK,
    TRIAL_WORK,
    TRIALS,
    Partition,
    add_boxes,
    best_bound,
    box_type,
    grow,
    halve,
    make_partition,
    weigh,
)
from learners.envelope.target import Target
from learners.envelope.views import edge_density, heaviest_boxes
from learners.randomness import RandomSource
from learners.selection import Cancelled, HeavyBox, Selected, SelectionProgress, Watch

#: Room of a strand for boxes, up to which none is factorised: most selections need no more.
_PLAIN_BOXES = 1 << 15

#: Strands that run side by side at most.  Fixed, so that a seed means one run.
STRANDS = 2

#: A strand that runs alone is divided once it has so many boxes; quick draws need no second one.
_WORTH_TWO = 1 << 12

#: Threads for all strands but one, which the caller's thread runs.
_POOL = ThreadPoolExecutor(STRANDS - 1, thread_name_prefix="strand")


def _renew_pool() -> None:
    global _POOL
    _POOL = ThreadPoolExecutor(STRANDS - 1, thread_name_prefix="strand")


if hasattr(os, "register_at_fork"):
    # a forked process has its parent's pool, but not the threads: it would wait for ever
    os.register_at_fork(after_in_child=_renew_pool)

#: Work between two looks at the watch, in units of about a microsecond.
_WORK_PER_CALL = 20_000

#: Slices of such work that strands side by side do at most before they wait for each other: with
#: one slice up to a quarter of the time went by in waiting.
_LONGEST_TURN = 4

#: 16-bit chunks drawn from the source at first, and at most, in one go.
_FIRST_CHUNKS, _MOST_CHUNKS = 1 << 13, 1 << 19

#: Final boxes that a watched selection remembers.
_FINAL_BOXES = 64

#: A compaction may add this share of the mass, and is worth its while when in the end, with all
#: boxes used again, the log of the mass is less by this much.
_RISE, _PROGRESS = 1 / 16, 1 / 16

#: A strand in turn runs until its clock is so many times the foremost one: turns stay few.
_LEAD = 2

#: Below this total mass the reference score is chosen anew.
_LIGHT = 1e-50


@dataclass(slots=True)
class Strand:
    """One part of the class: its target, tables, boxes and bits, and its accepted piece if any.

    log_mass : natural log of the mass at score 0 when the boxes were last used up; settled : they
    are used up for good, trials go on without splits; workspace : made for the first box that may
    be factorised.
    """

    target: Target
    tables: LineTables
    pairs: ClosePairs | None
    ordinates: tuple[NDArray[np.int32], NDArray[np.int32]]
    partition: Partition
    source: RandomSource
    most_boxes: int
    plain_boxes: int
    workspace: Workspace | None = None
    chunks: NDArray[np.uint16] = field(default_factory=lambda: np.empty(0, dtype=np.uint16))
    at: int = 0
    log_mass: float = math.inf
    settled: bool = False
    accepted: int | None = None
    theta: NDArray[np.int64] = field(default_factory=lambda: np.zeros(12, dtype=np.int64))

    @property
    def boxes_used(self) -> int:
        return int(self.partition.tally[BOXES])

    @property
    def mass(self) -> float:
        return float(self.partition.tree[1])

    @property
    def work(self) -> int:
        """Work done so far."""
        return int(self.partition.tally[TRIAL_WORK] + self.partition.tally[SPLIT_WORK])

    @property
    def clock(self) -> float:
        return float(self.partition.clock[0])

    def restart(self, source: RandomSource) -> None:
        """Begin anew at clock 0 with bits of another source; the boxes stay."""
        self.source = source
        self.chunks, self.at = self.chunks[:0], 0
        self.partition.clock[:] = 0.0
        self.accepted = None

    def advance(self, horizon: float) -> None:
        """Run for a slice of work, or until something is accepted."""
        target = self.target
        if self.at + core.RESERVE > len(self.chunks):
            # what is left of the old buffer is thrown away unread
            count = min(max(_FIRST_CHUNKS, 2 * len(self.chunks)), _MOST_CHUNKS)
            self.chunks = np.frombuffer(self.source.bytes(2 * count), dtype="<u2")
            self.at = 0
        if self.boxes_used < self.plain_boxes:
            target = target._replace(narrow=0)
        why, box = self._run(target, horizon)
        if why == core.FULL:
            self._make_room()
        if why == core.ACCEPTED:
            self.accepted = box

    def _run(self, target: Target, horizon: float) -> tuple[int, int]:
        """Why the slice ended, and the box."""
        ends = horizon, self.settled, self.theta
        work, pending = _WORK_PER_CALL, core.NO_BOX
        if self.workspace is None:
            done = self.work
            why, box, self.at = core.run_plain(
                target, self.tables, self.pairs, self.ordinates, self.partition, self.chunks,
                work, *ends, self.at,
            )  # fmt: skip
            if why != core.NEEDS_WORKSPACE:
                return int(why), int(box)
            self.workspace = make_workspace()
            # the rest of the same slice: where slices end must not depend on the workspace
            work, pending = work - (self.work - done), np.int64(box)
        why, box, self.at = core.run(
            target, self.tables, self.pairs, self.ordinates, self.partition, self.workspace,
            self.chunks, work, *ends, self.at, pending,
        )  # fmt: skip
        return int(why), int(box)

    def _make_room(self) -> None:
        """More room, or fewer boxes; no more splits when the last compaction brought too little."""
        if len(self.partition.boxes) < self.most_boxes:
            for grown in grow(self.partition):
                self.partition = grown
            return
        log_mass = math.log(self.mass) + self.target.rate * self.target.reference
        pays = log_mass <= self.log_mass - _PROGRESS
        self.log_mass = log_mass
        self.settled = not (pays and compact(self.target, self.partition, _RISE * self.mass))


@dataclass(frozen=True, slots=True)
class Examples:
    """Examples as the strands read them.

    Attributes
    ----------
    totals : tuple of two arrays
        By label, counted by column (:func:`geometry.columns.count_columns`).
    ordinates : tuple of two int32 arrays
        By label, their places in order.
    pairs : int64 array, shape (m, 5)
        Close pairs (:func:`learners.envelope.close_pairs.take_pairs`); none where the score is no
        sum.
    left : tuple of two arrays
        As totals, of the examples that are left without the pairs.
    """

    totals: tuple[Counts, Counts]
    ordinates: tuple[NDArray[np.int32], NDArray[np.int32]]
    pairs: NDArray[np.int64]
    left: tuple[Counts, Counts]

    @classmethod
    def of(cls, counts: GridCounts, in_pairs: bool = False) -> Examples:
        """From counts on the lattice's grid; with close pairs, if there are enough of them."""
        left, pairs = counts, np.empty((0, 5), dtype=np.int64)
        if in_pairs:
            left, pairs = take_pairs(counts)
        totals = count_columns(counts)
        # boxes over wide columns are never factorised
        nothing = np.empty(0, dtype=np.int32)
        ordinates = nothing, nothing
        if column_shift(counts.d) == 0:
            ordinates = order_by_column(counts)
        return cls(totals, ordinates, pairs, count_columns(left) if len(pairs) else totals)

    def swapped(self) -> Examples:
        """The same with the other label each."""
        pairs = self.pairs[:, [2, 3, 0, 1, 4]]
        return Examples(self.totals[::-1], self.ordinates[::-1], pairs, self.left[::-1])


def start_strand(
    lattice: HalfplaneLattice,
    target: Target,
    examples: Examples,
    boxes: NDArray[np.int64],
    source: RandomSource,
    max_boxes: int,
    table_bytes: int,
    plain_boxes: int | None = None,
) -> Strand:
    """A strand with its first boxes, not yet weighed.

    No box is factorised before there are `plain_boxes`.
    """
    room = 1 << (len(boxes) - 1).bit_length()
    made_of = readings(lattice)
    cells = (made_of.high + 1 - made_of.low) // target.step + 2
    if len(examples.pairs):
        table_bytes //= 2
    tables = make_tables(examples.totals, made_of.basis, table_bytes)
    pairs = None
    if len(examples.pairs):
        left = make_tables(examples.left, made_of.basis, table_bytes)
        pairs = make_pairs(lattice, examples.pairs, left)
    strand = Strand(
        target,
        tables,
        pairs,
        examples.ordinates,
        make_partition(room, cells, box_type(made_of, examples.totals[0])),
        source.spawn(),
        max_boxes,
        _PLAIN_BOXES if plain_boxes is None else plain_boxes,
    )
    # of one type, whoever made them: the loop is compiled once
    add_boxes(
        target,
        strand.partition,
        strand.tables,
        strand.pairs,
        boxes.astype(strand.partition.boxes.dtype, "C"),
    )
    return strand


def settle(
    strands: list[Strand],
    lattice: HalfplaneLattice,
    log_measure: float,
    watch: Watch | None,
    *,
    in_turns: bool = False,
    stop: Callable[[], bool] | None = None,
) -> tuple[Selected, int]:
    """Run the strands until one has won; what was drawn, and the number of the winner.

    How they take turns decides nothing: strands share no bits, and none depends on another.

    Parameters
    ----------
    strands : list of Strand
        Those that are divided add to it.
    lattice : HalfplaneLattice
    log_measure : float
        Natural log of the whole class's weight at score 0, which `log_mass` is relative to.
    watch : callable, optional
    in_turns : bool
        Run one strand at a time, that whose clock is least.  Side by side they take less time where
        all have much to do, and more work where one of them wins at once.
    stop : callable, optional
        Asked between slices of work; when it says so, nothing is drawn.

    Raises
    ------
    Cancelled
        If the watch raises it, or `stop` says so.
    """
    weigh_all(strands)
    turns = 0
    while behind := _behind(strands):
        if stop is not None and stop():
            raise Cancelled
        if len(behind) == 1 and not in_turns and behind[0].boxes_used >= _WORTH_TWO:
            behind.append(divide(behind[0], strands))
            strands.append(behind[1])
        horizon = _first_acceptance(strands)
        if in_turns:
            _advance_last(behind, strands, horizon)
        else:
            # longer turns as time goes by: the strands wait for each other at the end of each
            turns += 1
            length = min(1 + turns // 24, _LONGEST_TURN)
            others = [_POOL.submit(_turn, s, horizon, length) for s in behind[1:]]
            _turn(behind[0], horizon, length)
            for done in others:
                done.result()
        if max(strand.mass for strand in strands) < _LIGHT:
            weigh_all(strands)
        if watch is not None:
            watch(_progress(strands, lattice, log_measure))
    accepted = [i for i, strand in enumerate(strands) if strand.accepted is not None]
    winner = min(accepted, key=lambda i: strands[i].clock)
    progress = _progress(strands, lattice, log_measure)
    # what is handed out must not keep the partition in memory
    final = (
        None
        if watch is None
        else _remember(
            heaviest_boxes([strand.partition for strand in strands], lattice, _FINAL_BOXES)
        )
    )
    drawn = _drawn_piece(strands[winner], lattice)
    return Selected(
        drawn, replace(progress, heaviest=final, density=None), _details(strands)
    ), winner


def _advance_last(behind: list[Strand], strands: list[Strand], horizon: float) -> None:
    """Run the strand whose clock is least, the heaviest of these, until it is well past others.

    What is beyond another's clock need not be known yet: that one may win before.
    """
    last = min(behind, key=lambda strand: (strand.clock, -strand.mass))
    ahead = max(strand.clock for strand in strands)
    last.advance(min(horizon, _LEAD * ahead) if ahead > last.clock else horizon)


def divide(strand: Strand, strands: Sequence[Strand]) -> Strand:
    """Give every other box of the only one that runs to a new strand, whose clock begins where its
    clock stands.

    What a strand will accept from then on depends on its boxes and its clock, not on how it came
    by them (docs/privacy.md, lemma E4).  Each of the two has half of the room.
    """
    for one in strands:
        if one is not strand:
            # the lines of one that waits need no memory; it would make them again
            one.tables, one.pairs = alike(one.tables), _alike_pairs(one.pairs)
            one.partition.coarse[:] = NO_ROW
    strand.partition, given = halve(strand.partition)
    strand.most_boxes //= 2
    strand.plain_boxes //= 2
    for part in (strand.partition, given):
        weigh(strand.target, part)
    return Strand(
        strand.target,
        alike(strand.tables),
        _alike_pairs(strand.pairs),
        strand.ordinates,
        given,
        strand.source.spawn(),
        strand.most_boxes,
        strand.plain_boxes,
    )


def _alike_pairs(pairs: ClosePairs | None) -> ClosePairs | None:
    return None if pairs is None else pairs._replace(tables=alike(pairs.tables))


def _drawn_piece(winner: Strand, lattice: HalfplaneLattice) -> tuple[Halfplane, ...]:
    return piece_at(lattice, int(winner.partition.boxes[winner.accepted, SHEETS]), winner.theta)


def piece_at(
    lattice: HalfplaneLattice, packed: int, theta: NDArray[np.int64]
) -> tuple[Halfplane, ...]:
    """The piece of packed sheets and dual points, as a strand has them.

    theta, shape (12,): u and v of three edges; in the measure "paper" their readings, and then the
    three dual points (:mod:`learners.envelope.paper_box`).
    """
    if lattice.measure == "paper":
        packed, theta = class_sheets(packed, theta), theta[6:]
    sheets = [packed >> (3 * e) & 7 for e in range(3)]
    return tuple(
        lattice.halfplane(Sheet(sheet), int(theta[2 * e]), int(theta[2 * e + 1]))
        for e, sheet in enumerate(sheets)
        if sheet != NO_SHEET
    )


def _details(strands: list[Strand]) -> dict[str, Any]:
    return {
        "exact_evaluations": _tally(strands, EXACT),
        "factorised": _tally(strands, FACTORISED),
        "lines": sum(int(strand.tables.used[0]) for strand in strands),
        "compactions": _tally(strands, COMPACTIONS),
        "tables_dropped": _tally(strands, FORGOTTEN),
        "strands_full": sum(strand.settled for strand in strands),
    }


def _progress(
    strands: list[Strand], lattice: HalfplaneLattice, log_measure: float
) -> SelectionProgress:
    partitions = [strand.partition for strand in strands]
    total = sum(strand.mass for strand in strands)
    log_mass = math.log(total) if total > 0 else -math.inf
    log_mass += strands[0].target.rate * strands[0].target.reference
    return SelectionProgress(
        trials=_tally(strands, TRIALS),
        boxes=_tally(strands, BOXES),
        log_mass=log_mass - log_measure,
        heaviest=functools.partial(heaviest_boxes, partitions, lattice),
        density=functools.partial(edge_density, partitions, lattice),
    )


def _remember(boxes: tuple[HeavyBox, ...]) -> Callable[[int], tuple[HeavyBox, ...]]:
    return lambda count: boxes[:count]


def _tally(strands: list[Strand], which: int) -> int:
    return sum(int(strand.partition.tally[which]) for strand in strands)


def _turn(strand: Strand, horizon: float, slices: int) -> None:
    """Run for so many slices of work, or until there is no more to do for now."""
    for _ in range(slices):
        strand.advance(horizon)
        if strand.accepted is not None or strand.clock > horizon or strand.mass < core.TINY:
            return


def _first_acceptance(strands: list[Strand]) -> float:
    return min((s.clock for s in strands if s.accepted is not None), default=math.inf)


def _behind(strands: list[Strand]) -> list[Strand]:
    """Strands that must still run: not accepted, not weightless, clock not past the winner's."""
    horizon = _first_acceptance(strands)
    return [s for s in strands if s.accepted is None and s.clock <= horizon and s.mass >= core.TINY]


def weigh_all(strands: Sequence[Strand]) -> None:
    """Make the best bound of all strands weigh 1, and keep the clocks in step."""
    best = max(int(best_bound(s.target, s.partition)) for s in strands)
    for strand in strands:
        gain = strand.target.rate * (best - strand.target.reference)
        strand.target = strand.target._replace(reference=best)
        weigh(strand.target, strand.partition)
        # time runs in units of 1 / mass; it has not begun when the first reference is chosen
        if strand.clock > 0:
            strand.partition.clock[:] *= math.exp(gain)
