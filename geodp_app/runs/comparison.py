"""Compares several learners on the same examples, a row each: for `geodp compare` and the window.

The rows come one by one, each when its learner is done.  They hold test errors: private
diagnostics for the curator.  Private learners that run on the same examples add up: whoever sees
all their shapes has seen what :func:`total_spent` says (basic composition).
"""

from __future__ import annotations

import importlib
import itertools
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from geodp_app.document.examples import Examples, count_mistakes
from geodp_app.files.learned_file import learned_text, whole_square
from geodp_app.files.writing import atomic_write, check_folder_ending, check_home, note_written
from geodp_app.formatting import aligned, count, csv_text, duration, percentage
from geometry.errors import InputError, refusals
from learners.core.releases import Release, for_persons
from learners.declaration import Learner, whole
from learners.privacy.randomness import new_run_id
from learners.privacy.several_runs import together
from learners.registry import offered, resolved_parameters

if TYPE_CHECKING:
    from learners.core.estimator import Estimator
    from learners.core.selection import SelectionProgress
    from learners.privacy.accounting import PrivacySpent

#: Side of the grid on which every learner is tried before anything is timed.
_TRIAL_GRID = 8


#: Learners that can be compared, by the name that a person types.
KINDS: dict[str, Learner] = {learner.id: learner for learner in offered("compare")}

#: Those that are compared where nothing else is said.
DEFAULT = ("tiles", "histogram", "quadtree")

#: Those that are compared beside them where k is given.
DEFAULT_WITH_K = ("cover", "greedy-cover")


@dataclass(frozen=True, slots=True)
class Contender:
    """A learner with its settings."""

    #: Names the row, and the file of its shape; one of :data:`KINDS`, or any other.
    name: str
    kind: Learner = field(repr=False)
    #: Of the learner, without ``grid``.
    parameters: tuple[tuple[str, Any], ...]
    #: Name of its run, if that is private.
    run: str = field(default_factory=new_run_id, repr=False, compare=False)

    def of_run(self, number: int) -> Contender:
        """The same for a run of that number, from 0: with a seed of its own, if it has any."""
        own = dict(self.parameters)
        own |= {"seed": own["seed"] + number} if own.get("seed") is not None else {}
        return replace(self, parameters=tuple(own.items()))

    def build(self, grid: int, **changes: Any) -> Estimator:
        """The learner, not yet fitted."""
        model: Estimator = self.kind.build(grid=grid, **dict(self.parameters) | changes)
        return model


def make_contender(name: str, **given: Any) -> Contender:
    """One of :data:`KINDS` with those of the given parameters that it has; None is not given.
    Raises InputError if it needs k and there is none."""
    kind = KINDS[name]
    own = {n: v for n, v in given.items() if v is not None and kind.parameter(n) is not None}
    with refusals():
        parameters = resolved_parameters(kind, own, "compare", typed=True, asks_k=True)
    if (k := own.get("k", "auto")) != "auto":
        with refusals(name):
            parameters["k"] = whole("k", k)
    return Contender(name, kind, tuple(parameters.items()))


def make_contenders(
    names: Sequence[str] | None, *, k: int | None = None, **given: Any
) -> tuple[Contender, ...]:
    """Learners by their names, by default some, as :func:`make_contender` makes them; raises
    InputError also as :func:`check_k`."""
    names = names or (*DEFAULT, *(() if k is None else DEFAULT_WITH_K))
    check_k(k, names)
    return tuple(make_contender(name, k=k, **given) for name in names)


def check_k(k: object, names: Sequence[str]) -> None:
    """Raises InputError if k is given and none of the learners counts pieces by it."""
    if k is not None and not any(KINDS[name].counts for name in names):
        raise InputError(f"--k is for learners that need it; {', '.join(names)} take no k")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a comparison is (private, as every progress of a selection)."""

    #: The learner at work.
    name: str
    #: It is the number-th of so many, from 1.
    number: int
    of: int
    #: Steps that it has made, of how many; 0 of 0 before its first.
    step: int = 0
    steps: int = 0
    #: What it spends, from the moment at which it may draw.
    plan: PrivacySpent | None = None
    #: Whether it is tried on a made-up sample, which compiles loops.
    preparing: bool = field(default=False, compare=False)

    @property
    def share(self) -> float:
        """Of the whole comparison, 0..1, every learner counting alike."""
        own = self.step / self.steps if self.steps else 0.0
        return (self.number - 1 + own) / self.of


#: Of a row, in the order of tables.
_FIGURES = ("error", "errors", "false_positives", "false_negatives", "tested", "seconds", "bytes",
            "vertices")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """What a learner made of the examples.  Private: the test errors, and the seconds."""

    contender: Contender
    #: What may be published, if the learner is private and its share of the sum is spent.
    release: Release = field(repr=False)
    #: The hypothesis, in grid units.
    shape: BaseGeometry = field(repr=False)
    #: The text of its file.
    geojson: str = field(repr=False)
    #: Test examples, those predicted 1 though 0, and those predicted 0 though 1.
    tested: int
    false_positives: int
    false_negatives: int
    #: Wall time of the learner.
    seconds: float

    @property
    def name(self) -> str:
        """The contender's name in the table."""
        return self.contender.name

    @property
    def privacy(self) -> PrivacySpent | None:
        """What was spent; None for a learner that is not private."""
        return self.release.privacy

    @property
    def private(self) -> bool:
        """Whether the shape is differentially private."""
        return self.privacy is not None and self.privacy.private

    @property
    def errors(self) -> int:
        """Test examples with the wrong label."""
        return self.false_positives + self.false_negatives

    @property
    def error(self) -> float:
        """As a share of the test examples, 0..1."""
        return self.errors / self.tested

    @property
    def bytes(self) -> int:
        """Size of the GeoJSON file."""
        return len(self.geojson.encode())

    @property
    def vertices(self) -> int:
        """Corners of the shape."""
        return count_vertices(self.shape)

    def record(self) -> dict[str, Any]:
        """Its figures by the names of columns, JSON values only."""
        spent = self.privacy
        return {
            "learner": self.name,
            "k": dict(self.contender.parameters).get("k"),
            "private": self.private,
            "epsilon": spent and spent.epsilon,
            "delta": spent and spent.delta,
            **{name: getattr(self, name) for name in _FIGURES},
        }


