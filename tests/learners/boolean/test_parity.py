"""Parities: packed linear algebra against brute force, runs and their laws."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import tiny_samples
from chi_square import assert_drawn_from
from numpy.typing import NDArray

from learners import ParityLearner, PrivateParityLearner
from learners.boolean.parity import (
    COIN,
    SOURCE_LIMIT,
    PackedBits,
    ParityPlan,
    plan_parity,
    private_parity,
    solve,
    word_count,
)
from learners.core.codec import release_to_dict
from learners.privacy.randomness import SeededRandom

#: Vectors of GF(2)^2, as numbers, and all kinds of example.
VECTORS = range(4)
KINDS = [(x, label) for x in VECTORS for label in (0, 1)]
#: In place of a parity.
BOTTOM = -1

Example = tuple[int, int]
Sample = tuple[Example, ...]


def dot(x: int, r: int) -> int:
    return (x & r).bit_count() % 2


def random_examples(
    n: int, d: int, seed: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    X, secret = rng.random((n, d)) < 0.5, rng.random(d) < 0.5
    return X, (X.astype(int) @ secret.astype(int)) % 2 == 1, secret


# -- not private ---------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d"), [(5, 9), (40, 20), (300, 130)])
def test_elimination_finds_a_consistent_parity(n: int, d: int) -> None:
    X, y, secret = random_examples(n, d, n)
    model = ParityLearner().fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.privacy_ is None
    if n > d + 20:
        assert model.release_.parity == tuple(secret.astype(int))
    packed = ParityLearner().fit(PackedBits.of(X), y)
    assert packed.release_ == model.release_
    np.testing.assert_array_equal(packed.predict(PackedBits.of(X)), model.predict(X.astype(int)))


def test_contradictions_are_reported() -> None:
    model = ParityLearner().fit([[1, 0], [0, 1], [1, 1]], [1, 1, 1])
    assert model.release_.parity is None
    assert not model.diagnostics_[0].consistent
    with pytest.raises(ValueError, match="without a parity"):
        model.predict([[1, 0]])


# -- the private law -----------------------------------------------------------------------


@cache
def block_law(kept: Sample, fail: Fraction) -> dict[int, Fraction]:
    """Law of one block that uses exactly these examples."""
    solutions = [r for r in VECTORS if all(dot(x, r) == label for x, label in kept)]
    if not solutions:
        return {BOTTOM: Fraction(1)}
    share = (1 - fail) / len(solutions)
    return {r: share for r in solutions} | {BOTTOM: fail}


def fates(plan: ParityPlan) -> list[Fraction]:
    """Probability that an example goes to each block, to the test, to nothing."""
    used, tested = Fraction(plan.used, COIN), Fraction(plan.tested, COIN)
    return [used] * plan.blocks + [tested, 1 - plan.blocks * used - tested]


def transcript_law(
    sample: Sample, plan: ParityPlan, decay: Fraction, first: bool = False
) -> dict[tuple[int, ...], Fraction]:
    """Law of all blocks' outputs and the released one; with `first`, of the released one alone.

    `decay` stands for exp(-rate), the weight of a mistake in the test.
    """
    law: Counter[tuple[int, ...]] = Counter()
    chances, fail = fates(plan), Fraction(plan.fail, COIN)
    possible = [i for i, chance in enumerate(chances) if chance]
    for assignment in itertools.product(possible, repeat=len(sample)):
        weight = math.prod((chances[a] for a in assignment), start=Fraction(1))
        parts = [
            tuple(sorted(e for e, a in zip(sample, assignment, strict=True) if a == part))
            for part in range(plan.blocks + 1)
        ]
        laws = [block_law(part, fail) for part in parts[:-1]]
        for outputs in itertools.product(*laws):
            chance = weight * math.prod((w[o] for w, o in zip(laws, outputs, strict=True)))
            for released, share in released_law(outputs, parts[-1], plan, decay):
                law[(released,) if first else (*outputs, released)] += chance * share
    return dict(law)


def released_law(
    outputs: tuple[int, ...], tests: Sample, plan: ParityPlan, decay: Fraction
) -> Iterator[tuple[int, Fraction]]:
    candidates = [o for o in outputs if o != BOTTOM]
    if not candidates:
        yield BOTTOM, Fraction(1)
    elif not plan.tested:
        yield candidates[0], Fraction(1)
    else:
        weights = [decay ** sum(dot(x, c) != label for x, label in tests) for c in candidates]
        for c, w in zip(candidates, weights, strict=True):
            yield c, w / sum(weights)


def worst_ratio(
    plan: ParityPlan, decay: Fraction, size: int, neighbours: str = "add-remove"
) -> Fraction:
    """Largest ratio of a transcript's probabilities between neighbours of up to `size` examples."""
    worst = Fraction(0)
    law = cache(lambda s: transcript_law(s, plan, decay))
    for one, two in (
        (law(a), law(b)) for a, b in tiny_samples.all_neighbours(KINDS, size - 1, neighbours)
    ):
        # nothing is possible for one neighbour alone
        assert one.keys() == two.keys()
        worst = max(worst, *(max(one[o] / two[o], two[o] / one[o]) for o in one))
    return worst


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_one_block_of_every_small_sample_is_private(epsilon: float) -> None:
    plan = plan_parity(epsilon, beta=None)
    worst = worst_ratio(plan, Fraction(1), 4)
    assert math.log(worst) <= epsilon
    assert math.log(worst) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, SOURCE_LIMIT])
