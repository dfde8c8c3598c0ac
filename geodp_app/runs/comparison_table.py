"""Makes a table of a comparison of learners, and says what must be said with it."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from html import escape
from typing import Any

from geodp_app.formatting import aligned, count, duration, percentage
from geodp_app.runs.comparison import Row, total_spent

_HEADINGS = (
    "learner",
    "private",
    "epsilon",
    "delta",
    "test error",
    "seconds",
    "bytes",
    "vertices",
)


class Comparison(tuple[Row, ...]):
    """Rows of a comparison; shown, they are a table.  Private: it holds test errors."""

    __slots__ = ()

    def to_dataframe(self) -> Any:
        """A DataFrame of pandas, one row a run, in plain columns: epsilon and delta are NaN of a
        learner that is not private, error is a share, 0..1.  Private, as the comparison is.

        Raises
        ------
        ImportError
            If pandas is not installed: pip install 'geodp[geo]'.
        """
        frame = importlib.import_module("pandas").DataFrame([row.record() for row in self])
        return frame.astype({"epsilon": float, "delta": float})

    def __repr__(self) -> str:
        return "\n".join([*table(self), "", *remarks(self)])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        head = "".join(f"<th>{name}</th>" for name in _HEADINGS)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row_cells(row))}</tr>"
            for row in self
        )
        text = "".join(f"<div>{escape(line)}</div>" for line in remarks(self)[:-1])
        last = f'<div><strong style="color:#C44500">{escape(remarks(self)[-1])}</strong></div>'
        return f"<table><tr>{head}</tr>{body}</table>{text}{last}"


def table(rows: Sequence[Row]) -> list[str]:
    """Rows under headings, in columns."""
    return aligned([_HEADINGS, *map(row_cells, rows)], texts=(0, 1))


def row_cells(row: Row) -> tuple[str, ...]:
    """What is under the headings."""
    spent = row.privacy
    return (
        row.name,
        "yes" if row.private else "no",
        f"{spent.epsilon:g}" if spent else "–",
        f"{spent.delta:g}" if spent else "–",
        percentage(row.error),
        duration(row.seconds),
        count(row.bytes),
        count(row.vertices),
    )


def remarks(rows: Sequence[Row]) -> list[str]:
    """What must be said with the table: what was spent, and that it is private."""
    lines = []
    spending = [row for row in rows if row.privacy is not None]
    if spending:
        epsilon, delta = total_spent(rows)
        text = f"epsilon = {epsilon:g}, delta = {delta:g}"
        if not all(row.private for row in spending):
            lines.append("Seeded: nothing here is private; the noise can be reproduced.")
        elif len(spending) == 1:
            lines.append(f"The private learner spends {text} of these examples' privacy.")
        else:
            many = f"The {len(spending)} private learners together"
            lines.append(f"{many} spend {text}: on the same examples runs add up.")
    bare = [row.name for row in rows if row.privacy is None]
    if bare:
        lines.append(f"Not private, for comparison only: {', '.join(bare)}. Do not publish.")
    lines.append(
        "Test errors come from private examples: for the curator's eyes. "
        "So is a choice made by them."
    )
    return lines
