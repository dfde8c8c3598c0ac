"""Whose a row is: several rows of each person, and what all of them do to a release."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from geodp_app.document.examples import Examples, Frame
from geodp_app.files.persons import some_each
from learners import NoisyHistogramLearner
from learners.privacy.accounting import of_persons, one_of_several

Row = tuple[int, int]  # x, label; all y are 0
Table = list[tuple[str, Row]]

#: Two places and two labels.
POSSIBLE: list[Row] = [(x, label) for x in (0, 1) for label in (0, 1)]


def sample(table: Table, rows: int) -> Counter[Row]:
    """The examples of a table."""
    points = np.array([(x, 0) for _, (x, _) in table], dtype=np.int64).reshape(-1, 2)
    labels = np.array([label for _, (_, label) in table], dtype=np.int64)
    owners = [owner for owner, _ in table]
    kept = some_each(Examples(points, labels, Frame(1)), owners, np.arange(len(table)), rows)
    return Counter(table[i][1] for i in kept)


def some_rows() -> Iterator[list[Row]]:
    """What one person may have: any different rows."""
    for many in range(1, len(POSSIBLE) + 1):
        yield from (list(each) for each in itertools.combinations(POSSIBLE, many))


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
def test_each_person_is_as_many_examples_by_own_rows_alone(rows: int) -> None:
    """Lemma T2, of files: a person more is so many examples more, and nothing else moves."""
    rng = np.random.default_rng(rows)
    table = [(f"p{rng.integers(6)}", POSSIBLE[rng.integers(4)]) for _ in range(30)]
    whole = sample(table, rows)
    persons = {owner for owner, _ in table}
    assert whole.total() == rows * len(persons)
    assert sample(table[::-1], rows) == whole
    for owner in persons:
        own = [each for each in table if each[0] == owner]
        alone = sample(own, rows)
        assert alone.total() == rows
        assert whole == sample([each for each in table if each[0] != owner], rows) + alone
        # different rows first, and no row twice as often as another
        assert len(alone) == min(rows, len(set(own)))
        assert max(alone.values()) - min(alone.values()) <= 1


def test_of_a_persons_different_rows_each_is_as_likely() -> None:
    taken = sum((sample([(f"p{i}", row) for row in POSSIBLE], 2) for i in range(2000)), Counter())
    assert taken.total() == 4000
    assert all(abs(many - 1000) < 5 * math.sqrt(2000 / 4) for many in taken.values())


# -- the law of a release --------------------------------------------------------------------------


def differences(examples: Counter[Row]) -> tuple[int, int]:
    """Positive less negative examples in either cell."""
    one, other = (examples[(x, 1)] - examples[(x, 0)] for x in (0, 1))
    return one, other


def loss(one: Counter[Row], other: Counter[Row], rate: float) -> float:
    """The most that ln P/P' of noisy cells is, noise of P(z) ~ exp(-rate |z|) on each.

    By enumeration of what either may show, as far as that is of any weight.
    """
    z = np.arange(-40, 41)
    laws = [[-rate * np.abs(z - m) for m in differences(each)] for each in (one, other)]
    return float(sum(np.max(a - b) for a, b in zip(*laws, strict=True)))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("rows", [2, 3])
def test_a_person_moves_the_law_of_a_release_as_far_as_is_stated(rows, neighbours):
    """Lemma T2 for all tables of two persons, and all rows that one of them may have."""
    each, delta = one_of_several(1.0, 1e-6, rows)
    learner = NoisyHistogramLearner(
        epsilon=each, delta=delta, cells=2, smooth=False, grid=1, neighbours=neighbours
    )
    spent = of_persons(learner.plan(), 1.0, 1e-6, rows)
    assert spent is not None
    (charge,) = spent.charges
    worst = 0.0
    for others, own in itertools.product(some_rows(), repeat=2):
        table = [("a", row) for row in others]
        with_it = sample([*table, *(("b", row) for row in own)], rows)
        without = [table] if neighbours == "add-remove" else [
            [*table, *(("b", row) for row in instead)] for instead in some_rows()
        ]  # fmt: skip
        worst = max(
            [worst, *(loss(with_it, sample(other, rows), charge.each) for other in without)]
        )
    assert worst <= spent.epsilon
    # all of it is used: to charge for one row fewer would be wrong
    assert worst > spent.epsilon * (rows - 0.01) / rows
