"""What a run leaves besides its shape: the public report, and the curator's records."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from geodp_app.version import __version__
from learners.accounting import PrivacySpent
from learners.codec import release_to_dict, step_to_dict
from learners.records import StepRecord
from learners.releases import ConicRelease, CoverRelease, MosaicRelease, Release

_NEIGHBOURS = {
    "add-remove": "adding or removing one labelled example",
    "replace-one": "replacing one labelled example by another",
    "replace-label": "replacing the label of one example (the points are not protected)",
}
_RECORDS_WARNING = (
    "Private diagnostics for the curator: true counts and errors. Do not publish this file."
)


def privacy_statement(privacy: PrivacySpent | None) -> str:
    """The guarantee in one sentence."""
    if privacy is None:
        return "Not private: the learner drew no noise."
    if not privacy.private:
        return "Not private: the run was seeded, so its noise can be reproduced."
    return (
        f"({privacy.epsilon:g}, {privacy.delta:g})-differentially private with respect to "
        f"{_NEIGHBOURS[privacy.neighbours]}."
    )


def report(release: Release) -> dict[str, Any]:
    """The public report: statement, parameters, hypothesis.  Nothing from the examples."""
    privacy = release.privacy
    document: dict[str, Any] = {
        "geodp": __version__,
        "statement": privacy_statement(privacy),
        "release": release_to_dict(release),
    }
    unit = dict(release.parameters).get("unit")
    if unit is not None:
        document["unit"] = f"an example is one row of each {unit}, chosen among that one's rows"
    if privacy is not None:
        document["account"] = _account(privacy, dict(release.parameters))
    return document


def parts_text(release: Release) -> str:
    """How many tiles or pieces it has."""
    name: str
    if isinstance(release, ConicRelease):
        many, name = len(release.conics), release.lattice.kind
    elif isinstance(release, CoverRelease):
        many, name = len(release.pieces), "piece"
    else:
        assert isinstance(release, MosaicRelease)
        many, name = len(release.tiles), "tile"
    return f"{many} {name}" if many == 1 else f"{many} {name}s"


def _account(privacy: PrivacySpent, parameters: dict[str, Any]) -> str:
    if privacy.account == "parallel" and "tiles" not in parameters:
        split = (
            f"; tree: epsilon {privacy.epsilon_selection:g}" if privacy.epsilon_selection else ""
        )
        return (
            f"noise: epsilon {privacy.epsilon_noise:g}, of the cells in parallel, for an example "
            f"lies in one of them{split}"
        )
    if privacy.account == "parallel":
        count = f"noisy count: epsilon {privacy.epsilon_noise:g}; " if privacy.epsilon_noise else ""
        return (
            f"{count}tiles: epsilon {privacy.epsilon_selection:g} in parallel, for an example "
            f"lies in one tile, eta = {privacy.eta:.6g} in each of {parameters['tiles'] ** 2}"
        )
    if privacy.account == "stability":
        return (
            f"votes of {parameters['chunks']} chunks: epsilon {privacy.epsilon:g} for up to "
            f"{parameters['queries']} queries, {parameters['halts']} of them unanswered"
        )
    if not privacy.epsilon_noise and privacy.steps == 1:
        return f"one selection: epsilon {privacy.epsilon_selection:g}, eta = {privacy.eta:.6g}"
    if privacy.account == "optimal":
        return _of_a_cover(privacy)
    return (
        f"noisy counts: epsilon {privacy.epsilon_noise:g} by basic composition; selections: "
        f"epsilon {privacy.epsilon_selection:g} by the {privacy.account} account, "
        f"eta = {privacy.eta:.6g} in each of {privacy.steps} steps"
    )


def _of_a_cover(privacy: PrivacySpent) -> str:
    """Why the parts of a set cover's account do not add up to epsilon."""
    whole = (
        f"noisy counts and selections: together epsilon {privacy.epsilon:g}, by the optimal "
        f"account of a set cover, eta = {privacy.eta:.6g} in each of {privacy.steps} steps"
    )
    counts, selections, together = privacy.epsilon_noise, privacy.epsilon_selection, privacy.epsilon
    if privacy.neighbours == "replace-one":
        together /= 2
        whole += f", which is twice {together:g} for adding or removing an example"
    parts = f"alone the counts would cost {counts:g} and the selections {selections:.4g}"
    if counts + selections <= together:  # rates are capped
        return f"{whole}; {parts}"
    return f"{whole}; {parts}, in sum more, but delta covers that both lose so much in one run"


def records_text(records: Iterable[StepRecord]) -> str:
    """Step records as JSON lines; the first line says that they are private."""
    lines: list[dict[str, Any]] = [
        {"geodp": __version__, "kind": "steps", "warning": _RECORDS_WARNING}
    ]
    lines += [_record(record) for record in records]
    return "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)


def _record(record: StepRecord) -> dict[str, Any]:
    private = {
        name: value if math.isfinite(value) else None  # JSON has no infinity
        for name, value in asdict(record.diagnostics).items()
    }
    return {
        "step": record.step,
        "steps": record.steps,
        "release": step_to_dict(record.release),
        "private": private,
    }
