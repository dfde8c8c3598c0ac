"""All samples of up to three examples on the grid 0..1, for laws that are enumerated."""

from __future__ import annotations

import itertools

#: x, y and label.
Example = tuple[int, int, int]

TYPES: list[Example] = [(x, y, label) for x in (0, 1) for y in (0, 1) for label in (0, 1)]
SAMPLES: list[tuple[Example, ...]] = [
    each for n in range(4) for each in itertools.combinations_with_replacement(TYPES, n)
]


def in_quarters(examples: tuple[Example, ...]) -> list[int]:
    """Examples in each of the four tiles of one point, from the top row down."""
    counts = [0] * 4
    for x, y, _ in examples:
        counts[2 * (1 - y) + x] += 1
    return counts
