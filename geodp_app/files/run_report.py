"""Writes what a run leaves besides its shape: the public report, and the curator's records."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from geodp_app.files.learned_file import parts, wrong_labels_text
from geodp_app.formatting import SPACE
from geometry.crs import LONLAT
from geometry.grid import Frame
from learners import __version__
from learners.core.codec import release_to_dict
from learners.core.codec_parts import step_to_dict
from learners.core.learned_shape import check_of, unit_words
from learners.core.records import StepRecord
from learners.core.releases import Release, support_cost, support_shape, support_words
from learners.declaration import Learner
from learners.privacy.accounting import (
    Charge,
    ChargeName,
    PrivacySpent,
    halve_for_replacement,
    privacy_statement,
)
from learners.privacy.composition import run_epsilon
from learners.privacy.privacy_loss import accounting_document
from learners.registry import SEED

_RECORDS_WARNING = (
    "Private diagnostics for the curator: true counts and errors. Do not publish this file."
)


def report(release: Release, **stated: Any) -> dict[str, Any]:
    """The public report: statement, parameters, hypothesis, charges for other accountants.

    Nothing from the examples, nor of what was found in their file: names of columns are those that
    somebody typed, as the first row of a file without a header is somebody's report.

    Parameters
    ----------
    **stated
        Public members besides, JSON values: `run` (:func:`run_stated`), `within`, and `date`, the
        day that its author gives.  No clock is asked: when a run was made, and made again, may
        depend on the examples, and so the report of a release has the same bytes on every day.
    """
    privacy = release.privacy
    document: dict[str, Any] = {
        "geodp": __version__,
        "statement": privacy_statement(privacy),
        **{name: value for name, value in stated.items() if value is not None},
        "release": release_to_dict(release),
    }
    told = {"unit": unit_words, "wrong labels": wrong_labels_text, "support": support_words}
    document |= {name: text for name, words in told.items() if (text := words(release))}
    if (check := check_of(release)) is not None:
        words = check.words(clipped=stated.get("within") is not None)
        document["accuracy"] = {"words": words, **check.shares()}
    if privacy is not None:
        document["account"] = _account(privacy, dict(release.parameters))
        document["accounting"] = accounting_document(privacy)
    return document


def run_stated(
    learner: Learner, parameters: Mapping[str, Any], frame: Frame, reading: Mapping[str, Any]
) -> dict[str, Any]:
    """What was asked for, by the names that `geodp.learn` has for it: all of it public.

    Parameters of the learner are resolved, as another version may have other defaults.  A seed is
    left out: nobody is to learn by the noise of another run.  `reading` is how the examples were
    read, as :func:`geodp.read_points` has it.
    """
    bounds = frame.bounds
    own = [each.name for each in learner.parameters if not each.of_python and each is not SEED]
    run = {
        "learner": learner.id,
        **{name: parameters.get(name) for name in own},
        "grid": frame.d,
        "bounds": None if bounds is None else list(bounds.as_tuple()),
        "crs": None if bounds is None or bounds.crs == LONLAT else bounds.crs,
        **reading,
    }
    return {name: value for name, value in run.items() if value is not None}


def support_caption(release: Release, *, short: bool = False) -> str:
    """What is hatched where a release is shown, and what it cost to know.

    `short`: for a place with room for some forty letters.  Empty if nothing is known, or nothing
    had to be released to know that there is nothing.
    """
    shape, cost = support_shape(release), support_cost(release)
    if shape is None:
        return ""
    if not cost:
        return "Hatched: hardly any reports"
    assert release.support is not None  # as it had a cost
    whole = all(release.support.cells)
    text = "Enough reports everywhere" if whole else "Hatched: too few reports"
    paid = f"ε{SPACE}={SPACE}{cost:g}"
    return f"{text} ({paid})" if short else f"{text} to say anything (released with {paid})"


#: What keeps a charge from growing with the number of what it pays for.
_REACH: dict[ChargeName, str] = {
    "noisy cells": ", however many cells there are: an example lies in one",
    "support counts": ", however many cells there are: an example lies in one",
    "check counts": ", of the examples that the learner did not see: instead of the rest",
    "noisy splits": ", for all cells that hold an example together",
}


def _account(privacy: PrivacySpent, parameters: dict[str, Any]) -> str:
    """What the run was charged for, and how the charges were put together."""
    if privacy.rows > 1:
        one = _account(privacy.of_one, parameters)
        return f"each of {privacy.rows} rows of a person has a share of epsilon: {one}"
    if privacy.account == "stability":
        return (
            f"votes of {parameters['chunks']} chunks: epsilon {privacy.epsilon:g} for up to "
            f"{parameters['queries']} queries, {parameters['halts']} of them unanswered"
        )
    if privacy.account == "optimal":
        return _of_a_cover(privacy)
    text = [_charge_text(charge, parameters) for charge in privacy.charges]
    if privacy.account != "basic":
        text.append(f"together epsilon {privacy.epsilon:g} by the {privacy.account} account")
    if privacy.neighbours == "replace-one":
        text.append("all for adding or removing an example; replacing one costs twice that")
    return "; ".join(text)


def _charge_text(charge: Charge, parameters: dict[str, Any]) -> str:
    each = f"{charge.name}: epsilon {charge.each:.6g}"
    if charge.times > 1:
        return f"{each} in each of {charge.times} steps"
    if "tiles" in parameters and charge.name == "selections":
        rate = parameters.get("choice_rate")
        choice = f"; {rate:.6g} of it chose how many there are" if rate else ""
        return f"{each}, however many tiles there are: an example lies in one{choice}"
    return each + _REACH.get(charge.name, "")


def _of_a_cover(privacy: PrivacySpent) -> str:
    """Why the charges of a set cover do not add up to epsilon."""
    counts, selections = privacy.charge("noisy counts"), privacy.charge("selections")
    assert selections is not None  # a set cover has some
    sharpening = privacy.charge("sharpening")
    twice = 2 if privacy.neighbours == "replace-one" else 1
    after = 0.0 if sharpening is None else sharpening.each * twice
    together, delta = privacy.epsilon - after, privacy.delta
    what, where = "noisy counts and selections: together", f"each of {privacy.steps} steps"
    if counts is None:
        what, where = "selection:", "one step"
    whole = (
        f"{what} epsilon {together:g}, by the optimal account of a set cover, "
        f"eta = {selections.each:.6g} in {where}"
    )
    if sharpening is not None:
        pair = f", which is twice {sharpening.each:g}" if twice == 2 else ""
        whole = (
            f"sharpening: epsilon {after:g}{pair}, however many edges there are: an example lies "
            f"in the zone of one; {whole}"
        )
    if privacy.neighbours == "replace-one":
        together, delta = halve_for_replacement(together, delta)
        whole += f", which is twice {together:g} for adding or removing an example"
    if counts is None:
        return whole
    alone = run_epsilon(selections.each, delta, selections.times)
    parts = f"alone the counts would cost {counts.alone:g} and the selections {alone:.4g}"
    if counts.alone + alone <= together:  # rates are capped
        return f"{whole}; {parts}"
    return f"{whole}; {parts}, in sum more, but delta covers that both lose so much in one run"


def records_text(records: Iterable[StepRecord]) -> str:
    """Step records as JSON lines; the first line says that they are private."""
    lines: list[dict[str, Any]] = [
        {"geodp": __version__, "kind": "steps", "warning": _RECORDS_WARNING}
    ]
    for record in records:
        private = {
            name: value if math.isfinite(value) else None  # JSON has no infinity
            for name, value in asdict(record.diagnostics).items()
        }
        step = {"step": record.step, "steps": record.steps}
        lines.append({**step, "release": step_to_dict(record.release), "private": private})
    return "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)


def release_figures(release: Release) -> tuple[tuple[str, str], ...]:
    """The public figures of a run, for a picture's side column."""
    privacy = release.privacy
    if privacy is None:
        return (("private", "no"),)
    figures = [("epsilon", f"{privacy.epsilon:g}"), ("delta", f"{privacy.delta:g}")]
    if not privacy.private:
        figures.append(("private", "no: seeded"))
    k = dict(release.parameters).get("k")
    if k is not None:
        figures.append(("k", str(k)))
    many, name = parts(release)
    figures.append((f"{name}s", str(many)))
    if (check := check_of(release)) is not None:
        figures.append(("right", check.range()))
    return tuple(figures)
