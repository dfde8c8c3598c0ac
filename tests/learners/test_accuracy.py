"""A check on examples kept from the learner: its law, its coins, its limits, what it costs."""

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
import shapely
from noise_laws import laplace, pooled
from numpy.typing import NDArray
from scipy import stats
from tape import Tape
from tiny_samples import TYPES, Example, all_neighbours, most_moved

import learners.core.accuracy
from geometry.grid import Frame
from geometry.grid_counts import GridCounts
from learners import (
    GreedyUnionLearner,
    NoisyHistogramLearner,
    PolygonUnionLearner,
    StabilityLearner,
    ThresholdLearner,
)
from learners.core.accuracy import COUNTS, Check, divided, share_limits
from learners.core.codec import release_from_dict, release_to_dict
from learners.core.learned_shape import LearnedShape, check_of
from learners.privacy.accounting import Charge, PrivacySpent
from learners.privacy.noise import most_noise
from learners.privacy.privacy_loss import accounting_document, check_statement
from learners.privacy.randomness import SystemRandom
from learners.privacy.several_runs import renyi_cost

# -- the law -------------------------------------------------------------------------------

#: Noise beyond is pooled with its neighbour: enough to see every ratio.
REACH = 2


def vector(count: int, most: int, scale: Fraction) -> NDArray[np.float64]:
    """The law of a count with noise, its ends pooled, as all counts up to `most` see them."""
    wide = pooled(scale, REACH + most)
    law = np.zeros(2 * REACH + most + 1)
    values = np.clip(np.arange(len(wide)) - REACH - most + count, -REACH, REACH + most) + REACH
    np.add.at(law, values, wide)
    return law


def law_of(examples: tuple[Example, ...], part: float, scale: Fraction, most: int) -> Any:
    """Probabilities of all outcomes: a learner's noisy count, then four noisy counts.

    The learner counts what it is given, and its shape is where x >= 1, or everything if its count
    is positive: so what is right depends on what it has released.
    """
    law: Any = 0.0
    for coins in itertools.product((False, True), repeat=len(examples)):
        chance = math.prod(part if coin else 1 - part for coin in coins)
        kept = sum(not coin for coin in coins)
        learned = vector(kept, most, scale)
        rows = []
        for at, mass in enumerate(learned):
            counts = [0, 0, 0, 0]
            for (x, _, label), coin in zip(examples, coins, strict=True):
                inside = at - REACH > 0 or x >= 1
                counts[2 * (not inside) + (inside != label)] += coin
            four: Any = 1.0
            for count in counts:
                four = np.multiply.outer(four, vector(count, most, scale))
            rows.append(mass * four)
        law = law + chance * np.stack(rows)
    return law


@pytest.mark.parametrize("part", [0.1, 0.5])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_neighbours_differ_by_epsilon_over_all_outcomes(epsilon: float, part: float) -> None:
    scale = 1 / Fraction(epsilon)
    assert law_of(((0, 0, 1),), part, scale, 2).sum() == pytest.approx(1)
    worst = most_moved(lambda s: law_of(s, part, scale, 2), all_neighbours(TYPES, 1))
    # the coins alone make it a little less than the sum of neither part
    assert epsilon / 4 < worst <= epsilon * (1 + 1e-9)


def test_a_replaced_example_costs_twice_a_half() -> None:
    pairs = all_neighbours(TYPES, 1, "replace-one")
    assert most_moved(lambda s: law_of(s, 0.5, Fraction(2), 2), pairs) <= 1 + 1e-9


def rows(d: int = 8, n: int = 400, seed: int = 0) -> tuple[Any, Any]:
    points = np.random.default_rng(seed).integers(0, d + 1, (n, 2))
    return points, points[:, 0] > d / 2


def test_a_coin_looks_at_neither_place_nor_label() -> None:
    tape = np.random.default_rng(1).integers(0, 2**16, 40).astype("<u2").tobytes()
    found = set()
    for columns in itertools.permutations(TYPES, 2):
        points = np.array([each[:2] for each in columns])
        labels = np.array([each[2] for each in columns]) == 1
        counts = GridCounts(1, points, labels, np.array([13, 27]))
        kept, held = divided(counts, 0.25, Tape(tape))
        assert kept.n + held.n == 40
        found.add(tuple(held.amounts.tolist()))
    words = np.frombuffer(tape, dtype="<u2") < 2**14
    assert found == {(int(words[:13].sum()), int(words[13:].sum()))}


