"""Reads points, and saves, loads and measures learned shapes, for Python (:mod:`geodp`).

What is needed for each is loaded when it is called.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from geometry.errors import InputError
from geometry.grid import BoundsError, Box

if TYPE_CHECKING:
    from geodp_app.document.examples import Examples
    from learners.core.estimator import Estimator
    from learners.core.learned_shape import LearnedShape


@contextmanager
def of_parameters() -> Iterator[None]:
    """What is wrong with input is told by parameters where the command line has options.

    What can be wrong with it is an InputError, or one of the errors of this module.
    """
    from geometry.geojson import GeoJSONError

    try:
        yield
    except InputError as error:
        text = re.sub(
            r"(?<![\w-])(?<!ledger )--([a-z][a-z-]*)",
            lambda option: option[1].replace("-", "_"),
            f"{error}{error.typed}",
        )
        raise InputError(text) from None
    except OSError as error:
        where = "" if error.filename is None else f"{os.fspath(error.filename)}: "
        raise InputError(f"{where}{error.strerror or error}") from None
    except ValueError as error:
        from learners.core.sklearn_support import NotFittedError

        if isinstance(error, BoundsError | GeoJSONError | NotFittedError):
            raise
        raise InputError(str(error)) from None


def checked(name: str, value: Any, kinds: type | tuple[type, ...], what: str) -> Any:
    """A parameter, if it is of its kind, or not given.

    Raises
    ------
    InputError
        If it is another.
    """
    if value is not None and not isinstance(value, kinds):
        raise InputError(f"{name} must be {what}, not {type(value).__name__}")
    return value


def path_of(name: str, value: Any) -> str:
    """A path, if it is one."""
    if value is None:
        raise InputError(f"{name} must be a path, not None")
    path: str = os.fspath(checked(name, value, PATHS, "a path"))
    return path


#: What a path may be.
PATHS = (str, os.PathLike)


def several(value: Any) -> tuple[Any, ...]:
    """One value, or those of a sequence, each once and in order; of None none."""
    if value is None:
        return ()
    alone = isinstance(value, str | bytes) or not isinstance(value, Iterable)
    try:
        return tuple(dict.fromkeys([value] if alone else value))
    except TypeError:
        raise InputError(f"one value or several are wanted, not {value!r:.60}") from None


@of_parameters()
def read_points(
    source: str | os.PathLike[str] | Any,
    *,
    bounds: Box | None = None,
    grid: int | None = None,
    crs: str | None = None,
    columns: Mapping[str, str] | None = None,
    layer: str | None = None,
    out_of_bounds: Literal["refuse", "drop", "clip"] = "refuse",
    unusable: Literal["refuse", "drop"] = "refuse",
    inside: Any = None,
    outside: Any = None,
    id: str | None = None,
    rows: int = 1,
) -> Examples:
    """Labelled points of a file or a data frame.

    Parameters
    ----------
    source : path-like or data frame
        CSV, GeoJSON, GeoPackage, Parquet or whatever GDAL reads; a DataFrame of pandas, or a
        GeoDataFrame of geopandas.
    bounds : Bounds or (west, south, east, north), optional
        Public bounds: never take them from the points.  Needed unless coordinates are whole
        numbers of a grid.
    grid : int, optional
        Grid size d; by default the file's own, else 1024.
    crs : str, optional
        Coordinate reference system of four numbers of `bounds`, such as "EPSG:32633"; by default
        longitude and latitude.
    columns : mapping, optional
        Names of columns by what they stand for: x, y, lon, lat, label.
    layer : str, optional
        Of a file with several.
    out_of_bounds : {"refuse", "drop", "clip"}
        What becomes of a row outside the bounds (docs/privacy.md, lemma T0).
    unusable : {"refuse", "drop"}
        What becomes of a row without a usable label or place.
    inside : label or sequence of labels, optional
        Labels that say inside, such as "flooded"; all others then say outside.  By default 1, true,
        yes, inside and the like.
    outside : label or sequence of labels, optional
        Beside `inside`, labels that say outside; any other is then none.
    id : str, optional
        Column that tells whose a row is: one row of each person is taken (lemma T1), and the
        release says so.
    rows : int
        With `id`: each person counts as so many examples, charged together by :func:`learn`; they
        are different rows of the person, or fewer in turn (lemma T2).

    Returns
    -------
    Examples
        With `points`, `labels` and `frame`.  Private.

    Raises
    ------
    InputError
        If something cannot be read; the message says what, where and what to do.
    BoundsError
        If the bounds are none.

    Warns
    -----
    PrivacyWarning
        If without `id` a column's name says that it may tell whose a row is, or the bounds are the
        extent of the points.

    Examples
    --------
    >>> import geodp, pandas
    >>> rows = pandas.DataFrame({"lon": [12.5, 7.0], "lat": [41.9, 47.0], "wet": ["yes", "no"]})
    >>> geodp.read_points(rows, bounds=(6, 36, 19, 48), columns={"label": "wet"}).labels
    array([1, 0])
    """
    from geodp_app.files.csv_table import as_cells
    from geodp_app.files.import_file import person_column, person_words
    from geodp_app.files.import_formats import is_data_frame, open_frame
    from geodp_app.files.points import (
        OUT_OF_BOUNDS,
        TIGHT,
        UNUSABLE,
        PointOptions,
        read_opened,
        read_points as read,
    )
    from geometry.grid import checked_bounds
    from geometry.halfplane import MAX_D
    from learners.core.examples import LabelWords
    from learners.core.sklearn_support import PrivacyWarning
    from learners.declaration import whole

    if not is_data_frame(source) and not isinstance(source, str | os.PathLike):
        raise InputError(
            f"points are read from a file or a data frame, not from {type(source).__name__}; "
            "arrays are for a learner's fit(X, y)"
        )
    checked("columns", columns, Mapping, "a mapping of names")
    for name, text in (("id", id), ("layer", layer), ("crs", crs)):
        checked(name, text, str, "a text")
    for role, column in (columns or {}).items():
        if not isinstance(column, str):
            raise InputError(f"columns: {role} must be a column's name, a text, not {column!r}")
    said = (("unusable", unusable, UNUSABLE), ("out_of_bounds", out_of_bounds, OUT_OF_BOUNDS))
    for name, value, choices in said:
        if value not in choices:
            raise InputError(f"{name} must be {' or '.join(choices)}, not {value!r}")
    grid = None if grid is None else whole("grid", grid, 1)
    if grid is not None and grid > MAX_D:
        raise InputError(f"grid must be at most {MAX_D:,}, not {grid:,}")
    rows = whole("rows", rows, 1)
    if crs is not None and bounds is None:
        raise InputError("crs is the system of bounds: give bounds in its units, too")
    if rows > 1 and id is None:
        raise InputError("rows is how many rows of a person: give id, too")
    box = None if bounds is None else checked_bounds(bounds, crs)
    known = None if crs is None or box is None else box.crs
    words = LabelWords.named(*(as_cells(list(several(each))) for each in (inside, outside)))
    options = PointOptions(
        grid, box, dict(columns or {}), known, layer, out_of_bounds, unusable, words, id, rows=rows
    )
    framed = is_data_frame(source)
    found = read_opened(open_frame(source), options) if framed else read(source, options)
    names = () if id is not None else found.file.columns
    if (person := person_column(names, (columns or {}).values())) is not None:
        text = f"{person_words(person)}: then give id={person!r}"
        warnings.warn(text, PrivacyWarning, stacklevel=3)
    if found.tight:
        warnings.warn(TIGHT, PrivacyWarning, stacklevel=3)
    if framed:
        return found.examples
    path = os.fspath(source)  # standard input is the file that it is
    return replace(found.examples, source=path if path == "-" else os.path.join(os.getcwd(), path))


@of_parameters()
def save(
    shape: LearnedShape | Estimator, path: str | os.PathLike[str], *, overwrite: bool = False
) -> None:
    """Write a learned shape, or what a fitted learner has learned, with its exact hypothesis.

    Parameters
    ----------
    shape : LearnedShape or fitted learner
    path : path-like
        Its ending says the format: .geojson, .gpkg, .parquet, .fgb or .shp; the last two hold
        polygons alone.
    overwrite : bool
        Whether a file, or a layer of this name, may go that geodp has not written.  Other layers
        of a GeoPackage stay.

    Raises
    ------
    InputError
        If it has another ending, a library is missing, something is there that is to be kept, or
        it cannot be written; a file that was there is then unchanged.
    NotFittedError
        If the learner has no complete run.

    Examples
    --------
    >>> import geodp, tempfile
    >>> shape = geodp.learn(geodp.sample("L", 2_000, grid=64, seed=1), "quadtree", seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     geodp.save(shape, f"{folder}/L.geojson")
    ...     geodp.load(f"{folder}/L.geojson") == shape
    True
    """
    from geodp_app.files.learned_file import shape_files
    from geodp_app.files.writing import check_ending, write_files

    learned = _learned(shape, "saved")
    path = path_of("path", path)
    check_ending(path, "a shape")
    write_files(shape_files(path, learned, overwrite=overwrite))


@of_parameters()
def load(path: str | os.PathLike[str]) -> LearnedShape:
    """A learned shape from its file: GeoJSON, GeoPackage or GeoParquet; clipped, if it was.

    Raises
    ------
    InputError
        If it is not there or damaged, cannot be read, or holds no hypothesis.
    GeoJSONError
        If it is no usable GeoJSON.
    """
    from geodp_app.files.learned_file import read_shape

    path = path_of("path", path)
    if not os.path.exists(path):
        raise InputError(f"{path}: there is no such file")
    return read_shape(Path(path))


@of_parameters()
def areas(
    shape: LearnedShape | Estimator,
    districts: str | os.PathLike[str] | Any,
    *,
    layer: str | None = None,
) -> Any:
    """Measure a learned shape in each of some districts, as `geodp areas` does.

    It costs no epsilon, and may be published as the shape may.  Areas are geodesic.

    Parameters
    ----------
    shape : LearnedShape or fitted learner
    districts : path-like or GeoDataFrame
        Public polygons: GeoJSON, GeoParquet or whatever GDAL reads, or an example by its name;
        without a coordinate reference system they lie as the shape does.
    layer : str, optional
        Of a file with several.

    Returns
    -------
    geopandas.GeoDataFrame
        The districts with columns in_bounds, area_km2, shape_km2, share, unreported, in_doubt
        (:func:`geodp_app.files.districts.measured`); a name that is taken gets an underscore.

    Raises
    ------
    InputError
        If the districts cannot be read, or lie elsewhere than the shape.
    GeoJSONError
        If they are no usable GeoJSON.
    NotFittedError
        If the learner has no complete run.

    Examples
    --------
    >>> import geodp, geopandas, shapely
    >>> shape = geodp.learn(geodp.sample("L", 5_000, grid=64, seed=1), "quadtree", seed=1)
    >>> halves = geopandas.GeoDataFrame(geometry=shapely.box([0, 32], 0, [32, 64], 64))
    >>> geodp.areas(shape, halves).share.round(1).tolist()  # on a grid there are shares alone
    [0.3, 0.2]
    """
    from geodp_app.files.districts import framed, measured
    from geodp_app.files.points_out import beside

    checked("layer", layer, str, "a text")
    learned = _learned(shape, "measured")
    frame, target = framed(districts, layer)
    return frame.assign(**beside(measured(learned, target), list(map(str, frame.columns))))


def _learned(shape: Any, done: str) -> LearnedShape:
    """A learned shape, or what a fitted learner has learned."""
    from learners.core.learned_shape import LearnedShape

    if isinstance(shape, type) or not (isinstance(shape, LearnedShape) or hasattr(shape, "placed")):
        raise InputError(
            f"a learned shape or a fitted learner is {done}, not {type(shape).__name__}"
        )
    return shape if isinstance(shape, LearnedShape) else shape.placed()
