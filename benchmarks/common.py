"""What the benchmarks share: targets, samples, the unit of time, the line that states the run.

Targets lie in the unit square and are scaled to the grid; contained points have label 1.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence

import numba
import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import MultiPoint, Polygon
from shapely.geometry.base import BaseGeometry

import assets
from geodp_app.document.sampling import draw_points
from geodp_app.document.work import Distribution
from geometry.geojson import read_geojson
from geometry.polygons import contains_points
from learners import __version__

#: Grid size and privacy of all runs, unless a row says otherwise; neighbours add or remove one.
GRID, EPSILON, DELTA = 1024, 1.0, 1e-6

#: Example targets and the triangles that each needs.
TARGETS = {"tri": 1, "L": 2, "three": 3, "star": 5}

#: A convex target and its edges.
OCTAGON, OCTAGON_EDGES = "octagon", 8

DISTRIBUTIONS: tuple[Distribution, ...] = ("uniform", "clustered")


def load_target(name: str, d: int) -> BaseGeometry:
    """A target of :data:`TARGETS`, or the octagon, in grid units."""
    if name == OCTAGON:
        angles = np.arange(OCTAGON_EDGES) * 2 * np.pi / OCTAGON_EDGES + 0.3
        return Polygon(d * (0.5 + 0.4 * np.column_stack([np.cos(angles), np.sin(angles)])))
    return read_geojson(assets.example_path(name)).on_grid(d)


def random_octagon(d: int, rng: np.random.Generator) -> BaseGeometry:
    """The hull of 20 uniform points of the square without its margin, drawn until it has 8 corners.

    Twenty points have a hull of eight corners on average.
    """
    while True:
        hull = shapely.convex_hull(MultiPoint(d * rng.uniform(0.05, 0.95, size=(20, 2))))
        if shapely.get_num_coordinates(hull) == OCTAGON_EDGES + 1:
            return hull


def draw_sample(
    name: str, distribution: Distribution, n: int, d: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Seeded grid points, shape (n, 2), and their labels by the target."""
    target = load_target(name, d)
    points = draw_points(target, n, d, distribution, np.random.default_rng(seed))
    return points, contains_points(target, points)


def unit_seconds(repeats: int = 5, clock: Callable[[], float] = time.perf_counter) -> float:
    """The unit U: median seconds to sort 10^7 fresh uniform floats with numpy, stably."""
    times = []
    for _ in range(repeats):
        numbers = np.random.default_rng().random(10_000_000)
        start = clock()
        np.sort(numbers, kind="stable")
        times.append(clock() - start)
    return float(np.median(times))


def markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table: the first column to the left, the others to the right."""
    ruler = ("---", *["---:"] * (len(headings) - 1))
    return "\n".join(f"| {' | '.join(line)} |" for line in (headings, ruler, *rows))


def describe_run() -> str:
    """Versions and cores, in one line."""
    versions = (
        f"geodp {__version__}",
        f"Python {platform.python_version()}",
        f"numpy {np.__version__}",
        f"numba {numba.__version__}",
        f"shapely {shapely.__version__}",
        f"GEOS {shapely.geos_version_string}",
    )
    return f"{', '.join(versions)}; {platform.machine()}, {os.cpu_count()} cores"
