"""Counting in O(1) agrees with testing every example, on tiny grids, wide ones and the largest."""

import itertools
from collections import Counter

import numpy as np
import pytest
from compiled import compiled
from counted import counted

from geometry import columns as column_loops, counting
from geometry.columns import NO_LINE, column_shift, count_columns, make_tables
from geometry.halfplane import MAX_D, Halfplane, HalfplaneLattice, Sheet

count_piece, line_row = compiled(counting.count_piece), compiled(counting.line_row)
unpack = compiled(column_loops.unpack)


def random_halfplanes(
    lattice: HalfplaneLattice, rng: np.random.Generator, count: int
) -> list[Halfplane]:
    """Admitted halfplanes, with many that pass through grid points, and vertical ones."""
    found: list[Halfplane] = []
    while len(found) < count:
        u, v = (int(c) for c in rng.integers(lattice.low, lattice.high + 1, 2))
        if rng.random() < 0.3:
            u = u >> lattice.bits << lattice.bits
        if rng.random() < 0.3:
            v = v >> lattice.bits << lattice.bits
        if rng.random() < 0.15:
            v = u
        if lattice.admits(u, v):
            sheet = lattice.sheets[rng.integers(len(lattice.sheets))]
            found.append(lattice.halfplane(sheet, u, v))
    return found


def assert_counts(
    lattice: HalfplaneLattice,
    points: np.ndarray,
    labels: np.ndarray,
    halfplanes: list[Halfplane],
    *,
    in_any_order: bool = False,
) -> None:
    """Every halfplane, and every triple of them, holds as many examples as counted."""
    tables = make_tables(count_columns(counted(points, labels, lattice.d)), lattice.basis, 1 << 22)
    inside = np.array([h.contains(points) for h in halfplanes])
    every = range(len(halfplanes))
    for label in (0, 1):
        rows = [line_row(tables, int(h.sheet), h.u, h.v, label) for h in halfplanes]
        parts = tables.lines, tables.below, tables.totals[label]
        own = inside[:, labels == label].astype(np.int64)
        wanted = np.einsum("ip,jp,kp->ijk", own, own, own)
        for i, j, k in (
            itertools.product(every, repeat=3)
            if in_any_order
            else itertools.combinations_with_replacement(every, 3)
        ):
            got = count_piece(*parts, rows[i], rows[j], rows[k])
            assert got == wanted[i, j, k], (halfplanes[i], halfplanes[j], halfplanes[k])
        alone = [count_piece(*parts, row, NO_LINE, NO_LINE) for row in rows]
        assert alone == own.sum(axis=1).tolist()


