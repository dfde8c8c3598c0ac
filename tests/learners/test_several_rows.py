"""Several examples of each person: what they may cost each, and what all of them cost together."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import geodp
from learners import NoisyHistogramLearner, PolygonUnionLearner
from learners.privacy.accounting import (
    LEAST_DELTA,
    MOST_ROWS,
    Charge,
    PrivacySpent,
    of_persons,
    one_of_several,
    privacy_statement,
    pure_spent,
)
from learners.privacy.composition import spent_after
from learners.privacy.privacy_loss import accounting_document, check_statement
from learners.privacy.several_runs import renyi_cost


def spent(
    rows: int, epsilon: float = 1.0, delta: float = 1e-6, learner: str = "cover", **more: object
) -> PrivacySpent:
    """The statement of a run for persons with so many examples."""
    each, left = one_of_several(epsilon, delta, rows)
    settings: dict[str, object] = {"epsilon": each, "delta": left, **more}
    if learner == "histogram":
        plan = NoisyHistogramLearner(**settings).plan()  # type: ignore[arg-type]
    else:
        k = {"k": 3} if learner == "cover" else {}
        plan = PolygonUnionLearner(**k, **settings).plan()  # type: ignore[arg-type]
    found = of_persons(plan, epsilon, delta, rows)
    assert found is not None
    return found


@pytest.mark.parametrize("rows", [1, 2, 3, 7, MOST_ROWS])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 0.3, 4.7])
def test_all_of_a_person_cost_no_more_than_is_asked_for(epsilon: float, rows: int) -> None:
    """In exact numbers, for epsilon; delta by the sum of its steps."""
    each, delta = one_of_several(epsilon, 1e-6, rows)
    assert Fraction(each) * rows <= Fraction(epsilon)
    assert each * rows == pytest.approx(epsilon, rel=1e-15)
    steps = math.fsum(delta * math.exp(i * each) for i in range(rows))
    assert steps <= 1e-6
    assert steps == pytest.approx(1e-6, rel=1e-11)


@pytest.mark.parametrize("rows", [2, 3, 5])
def test_what_leaks_with_delta_leaks_no_more_from_a_person_than_is_said(rows: int) -> None:
    """A truncated Laplace law: of counts that are `rows` apart, delta at epsilon is the lemma's."""
    each, reach = 0.5, 12
    z = np.arange(-reach, reach + 1)
    law = np.exp(-each * np.abs(z))
    law /= law.sum()

    def above(moved: int, epsilon: float) -> float:
        longer = np.concatenate([law, np.zeros(moved)])
        other = np.concatenate([np.zeros(moved), law])
        return float(np.maximum(longer - math.exp(epsilon) * other, 0).sum())

    one = above(1, each)
    assert one > 0
    whole = one * math.expm1(rows * each) / math.expm1(each)
    assert above(rows, rows * each) <= whole * (1 + 1e-12)
    assert above(rows, rows * each) > one  # charged once it would be wrong
    assert one_of_several(rows * each, whole, rows) == pytest.approx((each, one))


@pytest.mark.parametrize("learner", ["histogram", "tiles", "cover"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("epsilon", "rows"), [(1.0, 3), (0.3, 2), (2.0, 7)])
def test_a_statement_about_persons_knows_that_about_each_of_their_examples(
    learner: str, neighbours: str, epsilon: float, rows: int
) -> None:
    whole = spent(rows, epsilon, learner=learner, neighbours=neighbours)
    assert (whole.epsilon, whole.rows) == (epsilon, rows)
    used = {"histogram": 0.0, "tiles": LEAST_DELTA, "cover": None}[learner]
    if used is None:
        assert whole.delta == 1e-6
    else:
        assert whole.of_one.delta == used
        assert (whole.delta > used) == (used > 0)
    assert whole.of_one.epsilon == one_of_several(epsilon, 1e-6, rows)[0]
    check_statement(whole)
    for wrong in (replace(whole, rows=1), replace(whole, rows=rows + 1)):
        with pytest.raises(ValueError, match=r"compose|add up"):
            check_statement(wrong)
    with pytest.raises(ValueError, match=r"compose|add up"):
        check_statement(replace(whole, epsilon=epsilon / rows))


def test_others_are_told_the_whole_cost_alone() -> None:
    """What one example costs bounds nothing that a person's several do to a single value."""
    whole = spent(3)
    document = accounting_document(whole)
    (charge,) = document["charges"]
    assert (charge["mechanism"], charge["epsilon"], charge["times"]) == ("pure", 1.0, 1)
    assert document["besides"] == {"epsilon": 0.0, "delta": 1e-6, "factor": 1.0}
    cost, delta = renyi_cost(whole, "add-remove", 4.0)
    assert cost == pytest.approx(1.0)
    assert delta == 1e-6
    assert renyi_cost(whole, "replace-one", 1e6)[0] == pytest.approx(2.0)
    assert renyi_cost(spent(3, 0.01), "add-remove", 4.0)[0] == pytest.approx(4 * 0.01**2 / 2)
    assert spent_after(whole, 1) == (1.0, whole.account)


def test_it_is_said_what_a_person_is() -> None:
    assert privacy_statement(spent(3, learner="histogram")) == (
        "(1, 0)-differentially private with respect to adding or removing one person, who counts "
        "as 3 labelled examples."
    )
    replaced = privacy_statement(spent(2, learner="histogram", neighbours="replace-one"))
    assert "replacing one person, who counts as 2 labelled examples, by another" in replaced
    assert "one labelled example." in privacy_statement(spent(1, learner="histogram"))


def test_what_cannot_be_said_of_persons_is_refused() -> None:
    for rows in (0, -1, MOST_ROWS + 1):
        with pytest.raises(ValueError, match="a person has 1 to"):
            one_of_several(1.0, 1e-6, rows)
    with pytest.raises(ValueError, match="too large for several rows"):
        one_of_several(700.0, 1e-6, 3)
    each = one_of_several(1.0, 1e-6, 2)[0]
    with pytest.raises(ValueError, match="independent, and several of one person are not"):
        spent(2, check=0.1)
    labels = replace(pure_spent(each, "add-remove", True), neighbours="replace-label")
    with pytest.raises(ValueError, match="labels alone"):
        of_persons(labels, 1.0, 1e-6, 2)
    with pytest.raises(ValueError, match="not made with"):
        of_persons(pure_spent(1.0, "add-remove", True), 1.0, 1e-6, 2)
    checked = replace(spent(2), charges=(*spent(2).charges, Charge("check counts", each)))
    with pytest.raises(ValueError, match="several rows of a person"):
        check_statement(checked)
    assert of_persons(None, 1.0, 1e-6, 2) is None


def test_labels_alone_are_not_protected_where_they_choose_a_person_s_row() -> None:
    """Of two rows of a person another is taken once a label is another: the point changes, too."""
    pandas = pytest.importorskip("pandas")
    persons = np.repeat(np.arange(200), 2)
    points = np.random.default_rng(1).integers(0, 9, (400, 2))
    frame = pandas.DataFrame({"x": points[:, 0], "y": points[:, 1], "label": 0, "who": persons})
    read = {"id": "who", "grid": 8}
    before = geodp.read_points(frame, **read).points
    after = geodp.read_points(frame.assign(label=1), **read).points
    assert (before != after).any()
    with pytest.raises(geodp.InputError, match="labels alone cannot be protected where"):
        geodp.learn(frame, "stability", k=1, queries=50, neighbours="replace-label", **read)
