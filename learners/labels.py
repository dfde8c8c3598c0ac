"""What labels say: 1 and 0 by any of the words that people have for them.

A word means the same in every sample, whatever other words are there, so that what an example
becomes depends on that example alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: What says inside, and what outside, in the form of :func:`normal`.
OPPOSITES = (
    ("1", "0"),
    ("true", "false"),
    ("yes", "no"),
    ("t", "f"),
    ("y", "n"),
    ("inside", "outside"),
    ("in", "out"),
    ("positive", "negative"),
    ("1", "-1"),
)

_MEANT = {word: word == pair[0] for pair in OPPOSITES for word in pair}


def normal(text: str) -> str:
    """A label without what makes no difference: outer spaces, capitals, 1.0 for 1."""
    plain = text.strip().casefold()
    try:
        value = float(plain)
    except ValueError:
        return plain
    return str(int(value)) if value in (-1, 0, 1) else plain


def meant(word: str) -> bool | None:
    """Whether a word says inside; None if it says neither."""
    return _MEANT.get(normal(word))


def as_numbers(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as numbers 1 and 0 where they are words, or -1 and 1; others stay as they are.

    Parameters
    ----------
    labels : ndarray, shape (n,)

    Returns
    -------
    ndarray, shape (n,)
        What says neither is left for the caller to refuse: words as NaN, numbers as they are.
    """
    if labels.dtype.kind in "OUST":
        found = {word: meant(str(word)) for word in set(labels.tolist())}
        values = [float("nan") if found[word] is None else found[word] for word in labels.tolist()]
        return np.array(values, dtype=np.float64)
    if labels.dtype.kind in "if":
        return np.where(labels == -1, 0, labels)
    return labels
