"""Every statement of the sources, checked at the number of examples that it plans itself.

    python benchmarks/sources.py [--system N ...] [--short] [--write]
    python benchmarks/sources.py --page

Prints a line for each row of benchmarks/promises: system, source, statement, setting, verdict with
its figures, and where the program departs from the source.  Verdicts rest on exact confidence
bounds (99.9 %), on enumeration, or on arithmetic without rounding:

confirmed      the whole interval of the probability of failure keeps the promise
not refuted    part of it does, or nothing was found that breaks a statement about all runs
refuted        none of it does

Exit code 3 if a verdict is "refuted" of a statement that is not known to be wrong.  `--short` does
as few runs as the tests do; `--system` takes the rows of these systems alone.  `--write` keeps
what a whole check found in benchmarks/sources.csv, from which `--page` makes docs/learners.md.
Takes a quarter of an hour on one core.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from promises import (
    baselines,
    boolean,
    curves_and_space,
    experts,
    finite,
    mechanisms,
    on_average,
    plane,
    risk,
    soft_labels,
    stability,
    theory,
)
from promises.row import Row, Verdict

from learners.catalogue import SYSTEMS, as_markdown

_HERE = Path(__file__).parent
STORED = _HERE / "sources.csv"
PAGE = _HERE.parent / "docs" / "learners.md"

_MODULES = (
    mechanisms, boolean, plane, curves_and_space, theory, finite, risk, experts, stability,
    soft_labels, on_average, baselines,
)  # fmt: skip

#: All rows, by the first of their systems.
ROWS: tuple[Row, ...] = tuple(
    sorted((row for module in _MODULES for row in module.ROWS), key=lambda row: row.systems[0])
)

_FIELDS = ("source", "promise", "setting", "runs", "verdict", "figures")
_Key = tuple[str, str, str]

#: The figures of a simulation (:func:`promises.row.simulated`).
_SIMULATED = re.compile(
    r"(\S+ of \S+) runs failed: probability (\S+) to (\S+), promised at most (\S+)"
)


def key(row: Row) -> _Key:
    """What a stored verdict is found by: another setting is another check."""
    return row.source, row.promise, row.setting


def contrary(row: Row, verdict: Verdict) -> bool:
    """Whether a verdict is other than what is known of the statement."""
    return (verdict.word == "refuted") != row.known_wrong


def stored() -> dict[_Key, tuple[int, Verdict]]:
    """Runs and verdicts of benchmarks/sources.csv."""
    with STORED.open(encoding="utf-8", newline="") as lines:
        return {
            (one["source"], one["promise"], one["setting"]): (
                int(one["runs"]),
                Verdict(one["verdict"], one["figures"]),  # type: ignore[arg-type]
            )
            for one in csv.DictReader(lines)
        }


def store(found: dict[_Key, tuple[int, Verdict]]) -> None:
    """Write them, in the order of the rows; what no row has any more is left out."""
    with STORED.open("w", encoding="utf-8", newline="") as lines:
        table = csv.writer(lines, lineterminator="\n")
        table.writerow(_FIELDS)
        for row in ROWS:
            if key(row) in found:
                runs, verdict = found[key(row)]
                table.writerow((*key(row), runs, verdict.word, verdict.figures))


def outcome(row: Row, runs: int, verdict: Verdict, seconds: float) -> str:
    """A row in a few lines."""
    systems = ", ".join(str(system) for system in row.systems)
    lines = [
        f"{systems}  {row.source}",
        f"    {row.promise}",
        f"    with {row.setting}",
        f"    {verdict.word.upper()}{_expected(row)}: {verdict.figures} ({seconds:.1f} s)",
    ]
    return "\n".join(lines + ([f"    departs: {row.departure}"] if row.departure else []))


def _expected(row: Row) -> str:
    return ", as is known" if row.known_wrong else ""


# -- the page ----------------------------------------------------------------------------------


def page() -> str:
    """docs/learners.md: the catalogue, then the statements that are not confirmed, and where the
    program departs from its sources."""
    found = stored()
    words = [found[key(row)][1].word for row in ROWS]
    counted = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
    lines = [
        "",
        "## What the sources state, and what was found",
        "",
        "`python benchmarks/sources.py` checks every statement of the systems' sources at the",
        "number of examples that it plans itself. [sources.csv](../benchmarks/sources.csv) keeps",
        f"all {len(ROWS)} with their settings and figures: {counted}.",
        "*Confirmed*: the whole interval of the probability of failure, at 99.9 %, keeps the",
        "promise, or the statement was enumerated. *Not refuted*: part of it does, or nothing was",
        "found against a statement about all runs. *Refuted*: none of it does. Listed here are the",
        "statements that are not confirmed, and of all where the program departs from the source.",
        "Nissim: *Private Learning 1*; Nikolov: *CSC2412*; notes: *Private and PAC*.",
    ]
    departing: dict[str, list[str]] = {}
    for row in ROWS:
        if row.departure and found[key(row)][1].word == "confirmed":
            sources = departing.setdefault(row.departure, [])
            sources += [_source(row.source)] * (_source(row.source) not in sources)
    for system, name in SYSTEMS.items():
        lines += ["", f"### {system}. {name}", ""]
        listed: list[str] = []
        for row in (row for row in ROWS if row.systems[0] == system):
            verdict = found[key(row)][1]
            if verdict.word != "confirmed":
                listed += _entry(row, verdict)
            elif sources := departing.pop(row.departure, []):
                listed.append(f"* **{'; '.join(sources)}** departs: {_ended(row.departure)}")
        lines += listed or ["All confirmed."]
    return as_markdown() + "\n".join(lines) + "\n"


def _entry(row: Row, verdict: Verdict) -> list[str]:
    """A statement that is not confirmed, in two or three lines."""
    promise = row.promise[0].upper() + row.promise[1:]
    figures = _SIMULATED.sub(r"\1 failed: \2 to \3, promised \4", verdict.figures)
    lines = [
        f"* **{_source(row.source)}.** {_ended(promise)}",
        f"  *{verdict.word.capitalize()}{_expected(row)}*: {_ended(figures)}",
    ]
    return lines + ([f"  Departs: {_ended(row.departure)}"] if row.departure else [])


def _ended(text: str) -> str:
    """A sentence of Markdown, with its full stop."""
    return _plain(text.rstrip(".")) + "."


def _source(source: str) -> str:
    """A source without its title, which the page says once."""
    return re.sub(r", (Private Learning 1|CSC2412|Private and PAC)\b", "", source)


def _plain(text: str) -> str:
    """Markdown that says the text itself."""
    for sign in ("\\", "*", "_", "<", "|"):
        text = text.replace(sign, f"\\{sign}")
    return text


# -- the command -------------------------------------------------------------------------------


def run(rows: Iterable[Row], *, short: bool, write: bool) -> list[Row]:
    """Check rows and print them; those whose verdict is other than what is known."""
    failed = []
    for row in rows:
        runs = row.short if short else row.runs
        started = time.perf_counter()
        verdict = row.check(runs)
        print(outcome(row, runs, verdict, time.perf_counter() - started), flush=True)
        if contrary(row, verdict):
            failed.append(row)
        if write:
            store((stored() if STORED.exists() else {}) | {key(row): (runs, verdict)})
    return failed


def main(argv: Sequence[str] | None = None) -> int:
    """Check, print, and keep what was found; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--system", type=int, nargs="+", choices=SYSTEMS, metavar="N")
    parser.add_argument("--missing", action="store_true", help="rows without a kept whole check")
    parser.add_argument("--short", action="store_true", help="as few runs as the tests do")
    parser.add_argument("--write", action="store_true", help="keep what is found")
    parser.add_argument("--page", action="store_true", help="make docs/learners.md, check nothing")
    options = parser.parse_args(argv)
    if options.write and options.short:
        parser.error("what is kept is of whole checks: leave out --short or --write")
    if options.page:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    rows = [row for row in ROWS if not options.system or set(options.system) & set(row.systems)]
    if options.missing:
        kept = stored() if STORED.exists() else {}
        rows = [row for row in rows if kept.get(key(row), (0,))[0] != row.runs]
    failed = run(rows, short=options.short, write=options.write)
    print(f"{len(rows)} rows; {len(failed)} other than expected", *(r.source for r in failed))
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
