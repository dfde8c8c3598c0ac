"""`geodp ledger` begins a ledger, a record of the privacy spent on a data set, and reads it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from geodp_app.commands import Parser, arguments
from geodp_app.files.ledger import Ledger, NewRun, Past, Source, no_head, past_run
from geodp_app.files.ledger_state import SMALL_DELTA, Entry, State, budget_words
from geodp_app.formatting import aligned
from geometry.errors import InputError, refusals
from learners.privacy.accounting import LEAST_DELTA, Relation
from learners.privacy.privacy_loss import accounting_document
from learners.privacy.several_runs import Budget, Composition

LEDGER = """Begin a ledger of what is spent on the data of the same people, or print it.

  geodp ledger reports/geodp.ledger --new --epsilon 3 --delta 1e-5
  geodp learn reports/points.csv --epsilon 1 -o learned.geojson
  geodp ledger reports/geodp.ledger

A ledger named geodp.ledger is joined by whatever is read from its folder, in the window too; others
by --ledger. Each run is entered before it draws and counts in full from then on, released,
cancelled or failed. A run that the budget does not allow draws nothing (exit code 2).

What a ledger is about is fixed when it is begun: the neighbours, whether rows or persons are
protected, and how runs are added up. All that is in it counts as drawn from the same people,
whatever file it was read from.

It is private, as are the runs that it lists. What may be published is the budget. Its lines are
chained by hashes: the last one, the head, noted elsewhere, tells later whether anything up to there
was changed or cut off; geodp learn --head HASH draws nothing then. Without that, putting an older
copy back, cutting off the end, or writing all anew, is not detected.

A ledger by folder sees links to the data, and the files that a DuckDB view names. It does not see
copies, hard links, views that compute a path, servers, standard input, or data frames: there give
--ledger."""

_NEIGHBOURS = {
    "add-remove": "{} that is added or removed",
    "replace-one": "{} that is replaced by another",
    "replace-label": "the label of {}",
}
#: Of a first budget, unless one is given: as that of a run.
_DELTA = 1e-6


def ledger_options(parser: Parser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the ledger")
    parser.add_argument("--new", action="store_true", help="begin it")
    parser.add_argument(
        "--epsilon", type=arguments.positive, metavar="E", help="a budget for all runs together"
    )
    parser.add_argument(
        "--delta",
        type=arguments.below_one,
        metavar="D",
        help=f"of the budget (default: as it is; with --new {_DELTA:g}); 0 admits no run by tiles, "
        f"which states {LEAST_DELTA:g} for its arithmetic: {SMALL_DELTA:g} does",
    )
    how = "add up epsilons, or Renyi divergences, which allows many small runs more"
    for option, kinds, words in (
        ("--neighbours", Relation, "what the sums protect (default: add-remove)"),
        ("--composition", Composition, f"{how} (default: basic)"),
    ):
        parser.add_argument(option, choices=get_args(kinds), help=f"with --new: {words}")
    parser.add_argument(
        "--id", metavar="COLUMN", help="with --new: protect persons, named by this column"
    )
    parser.add_argument(
        "--of",
        metavar="TEXT",
        help="public description of the data set: with --new its salted hash is kept, later it "
        "is compared",
    )
    parser.add_argument(
        "--contents", action="store_true", help="with --new: keep salted hashes of files' contents"
    )
    parser.add_argument(
        "--join",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="enter what sessions and learned files of the past spent",
    )
    parser.add_argument("--head", type=arguments.head, metavar="HASH", help="was it the head once?")
    arguments.add_flags(parser, "json", "quiet")


def ledger(options: argparse.Namespace) -> None:
    """Begin, change, look, print."""
    if options.file == Path("-"):
        raise InputError("a ledger is a file, which lasts: name one in the place of -")
    if options.delta is not None and options.epsilon is None:
        raise InputError("--delta is of a budget: give --epsilon, too")
    if options.new:
        if options.join or options.head:
            raise InputError("--join and --head are for a ledger that is there: leave --new out")
        ledger = Ledger.create(
            options.file,
            relation=options.neighbours or "add-remove",
            budget=_budget(options, _DELTA),
            composition=options.composition or "basic",
            unit=options.id,
            of=options.of,
            contents=options.contents,
        )
    else:
        ledger = _known(options)
    state = ledger.state()
    if options.json:
        print(json.dumps(_document(state), indent=1))
    elif not options.quiet:
        print("\n".join(statement(state)))


def _budget(options: argparse.Namespace, delta: float) -> Budget | None:
    """The budget that is given, with that delta unless another is."""
    if options.epsilon is None:
        return None
    with refusals():
        return Budget(options.epsilon, delta if options.delta is None else options.delta)


def _known(options: argparse.Namespace) -> Ledger:
    """A ledger that is there, changed as the options say."""
    if not options.file.exists():
        raise InputError(f"{options.file}: there is no such ledger; --new begins one")
    fixed = {
        "--neighbours": options.neighbours,
        "--composition": options.composition,
        "--id": options.id,
        "--contents": options.contents or None,
    }
    given = [name for name, value in fixed.items() if value is not None]
    if given:
        raise InputError(f"{given[0]} is fixed when a ledger is begun: it goes with --new")
    ledger = Ledger(options.file)
    state = ledger.state()
    if options.of is not None and state.of != state.hash_of(options.of):
        raise InputError(f"{options.file}: was not begun for {options.of!r}")
    if options.head is not None and not state.holds(options.head):
        raise InputError(no_head(options.file, options.head))
    budget = _budget(options, _DELTA if state.budget is None else state.budget.delta)
    if options.join:
        ledger.join(*(_spent(path, ledger.path, state.unit) for path in options.join))
    if budget is not None:
        ledger.set_budget(budget)
    return ledger


def _spent(path: Path, ledger: Path, unit: str | None) -> Past:
    """What a session or a learned file says was spent; raises InputError if that is of another
    unit than the ledger's."""
    from geodp_app.files.document_files import file_kind
    from geodp_app.files.learned_file import read_learned
    from geodp_app.files.session import load_session

    if file_kind(path) == "session":
        work = load_session(path).work
        if work.simulated and work.spent:
            raise InputError(f"{path}: its examples are simulated, and nobody's: leave it out")
        runs = [past_run(charge) for charge in work.spent]
        other = None if work.examples is None else work.examples.unit
        rows = 1 if work.examples is None else work.examples.rows
    else:
        release = read_learned(path).release
        if release is None:
            raise InputError(f"{path}: is no session, and no shape that geodp learned")
        runs = [(NewRun("file", release.learner, release.privacy), "released")]
        other = dict(release.parameters).get("unit")
        rows = 1 if release.privacy is None else release.privacy.rows
    if other != unit:
        raise InputError(
            f"{path}: protects {_unit(other)}, and {ledger} {_unit(unit)}: they do not add up"
        )
    return runs, Source.of_files([path], unit, rows=rows)


