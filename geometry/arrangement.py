"""Computes the exact arrangement of the dual lines of a sample in one sheet of the dual plane.

Dual points of one cell classify the sample alike (KMMS 2019, section 4.1), so
cells are the finest thing a selection has to tell apart.  Vertices are rational
and exact; nothing rounds.

How: all crossings inside the region are found pair by pair and identified by
their reduced coordinates, sorted along every line, joined to half-edges, and
faces are traced around (de Berg et al., Computational Geometry, chapters 2 and
8, with a sort in place of the zone walk).  O(n^2 log n) integer operations and
O(n^2) memory for n distinct lines; 200 lines take under a second a sheet.

Closed halfplanes and the region's border.  An example on the boundary belongs to
the halfplane, so a cell is closed towards the dual lines of the examples inside
and open towards the others.  Dual lines have non-negative coefficients, hence at
a crossing of any number of them the signature "all inside" is that of a cell of
positive area: the quadrant below (for the other sheets, above) the crossing lies
in it.  Only on the border of the region may that quadrant point outwards (the
dual lines of the corners of the square run along it).  The arrangement is
therefore built in the region grown by half a lattice step, which holds the same
lattice points and all of them inside: every signature that any lattice point has
is some cell's.  A cell's polygon is cut back to the region and may be degenerate.

What a cell weighs is the number of its lattice points, counted exactly and drawn by
:class:`LatticePolygon`: a bounded system of integer inequalities
a*u + b*v >= c.  An open boundary a*u + b*v > c is written a*u + b*v >= c + 1, so every
edge may be open or closed.  Columns u are counted by

    floor(min of the upper sides) + floor(min of the negated lower sides) + 1,

which is never negative where the real polygon meets the column.  The minima are
split into runs of columns with one side each, and a run is summed by the
Euclid-like *floor sum* (Graham, Knuth, Patashnik, Concrete Mathematics, section
3.5; as in the AtCoder Library's ``floor_sum``).

Complexity: O(m^2 + m log C) integer operations for m inequalities with
coefficients below C; a draw adds a factor log(columns).
"""

from __future__ import annotations

