"""Balls and regions of polynomials: members exactly, the law, neighbours, learners, files."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from counted import counted
from grids import cornered
from heard_draws import assert_listed

from geometry.halfspaces import (
    BallLattice,
    HalfspaceLattice3,
    LiftedRegion,
    PolynomialLattice,
    cells_shape,
)
from geometry.polygons import contains_points
from learners import BallUnionLearner, PolynomialUnionLearner
from learners.core.selection import mistakes_score, set_cover_score
from learners.curved import listed_selection as space_selection
from learners.curved.listed_selection import LiftedSelection

TINY = (PolynomialLattice(2, 2, 2, 1, 3), BallLattice(2, 2, 2))


def name(lattice: Any) -> str:
    return f"{type(lattice).__name__} {lattice.d}"


def whole(d: int, dimensions: int) -> np.ndarray:
    return np.indices((d + 1,) * dimensions).reshape(dimensions, -1).T


# -- members -----------------------------------------------------------------------------------


@pytest.mark.parametrize("lattice", [BallLattice(6, 5, 7), BallLattice(64, 33, 32)])
def test_a_ball_is_what_its_centre_and_radius_say(lattice: BallLattice) -> None:
    d, q = lattice.d, lattice.centres - 1
    points = np.random.default_rng(1).integers(0, d + 1, (400, 3))
    for i, j, k in ((0, 0, 0), (1, 2, 3), (q, q, 1)):
        number = (i * lattice.centres + j) * lattice.centres + k
        normal = lattice.normals[number]
        levels = lattice.levels_of(normal).tolist()
        assert levels == sorted(levels)
        assert lattice.member(normal, levels[0]).contains(points).all()
        for step, level in enumerate(levels[1:]):
            radius = (d * q * (lattice.levels - step)) ** 2 // lattice.levels**2
            away = ((q * points - d * np.array([i, j, k])) ** 2).sum(axis=1)
            held = lattice.member(normal, level).contains(points)
            assert np.array_equal(held, away <= radius)
            assert lattice.holds(normal, level)


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_region_is_the_sign_of_its_polynomial(degree: int, dimensions: int) -> None:
    lattice = PolynomialLattice(8, dimensions, degree, 2, 16)
    points = whole(8, dimensions)
    rng = np.random.default_rng(2)
    assert len(lattice.exponents) == math.comb(degree + dimensions, dimensions) - 1
    for _ in range(20):
        normal = tuple(int(c) for c in rng.integers(-2, 3, len(lattice.exponents)))
        if math.gcd(*normal) != 1:
            continue
        levels = lattice.levels_of(normal)
        assert len(levels) == 16
        assert lattice.member(normal, int(levels[0])).contains(points).all()
        level = int(levels[9])
        values = [
            sum(
                c
                * 8 ** (degree - sum(e))
                * math.prod((2 * x - 8) ** a for x, a in zip(p, e, strict=True))
                for c, e in zip(normal, lattice.exponents, strict=True)
            )
            for p in points.tolist()
        ]
        held = lattice.member(normal, level).contains(points)
        assert held.tolist() == [value >= level for value in values]
        assert lattice.holds(normal, level)
        assert not lattice.holds(normal, level + 1) or level + 1 in levels
    assert not lattice.holds((3,) * len(lattice.exponents), 0)


def test_members_are_counted() -> None:
    for lattice in TINY:
        found = {(n, int(t)) for n in lattice.normals for t in lattice.levels_of(n)}
        assert len(found) == lattice.members <= lattice.directions * (lattice.levels + 1)


def test_numbers_stay_exact_at_the_largest_sizes() -> None:
    lattice = PolynomialLattice(2048, 2, 3, 8, 4)
    normal = (8, 8, 8, 8, 8, 8, 8, 8, 7)
    points = np.array([[0, 0], [2048, 2048], [1, 2047]])
    exact = [
        sum(
            c * 2048 ** (3 - sum(e)) * (2 * x - 2048) ** e[0] * (2 * y - 2048) ** e[1]
            for c, e in zip(normal, lattice.exponents, strict=True)
        )
        for x, y in points.tolist()
    ]
    assert (lattice.lift(points) @ np.array(normal)).tolist() == exact
    assert max(map(abs, exact)) < 2**62


def test_cells_hold_their_grid_points_alone() -> None:
    inside = np.random.default_rng(3).random((9, 9)) < 0.4
    held = contains_points(cells_shape(inside), whole(8, 2))
    assert np.array_equal(held.reshape(9, 9), inside)
    assert cells_shape(np.zeros((4, 4), dtype=bool)).is_empty


# -- law ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("lattice", TINY, ids=name)
def test_regions_are_drawn_by_their_scores(lattice: BallLattice, monkeypatch) -> None:
    points, labels = cornered(lattice.d, 30, 4, dimensions=lattice.dimensions)
    # a few normals: enumeration one by one takes long
    few = lattice.normals[:: 1 + len(lattice.normals) // 20]
    monkeypatch.setattr(type(lattice), "normals", few)
    score = set_cover_score("disjunction", 1, 8, int(labels.sum()), int((~labels).sum()))
    pieces = [lattice.member(n, int(t)) for n in few for t in lattice.levels_of(n)]
    assert len(set(pieces)) == len(pieces)
    held = [p.contains(points) for p in pieces]
    values = [score.value(int((h & labels).sum()), int((h & ~labels).sum())) for h in held]
    law = counted(points, labels, lattice.d), score, 0.5
    assert_listed(monkeypatch, LiftedSelection(lattice), law, [(p,) for p in pieces], values)


@pytest.mark.parametrize("lattice", [HalfspaceLattice3(1, 1), *TINY], ids=name)
def test_one_example_moves_no_probability_by_more_than_eta(lattice: Any) -> None:
    """The whole law, for every neighbour, given the noisy count."""
    dimensions = getattr(lattice, "dimensions", 3)
    points, labels = cornered(lattice.d, 12, 6, dimensions=dimensions)
    eta, noisy = 0.5, 4
    sets = tuple((normal,) for normal in lattice.normals)
    role, k = ("conjunction", 2) if isinstance(lattice, HalfspaceLattice3) else ("disjunction", 1)

    def law(X: np.ndarray, y: np.ndarray) -> np.ndarray:
        score = set_cover_score(role, k, noisy, int(y.sum()), int((~y).sum()))
        found = space_selection.values_of(lattice, sets, counted(X, y, lattice.d), score)
        weights = np.exp(eta / k * np.concatenate([each.ravel() for each in found]))
        return weights / weights.sum()

    before, spread = law(points, labels), 0.0
    for x, label in itertools.product(whole(lattice.d, dimensions), (False, True)):
        loss = np.log(law(np.vstack([points, x]), np.append(labels, label)) / before)
        assert np.abs(loss).max() <= eta + 1e-9
        spread = max(spread, float(np.ptp(loss)))
    assert 0.9 * eta < spread <= eta + 1e-9


# -- learners ----------------------------------------------------------------------------------


def test_two_balls_are_learned_from_counts_as_from_rows() -> None:
    X = np.random.default_rng(8).integers(0, 9, (20_000, 3))
    y = (((X - 2) ** 2).sum(axis=1) <= 6) | (((X - 7) ** 2).sum(axis=1) <= 3)
    model = BallUnionLearner(k=2, grid=8, centres=9, levels=16, seed=1)
    release = model.fit(X, y).release_
    assert model.score(X, y) > 0.96
    assert model.fit_counts(counted(X, y, 8)).release_ == release


def test_what_cannot_be_listed_is_refused_by_public_numbers() -> None:
    for model, reason in (
        (PolynomialUnionLearner(degree=3, reach=2), r"126,\d{3},\d{3} regions would be scored"),
        (PolynomialUnionLearner(degree=4), "degree 2 or 3"),
        (PolynomialUnionLearner(grid=4096), "coarser grid"),
        (PolynomialUnionLearner(reach=9), "reach = 9"),
        (BallUnionLearner(centres=1), "centres = 1"),
        (BallUnionLearner(centres=129), "regions would be scored"),
    ):
        X = np.zeros((1, model.dimensions), dtype=int)
        with pytest.raises(ValueError, match=reason):
            model.fit(X, [0])


def test_scores_of_mistakes_are_those_of_each_member() -> None:
    lattice = PolynomialLattice(3, 2, 2, 1, 5)
    points, labels = cornered(3, 50, 10)
    score = mistakes_score(int(labels.sum()))
    sets = tuple((normal,) for normal in lattice.normals[:40])
    found = space_selection.values_of(lattice, sets, counted(points, labels, 3), score)
    for (normal,), values in zip(sets, found, strict=True):
        members = [LiftedRegion(lattice, normal, int(t)) for t in lattice.levels_of(normal)]
        assert values.tolist() == [-int((m.contains(points) != labels).sum()) for m in members]
