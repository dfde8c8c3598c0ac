"""One row of each person: docs/privacy.md, lemmas T0 and T1.

Which of a person's rows is taken is a function of that person's rows alone: the one whose hash of
identifier, grid point and label is least.  Nothing is drawn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geodp_app.document.examples import Examples
from geodp_app.errors import InputError
from geodp_app.files.import_file import ImportFile

#: Characters without width, which a text may show nothing by.
_WIDTHLESS = "\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff\u180e"

#: From here on doubles stand for several whole numbers.
_BLURRED = 2.0**53


def persons_of(file: ImportFile, place: int) -> list[str]:
    """Whose each row is, as the text of its cell.

    Raises
    ------
    InputError
        If a cell names nobody, or is a number that stands for several.
    """
    owners: list[str] = []
    for block in file.blocks((place,)):
        for i, text in enumerate(block.cells[0]):
            if fault := _fault(text):
                row = len(owners) + 1
                line = f" (line {block.lines[i]})" if block.lines else ""
                raise InputError(
                    f"{file.name}: row {row}{line}, column {file.columns[place]}: {fault}: it must "
                    "name a person"
                )
            owners.append(text)
    return owners


def _fault(text: str) -> str:
    if not text.strip().strip(_WIDTHLESS).strip():
        return "is empty"
    if text.strip().lower() in ("nan", "none", "null", "<na>"):
        return f"{text.strip()!r} is nobody"
    if "." in text or "e" in text.lower():
        try:
            value = abs(float(text))
        except ValueError:
            return ""
        if value >= _BLURRED:
            return f"{text.strip()[:40]} stands for several whole numbers"
    return ""


def one_each(
    examples: Examples, owners: Sequence[str], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Which examples stay, one of each person, in order.

    Parameters
    ----------
    examples : Examples
        n of them.
    owners : sequence of str
        Whose each row of the file is.
    rows : ndarray of int64, shape (n,)
        Which row of the file each example was.
    """
    least: dict[str, tuple[bytes, int]] = {}
    columns = zip(rows.tolist(), examples.points.tolist(), examples.labels.tolist(), strict=True)
    for i, (row, point, label) in enumerate(columns):
        owner = owners[row]
        key = f"{len(owner)} {owner} {point[0]} {point[1]} {label}".encode()
        lot = hashlib.blake2b(key, digest_size=16).digest()
        if owner not in least or lot < least[owner][0]:
            least[owner] = (lot, i)
    return np.array(sorted(i for _, i in least.values()), dtype=np.int64)
