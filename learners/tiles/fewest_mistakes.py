"""Finds exactly how few mistakes a piece of at most two edges, of a finite class, makes in a tile.

What it is for: :mod:`learners.tiles.tile_choice` chooses by these numbers, privately, how many
tiles a side serve a sample.  Each is a minimum, over a finite public class, of functions that one
example changes by 0 or 1, all in one direction, and so is changed by 0 or 1 itself, in that
direction (docs/privacy.md, lemma 7).

The class.  A tile's own square has the corners (0, 0) and (W, W).  4 SIDE *ends* lie evenly on
its border, end k between bins k - 1 and k, counterclockwise from (0, 0), and APEXES**2 *apexes* on
a lattice inside.  Seen from a place p of the square, a point x lies in the bin in which the ray
from p through x leaves the square.  The pieces, each with either label inside:

    none        the whole tile;
    chord       the points whose bin, seen from end p, is one of p .. q - 1, q at most 4 SIDE: one
                side of a line;
    two chords  the union of two such pieces whose ends do not interlace, so that they are
                disjoint: the rest is a strip;
    wedge       the same seen from an apex: what lies between two rays.  A point on the apex lies
                outside.

Coordinates are scaled so that all of these are integers, and a bin is found by one exact division.

How.  Chords: for each end a histogram of the bins, and its running sums; three sides are turned to
lie below, and from the fourth no bin is seen that comes later.  Two chords: with c(p, q)
the change that a chord brings and best(k, l) the least c of a chord with ends in k .. l, both for
p <= q, they are [p, q) and [r, s) one after the other, or one within the complement of the other:
all pairs in O(SIDE**2).  Wedges: branch and bound over boxes of apexes.  Seen from a box a point
off it has its bin between those seen from two corners of the box, low <= high (unless they lie on
either side of end 0: then nothing is said of it, as of a point in the box).  A wedge [p, q) then
holds surely at least

    #{high < q} - #{low < p}      negatives (of those with low < p some are subtracted in vain)

and at most #{low < q} - #{high < p} positives, and those of which nothing is said.  So the
mistakes are at least F(q) - G(p), and the least of these over p < q takes one pass.  What cannot
beat the best piece so far is dropped.  In a box of four apexes each is tried.  In a tile where
bounds of boxes of some size drop too few to be worth their time, as they do where labels are by
chance, that size is bounded no more.

Complexity: O(m SIDE + SIDE**2) for m entries of a tile, and at most 340 boxes and 1,024 apexes of
O(m + SIDE).
"""

from __future__ import annotations

import numpy as np

from geometry.compiled_loops import inner, njit

#: Bins along a side of a tile, and apexes along a side; powers of two.
SIDE, APEXES = 64, 32

#: Tiles are at most so wide in grid points; wider ones are to be coarsened first.
MOST_WIDE = 1 << 13

_BINS = 4 * SIDE

#: How often the square of all apexes is halved until one is left.
_HALVINGS = APEXES.bit_length() - 1

#: So many points are looked at together, and counted in so many histograms in turn: adding to the
#: same bin twice in a row takes longer.
_BLOCK, _TURNS = 256, 4

#: So many boxes of a size are bounded, even if none is dropped, before that size is no more.
_PATIENCE = 4


@inner
def leaves(ax, ay, x, y, w):
    """The bin in which the ray from (ax, ay) inside the square through (x, y) leaves it.

    A ray through a corner leaves by the side that comes later, counterclockwise; one through its
    own beginning by any.

    All five are doubles with whole values, and the bin is one: so a compiler can look at several
    points at once.  It is exact: products stay below 2**51, and the quotient, at most SIDE, is an
    integer or 2**-42 off the next one, which is more than it is rounded by.
    """
    dx, dy = x - ax, y - ay
    right, up = dx > 0, dy > 0
    wide, high = abs(dx), abs(dy)
    to_x = w - ax if right else ax
    to_y = w - ay if up else ay
    # it leaves by a vertical side when that is reached first, or at a corner comes later
    sooner = to_y * wide - to_x * high
    vertical = (sooner > 0) | ((sooner == 0) & (right != up))
    way = ay * wide + dy * to_x if vertical else ax * high + dx * to_y
    length = (wide if vertical else high) * w
    # the left side and the upper one run backwards
    backwards = (not right) if vertical else up
    way = length - way if backwards else way
    side = (3.0 if backwards else 1.0) if vertical else (2.0 if backwards else 0.0)
    return SIDE * side + np.floor(way * SIDE / max(length, 1.0))


