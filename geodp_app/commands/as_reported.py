"""`geodp learn --as` takes a run's options from its report, and then those that are typed."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Sequence
from typing import Any

from geodp_app.errors import InputError, printable
from geodp_app.progress import tell
from learners import __version__

#: How rows become examples.
HOW_READ = (
    "columns", "layer", "out_of_bounds", "unusable", "outside", "inside", "id", "rows",
)  # fmt: skip
#: What a report says of its run besides the learner's parameters, and of a map beside the run.
_OF_RUN, _OF_MAP = ("learner", "grid", "bounds", "crs", *HOW_READ), ("within", "within_layer")


def as_reported(options: argparse.Namespace, given: Sequence[str]) -> list[str]:
    """The given arguments, first the verb, with those of the report before them that `learn --as`
    names: the last ones hold.  Tells that another version has written it.

    Raises
    ------
    InputError
        If it is no report, or says nothing of its run.
    """
    # help needs none of this
    from geodp_app.files.strict_reading import read_json
    from learners.registry import BY_ID

    try:
        report = read_json(options.like.read_bytes())
        run, version = report["run"], report["geodp"]
        learner = BY_ID[run.get("learner")]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{options.like}: is no report of a run; --report writes one") from None
    if version != __version__:
        said = printable(f"written by geodp {version!s:.20}, and this is {__version__}")
        tell(f"geodp: {options.like}: {said}: it may learn otherwise", quiet=options.quiet)
    if any(each.split("=")[0] == "--learner" for each in given):
        learner = BY_ID[options.learner]
        known = [each.name for each in BY_ID[run["learner"]].parameters]
        run = {n: v for n, v in run.items() if n not in known or learner.parameter(n) is not None}
    names = {each.name: each.typed for each in learner.parameters if not each.of_python}
    names |= {name: name.replace("_", "-") for name in (*_OF_RUN, *_OF_MAP)}
    said = run | {name: report[name] for name in _OF_MAP if name in report}
    if odd := [name for name in said if name not in names]:
        raise InputError(f"{options.like}: says {printable(odd[0]):.40}, which no run is told")
    return [given[0], *(f"--{names[n]}={_typed(v)}" for n, v in said.items()), *given[1:]]


def _typed(value: Any) -> str:
    """A value as it is typed."""
    if isinstance(value, list):
        return ",".join(map(str, value))
    if isinstance(value, dict):
        text = io.StringIO()
        csv.writer(text, lineterminator="").writerow(f"{n}={name}" for n, name in value.items())
        return text.getvalue()
    return str(value)