import functools
import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from geometry.arrays import Ints
from geometry.halfplane import (
    ConvexPart,
    HalfplaneLattice,
    Inequality,
    Line,
    Sheet,
    Vertex,
    admitted_parts,
    clip,
    dual_line,
    reduced,
    side,
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: the dual points of a convex part of the region that classify the sample alike.

    Attributes
    ----------
    part : int
        Which convex part of the region (0 or 1).
    inside : int
        The signature: bit i is set when the halfplane holds distinct example i.
    vertices : tuple of (U, V, W)
        Corners (U/W, V/W) in lattice units, counterclockwise, of the closure within the
        region.  Fewer than three, or all on a line, for a cell of the border alone.
    constraints : tuple of (a, b, c)
        Its lattice points are the integer (u, v) with every a*u + b*v >= c.
    """

    part: int
    inside: int
    vertices: tuple[Vertex, ...]
    constraints: tuple[Inequality, ...]

    @property
    def lattice_points(self) -> LatticePolygon:
        """Its lattice points, counted and in order."""
        return LatticePolygon.of(self.constraints)


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The arrangement of a sample's dual lines within the admitted region of one sheet.

    Attributes
    ----------
    lattice : HalfplaneLattice
    sheet : Sheet
    examples : tuple of (x, y)
        Distinct examples, sorted; signatures refer to this order.
    lines : tuple of (a, b, c)
        Their dual lines a*u + b*v = c in lattice units.
    cells : tuple of Cell
        No two cells of one part have the same signature.
    """

    lattice: HalfplaneLattice
    sheet: Sheet
    examples: tuple[tuple[int, int], ...]
    lines: tuple[Line, ...]
    cells: tuple[Cell, ...]


def arrange(
    lattice: HalfplaneLattice, sheet: Sheet, points: Ints | Iterable[tuple[int, int]]
) -> Arrangement:
    """Build the arrangement of the examples' dual lines.

    Parameters
    ----------
    lattice : HalfplaneLattice
    sheet : Sheet
    points : array_like of int, shape (n, 2)
        Grid coordinates in 0..d; repeated examples share a line.

    Raises
    ------
    ValueError
        If the sheet is not one of the lattice's, or a point is off the grid.
    """
    if sheet not in lattice.sheets:
        raise ValueError(f"{sheet!r} is not a sheet of the {lattice.measure} measure")
    examples = tuple(sorted({(int(x), int(y)) for x, y in points}))
    lines = tuple(dual_line(lattice, sheet, point) for point in examples)
    cells = [
        cell
        for number, part in enumerate(admitted_parts(lattice))
        for cell in _cells(sheet, lines, number, part)
    ]
    return Arrangement(lattice, sheet, examples, lines, tuple(cells))


@dataclass(frozen=True, slots=True)
class _Face:
    """A face of the subdivision: corners counterclockwise, its edges' lines, its side of each."""

    corners: tuple[Vertex, ...]
    edges: tuple[tuple[int, bool], ...]  # (line, whether the face is below it)
    below: int  # bit i: the face lies below line i


def _cells(sheet: Sheet, lines: Sequence[Line], number: int, part: ConvexPart) -> list[Cell]:
    """Cells of one convex part."""
    grown = [(2 * a, 2 * b, 2 * c - 1) for a, b, c in part.closed]
    everything = (1 << len(lines)) - 1
    # where lattice points are counted to a smaller region than the closed one
    fixed = tuple(e for e, f in zip(part.lattice, part.closed, strict=True) if e != f)
    cells = []
    for face in _faces(lines, grown):
        constraints = dict.fromkeys(fixed)
        for line, below in face.edges:
            if line < len(lines):
                constraints[_constraint(sheet, lines[line], below)] = None
            else:
                constraints[part.lattice[line - len(lines)]] = None
        vertices = face.corners
        for inequality in part.closed:
            vertices = clip(vertices, inequality)
        inside = face.below if sheet.upper else everything ^ face.below
        cells.append(Cell(number, inside, vertices, tuple(constraints)))
    return cells


def _constraint(sheet: Sheet, line: Line, below: bool) -> Inequality:
    """The integer points on that side of a dual line: closed when the example is inside."""
    a, b, c = line
    closed = below == sheet.upper
    if below:
        return -a, -b, -c if closed else 1 - c
    return a, b, c if closed else c + 1


def _faces(lines: Sequence[Line], region: Sequence[Inequality]) -> list[_Face]:
    """Faces of the lines' arrangement in a convex region.

    The lines are distinct and none runs along an edge of the region: those have odd
    right-hand sides after doubling, dual lines have integer ones.
    """
    sides = (*lines, *region)
    vertices, along = _vertices(sides, len(lines))
    origin, onward = _half_edges(sides, vertices, along)
    line_of = [i for i, run in enumerate(along) for _ in range(2 * max(len(run) - 1, 0))]
    # half-edge 2e runs forward and has the face above its line on its left, 2e + 1 backward
    face_of = [-1] * len(origin)
    loops: list[list[int]] = []
    for start in range(len(origin)):
        outer = start % 2 == 1 and line_of[start] >= len(lines)
        if face_of[start] >= 0 or outer:
            continue
        loop = [start]
        while (edge := onward[loop[-1]]) != start:
            loop.append(edge)
        for edge in loop:
            face_of[edge] = len(loops)
        loops.append(loop)
    below = _signatures(lines, vertices, origin, line_of, face_of, loops)
    return [
        _Face(
            tuple(vertices[origin[edge]] for edge in loop),
            tuple((line_of[edge], edge % 2 == 1) for edge in loop),
            below[face],
        )
        for face, loop in enumerate(loops)
    ]


def _vertices(sides: Sequence[Line], borders: int) -> tuple[list[Vertex], list[list[int]]]:
    """Crossings within the region (sides[borders:] >= 0), and those on each line, in order."""
    region = sides[borders:]
    index: dict[Vertex, int] = {}
    members: list[set[int]] = [set() for _ in sides]
    for i, (a, b, c) in enumerate(sides):
        for j in range(i + 1, len(sides)):
            p, q, r = sides[j]
            w = a * q - p * b
            if w == 0:
                continue
            u, v = c * q - r * b, a * r - p * c
            vertex = (u, v, w) if w > 0 else (-u, -v, -w)
            if all(e * vertex[0] + f * vertex[1] >= g * vertex[2] for e, f, g in region):
                number = index.setdefault(reduced(*vertex), len(index))
                members[i].add(number)
                members[j].add(number)
    vertices = list(index)
    # distinct points of a line are at least 1/w^2 apart in the coordinate b*u - a*v
    shift = 2 * max(w for _, _, w in vertices).bit_length()
    along = []
    for (a, b, _), numbers in zip(sides, members, strict=True):
        keys = {}
        for number in numbers:
            u, v, w = vertices[number]
            keys[number] = ((b * u - a * v) << shift) // w
        along.append(sorted(numbers, key=keys.__getitem__))
    return vertices, along


def _half_edges(
    sides: Sequence[Line], vertices: Sequence[Vertex], along: Sequence[Sequence[int]]
) -> tuple[list[int], list[int]]:
    """Origin of every half-edge, and the half-edge that follows it around its left face."""
    turns = _directions(sides)
    origin: list[int] = []
    leaving: list[list[tuple[int, int]]] = [[] for _ in vertices]
    for line, run in enumerate(along):
        for start, stop in itertools.pairwise(run):
            for vertex, turn in ((start, turns[line][0]), (stop, turns[line][1])):
                leaving[vertex].append((turn, len(origin)))
                origin.append(vertex)
    onward = [-1] * len(origin)
    for fan in leaving:
        fan.sort()
        for i, (_, edge) in enumerate(fan):
            # arriving by the twin of `edge`, the left face goes on clockwise of `edge`
            onward[edge ^ 1] = fan[i - 1][1]
    return origin, onward


def _directions(sides: Sequence[Line]) -> list[tuple[int, int]]:
    """Rank, by angle, of each line's forward direction (b, -a) and of its backward one."""

    def half(d: tuple[int, int]) -> bool:
        return (d[1], d[0]) < (0, 0)

    def compare(one: tuple[int, int], two: tuple[int, int]) -> int:
        return (half(one) - half(two)) or two[0] * one[1] - one[0] * two[1]

    ways = {way for a, b, _ in sides for way in ((b, -a), (-b, a))}
    rank = {way: i for i, way in enumerate(sorted(ways, key=functools.cmp_to_key(compare)))}
    return [(rank[(b, -a)], rank[(-b, a)]) for a, b, _ in sides]


def _signatures(
    lines: Sequence[Line],
    vertices: Sequence[Vertex],
    origin: Sequence[int],
    line_of: Sequence[int],
    face_of: Sequence[int],
    loops: Sequence[Sequence[int]],
) -> list[int]:
    """For each face the lines it lies below: one face by its centroid, then across edges."""
    corners = [vertices[origin[edge]] for edge in loops[0][:3]]
    # sum of three corners in homogeneous form: three times their centroid
    w = math.prod(corner[2] for corner in corners)
    centre = (
        sum(u * (w // r) for u, _, r in corners),
        sum(v * (w // r) for _, v, r in corners),
        3 * w,
    )
    below = [-1] * len(loops)
    below[0] = sum(1 << i for i, line in enumerate(lines) if side(line, centre) < 0)
    stack = [0]
    while stack:
        face = stack.pop()
        for edge in loops[face]:
            other = face_of[edge ^ 1]
            if other >= 0 and below[other] < 0:
                below[other] = below[face] ^ (1 << line_of[edge])
                stack.append(other)
    return below


#: floor((slope*u + offset) / modulus), modulus > 0: how far a side lets a column reach.
Reach = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class LatticePolygon:
    """The integer points of a bounded convex polygon, column by column.

    Attributes
    ----------
    first, last : int
        Columns u that the real polygon meets; first > last when there is none.
    runs : tuple of (start, stop, reach)
        Consecutive columns start..stop (inclusive) with one side in force, for the
        upper sides and for the negated lower sides together.
    lowers : tuple of reach
        Sides that bound -v from above.
    count : int
        Number of integer points.
    """

    first: int
    last: int
    runs: tuple[tuple[int, int, Reach], ...]
    lowers: tuple[Reach, ...]
    count: int

    @classmethod
    def of(cls, constraints: Sequence[Inequality]) -> LatticePolygon:
        """Prepare a system a*u + b*v >= c; an unbounded one raises ValueError."""
        uppers = tuple((a, -c, -b) for a, b, c in constraints if b < 0)
        lowers = tuple((a, -c, b) for a, b, c in constraints if b > 0)
        columns = _columns(uppers, lowers, [(a, c) for a, b, c in constraints if b == 0])
        if columns is None:
            return cls(0, -1, (), (), 0)
        first, last = columns
        runs = (*_lower_envelope(uppers, first, last), *_lower_envelope(lowers, first, last))
        return cls(first, last, runs, lowers, _points(runs, first, last))

    def point(self, rank: int) -> tuple[int, int]:
        """The integer point (u, v) of that rank, ordered by u and then by v.

        Raises
        ------
        IndexError
            Unless 0 <= rank < count.
        """
        if not 0 <= rank < self.count:
            raise IndexError(f"rank {rank} is outside 0..{self.count - 1}")
        columns = range(self.first, self.last)
        reached = functools.partial(_points, self.runs, self.first)
        u = self.first + bisect_right(columns, rank, key=reached)
        before = reached(u - 1)
        bottom = -min((a * u + c) // m for a, c, m in self.lowers)
        return u, bottom + rank - before


def floor_sum(count: int, slope: int, offset: int, modulus: int) -> int:
    """Sum of floor((slope*i + offset) / modulus) over i = 0..count-1, modulus > 0.

    O(log modulus) divisions.
    """
    total = 0
    while count > 0:
        whole, slope = divmod(slope, modulus)
        total += whole * (count * (count - 1) // 2)
        whole, offset = divmod(offset, modulus)
        total += whole * count
        # what is left counts points under a line of slope < 1: exchange the axes
        count, offset = divmod(slope * count + offset, modulus)
        slope, modulus = modulus, slope
    return total


def _columns(
    uppers: Sequence[Reach], lowers: Sequence[Reach], vertical: list[tuple[int, int]]
) -> tuple[int, int] | None:
    """First and last integer column of the real polygon; None when there is none."""
    bounds = list(vertical)
    # upper side >= lower side, for each pair (Fourier and Motzkin)
    bounds += [(a * n + b * m, -(p * n + q * m)) for a, p, m in uppers for b, q, n in lowers]
    if any(a == 0 and c > 0 for a, c in bounds):
        return None
    firsts = [-(-c // a) for a, c in bounds if a > 0]
    lasts = [-c // -a for a, c in bounds if a < 0]
    if not (firsts and lasts and uppers and lowers):
        raise ValueError("the inequalities do not bound a polygon")
    first, last = max(firsts), min(lasts)
    return (first, last) if first <= last else None


def _lower_envelope(sides: Sequence[Reach], first: int, last: int) -> list[tuple[int, int, Reach]]:
    """Runs of integer columns with the least side (a*u + c)/m, from first to last."""
    runs = []
    start = first
    while start <= last:
        a, c, m = functools.reduce(lambda one, two: _lower(one, two, start), sides)
        stop = last
        for b, e, n in sides:
            turn = b * m - a * n
            if turn < 0:
                # the other side is lower where turn * u < c*n - e*m: after this column, or next
                stop = min(stop, (c * n - e * m) // turn)
        runs.append((start, stop, (a, c, m)))
        start = stop + 1
    return runs


def _lower(one: Reach, two: Reach, column: int) -> Reach:
    """The side that is lower at the column; either when they are equal."""
    (a, c, m), (b, e, n) = one, two
    return one if (a * column + c) * n <= (b * column + e) * m else two


def _points(runs: Sequence[tuple[int, int, Reach]], first: int, last: int) -> int:
    """Integer points in the columns first..last."""
    total = last - first + 1
    for start, stop, (a, c, m) in runs:
        if start <= last:
            total += floor_sum(min(stop, last) - start + 1, a, a * start + c, m)
    return total
