"""The faces into which straight lines cut the plane, and how much of a side any two share.

Lines are cut where they meet (shapely's overlay, corners moved to multiples of a grain) and what
they enclose is collected (polygonize).  For drawing and for weighing: nothing here decides which
label a grid point has.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry


@dataclass(frozen=True, slots=True)
class Faces:
    """Polygons that meet along whole sides.

    Attributes
    ----------
    figures : ndarray of Polygon, shape (f,)
    pairs : ndarray of int64, shape (p, 2)
        Every two faces that share a side, once.
    lengths : ndarray of float64, shape (p,)
        How much of their sides these share.
    """

    figures: NDArray[Any]
    pairs: NDArray[np.int64]
    lengths: NDArray[np.float64]

    @property
    def areas(self) -> NDArray[np.float64]:
        """Area of each face."""
        return np.asarray(shapely.area(self.figures), dtype=np.float64)

    def inside(self, shape: BaseGeometry) -> NDArray[np.bool_]:
        """Which faces lie inside a shape, whose boundary is among the lines, by a point of each."""
        shapely.prepare(shape)
        found: NDArray[np.bool_] = shapely.contains(shape, shapely.point_on_surface(self.figures))
        return found


def cut_faces(lines: Iterable[BaseGeometry], grain: float) -> Faces:
    """The bounded faces of lines, corners at multiples of `grain`.

    Parameters
    ----------
    lines : iterable of shapely geometry
        What is no line in them is left out.
    grain : float
    """
    parts = shapely.get_parts(shapely.get_parts([line for line in lines if not line.is_empty]))
    parts = parts[np.isin(shapely.get_type_id(parts), (1, 2))]
    net = shapely.union_all(shapely.set_precision(parts, grain), grid_size=grain)
    figures = shapely.get_parts(shapely.polygonize(shapely.get_parts(net)))
    return Faces(figures, *_shared(figures, grain))


def _shared(figures: NDArray[Any], grain: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Pairs of faces, and the lengths of what they share."""
    rings, owner = shapely.get_rings(figures, return_index=True)
    corners, ring = shapely.get_coordinates(rings, return_index=True)
    places = np.rint(corners / grain).astype(np.int64)
    along = np.flatnonzero(ring[:-1] == ring[1:])
    ends = np.stack([places[along], places[along + 1]], axis=1)
    # the same segment is met from both sides: the lesser end first
    back = (ends[:, 0, 0] > ends[:, 1, 0]) | (
        (ends[:, 0, 0] == ends[:, 1, 0]) & (ends[:, 0, 1] > ends[:, 1, 1])
    )
    ends[back] = ends[back, ::-1]
    segments, number = np.unique(ends.reshape(-1, 4), axis=0, return_inverse=True)
    number = number.reshape(-1)
    order = np.argsort(number, kind="stable")
    twice = np.flatnonzero(number[order][:-1] == number[order][1:])
    faces = owner[ring[along]][order]
    pairs = np.sort(np.stack([faces[twice], faces[twice + 1]], axis=1), axis=1)
    steps = segments[number[order][twice]].reshape(-1, 2, 2)
    lengths = grain * np.hypot(*(steps[:, 1] - steps[:, 0]).T.astype(np.float64))
    apart = pairs[:, 0] != pairs[:, 1]
    whole, which = np.unique(pairs[apart], axis=0, return_inverse=True)
    sums = np.zeros(len(whole))
    np.add.at(sums, which.reshape(-1), lengths[apart])
    return whole.astype(np.int64), sums
