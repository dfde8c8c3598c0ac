"""Examples on the plane: what each one is at a step, and a picture with a pixel a grid point.

Above some ten thousand points a picture is the only thing that can be panned smoothly; up to
d = 2048 it has one pixel for each grid point and is exact, never binned.  Frame: row 0 is y = 0
(y up).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

#: Largest side of a picture, in pixels; finer grids share pixels.
MAX_SIDE = 2049


class Kind(IntEnum):
    """What an example is, in the order in which later ones hide earlier ones."""

    DECIDED = 1  #: taken by an earlier step
    NEGATIVE = 2
    POSITIVE = 3
    WRONG = 4  #: the hypothesis so far says otherwise


@dataclass(frozen=True, slots=True)
class ExampleKinds:
    """Examples and what each is at one moment of a run: private.

    Attributes
    ----------
    points : ndarray of int64, shape (n, 2)
    kinds : ndarray of uint8, shape (n,)
        Values of Kind.
    labels : ndarray of bool, shape (n,)
    """

    points: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    labels: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        points: NDArray[np.int64],
        labels: NDArray[np.bool_],
        decided: NDArray[np.bool_] | None = None,
        wrong: NDArray[np.bool_] | None = None,
    ) -> ExampleKinds:
        """Classify the examples; before a run nothing is decided and nothing wrong."""
        # sums and products: a choice by a million truth values takes ten times as long
        kinds = np.uint8(Kind.NEGATIVE) + labels * np.uint8(Kind.POSITIVE - Kind.NEGATIVE)
        if decided is not None:
            kinds = kinds * ~decided + np.uint8(Kind.DECIDED) * decided
        if wrong is not None:
            kinds = np.maximum(kinds, np.uint8(Kind.WRONG) * wrong)
        return cls(points, kinds, labels)

    def chosen(self, kind: Kind, label: bool | None = None) -> NDArray[np.int64]:
        """Points of one kind (and label), shape (m, 2)."""
        mask = self.kinds == kind
        if label is not None:
            mask &= self.labels == label
        chosen: NDArray[np.int64] = self.points[mask]
        return chosen


def grid_places(points: NDArray[np.int64], d: int) -> NDArray[np.int64]:
    """Index of each example's pixel in the flat picture of the grid {0..d}^2, shape (n,)."""
    share, side = picture_scale(d)
    x, y = points.T if share == 1 else points.T // share
    places: NDArray[np.int64] = y * side + x
    return places


def picture_scale(d: int) -> tuple[int, int]:
    """(grid points along a pixel's side, pixels along the picture's side)."""
    share = -(-(d + 1) // MAX_SIDE)
    return share, -(-(d + 1) // share)


def picture(examples: ExampleKinds, d: int, places: NDArray[np.int64]) -> NDArray[np.uint8]:
    """What is at each pixel: a Kind, or 0 for nothing; uint8 of shape (side, side).

    Parameters
    ----------
    examples : ExampleKinds
    d : int
    places : ndarray of int64, shape (n,)
        Of the same points, see :func:`grid_places`.
    """
    _, side = picture_scale(d)
    codes = np.zeros(side * side, dtype=np.uint8)
    np.maximum.at(codes, places, examples.kinds)
    return codes.reshape(side, side)
