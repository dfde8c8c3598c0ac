"""Sweeps over edges and counts their crossings, compiled, for :mod:`geometry.rings`."""

from __future__ import annotations

from typing import Any

import numpy as np

from geometry.arrays import Floats, Ints
from geometry.compiled_loops import inner, njit


@njit(cache=True, nogil=True, error_model="numpy")
def swept(limit: int, ends: Floats, beside: Ints) -> int:
    """Crossings of edges (n, 4) with those before place `beside` (n,), till over `limit`."""
    count = 0
    for i in range(len(ends)):
        a, b, c, d = ends[i]
        low, high = min(b, d), max(b, d)
        for j in range(i + 1, beside[i]):
            p, q, r, s = ends[j]
            if min(q, s) < high and max(q, s) > low:
                # each has its ends on two sides of the other
                apart = _side(a, b, c, d, p, q) * _side(a, b, c, d, r, s) < 0
                count += apart and _side(p, q, r, s, a, b) * _side(p, q, r, s, c, d) < 0
        if count > limit:
            break
    return count


@inner
def _side(a: float, b: float, c: float, d: float, x: float, y: float) -> Any:
    return np.sign((c - a) * (y - b) - (d - b) * (x - a))
