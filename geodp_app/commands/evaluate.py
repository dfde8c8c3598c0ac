"""`geodp evaluate` counts the labelled examples that a learned shape labels wrong."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geodp_app.commands import arguments, points
from geodp_app.commands.parser import Parser
from geodp_app.document.examples import count_mistakes
from geodp_app.errors import InputError

if TYPE_CHECKING:
    from learners.core.releases import Release

DESCRIPTION = f"""Compare a learned shape with labelled examples.

A file written by `geodp learn` holds the shape's exact form, and by that points are labelled,
without rounding, within the map that it was clipped to. Any other GeoJSON polygons are compared as
they are; points on their edge count as inside.

{points.FORMS}

The figures come straight from the examples: they are not differentially private."""


def add_options(parser: Parser) -> None:
    """Add what the verb takes."""
    parser.add_argument("learned", type=Path, metavar="LEARNED", help="GeoJSON")
    parser.add_argument("points", type=Path, metavar="POINTS", help="labelled points")
    points.add_points_options(parser, "grid size of the examples (default: what the files say)")
    arguments.add_within(parser, "label 0 whatever lies outside of")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> None:
    """Read both files, compare, print."""
    from geodp_app.files.learned_file import read_learned

    mask = arguments.read_within(options)
    learned = read_learned(options.learned)
    quiet = options.json
    examples = points.read(options.points, options, fallback=learned.frame, quiet=quiet)
    if not len(examples.labels):
        raise InputError(f"{options.points}: has no examples to compare with")
    predicted = learned.predict(examples, mask)
    figures = compare(predicted, examples.labels)
    if options.json:
        decided = _decided_by(learned.release)
        print(json.dumps({**figures, "decided_by": decided}))
        return
    n = figures["examples"]
    for name, key in (
        ("error", "errors"),
        ("false positives", "false_positives"),
        ("false negatives", "false_negatives"),
    ):
        print(f"{name:16}{figures[key] / n:10.4%}{figures[key]:12,} of {n:,}")
    print("These figures describe the examples: they are private.")


def _decided_by(release: Release | None) -> str:
    """What decides the labels: halfplanes, discs, ellipses, polynomials or, without a release,
    polygons."""
    from learners.core.releases import ConicRelease, LiftedRelease

    if release is None:
        return "polygons"
    if isinstance(release, LiftedRelease):
        return "polynomials"
    return f"{release.lattice.kind}s" if isinstance(release, ConicRelease) else "halfplanes"


def compare(predicted: NDArray[np.int64], labels: NDArray[np.int64]) -> dict[str, Any]:
    """Counts of examples, at least one, and of errors, and the error as a fraction."""
    false_positives, false_negatives = count_mistakes(predicted, labels)
    errors = false_positives + false_negatives
    return {
        "examples": len(labels),
        "positives": int((labels == 1).sum()),
        "errors": errors,
        "false_positives": false_positives,
        "false_negatives": false_negatives,
        "error": errors / len(labels),
    }
