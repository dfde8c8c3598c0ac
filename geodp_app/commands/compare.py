"""`geodp compare` runs several learners on the same examples and shows them side by side."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from geodp_app.commands import arguments, points
from geodp_app.commands.arguments import learner_lines
from geodp_app.commands.parser import Parser
from geodp_app.document.examples import Examples, hold_out
from geodp_app.errors import InputError
from geodp_app.files.ledger_recording import recording_of
from geodp_app.files.writing import advice
from geodp_app.formatting import count, counted
from geodp_app.runs.comparison import (
    DEFAULT,
    KINDS,
    Contender,
    Progress,
    Row,
    check_folder,
    compare,
    file_name,
    make_contender,
    remarks,
    table,
    total_spent,
    write_shapes,
)
from learners.privacy.accounting import PrivacySpent
from learners.privacy.privacy_loss import accounting_document
from learners.registry import unknown_learner

_DEFAULT_WITH_K = ("cover", "greedy-cover")
_DEFAULT_HOLDOUT = 0.2

DESCRIPTION = f"""Run several learners on the same examples and print what each of them reaches.

Each private learner spends the whole --epsilon. To publish all the shapes costs the sum, which is
printed. Test errors come from private examples, also with --holdout: they are for the curator
alone, and a choice made by them is covered by no epsilon.

