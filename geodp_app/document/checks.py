"""Checks what a :class:`Work`, a state of the document, may hold.  The document and the reader of
sessions ask the same questions, so that whatever can be edited can be saved and read back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from geodp_app.document.examples import Examples
from geodp_app.document.work import (
    DISTRIBUTIONS,
    LEARNERS,
    PARAMETERS,
    RunCharge,
    RunSettings,
    SampleSettings,
    Work,
)
from geodp_app.drawing.shapes import Drawing, Shape
from geometry.errors import InputError, refusals
from geometry.geojson_reading import GeoJSONError, short
from geometry.halfplane import MAX_D
from geometry.rings import crossings_up_to
from learners.privacy.accounting import check_budget

#: Most simulated examples: what fits in memory, as on the command line.
MOST_EXAMPLES = 10**7
#: Most crossings of a drawing's outlines: its region then takes some seconds.
MOST_CROSSINGS = 20_000
#: Longest name of a drawing, and longest path, in characters.
LONGEST_NAME, LONGEST_PATH = 200, 4096


def check_grid(grid: Any) -> None:
    """Refuse a grid size for which counting is not exact."""
    if not _whole(grid, 1, MAX_D):
        raise InputError(f"grid size {short(grid)} is outside 1..{MAX_D}, where counting is exact")


def check_name(name: Any) -> None:
    """Refuse a name that is no short text."""
    if not isinstance(name, str) or len(name) > LONGEST_NAME:
        raise InputError(f"a name is a text of at most {LONGEST_NAME} characters")


def check_sampling(settings: SampleSettings, grid: int) -> None:
    """Refuse settings from which no sample can be drawn."""
    s = settings
    if not _whole(s.n, 1, MOST_EXAMPLES):
        raise InputError(
            f"number of examples {short(s.n)}: use a whole number in 1..{MOST_EXAMPLES}"
        )
    _check_choice("distribution", s.distribution, DISTRIBUTIONS)
    if not (_number(s.noise) and 0 <= s.noise <= 1):
        raise InputError(f"label noise {short(s.noise)}: use a share in 0..1")
    # numpy takes any size; what a file may hold is bounded
    if s.seed is not None and not _whole(s.seed, 0, 2**128 - 1):
        raise InputError(
            f"seed of the sample {short(s.seed)}: use a whole number from 0 up, or none"
        )
    for dab in s.dabs:
        x, y, r = dab
        if not (_whole(x, 0, grid) and _whole(y, 0, grid) and _whole(r, 0, 2 * MAX_D)):
            raise InputError(f"dab {short(dab)} is not on the grid 0..{grid}")


def check_run(settings: RunSettings) -> None:
    """Refuse settings that no learner takes."""
    s = settings
    _check_choice("learner", s.learner, LEARNERS)
    for name, value in s.values:
        declared = (s.declaration(name),) if s.has(name) else PARAMETERS[name]
        if not any(each.accepts(value) for each in declared):
            of = f"{s.learner}: " if s.has(name) else ""
            raise InputError(of + declared[0].refusal(value))
    with refusals():
        check_budget(s["epsilon"], s["delta"])
    if s["k"] == "auto" and s["finish"] != "sharpen":
        raise InputError("k = auto finds the triangles whose edges are sharpened: set k")
    if s["kept"] >= s["halts"]:
        raise InputError(f"kept = {s['kept']}: use a whole number below halts = {s['halts']}")


def check_drawing(drawing: Drawing, known: Drawing) -> None:
    """Refuse vertices off the grid and rings of fewer than three.

    Shapes of a `known` drawing, which was checked before, are not looked at again.
    """
    check_grid(drawing.grid)
    checked = {id(shape) for shape in known.shapes if known.grid == drawing.grid}
    for shape in drawing.shapes:
        if id(shape) not in checked:
            _check_shape(shape, drawing.grid)


def check_crossings(drawing: Drawing) -> None:
    """Refuse a drawing whose region would take minutes: no hand draws one, a file may hold it."""
    rings = [np.asarray(ring, dtype=float) for shape in drawing.shapes for ring in shape.rings]
    edges = [np.hstack([ring, np.roll(ring, -1, axis=0)]) for ring in rings]
    if edges and crossings_up_to(MOST_CROSSINGS, np.vstack(edges)) > MOST_CROSSINGS:
        raise InputError(f"the drawing's outlines cross more than {MOST_CROSSINGS:,} times")


def check_examples(examples: Examples) -> None:
    """Refuse examples that are no labelled grid points; there may be none of them."""
    if not (examples.unit is None or (isinstance(examples.unit, str) and examples.unit)):
        raise InputError(f"unit: {short(examples.unit)} names no column")
    points, labels, d = examples.points, examples.labels, examples.frame.d
    n = len(labels)
    if points.shape != (n, 2) or labels.shape != (n,):
        raise InputError(f"shapes {points.shape} and {labels.shape} are no labelled points")
    if not n:
        return
    if int(points.min()) < 0 or int(points.max()) > d:
        raise InputError(f"an example is off the grid 0..{d}")
    if not ((labels == 0) | (labels == 1)).all():
        raise InputError("a label is neither 0 nor 1")


def check_charges(charges: tuple[RunCharge, ...]) -> None:
    """Refuse charges that no run can have made."""
    for charge in charges:
        if not charge.privacy.private or charge.privacy.run is None:
            raise InputError("a run that is charged for is private, and has a name")
        if sum(each.privacy.run == charge.privacy.run for each in charges) > 1:
            raise InputError(f"run {charge.privacy.run} is charged for twice")
        if not isinstance(charge.finished, bool):
            raise InputError(f"finished: {short(charge.finished)} is neither true nor false")


def check_ledger(path: Any) -> None:
    """Refuse what is no path of a ledger, or none."""
    if path is not None and not (
        isinstance(path, str) and 0 < len(path) <= LONGEST_PATH and "\0" not in path
    ):
        raise InputError(f"{short(path)} is no path of a ledger")


def check_change(before: Work, after: Work) -> None:
    """Check what differs between two states, of which the first is known to be right."""
    if after.name != before.name:
        check_name(after.name)
    if after.drawing is not before.drawing:
        check_drawing(after.drawing, before.drawing)
    grid = after.drawing.grid
    if after.sampling is not before.sampling or grid != before.drawing.grid:
        check_sampling(after.sampling, grid)
    if after.run is not before.run:
        check_run(after.run)
    if after.examples is not None and after.examples is not before.examples:
        if after.examples.frame != after.frame:
            raise ValueError(f"examples in {after.examples.frame}, drawing in {after.frame}")
        check_examples(after.examples)
    if after.spent is not before.spent:
        check_charges(after.spent)
    if after.ledger != before.ledger:
        check_ledger(after.ledger)
    if after.within is not None and (after.within, after.frame) != (before.within, before.frame):
        check_name(after.within.name)
        try:
            after.within.region(after.frame)
        except GeoJSONError as error:
            stays = after.within is before.within
            hint = "; the result is clipped to it: remove the outline first" if stays else ""
            raise InputError(f"{error}{hint}") from None


def _check_shape(shape: Shape, grid: int) -> None:
    for ring in shape.rings:
        if len(ring) < 3:
            raise InputError(f"a ring of {len(ring)} vertices: at least 3 are needed")
        for x, y in ring:
            if not (_whole(x, 0, grid) and _whole(y, 0, grid)):
                raise InputError(f"vertex ({x}, {y}) is off the grid 0..{grid}")


def _check_choice(what: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"{what} {short(value)}: use one of {', '.join(choices)}")


def _whole(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _number(value: Any) -> bool:
    # a comparison is exact for integers of any size, and false for NaN
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
