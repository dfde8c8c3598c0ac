"""The boxes that a selection begins with: together they hold the whole class, every piece once.

That is half of what docs/privacy.md, lemma E2 asks of a partition.
"""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
from numpy.typing import NDArray

from geometry.halfplane import HalfplaneLattice
from learners.envelope.boxes import ORDERS, SHEETS, pack_sheets
from learners.envelope.paper_box import passing_lines, readings


@functools.lru_cache(maxsize=8)
def first_boxes(lattice: HalfplaneLattice, size: int) -> NDArray[np.int64]:
    """The starting boxes, shape (count, 16): every multiset of `size` sheets and rectangles.

    Together they hold every admitted piece; an unordered choice of edges stands for all its
    orders.
    """
    made_of = readings(lattice)
    edges = [(sheet, part) for sheet in made_of.sheets for part in rectangles(made_of)]
    if lattice.measure == "paper":
        edges += [(sheet, part) for sheet in lattice.sheets for part in passing_lines(lattice)]
    choices = list(itertools.combinations_with_replacement(edges, size))
    boxes = np.zeros((len(choices), 16), dtype=np.int64)
    for box, chosen in zip(boxes, choices, strict=True):
        for e, (_, part) in enumerate(chosen):
            box[4 * e : 4 * e + 4] = part
        box[SHEETS] = pack_sheets(tuple(sheet for sheet, _ in chosen))
        box[ORDERS] = math.factorial(size) // math.prod(
            math.factorial(chosen.count(edge)) for edge in set(chosen)
        )
    boxes.setflags(write=False)
    return boxes


def rectangles(lattice: HalfplaneLattice) -> list[tuple[int, int, int, int]]:
    """Half-open rectangles u0, u1, v0, v1 that cover the admitted points of a sheet."""
    side = lattice.d << lattice.bits
    ends = {-side: 0, 0: side + 1, side + 1: lattice.high + 1}
    # u and v lie within side of each other and the line meets the square: one is in 0..side
    return [(u, ends[u], v, ends[v]) for u in ends for v in ends if u == 0 or v == 0]
