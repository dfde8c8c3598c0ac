"""Draws pieces from boxes whose lines are weighed by what they may gain in piles of reports.

Where reports lie in piles (:mod:`learners.envelope.pile_gains`), boxes
(:mod:`learners.envelope.partition`) are narrow enough to tell only when there are thousands for
each edge, and so a thousand million of the three together.  But what edges may gain adds up, and
what a line may gain is soon known of all lines: they are divided into rectangles of dual points,
halves below each, and each line is drawn in its box by what it weighs, independently of the others
(docs/privacy.md, lemma E6).  Scores are doubled, so that all are integers.

Only tried where most examples lie in piles; after so many trials that were rejected the draw goes
on with other boxes (lemma E2).  What it is worth and where it does not help:
docs/decisions/0023-close-pairs.md.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from geometry.arrays import Floats, Ints
from geometry.columns import LineTables, count_columns, make_tables
from geometry.compiled_loops import borrowed, inner, njit
from geometry.counting import NEGATIVE, POSITIVE, count_piece, forget_lines, line_row
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice
from learners.core.selection import PIECE_SIZE, PieceKind, Score, Selected, SelectionProgress, Watch
from learners.envelope.boxes import NO_SHEET, admits_some, rectangles
from learners.envelope.chunks import RESERVE, exponential, less, uniform_below
from learners.envelope.core import TINY
from learners.envelope.partition import draw_box, put_mass
from learners.envelope.pile_gains import Piles, gain_of
from learners.envelope.target import Target
from learners.envelope.trials import exact_value
from learners.privacy.randomness import RandomSource

#: Nodes of lines at most; a leaf is divided while it has so large a share of the mass.
_MOST_NODES, _LEAST_SHARE = 1 << 16, 2.0**-13

#: Two halves that weigh more than this, the whole being 1, gain nothing worth a choice.
_USELESS = 0.99

#: Nats that a line through a pile may be worth, at most, and a line through several: lemma 5 asks
#: for no more than the latter.
_STRONG, _MOST_NATS = 8.0, 200.0

#: Trials at most, and in one go; boxes at most; memory of either line tables.
_TRIALS, _AT_ONCE, _MOST_BOXES, _TABLE_BYTES = 1 << 18, 1 << 12, 1 << 18, 100 << 20

#: 16-bit chunks drawn in one go.
_CHUNKS = 1 << 18


class Lines(NamedTuple):
    """The lines of the class, divided into rectangles of dual points, halves below each.

    Attributes
    ----------
    nodes : int64 array, shape (count, 8)
        Sheet, u0, u1, v0, v1 (half-open), x, and the two halves, later ones; -1 of a leaf.
    weights : float64 array, shape (count,)
        The dual points of a leaf times e^(nats * (x - the greatest x)); of others the sum of both
        halves' weights.
    """

    nodes: Ints
    weights: Floats


def make_lines(lattice: HalfplaneLattice, piles: Piles, nats: float) -> tuple[Lines, int]:
    """All lines of the class, `nats` being what 1 of x weighs; and how many nodes are below none:
    these are the first."""
    nodes = np.full((_MOST_NODES, 8), -1, dtype=np.int64)
    roots = [(sheet, *part) for sheet in lattice.sheets for part in rectangles(lattice)]
    nodes[: len(roots), :5] = roots
    side = lattice.d << lattice.bits
    basis = np.array(lattice.basis, dtype=np.int64)
    weights = np.zeros(len(nodes), dtype=np.float64)
    count = _divide(basis, side, piles, nats, nodes, weights, len(roots))
    return Lines(nodes[:count], weights[:count]), len(roots)


@njit(cache=True, nogil=True, error_model="numpy")
def _divide(basis, side, piles, nats, nodes, weights, count):
    """Halve the heaviest leaves that may gain less in parts, or lie partly outside the class."""
    vague = np.ones(len(nodes), dtype=np.bool_)
    for i in range(count):
        nodes[i, 5], vague[i] = gain_of(
            basis, piles, nodes[i, 0], nodes[i, 1], nodes[i, 2], nodes[i, 3], nodes[i, 4]
        )
    while True:
        greatest, total, before = np.int64(0), 0.0, count
        for i in range(count):
            if nodes[i, 6] < 0:
                greatest = max(greatest, nodes[i, 5])
        for i in range(count):
            weights[i] = 0.0
            u0, u1, v0, v1 = nodes[i, 1], nodes[i, 2], nodes[i, 3], nodes[i, 4]
            if nodes[i, 6] < 0 and admits_some(side, u0, u1, v0, v1):
                area = float(u1 - u0) * float(v1 - v0)
                weights[i] = area * math.exp(nats * (nodes[i, 5] - greatest))
                total += weights[i]
        for i in range(before):
            if nodes[i, 6] >= 0 or count + 2 > len(nodes):
                continue
            u0, u1, v0, v1 = nodes[i, 1], nodes[i, 2], nodes[i, 3], nodes[i, 4]
            longer = 1 if u1 - u0 >= v1 - v0 else 3
            if nodes[i, longer + 1] - nodes[i, longer] < 2:
                continue
            whole = u1 - 1 - v0 <= side and v1 - 1 - u0 <= side
            whole &= max(u0, v0) >= 0 and min(u1, v1) - 1 <= side
            # large ones, too: boxes are made of them
            large = max(u1 - u0, v1 - v0) > side >> 5
            share = weights[i] / total * (1.0 if vague[i] or not whole else 0.0)
            if weights[i] == 0.0 or not (large or share > _LEAST_SHARE):
                continue
            middle = (nodes[i, longer] + nodes[i, longer + 1]) >> 1
            for half in range(2):
                at = count + half
                nodes[i, 6 + half] = at
                nodes[at, :6] = nodes[i, :6]
                nodes[at, longer + 1 - half] = middle
                nodes[at, 5], vague[at] = gain_of(
                    basis, piles, nodes[at, 0],
                    nodes[at, 1], nodes[at, 2], nodes[at, 3], nodes[at, 4],
                )  # fmt: skip
            count += 2
        if count == before:
            break
    for i in range(count - 1, -1, -1):
        if nodes[i, 6] >= 0:
            weights[i] = weights[nodes[i, 6]] + weights[nodes[i, 7]]
    return count


class Sampler(NamedTuple):
    """What trials and halvings work with.

    Attributes
    ----------
    lines : Lines
    every, left : LineTables
        Of all examples, whatever their label, and of those that were not taken out.
    boxes : int64 array, shape (size, 5)
        A node for each of up to three edges, twice the bound without x, and orders.
    tree : float64 array, shape (2 * size,)
        Masses at size + box, and sums.
    used : int64 array, shape (1,)
        Boxes in use.
    most : int
        Twice what no piece scores above without x.
    reference : int
        Twice the score that weighs 1.
    """

    lines: Lines
    every: LineTables
    left: LineTables
    boxes: Ints
    tree: Floats
    used: Ints
    most: int
    reference: int


@inner
def _rows(tables, nodes, node, outer, label):
    """The row of a node's greatest halfplane, or of its smallest."""
    sheet = nodes[node, 0]
    u, v = nodes[node, 1], nodes[node, 3]
    if (sheet & 1 == 0) != outer:
        u, v = nodes[node, 2] - 1, nodes[node, 4] - 1
    return line_row(tables, sheet, u, v, label)


