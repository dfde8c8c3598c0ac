"""Counts a table's examples where they lie: by one GROUP BY, carried out by the engine.

A learner needs how many examples of each label fall on each grid point, never a row.  The table is
read through Ibis, so that one expression serves embedded DuckDB (Parquet, CSV, DuckDB files), Spark
and whatever else Ibis connects to; only the groups come back, at most 2 (d + 1)^2 of them, and
before them the different labels, each of which is read as that of a file.

The query is :mod:`geodp_app.tables.query`'s; an engine is loaded when a table is read.  Memory: the
groups here, in DuckDB :data:`ENGINE_MEMORY` and then the disk.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from geodp_app.document.examples import Frame
from geodp_app.files.csv_table import Head
from geodp_app.files.import_file import cut
from geodp_app.files.points import PointOptions, settle_frame
from geodp_app.progress import ProgressBar
from geodp_app.tables.query import (
    count_expression,
    edge_expression,
    label_values,
    load_ibis,
    row_values,
)
from geodp_app.tables.source import (
    DROPPED,
    LONGEST_HEAD,
    TableSource,
    csv_heads,
    find_columns,
    hide_password,
    local_path,
    opened_text,
    other_encoding,
    refuse_faults,
)
from geometry.arrays import Ints
from geometry.errors import InputError
from geometry.grid_counts import GridCounts

_T = TypeVar("_T")

#: What embedded DuckDB may hold before it goes to disk.
ENGINE_MEMORY = "2GB"

#: How often a cancelled engine is told to stop, every 0.05 s, before it is left behind.
_PATIENCE = 100

#: Labels that are taken from an engine at a time.
_VALUES_AT_ONCE = 10_000

_CSV_FORM = (
    "it must be UTF-8 text with a header, and as many fields in every row as in the header (as "
    "POINTS, without --table, --unusable drop leaves other rows out)"
)

#: Errors of DuckDB whose text holds no values of rows.
_TELLING = ("IOException", "OutOfMemoryException", "PermissionException", "HTTPException")

#: What views and macros of a DuckDB file are called, and their SQL; texts and words in it.
_DEFINED = (
    "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal UNION ALL "
    "SELECT function_name, macro_definition FROM duckdb_functions() WHERE NOT internal "
    "AND macro_definition IS NOT NULL"
)
_QUOTED = re.compile(r"""'((?:[^']|'')*)'|"((?:[^"]|"")*)\"""")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class TableCounts:
    """Examples of a table, counted: private data."""

    counts: GridCounts
    frame: Frame
    #: Rows without a usable label or place that were dropped; of persons' rows, how many persons
    #: have some.
    dropped: int = 0
    #: Whether the bounds are the extent of the rows.
    tight: bool = False
    #: Of all columns.
    names: tuple[str, ...] = ()
    #: The column that names persons, as the table calls it; None if rows count.
    unit: str | None = None


