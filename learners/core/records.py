"""Defines the record of a step of a run: what is released, and the diagnostics beside it.

What a step publishes is a :class:`StepRelease` or a :class:`TileStep`.  Everything that a curator
may look at but not publish is a :class:`StepDiagnostics`; how wrong a run is after each of its
steps is kept in one place, :class:`Mistakes`.  What a finished run publishes:
:mod:`learners.core.releases` (docs/privacy.md, lemma 6).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from shapely.geometry import Polygon
from shapely.geometry.base import BaseGeometry

from geometry.arrays import Flags, Floats, Ints
from geometry.grid_counts import GridCounts
from geometry.halfplane import Halfplane, Region
from geometry.lift import Conic
from geometry.polygons import Outline, piece_polygon
from geometry.tiling import EdgeZone, Tile
from learners.core.selection import Role

Piece = tuple[Halfplane, ...]


@dataclass(frozen=True, slots=True)
class StepRelease:
    """What one step publishes: the piece and the noisy count it was judged by.

    Attributes
    ----------
    piece : tuple of Region
        One halfplane, or three whose intersection is a triangle; or one disc or ellipse.
    threshold : int or None
        b_j, the noisy lower estimate of the examples left to gain; None when no noise was
        drawn (non-private learners).
    """

    piece: tuple[Region, ...]
    threshold: int | None
    #: It is of the whole square, and labels 1 what is inside the piece, as far as it says.
    tile: ClassVar[None] = None
    zone: ClassVar[None] = None
    tidied: ClassVar[None] = None
    inside: ClassVar[bool] = True

    @property
    def halfplanes(self) -> Piece:
        """The piece, if it is one of halfplanes; else empty."""
        return halfplanes_of(self.piece)

    def shape(self) -> BaseGeometry:
        """The part of the square in the piece, in grid units."""
        if not self.piece:
            return Polygon()
        return piece_shape(self.piece, self.piece[0].lattice.d)  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Tidied:
    """What is labelled otherwise than drawn when all tiles are (:mod:`learners.tiles.tidying`).

    Attributes
    ----------
    changed : Outline
        Where labels are those of the outline; elsewhere they stay as drawn.
    outline : Outline
        The whole shape; where nothing is changed, as drawn up to its grid.
    """

    changed: Outline
    outline: Outline

    def predict(self, points: Ints, drawn: Flags) -> Flags:
        """Labels of grid points (n, 2), of those that are drawn, shape (n,)."""
        if self.changed.whole:
            return self.outline.holds(points)
        rows = np.flatnonzero(self.changed.holds(points))
        labels = drawn.copy()
        labels[rows] = self.outline.holds(points[rows])
        return labels


@dataclass(frozen=True, slots=True)
class TileStep:
    """What one step of a run by tiles publishes: how one tile is labelled, or the zone of an edge.

    Its methods are about the tile as it was drawn.

    Attributes
    ----------
    tile : Tile or EdgeZone
    piece : tuple of Halfplane
        At most three, in the tile's own frame; none for one label everywhere.
    inside : bool
        Label inside the piece; the rest of the tile has the other one.
    tidied : Tidied or None
        What the last step of a run changes in all tiles together.
    count : int or None
        Noisy number of the tile's examples, where it is released.
    """

    tile: Tile | EdgeZone
    piece: Piece
    inside: bool
    tidied: Tidied | None = None
    count: int | None = None
    #: A tile is judged by its mistakes alone.
    threshold: ClassVar[None] = None

    @property
    def zone(self) -> EdgeZone | None:
        """The tile, if it is the zone of an edge."""
        return self.tile if isinstance(self.tile, EdgeZone) else None

    @property
    def halfplanes(self) -> Piece:
        """The piece."""
        return self.piece

    def predict(self, points: Ints) -> Flags:
        """Labels of grid points (n, 2) of the tile, in the frame of the grid."""
        held = inside_piece(self.piece, self.tile.to_own_frame(points))
        return held if self.inside else ~held

    def shape(self) -> BaseGeometry:
        """What it labels 1, in grid units."""
        if not self.piece:
            return self.tile.polygon() if self.inside else Polygon()
        held = self.tile.piece_polygon(self.piece)
        return held if self.inside else self.tile.polygon().difference(held)


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """What only the curator may see of one step, of formulas too.

    Attributes
    ----------
    positives_alive, negatives_alive : int
        Examples alive before the step; by tiles, those in the tile.
    positives_taken, negatives_taken : int
        Examples that the step removed; by tiles, those that it labels 1.
    score : float
        Score of the piece in examples (at most 0 up to the noise of b_j).
    empirical_error, false_positive_rate, false_negative_rate : float
        Of the hypothesis so far, as fractions of all examples (predicted 1 though 0;
        predicted 0 though 1).
    seconds : float
        Wall time of the step.
    """

    positives_alive: int
    negatives_alive: int
    positives_taken: int
    negatives_taken: int
    score: float
    empirical_error: float
    false_positive_rate: float
    false_negative_rate: float
    seconds: float

    @classmethod
    def tallied(
        cls,
        alive: Sequence[int],
        taken: Sequence[int],
        mistakes: tuple[int, int],
        n: int,
        **others: Any,
    ) -> Self:
        """Of counts of examples.

        Parameters
        ----------
        alive, taken : (negatives, positives)
        mistakes : (false positives, false negatives)
            Of the hypothesis so far.
        n : int
            Examples in all.
        others :
            The other fields as they are.
        """
        n = max(1, n)
        return cls(
            *(alive[1], alive[0], taken[1], taken[0]),
            empirical_error=sum(mistakes) / n,
            false_positive_rate=mistakes[0] / n,
            false_negative_rate=mistakes[1] / n,
            **others,
        )


@dataclass(frozen=True, slots=True)
class StepDiagnostics(Diagnostics):
    """What only the curator may see of one step in the plane or in space.

    Attributes
    ----------
    trials, boxes : int
        Work of the sampler.
    log_mass : float
        Natural log of the sampler's envelope, relative to the base measure.
    rate : float
        Nats per example of the exponential mechanism that drew the piece; 0 where none did.
    """

    trials: int
    boxes: int
    log_mass: float
    rate: float = field(default=0.0, kw_only=True)


@dataclass(frozen=True, slots=True)
class GreedyDiagnostics(StepDiagnostics):
    """What is known of a greedy step; `score` is gain - loss_weight * loss, in examples.

    Attributes
    ----------
    gap : int
        No piece of the lattice scores more than `score + gap`.
    """

    gap: int

    @property
    def optimal(self) -> bool:
        """Whether no piece of the lattice scores more, by proof."""
        return self.gap == 0


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step of a run: its number (from 1), of how many, its release and its diagnostics.

    Of a cover that will be sharpened, there are at least so many: its zones are not known yet.  One
    with k = "auto" may make fewer triangles than that counts, and says so with its last.
    """

    step: int
    steps: int
    release: StepRelease | TileStep
    diagnostics: StepDiagnostics


