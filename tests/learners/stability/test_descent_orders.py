"""Descents in three orders: what each step looks at, how far neighbours' runs drift apart.

BTT's reduction is enumerated by benchmarks/promises/on_average.py.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.promises.bounds import prediction_stability, uniform_stability
from learners.stability.base_learners import GradientDescentClassifier, Order, visits

#: Three labelled points of a grid of 8.
POINTS = np.array([[0, 0], [8, 3], [8, 8]])
LABELS = np.array([0, 1, 1])
N = 3


def weights(rows: Any, **more: Any) -> NDArray[np.float64]:
    chosen = list(rows)
    model = GradientDescentClassifier(grid=8, rate=0.5, **more).fit(POINTS[chosen], LABELS[chosen])
    return model.weights_


def test_orders_visit_the_examples_as_they_say() -> None:
    assert visits("one-pass", 4, 3, 9).tolist() == [0, 1, 2]
    assert visits("one-pass", 4, 30, 9).tolist() == [0, 1, 2, 3]
    twice = visits("permutation", 4, 10, 9).tolist()
    assert sorted(twice[:4]) == [0, 1, 2, 3]
    assert twice[4:8] == twice[:4]
    assert twice[8:] == twice[:2]
    assert {tuple(visits("permutation", 3, 3, coins)) for coins in range(60)} == set(
        itertools.permutations(range(3))
    )
    with pytest.raises(ValueError, match="order must be one of replacement, permutation, one-pass"):
        visits("any", 3, 3, 1)  # type: ignore[arg-type]


def test_a_pass_has_no_coins_and_says_its_order() -> None:
    X, y = POINTS[[0, 1, 2, 0]], LABELS[[0, 1, 2, 0]]
    one, other = (
        GradientDescentClassifier(grid=8, steps=4, order="one-pass", coins=c).fit(X, y)
        for c in (1, 2)
    )
    assert one.release_.weights == other.release_.weights
    assert dict(one.release_.parameters)["order"] == "one-pass"
    # as it was before there were orders
    assert "order" not in dict(GradientDescentClassifier(grid=8).fit(X, y).release_.parameters)


@pytest.mark.parametrize("order", ["permutation", "one-pass"])
@pytest.mark.parametrize("steps", [2, 3, 7])
def test_neighbours_stay_within_the_bound_whatever_the_sample(order: Order, steps: int) -> None:
    """All samples of three examples, all replacements, all orders: exactly."""
    orders = list(itertools.permutations(range(N))) if order == "permutation" else [(0, 1, 2)]
    found: dict[tuple[int, ...], NDArray[np.float64]] = {}
    for rows in itertools.product(range(3), repeat=N):
        # every order of these rows is a sample of its own, passed through again and again
        laps = rows * (-(-steps // N)) if order == "permutation" else rows
        found[rows] = weights(laps[:steps], steps=steps, order="one-pass")
    first: list[float] = []
    second: list[float] = []
    for rows, new in itertools.product(found, range(3)):
        apart = np.array([
            [
                np.linalg.norm(
                    found[tuple(rows[j] for j in way)]
                    - found[tuple(new if j == i else rows[j] for j in way)]
                )
                for way in orders
            ]
            for i in range(N)
        ])  # fmt: skip
        if order == "permutation":  # for each example
            first += apart.mean(axis=1).tolist()
            second += (apart**2).mean(axis=1).tolist()
        else:
            assert apart.max() <= uniform_stability(N, steps, 0.5, order) + 1e-12
            first.append(float(apart.mean()))
            second.append(float((apart**2).mean()))
    # 2 L eta for each time that the example is met
    assert max(first) <= 2 * 0.5 * (steps if order == "permutation" else min(steps, N)) / N
    assert max(second) / 16 <= prediction_stability(N, steps, 0.5, order)
    assert max(second) / 16 > prediction_stability(N, steps, 0.5, order) / 20
