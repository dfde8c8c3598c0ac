"""How long a table takes: one GROUP BY by the engine, then the learner, from 10^6 rows on.

    python benchmarks/scale.py [--rows 1e6 1e7 1e8] [--kinds grid degrees persons] [--engine duckdb]
        [--folder /tmp/geodp-scale] [--target star] [--tiles M] [--json]
    python benchmarks/scale.py --engine none --rows 1e6 [--beside CHECKOUT]

Rows are uniform on the grid (d = 1024) and labelled by the target; *degrees* have lon, lat
anywhere in their cell, *persons* an id drawn from as many persons as there are rows, so that of
100 persons 37 have no row, 37 one and the others more; *degrees-persons* have both.  DuckDB writes
them as Parquet, 10^7 rows a file, into the folder; they are used again if they are there.

Each line is measured in a fresh process, after an untimed run on a few examples that loads the
compiled loops.  Seconds are wall time, the engine's with loading it, also in multiples of U
(:func:`common.unit_seconds`, before and after).  MB is the largest resident size of the process
when the engine is done, and in the end.  The error is exact: over all grid points.  With
``--engine spark`` local Spark runs the query, and its counts must be those of DuckDB.

With ``--engine none`` geodp reads files of such rows itself: processor seconds of reading alone, of
`geodp predict` from file to file, and the peak of either, the lesser of two.  ``--beside`` another
checkout measures that one, too, in turns, and gives its figures as multiples of this one's.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import GRID, describe_run, load_target, markdown, unit_seconds
from numpy.typing import NDArray
from questions import peak_memory

from geodp import Examples, learn, sample
from geodp_app.commands.learn import fit_learner
from geodp_app.document.examples import Frame
from geodp_app.files.points import PointOptions
from geodp_app.tables.counts import ENGINE_MEMORY, TableCounts, read_counts
from geodp_app.tables.source import table_source
from geometry.grid import Bounds
from geometry.grid_counts import GridCounts
from geometry.polygons import contains_points
from learners.registry import BY_ID

BOX = Bounds(13.2, 42.1, 19.8, 46.9)
PART = 10**7
PARAMETERS: dict[str, Any] = {"epsilon": 1.0, "seed": 1}

#: What DuckDB selects from rows x, y, label of a part that begins at row `start` of `rows`.
KINDS = {
    "grid": "x, y, label",
    "degrees": "{lon} AS lon, {lat} AS lat, label",
    "persons": "x, y, label, (random() * {rows})::BIGINT AS person",
    "degrees-persons": "{lon} AS lon, {lat} AS lat, label, (random() * {rows})::BIGINT AS person",
}


@dataclass(frozen=True, slots=True)
class Run:
    """What one process measured."""

    kind: str
    rows: int
    size: int
    counted: int
    groups: int
    tiles: int
    engine: float
    learner: float
    memory_engine: float
    memory: float
    error: float


def grid_points(d: int) -> NDArray[np.int64]:
    """All grid points, by x, then y."""
    return np.column_stack([axis.ravel() for axis in np.indices((d + 1, d + 1))])


def make_rows(folder: Path, kind: str, rows: int, target: str) -> Path:
    """A folder of Parquet files, made unless it is there."""
    place = folder / f"{target}-{kind}-{rows}"
    if place.is_dir():
        return place
    import duckdb  # only here: geodp itself goes through Ibis

    coming = place.with_suffix(".coming")
    coming.mkdir(parents=True, exist_ok=True)
    points = grid_points(GRID)
    labels = contains_points(load_target(target, GRID), points).astype(np.uint8)
    columns = KINDS[kind].format(lon=degrees("x"), lat=degrees("y"), rows=rows)
    drawn = ", ".join(f"(random() * {GRID + 1})::INT % {GRID + 1} AS {axis}" for axis in "xy")
    with duckdb.connect() as connection:
        connection.execute(f"SET memory_limit = '{ENGINE_MEMORY}'")
        known = {"x": points[:, 0], "y": points[:, 1], "label": labels}
        connection.execute(
            "CREATE TABLE labels AS SELECT x::SMALLINT x, y::SMALLINT y, label FROM known"
        )
        del known
        # otherwise it may look up the rows for each label, and they come out in order
        connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
        for start in range(0, rows, PART):
            some = f"SELECT {drawn} FROM range({min(PART, rows - start)})"
            connection.execute(
                f"COPY (SELECT {columns} FROM ({some}) JOIN labels USING (x, y)) "
                f"TO '{coming}/part-{start // PART:04}.parquet'"
            )
    coming.rename(place)
    return place


def degrees(axis: str) -> str:
    """SQL: a coordinate anywhere in the cell of a grid point."""
    low, high = (BOX.west, BOX.east) if axis == "x" else (BOX.south, BOX.north)
    anywhere = f"({axis} + 0.98 * (random() - 0.5))"
    return f"least(greatest({low} + {anywhere} * {(high - low) / GRID!r}, {low}), {high})::DOUBLE"


def options_of(kind: str) -> PointOptions:
    """How a kind of rows is read."""
    person = "person" if "persons" in kind else None
    return PointOptions(GRID, BOX if "degrees" in kind else None, person=person)


def measure(place: Path, kind: str, rows: int, target: str, tiles: int | None) -> Run:
    """The query and the learner."""
    parameters = PARAMETERS | ({} if tiles is None else {"tiles": tiles})
    warm = np.random.default_rng(0).integers(0, GRID + 1, (500, 2))
    few = GridCounts.of_examples(warm, warm.sum(axis=1) < GRID, GRID)
    fit_learner(BY_ID["tiles"], TableCounts(few, Frame(GRID)), PARAMETERS, quiet=True)
    start = time.perf_counter()
    found = read_counts(table_source(f"parquet:{place}/*.parquet"), options_of(kind))
    engine, memory_engine = time.perf_counter() - start, peak_memory()
    start = time.perf_counter()
    model, _ = fit_learner(BY_ID["tiles"], found, parameters, quiet=True)
    learner = time.perf_counter() - start
    points = grid_points(GRID)
    truth = contains_points(load_target(target, GRID), points)
    error = float((model.predict(points) != truth).mean())
    size = sum(path.stat().st_size for path in place.iterdir())
    groups = len(found.counts)
    memory = peak_memory()
    seconds = (engine, learner, memory_engine, memory, error)
    return Run(kind, rows, size, found.counts.n, groups, len(model.release_.tiles), *seconds)


def measure_spark(place: Path, kind: str, rows: int) -> Run:
    """The query by local Spark, started beforehand; raises unless it counts as DuckDB does."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[*]").config("spark.driver.memory", "3g")
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    session.read.parquet(str(place)).createOrReplaceTempView("reports")
    session.sql("SELECT count(*) FROM reports LIMIT 1").collect()
    start = time.perf_counter()
    found = read_counts(table_source("pyspark::reports"), options_of(kind)).counts
    seconds = time.perf_counter() - start
    own = read_counts(table_source(f"parquet:{place}/*.parquet"), options_of(kind)).counts
    if "persons" in kind:  # each engine has its own hash: other rows, of as many persons
        assert found.n == own.n
    else:
        for name in ("points", "labels", "amounts"):
            assert np.array_equal(getattr(found, name), getattr(own, name)), name
    size = sum(path.stat().st_size for path in place.iterdir())
    nan = float("nan")
    return Run(f"{kind}, Spark", rows, size, found.n, len(found), 0, seconds, nan, nan, nan, nan)


