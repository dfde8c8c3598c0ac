"""What pictures of a learned shape show: its polygons, each with a style, as SVG or by matplotlib.

The window draws with Qt in colours of its theme; all other pictures are made of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from geometry.grid import Frame

#: Bluish green of Okabe and Ito, and a grey for what rests on too few reports.
_LEARNED, _UNSUPPORTED = "#009E73", "#666666"

#: A definition for SVG documents that hold hatching.
HATCHED = (
    '<defs><pattern id="hatched" width="8" height="8" patternUnits="userSpaceOnUse">'
    f'<path d="M-1 9L9 -1" stroke="{_UNSUPPORTED}"/></pattern></defs>'
)


class Drawn(NamedTuple):
    """Polygons in grid units, their colour #RRGGBB, the opacity of what fills them, 0..1, the width
    of their outline in pixels, and whether hatching fills them."""

    shape: BaseGeometry
    colour: str
    fill: float
    line: float
    hatched: bool = False


def scene(layers: Mapping[str, BaseGeometry], d: int, line: float = 1.5) -> tuple[Drawn, ...]:
    """The shape and, where support was released, the rest of the square of a grid of size d.

    `layers` are those of :class:`learners.core.learned_shape.LearnedShape`.
    """
    learned = Drawn(layers["learned"], _LEARNED, 0.22, line)
    if "support" not in layers:
        return (learned,)
    rest = shapely.box(0, 0, d, d).difference(layers["support"])
    return learned, Drawn(rest, _UNSUPPORTED, 0.5, 0.0, hatched=True)


def svg_path(drawn: Drawn, d: int, box: tuple[float, float, float, float]) -> str:
    """Polygons as a path of SVG, empty if there are none; details below half a pixel are left out.

    `box` is where the grid's square lies, in pixels: left, top, width, height.
    """
    left, top, width, height = box
    rings = []
    for ring in _rings(shapely.simplify(drawn.shape, d / max(width, height) / 2)):
        at = (ring[:-1] * (1, -1) + (0, d)) * (width / d, height / d) + (left, top)
        rings.append("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in at.tolist()) + "Z")
    if not rings:
        return ""
    fill = "url(#hatched)" if drawn.hatched else drawn.colour
    line = f' stroke="{drawn.colour}" stroke-width="{drawn.line:g}"' if drawn.line else ""
    return (
        f'<path d="{"".join(rings)}" fill="{fill}" fill-opacity="{drawn.fill:g}"{line} '
        'fill-rule="evenodd" stroke-linejoin="round"/>'
    )


def plot_patch(drawn: Drawn, frame: Frame, **style: Any) -> Any:
    """Polygons as a patch of matplotlib, in the system of the bounds or in grid units, in one piece
    across the antimeridian; `style` goes before their own."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    rings = _rings(drawn.shape)
    corners = np.concatenate([np.empty((0, 2)), *rings])
    codes = [[Path.MOVETO, *[Path.LINETO] * (len(ring) - 2), Path.CLOSEPOLY] for ring in rings]
    place = corners if frame.place is None else frame.place.to_own(corners)
    fill = f"{drawn.colour}{round(255 * drawn.fill):02x}"
    look = {"edgecolor": drawn.colour, "linewidth": drawn.line, "facecolor": fill}
    look |= {"facecolor": "none", "hatch": "//"} if drawn.hatched else {}
    return PathPatch(Path(place, np.concatenate(codes) if codes else None), **look | style)


def _rings(shape: BaseGeometry) -> list[NDArray[np.float64]]:
    parts = [part for part in shapely.get_parts(shape) if not part.is_empty]
    return [shapely.get_coordinates(ring) for ring in shapely.get_rings(parts)]
