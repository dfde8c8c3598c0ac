"""Balls, regions of polynomials, halfspaces, simplices: members, the law, neighbours, learners."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from counted import counted
from grids import cornered
from heard_draws import assert_listed
from scipy import optimize

from geometry.lift import (
    BallLattice,
    HalfspaceLattice3,
    LiftedRegion,
    PolynomialLattice,
    cells_shape,
    spanning_fours,
)
from geometry.polygons import contains_points
from learners import (
    BallUnionLearner,
    ConvexPolytopeLearner,
    PolynomialUnionLearner,
    SimplexUnionLearner,
)
from learners.core.records import inside_piece
from learners.core.selection import Score, mistakes_score, set_cover_score
from learners.curved import selection as space_selection
from learners.curved.selection import (
    HalfspaceSelection3,
    LiftedSelection,
    SimplexSelection3,
    simplex_count,
)

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


def test_what_cannot_be_listed_is_refused_by_public_numbers() -> None:
    for model, reason in (
        (PolynomialUnionLearner(degree=3, reach=2), r"126,\d{3},\d{3} regions would be scored"),
        (PolynomialUnionLearner(degree=4), "degree must be .* between 2 and 3"),
        (PolynomialUnionLearner(grid=4096), "coarser grid"),
        (PolynomialUnionLearner(reach=9), "reach must be .* between 1 and 8"),
        (BallUnionLearner(centres=1), "centres must be .* between 2 and 129"),
        (BallUnionLearner(centres=129), "regions would be scored"),
    ):
        X = np.zeros((1, model.dimensions), dtype=int)
        with pytest.raises(ValueError, match=reason):
            model.fit(X, [0])


# -- the class of halfspaces and simplices ------------------------------------------------------


@pytest.mark.parametrize(("reach", "count"), [(1, 26), (2, 98), (3, 290)])
def test_normals_are_primitive_and_have_all_directions(reach: int, count: int) -> None:
    normals = HalfspaceLattice3(4, reach).normals
    assert len(normals) == len(set(normals)) == count
    directions = {
        tuple(Fraction(v, max(map(abs, n))) for v in n)
        for n in itertools.product(range(-reach, reach + 1), repeat=3)
        if any(n)
    }
    assert len(directions) == count


def test_levels_are_all_values_or_evenly_spaced_ones() -> None:
    points = whole(5, 3)
    lattice = HalfspaceLattice3(5, 2)
    for normal in lattice.normals:
        levels = lattice.levels_of(normal).tolist()
        products = points @ normal
        assert levels == list(range(products.min(), products.max() + 1))
    few = HalfspaceLattice3(20, 1, 8)
    levels = few.levels_of((1, -1, 1))
    assert len(levels) == 8
    assert levels[0] == -20
    assert set(np.diff(levels)) <= {7, 8}
    assert few.member((1, -1, 1), int(levels[0])).contains(whole(20, 3)).all()


def test_four_normals_span_when_no_direction_leaves_them() -> None:
    """By linear programming: 0 = sum of w_i n_i with all w_i >= 1."""
    normals = HalfspaceLattice3(4, 1).normals
    found = set(spanning_fours(normals))
    assert len(found) == 684
    rng = np.random.default_rng(1)
    fours = list(itertools.combinations(normals, 4))
    picked = [fours[i] for i in rng.integers(0, len(fours), 300)] + sorted(found)[:60]
    for four in picked:
        matrix = np.array(four).T
        solved = optimize.linprog(np.ones(4), A_eq=matrix, b_eq=np.zeros(3), bounds=[(1, None)] * 4)
        spans = solved.success and np.linalg.matrix_rank(matrix) == 3
        assert (four in found) == spans


# -- scores and law ----------------------------------------------------------------------------


def brute(
    lattice: HalfspaceLattice3, sets: tuple, points: np.ndarray, labels: np.ndarray, score: Score
) -> tuple[list[tuple[LiftedRegion, ...]], np.ndarray]:
    """Every member with its score, one by one."""
    pieces, values = [], []
    for normals in sets:
        for levels in itertools.product(*(lattice.levels_of(n).tolist() for n in normals)):
            piece = tuple(lattice.member(n, t) for n, t in zip(normals, levels, strict=True))
            held = inside_piece(piece, points)
            pieces.append(piece)
            values.append(score.value(int((held & labels).sum()), int((held & ~labels).sum())))
    return pieces, np.array(values)


@pytest.mark.parametrize("rule", ["disjunction", "conjunction", "mistakes"])
@pytest.mark.parametrize("size", [1, 4])
def test_scores_are_those_of_each_member(rule: str, size: int) -> None:
    points, labels = cornered(3, 60, seed=2, dimensions=3)
    positives = int(labels.sum())
    score = mistakes_score(positives)
    if rule != "mistakes":
        score = set_cover_score(rule, 3, 12, positives, 60 - positives)  # type: ignore[arg-type]
    lattice = HalfspaceLattice3(3, 1, 3)
    sets = tuple((n,) for n in lattice.normals)
    if size == 4:
        sets = spanning_fours(lattice.normals)[::60]  # type: ignore[assignment]
    found = space_selection.values_of(lattice, sets, counted(points, labels, 3), score)
    values = np.concatenate([each.ravel() for each in found])
    assert values.tolist() == brute(lattice, sets, points, labels, score)[1].tolist()


@pytest.mark.parametrize("reach", [1, 2])
def test_halfspaces_are_drawn_by_their_scores(reach: int, monkeypatch) -> None:
    points, labels = cornered(2, 30, seed=3, dimensions=3)
    lattice = HalfspaceLattice3(2, reach)
    score = set_cover_score("conjunction", 2, 10, int(labels.sum()), int((~labels).sum()))
    pieces, values = brute(lattice, tuple((n,) for n in lattice.normals), points, labels, score)
    assert len(pieces) == lattice.members
    law = counted(points, labels, 2), score, 1.2
    assert_listed(monkeypatch, HalfspaceSelection3(lattice), law, pieces, values)


def test_simplices_are_drawn_by_their_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    lattice = HalfspaceLattice3(2, 1, 2)
    # one set in fifty: enumeration one by one takes long
    sets = spanning_fours(lattice.normals)[::50]
    monkeypatch.setattr("learners.curved.selection.spanning_fours", lambda _: sets)
    points, labels = cornered(2, 30, seed=5, dimensions=3)
    score = set_cover_score("disjunction", 1, 8, int(labels.sum()), int((~labels).sum()))
    pieces, values = brute(lattice, sets, points, labels, score)
    assert len(pieces) == simplex_count(lattice)
    law = counted(points, labels, 2), score, 0.9
    assert_listed(monkeypatch, SimplexSelection3(lattice), law, pieces, values)


# -- learners ----------------------------------------------------------------------------------


def test_classes_too_large_are_refused_with_their_size() -> None:
    X = np.zeros((1, 3), dtype=int)
    with pytest.raises(ValueError, match=r"44,\d{3},\d{3} simplices .* about 8 s"):
        SimplexUnionLearner(levels=16).steps(X, [0])
    with pytest.raises(ValueError, match=r"outside 1\.\.64"):
        ConvexPolytopeLearner(grid=65).steps(X, [0])
    with pytest.raises(ValueError, match=r"reach must be .* between 1 and 12"):
        ConvexPolytopeLearner(reach=13).steps(X, [0])
    with pytest.raises(ValueError, match="reach 1"):
        SimplexSelection3(HalfspaceLattice3(4, 2))


@pytest.mark.parametrize(
    ("X", "reason"),
    [
        ([[1, 2]], "minimum of 3 is required: x, y and z"),
        ([[1, 2, 3, 4]], "3 are expected"),
        ([[1, 2, 17]], "off the grid 0..16"),
    ],
)
def test_examples_have_three_coordinates(X: list, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        ConvexPolytopeLearner().steps(X, [1])
