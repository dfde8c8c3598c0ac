"""Reads the lines of a ledger: its rule, its budget and its runs.

The file itself is :mod:`geodp_app.files.ledger`.  With each line stands SHA-256 of the hash of the
line before and of its own text: a line that was changed, taken out, put in or moved is found when
the ledger is read.  Two things are not found, as they leave one that could have been written so:
the end was taken off, and all from some line on was written anew with hashes that fit.  Whoever
notes the last hash elsewhere finds these as well (:meth:`State.holds`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from geodp_app.files.strict_reading import FAULTS, one_line, read_json
from geometry.errors import InputError
from learners.core.codec_parts import privacy_from_dict
from learners.privacy.accounting import LEAST_DELTA, PrivacySpent, Relation
from learners.privacy.several_runs import Budget, Rule, added_up, together

Line = dict[str, Any]

FORMAT, VERSION = "geodp ledger", 3

#: Delta of a budget for runs that need none but for their arithmetic: 10^10 runs by tiles.
SMALL_DELTA = 1e-30

#: How a run ended; one that never began to draw was withdrawn, and costs nothing.
End = Literal["released", "cancelled", "failed", "withdrawn"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A run as the ledger has it."""

    #: As of :class:`geodp_app.files.ledger.NewRun`.
    run: str
    verb: str
    learner: str
    privacy: PrivacySpent | None
    #: When it was entered, UTC.
    time: str
    #: Salted hashes.
    source: str | None
    contents: str | None
    #: None if nothing was said of its end.
    end: End | None = None

    @property
    def spends(self) -> bool:
        """Whether it counts: it is private, and was not withdrawn before anything was drawn."""
        return self.privacy is not None and self.privacy.private and self.end != "withdrawn"


@dataclass(frozen=True, slots=True)
class State:
    """A ledger as it was read."""

    #: Path, for messages.
    name: str
    #: How runs are added up.
    rule: Rule
    #: The column that names persons, if these are protected and not rows.
    unit: str | None
    hashes_contents: bool
    salt: str
    #: Salted hash of a public description of the data set.
    of: str | None
    #: The latest; None if nobody set one.
    budget: Budget | None = None
    #: How often one was set.
    budgets: int = 0
    entries: tuple[Entry, ...] = ()
    lines: tuple[Line, ...] = ()
    #: One a line.
    hashes: tuple[str, ...] = ()

    @property
    def head(self) -> str:
        """The last hash: it stands for all lines."""
        return self.hashes[-1]

    def holds(self, head: str) -> bool:
        """Whether the ledger had this head once; a beginning of it will do.

        Then nothing up to there was changed since.
        """
        return any(each.startswith(head) for each in self.hashes)

    @property
    def spending(self) -> tuple[PrivacySpent, ...]:
        """Statements of the runs that count."""
        return tuple(e.privacy for e in self.entries if e.privacy is not None and e.spends)

    @property
    def together(self) -> tuple[float, float]:
        """Epsilon and delta of these by basic composition."""
        return together(self.spending, self.rule.relation)

    @property
    def counted(self) -> tuple[float, float]:
        """What counts of them by the ledger's own rule."""
        return added_up(self.rule.cost(one) for one in self.spending)

    def with_past(self, runs: Iterable[tuple[str, PrivacySpent | None, End]]) -> State:
        """As it will be when runs of the past, by name, have joined; known ones are left out."""
        known = {entry.run for entry in self.entries}
        new = (
            Entry(run, "", "", privacy, "", None, None, end)
            for run, privacy, end in runs
            if run not in known
        )
        return replace(self, entries=(*self.entries, *new))

    def hash_of(self, text: str | Iterable[bytes]) -> str:
        """Salted hash: of a text, or of contents."""
        pieces = [text.encode()] if isinstance(text, str) else text
        made = hashlib.blake2b(key=bytes.fromhex(self.salt), digest_size=16)
        for piece in pieces:
            made.update(piece)
        return made.hexdigest()


def chained(before: str, text: bytes) -> str:
    """The hash of a line after the one that has that hash."""
    return hashlib.sha256(before.encode() + text).hexdigest()


def read_state(name: str, rows: Iterable[tuple[bytes, bytes]]) -> State:
    """The ledger that lines tell of; each is given with its hash.  Raises InputError if they tell
    of none, or were changed; the message names the line."""
    state: State | None = None
    budget, budgets, entries = None, 0, dict[str, Entry]()
    lines, hashes = list[Line](), [""]
    try:
        for text, kept in rows:
            hashes.append(chained(hashes[-1], text))
            if kept != hashes[-1].encode():
                raise ValueError("does not follow from the lines before it: it was changed")
            line = read_json(text)
            lines.append(line)
            if state is None:
                state = _first(name, line)
            elif line["kind"] == "budget":
                budget = Budget(_number(line, "epsilon"), _number(line, "delta"))
                budgets += 1
            elif line["kind"] == "begun":
                entry = _entry(line)
                if entry.run in entries:
                    raise ValueError("tells of a run twice")
                entries[entry.run] = entry
            elif line["kind"] == "ended":
                entries[line["run"]] = _ended(entries[line["run"]], line["end"])
            else:
                raise ValueError("is of no known kind")
    except FAULTS as error:
        raise InputError(f"{name}: line {len(hashes) - 1} {one_line(error)}") from None
    if state is None:
        raise InputError(f"{name}: is no ledger: it has no first line")
    return replace(
        state,
        budget=budget,
        budgets=budgets,
        entries=tuple(entries.values()),
        lines=tuple(lines),
        hashes=tuple(hashes[1:]),
    )


