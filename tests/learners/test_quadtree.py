"""The private quadtree: the law of its trees, every neighbour of small samples, and its runs."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from counted import counted
from every_outcome import Tree
from heard_draws import silent_noise
from known_targets import halved, mean_error
from noise_laws import at_least
from numpy.typing import NDArray
from tiny_samples import Example, all_neighbours

from geometry.tiling import Tile, TileIndex
from learners import QuadtreeLearner
from learners.baselines import quadtree
from learners.baselines.quadtree import FAN_OUT, TREE_SHARE, QuadtreeBudget, grow, plan_quadtree
from learners.privacy.randomness import RandomSource, SeededRandom

#: x0, y0, x1, y1, both ends included.
Box = tuple[int, int, int, int]


def plan(epsilon: float) -> QuadtreeBudget:
    return plan_quadtree(epsilon, 1e-6, "add-remove", True)


# -- budget --------------------------------------------------------------------------------

EPSILONS = [0.01, 0.3, 1.0, 3.0, 8.0, 40.0]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_shares_and_the_constants_of_the_tree(epsilon: float) -> None:
    budget = plan(epsilon)
    assert Fraction(budget.epsilon_tree) + 1 / budget.leaf_scale <= Fraction(epsilon)
    assert budget.epsilon_tree == TREE_SHARE * epsilon
    # (2F - 1) / (F - 1) = 7 / 3, rounded up
    assert budget.tree_scale >= Fraction(7, 3) / Fraction(budget.epsilon_tree)
    assert float(budget.tree_scale) == pytest.approx(7 / 3 / budget.epsilon_tree, rel=1e-6)
    assert math.exp(-budget.decay / budget.tree_scale) <= 1 / FAN_OUT
    assert budget.decay < budget.tree_scale * math.log(FAN_OUT) * (1 + 1e-7) + 1
    spent = budget.spent
    assert (spent.epsilon, spent.delta, spent.account) == (epsilon, 0.0, "basic")
    assert [charge.name for charge in spent.charges] == ["noisy splits", "noisy cells"]
    assert sum(charge.alone for charge in spent.charges) == pytest.approx(epsilon, rel=1e-15)


def test_no_rounding_lets_the_shares_exceed_epsilon() -> None:
    for epsilon in np.random.default_rng(3).uniform(1e-4, 1e5, 2000) ** 0.5:
        short = float(round(epsilon, 4))
        budget = plan(short)
        tree = Fraction(7, 3) / budget.tree_scale
        assert tree <= Fraction(budget.epsilon_tree)
        assert tree + 1 / budget.leaf_scale <= Fraction(short)


# -- the law of a tree ---------------------------------------------------------------------


def split_chance(score: int, scale: Fraction) -> float:
    """P(score + integer Laplace noise > 0)."""
    return at_least(1 - score, scale)


def stay_chance(score: int, scale: Fraction) -> float:
    """The complement, without cancellation: the law is symmetric."""
    return split_chance(1 - score, scale)


def biased(examples: tuple[Example, ...], box: Box, depth: int, decay: int) -> int:
    x0, y0, x1, y1 = box
    held = [label for x, y, label in examples if x0 <= x <= x1 and y0 <= y <= y1]
    return max(min(held.count(1), held.count(0)) - depth * decay, -decay)


def quarters(box: Box) -> list[Box]:
    """The quarters of a box that hold a grid point."""
    x0, y0, x1, y1 = box
    x, y = (x0 + x1) // 2, (y0 + y1) // 2
    sides = itertools.product(((y0, y), (y + 1, y1)), ((x0, x), (x + 1, x1)))
    return [(a, c, b, e) for (c, e), (a, b) in sides if a <= b and c <= e]


@cache
def tree_law(
    examples: tuple[Example, ...], d: int, scale: Fraction, decay: int
) -> dict[frozenset[Box], float]:
    """Probability of every tree, each named by its leaves."""

    def law(box: Box, depth: int) -> dict[frozenset[Box], float]:
        if box[:2] == box[2:]:
            return {frozenset([box]): 1.0}
        score = biased(examples, box, depth, decay)
        trees = {frozenset([box]): stay_chance(score, scale)}
        below = [law(quarter, depth + 1).items() for quarter in quarters(box)]
        for parts in itertools.product(*below):
            leaves = frozenset(leaf for part, _ in parts for leaf in part)
            trees[leaves] = split_chance(score, scale) * math.prod(q for _, q in parts)
        return trees

    return law((0, 0, d, d), 0)


def drawn_law(
    monkeypatch: pytest.MonkeyPatch,
    examples: tuple[Example, ...],
    d: int,
    scale: Fraction,
    decay: int,
) -> dict[frozenset[Box], float]:
    """The same as the learner's code draws it, over every outcome of its comparisons."""
    table, tree = np.array(examples, dtype=np.int64).reshape(-1, 3), Tree()
    counts = counted(table[:, :2], table[:, 2], d)

    def exceeds(scores: NDArray[np.int64], scale: Fraction, _: RandomSource) -> NDArray[np.bool_]:
        chances = [[split_chance(s, scale), stay_chance(s, scale)] for s in scores.tolist()]
        return np.array([tree.choose(odds) == 0 for odds in chances], dtype=bool)

    def leaves() -> frozenset[Box]:
        boxes, _ = grow(counts, scale, decay, SeededRandom(0))
        return frozenset(map(tuple, boxes.tolist()))

    monkeypatch.setattr(quadtree, "exceeds", exceeds)
    return tree.outcomes(leaves)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7, 3)])
