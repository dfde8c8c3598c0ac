"""Answers how good a piece would be if one of its halfplanes were another one, and what one example
(a report) changes in that.

The base measure of a piece is a product over its halfplanes, so the exponential mechanism's law
of one of them, the others given, is again an exponential mechanism over single halfplanes:
P(h) proportional to exp(rate * value(h and the others)).  An example outside the others can never
be inside the piece, so only those inside them make lines.

Few lines: the cells of the exact arrangement of every sheet (:mod:`geometry.arrangement`), with
the score of each and its probability, lattice points * exp(rate * value), normalised over all
cells of all sheets, drawn or not.  Many lines: rasters of exact scores
(:mod:`geodp_app.runs.score_raster`), of the sheets and windows asked for, and independent draws.

The noisy count b of the step held fixed, and u(h) being the change of the score, in examples, that
an example brings to the piece with h,

    ln P_with(h) / P_without(h) = eta * u(h) - ln R,    R = Z_with / Z_without.

**It lies in -eta .. eta.**  A score moves by at most 1, for all pieces the same way (lemma 1 of
docs/privacy.md): let all u lie in 0..1, or else all in -1..0.  R is the mean of exp(eta * u) under
P_without, so ln R lies between the least and the greatest value of eta * u, in an interval of
length eta that has 0 at one end; and so do both terms of the difference.  The same holds for an
R that is a mean over some draws, which is how it is estimated for many examples: then eta * u is
exact and ln R off by about `Change.error`.

Nothing is released: all of it is for the curator.  Imports numba: for the learner's process only.

Complexity: O(l^2 log l) for l lines (about a second for 120), else O(resolution^2 * columns) a
sheet (:mod:`geometry.columns`).
"""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geodp_app.runs.protocol import (
    AsGood,
    Change,
    ChangedSheet,
    ReportQuestion,
    ShadedCell,
    ShadedSheet,
    ShadeQuestion,
    ShareQuestion,
    Window,
    extent,
)
from geodp_app.runs.score_raster import PieceCounter, admitted, pixel_centres
from geometry.arrangement import Arrangement, Cell, arrange
from geometry.arrays import Flags, Floats, Ints
from geometry.grid_counts import GridCounts
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet, Vertex
from learners.core.records import inside_piece
from learners.core.selection import Score
from learners.envelope.envelope_selection import EnvelopeSelection

#: Called several times a second; what it raises ends the work.
Watch = Callable[[], None]

#: Draws from a halfplane's law that are enough, and the work, in units of about a microsecond,
#: after which fewer must do, if there is one.
_DRAWS, _WORK = 200, 30_000

#: Memory for the tables of these draws.
_TABLE_BYTES = 16 << 20

#: Corners of a polygon, counterclockwise, and the probability of what it holds.
_Part = tuple[tuple[Vertex, ...], float]


def held_examples(question: ShadeQuestion) -> tuple[GridCounts, Ints]:
    """The examples that make lines: those inside the halfplanes that do not move; and where they
    lie, each place once, shape (l, 2)."""
    held = np.flatnonzero(inside_piece(question.others, question.points))
    points, labels = question.points.take(held, axis=0), question.labels.take(held)
    examples = GridCounts.of_examples(points, labels, question.lattice.d)
    return examples, examples.points[examples.begins]


def shade(question: ShadeQuestion, watch: Watch = lambda: None) -> tuple[ShadedSheet, ...]:
    """Scores, and for few lines probabilities, all over the dual plane.

    Returns
    -------
    tuple of ShadedSheet
        One for each sheet of the measure, in order; a raster only of those asked for.
    """
    examples, distinct = held_examples(question)
    if len(distinct) <= question.most_lines:
        weighed = weigh_cells(question, examples, distinct, watch)
        return tuple(draw_cells(question, each)[0] for each in weighed)
    return tuple(raster.shaded(question.score) for raster in rasters(question, examples, watch))


# -- few lines: exact cells ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WeighedCells:
    """The cells of one sheet."""

    arrangement: Arrangement
    #: Shape (cells, l): which distinct examples each cell's halfplanes hold: 0 or 1.
    inside: Ints
    #: Shape (cells, 2): negatives and positives in them.
    counts: Ints
    #: Shape (cells,): integer scores.
    values: Ints
    #: Shape (cells,): in the mechanism's law; they sum to 1 over all sheets.
    shares: Floats


