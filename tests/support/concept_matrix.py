"""A class as a table."""

import numpy as np
from numpy.typing import NDArray

from learners.finite.finite_class import ConceptClass


def concept_matrix(concepts: ConceptClass) -> NDArray[np.bool_]:
    """All labels, bool of shape (size, domain)."""
    points = np.arange(concepts.domain)
    return np.array([concepts.predict(i, points) for i in range(concepts.size)], dtype=np.bool_)
