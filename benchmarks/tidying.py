"""What tidying changes (learners/tiles/tidying.py): errors, parts, corners, outlines with and
without.

    python benchmarks/tidying.py [--learners cover tiles] [--n N ...] [--seeds N]
        [--strength X ...] [--most X ...]

The eight drawn cases and the outlines `letters` and `flood`, epsilon = 1, d = 1024; a cover is told
k for three, L and star, else it finds k.  Both columns are of the same runs: what is drawn, and the
same tidied.  Prints Markdown: error in %; the change of it, in % of it, with its standard error,
and the worst; polygons and holes; corners; length of the outline over the target's; what closing
and opening by 3 grid units change, in square grid units; steps at borders, and those that the
target has there: two turns of more than 50 degrees, there and back, at most a third of a tile's
side apart and a twelfth from an inner border.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import shapely
from accuracy_cases import Case, draw
from common import DELTA, DISTRIBUTIONS, EPSILON, GRID, TARGETS, describe_run, load_target, markdown
from shapely.geometry.base import BaseGeometry

import assets
from geometry.geojson import read_geojson
from learners import PolygonUnionLearner
from learners.core.records import TileStep
from learners.core.releases import Release, SharpenedRelease, TilesRelease
from learners.tiles import tidying

#: Triangles that a cover is told.
TOLD = {"L": 2, "three": 3, "star": 5}

OUTLINES = ("letters", "flood")

#: What closing and opening go by, in grid units.
REACH = 3.0

#: Both turns of a step, in degrees; how long it is at most and how far from a border, in sides of
#: a tile.
TURN, LONG, BESIDE = 50.0, 1 / 3, 1 / 12


@dataclass(frozen=True, slots=True)
class Found:
    """One hypothesis of one run."""

    error: float
    parts: int
    corners: int
    length: float
    slits: float
    steps: int


def cases(n: int) -> Iterator[tuple[str, Case, BaseGeometry]]:
    """What a row of the table is of, a case of it, and its target."""
    for name in TARGETS:
        for distribution in DISTRIBUTIONS:
            yield distribution, Case("drawn", name, distribution, n), load_target(name, GRID)
    for name in OUTLINES:
        path = assets.example_path(name)
        yield "outlines", Case("drawn", name, "uniform", n), read_geojson(path).on_grid(GRID)


def slits(shape: BaseGeometry) -> float:
    """Area of what is narrower than 2 REACH."""

    def moved(first: float) -> BaseGeometry:
        out = shape.buffer(first, join_style="mitre").buffer(-first, join_style="mitre")
        return shapely.make_valid(out)

    return float(sum(shape.symmetric_difference(moved(r)).area for r in (REACH, -REACH)))


def steps(shape: BaseGeometry, borders: BaseGeometry, side: float) -> int:
    """How often the outline turns there and back by a border."""
    count = 0
    for ring in shapely.get_rings(shapely.get_parts(shape)):
        corners = shapely.get_coordinates(shapely.simplify(ring, 0.3))[:-1]
        ahead = np.roll(corners, -1, axis=0)
        angles = np.arctan2(*(ahead - corners).T[::-1])
        after = (np.roll(angles, -1) - angles + np.pi) % (2 * np.pi) - np.pi
        before = np.roll(after, 1)
        lines = shapely.linestrings(np.stack([corners, ahead], axis=1))
        found = (before * after < 0) & (np.minimum(abs(before), abs(after)) > np.radians(TURN))
        found &= shapely.length(lines) < LONG * side
        found &= shapely.distance(lines, borders) < BESIDE * side
        count += int(found.sum())
    return count


def inner_borders(zones: Sequence[TileStep]) -> tuple[BaseGeometry, float]:
    """Borders of tiles, or of zones, off the rim of the square, and the mean side of one."""
    figures = [step.tile.polygon() for step in zones]
    within = shapely.box(0, 0, GRID, GRID).buffer(-1)
    borders = shapely.intersection(shapely.union_all(shapely.boundary(figures)), within)
    return borders, GRID / len(zones) ** 0.5


def measured(release: Release, shape: BaseGeometry, tested: Any, target: BaseGeometry) -> Found:
    """Figures of a release whose shape is known."""
    wrong = np.mean(release.predict(tested.points) != tested.labels)
    rings = shapely.get_rings(shapely.get_parts(shape))
    corners = int(shapely.get_num_coordinates(rings).sum()) - len(rings)
    return Found(
        100 * wrong,
        len(rings),
        corners,
        shape.length / target.length,
        slits(shape) - slits(target),
        steps(shape, *inner_borders(zones_of(release)[1])),
    )


def without(release: Release) -> Release:
    """The same run as it was drawn."""
    key, zones = zones_of(release)
    return replace(release, **{key: tuple(replace(step, tidied=None) for step in zones)})


def zones_of(release: Release) -> tuple[str, tuple[TileStep, ...]]:
    """Zones of a sharpened cover, or tiles, and what the release calls them."""
    assert isinstance(release, SharpenedRelease | TilesRelease)
    key = "zones" if isinstance(release, SharpenedRelease) else "tiles"
    return key, getattr(release, key)


def run(learner: str, case: Case, target: BaseGeometry, seed: int) -> tuple[Found, Found, int]:
    """What one run finds, as drawn and tidied, and the steps of the target at its borders."""
    k = None if learner == "tiles" else TOLD.get(case.target, "auto")
    learned, tested = draw(case, 200_000, seed)
    model = PolygonUnionLearner(k=k, epsilon=EPSILON, delta=DELTA, grid=GRID, seed=seed)
    release = model.fit(learned.points, learned.labels).release_
    drawn = without(release)
    return (
        measured(drawn, drawn.shape(), tested, target),
        measured(release, release.shape(), tested, target),
        steps(target, *inner_borders(zones_of(release)[1])),
    )


def row(name: str, n: int, runs: Sequence[tuple[Found, Found, int]]) -> list[str]:
    """A line of the table: as drawn → tidied."""
    pairs = [(drawn, tidy) for drawn, tidy, _ in runs]

    def both(field: str, form: str) -> str:
        means = (
            np.mean([getattr(found, field) for found in side]) for side in zip(*pairs, strict=True)
        )
        return " → ".join(format(mean, form) for mean in means)

    change = np.array([100 * (tidy.error / max(drawn.error, 1e-9) - 1) for drawn, tidy in pairs])
    spread = change.std() / max(1, len(change) - 1) ** 0.5
    outcome = f"{change.mean():+.1f} ± {spread:.1f}, worst {change.max():+.0f}"
    return [
        f"{name}, {n:,}",
        both("error", ".4g"),
        outcome,
        both("parts", ".1f"),
        both("corners", ".0f"),
        both("length", ".3f"),
        both("slits", ".0f"),
        f"{both('steps', '.1f')} (target {np.mean([own for *_, own in runs]):.1f})",
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--learners", nargs="+", default=["cover", "tiles"])
    parser.add_argument("--n", type=int, nargs="+", default=[10_000, 30_000, 100_000])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--strength", type=float, default=tidying.STRENGTH)
    parser.add_argument("--most", type=float, default=tidying.MOST_NATS)
    outcome = parser.parse_args()
    tidying.STRENGTH, tidying.MOST_NATS = outcome.strength, outcome.most
    print(f"{describe_run()}; strength {outcome.strength:g}, at most {outcome.most:g} nats\n")
    headings = ("", "error", "change", "parts", "corners", "length", "narrow", "steps")
    for learner in outcome.learners:
        rows = []
        for n in outcome.n:
            groups: dict[str, list[tuple[Found, Found, int]]] = {}
            for name, case, target in cases(n):
                for seed in range(1, outcome.seeds + 1):
                    print(learner, case.name, n, seed, file=sys.stderr)
                    groups.setdefault(name, []).append(run(learner, case, target, seed))
            rows += [row(name, n, pairs) for name, pairs in groups.items()]
        print(f"{learner}\n\n{markdown(headings, rows)}\n")


if __name__ == "__main__":
    main()
