"""Learns parity functions over GF(2)^d: by a consistent learner, and by a private one.

The concept of r is x -> <r, x> mod 2.  Examples are 0/1 vectors x with a label.

Not private (:class:`ParityLearner`): Gaussian elimination gives all consistent r, an affine space.

Private (:class:`PrivateParityLearner`; Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith, *What
can we learn privately?*, 2008, section 4; Nissim's lecture).  One *block*:

1. with probability f output ⊥ (no parity);
2. take each example independently with probability p;
3. solve their equations; if they contradict each other output ⊥, else a uniformly random solution.

Several blocks on disjoint random parts of the sample; the first that did not output ⊥ is released,
or, with `test_share`, the one chosen by the exponential mechanism for its mistakes on a part of its
own.  docs/privacy.md, lemma P, proves the constants and that all blocks together cost one epsilon:

source   f = 1/2, p = epsilon/4, ceil(log2(2/beta)) blocks.  epsilon-DP up to epsilon = 3.8; for
         neighbours that add or remove an example it really costs -ln(1 - p), hardly more than p.
tight    p = min(1 - exp(-epsilon), f (exp(epsilon) - 1) / (1 - f)): the largest that is epsilon-DP;
         when one example is replaced, tanh(epsilon/2) in place of 1 - exp(-epsilon).  f and the
         number of blocks T are those with f^T <= beta/2 that leave most of the examples in use.

Utility, for independent examples labelled by a parity: n * -ln(1 - q alpha) >= d ln 2 +
ln(2T/beta), q the probability that an example is used in a given block, gives error at most alpha
with probability 1 - beta.  For a parity r of error a > alpha is consistent with a block with
probability (1 - q a)^n, there are at most 2^d of them and T blocks: beta/2.  All blocks output ⊥
with probability f^T <= beta/2.  The sources test the blocks against each other instead, which
their larger failure probability needs; here every block that is left is good already.

*Equations* <a, r> = b in d unknown bits are rows of words: bit j of a row is a_j, and bit d is b.
:func:`solve` brings them to row echelon form by Gaussian elimination, one exclusive or of 64 bits
at a time; rows below a pivot are cleared, from the pivot's word on.  Solutions are read off by
substituting back from the last pivot.  n equations of rank r cost n * r * d / 64 word operations at
most, and n * (d / 8) bytes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geometry.arrays import Flags, Ints
from learners.boolean.formulas import zeros_and_ones
from learners.core.sklearn_support import WithParameters, predict_as_came, share_right
from learners.declaration import check_count, check_open_unit
from learners.privacy.accounting import Charge, Neighbours, PrivacySpent, pure_budget, pure_spent
from learners.privacy.exponential_mechanism import exponential_index
from learners.privacy.noise import below_array
from learners.privacy.randomness import RandomSource, bernoulli, open_source, words

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
    def of(cls, bits: Flags) -> PackedBits:
        """Pack an array of bool, shape (n, d)."""
        n, d = bits.shape
        packed = np.zeros((n, 8 * word_count(d)), dtype=np.uint8)
        packed[:, : -(-d // 8)] = np.packbits(bits, axis=1, bitorder="little")
        return cls(packed.view("<u8").astype(np.uint64, copy=False), d)

    def bits(self) -> Flags:
        """The same as an array of bool, shape (n, d)."""
        packed = self.words.astype("<u8", copy=False).view(np.uint8)
        return np.unpackbits(packed, axis=1, count=self.d, bitorder="little").astype(np.bool_)

    def take(self, rows: NDArray[np.intp]) -> PackedBits:
        """Some of the rows."""
        return PackedBits(self.words[rows], self.d)

    def products(self, vector: NDArray[np.uint64]) -> Flags:
        """<row, vector> over GF(2), bool of shape (n,); the vector is packed too."""
        folded = np.bitwise_xor.reduce(self.words & vector, axis=1)
        return np.asarray(np.bitwise_count(folded) % 2 == 1)


def _last_mask(d: int) -> np.uint64:
    """The bits of the last word that d bits use."""
    return np.uint64((1 << (d % WORD or WORD)) - 1)


def _bit(column: int) -> np.uint64:
    """The bit of a column in its word."""
    return np.uint64(1) << np.uint64(column % WORD)


def solve(rows: PackedBits, sides: Flags) -> Echelon:
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
    pivots: Ints
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


def _eliminate(system: NDArray[np.uint64], d: int, pivots: Ints) -> int:
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


Constants = Literal["tight", "source"]

#: Denominator of all probabilities: coins are exact.
COIN = 1 << 48

#: Most blocks that are considered.
_MOST_BLOCKS = 64

#: Beyond this the source's p = epsilon/4 is more than epsilon pays for.
SOURCE_LIMIT = 3.8


@dataclass(frozen=True, slots=True)
class ParityPlan:
    """What a run does, fixed by public numbers.

    There are T `blocks`.  In parts of COIN are the probabilities f, `fail`, with which each block
    outputs ⊥ whatever the examples are; q, `used`, with which an example belongs to a given block
    and is used there; and `tested`, with which it belongs to the test.  `rate` is in nats per
    mistake in the test.
    """

    blocks: int
    fail: int
    used: int
    tested: int
    rate: Fraction
    spent: PrivacySpent

    def examples_needed(self, d: int, alpha: float, beta: float) -> int:
        """n for error at most alpha with probability 1 - f^T - beta/2, see the module; if the plan
        was made for this beta, f^T is at most beta/2.

        Raises ValueError if alpha or beta is not in (0, 1), or d < 1.
        """
        check_open_unit(alpha=alpha, beta=beta)
        needed = check_count("d", d) * math.log(2) + math.log(2 * self.blocks / beta)
        return math.ceil(needed / -math.log1p(-self.used / COIN * alpha))


def plan_parity(
    epsilon: float,
    neighbours: Neighbours = "add-remove",
    beta: float | None = None,
    constants: Constants = "tight",
    test_share: float = 0.0,
    private: bool = True,
) -> ParityPlan:
    """Choose f, p and the number of blocks.

    Epsilon is of the whole run.  beta is in (0, 1); without it there is one block, which outputs ⊥
    half of the time.  `test_share`, in [0, 1), is the share of the examples kept for the test;
    `private`: the coins are the system's.  Raises ValueError if a parameter is out of range.
    """
    inner = pure_budget(epsilon, neighbours)
    if beta is not None:
        check_open_unit(beta=beta)
    if not 0 <= test_share < 1:
        raise ValueError(f"test_share must lie in [0, 1), got {test_share}")
    if constants == "source":
        if epsilon > SOURCE_LIMIT:
            raise ValueError(
                f"the source's constants hold up to epsilon = {SOURCE_LIMIT}, got {epsilon}: "
                "use constants='tight'"
            )
        blocks = 1 if beta is None else math.ceil(math.log2(2 / beta))
        fail, share = COIN // 2, epsilon / 4
    else:
        options = [1] if beta is None else range(1, _MOST_BLOCKS + 1)
        found = [(_inclusion(epsilon, neighbours, _fail(beta, t)) / t, t) for t in options]
        blocks = max(found)[1]
        fail = _fail(beta, blocks)
        share = _inclusion(epsilon, neighbours, fail)
    # rounded down by more than all roundings before: some 2^-50 of it
    used = math.floor(share * (1 - test_share) * COIN / blocks) - 2
    if used < 1:
        raise ValueError(f"epsilon = {epsilon} is too small for {blocks} blocks")
    # an equation reaches one block or the test; adding one costs no more than replacing one
    spent = pure_spent(epsilon, neighbours, private, Charge("parities", epsilon))
    return ParityPlan(blocks, fail, used, math.floor(test_share * COIN), Fraction(inner), spent)


def _fail(beta: float | None, blocks: int) -> int:
    """f * COIN, at most (beta/2)^(1/T); without beta a half."""
    if beta is None:
        return COIN // 2
    return max(1, math.floor(math.pow(beta / 2, 1 / blocks) * COIN) - 1)


def _inclusion(epsilon: float, neighbours: Neighbours, fail: int) -> float:
    """The largest p that is epsilon-DP with this f, up to rounding."""
    solved = math.tanh(epsilon / 2) if neighbours == "replace-one" else -math.expm1(-epsilon)
    f = fail / COIN
    # f (e^epsilon - 1) / (1 - f), which may overflow
    return min(solved, 1.0 if epsilon > 40 else f * math.expm1(epsilon) / (1 - f))


@dataclass(frozen=True, slots=True)
class ParityRelease:
    """A parity that may be published, r as d bits, or None for ⊥; `privacy` is None for the learner
    that is not private."""

    #: In files (:mod:`learners.core.codec`).
    kind: ClassVar[str] = "parity"

    learner: str
    d: int
    parity: tuple[int, ...] | None
    parameters: tuple[tuple[str, Any], ...]
    privacy: PrivacySpent | None

    def predict(self, rows: PackedBits) -> Ints:
        """<r, x> mod 2, int64 of shape (n,).

        Raises ValueError if the run ended with ⊥, or the rows have another number of bits.
        """
        if self.parity is None:
            raise ValueError("the run ended without a parity (⊥): there is nothing to predict by")
        if rows.d != self.d:
            raise ValueError(f"rows must have {self.d} bits, got {rows.d}")
        vector = PackedBits.of(np.array([self.parity], dtype=np.bool_)).words[0]
        return rows.products(vector).astype(np.int64)


@dataclass(frozen=True, slots=True)
class BlockDiagnostics:
    """What only the curator may see of one block: how many examples it used, 0 if its first coin
    said ⊥; the rank of their equations; whether these are consistent; and whether that coin said ⊥.
    """

    equations: int
    rank: int
    consistent: bool
    failed: bool


class _Parity(WithParameters):
    def _zeros_and_ones(self, X: ArrayLike | PackedBits) -> Ints:
        release: ParityRelease = self._fitted()
        return release.predict(check_bits(X))

    positive: Any = None
    predict, score = predict_as_came, share_right

    def _examples(self, X: ArrayLike | PackedBits, y: ArrayLike) -> tuple[PackedBits, Flags]:
        rows = check_bits(X)
        return rows, self._check_labels(y, len(rows))


class ParityLearner(_Parity):
    """A consistent parity by Gaussian elimination; not private.

    Attributes
    ----------
    release_ : ParityRelease
        Its parity is None if the examples contradict each other; the free bits are 0.
    diagnostics_ : tuple of BlockDiagnostics
        One: the rank of the equations, and whether they are consistent.

    Examples
    --------
    >>> model = ParityLearner().fit([[1, 0, 1], [0, 1, 1], [1, 1, 1]], [1, 0, 1])
    >>> model.release_.parity
    (1, 0, 0)
    """

    def fit(self, X: ArrayLike | PackedBits, y: ArrayLike) -> Self:
        """Solve the examples' equations: X, 0/1 of shape (n, d), or PackedBits, and labels y, 0 or
        1, of shape (n,).

        Raises ValueError if anything is neither 0 nor 1, or d is 0.
        """
        self._fresh()
        rows, labels = self._examples(X, y)
        echelon = solve(rows, labels)
        parity = None
        if echelon.consistent:
            found = echelon.solution(np.zeros(word_count(rows.d), dtype=np.uint64))
            parity = _as_tuple(found, rows.d)
        self.diagnostics_ = (BlockDiagnostics(len(rows), echelon.rank, echelon.consistent, False),)
        self.release_ = ParityRelease(type(self).__name__, rows.d, parity, (), None)
        return self


class PrivateParityLearner(_Parity):
    """epsilon-private learner of parities, delta = 0; see the module.

    Parameters
    ----------
    epsilon : float
        Privacy of the whole run.
    beta : float, optional
        Probability with which the run may fail, given enough examples; chooses the number of
        blocks.  Without it there is one block, which fails at least half of the time.
    constants : {"tight", "source"}
    test_share : float
        Share of the examples, in [0, 1), by which the released parity is chosen among the blocks'.
        By default 0: the first one.
    neighbours : {"add-remove", "replace-one"}
    seed : int, optional
        Makes the run reproducible and therefore not private; the release says so.

    Attributes
    ----------
    release_ : ParityRelease
        What may be published; its parity is None for ⊥.
    diagnostics_ : tuple of BlockDiagnostics

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (2_000, 3))
    >>> model = PrivateParityLearner(epsilon=4.0, beta=0.1, seed=1)
    >>> model.fit(X, X[:, 0] ^ X[:, 2]).release_.parity
    (1, 0, 1)
    """

    epsilon: float = 1.0
    beta: float | None = 0.1
    constants: Constants = "tight"
    test_share: float = 0.0
    neighbours: Neighbours = "add-remove"
    seed: int | None = None

    def fit(self, X: ArrayLike | PackedBits, y: ArrayLike) -> Self:
        """Learn privately; parameters and errors as in :class:`ParityLearner`."""
        configured = self._fresh()
        rows, labels = self._examples(X, y)
        source = open_source(configured.seed)
        plan = plan_parity(
            configured.epsilon,
            configured.neighbours,
            configured.beta,
            configured.constants,
            configured.test_share,
            source.private,
        )
        found, self.diagnostics_ = private_parity(rows, labels, plan, source)
        parameters = (
            ("beta", configured.beta),
            ("blocks", plan.blocks),
            ("constants", configured.constants),
            ("test_share", configured.test_share),
        )
        parity = None if found is None else _as_tuple(found, rows.d)
        name = type(self).__name__
        self.release_ = ParityRelease(name, rows.d, parity, parameters, plan.spent.of_run())
        return self


def private_parity(
    rows: PackedBits, labels: Flags, plan: ParityPlan, source: RandomSource
) -> tuple[NDArray[np.uint64] | None, tuple[BlockDiagnostics, ...]]:
    """Run the blocks on rows and labels (n,): a packed parity or None for ⊥, and diagnostics."""
    coins = below_array(source, COIN, len(rows))
    block = coins // plan.used
    candidates, diagnostics = [], []
    for number in range(plan.blocks):
        if bernoulli(source, plan.fail, COIN):
            diagnostics.append(BlockDiagnostics(0, 0, True, True))
            continue
        mine = np.flatnonzero(block == number)
        echelon = solve(rows.take(mine), labels[mine])
        diagnostics.append(BlockDiagnostics(len(mine), echelon.rank, echelon.consistent, False))
        if echelon.consistent:
            candidates.append(echelon.solution(words(source, word_count(rows.d))))
    if not candidates:
        return None, tuple(diagnostics)
    chosen = 0
    if plan.tested:
        test = np.flatnonzero(coins >= COIN - plan.tested)
        tested, truth = rows.take(test), labels[test]
        right = [int(np.count_nonzero(tested.products(c) == truth)) for c in candidates]
        # an example more adds 0 or 1 mistake to each: one way, so the rate is epsilon
        chosen = exponential_index(source, np.array(right) - len(test), plan.rate)
    return candidates[chosen], tuple(diagnostics)


def check_bits(X: ArrayLike | PackedBits) -> PackedBits:
    """Rows of bits, packed; errors as :func:`learners.boolean.formulas.read_columns`."""
    return X if isinstance(X, PackedBits) else PackedBits.of(zeros_and_ones(X).view(np.bool_))


def _as_tuple(vector: NDArray[np.uint64], d: int) -> tuple[int, ...]:
    bits = PackedBits(vector[None, :], d).bits()[0]
    return tuple(int(bit) for bit in bits)
