"""Draws pieces by the exponential mechanism: refines an envelope, up to a rounding that is charged.

The class is the lattice of :class:`geometry.halfplane.HalfplaneLattice`, one halfplane or
three; the law is P(theta) proportional to mu(theta) * exp(rate * value(theta)).  KMMS
enumerate the n^2 cells of an arrangement for a halfplane and n^6 triples for a triangle;
here none are, and theta is drawn by adaptive rejection (OS*: Dymetman, Bouchard, Carter 2012; A*
sampling: Maddison, Tarlow, Minka 2014):

1. Keep boxes of dual points that cover the class.  Each has an outer piece that contains all
   its pieces and an inner piece that all contain (two corners of each dual rectangle), so
   bound = min(k * P(outer) + c_pos, -k * N(inner) + c_neg) is at least every value in it.
2. Draw a box in proportion to volume * exp(rate * bound), theta uniform in it, and accept
   with probability exp(rate * (value(theta) - bound)).
3. After a rejection the box may be halved, and its halves cut to what carries base measure;
   start again.  Small boxes of a hard selection get a finer envelope instead of halves
   (:mod:`learners.envelope.factorised_boxes`).
4. When all boxes that memory has room for are used, light boxes are merged again
   (:mod:`learners.envelope.compaction`), and the search goes on.

The law is the target's whatever the boxes are, as long as these depend on rejected trials alone
(docs/privacy.md, lemmas E1 to E3, E5 and E6); several strands of the search run side by side, and
the acceptance with the least clock wins (lemma E4).  Membership, counts, bounds and acceptance are
integers; what doubles round is charged (lemma 5).  What a draw costs: lemma 2.

The running time depends on the data: a timing side channel (docs/privacy.md).

Complexity: tables O(m + c^2) for m entries and c columns, c <= 2049 (:mod:`geometry.columns`);
then a trial O(1) to O(c), a split O(1) counts and O(c) for each line not met before.  Up to
d = 2048 none of these depends on the examples, but how many are needed does: the more there are,
the sharper the peak of the law and the finer the boxes it takes.

Labelled pieces are drawn likewise (:class:`ConceptSelection`).  A *concept* labels the points
inside a convex piece one way and all others the other way; the piece is the intersection of none,
one, two or three lattice halfplanes.  The law is the exponential mechanism's,

    P(concept) proportional to PRIOR[edges] / 2 * mu(piece) * exp(-rate * mistakes),

mu uniform over the lattice pieces with that many edges (:mod:`geometry.halfplane`).  A concept
of few edges needs few examples to be found: its mu is larger.

Adding one example adds 0 or 1 mistake to every concept, so a draw is rate-DP for neighbours that
add or remove one example (docs/privacy.md, lemma 7).  KMMS select a triangle by the smaller of two
scores instead, with a noisy count; nothing is counted here.

They take the same arithmetic, and so the same bound on its rounding, in two strands
(docs/privacy.md, lemma E4).  The concepts that label the inside 1 are one strand, those that label
it 0 the other: it is the first with the labels swapped.

Where hardly any example has the other label, one label everywhere is likely, and no boxes are
needed: concepts are drawn from the prior until one is kept, with probability exp(-rate * mistakes),
by integers alone.  Most tiles of a square are such.  Which way is taken depends on the examples;
both have the same law, and write a piece in the same way.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from geometry.grid_counts import GridCounts, settle_conflicts
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from learners.core.records import inside_piece
from learners.core.selection import (
    PIECE_SIZE,
    Cancelled,
    PieceKind,
    Score,
    Selected,
    SelectionProgress,
    Watch,
    check_max_boxes,
    mistakes_score,
)
from learners.envelope.boxes import first_boxes
from learners.envelope.pile_gains import find_piles
from learners.envelope.piled_lines import draw_from_piles
from learners.envelope.race import STRANDS, draw_again, run_race, weigh_all
from learners.envelope.strands import Examples, Strand, piece_at, start_strand
from learners.envelope.target import NOTHING, Expected, make_target
from learners.privacy.noise import bernoulli_exp
from learners.privacy.randomness import RandomSource, SeededRandom, below

#: Boxes are refined ahead by so many draws, or until there are so many, none factorised: a draw
#: takes a fraction of its time then, and needs no loop that is not compiled.
_DRAWS_AHEAD, _BOXES_AHEAD = 6, 1 << 18


@dataclass(frozen=True, slots=True)
class EnvelopeSelection:
    """Sampler of the exponential mechanism by envelope refinement.

    Parameters
    ----------
    lattice : HalfplaneLattice
        The class and its base measure.
    piece : {"halfplane", "triangle"}
    max_boxes : int
        Boxes kept, up to a factor of two; at most 2**22, as the proof of the arithmetic
        assumes.  When they are used up, light ones are merged; when that brings little more,
        trials go on from the envelope as it is: slower, never different in law.
    table_bytes : int
        Memory for line tables; when it is used up they are dropped and made anew.
    """

    lattice: HalfplaneLattice
    piece: PieceKind
    max_boxes: int = 1 << 21
    table_bytes: int = 200 << 20

    def __post_init__(self) -> None:
        check_max_boxes(self.max_boxes)

    def select(
        self,
        counts: GridCounts,
        score: Score,
        rate: float,
        source: RandomSource,
        watch: Watch | None = None,
        refined: list[Strand] | None = None,
    ) -> Selected:
        """Draw one piece (see :class:`learners.core.selection.Sampler`).

        `refined` are strands of :class:`RefinedSelection` on the same examples; they are used up.
        """
        target = make_target(self.lattice, score, rate, counts.n)
        plain = self.lattice.measure == "chord" and not score.total
        found = find_piles(counts) if plain else None
        soon = None
        if found is not None:
            soon = draw_from_piles(
                self.lattice, self.piece, *found, counts, score, target, source, watch
            )
        if soon is not None:
            sheets, theta, drawn = soon
            return replace(drawn, piece=piece_at(self.lattice, sheets, theta))
        strands = refined or self.strands(counts, score, rate, source)
        for strand in refined or ():
            strand.aim(target, source.spawn())
        size = math.log(len(self.lattice.sheets) * self.lattice.points_per_sheet)
        return run_race(strands, self.lattice, PIECE_SIZE[self.piece] * size, watch)[0]

    def draw_for_curator(
        self, counts: GridCounts, score: Score, rate: float, most: int, work: int
    ) -> list[tuple[Halfplane, ...]]:
        """Independent draws from the law that :meth:`select` has, never to be released.

        Parameters
        ----------
        counts, score, rate
            As in :meth:`select`.
        most, work : int
            As in :func:`learners.envelope.race.draw_again`.

        Returns
        -------
        list of tuple of Halfplane
            Empty where the law is so narrow that none was found in time.
        """
        strands = self.strands(counts, score, rate, SeededRandom(0))
        weigh_all(strands)
        return draw_again(strands, self.lattice, most, work)

    def strands(
        self, counts: GridCounts, score: Score, rate: float, source: RandomSource
    ) -> list[Strand]:
        """What a draw begins with; parameters as in :meth:`select`."""
        if score.total:
            counts = settle_conflicts(counts)
        eta = None if score.total else rate * score.k
        examples = Examples.of(counts, self.lattice.measure == "chord", eta)
        target = make_target(self.lattice, score, rate, counts.n)
        # every multiset of sheets and rectangles; a draw that takes long divides them
        return [
            start_strand(
                self.lattice,
                target,
                examples,
                first_boxes(self.lattice, PIECE_SIZE[self.piece]),
                source,
                self.max_boxes,
                self.table_bytes // STRANDS,
            )
        ]


@dataclass(slots=True)
class RefinedSelection:
    """A sampler that refines boxes for its next draw while nobody asks for it.

    Boxes are refined by draws with bits of their own, which nobody sees.  The next draw has the
    same law (docs/privacy.md, lemma E2), takes a fraction of the time, and means nothing by a seed:
    how far its boxes are refined depends on the time there was.

    Parameters
    ----------
    selection : EnvelopeSelection
    """

    selection: EnvelopeSelection
    _next: tuple[GridCounts, Score, float] | None = None
    _strands: list[Strand] = field(default_factory=list)
    _draws: int = 0

    def expect(self, counts: GridCounts, score: Score, rate: float) -> None:
        """The next draw is of these examples, by such a score and rate.

        Its own may be others: these only steer where boxes are small.
        """
        self._next, self._strands, self._draws = (counts, score, rate), [], 0

    def refine(self, stop: Callable[[], bool]) -> None:
        """Refine boxes until that is enough, or `stop`, asked between slices of work, says so."""

        def look(progress: SelectionProgress) -> None:
            if progress.boxes > _BOXES_AHEAD:
                self._draws = _DRAWS_AHEAD
            if stop() or self._draws == _DRAWS_AHEAD:
                raise Cancelled

        if self._next is None or self._draws == _DRAWS_AHEAD:
            return
        if not self._strands:
            self._strands = self.selection.strands(*self._next, SeededRandom(0))
        pairs = self._strands[0].pairs
        if pairs is not None and len(pairs.marked):
            # boxes are bounded by the score itself
            self._next, self._strands = None, []
            return
        with contextlib.suppress(Cancelled):
            while self._draws < _DRAWS_AHEAD:
                for strand in self._strands:
                    strand.restart()
                    strand.plain_boxes = 2 * _BOXES_AHEAD
                run_race(self._strands, self.selection.lattice, 0.0, look)
                self._draws += 1
        for strand in self._strands:
            strand.drop_tables()

    def select(
        self,
        counts: GridCounts,
        score: Score,
        rate: float,
        source: RandomSource,
        watch: Watch | None = None,
    ) -> Selected:
        """Draw one piece (see :class:`learners.core.selection.Sampler`)."""
        refined, self._next, self._strands = self._strands, None, []
        return self.selection.select(counts, score, rate, source, watch, refined)


#: Prior probability of a piece of no edge (one label everywhere), one, two and three edges.
PRIOR = (0.5, 0.25, 0.125, 0.125)

#: Factorise sooner than for the smaller of two scores: boxes no longer than the square's side, once
#: there are so many.  A sum needs no mix, and pairs of cells bound two long edges well; nearly all
#: draws come to need them where many labels are wrong (docs/decisions/0026-pairs-of-cells.md).
_NARROW, PLAIN_BOXES, PLAIN_WHERE_WRONG = 1, 1 << 10, 1 << 8

#: Memory for line tables.  A run has many draws, most of them over in a millisecond: clearing the
#: hash of a larger table takes longer, and tables that are dropped for want of room cost little.
_TABLE_BYTES = 8 << 20

#: Concepts are drawn from the prior where examples of the rarer label weigh so many nats at most:
#: one in 30 is kept then, or more, and tables and boxes take as long as some 50 of them.
_NATS_BY_CHANCE = 2.0


@dataclass(frozen=True, slots=True)
class ConceptSelection:
    """Sampler of labelled pieces.

    Parameters
    ----------
    lattice : HalfplaneLattice
    edges : int
        Most edges of a piece, 0..3.  With two, draws are some ten times as fast as with three,
        and in tiles hardly less accurate (docs/decisions/0007-tiles.md).
    max_boxes, table_bytes : int
        As in :class:`learners.envelope.envelope_selection.EnvelopeSelection`.
    plain_boxes : int
        No box is factorised before there are so many: it steers the sampler, never its law.
    nats_by_chance : float
        There are no boxes where examples of the rarer label weigh so many nats at most; it steers
        the sampler likewise.
    """

    lattice: HalfplaneLattice
    edges: int = 2
    max_boxes: int = 1 << 21
    table_bytes: int = _TABLE_BYTES
    plain_boxes: int = PLAIN_BOXES
    nats_by_chance: float = _NATS_BY_CHANCE

    def select(
        self,
        counts: GridCounts,
        rate: float,
        source: RandomSource,
        watch: Watch | None = None,
        expected: Expected = NOTHING,
    ) -> Selected:
        """Draw one concept.

        Parameters
        ----------
        counts : GridCounts
            Examples on the grid of the lattice.
        rate : float
            Nats per mistake.
        source : RandomSource
        watch : callable, optional
            Progress and cancel.
        expected : Expected
            Labels, the `held` ones 1, that a concept weighs less for where it differs from them.
        """
        return self.begin(counts, rate, source, expected).complete(watch)

    def begin(
        self,
        counts: GridCounts,
        rate: float,
        source: RandomSource,
        expected: Expected = NOTHING,
    ) -> ConceptDraw | DrawByChance:
        """A draw with all that it needs of the source, which others may have afterwards.

        Parameters as in :meth:`select`.
        """
        if counts.positives and counts.negatives:
            counts = settle_conflicts(counts)
        if rate * min(counts.positives, counts.negatives) <= self.nats_by_chance:
            return DrawByChance(self.lattice, self.edges, counts, rate, source.spawn(), expected)
        examples = Examples.of(counts)
        size = math.log(len(self.lattice.sheets) * self.lattice.points_per_sheet)
        boxes = np.concatenate([first_boxes(self.lattice, e) for e in range(self.edges + 1)])
        # a lattice piece of e edges is one of exp(e * size); a common factor keeps the weights
        # of all boxes above 1
        top = self.edges * size
        none, one, two, three = (p / 2 * math.exp(top - e * size) for e, p in enumerate(PRIOR))
        prior = (none, one, two, three)
        strands = []
        for inside in (True, False):
            score = mistakes_score(counts.positives if inside else counts.negatives)
            wanted = expected if inside else expected._replace(held=~expected.held)
            strands.append(
                start_strand(
                    self.lattice,
                    make_target(self.lattice, score, rate, counts.n, prior, _NARROW),
                    examples if inside else examples.swapped(),
                    boxes,
                    source,
                    self.max_boxes // 2,
                    self.table_bytes // 2,
                    self.plain_boxes,
                    wanted,
                )
            )
        return ConceptDraw(self.lattice, strands, top)


@dataclass(frozen=True, slots=True)
class ConceptDraw:
    """A draw that has begun: the strands of both labels, and the class's weight (its log)."""

    lattice: HalfplaneLattice
    strands: list[Strand]
    log_measure: float

    def complete(
        self, watch: Watch | None = None, stop: Callable[[], bool] | None = None
    ) -> Selected:
        """Carry it out; `watch` and `stop` as in :func:`learners.envelope.race.run_race`."""
        # in turns: where one label fits, the other is soon known not to
        selected, winner = run_race(
            self.strands, self.lattice, self.log_measure, watch, in_turns=True, stop=stop
        )
        return replace(selected, inside=winner == 0)