def weigh_cells(
    question: ShadeQuestion, examples: GridCounts, distinct: Ints, watch: Watch
) -> list[WeighedCells]:
    """The cells of every sheet of the measure, in order, between the lines of distinct places,
    shape (l, 2), in lexicographic order; no example lies elsewhere."""
    lattice, scale = question.lattice, question.lattice.d + 1
    arrangements = []
    for sheet in lattice.sheets:
        watch()
        arrangements.append(arrange(lattice, sheet, distinct))
    watch()
    weights = np.zeros((len(distinct), 2), dtype=np.int64)
    keys, at = distinct @ (scale, 1), examples.points @ (scale, 1)
    weights[np.searchsorted(keys, at), examples.labels.astype(np.int64)] = examples.amounts
    inside = [_signatures(arrangement) for arrangement in arrangements]
    counts = [each @ weights for each in inside]
    values = [question.score.values(each[:, 1], each[:, 0]) for each in counts]
    shares = _probabilities(arrangements, values, question.rate)
    return list(map(WeighedCells, arrangements, inside, counts, values, shares))


def _signatures(arrangement: Arrangement) -> Ints:
    """Which distinct examples each cell's halfplanes hold: 0 or 1, shape (cells, l)."""
    lines = len(arrangement.examples)
    width = lines // 8 + 1
    packed = b"".join(cell.inside.to_bytes(width, "little") for cell in arrangement.cells)
    bits = np.frombuffer(packed, dtype=np.uint8).reshape(len(arrangement.cells), width)
    return np.unpackbits(bits, axis=1, bitorder="little")[:, :lines].astype(np.int64)


def _probabilities(
    arrangements: Sequence[Arrangement], values: Sequence[Ints], rate: float
) -> list[Floats]:
    """Share of each cell in the mechanism's law, by sheet; sums to 1 over all of them.  At rate 0,
    of a choice that is not drawn by these scores alone, none is known: NaN."""
    if not rate:
        return [np.full(len(each.cells), np.nan) for each in arrangements]
    counts = [
        np.array([cell.lattice_points.count for cell in each.cells], dtype=np.float64)
        for each in arrangements
    ]
    best = max(
        int(value[count > 0].max())
        for value, count in zip(values, counts, strict=True)
        if (count > 0).any()
    )
    # cells without lattice points may score above the best: they have no mass to overflow
    masses = [
        count * np.exp(rate * np.minimum(value - best, 0))
        for value, count in zip(values, counts, strict=True)
    ]
    total = math.fsum(mass for sheet in masses for mass in sheet.tolist())
    return [mass / total for mass in masses]


def draw_cells(
    question: ShadeQuestion, weighed: WeighedCells
) -> tuple[ShadedSheet, NDArray[np.intp]]:
    """The cells of a sheet to draw, and of each a cell of the arrangement that it is made of.

    The halves of a cell that crosses u = v become one again.  Halves that only a forbidden corner
    joins stay two polygons, each with its own probability.
    """
    arrangement, values, shares = weighed.arrangement, weighed.values, weighed.shares
    cells: Sequence[Cell] = arrangement.cells
    halves: defaultdict[int, list[int]] = defaultdict(list)
    for i, cell in enumerate(cells):
        halves[cell.inside].append(i)
    unit = float(1 << question.lattice.bits)
    shaded, made_of = [], []
    for indices in halves.values():
        score = int(values[indices[0]]) / question.score.k
        parts = [(cells[i].vertices, float(shares[i])) for i in indices]
        for outline, share in _merged([part for part in parts if _has_area(part[0])]):
            corners = np.array([(u / w, v / w) for u, v, w in outline]) / unit
            shaded.append(ShadedCell(corners, score, share))
            made_of.append(indices[0])
    window = extent(question.lattice)
    sheet = ShadedSheet(int(arrangement.sheet), tuple(shaded), None, window)
    return sheet, np.array(made_of, dtype=np.intp)


def _merged(parts: list[_Part]) -> list[_Part]:
    """Two counterclockwise polygons as one, if they share an edge."""
    if len(parts) != 2:
        return parts
    (one, share), (two, other) = parts
    for i, start in enumerate(one):
        stop = one[(i + 1) % len(one)]
        if stop in two and two[(two.index(stop) + 1) % len(two)] == start:
            # around `one` from stop to start, then around `two` from start to stop
            at = two.index(start)
            rest = (*two[at + 1 :], *two[:at])[:-1]
            return [((*one[i + 1 :], *one[: i + 1], *rest), share + other)]
    return parts


def _has_area(vertices: Sequence[Vertex]) -> bool:
    """Whether the corners of a convex polygon do not all lie on a line; exact."""
    (a, b, c), (p, q, r) = vertices[0], vertices[-1]
    across = (b * r - c * q, c * p - a * r, a * q - b * p)
    return any(sum(map(operator.mul, across, vertex)) for vertex in vertices[1:-1])


