"""The bytes of a layer that GDAL writes, whole or not at all.

GDAL does not always tell of a write that failed: on a disk that fills it may leave a file without
its end, and end well.  So it writes into memory, and the bytes go to the disk by
:mod:`geometry.files`.  A shapefile, which is several files, goes to a folder only; what is found
there is looked through.
"""

from __future__ import annotations

import io
import os
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from geodp_app.errors import InputError
from geodp_app.files.layers import missing_library

_SHAPEFILE = "ESRI Shapefile"
#: Bytes of the head of .shp and .shx.
_HEAD = 100


def layer_files(
    path: Path,
    driver: str,
    shapes: NDArray[Any],
    fields: Sequence[tuple[str, NDArray[Any]]],
    kind: str,
    crs: str,
    metadata: Mapping[str, str] | None = None,
) -> dict[Path, bytes]:
    """What a layer's files are to hold, the file of the path itself last.

    Parameters
    ----------
    path : Path
        Where the layer is to be; its stem is the layer's name.  Nothing is written there.
    driver : str
        GDAL's name of the format.
    shapes : ndarray of object, shape (n,)
        Shapely geometries.
    fields : sequence of (str, ndarray) pairs
        Names and columns, shape (n,) each; names may be there twice.
    kind : str
        "Point" or "MultiPolygon".
    crs : str
    metadata : mapping, optional
        Of the layer, where the format has such.

    Raises
    ------
    InputError
        If pyogrio is missing, the format does not hold this, or there is no room for a shapefile
        in the folder for temporary files.
    """
    try:
        import pyogrio
        from pyogrio.errors import DataSourceError, FeatureError, FieldError, GeometryError
    except ImportError as error:
        raise InputError(missing_library(path.name, "pyogrio", error)) from None

    def write(to: io.BytesIO | str) -> None:
        with warnings.catch_warnings(action="ignore"):  # a name or a text that is cut
            pyogrio.raw.write(
                to,
                layer=path.stem,
                geometry=np.array(shapely.to_wkb(shapes), dtype=object),
                field_data=[column for _, column in fields],
                fields=np.array([name for name, _ in fields], dtype=object),
                driver=driver,
                geometry_type=kind,
                crs=crs,
                encoding="UTF-8",
                **({"layer_metadata": dict(metadata)} if metadata else {}),
            )

    try:
        if driver == _SHAPEFILE:
            return _shapefile(path, write, shapes)
        memory = io.BytesIO()
        write(memory)
        return {path: memory.getvalue()}
    except (DataSourceError, FeatureError, FieldError, GeometryError, RuntimeError) as error:
        told = " ".join(str(error).split())
        raise InputError(f"{path}: cannot be written: {told}") from None


def _shapefile(path: Path, write: Callable[[str], None], shapes: NDArray[Any]) -> dict[Path, bytes]:
    """The parts of a shapefile, by way of a folder."""
    from pyogrio.errors import DataSourceError, FeatureError

    why = ""
    with tempfile.TemporaryDirectory(prefix="geodp-") as folder:
        made = os.path.join(folder, f"{path.stem}.shp")
        try:
            write(made)
            parts = {each.suffix: each.read_bytes() for each in Path(folder).iterdir()}
            whole = is_whole(parts, len(shapes)) and _same_places(made, shapes)
        except (DataSourceError, FeatureError) as error:
            whole, why = False, f" ({' '.join(str(error).split())})"
    if not whole:
        raise InputError(
            f"{path}: cannot be written: a shapefile is made in {tempfile.gettempdir()} first, and "
            f"did not arrive there whole{why}: make room there, or write .gpkg"
        )
    main = parts.pop(".shp")
    return {path.with_suffix(ending): parts[ending] for ending in sorted(parts)} | {path: main}


def is_whole(parts: Mapping[str, bytes], n: int) -> bool:
    """Whether nothing is missing of a shapefile of n features, by the lengths that it tells.

    A hole in the records of fields is seen too: spaces fill them up, never zeros.
    """
    shp, shx, dbf = (parts.get(ending, b"") for ending in (".shp", ".shx", ".dbf"))
    head, record = (int.from_bytes(dbf[at : at + 2], "little") for at in (8, 10))
    return (
        len(shp) >= _HEAD
        and len(shp) == 2 * int.from_bytes(shp[24:28], "big")
        and len(shx) == _HEAD + 8 * n
        and head > 0
        and len(dbf) >= head + record * n
        and b"\0" not in dbf[head:]
        and parts.get(".cpg") == b"UTF-8"
        and parts.get(".prj", b"").rstrip().endswith(b"]")
    )


def _same_places(made: str, shapes: NDArray[Any]) -> bool:
    """Whether the coordinates arrived, in whatever order rings are written."""
    import pyogrio

    with warnings.catch_warnings(action="ignore"):
        try:
            _, _, wkb, _ = pyogrio.raw.read(made, columns=[])
        except RuntimeError:  # as all of its errors are
            return False
    found = shapely.from_wkb(wkb, on_invalid="ignore")
    return np.array_equal(_sorted(found), _sorted(shapes))


def _sorted(shapes: NDArray[Any]) -> NDArray[np.float64]:
    places: NDArray[np.float64] = shapely.get_coordinates(shapes)
    return places[np.lexsort(places.T)]