#: Files of rows lon, lat, label, person: their columns as DuckDB selects them, options of `learn`
#: beside the bounds, and whether `predict` is measured.
_PLACES = "round(lon, 6) AS lon, round(lat, 6) AS lat"
_WORDS = f"{_PLACES}, CASE label WHEN 1 THEN 'yes' ELSE 'no' END AS wet"
_WIDE = f"'u' || person AS reporter, '2026-03-01 12:00:00' AS seen, {_WORDS}"
FILES: dict[str, tuple[str, str, dict[str, str]]] = {
    "x,y,label": (".csv", "x, y, label", {}),
    "lon,lat,label": (".csv", f"{_PLACES}, label", {}),
    "lon,lat, yes or no": (".csv", _WORDS, {"label": "wet"}),
    "with five columns": (".csv", _WIDE, {"label": "wet"}),
    "with a quoted remark": (".csv", f"{_WORDS}, 'wet, as ever' AS remark", {"label": "wet"}),
    "with `--id`": (".csv", _WIDE, {"label": "wet", "person": "reporter"}),
    "GeoParquet": (".parquet", f"{_PLACES}, label", {}),
    "GeoPackage": (".gpkg", f"{_PLACES}, label", {}),
}

#: Reads a file, in whichever checkout comes first, and prints its processor seconds.
_READING = """
import json, sys, time
from geodp_app.files.points import PointOptions, read_points
from geometry.grid import Bounds
path, grid, box, named = json.loads(sys.argv[1])
person, bounds = named.pop("person", None), box and Bounds(*box)
start = time.process_time()
read_points(path, PointOptions(grid, bounds, named, person=person))
print(time.process_time() - start)
"""
_COMMAND = "import sys; from geodp_app.cli import main; sys.exit(main(sys.argv[1:]))"


