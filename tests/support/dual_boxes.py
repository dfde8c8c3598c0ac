"""What lies in a rectangle of the envelope's boxes, told apart from how the sampler finds it."""

import itertools
import math
from fractions import Fraction

import numpy as np

from geometry.halfplane import HalfplaneLattice
from learners.envelope.boxes import class_sheets, line_of, paper_box, proposals, readings

#: A halfplane of the class: sheet, u and v.
Edge = tuple[int, int, int]
Rectangle = tuple[int, int, int, int]


def reading(lattice: HalfplaneLattice, sheet: int, u: int, v: int) -> Edge:
    """The sheet and cell of the boxes that hold a dual point of the class, by fractions."""
    if lattice.measure == "chord":
        return sheet, u, v
    cells, d = 1 << readings(lattice).bits, lattice.d
    b, a = Fraction(u, 1 << lattice.bits), Fraction(v, 1 << lattice.bits)
    ends = b, a * d + b
    if min(ends) > d:
        return sheet, d * cells + 3, d * cells + 3
    if max(ends) < 0:
        return sheet, -2, -2
    if abs(a) <= 1:
        return sheet, *(math.floor(end * cells) for end in ends)
    # where it crosses y = 0 and y = d; above a rising line is to the left of it
    crossings = -b / a, (d - b) / a
    right = (sheet == 1) == (a > 0)
    return 2 if right else 3, *(math.floor(x * cells) for x in crossings)


def holds(rectangle: Rectangle, u: int, v: int) -> bool:
    u0, u1, v0, v1 = rectangle
    return u0 <= u < u1 and v0 <= v < v1


def edges_in(lattice: HalfplaneLattice, sheet: int, rectangle: Rectangle) -> list[Edge]:
    """Every halfplane that a trial may draw from a rectangle, once for each way to draw it."""
    u0, u1, v0, v1 = rectangle
    paper = paper_box(lattice)
    if paper is None:
        every = itertools.product(range(u0, u1), range(v0, v1))
        return [(sheet, u, v) for u, v in every if lattice.admits(u, v)]
    side = lattice.d * paper.cells
    slopes, intercepts = proposals(paper, side, sheet, *rectangle)
    drawn = (
        line_of(paper, side, sheet, *rectangle, which, turn)
        for which in range(slopes)
        for turn in range(intercepts)
    )
    return [_in_class(sheet, b, a) for inside, b, a, _, _ in drawn if inside]


def some_edge(
    lattice: HalfplaneLattice, sheet: int, rectangle: Rectangle, rng: np.random.Generator
) -> Edge | None:
    """A halfplane that a trial may draw from a rectangle; None when the trial missed."""
    u0, u1, v0, v1 = rectangle
    paper = paper_box(lattice)
    if paper is None:
        u, v = int(rng.integers(u0, u1)), int(rng.integers(v0, v1))
        return (sheet, u, v) if lattice.admits(u, v) else None
    side = lattice.d * paper.cells
    slopes, intercepts = proposals(paper, side, sheet, *rectangle)
    which, turn = int(rng.integers(slopes)), int(rng.integers(intercepts))
    inside, b, a, _, _ = line_of(paper, side, sheet, *rectangle, which, turn)
    return _in_class(sheet, b, a) if inside else None


def _in_class(sheet: int, intercept: int, slope: int) -> Edge:
    theta = np.array([0] * 6 + [intercept, slope] + [0] * 4)
    return int(class_sheets(np.int64(sheet | 7 << 3 | 7 << 6), theta)) & 7, intercept, slope
