"""The base class of learners reads parameters and examples, and keeps scikit-learn's conventions.

Parameters are stored unchanged and checked when a run starts; learned attributes end in ``_``.
scikit-learn is not imported, but its pipelines, scores and searches take the learners, see
:mod:`learners.core.sklearn_support`.  Only `release_` may be published (docs/privacy.md, lemma 6).

A learner declares its parameters and picks the :class:`Run` that they ask for; how that goes is a
matter of the run (docs/decisions/0022-runs.md).
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from shapely.geometry.base import BaseGeometry

from geometry.arrays import Flags, Ints
from geometry.grid import Bounds, Box, Frame, checked_bounds
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice, Measure
from geometry.tiling import Tile
from learners.core.accuracy import checked, divided, with_check
from learners.core.examples import check_column_names, check_examples, check_points, column_names
from learners.core.learned_shape import LearnedShape
from learners.core.records import Mistakes, StepRecord, TileStep
from learners.core.releases import Lattice, Release, release_of
from learners.core.selection import PieceKind, Role, SelectionProgress, Watch
from learners.core.sklearn_support import (
    WithParameters,
    classifier_tags,
    predict_as_came,
    share_right,
)
from learners.core.support import Support
from learners.privacy.accounting import Neighbours, PrivacySpent
from learners.privacy.randomness import open_source

SelectionName = Literal["envelope", "arrangement"]


class CoverParameters(Protocol):
    """What learners by set cover are told besides k."""

    role: ClassVar[Role]
    epsilon: float
    delta: float
    grid: int
    n_steps: int | None
    beta: float
    neighbours: Neighbours
    seed: int | None


class PlaneParameters(CoverParameters, Protocol):
    """What the learners of polygons are told."""

    piece: ClassVar[PieceKind]
    tiles: int | None
    edges: int
    alpha: float | None
    measure: Measure
    selection: SelectionName


@dataclass(frozen=True, slots=True)
class Stream:
    """A run that has begun.

    Attributes
    ----------
    records : iterator of StepRecord
        To come.
    lattice : HalfplaneLattice, ConicLattice or HalfspaceLattice3
        As the release states it.
    parameters : tuple of (str, value)
        Public parameters of the run, in order.
    support : Support or None
        Where there were enough examples, of a run that releases it.
    refine : callable, optional
        refine(stop), between two records, makes the next one come sooner: it prepares what needs no
        private coin, until there is enough of it or stop() says so.
    """

    records: Iterator[StepRecord]
    lattice: Lattice
    parameters: tuple[tuple[str, Any], ...]
    support: Support | None = None
    refine: Callable[[Callable[[], bool]], None] | None = None


class Steps(Iterator[StepRecord]):
    """The records of a run that has begun, as they are asked for."""

    def __init__(self, records: Generator[StepRecord], stream: Stream | None) -> None:
        self._records, self._stream = records, stream

    def __next__(self) -> StepRecord:
        return next(self._records)

    def refine(self, stop: Callable[[], bool]) -> None:
        """While nobody asks for the next record, prepare for it; nothing is drawn for it yet.

        A run with a seed has nothing to prepare, nor most learners.

        Parameters
        ----------
        stop : callable
            Asked now and then: whether to leave it at what is prepared by then.
        """
        if self._stream is not None and self._stream.refine is not None:
            self._stream.refine(stop)

    def close(self) -> None:
        """End what is under way for records to come."""
        self._records.close()


@dataclass(frozen=True, slots=True)
class Run:
    """What parameters ask for: planned by public numbers alone, and not begun.

    Attributes
    ----------
    spent : PrivacySpent or None
        What it will spend; None for a learner that is not private.
    begin : callable
        begin(counts, watch) starts it on a sample that has been checked; raises ValueError if it
        refuses that.
    draws : bool
        Whether it draws as it begins: then it begins when its first record is asked for.
    """

    spent: PrivacySpent | None
    begin: Callable[[GridCounts, Watch | None], Stream]
    draws: bool = False


class Estimator(WithParameters, ABC):
    """fit, predict and score of a learner that is a stream of step records.

    Every learner has a parameter `grid`, and `check`: the part of the examples, strictly between 0
    and 1, that is kept from it to tell how right the shape is (:mod:`learners.core.accuracy`); by
    default none.  Examples may come as rows or as their counts: the same
    release under the same seed, as it asks only how many of each label lie on each grid point;
    where chunks vote rows have their own coins.

    Attributes
    ----------
    release_ : Release
        The hypothesis of a complete run.
    bounds_ : Bounds or None
        Where the grid lies, as `bounds` said.
    feature_names_in_ : ndarray of object, shape (2,)
        Column names of the examples; only where they came as a data frame.
    labels_ : ndarray, shape (2,)
        What the examples call the 0 and the 1 of the release.  For the curator, as `classes_` is:
        a release never has them.
    """

    #: Columns of X.
    dimensions: ClassVar[int] = 2

    role: ClassVar[Role]

    check: float | None = None

    positive: Any = None
    predict, score = predict_as_came, share_right

    @abstractmethod
    def _planned(self) -> Run:
        """The run that the parameters ask for; raises as :meth:`plan`.

        Called of a learner whose parameters are Python's own (:meth:`validated`).
        """

    def plan(self, run: str | None = None) -> PrivacySpent | None:
        """What a run with these parameters will spend, by public numbers alone.

        Parameters
        ----------
        run : str, optional
            Name of the next run, if that is private: 32 hexadecimal digits; by default a new one.

        Returns
        -------
        PrivacySpent or None
            As the release says after the next run; None for a learner that is not private.

        Raises
        ------
        ValueError
            If a parameter is out of range, or that is no name; a BoundsError, which is one, if the
            bounds are none.
        """
        _, spent = self.validated()._settled()
        spent = None if spent is None else spent.of_run(run)
        self.__dict__["_next_run"] = None if spent is None else spent.run
        return spent

    def steps(self, X: ArrayLike, y: ArrayLike, *, watch: Watch | None = None) -> Steps:
        """Run the learner, one record a step; `release_` is set when the last one is taken.

        Parameters and errors as in :meth:`fit`.  Checks happen at the call, and nothing is drawn
        before the first record is asked for, but which examples are kept for a check.
        """
        learner, points, labels = self._begin(X, y)
        return self._start(learner, learner._counted(points, labels), watch)

    def steps_counts(self, counts: GridCounts | ArrayLike, *, watch: Watch | None = None) -> Steps:
        """As :meth:`steps`, of counted examples; parameters and errors as in :meth:`fit_counts`."""
        learner = self._fresh()
        return self._start(learner, GridCounts.of(counts, learner._side(), self.dimensions), watch)

    def fit(self, X: ArrayLike, y: ArrayLike, *, watch: Watch | None = None) -> Self:
        """Run all steps.

        Parameters
        ----------
        X : array or data frame, shape (n, 2), or GeoDataFrame
            Grid coordinates (x, y), whole numbers in 0..grid; with `bounds` coordinates in their
            system, longitude and latitude by default, or points of geopandas in any system.
        y : array, shape (n,)
            Labels: 0 or 1, False or True, -1 or 1, words such as no and yes; or with `positive`
            that label and another one.  Predictions come back as they came.
        watch : callable, optional
            Called now and then with a SelectionProgress; may raise Cancelled.

        Raises
        ------
        ValueError
            If an example or a parameter is out of range; a BoundsError, which is one, if a point
            lies outside the bounds.
        TypeError
            If X is a sparse matrix, or holds objects that are no numbers.
        """
        for _ in self.steps(X, y, watch=watch):
            pass
        return self

    def fit_counts(self, counts: GridCounts | ArrayLike, *, watch: Watch | None = None) -> Self:
        """Run all steps on examples that are counted already, however many they are.

        Parameters
        ----------
        counts : GridCounts or array of int
            Counts of every grid point, counts[label, x, y], shape (2, grid + 1, grid + 1); or
            entries (x, y, label, count) in any order, shape (m, 4).  In three dimensions with a z
            after the y.
        watch : callable, optional
            As in :meth:`fit`.

        Raises
        ------
        ValueError
            If the counts are of another grid, a count is negative or no whole number, or a
            parameter is out of range.
        """
        for _ in self.steps_counts(counts, watch=watch):
            pass
        return self

    def staged_predict(self, X: ArrayLike) -> Iterator[NDArray[Any]]:
        """Labels after the first step, the second, and so on."""
        release: Release = self._fitted()
        return map(self._as_came, release.staged_predict(self._check_points(X, release)))

    @property
    def n_features_in_(self) -> int:
        """Columns of X: 2, or 3 for a learner in space."""
        self._fitted()
        return self.dimensions

    @property
    def polygons_(self) -> BaseGeometry:
        """The learned region, valid shapely geometry in the system of the bounds.

        Of a learner without bounds it is in grid units, as `release_.shape()` is of any learner.
        """
        shape: BaseGeometry = self._fitted().shape()
        return shape if self.bounds_ is None else self.placed().polygons

    def _begin(self, X: ArrayLike, y: ArrayLike) -> tuple[Self, Ints, Flags]:
        """Forget the last run, and check what the next is told and its examples.

        The learner of that run, then as :func:`check_examples`.
        """
        learner = self._fresh()
        points, labels = check_examples(
            X, y, learner._side(), self.dimensions, learner._bounds(), learner.positive
        )
        learner._named(y, labels)
        names = column_names(X)
        if names is not None:
            learner.feature_names_in_ = names
        return learner, points, labels

    def _counted(self, points: Ints, labels: Flags) -> GridCounts:
        return GridCounts.of_examples(points, labels, self._side())

    def _bounds(self) -> Bounds | None:
        box: Box | None = getattr(self, "bounds", None)
        return None if box is None else checked_bounds(box)

    def _side(self) -> int:
        side: int = vars(self)["grid"]
        return side

    def _settled(self) -> tuple[Run, PrivacySpent | None]:
        """The run that the parameters ask for, and what it spends, with what its check costs."""
        self._bounds()  # no run depends on them, and none is made with what are none
        run = self._planned()
        return run, run.spent if self.check is None else with_check(run.spent, self.check)

    def _start(self, learner: Self, counts: GridCounts, watch: Watch | None) -> Steps:
        """The records of a run on a sample that has been checked; checks the parameters now."""
        run, spent = learner._settled()
        part, finish = learner.check, None
        if part is not None:  # examples that the learner does not see (docs/privacy.md, lemma 11)
            if not run.draws:
                run.begin(counts, watch)  # refuses what it does whatever the coins say
            source = open_source(vars(learner)["seed"], "check")
            counts, held = divided(counts, part, source)
            finish = partial(checked, held=held, part=part, source=source)
        # what it refuses, it refuses now: of a run with a check, a rest of too few, too
        begin = partial(run.begin, counts, watch)
        begun = None if run.draws else begin()
        # by the name that was promised or a new one: two runs never have one name
        name = self.__dict__.pop("_next_run", None)
        spent = None if spent is None else spent.of_run(name)
        begins = begin if begun is None else lambda: begun
        return Steps(self._keep(learner, begins, finish, spent), begun)

    def _keep(
        self,
        learner: Self,
        begin: Callable[[], Stream],
        finish: Callable[[Release], Release] | None,
        spent: PrivacySpent | None,
    ) -> Generator[StepRecord]:
        """Pass the records on, and keep what was learned once the run is complete."""
        released = []
        stream = begin()
        for record in stream.records:
            released.append(record.release)
            if record.step == record.steps:
                common = type(self).__name__, stream.lattice, stream.parameters, spent
                self._take(vars(learner))
                self.bounds_: Bounds | None = learner._bounds()
                release = release_of(common, self.role, released, stream.support)
                self.release_: Release = release if finish is None else finish(release)
            yield record

    def __getstate__(self) -> dict[str, Any]:
        """All but the name of the next run, which is not a copy's."""
        return {key: value for key, value in self.__dict__.items() if key != "_next_run"}

    def _zeros_and_ones(self, X: ArrayLike) -> Ints:
        release: Release = self._fitted()
        return release.predict(self._check_points(X, release))

    def _check_points(self, X: ArrayLike, release: Release) -> Ints:
        check_column_names(X, getattr(self, "feature_names_in_", None))
        return check_points(X, release.d, self.dimensions, self.bounds_)

    def to_geojson(self, *, raw_grid: bool = False) -> dict[str, Any]:
        """As :meth:`learners.core.learned_shape.LearnedShape.to_geojson`."""
        return self.placed().to_geojson(raw_grid=raw_grid)

    def to_geodataframe(self) -> Any:
        """As :meth:`learners.core.learned_shape.LearnedShape.to_geodataframe`."""
        return self.placed().to_geodataframe()

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """As :meth:`learners.core.learned_shape.LearnedShape.plot`."""
        return self.placed().plot(ax, **style)

    def _repr_html_(self) -> str | None:
        """What a notebook shows of a fitted learner; before, it shows the parameters."""
        return self.placed()._repr_html_() if self.__sklearn_is_fitted__() else None

    def placed(self) -> LearnedShape:
        """What was learned and where its grid lies, which draws and writes itself.

        Raises
        ------
        NotFittedError
            If no run is complete.
        """
        release: Release = self._fitted()
        return LearnedShape(release, Frame(release.d, self.bounds_))

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of a learner's kind and input."""
        return classifier_tags(random=getattr(self, "seed", 0) is None)


