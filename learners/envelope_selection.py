"""Exact draws from the exponential mechanism by refining an envelope.

The class is the lattice of :class:`geometry.halfplane.HalfplaneLattice`, one halfplane or
three; the law is P(theta) proportional to mu(theta) * exp(rate * value(theta)).  KMMS
enumerate the n^2 cells of an arrangement for a halfplane and n^6 triples for a triangle;
here the same law is drawn by adaptive rejection (OS*: Dymetman, Bouchard, Carter 2012; A*
sampling: Maddison, Tarlow, Minka 2014):

1. Keep boxes of dual points that cover the class.  Each has an outer piece that contains all
   its pieces and an inner piece that all contain (two corners of each dual rectangle), so
   bound = min(k * P(outer) + c_pos, -k * N(inner) + c_neg) is at least every value in it.
2. Draw a box in proportion to volume * exp(rate * bound), theta uniform in it, and accept
   with probability exp(rate * (value(theta) - bound)).
3. After a rejection the box may be halved, and its halves cut to what carries base measure;
   start again.  Small boxes of a hard selection get a finer envelope instead of halves
   (:mod:`learners.factorised_boxes`).

**Law.**  Given the boxes, each trial accepts theta with probability mu(theta) *
exp(rate * value(theta)) / M, M the envelope's mass: proportional to the target whatever the
boxes are.  Boxes depend on the past only through rejected trials, so the accepted theta has
exactly the target law however the refinement is steered; it is steered by counted work,
never by a clock, and no draw is cut short.

**Strands.**  Trials may be read as a Poisson process whose rate is the envelope's mass; the
accepted ones are then a Poisson process of rate Z * pi, whatever the envelope (A* sampling).
So the class is dealt to a fixed number of strands, each with its own boxes, bits and clock,
that run side by side on the processor's cores, and the acceptance with the least clock wins
once every other clock has passed it.  Threads and their speed decide nothing.

**Arithmetic.**  Membership, counts, bounds and the acceptance test are integers.  Doubles
enter in (i) a mass: exp of a product, at most seven roundings, or of a factorised box at most
sixty, those of its cells' weights and sums included; (ii) sums up the tree, one rounding a level,
at most 22 levels, and the ratio of two of them at each level, compared with infinitely many
uniform bits, for a factorised box also down three trees of six levels; (iii) -ln(U) / rate with U
uniform to a relative 2^-48 at both ends.  Each moves the probability of an accepted theta by a
factor within exp(+-2^-43), exp(+-2^-46) and exp(+-2^-42); normalising doubles the sum.  Clocks
are compensated sums of waits, off by at most a factor exp(+-2^-44), and decide between strands
only.  Together below exp(+-2^-40), inside the charge of 2^-38 in :mod:`learners.accounting`.
Boxes lighter than 1e-100 of the heaviest strand may lose precision or vanish, for masses are
weighed anew before they fall below 1e-150: in a run of 2^64 trials that matters with
probability below 2^-180, which the account covers.  Details: docs/privacy.md, lemma 5.

The running time depends on the data: a timing side channel (docs/privacy.md).

Complexity: tables O(n + c^2) for c columns, c <= 2049 (:mod:`geometry.columns`); then a trial
O(1) to O(c), a split O(1) counts and O(c) for each line not met before.  Up to d = 2048 none of
these depends on n, but how many are needed does: the more examples, the sharper the peak of the
law and the finer the boxes it takes.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geometry.columns import column_shift, count_columns
from geometry.counting import LineTables, make_tables
from geometry.halfplane import HalfplaneLattice, Sheet
from learners import envelope
from learners.factorised_boxes import Workspace, make_workspace, order_by_column
from learners.randomness import RandomSource
from learners.scores import Score
from learners.selection import (
    PIECE_SIZE,
    HeavyBox,
    PieceKind,
    Selected,
    SelectionProgress,
    Watch,
)

#: Cells of the coarse lattice along a side of the square; most trials end there.
_COARSE = 8

#: A box no longer than this share of the square's side may be factorised; with more than _DENSE
#: examples alive it must be shorter in proportion, so that its tables stay small.
_NARROW, _DENSE = 32, 100_000

#: Boxes of a strand before the first is factorised: most selections end with fewer.
_PLAIN_BOXES = 1 << 14

#: Parts of the class that are refined side by side.  Fixed, so that a seed means one run.
_STRANDS = 2

#: Threads for all strands but one, which the caller's thread runs.
_POOL = ThreadPoolExecutor(_STRANDS - 1, thread_name_prefix="strand")

#: Work between two looks at the watch, in units of about a microsecond.
_WORK_PER_CALL = 20_000

#: 16-bit chunks drawn from the source at first, and at most, in one go.
_FIRST_CHUNKS, _MOST_CHUNKS = 1 << 13, 1 << 19

#: Final boxes that a watched selection remembers.
_FINAL_BOXES = 64

#: Below this total mass the reference score is chosen anew.
_LIGHT = 1e-50


@dataclass(slots=True)
class _Strand:
    """One part of the class: its tables, boxes and bits, and its accepted piece if any."""

    tables: LineTables
    ordinates: NDArray[np.int32]
    partition: envelope.Partition
    workspace: Workspace
    source: RandomSource
    most_boxes: int
    chunks: NDArray[np.uint16] = field(default_factory=lambda: np.empty(0, dtype=np.uint16))
    at: int = 0
    accepted: int | None = None
    theta: NDArray[np.int64] = field(default_factory=lambda: np.zeros(6, dtype=np.int64))

    @property
    def mass(self) -> float:
        return float(self.partition.tree[1])

    @property
    def clock(self) -> float:
        return float(self.partition.clock[0])

    @property
    def may_grow(self) -> bool:
        return len(self.partition.boxes) < self.most_boxes

    @property
    def full(self) -> bool:
        """The boxes are used up: trials go on, splits do not."""
        used = int(self.partition.tally[envelope.BOXES])
        return not self.may_grow and used == len(self.partition.boxes)

    def advance(self, target: envelope.Target, horizon: float) -> None:
        """Run for a slice of work, or until something is accepted."""
        if self.at + envelope.RESERVE > len(self.chunks):
            # what is left of the old buffer is thrown away unread
            count = min(max(_FIRST_CHUNKS, 2 * len(self.chunks)), _MOST_CHUNKS)
            self.chunks = np.frombuffer(self.source.bytes(2 * count), dtype="<u2")
            self.at = 0
        if self.partition.tally[envelope.BOXES] < _PLAIN_BOXES:
            target = target._replace(narrow=0)
        why, box, self.at = envelope.run(
            target, self.tables, self.ordinates, self.partition, self.workspace, self.chunks,
            _WORK_PER_CALL, horizon, self.may_grow, self.theta, self.at,
        )  # fmt: skip
        if why == envelope.FULL:
            self.partition = envelope.grow(self.partition)
        if why == envelope.ACCEPTED:
            self.accepted = int(box)


@dataclass(frozen=True, slots=True)
class EnvelopeSelection:
    """Exact sampler of the exponential mechanism by envelope refinement.

    Parameters
    ----------
    lattice : HalfplaneLattice
        The class and its base measure.
    piece : {"halfplane", "triangle"}
    max_boxes : int
        Boxes kept, up to a factor of two; at most 2**22, as the proof of the arithmetic
        assumes.  When they are used up, trials go on from the envelope as it is: slower, never
        different in law.
    table_bytes : int
        Memory for line tables; when it is used up they are dropped and made anew.
    """

    lattice: HalfplaneLattice
    piece: PieceKind
    max_boxes: int = 1 << 21
    table_bytes: int = 200 << 20

    def __post_init__(self) -> None:
        if not 1 <= self.max_boxes <= 1 << 22:
            raise ValueError(f"max_boxes must lie in 1..{1 << 22}, got {self.max_boxes}")

    def select(
        self,
        points: NDArray[np.int64],
        labels: NDArray[np.bool_],
        score: Score,
        rate: float,
        source: RandomSource,
        watch: Watch | None = None,
    ) -> Selected:
        """Draw one piece (see :class:`learners.selection.Selection`)."""
        totals = count_columns(points, labels, self.lattice.d)
        target = self._target(score, rate, len(points))
        strands = self._start(target, totals, order_by_column(points, labels), source)
        target = _weigh(target, strands)
        while behind := _behind(strands):
            horizon = _first_acceptance(strands)
            slices = [_POOL.submit(s.advance, target, horizon) for s in behind[1:]]
            behind[0].advance(target, horizon)
            for done in slices:
                done.result()
            if max(strand.mass for strand in strands) < _LIGHT:
                target = _weigh(target, strands)
            if watch is not None:
                watch(self._progress(target, strands))
        winner = min(
            (strand for strand in strands if strand.accepted is not None), key=lambda s: s.clock
        )
        progress = self._progress(target, strands)
        # what is handed out must not keep the partition in memory
        final = None if watch is None else _remember(heaviest_boxes(strands, _FINAL_BOXES))
        return self._selected(replace(progress, heaviest=final), strands, winner)

    def _selected(
        self, progress: SelectionProgress, strands: list[_Strand], winner: _Strand
    ) -> Selected:
        sheets = int(winner.partition.boxes[winner.accepted, envelope.SHEETS])
        theta = winner.theta
        piece = tuple(
            self.lattice.halfplane(
                Sheet(sheets >> (3 * e) & 7), int(theta[2 * e]), int(theta[2 * e + 1])
            )
            for e in range(PIECE_SIZE[self.piece])
        )
        details: dict[str, Any] = {
            "exact_evaluations": _tally(strands, envelope.EXACT),
            "factorised": _tally(strands, envelope.FACTORISED),
            "lines": sum(int(strand.tables.used[0]) for strand in strands),
            "tables_dropped": _tally(strands, envelope.FORGOTTEN),
            "strands_full": sum(strand.full for strand in strands),
        }
        return Selected(piece, progress, details)

    def _target(self, score: Score, rate: float, n: int) -> envelope.Target:
        lattice = self.lattice
        chord = lattice.measure == "chord"
        factors = chord and column_shift(lattice.d) == 0
        span = lattice.d << lattice.bits if chord else lattice.high - lattice.low
        return envelope.Target(
            k=score.k,
            c_pos=score.c_pos,
            c_neg=score.c_neg,
            rate=rate,
            reference=0,
            side=lattice.d << lattice.bits if chord else 0,
            low=lattice.low,
            step=-(-span // _COARSE),
            narrow=span * _DENSE // (_NARROW * max(n, _DENSE)) if factors else 0,
        )

    def _start(
        self,
        target: envelope.Target,
        totals: tuple[NDArray[np.int32], NDArray[np.int32]],
        ordinates: NDArray[np.int32],
        source: RandomSource,
    ) -> list[_Strand]:
        """Strands with their first boxes: every multiset of sheets and rectangles, dealt out."""
        first = first_boxes(self.lattice, PIECE_SIZE[self.piece])
        room = 1 << (-(-len(first) // _STRANDS) - 1).bit_length()
        cells = (self.lattice.high + 1 - self.lattice.low) // target.step + 2
        strands = [
            _Strand(
                make_tables(totals, self.lattice.basis, self.table_bytes // _STRANDS),
                ordinates,
                envelope.make_partition(room, cells),
                make_workspace(),
                source.spawn(),
                self.max_boxes // _STRANDS,
            )
            for _ in range(_STRANDS)
        ]
        for deal, strand in enumerate(strands):
            envelope.add_boxes(strand.partition, strand.tables, first[deal::_STRANDS])
        return strands

    def _progress(self, target: envelope.Target, strands: list[_Strand]) -> SelectionProgress:
        total = sum(strand.mass for strand in strands)
        class_size = len(self.lattice.sheets) * self.lattice.points_per_sheet
        log_mass = math.log(total) if total > 0 else -math.inf
        log_mass += target.rate * target.reference
        return SelectionProgress(
            trials=_tally(strands, envelope.TRIALS),
            boxes=_tally(strands, envelope.BOXES),
            log_mass=log_mass - PIECE_SIZE[self.piece] * math.log(class_size),
            heaviest=functools.partial(heaviest_boxes, strands),
        )


@functools.lru_cache(maxsize=8)
def first_boxes(lattice: HalfplaneLattice, size: int) -> NDArray[np.int64]:
    """The starting boxes, shape (count, 16): every multiset of `size` sheets and rectangles.

    Together they hold every admitted piece; an unordered choice of edges stands for all its
    orders.
    """
    edges = [(sheet, part) for sheet in lattice.sheets for part in _rectangles(lattice)]
    choices = list(itertools.combinations_with_replacement(edges, size))
    boxes = np.zeros((len(choices), 16), dtype=np.int64)
    for box, chosen in zip(boxes, choices, strict=True):
        for e, (_, part) in enumerate(chosen):
            box[4 * e : 4 * e + 4] = part
        box[envelope.SHEETS] = envelope.pack_sheets(tuple(sheet for sheet, _ in chosen))
        box[envelope.ORDERS] = math.factorial(size) // math.prod(
            math.factorial(chosen.count(edge)) for edge in set(chosen)
        )
    boxes.setflags(write=False)
    return boxes


def _rectangles(lattice: HalfplaneLattice) -> list[tuple[int, int, int, int]]:
    """Half-open rectangles u0, u1, v0, v1 that cover the admitted points of a sheet."""
    if lattice.measure == "paper":
        ends = {lattice.low: 0, 0: lattice.high + 1}
        return [(u, ends[u], v, ends[v]) for u in ends for v in ends]
    side = lattice.d << lattice.bits
    ends = {-side: 0, 0: side + 1, side + 1: lattice.high + 1}
    # u and v lie within side of each other and the line meets the square: one is in 0..side
    return [(u, ends[u], v, ends[v]) for u in ends for v in ends if u == 0 or v == 0]


def heaviest_boxes(strands: list[_Strand], count: int) -> tuple[HeavyBox, ...]:
    """The heaviest boxes of all strands, heaviest first; O(boxes), between two slices of work."""
    found: list[tuple[float, NDArray[np.int64]]] = []
    for strand in strands:
        capacity = len(strand.partition.boxes)
        used = int(strand.partition.tally[envelope.BOXES])
        masses = strand.partition.tree[capacity : capacity + used]
        most = min(count, used)
        if most:
            # among equals the first, whatever the count: a stable sort of all that may be meant
            least = np.partition(masses, used - most)[used - most]
            candidates = np.flatnonzero(masses >= least)
            chosen = candidates[np.argsort(-masses[candidates], kind="stable")[:most]]
            found += [(float(masses[i]), strand.partition.boxes[i]) for i in chosen]
    found.sort(key=lambda one: -one[0])
    total = sum(strand.mass for strand in strands)
    return tuple(_heavy_box(box, mass / total) for mass, box in found[:count] if mass > 0)


def _remember(boxes: tuple[HeavyBox, ...]) -> Callable[[int], tuple[HeavyBox, ...]]:
    return lambda count: boxes[:count]


def _heavy_box(box: NDArray[np.int64], share: float) -> HeavyBox:
    u0, u1, v0, v1 = (box[side:12:4].tolist() for side in range(4))
    packed = int(box[envelope.SHEETS])
    sheets = [packed >> (3 * e) & 7 for e in range(3)]
    edges = [e for e in range(3) if sheets[e] in tuple(Sheet)]
    return HeavyBox(
        sheets=tuple(sheets[e] for e in edges),
        rectangles=tuple((u0[e], u1[e], v0[e], v1[e]) for e in edges),
        share=share,
    )


def _tally(strands: list[_Strand], which: int) -> int:
    return sum(int(strand.partition.tally[which]) for strand in strands)


def _first_acceptance(strands: list[_Strand]) -> float:
    return min((s.clock for s in strands if s.accepted is not None), default=math.inf)


def _behind(strands: list[_Strand]) -> list[_Strand]:
    """Strands that must still run: not accepted, not weightless, clock not past the winner's."""
    horizon = _first_acceptance(strands)
    return [
        s for s in strands if s.accepted is None and s.clock <= horizon and s.mass >= envelope.TINY
    ]


def _weigh(target: envelope.Target, strands: list[_Strand]) -> envelope.Target:
    """Make the best bound of all strands weigh 1, and keep the clocks in step."""
    best = max(int(envelope.best_bound(target, strand.partition)) for strand in strands)
    factor = math.exp(target.rate * (best - target.reference))
    target = target._replace(reference=best)
    for strand in strands:
        envelope.weigh(target, strand.partition)
        # time runs in units of 1 / mass
        strand.partition.clock[:] *= factor
    return target
