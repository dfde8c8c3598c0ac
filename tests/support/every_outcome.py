"""Laws of programs by every outcome of their random choices."""

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any


class Restart(Exception):
    """The sampler rejected its draw and began again."""


class TooRare(Exception):
    """The path is less likely than the enumeration cares for."""


class Tree:
    """Runs a program once for every path of its random choices.

    `choose(weights)` returns the index of a branch; probabilities are the weights.
    """

    def __init__(self, rare: float = 0.0) -> None:
        self.rare = rare
        self.path: list[int] = []

    def choose(self, weights: list[Any]) -> int:
        if self.depth == len(self.path):
            self.path.append(0)
            self.widths.append(len(weights))
        branch = self.path[self.depth]
        self.probability = self.probability * weights[branch]
        self.depth += 1
        if self.probability < self.rare:
            raise TooRare
        return branch

    def outcomes(self, program: Callable[[], object]) -> dict[Any, Any]:
        """Probability of each result over all paths that are not too rare."""
        law: dict[Any, Any] = defaultdict(Fraction)
        self.path, self.widths = [], []
        while True:
            self.depth, self.probability = 0, Fraction(1)
            try:
                result = program()
            except TooRare:
                pass
            except Restart:
                law["restart"] += self.probability
            else:
                law[result] += self.probability
            while self.path and self.path[-1] == self.widths[-1] - 1:
                self.path.pop()
                self.widths.pop()
            if not self.path:
                return law
            self.path[-1] += 1
