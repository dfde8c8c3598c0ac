"""`geodp learn` makes a differentially private shape of labelled examples."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assets import shape_name
from geodp_app.commands import Parser, arguments, points
from geodp_app.document.examples import Examples
from geodp_app.files.ledger_recording import recording_of
from geodp_app.files.writing import STDOUT, NewFile, try_files, write_files
from geodp_app.progress import (
    ProgressBar,
    hears_curator,
    tell,
    tell_curator,
    tell_long_run,
    telling_of_compiling,
    warn_of_budget,
)
from geodp_app.tables.counts import TableCounts, files_behind, read_counts
from geodp_app.tables.source import TableSource, table_source
from geometry.errors import InputError, printable, refusals
from learners import __version__
from learners.declaration import Learner
from learners.registry import MOST_STEPS

if TYPE_CHECKING:
    from learners.core.learned_shape import LearnedShape
    from learners.core.records import StepRecord
    from learners.core.selection import SelectionProgress
    from learners.privacy.accounting import PrivacySpent

LEARN = f"""Learn a shape from labelled examples under differential privacy.

{points.FORMS}

Grid size and bounds are public; a file written by `geodp sample` states its own. The learned
GeoJSON holds the shape, its exact form, and what was spent; nothing else of the examples.

A learner labels every point, also where nobody reported.  --within clips the shape to a public
map, such as land. That costs no epsilon; the exact form in the file stays whole.

{arguments.learner_lines("learn")}

A cover picks K pieces, or a few times as many, one after the other, each with a share of epsilon.
Discs and ellipses need a grid of at most 2048 steps a side.

With --table the examples stay where they are, and the engine counts them by grid point (needs
pip install 'geodp[tables]'):

  --table 'parquet:reports/*.parquet'     files, read by embedded DuckDB
  --table 'csv:reports/*.csv'
  --table duckdb:reports.db::reports      a table or view of a DuckDB file, opened read-only
  --table pyspark::reports                a table of Spark, or of any URL::TABLE that Ibis knows

What is protected is one row. Where a person may have several, name the column that says whose a
row is: with --id COLUMN one row of each person is counted, and the person is protected. With
--rows R as well, each person counts as R examples, all of them charged; that is more accurate where
a person's rows are far from each other."""


def learn_options(parser: Parser) -> None:
    parser.add_argument("points", type=Path, nargs="?", metavar="POINTS", help="labelled points")
    parser.add_argument(
        "--table",
        type=table_source,
        metavar="WHERE",
        help="a table instead of POINTS: parquet:FILES, csv:FILES, duckdb:FILE::TABLE, URL::TABLE",
    )
    parser.add_argument(
        "--id",
        metavar="COLUMN",
        help="column that says whose a row is; one row of each person is counted (default: every "
        "row counts as a person)",
    )
    parser.add_argument(
        "--rows",
        type=arguments.count,
        default=1,
        metavar="R",
        help="with --id: so many rows of each person are examples, or fewer in turn, and epsilon "
        "is for all of them (default: 1)",
    )
    arguments.add_learner(parser, "learn")
    arguments.add_ledger(parser)
    points.add_points_options(parser, "grid size d (default: the file's)")
    arguments.add_within(parser, "clip the shape to")
    arguments.add_output(
        parser, "shape to write: .geojson, .gpkg, .fgb, .parquet or .shp, with a QGIS style beside"
    )
    parser.add_argument(
        "--raw-grid",
        action="store_true",
        help="write grid units instead of degrees; most other programs misread these",
    )
    parser.add_argument(
        "--report",
        type=arguments.output,
        metavar="FILE",
        help="write the privacy report (public, JSON)",
    )
    parser.add_argument(
        "--date",
        type=arguments.day,
        metavar="DAY",
        help="what the report gives as its date, such as 2026-03-31 (default: none; it never says "
        "by itself when a run was made, which may depend on the examples)",
    )
    parser.add_argument(
        "--as",
        dest="like",
        type=Path,
        metavar="REPORT",
        help="run as a --report says of its run: learner, parameters, grid, bounds, columns, --id "
        "and --within, but for those that are given beside it",
    )
    for option, words in (
        ("--records", "write the steps with true counts and errors (PRIVATE, JSON lines)"),
        ("--picture", "draw the shape and some of the examples (PRIVATE, PNG)"),
    ):
        parser.add_argument(option, type=arguments.output, metavar="FILE", help=words)
    parser.add_argument(
        "--ask",
        type=arguments.asked,
        metavar="N",
        help="with --learner stability: when the shape is written, label points of standard input "
        "by votes, x,y (or lon,lat) a line, until N of them have no answer; N + 1 halts need "
        "more chunks",
    )
    arguments.add_flags(parser, "progress", "quiet")