def read_counts(
    source: TableSource,
    options: PointOptions | None = None,
    *,
    edges: bool = False,
    quiet: bool = True,
) -> TableCounts:
    """Count the examples of a table.

    Raises InputError if Ibis is missing, the table cannot be read, or a row is wrong.  No message
    holds a value of a row.  A table without rows is a sample of no examples.  `options`: without a
    system or a layer; rows that are out of bounds are refused.  `edges`: whether to find out if the
    bounds are the extent of the rows, which takes another pass. `quiet`: show no progress.
    """
    asked = options or PointOptions()
    load_ibis()
    source.files()
    heads = csv_heads(source)
    head = heads[0]

    def work(engine: _Engine) -> TableCounts:
        tight, bits = False, 64
        with _open_table(source, head, engine) as (connection, table):
            kinds, names = dict(table.schema()), [each.names for each in heads]
            if source.kind == "parquet":
                names, bits = _parquet_columns(connection, source, asked.person)
            found = find_columns(source, kinds, asked, names)
            stated = asked.grid, asked.bounds
            frame = settle_frame(source.name, head.member, *stated, on_grid=found.on_grid)
            with _clear_errors(source, rows=True, above=head.lines - 1):
                comma, operations = head.delimiter != ",", load_ibis().expr.operations
                knows_nan = connection.has_operation(operations.IsNan)
                different = table.select(label=table[found.examples[2]]).distinct()
                values = _label_values(connection, different)
                said = label_values(values, asked.labels, comma=comma)
                read = row_values(table, found, said, knows_nan=knows_nan, comma=comma)
                how = {"knows_nan": knows_nan, "bits": bits}
                asking = count_expression(table, found, frame, asked, read, **how)
                keys, amounts = _groups(connection, asking)
                if edges and not found.on_grid:
                    met, _ = _groups(connection, edge_expression(table, found, frame, read))
                    tight = bool(np.bitwise_or.reduce(met) == 15)  # all four
        left = np.isin(-keys, DROPPED) & (asked.unusable == "drop")
        dropped = int(amounts[left].sum()) // asked.rows  # each person is there so many times
        keys, amounts = keys[~left], amounts[~left]
        refuse_faults(source, found, frame, keys)
        places, labels = keys >> 1, keys & 1
        entries = np.column_stack([*np.divmod(places, frame.d + 1), labels, amounts])
        counts = GridCounts.of_entries(entries, frame.d)
        return TableCounts(counts, frame, dropped, tight, tuple(kinds), found.person)

    return _watched(work, quiet=quiet)


# -- opening -----------------------------------------------------------------------------------


def files_behind(source: TableSource) -> list[Path]:
    """Local files that a view of a DuckDB file reads, as far as its SQL names them: by texts in it,
    in views and in macros that it calls.  A path that SQL computes is not found."""
    if source.kind != "duckdb":
        return []
    try:
        connection = load_ibis().duckdb.connect(source.place, read_only=True)
        rows = connection.raw_sql(_DEFINED).fetchall()
        connection.disconnect()
    except Exception:  # whatever is wrong with it is told when it is read
        return []
    defined: dict[str, str] = {}
    for name, sql in rows:
        defined[name.lower()] = defined.get(name.lower(), "") + " " + sql
    texts: set[str] = set()
    ahead, seen = [source.table.rpartition(".")[2].strip('"').lower()], set[str]()
    while ahead:
        name = ahead.pop()
        if name in defined and name not in seen:
            seen.add(name)
            quoted = [one or other for one, other in _QUOTED.findall(defined[name])]
            texts |= {each.replace("''", "'").replace('""', '"') for each in quoted}
            ahead += [word.lower() for word in (*_WORD.findall(defined[name]), *quoted)]
    places = {os.path.expanduser(local_path(text)) for text in texts if text}
    found = {each for place in places for each in glob.glob(place, recursive=True)} | places
    return [Path(each) for each in sorted(found) if os.path.isfile(each)]


@contextmanager
def _open_table(source: TableSource, head: Head, engine: _Engine) -> Iterator[tuple[Any, Any]]:
    """The connection and the table; the connection to embedded DuckDB is closed in the end."""
    if source.kind in ("sqlite", "url"):
        with _clear_errors(source):
            ibis = load_ibis()
            path = os.path.abspath(source.place)  # what has a colon in it is no address
            connection = (ibis.sqlite.connect(path) if source.kind == "sqlite"
                          else ibis.connect(source.place))  # fmt: skip
            engine.watch(connection)
            table = _named_table(source, connection)
        yield connection, table
        return
    # what does not fit in memory is private too: in a folder of its own, gone in the end
    with tempfile.TemporaryDirectory(prefix="geodp-", ignore_cleanup_errors=True) as spill:
        with _clear_errors(source):
            connection = _open_duckdb(source, spill)
        engine.watch(connection)
        try:
            with _clear_errors(source, above=head.lines - 1):
                table = _duckdb_table(source, connection, head, spill)
            yield connection, table
        finally:
            engine.leave()
            connection.disconnect()


