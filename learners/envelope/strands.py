"""A strand is one part of the class of pieces, searched with its own boxes, tables and bits.

The law of a draw: :mod:`learners.envelope.envelope_selection`.  How several of them decide one:
:mod:`learners.envelope.race`.  Proofs: docs/privacy.md, lemmas E4 and 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geometry.arrays import Ints
from geometry.columns import Counts, LineTables, alike, column_shift, count_columns, make_tables
from geometry.grid_counts import GridCounts, order_by_column, settle_conflicts
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from learners.envelope import core
from learners.envelope.boxes import NO_SHEET, class_sheets, readings
from learners.envelope.chunks import RESERVE
from learners.envelope.close_pairs import (
    ClosePairs,
    make_pairs,
    most_pairs,
    only_marked,
    take_pairs,
)
from learners.envelope.compaction import compact
from learners.envelope.partition import (
    BOXES,
    MIX_USED,
    NO_ROW,
    PLAIN,
    SPENT,
    Partition,
    add_boxes,
    box_type,
    grow,
    make_partition,
)
from learners.envelope.target import NOTHING, Expected, Target, heavy_points
from learners.envelope.workspace import Workspace, make_workspace
from learners.privacy.randomness import RandomSource, filled

#: Room of a strand for boxes, up to which none is factorised: most selections need no more.
_PLAIN_BOXES = 1 << 15

#: Work of a slice, in microseconds, roughly.
_WORK_PER_CALL = 10_000

#: Most points of both labels that are looked at apart: their bits fit a word.
MOST_SHARED = 62

#: A score that is the smaller of two is bounded by their sum, too, where so much of the rarer label
#: lies on or beside examples of the other one, and weighs so many nats; of more entries it is not
#: asked, as that takes time.
_MOSTLY, _HEAVY, _MOST_ENTRIES = 1 / 2, 4.0, 1 << 17

#: A compaction may add this share of the mass, and is worth its while when in the end, with all
#: boxes used again, the log of the mass is less by this much.
_RISE, _PROGRESS = 1 / 16, 1 / 16


@dataclass(slots=True)
class Strand:
    """One part of the class: its target, tables, boxes and bits, and its accepted piece if any.

    log_mass : natural log of the mass at score 0 when the boxes were last used up; full : they
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
    expected: Expected = NOTHING
    workspace: Workspace | None = None
    chunks: NDArray[np.uint16] = field(default_factory=lambda: np.empty(0, dtype=np.uint16))
    at: int = 0
    log_mass: float = math.inf
    full: bool = False
    accepted: int | None = None
    theta: Ints = field(default_factory=lambda: np.zeros(12, dtype=np.int64))

    @property
    def boxes_used(self) -> int:
        return int(self.partition.tally[BOXES])

    @property
    def mass(self) -> float:
        return float(self.partition.tree[1])

    @property
    def work(self) -> int:
        """Microseconds of work done so far, as they are counted."""
        return int(self.partition.tally[SPENT])

    @property
    def clock(self) -> float:
        return float(self.partition.clock[0])

    def restart(self, source: RandomSource | None = None) -> None:
        """Begin anew at clock 0, with bits of another source or with its own that are not read yet;
        the boxes stay."""
        if source is not None:
            self.source = source
            self.chunks, self.at = self.chunks[:0], 0
        self.partition.clock[:] = 0.0
        self.accepted = None

    def aim(self, target: Target, source: RandomSource) -> None:
        """Begin anew with another score or rate; the boxes stay, all plain, and are to be weighed.

        A plain box's counts bound any score, unless points of both labels are looked at apart.
        """
        self.target, self.plain_boxes = target, _PLAIN_BOXES
        self.workspace = None  # which knows the old rate
        factors = self.partition.factors[: self.boxes_used]
        factors[factors[:, MIX_USED] != PLAIN] = PLAIN
        self.partition.tree[1] = 0.0  # no mass is what it would be
        self.restart(source)

    def drop_tables(self) -> None:
        """Let go of the memory of line tables; lines are made again as they are needed."""
        self.tables, self.pairs = self.new_tables()
        self.partition.coarse[:] = NO_ROW

    def new_tables(self) -> tuple[LineTables, ClosePairs | None]:
        """Line tables of the same examples, with no lines yet."""
        pairs = self.pairs
        left = None if pairs is None else pairs._replace(tables=alike(pairs.tables))
        return alike(self.tables), left

    def advance(self, horizon: float) -> None:
        """Run for a slice of work, or until something is accepted."""
        target = self.target
        self.chunks, self.at = filled(self.source, self.chunks, self.at, RESERVE)
        if self.boxes_used < self.plain_boxes:
            target = target._replace(narrow=0)
        why, box = self._run(target, horizon)
        if why == core.FULL:
            self.make_room()
        if why == core.ACCEPTED:
            self.accepted = box

    def _run(self, target: Target, horizon: float) -> tuple[int, int]:
        """Why the slice ended, and the box."""
        ends = horizon, self.full, self.theta
        work, pending = _WORK_PER_CALL, core.NO_BOX
        if self.workspace is None:
            done = self.work
            why, box, self.at = core.run_plain(
                target, self.tables, self.pairs, self.ordinates, self.partition, self.chunks,
                work, *ends, self.at, self.expected,
            )  # fmt: skip
            if why != core.NEEDS_WORKSPACE:
                return int(why), int(box)
            self.workspace = make_workspace()
            # the rest of the same slice: where slices end must not depend on the workspace
            work, pending = work - (self.work - done), np.int64(box)
        why, box, self.at = core.run(
            target, self.tables, self.pairs, self.ordinates, self.partition, self.workspace,
            self.chunks, work, *ends, self.at, pending, self.expected,
        )  # fmt: skip
        return int(why), int(box)

    def make_room(self) -> None:
        """More room, or fewer boxes; no more splits when the last compaction brought too little."""
        if len(self.partition.boxes) < self.most_boxes:
            for grown in grow(self.partition):
                self.partition = grown
            return
        log_mass = math.log(self.mass) + self.target.rate * self.target.reference
        pays = log_mass <= self.log_mass - _PROGRESS
        self.log_mass = log_mass
        self.full = not (pays and compact(self.target, self.partition, _RISE * self.mass))


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
    shared : int64 array, shape (m, 4)
        x, y, negatives and positives of the heaviest points of both labels
        (:mod:`learners.envelope.target`).
    n : int
        The number of examples.
    """

    totals: tuple[Counts, Counts]
    ordinates: tuple[NDArray[np.int32], NDArray[np.int32]]
    pairs: Ints
    left: tuple[Counts, Counts]
    shared: Ints
    n: int

    @classmethod
    def of(cls, counts: GridCounts, in_pairs: bool = False, eta: float | None = None) -> Examples:
        """From counts on the lattice's grid; with close pairs, if there are enough of them.

        eta : nats an example, of a score that is the smaller of two; then points of both labels are
        looked for.
        """
        left, pairs = counts, np.empty((0, 5), dtype=np.int64)
        second = np.empty(0, dtype=np.int64)
        if eta is None:
            if in_pairs:
                left, pairs = take_pairs(counts)
        else:
            second = heavy_points(counts, eta, MOST_SHARED)
            small = len(counts) <= _MOST_ENTRIES
            if small:
                left = settle_conflicts(counts)
            together = min(counts.positives, counts.negatives)
            least = max(_MOSTLY * together, _HEAVY / eta if eta else np.inf)
            gone = together - min(left.positives, left.negatives)
            # ordinary examples have few, which is soon seen
            if small and in_pairs and gone + most_pairs(left) >= least:
                left, pairs = take_pairs(left)
                gone = together - min(left.positives, left.negatives)
            if gone < _MOSTLY * together or gone * eta < _HEAVY:
                left, pairs = counts, pairs[:0]
        totals = count_columns(counts)
        # boxes over wide columns are never factorised
        nothing = np.empty(0, dtype=np.int32)
        ordinates = nothing, nothing
        if column_shift(counts.d) == 0:
            ordinates = order_by_column(counts)
        amounts = counts.amounts[second - 1], counts.amounts[second]
        shared = np.column_stack([counts.points[second], *amounts])
        left_totals = totals if left is counts else count_columns(left)
        return cls(totals, ordinates, pairs, left_totals, shared, counts.n)

    def swapped(self) -> Examples:
        """The same with the other label each."""
        pairs = self.pairs[:, [2, 3, 0, 1, 4]]
        shared = self.shared[:, [0, 1, 3, 2]]
        totals = self.totals[::-1]
        left = totals if self.left is self.totals else self.left[::-1]
        return Examples(totals, self.ordinates[::-1], pairs, left, shared, self.n)


def start_strand(
    lattice: HalfplaneLattice,
    target: Target,
    examples: Examples,
    boxes: Ints,
    source: RandomSource,
    max_boxes: int,
    table_bytes: int,
    plain_boxes: int | None = None,
    expected: Expected = NOTHING,
) -> Strand:
    """A strand with its first boxes, not yet weighed.

    No box is factorised before there are `plain_boxes`.
    """
    room = 1 << (len(boxes) - 1).bit_length()
    made_of = readings(lattice)
    cells = (made_of.high + 1 - made_of.low) // target.step + 2
    in_pairs = examples.left is not examples.totals
    if in_pairs:
        table_bytes //= 2
    shared = np.ascontiguousarray(examples.shared)
    tables = make_tables(examples.totals, made_of.basis, table_bytes)
    pairs = None
    if in_pairs:
        left = make_tables(examples.left, made_of.basis, table_bytes)
        pairs = make_pairs(made_of, examples.pairs, left, shared)
    elif len(shared):
        pairs = only_marked(make_tables(examples.totals, made_of.basis, 0), shared)
    kind: type[np.signedinteger[Any]] = box_type(made_of, examples.totals[0])
    if len(shared):
        # a bound may be lower than the score by k for each example
        kind = kind if 8 * target.k * examples.n <= np.iinfo(np.int32).max else np.int64
    strand = Strand(
        target,
        tables,
        pairs,
        examples.ordinates,
        make_partition(room, cells, kind),
        source.spawn(),
        max_boxes,
        _PLAIN_BOXES if plain_boxes is None else plain_boxes,
        expected,
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


def piece_at(lattice: HalfplaneLattice, packed: int, theta: Ints) -> tuple[Halfplane, ...]:
    """The piece of packed sheets and dual points, its edges by sheet, u and v.

    theta, shape (12,): u and v of three edges; in the measure "paper" their readings, and then the
    three dual points (:mod:`learners.envelope.boxes`).
    """
    if lattice.measure == "paper":
        packed, theta = class_sheets(packed, theta), theta[6:]
    sheets = [packed >> (3 * e) & 7 for e in range(3)]
    edges = [
        (Sheet(sheet), int(theta[2 * e]), int(theta[2 * e + 1]))
        for e, sheet in enumerate(sheets)
        if sheet != NO_SHEET
    ]
    return tuple(lattice.halfplane(*edge) for edge in sorted(edges))
