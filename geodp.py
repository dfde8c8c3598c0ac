"""Learn shapes from labelled points under differential privacy: one import.

>>> import geodp
>>> examples = geodp.sample("L", n=5_000, grid=64, seed=1)
>>> shape = geodp.learn(examples, epsilon=1.0, seed=1)
>>> shape.statement[:64]
'Not private: the run was seeded, so its noise can be reproduced.'

Without a seed the run is private, and says so.  A learned shape knows where it lies; it predicts,
draws itself and is saved.  Examples come from files and data frames of any kind
(:func:`read_points`).

>>> isinstance(examples, geodp.Examples), isinstance(shape, geodp.LearnedShape)
(True, True)
>>> shape.frame == geodp.Frame(64), shape.member()["version"] == geodp.__version__
(True, True)

Where a grid lies is public, and what cannot be used is told in one line:

>>> fiji = geodp.Bounds(176, -20, -178, -15)  # west, south, east, north: across longitude 180
>>> geodp.GridMap(60, fiji).to_grid([[179, -20], [-179, -15]]).tolist()
[[30, 0], [50, 60]]
>>> try:
...     geodp.load("nowhere.geojson")
... except (geodp.InputError, geodp.BoundsError, geodp.GeoJSONError, geodp.NotFittedError) as error:
...     print(error)
nowhere.geojson: there is no such file

The learners follow scikit-learn's conventions.  With bounds they take longitudes and latitudes,
data frames and GeoDataFrames, and fitted they draw themselves as learned shapes do:

>>> model = geodp.PolygonUnionLearner(bounds=(6, 36, 19, 48), grid=64, seed=1)
>>> model.fit([[12.5, 41.9], [7.0, 47.0]] * 500, ["yes", "no"] * 500).predict([[12.4, 42.0]])
array(['yes'], dtype='<U3')

A search over parameters of a private learner warns; to refuse it:

>>> import warnings
>>> warnings.simplefilter("error", geodp.PrivacyWarning)

Whatever is not needed is not loaded: numba, shapely, pandas, Qt.
"""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import geodp_app.own_packages  # noqa: F401  refuses others of their names
import learners as _learners
from geodp_app.files import for_python as _input
from geodp_app.files.for_python import areas, load, read_points, save
from geometry.errors import InputError, refusals as _refusals
from geometry.grid import Bounds, BoundsError, Box, GridMap
from learners import __version__

if TYPE_CHECKING:
    from shapely.geometry.base import BaseGeometry

    from geodp_app.document.examples import Examples as Examples, Frame as Frame
    from geodp_app.runs.comparison import Comparison as Comparison
    from geometry.geojson import GeoJSONError as GeoJSONError
    from learners.baselines.greedy import (
        GreedyConvexLearner as GreedyConvexLearner,
        GreedyUnionLearner as GreedyUnionLearner,
    )
    from learners.baselines.noisy_histogram import NoisyHistogramLearner as NoisyHistogramLearner
    from learners.baselines.quadtree import QuadtreeLearner as QuadtreeLearner
    from learners.boolean.conjunction import (
        ConjunctionLearner as ConjunctionLearner,
        DisjunctionLearner as DisjunctionLearner,
        StrawmanConjunctionLearner as StrawmanConjunctionLearner,
        StrawmanDisjunctionLearner as StrawmanDisjunctionLearner,
    )
    from learners.boolean.consistent_conjunction import (
        ConsistentConjunctionLearner as ConsistentConjunctionLearner,
        ConsistentDisjunctionLearner as ConsistentDisjunctionLearner,
        GreedyConjunctionLearner as GreedyConjunctionLearner,
        GreedyDisjunctionLearner as GreedyDisjunctionLearner,
        PrivateConsistentConjunctionLearner as PrivateConsistentConjunctionLearner,
        PrivateConsistentDisjunctionLearner as PrivateConsistentDisjunctionLearner,
    )
    from learners.boolean.parity import (
        ParityLearner as ParityLearner,
        PrivateParityLearner as PrivateParityLearner,
    )
    from learners.core.learned_shape import LearnedShape as LearnedShape
    from learners.core.sklearn_support import (
        NotFittedError as NotFittedError,
        PrivacyWarning as PrivacyWarning,
    )
    from learners.cover.polygons import (
        ConvexPolygonLearner as ConvexPolygonLearner,
        PolygonUnionLearner as PolygonUnionLearner,
    )
    from learners.cover.threshold_learner import ThresholdLearner as ThresholdLearner
    from learners.curved.curved_learners import (
        BallUnionLearner as BallUnionLearner,
        ConvexPolytopeLearner as ConvexPolytopeLearner,
        DiscUnionLearner as DiscUnionLearner,
        EllipseUnionLearner as EllipseUnionLearner,
        PolynomialUnionLearner as PolynomialUnionLearner,
        SimplexUnionLearner as SimplexUnionLearner,
    )
    from learners.finite.empirical_risk import (
        EmpiricalRiskMinimizer as EmpiricalRiskMinimizer,
        PrivateERM as PrivateERM,
    )
    from learners.finite.experts import (
        MultiplicativeWeights as MultiplicativeWeights,
        PrivateExperts as PrivateExperts,
    )
    from learners.finite.finite_class import (
        FiniteClassLearner as FiniteClassLearner,
        MemorizingLearner as MemorizingLearner,
        PrivateFiniteClassLearner as PrivateFiniteClassLearner,
    )
    from learners.privacy.accounting import Neighbours
    from learners.stability.stability_learner import StabilityLearner as StabilityLearner

