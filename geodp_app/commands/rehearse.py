"""`geodp rehearse` tries learners, epsilons and numbers of examples on simulated samples."""

from __future__ import annotations

import argparse

from geodp_app.commands import arguments, sample
from geodp_app.commands.arguments import learner_lines
from geodp_app.commands.compare import check_k, learner_names
from geodp_app.commands.parser import Parser
from geodp_app.files.writing import write_files
from geodp_app.formatting import csv_text
from geodp_app.runs.comparison import DEFAULT
from geodp_app.runs.rehearsal import (
    RUNS,
    TESTED,
    contenders_of,
    rehearsal_remarks,
    rehearsal_table,
    rehearse,
)
from geometry.files import STDOUT, NewFile

DESCRIPTION = f"""Run learners on examples that are simulated from a public shape, such as the
outline of a district, last year's flood or a drawing: each at every epsilon and number of examples.

  geodp rehearse --target flood.geojson --n 1000,10000 --epsilon 0.5,1 --learners tiles,histogram

It reads no reports and so costs no privacy: choose by it what `geodp learn` is to do with yours.
Printed are the mean error of the runs with its range, and the command to run then; a star is at
the least of each epsilon and number. The error is that on {TESTED:,} fresh points with their right
labels. How yours will do depends on how like yours the stand-in is: in how ragged it is, in where
reports lie (--distribution), and in how many labels are wrong (--noise).

Learners:
{learner_lines("compare")}"""


def add_options(parser: Parser) -> None:
    """Add what the verb takes."""
    sizes = arguments.several(arguments.sample_size)
    sample.add_target(parser, sizes, "how many examples: one number, or several as 1000,10000")
    parser.add_argument(
        "--learners",
        type=learner_names,
        metavar="A,B,...",
        help=f"which (default: {','.join(DEFAULT)})",
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
        default=RUNS,
        help="runs of each, on a sample of its own (default %(default)s)",
    )
    parser.add_argument(
        "-o", "--output", type=arguments.output, metavar="FILE", help="write the table as CSV"
    )
    arguments.add_overwrite(parser)
    arguments.add_progress(parser)
    arguments.add_quiet(parser)


def run(options: argparse.Namespace) -> None:
    """Check, simulate, learn, print or write."""
    names = options.learners or DEFAULT
    check_k(options, names)
    settings = {name: getattr(options, name) for name in ("delta", "neighbours", "seed")}
    contenders = contenders_of(names, options.epsilon, options.k or (), **settings)
    target, shape, frame = sample.placed(options)
    arguments.check_outputs(options, [options.target], output="CSV")

    from geodp_app.progress import ProgressBar, telling_of_compiling

    bar = ProgressBar(quiet=options.quiet, lines=options.progress)
    how = {name: getattr(options, name) for name in ("runs", "distribution", "noise", "seed")}
    with bar, telling_of_compiling(bar):
        rows = list(rehearse(shape, frame, contenders, options.n, **how, watch=bar.update))
    if options.output is not None:
        write_files([NewFile(options.output, csv_text(row.record() for row in rows))])
    if options.output is None or str(options.output) != STDOUT:
        remarks = rehearsal_remarks(rows, target.name)
        print("\n".join([*rehearsal_table(rows), "", *remarks]))
