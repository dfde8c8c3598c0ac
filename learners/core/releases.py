"""Defines what may be published of a run: a hypothesis in the plane or in space, and what it spent.

A :class:`Release` holds what is differentially private under the stated account, and nothing
else: no number of examples, no seed, no error.  Why it may be published: docs/privacy.md, lemma 6.
Its form in files: :mod:`learners.core.codec`.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from shapely.geometry.base import BaseGeometry

from geometry.arrays import Floats, Ints
from geometry.bulk_labels import bulk_labels
from geometry.halfplane import HalfplaneLattice, Region
from geometry.lift import (
    BallLattice,
    Conic,
    ConicLattice,
    HalfspaceLattice3,
    LiftedRegion,
    PolynomialLattice,
    cells_shape,
    conic_union,
)
from geometry.polygons import piece_polygon, union_shape
from geometry.tiling import (
    EdgeZone,
    EdgeZones,
    Tile,
    TileIndex,
    joined_shape,
    tile_square,
    tiles_shape,
)
from learners.core.records import (
    Piece,
    StepRelease,
    TileStep,
    edge_lines,
    final_labels,
    line_borders,
    predict_pieces,
    step_borders,
)
from learners.core.selection import Role
from learners.core.support import DOUBT, Blocks, Support, reported_blocks
from learners.privacy.accounting import PrivacySpent, noise_scale, of_persons

#: What the pieces of a release are taken from.
Lattice = HalfplaneLattice | ConicLattice | HalfspaceLattice3 | PolynomialLattice | BallLattice


@dataclass(frozen=True, slots=True)
class Release(ABC):
    """A finished hypothesis with its privacy statement: all that may be published.

    Attributes
    ----------
    learner : str
        Name of the learner.
    lattice : HalfplaneLattice, ConicLattice, HalfspaceLattice3, PolynomialLattice or BallLattice
        The class of the halfplanes, discs, ellipses, halfspaces or lifted regions; by tiles, of
        every tile's own frame.
    parameters : tuple of (str, value)
        Public parameters of the run, in order.
    privacy : PrivacySpent or None
        None for a learner that is not private.
    """

    #: Its kind in files.
    kind: ClassVar[str]

    learner: str
    lattice: Lattice
    parameters: tuple[tuple[str, Any], ...]
    privacy: PrivacySpent | None

    @property
    def d(self) -> int:
        """Grid size: points have integer coordinates in 0..d."""
        return self.lattice.d

    @property
    @abstractmethod
    def steps(self) -> tuple[StepRelease | TileStep, ...]:
        """What each step published, in order."""

    @property
    def support(self) -> Support | None:
        """Where there were enough examples to say anything; None where that is not released."""
        return None

    def predict(self, points: Ints) -> Ints:
        """Labels 0/1, shape (n,), of grid points, shape (n, 2) or (n, 3), by exact side tests.

        Of many points places of the grid are asked about once, and looked up by the others.
        """
        sides = (self.d + 1,) * points.shape[1]
        return bulk_labels(self._labels, points, sides, self._borders)

    def _borders(self) -> Floats | None:
        """Segments x1, y1, x2, y2, shape (m, 4), that part labels; None if curves may."""
        return None

    @abstractmethod
    def _labels(self, points: Ints) -> Ints:
        """Labels 0/1, shape (n,), of grid points, shape (n, 2) or (n, 3), by exact side tests."""

    @abstractmethod
    def staged_predict(self, points: Ints) -> Iterator[Ints]:
        """Labels as :meth:`predict` after the first step, the second, and so on."""

    @abstractmethod
    def shape(self) -> BaseGeometry:
        """The hypothesis as a valid polygonal shapely geometry in grid units."""


@dataclass(frozen=True, slots=True)
class PiecesRelease(Release):
    """A union of pieces, or their intersection.

    Attributes
    ----------
    role : {"disjunction", "conjunction"}
        Union of the pieces, or their intersection.
    pieces : tuple of tuple of Region
    thresholds : tuple of int
        The noisy counts, one a step.
    """

    role: Role
    pieces: tuple[tuple[Any, ...], ...]
    thresholds: tuple[int, ...]

    @property
    def steps(self) -> tuple[StepRelease | TileStep, ...]:
        return _pieces_made(self.pieces, self.thresholds)

    def _labels(self, points: Ints) -> Ints:
        return predict_pieces(self.role, self.pieces, points).astype(np.int64)

    def staged_predict(self, points: Ints) -> Iterator[Ints]:
        """Labels after the first piece, the second, and so on."""
        for count in range(1, len(self.pieces) + 1):
            yield predict_pieces(self.role, self.pieces[:count], points).astype(np.int64)


@dataclass(frozen=True, slots=True)
class CoverRelease(PiecesRelease):
    """A union or an intersection of pieces in the plane: halfplanes one by one, or triangles."""

    kind: ClassVar[str] = "cover"

    lattice: HalfplaneLattice
    pieces: tuple[Piece, ...]

    def _borders(self) -> Floats | None:
        return line_borders(edge_lines(self.pieces), np.array([0, 0, self.d, self.d]))

    def shape(self) -> BaseGeometry:
        if self.role == "disjunction":
            return union_shape(self.pieces, self.d)
        return piece_polygon(tuple(h for piece in self.pieces for h in piece), self.d)


@dataclass(frozen=True, slots=True)
class TilesRelease(Release):
    """Tiles that divide the square, each labelled by a piece of its own.

    Attributes
    ----------
    tiles : tuple of TileStep
        In the order in which they were learned; together they hold every grid point once.  The last
        one may change labels of all.
    """

    kind: ClassVar[str] = "tiles"

    lattice: HalfplaneLattice
    tiles: tuple[TileStep, ...]
    support: Support | None = None

    @property
    def steps(self) -> tuple[StepRelease | TileStep, ...]:
        return self.tiles

    @property
    def d(self) -> int:
        """Grid size: coordinates are 0 to d."""
        return self.tiles[0].tile.d

    def _labels(self, points: Ints) -> Ints:
        labels = np.zeros(len(points), dtype=np.bool_)
        for step, rows in zip(self.tiles, self.index().groups(points), strict=True):
            if len(rows):
                labels[rows] = step.predict(points[rows])
        return final_labels(self.tiles, points, labels)

    def staged_predict(self, points: Ints) -> Iterator[Ints]:
        """Labels after the first tile, the second, and so on; 0 in tiles still to come."""
        labels = np.zeros(len(points), dtype=np.bool_)
        for step, rows in zip(self.tiles, self.index().groups(points), strict=True):
            labels[rows] = step.predict(points[rows])
            yield final_labels((step,), points, labels)

    def _borders(self) -> Floats | None:
        return step_borders(self.tiles)

    def index(self) -> TileIndex:
        """Which tile holds a grid point.

        Raises
        ------
        ValueError
            If the tiles do not hold every grid point exactly once.
        """
        return TileIndex.of([step.tile for step in self.tiles if isinstance(step.tile, Tile)])

    @property
    def counted(self) -> bool:
        """Whether noisy numbers of examples of its tiles are released."""
        return all(step.count is not None for step in self.tiles)

    def blocks(self) -> Blocks | None:
        """What these numbers tell of where there were reports; None where they are too small."""
        charge = None if self.privacy is None else self.privacy.charge("tile counts")
        about = dict(self.parameters).get("noisy_count")
        if charge is None or about is None or not self.counted:
            return None
        counts = {step.tile: step.count for step in self.tiles if step.count is not None}
        order = tile_square(self.d, math.isqrt(len(counts)))
        return reported_blocks([counts[tile] for tile in order], noise_scale(charge.each, 1), about)

    def shape(self) -> BaseGeometry:
        tidied = self.tiles[-1].tidied
        if tidied is not None:
            return tidied.outline.polygon()
        return tiles_shape(step.shape() for step in self.tiles)


@dataclass(frozen=True, slots=True)
class SharpenedRelease(Release):
    """A union of triangles whose edges have been drawn again, each in its own zone.

    Attributes
    ----------
    pieces : tuple of tuple of Halfplane
        The triangles.
    thresholds : tuple of int
        The noisy counts, one a triangle.
    side : int
        Most grid points along a side of a zone.
    zones : tuple of TileStep
        In order, as :class:`geometry.tiling.EdgeZones` numbers them.  The last one may change
        labels of all.
        Points where edges tie in a zone without area are labelled by the triangles.
    """

    kind: ClassVar[str] = "sharpened"

    lattice: HalfplaneLattice
    pieces: tuple[Piece, ...]
    thresholds: tuple[int, ...]
    side: int
    zones: tuple[TileStep, ...]

    @property
    def steps(self) -> tuple[StepRelease | TileStep, ...]:
        """What each step published, in order: a triangle, or a zone."""
        return *_pieces_made(self.pieces, self.thresholds), *self.zones

    def _labels(self, points: Ints) -> Ints:
        labels = predict_pieces("disjunction", self.pieces, points)
        for step, rows in self._groups(points):
            labels[rows] = step.predict(points[rows])
        return final_labels(self.zones, points, labels)

    def staged_predict(self, points: Ints) -> Iterator[Ints]:
        """Labels after the first triangle, the second, and so on, and then zone after zone."""
        labels = np.zeros(len(points), dtype=np.bool_)
        for count in range(1, len(self.pieces) + 1):
            labels = predict_pieces("disjunction", self.pieces[:count], points)
            yield labels.astype(np.int64)
        for step, rows in self._groups(points):
            labels[rows] = step.predict(points[rows])
            yield final_labels((step,), points, labels)

    def _borders(self) -> Floats | None:
        lines = edge_lines(self.pieces)
        # where a point is as far outside of one edge as of another, its zone may change
        one, other = np.triu_indices(len(lines), 1)
        lines = np.concatenate([lines, lines[one] - lines[other]])
        square = np.array([0, 0, self.d, self.d])
        return np.concatenate([line_borders(lines, square), step_borders(self.zones)])

    def _groups(self, points: Ints) -> Iterator[tuple[TileStep, Ints]]:
        """Each zone with the rows that it decides again; points beyond its box stay as they were:
        they lie on a line between zones."""
        numbers = EdgeZones(self.pieces, self.side).find(points)
        for number, step in enumerate(self.zones):
            rows = np.flatnonzero(numbers == number)
            assert isinstance(step.tile, EdgeZone)
            yield step, rows[step.tile.in_box(points[rows])]

    def shape(self) -> BaseGeometry:
        tidied = self.zones[-1].tidied
        if tidied is not None:
            return tidied.outline.polygon()
        return joined_shape(step.shape() for step in self.zones)


@dataclass(frozen=True, slots=True)
class ConicRelease(PiecesRelease):
    """A union of discs or of ellipses, one a step."""

    kind: ClassVar[str] = "conics"

    lattice: ConicLattice
    pieces: tuple[tuple[Conic], ...]

    @property
    def conics(self) -> tuple[Conic, ...]:
        """The discs or ellipses, one a step."""
        return tuple(conic for piece in self.pieces for conic in piece)

    def shape(self) -> BaseGeometry:
        """The hypothesis as a valid polygonal shapely geometry in grid units.

        Arcs are drawn as chords, none farther than 1/64 of a grid unit from its arc
        (:data:`geometry.lift.CHORD_ERROR`).
        """
        return conic_union(self.conics)


@dataclass(frozen=True, slots=True)
class SpaceRelease(PiecesRelease):
    """A union or an intersection of pieces in three dimensions.

    A piece is one halfspace, or four whose intersection is a simplex.
    """

    kind: ClassVar[str] = "space"

    lattice: HalfspaceLattice3
    pieces: tuple[tuple[LiftedRegion, ...], ...]

    def shape(self) -> BaseGeometry:
        """A body in space has no shape in the plane.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError("a hypothesis in three dimensions has no shape in the plane")


