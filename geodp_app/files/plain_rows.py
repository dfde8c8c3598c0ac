"""Reads rows of a CSV text many at a time, where quotes and delimiters leave no doubt.

That is so where a quote stands at an end of a cell, or as one of two within it: then each newline
and each delimiter is known for what it is, and numpy reads the columns.  Whatever is doubtful is
left to the reader of single rows (:mod:`geodp_app.files.csv_table`), which decides what a file
holds; what is read here is what it would read.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Characters of a text that are taken apart at a time, and most of them.
PART, MOST = 1 << 18, 1 << 20

#: White space that numpy passes over beside a number, and a number of a file does not have.
_SPACES = (
    "\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)


@dataclass(frozen=True, slots=True)
class PlainRows:
    """Whole rows of a text.

    Attributes
    ----------
    ends : ndarray of int64, shape (n,)
        Where they end: the places of these newlines.
    cuts : ndarray of int64
        Where cells end before others of their row.
    lines : ndarray of int64, shape (n,)
        The line on which each row ends, from 1.
    """

    ends: NDArray[np.int64]
    cuts: NDArray[np.int64]
    lines: NDArray[np.int64]

    def are_table(self, width: int) -> bool:
        """Whether all have so many cells, none of them too long for the reader of single rows."""
        ends, cuts, sizes = self.ends, self.cuts, np.diff(self.ends, prepend=-1)
        if len(cuts) != (width - 1) * len(ends):
            return False
        within = cuts.reshape(len(ends), width - 1)
        if width > 1 and ((within[:, -1] > ends).any() or (within[1:, 0] < ends[:-1]).any()):
            return False
        return bool(sizes.max() <= csv.field_size_limit())


def plain_parts(
    text: str, start: int, end: int, delimiter: str
) -> Iterator[tuple[int, int, PlainRows | None]]:
    """The rows of a text in parts: where each begins and stops, and its rows.

    None stands for rows that have to be read one by one: one is very long, or quotes are doubtful,
    and then no end of a row is known before the rest is read.
    """
    quoted = text.find('"', start, end) >= 0
    while start < end:
        stop = text.find("\n", start + PART, end) + 1 or end
        odd = quoted and text.count('"', start, stop) % 2
        while odd and stop < end and stop - start <= MOST:  # this newline is in quotes
            further = text.find("\n", stop, end) + 1 or end
            odd ^= text.count('"', stop, further) % 2
            stop = further
        rows = None if stop - start > MOST else _plain_rows(text[start:stop], delimiter)
        if rows is None and quoted:
            stop = end
        yield start, stop, rows
        start = stop


def _plain_rows(piece: str, delimiter: str) -> PlainRows | None:
    """The rows of a text; None if a quote is doubtful."""
    ended = piece if piece.endswith("\n") else f"{piece}\n"
    held = np.frombuffer(ended.encode("latin-1", "replace"), dtype=np.uint8)
    ends, cuts = np.flatnonzero(held == ord("\n")), np.flatnonzero(held == ord(delimiter))
    lines = np.arange(1, len(ends) + 1)
    if '"' in piece:
        quotes = np.flatnonzero(held == ord('"'))
        beside = np.zeros(256, dtype=bool)
        # \r and \0 stand before a newline alone (of the writer's texts)
        beside[[ord(each) for each in f'\n\r\0"{delimiter}']] = True
        # the first may have none before it: then it is the last character, a newline
        plain = beside[held[quotes[::2] - 1]].all() and beside[held[quotes[1::2] + 1]].all()
        if len(quotes) % 2 or not plain:
            return None
        outside = np.searchsorted(quotes, ends) % 2 == 0
        ends, lines = ends[outside], lines[outside]
        cuts = cuts[np.searchsorted(quotes, cuts) % 2 == 0]
    return PlainRows(ends, cuts, lines)


def plain_columns(
    piece: str, delimiter: str, wanted: list[int], kinds: Sequence[type]
) -> list[NDArray[Any]] | None:
    """Columns of a text of plain rows, as float or, with object, as texts.

    None if a cell is no finite number, or may be none, though its column should be of numbers.
    """
    if float in kinds and any(space in piece for space in _SPACES):
        return None
    try:
        found = np.loadtxt(
            io.StringIO(piece),
            dtype=np.dtype([(str(i), kind) for i, kind in enumerate(kinds)]),
            comments=None,
            delimiter=delimiter,
            usecols=wanted,
            ndmin=1,
            quotechar='"' if '"' in piece else None,
        )
    except ValueError:
        return None
    columns = [found[str(i)] for i in range(len(kinds))]
    finite = all(np.isfinite(each).all() for each in columns if each.dtype == float)
    return columns if finite else None
