"""A learner that is quick to train, and examples for it."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


class Majority:
    """The label of most examples, 0 of equals."""

    def fit(self, X: Any, y: Any) -> Self:
        self.label = int(2 * np.sum(y) > len(y))
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        return np.full(len(X), self.label)


def sample(n: int, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 17, (n, 2))
    return X, (X[:, 0] > 8).astype(int)
