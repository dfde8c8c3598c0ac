"""The page that an audit of everything ends in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.audits.events import Audit
from benchmarks.audits.one_run import CanaryAudit


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the page.

    Attributes
    ----------
    part, what : str
        Which table, and the first cell.
    found : Audit or CanaryAudit
    seconds : float
        Of the processor.
    broken : bool
        Whether it must be refuted.
    """

    part: str
    what: str
    found: Audit | CanaryAudit
    seconds: float
    broken: bool = False

    @property
    def as_it_must_be(self) -> bool:
        """A twin is refuted, and nothing else."""
        return self.found.refuted == self.broken

    @property
    def verdict(self) -> str:
        """In a word or two."""
        if self.broken:
            return "caught" if self.found.refuted else "NOT CAUGHT"
        return "REFUTED" if self.found.refuted else "not refuted"


def page(rows: Iterable[Row], outcome: str) -> str:
    """A Markdown page; `told` is the command and the machine."""
    rows = list(rows)
    wrong = [row for row in rows if not row.as_it_must_be]
    lines = [
        "# Audits",
        "",
        outcome,
        "",
        "*At least* bounds from below the ε that is lost, at confidence 99.9 %; each claim is "
        "ε = 1 and the δ stated. Seconds are the processor's.",
        "",
        f"{len(rows)} audits; as it must be: {len(rows) - len(wrong)}.",
    ]
    for part in dict.fromkeys(row.part for row in rows):
        lines += ["", f"## {part}", "", "| what | δ | runs | seen | at least | verdict | s |"]
        lines.append("|---|---:|---:|---|---:|---|---:|")
        for row in rows:
            if row.part == part:
                found = row.found
                if isinstance(found, Audit):
                    runs, seen = 2 * found.runs + found.searched, str(found.event)
                else:
                    runs, seen = found.runs, f"{found.right} of {found.guesses} guesses right"
                cells = (
                    row.what, f"{found.delta:g}", f"{runs:,}", seen.replace("|", "\\|"),
                    f"{found.lower:.3f}", row.verdict, f"{row.seconds:.0f}",
                )  # fmt: skip
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
