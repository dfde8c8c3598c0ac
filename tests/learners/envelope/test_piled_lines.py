"""Piles of reports: what lines may gain in them, boxes of such lines, and draws."""

import itertools
from typing import Any

import numpy as np
import pytest
from any_pieces import any_halfplane, any_pieces
from counted import counted
from envelope_laws import assert_same_law, score_of
from numpy.typing import NDArray
from piled import draw_in_time

from geometry.halfplane import HalfplaneLattice
from learners.core.records import inside_piece
from learners.envelope import pile_gains, piled_lines
from learners.envelope.envelope_selection import EnvelopeSelection
from learners.envelope.pile_gains import find_piles
from learners.envelope.piled_lines import Sampler, make_lines
from learners.privacy.randomness import SeededRandom

Sample = tuple[NDArray[np.int64], NDArray[np.bool_]]


@pytest.fixture(autouse=True)
def any_number_of_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few points are not left to others."""
    monkeypatch.setattr(pile_gains, "_FEW_POINTS", 0)
    monkeypatch.setattr(pile_gains, "_MOSTLY", 0.0)


def crowded(d: int, n: int, steps: int, seed: int) -> Sample:
    """Two piles of labels by chance, and a point of its own."""
    rng = np.random.default_rng(seed)
    places = rng.integers(steps, d + 1 - steps, (2, 2))
    points = places[rng.integers(0, 2, n)] + rng.integers(-steps, steps + 1, (n, 2))
    points = np.concatenate([points, rng.integers(0, d + 1, (1, 2))])
    return points, rng.random(n + 1) < 0.5


def test_every_set_that_a_line_parts_is_known() -> None:
    rng = np.random.default_rng(0)
    for many in (2, 5, 9, 20):
        points = np.unique(rng.integers(0, 6, (many, 2)), axis=0)
        rows = np.column_stack([points, np.ones(len(points), dtype=np.int64)])
        words = set(pile_gains.parted(rows).tolist())
        seen = set()
        for halfplane in any_pieces(HalfplaneLattice(6), 1, many, 4000)[0]:
            held = np.flatnonzero(halfplane.contains(points))
            if 0 < len(held) < len(points):
                seen.add(sum(1 << i for i in held.tolist()))
        assert seen <= words
        assert len(seen) > len(words) / 2


@pytest.mark.parametrize("few", [0, 1 << 10])
@pytest.mark.parametrize("bits", [3, 62])
def test_edges_gain_no_more_in_piles_than_is_said(few, bits, monkeypatch):
    """Up to three edges together, in rectangles of every size down to a single line."""
    monkeypatch.setattr(pile_gains, "_FEW_WORDS", few)
    monkeypatch.setattr(pile_gains, "_BITS", bits)
    d = 24
    rng = np.random.default_rng(3)
    lattice = HalfplaneLattice(d)
    basis = np.array(lattice.basis, dtype=np.int64)
    tight = 0
    for seed in range(6):
        sample = crowded(d, 60, 1 + seed % 3, seed)
        found = find_piles(counted(*sample, d))
        pile, _ = found
        assert np.add.reduceat(pile.points[:, 2], pile.begins[:-1]).tolist() == [0] * len(
            pile.corners
        )
        for _ in range(300):
            edges = [any_halfplane(lattice, rng) for _ in range(int(rng.integers(1, 4)))]
            held = np.all([e.contains(pile.points[:, :2]) for e in edges], axis=0)
            gained = int(pile.points[held, 2].sum())
            bound = 0
            for edge in edges:
                size = 1 << int(rng.integers(0, 22))
                low = [at - int(rng.integers(0, size)) for at in (edge.u, edge.v)]
                x, _ = pile_gains.gain_of(
                    basis, pile, int(edge.sheet), low[0], low[0] + size, low[1], low[1] + size
                )
                bound += int(x)
            assert gained <= bound
            tight += gained == bound > 0
    assert tight > 10


def sampler_of_a_draw(selection: EnvelopeSelection, sample: Sample, rate: float) -> Any:
    """Target, score and sampler of a draw, as they are at its end."""
    seen: list[Any] = []
    begun = piled_lines.begin_sampler

    def spy(*arguments: Any) -> Sampler:
        seen[:] = [arguments[4], arguments[5], begun(*arguments)]
        return seen[2]

    points, labels = sample
    score = score_of("disjunction", 2, labels, int(labels.sum()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(piled_lines, "begin_sampler", spy)
        selection.select(counted(points, labels, selection.lattice.d), score, rate, SeededRandom(1))
    return seen


def test_boxes_hold_every_piece_and_promise_no_less_than_it_scores() -> None:
    rng = np.random.default_rng(5)
    lattice = HalfplaneLattice(24)
    sample = crowded(24, 400, 2, seed=1)
    score, target, sampler = sampler_of_a_draw(EnvelopeSelection(lattice, "triangle"), sample, 0.2)
    boxes, nodes = sampler.boxes[: sampler.used[0]], sampler.lines.nodes
    assert len(boxes) > 1700
    for _ in range(300):
        piece = [any_halfplane(lattice, rng) for _ in range(3)]
        held = inside_piece(tuple(piece), sample[0])
        value = score.value(int((held & sample[1]).sum()), int((held & ~sample[1]).sum()))
        orders = 0
        for order in itertools.permutations(piece):
            some = np.ones(len(boxes), dtype=bool)
            for e, edge in enumerate(order):
                node = nodes[boxes[:, e]]
                some &= node[:, 0] == int(edge.sheet)
                some &= (node[:, 1] <= edge.u) & (edge.u < node[:, 2])
                some &= (node[:, 3] <= edge.v) & (edge.v < node[:, 4])
            for box in boxes[some]:
                orders += int(box[4])
                bound = int(box[3])
                for e, edge in enumerate(order):
                    bound += target.k * x_of(nodes, int(box[e]), edge)
                assert 2 * value <= bound
        assert orders == 6


def x_of(nodes: NDArray[np.int64], node: int, edge: Any) -> int:
    """x of the leaf below a node that holds a line."""
    while nodes[node, 6] >= 0:
        one, other = nodes[node, 6:].tolist()
        here = nodes[one]
        first = here[1] <= edge.u < here[2] and here[3] <= edge.v < here[4]
        node = one if first else other
    return int(nodes[node, 5])


def test_a_node_weighs_what_its_leaves_do() -> None:
    lattice = HalfplaneLattice(24)
    found = find_piles(counted(*crowded(24, 400, 2, seed=1), 24))
    lines, roots = make_lines(lattice, found[0], 0.1)
    nodes, weights = lines.nodes, lines.weights
    area = (nodes[:, 2] - nodes[:, 1]) * (nodes[:, 4] - nodes[:, 3])
    inner = np.flatnonzero(nodes[:, 6] >= 0)
    assert np.array_equal(area[inner], area[nodes[inner, 6]] + area[nodes[inner, 7]])
    leaf = nodes[:, 6] < 0
    greatest = nodes[leaf, 5].max()
    heavy = leaf & (weights > 0)
    assert np.allclose(weights[heavy], area[heavy] * np.exp(0.1 * (nodes[heavy, 5] - greatest)))
    assert weights[:roots].sum() == pytest.approx(weights[leaf].sum())


@pytest.mark.parametrize(
    ("piece", "role", "k", "seed"),
    [
        ("triangle", "disjunction", 2, 3),
        ("halfplane", "conjunction", 2, 3),
    ],
)
def test_draws_follow_the_enumerated_law(piece, role, k, seed, monkeypatch):
    # room and bits for a small grid: less to copy for each draw
    for name in ("_MOST_BOXES", "_MOST_NODES"):
        monkeypatch.setattr(piled_lines, name, 1 << 12)
    for name in ("_TABLE_BYTES", "_CHUNKS"):
        monkeypatch.setattr(piled_lines, name, 1 << 16)
    points, labels = crowded(6, 9, 1, seed)
    selection = EnvelopeSelection(HalfplaneLattice(6), piece)
    score = score_of(role, k, labels, 6)
    drawn = assert_same_law(selection, points, labels, score, 1.0, 900, seed=5, surely=0.99)
    # in none of them the boxes of other samples were asked
    assert all(one.details == {} for one in drawn)


@pytest.mark.parametrize(
    ("places", "kind", "steps", "n", "role", "most"),
    [
        (300, "at", 0, 100_000, "disjunction", 40_000),
        (300, "near", 1, 2_000, "disjunction", 100_000),
        (1, "near", 3, 2_000, "disjunction", 100_000),
        (30, "near", 3, 2_000, "conjunction", 30_000),
    ],
)
def test_piles_take_few_boxes(places, kind, steps, n, role, most):
    drawn = draw_in_time(places, kind, steps, n, role, most, margin=26)
    assert drawn.details == {}
    assert len(drawn.piece) == (3 if role == "disjunction" else 1)
