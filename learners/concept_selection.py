"""Exact draws of a labelled piece of at most three edges, by its number of mistakes.

A *concept* labels the points inside a convex piece one way and all others the other way; the
piece is the intersection of none, one, two or three lattice halfplanes.  The law is the
exponential mechanism's,

    P(concept) proportional to PRIOR[edges] / 2 * mu(piece) * exp(-rate * mistakes),

mu uniform over the lattice pieces with that many edges (:mod:`geometry.halfplane`).  A concept
of few edges needs few examples to be found: its mu is larger.

Adding one example adds 0 or 1 mistake to every concept, so a draw is rate-DP for neighbours that
add or remove one example (docs/privacy.md, lemma 7).  KMMS select a triangle by the smaller of two
scores instead, with a noisy count; nothing is counted here.

Drawn by envelope refinement (:mod:`learners.envelope_selection`, same law, same arithmetic).  The
concepts that label the inside 1 are one strand, those that label it 0 the other: it is the first
with the labels swapped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geometry.halfplane import HalfplaneLattice
from learners.randomness import RandomSource
from learners.scores import mistakes_score
from learners.selection import Selected, Watch
from learners.strands import Examples, first_boxes, make_target, settle, start_strand

#: Prior probability of a piece of no edge (one label everywhere), one, two and three edges.
PRIOR = (0.5, 0.25, 0.125, 0.125)

#: Factorise sooner than for the smaller of two scores: boxes no longer than a quarter of the
#: square's side, once there are so many.  A sum needs no mix, so its tables lose less.
_NARROW, _PLAIN_BOXES = 4, 1 << 10


@dataclass(frozen=True, slots=True)
class ConceptSelection:
    """Exact sampler of labelled pieces.

    Parameters
    ----------
    lattice : HalfplaneLattice
    edges : int
        Most edges of a piece, 0..3.  With two, draws are some ten times as fast as with three,
        and in tiles hardly less accurate (docs/decisions/0007-tiles.md).
    max_boxes, table_bytes : int
        As in :class:`learners.envelope_selection.EnvelopeSelection`.
    """

    lattice: HalfplaneLattice
    edges: int = 2
    max_boxes: int = 1 << 21
    table_bytes: int = 64 << 20

    def select(
        self,
        points: NDArray[np.int64],
        labels: NDArray[np.bool_],
        rate: float,
        source: RandomSource,
        watch: Watch | None = None,
    ) -> Selected:
        """Draw one concept.

        Parameters
        ----------
        points : ndarray of int64, shape (n, 2)
            Grid coordinates in 0..d of the lattice.
        labels : ndarray of bool, shape (n,)
        rate : float
            Nats per mistake.
        source : RandomSource
        watch : callable, optional
            Progress and cancel.
        """
        points, labels = settle_conflicts(points, labels)
        size = math.log(len(self.lattice.sheets) * self.lattice.points_per_sheet)
        boxes = np.concatenate([first_boxes(self.lattice, e) for e in range(self.edges + 1)])
        # a lattice piece of e edges is one of exp(e * size); a common factor keeps the weights
        # of all boxes above 1
        top = self.edges * size
        none, one, two, three = (p / 2 * math.exp(top - e * size) for e, p in enumerate(PRIOR))
        prior = (none, one, two, three)
        strands = []
        for inside in (True, False):
            held = labels if inside else ~labels
            score = mistakes_score(int(np.count_nonzero(held)))
            strands.append(
                start_strand(
                    self.lattice,
                    make_target(self.lattice, score, rate, len(points), prior, _NARROW),
                    Examples.of(points, held, self.lattice),
                    boxes,
                    source,
                    self.max_boxes // 2,
                    self.table_bytes // 2,
                    _PLAIN_BOXES,
                )
            )
        selected, winner = settle(strands, self.lattice, top, watch)
        return replace(selected, inside=winner == 0)


def settle_conflicts(
    points: NDArray[np.int64], labels: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Drop pairs of examples on the same grid point with different labels.

    Every concept makes one mistake on such a pair, so the law is the same without it.  With it,
    the bound of a box would count both as right as long as a boundary may pass through the point,
    and hardly any box is narrow enough to rule that out.

    Parameters
    ----------
    points : ndarray of int64, shape (n, 2)
        Non-negative grid coordinates.
    labels : ndarray of bool, shape (n,)

    Returns
    -------
    points, labels : ndarrays, shapes (m, 2) and (m,)
        The rest, by place.
    """
    keys, place = np.unique((points[:, 0] << 32) | points[:, 1], return_inverse=True)
    surplus = np.bincount(place, weights=np.where(labels, 1.0, -1.0), minlength=len(keys))
    net = surplus.astype(np.int64)
    left = np.repeat(keys, np.abs(net))
    return np.column_stack([left >> 32, left & (1 << 32) - 1]), np.repeat(net > 0, np.abs(net))