def test_what_is_counted_is_what_was_kept() -> None:
    """Without noise and coins of a half: each example is right or wrong, inside or outside."""
    X, y = rows()
    silent = mock.patch.object(
        learners.core.accuracy,
        "discrete_laplace_array",
        lambda source, scale, count: np.zeros(count, int),
    )
    kept = {}
    plain = divided

    def seen(counts: GridCounts, part: float, source: Any) -> Any:
        kept["kept"], kept["held"] = found = plain(counts, part, source)
        return found

    with silent, mock.patch("learners.core.estimator.divided", seen):
        model = ThresholdLearner(grid=8, check=0.5, seed=1).fit(X, y)
    held, release = kept["held"], model.release_
    inside = release.predict(held.points) == 1
    expected = [
        int(held.amounts[(inside == place) & ((held.labels == inside) == right)].sum())
        for place, right in ((True, True), (True, False), (False, True), (False, False))
    ]
    assert [dict(release.parameters)[name] for name in COUNTS] == expected
    assert sum(expected) == held.n
    # and the learner saw the others alone
    again = ThresholdLearner(grid=8, seed=1).fit_counts(kept["kept"])
    assert release.shape().equals(again.release_.shape())


# -- what it costs -------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    "learner", [PolygonUnionLearner(), PolygonUnionLearner(k=3), ThresholdLearner()]
)
def test_the_check_has_all_of_epsilon_beside_the_learner(learner: Any, neighbours: Any) -> None:
    alone = learner.set_params(neighbours=neighbours, check=None).plan()
    spent = learner.set_params(check=0.1).plan()
    own = spent.charge("check counts")
    assert own.each == (1.0 if neighbours == "add-remove" else 0.5)
    assert replace(spent, charges=spent.charges[:-1]) == alone
    check_statement(spent)
    document = accounting_document(spent)
    assert document["charges"] == accounting_document(alone)["charges"]
    assert [one["epsilon"] for one in document["apart"]] == [1.0]


def test_votes_may_be_checked_too() -> None:
    spent = StabilityLearner(neighbours="replace-label", check=0.2).plan()
    assert [one.name for one in spent.charges] == ["unanswered queries", "check counts"]
    check_statement(spent)


def test_a_budget_counts_the_larger_part() -> None:
    cheap = PrivacySpent(1.0, 0.0, "add-remove", "basic", (Charge("noisy cells", 1.0),), True)
    both = replace(cheap, charges=(*cheap.charges, Charge("check counts", 1.0)))
    several = Charge("noisy cells", 0.25, 4)
    for order in (1.5, 4.0, 32.0):
        assert renyi_cost(both, "add-remove", order) == renyi_cost(cheap, "add-remove", order)
        fine = replace(cheap, charges=(several,))
        checked = replace(fine, charges=(several, Charge("check counts", 1.0)))
        assert renyi_cost(fine, "add-remove", order) <= renyi_cost(checked, "add-remove", order)
        assert renyi_cost(checked, "add-remove", order) == renyi_cost(both, "add-remove", order)


@pytest.mark.parametrize(
    "charges",
    [
        (Charge("check counts", 1.0),),
        (Charge("noisy cells", 1.0), Charge("check counts", 1.1)),
        (Charge("noisy cells", 1.0), Charge("check counts", 0.5, 2)),
        (Charge("noisy cells", 1.0), Charge("check counts", 0.5), Charge("check counts", 0.5)),
    ],
)
def test_a_statement_that_a_check_makes_false_is_refused(charges: Any) -> None:
    with pytest.raises(ValueError, match=r"check|charges"):
        check_statement(PrivacySpent(1.0, 0.0, "add-remove", "basic", charges, True))


