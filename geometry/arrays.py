"""Names of arrays for annotations: of whole numbers (int64), of doubles (float64) and of truth
values (bool)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