def _open_duckdb(source: TableSource, spill: str) -> Any:
    path = os.path.abspath(source.place)  # what has a colon in it is no address
    of_file = {"database": path, "read_only": True} if source.kind == "duckdb" else {}
    connection = load_ibis().duckdb.connect(
        **of_file, memory_limit=ENGINE_MEMORY, temp_directory=spill, preserve_insertion_order=False
    )
    # without it there is no progress to ask for
    connection.raw_sql("SET enable_progress_bar = true")
    connection.raw_sql("SET enable_progress_bar_print = false")
    if not source.remote:  # nothing is fetched for files that are here
        connection.raw_sql("SET autoinstall_known_extensions = false")
    # it trusts the least and greatest values that files state, which leave NaN out
    connection.raw_sql("SET disabled_optimizers = 'statistics_propagation'")
    return connection


def _duckdb_table(source: TableSource, connection: Any, head: Head, spill: str) -> Any:
    # by name: otherwise the first file's types would round the other files' numbers
    if source.kind == "parquet":
        return connection.read_parquet(_paths(source), union_by_name=True)
    if source.kind == "csv":
        # all stated, nothing guessed but the end of lines; an empty cell is text of no character:
        # one that is NULL may stand beyond the last column
        form = {"delim": head.delimiter, "quote": '"', "escape": '"', "header": True}
        form |= {"comment": "", "nullstr": "\0", "all_varchar": True, "union_by_name": True}
        paths = _paths(source) if head.lines == 1 else _without_heads(source, head, spill)
        return connection.read_csv(paths, **form)
    return _named_table(source, connection)


def _paths(source: TableSource) -> str | list[str]:
    """The files, each by a path in which no sign has another meaning."""
    if source.remote:
        return source.place
    return [glob.escape(os.path.join(os.curdir, path)) for path in source.files()]


def _without_heads(source: TableSource, head: Head, folder: str) -> list[str]:
    """Copies of CSV files without what stands above their headers.

    DuckDB looks for quotes in lines that it skips, and may lose every row; and it takes the sign of
    comments for one within rows, too.
    """
    above = re.compile(rb"([^\r\n]*(\r\n|\r|\n)){%d}" % (head.lines - 1))
    copies = [os.path.join(folder, f"{i}.csv") for i in range(len(source.files()))]
    for path, copy in zip(source.files(), copies, strict=True):
        with opened_text(path) as file, open(copy, "wb") as made:
            start = file.read(LONGEST_HEAD)
            found = above.match(start)
            made.write(start[found.end() if found else 0 :])
            shutil.copyfileobj(file, made, LONGEST_HEAD)
    return copies


def _parquet_columns(
    connection: Any, source: TableSource, person: str | None
) -> tuple[list[tuple[str, ...]], int]:
    """The columns' names in each file, and the bits of the narrowest floating-point numbers that
    name persons: where files differ, the engine makes wider ones of them, or text."""
    places = _paths(source)
    found = connection.con.execute(
        "SELECT file_name, name, num_children, type, logical_type FROM parquet_schema(?)", [places]
    ).fetchall()
    names: dict[str, list[str]] = {}
    inner: list[int] = []  # how many are left within what is open
    bits = 64
    for file, name, children, kind, logical in found:
        if file not in names:
            names[file], inner = [], [children or 0]
            continue
        while inner and not inner[-1]:
            inner.pop()
        if len(inner) == 1:
            names[file].append(name)
            if person is not None and name.strip().lower() == person.strip().lower():
                half = str(logical or "").startswith("Float16")
                bits = min(bits, 16 if half else 32 if kind == "FLOAT" else 64)
        inner[-1] -= 1
        if children:
            inner.append(children)
    return [tuple(each) for each in names.values()], bits


def _named_table(source: TableSource, connection: Any) -> Any:
    schema, _, name = source.table.rpartition(".")
    return connection.table(name, database=schema) if schema else connection.table(name)