def inside_piece(piece: tuple[Region, ...], points: Ints) -> Flags:
    """Which points (n, 2) lie in the intersection of the piece's closed halfplanes."""
    inside = np.ones(len(points), dtype=np.bool_)
    for region in piece:
        inside &= region.contains(points)
    return inside


def halfplanes_of(piece: tuple[Region, ...]) -> Piece:
    """A piece of halfplanes as such; empty for one of anything else."""
    return tuple(region for region in piece if isinstance(region, Halfplane))


def piece_shape(piece: tuple[Region, ...], d: int) -> BaseGeometry:
    """The part of a piece in the square [0, d]^2: halfplanes that meet, or a disc or ellipse."""
    if piece and isinstance(piece[0], Conic):
        return piece[0].polygon()
    return piece_polygon(halfplanes_of(piece), d)


def predict_pieces(role: Role, pieces: tuple[tuple[Region, ...], ...], points: Ints) -> Flags:
    """Union (disjunction) or intersection (conjunction) of the pieces at grid points (n, 2)."""
    inside = np.full(len(points), role == "conjunction", dtype=np.bool_)
    combine = np.logical_or if role == "disjunction" else np.logical_and
    for piece in pieces:
        combine(inside, inside_piece(piece, points), out=inside)
    return inside


# -- segments along which labels change: edges of pieces, in boxes of tiles ------------------------
#
# They are doubles (geometry.bulk_labels).  Within grids of fewer than 2**13 places a side an end of
# one is off its line by less than 2**-34: a line is cut along the axis to which it is closer, so
# nothing that is divided exceeds 4 (d + 1) times its divisor.


