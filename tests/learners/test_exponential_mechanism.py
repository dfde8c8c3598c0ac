"""The exponential mechanism over a list: its exact law, bit by bit, and what it promises."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from chi_square import assert_counted
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from tape import Tape

from learners.privacy import exponential_mechanism as mechanism
from learners.privacy.exponential_mechanism import exponential_index, private_rate, utility_loss
from learners.privacy.randomness import SeededRandom

DIGITS = 120


def tape_of(data: bytes) -> Tape:
    """Zeros after what is given."""
    return Tape(data + bytes(64))


def cumulative(scores: list[int], rate: Fraction) -> list[tuple[int, Decimal]]:
    """Distinct scores from the best down, with the exact probability of reaching at least each."""
    with localcontext() as context:
        context.prec = DIGITS
        exact = Decimal(rate.numerator) / Decimal(rate.denominator)
        distinct = sorted(set(scores), reverse=True)
        weights = [scores.count(q) * (exact * (q - distinct[0])).exp() for q in distinct]
        total = sum(weights)
        return [(q, sum(weights[: i + 1]) / total) for i, q in enumerate(distinct)]


def score_at(scores: list[int], rate: Fraction, u: int, bits: int) -> int:
    """The score that is drawn when the uniform number is u / 2^bits."""
    return scores[exponential_index(tape_of(u.to_bytes(bits // 8, "big")), scores, rate)]


CASES = [
    ([0, 1], Fraction(1)),
    ([3, -2, 7], Fraction(1, 3)),
    ([0, 0, 0, 1, 1, 5], Fraction(7, 10)),
    ([-40, 0, -1, -1, -39], Fraction(1, 100)),
    ([10**12, 10**12 - 1, 0], Fraction(1, 10**12)),
    ([0, 30, 60], Fraction(1, 2)),
    (list(range(0, 120, 2)), Fraction(3, 200)),
]
NAMES = ["two", "three", "ties", "small rate", "tiny rate", "wide", "many"]


@pytest.mark.parametrize(("scores", "rate"), CASES, ids=NAMES)
@pytest.mark.parametrize("doubles", [True, False])
def test_every_step_of_the_law_lies_where_it_should_to_128_bits(monkeypatch, scores, rate, doubles):
    """The draw is the inverse of the cumulative law: each step is found by bisecting u."""
    if not doubles:
        monkeypatch.setattr(mechanism, "decide_in_doubles", lambda *_: None)
    law = cumulative(scores, rate)
    for score, probability in law[:-1][:: max(1, len(law) // 12)]:
        low, high = 0, (1 << 128) - 1
        assert score_at(scores, rate, high, 128) == min(scores)
        while high - low > 1:
            middle = (low + high) // 2
            if score_at(scores, rate, middle, 128) >= score:
                low = middle
            else:
                high = middle
        with localcontext() as context:
            context.prec = DIGITS
            assert low < probability * (1 << 128) <= high


@given(
    st.lists(st.integers(-60, 60), min_size=1, max_size=12),
    st.fractions(Fraction(1, 1000), 3, max_denominator=1000),
    st.integers(0, (1 << 64) - 1),
)
def test_doubles_and_integers_decide_alike(scores: list[int], rate: Fraction, u: int) -> None:
    expected = next(q for q, p in cumulative(scores, rate) if Decimal(u) < p * (1 << 64))
    assert score_at(scores, rate, u, 64) == expected


@pytest.mark.parametrize(("scores", "rate"), CASES, ids=NAMES)
def test_doubles_decide_nothing_wrong_beside_a_step(scores: list[int], rate: Fraction) -> None:
    """From 2^-64 to 2^-30 beside each step: in doubt is allowed, the wrong side is not."""
    gaps = np.unique(max(scores) - np.array(scores)).astype(np.uint64)
    number = np.array([scores.count(max(scores) - int(g)) for g in gaps])
    decided = 0
    for (score, probability), after in zip(
        cumulative(scores, rate)[:-1], sorted(set(scores), reverse=True)[1:], strict=True
    ):
        at = math.floor(probability * (1 << 64))
        for shift in range(2, 36):
            for u, expected in ((at - (1 << shift), score), (at + (1 << shift), after)):
                if not 0 <= u < 1 << 64:
                    continue
                gap = mechanism.decide_in_doubles(u, gaps, number, rate)
                correct = score_at(scores, rate, u, 64)
                assert gap in (None, max(scores) - correct)
                if shift < 8 and len(scores) < 10:
                    assert correct == expected
                decided += gap is not None
    assert decided > 0


def test_few_bits_are_revealed_first_and_more_only_in_doubt(monkeypatch):
    """With 8 bits at first, the law is enumerated: doubt at the steps alone, and settled there."""
    monkeypatch.setattr(mechanism, "_FIRST_BITS", 8)
    scores, rate = [0, 2, 3], Fraction(1, 2)
    law = [float(p) for _, p in cumulative(scores, rate)]
    drawn = dict.fromkeys(scores, Fraction(0))
    longer = 0
    for first in range(256):
        tape = tape_of(bytes([first]))
        index = exponential_index(tape, scores, rate)
        if len(tape.data) == 64:
            drawn[scores[index]] += Fraction(1, 256)
            continue
        longer += 1
        assert any(first <= 256 * p <= first + 1 for p in law)
        for second in range(256):
            tape = tape_of(bytes([first, second]))
            index = exponential_index(tape, scores, rate)
            drawn[scores[index]] += Fraction(1, 1 << 16)
    # two steps, and the end, as the sum of all weights is known within bounds as well
    assert longer == 3
    for (score, p), before in zip(cumulative(scores, rate), [0.0, *law], strict=False):
        assert float(drawn[score]) == pytest.approx(float(p) - before, abs=2.0**-15)


@pytest.mark.parametrize(
    ("y", "precision"),
    [(Fraction(1, 3), 64), (Fraction(1, 10**30), 80), (Fraction(70), 96), (Fraction(1e-300), 64)],
)
def test_bounds_of_exp_enclose_it_closely(y: Fraction, precision: int) -> None:
    low, high = mechanism.exp_bounds(y, precision)
    with localcontext() as context:
        context.prec = 400
        exact = (-Decimal(y.numerator) / Decimal(y.denominator)).exp() * (1 << precision)
        assert low <= exact <= high
    assert high - low <= 2


def counts(draws: int, scores: list[int], rate: Fraction, multiplicities: list[int] | None = None):
    source = SeededRandom(3)
    drawn = [exponential_index(source, scores, rate, multiplicities) for _ in range(draws)]
    return np.bincount(drawn, minlength=len(scores))


def test_draws_follow_the_law_ties_among_them() -> None:
    scores = [0, 5, 5, 3, 5, -1, 3]
    found = counts(10_000, scores, Fraction(2, 5))
    assert_counted(np.exp(0.4 * np.array(scores)), found, outcomes=7)
    with pytest.raises(AssertionError):  # a rate off by a tenth would be noticed
        assert_counted(np.exp(0.44 * np.array(scores)), found, outcomes=7)


def test_a_multiplicity_stands_for_so_many_candidates() -> None:
    scores, multiplicities = [4, 2, 4, 0, 9], [1, 10, 3, 100, 0]
    found = counts(10_000, scores, Fraction(1, 2), multiplicities)
    assert_counted(np.array(multiplicities) * np.exp(0.5 * np.array(scores)), found, outcomes=4)


def test_huge_multiplicities_are_counted_exactly() -> None:
    # 2^61 candidates of score 0 against one whose weight is as large
    rate = Fraction(61 * math.log(2))
    assert_counted([1, 1], counts(4000, [0, 1], rate, [1 << 61, 1]), outcomes=2)
    with pytest.raises(ValueError, match="more than 2"):
        exponential_index(SeededRandom(0), [0, 1], 1.0, [1 << 62, 1])


def test_extremes() -> None:
    source = SeededRandom(0)
    assert exponential_index(source, [7], 1e-300) == 0
    for _ in range(50):
        # gaps up to 2^64 - 1, rates of all sizes
        assert exponential_index(source, [-(2**63), 2**63 - 1], 1e-15) == 1
        assert exponential_index(source, [0, 1, 0], 1e300) == 1
    seen = {exponential_index(source, [-(2**63), 2**63 - 1], 2.0**-70) for _ in range(50)}
    assert seen == {0, 1}
    seen = {exponential_index(source, [3, 900], 5e-324) for _ in range(50)}
    assert seen == {0, 1}


def test_a_tail_is_reached_when_the_number_falls_there() -> None:
    """A gap of 200 nats: its weight is 2^-288, and the law holds even there."""
    ones = tape_of(b"\xff" * 32)
    assert exponential_index(ones, [0, 200], Fraction(1)) == 1
    ones = tape_of(b"\xff" * 64)
    assert exponential_index(ones, [0, 200], Fraction(1)) == 0


@pytest.mark.parametrize("bad", [0, -1.0, math.nan, math.inf, Fraction(-1, 2)])
def test_a_rate_that_is_none_is_refused(bad: float | Fraction) -> None:
    with pytest.raises(ValueError, match="rate must be a positive number"):
        exponential_index(SeededRandom(0), [1, 2], bad)


@pytest.mark.parametrize(
    ("scores", "multiplicities", "message"),
    [
        ([], None, "scores must be whole|no candidate"),
        ([1.5], None, "whole numbers"),
        ([[1]], None, "shape"),
        ([1, 2], [1], "differ in shape"),
        ([1, 2], [1, -1], "negative"),
        ([1, 2], [0, 0], "no candidate"),
        (np.array([1 << 63], dtype=np.uint64), None, "below 2"),
    ],
)
def test_lists_that_are_none_are_refused(scores, multiplicities, message):
    with pytest.raises(ValueError, match=message):
        exponential_index(SeededRandom(0), scores, 1.0, multiplicities)


# -- what it promises ----------------------------------------------------------------------


def law(scores: tuple[int, ...], rate: Fraction) -> NDArray[np.float64]:
    weights = np.exp(float(rate) * (np.array(scores) - max(scores)))
    return weights / weights.sum()


@pytest.mark.parametrize("sensitivity", [1, 2])
@pytest.mark.parametrize("one_way", [True, False])
def test_all_neighbours_of_all_small_score_lists(sensitivity: int, one_way: bool) -> None:
    epsilon = 0.7
    rate = private_rate(epsilon, sensitivity, one_way=one_way)
    moves = range(0 if one_way else -sensitivity, sensitivity + 1)
    worst = 0.0
    for scores in product(range(-2, 4), repeat=3):
        for move in product(moves, repeat=3):
            moved = tuple(s + m for s, m in zip(scores, move, strict=True))
            worst = max(worst, np.abs(np.log(law(scores, rate) / law(moved, rate))).max())
    assert worst <= epsilon + 1e-12
    # three candidates come near it; many reach it, see below
    assert worst > 0.8 * epsilon


def test_the_rates_are_tight() -> None:
    epsilon = Fraction(1, 2)
    many = 100_000
    # one way: a rare candidate rises alone; two ways: it rises and all others fall
    for one_way, fall in ((True, 0), (False, 1)):
        rate = float(private_rate(epsilon, 1, one_way=one_way))
        rare = 1 / (1 + many)
        risen = math.exp(rate) / (math.exp(rate) + many * math.exp(-rate * fall))
        assert float(epsilon) * 0.999 < math.log(risen / rare) <= float(epsilon)


def test_rates_are_exact_fractions() -> None:
    assert private_rate(0.1) == Fraction(0.1) / 2
    assert private_rate(Fraction(1, 3), 5, one_way=True) == Fraction(1, 15)
    for epsilon, sensitivity in ((0.0, 1), (1.0, 0), (math.inf, 1)):
        with pytest.raises(ValueError, match="positive"):
            private_rate(epsilon, sensitivity)


@pytest.mark.parametrize("candidates", [1, 2, 1000])
@pytest.mark.parametrize("rate", [0.05, 2.0])
@pytest.mark.parametrize("beta", [0.3, 1e-6])
def test_the_loss_bounds_the_tail_of_the_worst_list(candidates, rate, beta):
    loss = utility_loss(math.log(candidates), rate, beta)
    # all others just beyond the loss: the worst list
    others = (candidates - 1) * math.exp(-rate * loss)
    assert others / (1 + others) <= beta
    assert candidates < 3 or others / (1 + others) > 0.5 * beta


def test_utility_parameters_are_checked() -> None:
    with pytest.raises(ValueError, match="beta"):
        utility_loss(1.0, 1.0, 0.0)
    with pytest.raises(ValueError, match="log_candidates"):
        utility_loss(-1.0, 1.0, 0.5)
