"""What a run leaves behind: records, with the release apart from the diagnostics.

A :class:`Release` holds what is differentially private under the stated account,
and nothing else: no example count, no seed, no error.  Everything a curator may
look at but not publish is a ``Diagnostics``.  Writers take a ``Release``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from geometry.polygons import intersection_shape, union_shape
from learners.accounting import PrivacySpent
from learners.scores import Role

Piece = tuple[Halfplane, ...]


@dataclass(frozen=True, slots=True)
class StepRelease:
    """What one step publishes: the piece and the noisy count it was judged by.

    Attributes
    ----------
    piece : tuple of Halfplane
        One halfplane, or three whose intersection is a triangle.
    threshold : int or None
        b_j, the noisy lower estimate of the examples left to gain; None when no noise was
        drawn (non-private learners).
    """

    piece: Piece
    threshold: int | None


@dataclass(frozen=True, slots=True)
class StepDiagnostics:
    """What only the curator may see of one step.

    Attributes
    ----------
    positives_alive, negatives_alive : int
        Examples alive before the step.
    positives_taken, negatives_taken : int
        Examples that the step removed.
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
    release: StepRelease
    diagnostics: StepDiagnostics


@dataclass(frozen=True, slots=True)
class Release:
    """A finished hypothesis with its privacy statement: all that may be published.

    Attributes
    ----------
    learner : str
        Name of the learner.
    role : {"disjunction", "conjunction"}
        Union of the pieces, or their intersection.
    lattice : HalfplaneLattice
    pieces : tuple of tuple of Halfplane
    thresholds : tuple of int
        The noisy counts, one a step.
    parameters : tuple of (str, value)
        Public parameters of the run, in order.
    privacy : PrivacySpent or None
        None for a learner that is not private.
    """

    learner: str
    role: Role
    lattice: HalfplaneLattice
    pieces: tuple[Piece, ...]
    thresholds: tuple[int, ...]
    parameters: tuple[tuple[str, Any], ...]
    privacy: PrivacySpent | None

    def predict(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Labels 0/1, shape (n,), of grid points, shape (n, 2), by exact side tests."""
        return predict_pieces(self.role, self.pieces, points).astype(np.int64)

    def shape(self) -> BaseGeometry:
        """The hypothesis as a valid polygonal shapely geometry in grid units."""
        d = self.lattice.d
        if self.role == "disjunction":
            return union_shape(self.pieces, d)
        return intersection_shape(tuple(h for piece in self.pieces for h in piece), d)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; :meth:`from_dict` reads it back."""
        return {
            "learner": self.learner,
            "role": self.role,
            "grid": self.lattice.d,
            "measure": self.lattice.measure,
            "bits": self.lattice.bits,
            "pieces": [[[h.sheet.name, h.u, h.v] for h in piece] for piece in self.pieces],
            "thresholds": list(self.thresholds),
            "parameters": dict(self.parameters),
            "privacy": None if self.privacy is None else self.privacy.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Release:
        """Read what :meth:`to_dict` wrote.

        Raises
        ------
        ValueError
            If a member is missing or of the wrong kind.
        """
        try:
            lattice = HalfplaneLattice(int(data["grid"]), data["measure"], int(data["bits"]))
            pieces = tuple(
                tuple(lattice.halfplane(Sheet[s], int(u), int(v)) for s, u, v in piece)
                for piece in data["pieces"]
            )
            if data["role"] not in ("disjunction", "conjunction"):
                raise ValueError(f"unknown role {data['role']!r}")
            if {len(piece) for piece in pieces} not in (set(), {1}, {3}):
                raise ValueError("a piece has one halfplane or three, and all have as many")
            if len(data["thresholds"]) not in (0, len(pieces)):
                raise ValueError("thresholds and pieces differ in number")
            privacy = data["privacy"]
            return cls(
                learner=str(data["learner"]),
                role=data["role"],
                lattice=lattice,
                pieces=pieces,
                thresholds=tuple(int(b) for b in data["thresholds"]),
                parameters=tuple(data["parameters"].items()),
                privacy=None if privacy is None else PrivacySpent.from_dict(privacy),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a learned hypothesis: {error!r}") from error


def inside_piece(piece: Piece, points: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which points (n, 2) lie in the intersection of the piece's closed halfplanes."""
    inside = np.ones(len(points), dtype=np.bool_)
    for halfplane in piece:
        inside &= halfplane.contains(points)
    return inside


def predict_pieces(
    role: Role, pieces: tuple[Piece, ...], points: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Union (disjunction) or intersection (conjunction) of the pieces at grid points (n, 2)."""
    inside = np.full(len(points), role == "conjunction", dtype=np.bool_)
    for piece in pieces:
        if role == "disjunction":
            inside |= inside_piece(piece, points)
        else:
            inside &= inside_piece(piece, points)
    return inside
