"""Rows of three dimensions and of linearization: polytopes, simplices, balls, discs, polynomials.

Kaplan, Mansour, Matias, Stemmer 2019 (KMMS), section 6: "our results extend".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from geometry.grid_counts import GridCounts
from geometry.lift import (
    BallLattice,
    Conic,
    ConicKind,
    ConicLattice,
    HalfspaceLattice3,
    PolynomialLattice,
)
from learners.core.selection import mistakes_score
from learners.curved.curved_learners import (
    BallUnionLearner,
    ConvexPolytopeLearner,
    DiscUnionLearner,
    EllipseUnionLearner,
    PolynomialUnionLearner,
    SimplexUnionLearner,
)
from learners.curved.selection import SimplexSelection3, simplex_count
from learners.theory.cover_sizes import CoverPlan, set_cover_examples
from promises.plane import covered
from promises.row import Row, Verdict, always, exact

_ALPHA, _BETA = 0.25, 0.1
_KEPT = f"error at most {_ALPHA:g} with probability {1 - _BETA:g}"


def _cube(d: int, dimensions: int = 3) -> NDArray[np.int64]:
    return np.indices((d + 1,) * dimensions).reshape(dimensions, -1).T.astype(np.int64)


def _plan(members: int, k: int, *, softened: bool = False) -> CoverPlan:
    return set_cover_examples(members, k, _ALPHA, _BETA, softened=softened)


def _promised(
    plan: CoverPlan, k: int, d: int, dimensions: int, target: Callable[[int], NDArray[np.bool_]],
    learner: Any, **more: Any,
) -> Callable[[int], Verdict]:  # fmt: skip
    """The verdict on theorem 3.2 for a learner of one of these classes."""
    given = {"k": k, "grid": d, "n_steps": plan.steps, "beta": plan.beta, **more}
    assert plan.examples is not None
    return covered(
        target, _cube(d, dimensions), d, plan.examples, _ALPHA,
        lambda i: learner(**given, seed=i), beta=_BETA,
    )  # fmt: skip


def _frequent(draw: Callable[[np.random.Generator], NDArray[np.bool_]], seed: int) -> Any:
    """A random target that holds a fair part of the points, and not most."""
    rng = np.random.default_rng(seed)
    while True:
        truth = draw(rng)
        if 0.08 < truth.mean() < 0.8:
            return truth


# -- 10: three dimensions ----------------------------------------------------------------------

_D3, _K = 8, 2
_HALFSPACES = HalfspaceLattice3(_D3, 1, 8)
_POINTS = _cube(_D3)


def _some_halfspace(rng: np.random.Generator) -> NDArray[np.bool_]:
    normals = _HALFSPACES.normals
    normal = normals[int(rng.integers(len(normals)))]
    level = int(rng.choice(_HALFSPACES.levels_of(normal)))
    return _HALFSPACES.member(normal, level).contains(_POINTS)


def _polytope(seed: int) -> NDArray[np.bool_]:
    return _frequent(lambda rng: _some_halfspace(rng) & _some_halfspace(rng), seed)


_TETRAHEDRA = HalfspaceLattice3(_D3, 1, 4)


def _simplex(seed: int) -> NDArray[np.bool_]:
    sets = SimplexSelection3(_TETRAHEDRA)._sets()

    def draw(rng: np.random.Generator) -> NDArray[np.bool_]:
        inside = np.ones(len(_POINTS), dtype=np.bool_)
        for normal in sets[int(rng.integers(len(sets)))]:
            inside &= _POINTS @ normal >= rng.choice(_TETRAHEDRA.levels_of(normal))
        return inside

    return _frequent(draw, seed)


_BALLS = BallLattice(_D3, 9, 8)


def _ball(seed: int) -> NDArray[np.bool_]:
    def draw(rng: np.random.Generator) -> NDArray[np.bool_]:
        normal = _BALLS.normals[int(rng.integers(_BALLS.directions))]
        return _BALLS.member(normal, int(rng.choice(_BALLS.levels_of(normal)))).contains(_POINTS)

    return _frequent(draw, seed)


_POLYTOPE_PLAN = _plan(_HALFSPACES.members, _K)
_SIMPLEX_PLAN = _plan(simplex_count(_TETRAHEDRA), 1)
_BALL_PLAN = _plan(_BALLS.members, 1)

# -- 10: how well classes fit ------------------------------------------------------------------

_FIT_D = 16
_CUBE = _cube(_FIT_D)


def _tetrahedron(seed: int) -> list[NDArray[np.bool_]]:
    """The four halfspaces of a random tetrahedron of at least a twenty-fifth of the cube."""
    rng = np.random.default_rng(seed)
    while True:
        corners = rng.integers(0, _FIT_D + 1, (4, 3))
        if abs(np.linalg.det(corners[1:] - corners[0])) / 6 >= 0.04 * _FIT_D**3:
            break
    faces = []
    for far in range(4):
        a, b, c = np.delete(corners, far, axis=0)
        normal = np.cross(b - a, c - a)
        normal *= int(np.sign(normal @ (corners[far] - a)))
        faces.append(_CUBE @ normal >= normal @ a)
    return faces


def _nearest_halfspace(lattice: HalfspaceLattice3, face: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Of the sixty normals nearest to that of the face, the member of fewest mistakes."""
    normals = np.array(lattice.normals)
    fitted = np.linalg.lstsq(np.c_[_CUBE, np.ones(len(_CUBE))], face.astype(float), rcond=None)
    near = normals @ fitted[0][:3] / np.linalg.norm(normals, axis=1)
    best, fewest = face, len(_CUBE) + 1
    for normal in normals[np.argsort(-near)[:60]]:
        levels, heights = lattice.levels_of(tuple(normal.tolist())), _CUBE @ normal
        held = np.searchsorted(levels, heights, side="right") - 1
        above = [
            np.bincount(held[side], minlength=len(levels))[::-1].cumsum()[::-1]
            for side in (face, ~face)
        ]
        wrong = face.sum() - above[0] + above[1]
        if wrong.min() < fewest:
            fewest, best = int(wrong.min()), heights >= levels[wrong.argmin()]
    return best


