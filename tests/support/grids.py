"""All points of a grid, and examples at random ones."""

import numpy as np
from numpy.typing import NDArray

Sample = tuple[NDArray[np.int64], NDArray[np.bool_]]


def grid_points(d: int) -> NDArray[np.int64]:
    """The points of the grid 0..d, int64 of shape ((d + 1)**2, 2), column by column."""
    return np.array([[x, y] for x in range(d + 1) for y in range(d + 1)])


def cornered(d: int, n: int, seed: int, wrong: float = 0.2, dimensions: int = 2) -> Sample:
    """Positives around one corner, in space a step more, so large a share of labels flipped."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, d + 1, (n, dimensions))
    return points, (points.sum(axis=1) < d + dimensions - 2) ^ (rng.random(n) < wrong)


def disc(d: int, n: int, seed: int = 0) -> Sample:
    """Positives in the middle."""
    points = np.random.default_rng(seed).integers(0, d + 1, (n, 2))
    return points, np.hypot(*(points - d / 2).T) < d / 3