def test_the_sources_rate_is_private_and_for_one_example_more_costs_hardly_more_than_p(epsilon):
    plan = plan_parity(epsilon, beta=None, constants="source")
    p = Fraction(plan.used, COIN)
    assert float(p) == pytest.approx(epsilon / 4)
    assert worst_ratio(plan, Fraction(1), 4) == 1 / (1 - p)
    replaced = worst_ratio(plan, Fraction(1), 3, "replace-one")
    assert replaced == (1 + p) / (1 - p)
    assert math.log(replaced) <= epsilon


def test_the_sources_rate_is_not_private_for_every_epsilon() -> None:
    for epsilon in (3.9, 3.97):
        plan = replace(plan_parity(1.0, beta=None), used=int(epsilon / 4 * COIN))
        assert math.log(worst_ratio(plan, Fraction(1), 3, "replace-one")) > epsilon
    with pytest.raises(ValueError, match=r"hold up to epsilon = 3.8"):
        plan_parity(3.9, constants="source")


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_one_block_is_private_when_an_example_is_replaced(epsilon: float) -> None:
    plan = plan_parity(epsilon, "replace-one", beta=None)
    worst = worst_ratio(plan, Fraction(1), 3, "replace-one")
    assert math.log(worst) <= epsilon
    assert math.log(worst) == pytest.approx(epsilon, rel=1e-9)
    assert plan.used > plan_parity(epsilon / 2, beta=None).used


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("test_share", [0.0, 0.25])
def test_all_blocks_and_the_test_together_cost_one_epsilon(neighbours, test_share):
    # e^-rate must be rational: 1/2, so epsilon is ln 2, or ln 4 when an example is replaced
    decay = Fraction(1, 2)
    factor = 1 if neighbours == "add-remove" else 2
    epsilon = factor * math.log(2)
    beta = 0.3 if factor == 1 else 0.1
    plan = plan_parity(epsilon, neighbours, beta, test_share=test_share)  # type: ignore[arg-type]
    assert plan.blocks == 2
    assert float(plan.rate) == math.log(2)
    size = 2 if test_share or factor == 2 else 3
    worst = worst_ratio(plan, decay, size, neighbours)
    assert worst <= 2**factor
    # with a test, the dearest example needs a sample larger than those that are enumerated
    assert math.log(worst) > (0.5 if test_share else 0.85) * epsilon


def test_a_smaller_chance_of_bottom_needs_a_smaller_share_of_examples() -> None:
    # a sample without contradiction, and one with: only ⊥ tells them apart
    plan = replace(plan_parity(1.0, beta=None), fail=COIN // 20)
    assert math.log(worst_ratio(plan, Fraction(1), 2)) > 1.0
    small = plan_parity(1.0, beta=0.1)
    assert small.fail < COIN // 2
    f, q = small.fail / COIN, small.used / COIN
    assert 1 + small.blocks * q * (1 / f - 1) <= math.e
    assert f**small.blocks <= 0.05


@pytest.mark.parametrize("test_share", [0.0, 0.3])
def test_runs_follow_the_enumerated_law(test_share: float) -> None:
    sample = ((1, 1), (1, 1), (2, 0), (3, 0), (2, 1))
    plan = plan_parity(1.0, beta=0.3, test_share=test_share)
    assert plan.blocks == 2
    law = transcript_law(sample, plan, Fraction(math.exp(-plan.rate)), first=True)
    assert sum(law.values()) == pytest.approx(1)
    rows = PackedBits.of(np.array([[x & 1, x >> 1] for x, _ in sample], dtype=bool))
    labels = np.array([label for _, label in sample], dtype=bool)
    source, runs = SeededRandom(5), 2500
    counts: Counter[int] = Counter()
    for _ in range(runs):
        found, _ = private_parity(rows, labels, plan, source)
        counts[BOTTOM if found is None else int(found[0])] += 1
    assert_drawn_from({o: float(w) for (o,), w in law.items()}, counts, runs, outcomes=5)


# -- what is promised ----------------------------------------------------------------------


def test_bottom_is_a_release_and_predicts_nothing() -> None:
    X, y = [[1, 0]] * 500, [0, 1] * 250
    model = PrivateParityLearner(epsilon=2.0, seed=1).fit(X, y)
    assert model.release_.parity is None
    assert release_to_dict(model.release_)["parity"] is None
    with pytest.raises(ValueError, match="⊥"):
        model.predict(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test_share": 1.0}, "test_share must lie"),
        ({"constants": "loose"}, "constants must be 'tight' or 'source'"),
        ({"epsilon": 1e-14}, "too small"),
    ],
)
def test_impossible_parameters_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PrivateParityLearner(**options).fit([[1, 0]], [1])  # type: ignore[arg-type]


