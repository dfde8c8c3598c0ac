"""What to expect of runs in practice, in plain sentences: for `geodp plan` and for the window; and
a warning about budgets that protect hardly anybody.

Under add/remove the number of examples is private.  So what goes to stderr is made from epsilon,
delta and n where it is public, or from a release; only the window's own view sees the sample's n.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from geodp_app.formatting import SPACE
from learners.cover.set_cover import step_count
from learners.theory.practice_table import RANGES
from learners.theory.rule_of_thumb import (
    ErrorRange,
    ExamplesRange,
    Kind,
    Settings,
    examples_for,
    expected_error,
    kinds_of,
)

if TYPE_CHECKING:
    from learners.core.releases import Release

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
    if (text := long_run(parameters)) and not quiet:
        sys.stderr.write(f"geodp: {text}\n")


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
        text = "" if text else budget_warning(epsilon, delta, used=used, n=_count(release))
    if text and not quiet:
        sys.stderr.write(f"geodp: warning: {text}\n")


def _count(release: Release) -> int | None:
    """About the number of examples of one label, if a release tells: never many more than n."""
    thresholds: tuple[int, ...] = getattr(release, "thresholds", ())
    return thresholds[0] if thresholds else None


#: The shapes that a kind of runs is about.
SHAPES: dict[Kind, str] = {
    "few-edges": "shapes of few edges",
    "outlines": "outlines with many bends, such as coasts",
    "convex": "convex shapes of few edges",
    "one-triangle": "a triangle",
    "halfplanes": "convex polygons of {k} edges",
}


def error_sentence(settings: Settings, examples: int) -> str:
    """The errors on new points that so many examples are likely to lead to.

    Raises
    ------
    learners.theory.rule_of_thumb.NotMeasuredError
        If no such runs were measured.
    """
    found = {kind: expected_error(kind, settings, examples) for kind in kinds_of(settings)}
    ranges = {kind: reached for kind, reached in found.items() if reached is not None}
    budget = f"{examples:,} example{'s' if examples > 1 else ''} at epsilon = {settings.epsilon:g}"
    if not ranges:
        return (
            f"Hopeless: with {budget} the noise is larger than what the sample tells. "
            "Expect to learn nothing."
        )
    sentences = [
        f"{_errors(reached)} for {_shapes(kind, settings)}" for kind, reached in ranges.items()
    ]
    sentences += [f"hopeless for {_shapes(kind, settings)}" for kind in found if kind not in ranges]
    return (
        f"In practice, with {budget} and right labels, expect an error of {', '.join(sentences)}."
    )


def examples_sentence(settings: Settings, error: float) -> str:
    """The examples that are likely to lead to an error on new points.

    Raises
    ------
    learners.theory.rule_of_thumb.NotMeasuredError
        If no such runs were measured.
    """
    sentences = [
        f"{_examples(kind, examples_for(kind, settings, error))} for {_shapes(kind, settings)}"
        for kind in kinds_of(settings)
    ]
    return (
        f"In practice, at epsilon = {settings.epsilon:g} and with right labels, an error of "
        f"{100 * error:g}{SPACE}% takes {', '.join(sentences)}."
    )


def practice_document(
    settings: Settings, *, examples: int | None, error: float
) -> list[dict[str, Any]]:
    """The same as JSON-ready figures, one entry a kind of shapes.

    Errors are shares, 0..1, that nine runs of ten lie between, None where it is hopeless; without
    `examples` it is their numbers for `error`, None for more than were measured.
    """
    entries: list[dict[str, Any]] = []
    for kind in kinds_of(settings):
        entry: dict[str, Any] = {"shapes": _shapes(kind, settings)}
        if examples is None:
            needed = examples_for(kind, settings, error)
            entry["examples"] = [needed.least, needed.most]
        else:
            reached = expected_error(kind, settings, examples)
            entry["error"] = None if reached is None else [reached.least, reached.largest]
            entry["hopeless"] = reached is None
        entries.append(entry)
    return entries


def _shapes(kind: Kind, settings: Settings) -> str:
    return SHAPES[kind].format(k=settings.k)


def _errors(reached: ErrorRange) -> str:
    """'0.62–1.5 %', rounded outwards."""
    ends = _outwards((100 * reached.least, 100 * reached.largest))
    return f"{'–'.join(f'{end:g}' for end in ends)}{SPACE}%"


def _examples(kind: Kind, needed: ExamplesRange) -> str:
    """'about 9,000 to 15,000 examples', rounded outwards."""
    most = f"{RANGES[kind].sizes[-1]:,}"
    if needed.least is None:
        return f"more than the {most} examples that were measured"
    if needed.most is None:
        return f"about {_outwards((needed.least,))[0]:,.0f} to more than {most} examples"
    low, high = _outwards((needed.least, needed.most))
    if low == high:
        return f"about {low:,.0f} examples"
    return f"about {low:,.0f} to {high:,.0f} examples"


def _outwards(ends: Sequence[float]) -> list[float]:
    """Two significant digits; the first end down, the last up."""
    rounded = []
    for end, towards in zip(ends, (math.floor, math.ceil), strict=False):
        unit = 10.0 ** (math.floor(math.log10(end)) - 1)
        # a hair, so that 0.62 / 0.01 = 62.00000000000001 stays 62
        hair = 1e-9 if towards is math.floor else -1e-9
        rounded.append(float(f"{towards(end / unit + hair) * unit:.2g}"))
    return rounded