def make_file(folder: Path, name: str, rows: int, target: str) -> Path:
    """A file of :data:`FILES`, made unless it is there."""
    ending, columns, _ = FILES[name]
    path = folder.resolve() / f"{target}-{list(FILES).index(name)}-{rows}{ending}"
    if path.is_file():
        return path
    import duckdb

    place = make_rows(folder, "grid" if name[0] == "x" else "degrees-persons", rows, target)
    found = duckdb.sql(f"SELECT {columns} FROM '{place}/*.parquet'")
    if ending == ".csv":
        found.write_csv(str(path))
        return path
    import geopandas

    frame = found.df()
    places = geopandas.points_from_xy(frame.pop("lon"), frame.pop("lat"), crs="EPSG:4326")
    layer = geopandas.GeoDataFrame(frame, geometry=places)
    layer.to_parquet(path) if ending == ".parquet" else layer.to_file(path)
    return path


def in_process(checkout: Path, code: str, *arguments: str) -> tuple[float, str, float]:
    """Processor seconds of a program, what it prints, and its peak in MB."""
    argv = [sys.executable, "-c", code, *arguments]
    path = {"PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"}
    given = {"stdout": subprocess.PIPE, "text": True, "env": os.environ | path, "cwd": checkout}
    with subprocess.Popen(argv, **given) as run:
        printed = run.stdout.read()
        _, status, usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    if run.returncode:
        raise SystemExit(f"{code} of {checkout} failed")
    return usage.ru_utime + usage.ru_stime, printed, usage.ru_maxrss / 1024


def measure_file(path: Path, name: str, checkouts: list[Path], times: int = 2) -> list[list[float]]:
    """Reading s, predicting s (or NaN) and the peak MB of either, by each checkout."""
    box = None if name[0] == "x" else BOX.as_tuple()
    asked = json.dumps([str(path), GRID, box, FILES[name][2]])
    bounds = [] if box is None else ["--bounds", ",".join(map(str, box))]
    with tempfile.TemporaryDirectory() as folder:
        learned, output = f"{folder}/learned.geojson", f"{folder}/labelled{path.suffix}"
        few = sample("star", n=20_000, grid=GRID, seed=1)
        shape = learn(Examples(few.points, few.labels, Frame(GRID, box and BOX)), epsilon=1, seed=1)
        Path(learned).write_text(json.dumps(shape.to_geojson()))
        figures = np.full((len(checkouts), 4), np.inf)
        for i in [*range(len(checkouts))] * times:
            _, printed, peak = in_process(checkouts[i], _READING, asked)
            found = [float(printed), np.nan, peak, np.nan]
            if path.suffix == ".csv" and "person" not in FILES[name][2]:
                argv = ["predict", learned, str(path), "-o", output, "--quiet", *bounds]
                found[1], _, found[3] = in_process(checkouts[i], _COMMAND, *argv)
            figures[i] = np.minimum(figures[i], found)
    return figures.tolist()


