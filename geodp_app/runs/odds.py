"""The odds of a piece that could have been chosen, against the chosen one; private.

The law of a step gives every piece of the lattice a probability in proportion to
exp(rate * score), so the odds between two pieces are known exactly without the sum over all.  How
likely edges as good as the chosen one were, which needs the sum, :mod:`geodp_app.runs.edge_law`
says.

Of a disc or an ellipse the base measure is uniform over centres and sizes (:mod:`geometry.lift`),
so given its size and form the law of its centre is an exponential mechanism over the lattice of
centres.  An example is in a disc exactly if the disc's centre is in the same disc around the
example: in this plane every disc of that size is a point, and every example a disc.  Ellipses
likewise.  Frame: grid units, the same plane as that of the examples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from geodp_app.formatting import amount, count, decimal, power_of_ten
from geodp_app.runs.protocol import ShadeQuestion
from geometry.arrays import Flags, Floats, Ints
from geometry.halfplane import Halfplane, Region
from geometry.lift import Conic
from learners.core.records import Piece, inside_piece
from learners.core.selection import Score, softened_nats

#: Odds beyond these are said as powers of ten.
_PLAIN_ODDS = 1e4


@dataclass(frozen=True, slots=True)
class Candidate:
    """A piece that could have been chosen."""

    piece: tuple[Region, ...]
    #: Examples in it, of those that the step saw.
    positives: int
    negatives: int
    #: In examples.
    score: float
    #: ln of its probability over that of the chosen piece; None for a choice that was not drawn.
    log_odds: float | None

    @property
    def words(self) -> str:
        """What it would hold, its score and its odds."""
        held = f"{count(self.positives)} positive, {count(self.negatives)} negative"
        text = f"{held}: score {decimal(self.score)}"
        return text if self.log_odds is None else f"{text}; {ratio_words(self.log_odds)}"


@dataclass(frozen=True)
class WhatIf:
    """Judges candidates for one halfplane of a piece, the others given.

    Nothing is counted before the first of them: most steps are not asked about.

    Attributes
    ----------
    question : ShadeQuestion
        Of the step; its examples outside the others are never held.
    chosen : tuple of Halfplane
        The piece that was chosen.
    edge : int
        Which of its halfplanes may be another, from 0.
    """

    question: ShadeQuestion
    chosen: Piece
    edge: int

    @cached_property
    def _inside(self) -> ShadeQuestion:
        """The question about the examples that the others hold."""
        held = inside_piece(self.question.others, self.question.points)
        points, labels = self.question.points[held], self.question.labels[held]
        return replace(self.question, points=points, labels=labels)

    @cached_property
    def _best(self) -> int:
        return weigh(self.chosen[self.edge], self._inside)[2]

    def judge(self, halfplane: Halfplane) -> Candidate:
        """The piece with this halfplane in place of the chosen one."""
        positives, negatives, value = weigh(halfplane, self._inside)
        rate, k = self.question.rate, self.question.score.k
        piece = (*self.chosen[: self.edge], halfplane, *self.chosen[self.edge + 1 :])
        odds = rate * (value - self._best) if rate else None
        return Candidate(piece, positives, negatives, value / k, odds)


def weigh(region: Region, question: ShadeQuestion | ConicQuestion) -> tuple[int, int, int]:
    """Positives and negatives of a question in a region, and its integer score; exact."""
    inside = region.contains(question.points)
    positives = int(np.count_nonzero(inside & question.labels))
    negatives = int(np.count_nonzero(inside)) - positives
    return positives, negatives, question.score.value(positives, negatives)


def ratio_words(log_odds: float) -> str:
    """How likely a piece was beside the chosen one."""
    if abs(log_odds) < 0.01:
        return "as likely as the chosen one"
    size, more = abs(log_odds), "more" if log_odds > 0 else "less"
    if size < math.log(_PLAIN_ODDS):
        times = amount(math.exp(size), 3 if size < math.log(100) else 2)
    else:
        times = power_of_ten(round(size / math.log(10)))
    return f"{times} times {more} likely than the chosen one"


@dataclass(frozen=True, slots=True)
class ConicQuestion:
    """How good would the chosen disc or ellipse be elsewhere?"""

    #: What was chosen.
    conic: Conic
    #: The examples that the step saw, grid units.
    points: Ints
    labels: Flags
    #: Of the step.
    score: Score
    #: eta / score.k: nats per unit of the integer score where that is 0; 0 when the run is not
    #: private.
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
        positives, negatives, value = weigh(conic, self)
        odds = None
        if self.rate:
            own = weigh(self.conic, self)[2]
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


def centres_inside(conic: Conic, points: Ints, resolution: int) -> Ints:
    """How many points a conic of this form would hold, centred in the middle of each pixel.

    Parameters
    ----------
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
