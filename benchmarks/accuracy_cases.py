"""What accuracy.py measures on: drawn targets, octagons, outlines of countries, and cities.

A case is a target, a distribution and a number of examples n.  A seed draws the sample and the
fresh points of a case, the same for all learners.  Cities are given: a seed draws the fifth of
them that is held out, and the rest is the sample.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from common import (
    DISTRIBUTIONS,
    GRID,
    OCTAGON,
    OCTAGON_EDGES,
    TARGETS,
    load_target,
    random_octagon,
)
from shapely.geometry.base import BaseGeometry

from geodp_app.document.examples import Examples, Frame
from geodp_app.document.sampling import draw_examples, place_target
from geodp_app.document.work import Distribution
from geodp_app.files.points import PointOptions, read_points
from geometry.geojson import read_geojson
from geometry.grid import Bounds

Part = Literal["outlines", "cities", "drawn", "octagons"]
PARTS: tuple[Part, ...] = get_args(Part)

SIZES = (1_000, 10_000, 100_000, 1_000_000)

#: One of so many cities is held out.
HELD_OUT = 5

# --- cases -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """What is learned, and from how many examples; `path` is a file of an outline or cities, and
    `wrong` the share of examples to learn from that have the other label."""

    part: Part
    target: str
    distribution: Distribution
    n: int
    path: str = ""
    wrong: float = 0.0

    @property
    def name(self) -> str:
        """The target, and the distribution where there are two."""
        return f"{self.target}, {self.distribution}" if self.part == "drawn" else self.target

    @property
    def real(self) -> bool:
        """Whether it is real data, of which nobody knows k."""
        return self.part in ("outlines", "cities")

    @property
    def k(self) -> int | None:
        """Triangles or edges that the target needs; None when nobody knows."""
        if self.real:
            return None
        return OCTAGON_EDGES if self.part == "octagons" else TARGETS[self.target]

    def place(self, rng: np.random.Generator) -> tuple[BaseGeometry, Frame]:
        """The target in grid units, and where it lies."""
        if self.part == "outlines":
            return place_target(read_geojson(self.path), GRID)
        if self.part == "octagons":
            return random_octagon(GRID, rng), Frame(GRID)
        return load_target(self.target, GRID), Frame(GRID)


@lru_cache(maxsize=16)
def draw(case: Case, fresh: int, seed: int) -> tuple[Examples, Examples]:
    """Examples to learn from, and fresh ones to test on; of cities all that are held out."""
    key = zlib.crc32(f"{case.target} {case.distribution} {case.n}".encode())
    rng = np.random.default_rng([seed, key])
    if case.part == "cities":
        return divide(read_cities(Path(case.path)), case.n, rng)
    shape, frame = case.place(rng)
    learned, tested = (
        draw_examples(shape, n, frame, distribution=case.distribution, rng=rng)
        for n in (case.n, fresh)
    )
    if case.wrong:
        flipped = np.random.default_rng([seed, key, 1]).random(case.n) < case.wrong
        learned = replace(learned, labels=np.where(flipped, 1 - learned.labels, learned.labels))
    return learned, tested


def read_cities(path: Path) -> Examples:
    """Labelled cities in the public box that stands in the file's `.bounds` beside it."""
    box = Bounds(*map(float, path.with_suffix(".bounds").read_text().split(",")))
    return read_points(path, PointOptions(GRID, box)).examples


def divide(examples: Examples, n: int, rng: np.random.Generator) -> tuple[Examples, Examples]:
    """n of the examples at random, and the others."""
    order = rng.permutation(len(examples.labels))
    learned, tested = (
        replace(examples, points=examples.points[rows], labels=examples.labels[rows])
        for rows in (order[:n], order[n:])
    )
    return learned, tested


def drawn_cases(targets: Iterable[str], sizes: Iterable[int]) -> Iterator[Case]:
    """The example targets, uniform and clustered."""
    for n in sizes:
        for target in targets:
            for distribution in DISTRIBUTIONS:
                yield Case("drawn", target, distribution, n)


def octagon_cases(sizes: Iterable[int]) -> Iterator[Case]:
    """Random octagons: one case a size, another octagon a seed."""
    for n in sizes:
        yield Case("octagons", OCTAGON, "uniform", n)


def outline_cases(paths: Iterable[Path], sizes: Iterable[int]) -> Iterator[Case]:
    """Outlines from files, by their names in them."""
    named = [(read_geojson(path).name, path) for path in paths]
    for n in sizes:
        for name, path in named:
            yield Case("outlines", name, "uniform", n, str(path))


def city_cases(paths: Iterable[Path]) -> Iterator[Case]:
    """Files of cities: one case a file, whose n is what is not held out."""
    for path in paths:
        count = len(read_cities(path).labels)
        yield Case("cities", path.stem, "clustered", count - count // HELD_OUT, str(path))
