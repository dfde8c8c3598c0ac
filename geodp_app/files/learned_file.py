"""Writes learned shapes as GeoJSON, or as a layer for GIS programs, and reads them back.

The member ``geodp`` of GeoJSON holds the frame, the program's version, the release
(:mod:`learners.core.codec`) and the public maps that the shape is clipped to: what may be published
and nothing else.  Support, if it is released, is a second feature, of the layer "support", which is
not clipped.

A layer lies in the coordinate reference system of the bounds, so that edges are straight, and a
style for QGIS is written beside it.  GeoPackage and GeoParquet carry the member ``geodp`` in their
metadata; FlatGeobuf and shapefiles hold polygons alone.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from assets import asset_path
from geodp_app.document.examples import Examples, Frame
from geodp_app.files.gdal_layers import layer_files
from geodp_app.files.strict_reading import damage_in, one_line
from geodp_app.files.writing import NewFile, advice, check_kept
from geodp_app.formatting import counted
from geometry.arrays import Ints
from geometry.errors import InputError, refusals
from geometry.geojson import TargetFile, read_geojson
from geometry.geojson_reading import MAX_BYTES
from geometry.geojson_write import (
    each_layer,
    frame_member,
    geojson_text,
    placed_shape,
    unit_box_map,
)
from geometry.gis_files import library, read_polygons
from geometry.grid import BoundsError
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from geometry.mask import Mask
from geometry.polygons import contains_points
from learners.core.codec import release_from_dict
from learners.core.learned_shape import LearnedShape
from learners.core.releases import (
    ConicRelease,
    CoverRelease,
    PiecesRelease,
    Release,
    SharpenedRelease,
    TilesRelease,
)

#: Endings of names of layers.
SHAPE_FORMATS = {
    ".gpkg": "GeoPackage",
    ".fgb": "FlatGeobuf",
    ".shp": "Shapefile",
    ".parquet": "GeoParquet",
}

#: Fields of sentences, which are no shapefile's.
_LONG = ("accuracy", "support")


@dataclass(frozen=True, slots=True)
class LearnedFile:
    """A shape that was read: of geodp, or polygons of any program."""

    path: Path
    #: The polygons in the file, and its member ``geodp``.
    target: TargetFile
    #: None for a file that geodp did not write.
    shape: LearnedShape | None

    @property
    def release(self) -> Release | None:
        """The exact hypothesis, if the file holds it."""
        return None if self.shape is None else self.shape.release

    @property
    def frame(self) -> Frame | None:
        """The file's own frame, if it names a grid."""
        target = self.target
        if self.shape is not None:
            return self.shape.frame
        placed = target.member.get("georeferenced") is not False
        return Frame(target.grid, target.bounds if placed else None) if target.grid else None

    def predict(self, examples: Examples, mask: Mask | None = None) -> Ints:
        """Labels 0/1, shape (n,), by exact side tests or, without a release, by polygons; 0 outside
        of a mask.  Raises InputError if the examples cannot be brought into the file's frame."""
        target, frame = self.target, examples.frame
        if self.shape is not None:
            labels = self.shape.labels(self.in_own_frame(examples))
        elif target.frame == "lonlat" and (frame.bounds or target.bounds) is None:
            raise InputError(
                f"{self.path}: is in degrees and the examples are not; give --bounds W,S,E,N"
            )
        else:
            figure = target.figure(frame.d, frame.bounds)
            labels = contains_points(figure, examples.points).astype(np.int64)
        return labels if mask is None else mask.keep(labels, examples.points, frame)

    def in_own_frame(self, examples: Examples) -> Ints:
        """Points of examples, shape (n, 2), on the grid of the file's release; raises InputError if
        they cannot be brought there."""
        own, theirs = self.frame, examples.frame
        assert own is not None  # a release names its grid
        if own == theirs or (own.d == theirs.d and None in (own.bounds, theirs.bounds)):
            return examples.points
        if own.place is None or theirs.place is None:
            raise InputError(
                f"{self.path}: was learned on a grid of size {own.d}, the examples have "
                f"{theirs.d}, and bounds that could match them are not known"
            )
        there = theirs.place.bounds.rolled(theirs.place.to_own(examples.points.astype(np.float64)))
        with refusals(f"{self.path}: does not cover the examples", BoundsError):
            moved = own.place.bounds.of_system(there, theirs.place.bounds.crs)
            return own.place.own_to_grid(moved)


def learned_text(release: Release, frame: Frame) -> str:
    """A release as the text of its GeoJSON file; without bounds it goes to 0..1 degrees."""
    return geojson_text(LearnedShape(release, frame).to_geojson())


