"""Counting in O(1) agrees with testing every example, on tiny grids and at the size limit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from geometry.counting import NO_LINE, count_columns, count_piece, line_row, make_tables
from geometry.halfplane import MAX_D, Halfplane, HalfplaneLattice


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


@pytest.mark.parametrize("measure", ["chord", "paper"])
def test_counts_of_all_triples_match_membership(measure: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(25):
        d = int(rng.integers(1, 12))
        lattice = HalfplaneLattice(d, measure, bits=int(rng.integers(0, 4)))
        points = rng.integers(0, d + 1, (30, 2))
        labels = rng.random(30) < 0.5
        tables = make_tables(count_columns(points, labels, d), lattice.basis, 1 << 20)
        halfplanes = random_halfplanes(lattice, rng, 9)
        inside = [h.contains(points) for h in halfplanes]
        for label in (0, 1):
            rows = [line_row(tables, int(h.sheet), h.u, h.v, label) for h in halfplanes]
            counted = {}
            for i, j, k in itertools.product(range(9), repeat=3):
                counted[i, j, k] = count_piece(
                    tables.lines, tables.below, tables.totals[label], rows[i], rows[j], rows[k]
                )
            for (i, j, k), got in counted.items():
                want = np.count_nonzero(inside[i] & inside[j] & inside[k] & (labels == label))
                assert got == want, (d, halfplanes[i], halfplanes[j], halfplanes[k])
            for i in range(9):
                alone = count_piece(
                    tables.lines, tables.below, tables.totals[label], rows[i], NO_LINE, NO_LINE
                )
                assert alone == np.count_nonzero(inside[i] & (labels == label))


def test_counts_are_exact_on_the_largest_grid() -> None:
    rng = np.random.default_rng(1)
    lattice = HalfplaneLattice(MAX_D)
    # clusters around a few lines put many examples exactly on boundaries
    points = rng.integers(0, MAX_D + 1, (4000, 2))
    points[:1000, 1] = points[:1000, 0]
    labels = rng.random(4000) < 0.5
    tables = make_tables(count_columns(points, labels, MAX_D), lattice.basis, 1 << 22)
    halfplanes = random_halfplanes(lattice, rng, 40)
    diagonal = lattice.halfplane(lattice.sheets[0], 0, MAX_D << lattice.bits)
    for first, second, third in itertools.islice(
        itertools.permutations([diagonal, *halfplanes], 3), 0, 60_000, 97
    ):
        for label in (0, 1):
            rows = [line_row(tables, int(h.sheet), h.u, h.v, label) for h in (first, second, third)]
            got = count_piece(tables.lines, tables.below, tables.totals[label], *rows)
            inside = first.contains(points) & second.contains(points) & third.contains(points)
            assert got == np.count_nonzero(inside & (labels == label))


def test_a_full_table_says_so_and_starts_again() -> None:
    lattice = HalfplaneLattice(4, bits=2)
    points = np.array([[0, 0], [1, 3], [4, 4]])
    labels = np.array([True, False, True])
    tables = make_tables(count_columns(points, labels, 4), lattice.basis, 0)
    rows = [line_row(tables, 0, u, v, 1) for u in range(17) for v in range(17)]
    assert len(tables.lines) == 256
    assert rows.count(-1) == 17 * 17 - 255
    assert len(set(rows)) == 256
