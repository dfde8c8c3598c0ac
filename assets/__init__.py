"""Data that ships with geodp, read through importlib.resources.

Example targets and a map of land (GeoJSON), towns (CSV), colour palettes (JSON), icons (SVG),
styles for Qt and for QGIS (QSS, QML).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class Example:
    """What shows an example target best, at epsilon = 1: so that its triangles gain.

    Attributes
    ----------
    n : int
        Examples to draw.
    k : int or None
        Of a cover; None where the drawing says.
    finish : {"sharpen", "none"}
        Whether the triangles' edges are drawn again.  An outline of many corners is far from a few
        triangles, and they are found quickly where they need not fit well.
    """

    n: int
    k: int | None = None
    finish: Literal["sharpen", "none"] = "none"


_EXAMPLES = {
    "L": Example(20_000),
    "star": Example(20_000),
    "three": Example(20_000),
    "tri": Example(10_000),
    "letters": Example(100_000, 4, "sharpen"),
    "flood": Example(100_000, 3, "sharpen"),
    "fire": Example(100_000, 2, "sharpen"),
    "croatia": Example(100_000, 3, "sharpen"),
    "switzerland": Example(100_000, 3, "sharpen"),
    "italy": Example(100_000, 3, "sharpen"),
}


#: Names of all shapes: the example targets, and land.
NAMED_SHAPES = (*_EXAMPLES, "land")


class UnknownExampleError(ValueError):
    """No example target has this name; the message lists those that exist."""


class UnknownIconError(ValueError):
    """No icon has this name."""


def examples() -> tuple[str, ...]:
    """Names of the example targets, in the order to show them."""
    return tuple(_EXAMPLES)


def example(name: str) -> Example:
    """What shows an example target best.

    Raises
    ------
    UnknownExampleError
        If there is no such example.
    """
    if name not in _EXAMPLES:
        raise UnknownExampleError(f"no example {name!r}; there are: {', '.join(_EXAMPLES)}")
    return _EXAMPLES[name]


def example_path(name: str) -> Path:
    """Path of an example target's GeoJSON file.

    Parameters
    ----------
    name : str
        One of :func:`examples`.

    Raises
    ------
    UnknownExampleError
        If there is no such example.
    """
    example(name)
    return asset_path("examples", f"{name}.geojson")


def shape_path(text: str) -> Path:
    """The path that a text is, or that of a shape by its name.

    Raises
    ------
    ValueError
        If it is both: a file has this name, too.
    """
    path = Path(text)
    if text not in NAMED_SHAPES:
        return path
    found = _named_path(text)
    if path.is_file():
        raise ValueError(
            f"{text} is a file here, and an example of geodp: say ./{text} for the file, or {found}"
        )
    return found


def shape_name(path: Path) -> str:
    """What :func:`shape_path` makes this path of."""
    return next((name for name in NAMED_SHAPES if path == _named_path(name)), str(path))


def _named_path(name: str) -> Path:
    return land_path() if name == "land" else example_path(name)


def palette_path(name: str) -> Path:
    """Path of a palette, "light" or "dark": JSON, one colour a meaning."""
    return asset_path("palettes", f"{name}.json")


def land_path() -> Path:
    """Path of the land of the Earth, in degrees: a GeoJSON file."""
    return asset_path("maps", "land.geojson")


def towns_path() -> Path:
    """Path of real labelled points: towns in and around Italy, CSV of lon,lat,label.

    Their public bounds are west 6, south 36, east 19, north 48.
    """
    return asset_path("points", "italy-towns.csv")


def icon_path(name: str) -> Path:
    """Path of an icon's SVG file.

    Raises
    ------
    UnknownIconError
        If there is no such icon.
    """
    path = asset_path("icons", f"{name}.svg")
    if not path.is_file():
        raise UnknownIconError(f"no icon {name!r}")
    return path


def icons() -> tuple[str, ...]:
    """Names of the icons, sorted."""
    return tuple(sorted(path.stem for path in asset_path("icons").glob("*.svg")))


def asset_path(*parts: str) -> Path:
    """Path of a file or folder, by its folders and name."""
    # the package is installed as plain files, so a resource is a path
    return Path(str(files(__name__))).joinpath(*parts)
