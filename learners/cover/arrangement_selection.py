"""Draws by the exponential mechanism from the cells of the dual arrangement: small samples only.

A cell of the arrangement has the weight (number of its lattice points) * exp(rate * value), the
lattice points counted exactly, and the law is uniform inside: the law that the envelope sampler
draws from too, either up to its rounding, computed in the open.  Cells of all sheets that classify
the sample alike form one *class*.  A triangle is an ordered triple of independent lattice
halfplanes, so its classes are intersections of three classes, their counts sums of products.

Complexity: O(n^2) cells, hence O(n^2) classes C; triangles visit at most C^2
pairs and P * C triples, P the number of different intersections of two classes
(at worst O(n^6) for both; a few seconds for twenty examples).

Arithmetic: counts are integers and exp is evaluated to 40 digits, then rounded to an integer of at
least 2^64 on a scale common to all values.  The draw from these is exact, so every probability is
within a relative 2^-60 of the law; :data:`learners.privacy.accounting.ARITHMETIC` = 2^-38 charges
for more.  What a draw costs: docs/privacy.md, lemma 2.

Not for releases of large samples: whether the limits refuse a sample depends on the sample.

Source: KMMS 2019, algorithm SelectHalfplane, with the lattice of :mod:`geometry.halfplane` in place
of the continuous box.
"""

from __future__ import annotations

import decimal
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from geometry.arrangement import LatticePolygon, arrange
from geometry.arrays import Ints
from geometry.grid_counts import GridCounts
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from learners.core.selection import PIECE_SIZE, PieceKind, Score, Selected, SelectionProgress, Watch
from learners.privacy.randomness import RandomSource, below

T = TypeVar("T")

#: Integer weights are at least 2**WEIGHT_BITS: rounding them is off by a relative 2**-64 at most.
WEIGHT_BITS = 64


