"""Literals over Boolean variables, and formulas of them: conjunctions and disjunctions.

An example is a vector x of {0,1}^d.  A literal is a variable x_j or its negation; a conjunction
is 1 where all its literals are, a disjunction where one of them is.  The empty conjunction is 1
everywhere, the empty disjunction 0.

A literal *decides* the examples that it settles alone: those where it is false in a conjunction,
those where it is true in a disjunction.  The learners count decided examples only, so that both
roles are one algorithm: candidate c of 0..2d decides

    x_c = 1          for c < d,
    x_(c-d) = 0      for d <= c < 2d,
    nothing          for c = 2d, the constant, which leaves the formula as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.boolean.literal_columns import Columns
from learners.scores import Role


@dataclass(frozen=True, slots=True, order=True)
class Literal:
    """A variable or its negation.

    Attributes
    ----------
    variable : int
        Column of the examples, from 0.
    negated : bool
    """

    variable: int
    negated: bool = False

    def __str__(self) -> str:
        return f"{'¬' if self.negated else ''}x{self.variable}"

    def holds(self, columns: Columns) -> NDArray[np.bool_]:
        """Where it is true, shape (n,)."""
        value = columns.column(self.variable)
        return ~value if self.negated else value


def candidate_literal(role: Role, candidate: int, d: int) -> Literal | None:
    """The literal that decides what the candidate of 0..2d decides; None for the constant."""
    if candidate == 2 * d:
        return None
    decides_ones = candidate < d
    return Literal(candidate % d, negated=decides_ones == (role == "conjunction"))


def decided_by(role: Role, literal: Literal | None, columns: Columns) -> NDArray[np.bool_]:
    """Examples that the literal settles alone, shape (n,)."""
    if literal is None:
        return np.zeros(columns.n, dtype=np.bool_)
    holds = literal.holds(columns)
    return ~holds if role == "conjunction" else holds


def evaluate(role: Role, literals: Iterable[Literal | None], columns: Columns) -> NDArray[np.bool_]:
    """Value of the formula at every example, shape (n,); None stands for no literal."""
    decided = np.zeros(columns.n, dtype=np.bool_)
    for literal in set(literals):
        decided |= decided_by(role, literal, columns)
    return ~decided if role == "conjunction" else decided


def formula_text(role: Role, literals: Iterable[Literal | None]) -> str:
    """The formula in signs, each literal once, such as ``x3 ∧ ¬x7``."""
    kept = sorted({literal for literal in literals if literal is not None})
    if not kept:
        return "true" if role == "conjunction" else "false"
    return (" ∧ " if role == "conjunction" else " ∨ ").join(map(str, kept))