#: Weights of the numbers of edges in :data:`PRIOR`, as integers.
_WEIGHTS = tuple(round(8 * p) for p in PRIOR)


@dataclass(frozen=True, slots=True)
class DrawByChance:
    """A draw by concepts from the prior, kept with probability exp(-rate * mistakes - cost)."""

    lattice: HalfplaneLattice
    edges: int
    counts: GridCounts
    rate: float
    source: RandomSource
    expected: Expected

    def complete(
        self, watch: Watch | None = None, stop: Callable[[], bool] | None = None
    ) -> Selected:
        """As :meth:`ConceptDraw.complete`."""
        weights, rate = _WEIGHTS[: self.edges + 1], Fraction(self.rate)
        log_mass = math.log(sum(weights) / 8)
        for tried in itertools.count(1):
            if stop is not None and stop():
                raise Cancelled
            if watch is not None:
                watch(SelectionProgress(tried, 0, log_mass))
            rank = below(self.source, sum(weights))
            edges = sum(rank >= sum(weights[: e + 1]) for e in range(self.edges))
            drawn = sorted(self._dual_point() for _ in range(edges))
            piece = tuple(Halfplane(self.lattice, *one) for one in drawn)
            inside = below(self.source, 2) == 1
            labels = inside_piece(piece, self.counts.points) == inside
            mistakes = int(self.counts.amounts[labels != self.counts.labels].sum())
            cost = self.expected.cost(inside_piece(piece, self.expected.points) == inside)
            if bernoulli_exp(self.source, mistakes * rate + Fraction(cost)):
                break
        return Selected(piece, SelectionProgress(tried, 0, log_mass), inside=inside)

    def _dual_point(self) -> tuple[Sheet, int, int]:
        """Sheet, u and v of a lattice halfplane, uniform."""
        lattice, sheets, low = self.lattice, self.lattice.sheets, self.lattice.low
        sheet, width = sheets[below(self.source, len(sheets))], lattice.high + 1 - low
        while True:
            u, v = low + below(self.source, width), low + below(self.source, width)
            if lattice.admits(u, v):
                return sheet, u, v