@inner
def _bound(target, sampler, edges, one, two, three):
    """Twice the score that no piece with edges in these nodes is above, without x."""
    nodes, every, left = sampler.lines.nodes, sampler.every, sampler.left
    for tables in (every, left):
        if len(tables.lines) - tables.used[0] < 12:
            forget_lines(tables)
    rows = np.zeros((4, 3), dtype=np.int64)
    for e in range(edges):
        node = one if e == 0 else two if e == 1 else three
        rows[0, e] = _rows(every, nodes, node, True, NEGATIVE)
        rows[1, e] = _rows(every, nodes, node, False, NEGATIVE)
        rows[2, e] = _rows(left, nodes, node, True, POSITIVE)
        rows[3, e] = _rows(left, nodes, node, False, NEGATIVE)
    most = count_piece(
        every.lines, every.below, every.totals[0], rows[0, 0], rows[0, 1], rows[0, 2]
    )
    fewest = count_piece(
        every.lines, every.below, every.totals[0], rows[1, 0], rows[1, 1], rows[1, 2]
    )
    gained = count_piece(left.lines, left.below, left.totals[1], rows[2, 0], rows[2, 1], rows[2, 2])
    lost = count_piece(left.lines, left.below, left.totals[0], rows[3, 0], rows[3, 1], rows[3, 2])
    apart = target.c_pos - target.c_neg
    apart = max(target.k * np.int64(fewest) + apart, -target.k * np.int64(most) - apart)
    both = target.k * (np.int64(gained) - lost) + target.c_pos + target.c_neg
    return min(both - max(apart, 0), sampler.most)


@inner
def _mass(target, sampler, edges, box):
    weights = sampler.lines.weights
    mass = float(box[4]) * math.exp(target.rate / 2 * (box[3] - sampler.reference))
    for e in range(edges):
        mass *= weights[box[e]]
    return mass


