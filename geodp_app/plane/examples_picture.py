"""Examples on the plane: what each one is at a step, and a picture with a pixel a grid point.

Above some ten thousand points a picture is the only thing that can be panned smoothly; with one
pixel for each grid point it is exact, never binned.  Frame: row 0 is y = 0 (y up).
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
        kinds = np.where(labels, np.uint8(Kind.POSITIVE), np.uint8(Kind.NEGATIVE))
        if decided is not None:
            kinds[decided] = Kind.DECIDED
        if wrong is not None:
            kinds[wrong] = Kind.WRONG
        return cls(points, kinds, labels)

    def chosen(self, kind: Kind, label: bool | None = None) -> NDArray[np.int64]:
        """Points of one kind (and label), shape (m, 2)."""
        mask = self.kinds == kind
        if label is not None:
            mask &= self.labels == label
        chosen: NDArray[np.int64] = self.points[mask]
        return chosen


def picture(
    examples: ExampleKinds, d: int, colours: dict[Kind, tuple[int, int, int, int]]
) -> NDArray[np.uint8]:
    """RGBA picture, shape (side, side, 4), of the grid {0..d}^2; transparent where nothing is.

    Parameters
    ----------
    examples : ExampleKinds
    d : int
    colours : dict of Kind to (r, g, b, a)
        0..255 each.
    """
    share = -(-(d + 1) // MAX_SIDE)
    side = -(-(d + 1) // share)
    at = (examples.points[:, 1] // share) * side + examples.points[:, 0] // share
    codes = np.zeros(side * side, dtype=np.uint8)
    for kind in Kind:
        codes[at[examples.kinds == kind]] = kind
    table = np.zeros((max(Kind) + 1, 4), dtype=np.uint8)
    for kind, colour in colours.items():
        table[kind] = colour
    return table[codes].reshape(side, side, 4)
