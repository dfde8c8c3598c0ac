"""The law of labelled pieces: by brute force over every lattice piece of tiny grids."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from concept_laws import assert_same_law, examples, law
from counted import counted
from envelope_laws import factorise_everything
from tiny_samples import TYPES, Example, all_neighbours, most_moved

from geometry.grid_counts import settle_conflicts
from geometry.halfplane import HalfplaneLattice, Measure
from learners.envelope import race, strands
from learners.envelope.envelope_selection import PRIOR, ConceptSelection
from learners.envelope.target import NOTHING, Expected
from learners.envelope.workspace import make_workspace
from learners.privacy.randomness import SeededRandom

#: Bytes of line tables that a draw on a tiny grid never fills.
ROOM = 1 << 18

#: Nats up to which concepts are drawn from the prior, without boxes.
NEVER, ALWAYS = -1.0, math.inf


@pytest.mark.parametrize(
    ("measure", "edges", "n", "rate", "nats_by_chance"),
    [
        # so many examples that 480 draws tell the rate
        ("chord", 3, 60, 0.3, NEVER),
        ("paper", 2, 60, 0.4, NEVER),
        ("chord", 2, 16, 0.7, ALWAYS),  # and so few that chance is soon accepted
    ],
)
def test_draws_follow_the_enumerated_law(
    measure: Measure, edges: int, n: int, rate: float, nats_by_chance: float
) -> None:
    lattice = HalfplaneLattice(2, measure, 0)
    selection = ConceptSelection(lattice, edges, table_bytes=ROOM, nats_by_chance=nats_by_chance)
    assert_same_law(selection, *examples(2, n, seed=edges), rate, 480)


@pytest.mark.parametrize("measure", ["chord", "paper"])
def test_one_label_for_all_follows_the_enumerated_law(measure: Measure) -> None:
    selection = ConceptSelection(HalfplaneLattice(2, measure, 0), 0, table_bytes=ROOM)
    assert_same_law(selection, *examples(2, 30, seed=0), 0.3, 720, outcomes=2, off=0.5)


@pytest.mark.parametrize(
    ("measure", "nats_by_chance"), [("chord", NEVER), ("chord", ALWAYS), ("paper", ALWAYS)]
)
def test_draws_follow_the_law_where_nothing_is_known(
    measure: Measure, nats_by_chance: float
) -> None:
    """Without examples the law is the prior; no other, as one that prefers no number of edges."""
    lattice = HalfplaneLattice(2, measure, 0)
    nothing = np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=bool)
    even = {o: p / PRIOR[o[0]] / 4 for o, p in law(lattice, 3, *nothing, 1.0).items()}
    selection = ConceptSelection(lattice, 3, table_bytes=ROOM, nats_by_chance=nats_by_chance)
    assert_same_law(selection, *nothing, 1.0, 900, others=[even])


def test_where_hardly_any_example_has_the_other_label_there_are_no_boxes() -> None:
    points = np.argwhere(np.ones((9, 9), dtype=bool))
    for positives, boxes in ((0, False), (1, False), (2, False), (3, True)):
        counts = counted(points, np.arange(81) >= 81 - positives, 8)
        source, selection = SeededRandom(positives), ConceptSelection(HalfplaneLattice(8))
        drawn = [selection.select(counts, 0.9, source) for _ in range(20)]
        assert all((one.progress.boxes > 0) == boxes for one in drawn)


@pytest.mark.parametrize("nats_by_chance", [NEVER, ALWAYS])
def test_a_piece_is_written_the_same_with_boxes_and_without(nats_by_chance: float) -> None:
    """Edges by sheet, u and v: an order that tells the way would tell of the examples."""
    nothing = np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=bool)
    selection, counts = ConceptSelection(HalfplaneLattice(8)), counted(*nothing, 8)
    selection, source = replace(selection, nats_by_chance=nats_by_chance), SeededRandom(0)
    pieces = [selection.select(counts, 0.9, source).piece for _ in range(400)]
    pairs = [[(e.sheet, e.u, e.v) for e in piece] for piece in pieces if len(piece) == 2]
    assert sum(one[0] == other[0] for one, other in pairs) > 8
    assert all(one <= other for one, other in pairs)


def test_the_law_survives_factorised_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    factorise_everything(monkeypatch)
    lattice = HalfplaneLattice(3, bits=4)
    points, labels = examples(3, 40, seed=5)
    selection = ConceptSelection(lattice, 2, table_bytes=ROOM, plain_boxes=0)
    counts = counted(points, labels, 3)
    source = SeededRandom(8)
    paired = []
    for _ in range(20):
        draw = selection.begin(counts, 1.0, source)
        assert draw.complete().details["factorised"] > 1
        paired += [strand.workspace.paired[0] for strand in draw.strands if strand.workspace]
    # the last box that was looked at had pairs of cells
    assert np.count_nonzero(paired) > 5
    assert_same_law(selection, points, labels, 0.4, 420)


#: Three grid points of the left side; one of them alone costs the most.
EXPECTED = Expected(
    np.array([[0, 0], [0, 1], [0, 2]]), np.array([True, True, False]), np.array([1, 1, 3]), 1.5, 3.0
)


@pytest.mark.parametrize(
    ("measure", "nats_by_chance", "factorised"),
    [
        ("chord", NEVER, False),
        ("chord", NEVER, True),
        ("chord", ALWAYS, False),
        ("paper", NEVER, False),
        ("paper", ALWAYS, False),
    ],
)
def test_pieces_weigh_less_where_they_differ_from_what_is_expected(
    measure: Measure, nats_by_chance: float, factorised: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if factorised:
        factorise_everything(monkeypatch)
    lattice, rate = HalfplaneLattice(2, measure, 0), 0.4
    selection = ConceptSelection(
        lattice, 2, table_bytes=ROOM, nats_by_chance=nats_by_chance, plain_boxes=0
    )
    points, labels = examples(2, 4, seed=3)  # few: a draw by chance is soon accepted
    wrong = (
        NOTHING,
        EXPECTED._replace(held=~EXPECTED.held),
        EXPECTED._replace(shares=EXPECTED.shares[::-1]),
        EXPECTED._replace(most=9.0),
        EXPECTED._replace(nats=0.75),
    )
    others = [law(lattice, 2, points, labels, rate, one) for one in wrong]
    assert_same_law(selection, points, labels, rate, 550, others=others, expected=EXPECTED)


def forgetful() -> Any:
    """A workspace that remembers one box at most."""
    work = make_workspace()
    work.most_boxes = 1
    return work


def test_what_is_remembered_of_boxes_changes_no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    points = rng.integers(0, 65, (500, 2))
    labels = (points.sum(axis=1) < 64) ^ (rng.random(500) < 0.3)
    selection, counts = ConceptSelection(HalfplaneLattice(64)), counted(points, labels, 64)
    drawn = []
    for workspace in (make_workspace, forgetful):
        monkeypatch.setattr(strands, "make_workspace", workspace)
        found = selection.select(counts, 0.8, SeededRandom(1))
        drawn.append((found.piece, found.inside, found.details))
    assert drawn[0] == drawn[1]
    assert drawn[0][2]["factorised"] > 100


def test_one_example_moves_no_probability_by_more_than_the_rate() -> None:
    """All samples of up to three examples on a tiny grid, and all their neighbours."""
    lattice, rate = HalfplaneLattice(1, bits=0), 0.7

    def probabilities(sample: tuple[Example, ...]) -> list[float]:
        rows = np.array(sample, dtype=np.int64).reshape(-1, 3)
        return list(law(lattice, 2, rows[:, :2], rows[:, 2] == 1, rate).values())

    assert 0.5 * rate < most_moved(probabilities, all_neighbours(TYPES, 2)) <= rate + 1e-12


def test_conflicts_on_a_point_change_no_law() -> None:
    """Mistakes of every piece, with and without the settled pairs, differ by a constant."""
    lattice = HalfplaneLattice(2, bits=0)
    rng = np.random.default_rng(0)
    points, labels = rng.integers(0, 3, (60, 2)), rng.random(60) < 0.4
    net = settle_conflicts(counted(points, labels, 2))
    assert len(np.unique(net.points, axis=0)) == len(net)
    assert net.n < 60
    left, left_labels = (np.repeat(part, net.amounts, axis=0) for part in (net.points, net.labels))
    both = [law(lattice, 2, *sample, 0.2) for sample in ((points, labels), (left, left_labels))]
    assert both[0].keys() == both[1].keys()
    assert all(both[0][o] == pytest.approx(both[1][o], rel=1e-9) for o in both[0])


def test_a_crowded_point_with_both_labels_does_not_hold_up_a_draw() -> None:
    """Hundreds of examples of either label in one place."""
    rng = np.random.default_rng(0)
    points = rng.integers(0, 22, (800, 2))
    labels = points[:, 0] > 9
    points[:400] = (15, 11)
    labels[:400] = np.arange(400) < 150
    one = ConceptSelection(HalfplaneLattice(21)).select(
        counted(points, labels, 21), 1.0, SeededRandom(1)
    )
    assert one.progress.boxes < 200_000


@pytest.mark.parametrize("seed", range(6))
def test_how_strands_take_turns_changes_no_draw(seed: int) -> None:
    lattice = HalfplaneLattice(64)
    points, labels = examples(64, 400, seed=seed)
    drawn = []
    for in_turns in (True, False):
        draw = ConceptSelection(lattice).begin(counted(points, labels, 64), 0.4, SeededRandom(seed))
        selected, winner = race.run_race(draw.strands, lattice, 0.0, None, in_turns=in_turns)
        drawn.append((selected.piece, winner))
    assert drawn[0] == drawn[1]
