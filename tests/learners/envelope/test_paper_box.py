"""Boxes of KMMS's own measure: every line once, between its corners, in 64 bits."""

from collections import Counter

import numpy as np
import pytest
from dual_boxes import Rectangle, edges_in, holds, reading
from numba import njit

from geometry.halfplane import MAX_D, Halfplane, HalfplaneLattice, Sheet
from learners.envelope.boxes import (
    SHEETS,
    around,
    first_boxes,
    line_of,
    paper_box,
    proposals,
    readings,
)

TINY = [HalfplaneLattice(d, "paper", bits) for d, bits in ((1, 0), (1, 2), (2, 1), (3, 1), (4, 0))]


def rectangle_of(box: np.ndarray) -> Rectangle:
    u0, u1, v0, v1 = (int(end) for end in box[:4])
    return u0, u1, v0, v1


@pytest.mark.parametrize("lattice", TINY, ids=str)
def test_the_first_boxes_propose_every_line_of_the_class_once(lattice: HalfplaneLattice) -> None:
    proposed = Counter(
        edge
        for box in first_boxes(lattice, 1)
        for edge in edges_in(lattice, int(box[SHEETS]) & 7, rectangle_of(box))
    )
    every = range(lattice.low, lattice.high + 1)
    assert proposed == Counter((s, u, v) for s in lattice.sheets for u in every for v in every)


@pytest.mark.parametrize("lattice", TINY, ids=str)
def test_a_rectangle_proposes_the_lines_that_are_read_in_it(lattice: HalfplaneLattice) -> None:
    """Each once, and no others; rectangles as halving makes them, down to single cells."""
    rng = np.random.default_rng(lattice.d)
    every = range(lattice.low, lattice.high + 1)
    read = [
        (reading(lattice, s, u, v), (int(s), u, v))
        for s in lattice.sheets
        for u in every
        for v in every
    ]
    some = 0
    for box in first_boxes(lattice, 1):
        sheet = int(box[SHEETS]) & 7
        for _ in range(12):
            u0, u1, v0, v1 = rectangle_of(box)
            (_, p, q), _ = read[rng.integers(len(read))]
            for _ in range(rng.integers(60)):
                # halve towards some line's reading, or anywhere
                if u1 - u0 > 1 and (v1 - v0 == 1 or rng.random() < 0.5):
                    middle = (u0 + u1) >> 1
                    u0, u1 = (u0, middle) if p < middle else (middle, u1)
                elif v1 - v0 > 1:
                    middle = (v0 + v1) >> 1
                    v0, v1 = (v0, middle) if q < middle else (middle, v1)
            own, inside = (u0, u1, v0, v1), Counter(edges_in(lattice, sheet, (u0, u1, v0, v1)))
            within = (edge for (s, p, q), edge in read if s == sheet and holds(own, p, q))
            assert inside == Counter(within)
            some += bool(inside)
    assert some > 20


@pytest.mark.parametrize("lattice", TINY, ids=str)
def test_pictures_show_rectangles_around_all_lines(lattice: HalfplaneLattice) -> None:
    own = paper_box(lattice)
    side = lattice.d * own.cells
    for box in first_boxes(lattice, 1):
        sheet = int(box[SHEETS]) & 7
        u0, u1, v0, v1 = rectangle_of(box)
        for part in ((u0, u1, v0, v1), ((u0 + u1) >> 1, u1, v0, v1), (u0, u1, v0, (v0 + v1) >> 1)):
            if part[0] == part[1] or part[2] == part[3]:
                continue
            found, shares = np.zeros((2, 5), dtype=np.int64), np.zeros(2)
            row = np.array([[sheet, *part]])
            around(own, side, row[:, 0], row[:, 1:], found, shares)
            edges = edges_in(lattice, sheet, part)
            if not edges:
                continue
            assert shares.sum() == pytest.approx(1)
            rows = [(s, (a, b, c, e)) for s, a, b, c, e in found[shares > 0].tolist()]
            assert all(any(s == own and holds(r, u, v) for own, r in rows) for s, u, v in edges)


@pytest.mark.parametrize("lattice", [*TINY, HalfplaneLattice(4, "paper", 3)], ids=str)
def test_a_line_lies_between_the_corners_of_its_cell(lattice: HalfplaneLattice) -> None:
    made_of = readings(lattice)
    xs, ys = np.meshgrid(np.arange(lattice.d + 1), np.arange(lattice.d + 1))
    points = np.stack([xs.ravel(), ys.ravel()], axis=1)
    rng = np.random.default_rng(2)
    for u, v in rng.integers(lattice.low, lattice.high + 1, (3000, 2)).tolist():
        for own in lattice.sheets:
            sheet, p, q = reading(lattice, own, u, v)
            near = Halfplane(made_of, Sheet(sheet), p, q).contains(points)
            far = Halfplane(made_of, Sheet(sheet), p + 1, q + 1).contains(points)
            line = Halfplane(lattice, own, u, v).contains(points)
            outer, inner = (near, far) if Sheet(sheet).upper else (far, near)
            assert (inner <= line).all()
            assert (line <= outer).all()


@njit
def _compiled(own, side, sheet, p0, p1, q0, q1, share, other):  # type: ignore[no-untyped-def]
    slopes, intercepts = proposals(own, side, sheet, p0, p1, q0, q1)
    if slopes * float(intercepts) == 0.0:
        return slopes, intercepts, (False, 0, 0, 0, 0)
    which, turn = int(share * (slopes - 1)), int(other * (intercepts - 1))
    return slopes, intercepts, line_of(own, side, sheet, p0, p1, q0, q1, which, turn)


@pytest.mark.parametrize("d", [1, 1000, 1024, 1025, 4097, 2**15, 2**18 - 1, MAX_D - 1, MAX_D])
def test_64_bits_hold_all_that_is_computed(d: int) -> None:
    """Compiled, the same as with integers of any size, from the whole square to single cells."""
    lattice = HalfplaneLattice(d, "paper")
    own = paper_box(lattice)
    side = d * own.cells
    rng = np.random.default_rng(d)
    drawn = 0
    for box in first_boxes(lattice, 1):
        sheet = int(box[SHEETS]) & 7
        for _ in range(60):
            u0, u1, v0, v1 = rectangle_of(box)
            for _ in range(rng.integers(50)):
                if u1 - u0 > 1 and rng.random() < 0.5:
                    u0, u1 = [(u0, (u0 + u1) >> 1), ((u0 + u1) >> 1, u1)][rng.integers(2)]
                elif v1 - v0 > 1:
                    v0, v1 = [(v0, (v0 + v1) >> 1), ((v0 + v1) >> 1, v1)][rng.integers(2)]
            share, other = rng.choice([0.0, 1.0, rng.random()], 2).tolist()
            given = (own, side, sheet, u0, u1, v0, v1, share, other)
            found = _compiled(*given)
            assert found == _compiled.py_func(*given)
            # masked rejection draws below 2**48
            assert 0 <= found[0] <= 2**48
            assert 0 <= found[1] <= 2**48
            drawn += found[2][0]
    assert drawn > 100
