"""The law of integer Laplace noise z in closed form, which samplers and mechanisms are held to."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


def laplace(scale: Fraction, reach: int) -> NDArray[np.float64]:
    """Probabilities of -reach..reach."""
    p = math.exp(-1 / scale)
    law: NDArray[np.float64] = (1 - p) / (1 + p) * p ** np.abs(np.arange(-reach, reach + 1.0))
    return law


def pooled(scale: Fraction, reach: int) -> NDArray[np.float64]:
    """The same, where the ends stand for all that is beyond them, too."""
    law = laplace(scale, reach)
    law[[0, -1]] = at_least(reach, scale)
    return law


def at_least(t: int, scale: Fraction) -> float:
    """P(z >= t), without cancellation: P(z < t) is P(z >= 1 - t)."""
    p = math.exp(-1 / scale)
    return p**t / (1 + p) if t > 0 else 1 - p ** (1 - t) / (1 + p)
