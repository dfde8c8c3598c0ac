"""Solves linear equations over GF(2), bit-packed.

An equation <a, r> = b in d unknown bits is one row of words: bit j of the row is a_j, and bit d is
b.  :func:`solve` brings a system to row echelon form by Gaussian elimination, one exclusive or
of 64 bits at a time; rows below a pivot are cleared, from the pivot's word on.  Solutions are read
off by substituting back from the last pivot.

n equations of rank r cost n * r * d / 64 word operations at most, and n * (d / 8) bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Bits of a word.
WORD = 64


def word_count(bits: int) -> int:
    """Words that hold so many bits."""
    return -(-bits // WORD)


@dataclass(frozen=True, slots=True)
class PackedBits:
    """Rows of d >= 1 bits as words, uint64 of shape (n, ceil(d / 64)): bit j in word j // 64 at
    place j % 64, unused bits 0.

    Raises ValueError if shape, kind or an unused bit is wrong.
    """

    words: NDArray[np.uint64]
    d: int

    def __post_init__(self) -> None:
        if self.d < 1:
            raise ValueError(f"a row must have at least 1 bit, got d = {self.d}")
        expected = word_count(self.d)
        if self.words.dtype != np.uint64 or self.words.ndim != 2:
            raise ValueError("packed rows must be an array of uint64 of shape (n, words)")
        if self.words.shape[1] != expected:
            raise ValueError(f"{self.d} bits need {expected} words, got {self.words.shape[1]}")
        unused = (self.words[:, -1] & ~_last_mask(self.d)) != 0
        if unused.any():
            row = int(np.flatnonzero(unused)[0])
            raise ValueError(f"row {row}: there are bits beyond the first {self.d}")

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def of(cls, bits: NDArray[np.bool_]) -> PackedBits:
        """Pack an array of bool, shape (n, d)."""
        n, d = bits.shape
        packed = np.zeros((n, 8 * word_count(d)), dtype=np.uint8)
        packed[:, : -(-d // 8)] = np.packbits(bits, axis=1, bitorder="little")
        return cls(packed.view("<u8").astype(np.uint64, copy=False), d)

    def bits(self) -> NDArray[np.bool_]:
        """The same as an array of bool, shape (n, d)."""
        packed = self.words.astype("<u8", copy=False).view(np.uint8)
        return np.unpackbits(packed, axis=1, count=self.d, bitorder="little").astype(np.bool_)

    def take(self, rows: NDArray[np.intp]) -> PackedBits:
        """Some of the rows."""
        return PackedBits(self.words[rows], self.d)

    def products(self, vector: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """<row, vector> over GF(2), bool of shape (n,); the vector is packed too."""
        folded = np.bitwise_xor.reduce(self.words & vector, axis=1)
        return np.asarray(np.bitwise_count(folded) % 2 == 1)


def _last_mask(d: int) -> np.uint64:
    """The bits of the last word that d bits use."""
    return np.uint64((1 << (d % WORD or WORD)) - 1)


def _bit(column: int) -> np.uint64:
    """The bit of a column in its word."""
    return np.uint64(1) << np.uint64(column % WORD)


def solve(rows: PackedBits, sides: NDArray[np.bool_]) -> Echelon:
    """The system <row, r> = side in row echelon form, of n rows and sides, bool of shape (n,); its
    solutions are read off it."""
    d = rows.d
    system = np.zeros((len(rows), word_count(d + 1)), dtype=np.uint64)
    system[:, : rows.words.shape[1]] = rows.words
    system[:, d // WORD] |= sides.astype(np.uint64) << np.uint64(d % WORD)
    pivots = np.zeros(min(len(system), d), dtype=np.int64)
    rank = _eliminate(system, d, pivots)
    # below the last pivot the left sides are 0
    contradictions = system[rank:, d // WORD] >> np.uint64(d % WORD) & np.uint64(1)
    return Echelon(d, system[:rank].copy(), pivots[:rank].copy(), not contradictions.any())


@dataclass(frozen=True, slots=True)
class Echelon:
    """A system over d bits in row echelon form; its solutions are an affine space, unless it has
    none and is not `consistent`.

    `rows`, uint64 of shape (rank, words), are independent equations, right side at bit d; `pivots`,
    int64 of shape (rank,), the first unknown of each row, increasing: no row below holds it.
    """

    d: int
    rows: NDArray[np.uint64]
    pivots: NDArray[np.int64]
    consistent: bool

    @property
    def rank(self) -> int:
        """Independent equations; there are 2**(d - rank) solutions, if any."""
        return len(self.pivots)

    def solution(self, free: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The solution, uint64 of shape (ceil(d / 64),), that has these bits, of the same shape,
        where no pivot is; bits at pivots, and beyond d, are ignored.

        Every solution belongs to exactly one choice of the free bits, so uniform bits give a
        uniform solution.  Raises ValueError if there is none.
        """
        if not self.consistent:
            raise ValueError("the equations contradict each other: there is no solution")
        words = word_count(self.d)
        found = np.zeros(word_count(self.d + 1), dtype=np.uint64)
        found[:words] = free
        found[words - 1] &= _last_mask(self.d)
        # the right side joins the sum as a known bit
        found[self.d // WORD] |= _bit(self.d)
        for row, pivot in zip(self.rows[::-1], self.pivots[::-1].tolist(), strict=True):
            found[pivot // WORD] &= ~_bit(pivot)
            if np.bitwise_count(np.bitwise_xor.reduce(row & found)) % 2:
                found[pivot // WORD] |= _bit(pivot)
        found[self.d // WORD] &= ~_bit(self.d)
        return found[:words]


def _eliminate(system: NDArray[np.uint64], d: int, pivots: NDArray[np.int64]) -> int:
    """Echelon form in place; fills `pivots` and returns the rank."""
    rank = 0
    for column in range(d):
        w = column // WORD
        found = rank + np.flatnonzero(system[rank:, w] & _bit(column))
        if not len(found):
            continue
        # words before w are 0 in all these rows
        system[[rank, found[0]], w:] = system[[found[0], rank], w:]
        system[found[1:], w:] ^= system[rank, w:]
        pivots[rank] = column
        rank += 1
    return rank
