"""Says in plain sentences what to expect of runs in practice, for `geodp plan` and for the window;
and warns of budgets that protect hardly anybody.

Under add/remove the number of examples is private.  So what goes to stderr is made from epsilon,
delta and n where it is public, or from a release; only the window's own view sees the sample's n.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from geodp_app.formatting import SPACE, counted
from geodp_app.progress import tell
from learners.cover.set_cover import step_count

if TYPE_CHECKING:
    from learners.core.releases import Release
    from learners.theory.rule_of_thumb import ErrorRange, ExamplesRange, Means

#: Larger ones are warned about, and so is a delta of MOST_DELTA itself.
MOST_EPSILON, MOST_DELTA = 20.0, 1e-3


def budget_warning(epsilon: float, delta: float, *, used: bool = True, n: int | None = None) -> str:
    """What is wrong with a budget, in one line; empty if nothing is.

    Parameters
    ----------
    epsilon, delta : float
    used : bool
        Whether the learner needs delta at all.
    n : int, optional
        Number of examples, if it may be told: delta is compared with 1/n.
    """
    sentences = []
    if epsilon > MOST_EPSILON:
        sentences.append(
            f"epsilon = {epsilon:g} protects hardly anybody: a result may be e^{epsilon:g} times "
            "as likely with a report as without it; choose 10 or less"
        )
    if delta >= MOST_DELTA and not used:
        sentences.append(f"delta = {delta:g} would be far too large, but this learner needs none")
    elif used and (delta >= MOST_DELTA or (n is not None and delta > 0 and n >= 1 / delta)):
        sentences.append(
            f"delta = {delta:g} protects hardly anybody: publishing one report in "
            f"{round(1 / delta):,} outright would satisfy it; choose far less than one over the "
            "number of people"
        )
    return "; ".join(sentences)


#: So many draws, one after the other, take minutes however few examples there are.
_MANY = 1_000


def long_run(parameters: Mapping[str, Any]) -> str:
    """What to know of a run that takes long, in one line, by public numbers; empty of others.

    Parameters
    ----------
    parameters : mapping
        Of the learner, by name.
    """
    tiles, k, steps, alpha = (parameters.get(name) for name in ("tiles", "k", "n_steps", "alpha"))
    if isinstance(tiles, int):
        draws, what = tiles**2, f"{tiles} tiles a side are {tiles**2:,} tiles, learned"
    elif isinstance(k, int):
        finish = parameters.get("finish")
        # three edges of each triangle are drawn again
        each = 4 if finish == "sharpen" else 1
        draws = each * step_count(steps, k, alpha, triangles=finish is not None)
        what = f"k = {k} and its number of steps ask for about {draws:,} draws,"
    else:
        return ""
    return "" if draws < _MANY else f"{what} one after the other: minutes, however few the examples"


def tell_long_run(parameters: Mapping[str, Any], *, quiet: bool) -> None:
    """Write that line, if there is one, to stderr."""
    if text := long_run(parameters):
        tell(f"geodp: {text}", quiet=quiet)


def warn_of_budget(
    epsilon: float,
    delta: float,
    *,
    used: bool = True,
    n: int | None = None,
    release: Release | None = None,
    quiet: bool = False,
) -> None:
    """Write the warning, if there is one, to stderr.

    With a release only what its noisy counts tell beyond epsilon and delta is written: the rest
    has been, before the run.
    """
    text = budget_warning(epsilon, delta, used=used, n=n)
    if release is not None:
        # about the number of examples of one label, never many more than n
        counts: tuple[int, ...] = getattr(release, "thresholds", ()) or ()
        text = "" if text or not counts else budget_warning(epsilon, delta, used=used, n=counts[0])
    if text:
        tell(f"geodp: warning: {text}", quiet=quiet)


def in_practice(
    learner: str,
    parameters: Mapping[str, Any],
    grid: int,
    *,
    examples: int | None = None,
    error: float = 0.1,
) -> tuple[str, list[dict[str, Any]]]:
    """The errors that so many examples are likely to lead to; without them, the examples for an
    error.  Runs are named as in :func:`learners.theory.rule_of_thumb.kinds_of`.

    Returns
    -------
    str
        A sentence.
    list of dict
        The same as JSON-ready figures, an entry a kind of shapes.  Errors are shares, 0..1, that
        nine runs of ten lie between, None where it is hopeless; numbers of examples are those for
        `error`, None for more than were measured.

    Raises
    ------
    learners.theory.rule_of_thumb.NotMeasuredError
        If no such runs were measured.
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
