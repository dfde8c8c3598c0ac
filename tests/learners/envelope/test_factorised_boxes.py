"""The factorised envelope: its tables by brute force, its bound above every value, its mass."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from compiled import compiled
from counted import counted
from numba import njit
from numpy.typing import NDArray

from geometry.columns import column_shift, count_columns, make_tables
from geometry.grid_counts import order_by_column
from geometry.halfplane import Halfplane, HalfplaneLattice, Measure, Sheet
from learners.core.selection import Score
from learners.envelope import (
    factorised_boxes,
    partition,
    uncertain,
    workspace,
)
from learners.envelope.boxes import ORDERS, SHEETS, pack_sheets, readings
from learners.envelope.target import Target
from learners.envelope.uncertain import SEVERAL, amount_of, group_of, place_of
from learners.envelope.workspace import CELLS, MIX, SIDE, make_workspace

examine, charge = compiled(factorised_boxes.examine), compiled(uncertain.charge)
inner_term = compiled(factorised_boxes.inner_term)
cell_term = compiled(factorised_boxes.cell_term)
pair_term = compiled(factorised_boxes.pair_term)
weigh_cells = compiled(factorised_boxes.weigh_cells)
weigh_beside = compiled(factorised_boxes.weigh_beside)
remember = compiled(workspace.remember)
recall = compiled(workspace.recall)
best_mix = compiled(factorised_boxes.best_mix)
widest_axis = compiled(uncertain.widest_axis)
box_mass = compiled(partition.box_mass)

D = 16
LATTICES = [HalfplaneLattice(D, bits=6), HalfplaneLattice(D, "paper", bits=6)]


def sample(seed: int, n: int = 200) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, D + 1, (n, 2)), rng.random(n) < 0.4


def some_box(
    lattice: HalfplaneLattice,
    edges: int,
    rng: np.random.Generator,
    shortest: int = 4 * SIDE,
    widest: int = 3,
) -> NDArray[np.int32]:
    """A box of rectangles inside the class; sides as of boxes that may be factorised, or short."""
    longest = widest << lattice.bits if shortest > SIDE else 2 * SIDE
    box = np.zeros(16, dtype=np.int32)
    sheets = []
    for e in range(edges):
        sheets.append(int(rng.choice([int(s) for s in lattice.sheets])))
        if lattice.measure == "paper":
            u, v = rng.integers(-3 * D << lattice.bits, 3 * D << lattice.bits, 2)
            v //= 4
        else:
            u, v = rng.integers(0, D << lattice.bits, 2)
        sides = rng.integers(shortest, longest, 2)
        box[4 * e : 4 * e + 4] = (u, u + sides[0], v, v + sides[1])
    box[SHEETS] = pack_sheets(tuple(sheets))
    box[ORDERS] = 1
    return box


def a_target(score: Score, rate: float) -> Target:
    prior = (1.0, 1.0, 1.0, 1.0)
    side = D << LATTICES[0].bits
    return Target(score.k, score.c_pos, score.c_neg, score.total, prior, rate, 0, side, 0, 1, 0)


def both_hold(
    lattice: HalfplaneLattice, box: Any, work: Any, cells: Sequence[tuple[int, int]], points: Any
) -> dict[int, NDArray[np.bool_]]:
    """Which points lie in both edges' cells for sure (0), and which may (1)."""
    held = {label: np.ones(len(points), dtype=bool) for label in (0, 1)}
    for e, (i, j) in enumerate(cells):
        u, v = cell_range(box, e, work, 0, i), cell_range(box, e, work, 1, j)
        at = [contains(lattice, box, e, a, b, points) for a, b in itertools.product(u, v)]
        held[0] &= np.all(at, axis=0)
        held[1] &= np.any(at, axis=0)
    return held


def examined(
    lattice: HalfplaneLattice,
    points: NDArray[np.int64],
    labels: NDArray[np.bool_],
    box: Any,
    most: int = workspace.MOST,
) -> tuple[Any, int]:
    tables = make_tables(count_columns(counted(points, labels, D)), lattice.basis, 0)
    work = make_workspace()
    work.most = most
    count = examine(tables, order_by_column(counted(points, labels, D)), box, work)
    return work, count


def rows_of(work: Any, count: int) -> NDArray[np.int64]:
    """Uncertain examples: abscissa, ordinate, label, the edge charged or SEVERAL, how many."""
    rows = np.empty((count, 5), dtype=np.int64)
    for row, entry in zip(rows, work.doubtful[:count], strict=True):
        charged, label = divmod(int(group_of(entry)), 2)
        row[:] = (*place_of(entry), label, charged + SEVERAL, amount_of(entry))
    return rows