def _fits(reach: int, levels: int, allowed: float) -> Callable[[int], Verdict]:
    """Four halfspaces, each nearest to a face: some member errs no more than their intersection."""

    def check(runs: int) -> Verdict:
        lattice = HalfspaceLattice3(_FIT_D, reach, levels)
        found, nothing = [], []
        for seed in range(runs):
            faces = _tetrahedron(seed)
            truth = np.logical_and.reduce(faces)
            near = np.logical_and.reduce([_nearest_halfspace(lattice, face) for face in faces])
            found.append(float((near != truth).mean()))
            nothing.append(float(truth.mean()))
        outcome = (
            f"{min(found):.2%} to {max(found):.2%}, {np.mean(found):.2%} on average, of {runs} "
        )
        outcome += f'tetrahedra; "all 0" errs on {min(nothing):.1%} to {max(nothing):.1%}'
        return always(float(np.mean(found)) <= allowed, outcome)

    return check


def _simplices_fit(runs: int) -> Verdict:
    """The best member itself, by the scores of all."""
    from learners.curved import selection as selection

    lattice = HalfspaceLattice3(_FIT_D, 1, 8)
    sets = SimplexSelection3(lattice)._sets()
    found = []
    for seed in range(runs):
        truth = np.logical_and.reduce(_tetrahedron(seed))
        counts = GridCounts.of_examples(_CUBE, truth, _FIT_D)
        scores = selection.values_of(lattice, sets, counts, mistakes_score(int(truth.sum())))
        found.append(-max(int(values.max()) for values in scores) / len(_CUBE))
    outcome = (
        f"the best of 2,801,664 errs on {min(found):.1%} to {max(found):.1%} of {runs} tetrahedra"
    )
    return always(max(found) <= 0.005, outcome)


# -- 11: linearization -------------------------------------------------------------------------

_D2 = 16
_PLANE = _cube(_D2, 2)


def _lifted(points: NDArray[np.int64], kind: ConicKind) -> NDArray[np.int64]:
    """(x, y, x^2 + y^2) for discs, (x, y, x^2, x*y, y^2) for ellipses."""
    x, y = points.T
    if kind == "disc":
        return np.column_stack([x, y, x * x + y * y])
    return np.column_stack([x, y, x * x, x * y, y * y])


def _halfspace(conic: Conic) -> tuple[int, ...]:
    """Integers (c1, ..., cm, c): the member is {c1*z1 + ... + cm*zm <= c} of lifted points z."""
    unit = 1 << conic.lattice.bits
    if conic.lattice.kind == "disc":
        p, q, r = conic.parameters
        return -2 * p * unit, -2 * q * unit, unit * unit, r * r - p * p - q * q
    p, q, w, h, t = conic.parameters
    # e*(X-p)^2 + f*(X-p)*(Y-q) + g*(Y-q)^2 <= h^2 * w^2
    e, f, g = t * t + h * h, -2 * w * t, w * w
    a, b = -2 * e * p - f * q, -2 * g * q - f * p
    c = h * h * w * w - e * p * p - f * p * q - g * q * q
    square = unit * unit
    return a * unit, b * unit, e * square, f * square, g * square, c


