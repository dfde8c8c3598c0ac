"""Examples as the bytes of a NumPy ``.npz`` archive, and back without trusting them.

The reader takes nothing but two plain arrays of the expected types and sizes: the header of each
is compared with the bytes that are there before an array is made, and nothing is unpickled.
"""

from __future__ import annotations

import io
import math
import tokenize
import warnings

import numpy as np
from numpy.typing import NDArray

from geodp_app.document.examples import Examples
from geodp_app.files.strict import MAX_TOTAL, Archive, DamagedFileError, one_line

_POINTS, _LABELS = "points.npy", "labels.npy"
_VERSION = (1, 0)
#: What the parser of array headers has for nonsense.
_FAULTS = (
    ValueError,
    TypeError,
    EOFError,
    OverflowError,
    SyntaxError,
    RecursionError,
    MemoryError,
    tokenize.TokenError,
)


def points_bytes(examples: Examples) -> bytes:
    """The archive: 5 bytes an example where grid coordinates fit in 16 bits, else 9."""
    out = io.BytesIO()
    # row by row, whatever order the arrays have in memory
    points = np.ascontiguousarray(examples.points, _point_type(examples.frame.d))
    np.savez(out, allow_pickle=False, points=points, labels=examples.labels.astype("u1"))
    return out.getvalue()


def read_points(data: bytes, count: int, d: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Points, shape (count, 2), and labels, shape (count,), not yet compared with the grid.

    Parameters
    ----------
    data : bytes
    count : int
    d : int
        Grid size: it decides how coordinates are stored.

    Raises
    ------
    DamagedFileError
        If the archive is damaged, or holds anything else.
    """
    archive = Archive(io.BytesIO(data), {_POINTS: MAX_TOTAL, _LABELS: MAX_TOTAL})
    archive.refuse_others()
    points = _read_array(archive, _POINTS, _point_type(d), (count, 2))
    labels = _read_array(archive, _LABELS, "|u1", (count,))
    return points.astype(np.int64), labels.astype(np.int64)


def _point_type(d: int) -> str:
    """How coordinates 0..d are stored."""
    return "<u2" if d < 1 << 16 else "<u4"


def _read_array(
    archive: Archive, name: str, kind: str, shape: tuple[int, ...]
) -> NDArray[np.generic]:
    wanted = np.dtype(kind)
    try:
        stream = io.BytesIO(archive.read(name))
        if np.lib.format.read_magic(stream) != _VERSION:
            raise ValueError("is an array file of an unknown version")
        with warnings.catch_warnings(action="ignore"):  # about headers that others wrote
            found, by_columns, dtype = np.lib.format.read_array_header_1_0(stream)
        if (found, by_columns, dtype) != (shape, False, wanted):
            raise ValueError(f"is {dtype} of shape {found}, not {wanted} of shape {shape}")
        body = stream.read()
        if len(body) != wanted.itemsize * math.prod(shape):
            raise ValueError(f"has {len(body):,} bytes of data, not those of shape {shape}")
    except _FAULTS as error:
        raise DamagedFileError(f"{name}: {one_line(error)}") from None
    return np.frombuffer(body, wanted).reshape(shape)