@contextmanager
def _clear_errors(source: TableSource, *, rows: bool = False, above: int = 0) -> Iterator[None]:
    """Whatever an engine says becomes one line; with `rows`, nothing that may quote a row.

    `above`: lines of a CSV file that the engine does not see.
    """
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:  # every engine has errors of its own
        kind = type(error).__name__
        reason = cut(hide_password(" ".join(str(error).split()) or kind), 200)
        line = re.search(r"CSV Error on Line: (\d+)", str(error))
        bad_csv = source.kind == "csv" and (line or kind == "InvalidInputException")
        if bad_csv and not source.remote and (encoding := other_encoding(source)):
            raise InputError(encoding) from None
        if kind == "TableNotFound":
            reason = "there is no such table"
        elif line:
            reason = f"line {int(line[1]) + above} cannot be read; {_CSV_FORM}"
        elif bad_csv:
            reason = f"cannot be read as CSV; {_CSV_FORM}"
        elif kind in ("OperationNotDefinedError", "UnsupportedOperationError"):
            needed = "a hash for --id, or numbers of a column of text"
            reason = f"this engine lacks what the count needs, such as {needed}: {reason}"
        elif rows and kind not in _TELLING:
            reason = (
                f"the engine stopped with {kind} while it counted; what it said may quote rows "
                "and is not shown: try the same table with the engine's own tools"
            )
        raise InputError(f"{source.name}: {reason}") from None


# -- running it -----------------------------------------------------------------------------------


class _Engine:
    """What the watching thread may ask of the working one: the engine's name, DuckDB itself."""

    def __init__(self) -> None:
        self.name = "engine"
        self._duckdb: Any = None
        self._lock = threading.Lock()

    def watch(self, connection: Any) -> None:
        """From now on this connection is at work."""
        self.name = connection.name
        self._duckdb = connection.con if connection.name == "duckdb" else None

    def leave(self) -> None:
        """The connection is about to be closed."""
        with self._lock:
            self._duckdb = None

    def done(self) -> float:
        """Fraction done, as far as it is known."""
        with self._lock:
            return max(self._duckdb.query_progress(), 0.0) / 100 if self._duckdb else 0.0

    def interrupt(self) -> None:
        """Stop the query, where that is possible."""
        with self._lock:
            if self._duckdb:
                self._duckdb.interrupt()


def _watched(work: Callable[[_Engine], _T], *, quiet: bool) -> _T:
    """What `work` returns or raises.  It runs in a thread, so that Ctrl+C is heard."""
    engine = _Engine()
    made = Future[_T]()  # Thread.join, once interrupted, takes the thread for ended

    def run() -> None:
        try:
            made.set_result(work(engine))
        except BaseException as error:
            made.set_exception(error)

    with ProgressBar(quiet=quiet) as bar:
        try:
            threading.Thread(target=run, daemon=True).start()
            while not wait([made], 0.05).done:
                done = engine.done()
                bar.update(done, f"{engine.name} at work" + (f", {done:.0%}" if done else ""))
        except KeyboardInterrupt:
            for _ in range(_PATIENCE):  # again: a query that has yet to start would not notice
                engine.interrupt()
                if wait([made], 0.05).done:
                    break
            raise
    return made.result()


def _label_values(connection: Any, expression: Any) -> Iterator[Any]:
    """The values of a column, some at a time."""
    if connection.name == "duckdb":
        found = connection.con.execute(connection.compile(expression))
        while some := found.fetchmany(_VALUES_AT_ONCE):
            yield from (value for (value,) in some)
        return
    for batch in connection.to_pyarrow_batches(expression):
        yield from batch.column("label").to_pylist()


def _groups(connection: Any, expression: Any) -> tuple[Ints, Ints]:
    if connection.name == "duckdb":  # by itself: releases of Ibis and DuckDB differ over Arrow
        found = connection.con.execute(connection.compile(expression)).fetchnumpy()
        return np.asarray(found["key"], np.int64), np.asarray(found["amount"], np.int64)
    parts = [np.zeros((2, 0), np.int64)]
    for batch in connection.to_pyarrow_batches(expression):
        both = (batch.column(name).to_numpy(zero_copy_only=False) for name in ("key", "amount"))
        parts.append(np.array(list(both)).astype(np.int64))
    keys, amounts = np.hstack(parts)
    return keys, amounts
