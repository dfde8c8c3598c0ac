"""Learners of polygons, one of each kind; what each learner of all learns from, and releases."""

import functools
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

import learners
from learners import PrivateExperts
from learners.core.estimator import Estimator
from learners.declaration import Learner
from learners.finite.finite_class import ThresholdClass
from learners.registry import LEARNERS
from learners.stability.base_learners import MajorityCells

PLANE = np.array([[x, y] for x in range(9) for y in range(9)] * 4)
SPACE = np.indices((3, 3, 3)).reshape(3, -1).T.repeat(4, axis=0)
#: What makes runs short, and what has no default.
SHORT: dict[str, Any] = {
    "grid": 8, "k": 1, "n_steps": 1, "levels": 4, "reach": 1, "centres": 3, "seed": 1,
    "max_boxes": 64, "chunks": 100, "queries": 9, "base": MajorityCells(grid=8, cells=2),
    "concepts": ThresholdClass(8), "points": 9,
    "losses": lambda X, y: np.stack([y == 0, y == 1], axis=1),
}  # fmt: skip


def made(declared: Learner, **changes: Any) -> Any:
    """A learner whose runs are short; changes are made where it has such parameters."""
    known = inspect.signature(declared.load()).parameters
    given = {name: value for name, value in SHORT.items() if name in known}
    given |= {"grid": 2} if declared.piece in ("halfspace", "simplex", "ball") else {}
    if declared.id == "stability":
        given["points"] = None
    if declared.id in ("tiles", "convex"):
        del given["k"], given["n_steps"]
    if declared.id == "empirical-risk":
        given["levels"] = None
    given |= {name: value for name, value in changes.items() if name in known}
    return declared.build(**given)


def sample(declared: Learner) -> tuple[Any, Any]:
    """Examples for it."""
    if declared.piece in ("halfspace", "simplex", "ball"):
        return SPACE, SPACE.sum(axis=1) <= 3
    if declared.piece == "literal" or "parity" in declared.id or "consistent" in declared.id:
        return PLANE % 2, PLANE[:, 0] % 2
    if declared.piece == "concept":
        return PLANE[:, 0], (PLANE[:, 0] >= 4).astype(np.int64)
    return PLANE, PLANE.sum(axis=1) <= 7


def every_learner() -> list[Estimator]:
    return [
        learners.PolygonUnionLearner(grid=16, seed=1),
        # one tile: scikit-learn's blobs lie in a corner, whatever the seed is
        learners.ConvexPolygonLearner(grid=16, tiles=1, seed=1),
        learners.NoisyHistogramLearner(grid=16, seed=1),
        learners.QuadtreeLearner(grid=16, seed=1),
        learners.GreedyUnionLearner(grid=16, k=1, max_boxes=256),
        learners.GreedyConvexLearner(grid=16, k=2, loss_weight=3, max_boxes=256),
    ]


#: What makes a run of a learner, by its id, another one: other charges, or another form.
_VARIANTS: dict[str, list[dict[str, Any]]] = {
    "cover": [{"k": 1}, {"k": 2, "finish": "none"}, {"k": 2}, {"measure": "paper"}],
    "tiles": [{"tiles": 2}, {"support": 0.2}, {"tiles": 1, "support": 0.3}],
    "discs": [{"k": 2}],
    "histogram": [{"cells": 3}],
    "stability": [
        {"queries": 40, "halts": 2, "chunks": 60},
        {"neighbours": "replace-label"},
        {"constants": "printed"},
    ],
    "conjunction": [{"account": name} for name in ("basic", "zcdp", "set-cover", "naive")],
    "private-finite-class": [{"mechanism": "laplace"}],
    "private-empirical-risk": [{"mechanism": "laplace"}],
    "private-parity": [{"constants": "source", "epsilon": 3.0, "beta": 0.2}],
    "private-consistent-conjunction": [{"monotone": True}],
}
#: What keeps runs small.
_SMALL: dict[str, dict[str, Any]] = {
    "stability": {"queries": 20, "chunks": 40, "k": 1},
    "polytope": {"levels": 4, "k": 1},
    "simplices": {"levels": 4},
    "balls": {"centres": 3, "levels": 4},
    "polynomials": {"levels": 8},
    "greedy-cover": {"k": 1},
    "greedy-convex": {"k": 2},
    "conjunction": {"k": 2},
}


@functools.cache
def every_release() -> dict[str, Any]:
    """A release of every learner that has one, for all neighbours and of all forms, by a name."""
    found = {}
    for name, model in _models():
        learned = _fitted(model)
        if learned is not None:
            found[name] = learned
    for neighbours in ("add-remove", "replace-one"):
        for rounds in (3, 400):
            game = PrivateExperts(experts=3, rounds=rounds, neighbours=neighbours)
            for row in np.eye(3, dtype=int)[np.arange(rounds) % 3]:
                game.choose()
                game.observe(row)
            found[f"experts {rounds} {neighbours}"] = game.release_
    return found


def _models() -> Iterator[tuple[str, Any]]:
    for declared in LEARNERS:
        names = {each.name for each in declared.parameters}
        for variant in [{}, *_VARIANTS.get(declared.id, [])]:
            given = {**_SMALL.get(declared.id, {}), **variant}
            relations = ["add-remove", "replace-one"] if "neighbours" in names else [None]
            for relation in relations:
                more = {} if relation is None else {"neighbours": relation}
                words = " ".join(f"{key}={value}" for key, value in variant.items())
                if "finite-class" in declared.id:
                    more["concepts"] = ThresholdClass(5)
                if "empirical" in declared.id:
                    more["losses"] = lambda X, y: np.asarray(X)
                yield f"{declared.id} {words} {relation}", declared.build(**more | given)


def _fitted(model: Any) -> Any:
    module = type(model).__module__
    rng = np.random.default_rng(1)
    if isinstance(model, Estimator):
        model.grid = 4 if model.dimensions == 3 else 16
        points = rng.integers(0, model.grid + 1, (80, model.dimensions))
        return model.fit(points, points[:, 0] * 2 < model.grid).release_
    if "boolean" in module:
        rows = rng.integers(0, 2, (60, 4))
        return model.fit(rows, rows[:, 0]).release_
    if hasattr(model, "concepts"):
        return model.fit(rng.integers(0, 5, (60, 1)), rng.integers(0, 2, 60)).release_
    if "empirical_risk" in module:
        return model.fit(rng.integers(0, 2, (60, 4)), np.zeros(60, dtype=int)).release_
    return None  # it releases nothing