@njit(cache=True, nogil=True, error_model="numpy")
def _begin(target, sampler, edges):
    """Bound the first boxes and weigh them."""
    target, sampler = borrowed((target, sampler))
    boxes, tree = sampler.boxes, sampler.tree
    size = len(boxes)
    for i in range(sampler.used[0]):
        box = boxes[i]
        box[3] = _bound(target, sampler, edges, box[0], box[1], box[2])
        tree[size + i] = _mass(target, sampler, edges, box)
    for node in range(size - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]


@inner
def _halve(target, sampler, edges, index):
    """Halve one of a box's nodes, so that the halves weigh least; nothing where all are leaves."""
    nodes, weights = sampler.lines.nodes, sampler.lines.weights
    boxes, tree = sampler.boxes, sampler.tree
    box = boxes[index]
    best, chosen, kept_0, kept_1 = np.inf, -1, np.int64(0), np.int64(0)
    for e in range(edges):
        node = box[e]
        if nodes[node, 6] < 0:
            continue
        total, bound_0, bound_1 = 0.0, np.int64(0), np.int64(0)
        for half in range(2):
            child = nodes[node, 6 + half]
            bound = _bound(
                target, sampler, edges,
                child if e == 0 else box[0], child if e == 1 else box[1],
                child if e == 2 else box[2],
            )  # fmt: skip
            bound = min(bound, box[3])
            share = weights[child] / weights[node]
            total += share * math.exp(target.rate / 2 * (bound - box[3]))
            bound_0, bound_1 = (bound, bound_1) if half == 0 else (bound_0, bound)
        if total > _USELESS:
            side = max(nodes[node, 2] - nodes[node, 1], nodes[node, 4] - nodes[node, 3])
            total = 2.0 + 1.0 / side
        if total < best:
            best, chosen, kept_0, kept_1 = total, e, bound_0, bound_1
    if chosen < 0:
        return
    twin = sampler.used[0]
    sampler.used[0] += 1
    for column in range(5):
        boxes[twin, column] = box[column]
    node = box[chosen]
    box[chosen], boxes[twin, chosen] = nodes[node, 6], nodes[node, 7]
    box[3], boxes[twin, 3] = kept_0, kept_1
    for i in (index, twin):
        put_mass(tree, len(boxes), i, _mass(target, sampler, edges, boxes[i]))


@njit(cache=True, nogil=True, error_model="numpy")
def _try(target, totals, sampler, edges, positives, chunks, at, trials, theta):
    """(Trials made, packed sheets of the piece that was accepted or -1, next position)."""
    target, totals, sampler = borrowed((target, totals, sampler))
    chunks, theta = borrowed((chunks, theta))
    nodes, weights = sampler.lines.nodes, sampler.lines.weights
    side, basis = target.side, sampler.every.basis
    for made in range(trials):
        if at + RESERVE > len(chunks) or sampler.tree[1] < TINY:
            return made, np.int64(-1), at
        index, at = draw_box(sampler.tree, len(sampler.boxes), chunks, at)
        sheets, bound, inside = np.int64(0), sampler.boxes[index, 3], True
        for e in range(3):
            if e >= edges:
                sheets |= NO_SHEET << (3 * e)
                continue
            node = sampler.boxes[index, e]
            while nodes[node, 6] >= 0:
                first, second = weights[nodes[node, 6]], weights[nodes[node, 7]]
                lighter = 0 if first <= second else 1
                took, at = less(min(first, second) / (first + second), chunks, at)
                node = nodes[node, 6 + (lighter if took else 1 - lighter)]
            u, at = uniform_below(nodes[node, 2] - nodes[node, 1], chunks, at)
            v, at = uniform_below(nodes[node, 4] - nodes[node, 3], chunks, at)
            inside &= u >= 0 and v >= 0
            u, v = u + nodes[node, 1], v + nodes[node, 3]
            inside &= abs(u - v) <= side and max(u, v) >= 0 and min(u, v) <= side
            theta[2 * e], theta[2 * e + 1] = u, v
            sheets |= nodes[node, 0] << (3 * e)
            bound += target.k * nodes[node, 5]
        if not inside:
            continue
        spread, at = exponential(chunks, at)
        # twice the score must reach this
        least = bound - np.int64(min(2 * spread / target.rate, 4e18))
        least = -(-least >> 1)
        value = exact_value(target, totals, basis, sheets, theta, least, positives)
        if value >= least:
            return made + 1, sheets, at
        if sampler.used[0] < len(sampler.boxes):
            _halve(target, sampler, edges, index)
    return trials, np.int64(-1), at


