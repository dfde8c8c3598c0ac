"""The learned shape as a file: GeoJSON that carries its exact hypothesis.

The foreign member ``geodp`` holds the frame, the program's version and the release
(:mod:`learners.core.codec`): what may be published and nothing else.  Polygons that were clipped to
a public mask are a part of the release's shape, and ``geodp.clipped_to`` names the mask.  Support,
if it is released, is a second feature, of the layer "support", which is not clipped.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp_app.document.examples import Examples, Frame
from geodp_app.document.learned_shape import LearnedShape
from geodp_app.document.mask import Mask
from geodp_app.errors import InputError
from geodp_app.files.learned_layers import is_layer, layer_of_shapes, read_layers
from geodp_app.files.strict import one_line
from geodp_app.files.writing import check_kept, lost_and_kept, write_files
from geometry.files import NewFile
from geometry.geojson import TargetFile, read_geojson
from geometry.geojson_rings import GeoJSONError, checked_grid_size, short
from geometry.geojson_write import geojson_text, unit_box_map
from geometry.grid import Bounds, BoundsError, GridMap
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from geometry.polygons import contains_points
from learners.core.codec import release_from_dict
from learners.core.releases import CoverRelease, Release
from learners.privacy.accounting import privacy_statement


@dataclass(frozen=True, slots=True)
class LearnedFile:
    """A shape to be evaluated.

    Attributes
    ----------
    path : path
    target : TargetFile
        Its polygons, and its member ``geodp``.
    release : Release or None
        The exact hypothesis; None for a file that geodp did not write.
    """

    path: Path
    target: TargetFile
    release: Release | None

    @property
    def frame(self) -> Frame | None:
        """The file's own frame, if it names a grid."""
        target = self.target
        d = self.release.d if self.release else target.grid
        placed = target.member.get("georeferenced") is not False
        return None if d is None else Frame(d, target.bounds if placed else None)

    @property
    def clipped_to(self) -> str | None:
        """The mask that its polygons were clipped to, by name; the release is not."""
        name = self.target.member.get("clipped_to")
        return None if self.release is None or not isinstance(name, str) else name

    def predict(self, examples: Examples) -> NDArray[np.int64]:
        """Labels 0/1, shape (n,), by exact side tests or, without a release, by polygons.

        Raises
        ------
        InputError
            If the examples cannot be brought into the file's frame.
        """
        if self.release is not None:
            return self.release.predict(self.in_own_frame(examples))
        target, frame = self.target, examples.frame
        if target.frame == "lonlat" and (frame.bounds or target.bounds) is None:
            raise InputError(
                f"{self.path}: is in degrees and the examples are not; give --bounds W,S,E,N"
            )
        figure = target.figure(frame.d, frame.bounds)
        return contains_points(figure, examples.points).astype(np.int64)

    def in_own_frame(self, examples: Examples) -> NDArray[np.int64]:
        """Points of examples, shape (n, 2), on the grid of the file's release.

        Raises
        ------
        InputError
            If they cannot be brought there.
        """
        own, theirs = self.frame, examples.frame
        assert own is not None  # a release names its grid
        if own == theirs or (own.d == theirs.d and None in (own.bounds, theirs.bounds)):
            return examples.points
        if own.bounds is None or theirs.bounds is None:
            raise InputError(
                f"{self.path}: was learned on a grid of size {own.d}, the examples have "
                f"{theirs.d}, and bounds that could match them are not known"
            )
        there = GridMap(theirs.d, theirs.bounds).to_own(examples.points.astype(np.float64))
        try:
            moved = own.bounds.of_system(theirs.bounds.rolled(there), theirs.bounds.crs)
            return GridMap(own.d, own.bounds).own_to_grid(moved)
        except BoundsError as error:
            raise InputError(f"{self.path}: does not cover the examples: {error}") from None


def learned_text(
    release: Release, frame: Frame, *, raw_grid: bool = False, within: Mask | None = None
) -> str:
    """A release as the text of its GeoJSON file.

    Parameters
    ----------
    release : Release
    frame : Frame
        Where the grid lies; without bounds the shape goes to 0..1 degrees.
    raw_grid : bool
        Keep grid units: readers that follow RFC 7946 take them for degrees.
    within : Mask, optional
        Clips the polygons, and is named in the member ``geodp``; the release stays whole.

    Raises
    ------
    InputError
        If the mask cannot be placed on the grid, or nothing of it lies there.
    """
    collection = LearnedShape(release, frame, within).to_geojson(raw_grid=raw_grid)
    return geojson_text(collection)


def write_learned(
    path: str | os.PathLike[str],
    release: Release,
    frame: Frame,
    *,
    raw_grid: bool = False,
    within: Mask | None = None,
    overwrite: bool = False,
) -> None:
    """Write a release, whole or not at all, as :func:`shape_files`.

    Raises
    ------
    InputError
        As there.
    OSError
        If it cannot be written; a file that was there is then unchanged.
    """
    shape = LearnedShape(release, frame, within)
    write_files(shape_files(path, shape, raw_grid=raw_grid, overwrite=overwrite))


