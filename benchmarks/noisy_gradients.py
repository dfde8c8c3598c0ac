"""A small network trained by noisy gradients (DP-SGD), as a peer for accuracy.py.

Abadi et al. 2016, *Deep learning with differential privacy*: every step takes each example with
probability `rate`, cuts its gradient to norm 1, adds up, and adds Gaussian noise.  How much noise
(epsilon, delta) asks for is told by Google's dp-accounting (Renyi account of the sampled Gaussian
mechanism, neighbours add or remove one example): pip install dp-accounting.

The network knows x, y and sines and cosines of the place along four directions at three
frequencies, has 64 hidden units and one output.  Rate, steps and step size were chosen on uniform
samples of Croatia and `L`, n = 10^4 and 10^5, without a charge, and n is taken to be public: more
than the other learners are granted.  The noise is numpy's, in floating point: for measuring alone.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Of the sines and cosines, in half turns over the square; directions; hidden units.
FREQUENCIES, DIRECTIONS, HIDDEN = (1, 2, 4), 4, 64

#: Size of a step, which falls to 0 linearly, and how much of the last one is kept.
STEP_SIZE, MOMENTUM = 2.0, 0.9


def plan(n: int) -> tuple[float, int]:
    """Rate and number of steps: 1,000 examples and 200 steps at n = 10,000, more by n^0.7."""
    growth = (n / 10_000) ** 0.7
    return min(1.0, 1_000 * growth / n), max(1, round(200 * growth))


def noise_multiplier(rate: float, steps: int, epsilon: float, delta: float) -> float:
    """Standard deviation of the noise of a step, for gradients of norm 1."""
    accounting = importlib.import_module("dp_accounting")
    rdp = importlib.import_module("dp_accounting.rdp")

    def spent(noise: float) -> float:
        account = rdp.RdpAccountant()
        gaussian = accounting.GaussianDpEvent(noise)
        account.compose(accounting.PoissonSampledDpEvent(rate, gaussian), steps)
        return float(account.get_epsilon(delta))

    low, high = 0.1, 1e4
    while high > 1.001 * low:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if spent(middle) <= epsilon else (middle, high)
    return high


def features(points: NDArray[np.int64], grid: int) -> Floats:
    """What the network knows of grid points (n, 2), shape (n, 26)."""
    places = points / (grid / 2) - 1
    angles = np.arange(DIRECTIONS) * np.pi / DIRECTIONS
    along = places @ np.stack([np.cos(angles), np.sin(angles)])
    waves = [wave(np.pi * f * along) for f in FREQUENCIES for wave in (np.sin, np.cos)]
    return np.hstack([places, *waves])


@dataclass(slots=True)
class Network:
    """One hidden layer; its output is positive where it labels 1.

    Attributes
    ----------
    first, second : ndarray of float64, shapes (features + 1, hidden) and (hidden + 1,)
        Weights of the layers, the last row that of a constant 1.
    """

    first: Floats
    second: Floats

    def output(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """The output (n,), and both layers' inputs with a constant 1."""
        x = with_one(x)
        hidden = with_one(np.tanh(x @ self.first))
        return hidden @ self.second, x, hidden

    def clipped_gradients(self, x: Floats, signs: Floats) -> tuple[Floats, Floats]:
        """Sums of the examples' gradients of the logistic loss, each cut to norm 1."""
        output, x, hidden = self.output(x)
        # tanh: exp would overflow
        up = -signs * (1 - np.tanh(signs * output / 2)) / 2
        down = up[:, None] * self.second[:-1] * (1 - hidden[:, :-1] ** 2)
        # a layer's gradient is an outer product: its norm is a product of norms
        squares = (down**2).sum(1) * (x**2).sum(1) + up**2 * (hidden**2).sum(1)
        cut = 1 / np.maximum(1, np.sqrt(squares))
        return x.T @ (down * cut[:, None]), hidden.T @ (up * cut)


def with_one(x: Floats) -> Floats:
    """A last column of ones."""
    return np.hstack([x, np.ones((len(x), 1))])


def train(x: Floats, labels: NDArray[np.int64], epsilon: float, delta: float, seed: int) -> Network:
    """A network of features (n, f) and labels 0 or 1."""
    rng = np.random.default_rng(seed)
    rate, steps = plan(len(x))
    noise = noise_multiplier(rate, steps, epsilon, delta)
    signs = 2.0 * labels - 1
    first = rng.normal(size=(x.shape[1] + 1, HIDDEN)) / x.shape[1] ** 0.5
    first[-1] = 0
    network = Network(first, np.zeros(HIDDEN + 1))
    moved = [np.zeros_like(network.first), np.zeros_like(network.second)]
    for step in range(steps):
        taken = rng.random(len(x)) < rate
        gradients = network.clipped_gradients(x[taken], signs[taken])
        size = STEP_SIZE * (1 - step / steps)
        for i, gradient in enumerate(gradients):
            noisy = gradient + noise * rng.normal(size=gradient.shape)
            moved[i] = MOMENTUM * moved[i] + noisy / (rate * len(x))
        network.first -= size * moved[0]
        network.second -= size * moved[1]
    return network
