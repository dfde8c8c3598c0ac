"""The one door for randomness: uniform, reproducible on request, independent when spawned."""

from collections import Counter
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from tape import Tape

from learners.privacy.noise import below_array
from learners.privacy.randomness import (
    SeededRandom,
    SystemRandom,
    below,
    bernoulli,
    open_source,
    words,
)


def single(tape: bytes, bound: int) -> int:
    return below(Tape(tape), bound)


def of_array(tape: bytes, bound: int) -> int:
    return int(below_array(Tape(tape), bound, 1)[0])


def drawn(tape: bytes, bound: int, draw: Callable[[bytes, int], int] = single) -> int | None:
    """What is made of the bytes; None when all are rejected."""
    try:
        return draw(tape, bound)
    except EOFError:
        return None


@pytest.mark.parametrize("draw", [single, of_array])
@pytest.mark.parametrize("bound", [2, 3, 7, 8, 100, 128, 129, 255, 256])
def test_integers_are_uniform_over_every_first_byte(bound, draw):
    outcomes = Counter(drawn(bytes([byte]), bound, draw) for byte in range(256))
    kept = {value: times for value, times in outcomes.items() if value is not None}
    assert sorted(kept) == list(range(bound))
    assert len(set(kept.values())) == 1
    # fewer than half are rejected
    assert 2 * outcomes[None] < 256


@pytest.mark.parametrize("bound", [257, 1000, 32769, 65535, 65536])
def test_below_is_uniform_over_every_pair_of_bytes(bound: int) -> None:
    outcomes = Counter(drawn(bytes(pair), bound) for pair in product(range(256), repeat=2))
    kept = {value: times for value, times in outcomes.items() if value is not None}
    assert sorted(kept) == list(range(bound))
    assert len(set(kept.values())) == 1


def test_below_starts_afresh_after_a_rejection() -> None:
    rejected = next(byte for byte in range(256) if drawn(bytes([byte]), 100) is None)
    for byte in range(256):
        assert drawn(bytes([rejected, byte]), 100) == drawn(bytes([byte]), 100)


def test_below_one_needs_no_randomness() -> None:
    assert single(b"", 1) == of_array(b"", 1) == 0


def test_below_reaches_integers_of_any_size() -> None:
    assert below(Tape(b"\xff" * 25), 1 << 200) == (1 << 200) - 1
    source = SeededRandom(3)
    bound = 10**40
    draws = [below(source, bound) for _ in range(200)]
    assert all(0 <= draw < bound for draw in draws)
    assert max(draws) > bound * 0.9
    assert min(draws) < bound * 0.1


@pytest.mark.parametrize("bound", [0, -3])
def test_below_refuses_an_empty_range(bound: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        below(SeededRandom(1), bound)


def test_bernoulli_has_exactly_the_stated_probability() -> None:
    for numerator, denominator in ((0, 5), (1, 2), (3, 7), (64, 256), (5, 5)):
        outcomes: Counter[bool] = Counter()
        for byte in range(256):
            if drawn(bytes([byte]), denominator) is not None:
                outcomes[bernoulli(Tape(bytes([byte])), numerator, denominator)] += 1
        assert outcomes[True] * denominator == numerator * outcomes.total()


# -- sources -------------------------------------------------------------------------------


def test_the_default_source_is_the_systems_and_private() -> None:
    source = open_source(None)
    assert isinstance(source, SystemRandom)
    assert source.private
    assert source.spawn().private
    assert source.bytes(32) != source.bytes(32)
    assert len(source.bytes(33)) == 33


def test_a_seeded_source_is_never_private() -> None:
    source = open_source(0)
    assert isinstance(source, SeededRandom)
    assert not source.private
    assert not source.spawn().private


def test_a_stream_does_not_depend_on_how_it_is_cut() -> None:
    whole = SeededRandom(7).bytes(200_000)
    source = SeededRandom(7)
    sizes = (0, 1, 7, 65_535, 65_536, 65_537, 2, 3_382)
    assert b"".join(source.bytes(size) for size in sizes) == whole


def test_spawned_streams_are_reproducible_and_distinct() -> None:
    def family(seed: int) -> list[bytes]:
        source = SeededRandom(seed)
        first, second = source.spawn(), source.spawn()
        grandchild = first.spawn()
        return [s.bytes(64) for s in (source, first, second, grandchild)]

    assert family(1) == family(1)
    assert len(set(family(1) + family(2) + family(11))) == 12


def test_spawning_leaves_the_parents_stream_alone() -> None:
    source = SeededRandom(5)
    source.spawn().bytes(100)
    assert source.bytes(100) == SeededRandom(5).bytes(100)


def test_words_are_the_streams_bytes() -> None:
    taken = words(SeededRandom(4), 5)
    assert taken.dtype == np.uint64
    assert taken.tobytes() == SeededRandom(4).bytes(40)
