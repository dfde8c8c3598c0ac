"""Releases of pieces: shape and prediction agree."""

from dataclasses import replace

import numpy as np
import pytest
import shapely
from grids import grid_points

from geometry.halfplane import Halfplane, HalfplaneLattice, Measure
from learners.core.records import predict_pieces
from learners.core.releases import CoverRelease
from learners.core.selection import Role

D = 12


def random_halfplane(lattice: HalfplaneLattice, rng: np.random.Generator) -> Halfplane:
    """Uniform among those that cut the square, in either measure."""
    while True:
        sheet = lattice.sheets[int(rng.integers(0, len(lattice.sheets)))]
        if lattice.measure == "chord":
            u, v = (int(c) for c in rng.integers(lattice.low, lattice.high + 1, 2))
        else:
            # slopes and heights near the square; uniform ones are nearly all vertical
            u, v = (int(c) << lattice.bits for c in rng.integers(-D, D + 1, 2))
        if lattice.admits(u, v):
            return lattice.halfplane(sheet, u, v)


def random_release(role: Role, seed: int, measure: Measure = "chord") -> CoverRelease:
    rng = np.random.default_rng(seed)
    lattice = HalfplaneLattice(D, measure, 3)
    size = 3 if role == "disjunction" else 1
    pieces = tuple(tuple(random_halfplane(lattice, rng) for _ in range(size)) for _ in range(4))
    return CoverRelease("", lattice, (), None, role, pieces, ())


# -- prediction ----------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["disjunction", "conjunction"])
@pytest.mark.parametrize("measure", ["chord", "paper"])
@pytest.mark.parametrize("seed", range(5))
def test_prediction_is_containment_in_the_shape_off_its_boundaries(role, measure, seed):
    release = random_release(role, seed, measure)
    shape = release.shape()
    assert shape.is_valid
    halfplanes = [h for piece in release.pieces for h in piece]
    points = grid_points(D)
    # a shape has no area on its boundaries, nor on the square's sides
    clear = np.array(
        [
            0 < x < D
            and 0 < y < D
            and all(a * x + b * y != c for a, b, c in (h.coefficients for h in halfplanes))
            for x, y in points.tolist()
        ]
    )
    assert clear.sum() > 50
    predicted = release.predict(points[clear])
    contained = shapely.contains_xy(shape, points[clear].astype(float))
    np.testing.assert_array_equal(predicted, contained.astype(int))
    assert predicted.dtype == np.int64


def test_no_pieces_mean_nothing_or_everything() -> None:
    points = grid_points(D)
    assert not predict_pieces("disjunction", (), points).any()
    assert predict_pieces("conjunction", (), points).all()
    assert replace(random_release("disjunction", 1), pieces=()).shape().is_empty
    assert replace(random_release("conjunction", 1), pieces=()).shape().area == D * D
