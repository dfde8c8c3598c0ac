"""Answers exactly how good a piece would be if one of its halfplanes were another one.

The base measure of a piece is a product over its halfplanes, so the exponential mechanism's law
of one of them, the others given, is again an exponential mechanism over single halfplanes:
P(h) proportional to exp(rate * value(h and the others)).  An example outside the others can never
be inside the piece, so only those inside them make lines.

Few lines: the cells of the exact arrangement of every sheet (:mod:`geometry.arrangement`), with
the score of each and its probability, lattice points * exp(rate * value), normalised over all
cells of all sheets, drawn or not.  Many lines: rasters of exact scores
(:mod:`geodp_app.runs.score_raster`), of the sheets and windows asked for.  Nothing is released: all
of it is for the curator.

Complexity: O(l^2 log l) for l lines (about a second for 120), else O(resolution^2 * columns) a
sheet (:mod:`geometry.columns`).

The share of that law that is held by halfplanes as good as the chosen one, or better, has the same
cells; with many lines it is taken from independent draws.
"""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geodp_app.runs.protocol import AsGood, ShadedCell, ShadedSheet, ShadeQuestion, ShareQuestion
from geometry.arrangement import Arrangement, Cell, arrange
from geometry.grid_counts import GridCounts
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet, Vertex
from learners.core.records import inside_piece
from learners.core.selection import Score

#: Draws from a halfplane's law that are enough, and the work, in units of about a microsecond,
#: after which fewer must do, if there is one.
_DRAWS, _WORK = 200, 30_000

#: Memory for the tables of these draws.
_TABLE_BYTES = 16 << 20

#: Corners of a polygon, counterclockwise, and the probability of what it holds.
_Part = tuple[tuple[Vertex, ...], float]


def held_examples(question: ShadeQuestion) -> GridCounts:
    """The examples that make lines: those inside the halfplanes that do not move."""
    held = np.flatnonzero(inside_piece(question.others, question.points))
    points, labels = question.points.take(held, axis=0), question.labels.take(held)
    return GridCounts.of_examples(points, labels, question.lattice.d)


def shade(
    question: ShadeQuestion, watch: Callable[[], None] = lambda: None
) -> tuple[ShadedSheet, ...]:
    """Scores, and for few lines probabilities, all over the dual plane.

    Parameters
    ----------
    question : ShadeQuestion
    watch : callable, optional
        Called several times a second; what it raises ends the work.

    Returns
    -------
    tuple of ShadedSheet
        One for each sheet of the measure, in order; a raster only of those asked for.
    """
    examples = held_examples(question)
    distinct = examples.points[examples.begins]
    if len(distinct) <= question.most_lines:
        weighed = weigh_cells(question, examples, distinct, watch)
        return tuple(draw_cells(question, each)[0] for each in weighed)
    return tuple(raster.shaded(question.score) for raster in rasters(question, examples, watch))


# -- few lines: exact cells ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WeighedCells:
    """The cells of one sheet.

    Attributes
    ----------
    arrangement : Arrangement
    inside : ndarray of int64, shape (cells, l)
        Which distinct examples each cell's halfplanes hold: 0 or 1.
    counts : ndarray of int64, shape (cells, 2)
        Negatives and positives in them.
    values : ndarray of int64, shape (cells,)
        Integer scores.
    shares : ndarray of float64, shape (cells,)
        In the mechanism's law; they sum to 1 over all sheets.
    """

    arrangement: Arrangement
    inside: NDArray[np.int64]
    counts: NDArray[np.int64]
    values: NDArray[np.int64]
    shares: NDArray[np.float64]


