"""Three dimensions: the class, scores by brute force, the law, recovery, honest limits."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from counted import counted
from grids import cornered
from heard_draws import assert_listed
from scipy import optimize

from geometry.halfspaces import HalfspaceLattice3, LiftedRegion, spanning_fours
from learners import ConvexPolytopeLearner, SimplexUnionLearner
from learners.core.records import inside_piece
from learners.core.selection import Score, mistakes_score, set_cover_score
from learners.curved import listed_selection as space_selection
from learners.curved.listed_selection import HalfspaceSelection3, SimplexSelection3, simplex_count


def cube(d: int) -> np.ndarray:
    return np.indices((d + 1, d + 1, d + 1)).reshape(3, -1).T


# -- the class ---------------------------------------------------------------------------------


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
    points = cube(5)
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
    assert few.member((1, -1, 1), int(levels[0])).contains(cube(20)).all()


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
    monkeypatch.setattr("learners.curved.listed_selection.spanning_fours", lambda _: sets)
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
    with pytest.raises(ValueError, match="reach = 13"):
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
