"""Reads public bounds as they are typed, or from a map file; never from examples."""

from __future__ import annotations

import os
from collections.abc import Mapping

from geodp_app.errors import InputError, refusals
from geometry.geojson import GeoJSONError, NoPolygonsError, read_geojson
from geometry.globe import lonlat_box
from geometry.grid import Bounds

#: In the order of :meth:`geometry.grid.Bounds.as_tuple`.
SIDES = ("West", "South", "East", "North")


def typed_bounds(texts: Mapping[str, str]) -> Bounds:
    """The box that is typed.

    Parameters
    ----------
    texts : mapping
        A text for each of :data:`SIDES`.

    Raises
    ------
    InputError
        If it is no box; the message is empty as long as something is missing.
    """
    values = []
    for side in SIDES:
        text = texts[side].strip()
        try:
            # a minus sign or a comma as they come from a map's page
            values.append(float(text.replace("−", "-").replace(",", ".").rstrip("° ")))
        except ValueError:
            if text and text not in "-−+.":
                raise InputError(f"{side}: {text[:40]!r} is not a number of degrees") from None
    if len(values) < len(SIDES):
        raise InputError("")
    with refusals():
        return Bounds(*values)


def bounds_of_map(path: str | os.PathLike[str]) -> Bounds:
    """The bounds that a map file states, else the box around its shapes.

    A file of points is refused: it may hold the examples themselves.

    Raises
    ------
    InputError
        If it cannot be read, has no shapes, or lies nowhere on the globe.
    """
    name = os.fspath(path)
    try:
        target = read_geojson(path)
        if target.bounds is not None and target.member.get("georeferenced") is not False:
            return target.bounds
        if target.frame == "grid" or target.bounds is not None:
            raise InputError(f"{name}: its shape lies nowhere on the globe; choose another map")
        return Bounds(*lonlat_box(target.outlines))
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from None
    except NoPolygonsError:
        raise InputError(
            f"{name}: has no shape; bounds are taken from shapes only, as points may be private"
        ) from None
    except GeoJSONError as error:  # names the file already
        raise InputError(str(error)) from None