def draw_from_piles(
    lattice: HalfplaneLattice,
    piece: PieceKind,
    piles: Piles,
    left: GridCounts,
    counts: GridCounts,
    score: Score,
    target: Target,
    source: RandomSource,
    watch: Watch | None,
) -> tuple[int, Ints, Selected] | None:
    """A piece from the law of `target`, where most examples lie in piles; None where these weigh
    too much, or where no trial was accepted.

    Parameters
    ----------
    piles, left
        From :func:`learners.envelope.pile_gains.find_piles`.

    Returns
    -------
    sheets, theta
        As :func:`learners.envelope.strands.piece_at` takes them.
    drawn : Selected
        Without its piece.
    """
    edges = PIECE_SIZE[piece]
    if edges == 1:
        # no two edges part a pile
        piles = piles._replace(least=np.zeros_like(piles.least))
    if target.rate * target.k / 2 * int(piles.most.max(initial=0)) > _STRONG:
        return None
    sampler = begin_sampler(lattice, piles, left, counts, score, target, edges)
    if target.rate * target.k / 2 * int(sampler.lines.nodes[:, 5].max()) > _MOST_NATS:
        return None
    totals = count_columns(counts)
    theta = np.zeros(12, dtype=np.int64)
    chunks, at, made = np.empty(0, dtype=np.uint16), 0, 0
    source = source.spawn()
    while made < _TRIALS and sampler.tree[1] >= TINY:
        if at + RESERVE > len(chunks):
            chunks, at = np.frombuffer(source.bytes(2 * _CHUNKS), dtype="<u2"), 0
        more, sheets, at = _try(
            target, totals, sampler, edges, counts.positives, chunks, at, _AT_ONCE, theta
        )
        made += int(more)
        log_mass = _log_mass(lattice, sampler, target, edges)
        progress = SelectionProgress(made, int(sampler.used[0]), log_mass)
        if sheets >= 0:
            return int(sheets), theta, Selected((), progress, {})
        if watch is not None:
            watch(progress)
    return None


def begin_sampler(
    lattice: HalfplaneLattice,
    piles: Piles,
    left: GridCounts,
    counts: GridCounts,
    score: Score,
    target: Target,
    edges: int,
) -> Sampler:
    """A sampler with its first boxes."""
    lines, roots = make_lines(lattice, piles, target.rate * target.k / 2)
    every = GridCounts(counts.d, counts.points, np.zeros_like(counts.labels), counts.amounts.copy())
    totals = count_columns(every)
    choices = list(itertools.combinations_with_replacement(range(roots), edges))
    boxes = np.zeros((_MOST_BOXES, 5), dtype=np.int64)
    for box, chosen in zip(boxes, choices, strict=False):
        box[:edges] = chosen
        same = math.prod(math.factorial(chosen.count(node)) for node in set(chosen))
        box[4] = math.factorial(edges) // same
    unmixed = not piles.most.any()
    sampler = Sampler(
        lines,
        make_tables((totals[0], totals[0]), lattice.basis, _TABLE_BYTES),
        make_tables(count_columns(left), lattice.basis, _TABLE_BYTES),
        boxes,
        np.zeros(2 * _MOST_BOXES, dtype=np.float64),
        np.array([len(choices)], dtype=np.int64),
        2 * _best_number(counts, score) if unmixed else 1 << 60,
        0,
    )
    _begin(target, sampler, edges)
    best = int(sampler.boxes[: len(choices), 3].max())
    sampler = sampler._replace(reference=best)
    _begin(target, sampler, edges)
    return sampler


def _log_mass(lattice: HalfplaneLattice, sampler: Sampler, target: Target, edges: int) -> float:
    """Log of the mass, relative to that of the class at score 0."""
    mass = float(sampler.tree[1])
    size = math.log(len(lattice.sheets) * lattice.points_per_sheet)
    greatest = int(sampler.lines.nodes[sampler.lines.nodes[:, 6] < 0, 5].max())
    above = sampler.reference + edges * target.k * greatest
    return (math.log(mass) if mass else -math.inf) + target.rate / 2 * above - edges * size


def _best_number(counts: GridCounts, score: Score) -> int:
    """What no piece scores above: of the grid points that it holds each has all its examples, so of
    the best number of them at most those with most positives, and at least those with fewest
    negatives."""
    group = counts.begins.cumsum() - 1
    negatives, positives = np.sort(counts.by_group(group, int(counts.begins.sum())), axis=1)
    gained = np.concatenate([[0], positives[::-1].cumsum()])
    lost = np.concatenate([[0], negatives.cumsum()])
    return int(score.values(gained, lost).max())
