"""Enters the window's runs in the ledger of the document's examples, and tells what it says.

Simulated examples are nobody's, and are in no ledger.  What runs on the examples spent before they
had one joins it with the next run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from geodp_app.document.work import Work, amounts, runs_words
from geodp_app.errors import InputError
from geodp_app.files.ledger import Ledger, NewRun, Source, past_run
from geodp_app.files.ledger_state import End, State, share_spent
from geodp_app.files.session import points_bytes
from geodp_app.formatting import percentage


def ledger_of_work(work: Work) -> Ledger | None:
    """The ledger that runs on the examples belong to."""
    kept = work.ledger is not None and work.examples is not None and not work.simulated
    return Ledger(work.ledger) if kept and work.ledger is not None else None


def enter(work: Work, runs: Sequence[NewRun]) -> None:
    """Tell the ledger, if there is one, of runs that are about to draw.

    Raises
    ------
    InputError
        If the ledger or its budget does not allow them: nothing may be drawn.
    """
    ledger, unit = ledger_of_work(work), work.examples.unit if work.examples else None
    examples = work.examples
    source = Source(work.name, unit, lambda: [points_bytes(examples)] if examples else [])
    source.check_labels_alone(runs)
    if ledger is None:
        return
    if work.spent:
        ledger.join([past_run(charge) for charge in work.spent], source)
    ledger.begin(runs, source)


def tell_end(work: Work, ends: dict[str, End]) -> str:
    """Tell the ledger how runs ended; why that was not possible, or nothing.  They count anyway."""
    ledger = ledger_of_work(work)
    try:
        if ledger is not None:
            ledger.end(ends)
    except InputError as error:
        return str(error)
    return ""


class LedgerWords:
    """What a ledger says, read anew when the file has changed."""

    def __init__(self) -> None:
        self._read: tuple[object, ...] = ()
        self._words = ""

    def __call__(self, work: Work) -> str:
        """What was spent, of how much; empty without a ledger."""
        ledger = ledger_of_work(work)
        if ledger is None:
            return ""
        now = (ledger.path, _stamp(ledger.path), work.spent)
        if now != self._read:
            self._read, self._words = now, _words(ledger, work)
        return self._words


def _stamp(path: Path) -> object:
    """What is another after every entry, which the head of a SQLite file counts, or change."""
    try:
        with open(path, "rb") as file:
            return file.read(28), os.fstat(file.fileno()).st_mtime_ns
    except OSError:
        return None


def _words(ledger: Ledger, work: Work) -> str:
    try:
        past = (past_run(charge) for charge in work.spent)
        text = _spent(ledger.state().with_past((new.run, new.privacy, end) for new, end in past))
    except (InputError, ValueError) as error:
        return f"Nothing can be run, as the ledger cannot be used: {error}"
    return f"Ledger {ledger.path.name}: {text}"


def _spent(state: State) -> str:
    runs = [entry for entry in state.entries if entry.spends]
    ended = sum(entry.end in ("cancelled", "failed") for entry in runs)
    many = runs_words(len(runs), ended)
    budget, (epsilon, delta) = state.budget, state.together
    if budget is None:
        return f"{many}: together {amounts(epsilon, delta)}, without a budget"
    limit = f"a budget of {amounts(budget.epsilon, budget.delta)}"
    if state.rule.order is not None:
        return f"{many}: together {percentage(share_spent(state))} of {limit}"
    return f"{many}: together {amounts(epsilon, delta)}, of {limit}"