#: Where other names come from, when they are first asked for.
_HOMES = {
    "Comparison": "geodp_app.runs.comparison",
    "Examples": "geodp_app.document.examples",
    "Frame": "geodp_app.document.examples",
    "GeoJSONError": "geometry.geojson",
    "LearnedShape": "learners.core.learned_shape",
    "NotFittedError": "learners.core.sklearn_support",
    "PrivacyWarning": "learners.core.sklearn_support",
    **dict.fromkeys(_learners.__all__, "learners"),
}

#: Parameters of :func:`read_points`, which :func:`learn` and :func:`compare` pass on.
_READING = frozenset(inspect.signature(read_points).parameters)

__all__ = [
    *_HOMES,
    "Bounds",
    "BoundsError",
    "GridMap",
    "InputError",
    "__version__",
    "areas",
    "compare",
    "learn",
    "load",
    "read_points",
    "rehearse",
    "sample",
    "save",
]


if not TYPE_CHECKING:  # which knows the names from above, and no others

    def __getattr__(name: str) -> Any:
        """A class, loaded when its name is first asked for."""
        if name in _HOMES:
            return getattr(importlib.import_module(_HOMES[name]), name)
        raise AttributeError(f"module 'geodp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


@_input.of_parameters()
def sample(
    target: str | os.PathLike[str],
    n: int,
    *,
    grid: int = 1024,
    bounds: Box | None = None,
    distribution: Literal["uniform", "clustered", "gaussian"] = "uniform",
    noise: float = 0.0,
    seed: int | None = None,
) -> Examples:
    """Simulated points, labelled by a target: to try things out.

    Parameters
    ----------
    target : path-like
        GeoJSON of polygons, or the name of an example: "flood", "L", "italy", ...
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
    InputError, GeoJSONError, BoundsError
        If the target cannot be used or is not there, or a number is out of range.
    """
    from geodp_app.document.sampling import draw_examples, open_generator
    from learners.declaration import real, whole

    n, grid, noise = whole("n", n), whole("grid", grid, 1), real("noise", noise)
    seed = None if seed is None else whole("seed", seed, 0)
    if not 0 <= n <= 10**9 or not 0 <= noise <= 1:
        raise InputError(f"n must be within 0..1e9 and noise within 0..1, got {n} and {noise}")
    shape, frame = _placed(target, grid, bounds)
    rng = open_generator(seed)
    return draw_examples(shape, n, frame, distribution=distribution, noise=noise, rng=rng)


def _placed(
    target: str | os.PathLike[str], grid: int, bounds: Box | None
) -> tuple[BaseGeometry, Frame]:
    """A target of a file or an example in grid units, and where its grid lies."""
    import assets
    from geodp_app.document.sampling import place_target
    from geometry.geojson import read_geojson
    from geometry.grid import checked_bounds

    path = assets.shape_path(_input.path_of("target", target))
    if not path.exists():
        raise InputError(
            f"{path}: there is no such file, and no such example: {', '.join(assets.examples())}"
        )
    box = None if bounds is None else checked_bounds(bounds)
    return place_target(read_geojson(path), grid, box)


def _read(
    examples: Examples | str | os.PathLike[str] | Any, reading: Mapping[str, Any]
) -> Examples:
    """Examples, read where they are a file or a data frame, else checked."""
    from geodp_app.document.examples import Examples, Frame
    from learners.core.examples import check_examples

    if not isinstance(examples, Examples):
        return read_points(examples, **reading)
    if reading:
        raise InputError(f"examples that are read already take no {', '.join(reading)}")
    frame: Frame = _input.checked("frame", examples.frame, Frame, "a Frame")
    points, labels = check_examples(examples.points, examples.labels, frame.d)
    return replace(examples, points=points, labels=labels.astype("int64"))


@_input.of_parameters()
def learn(
    examples: Examples | str | os.PathLike[str] | Any,
    learner: str = "tiles",
    *,
    ledger: str | os.PathLike[str] | None = None,
    **parameters: Any,
) -> LearnedShape:
    """Learn the shape that labels examples, privately, as `geodp learn` does.

    Parameters
    ----------
    examples : Examples, path-like or data frame
        A file or a data frame is read by :func:`read_points`, with those of its parameters that are
        given: bounds, grid, crs, columns, layer, out_of_bounds, unusable, inside, outside, id,
        rows.
    learner : str
        Any that `geodp learn` takes: "tiles", "cover", "convex", "histogram", ...
    ledger : path-like, optional
        Where the run is entered before it draws (`geodp ledger` begins one); by default the file
        geodp.ledger beside the one that the examples were read from, if it is there.
    **parameters
        Of the learner: epsilon, delta, k, seed, ...; or of :func:`read_points`.

    Returns
    -------
    LearnedShape

    Raises
    ------
    InputError
        If there is no such learner, a parameter is unknown or out of range, or the ledger or its
        budget does not allow the run: nothing is drawn then; as :func:`read_points`.
    BoundsError
        If the bounds are none.

    Examples
    --------
    >>> import geodp, pandas
    >>> rows = {"lon": [12.5, 7.0] * 500, "lat": [41.9, 47.0] * 500, "label": ["yes", "no"] * 500}
    >>> shape = geodp.learn(pandas.DataFrame(rows), bounds=(6, 36, 19, 48), seed=1)
    >>> shape.predict([[12.5, 41.9], [7.0, 47.0]])
    array([1, 0])
    """
    from geodp_app.files.ledger_recording import recording_for
    from learners.core.learned_shape import LearnedShape
    from learners.core.releases import for_persons
    from learners.privacy.accounting import of_persons, one_of_several
    from learners.registry import BY_ID, offered, resolved_parameters, unknown_learner

    _input.checked("ledger", ledger, _input.PATHS, "a path")
    _input.checked("learner", learner, str, "a name, such as 'tiles'")
    known = [each.id for each in offered("learn")]
    if learner not in known:
        raise InputError(unknown_learner(learner, known))
    declared = BY_ID[learner]
    reading = {name: parameters.pop(name) for name in [*parameters] if name in _READING}
    given = resolved_parameters(declared, parameters, "learn", asks_k=True)
    examples = _read(examples, reading)
    asked = given["epsilon"], given["delta"], examples.rows
    with recording_for(examples, ledger) as recording, _refusals(learner):
        given["epsilon"], given["delta"] = one_of_several(*asked)
        model = declared.build(grid=examples.frame.d, **given)
        plan, steps = model.plan(), model.steps(examples.points, examples.labels)
        recording.enter("learn", [(learner, of_persons(plan, *asked))])
        for _ in steps:
            pass
        recording.released()
    return LearnedShape(for_persons(model.release_, examples.unit, *asked), examples.frame)


@_input.of_parameters()
def compare(
    examples: Examples | str | os.PathLike[str] | Any,
    names: Sequence[str] | None = None,
    *,
    test: Examples | str | os.PathLike[str] | Any | None = None,
    holdout: float = 0.2,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    k: int | None = None,
    neighbours: Neighbours = "add-remove",
    seed: int | None = None,
    ledger: str | os.PathLike[str] | None = None,
    **reading: Any,
) -> Comparison:
    """Run learners on the same examples and test them on others, as `geodp compare` does.

    Each private learner spends epsilon: to publish all of them costs their sum, and a choice made
    by these errors is covered by no statement.

    Parameters
    ----------
    examples : Examples, path-like or data frame
        As :func:`learn` takes them.
    names : sequence of str, optional
        Any that `geodp compare` takes; by default tiles, histogram and quadtree, with k also cover
        and greedy-cover.
    test : Examples, path-like or data frame, optional
        In the same frame, which is that of a file or a data frame that says nothing of its own;
        by default each example is held out with probability `holdout`.
    holdout, epsilon, delta : float
    k : int, optional
        Pieces of a good shape, for learners that count them; at least one has to.
    neighbours : {"add-remove", "replace-one"}
    seed : int, optional
    ledger : path-like, optional
        As in :func:`learn`: all of them are entered before the first draws.
    **reading
        Of :func:`read_points`, for files and data frames.

    Returns
    -------
    Comparison
        A sequence of rows with `name`, `error`, `release`, `seconds`; the errors are private.

    Raises
    ------
    InputError
        If a name or a value is wrong, there is nothing to test on, or the ledger does not allow
        the runs; as :func:`read_points`.
    BoundsError
        If the bounds are none.

    Examples
    --------
    >>> import geodp
    >>> examples = geodp.sample("L", 2_000, grid=64, seed=1)
    >>> rows: geodp.Comparison = geodp.compare(examples, ["quadtree", "histogram"], seed=1)
    >>> rows.to_dataframe()["learner"].tolist()
    ['quadtree', 'histogram']
    """
    from geodp_app.document.examples import Examples, hold_out
    from geodp_app.files.ledger_recording import recording_for
    from geodp_app.runs.comparison import Comparison, compare as run, make_contenders
    from learners.declaration import check_open_unit, whole

    seed = None if seed is None else whole("seed", seed, 0)
    _input.checked("ledger", ledger, _input.PATHS, "a path")
    known = None if names is None else _known_names(names)
    settings: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "k": k, "seed": seed}
    contenders = make_contenders(known, neighbours=neighbours, **settings)
    check_open_unit(holdout=holdout)
    if strange := [name for name in reading if name not in _READING]:
        raise InputError(f"compare takes no {', '.join(strange)}")
    examples = _read(examples, reading)
    if examples.rows > 1:
        raise InputError("compare takes one row of each person: leave rows out")
    if test is None:
        examples, tested = hold_out(examples, float(holdout), seed)
    else:
        placed = {"grid": examples.frame.d, "bounds": examples.frame.bounds}
        tested = _read(test, {} if isinstance(test, Examples) else placed | reading)
    with recording_for(examples, ledger) as recording:

        def enter(plans: Sequence[Any]) -> None:
            ids = (contender.kind.id for contender in contenders)
            recording.enter("compare", zip(ids, plans, strict=True))

        rows = []
        for row in run(examples, tested, contenders, before=enter):
            rows.append(row)
            recording.released()
    return Comparison(rows)


