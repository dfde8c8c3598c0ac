"""What a ledger says when the disk fills and when processes are killed.

    python benchmarks/ledger_faults.py [--kills 200]

*disk*: the system lets no file grow beyond so many bytes (RLIMIT_FSIZE), for every seventh number
up to the size at which a group of runs is entered: the group is refused, and the ledger as it was.
*kill*: two processes spend one budget, run after run; each writes a mark after its run was entered
and before its end is told, as a draw would be.  Both get SIGKILL at a random moment, so many times.
Then the ledger reads, every mark's run is in it, no run is there twice, and the budget is kept.

Exit status 1 if anything else was found.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from geodp_app.files.ledger import Ledger, NewRun, Source
from geometry.errors import InputError
from learners.privacy.accounting import Charge, pure_spent
from learners.privacy.several_runs import Budget

ROWS = Source("rows.csv")
EACH, BUDGET = 0.001, Budget(2.0, 0.0)


@dataclass
class Outcome:
    """What was found: cases, faults, and what to tell of them."""

    cases: int = 0
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def check(self, holds: object, what: str) -> None:
        """Count a case."""
        self.cases += 1
        if not holds:
            self.faults.append(what)


def new_run() -> NewRun:
    """A run that costs EACH."""
    spent = pure_spent(EACH, "add-remove", True, Charge("noisy cells", EACH))
    return NewRun("learn", "tiles", spent)


def full_disk(folder: Path, stride: int = 1) -> Outcome:
    """A group of runs that fails after every number of bytes, of the file or of its journal."""
    outcome = Outcome()
    ledger = Ledger.create(folder / "a.ledger", budget=BUDGET)
    ledger.begin([new_run()], ROWS)
    old = ledger.path.read_bytes()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    room, said = 0, ""
    while True:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
        try:
            ledger.begin([new_run() for _ in range(12)], ROWS)
            break
        except InputError as error:
            said = str(error)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        refused = "cannot be written" in said and ledger.path.read_bytes() == old
        outcome.check(refused, f"room for {room} bytes")
        room += stride
    signal.signal(signal.SIGXFSZ, handler)
    outcome.check(len(ledger.state().entries) == 13, f"room for {room} bytes")
    return outcome


def killed(folder: Path, kills: int, seed: int = 1) -> Outcome:
    """Two processes that spend one budget, killed so many times at a random moment."""
    outcome, rng = Outcome(), random.Random(seed)
    ledger = Ledger.create(folder / "b.ledger", budget=BUDGET)
    marks = folder / "marks"
    marks.touch()
    begun = time.perf_counter()
    for number in range(kills):
        children = [_forked(lambda: _spend(ledger, marks)) for _ in range(2)]
        time.sleep(rng.uniform(0.0, 0.1))
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        try:
            state = ledger.state()
        except InputError as error:
            outcome.check(False, f"kill {number}: {error}")
            break
        entered = [entry.run for entry in state.entries]
        drawn = marks.read_text().split()
        outcome.check(set(drawn) <= set(entered), f"kill {number}: a draw that was not entered")
        outcome.check(len(set(entered)) == len(entered), f"kill {number}: a run is there twice")
        outcome.check(state.together[0] <= BUDGET.epsilon, f"kill {number}: over the budget")
    took = time.perf_counter() - begun
    state = ledger.state()
    unknown = sum(entry.end is None for entry in state.entries)
    outcome.notes.append(
        f"{kills} kills in {took:.0f} s: {len(state.entries):,} runs entered, "
        f"{len(marks.read_text().split()):,} had drawn, {unknown} have no end; "
        f"epsilon = {state.together[0]:g} of {BUDGET.epsilon:g}"
    )
    return outcome


def _spend(ledger: Ledger, marks: Path) -> None:
    mark = os.open(marks, os.O_WRONLY | os.O_APPEND)
    while True:
        run = new_run()
        try:
            ledger.begin([run], ROWS)
        except InputError as error:
            if "the budget allows" not in str(error):
                os.write(mark, f"{error}\n".encode())  # found as a draw that was not entered
            return
        os.write(mark, f"{run.run}\n".encode())
        ledger.end({run.run: "released"})


def _forked(do: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        try:
            do()
            signal.pause()  # its budget is spent: it waits to be killed
        finally:
            os._exit(1)
    return child


def main() -> int:
    """Run both and report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    options = parser.parse_args()
    faults = 0
    with tempfile.TemporaryDirectory(prefix="geodp-ledger-") as name:
        for part, outcome in (
            ("disk", full_disk(Path(name), 7)),
            ("kill", killed(Path(name), options.kills)),
        ):
            faults += len(outcome.faults)
            print(f"{part}: {outcome.cases:,} cases, {len(outcome.faults)} faults", flush=True)
            for line in (*outcome.faults[:20], *outcome.notes):
                print(f"    {line}", flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
