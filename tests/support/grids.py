"""All points of a grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def grid_points(d: int) -> NDArray[np.int64]:
    """The points of the grid 0..d, int64 of shape ((d + 1)**2, 2), column by column."""
    return np.array([[x, y] for x in range(d + 1) for y in range(d + 1)])