def table_of_files(options: argparse.Namespace, unit: float) -> str:
    """The table of ``--engine none``."""
    own = Path(__file__).parents[1]
    checkouts = [own.resolve(), *([options.beside.resolve()] if options.beside else [])]
    lines = []
    for rows in map(int, options.rows):
        for name in FILES:
            path = apart(make_file, options.folder, name, rows, options.target)
            first, *others = apart(measure_file, path, name, checkouts)
            texts = [f"{s:.2f} ({s / unit:.2f})" for s in first[:2]]
            texts += [f"{m:,.0f}" for m in first[2:]]
            for i, text in enumerate(texts):
                texts[i] = " ".join([text, *(f"×{other[i] / first[i]:.1f}" for other in others)])
            texts = ["–" if "nan" in text else text for text in texts]
            lines.append((name, f"{rows:,}", f"{path.stat().st_size / 1e6:,.0f}", *texts))
    heads = ("file", "rows", "MB", "reading s (U)", "predict s (U)", "peak MB, reading", "predict")
    return markdown(heads, lines)


def cells(run: Run, unit: float) -> tuple[str, ...]:
    """One line of the table."""
    learner = "–" if np.isnan(run.learner) else f"{run.learner:.1f}"
    in_units = "–" if np.isnan(run.learner) else f"{run.learner / unit:.1f}"
    memory = "–" if np.isnan(run.memory) else f"{run.memory_engine:,.0f} / {run.memory:,.0f}"
    return (
        run.kind,
        f"{run.rows:,}",
        f"{run.size / 1e6:,.0f}",
        f"{run.counted:,}",
        f"{run.groups:,}",
        f"{run.engine:.1f}",
        f"{run.engine / unit:.1f}",
        f"{run.tiles:,}" if run.tiles else "–",
        learner,
        in_units,
        memory,
        "–" if np.isnan(run.error) else f"{run.error:.4%}",
    )


HEADINGS = (
    "rows of", "rows", "MB of Parquet", "counted", "groups", "engine s", "engine U", "tiles",
    "learner s", "learner U", "peak MB, engine / all", "error",
)  # fmt: skip


def apart(work: Any, *arguments: Any) -> Any:
    """What `work` returns in a fresh process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        return pool.submit(work, *arguments).result()


def main() -> None:
    """Make what is missing, measure, print."""
    parser = argparse.ArgumentParser(description="How long tables take.")
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 1e7, 1e8])
    parser.add_argument("--kinds", nargs="+", choices=tuple(KINDS), default=["grid"])
    parser.add_argument("--engine", choices=("duckdb", "spark", "none"), default="duckdb")
    parser.add_argument("--beside", type=Path, metavar="CHECKOUT")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "geodp-scale")
    parser.add_argument("--target", default="star")
    parser.add_argument("--tiles", type=int, help="tiles along a side (default: as n has it)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.engine == "none":
        unit = apart(unit_seconds, 5, time.process_time)
        print(f"{describe_run()}; U = {unit:.2f} s\n\n{table_of_files(options, unit)}")
        return
    unit, runs = apart(unit_seconds), []
    for kind in options.kinds:
        for rows in map(int, options.rows):
            place = apart(make_rows, options.folder, kind, rows, options.target)
            if options.engine == "spark":
                runs.append(apart(measure_spark, place, kind, rows))
            else:
                runs.append(apart(measure, place, kind, rows, options.target, options.tiles))
    unit = (unit + apart(unit_seconds)) / 2
    if options.json:
        print(json.dumps({"unit": unit, "runs": [asdict(run) for run in runs]}))
        return
    command = " ".join(["python benchmarks/scale.py", *sys.argv[1:]])
    print(f"`{command}`: {describe_run()}; U = {unit:.2f} s\n")
    print(markdown(HEADINGS, (cells(run, unit) for run in runs)))


if __name__ == "__main__":
    main()
