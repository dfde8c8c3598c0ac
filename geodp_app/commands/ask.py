"""Asks a learner that answers by votes of models after its run: `geodp learn --ask`.

The learner keeps some of its halts and half of its queries to label public points one by one; run
and questions together have one budget and one statement (docs/privacy.md, lemma S6).  What is asked
and answered is published: it goes to standard output, what is said besides to standard error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from geodp_app.document.examples import Frame
from geodp_app.progress import tell
from geometry.errors import InputError
from geometry.grid import BoundsError, GridMap
from geometry.mask import Mask

if TYPE_CHECKING:
    from learners.stability.stability_learner import StabilityLearner

#: What stands for no answer.
NO_ANSWER = "?"


def answer_questions(
    model: StabilityLearner,
    frame: Frame,
    lines: Iterable[str],
    masks: Sequence[Mask] = (),
    *,
    quiet: bool,
) -> None:
    """Label points, a line each, until there are no more lines, halts or queries.

    Parameters
    ----------
    model : StabilityLearner
        Fitted, with something kept for questions.
    frame : Frame
        With bounds, points are lon,lat in degrees; else x,y in grid units.
    lines : iterable of str
        Two numbers each, with a comma between them; a line that is none is told, and asks nothing.
    masks : sequence of Mask
        What the shape is clipped to: a point outside is labelled 0, and asks nothing.
    quiet : bool
        Say nothing but answers.
    """
    where = "x,y" if frame.bounds is None else "lon,lat"
    queries = model.private_models_.queries

    tell(
        f"geodp: points to be labelled, {where}, a line each: {queries.queries_left:,} at most, "
        f"until {queries.halts_left:,} of them have no answer ({NO_ANSWER})",
        quiet=quiet,
    )
    for number, line in enumerate(until_cancelled(lines), start=1):
        if not line.strip():
            continue
        asked = ",".join(part.strip() for part in line.split(","))
        try:
            point = np.array([_point(line, frame)])
            if not all(mask.keep(np.ones(1, np.int64), point, frame)[0] for mask in masks):
                print(f"{asked},0", flush=True)
                continue
            (record,) = model.ask(point)
        except ValueError as error:
            tell(f"geodp: line {number}: {error}; give {where}", quiet=quiet)
            continue
        value = record.release.value
        print(f"{asked},{NO_ANSWER if value is None else value}", flush=True)
        if not record.release.halts_left or not record.release.queries_left:
            what = "points may have no answer" if record.release.queries_left else "points"
            tell(f"geodp: no more {what}: the budget is used up", quiet=quiet)
            return


def until_cancelled(lines: Iterable[str]) -> Iterator[str]:
    """The lines until there are no more; Ctrl+C ends them, too, for the shape is written.  Raises
    InputError if they are no text."""
    try:
        yield from lines
    except KeyboardInterrupt:
        return
    except UnicodeDecodeError:
        raise InputError("standard input: is not text; give points, a line each") from None


def _point(line: str, frame: Frame) -> tuple[int, int]:
    """The grid point of a line; ValueError if it is not two numbers, or they lie elsewhere."""
    read = int if frame.bounds is None else float
    try:
        x, y = (read(part) for part in line.split(","))
    except ValueError:
        what = "whole numbers" if frame.bounds is None else "numbers"
        raise ValueError(f"{line.strip()!r} is not two {what} with a comma between them") from None
    if frame.bounds is None:
        if not (0 <= x <= frame.d and 0 <= y <= frame.d):
            raise ValueError(f"{line.strip()} is off the grid 0..{frame.d}")
        return int(x), int(y)
    try:
        spot = GridMap(frame.d, frame.bounds).to_grid(np.array([[x, y]]))
    except BoundsError:
        raise ValueError(f"{line.strip()} is outside the bounds") from None
    return int(spot[0, 0]), int(spot[0, 1])