@dataclass(frozen=True, slots=True)
class LiftedRelease(PiecesRelease):
    """A union of regions bounded by polynomials, or of balls in space."""

    kind: ClassVar[str] = "lifted"

    lattice: PolynomialLattice | BallLattice
    pieces: tuple[tuple[LiftedRegion, ...], ...]

    def shape(self) -> BaseGeometry:
        """The cells of the grid points that are labelled 1, as valid polygons in grid units.

        Raises
        ------
        ValueError
            If the regions lie in space.
        """
        if self.lattice.dimensions == 3:
            raise ValueError("a hypothesis in three dimensions has no shape in the plane")
        side = self.d + 1
        grid = np.indices((side, side)).reshape(2, -1).T.astype(np.int64)
        return cells_shape(self.predict(grid).reshape(side, side) == 1)


def _pieces_made(
    pieces: Sequence[tuple[Region, ...]], thresholds: tuple[int, ...]
) -> tuple[StepRelease, ...]:
    """Steps with their noisy counts, of which one that is not private has none."""
    return tuple(itertools.starmap(StepRelease, itertools.zip_longest(pieces, thresholds)))


def support_shape(release: Release) -> BaseGeometry | None:
    """Where there were reports, polygons in grid units.

    Released support; or else what the noisy numbers of examples of tiles tell, where they tell of
    a part that had hardly any.  None if nothing is known, or no part is.
    """
    if not isinstance(release, TilesRelease):
        return None
    if release.support is not None:
        return release.support.shape(release.d)
    blocks = release.blocks()
    return None if blocks is None or all(blocks.reported) else blocks.shape(release.d)