@pytest.mark.parametrize("part", [0, 1, 1.0, -0.1, math.nan, "a"])
def test_a_part_that_is_none_is_refused(part: Any) -> None:
    with pytest.raises(ValueError, match="check must"):
        ThresholdLearner(check=part).plan()


def test_what_is_not_private_has_no_check() -> None:
    with pytest.raises(ValueError, match="check is for private learners"):
        GreedyUnionLearner(k=1, grid=8, check=0.1).fit(*rows())


# -- the release ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def release() -> Any:
    return NoisyHistogramLearner(grid=8, cells=4, check=0.25, seed=2).fit(*rows(n=4000)).release_


def test_files_bring_it_back(release: Any) -> None:
    data = release_to_dict(release)
    assert release_from_dict(data) == release
    check = check_of(release_from_dict(data))
    assert check is not None
    assert check.scale == 1
    assert check_of(replace(release, privacy=None)) is None


@pytest.mark.parametrize("name", ["check", *COUNTS])
def test_counts_and_their_cost_belong_together(release: Any, name: str) -> None:
    data = release_to_dict(release)
    del data["parameters"][name]
    with pytest.raises(ValueError, match="its four counts and their charge"):
        release_from_dict(data)
    data = release_to_dict(release)
    data["privacy"]["charges"].pop()
    with pytest.raises(ValueError, match="its four counts and their charge"):
        release_from_dict(data)


def test_the_words_round_outwards() -> None:
    check = Check(0.1, 480, 4, 1500, 10, Fraction(1))
    low, high = check.share()
    assert f"reports like these, {math.floor(1000 * low) / 10:g} to" in check.words()
    assert f"to {math.ceil(1000 * high) / 10:g} % lie on the right side" in check.words()
    assert Check(0.1, 1, 0, 2, 0, Fraction(9)).words().endswith("too few to say anything.")


# -- the limits ----------------------------------------------------------------------------


def covered(n: int, p: float, scale: Fraction, limits: Callable[[int, int], Any]) -> float:
    """The probability that limits hold p, over all outcomes of the draw and of two noises."""
    reach = math.ceil(10 * scale)
    noise, law = laplace(scale, reach), stats.binom.pmf(np.arange(n + 1), n, p)
    held = 0.0
    for wrong in range(n + 1):
        if law[wrong] < 1e-9:
            continue
        for i, one in enumerate(noise):
            for j, other in enumerate(noise):
                low, high = limits(wrong + i - reach, n - wrong + j - reach)
                held += law[wrong] * one * other * (low <= p <= high)
    return held


@pytest.mark.parametrize("p", [0.0, 0.02, 0.3, 0.5, 0.9])
def test_limits_hold_with_the_stated_confidence_whatever_the_noise(p: float) -> None:
    scale = Fraction(1, 2)
    assert covered(14, p, scale, lambda w, r: share_limits(w, r, 1, scale, 0.05)) >= 0.95 - 1e-6


def test_limits_that_forget_the_noise_do_not() -> None:
    """Clopper and Pearson's: what the noise is for is seen."""

    @functools.cache
    def naive(wrong: int, right: int) -> tuple[float, float]:
        wrong, right = max(0, wrong), max(0, right)
        if not wrong + right:
            return 0.0, 1.0
        found = stats.binomtest(wrong, wrong + right).proportion_ci(0.95)
        return float(found.low), float(found.high)

    assert covered(10, 0.02, Fraction(1), naive) < 0.93