def shape_files(
    path: str | os.PathLike[str],
    shape: LearnedShape,
    *,
    raw_grid: bool = False,
    overwrite: bool = False,
) -> list[NewFile]:
    """A learned shape by the name's ending: GeoJSON, or a layer for GIS programs.

    A style for QGIS is beside a layer where none is there: one that somebody made stays.  Raises
    InputError if grid units are asked for in another format than GeoJSON, a library is missing, the
    file cannot be written in this format, or something is there that is to be kept; GeoJSONError if
    a mask cannot be placed on the grid.  `raw_grid`: keep grid units, which readers that follow RFC
    7946 take for degrees.  `overwrite`: whether what is there may go though geodp has not written
    it.
    """
    check_kept(path, overwrite=overwrite)
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in SHAPE_FORMATS:
        return [NewFile(path, geojson_text(shape.to_geojson(raw_grid=raw_grid)))]
    if raw_grid:
        raise InputError(f"{path}: grid units are for GeoJSON: leave --raw-grid out")
    pyarrow = library("pyarrow", path.name)
    place = shape.frame.place or unit_box_map(shape.frame.d)
    layers = {
        name: placed_shape(layer, place.d, place, degrees=False)
        for name, layer in shape.layers().items()
    }
    layers = {name: layer for name, layer in layers.items() if not layer.is_empty}
    about = shape.fields()
    if ending == ".shp":  # its texts have room for 80 letters, its numbers for 15 decimals
        private = shape.privacy is not None and shape.privacy.private
        about["statement"] = "differentially private" if private else "not private"
        about = {name: value for name, value in about.items() if name not in _LONG}
        for name in {"epsilon", "delta"} & set(about):  # never less than is proved
            about[name] = math.ceil(Fraction(about[name]) * 10**15) / 10**15
    wkb = [
        shapely.to_wkb(shapely.MultiPolygon([layer]) if layer.geom_type == "Polygon" else layer)
        for layer in layers.values()
    ]
    geometry = "geometry" if ending == ".parquet" else "geom"  # as is usual there
    kinds = {str: pyarrow.string(), float: pyarrow.float64()}  # also where there is no layer
    table = pyarrow.table({
        "layer": pyarrow.array(list(layers), pyarrow.string()),
        **{name: pyarrow.array(each_layer(name, value, layers), kinds[type(value)])
           for name, value in about.items()},
        geometry: pyarrow.array(wkb, pyarrow.binary()),
    })  # fmt: skip
    member = {**frame_member(shape.frame), **shape.member()}
    files = layer_files(
        path, table, geometry, "MultiPolygon", place.bounds.crs,
        member=json.dumps(member), overwrite=overwrite,
    )  # fmt: skip
    look = path.with_suffix(".qml")
    style = asset_path("maps", "learned.qml")
    styled = [] if os.path.lexists(look) else [NewFile(look, style.read_bytes())]
    return [*styled, *(NewFile(each, data) for each, data in files.items())]


def whole_square(frame: Frame, *masks: Mask) -> LearnedShape:
    """A shape that holds every point and was learned from nothing: to try what a run would write.

    What cannot be placed, clipped or written of the square of a frame is so found before a draw.
    """
    lattice = HalfplaneLattice(frame.d)
    edge = frame.d << lattice.bits
    piece = (Halfplane(lattice, Sheet.STEEP_LEFT, edge, edge),)
    release = CoverRelease("none", lattice, (), None, "conjunction", (piece,), (0,))
    return LearnedShape(release, frame, masks)


