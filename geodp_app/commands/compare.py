"""`geodp compare` runs several learners on the same examples and shows them side by side;
`geodp rehearse` does so on simulated examples, by epsilon and by their number.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from geodp_app.commands import Parser, arguments, points, sample
from geodp_app.commands.arguments import learner_lines
from geodp_app.document.examples import Examples, hold_out
from geodp_app.files.ledger_recording import recording_of
from geodp_app.files.writing import STDOUT, NewFile, advice, write_files
from geodp_app.formatting import count, counted, csv_text
from geodp_app.progress import (
    ProgressBar,
    tell,
    tell_long_run,
    telling_of_compiling,
    warn_of_budget,
)
from geodp_app.runs import comparison, rehearsal
from geodp_app.runs.comparison import remarks, table
from geodp_app.runs.rehearsal import TESTED, contenders_of, rehearsal_remarks, rehearsal_table
from geometry.errors import InputError, refusals
from learners.privacy.accounting import PrivacySpent
from learners.privacy.privacy_loss import accounting_document
from learners.privacy.several_runs import joint_relation
from learners.registry import unknown_learner

_DEFAULT, _WITH_K = ",".join(comparison.DEFAULT), ",".join(comparison.DEFAULT_WITH_K)
_DEFAULT_HOLDOUT = 0.2

COMPARE = f"""Run several learners on the same examples and print what each of them reaches.

Each private learner spends the whole --epsilon. To publish all the shapes costs the sum, which is
printed. Test errors come from private examples, also with --holdout: they are for the curator
alone, and a choice made by them is covered by no epsilon.

Learners:
{learner_lines("compare")}"""


def compare_options(parser: Parser) -> None:
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
        help=f"which (default: {_DEFAULT}; with --k also {_WITH_K})",
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
        "--seed", type=arguments.natural, help="reproducible and therefore NOT private: for tests"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        help="new folder for the learned shapes, one GeoJSON file a learner",
    )
    arguments.add_flags(parser, "json", "progress", "quiet")


def learner_names(text: str) -> tuple[str, ...]:
    """Names of learners, separated by commas."""
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in comparison.KINDS:
            raise argparse.ArgumentTypeError(unknown_learner(name, comparison.KINDS))
        if names.count(name) > 1:
            raise argparse.ArgumentTypeError(f"{name} is there twice")
    return names


def compare(options: argparse.Namespace) -> None:
    """Check, read, learn, write, print."""
    names = ("epsilon", "delta", "neighbours", "k", "seed")
    settings = {name: getattr(options, name) for name in names}
    contenders = comparison.make_contenders(options.learners, **settings)
    if options.output:
        comparison.check_folder(options.output)
    recording = recording_of(options.ledger, [options.points], head=options.head)
    examples, test = _read(options)

    spenders = [contender.kind for contender in contenders if contender.kind.private]
    if spenders:
        used = any(kind.needs_delta for kind in spenders)
        warn_of_budget(options.epsilon, options.delta, used=used, quiet=options.quiet)
    for contender in contenders:
        tell_long_run(dict(contender.parameters), quiet=options.quiet)

    from geodp_app.commands.learn import warn_of_one_class
    from geodp_app.files.learned_file import place_note

    labels = examples.labels
    warn_of_one_class(options.points, len(labels), int(labels.sum()), quiet=options.quiet)
    bar = ProgressBar(quiet=options.quiet, lines=options.progress)

    def show(progress: comparison.Progress) -> None:
        text = f"{progress.name} ({progress.number} of {progress.of})"
        if progress.steps:
            text += f", step {progress.step} of {progress.steps}"
        bar.update(progress.share, text)

    def enter(plans: Sequence[PrivacySpent | None]) -> None:
        ids = (contender.kind.id for contender in contenders)
        recording.enter("compare", zip(ids, plans, strict=True))

    rows: list[comparison.Row] = []
    with recording, bar, telling_of_compiling(bar):
        for row in comparison.compare(examples, test, contenders, show, enter):
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


def _write(folder: Path, rows: Sequence[comparison.Row]) -> str:
    """Write the shapes; what to say if they are somewhere else: their epsilon is spent."""
    try:
        comparison.write_shapes(folder, rows)
    except OSError as error:
        kept = Path(tempfile.mkdtemp(prefix="geodp-"))
        comparison.write_shapes(kept, rows)
        why = f"{folder}: cannot be written: {error.strerror or error}{advice(error)}"
        return f"{why}; the learned shapes are kept in {kept}"
    return ""


def _read(options: argparse.Namespace) -> tuple[Examples, Examples]:
    """Examples to learn from and to test on."""
    examples = points.read(options.points, options, quiet=options.quiet)
    _refuse_none(options.points, examples)
    if options.test is None:
        with refusals(f"{options.points}: give --test FILE or another --holdout", InputError):
            return hold_out(examples, options.holdout, options.seed)
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


def _document(
    options: argparse.Namespace, examples: Examples, rows: Sequence[comparison.Row]
) -> dict[str, Any]:
    epsilon, delta = comparison.total_spent(rows)
    about = joint_relation(row.privacy.neighbours for row in rows if row.privacy is not None)
    return {
        "warning": "test errors come from private examples: for the curator's eyes",
        "examples": len(examples.labels),
        "test_examples": rows[0].tested,
        "held_out": options.test is None,
        "seeded": options.seed is not None,
        "together": {"epsilon": epsilon, "delta": delta, "neighbours": about},
        "learners": [
            {
                **row.record(),
                "name": row.name,
                "learner": row.contender.kind.class_name,
                "accounting": accounting_document(row.privacy) if row.privacy else None,
                "file": str(options.output / comparison.file_name(row)) if options.output else None,
            }
            for row in rows
        ],
    }


REHEARSE = f"""Run learners on examples that are simulated from a public shape, such as the
outline of a district, last year's flood or a drawing: each at every epsilon and number of examples.

  geodp rehearse --target flood.geojson --n 1000,10000 --epsilon 0.5,1 --learners tiles,histogram

