"""A ledger sums up what all runs on the same people's data spent, and keeps them within a budget.

A ledger is a SQLite file of one table of lines: what was fixed when it was begun, budgets, and two
lines a run.  The first of these is on the disk before anything is drawn, and from then on the run
counts in full, however it ends.  Nothing is drawn that the budget does not allow (docs/privacy.md,
lemma R1), unless somebody puts an older copy of the file back.

Lines are added in one transaction, all or none, in view of what is there when it begins: no other
process writes until it ends, and then they are on the disk, and so is the end of the rollback
journal (``synchronous = EXTRA``).  A process that is killed leaves the old lines or the new ones.
While one writes, or after it was killed, a journal lies beside the file, and belongs to it.

Everything in a ledger counts as drawn from the same people, whatever file it was read from: a copy,
a corrected file or a part of one begins no new count.  Names and contents of files stand in it as
salted hashes, to tell what was read from the same one.

It is private: that a run was cancelled, and when runs were made, may depend on the examples.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from geodp_app.files.ledger_state import (
    FORMAT,
    VERSION,
    End,
    Line,
    State,
    budget_line,
    chained,
    excess_words,
    now,
    read_state,
)
from geodp_app.files.strict_reading import one_line
from geometry.errors import InputError, refusals
from learners import __version__
from learners.core.codec_parts import privacy_to_dict
from learners.privacy.accounting import PrivacySpent, Relation
from learners.privacy.privacy_loss import check_statement
from learners.privacy.randomness import SystemRandom, new_run_id
from learners.privacy.several_runs import Budget, Composition, Rule

if TYPE_CHECKING:
    from geodp_app.document.work import RunCharge

#: Joined by whatever is read from the folder in which a file of this name lies, or by a link to
#: that file.
BESIDE = "geodp.ledger"

#: Seconds that another process may keep the file locked.
PATIENCE = 10.0
#: Most bytes that are read.
MOST_BYTES = 64 * 2**20
#: All that the file holds: no view, trigger or other table.
_TABLE = "CREATE TABLE lines (line TEXT NOT NULL, hash TEXT NOT NULL)"
_OTHER = (
    "is no ledger of geodp, or an older one: begin another and --join what was learned under it"
)

_WARNING = "Private: for the curator. What may be published of it is the budget."


@dataclass(frozen=True, slots=True)
class Source:
    """Where examples come from, as a ledger is told."""

    #: Public description: a path, or the name of a table.
    name: str
    #: The column that names persons, of whom `rows` each were taken; None if rows count.
    unit: str | None = None
    #: Gives the contents as bytes, piece after piece; None if they cannot be had.
    pieces: Callable[[], Iterable[bytes]] | None = None
    #: Of each person.
    rows: int = 1

    @classmethod
    def of_files(
        cls, files: Sequence[Path], unit: str | None = None, name: str = "", rows: int = 1
    ) -> Source:
        """Files that are read one after the other; `name` where they are not named by path."""
        real = [os.path.realpath(path) for path in files]
        whole = real and all(os.path.isfile(path) for path in real)
        pieces = (lambda: _bytes_of(real)) if whole else None
        return cls(name or "\n".join(real), unit, pieces, rows)


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run that is about to begin."""

    #: What was asked for.
    verb: str
    learner: str
    #: What it will spend; None for a learner that is not private.
    privacy: PrivacySpent | None
    #: Its name: the statement's, or one that no other run has.
    run: str = field(init=False)

    def __post_init__(self) -> None:
        spent = self.privacy
        name = (None if spent is None else spent.run) or new_run_id()
        object.__setattr__(self, "run", name)
        object.__setattr__(self, "privacy", None if spent is None else spent.of_run(name))


#: Runs of the past, how they ended, and the source that they were made on.
Past = tuple[Sequence[tuple[NewRun, End]], Source]


def past_run(charge: RunCharge) -> tuple[NewRun, End]:
    """A run that the document or a session knows of, and how it ended."""
    end: End = "released" if charge.finished else "cancelled"
    return NewRun("window", "", charge.privacy), end


