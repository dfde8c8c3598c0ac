"""Laws of the sparse vector and of questions, by sums over all noise."""

import itertools
import math
from collections.abc import Callable

import numpy as np
from noise_laws import laplace

from learners.stability.stable_queries import SparseVectorBudget

Law = dict[tuple[object, ...], float]


def law_of_tests(
    value_after: Callable[[tuple[bool, ...]], int | None],
    budget: SparseVectorBudget,
    reach: int = 300,
) -> dict[tuple[bool, ...], float]:
    """Probability of every sequence of passes and halts, by sums over thresholds.

    Each value may depend on what has passed so far; None ends the tests.
    """
    thresholds = budget.margin + np.arange(-reach, reach + 1)
    threshold_law = laplace(budget.threshold_scale, reach)
    p = math.exp(-1 / float(budget.query_scale))

    def passes(value: int) -> np.ndarray:
        """P(value + noise > threshold) for each threshold."""
        over = thresholds - value
        return np.where(
            over >= 0,
            p ** (np.maximum(over, 0) + 1) / (1 + p),
            1 - p ** -np.minimum(over, 0) / (1 + p),
        )

    found: dict[tuple[bool, ...], float] = {}

    def walk(done: tuple[bool, ...], mass: np.ndarray) -> None:
        value = value_after(done)
        if value is None or done.count(False) == budget.halts:
            found[done] = float(mass.sum())
            return
        passed = passes(value)
        walk((*done, True), mass * passed)
        left = float((mass * (1 - passed)).sum())
        walk((*done, False), left * threshold_law)

    walk((), threshold_law)
    return found


def pass_law(
    values: tuple[int, ...], budget: SparseVectorBudget, reach: int = 300
) -> dict[tuple[bool, ...], float]:
    """The same of given values, one after the other."""
    after = dict(enumerate(values))
    return law_of_tests(lambda done: after.get(len(done)), budget, reach)


def query_law(values: tuple[int, ...], far: tuple[int, ...], budget: SparseVectorBudget) -> Law:
    """Probability of every sequence of answers (None for ⊥)."""
    found: Law = {}
    for passes, chance in pass_law(far, budget).items():
        answers = tuple(v if ok else None for v, ok in zip(values, passes, strict=False))
        found[answers] = found.get(answers, 0.0) + chance
    return found


def exact_delta(law: Law, other: Law, epsilon: float) -> float:
    """The least delta at epsilon, both ways."""
    factor = math.exp(epsilon)
    ways = (
        sum(max(0.0, p - factor * b.get(t, 0.0)) for t, p in a.items())
        for a, b in ((law, other), (other, law))
    )
    return max(ways)


def divided_law(
    labels: tuple[int, ...], chunks: int, law_of: Callable[[tuple[int, int]], Law]
) -> Law:
    """Over all ways to divide records among chunks, whose votes are for the label of most."""
    found: Law = {}
    ways = list(itertools.product(range(chunks), repeat=len(labels)))
    for way in ways:
        ones = 0
        for chunk in range(chunks):
            own = [label for label, where in zip(labels, way, strict=True) if where == chunk]
            ones += 2 * sum(own) > len(own)
        for answers, p in law_of((chunks - ones, ones)).items():
            found[answers] = found.get(answers, 0.0) + p / len(ways)
    return found


def worst_of_neighbours(
    law_of: Callable[[tuple[int, ...]], Law], size: int, epsilon: float
) -> float:
    """The greatest delta of all samples of up to `size` labels; one is left out or changed."""
    laws = {
        labels: law_of(labels)
        for n in range(size + 1)
        for labels in itertools.product((0, 1), repeat=n)
    }
    worst = 0.0
    for labels, law in laws.items():
        others = [labels[:i] + labels[i + 1 :] for i in range(len(labels))]
        others += [(*labels[:i], 1 - labels[i], *labels[i + 1 :]) for i in range(len(labels))]
        worst = max([worst, *(exact_delta(law, laws[other], epsilon) for other in others)])
    return worst