def learn(options: argparse.Namespace) -> None:
    """Check, read, learn, write."""
    _check_source(options)
    if options.date is not None and options.report is None:
        raise InputError("--date is what a report says: give --report FILE, too")
    learner, parameters = _settle(options)
    inputs = options.table.files() if options.table else [options.points]
    recording = recording_of(
        options.ledger,
        [*inputs, *(files_behind(options.table) if options.table else ())],
        name=options.table.name if options.table else "",
        unit=options.id,
        rows=options.rows,
        head=options.head,
    )
    inputs += [options.within, options.ledger, options.like]
    arguments.check_outputs(
        options, inputs, output="a shape", report="JSON", records="JSON lines", picture="PNG"
    )
    mask = arguments.read_within(options)
    masks = () if mask is None else (mask,)
    sample = _read(options, learner)
    recording.name_unit(sample.unit)
    for mask in masks:
        mask.region(sample.frame)  # refuses one that lies elsewhere, before epsilon is spent

    budget = parameters["epsilon"], parameters["delta"]
    warned = {"used": learner.needs_delta, "quiet": options.quiet}
    warn_of_budget(*budget, **warned)
    tell_long_run(parameters, quiet=options.quiet)
    # the learners compile their loops: not worth waiting for on a mistyped option
    from geodp_app.files.learned_file import (
        parts_text,
        place_note,
        rescued,
        shape_files,
        whole_square,
        wrong_labels_text,
    )
    from geodp_app.files.run_report import records_text, report, run_stated
    from learners.core.learned_shape import LearnedShape
    from learners.core.releases import for_persons
    from learners.privacy.accounting import of_persons, one_of_several, privacy_statement

    reading = {name: getattr(options, name) for name in HOW_READ}
    reading["rows"] = options.rows if options.rows > 1 else None
    asked = *budget, options.rows
    with refusals("--rows"):
        each = dict(zip(("epsilon", "delta"), one_of_several(*asked), strict=True))
    how = {"raw_grid": options.raw_grid, "overwrite": options.overwrite}
    try_files(shape_files(options.output, whole_square(sample.frame, *masks), **how))

    def enter(plan: PrivacySpent | None) -> None:
        recording.enter("learn", [(learner.id, of_persons(plan, *asked))])

    with recording:
        model, records = fit_learner(
            learner,
            sample,
            parameters | each,
            quiet=options.quiet,
            progress=options.progress,
            before=enter,
        )
        release = for_persons(model.release_, sample.unit, *asked)
        warn_of_budget(*budget, **warned, release=release)
        shape = LearnedShape(release, sample.frame, masks)
        with rescued(shape, recording.released):
            files = shape_files(options.output, shape, **how)
            if options.report:
                summary = report(
                    release,
                    run=run_stated(learner, parameters, sample.frame, reading),
                    within=None if mask is None else shape_name(options.within),
                    within_layer=options.within_layer,
                    date=options.date,
                )
                files.append(NewFile(options.report, json.dumps(summary, indent=1) + "\n"))
            if options.records:
                files.append(NewFile(options.records, records_text(records), private=True))
            drawn = ""
            if options.picture:
                assert isinstance(sample, Examples)
                drawn, pictures = _draw(options, sample, shape)
                files += pictures
            write_files(files, before=recording.released)
    if words := recording.words:
        tell_curator(f"geodp: {words}", quiet=options.quiet)
    parts = parts_text(release) + (f", clipped to {shape.clipped_to}" if masks else "")
    summary_lines = [f"{options.output}: {parts}, {privacy_statement(release.privacy)}"]
    about = [wrong_labels_text(release), shape.accuracy, _support_line(shape)]
    summary_lines += [f"{options.output}: {words}" for words in about if words]
    if not options.raw_grid:
        summary_lines += place_note(options.output, sample.frame)
    if options.table or options.id is not None:
        summary_lines.append(_persons_text(options))
    if drawn:
        summary_lines.append(drawn)
    if options.records:
        summary_lines.append(f"{options.records}: private, do not publish")
    tell("\n".join(summary_lines), quiet=options.quiet)
    if options.ask is not None:
        from geodp_app.commands.ask import answer_questions

        answer_questions(model, sample.frame, sys.stdin, masks, quiet=options.quiet)


