"""How good would a piece be if one of its halfplanes were another one?  Answers, exactly.

The base measure of a piece is a product over its halfplanes, so the exponential mechanism's law
of one of them, the others given, is again an exponential mechanism over single halfplanes:
P(h) proportional to exp(rate * value(h and the others)).  An example outside the others can never
be inside the piece, so only those inside them make lines.

Few lines: the cells of the exact arrangement of every sheet (:mod:`geometry.arrangement`), with
the score of each and its probability, lattice points * exp(rate * value), normalised over all
cells of all sheets, drawn or not.  Many lines: rasters of exact scores
(:mod:`geodp_app.runs.score_raster`), of the sheets and windows asked for.  Nothing is released:
all of it is for the curator.

Complexity: O(l^2 log l) for l lines (about a second for 120), else O(resolution^2 * columns) a
sheet (:mod:`geometry.columns`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geodp_app.runs.protocol import ShadedCell, ShadedSheet, ShadeQuestion
from geometry.arrangement import Arrangement, Cell, arrange
from geometry.duality import Vertex
from geometry.halfplane import HalfplaneLattice, Sheet
from learners.records import inside_piece

#: Corners of a polygon, counterclockwise, and the probability of what it holds.
_Part = tuple[tuple[Vertex, ...], float]


@dataclass(frozen=True, slots=True)
class _Sample:
    """The examples that make lines, and what their counts are worth."""

    question: ShadeQuestion
    points: NDArray[np.int64]
    labels: NDArray[np.bool_]

    @classmethod
    def of(cls, question: ShadeQuestion) -> _Sample:
        held = inside_piece(question.others, question.points)
        return cls(question, question.points[held], question.labels[held])

    @property
    def lattice(self) -> HalfplaneLattice:
        return self.question.lattice

    def values(
        self, positives: NDArray[np.int64], negatives: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """k times the score, in examples, of pieces with these counts inside."""
        score = self.question.score
        # Score.value, of many pieces at once
        gained, lost = score.k * positives + score.c_pos, -score.k * negatives + score.c_neg
        return gained + lost if score.total else np.minimum(gained, lost)


def _no_watch() -> None:
    pass


def shade(
    question: ShadeQuestion, watch: Callable[[], None] = _no_watch
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
    sample = _Sample.of(question)
    distinct = np.unique(sample.points, axis=0)
    if len(distinct) <= question.most_lines:
        return _cells(sample, distinct, watch)
    return _raster(sample, watch)


# -- few lines: exact cells ------------------------------------------------------------------


def _cells(
    sample: _Sample, distinct: NDArray[np.int64], watch: Callable[[], None]
) -> tuple[ShadedSheet, ...]:
    weights = _multiplicities(sample, distinct)
    found: list[tuple[Sheet, tuple[Cell, ...], NDArray[np.int64]]] = []
    for sheet in sample.lattice.sheets:
        watch()
        arrangement = arrange(sample.lattice, sheet, distinct)
        counts = _signatures(arrangement) @ weights
        found.append((sheet, arrangement.cells, sample.values(counts[:, 1], counts[:, 0])))
    watch()
    sizes = [[cell.lattice_points.count for cell in cells] for _, cells, _ in found]
    shares = _probabilities(sizes, [values for *_, values in found], sample.question.rate)
    return tuple(
        ShadedSheet(
            sheet=int(sheet),
            cells=_join(sample, cells, values, share),
            scores=None,
            **_square(sample.lattice),
        )
        for (sheet, cells, values), share in zip(found, shares, strict=True)
    )


def _multiplicities(sample: _Sample, distinct: NDArray[np.int64]) -> NDArray[np.int64]:
    """Negatives and positives at each distinct example, in lexicographic order: shape (l, 2)."""
    weights = np.zeros((len(distinct), 2), dtype=np.int64)
    scale = sample.lattice.d + 1
    place = np.searchsorted(
        distinct[:, 0] * scale + distinct[:, 1], sample.points[:, 0] * scale + sample.points[:, 1]
    )
    np.add.at(weights, (place, sample.labels.astype(np.int64)), 1)
    return weights


def _signatures(arrangement: Arrangement) -> NDArray[np.int64]:
    """Which distinct examples each cell's halfplanes hold: 0 or 1, shape (cells, l)."""
    lines = len(arrangement.examples)
    width = lines // 8 + 1
    packed = b"".join(cell.inside.to_bytes(width, "little") for cell in arrangement.cells)
    bits = np.frombuffer(packed, dtype=np.uint8).reshape(len(arrangement.cells), width)
    return np.unpackbits(bits, axis=1, bitorder="little")[:, :lines].astype(np.int64)


