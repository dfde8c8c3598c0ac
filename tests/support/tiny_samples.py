"""All small samples, and all their neighbours, for laws that are enumerated."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

#: x, y and label.
Example = tuple[int, int, int]

TYPES: list[Example] = [(x, y, label) for x in (0, 1) for y in (0, 1) for label in (0, 1)]
SAMPLES: list[tuple[Example, ...]] = [
    each for n in range(4) for each in itertools.combinations_with_replacement(TYPES, n)
]


def all_neighbours(kinds: Sequence[Any], size: int, relation: str = "add-remove") -> list[Any]:
    """Pairs: all samples of up to `size` examples, each with all of one example more.

    Under "replace-one" all pairs that have such a sample in common and one example more each.
    Samples are sorted tuples of examples: multisets.
    """
    pairs: list[Any] = []
    for n in range(size + 1):
        for sample in itertools.combinations_with_replacement(kinds, n):
            grown = [tuple(sorted((*sample, extra))) for extra in kinds]
            if relation == "add-remove":
                pairs += [(sample, one) for one in grown]
            else:
                pairs += itertools.combinations(grown, 2)
    return pairs


def most_moved(law: Callable[[Any], ArrayLike], pairs: Iterable[Any]) -> float:
    """Greatest |ln| of the ratio of an outcome's probabilities: `law` has them in one order."""
    logs = cache(lambda sample: np.log(law(sample)))
    return max(float(np.abs(logs(one) - logs(other)).max()) for one, other in pairs)


def excess(p: ArrayLike, q: ArrayLike, epsilon: float) -> float:
    """The least delta, both ways."""
    p, q = np.asarray(p), np.asarray(q)
    return float(max(np.maximum(a - np.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p))))


def in_quarters(examples: tuple[Example, ...]) -> list[int]:
    """Examples in each of the four tiles of one point, from the top row down."""
    counts = [0] * 4
    for x, y, _ in examples:
        counts[2 * (1 - y) + x] += 1
    return counts