def fit_learner(
    learner: Learner,
    sample: Examples | TableCounts,
    parameters: dict[str, Any],
    *,
    quiet: bool,
    progress: bool = False,
    before: Callable[[PrivacySpent | None], None] = lambda plan: None,
) -> tuple[Any, list[StepRecord]]:
    """Run a learner to its end; what it warns of at the start is told in one line each.

    Raises InputError if the learner refuses a parameter.  Returns the estimator, fitted, and its
    records.

    Parameters
    ----------
    parameters : dict
        Of the learner, without ``grid``.
    quiet : bool
        Show no progress bar and no warnings.
    progress : bool
        Show lines instead of the bar, for a program that reads them.
    before : callable
        Called with what the run will spend when nothing is left to be refused, before anything is
        drawn; what it raises ends the run.
    """
    bar = ProgressBar(quiet=quiet, lines=progress)
    records: list[StepRecord] = []

    def show(selection: SelectionProgress | None = None) -> None:
        total = records[-1].steps if records else None
        text = f"step {len(records) + 1}" + (f" of {total}" if total else "")
        if selection is not None and not progress:  # a private figure: for a terminal alone
            text += f", {selection.trials:,} trials"
        bar.update(len(records) / total if total else 0.0, text)

    # boxes are not looked up for nobody
    watch = show if bar.seen else None
    model = learner.build(grid=sample.frame.d, **parameters)
    with bar, telling_of_compiling(bar):
        bar.update(0.0, "planning")  # takes seconds for thousands of steps
        with refusals():
            plan = model.plan()
            with warnings.catch_warnings(action="always", record=True) as warned:
                if isinstance(sample, TableCounts):
                    stream: Iterator[StepRecord] = model.steps_counts(sample.counts, watch=watch)
                else:
                    stream = model.steps(sample.points, sample.labels, watch=watch)
            before(plan)
        if not quiet:
            sys.stderr.writelines(f"geodp: warning: {one.message}\n" for one in warned)
        show()
        for record in stream:
            records.append(record)
            if record.step < record.steps:
                show()
    return model, records


def _support_line(shape: LearnedShape) -> str:
    """Where it had reports, and what to do about parts that are not known to have had any."""
    from learners.core.releases import support_cost, support_words

    release = shape.release
    words, blocks = support_words(release), getattr(release, "blocks", lambda: None)()
    if not words or support_cost(release) or (blocks is not None and all(blocks.reported)):
        return words
    clip = "" if shape.masks else "clip it with --within a public map, or "
    return f"{words}: {clip}release more about it with --support"


def _check_source(options: argparse.Namespace) -> None:
    """One source, and options that go with it; raises InputError otherwise."""
    if (options.table is None) == (options.points is None):
        raise InputError(
            "give either POINTS, a CSV file, or --table WHERE (see geodp learn --help)"
        )
    if options.rows > 1 and options.id is None:
        raise InputError("--rows is how many rows of a person: give --id COLUMN, too")
    if options.table is None:
        return
    if options.picture:
        raise InputError("--picture draws examples, and --table reads none: leave it out")
    if options.layer is not None or options.out_of_bounds != "refuse":
        raise InputError("--layer and --out-of-bounds are for POINTS: leave them out with --table")


def _read(options: argparse.Namespace, learner: Learner) -> Examples | TableCounts:
    """The examples, or their counts; tells the curator when all labels are the same."""
    if options.table is None:
        examples = points.read(options.points, options, quiet=options.quiet)
        n, positives = len(examples.labels), int(examples.labels.sum())
        warn_of_one_class(options.points, n, positives, quiet=options.quiet)
        return examples
    if not learner.takes_counts:
        raise InputError(
            f"--learner {learner.id} needs the examples one by one: give a CSV file POINTS "
            "instead of --table, or another learner"
        )
    source: TableSource = options.table
    quiet, reading = options.quiet, points.point_options(options)
    bounds = reading.bounds
    if bounds is not None and (bounds.crosses or options.crs is not None):
        raise InputError("--table reads degrees, in a box that does not cross the antimeridian")
    found = read_counts(source, reading, edges=hears_curator(quiet=quiet), quiet=quiet)
    points.tell_rows(source.name, found.names, found, options, quiet=quiet)
    positives = found.counts.positives
    warn_of_one_class(source.name, found.counts.negatives + positives, positives, quiet=quiet)
    return found


def _persons_text(options: argparse.Namespace) -> str:
    """What the guarantee is about."""
    name = options.table.name if options.table else options.points
    if options.id is None:
        return (
            f"{name}: each row counts as one person; where a person may have more, give --id COLUMN"
        )
    if options.rows > 1:
        return f"{name}: each {options.id} was counted {options.rows} times, by own rows alone"
    return f"{name}: one row of each {options.id} was counted; no person has two"