def edge_lines(pieces: Iterable[Piece]) -> Ints:
    """a, b and c of all edges a*x + b*y = c of pieces, shape (m, 3)."""
    found = [h.coefficients for piece in pieces for h in piece]
    return np.array(found, dtype=np.int64).reshape(-1, 3)


def line_borders(lines: Ints, boxes: NDArray[Any]) -> Floats:
    """What boxes, left, bottom, right, top, of shape (m, 4) or (4,), hold of lines, or more."""
    a, b, c = lines.T.astype(np.float64)
    left, bottom, right, top = np.broadcast_to(boxes, (len(lines), 4)).T
    with np.errstate(divide="ignore", invalid="ignore"):
        flat = np.stack([left, (c - a * left) / b, right, (c - a * right) / b])
        steep = np.stack([(c - b * bottom) / a, bottom, (c - b * top) / a, top])
    ends = np.where(np.abs(b) >= np.abs(a), flat, steep)
    low, high = np.minimum(ends[:2], ends[2:]), np.maximum(ends[:2], ends[2:])
    met = (high >= [left - 1, bottom - 1]) & (low <= [right + 1, top + 1])
    return ends[:, met.all(axis=0)].T


def step_borders(steps: Sequence[TileStep]) -> Floats:
    """Of tiles or zones: pieces in their boxes, the boxes, and what the last one changes."""
    tiles = [step.tile for step in steps]
    boxes = np.array([(tile.x0, tile.y0, tile.x1, tile.y1) for tile in tiles])
    number = np.repeat(np.arange(len(steps)), [len(step.piece) for step in steps])
    lines = edge_lines(step.piece for step in steps)
    lines[:, 2] += (lines[:, :2] * boxes[number, :2]).sum(axis=1)
    sides = boxes + [-0.5, -0.5, 0.5, 0.5]
    # at a vertical side no label changes along a column
    found = [line_borders(lines, sides[number]), sides[:, [0, 1, 2, 1]]]
    if steps[0].zone is not None:  # the top of a tile is others' bottom
        found.append(sides[:, [0, 3, 2, 3]])
    tidied = steps[-1].tidied
    if tidied is not None:
        found += [tidied.changed.segments(), tidied.outline.segments()]
    return np.concatenate(found)


class Mistakes:
    """The labels that a run has given so far, and how many are wrong; a step gives some entries
    another one.

    Parameters
    ----------
    counts : GridCounts
        All examples, m entries.
    labels : bool or ndarray of bool, shape (m,)
        What is predicted before the first step.
    """

    def __init__(self, counts: GridCounts, labels: bool | Flags) -> None:
        self._counts, self._n = counts, counts.n
        self.labels: Flags = np.full(len(counts), labels)
        wrong = np.where(self.labels != counts.labels, counts.amounts, 0)
        self._false_positives = int(wrong[self.labels].sum())
        self._false_negatives = int(wrong[~self.labels].sum())

    def relabel(self, rows: Ints, labels: bool | Flags) -> None:
        """Give entries, numbers of shape (k,), other labels."""
        new = np.full(len(rows), labels)
        changed = rows[new != self.labels[rows]]
        self.labels[rows] = new
        amounts = self._counts.amounts[changed]
        # each goes from one label to the other: from wrong to right, or from right to wrong
        signed = np.where(self.labels[changed], amounts, -amounts)
        positive = self._counts.labels[changed]
        self._false_negatives -= int(signed[positive].sum())
        self._false_positives += int(signed[~positive].sum())

    def diagnostics(
        self, alive: tuple[int, int], taken: tuple[int, int], **others: Any
    ) -> StepDiagnostics:
        """Of a step: (negatives, positives) that it has seen and taken, and the other fields."""
        wrong = self._false_positives, self._false_negatives
        return StepDiagnostics.tallied(alive, taken, wrong, self._n, **others)


def final_labels(steps: Sequence[TileStep], points: Ints, drawn: Flags) -> Ints:
    """Labels 0/1 of points that are drawn so, after the last of some steps."""
    tidied = steps[-1].tidied
    return (drawn if tidied is None else tidied.predict(points, drawn)).astype(np.int64)