@dataclass(frozen=True, slots=True)
class HalfplaneClass:
    """All lattice halfplanes that classify the distinct examples alike.

    Attributes
    ----------
    inside : int
        Bit i is set when distinct example i is inside.
    count : int
        Number of lattice halfplanes, over all sheets.
    cells : tuple of (Sheet, LatticePolygon)
        Where they are.
    """

    inside: int
    count: int
    cells: tuple[tuple[Sheet, LatticePolygon], ...]

    def halfplane(self, lattice: HalfplaneLattice, rank: int) -> Halfplane:
        """The class's halfplane of that rank, 0 <= rank < count."""
        for sheet, polygon in self.cells:
            if rank < polygon.count:
                return lattice.halfplane(sheet, *polygon.point(rank))
            rank -= polygon.count
        raise IndexError("rank is not below the count of the class")


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of a sample, in a fixed order, and its distinct examples (sorted)."""

    examples: tuple[tuple[int, int], ...]
    halfplanes: tuple[HalfplaneClass, ...]


def halfplane_classes(
    lattice: HalfplaneLattice,
    points: Ints | Iterable[tuple[int, int]],
    watch: Callable[[int], None] | None = None,
) -> Classes:
    """Classes of all lattice halfplanes on a sample; O(n^2) arrangement cells a sheet.

    `watch`, when given, is called after each sheet with the number of cells so far.
    """
    sample = [(int(x), int(y)) for x, y in points]
    found: defaultdict[int, list[tuple[Sheet, LatticePolygon]]] = defaultdict(list)
    examples = tuple(sorted(set(sample)))
    cells = 0
    for sheet in lattice.sheets:
        for cell in arrange(lattice, sheet, examples).cells:
            polygon = cell.lattice_points
            cells += 1
            if polygon.count:
                found[cell.inside].append((sheet, polygon))
        if watch is not None:
            watch(cells)
    classes = tuple(
        HalfplaneClass(inside, sum(polygon.count for _, polygon in where), tuple(where))
        for inside, where in sorted(found.items())
    )
    return Classes(examples, classes)


@dataclass(frozen=True, slots=True)
class ArrangementSelection:
    """Selection by full enumeration of the arrangement's cells.

    Parameters
    ----------
    lattice : HalfplaneLattice
    piece : {"halfplane", "triangle"}
    max_cells : int
        Refuse samples whose arrangements may have more cells than this in all.
    max_triples : int
        Refuse triangles that need more combinations of classes than this.
    """

    lattice: HalfplaneLattice
    piece: PieceKind
    max_cells: int = 250_000
    max_triples: int = 10_000_000

    def select(
        self,
        counts: GridCounts,
        score: Score,
        rate: float,
        source: RandomSource,
        watch: Watch | None = None,
    ) -> Selected:
        """Draw one piece, as :meth:`learners.core.selection.Sampler.select` says.

        Raises
        ------
        ValueError
            If a limit is exceeded or an argument is unusable.
        """
        law = self.prepare(counts, score, rate, watch)
        progress = SelectionProgress(1, law.cells, law.log_mass)
        if watch is not None:
            watch(progress)
        return Selected(law.draw(source), progress, {"classes": len(law.classes.halfplanes)})

    def prepare(
        self, counts: GridCounts, score: Score, rate: float, watch: Watch | None = None
    ) -> PreparedLaw:
        """Everything up to the draw itself, to draw from one law many times."""
        sample = _sample(counts)
        if not (math.isfinite(rate) and rate >= 0):
            raise ValueError(f"rate must be finite and not negative, got {rate}")
        self._check_cells(sample)
        cells = 0

        def built(number: int) -> None:
            nonlocal cells
            cells = number
            if watch is not None:
                watch(SelectionProgress(0, number, 0.0))

        classes = halfplane_classes(self.lattice, sample, built)
        pairs: dict[int, int] = {}
        if self.piece == "halfplane":
            pieces_of = {c.inside: c.count for c in classes.halfplanes}
        else:
            pairs, pieces_of = self._triangles(classes.halfplanes)
        values = _values(classes.examples, counts, score, pieces_of)
        weights, scale = integer_weights(set(values.values()), rate)
        total = sum(count * weights[values[inside]] for inside, count in pieces_of.items())
        pieces = len(self.lattice.sheets) * self.lattice.points_per_sheet
        log_mass = (
            math.log(total)
            - PIECE_SIZE[self.piece] * math.log(pieces)
            - scale * math.log(2)
            + rate * max(values.values())
        )
        return PreparedLaw(
            self.lattice, classes, pairs, pieces_of, values, weights, total, cells, log_mass
        )

    def check(self, counts: GridCounts) -> None:
        """Refuse examples of which, or of a part of which, no piece can be drawn (ValueError)."""
        sample = _sample(counts)
        self._check_cells(sample)
        if self.piece == "triangle":
            self._pairs(halfplane_classes(self.lattice, sample).halfplanes)

    def _check_cells(self, sample: list[tuple[int, int]]) -> None:
        """Refuse before building when the worst case has too many cells (ValueError)."""
        lines = len(set(sample))
        parts = 2 if self.lattice.measure == "chord" else 1
        worst = len(self.lattice.sheets) * parts * (1 + lines + lines * (lines - 1) // 2)
        if worst > self.max_cells:
            raise ValueError(
                f"the arrangements of these examples may have more than {self.max_cells} cells; "
                "use the envelope selection, or fewer examples"
            )

    def _triangles(
        self, halfplanes: Sequence[HalfplaneClass]
    ) -> tuple[dict[int, int], dict[int, int]]:
        """Ordered pairs and triples of lattice halfplanes by the intersection of their classes."""
        pairs = self._pairs(halfplanes)
        triples: defaultdict[int, int] = defaultdict(int)
        for inside, count in pairs.items():
            for last in halfplanes:
                triples[inside & last.inside] += count * last.count
        return pairs, dict(triples)

    def _pairs(self, halfplanes: Sequence[HalfplaneClass]) -> dict[int, int]:
        """Ordered pairs, if there are not too many triples."""
        self._check_triples(len(halfplanes) ** 2)
        pairs: defaultdict[int, int] = defaultdict(int)
        for i, one in enumerate(halfplanes):
            pairs[one.inside] += one.count * one.count
            for two in halfplanes[:i]:
                pairs[one.inside & two.inside] += 2 * one.count * two.count
        self._check_triples(len(pairs) * len(halfplanes))
        return dict(pairs)

    def _check_triples(self, number: int) -> None:
        if number > self.max_triples:
            raise ValueError(
                f"triangles on this sample need more than {self.max_triples} combinations of "
                "classes; use the envelope selection, or fewer examples"
            )


@dataclass(frozen=True, slots=True)
class PreparedLaw:
    """One selection's law, ready to draw from.

    Attributes
    ----------
    lattice : HalfplaneLattice
    classes : Classes
    pairs : dict
        Ordered pairs of lattice halfplanes by what both hold; empty for halfplanes.
    counts : dict
        Lattice pieces by the distinct examples they hold (bits).
    values : dict
        Their score.
    weights : dict
        Integer weight of every score value; the law of a piece is weight / total.
    total : int
    cells : int
        Cells of the arrangements.
    log_mass : float
        Natural log of the mean of exp(rate * value) under the base measure.
    """

    lattice: HalfplaneLattice
    classes: Classes
    pairs: dict[int, int]
    counts: dict[int, int]
    values: dict[int, int]
    weights: dict[int, int]
    total: int
    cells: int
    log_mass: float

    def draw(self, source: RandomSource) -> tuple[Halfplane, ...]:
        """A piece with exactly the prepared law: how it classifies, then uniform in that."""
        weighted = (
            (inside, count * self.weights[self.values[inside]])
            for inside, count in self.counts.items()
        )
        chosen = _pick(weighted, below(source, self.total))
        return tuple(
            one.halfplane(self.lattice, below(source, one.count))
            for one in self._classes_of(chosen, source)
        )

    def _classes_of(self, chosen: int, source: RandomSource) -> tuple[HalfplaneClass, ...]:
        """Classes whose intersection holds exactly the chosen examples, by their counts."""
        # classes that hold more than the chosen examples, and those that hold a pair's
        able = [one for one in self.classes.halfplanes if one.inside & chosen == chosen]
        if not self.pairs:
            return tuple(one for one in able if one.inside == chosen)
        triples = (
            ((pair, last), count * last.count)
            for pair, count in self.pairs.items()
            if pair & chosen == chosen
            for last in able
            if pair & last.inside == chosen
        )
        pair, last = _pick(triples, below(source, self.counts[chosen]))
        firsts = (
            ((one, two), one.count * two.count)
            for one in able
            for two in able
            if one.inside & two.inside == pair
        )
        return (*_pick(firsts, below(source, self.pairs[pair])), last)


def integer_weights(values: Iterable[int], rate: float) -> tuple[dict[int, int], int]:
    """exp(rate * (value - largest)) * 2**scale as integers, each within a relative 2**-63.

    Parameters
    ----------
    values : iterable of int
        At least one.
    rate : float
        Nats per unit of value, not negative.

    Returns
    -------
    weights : dict
        At least 2**WEIGHT_BITS each.
    scale : int
    """
    distinct = set(values)
    top = max(distinct)
    scale = WEIGHT_BITS + 1 + math.ceil(rate * (top - min(distinct)) / math.log(2))
    context = decimal.Context(prec=40, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    step = decimal.Decimal(rate)
    exponentials = {v: context.exp(context.multiply(step, v - top)) for v in distinct}
    return {v: math.floor(Fraction(e) * (1 << scale)) for v, e in exponentials.items()}, scale


def _pick(weighted: Iterable[tuple[T, int]], rank: int) -> T:
    """The item in whose weight the rank falls, weights laid end to end."""
    for item, weight in weighted:
        if rank < weight:
            return item
        rank -= weight
    raise IndexError("rank is not below the sum of the weights")


def _sample(counts: GridCounts) -> list[tuple[int, int]]:
    """Points of the entries as pairs of Python integers."""
    return [(x, y) for x, y in counts.points.tolist()]


def _values(
    examples: Sequence[tuple[int, int]], counts: GridCounts, score: Score, insides: Iterable[int]
) -> dict[int, int]:
    """Score of every piece, by the distinct examples it holds (bits)."""
    negatives: Counter[tuple[int, int]] = Counter()
    positives: Counter[tuple[int, int]] = Counter()
    for point, label, amount in zip(
        _sample(counts), counts.labels.tolist(), counts.amounts.tolist(), strict=True
    ):
        (positives if label else negatives)[point] += amount
    gain = _bit_planes([positives[example] for example in examples])
    loss = _bit_planes([negatives[example] for example in examples])
    return {inside: score.value(_weigh(inside, gain), _weigh(inside, loss)) for inside in insides}


def _bit_planes(multiplicities: Sequence[int]) -> list[int]:
    """Plane b has bit i set when bit b of the i-th multiplicity is."""
    depth = max(multiplicities, default=0).bit_length()
    return [
        sum(1 << i for i, number in enumerate(multiplicities) if number >> b & 1)
        for b in range(depth)
    ]


def _weigh(inside: int, planes: Sequence[int]) -> int:
    """Sum of the multiplicities of the examples inside."""
    return sum((inside & plane).bit_count() << b for b, plane in enumerate(planes))