def contains(lattice: HalfplaneLattice, box: Any, e: int, u: int, v: int, points: Any) -> Any:
    """Membership in the halfplane (u, v) of edge e, which need not carry base measure."""
    sheet = Sheet(int(box[SHEETS]) >> (3 * e) & 7)
    return Halfplane(lattice, sheet, int(u), int(v)).contains(points)


def carrying(target: Target, box: Any, work: Any, e: int, i: int, j: int) -> int:
    """Dual points of a cell, 0 when none of them carries base measure."""
    u, v = (
        np.arange(low, high + 1)
        for low, high in (cell_range(box, e, work, 0, i), cell_range(box, e, work, 1, j))
    )
    u, v = u[:, None], v[None]
    some = (abs(u - v) <= target.side) & (np.maximum(u, v) >= 0) & (np.minimum(u, v) <= target.side)
    return int(some.size) if some.any() else 0


def corners(box: Any, e: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """(outer, inner) dual points of an edge."""
    u0, u1, v0, v1 = (int(x) for x in box[4 * e : 4 * e + 4] - (0, 1, 0, 1))
    odd = int(box[SHEETS]) >> (3 * e) & 1
    return ((u1, v1), (u0, v0)) if odd else ((u0, v0), (u1, v1))


def cell_range(box: Any, e: int, work: Any, axis: int, i: int) -> tuple[int, int]:
    """Lattice values of u or v in a cell: first and last."""
    low, high = (int(x) for x in work.ends[e, axis, i : i + 2])
    odd = int(box[SHEETS]) >> (3 * e) & 1
    return (1 - high, -low) if odd else (low, high - 1)


@pytest.mark.parametrize("edges", [1, 2, 3])
@pytest.mark.parametrize("lattice", LATTICES, ids=lambda lattice: lattice.measure)
def test_every_example_is_held_uncertain_or_outside(lattice: HalfplaneLattice, edges: int) -> None:
    rng = np.random.default_rng(edges)
    some = 0
    for trial in range(60):
        points, labels = sample(trial)
        box = some_box(lattice, edges, rng)
        work, count = examined(lattice, points, labels, box)
        outer = np.ones(len(points), dtype=bool)
        misses = np.zeros((len(points), edges), dtype=bool)
        for e in range(edges):
            at_outer, at_inner = corners(box, e)
            outer &= contains(lattice, box, e, *at_outer, points)
            misses[:, e] = ~contains(lattice, box, e, *at_inner, points)
        inner = outer & ~misses.any(axis=1)
        assert work.held.tolist() == [int((inner & ~labels).sum()), int((inner & labels).sum())]
        expected = []
        for i in np.flatnonzero(outer & misses.any(axis=1)):
            charged = int(np.flatnonzero(misses[i])[0])
            if misses[i].sum() > 1 and (edges == 2 or not labels[i]):
                charged = SEVERAL
            expected.append((*points[i].tolist(), int(labels[i]), charged))
        found = [tuple(row[:4]) for row in rows_of(work, count).tolist() for _ in range(row[4])]
        assert sorted(found) == sorted(expected)
        some += count
    assert some > 500


@pytest.mark.parametrize("lattice", LATTICES, ids=lambda lattice: lattice.measure)
def test_cells_count_what_may_and_what_must_lie_in_them(lattice: HalfplaneLattice) -> None:
    rng = np.random.default_rng(7)
    for trial in range(12):
        points, labels = sample(trial)
        box = some_box(lattice, 3, rng)
        work, count = examined(lattice, points, labels, box)
        rows = rows_of(work, count)
        rows = np.repeat(rows, rows[:, 4], axis=0)
        for e, i, j in itertools.product(range(3), range(SIDE), range(SIDE)):
            u, v = cell_range(box, e, work, 0, i), cell_range(box, e, work, 1, j)
            for label in (0, 1):
                mine = rows[(rows[:, 3] == e) & (rows[:, 2] == label)][:, :2]
                held = [contains(lattice, box, e, a, b, mine) for a, b in itertools.product(u, v)]
                some = (np.any if label else np.all)(held, axis=0)
                assert work.counts[e, label, i, j] == some.sum()


@pytest.mark.parametrize("places", [289, 12])
@pytest.mark.parametrize("lattice", LATTICES, ids=lambda lattice: lattice.measure)
def test_pairs_of_cells_count_what_both_edges_leave_uncertain(lattice, places):
    """Also more entries than a word has bits, and grid points with many examples."""
    rng = np.random.default_rng(places)
    most = 0
    for trial in range(20):
        points, labels = sample(trial, 600)
        points = points[rng.integers(0, places, 600)] if places < len(points) else points
        box = some_box(lattice, 2, rng, widest=D)
        work, count = examined(lattice, points, labels, box)
        rows = rows_of(work, count)
        rows = np.repeat(rows, rows[:, 4], axis=0)
        mine = rows[rows[:, 3] == SEVERAL]
        assert work.paired.tolist() == [len(mine)]
        if not len(mine):
            continue
        # entries, or examples of one
        entries = int((rows_of(work, count)[:, 3] == SEVERAL).sum())
        most = max(most, entries, int(rows[:, 4].max()))
        cells = list(itertools.product(range(SIDE), repeat=2))
        for _ in range(200):
            first, second = (int(x) for x in rng.integers(0, CELLS, 2))
            held = both_hold(lattice, box, work, (cells[first], cells[second]), mine[:, :2])
            for label in (0, 1):
                expected = (held[label] & (mine[:, 2] == label)).sum()
                assert work.together[label, first, second] == expected
    assert most > (64 if places == 289 else 15)


# not kept: a cache would not see that what it calls has changed
@njit(error_model="numpy")
def bounds_of(target: Any, work: Any, cells: Any) -> Any:
    """The bound of these cells, one for each edge, by every mix."""
    bounds = np.empty(MIX + 1, dtype=np.int64)
    for mix in range(MIX + 1):
        bounds[mix] = inner_term(target, mix, work.held)
        for e in range(len(cells)):
            bounds[mix] += cell_term(target, mix, work.counts, e, cells[e, 0], cells[e, 1])
        if work.paired[0]:
            first, second = SIDE * cells[:2, 0] + cells[:2, 1]
            bounds[mix] += pair_term(target, mix, work.together, first, second)
    return bounds


@pytest.mark.parametrize("shortest", [1, 4 * SIDE])
@pytest.mark.parametrize("edges", [1, 2, 3])
@pytest.mark.parametrize("lattice", LATTICES, ids=lambda lattice: lattice.measure)
def test_no_piece_is_above_its_cells_bound(lattice, edges, shortest):
    rng = np.random.default_rng(11 + edges)
    tight = 0
    for trial in range(60):
        points, labels = sample(trial)
        score = Score(3, -int(rng.integers(0, 60)), int(rng.integers(0, 20)))
        target = a_target(score, 0.3)
        box = some_box(lattice, edges, rng, shortest)
        work, _ = examined(lattice, points, labels, box)
        for _ in range(40):
            held = np.ones(len(points), dtype=bool)
            cells = []
            for e in range(edges):
                i, j = (int(rng.choice(np.flatnonzero(np.diff(ends)))) for ends in work.ends[e])
                u0, u1 = cell_range(box, e, work, 0, i)
                v0, v1 = cell_range(box, e, work, 1, j)
                u, v = rng.integers(u0, u1 + 1), rng.integers(v0, v1 + 1)
                held &= contains(lattice, box, e, u, v, points)
                cells.append((i, j))
            value = score.value(int((held & labels).sum()), int((held & ~labels).sum()))
            bounds = bounds_of(target, work, np.array(cells))
            assert (MIX * value <= bounds).all()
            tight += (MIX * value == bounds).sum()
    assert tight > 10


@pytest.mark.parametrize("total", [False, True])
@pytest.mark.parametrize("paired", [False, True])
def test_the_mass_is_the_sum_over_all_pairs_of_cells(paired: bool, total: bool) -> None:
    lattice = LATTICES[0]
    rng = np.random.default_rng(3)
    points, labels = sample(5)
    target = a_target(Score(2, -40, 3, total), 0.07)
    while True:
        box = some_box(lattice, 2, rng)
        work, _ = examined(lattice, points, labels, box)
        if bool(work.paired[0]) == paired:
            break
    cells = list(itertools.product(range(SIDE), repeat=2))
    areas = [[carrying(target, box, work, e, *cell) for cell in cells] for e in (0, 1)]
    for mix in (0, 5, MIX):
        peak, volume = weigh_cells(target, box, mix, work)
        total_mass, highest = 0.0, -(10**9)
        terms = [[cell_term(target, mix, work.counts, e, *cell) for cell in cells] for e in (0, 1)]
        held = inner_term(target, mix, work.held)
        for i, j in itertools.product(range(CELLS), repeat=2):
            bound, area = held + terms[0][i] + terms[1][j], areas[0][i] * areas[1][j]
            if paired:
                bound += pair_term(target, mix, work.together, i, j)
            if area:
                highest = max(highest, bound)
                total_mass += area * math.exp(target.rate * bound / MIX)
        assert highest == peak
        mass = volume * math.exp(target.rate * peak / MIX)
        assert mass == pytest.approx(total_mass, rel=1e-12)
        if paired:
            first, beside = work.weights[0], work.weights[1]
            assert first[1] == volume == pytest.approx(first[CELLS:].sum(), rel=1e-12)
            for i, area in enumerate(areas[0]):
                if not area:
                    assert first[CELLS + i] == 0
                    continue
                weigh_beside(target, box, mix, peak, i, work)
                assert area * beside[1] == pytest.approx(first[CELLS + i], rel=1e-12)
                for j, weight in enumerate(areas[1]):
                    bound = held + terms[0][i] + terms[1][j]
                    bound += pair_term(target, mix, work.together, i, j)
                    if weight:
                        weight *= math.exp(target.rate * (bound - peak) / MIX)
                    assert math.isclose(beside[CELLS + j], weight, rel_tol=1e-12)
    # the mix that is chosen weighs no more than the one it starts from
    for start in (0, 8, MIX):
        mix, peak, volume = best_mix(target, box, work, start)
        before = weigh_cells(target, box, start, work)
        assert math.log(volume) + target.rate * peak / MIX <= (
            math.log(before[1]) + target.rate * before[0] / MIX + 1e-12
        )
        assert 0 <= mix <= MIX


@pytest.mark.parametrize("total", [False, True])
@pytest.mark.parametrize("edges", [1, 2, 3])
def test_a_box_of_one_piece_weighs_what_the_piece_does(edges: int, total: bool) -> None:
    """So a box is never too small to be halved and too loose to be accepted in.

    Boxes of the measure "paper" are never factorised, and what carries its base measure differs.
    """
    lattice = LATTICES[0]
    rng = np.random.default_rng(edges)
    for trial in range(40):
        points, labels = sample(trial)
        score = Score(2, -int(rng.integers(0, 60)), int(rng.integers(0, 20)), total)
        target = a_target(score, 0.3)
        box = some_box(lattice, edges, rng)
        box[1:12:2] = box[0:12:2] + 1
        work, count = examined(lattice, points, labels, box)
        held = np.ones(len(points), dtype=bool)
        for e in range(edges):
            held &= contains(lattice, box, e, box[4 * e], box[4 * e + 2], points)
        value = score.value(int((held & labels).sum()), int((held & ~labels).sum()))
        _, peak, volume = best_mix(target, box, work, MIX // 2)
        assert (count, peak, volume) == (0, MIX * value, 1.0)
        tables = make_tables(count_columns(counted(points, labels, D)), lattice.basis, 0)
        assert widest_axis(tables.basis, box, work.doubtful, count, -1) == -1


@pytest.mark.parametrize("edges", [2, 3])
def test_a_half_keeps_the_uncertain_examples_of_its_parent(edges: int) -> None:
    """Charging the parent's list gives the same as looking at all examples again."""
    rng = np.random.default_rng(9)
    lattice = LATTICES[0]
    for trial in range(40):
        points, labels = sample(trial)
        tables = make_tables(count_columns(counted(points, labels, D)), lattice.basis, 0)
        box = some_box(lattice, edges, rng)
        work, count = examined(lattice, points, labels, box)
        half = box.copy()
        axis = int(rng.integers(0, 2 * edges))
        half[2 * axis + int(rng.integers(0, 2))] = (box[2 * axis] + box[2 * axis + 1]) >> 1
        kept = charge(tables.basis, half, work.doubtful, count, work.held, work.halved)
        again, expected = examined(lattice, points, labels, half)
        assert kept == expected
        assert work.held.tolist() == again.held.tolist()
        assert sorted(work.halved[:kept].tolist()) == sorted(again.doubtful[:kept].tolist())


@pytest.mark.parametrize("edges", [2, 3])
def test_a_box_is_remembered_until_it_changes_or_others_need_the_room(edges: int) -> None:
    rng = np.random.default_rng(4)
    lattice, target = LATTICES[0], a_target(Score(1, 0, 0, total=True), 0.3)
    index, paired = np.int64(5), 0

    def known(work: Any, count: int) -> list[list[Any]]:
        arrays = [work.doubtful[:count], work.held, work.paired]
        return [one.tolist() for one in arrays + [work.weights[0]] * bool(work.paired[0])]

    for trial in range(20):
        points, labels = sample(trial)
        box = some_box(lattice, edges, rng)
        work, count = examined(lattice, points, labels, box)
        if not count:
            continue
        weigh_cells(target, box, MIX // 2, work)
        work.most_kept = 2 * count + count // 2
        work.weights[0, 0] = 0.0
        before = known(work, count)
        assert recall(box, index, work) == -1
        remember(box, index, work.doubtful, count, work)
        paired += int(work.paired[0]) > 0
        work.doubtful[:], work.held[:], work.paired[:] = 0, 0, 0
        work.weights[0, 1:] = 0.0
        assert recall(box, index, work) == count
        assert known(work, count) == before
        other = box.copy()
        other[4 * edges - 1] -= 1
        assert recall(other, index, work) == -1
        assert recall(box, index + 1, work) == -1
        remember(other, index + 1, work.doubtful, count, work)
        assert recall(box, index, work) == count
        remember(box, index + 2, work.doubtful, count, work)
        assert recall(box, index, work) == -1
        assert recall(other, index + 1, work) == recall(box, index + 2, work) == count
    assert paired > 10 or edges == 3


def test_too_many_uncertain_examples_are_refused() -> None:
    rng = np.random.default_rng(1)
    points = rng.integers(0, D + 1, (2000, 2))
    labels = rng.random(len(points)) < 0.5
    lattice = LATTICES[0]
    box = np.zeros(16, dtype=np.int32)
    box[:4] = (0, D << lattice.bits, 0, D << lattice.bits)
    box[SHEETS] = pack_sheets((0,))
    _, count = examined(lattice, points, labels, box)
    assert count > 200
    assert examined(lattice, points, labels, box, count)[1] == count
    assert examined(lattice, points, labels, box, count - 1)[1] == -1


@pytest.mark.parametrize("measure", ["chord", "paper"])
def test_how_far_cells_reach_is_whole_in_doubles(measure: Measure) -> None:
    """v * x, and D * y - (c0 - c1 * x) * u, of all grids whose columns are narrow."""
    for d in range(1, 2049):
        made_of = readings(HalfplaneLattice(d, measure))
        c0, c1, scale = map(abs, made_of.basis)
        # corners of cells may lie one beside what there is
        side = max(-made_of.low, made_of.high) + 1
        assert max(d * side, scale * d + (c0 + c1 * d) * side) < 1 << 38
    assert column_shift(2048) == 0 < column_shift(2049)


def test_bounds_of_pairs_fit_their_bits() -> None:
    """So of two edges no more examples may be uncertain than that; of one edge they may be more."""
    lattice, rng = LATTICES[0], np.random.default_rng(2)
    points, labels = sample(0)
    box = some_box(lattice, 2, rng)
    counts = counted(points, labels, D)
    tables = make_tables(count_columns(counts), lattice.basis, 0)
    work = make_workspace()
    count = examine(tables, order_by_column(counts), box, work)
    few = int(rows_of(work, count)[:, 4].sum())
    for edges in (2, 1):
        if edges == 1:
            box[SHEETS] = pack_sheets((int(box[SHEETS]) & 7,))
        for times in ((1 << 25) // few, (1 << 25) // few + 1):
            many = replace(counts, amounts=counts.amounts * times)
            tables = make_tables(count_columns(many), lattice.basis, 0)
            found = examine(tables, order_by_column(many), box, work)
            assert (found < 0) == (edges == 2 and few * times > 1 << 25)
        box = some_box(lattice, 2, np.random.default_rng(2))


def test_a_factorised_box_without_admitted_points_weighs_nothing() -> None:
    """However far below its idle peak the reference lies: no infinity times zero."""
    target = a_target(Score(1, 0, 0, total=True), 1.0)._replace(reference=-5000)
    box = np.zeros(16, dtype=np.int32)
    box[SHEETS], box[ORDERS] = pack_sheets((0,)), 1
    assert box_mass(target, box, np.array([8.0, 0.0, 0.0])) == 0.0
