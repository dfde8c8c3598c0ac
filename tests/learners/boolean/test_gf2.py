"""Packed linear algebra over GF(2): against brute force over all vectors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from learners.boolean.gf2 import PackedBits, solve, word_count


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


@pytest.mark.parametrize("seed", range(40))
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