@_input.of_parameters()
def rehearse(
    target: str | os.PathLike[str],
    n: int | Sequence[int],
    names: str | Sequence[str] | None = None,
    *,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-6,
    k: int | Sequence[int] | None = None,
    neighbours: Neighbours = "add-remove",
    runs: int = 5,
    grid: int = 1024,
    bounds: Box | None = None,
    distribution: Literal["uniform", "clustered", "gaussian"] = "uniform",
    noise: float = 0.0,
    seed: int | None = None,
) -> Any:
    """Run learners on samples simulated from a public shape, as `geodp rehearse` does.

    No reports are read and nothing is spent: choose by it what :func:`learn` is to do with yours.

    Parameters
    ----------
    target, grid, bounds, distribution, noise, seed
        As :func:`sample` takes them; the seed is that of the learners, too.
    n, epsilon : number or sequence of numbers
    names, delta, k, neighbours
        As :func:`compare` takes them; k may be a sequence, and brings no learners.
    runs : int
        Runs of each learner at each epsilon and n, each on a sample of its own.

    Returns
    -------
    pandas.DataFrame
        Of learner, k, n, epsilon, error (mean share of wrong labels on 200,000 fresh points, 0..1),
        least, most, runs, seconds, command (that learns so; None for one without privacy).

    Raises
    ------
    InputError, GeoJSONError, BoundsError
        If a name or a number is wrong, the target cannot be used, or pandas is not installed.

    Examples
    --------
    >>> table = rehearse("L", [500, 2_000], "tiles", runs=2, grid=64, seed=1)
    >>> print(table["command"][1])
    geodp learn POINTS --learner tiles --epsilon 1 --grid 64 -o learned.geojson
    """
    from geodp_app.runs.rehearsal import contenders_of, rehearse as run
    from learners.declaration import real, whole

    try:
        frames = importlib.import_module("pandas")
    except ImportError:
        raise InputError("a rehearsal is a table of pandas: pip install pandas") from None
    sizes = [whole("n", one, 1) for one in _input.several(n)]
    epsilons, counts = _input.several(epsilon), _input.several(k)
    if not sizes or not epsilons or not 0 <= real("noise", noise) <= 1:
        raise InputError("a rehearsal needs n and epsilon, and noise within 0..1")
    shape, frame = _placed(target, whole("grid", grid, 1), bounds)
    seed = None if seed is None else whole("seed", seed, 0)
    contenders = contenders_of(
        _known_names(names),
        [real("epsilon", one) for one in epsilons],
        [whole("k", one, 1) for one in counts],
        delta=real("delta", delta),
        neighbours=neighbours,
        seed=seed,
    )
    how: dict[str, Any] = {"runs": whole("runs", runs, 1), "noise": noise, "seed": seed}
    rows = run(shape, frame, contenders, sizes, distribution=distribution, **how)
    return frames.DataFrame([row.record() for row in rows])


def _known_names(names: str | Sequence[str] | None) -> Sequence[str]:
    """Learners to be compared: by default some."""
    from geodp_app.runs.comparison import DEFAULT, KINDS
    from learners.registry import unknown_learner

    names = DEFAULT if names is None else _input.several(names)
    if not names:
        raise InputError("there is no learner to compare: name one, such as tiles")
    for name in names:
        _input.checked("a learner", name, str, "a name, such as 'tiles'")
        if name not in KINDS:
            raise InputError(unknown_learner(name, KINDS))
    return names
