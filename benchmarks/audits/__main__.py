"""Audit everything and write a page.  Exit code 3 if anything is not as it must be."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.audits import canaries
from benchmarks.audits.broken_parts import PART_TWINS
from benchmarks.audits.declared import SUBJECTS
from benchmarks.audits.events import Audit, audit_pairs
from benchmarks.audits.one_run import CanaryAudit
from benchmarks.audits.parts import PARTS
from benchmarks.audits.report import Row, page
from benchmarks.audits.subjects import MECHANISMS, Case, declared
from benchmarks.audits.twins import TWINS
from benchmarks.audits.whole import whole_audit

#: Runs of a mechanism alone.
_MECHANISM = 20_000

#: Whole releases take so many of an audit's runs.
_WHOLE = 0.5

#: Fewest runs: of a learner that claims something, and of one that must be refuted.
_FEWEST, _REFUTES = 64, 800

#: Runs of an audit by canaries.
_CANARIES = 4

_EVENTS, _RELEASES = "Events", "Whole releases"
_BY_CANARIES, _BROKEN = "Canaries", "Broken twins"


def _cases() -> Iterator[tuple[str, Case, int]]:
    for name, subject in SUBJECTS.items():
        yield name, declared(name), subject.audit.runs
    for name, case in MECHANISMS.items():
        yield name, case, _MECHANISM
    for name, (make, runs) in PARTS.items():
        yield name, make(), runs


def audits(share: float, seed: int | None) -> Iterator[Row]:
    """All of them, one after the other, with that share of the usual runs."""

    def timed(
        part: str, what: str, audit: Callable[[], Audit | CanaryAudit], broken: bool = False
    ) -> Row:
        begun = time.process_time()
        return Row(part, what, audit(), time.process_time() - begun, broken)

    for name, case, most in _cases():
        refuted = case.claim is not None
        runs = max(_REFUTES if refuted else _FEWEST, int(share * most))

        def events(case: Case = case, runs: int = runs) -> Audit:
            return audit_pairs(case.factory(seed), case.pairs, case.events, runs, claim=case.claim)

        def whole(case: Case = case, runs: int = runs) -> Audit:
            return whole_audit(case, max(_FEWEST, int(_WHOLE * runs)), seed)

        what = f"{name}: {case.title}" + (", which is not private" if refuted else "")
        yield timed(_EVENTS, what, events, refuted)
        yield timed(_RELEASES, what, whole, refuted)
    for name in canaries.LEARNERS:
        runs = max(1, int(share * _CANARIES))

        def by_canaries(name: str = name, runs: int = runs) -> CanaryAudit:
            return canaries.audit(name, seed, runs)

        yield timed(_BY_CANARIES, name, by_canaries)
    for twin in (*TWINS, *PART_TWINS):
        yield timed(_BROKEN, f"{twin.mechanism}: {twin.fault} ({twin.by})", twin.audit, True)


def main() -> int:
    """Run the audits, tell of each, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audits", description=__doc__)
    parser.add_argument(
        "--share",
        type=float,
        default=1.0,
        help="of the usual runs; what must be refuted has enough in any case",
    )
    parser.add_argument("--seed", type=int, help="default: the operating system's generator")
    parser.add_argument("--report", type=Path, default=Path("build/audit.md"), metavar="FILE")
    options = parser.parse_args()
    rows = []
    for row in audits(options.share, options.seed):
        rows.append(row)
        print(f"{row.part}: {row.what}: at least {row.found.lower:.3f}: {row.verdict}", flush=True)
    outcome = (
        f"`{' '.join(['python -m benchmarks.audits', *sys.argv[1:]])}`, {os.cpu_count()} cores."
    )
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(page(rows, outcome), encoding="utf-8")
    return 0 if all(row.as_it_must_be for row in rows) else 3


if __name__ == "__main__":
    raise SystemExit(main())