def _lifts(runs: int) -> Verdict:
    """Discs and ellipses are halfspaces of the lifted points, and so are polynomials."""
    good = True
    for i in range(runs):
        rng = np.random.default_rng(i)
        for kind in get_args(ConicKind):
            lattice = ConicLattice(_D2, kind)
            conic = lattice.conic(
                *(
                    int(rng.integers(a, b + 1))
                    for a, b in zip(lattice.low, lattice.high, strict=True)
                )
            )
            *normal, level = _halfspace(conic)
            heights = _lifted(_PLANE, kind).astype(object) @ np.array(normal, dtype=object)
            good &= bool((conic.contains(_PLANE) == (heights <= level)).all())
        ball = _BALLS.member(_BALLS.normals[i % _BALLS.directions], 0)
        centre = np.array(ball.normal[:3]) / 2 / (_BALLS.centres - 1)
        away = (((_BALLS.centres - 1) * _POINTS - centre) ** 2).sum(axis=1)
        radius = _BALLS.levels_of(ball.normal)
        inside = away <= (centre**2).sum() - radius[2]
        held = _BALLS.member(ball.normal, int(radius[2])).contains(_POINTS)
        good &= bool((inside == held).all())
    return exact(good, f"{runs} discs, ellipses and balls, at every grid point")


def _conic(kind: ConicKind) -> Callable[[int], NDArray[np.bool_]]:
    lattice = ConicLattice(_D2, kind)
    ranges = tuple(zip(lattice.low, lattice.high, strict=True))

    def draw(rng: np.random.Generator) -> NDArray[np.bool_]:
        given = (int(rng.integers(low, high + 1)) for low, high in ranges)
        return lattice.conic(*given).contains(_PLANE)

    return lambda seed: _frequent(draw, seed)


def _polynomial(lattice: PolynomialLattice) -> Callable[[int], NDArray[np.bool_]]:
    def draw(rng: np.random.Generator) -> NDArray[np.bool_]:
        normal = tuple(rng.integers(-lattice.reach, lattice.reach + 1, len(lattice.exponents)))
        if math.gcd(*(int(entry) for entry in normal)) != 1:
            return np.zeros(len(_PLANE), dtype=np.bool_)
        level = int(rng.choice(lattice.levels_of(normal)))
        return lattice.member(normal, level).contains(_PLANE)

    return lambda seed: _frequent(draw, seed)


_SQUARES, _CUBICS = PolynomialLattice(_D2, 2, 2, 1, 32), PolynomialLattice(_D2, 2, 3, 1, 8)
_CONIC_PLANS = {
    kind: _plan(ConicLattice(_D2, kind).members, 1, softened=True) for kind in ("disc", "ellipse")
}
_SQUARES_PLAN, _CUBICS_PLAN = _plan(_SQUARES.members, 1), _plan(_CUBICS.members, 1)


def _polynomials_fit(runs: int) -> Verdict:
    """Random quadrics through random points: the best member of the default class."""
    from learners.curved import selection as selection

    lattice = PolynomialLattice(_D2)
    sets = tuple((normal,) for normal in lattice.normals)
    found = []
    for seed in range(runs):

        def draw(rng: np.random.Generator) -> NDArray[np.bool_]:
            u = (2 * _PLANE - _D2) / _D2
            x, y = u.T
            terms = np.stack([np.ones(len(u)), x, y, x * x, x * y, y * y], axis=1)
            return np.asarray(terms @ rng.normal(size=6) >= 0)

        truth = _frequent(draw, seed)
        counts = GridCounts.of_examples(_PLANE, truth, _D2)
        scores = selection.values_of(lattice, sets, counts, mistakes_score(int(truth.sum())))
        found.append(-max(int(values.max()) for values in scores) / len(_PLANE))
    outcome = (
        f"the best member errs on {min(found):.1%} to {max(found):.1%}, {np.mean(found):.1%} on "
    )
    return always(float(np.mean(found)) <= 0.04, f"{outcome}average, of {runs} regions")


_RANDOM = "random members of the class, random weights, epsilon = 1, delta = 1e-6"
_ENUMERATED = "The source enumerates the cells of an arrangement; here a public class is listed."
_SOFTENED = (
    "Boxes of a public lattice are refined, by softened scores (docs/decisions/0019), "
    "where the source enumerates cells."
)

