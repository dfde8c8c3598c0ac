"""Boxes are cut to what carries base measure, and to no less."""

from __future__ import annotations

import numpy as np
import pytest
from compiled import compiled
from counted import counted
from envelope_laws import watched_strands
from hypothesis import given, settings, strategies as st

from geometry.halfplane import HalfplaneLattice
from learners.core.selection import set_cover_score
from learners.envelope import boxes as box_loops
from learners.envelope.boxes import SHEETS, first_boxes
from learners.envelope.envelope_selection import EnvelopeSelection
from learners.envelope.partition import BOXES
from learners.privacy.randomness import SeededRandom

trim = compiled(box_loops.trim)

LATTICE = HalfplaneLattice(3, bits=1)
SIDE = LATTICE.d << LATTICE.bits
INTERVALS = st.tuples(
    st.integers(LATTICE.low, LATTICE.high), st.integers(LATTICE.low, LATTICE.high)
).map(lambda ends: (min(ends), max(ends) + 1))


def admitted(u0: int, u1: int, v0: int, v1: int) -> set[tuple[int, int]]:
    return {(u, v) for u in range(u0, u1) for v in range(v0, v1) if LATTICE.admits(u, v)}


@settings(max_examples=600, deadline=None)
@given(u=INTERVALS, v=INTERVALS, e=st.integers(0, 2))
def test_a_trimmed_rectangle_is_the_bounding_box_of_its_admitted_points(
    u: tuple[int, int], v: tuple[int, int], e: int
) -> None:
    box = np.zeros(16, dtype=np.int64)
    box[4 * e : 4 * e + 4] = *u, *v
    rest = np.delete(box, range(4 * e, 4 * e + 4))
    points = admitted(*u, *v)
    changed = trim(SIDE, box, e)
    u0, u1, v0, v1 = box[4 * e : 4 * e + 4].tolist()
    assert changed == ((u0, u1, v0, v1) != (*u, *v))
    assert (np.delete(box, range(4 * e, 4 * e + 4)) == rest).all()
    if not points:
        assert u0 == u1 or v0 == v1
        return
    assert (u0, u1) == (min(p[0] for p in points), max(p[0] for p in points) + 1)
    assert (v0, v1) == (min(p[1] for p in points), max(p[1] for p in points) + 1)


@pytest.mark.parametrize("bits", [0, 2])
def test_refined_boxes_still_cover_the_class(bits: int) -> None:
    """After a selection every admitted lattice point lies in exactly one box."""
    rng = np.random.default_rng(5)
    points = rng.integers(0, 10, (2000, 2))
    labels = (points.sum(axis=1) < 9) ^ (rng.random(2000) < 0.2)
    lattice = HalfplaneLattice(9, bits=bits)
    score = set_cover_score("disjunction", 1, int(labels.sum()), 0, 0)
    with watched_strands() as seen:
        selection = EnvelopeSelection(lattice, "halfplane")
        selection.select(counted(points, labels, 9), score, 0.5, SeededRandom(1))
    boxes = np.concatenate([s.partition.boxes[: s.partition.tally[BOXES]] for s in seen])
    assert len(boxes) > 2 * len(first_boxes(lattice, 1))
    found = [
        (int(box[SHEETS]) & 7, u, v)
        for box in boxes
        for u in range(box[0], box[1])
        for v in range(box[2], box[3])
        if lattice.admits(u, v)
    ]
    assert len(found) == len(set(found)) == len(lattice.sheets) * lattice.points_per_sheet
    # most straddling rectangles have been cut
    volume = sum(int((box[1] - box[0]) * (box[3] - box[2])) for box in boxes)
    whole = len(lattice.sheets) * (lattice.high + 1 - lattice.low) ** 2
    assert volume - len(found) < (whole - len(found)) / 2
