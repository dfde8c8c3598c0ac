"""Laws of the sparse vector and of questions, by sums over all noise."""

from __future__ import annotations

import math

import numpy as np
from noise_laws import laplace

from learners.stability.sparse_vector import SparseVectorBudget

Law = dict[tuple[object, ...], float]


def pass_law(
    values: tuple[int, ...], budget: SparseVectorBudget, reach: int = 300
) -> dict[tuple[bool, ...], float]:
    """Probability of every sequence of passes and halts, by sums over thresholds."""
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

    def walk(at: int, halts: int, done: tuple[bool, ...], mass: np.ndarray) -> None:
        if at == len(values) or halts == budget.halts:
            found[done] = found.get(done, 0.0) + float(mass.sum())
            return
        passed = passes(values[at])
        walk(at + 1, halts, (*done, True), mass * passed)
        left = float((mass * (1 - passed)).sum())
        walk(at + 1, halts + 1, (*done, False), left * threshold_law)

    walk(0, 0, (), threshold_law)
    return found


def query_law(values: tuple[int, ...], far: tuple[int, ...], budget: SparseVectorBudget) -> Law:
    """Probability of every sequence of answers (None for ⊥)."""
    found: Law = {}
    for passes, chance in pass_law(far, budget).items():
        answers = tuple(v if ok else None for v, ok in zip(values, passes, strict=False))
        found[answers] = found.get(answers, 0.0) + chance
    return found


def exact_delta(law: Law, other: Law, epsilon: float) -> float:
    return sum(max(0.0, p - math.exp(epsilon) * other.get(t, 0.0)) for t, p in law.items())
