"""Faces that lines cut, and the lengths that they share."""

import itertools

import numpy as np
import pytest
import shapely
from shapely.geometry import LineString, Point, Polygon, box

from learners.tiles.tidying import Faces, cut_faces

GRAIN = 1 / 64


def cut(rng: np.random.Generator, lines: int) -> Faces:
    ends = 64 * rng.uniform(-0.2, 1.2, (lines, 2, 2))
    square = box(0, 0, 64, 64)
    return cut_faces(
        [square.boundary, *(LineString(each).intersection(square) for each in ends)], GRAIN
    )


@pytest.mark.parametrize("seed", range(5))
def test_faces_divide_the_square(seed: int) -> None:
    faces = cut(np.random.default_rng(seed), 7)
    assert shapely.area(faces.figures).sum() == pytest.approx(64**2)
    assert shapely.union_all(faces.figures).area == pytest.approx(64**2)


@pytest.mark.parametrize("seed", range(5))
def test_pairs_share_what_shapely_says(seed: int) -> None:
    faces = cut(np.random.default_rng(seed), 7)
    expected = {}
    for i, j in itertools.combinations(range(len(faces.figures)), 2):
        both = faces.figures[i].intersection(faces.figures[j])
        if both.length > 0:
            expected[i, j] = both.length
    found = dict(zip(map(tuple, faces.pairs.tolist()), faces.lengths.tolist(), strict=True))
    assert found == pytest.approx(expected)
    # every side has two faces, or is the square's
    sides = 2 * sum(found.values()) + 4 * 64
    assert sides == pytest.approx(sum(figure.length for figure in faces.figures))


def test_faces_inside_a_shape() -> None:
    lines = [box(0, 0, 8, 8).boundary, box(2, 2, 4, 4).boundary]
    faces = cut_faces(lines, GRAIN)
    assert sorted(shapely.area(faces.figures)) == [4, 60]
    assert sorted(zip(shapely.area(faces.figures), faces.inside(box(2, 2, 4, 4)), strict=True)) == [
        (4, True),
        (60, False),
    ]
    assert faces.lengths.tolist() == [8]


def test_what_is_no_line_is_left_out() -> None:
    faces = cut_faces([box(0, 0, 8, 8).boundary, Point(3, 3), Polygon()], GRAIN)
    assert shapely.area(faces.figures).tolist() == [64]
    assert len(faces.pairs) == len(faces.lengths) == 0