def weigh_cells(
    question: ShadeQuestion,
    examples: GridCounts,
    distinct: NDArray[np.int64],
    watch: Callable[[], None],
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


def _signatures(arrangement: Arrangement) -> NDArray[np.int64]:
    """Which distinct examples each cell's halfplanes hold: 0 or 1, shape (cells, l)."""
    lines = len(arrangement.examples)
    width = lines // 8 + 1
    packed = b"".join(cell.inside.to_bytes(width, "little") for cell in arrangement.cells)
    bits = np.frombuffer(packed, dtype=np.uint8).reshape(len(arrangement.cells), width)
    return np.unpackbits(bits, axis=1, bitorder="little")[:, :lines].astype(np.int64)


def _probabilities(
    arrangements: Sequence[Arrangement], values: Sequence[NDArray[np.int64]], rate: float
) -> list[NDArray[np.float64]]:
    """Share of each cell in the mechanism's law, by sheet; sums to 1 over all of them."""
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
    window = _square(question.lattice)
    sheet = ShadedSheet(int(arrangement.sheet), tuple(shaded), None, **window)
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
    """Counts at the pixels of one sheet.

    Attributes
    ----------
    sheet : Sheet
    window : dict of str to float
        u0, u1, v0, v1 in grid units.
    us, vs : ndarray of int64, shape (m,)
        Lattice points of the pixels that carry base measure.
    counts : ndarray of int64, shape (2, m)
        Examples of each label in the piece there.
    admitted : ndarray of bool, shape (resolution, resolution)
        Which pixels these are.
    """

    sheet: Sheet
    window: dict[str, float]
    us: NDArray[np.int64]
    vs: NDArray[np.int64]
    counts: NDArray[np.int64]
    admitted: NDArray[np.bool_]

    def spread(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of these pixels on the whole raster; NaN elsewhere."""
        spread = np.full(self.admitted.shape, np.nan)
        spread[self.admitted] = values
        return spread

    def shaded(self, score: Score) -> ShadedSheet:
        """The sheet with the scores of its pixels."""
        scores = score.values(self.counts[1], self.counts[0]) / score.k
        return ShadedSheet(int(self.sheet), (), self.spread(scores), **self.window)


def rasters(
    question: ShadeQuestion, examples: GridCounts, watch: Callable[[], None]
) -> list[Raster]:
    """The raster of every sheet asked for, in the order of the measure."""
    # compiled: not to be loaded by the window's process
    from geodp_app.runs.score_raster import PieceCounter, admitted, pixel_centres

    lattice, resolution = question.lattice, question.resolution
    counter = PieceCounter(examples, lattice, question.others)
    found = []
    for sheet, window in _windows(question).items():
        us = pixel_centres(lattice, window["u0"], window["u1"], resolution)
        vs = pixel_centres(lattice, window["v0"], window["v1"], resolution)
        grid_u, grid_v = np.meshgrid(us, vs, indexing="ij")
        inside = admitted(lattice, grid_u, grid_v)
        u, v = grid_u[inside], grid_v[inside]
        found.append(Raster(sheet, window, u, v, counter.count(sheet, u, v, watch), inside))
    return found


def draws(
    question: ShadeQuestion, examples: GridCounts, watch: Callable[[], None]
) -> list[Halfplane]:
    """Draws from the law of the moving halfplane, at least one."""
    # compiled, as above
    from learners.envelope.envelope_selection import EnvelopeSelection

    selection = EnvelopeSelection(question.lattice, "halfplane", table_bytes=_TABLE_BYTES)
    pieces, work = list[tuple[Halfplane, ...]](), _WORK
    while not pieces:
        watch()
        pieces = selection.draw_for_curator(examples, question.score, question.rate, _DRAWS, work)
        work *= 4
    watch()
    return [halfplane for (halfplane,) in pieces]


def counted(
    question: ShadeQuestion,
    examples: GridCounts,
    halfplanes: Sequence[Halfplane],
    watch: Callable[[], None],
) -> Iterator[tuple[Sheet, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """What the piece holds with each of some halfplanes, sheet by sheet: u and v of those there,
    each of shape (m,), and the examples of each label, shape (2, m)."""
    # compiled, as above
    from geodp_app.runs.score_raster import PieceCounter

    counter = PieceCounter(examples, question.lattice, question.others)
    for sheet in question.lattice.sheets:
        places = np.array([(h.u, h.v) for h in halfplanes if h.sheet == sheet], dtype=np.int64)
        us, vs = places.reshape(-1, 2).T.copy()
        yield sheet, us, vs, counter.count(sheet, us, vs, watch)


def _windows(question: ShadeQuestion) -> dict[Sheet, dict[str, float]]:
    """What the raster of each sheet asked for covers, in the order of the measure's sheets."""
    asked = {sheet: window for sheet, *window in question.windows}
    windows = {}
    for sheet in question.lattice.sheets:
        if question.sheets is not None and sheet not in question.sheets:
            continue
        windows[sheet] = _square(question.lattice)
        if sheet in asked:
            windows[sheet] = dict(zip(("u0", "u1", "v0", "v1"), asked[sheet], strict=True))
    return windows


def _square(lattice: HalfplaneLattice) -> dict[str, float]:
    unit = float(1 << lattice.bits)
    low, high = lattice.low / unit, lattice.high / unit
    return {"u0": low, "u1": high, "v0": low, "v1": high}


#: Standard errors on either side of an interval.
_ERRORS = 2.0


def as_good(
    question: ShareQuestion, watch: Callable[[], None] = lambda: None
) -> tuple[AsGood, ...]:
    """Of each halfplane of the chosen piece, the others given: the share of its law held by those
    with which the piece scores as much, or more.

    Parameters
    ----------
    question : ShareQuestion
    watch : callable, optional
        Called several times a second; what it raises ends the work.
    """
    step, piece = question.step, question.piece
    labels = step.labels[inside_piece(piece, step.points)]
    positives = int(np.count_nonzero(labels))
    least = step.score.value(positives, len(labels) - positives)
    found = []
    for e in range(len(piece)):
        watch()
        edge = replace(step, others=piece[:e] + piece[e + 1 :])
        examples = held_examples(edge)
        distinct = examples.points[examples.begins]
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
