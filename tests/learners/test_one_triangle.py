"""A cover of one triangle: by its mistakes, with all of epsilon and without a noisy count."""

from collections.abc import Iterator

import numpy as np
import pytest
from arrangement_laws import arrangement_law
from counted import counted
from envelope_laws import random_examples
from tiny_samples import excess
from watched_selections import watched_selections

from geometry.halfplane import HalfplaneLattice
from learners import PolygonUnionLearner
from learners.core.records import StepRelease
from learners.core.releases import CoverRelease
from learners.core.selection import mistakes_score
from learners.cover.arrangement_selection import ArrangementSelection
from learners.cover.set_cover import plan_budget
from learners.privacy.composition import run_rate

EPSILON, DELTA = 0.8, 0.01
GRID = 3


def patterns(points: np.ndarray) -> Iterator[tuple[np.ndarray, float]]:
    """What triangles hold of distinct points, and the base measure of those that do."""
    counts = counted(points, np.ones(len(points), dtype=bool), GRID)
    order = [counts.points.tolist().index(point) for point in points.tolist()]
    triangles = ArrangementSelection(HalfplaneLattice(GRID), "triangle")
    law = arrangement_law(triangles, counts, mistakes_score(0), 0.0)
    for cell in law:
        yield np.asarray(cell.inside)[order], cell.probability


def draw_law(measure: np.ndarray, mistakes: np.ndarray, eta: float) -> np.ndarray:
    weights = measure * np.exp(-eta * mistakes)
    return weights / weights.sum()


def test_every_neighbour_keeps_the_promise() -> None:
    """The law of a triangle depends on it by what it holds of the examples alone."""
    rng, places = np.random.default_rng(4), [(x, y) for x in range(4) for y in range(4)]
    eta = run_rate(EPSILON, DELTA, 1)
    worst = {rate: 0.0 for rate in (eta, 2 * eta)}
    for size in (1, 3, 4):
        points = np.array([places[i] for i in rng.permutation(16)[: size + 1]])
        held, measure = zip(*patterns(points), strict=True)
        inside, mu = np.array(held), np.array(measure)
        assert mu.sum() == pytest.approx(1)
        for code in range(2 ** (size + 1)):
            labels = np.array([code >> i & 1 for i in range(size + 1)], dtype=bool)
            wrong = inside != labels
            for rate in worst:
                # the last point is the example that is added
                p = draw_law(mu, wrong[:, :-1].sum(axis=1), rate)
                q = draw_law(mu, wrong.sum(axis=1), rate)
                worst[rate] = max(worst[rate], excess(p, q, EPSILON))
    assert worst[eta] <= DELTA < worst[2 * eta]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("sampler", ["envelope", "arrangement"])
def test_all_of_epsilon_goes_into_one_draw_by_mistakes(monkeypatch, neighbours, sampler):
    asked = watched_selections(monkeypatch)
    points, labels = random_examples(8, 12, seed=3)
    model = PolygonUnionLearner(k=1, grid=8, seed=5, neighbours=neighbours, selection=sampler)
    records = list(model.steps(points, labels))
    release = model.release_
    assert isinstance(release, CoverRelease)
    assert len(records) == len(release.pieces) == 1
    assert isinstance(records[0].release, StepRelease)
    assert records[0].release.threshold is None
    assert release.thresholds == ()
    spent = release.privacy
    assert spent == model.plan()
    assert [(charge.name, charge.times) for charge in spent.charges] == [("selections", 1)]
    rate = spent.charges[0].each
    assert asked == [(mistakes_score(int(labels.sum())), rate)]
    # more than pure epsilon-DP grants, as delta pays for the rest
    assert rate > (1.0 if neighbours == "add-remove" else 0.5)
    right = release.predict(points) == labels
    assert records[0].diagnostics.score == -np.count_nonzero(~right)


def test_more_steps_or_the_sources_run_have_noisy_counts() -> None:
    points, labels = random_examples(8, 12, seed=3)
    for parameters in ({"n_steps": 3}, {"finish": "none"}, {"alpha": 0.2}):
        model = PolygonUnionLearner(**{"k": 1, "grid": 8, "seed": 5, **parameters})
        release = model.fit(points, labels).release_
        assert isinstance(release, CoverRelease)
        assert len(release.thresholds) == len(release.pieces) >= 1
        charges = [charge.name for charge in release.privacy.charges]
        assert charges == ["noisy counts", "selections"]


def test_a_budget_without_counts_is_that_of_a_single_selection() -> None:
    budget = plan_budget(1.0, 1e-6, 1, 0.1, "add-remove", private=True, noise_share=0.0)
    assert budget.scale is None
    with_counts = plan_budget(1.0, 1e-6, 1, 0.1, "add-remove", private=True)
    assert with_counts.scale is not None
    assert with_counts.eta < budget.eta == pytest.approx(run_rate(1.0, 1e-6, 1), rel=1e-6)
