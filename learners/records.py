"""What a run leaves behind: records, with the release apart from the diagnostics.

A :class:`Release` holds what is differentially private under the stated account,
and nothing else: no example count, no seed, no error.  Everything a curator may
look at but not publish is a ``Diagnostics``.  Writers take a ``Release``.  Why a release
of a finished run may be published: docs/privacy.md, lemma 6.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from geometry.halfspace3 import HalfspaceLattice3
from geometry.lift import Conic, ConicLattice
from geometry.polygons import intersection_shape, piece_polygon, union_shape
from geometry.tiling import Tile, TileIndex, mosaic_shape
from learners.accounting import PrivacySpent
from learners.scores import Role

Piece = tuple[Halfplane, ...]


class Region(Protocol):
    """A closed set of points with an exact test: a halfplane, a disc, a halfspace."""

    def contains(self, points: NDArray[np.int64], /) -> NDArray[np.bool_]:
        """Which points, shape (n, dimensions), lie in it: bool of shape (n,)."""


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

    @property
    def halfplanes(self) -> Piece:
        """The piece, if it is one of halfplanes; else empty."""
        return halfplanes_of(self.piece)


@dataclass(frozen=True, slots=True)
class TileStep:
    """What one step of a mosaic publishes: how one tile is labelled.

    Attributes
    ----------
    tile : Tile
    piece : tuple of Halfplane
        At most three, in the tile's own frame; none for one label everywhere.
    inside : bool
        Label inside the piece; the rest of the tile has the other one.
    """

    tile: Tile
    piece: Piece
    inside: bool

    def predict(self, points: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Labels of grid points (n, 2) of the tile, in the frame of the grid."""
        held = inside_piece(self.piece, self.tile.to_own_frame(points))
        return held if self.inside else ~held

    def shape(self) -> BaseGeometry:
        """What it labels 1, in grid units."""
        held = self.tile.piece_polygon(self.piece)
        return held if self.inside else self.tile.polygon().difference(held)


@dataclass(frozen=True, slots=True)
class StepDiagnostics:
    """What only the curator may see of one step.

    Attributes
    ----------
    positives_alive, negatives_alive : int
        Examples alive before the step; of a mosaic, those in the tile.
    positives_taken, negatives_taken : int
        Examples that the step removed; of a mosaic, those that it labels 1.
    score : float
        Score of the piece in examples (at most 0 up to the noise of b_j).
    empirical_error, false_positive_rate, false_negative_rate : float
        Of the hypothesis so far, as fractions of all examples (predicted 1 though 0;
        predicted 0 though 1).
    seconds : float
        Wall time of the step.
    trials, boxes : int
        Work of the sampler.
    log_mass : float
        Natural log of the sampler's envelope, relative to the base measure.
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
    trials: int
    boxes: int
    log_mass: float


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step of a run: its number (from 1), of how many, its release and its diagnostics."""

    step: int
    steps: int
    release: StepRelease | TileStep
    diagnostics: StepDiagnostics