def test_wrong_examples_are_refused() -> None:
    with pytest.raises(ValueError, match="has not been fitted"):
        ParityLearner().predict([[1, 0]])
    model = ParityLearner().fit([[1, 0]], [1])
    with pytest.raises(ValueError, match="rows must have 2 bits, got 3"):
        model.predict([[1, 0, 1]])


def all_vectors(d: int) -> NDArray[np.bool_]:
    return np.array(list(itertools.product((0, 1), repeat=d)), dtype=bool)


def brute_solutions(rows: NDArray[np.bool_], sides: NDArray[np.bool_]) -> set[tuple[bool, ...]]:
    vectors = all_vectors(rows.shape[1])
    held = (rows.astype(int) @ vectors.T.astype(int)) % 2 == sides[:, None]
    return {tuple(v) for v in vectors[held.all(axis=0)].tolist()}


@pytest.mark.parametrize("d", [1, 2, 63, 64, 65, 127, 128, 200])
def test_packing_there_and_back(d: int) -> None:
    bits = np.random.default_rng(d).random((7, d)) < 0.5
    packed = PackedBits.of(bits)
    assert packed.words.shape == (7, word_count(d)) == (7, -(-d // 64))
    np.testing.assert_array_equal(packed.bits(), bits)
    for row, j in itertools.product(range(7), (0, d // 2, d - 1)):
        assert bool(int(packed.words[row, j // 64]) >> (j % 64) & 1) == bits[row, j]
    vector = np.random.default_rng(d + 1).random(d) < 0.5
    expected = (bits.astype(int) @ vector.astype(int)) % 2 == 1
    got = packed.products(PackedBits.of(vector[None, :]).words[0])
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("seed", range(20))
def test_solutions_are_those_of_brute_force_each_from_one_choice_of_free_bits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 8)), int(rng.integers(0, 9))
    rows, sides = rng.random((n, d)) < 0.4, rng.random(n) < 0.5
    echelon = solve(PackedBits.of(rows), sides)
    expected = brute_solutions(rows, sides)
    assert echelon.consistent == bool(expected)
    if not expected:
        with pytest.raises(ValueError, match="no solution"):
            echelon.solution(np.zeros(1, dtype=np.uint64))
        return
    found: dict[tuple[bool, ...], int] = {}
    for free in range(2**d):
        vector = echelon.solution(np.array([free], dtype=np.uint64))
        key = tuple(PackedBits(vector[None, :], d).bits()[0].tolist())
        found[key] = found.get(key, 0) + 1
    assert set(found) == expected
    # uniform free bits give a uniform solution
    assert set(found.values()) == {2**echelon.rank}
    assert len(expected) == 2 ** (d - echelon.rank)


@pytest.mark.parametrize(("n", "d"), [(200, 64), (100, 65), (300, 129), (40, 300), (256, 256)])
def test_many_words(n: int, d: int) -> None:
    rng = np.random.default_rng(n + d)
    rows, secret = rng.random((n, d)) < 0.5, rng.random(d) < 0.5
    packed = PackedBits.of(rows)
    sides = packed.products(PackedBits.of(secret[None, :]).words[0])
    echelon = solve(packed, sides)
    assert echelon.consistent
    noise = rng.integers(0, 1 << 63, word_count(d)).astype(np.uint64)
    np.testing.assert_array_equal(packed.products(echelon.solution(noise)), sides)
    if n > d + 20:
        assert echelon.rank == d
        wrong = sides.copy()
        wrong[0] ^= True
        assert not solve(packed, wrong).consistent


def test_no_equations_and_an_equation_of_zeros() -> None:
    free = np.array([0b101], dtype=np.uint64)
    none = solve(PackedBits.of(np.zeros((0, 3), dtype=bool)), np.zeros(0, dtype=bool))
    assert (none.rank, none.consistent, none.solution(free).tolist()) == (0, True, [5])
    zero = PackedBits.of(np.zeros((1, 3), dtype=bool))
    assert solve(zero, np.array([False])).consistent
    assert not solve(zero, np.array([True])).consistent


def test_packed_rows_of_the_wrong_form_are_refused() -> None:
    good = np.zeros((2, 1), dtype=np.uint64)
    with pytest.raises(ValueError, match="uint64"):
        PackedBits(good.astype(np.int64), 5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="70 bits need 2 words, got 1"):
        PackedBits(good, 70)
    with pytest.raises(ValueError, match="row 1: there are bits beyond the first 5"):
        PackedBits(np.array([[31], [32]], dtype=np.uint64), 5)
    with pytest.raises(ValueError, match="at least 1 bit"):
        PackedBits(good, 0)
