"""Points with their columns and new ones, as CSV or a layer for GIS programs."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import shapely
from numpy.typing import NDArray

from geodp_app.document.examples import Frame
from geodp_app.files.gdal_layers import layer_files
from geodp_app.files.writing import POINT_FORMATS
from geometry.crs import LONLAT, reproject
from geometry.files import atomic_write, atomic_write_all
from geometry.geojson_write import unit_box_map


def write_points(
    path: str | os.PathLike[str],
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    added: Mapping[str, NDArray[np.int64]],
    places: NDArray[np.float64],
    frame: Frame,
) -> None:
    """Write rows with new columns after their own, for their owner alone.

    Parameters
    ----------
    path : path-like
        Its ending says the format: CSV without one.
    columns : sequence of str
        Names of the rows' cells.
    rows : sequence of sequences of str
        n rows.
    added : mapping
        New columns by name, shape (n,) each; a name that is taken gets an underscore.
    places : ndarray of float, shape (n, 2)
        Where the rows' points lie, in the system of the frame's bounds, else in grid units.
    frame : Frame

    Raises
    ------
    InputError
        If a library is missing, or the file cannot be written in this format.
    OSError
        If it cannot be written.
    """
    path = Path(path)
    taken = {name.lower() for name in columns}
    named = {}
    for name, values in added.items():
        while name.lower() in taken:
            name += "_"
        named[name] = values
    if path.suffix.lower() not in POINT_FORMATS:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*columns, *named])
        for i, row in enumerate(rows):
            writer.writerow([*row, *(int(values[i]) for values in named.values())])
        atomic_write(path, text.getvalue(), private=True)
        return
    driver = POINT_FORMATS[path.suffix.lower()]
    # without bounds a grid goes to 0..1 degrees, as learned shapes do
    place = frame.bounds
    own = unit_box_map(frame.d).to_own(places) if place is None else place.rolled(places)
    crs = LONLAT if frame.bounds is None else frame.bounds.crs
    if driver == "GeoJSON":
        own, crs = reproject(own, crs, LONLAT), LONLAT
    cells = [np.array(each, dtype=object) for each in zip(*rows, strict=True)]
    fields = [*zip(columns, cells, strict=True), *named.items()]
    files = layer_files(path, driver, shapely.points(own), fields, "Point", crs)
    atomic_write_all(files.items(), private=True)
