"""Where else a disc or an ellipse could be: the law of its centre, its size and form given.

The base measure is uniform over centres and sizes (:mod:`geometry.lift`), so given the size and
the form the law of the centre is an exponential mechanism over the lattice of centres.  An example
is in a disc exactly if the disc's centre is in the same disc around the example: in this plane
every disc of that size is a point, and every example a disc.  Ellipses likewise.

Private: all of it is about examples.  Frame: grid units, the same plane as that of the examples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodp_app.runs.what_if import Candidate, weigh
from geometry.lift import Conic
from learners.scores import Score, softened_nats

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ConicQuestion:
    """How good would the chosen disc or ellipse be elsewhere?

    Attributes
    ----------
    conic : Conic
        What was chosen.
    points, labels
        The examples that the step saw, grid units.
    score : Score
        Of the step.
    rate : float
        eta / score.k: nats per unit of the integer score where that is 0; 0 when the run is not
        private.
    """

    conic: Conic
    points: NDArray[np.int64]
    labels: NDArray[np.bool_]
    score: Score
    rate: float

    def at(self, x: float, y: float) -> Conic | None:
        """The same form, its centre at the lattice point nearest to (x, y); None off the square."""
        lattice = self.conic.lattice
        p, q = (round(c * (1 << lattice.bits)) for c in (x, y))
        if not (0 <= p <= lattice.side and 0 <= q <= lattice.side):
            return None
        return lattice.conic(p, q, *self.conic.parameters[2:])

    def judge(self, conic: Conic) -> Candidate:
        """What another one would hold, its score, and its odds against the chosen one; exact."""
        positives, negatives, value = self._value(conic)
        odds = None
        if self.rate:
            own = self._value(self.conic)[2]
            odds = softened_nats(value, self.rate) - softened_nats(own, self.rate)
        return Candidate((conic,), positives, negatives, value / self.score.k, odds)

    def scores(self, resolution: int) -> Floats:
        """Scores at a raster of centres, to draw: [i, j] at column i of x and row j of y.

        Complexity: O(resolution * n).
        """
        positives, negatives = (
            centres_inside(self.conic, self.points[self.labels == label], resolution)
            for label in (True, False)
        )
        return self.score.values(positives, negatives) / self.score.k

    def _value(self, conic: Conic) -> tuple[int, int, int]:
        return weigh(conic, self.points, self.labels, self.score)


def centres_inside(conic: Conic, points: NDArray[np.int64], resolution: int) -> NDArray[np.int64]:
    """How many points a conic of this form would hold, centred in the middle of each pixel.

    Parameters
    ----------
    conic : Conic
    points : ndarray of int64, shape (n, 2)
    resolution : int
        Pixels along a side of the square [0, d]^2.

    Returns
    -------
    ndarray of int64, shape (resolution, resolution)
        [i, j] in column i of x and row j of y.
    """
    lattice = conic.lattice
    unit, step = float(1 << lattice.bits), lattice.d / resolution
    if lattice.kind == "disc":
        w = h = conic.parameters[2] / unit
        t = 0.0
    else:
        w, h, t = (value / unit for value in conic.parameters[2:])
    reach = t * t + h * h
    x, y = points.astype(np.float64).T
    counts = np.zeros((resolution, resolution), dtype=np.int64)
    for row in range(resolution):
        # centres (p, q) with (X, Y) inside: X - p = w s, where s solves a quadratic inequality
        up = y - (row + 0.5) * step
        near = up * up <= reach
        ups, abscissae = up[near], x[near]
        half = h * np.sqrt(reach - ups * ups)
        first = abscissae - w * (ups * t + half) / reach
        last = abscissae - w * (ups * t - half) / reach
        start = np.clip(np.ceil(first / step - 0.5), 0, resolution).astype(np.int64)
        stop = np.clip(np.floor(last / step - 0.5) + 1, 0, resolution).astype(np.int64)
        stop = np.maximum(start, stop)
        change = np.bincount(start, minlength=resolution + 1)
        change -= np.bincount(stop, minlength=resolution + 1)
        counts[:, row] = np.cumsum(change)[:resolution]
    return counts