def test_trees_are_drawn_by_the_stated_law(monkeypatch, d, scale):
    rng = np.random.default_rng(d)
    decay = math.ceil(scale * 1.3863)
    for n in (0, 1, 6, 14):
        table = np.column_stack([rng.integers(0, d + 1, (n, 2)), rng.integers(0, 2, n)])
        examples = tuple((x, y, label) for x, y, label in table.tolist())
        stated = tree_law(examples, d, scale, decay)
        drawn = drawn_law(monkeypatch, examples, d, scale, decay)
        assert sum(stated.values()) == pytest.approx(1)
        assert drawn.keys() == stated.keys()
        for tree, chance in stated.items():
            assert drawn[tree] == pytest.approx(chance, rel=1e-9)


def test_comparisons_are_of_scores_with_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """So they have the stated chance."""
    asked = silent_noise(monkeypatch, quadtree, [1, 3, -2, 0])
    found = quadtree.exceeds(np.array([-1, -2, 3, 0]), Fraction(2, 5), SeededRandom(1))
    assert found.tolist() == [False, True, True, False]
    assert asked == [(Fraction(2, 5), 4)]


# -- neighbours ----------------------------------------------------------------------------


def extremes(
    examples: tuple[Example, ...], more: tuple[Example, ...], d: int, budget: QuadtreeBudget
) -> tuple[float, float]:
    """Least and greatest log ratio of a tree's probability with an example to that without."""
    one, other = (
        tree_law(sample, d, budget.tree_scale, budget.decay) for sample in (more, examples)
    )
    ratios = [math.log(one[tree] / other[tree]) for tree in one]
    return min(ratios), max(ratios)


#: Places that share a leaf, a quarter, or only the root of the grid 0..3.
PLACES = [(0, 0), (1, 0), (3, 3)]
LABELLED: list[Example] = [(x, y, label) for x, y in PLACES for label in (0, 1)]


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0])
def test_every_tree_of_every_small_neighbour_is_within_its_share(epsilon: float) -> None:
    budget = plan(epsilon)
    lows, highs = [], []
    for examples, more in all_neighbours(LABELLED, 4):
        low, high = extremes(examples, more, 3, budget)
        lows.append(low)
        highs.append(high)
    assert max(highs) <= budget.epsilon_tree
    # an example more makes a tree less likely only by the leaf that holds it
    assert min(lows) >= -float(1 / budget.tree_scale) * (1 + 1e-12)
    assert max(highs) > 0
    assert min(lows) < 0


@pytest.mark.parametrize("epsilon", [4.0, 8.0])
def test_neighbours_of_crowded_points_are_within_their_share(epsilon: float) -> None:
    budget = plan(epsilon)
    worst = 0.0
    for p, n, extra in itertools.product(range(7), range(7), range(3)):
        examples = ((0, 0, 1),) * p + ((1, 1, 0),) * n + ((3, 0, 1),) * extra + ((3, 1, 0),) * extra
        for added in ((0, 0, 1), (1, 1, 0), (3, 0, 1)):
            low, high = extremes(examples, (*examples, added), 3, budget)
            assert high <= budget.epsilon_tree
            assert low >= -float(1 / budget.tree_scale) * (1 + 1e-12)
            worst = max(worst, high)
    # root and quarter both near the threshold: most of what two levels can cost
    assert worst > 1.1 * float(1 / budget.tree_scale)


