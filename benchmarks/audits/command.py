"""What `geodp audit` does: one learner, or all that claim privacy, and what is said of them.

The bounds can be drawn as a curve, in SVG.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from html import escape

from benchmarks.audits.declared import SIZES, SUBJECTS, Subject
from benchmarks.audits.events import Audit, audit_pairs
from geodp_app.commands import arguments
from geodp_app.files.writing import NewFile, write_files
from geodp_app.progress import ProgressBar, telling_of_compiling
from geometry.errors import InputError
from learners.registry import unknown_learner

_WIDTH, _HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 20, 40, 50
_TEXT = 'font-family="sans-serif" font-size="12" fill="#333"'


def plot_svg(found: Audit, title: str) -> str:
    """Lower bound of epsilon against the number of tested runs, and the claim, dashed: an SVG."""
    highest = max(found.epsilon, *(bound for _, bound in found.curve)) * 1.15
    most = max(2, found.runs)

    def across(runs: int) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * math.log(runs) / math.log(most)

    def up(epsilon: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * epsilon / highest

    curve = " ".join(f"{across(runs):.1f},{up(bound):.1f}" for runs, bound in found.curve)
    left, right, bottom = _LEFT, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    claim = up(found.epsilon)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}">',
        f"<title>{escape(title)}</title><desc>Drawn by geodp</desc>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text x="{left}" y="22" {_TEXT}>{escape(title)}</text>',
        f'<path d="M{left} {_TOP}V{bottom}H{right}" fill="none" stroke="#333"/>',
        f'<path d="M{left} {claim:.1f}H{right}" stroke="#b2182b" stroke-dasharray="6 4"/>',
        f'<text x="{left + 6}" y="{claim - 6:.1f}" {_TEXT}>claim: {found.epsilon:g}</text>',
        f'<polyline points="{curve}" fill="none" stroke="#2166ac" stroke-width="2"/>',
        f'<text x="{right}" y="{up(found.lower) - 6:.1f}" text-anchor="end" {_TEXT}>'
        f"bound: {found.lower:.3f}</text>",
    ]
    for runs in sorted({1, *(10**i for i in range(1, 9) if 10**i <= most), most}):
        if runs == most or most / runs > 2:
            parts.append(
                f'<text x="{across(runs):.1f}" y="{bottom + 16}" text-anchor="middle" {_TEXT}>'
                f"{runs:,}</text>"
            )
    for tick in (0.0, highest / 2, highest):
        parts.append(
            f'<text x="{left - 6}" y="{up(tick) + 4:.1f}" text-anchor="end" {_TEXT}>'
            f"{tick:.2f}</text>"
        )
    parts.append(
        f'<text x="{(left + right) / 2:.0f}" y="{_HEIGHT - 12}" text-anchor="middle" {_TEXT}>'
        "tested runs on each sample (logarithmic); epsilon in nats</text>"
    )
    return "\n".join([*parts, "</svg>", ""])


def run(options: argparse.Namespace) -> int:
    """Audit and print; the exit code, 3 if a claim is refuted."""
    if options.learner == "list":
        for name, subject in SUBJECTS.items():
            claims = "" if subject.private else "; not private"
            print(f"{name}: {subject.audit.title}, {subject.audit.runs:,} runs{claims}")
        return 0
    private = tuple(name for name, subject in SUBJECTS.items() if subject.private)
    names = private if options.learner == "all" else (options.learner,)
    if options.learner not in (*SUBJECTS, "all"):
        raise InputError(unknown_learner(options.learner, (*SUBJECTS, "all")))
    if options.plot is not None:
        if len(names) > 1:
            raise InputError("--plot draws one learner: name it")
        arguments.check_outputs(options, [], plot="SVG")
    refuted = False
    for name in names:
        subject = SUBJECTS[name]
        found = _audit(name, subject, options)
        refuted |= found.refuted
        if options.plot is not None:
            plot = plot_svg(found, f"Audit of {subject.audit.title}")
            write_files([NewFile(options.plot, plot)])
        if options.json:
            print(json.dumps({"learner": name, **found.to_dict()}), flush=True)
        else:
            print("\n".join(_told(name, subject, found, options)), flush=True)
    return 3 if refuted else 0


def _audit(name: str, subject: Subject, options: argparse.Namespace) -> Audit:
    """Run one audit under a progress bar.

    Raises
    ------
    InputError
        If there are too few runs, or a parameter states no guarantee.
    """
    runs = options.runs or subject.audit.runs
    sizes = SIZES if options.n is None else (options.n,)
    with ProgressBar(quiet=options.quiet) as bar, telling_of_compiling(bar):
        try:
            return audit_pairs(
                subject.factory(options.epsilon, options.delta, options.neighbours, options.seed),
                subject.pairs(options.neighbours, sizes),
                subject.events,
                runs,
                confidence=options.confidence,
                claim=subject.claim(options.epsilon, options.delta),
                watch=lambda done: bar.update(done / runs, f"{name}, run {done:,} of {runs:,}"),
            )
        except ValueError as error:
            raise InputError(str(error)) from None


def _told(name: str, subject: Subject, found: Audit, options: argparse.Namespace) -> Iterator[str]:
    """An audit in a few lines."""
    where = "with it" if found.event.swapped else "without it"
    if options.neighbours == "replace-one":
        where = "with the second" if found.event.swapped else "with the first"
    verdict = "REFUTED" if found.refuted else "not refuted"
    asked = "claimed" if subject.private else "not private, asked about"
    yield (
        f"{name}: epsilon is at least {found.lower:.3f}; {asked} {found.epsilon:g} at delta = "
        f"{found.delta:g}: {verdict}"
    )
    yield f"    samples: {found.pair} ({options.neighbours})"
    yield f"    event: {found.event}; likelier {where}"
    yield (
        f"    seen {found.likely:,} and {found.unlikely:,} times in {found.runs:,} tested runs each"
    )
    yield (
        f"    confidence {found.confidence:g}; by this event it loses at most {found.upper:.3f}; "
        f"{found.searched:,} runs to find it"
    )
