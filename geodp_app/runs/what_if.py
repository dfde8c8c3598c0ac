"""What if another halfplane had been chosen?  Its piece, its own score, and its odds.  Private.

The law of a step gives every piece of the lattice a probability in proportion to
exp(rate * score), so the odds between two pieces are known exactly without the sum over all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodp_app.formatting import amount, count, decimal
from geodp_app.runs.protocol import ShadeQuestion
from geometry.halfplane import Halfplane
from geometry.region import Region
from learners.records import Piece, inside_piece
from learners.scores import Score

#: Odds beyond these are said as powers of ten.
_PLAIN_ODDS = 1e4


@dataclass(frozen=True, slots=True)
class Candidate:
    """A piece that could have been chosen.

    Attributes
    ----------
    piece : tuple of Region
    positives, negatives : int
        Examples in it, of those that the step saw.
    score : float
        In examples.
    log_odds : float or None
        ln of its probability over that of the chosen piece; None for a choice that was not drawn.
    """

    piece: tuple[Region, ...]
    positives: int
    negatives: int
    score: float
    log_odds: float | None

    @property
    def words(self) -> str:
        """What it would hold, its score and its odds."""
        held = f"{count(self.positives)} positive, {count(self.negatives)} negative"
        text = f"{held}: score {decimal(self.score)}"
        return text if self.log_odds is None else f"{text}; {odds_words(self.log_odds)}"


class WhatIf:
    """Judges candidates for one halfplane of a piece, the others given.

    Parameters
    ----------
    question : ShadeQuestion
        Of the step; its examples outside the others are never held.
    chosen : tuple of Halfplane
        The piece that was chosen.
    edge : int
        Which of its halfplanes may be another, from 0.
    """

    def __init__(self, question: ShadeQuestion, chosen: Piece, edge: int) -> None:
        self._question, self._edge, self._chosen = question, edge, chosen
        held = inside_piece(question.others, question.points)
        self._points, self._labels = question.points[held], question.labels[held]
        self._best = self._value(chosen[edge])[2]

    def judge(self, halfplane: Halfplane) -> Candidate:
        """The piece with this halfplane in place of the chosen one."""
        positives, negatives, value = self._value(halfplane)
        rate, k = self._question.rate, self._question.score.k
        piece = (*self._chosen[: self._edge], halfplane, *self._chosen[self._edge + 1 :])
        odds = rate * (value - self._best) if rate else None
        return Candidate(piece, positives, negatives, value / k, odds)

    def _value(self, halfplane: Halfplane) -> tuple[int, int, int]:
        return weigh(halfplane, self._points, self._labels, self._question.score)


def weigh(
    region: Region, points: NDArray[np.int64], labels: NDArray[np.bool_], score: Score
) -> tuple[int, int, int]:
    """Positives and negatives in a region, and its integer score; exact."""
    inside = region.contains(points)
    positives = int(np.count_nonzero(inside & labels))
    negatives = int(np.count_nonzero(inside)) - positives
    return positives, negatives, score.value(positives, negatives)


def odds_words(log_odds: float) -> str:
    """How likely a piece was beside the chosen one."""
    if abs(log_odds) < 0.01:
        return "as likely as the chosen one"
    size, more = abs(log_odds), "more" if log_odds > 0 else "less"
    if size < math.log(_PLAIN_ODDS):
        times = amount(math.exp(size), 3 if size < math.log(100) else 2)
    else:
        times = f"10{str(round(size / math.log(10))).translate(_RAISED)}"
    return f"{times} times {more} likely than the chosen one"


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
