"""benchmarks/noisy_gradients.py: gradients are those of the loss, cut one by one, with noise."""

from types import ModuleType

import numpy as np
import pytest
from programs import program


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return program("noisy_gradients", monkeypatch)


def loss(model, x, sign):
    return float(np.logaddexp(0, -sign * model.output(x[None])[0][0]))


@pytest.mark.parametrize("scale", [0.05, 3.0])
def test_the_sum_is_of_every_examples_gradient_cut_to_norm_one(network, scale):
    rng = np.random.default_rng(4)
    model = network.Network(scale * rng.normal(size=(4, 5)), scale * rng.normal(size=6))
    x, signs = rng.normal(size=(7, 3)), rng.choice([-1.0, 1.0], 7)
    sums, norms = [np.zeros((4, 5)), np.zeros(6)], []
    for i in range(7):
        own = []
        for weights in (model.first, model.second):
            slope = np.zeros(weights.shape)
            for place in np.ndindex(weights.shape):
                kept = weights[place]
                values = []
                for change in (1e-6, -1e-6):
                    weights[place] = kept + change
                    values.append(loss(model, x[i], signs[i]))
                weights[place] = kept
                slope[place] = (values[0] - values[1]) / 2e-6
            own.append(slope)
        norms.append(np.sqrt(sum((slope**2).sum() for slope in own)))
        for total, slope in zip(sums, own, strict=True):
            total += slope / max(1, norms[-1])
    for found, expected in zip(model.clipped_gradients(x, signs), sums, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6)
    # both sides of the cut are tried
    assert (max(norms) > 1) == (scale == 3.0)


def test_every_step_has_the_noise_that_the_account_asks_for(network, monkeypatch):
    asked = []

    def multiplier(*arguments):
        asked.append(arguments)
        return 0.0

    monkeypatch.setattr(network, "noise_multiplier", multiplier)
    rng = np.random.default_rng(1)
    points = rng.integers(0, 1025, (4_000, 2))
    labels = (points[:, 0] > 512).astype(int)
    x = network.features(points, 1024)
    assert x.shape == (4_000, 26)
    model = network.train(x, labels, 1.0, 1e-6, 0)
    assert asked == [(*network.plan(4_000), 1.0, 1e-6)]
    assert np.mean((model.output(x)[0] > 0) == labels) > 0.97
    monkeypatch.setattr(network, "noise_multiplier", lambda *_: 1e4)
    lost = network.train(x, labels, 1.0, 1e-6, 0)
    assert np.mean((lost.output(x)[0] > 0) == labels) < 0.9


def test_the_plan_grows_with_the_examples(network):
    assert network.plan(10_000) == (0.1, 200)
    assert network.plan(100_000)[1] == 1002
    assert network.plan(4)[0] == 1.0


def test_the_account_is_met_and_not_by_far(network):
    accounting = pytest.importorskip("dp_accounting")
    rdp = pytest.importorskip("dp_accounting.rdp")
    noise = network.noise_multiplier(0.1, 200, 1.0, 1e-6)
    for factor, within in ((1.0, True), (0.98, False)):
        account = rdp.RdpAccountant()
        event = accounting.PoissonSampledDpEvent(0.1, accounting.GaussianDpEvent(factor * noise))
        account.compose(event, 200)
        assert (account.get_epsilon(1e-6) <= 1.0) == within