It reads no reports and so costs no privacy: choose by it what `geodp learn` is to do with yours.
Printed are the mean error of the runs with its range, and the command to run then; a star is at
the least of each epsilon and number. The error is that on {TESTED:,} fresh points with their right
labels. How yours will do depends on how like yours the stand-in is: in how ragged it is, in where
reports lie (--distribution), and in how many labels are wrong (--noise).

Learners:
{learner_lines("compare")}"""


def rehearse_options(parser: Parser) -> None:
    sizes = arguments.several(arguments.sample_size)
    sample.add_target(parser, sizes, "how many examples: one number, or several as 1000,10000")
    parser.add_argument(
        "--learners",
        type=learner_names,
        metavar="A,B,...",
        help=f"which (default: {_DEFAULT})",
    )
    parser.add_argument(
        "--k",
        type=arguments.several(arguments.count),
        metavar="K,...",
        help="pieces of a good shape, for learners that count them; one number or several",
    )
    arguments.add_privacy(parser, arguments.several(arguments.positive))
    parser.add_argument(
        "--runs",
        type=arguments.count,
        default=rehearsal.RUNS,
        help="runs of each, on a sample of its own (default %(default)s)",
    )
    parser.add_argument(
        "-o", "--output", type=arguments.output, metavar="FILE", help="write the table as CSV"
    )
    arguments.add_flags(parser, "overwrite", "progress", "quiet")


def rehearse(options: argparse.Namespace) -> None:
    """Check, simulate, learn, print or write."""
    names = options.learners or comparison.DEFAULT
    settings = {name: getattr(options, name) for name in ("delta", "neighbours", "seed")}
    contenders = contenders_of(names, options.epsilon, options.k or (), **settings)
    target, shape, frame = sample.placed(options)
    arguments.check_outputs(options, [options.target], output="CSV")
    bar = ProgressBar(quiet=options.quiet, lines=options.progress)
    how = {name: getattr(options, name) for name in ("runs", "distribution", "noise", "seed")}
    with bar, telling_of_compiling(bar):
        rows = list(
            rehearsal.rehearse(shape, frame, contenders, options.n, **how, watch=bar.update)
        )
    if options.output is not None:
        write_files([NewFile(options.output, csv_text(row.record() for row in rows))])
    if options.output is None or str(options.output) != STDOUT:
        print("\n".join([*rehearsal_table(rows), "", *rehearsal_remarks(rows, target.name)]))
