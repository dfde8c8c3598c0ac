"""What pictures of a learned shape show: its polygons, each with a style, as SVG or by matplotlib.

The window draws with Qt in colours of its theme; all other pictures are made of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from geometry.grid import Frame

#: The shape's colour (bluish green of Okabe and Ito), and that of what rests on too few reports.
LEARNED, UNSUPPORTED = "#009E73", "#666666"


@dataclass(frozen=True, slots=True)
class Drawn:
    """Polygons in one style.

    Attributes
    ----------
    shape : shapely geometry
        Polygonal, in grid units.
    colour : str
        #RRGGBB.
    fill : float
        Opacity within, 0..1; of the hatching where it is `hatched`.
    line : float
        Width of the outline in pixels; 0 for none.
    hatched : bool
    """

    shape: BaseGeometry
    colour: str
    fill: float
    line: float
    hatched: bool = False


def scene(layers: Mapping[str, BaseGeometry], d: int, line: float = 1.5) -> tuple[Drawn, ...]:
    """The shape and, where support was released, the rest of the square of a grid of size d.

    `layers` are those of :class:`learners.core.learned_shape.LearnedShape`.
    """
    drawn = [Drawn(layers["learned"], LEARNED, 0.22, line)]
    if "support" in layers:
        rest = shapely.box(0, 0, d, d).difference(layers["support"])
        drawn.append(Drawn(rest, UNSUPPORTED, 0.5, 0.0, hatched=True))
    return tuple(drawn)


def svg_path(drawn: Drawn, d: int, box: tuple[float, float, float, float]) -> str:
    """Polygons as a path of SVG; details below half a pixel are left out.

    Parameters
    ----------
    drawn : Drawn
        Hatching is by the pattern "hatched" of :data:`HATCHED`.
    d : int
        Grid size.
    box : (left, top, width, height)
        Where the grid's square lies, in pixels.
    """
    left, top, width, height = box
    coarse = shapely.simplify(drawn.shape, d / max(width, height) / 2)
    rings = []
    for ring in _rings(coarse):
        x = left + ring[:-1, 0] * (width / d)
        y = top + (d - ring[:-1, 1]) * (height / d)
        corners = zip(x.tolist(), y.tolist(), strict=True)
        rings.append("M" + "L".join(f"{u:.1f} {v:.1f}" for u, v in corners) + "Z")
    fill = "url(#hatched)" if drawn.hatched else drawn.colour
    line = f' stroke="{drawn.colour}" stroke-width="{drawn.line:g}"' if drawn.line else ""
    return (
        f'<path d="{"".join(rings)}" fill="{fill}" fill-opacity="{drawn.fill:g}"{line} '
        'fill-rule="evenodd" stroke-linejoin="round"/>'
    )


#: A definition for documents that hold hatching.
HATCHED = (
    '<defs><pattern id="hatched" width="8" height="8" patternUnits="userSpaceOnUse">'
    f'<path d="M-1 9L9 -1" stroke="{UNSUPPORTED}" stroke-width="1"/></pattern></defs>'
)


def plot_patch(drawn: Drawn, frame: Frame, **style: Any) -> Any:
    """Polygons as a patch of matplotlib, in one piece across the antimeridian.

    Parameters
    ----------
    drawn : Drawn
    frame : Frame
        Coordinates are those of its bounds; without bounds grid units.
    **style
        Of the patch, instead of its own.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    rings = _rings(drawn.shape)
    corners = np.concatenate([np.empty((0, 2)), *rings])
    codes = [[Path.MOVETO, *[Path.LINETO] * (len(ring) - 2), Path.CLOSEPOLY] for ring in rings]
    path = Path(corners if frame.place is None else frame.place.to_own(corners),
                np.concatenate(codes) if codes else None)  # fmt: skip
    look: dict[str, Any] = {"edgecolor": drawn.colour, "linewidth": drawn.line}
    if drawn.hatched:
        look |= {"facecolor": "none", "hatch": "//"}
    else:
        look["facecolor"] = f"{drawn.colour}{round(255 * drawn.fill):02x}"
    return PathPatch(path, **look | style)


def _rings(shape: BaseGeometry) -> list[NDArray[np.float64]]:
    return [
        shapely.get_coordinates(ring)
        for part in shapely.get_parts(shape)
        if not part.is_empty
        for ring in (part.exterior, *part.interiors)
    ]