def compare(
    examples: Examples,
    test: Examples,
    contenders: Sequence[Contender],
    watch: Callable[[Progress], None] = lambda progress: None,
    before: Callable[[Sequence[PrivacySpent | None]], None] = lambda plans: None,
) -> Iterator[Row]:
    """Run learners one after the other on the same examples.  Raises InputError at the call, if
    there is nothing to test on, the frames differ, two contenders have one name, or a learner
    refuses its settings.

    Parameters
    ----------
    examples : Examples
        What they learn from.
    test : Examples
        What they are tested on, in the same frame.
    watch : callable, optional
        Called between learners, between steps and from inside selections; may raise Cancelled.
    before : callable
        Called at the call with what each of them will spend, before any draws from the examples;
        what it raises ends the comparison.

    Yields
    ------
    Row
    """
    if not len(test.labels):
        raise InputError("there are no test examples")
    if examples.frame != test.frame:
        raise InputError(f"examples and test examples differ: {examples.frame}, {test.frame}")
    names = [contender.name for contender in contenders]
    if len(set(names)) < len(names):
        raise InputError(f"two learners have the same name: {', '.join(names)}")
    for number, contender in enumerate(contenders, start=1):
        watch(Progress(contender.name, number, len(contenders), preparing=True))
        _try_out(contender)
    # a frame that cannot be placed is found before anything is drawn
    whole_square(examples.frame).to_geojson()
    before(plans_of(contenders, examples.frame.d))

    def row(number: int, contender: Contender) -> Row:
        model, at = contender.build(examples.frame.d), (0, 0)
        plan = model.plan(contender.run)

        def tell(progress: SelectionProgress | None = None) -> None:
            watch(Progress(contender.name, number, len(contenders), *at, plan))

        tell()
        started = time.perf_counter()
        with refusals(contender.name):
            stream = model.steps(examples.points, examples.labels, watch=tell)
        for record in stream:
            at = record.step, record.steps
            tell()
        seconds = time.perf_counter() - started
        wrong = count_mistakes(model.predict(test.points), test.labels)
        release = for_persons(model.release_, examples.unit)
        return Row(
            contender=contender,
            release=release,
            shape=model.polygons_,
            geojson=learned_text(release, examples.frame),
            tested=len(test.labels),
            false_positives=wrong[0],
            false_negatives=wrong[1],
            seconds=seconds,
        )

    return itertools.starmap(row, enumerate(contenders, start=1))


def plans_of(contenders: Sequence[Contender], grid: int) -> tuple[PrivacySpent | None, ...]:
    """What each of them will spend; None for one that is not private.  Raises InputError if a
    learner refuses its settings."""
    plans = []
    for contender in contenders:
        with refusals(contender.name):
            plans.append(contender.build(grid).plan(contender.run))
    return tuple(plans)


def _try_out(contender: Contender) -> None:
    """Learn from a tiny made-up sample: finds what a learner refuses, and compiles its loops.

    The seconds of the first learner would hold the compiler's otherwise.
    """
    xy = np.arange(_TRIAL_GRID + 1)
    points = np.stack(np.meshgrid(xy, xy), axis=-1).reshape(-1, 2).astype(np.int64)
    labels = (points.sum(axis=1) <= _TRIAL_GRID).astype(np.int64)
    tiny = {"k": 1, "n_steps": 1, "chunks": 1}
    changes = {name: 1 for name in tiny if contender.kind.parameter(name) is not None}
    with refusals(contender.name):
        contender.build(_TRIAL_GRID, **changes).fit(points, labels)


def total_spent(rows: Iterable[Row]) -> tuple[float, float]:
    """Epsilon and delta of the private learners of these rows together (basic composition)."""
    return together(row.privacy for row in rows if row.privacy is not None)


