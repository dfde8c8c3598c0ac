"""The greedy learners, and their search against the whole lattice."""

from functools import cache
from itertools import count

import numpy as np
import pytest
from any_pieces import all_halfplanes
from counted import counted
from grids import grid_points

from geometry.halfplane import MAX_D, HalfplaneLattice
from learners import GreedyConvexLearner, GreedyUnionLearner
from learners.baselines.greedy import GreedyDiagnostics
from learners.core.records import inside_piece, predict_pieces
from learners.core.selection import Cancelled, SelectionProgress
from learners.cover.arrangement_selection import halfplane_classes
from learners.cover.best_piece import BestPiece, best_piece, gain_less_loss, settle_shared
from learners.cover.branch_and_bound import value_of

LATTICES = [
    HalfplaneLattice(1, "chord", 0),
    HalfplaneLattice(2, "chord", 0),
    HalfplaneLattice(3, "chord", 0),
    HalfplaneLattice(3, "chord", 1),
    HalfplaneLattice(1, "paper", 1),
]
PIECES = {"disjunction": "triangle", "conjunction": "halfplane"}
WEIGHTS = [None, 1, 3]


@cache
def held_sets(lattice: HalfplaneLattice, kind: str) -> np.ndarray:
    """Every set of grid points that a piece holds, bool (sets, points), over the whole lattice."""
    points = grid_points(lattice.d)
    bits = 1 << np.arange(len(points))
    sets = np.unique([(one.contains(points) * bits).sum() for one in all_halfplanes(lattice)])
    if kind == "triangle":
        pairs = np.unique(sets[:, None] & sets)
        sets = np.unique(pairs[:, None] & sets)
    return sets[:, None] & bits > 0


def best_of_all(
    held: np.ndarray, where: np.ndarray, labels: np.ndarray, role: str, weight: int | None
) -> int:
    """The greatest gain - weight * loss, of pieces that lose nothing when the weight is None."""
    inside = held[:, where]
    decided, wanted = (inside, labels) if role == "disjunction" else (~inside, ~labels)
    gain, loss = (decided & wanted).sum(axis=1), (decided & ~wanted).sum(axis=1)
    if weight is None:
        return int(gain[loss == 0].max())
    return int((gain - weight * loss).max())


def worth(found: BestPiece, points: np.ndarray, labels: np.ndarray, role: str) -> tuple[int, int]:
    """(gain, loss) of a piece, by its definition."""
    inside = inside_piece(found.piece, points)
    decided, wanted = (inside, labels) if role == "disjunction" else (~inside, ~labels)
    return int((decided & wanted).sum()), int((decided & ~wanted).sum())


