"""What a finished run over discs or ellipses publishes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from geometry.lift import Conic, ConicLattice, conic_union
from learners.records import Release, predict_pieces, read_common


@dataclass(frozen=True, slots=True)
class ConicRelease(Release):
    """A union of discs or of ellipses.

    Attributes
    ----------
    lattice : ConicLattice
    conics : tuple of Conic
        One a step.
    thresholds : tuple of int
        The noisy counts, one a step.
    """

    lattice: ConicLattice
    conics: tuple[Conic, ...]
    thresholds: tuple[int, ...]

    @property
    def d(self) -> int:
        """Grid size."""
        return self.lattice.d

    def predict(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Labels 0/1, shape (n,), of grid points, shape (n, 2), by exact tests."""
        return self._predict(len(self.conics), points)

    def staged_predict(self, points: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Labels after the first piece, the second, and so on."""
        for count in range(1, len(self.conics) + 1):
            yield self._predict(count, points)

    def _predict(self, count: int, points: NDArray[np.int64]) -> NDArray[np.int64]:
        pieces = tuple((conic,) for conic in self.conics[:count])
        return predict_pieces("disjunction", pieces, points).astype(np.int64)

    def shape(self) -> BaseGeometry:
        """The hypothesis as a valid polygonal shapely geometry in grid units.

        Arcs are drawn as chords, none farther than 1/64 of a grid unit from its arc
        (:data:`geometry.lift.CHORD_ERROR`).
        """
        return conic_union(self.conics)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "learner": self.learner,
            "kind": self.lattice.kind,
            "grid": self.lattice.d,
            "bits": self.lattice.bits,
            "conics": [list(conic.parameters) for conic in self.conics],
            "thresholds": list(self.thresholds),
        } | self.common_members()

    @classmethod
    def read(cls, data: dict[str, Any]) -> ConicRelease:
        """Read what :meth:`to_dict` wrote."""
        bits = int(data["bits"])
        if bits < 0:  # which would mean the finest
            raise ValueError(f"bits = {bits} is negative")
        lattice = ConicLattice(int(data["grid"]), data["kind"], bits)
        conics = tuple(lattice.conic(*parameters) for parameters in data["conics"])
        if len(data["thresholds"]) != len(conics):
            raise ValueError("thresholds and pieces differ in number")
        return cls(
            **read_common(data),
            lattice=lattice,
            conics=conics,
            thresholds=tuple(int(b) for b in data["thresholds"]),
        )
