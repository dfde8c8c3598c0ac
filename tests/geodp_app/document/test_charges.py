"""What runs on one sample cost together: sums, and what is said of them."""

import math
from collections.abc import Sequence

import pytest
from run_charges import run_charge

from geodp_app.document.work import RunCharge, spent_words as outcome
from learners.privacy.several_runs import together

ONE = run_charge(1.0, 1e-40, "add-remove", finished=True)
HALF = run_charge(0.5, 1e-6, "add-remove", finished=False)
SWAP = run_charge(2.0, 1e-6, "replace-one", finished=True)


def total(charges: Sequence[RunCharge]) -> tuple[float, float]:
    """Epsilon and delta of all of them."""
    return together(charge.privacy for charge in charges)


def spent_words(charges: Sequence[RunCharge], *, under_way: bool = False) -> str:
    """With plain spaces."""
    return outcome(charges, under_way=under_way).replace("\u00a0", " ")


def test_charges_of_one_kind_add_up():
    assert total([ONE, ONE, HALF]) == (2.5, 1e-40 + 1e-40 + 1e-6)
    assert total([SWAP, SWAP]) == (4.0, 2e-6)


def test_where_kinds_are_mixed_a_replacement_is_two_steps_of_the_other():
    """A removal and an addition: e^ε·(e^ε·p + δ) + δ = e^(2ε)·p + (1 + e^ε)·δ."""
    epsilon, delta = total([HALF, SWAP])
    assert epsilon == 3.0
    assert delta == pytest.approx((1 + math.exp(0.5)) * 1e-6 + 1e-6, rel=1e-12)


def test_no_sum_overflows_and_no_probability_exceeds_one():
    large = run_charge(1000.0, 0.5, "add-remove", finished=True)
    assert total([large, SWAP]) == (2002.0, 1.0)


def test_one_finished_run_has_its_own_statement():
    assert spent_words([]) == ""
    assert spent_words([ONE]) == ""
    assert spent_words([HALF], under_way=True) == ""


def test_a_run_that_was_given_up_counts_in_full():
    assert spent_words([HALF]) == "1 run, not finished: ε = 0.5, δ = 10⁻⁶"
    assert spent_words([ONE, ONE]) == "2 runs: together ε = 2, δ = 2·10⁻⁴⁰"
    assert spent_words([ONE, HALF]) == "2 runs, 1 not finished: together ε = 1.5, δ = 10⁻⁶"
    # what is under way may still finish, and is in the sum
    assert spent_words([ONE, HALF], under_way=True) == "2 runs: together ε = 1.5, δ = 10⁻⁶"


def test_the_kind_is_said_where_it_is_mixed():
    assert spent_words([SWAP, ONE]).endswith(" for replacing one example")


def test_where_labels_alone_are_protected_no_more_is_said_of_the_sum():
    label = run_charge(3.0, 1e-6, "replace-label", finished=True)
    words = " for replacing the label of one example"
    assert spent_words([label, label]) == f"2 runs: together ε = 6, δ = 2·10⁻⁶{words}"
    # to replace a label is to replace an example: one step of the one, two of the other
    assert total([label, SWAP]) == (5.0, 2e-6)
    assert total([label, ONE])[0] == 5.0
    assert spent_words([label, SWAP, ONE]).endswith(words)