Learners:
{learner_lines("compare")}"""


def add_options(parser: Parser) -> None:
    """Add what the verb takes."""
    parser.add_argument("points", type=Path, metavar="POINTS", help="labelled points")
    tests = parser.add_mutually_exclusive_group()
    tests.add_argument("--test", type=Path, metavar="FILE", help="points to test on")
    tests.add_argument(
        "--holdout",
        type=arguments.open_unit,
        default=_DEFAULT_HOLDOUT,
        metavar="P",
        help="without --test: hold out each example with this probability and test on those "
        "(default %(default)s)",
    )
    parser.add_argument(
        "--learners",
        type=learner_names,
        metavar="A,B,...",
        help=f"which (default: {','.join(DEFAULT)}; with --k also {','.join(_DEFAULT_WITH_K)})",
    )
    parser.add_argument(
        "--k",
        type=arguments.count,
        help="pieces of a good shape: triangles, discs, ellipses, or edges of a convex polygon "
        "(default: cover finds it by itself)",
    )
    arguments.add_privacy(parser)
    arguments.add_ledger(parser)
    points.add_points_options(parser, "grid size d (default: the file's)")
    parser.add_argument(
        "--seed", type=arguments.seed, help="reproducible and therefore NOT private: for tests"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        help="new folder for the learned shapes, one GeoJSON file a learner",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments.add_progress(parser)
    arguments.add_quiet(parser)


def check_k(options: argparse.Namespace, names: Sequence[str]) -> None:
    """Refuse a k that none of the learners counts pieces by."""
    if options.k is not None and not any(KINDS[name].counts for name in names):
        raise InputError(f"--k is for learners that need it; {', '.join(names)} take no k")


def learner_names(text: str) -> tuple[str, ...]:
    """Names of learners, separated by commas."""
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in KINDS:
            raise argparse.ArgumentTypeError(unknown_learner(name, KINDS))
        if names.count(name) > 1:
            raise argparse.ArgumentTypeError(f"{name} is there twice")
    return names


def run(options: argparse.Namespace) -> None:
    """Check, read, learn, write, print."""
    contenders = _contenders(options)
    if options.output:
        check_folder(options.output)
    recording = recording_of(options.ledger, [options.points], head=options.head)
    examples, test = _read(options)

    from geodp_app.runs.practice import tell_long_run, warn_of_budget

    spenders = [contender.kind for contender in contenders if contender.kind.private]
    if spenders:
        used = any(kind.needs_delta for kind in spenders)
        warn_of_budget(options.epsilon, options.delta, used=used, quiet=options.quiet)
    for contender in contenders:
        tell_long_run(dict(contender.parameters), quiet=options.quiet)

    from geodp_app.commands.learn import warn_of_one_class
    from geodp_app.files.learned_file import place_note
    from geodp_app.progress import ProgressBar, tell, telling_of_compiling

    labels = examples.labels
    warn_of_one_class(options.points, len(labels), int(labels.sum()), quiet=options.quiet)
    bar = ProgressBar(quiet=options.quiet, lines=options.progress)

    def show(progress: Progress) -> None:
        text = f"{progress.name} ({progress.number} of {progress.of})"
        if progress.steps:
            text += f", step {progress.step} of {progress.steps}"
        bar.update(progress.share, text)

    def enter(plans: Sequence[PrivacySpent | None]) -> None:
        ids = (contender.kind.id for contender in contenders)
        recording.enter("compare", zip(ids, plans, strict=True))

    rows: list[Row] = []
    with recording, bar, telling_of_compiling(bar):
        for row in compare(examples, test, contenders, show, enter):
            rows.append(row)
            recording.released()
    lost = _write(options.output, rows) if options.output else ""
    if options.json:
        print(json.dumps(_document(options, examples, rows)))
    else:
        learned = counted(len(examples.labels), "example")
        where = "held out" if options.test is None else f"in {options.test}"
        first = f"{learned} to learn from, {count(rows[0].tested)} {where} to test on."
        print("\n".join([*table(rows), "", first, *remarks(rows)]))
    if lost:
        raise InputError(lost)
    if options.output:
        summary = [f"{options.output}: {counted(len(rows), 'learned shape')}"]
        summary += place_note(options.output, examples.frame)
        tell("\n".join(summary), quiet=options.quiet)


def _write(folder: Path, rows: Sequence[Row]) -> str:
    """Write the shapes; what to say if they are somewhere else: their epsilon is spent."""
    try:
        write_shapes(folder, rows)
    except OSError as error:
        kept = Path(tempfile.mkdtemp(prefix="geodp-"))
        write_shapes(kept, rows)
        why = f"{folder}: cannot be written: {error.strerror or error}{advice(error)}"
        return f"{why}; the learned shapes are kept in {kept}"
    return ""


def _contenders(options: argparse.Namespace) -> tuple[Contender, ...]:
    names = options.learners or (DEFAULT if options.k is None else (*DEFAULT, *_DEFAULT_WITH_K))
    check_k(options, names)
    settings = {
        name: getattr(options, name) for name in ("epsilon", "delta", "neighbours", "k", "seed")
    }
    return tuple(make_contender(name, **settings) for name in names)


def _read(options: argparse.Namespace) -> tuple[Examples, Examples]:
    """Examples to learn from and to test on."""
    examples = points.read(options.points, options, quiet=options.quiet)
    _refuse_none(options.points, examples)
    if options.test is None:
        parts = hold_out(examples, options.holdout, options.seed)
        if not all(len(part.labels) for part in parts):
            raise InputError(
                f"{options.points}: {len(examples.labels)} examples are too few to hold some out; "
                "give --test FILE or another --holdout"
            )
        return parts
    test = points.read(options.test, options, fallback=examples.frame, quiet=options.quiet)
    if test.frame != examples.frame:
        raise InputError(
            f"{options.test}: lies on another grid or in another box than {options.points}; give "
            "both the same --grid and --bounds when they are made"
        )
    _refuse_none(options.test, test)
    return examples, test


def _refuse_none(path: Path, examples: Examples) -> None:
    if not len(examples.labels):
        raise InputError(f"{path}: has no examples to compare on")


# --- what is printed ---------------------------------------------------------------------------


def _document(
    options: argparse.Namespace, examples: Examples, rows: Sequence[Row]
) -> dict[str, Any]:
    """The comparison as a JSON object."""
    epsilon, delta = total_spent(rows)
    return {
        "warning": "test errors come from private examples: for the curator's eyes",
        "examples": len(examples.labels),
        "test_examples": rows[0].tested,
        "held_out": options.test is None,
        "seeded": options.seed is not None,
        "together": {"epsilon": epsilon, "delta": delta, "neighbours": options.neighbours},
        "learners": [
            {
                **row.record(),
                "name": row.name,
                "learner": row.contender.kind.class_name,
                "accounting": accounting_document(row.privacy) if row.privacy else None,
                "file": str(options.output / file_name(row)) if options.output else None,
            }
            for row in rows
        ],
    }
