"""Refines boxes of discs or ellipses until one of these is drawn.  Compiled.

The law and the proof: :mod:`learners.curved.selection` and docs/privacy.md, lemma L1.  A box
is a product of integer intervals, one a parameter of :mod:`geometry.lift`: (p, q, r) of a disc,
(p, q, w, h, t) of an ellipse.  In the grid's column at abscissa x
every disc and every ellipse holds an interval of ordinates.  So the *outer* shape of a box, which
holds all its members, and the *inner* one, which all of them hold, are counted column by column
from prefix sums.  Grid points that hold many examples of both labels are counted apart
(:mod:`learners.curved.selection`).

Outer and inner shape of a box of discs are the union and the intersection of all discs with real
centres and radii in it, exactly, in integers.  For ellipses they are so up to 2**-20 of a lattice
unit, to the safe side: the ends are found in doubles, from numbers below 2**17 by fewer than
twenty operations, each off by a relative 2**-53, so by less than 2**-30 in all.  What a single
disc or ellipse holds is decided in integers alone.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from geometry.arrays import Floats, Ints
from geometry.compiled_loops import inner, njit
from learners.core.selection import POWER
from learners.envelope.chunks import RESERVE, exponential, uniform_below
from learners.envelope.partition import draw_box, put_mass
from learners.envelope.target import examples_of, greatest_score, score_value

#: Columns of `Refinement.boxes`: least parameters, greatest ones, the two counts, the shared points
#: that some member holds and those that all do, as words of bits, and the greatest score.
LOW, HIGH, POSITIVES, NEGATIVES, SOME, ALL, BOUND, WIDTH = 0, 5, 10, 11, 12, 13, 14, 15

#: Entries of `Refinement.tally`.
BOXES, TRIALS = range(2)

#: Why a call of :func:`run` came back.
ACCEPTED, NEEDS_RANDOM, PAUSED, STARVED, FULL = range(5)

#: Below this total mass the reference score is chosen anew.
LIGHT = 1e-50

#: Columns in a group where a trial is first bounded.
_COARSE = 16

#: share ** POWER is the share squared so many times.
_SQUARINGS = POWER.bit_length() - 1

#: Added to each end of an outer interval and taken off an inner one, in lattice units.
_MARGIN = 2.0**-20


class ConicTarget(NamedTuple):
    """What is drawn from.

    k, c_pos, c_neg, total : the integer score, at most 0; half : -score at which its rate is half,
    POWER / rate; reference : the score that weighs 1; size : parameters of a piece, 3 for a disc
    and 5 for an ellipse; d : grid size; bits : parameters are multiples of 2**-bits.
    """

    k: int
    c_pos: int
    c_neg: int
    total: bool
    half: float
    reference: int
    size: int
    d: int
    bits: int


class Refinement(NamedTuple):
    """Boxes that cover the class, with their masses in a sum tree.

    Attributes
    ----------
    boxes : int64 array, shape (capacity, 15)
        Least and greatest value of each parameter (five places each, both inclusive), positives
        in the outer shape and negatives in the inner one, without those on shared points
        (:mod:`learners.curved.selection`), which of these points lie in the outer shape and
        which in the inner one, and the greatest score that a member may have.
    tree : float64 array, shape (2 * capacity,)
        Masses at capacity + box; every other node is the sum of its two children.
    tally : int64 array, shape (2,)
        Boxes and trials so far.
    """

    boxes: Ints
    tree: Floats
    tally: Ints


def make_refinement(capacity: int) -> Refinement:
    """An empty one for up to `capacity` boxes, a power of two."""
    return Refinement(
        np.zeros((capacity, WIDTH), dtype=np.int64),
        np.zeros(2 * capacity, dtype=np.float64),
        np.zeros(2, dtype=np.int64),
    )


def grow(old: Refinement) -> Refinement:
    """The same boxes with twice the room, not yet weighed."""
    wider = make_refinement(2 * len(old.boxes))
    wider.boxes[: len(old.boxes)] = old.boxes
    wider.tally[:] = old.tally
    return wider


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _root(n):
    """Integer part of the square root, for 0 <= n < 2**62."""
    root = np.int64(math.sqrt(float(n)))
    if root * root > n:
        root -= 1
    elif (root + 1) * (root + 1) <= n:
        root += 1
    return root


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _rectangle(area, first, last, bottom, top):
    """Examples with abscissa in first..last and ordinate in bottom..top, both inclusive."""
    if bottom > top:
        return np.int64(0)
    return np.int64(
        area[top + 1, last + 1]
        - area[top + 1, first]
        - area[bottom, last + 1]
        + area[bottom, first]
    )


@inner
def _disc_outer(area, d, bits, low, high, stride):
    """Examples in the union of the discs of a box; with a stride, a little more."""
    p0, q0, p1, q1, r1 = low[0], low[1], high[0], high[1], high[2]
    found = np.int64(0)
    end = min((p1 + r1) >> bits, d)
    for x in range(max((p0 - r1 + (1 << bits) - 1) >> bits, 0), end + 1, stride):
        last = min(x + stride - 1, end)
        away = max(p0 - (last << bits), (x << bits) - p1, 0)
        half = _root(r1 * r1 - away * away)
        bottom = max(-((half - q0) >> bits), 0)
        found += _rectangle(area, x, last, bottom, min((q1 + half) >> bits, d))
    return found


@inner
def _disc_inner(area, d, bits, low, high, stride):
    """Examples in the intersection of the discs of a box; with a stride, a little fewer."""
    p0, q0, r0, p1, q1 = low[0], low[1], low[2], high[0], high[1]
    found = np.int64(0)
    end = min((p0 + r0) >> bits, d)
    for x in range(max((p1 - r0 + (1 << bits) - 1) >> bits, 0), end + 1, stride):
        last = min(x + stride - 1, end)
        away = max((last << bits) - p0, p1 - (x << bits))
        half = _root(r0 * r0 - away * away)
        bottom = max(-((half - q1) >> bits), 0)
        found += _rectangle(area, x, last, bottom, min((q0 + half) >> bits, d))
    return found


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _whole_below(y):
    """The greatest integer that is at most y, for |y| < 2**13."""
    return np.int64(y + 8192.0) - 8192


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _quotient(n, unit, per_unit):
    """The greatest integer that is at most n / unit: guessed in doubles, decided in integers."""
    guess = _whole_below(n * per_unit)
    if guess * unit > n:
        guess -= 1
    elif (guess + 1) * unit <= n:
        guess += 1
    return guess


@inner
def _ellipse_exact(area, d, bits, theta):
    """Examples in one ellipse, in integers alone."""
    p, q, w, h, t = theta[0], theta[1], theta[2], theta[3], theta[4]
    found = np.int64(0)
    unit = w << bits
    per_unit = 1.0 / unit
    for x in range(max((p - w + (1 << bits) - 1) >> bits, 0), min((p + w) >> bits, d) + 1):
        off = (x << bits) - p
        half = _root(h * h * (w * w - off * off))
        middle = w * q + t * off
        bottom = max(-_quotient(half - middle, unit, per_unit), 0)
        found += _rectangle(area, x, x, bottom, min(_quotient(middle + half, unit, per_unit), d))
    return found


@inner
def _ellipse_outer(area, d, bits, low, high, stride):
    """Examples in the union of the ellipses of a box, or a little more."""
    p0, q0, t0 = low[0], low[1], float(low[4])
    p1, q1, h1, t1 = high[0], high[1], float(high[3]), float(high[4])
    w0, w1 = low[2], high[2]
    peak0, peak1 = math.sqrt(t0 * t0 + h1 * h1), math.sqrt(t1 * t1 + h1 * h1)
    scale, per_w0, per_w1 = 1.0 / (1 << bits), 1.0 / w0, 1.0 / w1
    above, beneath = (q1 + _MARGIN) * scale, (q0 - _MARGIN) * scale
    found = np.int64(0)
    end = min((p1 + w1) >> bits, d)
    for x in range(max((p0 - w1 + (1 << bits) - 1) >> bits, 0), end + 1, stride):
        last = min(x + stride - 1, end)
        # (x - p) / w runs over s0..s1, cut to -1..1; g = sqrt(1 - s**2) there
        a, b = (x << bits) - p1, (last << bits) - p0
        v, per_v = (w1, per_w1) if a >= 0 else (w0, per_w0)
        u, per_u = (w0, per_w0) if b >= 0 else (w1, per_w1)
        a, b = max(a, -v), min(b, u)
        s0, g0 = a * per_v, h1 * (math.sqrt(float((v - a) * (v + a))) * per_v)
        s1, g1 = b * per_u, h1 * (math.sqrt(float((u - b) * (u + b))) * per_u)
        # t * s + h * sqrt(1 - s**2) is concave in s, greatest at s = t / peak
        at_0, at_1 = max(t0 * s0, t1 * s0), max(t0 * s1, t1 * s1)
        up = max(at_0 + g0, at_1 + g1)
        if s0 * peak0 <= t0 <= s1 * peak0:
            up = max(up, peak0)
        if s0 * peak1 <= t1 <= s1 * peak1:
            up = max(up, peak1)
        at_0, at_1 = min(t0 * s0, t1 * s0), min(t0 * s1, t1 * s1)
        down = max(g0 - at_0, g1 - at_1)
        if s0 * peak0 <= -t0 <= s1 * peak0:
            down = max(down, peak0)
        if s0 * peak1 <= -t1 <= s1 * peak1:
            down = max(down, peak1)
        top = min(_whole_below(above + up * scale), d)
        bottom = max(-_whole_below(down * scale - beneath), 0)
        found += _rectangle(area, x, last, bottom, top)
    return found


@inner
def _ellipse_inner(area, d, bits, low, high, stride):
    """Examples in the intersection of the ellipses of a box, or a little fewer."""
    p0, q0, h0, t0 = low[0], low[1], float(low[3]), float(low[4])
    p1, q1, t1 = high[0], high[1], float(high[4])
    w0, w1 = low[2], high[2]
    scale, per_w0, per_w1 = 1.0 / (1 << bits), 1.0 / w0, 1.0 / w1
    above, beneath = (q0 - _MARGIN) * scale, (q1 + _MARGIN) * scale
    found = np.int64(0)
    end = min((p0 + w0) >> bits, d)
    for x in range(max((p1 - w0 + (1 << bits) - 1) >> bits, 0), end + 1, stride):
        last = min(x + stride - 1, end)
        a, b = (x << bits) - p1, (last << bits) - p0
        v, per_v = (w1, per_w1) if a >= 0 else (w0, per_w0)
        u, per_u = (w0, per_w0) if b >= 0 else (w1, per_w1)
        s0, g0 = a * per_v, h0 * (math.sqrt(float((v - a) * (v + a))) * per_v)
        s1, g1 = b * per_u, h0 * (math.sqrt(float((u - b) * (u + b))) * per_u)
        # concave in s for every t: least at an end
        up = min(min(t0 * s0, t1 * s0) + g0, min(t0 * s1, t1 * s1) + g1)
        down = min(g0 - max(t0 * s0, t1 * s0), g1 - max(t0 * s1, t1 * s1))
        top = min(_whole_below(above + up * scale), d)
        bottom = max(-_whole_below(down * scale - beneath), 0)
        found += _rectangle(area, x, last, bottom, top)
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def outer_count(target, area, low, high, stride):
    """Examples in the outer shape of a box: at least as many as in any of its members."""
    if target.size == 3:
        return _disc_outer(area, target.d, target.bits, low, high, stride)
    return _ellipse_outer(area, target.d, target.bits, low, high, stride)


@njit(cache=True, nogil=True, error_model="numpy")
def inner_count(target, area, low, high, stride):
    """Examples in the inner shape of a box: at most as many as in any of its members."""
    if target.size == 3:
        return _disc_inner(area, target.d, target.bits, low, high, stride)
    return _ellipse_inner(area, target.d, target.bits, low, high, stride)


@njit(cache=True, nogil=True, error_model="numpy")
def exact_count(target, area, theta):
    """Examples in one disc or ellipse."""
    if target.size == 3:
        return _disc_inner(area, target.d, target.bits, theta, theta, 1)
    return _ellipse_exact(area, target.d, target.bits, theta)


@njit(cache=True, nogil=True, error_model="numpy")
def recount(target, tables, box):
    """Count in the shapes of a box, and bound; never more, or fewer, than it says already."""
    low, high = box[LOW:HIGH], box[HIGH:POSITIVES]
    widest = np.int64(0)
    for i in range(target.size):
        widest = max(widest, high[i] - low[i])
    # columns of a box of many grid units are as good in groups, a quarter as wide
    stride = max(1, (widest >> target.bits) >> 2)
    positives = outer_count(target, tables.positives, low, high, stride)
    negatives = inner_count(target, tables.negatives, low, high, stride)
    box[POSITIVES] = min(box[POSITIVES], positives)
    box[NEGATIVES] = max(box[NEGATIVES], negatives)
    if box[SOME] != box[ALL]:
        box[SOME] &= outer_count(target, tables.points, low, high, stride)
        box[ALL] |= inner_count(target, tables.points, low, high, stride)
    bound = greatest_score(
        target, tables.shared, box[ALL], box[SOME] & ~box[ALL], box[POSITIVES], box[NEGATIVES]
    )
    box[BOUND] = min(box[BOUND], bound)


@njit(cache=True, nogil=True, error_model="numpy")
def box_mass(target, box):
    """Lattice points of the box, times ((half - reference) / (half - bound)) ** POWER."""
    volume = 1.0
    for i in range(target.size):
        volume *= float(box[HIGH + i] - box[LOW + i] + 1)
    bound = box[BOUND]
    share = (target.half - target.reference) / (target.half - bound)
    for _ in range(_SQUARINGS):
        share *= share
    return volume * share


@njit(cache=True, nogil=True, error_model="numpy")
def best_bound(target, state):
    """The greatest bound of a box."""
    best = np.int64(-(1 << 62))
    for i in range(state.tally[BOXES]):
        best = max(best, state.boxes[i, BOUND])
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def weigh(target, state):
    """Compute every mass anew."""
    tree, capacity = state.tree, len(state.boxes)
    for i in range(capacity):
        tree[capacity + i] = box_mass(target, state.boxes[i]) if i < state.tally[BOXES] else 0.0
    for node in range(capacity - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]


@inner
def _trial(target, tables, box, chunks, at, theta):
    """(accepted, next position): theta uniform in the box, kept with its share of the bound."""
    for i in range(target.size):
        step, at = uniform_below(box[HIGH + i] - box[LOW + i] + 1, chunks, at)
        if step < 0:
            return False, at
        theta[i] = box[LOW + i] + step
    spread, at = exponential(chunks, at)
    bound = box[BOUND]
    least = bound - np.int64(min((target.half - bound) * math.expm1(spread / POWER), 4e18))
    held = box[ALL]
    if box[SOME] != held:
        held = exact_count(target, tables.points, theta)
    shared_0 = examples_of(tables.shared, 0, held)
    shared_1 = examples_of(tables.shared, 1, held)
    # most are rejected by bounds from groups of columns
    negatives = shared_0 + inner_count(target, tables.negatives, theta, theta, _COARSE)
    if score_value(target, shared_1 + box[POSITIVES], negatives) < least:
        return False, at
    positives = shared_1 + outer_count(target, tables.positives, theta, theta, _COARSE)
    if score_value(target, positives, negatives) < least:
        return False, at
    negatives = shared_0 + exact_count(target, tables.negatives, theta)
    if score_value(target, positives, negatives) < least:
        return False, at
    positives = shared_1 + exact_count(target, tables.positives, theta)
    return score_value(target, positives, negatives) >= least, at


@inner
def _widest_side(target, box):
    """The side along which the area between outlines is largest; -1 of a single point.

    A unit of p, q, w, h or t moves an ellipse's outline over about so much, in its middle member.
    """
    per_unit = (1.0, 1.0, 1.0, 1.0, 1.0)
    if target.size == 5:
        w = 0.5 * (box[LOW + 2] + box[HIGH + 2])
        h = 0.5 * (box[LOW + 3] + box[HIGH + 3])
        t = 0.5 * abs(box[LOW + 4] + box[HIGH + 4])
        per_unit = (
            4.0 * math.sqrt(h * h + t * t),
            4.0 * w,
            math.pi * h + 2.0 * t,
            math.pi * w,
            2.0 * w,
        )
    side, most = -1, 0.0
    for i in range(target.size):
        moved = per_unit[i] * (box[HIGH + i] - box[LOW + i])
        if moved > most:
            side, most = i, moved
    return side


@inner
def _split(target, tables, state, index):
    """Halve a box across :func:`_widest_side`; False when it is a single point."""
    boxes, tree = state.boxes, state.tree
    box = boxes[index]
    side = _widest_side(target, box)
    if side < 0:
        return False
    middle = (box[LOW + side] + box[HIGH + side]) >> 1
    new = state.tally[BOXES]
    state.tally[BOXES] += 1
    other = boxes[new]
    other[:] = box
    box[HIGH + side] = middle
    other[LOW + side] = middle + 1
    recount(target, tables, box)
    recount(target, tables, other)
    put_mass(tree, len(boxes), index, box_mass(target, box))
    put_mass(tree, len(boxes), new, box_mass(target, other))
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def run(target, tables, state, chunks, at, trials, theta):
    """Trials, and a split after each rejection, until one is accepted, the bits run out, so many
    trials are made, the boxes are used up, or hardly any mass is left.

    Returns (why, position in chunks).  On acceptance the parameters are in theta, int64 of shape
    (5,).
    """
    boxes, tree, tally = state.boxes, state.tree, state.tally
    capacity = len(boxes)
    limit = tally[TRIALS] + trials
    while True:
        if at + RESERVE > len(chunks):
            return NEEDS_RANDOM, at
        if tree[1] < LIGHT:
            return STARVED, at
        if tally[TRIALS] >= limit:
            return PAUSED, at
        tally[TRIALS] += 1
        index, at = draw_box(tree, capacity, chunks, at)
        accepted, at = _trial(target, tables, boxes[index], chunks, at, theta)
        if accepted:
            return ACCEPTED, at
        if tally[BOXES] < capacity:
            _split(target, tables, state, index)
            if tally[BOXES] == capacity:
                return FULL, at