# -- many lines: a raster ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Raster:
    """Counts at the pixels of one sheet."""

    sheet: Sheet
    window: Window
    #: Shape (m,): lattice points of the pixels that carry base measure.
    us: Ints
    vs: Ints
    #: Shape (2, m): examples of each label in the piece there.
    counts: Ints
    #: Shape (resolution, resolution): which pixels these are.
    admitted: Flags

    def spread(self, values: Floats) -> Floats:
        """Values of these pixels on the whole raster; NaN elsewhere."""
        spread = np.full(self.admitted.shape, np.nan)
        spread[self.admitted] = values
        return spread

    def shaded(self, score: Score) -> ShadedSheet:
        """The sheet with the scores of its pixels."""
        scores = score.values(self.counts[1], self.counts[0]) / score.k
        return ShadedSheet(int(self.sheet), (), self.spread(scores), self.window)


def rasters(question: ShadeQuestion, examples: GridCounts, watch: Watch) -> list[Raster]:
    """The raster of every sheet asked for, in order."""
    lattice, resolution = question.lattice, question.resolution
    windows = question.windows or dict.fromkeys(lattice.sheets, extent(lattice))
    counter = PieceCounter(examples, lattice, question.others)
    found = []
    for sheet, window in windows.items():
        us = pixel_centres(lattice, window.u0, window.u1, resolution)
        vs = pixel_centres(lattice, window.v0, window.v1, resolution)
        grid_u, grid_v = np.meshgrid(us, vs, indexing="ij")
        inside = admitted(lattice, grid_u, grid_v)
        u, v = grid_u[inside], grid_v[inside]
        found.append(Raster(sheet, window, u, v, counter.count(sheet, u, v, watch), inside))
    return found


def draws(question: ShadeQuestion, examples: GridCounts, watch: Watch) -> list[Halfplane]:
    """Draws from the law of the moving halfplane, at least one."""
    selection = EnvelopeSelection(question.lattice, "halfplane", table_bytes=_TABLE_BYTES)
    pieces, work = list[tuple[Halfplane, ...]](), _WORK
    while not pieces:
        watch()
        pieces = selection.draw_for_curator(examples, question.score, question.rate, _DRAWS, work)
        work *= 4
    watch()
    return [halfplane for (halfplane,) in pieces]


def counted(
    question: ShadeQuestion, examples: GridCounts, halfplanes: Sequence[Halfplane], watch: Watch
) -> Iterator[tuple[Sheet, Ints, Ints, Ints]]:
    """What the piece holds with each of some halfplanes, sheet by sheet: u and v of those there,
    each of shape (m,), and the examples of each label, shape (2, m)."""
    counter = PieceCounter(examples, question.lattice, question.others)
    for sheet in question.lattice.sheets:
        places = np.array([(h.u, h.v) for h in halfplanes if h.sheet == sheet], dtype=np.int64)
        us, vs = places.reshape(-1, 2).T.copy()
        yield sheet, us, vs, counter.count(sheet, us, vs, watch)


#: Standard errors on either side of an interval.
_ERRORS = 2.0


def as_good(question: ShareQuestion, watch: Watch = lambda: None) -> tuple[AsGood, ...]:
    """Of each halfplane of the chosen piece, the others given: the share of its law held by those
    with which the piece scores as much, or more."""
    step, piece = question.step, question.piece
    labels = step.labels[inside_piece(piece, step.points)]
    positives = int(np.count_nonzero(labels))
    least = step.score.value(positives, len(labels) - positives)
    found = []
    for e in range(len(piece)):
        watch()
        edge = replace(step, others=piece[:e] + piece[e + 1 :])
        examples, distinct = held_examples(edge)
        if len(distinct) <= edge.most_lines:
            sheets = weigh_cells(edge, examples, distinct, watch)
            shares = [each.shares[each.values >= least].sum() for each in sheets]
            share = min(1.0, math.fsum(shares))
            found.append(AsGood(share, share, share, exact=True))
        else:
            drawn = draws(edge, examples, watch)
            good = 0
            for _, _, _, (negatives, positives) in counted(edge, examples, drawn, watch):
                good += int((edge.score.values(positives, negatives) >= least).sum())
            found.append(_estimated(good, len(drawn)))
    return tuple(found)


def _estimated(good: int, n: int) -> AsGood:
    """The share of which `good` of n draws are an estimate, with Wilson's interval."""
    share, z = good / n, _ERRORS**2 / n
    middle = (share + z / 2) / (1 + z)
    reach = math.sqrt(z * share * (1 - share) + z * z / 4) / (1 + z)
    return AsGood(share, max(0.0, middle - reach), min(1.0, middle + reach), exact=False)


# -- with one example more or less ---------------------------------------------------------------