def worst_path(budget: QuadtreeBudget, levels: int, decay: int, rise: bool = False) -> float:
    """Greatest log ratio over all scores along a path: whole, falling, with one more or as many.

    With `rise` a child's score may exceed its parent's by what the decay takes off.
    """
    scale = budget.tree_scale

    @cache
    def gain(depth: int, score: int) -> float:
        with_it = max(score - depth * decay, -decay)
        without = max(score - 1 - depth * decay, -decay)
        return math.log(split_chance(with_it, scale)) - math.log(split_chance(without, scale))

    most = levels * decay + 3 * decay + 3
    best = np.zeros(most + 1)
    for depth in reversed(range(levels)):
        own = np.array([0.0] + [gain(depth, score) for score in range(1, most + 1)])
        if rise:
            below = np.array([best[min(most, s + decay)] for s in range(most + 1)])
        else:
            below = best
        # best[s]: of paths from this depth on that begin with a score of at most s
        best = np.maximum.accumulate(own + below)
    return float(best[-1])


@pytest.mark.parametrize("epsilon", EPSILONS[1:])
def test_no_path_of_scores_costs_more_than_the_tree_may(epsilon: float) -> None:
    budget = plan(epsilon)
    worst = worst_path(budget, 21, budget.decay)
    assert worst <= budget.epsilon_tree
    # 2 of the 7/3 are attained by the two tiles nearest the threshold
    assert worst > 0.85 * budget.epsilon_tree


def test_the_numerical_check_would_notice_a_decay_too_small_or_scores_that_rise() -> None:
    budget = plan(1.0)
    assert worst_path(budget, 21, budget.decay // 2) > budget.epsilon_tree
    assert worst_path(budget, 21, budget.decay, rise=True) > budget.epsilon_tree


# -- whole runs ----------------------------------------------------------------------------


@pytest.mark.parametrize("split", [False, True])
def test_leaves_have_the_signs_of_their_examples_with_noise(split, monkeypatch) -> None:
    asked, compared = silent_noise(monkeypatch, quadtree, [-1, 2, 1, 0]), []

    def exceeds(scores: NDArray[np.int64], scale: Fraction, _: object) -> NDArray[np.bool_]:
        compared.append(scale)
        return np.full(len(scores), split)

    monkeypatch.setattr(quadtree, "exceeds", exceeds)
    table, budget = np.array([(0, 0, 1), (0, 0, 1), (1, 0, 0), (1, 1, 1), (1, 1, 0)]), plan(1.5)
    tiles = (
        QuadtreeLearner(epsilon=1.5, grid=1, seed=1).fit(table[:, :2], table[:, 2]).release_.tiles
    )
    more = [
        sum(2 * y - 1 for *p, y in table if each.tile.holds(np.array([p]))[0]) for each in tiles
    ]
    assert sorted(more) == ([-1, 0, 0, 2] if split else [1])
    expected = [m + noise > 0 for m, noise in zip(more, [-1, 2, 1, 0], strict=False)]
    assert [each.inside for each in tiles] == expected
    assert (asked, set(compared)) == ([(budget.leaf_scale, len(tiles))], {budget.tree_scale})


@pytest.mark.parametrize("d", [1, 2, 5, 12, 64, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_leaves_hold_every_grid_point_once_and_own_their_examples(d: int, seed: int) -> None:
    points, labels = halved(900, d, seed)
    counts = counted(points, labels, d)
    boxes, owner = grow(counts, Fraction(1, 2), 1, SeededRandom(seed))
    tiles = [Tile(d, *box) for box in boxes.tolist()]
    np.testing.assert_array_equal(TileIndex.of(tiles).find(counts.points), owner)
    assert len(tiles) > 1


def test_a_tile_of_one_point_is_never_split(monkeypatch: pytest.MonkeyPatch) -> None:
    def always(scores: NDArray[np.int64], *_: object) -> NDArray[np.bool_]:
        return np.ones(len(scores), dtype=bool)

    monkeypatch.setattr(quadtree, "exceeds", always)
    points, labels = halved(50, 6, 1)
    counts = counted(points, labels, 6)
    boxes, owner = grow(counts, Fraction(1), 2, SeededRandom(0))
    assert (boxes[:, :2] == boxes[:, 2:]).all()
    assert len(np.unique(boxes, axis=0)) == 49
    np.testing.assert_array_equal(boxes[owner][:, :2], counts.points)


def test_the_examples_are_learned_as_well_as_stated() -> None:
    assert mean_error(lambda: QuadtreeLearner(seed=1), 10_000) < 0.046