ROWS: tuple[Row, ...] = (
    Row(
        (10,), "KMMS, theorem 3.2 and section 6, on halfspaces",
        f"The private polytope in space: {_KEPT}.",
        f"{_RANDOM}, d = {_D3}, {_HALFSPACES.members} halfspaces, k = {_K}, n = "
        f"{_POLYTOPE_PLAN.examples:,}",
        _promised(_POLYTOPE_PLAN, _K, _D3, 3, _polytope, ConvexPolytopeLearner, reach=1, levels=8),
        300, 8, _ENUMERATED,
    ),
    Row(
        (10,), "KMMS, theorem 3.2 and section 6, on simplices",
        f"The private simplex in space: {_KEPT}.",
        f"{_RANDOM}, d = {_D3}, {simplex_count(_TETRAHEDRA):,} simplices, n = "
        f"{_SIMPLEX_PLAN.examples:,}",
        _promised(_SIMPLEX_PLAN, 1, _D3, 3, _simplex, SimplexUnionLearner, levels=4),
        100, 1, _ENUMERATED,
    ),
    Row(
        (10,), "learners/curved/curved_learners.py, for KMMS's section 6",
        "Random tetrahedra are met within 0.5 % on average by polytopes of four halfspaces of "
        "reach 12.",
        f"d = {_FIT_D}, tetrahedra of at least 4 % of the cube", _fits(12, 576, 0.005), 40, 1,
        "The reach is 4 by default, which is quicker and as good for fewer examples.",
    ),
    Row(
        (10,), "learners/curved/curved_learners.py, for KMMS's section 6",
        "Random tetrahedra are met within 2 % on average by polytopes of the default class.",
        f"d = {_FIT_D}, reach 4, 128 levels", _fits(4, 128, 0.02), 40, 4,
    ),
    Row(
        (10,), "learners/curved/curved_learners.py, for KMMS's section 6",
        "Random tetrahedra are met within 0.5 % by simplices of the class.",
        f"d = {_FIT_D}, 8 levels", _simplices_fit, 6, 1,
        "The limit of unions of simplices: faces have the 26 directions with entries -1, 0 and 1, "
        "as sets of four finer ones are too many to be listed. One simplex is learned as a "
        "polytope of four faces.",
        known_wrong=True,
    ),
    Row(
        (11, 10), "KMMS, section 6: balls",
        f"The private ball in space: {_KEPT}.",
        f"{_RANDOM}, d = {_D3}, {_BALLS.members:,} balls, n = {_BALL_PLAN.examples:,}",
        _promised(_BALL_PLAN, 1, _D3, 3, _ball, BallUnionLearner, centres=9, levels=8),
        150, 3, _ENUMERATED,
    ),
    Row(
        (11,), "KMMS, section 6: linearization",
        "Discs, ellipses and balls are halfspaces of lifted points.",
        f"random members, in whole numbers, d = {_D2} and {_D3}", _lifts, 300, 20,
    ),
    *(
        Row(
            (11,), f"KMMS, theorem 3.2 and section 6, on {kind}s",
            f"The private {kind}: {_KEPT}.",
            f"{_RANDOM}, d = {_D2}, n = {_CONIC_PLANS[kind].examples:,}",
            _promised(_CONIC_PLANS[kind], 1, _D2, 2, _conic(kind), learner), runs, short,
            _SOFTENED,
        )
        for kind, learner, runs, short in (
            ("disc", DiscUnionLearner, 300, 5),
            ("ellipse", EllipseUnionLearner, 100, 1),
        )
    ),
    Row(
        (11,), "KMMS, theorem 3.2 and section 6, on polynomials of degree 2",
        f"The private region: {_KEPT}.",
        f"{_RANDOM}, d = {_D2}, {_SQUARES.members:,} regions, n = {_SQUARES_PLAN.examples:,}",
        _promised(
            _SQUARES_PLAN, 1, _D2, 2, _polynomial(_SQUARES), PolynomialUnionLearner, degree=2,
            reach=1, levels=32,
        ),
        200, 4, _ENUMERATED,
    ),
    Row(
        (11,), "KMMS, theorem 3.2 and section 6, on polynomials of degree 3",
        f"The private region: {_KEPT}.",
        f"{_RANDOM}, d = {_D2}, {_CUBICS.members:,} regions, n = {_CUBICS_PLAN.examples:,}",
        _promised(
            _CUBICS_PLAN, 1, _D2, 2, _polynomial(_CUBICS), PolynomialUnionLearner, degree=3,
            reach=1, levels=8,
        ),
        80, 1, _ENUMERATED,
    ),
    Row(
        (11,), "learners/curved/curved_learners.py, for KMMS's section 6",
        "Regions bounded by random polynomials of degree 2 are met within 4 % on average by "
        "members of the default class.",
        f"d = {_D2}, coefficients of the normal law; reach 2, 64 levels", _polynomials_fit, 20, 1,
        "A finer class takes a larger reach, and more time.",
    ),
)  # fmt: skip