@pytest.mark.parametrize("measure", ["chord", "paper"])
def test_counts_of_all_triples_match_membership(measure: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(12):
        d = int(rng.integers(1, 12))
        lattice = HalfplaneLattice(d, measure, bits=int(rng.integers(0, 4)))
        points, labels = rng.integers(0, d + 1, (30, 2)), rng.random(30) < 0.5
        chosen = random_halfplanes(lattice, rng, 9)
        assert_counts(lattice, points, labels, chosen, in_any_order=True)


def test_counts_are_exact_on_the_largest_grid() -> None:
    rng = np.random.default_rng(1)
    lattice = HalfplaneLattice(MAX_D)
    # clusters around a few lines put many examples exactly on boundaries
    points = rng.integers(0, MAX_D + 1, (4000, 2))
    points[:1000, 1] = points[:1000, 0]
    diagonal = lattice.halfplane(lattice.sheets[0], 0, MAX_D << lattice.bits)
    chosen = [diagonal, *random_halfplanes(lattice, rng, 15)]
    assert_counts(lattice, points, rng.random(4000) < 0.5, chosen)


# -- wide columns: more than one abscissa in each ---------------------------------------------

#: The least grid with wide columns, some whose last column is cut short, and the largest.
WIDE = [2049, 4097, 5000, 2**16 + 3, MAX_D]


def spread(d: int, rng: np.random.Generator) -> np.ndarray:
    """Examples all over the square, at its corners, and on lines through them."""
    points = rng.integers(0, d + 1, (300, 2))
    points[:60, 1] = points[:60, 0]
    points[60:120, 1] = d - points[60:120, 0]
    points[120:130, 0] = d // 2
    points[130:134] = [(0, 0), (d, 0), (0, d), (d, d)]
    return points


def crowded(d: int, rng: np.random.Generator) -> np.ndarray:
    """All examples in one cell, many at one place."""
    width = 1 << column_shift(d)
    corner = d // 3 >> column_shift(d) << column_shift(d)
    points = corner + rng.integers(0, width, (200, 2))
    points[:40] = points[0]
    return points


def last_column(d: int, rng: np.random.Generator) -> np.ndarray:
    """Examples in the last column, which may be narrower than the others, and beside it."""
    points = rng.integers(0, d + 1, (100, 2))
    points[:, 0] = d - rng.integers(0, 2 << column_shift(d), 100)
    return points


def fan(lattice: HalfplaneLattice, at: tuple[int, int]) -> list[Halfplane]:
    """Halfplanes on all sheets whose boundaries pass through a grid point, vertical ones too."""
    found = []
    for sheet, slope in itertools.product(lattice.sheets, (-1, 0, 1)):
        t, height = at if sheet.flat else at[::-1]
        u = height - slope * t
        v = u + slope * lattice.d if lattice.measure == "chord" else slope
        found.append(lattice.halfplane(sheet, u << lattice.bits, v << lattice.bits))
    return found


def test_columns_hold_every_example_in_its_cell() -> None:
    rng = np.random.default_rng(4)
    for d in (2048, *WIDE):
        points, labels = spread(d, rng), rng.random(300) < 0.3
        shift = column_shift(d)
        assert shift == 0 or 513 <= (d >> shift) + 1 <= 1024
        for label, packed in enumerate(count_columns(counted(points, labels, d))):
            columns = unpack(packed)
            own = points[labels == label]
            assert (columns.d, columns.shift) == (d, shift)
            assert columns.before[-1] == len(own)
            cells = np.diff(columns.cells, axis=1)
            where = own >> shift
            assert np.array_equal(np.argwhere(cells), np.unique(where, axis=0))
            if not shift:
                assert cells.sum() == len(own)
                continue
            places, amounts = columns.entries[:-1, :2], np.diff(columns.entries[:, 2])
            held = zip(map(tuple, places.tolist()), amounts.tolist(), strict=True)
            assert sorted(held) == sorted(Counter(map(tuple, own.tolist())).items())
            assert columns.entries[[0, -1], 2].tolist() == [0, len(own)]
            where = places >> shift
            assert np.array_equal(where, where[np.lexsort((where[:, 1], where[:, 0]))])
            in_column = np.bincount(where[:, 0], minlength=len(cells))
            assert np.array_equal(columns.cells[:, 0], np.cumsum(in_column) - in_column)
            assert np.array_equal(cells.sum(axis=1), in_column)
            assert np.array_equal(cells[tuple(where.T)] > 0, np.ones(len(where), dtype=bool))


@pytest.mark.parametrize("placed", [spread, crowded, last_column])
@pytest.mark.parametrize("measure", ["chord", "paper"])
@pytest.mark.parametrize("d", WIDE)
def test_wide_counts_match_membership(d, measure, placed):
    """Crossings within columns and exactly between two of them; rulers may change at both."""
    rng = np.random.default_rng(d)
    lattice = HalfplaneLattice(d, measure)
    points = placed(d, rng)
    labels = rng.random(len(points)) < 0.5
    x, y = (int(c) for c in points[0])
    between = x >> column_shift(d) << column_shift(d)
    fans = [*fan(lattice, (between, y)), *fan(lattice, (max(between - 1, 0), y))]
    fans += fan(lattice, (x, y))
    chosen = [fans[i] for i in rng.permutation(len(fans))[:14]]
    chosen += random_halfplanes(lattice, rng, 8)
    assert_counts(lattice, points, labels, chosen)


@pytest.mark.parametrize("measure", ["chord", "paper"])
@pytest.mark.parametrize("d", WIDE)
def test_wide_counts_are_exact_at_the_corners_of_boxes(d: int, measure: str) -> None:
    """Where coefficients are largest, outside the class too; Python's integers do not overflow."""
    rng = np.random.default_rng(d + 1)
    lattice = HalfplaneLattice(d, measure)
    points = spread(d, rng)
    labels = rng.random(len(points)) < 0.5
    tables = make_tables(count_columns(counted(points, labels, d)), lattice.basis, 1 << 20)
    s = d << lattice.bits
    ends = (-s, 0, s + 1, 2 * s + 1) if measure == "chord" else (lattice.low, 0, lattice.high + 1)
    lines = [
        (int(sheet), u, v)
        for sheet in lattice.sheets
        for u, v in itertools.product(ends, ends)
        if measure == "paper" or abs(u - v) <= 2 * s + 1
    ]
    chosen = [lines[i] for i in rng.permutation(len(lines))[:24]]
    inside = np.array([exactly_inside(lattice, line, points) for line in chosen])
    for label in (0, 1):
        rows = [line_row(tables, *line, label) for line in chosen]
        for i, j, k in rng.integers(0, len(chosen), (300, 3)):
            got = count_piece(
                tables.lines, tables.below, tables.totals[label], rows[i], rows[j], rows[k]
            )
            held = inside[i] & inside[j] & inside[k] & (labels == label)
            assert got == np.count_nonzero(held), [chosen[n] for n in (i, j, k)]


def exactly_inside(
    lattice: HalfplaneLattice, line: tuple[int, int, int], points: np.ndarray
) -> list[bool]:
    """Membership in Python's integers."""
    sheet, u, v = line
    a, b, c = Halfplane(lattice, Sheet(sheet), u, v).coefficients
    return [a * x + b * y >= c for x, y in points.tolist()]


def test_wide_columns_without_examples_count_nothing() -> None:
    lattice = HalfplaneLattice(5000)
    points = np.array([[17, 4999], [17, 4998], [5000, 0]])
    totals = count_columns(counted(points, np.ones(3), 5000))
    tables = make_tables(totals, lattice.basis, 0)
    for label, wanted in ((0, 0), (1, 3)):
        row = line_row(tables, 0, 0, 0, label)
        got = count_piece(tables.lines, tables.below, totals[label], row, NO_LINE, NO_LINE)
        assert got == wanted


def test_a_full_table_says_so_and_starts_again() -> None:
    lattice = HalfplaneLattice(4, bits=2)
    points = np.array([[0, 0], [1, 3], [4, 4]])
    labels = np.array([True, False, True])
    tables = make_tables(count_columns(counted(points, labels, 4)), lattice.basis, 0)
    rows = [line_row(tables, 0, u, v, 1) for u in range(17) for v in range(17)]
    assert len(tables.lines) == 256
    assert rows.count(-1) == 17 * 17 - 255
    assert len(set(rows)) == 256