def sample(d: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random examples, repeated and contradictory ones among them, and their rows in the grid."""
    rng = np.random.default_rng(seed)
    where = rng.integers(0, (d + 1) ** 2, n)
    return grid_points(d)[where], rng.random(n) < 0.5, where


def search(
    points: np.ndarray, labels: np.ndarray, lattice: HalfplaneLattice, role: str, weight, **limits
) -> BestPiece:
    positives = int(labels.sum())
    objective = gain_less_loss(role, weight, positives, len(labels) - positives)
    return best_piece(
        counted(points, labels, lattice.d), lattice, PIECES[role], objective, **limits
    )


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("role", PIECES)
@pytest.mark.parametrize("lattice", LATTICES, ids=str)
def test_no_piece_of_the_lattice_is_better(lattice, role, weight):
    held = held_sets(lattice, PIECES[role])
    for seed in range(5):
        points, labels, where = sample(lattice.d, 4 + 4 * seed, seed)
        found = search(points, labels, lattice, role, weight, max_boxes=1 << 20)
        gain, loss = worth(found, points, labels, role)
        assert found.gap == 0
        assert found.value == best_of_all(held, where, labels, role, weight)
        assert found.value == gain - (weight or 0) * loss
        assert weight is not None or loss == 0


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("role", PIECES)
def test_examples_dropped_at_points_of_both_labels_are_worth_nothing(role, weight):
    """Every piece of the lattice has the value that it has with them, or is worse than none."""
    lattice = HalfplaneLattice(2, "chord", 0)
    held = held_sets(lattice, PIECES[role])
    fewer = 0
    for seed in range(20):
        points, labels, _ = sample(2, 30, seed)
        counts = counted(points, labels, 2)
        objective = gain_less_loss(role, weight, counts.positives, counts.negatives)
        left, after = settle_shared(counts, objective)
        fewer += counts.n - left.n
        for whole, what in ((counts, objective), (left, after)):
            assert (what.positives, what.negatives) == (whole.positives, whole.negatives)
        for piece in held:
            inside = [piece[one.points[:, 0] * 3 + one.points[:, 1]] for one in (counts, left)]
            values = [
                value_of(what, one.where(keeps).positives, one.where(keeps).negatives)
                for one, what, keeps in zip((counts, left), (objective, after), inside, strict=True)
            ]
            assert values[0] == values[1]
    assert fewer > 30


@pytest.mark.parametrize("weight", [None, 1])
@pytest.mark.parametrize("role", PIECES)
@pytest.mark.parametrize("d", [1, MAX_D])
def test_many_examples_of_both_labels_in_one_place_end_a_search_soon(d, role, weight):
    found = search(np.full((200, 2), d), np.arange(200) % 2 == 0, HalfplaneLattice(d), role, weight)
    assert (found.value, found.gap) == (0, 0)
    assert found.progress.boxes < 100


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("role", PIECES)
@pytest.mark.parametrize(("d", "side"), [(5000, 9), (MAX_D, MAX_D)])
def test_no_piece_is_better_on_a_wide_grid(d, side, role, weight):
    """Against all classes of the arrangement, by what they hold of the sample."""
    rng = np.random.default_rng(d)
    lattice = HalfplaneLattice(d)
    points = (d - side) // 2 + rng.integers(0, side + 1, (14, 2))
    labels = rng.random(14) < 0.5
    classes = halfplane_classes(lattice, points)
    bits = [1 << classes.examples.index((x, y)) for x, y in points.tolist()]
    sets = {c.inside for c in classes.halfplanes}
    if role == "disjunction":
        sets = {one & two for one in sets for two in sets}
        sets = {one & two.inside for one in sets for two in classes.halfplanes}
    held = np.array([[bool(inside & bit) for bit in bits] for inside in sets])
    boxes = 1 << (15 if role == "conjunction" else 13)  # no number settles a triangle here
    found = search(points, labels, lattice, role, weight, max_boxes=boxes)
    gain, loss = worth(found, points, labels, role)
    best = best_of_all(held, np.arange(14), labels, role, weight)
    assert found.value == gain - (weight or 0) * loss <= best <= found.value + found.gap
    if role == "conjunction":
        assert found.gap == 0


@pytest.mark.parametrize("boxes", [1, 30, 1000])
@pytest.mark.parametrize("role", PIECES)
def test_a_search_that_ends_early_says_how_much_better_a_piece_could_be(role, boxes):
    lattice = HalfplaneLattice(3, "chord", 1)
    held = held_sets(lattice, PIECES[role])
    gaps = []
    for seed in range(8):
        points, labels, where = sample(3, 40, seed)
        found = search(points, labels, lattice, role, 1, max_boxes=boxes)
        best = best_of_all(held, where, labels, role, 1)
        assert found.value <= best <= found.value + found.gap
        gaps.append(found.gap)
    assert boxes > 1 or max(gaps) > 0


@pytest.mark.parametrize("role", PIECES)
def test_line_tables_dropped_on_the_way_change_nothing(role):
    rng = np.random.default_rng(4)
    points = rng.integers(0, 65, (400, 2))
    labels = ((points - 30) ** 2).sum(axis=1) < 400
    labels ^= rng.random(400) < 0.1
    lattice = HalfplaneLattice(64)
    few, many = (
        search(points, labels, lattice, role, 2, max_boxes=3000, table_bytes=room)
        for room in (0, 1 << 24)
    )
    assert few.value == many.value == worth(few, points, labels, role) @ np.array([1, -2])
    assert (few.piece, few.gap) == (many.piece, many.gap)


@pytest.mark.parametrize("weight", [None, 1])
@pytest.mark.parametrize("role", PIECES)
def test_without_examples_the_piece_decides_nothing(role, weight):
    lattice = HalfplaneLattice(5)
    found = search(np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=bool), lattice, role, weight)
    assert (found.value, found.gap) == (0, 0)
    inside = inside_piece(found.piece, grid_points(5))
    assert not inside.any() if role == "disjunction" else inside.all()


def two_triangles(points: np.ndarray) -> np.ndarray:
    """Whether points of the grid 0..48 lie in one of two triangles that do not touch."""
    x, y = points.T
    left = (y >= 5) & (3 * (x - 4) >= y - 5) & (x + y <= 30)
    right = (x <= 45) & (2 * x - y >= 50) & (x + 3 * y >= 100)
    return left | right


def pentagon(points: np.ndarray) -> np.ndarray:
    """Whether points of the grid 0..48 lie in a convex polygon of five edges."""
    x, y = points.T
    return (
        (y >= 4)
        & (2 * x + y >= 20)
        & (x <= 41)
        & (3 * y - x <= 100)
        & (x + y <= 70)
    )  # fmt: skip


CASES = [(GreedyUnionLearner, 2, two_triangles), (GreedyConvexLearner, 5, pentagon)]


@pytest.mark.parametrize(("learner", "k", "target"), CASES)
def test_each_step_loses_nothing_and_gains_a_kth_of_what_is_left(learner, k, target):
    points = grid_points(48)
    labels = target(points)
    alive = np.ones(len(points), dtype=bool)
    for record in learner(k=k, grid=48).steps(points, labels):
        inside = inside_piece(record.release.piece, points)
        decided, wanted = (inside, labels) if k == 2 else (~inside, ~labels)
        taken = decided & alive
        assert not (taken & ~wanted).any()
        assert k * taken.sum() >= (alive & wanted).sum() > 0
        seen = record.diagnostics
        assert isinstance(seen, GreedyDiagnostics)
        assert seen.optimal
        assert seen.score == taken.sum() == seen.positives_taken + seen.negatives_taken
        alive &= ~decided


def test_gap_of_a_step_is_that_of_the_search():
    points = grid_points(48)
    labels = two_triangles(points) ^ (np.random.default_rng(3).random(len(points)) < 0.05)
    model = GreedyUnionLearner(k=1, grid=48, loss_weight=3, max_boxes=500)
    (record,) = model.steps(points, labels)
    found = search(points, labels, HalfplaneLattice(48), "disjunction", 3, max_boxes=500)
    assert record.release.piece == found.piece
    assert record.diagnostics.gap == found.gap > 0
    assert not record.diagnostics.optimal


# every line of the lattice meets the square, so it takes two halfplanes to exclude all of it
@pytest.mark.parametrize(
    ("learner", "label", "taken"),
    [
        (GreedyUnionLearner, 0, 1),
        (GreedyUnionLearner, 1, 1),
        (GreedyConvexLearner, 0, 2),
        (GreedyConvexLearner, 1, 1),
    ],
)
def test_examples_of_one_class(learner, label, taken):
    points = grid_points(8)
    model = learner(k=3, grid=8)
    records = list(model.steps(points, np.full(len(points), label)))
    assert len(records) == records[-1].steps == taken
    assert (model.predict(points) == label).all()


def test_the_run_ends_when_nothing_is_gained():
    # the two examples left share one place: no piece gains one and not the other
    points = np.array([[1, 1], [6, 6], [6, 6]])
    labels = np.array([1, 1, 0])
    model = GreedyUnionLearner(k=3, grid=8, max_boxes=5000)
    assert [r.steps for r in model.steps(points, labels)] == [1]
    assert model.predict(points).tolist() == [1, 0, 0]


def test_no_more_steps_than_allowed():
    points = grid_points(48)
    model = GreedyConvexLearner(k=5, grid=48, n_steps=2)
    assert [(r.step, r.steps) for r in model.steps(points, pentagon(points))] == [(1, 2), (2, 2)]
    predicted = predict_pieces("conjunction", model.release_.pieces, points)
    assert (model.predict(points) == predicted).all()


def test_a_watch_can_stop_the_search():
    calls = count(1)

    def watch(progress: SelectionProgress) -> None:
        assert progress.boxes > 0
        if next(calls) == 2:
            raise Cancelled

    points = grid_points(48)
    labels = two_triangles(points) ^ (np.random.default_rng(3).random(len(points)) < 0.05)
    model = GreedyUnionLearner(k=2, grid=48, loss_weight=2)
    with pytest.raises(Cancelled):
        model.fit(points, labels, watch=watch)
    assert not hasattr(model, "release_")
    assert next(calls) == 3


@pytest.mark.parametrize("weight", [0, 1.5])
def test_wrong_weights_are_refused_before_the_run(weight):
    with pytest.raises(ValueError, match=r"loss_weight|weight of a loss"):
        GreedyUnionLearner(grid=8, loss_weight=weight).steps(grid_points(8), np.zeros(81))
