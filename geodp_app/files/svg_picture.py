"""Draws a learned shape on its grid, as SVG: with ticks, a legend, and what was spent.

With examples it is private, and says so.  :mod:`geodp_app.views.pictures` makes it a PNG.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from shapely import box
from shapely.geometry.base import BaseGeometry

from geodp_app.document.examples import Examples, Frame
from learners.core.learned_shape import HATCHED, scene, svg_path

# Okabe and Ito's palette, on paper
_POSITIVE, _NEGATIVE = "#0072B2", "#E69F00"
_INK, _SOFT_INK, _RULE, _PAPER, _PLANE = "#222222", "#666666", "#D8D8D4", "#FFFFFF", "#FBFBF9"

WIDTH, HEIGHT = 1600, 1000
#: Where the plane goes: left, top, width, height.
_PLANE_AREA = (96.0, 132.0, 1060.0, 796.0)
_SIDE_LEFT, _SIDE_WIDTH = 1210.0, 340.0
_MOST_DOTS = 4000
#: Width and height of the words at a tick, with the room between them.
_WORD = 100.0, 30.0

#: Characters that no XML may hold.
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def readable_xml(text: str) -> str:
    """A document with a mark for each character that would make it none, as titles may hold."""
    return _NO_XML.sub("\ufffd", text)


def picture_svg(
    frame: Frame,
    layers: Mapping[str, BaseGeometry],
    title: str,
    figures: Sequence[tuple[str, str]] = (),
    *,
    examples: Examples | None = None,
    caption: str = "",
) -> str:
    """Draw a picture of 1600 x 1000 pixels.

    Parameters
    ----------
    layers : mapping
        As those of :class:`learners.core.learned_shape.LearnedShape`; where support is among them,
        the rest of the plane is hatched.
    figures : sequence of (str, str)
        Names and values for the column at the side.
    examples : Examples, optional
        Thinned to some thousand dots; makes the picture private.
    caption : str
        Below the plane, what is hatched.
    """
    left, top, _, height = plane = plane_box(frame)
    shown = scene(layers, frame.d, line=3.0)
    parts = [
        f"<title>{escape(title)}</title><desc>Drawn by geodp</desc>{HATCHED}",
        _rectangle((0, 0, WIDTH, HEIGHT), _PAPER),
        _rectangle(plane, _PLANE),
        *_axes(frame),
        *(svg_path(drawn, frame.d, plane) for drawn in shown),
        *([] if examples is None else _dots(examples, frame)),
        _rectangle(plane, "none", _SOFT_INK, 1.2),
        _text(left, 84, title, 34, _INK, most=WIDTH - left - 60, bold=True),
        _text(left, top + height + 60, caption, 19, _SOFT_INK, most=WIDTH - left - 60),
        *_side(figures, private=examples is not None),
    ]
    return readable_xml(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="DejaVu Sans, sans-serif">\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def plane_box(frame: Frame) -> tuple[float, float, float, float]:
    """Left, top, width and height of the grid's square: as large as fits, with true proportions at
    its middle latitude."""
    left, top, most_width, most_height = _PLANE_AREA
    ratio = 1.0 if frame.bounds is None else frame.bounds.aspect
    width = min(most_width, most_height * ratio)
    height = width / ratio
    return left + (most_width - width) / 2, top + (most_height - height) / 2, width, height


def round_ticks(
    low: float, high: float, *, degrees: str = "", room: float = math.inf
) -> list[tuple[float, str]]:
    """About five round values in low..high with their texts, fewer where there is not room for so
    many; `degrees` is "EW", "NS" or ""."""
    rough = (high - low) / min(5.0, room)
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * f for f in (1, 2, 2.5, 5, 10) if size * f >= rough)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    ticks = []
    for i in range(first, last + 1):
        value = i * step
        text = f"{value:.10g}"
        if degrees:
            value_there = value - 360 if value > 180 else value
            side = degrees[0] if value_there > 0 else degrees[1]
            text = f"{abs(value_there):.10g}°" + (f" {side}" if i else "")
        ticks.append((value, text))
    return ticks


def _axes(frame: Frame) -> list[str]:
    left, top, width, height = plane_box(frame)
    bounds, d = frame.bounds, float(frame.d)
    low, high = ((0.0, 0.0), (d, d)) if bounds is None else (bounds.low, bounds.high)
    names = ("EW", "NS") if bounds is not None and bounds.in_degrees else ("", "")
    bottom, drawn = top + height, []
    for value, text in round_ticks(low[0], high[0], degrees=names[0], room=width / _WORD[0]):
        x = left + (value - low[0]) / (high[0] - low[0]) * width
        drawn += [_line(x, top, x, bottom), _text(x, bottom + 26, text, 19, _SOFT_INK, "middle")]
    for value, text in round_ticks(low[1], high[1], degrees=names[1], room=height / _WORD[1]):
        y = bottom - (value - low[1]) / (high[1] - low[1]) * height
        drawn += [
            _line(left, y, left + width, y),
            _text(left - 10, y + 7, text, 19, _SOFT_INK, "end"),
        ]
    return drawn


def _dots(examples: Examples, frame: Frame) -> list[str]:
    left, top, width, height = plane_box(frame)
    step = math.ceil(max(1, len(examples.points)) / _MOST_DOTS)
    points = examples.points[::step].astype(np.float64) / frame.d
    places = np.column_stack([left + points[:, 0] * width, top + (1 - points[:, 1]) * height])
    labels = examples.labels[::step] != 0
    return [
        _dot(x, y, inside=inside)
        for inside in (False, True)
        for x, y in places[labels == inside].tolist()
    ]


def _dot(x: float, y: float, scale: float = 1.0, *, inside: bool) -> str:
    """A disc for a positive example, a ring for a negative one: colour is not the only sign."""
    at = f'<circle cx="{x:.1f}" cy="{y:.1f}"'
    if inside:
        return f'{at} r="{2.1 * scale:g}" fill="{_POSITIVE}" fill-opacity="0.75"/>'
    return f'{at} r="{1.8 * scale:g}" fill="none" stroke="{_NEGATIVE}" stroke-width="{scale:g}"/>'


def _side(figures: Sequence[tuple[str, str]], *, private: bool) -> list[str]:
    """The column at the side: legend, figures, and whether examples are shown."""
    y, key, right = _PLANE_AREA[1] + 12, _SIDE_LEFT + 26, _SIDE_LEFT + _SIDE_WIDTH
    (learned,) = scene({"learned": box(0, 11, 44, 33)}, 44, line=3.0)
    keys = [("learned", svg_path(learned, 44, (key - 22, y - 22, 44, 44)))]
    if private:
        keys += [
            ("example inside", _dot(key, y + 40, 3.0, inside=True)),
            ("example outside", _dot(key, y + 80, 3.0, inside=False)),
        ]
    drawn = []
    for text, sign in keys:
        drawn += [sign, _text(_SIDE_LEFT + 68, y + 8, text, 22)]
        y += 40
    y += 34
    drawn.append(_line(_SIDE_LEFT, y - 30, right, y - 30))
    for name, value in figures:
        drawn.append(_text(_SIDE_LEFT, y + 8, name, 19, _SOFT_INK))
        drawn.append(_text(right, y + 8, value, 22, anchor="end", most=_SIDE_WIDTH - 120))
        y += 38
    if private:
        bottom = _PLANE_AREA[1] + _PLANE_AREA[3] - 6
        drawn.append(_text(_SIDE_LEFT, bottom, "Contains private examples:", 19, _SOFT_INK))
        drawn.append(_text(_SIDE_LEFT, bottom + 26, "not part of the release.", 19, _SOFT_INK))
    return drawn


def _text(
    x: float,
    y: float,
    text: str,
    size: int,
    colour: str = _INK,
    anchor: str = "start",
    *,
    most: float = math.inf,
    bold: bool = False,
) -> str:
    """A text, cut where it would be about longer than `most` pixels."""
    letters = most / (size * (0.68 if bold else 0.6))
    if len(text) > letters:
        text = text[: int(letters) - 1] + "…"
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" '
        f'text-anchor="{anchor}"{weight}>{escape(text, quote=False)}</text>'
    )


def _line(x0: float, y0: float, x1: float, y1: float) -> str:
    return f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" stroke="{_RULE}" stroke-width="1"/>'


def _rectangle(
    plane: tuple[float, float, float, float], fill: str, line: str = "none", width: float = 0
) -> str:
    left, top, across, down = (f"{value:.1f}" for value in plane)
    place = f'x="{left}" y="{top}" width="{across}" height="{down}"'
    return f'<rect {place} fill="{fill}" stroke="{line}" stroke-width="{width:g}"/>'
