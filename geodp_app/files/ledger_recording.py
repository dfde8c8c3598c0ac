"""Finds the ledger of runs, enters them before the first of them draws, and tells it how they end.

Those of commands and of Python are entered by a :class:`Recording`; those of the window in the
ledger of the document's examples, which what they spent before they had one joins with the next
run.  Simulated examples are nobody's, and are in no ledger.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from geodp_app.document.examples import Examples
from geodp_app.files.ledger import BESIDE, Ledger, NewRun, Source, no_head, past_run
from geodp_app.files.ledger_state import End, State, budget_words, share_spent
from geodp_app.formatting import amounts, percentage, runs_words
from geometry.errors import InputError
from learners.core.selection import Cancelled
from learners.privacy.accounting import PrivacySpent

if TYPE_CHECKING:  # the window's
    from geodp_app.document.work import Work

#: Links from one to the next that are followed; no system follows more.
_MOST_LINKS = 40


class Recording:
    """Enters runs that are made one after the other in a ledger, if there is one, and their ends.

    As a context it ends what has not come to its end: the run under way as cancelled or failed,
    those after it as withdrawn.  `source`: where the examples come from.  `head`: what the ledger
    must have had as its head once.
    """

    def __init__(self, ledger: Ledger | None, source: Source, head: str | None = None) -> None:
        self._ledger, self._source, self._head = ledger, source, head
        self._open: list[str] = []

    def name_unit(self, unit: str | None) -> None:
        """What the data call the column that names persons; it may have been typed otherwise."""
        self._source = replace(self._source, unit=unit)

    def enter(self, verb: str, plans: Iterable[tuple[str, PrivacySpent | None]]) -> None:
        """Enter runs by their learners and what these will spend; before any of them draws.  Raises
        InputError if the ledger or its budget does not allow them, or they protect labels alone
        where these choose which row of a person is taken (lemma T1)."""
        planned = list(plans)
        check_labels_alone(self._source.unit, [plan for _, plan in planned])
        if self._ledger is not None:
            runs = [NewRun(verb, learner, plan) for learner, plan in planned]
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


def check_labels_alone(unit: str | None, stated: Iterable[PrivacySpent | None]) -> None:
    """Refuse runs that protect labels alone where these choose a person's row (lemma T1)."""
    relations = {spent.neighbours for spent in stated if spent is not None}
    if unit is not None and "replace-label" in relations:
        raise InputError(
            "labels alone cannot be protected where a column says whose a row is: which row of a "
            "person is taken depends on them; count every row, or protect whole examples",
            " (leave --id out, or give --neighbours replace-one)",
        )


def beside(*paths: str | os.PathLike[str], name: str = BESIDE) -> str | None:
    """The ledger of a name beside files, None if there is none: in the folder in which a file is
    named, in that of each file to which links lead from there, or in that of the last of them;
    raises InputError if there are two."""
    found = {os.path.realpath(folder / name) for path in paths for folder in _folders(Path(path))}
    ledgers = sorted(each for each in found if os.path.isfile(each))
    if len(ledgers) > 1:
        raise InputError(f"the data lie beside two ledgers, {ledgers[0]} and {ledgers[1]}: use one")
    return ledgers[0] if ledgers else None


def _folders(path: Path) -> Iterable[Path]:
    """Where a file is named, by each link on the way to it; of a pipe the folder here."""
    if path.parts[1:2] in (("dev",), ("proc",)) and not os.path.isfile(path):
        path = Path("-")
    if path == Path("-") and os.path.isfile("/dev/stdin"):  # as < sends it; a pipe: the folder here
        path = Path("/dev/stdin")
    for _ in range(_MOST_LINKS):
        yield path.parent
        if not os.path.islink(path):
            break
        path = path.parent / os.readlink(path)
    yield Path(os.path.realpath(path)).parent


def ledger_of(given: Path | None, files: Sequence[Path]) -> Ledger | None:
    """The ledger that runs on files belong to: one beside them, or the one that is given; raises
    InputError if one is given, and another lies beside the files; or files lie beside different
    ones."""
    found = beside(*files)
    if given is not None:
        if found is not None and os.path.realpath(given) != found:
            raise InputError(
                f"{given}: is not the ledger of these data, which lies beside them: {found}"
            )
        if not given.exists():
            raise InputError(f"{given}: there is no such ledger; geodp ledger --new begins one")
        return Ledger(given)
    return None if found is None else Ledger(found)


def ledger_of_session(work: Work, path: str | os.PathLike[str]) -> str | None:
    """The ledger of a work that is read from that file: the one that it names, or if it names none
    the one beside the file; raises InputError if there are two.

    One that is not where it was may have been moved with the file: it is taken from beside it, if
    it knows a run that the work knows of, or that knows of none.
    """
    if work.examples is None or work.simulated or os.path.exists(work.ledger or ""):
        return work.ledger
    if work.ledger is None:
        return beside(path)
    moved = beside(path, name=Path(work.ledger).name)
    if moved is None:
        return work.ledger
    past = {one.privacy.run for one in work.spent}
    with contextlib.suppress(InputError):  # what is wrong with it is told when it is to be used
        if past and past.isdisjoint(entry.run for entry in Ledger(moved).state().entries):
            return work.ledger
    return moved


def ledger_of_work(work: Work) -> Ledger | None:
    """The ledger that runs on the examples belong to."""
    kept = work.ledger is not None and work.examples is not None and not work.simulated
    return Ledger(work.ledger) if kept and work.ledger is not None else None


def enter(work: Work, runs: Sequence[NewRun]) -> None:
    """Tell the ledger, if there is one, of runs that are about to draw; raises InputError if the
    ledger or its budget does not allow them: nothing may be drawn."""
    from geodp_app.files.session import points_bytes  # the window's, with all of its work

    ledger, unit = ledger_of_work(work), work.examples.unit if work.examples else None
    check_labels_alone(unit, [run.privacy for run in runs])
    if ledger is None:
        return
    examples = work.examples
    source = Source(work.name, unit, lambda: [points_bytes(examples)] if examples else [])
    if work.spent:
        ledger.join(([past_run(charge) for charge in work.spent], source))
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
