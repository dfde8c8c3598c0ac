"""Learners and their parameters as options of the command line, as they are declared.

Every option is that of a declared parameter (:mod:`learners.registry`), with one default for each
learner that has it.  An option that means nothing to the chosen learner is refused.
"""

from __future__ import annotations

import argparse
import math
import textwrap
from collections.abc import Callable, Iterable
from typing import Any

from geodp_app.commands import arguments
from geodp_app.errors import InputError
from learners.declaration import Learner, Parameter, Place
from learners.registry import BY_ID, offered, unknown_learner

#: What `--k` asks for, of learners that have none.
_WITH_K = {"tiles": "cover", "convex": "convex-cover"}


def add_learner(
    parser: arguments.Parser,
    place: Place,
    names: Iterable[str] | None = None,
    *,
    unset: str = "",
) -> None:
    """`--learner`, and an option for each parameter of the learners that a place offers.

    Parameters
    ----------
    parser : Parser
    place : str
    names : iterable of str, optional
        Parameters to be offered; by default all that are not for Python alone.
    unset : str, optional
        What holds where nothing is given, if that is not what is declared.
    """
    found = offered(place)
    default = None if unset else "tiles"
    parser.add_argument(
        "--learner",
        type=_name_in(place),
        default=default,
        metavar="NAME",
        help=f"{', '.join(learner.id for learner in found)} (default: {unset or default})",
    )
    for name, declared in _parameters(found, names).items():
        first = next(iter(declared.values()))
        choices = tuple(dict.fromkeys(
            value for parameter in declared.values() for value, _ in parameter.choices
        ))  # fmt: skip
        parser.add_argument(
            f"--{first.typed}",
            dest=name,
            type=str if choices else _value_of(first, auto=any(p.auto for p in declared.values())),
            choices=choices or None,
            metavar=None if choices else first.typed.upper(),
            help=_help(declared, unset),
        )


def learner_lines(place: Place) -> str:
    """What the learners of a place do, a line each, for a description."""
    lines = []
    for learner in offered(place):
        head = f"  {learner.id:16} "
        lines += textwrap.wrap(
            learner.sentence, 96, initial_indent=head, subsequent_indent=" " * len(head)
        )
    return "\n".join(lines)


def settle_learner(
    options: argparse.Namespace, place: Place, names: Iterable[str] | None = None
) -> tuple[Learner, dict[str, Any]]:
    """The learner, and its parameters: those given, else its defaults.

    `place` and `names` are those of :func:`add_learner`.

    Raises
    ------
    InputError
        If an option is given that means nothing to the learner, or a value that it does not take.
    """
    learner, shown = BY_ID[options.learner], _parameters(offered(place), names)
    given = given_parameters(options, learner, place, names)
    return learner, {
        p.name: given.get(p.name, p.default) for p in learner.parameters if p.name in shown
    }


def given_parameters(
    options: argparse.Namespace, learner: Learner, place: Place, names: Iterable[str] | None = None
) -> dict[str, Any]:
    """The parameters that are given, all of them the learner's.

    `place` and `names` are those of :func:`add_learner`.

    Raises
    ------
    InputError
        If an option is given that means nothing to the learner, or a value that it does not take.
    """
    given: dict[str, Any] = {}
    shown = _parameters(offered(place), names)
    own = {p.name: p for p in learner.parameters if p.name in shown}
    for name, declared in shown.items():
        value = getattr(options, name, None)
        if value is None:
            continue
        typed = next(iter(declared.values())).typed
        if name not in own:
            raise InputError(_means_nothing(learner, name, typed, declared))
        if not own[name].accepts(value):
            takers = [other for other, parameter in declared.items() if parameter.accepts(value)]
            raise InputError(
                f"--{typed} {value} means nothing to {learner.id}: it is for "
                f"--learner {_or(takers)}"
            )
        given[name] = value
    return given


def _means_nothing(learner: Learner, name: str, typed: str, declared: dict[str, Parameter]) -> str:
    if name == "k" and learner.id in _WITH_K:
        other = _WITH_K[learner.id]
        return f"--k means nothing to {learner.id}: with k pieces it is --learner {other} --k K"
    return (
        f"--{typed} means nothing to {learner.id}: leave it out, or take --learner {_or(declared)}"
    )


def _parameters(
    found: tuple[Learner, ...], names: Iterable[str] | None
) -> dict[str, dict[str, Parameter]]:
    """Parameters by their name, and by the id of the learner."""
    shown = None if names is None else set(names)
    named: dict[str, dict[str, Parameter]] = {}
    for learner in found:
        for parameter in learner.parameters:
            if not parameter.of_python and (shown is None or parameter.name in shown):
                named.setdefault(parameter.name, {})[learner.id] = parameter
    return named


def _help(declared: dict[str, Parameter], unset: str) -> str:
    """What an option does, for whom, and what it is if it is not given."""
    first = next(iter(declared.values()))
    texts = list(dict.fromkeys(parameter.help for parameter in declared.values()))
    text = texts[0] if len(texts) == 1 else "How many pieces a good shape has."
    defaults = {_told(parameter) for parameter in declared.values()}
    told = unset or (
        _told(first)
        if len(defaults) == 1
        else ", ".join(f"{_told(parameter)} for {name}" for name, parameter in declared.items())
    )
    everyone = len(declared) > 8
    who = "" if everyone else f" For {', '.join(declared)}."
    return f"{text}{who} (default: {told})".replace("%", "%%")


def _or(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def _told(parameter: Parameter) -> str:
    return parameter.unset if parameter.default is None else str(parameter.default)


def _name_in(place: Place) -> Callable[[str], str]:
    def name(text: str) -> str:
        known = [learner.id for learner in offered(place)]
        if text not in known:
            raise argparse.ArgumentTypeError(unknown_learner(text, known))
        return text

    return name


def _value_of(parameter: Parameter, *, auto: bool) -> Callable[[str], float | str]:
    """Reads a number of the parameter's range, or "auto" where some learner takes that."""

    def value(text: str) -> float | str:
        if auto and text == "auto":
            return text
        whole = parameter.kind == "whole number"
        found: float = arguments.integer(text) if whole else arguments.number(text)
        if not parameter.accepts(found):
            raise argparse.ArgumentTypeError(f"must {_range(parameter)}, not {text}")
        return found

    return value


def _range(parameter: Parameter) -> str:
    low, high = f"{parameter.low:g}", f"{parameter.high:.15g}"
    if parameter.high == math.inf:
        return f"be above {low}" if parameter.open else f"be at least {low}"
    if parameter.open:
        return f"lie strictly between {low} and {high}"
    return f"lie between {low} and {high}"
