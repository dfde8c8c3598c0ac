"""Says in plain sentences what to expect of runs in practice, for `geodp plan` and the window."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from geodp_app.formatting import SPACE, counted

if TYPE_CHECKING:
    from learners.theory.rule_of_thumb import ErrorRange, ExamplesRange, Means


def in_practice(
    learner: str,
    parameters: Mapping[str, Any],
    grid: int,
    *,
    examples: int | None = None,
    error: float = 0.1,
) -> tuple[str, list[dict[str, Any]]]:
    """The errors that so many examples are likely to lead to; without them, the examples for an
    error.  Runs are named as in :func:`learners.theory.rule_of_thumb.kinds_of`.  Raises
    learners.theory.rule_of_thumb.NotMeasuredError if no such runs were measured.

    Returns
    -------
    str
        A sentence.
    list of dict
        The same as JSON-ready figures, an entry a kind of shapes.  Errors are shares, 0..1, that
        nine runs of ten lie between, None where it is hopeless; numbers of examples are those for
        `error`, None for more than were measured.
    """
    # it reads a file of figures
    from learners.theory.rule_of_thumb import RANGES, examples_for, expected_error, kinds_of

    entries: list[dict[str, Any]] = []
    reached, hopeless = [], []
    epsilon, neighbours = parameters["epsilon"], parameters["neighbours"]
    for kind in kinds_of(learner, parameters, grid):
        shapes = RANGES[kind].shapes.format(k=parameters["k"])
        if examples is None:
            needed = examples_for(kind, epsilon, error, neighbours)
            entries.append({"shapes": shapes, "examples": list(needed)})
            reached.append(f"{_examples(needed, RANGES[kind].sizes[-1])} for {shapes}")
            continue
        found = expected_error(kind, epsilon, examples, neighbours)
        entries.append({"shapes": shapes, "error": found and list(found), "hopeless": not found})
        if found:
            reached.append(f"{_errors(found)} for {shapes}")
        else:
            hopeless.append(f"hopeless for {shapes}")
    told = f"at epsilon = {epsilon:g}"
    if examples is None:
        start = f"In practice, {told} and with right labels, an error of {100 * error:g}{SPACE}% "
        return f"{start}takes {', '.join(reached)}.", entries
    budget = f"{counted(examples, 'example')} {told}"
    words = f"Hopeless: with {budget} the noise is larger than what the sample tells. Expect to "
    words += "learn nothing."
    if reached:
        errors = ", ".join((*reached, *hopeless))
        words = f"In practice, with {budget} and right labels, expect an error of {errors}."
    return words, entries


def measured_words(means: Sequence[Means]) -> str:
    """What was measured of runs that have no range, in a sentence."""
    parts = []
    for one in means:
        (least, error), *others = one.errors
        first = f"{'' if '–' in error else 'mean '}errors of {error} % with {least:,} examples"
        listed = ", ".join((first, *(f"{error} % with {n:,}" for n, error in others)))
        parts.append(f"{one.runs}: {listed}")
    return f"Measured at epsilon = 1, {'; '.join(parts)}."


def _errors(reached: ErrorRange) -> str:
    """'0.62–1.5 %', rounded outwards."""
    low, high = outwards(100 * reached.least), outwards(100 * reached.largest, up=True)
    return f"{low:g}–{high:g}{SPACE}%"


def _examples(needed: ExamplesRange, measured: int) -> str:
    """'about 9,000 to 15,000 examples', rounded outwards; so many were `measured`, at most."""
    if needed.least is None:
        return f"more than the {measured:,} examples that were measured"
    if needed.most is None:
        return f"about {outwards(needed.least):,.0f} to more than {measured:,} examples"
    low, high = outwards(needed.least), outwards(needed.most, up=True)
    if low == high:
        return f"about {low:,.0f} examples"
    return f"about {low:,.0f} to {high:,.0f} examples"


def outwards(value: float, digits: int = 2, *, up: bool = False) -> float:
    """So many significant digits, rounded down or up."""
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    # a hair, so that 0.62 / 0.01 = 62.00000000000001 stays 62
    whole = math.ceil(value / unit - 1e-9) if up else math.floor(value / unit + 1e-9)
    return float(f"{whole * unit:.{digits}g}")