def count_vertices(shape: BaseGeometry) -> int:
    """Corners of a polygonal shape: every ring's first point counts once."""
    rings = shapely.get_rings(shapely.get_parts(shape))
    return int(shapely.get_num_coordinates(rings).sum()) - len(rings)


# -- as people read it ----------------------------------------------------------------------------

_HEADINGS = (
    "learner", "private", "epsilon", "delta", "test error", "seconds", "bytes", "vertices",
)  # fmt: skip


class Comparison(tuple[Row, ...]):
    """Rows of a comparison; shown, they are a table.  Private: it holds test errors."""

    __slots__ = ()

    def to_dataframe(self) -> Any:
        """A DataFrame of pandas, one row a run, in plain columns: epsilon and delta are NaN of a
        learner that is not private, error is a share, 0..1.  Private, as the comparison is.

        Raises
        ------
        ImportError
            If pandas is not installed: pip install 'geodp[geo]'.
        """
        frame = importlib.import_module("pandas").DataFrame([row.record() for row in self])
        return frame.astype({"epsilon": float, "delta": float})

    def __repr__(self) -> str:
        return "\n".join([*table(self), "", *remarks(self)])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        head = "".join(f"<th>{name}</th>" for name in _HEADINGS)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row_cells(row))}</tr>"
            for row in self
        )
        text = "".join(f"<div>{escape(line)}</div>" for line in remarks(self)[:-1])
        last = f'<div><strong style="color:#C44500">{escape(remarks(self)[-1])}</strong></div>'
        return f"<table><tr>{head}</tr>{body}</table>{text}{last}"


def table(rows: Sequence[Row]) -> list[str]:
    """Rows under headings, in columns."""
    return aligned([_HEADINGS, *map(row_cells, rows)], texts=(0, 1))


def row_cells(row: Row) -> tuple[str, ...]:
    """What is under the headings."""
    spent = row.privacy
    return (
        row.name,
        "yes" if row.private else "no",
        f"{spent.epsilon:g}" if spent else "–",
        f"{spent.delta:g}" if spent else "–",
        percentage(row.error),
        duration(row.seconds),
        count(row.bytes),
        count(row.vertices),
    )


def remarks(rows: Sequence[Row]) -> list[str]:
    """What must be said with the table: what was spent, and that it is private."""
    lines = []
    spending = [row for row in rows if row.privacy is not None]
    if spending:
        epsilon, delta = total_spent(rows)
        text = f"epsilon = {epsilon:g}, delta = {delta:g}"
        if not all(row.private for row in spending):
            lines.append("Seeded: nothing here is private; the noise can be reproduced.")
        elif len(spending) == 1:
            lines.append(f"The private learner spends {text} of these examples' privacy.")
        else:
            many = f"The {len(spending)} private learners together"
            lines.append(f"{many} spend {text}: on the same examples runs add up.")
    bare = [row.name for row in rows if row.privacy is None]
    if bare:
        lines.append(f"Not private, for comparison only: {', '.join(bare)}. Do not publish.")
    lines.append(
        "Test errors come from private examples: for the curator's eyes. "
        "So is a choice made by them."
    )
    return lines


# -- as a folder: a GeoJSON file for each shape and, if wanted, the table ------------------------

#: The table's file; its test errors are private, unlike the shapes of private learners.
TABLE = "private-table.csv"


def check_folder(folder: Path) -> None:
    """Find out before long work whether the folder can be made.  Raises InputError if it is a file
    or is named like one, is not empty, or its own folder is missing or cannot be written to."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise InputError(f"{folder}: is a file; name a new folder")
    if folder == Path("-"):
        raise InputError("the shapes go to a folder, and standard output is none: name a folder")
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder}: is not empty; name a new folder")
    check_folder_ending(folder)
    check_home(folder)


def write_shapes(folder: Path, rows: Sequence[Row], *, table: bool = False) -> None:
    """Write every shape as GeoJSON: the folder appears with all of them, or not at all.

    The table, and shapes of learners that are not private, are the owner's alone (mode 0600).
    Raises OSError as the system reports it.  `folder`: new, or empty.  `table`: also the rows'
    figures, as :data:`TABLE`; private.
    """
    target = Path(os.path.realpath(folder))
    temporary = target.parent / f".geodp-{os.getpid()}-{target.name}.tmp"
    temporary.mkdir()
    try:
        for row in rows:
            atomic_write(temporary / file_name(row), row.geojson, private=not row.private)
        if table:
            text = csv_text({**row.record(), "file": file_name(row)} for row in rows)
            atomic_write(temporary / TABLE, text, private=True)
        if target.is_dir():
            target.rmdir()  # it is empty; not all systems replace an empty folder
        os.replace(temporary, target)
        note_written(folder)
    except BaseException:  # KeyboardInterrupt too: nothing half-written may stay
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def file_name(row: Row) -> str:
    """The name of a row's file in the folder."""
    return f"{row.name}.geojson"