@inner
def _leaves_from_below(a, x, y, w):
    """The same from the end (a, 0) of the lower side through a point above that."""
    dx = x - a
    # how far it passes to the left of the upper right corner, and to the right of the other one
    from_right = (w - a) * y - w * dx
    from_left = w * y - from_right
    right, left = from_right < 0, from_left <= 0
    way = from_right + w * dx if right else (-from_left if left else from_right)
    length = abs(dx) if right | left else y
    side = 1.0 if right else (3.0 if left else 2.0)
    return SIDE * side + np.floor(way * SIDE / (length * w))


@inner
def _add(found, change, turns):
    """Add to bins what labelling points 1 changes, in the rows of `turns` in turn."""
    whole = len(change) // _TURNS * _TURNS
    for i in range(0, whole, _TURNS):
        for k in range(_TURNS):
            turns[k, found[i + k]] += change[i + k]
    for i in range(whole, len(change)):
        turns[0, found[i]] += change[i]


@inner
def _chords(x, y, change, positives, negatives, w, turns, chord):
    """Fewest mistakes of a chord; chord[p, q] becomes what labelling [p, q) 1 changes.

    chord : int64 array, shape (3 * SIDE, _BINS + 1): from the last side nothing is seen beyond.
    """
    one = min(positives, negatives)
    step, wide = float(w // SIDE), float(w)
    found = np.empty(_BLOCK, dtype=np.int64)
    first = 0
    for across, up in ((x, y), (y, wide - x), (wide - x, wide - y)):
        for end in range(SIDE):
            turns[:] = 0
            for begin in range(0, len(x), _BLOCK):
                some_x, some_y = across[begin : begin + _BLOCK], up[begin : begin + _BLOCK]
                for i in range(len(some_x)):
                    found[i] = _leaves_from_below(end * step, some_x[i], some_y[i], wide)
                _add(found, change[begin : begin + _BLOCK], turns)
            row = chord[first + end]
            row[first + end : first + SIDE + 1] = 0
            held = low = high = np.int64(0)
            for b in range(SIDE, _BINS - first):
                for k in range(_TURNS):
                    held += turns[k, b]
                row[first + b + 1] = held
                low, high = min(low, held), max(high, held)
            one = min(one, positives + low, negatives - high)
        first += SIDE
    return one


@inner
def _two_chords(positives, negatives, chord):
    """Fewest mistakes of two chords."""
    total, two = negatives - positives, min(positives, negatives)
    # of all chords with ends in p .. q, for one p after the other; and in p .. _BINS
    least = np.empty(_BINS + 1, dtype=np.int64)
    onward = np.empty(_BINS + 1, dtype=np.int64)
    # the pieces labelled 1, then 0
    for sign in (1, -1):
        base = positives if sign == 1 else negatives
        least[:], onward[:] = 0, 0
        apart = np.int64(0)
        for p in range(len(chord) - 1, -1, -1):
            row, best = chord[p], np.int64(0)
            for q in range(p + 1, _BINS + 1):
                least[q] = min(least[q], sign * row[q])
            for q in range(p + 1, _BINS + 1):
                best = min(best, least[q])
                least[q] = best
            onward[p] = best
            for q in range(p + 1, _BINS + 1):
                # the other piece is all beyond [p, q)
                apart = min(apart, sign * total + least[q] - sign * row[q])
        two = min(two, base + apart)
        for q in range(_BINS + 1):
            two = min(two, base + least[q] + onward[q])
    return two


@inner
def _wedge(x, y, change, positives, negatives, ax, ay, w, turns):
    """Fewest mistakes of the wedges of an apex."""
    turns[:] = 0
    found = np.empty(_BLOCK, dtype=np.int64)
    for begin in range(0, len(x), _BLOCK):
        some_x, some_y = x[begin : begin + _BLOCK], y[begin : begin + _BLOCK]
        for i in range(len(some_x)):
            elsewhere = (some_x[i] != ax) | (some_y[i] != ay)
            found[i] = leaves(ax, ay, some_x[i], some_y[i], w) if elsewhere else float(_BINS)
        _add(found, change[begin : begin + _BLOCK], turns)
    low = high = at_low = at_high = zero = np.int64(0)
    for b in range(_BINS):
        at_low, at_high = min(at_low, zero), max(at_high, zero)
        for k in range(_TURNS):
            at_low += turns[k, b]
            at_high += turns[k, b]
        low, high = min(low, at_low), max(high, at_high)
    return min(positives + low, negatives - high)


@inner
def seen_first(x, y, x0, y0, x1, y1, w):
    """The bin of a point seen from the corner of the box x0..x1, y0..y1 that comes first.

    Counterclockwise, and for a point off the box; all are doubles.  Seen from anywhere in the box
    the point lies in this bin, in that of :func:`seen_last` or between them, unless end 0 does.
    """
    left, right, under, over = x < x0, x > x1, y < y0, y > y1
    ax = x1 if under | (right & (not over)) else x0
    ay = y0 if left | (under & (not right)) else y1
    return leaves(ax, ay, x, y, w)


@inner
def seen_last(x, y, x0, y0, x1, y1, w):
    """The same from the corner that comes last."""
    left, right, under, over = x < x0, x > x1, y < y0, y > y1
    ax = x0 if under | (left & (not over)) else x1
    ay = y1 if left | (over & (not right)) else y0
    return leaves(ax, ay, x, y, w)


@inner
def _bound(x, y, labels, change, positives, negatives, box, w, turns, others):
    """No wedge with an apex in the closed box makes fewer mistakes.

    turns, others : int64 arrays, shape (_TURNS, _BINS + 2)
        For negatives by high and positives by low, and the other way round.
    """
    turns[:], others[:] = 0, 0
    x0, y0, x1, y1 = box
    one, other = np.empty(_BLOCK, dtype=np.int64), np.empty(_BLOCK, dtype=np.int64)
    for begin in range(0, len(x), _BLOCK):
        some_x, some_y = x[begin : begin + _BLOCK], y[begin : begin + _BLOCK]
        some_labels = labels[begin : begin + _BLOCK]
        for i in range(len(some_x)):
            low = seen_first(some_x[i], some_y[i], x0, y0, x1, y1, w)
            high = seen_last(some_x[i], some_y[i], x0, y0, x1, y1, w)
            off = (some_x[i] < x0) | (some_x[i] > x1) | (some_y[i] < y0) | (some_y[i] > y1)
            # of a point in the box, or with end 0 between the two, nothing is known
            told = off & (low <= high)
            beyond = _BINS + 1.0 if some_labels[i] else float(_BINS)
            one[i] = (low if some_labels[i] else high) if told else beyond
            other[i] = (high if some_labels[i] else low) if told else beyond
        _add(one, change[begin : begin + _BLOCK], turns)
        _add(other, change[begin : begin + _BLOCK], others)
    told_negatives, told_positives = negatives, positives
    for k in range(_TURNS):
        told_negatives -= turns[k, _BINS]
        told_positives += turns[k, _BINS + 1]
    # F and G of the head of this module, of wedges labelled 1; those labelled 0 have -G and -F
    f = g = top_1 = top_0 = least_1 = least_0 = np.int64(0)
    for b in range(_BINS):
        top_1, top_0 = max(top_1, g), max(top_0, -f)
        for k in range(_TURNS):
            f += turns[k, b]
            g += others[k, b]
        least_1, least_0 = min(least_1, f - top_1), min(least_0, -g - top_0)
    return max(np.int64(0), min(told_positives + least_1, told_negatives + least_0))


@inner
def _wedges(x, y, labels, change, positives, negatives, w, turns, others, enough):
    """Fewest mistakes of a wedge, or `enough` if none makes fewer."""
    unit = w / (2 * APEXES)
    # a quarter of what was halved last comes next: at most three wait at each size
    waiting = np.empty((3 * _HALVINGS + 1, 4), dtype=np.int64)
    waiting[0, :3], waiting[0, 3] = 0, APEXES
    count = 1
    # boxes of each size that were bounded, and that a bound dropped
    bounded, dropped = np.zeros(APEXES, dtype=np.int64), np.zeros(APEXES, dtype=np.int64)
    while count > 0:
        count -= 1
        bound, i, j, size = waiting[count]
        if bound >= enough:
            continue
        half = size // 2
        for quarter in range(4):
            left, low = i + (quarter & 1) * half, j + (quarter >> 1) * half
            ax, ay = (2 * left + 1) * unit, (2 * low + 1) * unit
            if half == 1:
                found = _wedge(x, y, change, positives, negatives, ax, ay, w, turns)
                enough = min(enough, found)
                continue
            least = bound
            # a bound takes twice as long as an apex
            if dropped[half] * half * half > 2 * (bounded[half] - _PATIENCE):
                box = ax, ay, ax + 2 * (half - 1) * unit, ay + 2 * (half - 1) * unit
                least = _bound(x, y, labels, change, positives, negatives, box, w, turns, others)
                bounded[half] += 1
                dropped[half] += least >= enough
            if least < enough:
                waiting[count, 0], waiting[count, 1] = least, left
                waiting[count, 2], waiting[count, 3] = low, half
                count += 1
    return enough


@njit(cache=True, nogil=True, error_model="numpy")
def fewest_in_tile(points, labels, amounts, w, edges, edge):
    """The least of mistakes plus `edge` times the edges, over all pieces of so many edges.

    Parameters
    ----------
    points : int64 array, shape (m, 2)
        Entries in the tile's own scaled frame (:func:`learners.tiles.tile_choice.scaled`).
    labels : bool array, shape (m,)
    amounts : int64 array, shape (m,)
        Examples of each entry.
    w : int
        Side of the tile's square in that frame, a multiple of 2 * APEXES and of SIDE.
    edges : int
        Most edges of a piece, 1 or 2.
    edge : int
        Mistakes that an edge must save, at least 0.

    Returns
    -------
    int
    """
    change = np.empty(len(points), dtype=np.int64)
    positives = negatives = np.int64(0)
    for i in range(len(points)):
        if labels[i]:
            positives += amounts[i]
            change[i] = -amounts[i]
        else:
            negatives += amounts[i]
            change[i] = amounts[i]
    best = min(positives, negatives)
    if best <= edge:
        return best
    x, y = points[:, 0].astype(np.float64), points[:, 1].astype(np.float64)
    # beside the bins there is room for points without one
    turns = np.empty((_TURNS, _BINS + 2), dtype=np.int64)
    chord = np.empty((3 * SIDE, _BINS + 1), dtype=np.int64)
    best = min(best, edge + _chords(x, y, change, positives, negatives, w, turns, chord))
    if edges < 2 or best <= 2 * edge:
        return best
    best = min(best, 2 * edge + _two_chords(positives, negatives, chord))
    others = np.empty_like(turns)
    return 2 * edge + _wedges(
        x, y, labels, change, positives, negatives, float(w), turns, others, best - 2 * edge
    )