@contextlib.contextmanager
def rescued(shape: LearnedShape, released: Callable[[], None]) -> Iterator[None]:
    """What is learned is not lost if it cannot be written: then it is kept elsewhere, and told.

    Its epsilon is spent, so it goes to a new file among the temporary ones, or to standard output.
    Raises InputError if anything fails meanwhile: where the release is.  `released`: called before
    anything of the run can be read by anybody.
    """
    try:
        yield
    except Exception as error:
        released()
        if isinstance(error, OSError):
            why = f"{error.filename or 'the files'}: cannot be written: {error.strerror or error}"
            why += advice(error)
        else:
            why = " ".join(str(error).split()) or type(error).__name__
        # grid units can always be written; the exact hypothesis is in either
        text = geojson_text(shape.to_geojson(raw_grid=True))
        try:
            handle, name = tempfile.mkstemp(prefix="geodp-", suffix=".geojson")
            with open(handle, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError:
            with contextlib.suppress(NameError, OSError):
                os.unlink(name)
            print(text, end="", flush=True)
            name = "on standard output instead"
        else:
            name = f"kept in {name}"
        raise InputError(f"{why}; what was learned is {name}") from error


def place_note(name: object, frame: Frame, *, hint: bool = True) -> list[str]:
    """What to say of a file in degrees whose examples lie nowhere: one line, or none.

    `hint` adds what to do, where there is an option for it.
    Its place is a convention, within what RFC 7946 allows; no place is guessed.
    """
    if frame.bounds is not None:
        return []
    text = f"{name}: lies at 0..1 degrees, in the Gulf of Guinea, because no bounds are known"
    return [f"{text}: to place it, give --bounds W,S,E,N" if hint else text]


def parts(release: Release) -> tuple[int, str]:
    """How many tiles or pieces it has, and what one of them is called."""
    if isinstance(release, ConicRelease):
        return len(release.conics), release.lattice.kind
    if isinstance(release, TilesRelease):
        return len(release.tiles), "tile"
    assert isinstance(release, PiecesRelease | SharpenedRelease)
    names = {"lifted": "region", "cover": "piece", "sharpened": "triangle"}
    return len(release.pieces), names[release.kind]


def parts_text(release: Release) -> str:
    """How many tiles or pieces it has, in words."""
    many, name = parts(release)
    text = f"{many} {name}" if many == 1 else f"{many} {name}s"
    if isinstance(release, SharpenedRelease):
        text += f" with their edges drawn again in {counted(len(release.zones), 'zone')}"
    return text


def wrong_labels_text(release: Release) -> str | None:
    """About how many labels are wrong, as a run by tiles saw it.

    None where right labels of an outline with many bends would look as wrong.
    """
    if not isinstance(release, TilesRelease) or release.privacy is None:
        return None
    public = dict(release.parameters)
    asked = release.privacy.charge("noisy number of mistakes")
    drawn = release.privacy.charge("selections")
    share = public.get("wrong_labels")
    if not share or asked is None or drawn is None:
        return None
    # it brings compiled loops along
    from learners.tiles.tile_choice import looks_wrong

    mistakes, count, d = public["noisy_mistakes"], public["noisy_count"], release.d
    noise = {"eta": drawn.each, "scale": 1 / asked.each}
    if not looks_wrong(mistakes, count, d, edges=public["edges"], **noise):
        return None
    text = f"about {100 * share:.0f} % of the labels look wrong, by a count with noise"
    return f"{text}, or belong to parts too small to see"


def read_learned(path: Path) -> LearnedFile:
    """Read a learned file, or any other polygons, by the name's ending; raises GeoJSONError if it
    is not usable GeoJSON; InputError if its release or its maps are damaged."""
    if path.suffix.lower() in SHAPE_FORMATS:
        target = read_polygons(path)
    else:  # maps that it is clipped to may be as large as files of their own
        target = read_geojson(path, allow_empty=True, max_bytes=2 * MAX_BYTES)
    data = target.member.get("release")
    if data is None:
        if not target.parts:
            raise InputError(f"{path}: no polygons in it")
        return LearnedFile(path, target, None)
    with refusals(path), damage_in("geodp.release", (ValueError,)):
        release = release_from_dict(data)
    if not isinstance(release, Release):
        raise InputError(f"{path}: geodp.release: a {release.kind}, which is no shape of the plane")
    if target.grid is not None and target.grid != release.d:
        raise InputError(f"{path}: geodp.grid is {target.grid}, its release says {release.d}")
    placed = target.member.get("georeferenced") is not False
    frame = Frame(release.d, target.bounds if placed else None)
    masks = _masks(path, target.member, frame)
    return LearnedFile(path, target, LearnedShape(release, frame, masks))


def read_shape(path: Path) -> LearnedShape:
    """Read a learned file with its exact hypothesis; raises GeoJSONError or InputError as
    :func:`read_learned`; if it holds polygons alone."""
    if (shape := read_learned(path).shape) is None:
        raise InputError(
            f"{path}: holds polygons alone: GeoJSON, GeoPackage and GeoParquet of geodp hold the "
            "exact hypothesis too"
        )
    return shape


def _masks(path: Path, member: Any, frame: Frame) -> tuple[Mask, ...]:
    """The maps that a shape is clipped to."""
    within = member.get("within", [])
    if "clipped_to" in member and not within:
        raise InputError(
            f"{path}: is clipped to a map that is not in it, as an earlier geodp wrote it: without "
            "its member geodp.clipped_to it is read as the whole shape"
        )
    try:
        if not isinstance(within, list):
            raise ValueError("within: must be a list of maps")
        masks = tuple(map(Mask.from_dict, within))
        for mask in masks:
            mask.region(frame)  # one that does not reach the grid is none of this shape
        return masks
    except ValueError as error:
        raise InputError(f"{path}: geodp.{one_line(error)}") from None
