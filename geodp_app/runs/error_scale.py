"""Scales of the error chart: where a share is drawn, and round ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodp_app.formatting import SPACE
from geodp_app.runs.figures_view import ErrorPoint

#: No run has so many examples that a smaller error than this could be told from none.
_LEAST = 1e-9

#: Round numbers within a decade.
_ROUND = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class ErrorScale:
    """From shares 0..1 to heights in the plot.

    Attributes
    ----------
    log : bool
    low, high : float
        Shares at the bottom and the top; on a logarithmic scale what is below `low`, such as
        0, is drawn at `low`.
    """

    log: bool
    low: float
    high: float

    @classmethod
    def of(cls, points: tuple[ErrorPoint, ...], *, log: bool) -> ErrorScale:
        """A scale on which all these errors can be seen."""
        shares = [
            share
            for p in points
            for share in (p.empirical, p.test, p.false_positives, p.false_negatives)
            if share is not None and share > 0
        ]
        high = max([_LEAST, *shares]) if shares else 1.0
        if not log:
            return cls(False, 0.0, high * 1.08)
        return cls(True, max(min([high / 10, *shares]), _LEAST / 10) / 2, high * 1.4)

    def heights(self, shares: list[float]) -> NDArray[np.float64]:
        """Where shares are drawn, shape (n,)."""
        values = np.asarray(shares, np.float64)
        return np.log10(np.maximum(values, self.low)) if self.log else values

    def ends(self) -> tuple[float, float]:
        """Heights of the bottom and the top."""
        bottom, top = self.heights([self.low, self.high])
        return float(bottom), float(top)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Heights and labels of at most `most` round shares (at least two)."""
        shares = self._decades(most) if self.log else _even(self.high, most)
        labels = [f"{100 * share:.10g}{SPACE}%" for share in shares]
        return list(zip(self.heights(shares).tolist(), labels, strict=True))

    def _decades(self, most: int) -> list[float]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        shares: list[float] = []
        for factors in (_ROUND, (1,)):
            shares = [f * 10.0**e for e in range(first, last + 1) for f in factors]
            shares = [share for share in shares if self.low <= share <= self.high]
            if len(shares) <= most:
                return shares
        return shares[:: math.ceil(len(shares) / max(most, 2))]


def step_ticks(last: int, most: int) -> list[int]:
    """At most `most` round step numbers in 0..last (at least two)."""
    for factor in (m * 10**e for e in range(6) for m in _ROUND):
        if last // factor + 1 <= max(most, 2):
            return list(range(0, last + 1, factor))
    return [0, last]


def _even(high: float, most: int) -> list[float]:
    for step in (m * 10.0**e for e in range(-12, 1) for m in _ROUND):
        if high / step + 1 <= max(most, 2):
            return [i * step for i in range(math.floor(high / step) + 1)]
    return [0.0]