def now() -> str:
    """When a line is written, UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def budget_line(budget: Budget) -> Line:
    """The line that sets a budget."""
    amounts = {"epsilon": budget.epsilon, "delta": budget.delta}
    return {"kind": "budget", "time": now(), **amounts}


def budget_words(state: State) -> str:
    """How much of the budget is spent, in one line."""
    budget, (epsilon, delta) = state.budget, state.together
    if budget is None:
        return f"epsilon = {epsilon:g}, delta = {delta:g}, without a budget"
    if state.rule.order is None:
        return f"epsilon = {epsilon:g} of {budget.epsilon:g}, delta = {delta:g} of {budget.delta:g}"
    return (
        f"{share_spent(state):.1%} of epsilon = {budget.epsilon:g}, delta = {budget.delta:g}, "
        f"by Renyi divergence of order {state.rule.order:g}"
    )


def share_spent(state: State) -> float:
    """The part of the budget that is spent, of epsilon or delta, whichever is more."""
    if state.budget is None:
        return 0.0
    parts = zip(state.counted, state.rule.capacity(state.budget), strict=True)
    return max(part / most if most > 0 else (math.inf if part else 0.0) for part, most in parts)


def excess_words(state: State, new: Iterable[PrivacySpent]) -> str:
    """Why the budget does not allow more runs; empty if it does, or there is none.  Raises
    ValueError if a statement says nothing about the ledger's neighbours."""
    budget, runs = state.budget, (*state.spending, *new)
    asked = added_up(state.rule.cost(one) for one in runs)
    if budget is None or state.rule.allows(budget, runs):
        return ""
    most, have = state.rule.capacity(budget), state.counted
    which = 0 if asked[0] > most[0] else 1
    name = ("epsilon" if state.rule.order is None else "the Renyi divergence", "delta")[which]
    with_it, limit, left = asked[which], most[which], max(0.0, most[which] - have[which])
    if name == "delta" and not limit and with_it <= SMALL_DELTA:
        return (
            f"delta would be {with_it:g}, and the budget allows 0, which admits only what states "
            "0, as threshold, histogram and quadtree do. What a run by tiles neglects is below "
            f"{LEAST_DELTA:g}, and not 0: geodp ledger {state.name} --epsilon {budget.epsilon:g} "
            f"--delta {SMALL_DELTA:g} has room for {SMALL_DELTA / LEAST_DELTA:,.0f} such runs"
        )
    if f"{with_it:g}" == f"{limit:g}":
        return f"{name} would be a little above {limit:g}, and the budget allows no more"
    return f"{name} would be {with_it:g}, and the budget allows {limit:g}: {left:g} is left"


def _first(name: str, line: Line) -> State:
    if line.get("format") != FORMAT or line.get("kind") != "ledger":
        raise ValueError("is not the beginning of a ledger of geodp")
    if line["version"] != VERSION:
        raise ValueError(f"is of version {line['version']}, and this geodp reads {VERSION} alone")
    if line["neighbours"] not in get_args(Relation):
        raise ValueError("names no neighbours that are known")
    order = None if line["order"] is None else _number(line, "order")
    if order is not None and not order > 1:
        raise ValueError("has an order that is not above 1")
    rule = Rule(line["neighbours"], order)
    if not 0 < len(bytes.fromhex(line["salt"])) <= hashlib.blake2b.MAX_KEY_SIZE:
        raise ValueError("has a salt of another length")
    unit, of = _text(line, "unit"), _text(line, "of")
    return State(name, rule, unit, line["contents"] is True, line["salt"], of)


def _number(line: Line, name: str) -> float:
    if type(line[name]) not in (int, float):
        raise ValueError(f"has no number for {name}")
    return float(line[name])


def _text(line: Line, name: str) -> str | None:
    """A member that is a text, or none."""
    value = line[name]
    if value is not None and not isinstance(value, str):
        raise ValueError(f"has no text for {name}")
    return value


def _entry(line: Line) -> Entry:
    data: Any = line["privacy"]
    privacy = None if data is None else privacy_from_dict(data)
    run = str(line["run"])
    if privacy is not None and privacy.private and privacy.run != run:
        raise ValueError("has a statement of another run")
    return Entry(
        run=run,
        verb=str(line["verb"]),
        learner=str(line["learner"]),
        privacy=privacy,
        time=str(line["time"]),
        source=_text(line, "source"),
        contents=_text(line, "contents"),
    )


def _ended(entry: Entry, end: Any) -> Entry:
    if entry.end is not None or end not in get_args(End):
        raise ValueError("tells of an end that cannot be")
    return replace(entry, end=end)