def shape_files(
    path: str | os.PathLike[str],
    shape: LearnedShape,
    *,
    raw_grid: bool = False,
    overwrite: bool = False,
) -> list[NewFile]:
    """A learned shape by the name's ending: GeoJSON, or a layer for GIS programs
    (:mod:`geodp_app.files.learned_layers`), with a style for QGIS beside it.

    Parameters
    ----------
    path : path-like
    shape : LearnedShape
    raw_grid : bool
        As in :func:`learned_text`.
    overwrite : bool
        Whether what is there may go though geodp has not written it.

    Raises
    ------
    InputError
        If grid units are asked for in another format than GeoJSON, a library is missing, the
        mask cannot be placed on the grid, or something is there that is to be kept.
    """
    check_kept(path, overwrite=overwrite)
    release, frame = shape.release, shape.frame
    if not is_layer(path):
        return [NewFile(path, geojson_text(shape.to_geojson(raw_grid=raw_grid)))]
    if raw_grid:
        raise InputError(f"{os.fspath(path)}: grid units are for GeoJSON: leave --raw-grid out")
    place = unit_box_map(frame.d) if frame.bounds is None else GridMap(frame.d, frame.bounds)
    stated = {
        "frame": "lonlat",
        "grid": frame.d,
        "georeferenced": frame.bounds is not None,
        "bounds": place.bounds.to_json(),
    }
    privacy = release.privacy
    about: dict[str, str | float] = {"statement": privacy_statement(privacy)}
    if privacy is not None:
        about |= {"epsilon": float(privacy.epsilon), "delta": float(privacy.delta)}
        about |= {"neighbours": privacy.neighbours}
    if Path(path).suffix.lower() == ".shp":  # its texts have room for 80 letters
        private = privacy is not None and privacy.private
        about["statement"] = "differentially private" if private else "not private"
    member = {**stated, **shape.member()}
    return layer_of_shapes(path, shape.layers(), place, member, about, overwrite=overwrite)


def whole_square(frame: Frame, within: Mask | None = None) -> LearnedShape:
    """A shape that holds every point and was learned from nothing: to try what a run would write.

    What cannot be placed, clipped or written of the square of a frame is so found before a draw.
    """
    lattice = HalfplaneLattice(frame.d)
    edge = frame.d << lattice.bits
    piece = (Halfplane(lattice, Sheet.STEEP_LEFT, edge, edge),)
    release = CoverRelease("none", lattice, (), None, "conjunction", (piece,), (0,))
    return LearnedShape(release, frame, within)


@contextlib.contextmanager
def rescued(shape: LearnedShape, released: Callable[[], None]) -> Iterator[None]:
    """What is learned is not lost if it cannot be written: then it is kept elsewhere, and told.

    Parameters
    ----------
    shape : LearnedShape
    released : callable
        Called before anything of the run can be read by anybody.

    Raises
    ------
    InputError
        If anything fails meanwhile: where the release is.
    """
    try:
        yield
    except Exception as error:
        released()
        # grid units can always be written; the exact hypothesis is in either
        raise lost_and_kept(error, geojson_text(shape.to_geojson(raw_grid=True))) from error


def place_note(name: object, frame: Frame, *, hint: bool = True) -> list[str]:
    """What to say of a file in degrees whose examples lie nowhere: one line, or none.

    `hint` adds what to do, where there is an option for it.
    Its place is a convention, within what RFC 7946 allows; no place is guessed.
    """
    if frame.bounds is not None:
        return []
    text = f"{name}: lies at 0..1 degrees, in the Gulf of Guinea, because no bounds are known"
    return [f"{text}: to place it, give --bounds W,S,E,N" if hint else text]


def _read_layer(path: Path) -> TargetFile:
    parts, crs, member, skipped = read_layers(path)
    try:
        box = member.get("bounds")
        bounds = None if box is None else Bounds.of_json(box)
        grid = None if member.get("grid") is None else checked_grid_size(member["grid"])
    except (BoundsError, GeoJSONError) as error:
        raise InputError(f"{path}: geodp: {error}") from None
    about: dict[str, Any] = {"properties": {}, "member": member, "skipped": skipped}
    return TargetFile(parts, "lonlat", grid, bounds, path.stem, **about, crs=crs)


def read_learned(path: Path) -> LearnedFile:
    """Read a learned file, or any other polygons, by the name's ending.

    Raises
    ------
    GeoJSONError
        If it is not usable GeoJSON.
    InputError
        If its release is damaged.
    """
    target = _read_layer(path) if is_layer(path) else read_geojson(path, allow_empty=True)
    data = target.member.get("release")
    if data is None:
        if not target.parts:
            raise InputError(f"{path}: no polygons in it")
        return LearnedFile(path, target, None)
    try:
        release = release_from_dict(data)
    except ValueError as error:
        raise InputError(f"{path}: geodp.release: {one_line(error)}") from None
    if not isinstance(release, Release):
        raise InputError(f"{path}: geodp.release: a {release.kind}, which is no shape of the plane")
    if target.grid is not None and target.grid != release.d:
        raise InputError(f"{path}: geodp.grid is {target.grid}, its release says {release.d}")
    return LearnedFile(path, target, release)


def load_shape(path: str | os.PathLike[str]) -> LearnedShape:
    """A learned shape from its file: GeoJSON, GeoPackage or GeoParquet.

    A shape that was clipped comes back whole, with a warning: the release is, and the mask is not
    in the file.

    Raises
    ------
    InputError
        If it is damaged, or holds no hypothesis.
    GeoJSONError
        If it is no usable GeoJSON.
    """
    learned = read_learned(Path(path))
    if learned.release is None or learned.frame is None:
        raise InputError(
            f"{path}: holds polygons alone: GeoJSON, GeoPackage and GeoParquet of geodp hold the "
            "exact hypothesis too"
        )
    if learned.clipped_to is not None:
        warnings.warn(
            f"{path}: its polygons are clipped to {short(learned.clipped_to)}, and this is the "
            "whole shape: clip it again",
            stacklevel=2,
        )
    return LearnedShape(learned.release, learned.frame)
