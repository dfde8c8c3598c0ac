"""Learn shapes from labelled points under differential privacy: one import.

>>> import geodp
>>> points = geodp.sample("L", n=5_000, grid=64, seed=1)
>>> shape = geodp.learn(points, epsilon=1.0, seed=1)
>>> shape.statement
'Not private: the run was seeded, so its noise can be reproduced.'

Without a seed the run is private, and says so.  `shape` knows where it lies, answers, draws and
saves itself; `points` may come from files and data frames of any kind (:func:`read_points`).

Under it lie the learners themselves, as scikit-learn has them, on points of a grid:

>>> model = geodp.PolygonUnionLearner(grid=64, seed=1).fit(points.X, points.y)
>>> bool((model.predict(points.X) == shape.release.predict(points.X)).all())
True
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import learners as _learners
from geodp_app.document.examples import DEFAULT_GRID, Examples, Frame
from geodp_app.errors import InputError
from geodp_app.files.import_rows import OutOfBounds
from geodp_app.learned_shape import LearnedShape
from geodp_app.learned_shape import load_shape as load
from geodp_app.version import __version__
from geometry.grid import Bounds, BoundsError, GridMap, checked_bounds

if TYPE_CHECKING:
    from geodp_app.files.recording import Recording
    from geodp_app.runs.comparison import Row
    from learners import *  # noqa: F403
    from learners.accounting import PrivacySpent

__all__ = [
    *_learners.__all__,
    "Bounds",
    "BoundsError",
    "GridMap",
    "InputError",
    "LearnedShape",
    "Points",
    "__version__",
    "compare",
    "learn",
    "load",
    "read_points",
    "sample",
]

#: Bounds, or four numbers west, south, east, north.
Box = Bounds | Sequence[float]


def __getattr__(name: str) -> Any:
    """A learner, loaded when its name is first asked for."""
    return getattr(_learners, name)


def __dir__() -> list[str]:
    return sorted(__all__)


@dataclass(frozen=True, slots=True)
class Points:
    """Labelled points on a grid: private data.

    Attributes
    ----------
    X : ndarray of int64, shape (n, 2)
        Grid coordinates in 0..grid.
    y : ndarray of int64, shape (n,)
        Labels 0 and 1.
    grid : int
        Grid size d.
    bounds : Bounds or None
        Public: where the grid lies.
    source : str or None
        The file that they were read from: runs on them join a ledger beside it.
    unit : str or None
        The column that names persons, of whom one row each was taken.
    """

    X: NDArray[np.int64]
    y: NDArray[np.int64]
    grid: int
    bounds: Bounds | None = None
    source: str | None = None
    unit: str | None = None

    def __repr__(self) -> str:  # how many there are is private
        return f"Points(grid={self.grid}, bounds={self.bounds})"

    @property
    def _examples(self) -> Examples:
        return Examples(self.X, self.y, Frame(self.grid, self.bounds))

    @classmethod
    def _of(cls, examples: Examples, source: str | None = None, unit: str | None = None) -> Points:
        frame = examples.frame
        return cls(examples.points, examples.labels, frame.d, frame.bounds, source, unit)

    def _recording(self, ledger: str | os.PathLike[str] | None) -> Recording:
        from geodp_app.files.recording import recording_of

        files = [] if self.source is None else [Path(self.source)]
        given = None if ledger is None else Path(ledger)
        return recording_of(given, files, name="" if files else "Python", unit=self.unit)


def read_points(
    source: str | os.PathLike[str] | Any,
    *,
    bounds: Box | None = None,
    grid: int | None = None,
    crs: str | None = None,
    columns: Mapping[str, str] | None = None,
    layer: str | None = None,
    out_of_bounds: OutOfBounds = "refuse",
    id: str | None = None,
) -> Points:
    """Labelled points of a file or a data frame.

    Parameters
    ----------
    source : path-like or data frame
        CSV, GeoJSON, GeoPackage, Parquet or whatever GDAL reads; a DataFrame of pandas, or a
        GeoDataFrame of geopandas.
    bounds : Bounds or (west, south, east, north), optional
        Public bounds: never take them from the points.  Needed unless coordinates are whole
        numbers of a grid.
    grid : int, optional
        Grid size d; by default the file's own, else 1024.
    crs : str, optional
        Coordinate reference system of `bounds`, such as "EPSG:32633"; by default longitude and
        latitude.
    columns : mapping, optional
        Names of columns by what they stand for: x, y, lon, lat, label.
    layer : str, optional
        Of a file with several.
    out_of_bounds : {"refuse", "drop", "clip"}
        What becomes of a row outside the bounds (docs/privacy.md, lemma T0).
    id : str, optional
        Column that tells whose a row is: one row of each person is taken (lemma T1).

    Returns
    -------
    Points

    Raises
    ------
    InputError
        If something cannot be read; the message says what, where and what to do.
    BoundsError
        If the bounds are none.
    """
    from geodp_app.files.data_frames import is_data_frame, open_frame
    from geodp_app.files.points import Told, read_opened
    from geodp_app.files.points import read_points as read

    box = _box(bounds, crs)
    known = None if crs is None or box is None else box.crs
    told = Told(grid, box, dict(columns or {}), known, layer, out_of_bounds, id)
    if is_data_frame(source):
        return Points._of(read_opened(open_frame(source), told).examples, unit=id)
    return Points._of(read(source, told).examples, os.path.abspath(source), id)


def _box(bounds: Box | None, crs: str | None) -> Bounds | None:
    if bounds is None or isinstance(bounds, Bounds):
        if crs is not None:
            raise InputError("crs is the system of bounds: give these as four numbers")
        return bounds
    numbers = [float(value) for value in bounds]
    if len(numbers) != 4:
        raise BoundsError(f"bounds are four numbers west, south, east, north, not {len(numbers)}")
    return checked_bounds(numbers, crs)


def sample(
    target: str | os.PathLike[str],
    n: int,
    *,
    grid: int = DEFAULT_GRID,
    bounds: Box | None = None,
    distribution: str = "uniform",
    noise: float = 0.0,
    seed: int | None = None,
) -> Points:
    """Simulated points, labelled by a target: to try things out.

    Parameters
    ----------
    target : path-like
        GeoJSON of polygons, or the name of an example ("L", "star", "italy", ...).
    n : int
    grid : int
    bounds : Bounds or (west, south, east, north), optional
        By default the file's own, else, for a shape in degrees, its padded box.
    distribution : {"uniform", "clustered", "gaussian"}
    noise : float
        Probability that a label is flipped.
    seed : int, optional

    Raises
    ------
    InputError, GeoJSONError
        If the target cannot be used.
    """
    import assets
    from geodp_app.document.sampling import draw_examples, open_generator, place_target
    from geometry.geojson import read_geojson

    known = isinstance(target, str) and target in assets.examples()
    file = read_geojson(assets.example_path(str(target)) if known else target)
    shape, frame = place_target(file, grid, _box(bounds, None))
    rng = open_generator(seed)
    of_that = {"distribution": distribution, "noise": noise, "rng": rng}
    return Points._of(draw_examples(shape, n, frame, **of_that))  # type: ignore[arg-type]


def learn(
    points: Points,
    learner: str = "tiles",
    *,
    ledger: str | os.PathLike[str] | None = None,
    **parameters: Any,
) -> LearnedShape:
    """Learn the shape that labels points, privately.

    Parameters
    ----------
    points : Points
    learner : str
        Any that `geodp learn` takes: "tiles", "cover", "convex", "histogram", ...
    ledger : path-like, optional
        Where the run is entered before it draws (`geodp ledger` begins one); by default the file
        geodp.ledger beside the points' own, if there is one.
    **parameters
        Of the learner: epsilon, delta, k, seed, ...

    Raises
    ------
    InputError
        If there is no such learner, a parameter is out of range, or the ledger or its budget does
        not allow the run: then nothing is drawn.
    """
    from geodp_app.files.ledger import NewRun
    from learners.registry import BY_ID, offered, unknown_learner

    known = [each.id for each in offered("learn")]
    if learner not in known:
        raise InputError(unknown_learner(learner, known))
    declared = BY_ID[learner]
    strange = [name for name in parameters if declared.parameter(name) is None]
    if strange:
        names = ", ".join(each.name for each in declared.parameters)
        raise InputError(f"{learner} takes no {', '.join(strange)}, but {names}")
    if declared.parameter("k") is not None and declared.parameter("k").auto:  # type: ignore[union-attr]
        parameters.setdefault("k", "auto")
    with points._recording(ledger) as recording:
        try:
            model = declared.build(grid=points.grid, **parameters)
            recording.begin([NewRun("learn", learner, model.plan())])
            model.fit(points.X, points.y)
        except ValueError as error:
            raise InputError(f"{learner}: {error}") from None
        recording.released()
    return LearnedShape(model.release_, Frame(points.grid, points.bounds))


def compare(
    points: Points,
    names: Sequence[str] = ("tiles", "histogram", "quadtree"),
    *,
    test: Points | None = None,
    holdout: float = 0.2,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    k: int | None = None,
    seed: int | None = None,
    ledger: str | os.PathLike[str] | None = None,
) -> tuple[Row, ...]:
    """Run learners on the same points and test them on others.

    Each private learner spends epsilon: to publish all of them costs their sum, and a choice made
    by these errors is covered by no statement.

    Parameters
    ----------
    points : Points
    names : sequence of str
    test : Points, optional
        On the same grid and bounds; else each point is held out with probability `holdout`.
    holdout, epsilon, delta : float
    k : int, optional
    seed : int, optional
    ledger : path-like, optional
        As in :func:`learn`; all of them are entered before any of them draws.

    Returns
    -------
    tuple of Row
        With `name`, `error`, `release`, `seconds`; errors are private.

    Raises
    ------
    InputError
        If a name is unknown, there is nothing to test on, or the ledger does not allow the runs.
    """
    from geodp_app.files.ledger import NewRun
    from geodp_app.runs.comparison import KINDS, hold_out, make_contender
    from geodp_app.runs.comparison import compare as run
    from learners.registry import unknown_learner

    for name in names:
        if name not in KINDS:
            raise InputError(unknown_learner(name, KINDS))
    settings: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "k": k, "seed": seed}
    contenders = [make_contender(name, **settings) for name in names]
    examples = points._examples
    if test is None:
        examples, tested = hold_out(examples, holdout, seed)
    else:
        tested = test._examples
    rows: list[Row] = []
    with points._recording(ledger) as recording:

        def enter(plans: Sequence[PrivacySpent | None]) -> None:
            recording.begin([NewRun("compare", *each) for each in zip(names, plans, strict=True)])

        for row in run(examples, tested, contenders, before=enter):
            rows.append(row)
            recording.released()
    if seed is None and sum(row.private for row in rows) > 1:
        warnings.warn(
            "each private learner spent epsilon, and a choice made by these errors is not covered "
            "by their statements",
            stacklevel=2,
        )
    return tuple(rows)
