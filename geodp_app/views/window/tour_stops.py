"""The tour of the window: six stops on the opening example, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: Parts of the window that a stop speaks of.
Target = Literal["plane", "dual", "why", "budget", "release"]


@dataclass(frozen=True, slots=True)
class Stop:
    """What one card says, and the scene that it needs.

    Attributes
    ----------
    title, words : str
    targets : tuple of str
        What is outlined.
    steps : {"none", "first", "all"}
        Steps of the run that are shown, and made if they are not there.
    shading : {"score", "probability"}
        Of the dual plane.
    boxes, release : bool
        Whether to show the sampler's boxes, and the release view.
    pointed : {"example", "halfplane"} or None
        What is pointed at as by a hand.
    """

    title: str
    words: str
    targets: tuple[Target, ...]
    steps: Literal["none", "first", "all"] = "first"
    shading: Literal["score", "probability"] = "score"
    boxes: bool = False
    release: bool = False
    pointed: Literal["example", "halfplane"] | None = None


STOPS: tuple[Stop, ...] = (
    Stop(
        "Every report is a line",
        "Each labelled report in the plane is a line in the dual plane: the one in the ring is "
        "lit there. Point at another report, and its line lights up instead.",
        ("plane", "dual"),
        steps="none",
        pointed="example",
    ),
    Stop(
        "Every halfplane is a point",
        "A point of the dual plane is a halfplane, and three of them make the triangle of this "
        "first step. Point at the dual plane, and a ghost in the plane shows the triangle with "
        "one edge moved there.",
        ("dual", "plane"),
        pointed="halfplane",
    ),
    Stop(
        "Cells of points, and boxes",
        "Points that no line parts hold the same reports, so a whole cell of them has one score; "
        "Shift+F zooms to the chosen one. The squares are the sampler’s boxes of points: it cuts "
        "a box where its points score well.",
        ("dual",),
        boxes=True,
    ),
    Stop(
        "The odds",
        "Colour is now the chance of being drawn: every example of score makes a triangle more "
        "likely by the same factor. Below it says what the chosen one scored, and how likely one "
        "as good or better was.",
        ("dual", "why"),
        shading="probability",
    ),
    Stop(
        "The noise",
        "A step is told b, the number of positive examples still open with noise, and a triangle "
        "has to cover b/k of them for a score of 0. A larger ε means less noise and sharper "
        "odds; triangles share 3/10 of it, their edges, drawn again, the rest.",
        ("why", "budget"),
    ),
    Stop(
        "What is published",
        "The release view shows only what may be published once all steps are done: no report, no "
        "line, no error. Export learned polygons in the File menu writes it with its privacy "
        "statement.",
        ("plane", "release"),
        steps="all",
        release=True,
    ),
)