def labelled_stream(
    boxes: Ints,
    inside: Flags,
    owner: Ints,
    counts: GridCounts,
    started: float,
    parameters: tuple[tuple[str, int | bool], ...] = (),
) -> Stream:
    """One record a tile, as the tile learner's; tiles to come count as labelled 0.

    `boxes`, int64 of shape (t, 4), are x0, y0, x1, y1 of each tile, both ends included: they hold
    every grid point once.  `inside`, bool of shape (t,), are their labels; `owner`, int64 of shape
    (m,), is the tile that holds each of the m entries.  The run began at `started`, by
    `time.perf_counter`: each record is given an equal part of its time.  `parameters` are the run's
    public ones.
    """
    tiles = [Tile(counts.d, *box) for box in boxes.tolist()]
    count, seconds = len(tiles), time.perf_counter() - started

    def records() -> Iterator[StepRecord]:
        held, mistakes = counts.by_group(owner, count).T.tolist(), Mistakes(counts, False)
        order = np.argsort(owner, kind="stable")
        rows = np.split(order, np.searchsorted(owner[order], np.arange(1, count)))
        for i, tile in enumerate(tiles):
            negatives, positives = held[i]
            wrong, taken = (negatives, positives) if inside[i] else (0, 0)
            mistakes.relabel(rows[i], bool(inside[i]))
            diagnostics = mistakes.diagnostics(
                (negatives, positives),
                (wrong, taken),
                score=float(taken - positives - wrong),
                seconds=seconds / count,
                **SelectionProgress(0, 0, 0.0).work(),
            )
            yield StepRecord(i + 1, count, TileStep(tile, (), bool(inside[i])), diagnostics)

    widest = max(1, int((boxes[:, 2:] - boxes[:, :2]).max()))
    return Stream(records(), HalfplaneLattice(widest), parameters)