def support_words(release: Release) -> str:
    """Which part of the shape had reports, as far as is released, in one sentence without a full
    stop; empty if nothing is."""
    if not isinstance(release, TilesRelease) or release.privacy is None:
        return ""
    support = release.support
    if support is not None:
        return (
            f"{sum(support.cells)} of {len(support.cells)} cells ({support.per_side} a side) had "
            f"enough reports to say anything, at least {support.threshold} by a count with noise, "
            f"which cost epsilon {support_cost(release):g} of the whole; what the shape says in "
            "the other cells rests on too few reports"
        )
    if not release.counted:
        return ""
    blocks = release.blocks()
    if blocks is None:
        return "the noisy counts of its tiles are too small to tell where nobody reported"
    several = len(blocks.reported)
    parts = "tiles" if blocks.per_side == blocks.tiles else "blocks of tiles"
    if all(blocks.reported):
        return f"there were reports in all {several} {parts}"
    return (
        f"{several - sum(blocks.reported)} of {several} {parts} had hardly any reports, and what "
        "the shape says there rests on next to nothing (by noisy counts: an empty one passes for "
        f"reported with a probability of {100 * DOUBT:g} % at most)"
    )


def support_cost(release: Release) -> float:
    """Epsilon that support has of the run's, for the run's neighbours; 0 if it had none."""
    charge = None if release.privacy is None else release.privacy.charge("support counts")
    if charge is None or release.privacy is None:
        return 0.0
    moves = 2 if release.privacy.neighbours == "replace-one" else 1
    return charge.alone * moves * release.privacy.rows


