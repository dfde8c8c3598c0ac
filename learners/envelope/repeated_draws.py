"""More draws from the law of a selection: for the curator alone, never for a release.

The accepted trials of the strands are a Poisson process whose rate at a piece is its weight
(:mod:`learners.envelope.envelope_selection`).  So all pieces accepted before one moment of the
clock are independent draws from the law, and their number over that moment is about the law's
whole mass; when it stops depends on work and on how many there are, not on which.

The bits come from a seeded stream of their own: what a release is made of stays as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.envelope import core
from learners.envelope.boxes import SHEETS
from learners.envelope.race import weigh_all
from learners.envelope.strands import Strand
from learners.privacy.randomness import SeededRandom

#: Of the curator's own stream of bits; nothing is released from it.
_SEED = 1


@dataclass(frozen=True, slots=True)
class Drawn:
    """One of the draws.

    Attributes
    ----------
    strand : int
    sheets : int
        Packed, see :func:`learners.envelope.boxes.pack_sheets`.
    theta : ndarray of int64, shape (12,)
        Dual point (u, v) of each edge; in the measure "paper" its readings, then the dual point.
    """

    strand: int
    sheets: int
    theta: NDArray[np.int64]


def draw_again(strands: list[Strand], most: int, work: int) -> tuple[list[Drawn], float]:
    """Independent draws from the law that the strands refine, and ln of its mass at score 0.

    The strands' boxes may be refined further; their clocks start anew.

    Parameters
    ----------
    strands : list of Strand
        Weighed, and no longer needed for a draw that is released.
    most : int
        Enough draws; a few times as many may be made.
    work : int
        Stop after that much, in units of about a microsecond.

    Returns
    -------
    draws : list of Drawn
        Empty where the law is so narrow that none was accepted in time.
    log_mass : float
        Off by about 1 / sqrt(number of draws); -inf without any.
    """
    source = SeededRandom(_SEED)
    last = _work(strands) + work
    found: list[tuple[float, Drawn]] = []
    running: list[tuple[int, Strand]] = []
    horizon = 0.0
    while len(found) < most and _work(strands) < last:
        if not running or any(strand.mass < core.TINY for _, strand in running):
            # masses have fallen so far that they are weighed anew; what comes then is as good
            # a draw as what came before, and the clocks begin again
            weigh_all(strands)
            for strand in strands:
                strand.restart(source.spawn())
            running = [(i, strand) for i, strand in enumerate(strands) if strand.mass >= core.TINY]
            found, horizon = [], 1.0 / sum(strand.mass for _, strand in running)
        horizon *= 2
        for number, strand in running:
            while strand.clock <= horizon and _work(strands) < last and strand.mass >= core.TINY:
                strand.advance(horizon)
                if strand.accepted is not None:
                    packed = int(strand.partition.boxes[strand.accepted, SHEETS])
                    found.append((strand.clock, Drawn(number, packed, strand.theta.copy())))
                    strand.accepted = None
    end = min(strand.clock for _, strand in running)
    draws = [drawn for clock, drawn in found if clock < end]
    if not draws:
        return [], -math.inf
    target = strands[0].target
    return draws, math.log(len(draws) / end) + target.rate * target.reference


def _work(strands: list[Strand]) -> int:
    return sum(strand.work for strand in strands)
