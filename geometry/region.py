"""What every piece of a hypothesis is: a closed set of points with an exact test."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Region(Protocol):
    """A closed set of points with an exact test: a halfplane, a disc, a halfspace."""

    def contains(self, points: NDArray[np.int64], /) -> NDArray[np.bool_]:
        """Which points, shape (n, dimensions), lie in it: bool of shape (n,)."""