def change(question: ReportQuestion, watch: Watch = lambda: None) -> Change:
    """The log ratios all over the dual plane."""
    point = np.array([question.point])
    if question.why_none is None and not all(h.contains(point)[0] for h in question.step.others):
        question = replace(question, why_none="outside")
    if question.why_none is not None:
        return Change((), 0.0, 0.0, 0.0, question.why_none)
    examples, distinct = held_examples(question.step)
    if len(distinct) + (not question.present) <= question.step.most_lines:
        # the report's place may hold no example yet
        distinct = np.unique(np.concatenate([distinct, point]), axis=0)
        return _of_cells(question, examples, distinct, watch)
    return _of_rasters(question, examples, watch)


def _of_cells(
    question: ReportQuestion, examples: GridCounts, distinct: Ints, watch: Watch
) -> Change:
    weighed = weigh_cells(question.step, examples, distinct, watch)
    at = int(np.flatnonzero((distinct == question.point).all(axis=1))[0])
    moves = [_moves(question, each.counts.T, each.inside[:, at]) for each in weighed]
    shares = np.concatenate([each.shares for each in weighed])
    log_r = _log_norm_ratio(question, np.concatenate(moves), shares)
    sheets, largest = [], 0.0
    for each, move in zip(weighed, moves, strict=True):
        shaded, made_of = draw_cells(question.step, each)
        ratio = move - log_r
        sheets.append(ChangedSheet(shaded, ratio[made_of]))
        some = [cell.lattice_points.count > 0 for cell in each.arrangement.cells]
        largest = max(largest, float(np.abs(ratio[some]).max(initial=0.0)))
    return Change(tuple(sheets), _at_chosen(question, examples) - log_r, largest, 0.0)


def _of_rasters(question: ReportQuestion, examples: GridCounts, watch: Watch) -> Change:
    step = question.step
    drawn = draws(step, examples, watch)
    moves = []
    for sheet, us, vs, counts in counted(step, examples, drawn, watch):
        moves.append(_moves(question, counts, _holds(step.lattice, sheet, us, vs, question.point)))
    equal = np.full(len(drawn), 1 / len(drawn))
    log_r = _log_norm_ratio(question, np.concatenate(moves), equal)
    error = _error(question, np.concatenate(moves))
    sheets, largest = [], abs(chosen := _at_chosen(question, examples) - log_r)
    for raster in rasters(step, examples, watch):
        inside = _holds(step.lattice, raster.sheet, raster.us, raster.vs, question.point)
        ratios = _moves(question, raster.counts, inside) - log_r
        largest = max(largest, float(np.abs(ratios).max(initial=0.0)))
        sheets.append(ChangedSheet(raster.shaded(step.score), raster.spread(ratios)))
    return Change(tuple(sheets), chosen, largest, error)


def _moves(question: ReportQuestion, counts: Ints, inside: Ints) -> Floats:
    """eta * u of pieces, by the examples of each label in them as the sample is, shape (2, m), and
    which of them hold the example's place, 0 or 1, shape (m,)."""
    other = counts.copy()
    other[int(question.label)] += -inside if question.present else inside
    now = question.step.score.values(counts[1], counts[0])
    then = question.other_score.values(other[1], other[0])
    gained = now - then if question.present else then - now
    return question.step.rate * gained.astype(np.float64)


def _log_norm_ratio(question: ReportQuestion, moves: Floats, shares: Floats) -> float:
    """ln R, by the mean under the law of the sample as it is."""
    sign = -1.0 if question.present else 1.0
    return sign * math.log(float(np.exp(sign * moves) @ shares))


def _error(question: ReportQuestion, moves: Floats) -> float:
    """Standard error of ln R by draws, as if one more lay as far off as any may.

    So it is not 0 where the draws happen to be alike.
    """
    sign = -1.0 if question.present else 1.0
    ratios = np.exp(sign * moves)
    furthest = math.expm1(question.step.rate * question.step.score.k)
    squares = float(((ratios - ratios.mean()) ** 2).sum()) + furthest**2
    return math.sqrt(squares) / (len(moves) * float(ratios.mean()))


def _at_chosen(question: ReportQuestion, examples: GridCounts) -> float:
    """eta * u of the chosen halfplane."""
    inside = question.chosen.contains(examples.points).astype(np.int64)
    counts = examples.by_group(inside, 2)[:, 1:]
    here = question.chosen.contains(np.array([question.point])).astype(np.int64)
    return float(_moves(question, counts, here)[0])


def _holds(
    lattice: HalfplaneLattice, sheet: Sheet, us: Ints, vs: Ints, point: tuple[int, int]
) -> Ints:
    """Which halfplanes of a sheet hold a grid point, exactly: 0 or 1, shape (m,)."""
    c0, c1, scale = lattice.basis
    t, s = point if sheet.flat else point[::-1]
    above = (c1 * us - vs) * t + scale * s - c0 * us
    held = above >= 0 if sheet.upper else above <= 0
    return held.astype(np.int64)
