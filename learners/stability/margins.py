"""Tails of integer Laplace noise, and margins that noise exceeds with small probability.

With P(z) proportional to p^|z|, p = exp(-1/scale), P(Z > w) = p^(w+1) / (1 + p) for w >= -1.  The
tail of a difference of two independent such integers is a sum of geometric series
(docs/privacy.md, lemma S4).  All are rounded up by more than the error of their few roundings.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

#: More than the relative error of the closed forms.
_ROUNDING = 1e-9


def tail(scale: Fraction, w: int) -> float:
    """P(Z > w) for w >= 0, rounded up."""
    if w < 0:
        raise ValueError(f"w must not be negative, got {w}")
    rate = float(1 / scale)
    return math.exp(-rate * (w + 1)) / (1 + math.exp(-rate)) * (1 + _ROUNDING)


def difference_tail(first: Fraction, second: Fraction, w: int) -> float:
    """P(A - B > w) for w >= 0, A and B independent of these scales; rounded up."""
    if w < 0:
        raise ValueError(f"w must not be negative, got {w}")
    a, b = float(1 / first), float(1 / second)
    p, q = math.exp(-a), math.exp(-b)
    both = -math.expm1(-(a + b))
    # B >= 0, then -w <= B < 0, then B < -w
    above = math.exp(-a * (w + 1)) / ((1 + p) * both)
    between = _geometric_between(a, b, w) / (1 + p)
    beyond = math.exp(-b * (w + 1)) * (1 / -math.expm1(-b) - p / ((1 + p) * both))
    return min(1.0, -math.expm1(-b) / (1 + q) * (above + between + beyond) * (1 + _ROUNDING))


def _geometric_between(a: float, b: float, w: int) -> float:
    """Sum over j = 1..w of exp(-b j - a (w + 1 - j))."""
    if w == 0:
        return 0.0
    slow, fast = min(a, b), max(a, b)
    apart = fast - slow
    # the sum is the same with a and b swapped
    scaled = float(w) if apart * w < 1e-9 else math.expm1(-apart * w) / math.expm1(-apart)
    return math.exp(-slow * w - fast) * scaled


def least_margin(bound: Callable[[int], float], most: float) -> int:
    """The least w >= 0 with bound(w) <= most, for a bound that falls with w."""
    high = 1
    while bound(high) > most:
        high *= 2
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        if bound(middle) <= most:
            high = middle
        else:
            low = middle
    return high
