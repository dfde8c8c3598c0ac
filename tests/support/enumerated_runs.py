"""Whole runs of a tiny cover, enumerated: all outcomes with their probabilities."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import product

import numpy as np
import tiny_samples
from numpy.typing import NDArray
from tiny_samples import excess

from learners.core.selection import Role, set_cover_score

#: Example: (element, label). A sample is a sorted tuple of examples: a multiset.
Sample = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Model:
    """Set cover over abstract pieces with every transcript's probability computed.

    A piece is a set of elements with a base measure.  A transcript is (b_1, piece_1, ...,
    b_m, piece_m); noise is discrete Laplace on -reach..reach, the tails lumped on the ends
    after adding the count and clamping it to 0..reach (post-processing of b).
    """

    role: Role
    k: int
    pieces: tuple[frozenset[int], ...]
    measure: tuple[float, ...]
    eta: float
    noise: float | None = None
    reach: int = 2
    fixed: int = 0
    known: dict[tuple[Sample, int, int | None], NDArray[np.float64]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def thresholds(self, gain: int) -> list[tuple[int, float]]:
        """Every clamped noisy count and its probability; the common one without noise."""
        if self.noise is None:
            return [(self.fixed, 1.0)]
        return noisy_counts(self.noise, self.reach, gain)

    def ends(self, b: int, steps: int) -> bool:
        """Whether a run ends by its noisy count, with so many steps to make."""
        return False

    def rate(self, b: int, first: int) -> float:
        """Of the draw after b, the first step's count being `first`."""
        return self.eta

    def begun(self, first: int) -> int | None:
        """The first step's count, if the rate depends on it."""
        return None

    def law(self, alive: Sample, steps: int, first: int | None = None) -> NDArray[np.float64]:
        """Probabilities of all transcripts, in one order for all samples."""
        if steps == 0:
            return np.ones(1)
        if (alive, steps, first) not in self.known:
            positives = sum(label for _, label in alive)
            negatives = len(alive) - positives
            gain = positives if self.role == "disjunction" else negatives
            parts = []
            for b, mass in self.thresholds(gain):
                if self.ends(b, steps):
                    parts.append(np.array([mass]))
                    continue
                begun = b if first is None else first
                score = set_cover_score(self.role, self.k, b, positives, negatives)
                values = np.array([self.value(score.value, alive, t) for t in self.pieces])
                weights = np.array(self.measure) * np.exp(self.rate(b, begun) / self.k * values)
                chosen = weights / weights.sum()
                for piece, probability in zip(self.pieces, chosen, strict=True):
                    rest = self.law(self.left(alive, piece), steps - 1, self.begun(begun))
                    parts.append(mass * probability * rest)
            self.known[alive, steps, first] = np.concatenate(parts)
        return self.known[alive, steps, first]

    @staticmethod
    def value(value: Callable[[int, int], int], alive: Sample, piece: frozenset[int]) -> int:
        inside = [label for element, label in alive if element in piece]
        return value(sum(inside), len(inside) - sum(inside))

    def left(self, alive: Sample, piece: frozenset[int]) -> Sample:
        """What the piece does not decide."""
        keeps_inside = self.role == "conjunction"
        return tuple(e for e in alive if (e[0] in piece) == keeps_inside)

    def delta(self, one: Sample, other: Sample, steps: int, epsilon: float) -> float:
        """The least delta, both ways, of this pair of samples at epsilon."""
        return excess(self.law(one, steps), self.law(other, steps), epsilon)


@cache
def noisy_counts(noise: float, reach: int, gain: int) -> list[tuple[int, float]]:
    """The law of a count with noise, its tails lumped on 0 and `reach`."""
    p = math.exp(-noise)
    far = range(-60, 61) if noise > 0.5 else range(-400, 401)
    lumped = dict.fromkeys(range(reach + 1), 0.0)
    for z in far:
        lumped[min(max(gain + z, 0), reach)] += (1 - p) / (1 + p) * p ** abs(z)
    total = sum(lumped.values())
    return [(b, mass / total) for b, mass in lumped.items()]


def lone_example(chance: float, eta: float, steps: int) -> list[NDArray[np.float64]]:
    """Laws of when one of two pieces, of this chance, decides the only example: without, with it.

    Gained examples raise the score of the piece by 1.
    """
    raised = chance * math.exp(eta) / (1 - chance + chance * math.exp(eta))
    j = np.arange(steps)
    return [np.append(c * (1 - c) ** j, (1 - c) ** steps) for c in (chance, raised)]


def neighbours(size: int, elements: int) -> list[tuple[Sample, Sample]]:
    """All samples of up to `size` examples, each with all samples of one example more."""
    return tiny_samples.all_neighbours(list(product(range(elements), (0, 1))), size)


PIECES = {
    # disjunction: a rare piece decides element 0; conjunction: what lies outside is decided
    "disjunction": (frozenset({0}), frozenset({1}), frozenset()),
    "conjunction": (frozenset({1, 2}), frozenset({0, 2}), frozenset({0, 1, 2})),
}
