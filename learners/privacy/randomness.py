"""Gives all random bits: the operating system's, or a seeded stream, whose runs are not private.

Every released draw passes through a :class:`RandomSource`.  By default its bytes
come from the operating system's generator; a seed replaces it by a counter-mode
SHAKE-256 stream, reproducible and therefore *not private*: the report says so.
No other module of the package may draw.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class RandomSource(Protocol):
    """A stream of independent uniform bits."""

    @property
    def private(self) -> bool:
        """Whether draws may back a release (False when seeded)."""

    def bytes(self, count: int) -> bytes:
        """The next `count` uniform bytes."""

    def spawn(self) -> RandomSource:
        """An independent source, for work that runs alongside."""


class SystemRandom:
    """The operating system's generator."""

    private = True

    def bytes(self, count: int) -> bytes:
        """`count` bytes from os.urandom."""
        return os.urandom(count)

    def spawn(self) -> SystemRandom:
        """The same generator: its bytes are independent whoever asks."""
        return self


class SeededRandom:
    """A reproducible stream for demonstrations and tests: SHAKE-256 of seed and block number.

    Never private: whoever knows or guesses the seed can undo the noise.
    """

    private = False

    #: Bytes that are made of a block, in the end all: a longer output begins with a shorter one.
    _SIZES = (1 << 10, 1 << 14, 1 << 16)

    def __init__(self, seed: int, path: str = "") -> None:
        self._seed = int(seed)
        self._path = path
        self._children = 0
        self._block = self._at = 0
        self._buffer = b""

    def spawn(self) -> SeededRandom:
        """The next of the seed's own sub-streams."""
        self._children += 1
        return SeededRandom(self._seed, f"{self._path}/{self._children}")

    def bytes(self, count: int) -> bytes:
        """The next `count` bytes of the stream."""
        parts = []
        while True:
            end = min(self._at + count, self._SIZES[-1])
            if end > len(self._buffer):
                label = f"geodp {self._seed}{self._path} {self._block}".encode()
                size = next(size for size in self._SIZES if size >= end)
                self._buffer = hashlib.shake_256(label).digest(size)
            parts.append(self._buffer[self._at : end])
            count -= end - self._at
            self._at = end
            if not count:
                return b"".join(parts)
            self._block, self._at, self._buffer = self._block + 1, 0, b""


#: Names of runs.
RUN = re.compile("[0-9a-f]{32}")


def new_run_id() -> str:
    """A name for one run, of 32 hexadecimal digits, that no other run has; it tells nothing."""
    return SystemRandom().bytes(16).hex()


def open_source(seed: int | None, path: str = "") -> RandomSource:
    """The system's generator, or a seeded one that marks every report as not private; `path` names
    another of a seed's streams."""
    return SystemRandom() if seed is None else SeededRandom(seed, path)


def words(source: RandomSource, count: int) -> NDArray[np.uint64]:
    """`count` uniform 64-bit words, shape (count,), for the compiled loops."""
    return np.frombuffer(source.bytes(8 * count), dtype="<u8").astype(np.uint64, copy=False)


#: Chunks of 16 bits drawn at first, and at most, in one go.
_FIRST_CHUNKS, _MOST_CHUNKS = 1 << 13, 1 << 19


def filled(
    source: RandomSource, chunks: NDArray[np.uint16], at: int, reserve: int
) -> tuple[NDArray[np.uint16], int]:
    """A buffer of uniform 16-bit chunks, shape (count,), and the position in it, from which there
    are `reserve` at least: the old one if it has so many."""
    if at + reserve <= len(chunks):
        return chunks, at
    # what is left of the old buffer is thrown away unread
    count = max(reserve, min(max(_FIRST_CHUNKS, 2 * len(chunks)), _MOST_CHUNKS))
    return np.frombuffer(source.bytes(2 * count), dtype="<u2"), 0


def below(source: RandomSource, bound: int) -> int:
    """A uniform integer in 0..bound-1, exact for any size, by rejection."""
    if bound < 1:
        raise ValueError(f"bound must be at least 1, got {bound}")
    bits = (bound - 1).bit_length()
    if bits == 0:
        return 0
    size = (bits + 7) // 8
    while True:
        draw = int.from_bytes(source.bytes(size), "little") >> (8 * size - bits)
        if draw < bound:
            return draw


def bernoulli(source: RandomSource, numerator: int, denominator: int) -> bool:
    """True with probability exactly numerator / denominator."""
    return below(source, denominator) < numerator
