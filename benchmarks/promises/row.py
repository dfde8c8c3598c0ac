"""A row of the table of promises: what a source states, and a check of it at its own n."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from learners.theory.pac import PromiseCheck

#: "confirmed": the whole confidence interval of the probability of failure keeps the promise (or
#: the statement was checked exactly); "not refuted": part of it does; "refuted": none of it.
Word = Literal["confirmed", "not refuted", "refuted"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found.

    Attributes
    ----------
    word : str
        One of :data:`Word`.
    figures : str
        The numbers behind it, in words.
    """

    word: Word
    figures: str


def simulated(found: PromiseCheck) -> Verdict:
    """The verdict of a simulation with exact confidence bounds (Clopper and Pearson)."""
    figures = (
        f"{found.failures:,} of {found.runs:,} runs failed: probability {found.lower:.4f} to "
        f"{found.upper:.4f}, promised at most {found.beta:g}"
    )
    if found.refuted:
        return Verdict("refuted", figures)
    return Verdict("confirmed" if found.confirmed else "not refuted", figures)


def exact(holds: bool, figures: str) -> Verdict:
    """The verdict of an enumeration or of arithmetic without rounding."""
    return Verdict("confirmed" if holds else "refuted", figures)


def always(holds: bool, figures: str) -> Verdict:
    """The verdict on a statement about all runs, of which some were made: never "confirmed"."""
    return Verdict("not refuted" if holds else "refuted", figures)


@dataclass(frozen=True, slots=True)
class Row:
    """One statement of a source.

    Attributes
    ----------
    systems : tuple of int
        Keys of :data:`learners.catalogue.SYSTEMS`.
    source : str
        Where it is stated: "KMMS, theorem 3.5".
    promise : str
        The statement, in one plain sentence.
    setting : str
        The numbers it is checked with, and the n that they plan.
    check : callable
        Of the number of runs; seeded, so that it says the same each time.
    runs : int
        Of the whole check: enough to confirm it if it is true with some room.
    short : int
        Of the check in the tests: enough to refute it if it is badly false.
    departure : str
        Where the program does something else than the source prints, and why; else empty.
    known_wrong : bool
        Whether the statement does not hold, and the check shows it; `departure` says what is done
        instead.
    """

    systems: tuple[int, ...]
    source: str
    promise: str
    setting: str
    check: Callable[[int], Verdict]
    runs: int
    short: int
    departure: str = ""
    known_wrong: bool = False