class Ledger:
    """A ledger file; any number of processes may write to it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        relation: Relation = "add-remove",
        budget: Budget | None = None,
        composition: Composition = "basic",
        unit: str | None = None,
        of: str | None = None,
        contents: bool = False,
    ) -> Ledger:
        """Begin a ledger, for its owner alone (mode 0600).

        Raises InputError if something is there already, it cannot be written, or no rule comes of
        it.

        Parameters
        ----------
        relation : {"add-remove", "replace-one", "replace-label"}
            The neighbours that its sums are about.
        composition : {"basic", "renyi"}
            The latter needs a budget.
        unit : str, optional
            Column that names persons: then they are protected, and not rows.
        of : str, optional
            Public description of the data set, of which a salted hash is kept.
        contents : bool
            Keep salted hashes of contents, too.
        """
        if unit is not None and not unit.strip():
            raise InputError(f"{path}: no column is named that says whose a row is")
        rule = Rule(relation)
        if composition != "basic":
            if budget is None:
                raise InputError("composition by Renyi divergence needs a budget from the start")
            with refusals():
                rule = Rule.of_budget(budget, relation, composition)
        salt = SystemRandom().bytes(32).hex()
        state = State(os.fspath(path), rule, unit, contents, salt, None)
        first: Line = {
            "kind": "ledger",
            "format": FORMAT,
            "version": VERSION,
            "geodp": __version__,
            "warning": _WARNING,
            "time": now(),
            "neighbours": relation,
            "order": rule.order,
            "unit": unit,
            "contents": contents,
            "salt": salt,
            "of": None if of is None else state.hash_of(of),
        }
        ledger = cls(path)
        ledger._create([first, *([] if budget is None else [budget_line(budget)])])
        return ledger

    def state(self) -> State:
        """What it holds now; raises InputError if it cannot be read, is no ledger, or was
        changed."""
        with self._transaction("read") as file:
            return self._state(file)

    def begin(self, runs: Sequence[NewRun], source: Source, head: str | None = None) -> None:
        """Enter runs before they draw, all of them or none.

        Raises InputError if the ledger or its budget does not allow them: nothing may be drawn.
        `head`: what the ledger must have had as its head once (:meth:`State.holds`): then it is no
        older one that was put back, as far as to there.
        """
        described = self._described(source)
        with self._entering() as (state, lines):
            self._check_unit(state, source, runs)
            if head is not None and not state.holds(head):
                raise InputError(f"{no_head(self.path, head)}; nothing was drawn")
            if {run.run for run in runs} & {entry.run for entry in state.entries}:
                raise InputError(f"{self.path}: has such a run already; nothing was drawn")
            if excess := self._excess(state, (run.privacy for run in runs)):
                raise InputError(f"{self.path}: {excess}; nothing was drawn")
            lines += [_begun(run, described) for run in runs]

    def end(self, ends: dict[str, End]) -> None:
        """Say how runs ended, by their names; what was said before stays.  Raises InputError if it
        cannot be written; the runs count in any case."""
        with self._entering() as (state, lines):
            open_runs = {entry.run for entry in state.entries if entry.end is None}
            lines += [
                {"kind": "ended", "run": run, "end": end}
                for run, end in ends.items()
                if run in open_runs
            ]

    def join(self, *pasts: Past) -> None:
        """Enter runs of the past, which no budget can undo, where it does not know them; of all
        sources or of none.  Raises InputError if runs are about other neighbours or another unit
        than the ledger, it says otherwise of one of them, or it cannot be written."""
        described = [self._described(source) for _, source in pasts]
        with self._entering() as (state, lines):
            known = {entry.run: entry.privacy for entry in state.entries}
            private = (e for e in state.entries if e.privacy is not None and e.privacy.private)
            withdrawn = {entry.run for entry in private if not entry.spends}
            for (runs, source), hashes in zip(pasts, described, strict=True):
                self._check_unit(state, source, [run for run, _ in runs])
                for run, _ in runs:
                    other = known.get(run.run, run.privacy) != run.privacy
                    if other or run.run in withdrawn:
                        raise InputError(f"{self.path}: says otherwise of run {run.run}")
                new = [(run, end) for run, end in runs if run.run not in known]
                self._excess(state, (run.privacy for run, _ in new))  # refuses other neighbours
                lines += [_begun(run, hashes) for run, _ in new]
                lines += [{"kind": "ended", "run": run.run, "end": end} for run, end in new]
                known |= {run.run: run.privacy for run, _ in new}

    def set_budget(self, budget: Budget) -> None:
        """Set a budget, or another one; that it was set stays in the ledger.  Raises InputError if
        it cannot be written."""
        with self._entering() as (_, lines):
            lines.append(budget_line(budget))

    # pieces

    def _described(self, source: Source) -> tuple[str, str | None]:
        """Salted hashes of its name and, if the ledger wants them, its contents."""
        # the first line says how; it is compared with all others when the run is entered
        with self._transaction("read") as file:
            state = self._state(file, most=1)
        contents = None
        if state.hashes_contents and source.pieces is not None:
            contents = state.hash_of(source.pieces())
        return state.hash_of(source.name), contents

    def _check_unit(self, state: State, source: Source, runs: Iterable[NewRun]) -> None:
        if source.unit == state.unit:
            charged = {run.privacy.rows for run in runs if run.privacy is not None}
            if not charged <= {source.rows}:
                raise InputError(
                    f"{self.path}: a person has {source.rows} rows, and the run is charged for "
                    f"{max(charged)}; nothing was drawn"
                )
            return
        if state.unit is None:
            raise InputError(
                f"{self.path}: protects rows, and of each {source.unit} one was taken: count every "
                "row, or begin another ledger",
                " (leave --id out)",
            )
        here = "rows count" if source.unit is None else f"{source.unit} does"
        hint = f"read the examples with {state.unit} as the column that says whose a row is"
        typed = f" (--id {state.unit})"
        if source.unit is not None and source.unit.strip().lower() == state.unit.strip().lower():
            hint = f"begin a ledger for whoever {source.unit} names, as the data call it"
            typed = f" (--id {source.unit!r})"
        raise InputError(
            f"{self.path}: protects whoever {state.unit} names, and here {here}: {hint}", typed
        )

    def _excess(self, state: State, new: Iterable[PrivacySpent | None]) -> str:
        stated = [each for each in new if each is not None]
        spending = [each for each in stated if each.private]
        with refusals(self.path):
            for each in stated:  # or the ledger could not be read any more
                check_statement(each)
            return excess_words(state, spending) if spending else ""

    def _create(self, lines: Iterable[Line]) -> None:
        """Make the file of these lines; SQLite would make it for all to read."""
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            raise InputError(f"{self.path}: is there already; choose another name") from None
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror or error}") from None
        try:
            with self._transaction("written") as file:
                file.execute(_TABLE)
                _enter(file, "", lines)
        finally:
            if not os.path.getsize(self.path):  # or it could not be begun again
                os.unlink(self.path)

    @contextlib.contextmanager
    def _entering(self) -> Iterator[tuple[State, list[Line]]]:
        """What it holds, and a list whose lines are entered as the block ends."""
        with self._transaction("written") as file:
            state, lines = self._state(file), list[Line]()
            yield state, lines
            _enter(file, state.head, lines)

    @contextlib.contextmanager
    def _transaction(self, how: Literal["read", "written"]) -> Iterator[sqlite3.Connection]:
        """The open file; what the block does to it is done, and on the disk, if it ends well."""
        if not os.path.isfile(self.path):  # a pipe would be waited for, a missing file be made
            there = os.path.exists(self.path)
            raise InputError(f"{self.path}: {'is not a file' if there else 'is not there'}")
        if os.path.getsize(self.path) > MOST_BYTES:
            raise InputError(f"{self.path}: has more than {MOST_BYTES:,} bytes; begin another one")
        try:
            with contextlib.closing(
                sqlite3.connect(os.path.abspath(self.path), PATIENCE, isolation_level=None)
            ) as file:
                file.text_factory = bytes
                for setting in ("synchronous = EXTRA", "fullfsync = ON", "trusted_schema = OFF"):
                    file.execute(f"PRAGMA {setting}")
                file.execute("BEGIN" if how == "read" else "BEGIN IMMEDIATE")
                yield file
                file.execute("COMMIT")
        except (sqlite3.Error, UnicodeDecodeError) as error:  # a message may quote the file
            raise InputError(f"{self.path}: {_fault(error, how)}") from None

    def _state(self, file: sqlite3.Connection, most: int = -1) -> State:
        """What the first lines tell of, or all."""
        if file.execute("SELECT sql FROM sqlite_master").fetchall() != [(_TABLE.encode(),)]:
            raise InputError(f"{self.path}: {_OTHER}")
        for (found,) in file.execute("PRAGMA quick_check(1)"):
            if found != b"ok":
                raise InputError(f"{self.path}: is damaged")
        rows = file.execute("SELECT line, hash FROM lines ORDER BY rowid LIMIT ?", (most,))
        return read_state(os.fspath(self.path), rows)


def _enter(file: sqlite3.Connection, before: str, lines: Iterable[Line]) -> None:
    """Put lines after those that have that head."""
    for line in lines:
        text = json.dumps(line, allow_nan=False, separators=(",", ":"))
        before = chained(before, text.encode())
        file.execute("INSERT INTO lines VALUES (?, ?)", (text, before))


def _fault(error: Exception, how: str) -> str:
    """What SQLite says, for the curator."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_IOERR_LOCK")):
        return (
            "another program keeps it locked, or its disk knows no locks: try again, or keep it "
            "on a disk of this machine"
        )
    if name.startswith("SQLITE_NOTADB"):
        return _OTHER
    if name.startswith("SQLITE_CORRUPT") or isinstance(error, UnicodeDecodeError):
        return "is damaged"
    if name == "SQLITE_READONLY_DIRECTORY":  # a journal cannot be made
        return f"cannot be {how}: its folder is readonly"
    return f"cannot be {how}: {one_line(error)}"


def no_head(path: Path, head: str) -> str:
    """What is wrong with a ledger that never had that head."""
    how = "it was changed, its end cut off, or an old one put back"
    return f"{path}: {head} was never its head: {how}"


def _begun(run: NewRun, described: tuple[str, str | None]) -> Line:
    return {
        "kind": "begun",
        "time": now(),
        "run": run.run,
        "verb": run.verb,
        "learner": run.learner,
        "source": described[0],
        "contents": described[1],
        "privacy": None if run.privacy is None else privacy_to_dict(run.privacy),
    }


def _bytes_of(paths: Sequence[str]) -> Iterable[bytes]:
    for path in paths:
        with open(path, "rb") as file:
            while piece := file.read(2**20):
                yield piece
