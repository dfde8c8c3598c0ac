"""Enters runs in a ledger before the first of them draws, and tells it how each of them ended.

Those of commands and of Python are entered by a :class:`Recording`; those of the window in the
ledger of the document's examples, which what they spent before they had one joins with the next
run.  Simulated examples are nobody's, and are in no ledger.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from geodp_app.document.examples import Examples
from geodp_app.document.work import Work, amounts, runs_words
from geodp_app.errors import InputError
from geodp_app.files.ledger import Ledger, NewRun, Source, ledger_of, no_head, past_run
from geodp_app.files.ledger_state import End, State, budget_words, share_spent
from geodp_app.files.session import points_bytes
from geodp_app.formatting import percentage
from learners.core.selection import Cancelled
from learners.privacy.accounting import PrivacySpent


class Recording:
    """Enters runs that are made one after the other in a ledger, if there is one, and their ends.

    As a context it ends what has not come to its end: the run under way as cancelled or failed,
    those after it as withdrawn.  `head`: what the ledger must have had as its head once.
    """

    def __init__(self, ledger: Ledger | None, source: Source, head: str | None = None) -> None:
        self._ledger, self._source, self._head = ledger, source, head
        self._open: list[str] = []

    def enter(self, verb: str, plans: Iterable[tuple[str, PrivacySpent | None]]) -> None:
        """Enter runs by their learners and what these will spend; before any of them draws.  Raises
        InputError if the ledger or its budget does not allow them, or they protect labels alone
        where these choose which row of a person is taken (lemma T1)."""
        runs = [NewRun(verb, learner, plan) for learner, plan in plans]
        self._source.check_labels_alone(runs)
        if self._ledger is not None:
            self._ledger.begin(runs, self._source, self._head)
            self._open += [run.run for run in runs]

    def released(self) -> None:
        """The next of them has come to its end."""
        if self._open:
            self._tell({self._open.pop(0): "released"})

    @property
    def words(self) -> str:
        """What the ledger says is spent, for the curator; empty without one."""
        if self._ledger is None:
            return ""
        try:
            return f"{self._ledger.path}: {budget_words(self._ledger.state())}"
        except InputError as error:  # the run is over all the same
            return str(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._ledger is None or not self._open:
            return
        cancelled = isinstance(error, KeyboardInterrupt | Cancelled)
        first, *later = self._open
        ends: dict[str, End] = {first: "cancelled" if cancelled else "failed"}
        self._tell(ends | dict.fromkeys(later, "withdrawn"))
        sys.stderr.write(f"geodp: {self._ledger.path}: the run was entered, and counts in full\n")

    def _tell(self, ends: dict[str, End]) -> None:
        """A run counts whether its end is told or not: so that it is not is no failure."""
        assert self._ledger is not None
        try:
            self._ledger.end(ends)
        except InputError as error:
            sys.stderr.write(f"geodp: warning: {error}; the run counts in full\n")


def recording_for(examples: Examples, ledger: str | os.PathLike[str] | None) -> Recording:
    """The recording of runs on examples: in a ledger, in the one beside their file, or in none;
    raises InputError as :func:`recording_of`."""
    files = [] if examples.source is None else [Path(examples.source)]
    given = None if ledger is None else Path(ledger)
    return recording_of(
        given, files, name="" if files else "Python", unit=examples.unit, rows=examples.rows
    )


def recording_of(
    given: Path | None,
    files: Sequence[Path],
    *,
    name: str = "",
    unit: str | None = None,
    rows: int = 1,
    head: str | None = None,
) -> Recording:
    """The recording of runs on files, in their ledger if there is one.

    Raises InputError if the ledger cannot be read, is not that of the files, or never had that
    head.

    Parameters
    ----------
    given : Path or None
        The ledger; None for the one beside the files, or none.
    name : str
        Of the source, where it is not its files.
    unit : str, optional
        The column that names persons.
    rows : int
        Of each person.
    head : str, optional
        What the ledger must have had as its head once.
    """
    ledger = ledger_of(given, files)
    if ledger is not None:
        state = ledger.state()  # what is wrong with it is told before long work
        if head is not None and not state.holds(head):
            raise InputError(no_head(ledger.path, head))
    elif head is not None:
        raise InputError("--head is of a ledger, and there is none: give --ledger, too")
    return Recording(ledger, Source.of_files(files, unit, name, rows), head)


def ledger_of_work(work: Work) -> Ledger | None:
    """The ledger that runs on the examples belong to."""
    kept = work.ledger is not None and work.examples is not None and not work.simulated
    return Ledger(work.ledger) if kept and work.ledger is not None else None


def enter(work: Work, runs: Sequence[NewRun]) -> None:
    """Tell the ledger, if there is one, of runs that are about to draw; raises InputError if the
    ledger or its budget does not allow them: nothing may be drawn."""
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
