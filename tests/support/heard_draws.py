"""Noise of zero, and how much was asked for."""

from __future__ import annotations

from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from learners.privacy.randomness import RandomSource


def silent_noise(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> list[tuple[Fraction, int]]:
    """Scale and count of every array of noise that the module draws from now on; it grows."""
    asked = []

    def silent(source: RandomSource, scale: Fraction, count: int) -> NDArray[np.int64]:
        asked.append((scale, count))
        return np.zeros(count, dtype=np.int64)

    monkeypatch.setattr(module, "discrete_laplace_array", silent)
    return asked