def _settle(options: argparse.Namespace) -> tuple[Learner, dict[str, Any]]:
    """The learner, and its parameters without the grid; raises InputError if options do not go
    together."""
    learner, parameters = arguments.resolved_learner(options, "learn")
    if options.ask is not None:
        if "votes" not in learner.shows:
            raise InputError(f"--ask means nothing to {learner.id}: it is for --learner stability")
        files = options.output, options.report, options.records, options.picture
        if options.points in (Path("-"), Path("/dev/stdin")) or Path(STDOUT) in files:
            raise InputError(
                "--ask reads questions from standard input and writes their answers to standard "
                "output: name files for all else"
            )
        parameters |= {"halts": options.ask + 1, "kept": options.ask}
    if options.alpha is None:
        return learner, parameters
    if options.n_steps is not None:
        raise InputError("--steps and --alpha both choose the number of steps: give one")
    if parameters["k"] == "auto":
        raise InputError("--alpha chooses the number of steps by k: give --k K, or no --alpha")
    from learners.cover.set_cover import theorem_steps

    steps = theorem_steps(parameters["k"], options.alpha)
    if steps > MOST_STEPS:
        raise InputError(
            f"--alpha {options.alpha:g} with --k {parameters['k']} asks for {steps:,} steps: more "
            f"than {MOST_STEPS:,} share epsilon too thinly to learn by"
        )
    return learner, parameters


def _draw(
    options: argparse.Namespace, examples: Examples, learned: LearnedShape
) -> tuple[str, list[NewFile]]:
    """What to say about the picture, and its file, if there can be one."""
    from geodp_app.commands.shapes import mistakes
    from geodp_app.files.run_report import release_figures, support_caption
    from geodp_app.files.svg_picture import picture_svg
    from geodp_app.views.pictures import PictureError, drawn_png

    release, error = learned.release, "–"  # of no examples
    if len(examples.labels):
        error = f"{mistakes(learned.labels(examples.points), examples.labels)['error']:.2%}"
    figures = (*release_figures(release), ("training error", error))
    picture = picture_svg(
        examples.frame,
        learned.layers(),
        f"Learned from {options.points.name}",
        figures,
        examples=examples,
        caption=support_caption(release),
    )
    try:
        drawn = drawn_png(picture)
    except PictureError as problem:
        return f"No picture: {problem}", []
    file = NewFile(options.picture, drawn, private=True)
    return f"{options.picture}: private, do not publish", [file]


def warn_of_one_class(name: object, n: int, positives: int, *, quiet: bool) -> None:
    """Tell the curator when all labels are the same; the learner copes.

    A fact about the examples and hence private: for a terminal alone, never for a pipe or a log.
    `name`: of the examples.  `n` and `positives`: examples, and those with label 1.
    """
    if n and positives in (0, n):
        tell_curator(f"geodp: warning: {name}: all labels are {int(positives > 0)}", quiet=quiet)


#: How rows become examples.
HOW_READ = (
    "columns", "layer", "out_of_bounds", "unusable", "outside", "inside", "id", "rows",
)  # fmt: skip
#: What a report says of its run besides the learner's parameters, and of a map beside the run.
_OF_RUN, _OF_MAP = ("learner", "grid", "bounds", "crs", *HOW_READ), ("within", "within_layer")


def as_reported(options: argparse.Namespace, given: Sequence[str]) -> list[str]:
    """The given arguments, first the verb, with those of the report before them that `learn --as`
    names: the last ones hold.  Tells that another version has written it; raises InputError if it
    is no report, or says nothing of its run."""
    # help needs none of this
    from geodp_app.files.strict_reading import read_json
    from learners.registry import BY_ID

    try:
        report = read_json(options.like.read_bytes())
        run, version = report["run"], report["geodp"]
        learner = BY_ID[run.get("learner")]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{options.like}: is no report of a run; --report writes one") from None
    if version != __version__:
        said = printable(f"written by geodp {version!s:.20}, and this is {__version__}")
        tell(f"geodp: {options.like}: {said}: it may learn otherwise", quiet=options.quiet)
    if any(each.split("=")[0] == "--learner" for each in given):
        learner = BY_ID[options.learner]
        known = [each.name for each in BY_ID[run["learner"]].parameters]
        run = {n: v for n, v in run.items() if n not in known or learner.parameter(n) is not None}
    names = {each.name: each.typed for each in learner.parameters if not each.of_python}
    names |= {name: name.replace("_", "-") for name in (*_OF_RUN, *_OF_MAP)}
    said = run | {name: report[name] for name in _OF_MAP if name in report}
    if odd := [name for name in said if name not in names]:
        raise InputError(f"{options.like}: says {printable(odd[0]):.40}, which no run is told")
    return [given[0], *(f"--{names[n]}={_typed(v)}" for n, v in said.items()), *given[1:]]


def _typed(value: Any) -> str:
    if isinstance(value, dict):
        value = [f"{name}={column}" for name, column in value.items()]
    if not isinstance(value, list):
        return str(value)
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(value)
    return text.getvalue()