def _probabilities(
    sizes: Sequence[Sequence[int]], values: Sequence[NDArray[np.int64]], rate: float
) -> list[NDArray[np.float64]]:
    """Share of each cell in the mechanism's law, by sheet; sums to 1 over all of them."""
    counts = [np.array(size, dtype=np.float64) for size in sizes]
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


def _join(
    sample: _Sample,
    cells: Sequence[Cell],
    values: NDArray[np.int64],
    shares: NDArray[np.float64],
) -> tuple[ShadedCell, ...]:
    """The cells of a sheet to draw; the halves of one that crosses u = v become one again.

    Halves that only a forbidden corner joins stay two polygons, each with its own probability.
    """
    halves: defaultdict[int, list[int]] = defaultdict(list)
    for i, cell in enumerate(cells):
        halves[cell.inside].append(i)
    unit = float(1 << sample.lattice.bits)
    shaded = []
    for indices in halves.values():
        score = int(values[indices[0]]) / sample.question.score.k
        parts = [(cells[i].vertices, float(shares[i])) for i in indices]
        for outline, share in _merged([part for part in parts if _has_area(part[0])]):
            corners = np.array([(u / w, v / w) for u, v, w in outline]) / unit
            shaded.append(ShadedCell(corners, score, share))
    return tuple(shaded)


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
    return any(_turn(vertices[0], vertices[1], vertex) for vertex in vertices[2:])


def _turn(a: Vertex, b: Vertex, c: Vertex) -> int:
    """Zero when three points with positive weights lie on a line."""
    return (
        a[0] * (b[1] * c[2] - b[2] * c[1])
        - a[1] * (b[0] * c[2] - b[2] * c[0])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
    )


# -- many lines: a raster ----------------------------------------------------------------------


def _raster(sample: _Sample, watch: Callable[[], None]) -> tuple[ShadedSheet, ...]:
    # compiled: not to be loaded by the window's process
    from geodp_app.runs.score_raster import count_raster, pixel_centres

    question, lattice = sample.question, sample.lattice
    windows = _windows(question)
    centres = {
        sheet: (
            pixel_centres(lattice, w["u0"], w["u1"], question.resolution),
            pixel_centres(lattice, w["v0"], w["v1"], question.resolution),
        )
        for sheet, w in windows.items()
    }
    counts = count_raster(sample.points, sample.labels, lattice, question.others, centres, watch)
    sheets = []
    for sheet, (inside, admitted) in counts.items():
        scores = sample.values(inside[1], inside[0]) / question.score.k
        scores[~admitted] = np.nan
        sheets.append(ShadedSheet(int(sheet), (), scores, **windows[sheet]))
    norm = _log_norm(question, sheets)
    return tuple(replace(sheet, log_norm=norm) for sheet in sheets)


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


def _log_norm(question: ShadeQuestion, sheets: Sequence[ShadedSheet]) -> float | None:
    """See :attr:`ShadedSheet.log_norm`."""
    if not question.rate or question.windows or len(sheets) < len(question.lattice.sheets):
        return None
    scores = np.concatenate([sheet.scores.ravel() for sheet in sheets if sheet.scores is not None])
    exponents = question.rate * question.score.k * scores[np.isfinite(scores)]
    if not exponents.size:
        return None
    best = float(exponents.max())
    pixel = (sheets[0].u1 - sheets[0].u0) / question.resolution
    return best + math.log(float(np.exp(exponents - best).sum()) * pixel**2)


def _square(lattice: HalfplaneLattice) -> dict[str, float]:
    unit = float(1 << lattice.bits)
    low, high = lattice.low / unit, lattice.high / unit
    return {"u0": low, "u1": high, "v0": low, "v1": high}