@dataclass(frozen=True, slots=True)
class Release(ABC):
    """A finished hypothesis with its privacy statement: all that may be published.

    Attributes
    ----------
    learner : str
        Name of the learner.
    lattice : HalfplaneLattice, ConicLattice or HalfspaceLattice3
        The class of the halfplanes, discs, ellipses or halfspaces; in a mosaic, of every tile's
        own frame.
    parameters : tuple of (str, value)
        Public parameters of the run, in order.
    privacy : PrivacySpent or None
        None for a learner that is not private.
    """

    learner: str
    lattice: HalfplaneLattice | ConicLattice | HalfspaceLattice3
    parameters: tuple[tuple[str, Any], ...]
    privacy: PrivacySpent | None

    @property
    @abstractmethod
    def d(self) -> int:
        """Grid size: points have integer coordinates in 0..d."""

    @abstractmethod
    def predict(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Labels 0/1, shape (n,), of grid points, shape (n, 2), by exact side tests."""

    @abstractmethod
    def staged_predict(self, points: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Labels as :meth:`predict` after the first step, the second, and so on."""

    @abstractmethod
    def shape(self) -> BaseGeometry:
        """The hypothesis as a valid polygonal shapely geometry in grid units."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; :meth:`from_dict` reads it back."""

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Release:
        """Read what :meth:`to_dict` wrote.

        Raises
        ------
        ValueError
            If a member is missing or of the wrong kind.
        """
        try:
            if "conics" in data:
                # it is a release itself, and so knows this module
                from learners.conic.release import ConicRelease

                return ConicRelease.read(data)
            if "halfspaces" in data:
                from learners.space.halfspaces3_cover import SpaceRelease

                return SpaceRelease.read(data)
            return MosaicRelease.read(data) if "tiles" in data else CoverRelease.read(data)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a learned hypothesis: {error!r}") from error

    def common_members(self) -> dict[str, Any]:
        """What every release writes."""
        return {
            "parameters": dict(self.parameters),
            "privacy": None if self.privacy is None else self.privacy.to_dict(),
        }


def read_common(data: dict[str, Any]) -> dict[str, Any]:
    """Fields that every release has but its lattice, from its JSON form."""
    privacy = data["privacy"]
    return {
        "learner": str(data["learner"]),
        "parameters": tuple(data["parameters"].items()),
        "privacy": None if privacy is None else PrivacySpent.from_dict(privacy),
    }


def _write_piece(piece: Piece) -> list[list[Any]]:
    return [[h.sheet.name, h.u, h.v] for h in piece]


def _read_piece(piece: list[list[Any]], lattice: HalfplaneLattice) -> Piece:
    return tuple(lattice.halfplane(Sheet[s], int(u), int(v)) for s, u, v in piece)


@dataclass(frozen=True, slots=True)
class CoverRelease(Release):
    """A union of pieces, or their intersection.

    Attributes
    ----------
    role : {"disjunction", "conjunction"}
        Union of the pieces, or their intersection.
    pieces : tuple of tuple of Halfplane
    thresholds : tuple of int
        The noisy counts, one a step.
    """

    lattice: HalfplaneLattice
    role: Role
    pieces: tuple[Piece, ...]
    thresholds: tuple[int, ...]

    @property
    def d(self) -> int:
        """Grid size."""
        return self.lattice.d

    def predict(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Labels 0/1, shape (n,), of grid points, shape (n, 2), by exact side tests."""
        return predict_pieces(self.role, self.pieces, points).astype(np.int64)

    def staged_predict(self, points: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Labels after the first piece, the second, and so on."""
        for count in range(1, len(self.pieces) + 1):
            yield predict_pieces(self.role, self.pieces[:count], points).astype(np.int64)

    def shape(self) -> BaseGeometry:
        """The hypothesis as a valid polygonal shapely geometry in grid units."""
        if self.role == "disjunction":
            return union_shape(self.pieces, self.d)
        return intersection_shape(tuple(h for piece in self.pieces for h in piece), self.d)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "learner": self.learner,
            "role": self.role,
            "grid": self.lattice.d,
            "measure": self.lattice.measure,
            "bits": self.lattice.bits,
            "pieces": [_write_piece(piece) for piece in self.pieces],
            "thresholds": list(self.thresholds),
        } | self.common_members()

    @classmethod
    def read(cls, data: dict[str, Any]) -> CoverRelease:
        """Read what :meth:`to_dict` wrote."""
        lattice = HalfplaneLattice(int(data["grid"]), data["measure"], int(data["bits"]))
        pieces = tuple(_read_piece(piece, lattice) for piece in data["pieces"])
        if data["role"] not in ("disjunction", "conjunction"):
            raise ValueError(f"unknown role {data['role']!r}")
        if {len(piece) for piece in pieces} not in (set(), {1}, {3}):
            raise ValueError("a piece has one halfplane or three, and all have as many")
        if len(data["thresholds"]) not in (0, len(pieces)):
            raise ValueError("thresholds and pieces differ in number")
        return cls(
            **read_common(data),
            lattice=lattice,
            role=data["role"],
            pieces=pieces,
            thresholds=tuple(int(b) for b in data["thresholds"]),
        )


@dataclass(frozen=True, slots=True)
class MosaicRelease(Release):
    """Tiles that divide the square, each labelled by a piece of its own.

    Attributes
    ----------
    tiles : tuple of TileStep
        In the order in which they were learned; together they hold every grid point once.
    """

    lattice: HalfplaneLattice
    tiles: tuple[TileStep, ...]

    @property
    def d(self) -> int:
        """Grid size."""
        return self.tiles[0].tile.d

    def predict(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Labels 0/1, shape (n,), of grid points, shape (n, 2), by exact side tests."""
        labels = np.zeros(len(points), dtype=np.int64)
        for step, rows in zip(self.tiles, self._index().groups(points), strict=True):
            if len(rows):
                labels[rows] = step.predict(points[rows])
        return labels

    def staged_predict(self, points: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Labels after the first tile, the second, and so on; 0 in tiles still to come."""
        labels = np.zeros(len(points), dtype=np.int64)
        for step, rows in zip(self.tiles, self._index().groups(points), strict=True):
            labels[rows] = step.predict(points[rows])
            yield labels.copy()

    def _index(self) -> TileIndex:
        return TileIndex.of([step.tile for step in self.tiles])

    def shape(self) -> BaseGeometry:
        """The hypothesis as a valid polygonal shapely geometry in grid units."""
        return mosaic_shape(step.shape() for step in self.tiles)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "learner": self.learner,
            "grid": self.d,
            "measure": self.lattice.measure,
            "bits": self.lattice.bits,
            "side": self.lattice.d,
            "tiles": [
                {
                    "box": [step.tile.x0, step.tile.y0, step.tile.x1, step.tile.y1],
                    "inside": int(step.inside),
                    "piece": _write_piece(step.piece),
                }
                for step in self.tiles
            ],
        } | self.common_members()

    @classmethod
    def read(cls, data: dict[str, Any]) -> MosaicRelease:
        """Read what :meth:`to_dict` wrote."""
        d = int(data["grid"])
        lattice = HalfplaneLattice(int(data["side"]), data["measure"], int(data["bits"]))
        tiles = []
        for part in data["tiles"]:
            tile = Tile(d, *(int(edge) for edge in part["box"]))
            if part["inside"] not in (0, 1) or len(part["piece"]) > 3:
                raise ValueError("a tile has at most three halfplanes and a label 0 or 1")
            piece = _read_piece(part["piece"], lattice)
            tiles.append(TileStep(tile, piece, bool(part["inside"])))
        release = cls(**read_common(data), lattice=lattice, tiles=tuple(tiles))
        release._index()
        if max(max(t.tile.x1 - t.tile.x0, t.tile.y1 - t.tile.y0) for t in tiles) > lattice.d:
            raise ValueError("a tile is larger than its frame")
        return release


def inside_piece(piece: tuple[Region, ...], points: NDArray[np.int64]) -> NDArray[np.bool_]:
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


def predict_pieces(
    role: Role, pieces: tuple[tuple[Region, ...], ...], points: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Union (disjunction) or intersection (conjunction) of the pieces at grid points (n, 2)."""
    inside = np.full(len(points), role == "conjunction", dtype=np.bool_)
    for piece in pieces:
        if role == "disjunction":
            inside |= inside_piece(piece, points)
        else:
            inside &= inside_piece(piece, points)
    return inside
