"""Shows the curator the envelope while it is refined: its heaviest boxes, and where edges may lie.

Both read the tables of a draw's partitions, so between two slices of work only.  O(boxes) each, and
the pictures O(_MOST * resolution): some milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geometry.arrays import Floats, Ints
from geometry.halfplane import HalfplaneLattice
from learners.core.selection import HeavyBox, SheetDensities
from learners.envelope.boxes import NO_SHEET, SHEETS, around, paper_box
from learners.envelope.partition import BOXES, Boxes, Partition

#: Boxes that stand for all in the pictures.
_MOST = 2000


def heaviest_boxes(
    partitions: Sequence[Partition], lattice: HalfplaneLattice, count: int
) -> tuple[HeavyBox, ...]:
    """The heaviest boxes of all partitions, heaviest first."""
    found: list[tuple[float, list[int]]] = []
    for partition in partitions:
        capacity = len(partition.boxes)
        used = int(partition.tally[BOXES])
        masses = partition.tree[capacity : capacity + used]
        most = min(count, used)
        if most:
            # among equals the first, whatever the count: a stable sort of all that may be meant
            least = np.partition(masses, used - most)[used - most]
            candidates = np.flatnonzero(masses >= least)
            chosen = candidates[np.argsort(-masses[candidates], kind="stable")[:most]]
            boxes = partition.boxes[chosen].tolist()
            found += zip(masses[chosen].tolist(), boxes, strict=True)
    found.sort(key=lambda one: -one[0])
    total = sum(float(partition.tree[1]) for partition in partitions)
    return tuple(_heavy_box(lattice, box, mass / total) for mass, box in found[:count] if mass > 0)


def _heavy_box(lattice: HalfplaneLattice, box: list[int], share: float) -> HeavyBox:
    packed = box[SHEETS]
    sheets = [packed >> (3 * e) & 7 for e in range(3)]
    edges = [e for e in range(3) if sheets[e] != NO_SHEET]
    rows = np.array([[sheets[e], *box[4 * e : 4 * e + 4]] for e in edges], dtype=np.int64)
    found, shares = _in_class(lattice, rows.reshape(-1, 5))
    # of rising and falling lines those that are more
    most = 2 * np.arange(len(edges)) + (shares[1::2] > shares[::2])
    return HeavyBox(
        sheets=tuple(found[most, 0].tolist()),
        rectangles=tuple(tuple(row) for row in found[most, 1:].tolist()),
        share=share,
    )


def _in_class(lattice: HalfplaneLattice, rows: Ints) -> tuple[Ints, Floats]:
    """Two rectangles of dual points for each of a box, and their shares of its lines.

    rows, shape (m, 5), and the first answer, shape (2 m, 5): sheet, u0, u1, v0, v1.
    """
    found, shares = np.zeros((2 * len(rows), 5), dtype=np.int64), np.zeros(2 * len(rows))
    paper = paper_box(lattice)
    if paper is None:
        found[::2], shares[::2] = rows, 1.0
    else:
        around(paper, lattice.d * paper.cells, rows[:, 0], rows[:, 1:], found, shares)
    return found, shares


def edge_density(
    partitions: Sequence[Partition], lattice: HalfplaneLattice, resolution: int
) -> SheetDensities:
    """The expected number of the piece's halfplanes in each pixel, by the envelope as it is.

    Every box puts its share of the mass evenly on each of its rectangles.  Of many boxes some
    stand for all, taken at even distances along the sum of their masses.

    Parameters
    ----------
    partitions : sequence of Partition
        Between two slices of work.
    lattice : HalfplaneLattice
    resolution : int
        Pixels along a side of a sheet's square.

    Returns
    -------
    tuple of (sheet, ndarray of float32, shape (resolution, resolution))
        Each sheet of the measure: [i, j] in column i of u and row j of v.  Over all sheets the
        pixels add up to the expected number of edges; all are 0 where nothing has mass.
    """
    boxes, weights = _representatives(partitions)
    ends = lattice.low + (lattice.high + 1 - lattice.low) * np.arange(resolution + 1) / resolution
    # one row a rectangle: the box's weight, u0, u1, v0, v1
    sheets = np.concatenate([(boxes[:, SHEETS] >> (3 * e)) & 7 for e in range(3)])
    rectangles = np.concatenate([boxes[:, 4 * e : 4 * e + 4] for e in range(3)])
    rows = np.column_stack([sheets, rectangles]).astype(np.int64)
    own, shares = _in_class(lattice, rows)
    repeated = (np.repeat(np.tile(weights, 3), 2) * shares).astype(np.float32)[:, None]
    found = []
    for sheet in lattice.sheets:
        of = (own[:, 0] == sheet) & (shares > 0)
        u0, u1, v0, v1 = own[of, 1:].T
        across = _covered(u0, u1, ends) * repeated[of]
        # no product of matrices: its threads would wait for the sampler's
        density = np.einsum("bi,bj->ij", across, _covered(v0, v1, ends))
        found.append((int(sheet), density))
    return tuple(found)


def _representatives(partitions: Sequence[Partition]) -> tuple[Boxes, Floats]:
    """Boxes, shape (m, 16), and their weights, which sum to 1 unless nothing has mass."""
    masses = []
    for partition in partitions:
        capacity, used = len(partition.boxes), int(partition.tally[BOXES])
        masses.append(partition.tree[capacity : capacity + used])
    starts = np.cumsum([0, *map(len, masses)])
    sums = np.cumsum(np.concatenate(masses))
    total = float(sums[-1])
    if not total > 0:
        return np.empty((0, 16), dtype=np.int64), np.empty(0)
    if len(sums) <= _MOST:
        chosen, weights = np.arange(len(sums)), np.concatenate(masses) / total
    else:
        places = (np.arange(_MOST) + 0.5) / _MOST * total
        chosen = np.minimum(np.searchsorted(sums, places, side="right"), len(sums) - 1)
        weights = np.full(_MOST, 1 / _MOST)
    parts = []
    for i, partition in enumerate(partitions):
        own = chosen[(starts[i] <= chosen) & (chosen < starts[i + 1])] - starts[i]
        parts.append(partition.boxes[own])
    return np.concatenate(parts), weights


def _covered(low: Boxes, high: Boxes, ends: Floats) -> NDArray[np.float32]:
    """Share of each interval low..high, shape (m,), in each pixel between ends: shape (m, r)."""
    width = np.maximum(high - low, 1)[:, None]
    below = np.clip((ends[None, :] - low[:, None]) / width, 0.0, 1.0)
    return np.asarray(np.diff(below.astype(np.float32), axis=1))