# --- what is printed ---------------------------------------------------------------------------


def statement(state: State) -> list[str]:
    """What the curator reads."""
    report = []
    if state.entries:
        sources = _numbered(state.entries)
        lines = [_HEADINGS, *(_cells(entry, sources) for entry in state.entries)]
        report = [*aligned(lines, texts=range(len(_HEADINGS))), ""]
    report.append(f"{state.name} protects {_protected(state)}.")
    runs = len([e for e in state.entries if e.spends])
    epsilon, delta = state.together
    report.append(
        f"{runs} run{'' if runs == 1 else 's'} together: epsilon = {epsilon:g}, delta = {delta:g}, "
        "by basic composition."
        if runs
        else "Nothing was spent so far."
    )
    budget = state.budget
    if budget is None:
        report.append("No budget is set: nothing is refused. --epsilon E --delta D sets one.")
    else:
        report.append(f"Budget: {budget_words(state)}.")
        report.append(
            f"May be published: all that private runs release under this ledger is together "
            f"({budget.epsilon:g}, {budget.delta:g})-differentially private, with respect to "
            f"{_protected(state)}."
            if state.rule.allows(budget, state.spending)
            else "It is exceeded, by what was joined or because it was lowered, and does not hold: "
            "what holds is the sum."
        )
    if state.budgets > 1:
        report.append(
            f"The budget was set {state.budgets} times: what holds is the last one, as long as it "
            "was not chosen by what had been released."
        )
    bare = [e for e in state.entries if e.privacy is None or not e.privacy.private]
    if bare:
        report.append(
            f"{len(bare)} more without privacy, or seeded: no sum counts them, and nothing of "
            "them may be published."
        )
    report.append(f"Head: {state.head} of {len(state.lines)} lines. Note it elsewhere.")
    report.append("Private but for the budget: which runs were made, and how they ended.")
    return report


def _unit(column: str | None) -> str:
    return "one row" if column is None else f"one person, named by {column}"


def _protected(state: State) -> str:
    said = _NEIGHBOURS[state.rule.relation].format(_unit(state.unit))
    return said if state.unit is None else said.replace(" that", ", that")


_HEADINGS = ("entered", "verb", "learner", "source", "epsilon", "delta", "end")


def _numbered(entries: Sequence[Entry]) -> dict[str | None, int]:
    """Sources by the order in which they were first read; of the same contents is the same."""
    numbers: dict[str | None, int] = {}
    for entry in entries:
        numbers.setdefault(entry.contents or entry.source, len(numbers) + 1)
    return numbers


def _cells(entry: Entry, sources: dict[str | None, int]) -> tuple[str, ...]:
    spent, amounts = entry.privacy, ("–", "–")
    if spent is not None and spent.private:
        amounts = f"{spent.epsilon:g}", f"{spent.delta:g}"
    return (
        entry.time[:16].replace("T", " "),
        entry.verb,
        entry.learner,
        str(sources[entry.contents or entry.source]),
        *amounts,
        entry.end or "not told",
    )


def _document(state: State) -> dict[str, Any]:
    """The ledger as a JSON object, each run's charges as other accountants want them."""
    epsilon, delta = state.together
    budget = state.budget
    sources = _numbered(state.entries)
    return {
        "warning": "private: for the curator; what may be published is the budget",
        "protects": _protected(state),
        "neighbours": state.rule.relation,
        "unit": state.unit,
        "composition": "basic" if state.rule.order is None else "renyi",
        "order": state.rule.order,
        "budget": None if budget is None else {"epsilon": budget.epsilon, "delta": budget.delta},
        "together": {"epsilon": epsilon, "delta": delta, "by": "basic composition"},
        "counted": dict(zip(("cost", "delta"), state.counted, strict=True)),
        "capacity": None
        if budget is None
        else dict(zip(("cost", "delta"), state.rule.capacity(budget), strict=True)),
        "runs": [
            {
                "run": entry.run,
                "entered": entry.time,
                "verb": entry.verb,
                "learner": entry.learner,
                "source": sources[entry.contents or entry.source],
                "end": entry.end,
                "counts": entry.spends,
                "accounting": None if entry.privacy is None else accounting_document(entry.privacy),
            }
            for entry in state.entries
        ],
        "head": state.head,
        "lines": len(state.lines),
        "as_written": state.lines,
    }