def for_persons(release: Release, unit: str | None, *asked: Any) -> Release:
    """The release of a run on examples of persons whom a column names; without one as it is.

    `asked` is as :func:`of_persons` takes it, of persons with several examples.
    """
    if unit is None:
        return release
    privacy = of_persons(release.privacy, *asked) if asked else release.privacy
    return replace(release, parameters=(*release.parameters, ("unit", unit)), privacy=privacy)


#: Releases of pieces, by what these are taken from.
_OF_PIECES: dict[type[Any], type[PiecesRelease]] = {
    HalfplaneLattice: CoverRelease,
    ConicLattice: ConicRelease,
    HalfspaceLattice3: SpaceRelease,
    PolynomialLattice: LiftedRelease,
    BallLattice: LiftedRelease,
}


def release_of(
    common: tuple[str, Any, tuple[tuple[str, Any], ...], PrivacySpent | None],
    role: Role,
    released: list[StepRelease | TileStep],
    support: Support | None = None,
) -> Release:
    """The hypothesis of a complete run.

    Parameters
    ----------
    common : tuple
        Name of the learner, :data:`Lattice`, public parameters, and what was spent.
    role : {"disjunction", "conjunction"}
    released : list of StepRelease or TileStep
        What the steps published.
    support : Support, optional
        What a run by tiles published beside them.
    """
    tiles = tuple(step for step in released if isinstance(step, TileStep))
    steps = [step for step in released if isinstance(step, StepRelease)]
    pieces: tuple[Any, ...] = tuple(step.piece for step in steps)
    thresholds = tuple(step.threshold for step in steps if step.threshold is not None)
    if tiles and isinstance(tiles[0].tile, EdgeZone):
        return SharpenedRelease(*common, pieces, thresholds, tiles[0].tile.zones.side, tiles)
    if tiles:
        return TilesRelease(*common, tiles, support)
    return _OF_PIECES[type(common[1])](*common, role, pieces, thresholds)
