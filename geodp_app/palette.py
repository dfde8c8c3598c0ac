"""Defines the colours of the light and the dark theme, by what they mean.

Data colours follow Okabe and Ito (2008, "Color universal design"): blue, orange, bluish green and
reddish purple, moved in lightness until each has a contrast of 3 to its canvas and all four stay
apart for protanopes and deuteranopes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from assets import palette_path

PaletteName = Literal["light", "dark"]
PALETTES: tuple[PaletteName, ...] = get_args(PaletteName)


@dataclass(frozen=True, slots=True)
class Palette:
    """One theme; colours are ``#RRGGBB``."""

    name: PaletteName
    #: Backgrounds: behind everything, of controls, of drawings and plots.
    window: str
    panel: str
    canvas: str
    #: Grid lines and hairlines; decoration, never the only sign of anything.
    rule: str
    #: Outlines of controls.
    border: str
    #: Words; second-rank words.
    ink: str
    soft_ink: str
    #: What is switched on or comes next; words on it.
    accent: str
    on_accent: str
    #: Words and marks of errors, of cautions and of private data.
    danger: str
    warning: str
    #: Examples labelled 1 and 0 and their dual lines.
    positive: str
    negative: str
    #: The learned shape; the drawing.
    learned: str
    target: str
    #: The newest piece and its dual points.
    chosen: str
    #: What is selected on a canvas; the ring around what has the keyboard.
    selection: str
    focus: str


def greyed(palette: Palette) -> Palette:
    """The same theme with one grey for all that a run has shown: it is out of date."""
    grey = palette.soft_ink
    return replace(
        palette, ink=grey, accent=grey, positive=grey, negative=grey, learned=grey, chosen=grey
    )


def load_palette(name: PaletteName) -> Palette:
    """Read a palette from the assets."""
    return Palette(**json.loads(palette_path(name).read_text(encoding="utf-8")))


def parse_colour(colour: str) -> tuple[int, int, int]:
    """Red, green and blue, 0..255, of ``#RRGGBB``."""
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue


def mix(a: str, b: str, share: float) -> str:
    """The colour `share` of the way from a to b, 0..1, in sRGB."""
    pairs = zip(parse_colour(a), parse_colour(b), strict=True)
    return "#" + "".join(f"{round(p + (q - p) * share):02X}" for p, q in pairs)


def edge_colours(palette: Palette) -> tuple[str, str, str]:
    """Of the newest piece's edges and their dual points: one hue, told apart by lightness."""
    chosen = palette.chosen
    return mix(chosen, palette.ink, 0.45), chosen, mix(chosen, palette.canvas, 0.28)


def diverging_ramp(palette: Palette) -> NDArray[np.uint8]:
    """From the learned colour over the canvas to the chosen one, uint8 of shape (256, 3).

    For values below and above nought: the canvas stands for none, lightness for how much.
    """
    return _between(palette.learned, palette.canvas, palette.chosen)


def ramp(palette: Palette) -> NDArray[np.uint8]:
    """From the canvas to the colour of what is chosen, as a new table of uint8, shape (256, 3).

    One hue, which examples do not have, and lightness that only falls (rises, in the dark).
    """
    return _between(palette.canvas, palette.chosen)


def _between(*colours: str) -> NDArray[np.uint8]:
    """From each colour to the next, all as far from each other."""
    ends, at = np.array([parse_colour(colour) for colour in colours]), np.arange(len(colours))
    places = np.linspace(0.0, len(colours) - 1, 256)
    rows = [np.interp(places, at, channel) for channel in ends.T]
    table: NDArray[np.uint8] = np.rint(np.column_stack(rows)).astype(np.uint8)
    return table