@pytest.mark.parametrize(("wrong", "right"), [(0, 50), (3, 200), (500, 500), (1000, 0)])
def test_next_to_no_noise_leaves_the_limits_of_clopper_and_pearson(wrong: int, right: int) -> None:
    found = share_limits(wrong, right, 1, Fraction(1, 100), 0.05)
    exact = stats.binomtest(wrong, wrong + right).proportion_ci(0.955)
    assert found == pytest.approx((exact.low, exact.high), abs=1e-6)


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(7, 3), Fraction(40), Fraction(3000)])
@pytest.mark.parametrize("several", [1, 2, 4, 16])
def test_the_most_that_noise_makes_is_exceeded_as_rarely_as_said(scale, several):
    """The law of the sum by Fourier's way."""
    size = 1 << math.ceil(math.log2(2 * float(scale) * (30 + 6 * several)))
    reach = size // 2 - 1
    law = np.zeros(size)
    law[np.arange(-reach, reach + 1)] = laplace(scale, reach)
    total = np.fft.irfft(np.fft.rfft(law) ** several, size)

    def beyond(most: int) -> float:
        return float(total[most + 1 : size // 2].sum())

    for error in (0.05, 0.0025):
        found = most_noise(scale, several, error)
        assert beyond(found) <= error * (1 + 1e-6)
        if scale <= 500:
            assert beyond(found - 1) > error * (1 - 1e-6)
        else:
            assert beyond(found - (2 * several + 1) * math.ceil(scale / 500) - 1) > error


def by_label(counts: GridCounts, part: float, source: Any) -> Any:
    """Coins that favour the examples labelled 0."""
    zeros = divided(counts.where(~counts.labels), 1.8 * part, source)
    ones = divided(counts.where(counts.labels), 0.2 * part, source)
    return tuple(
        GridCounts(
            counts.d,
            *(np.concatenate([getattr(one, name) for one in both])
              for name in ("points", "labels", "amounts")),
        )
        for both in zip(zeros, ones, strict=True)
    )  # fmt: skip


def missed(n: int, runs: int) -> list[int]:
    """How often the limits do not hold the true share of "all", "inside" and "outside".

    A disc and two bars on a grid of 24 points a side; labels of one point in ten are wrong.
    """
    side = np.arange(25)
    grid = np.array(list(itertools.product(side, side)))
    x, y = grid.T
    shape = (np.hypot(x - 8, y - 9) < 6) | (abs(x - 19) < 3) | (abs(y - 21) < 2)
    random, misses = np.random.default_rng(7), [0, 0, 0]
    for _ in range(runs):
        at = random.integers(0, len(grid), n)
        labels = shape[at] ^ (random.random(n) < 0.1)
        seed = int(random.integers(2**31))
        model = NoisyHistogramLearner(grid=24, cells=5, check=0.2, seed=seed)
        release = model.fit(grid[at], labels).release_
        inside = release.predict(grid) == 1
        right = np.where(inside == shape, 0.9, 0.1)
        check = check_of(release)
        assert check is not None
        for i, kept in enumerate((inside | True, inside, ~inside)):
            if kept.any():
                low, high = check.share(("all", "inside", "outside")[i])  # type: ignore[arg-type]
                misses[i] += not low <= right[kept].mean() <= high
    return misses


@pytest.mark.parametrize(("n", "runs"), [(300, 120), (3000, 60)])
def test_real_runs_hold_what_they_say(n: int, runs: int) -> None:
    for found in missed(n, runs):
        assert stats.binom.sf(found - 1, runs, 0.05) > 1e-4


def test_coins_that_look_at_labels_are_found_out() -> None:
    """A check that is learned from, too, is found out by its audit."""
    with mock.patch("learners.core.estimator.divided", by_label):
        assert stats.binom.sf(max(missed(3000, 40)) - 1, 40, 0.05) < 1e-4


def test_private_runs_have_coins_of_the_system() -> None:
    with mock.patch.object(SystemRandom, "bytes", side_effect=EOFError), pytest.raises(EOFError):
        ThresholdLearner(grid=8, check=0.5).fit(*rows())


def test_very_wide_noise_takes_no_more_time_and_says_nothing() -> None:
    check = Check(0.1, 3, 5, 8, 2, Fraction(10**9))
    assert check.share() == (0.0, 1.0)
    wide = share_limits(4 * 10**9, 16 * 10**9, 1, Fraction(10**7), 0.05)
    assert 0.19 < wide[0] < 0.2 < wide[1] < 0.21


def test_the_check_of_a_clipped_shape_says_that_it_is_of_the_whole(release: Any) -> None:
    whole = LearnedShape(release, Frame(8))
    cut = whole.clip(shapely.box(0, 0, 4, 8))
    assert "right side of the shape; of those" in whole.statement
    assert "right side of the shape before it was clipped; of those" in cut.statement
    assert cut.fields()["accuracy"] == cut.accuracy != whole.accuracy
