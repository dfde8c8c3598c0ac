"""The same selection of a halfplane by other means: GEOS, a slab sweep, CGAL, our reference.

A halfplane with boundary u + w * t / d, at abscissa t, is the point (w, u); the dual line of an
example (t, s) is u = s - t * w / d.  Lines are cut to |w| <= d, between the dual lines of the
corners of the square.  Halfplanes on either side of a line share its cell.  Flat lines, then
steep ones (coordinates swapped).
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from questions import Question

from learners.cover.arrangement_selection import ArrangementSelection
from learners.envelope.envelope_selection import EnvelopeSelection


def cell_weights(
    question: Question, positives: NDArray[Any], negatives: NDArray[Any]
) -> NDArray[np.float64]:
    """exp(rate * score) of cells with that many examples below, summed over both sides."""
    score, rate = question.score, question.rate
    weights = np.zeros(len(positives))
    above = (np.count_nonzero(question.labels), np.count_nonzero(~question.labels))
    for p, n in ((positives, negatives), (above[0] - positives, above[1] - negatives)):
        value = np.minimum(score.k * p + score.c_pos, -score.k * n + score.c_neg)
        weights += np.exp(rate * value)  # set-cover scores are at most 0
    return weights


def log_mass(question: Question, masses: float) -> float:
    """Log of a sum of area * weight over all sheets, relative to the base measure."""
    return math.log(masses / (len(question.lattice.sheets) * 3 * question.lattice.d**2))


def dual_segments(question: Question, axis: int) -> NDArray[np.float64]:
    """Dual lines from w = -d to w = d, shape (n, 2, 2), and the border of what is admitted."""
    d = question.lattice.d
    t, s = question.points[:, axis], question.points[:, 1 - axis]
    left = np.stack([np.full(len(t), -d), s + t], axis=1)
    right = np.stack([np.full(len(t), d), s - t], axis=1)
    corners = np.array([(-d, 0), (0, 0), (d, -d), (d, d), (0, d), (-d, 2 * d)])
    border = np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)
    return np.concatenate([np.stack([left, right], axis=1), border]).astype(np.float64)


def polygonize(question: Question) -> str:
    """GEOS: node the segments, polygonize, weigh each cell at a point inside it."""
    labels = np.stack([question.labels, ~question.labels], axis=1).astype(np.float32)
    d, total, count = question.lattice.d, 0.0, 0
    for axis in (0, 1):
        t, s = question.points[:, axis], question.points[:, 1 - axis]
        noded = shapely.union_all(shapely.linestrings(dual_segments(question, axis)))
        cells = shapely.get_parts(shapely.polygonize([noded]))
        w, u = shapely.get_coordinates(shapely.point_on_surface(cells)).T
        count += len(cells)
        for some in np.array_split(np.arange(len(cells)), -(-len(cells) // 4096)):
            below = s - t * (w[some, None] / d) < u[some, None]
            weights = cell_weights(question, *(below @ labels).T)
            total += float(shapely.area(cells[some]) @ weights)
    return f"{count:,} cells, log mass {log_mass(question, total):.3f}"


def sweep(question: Question) -> str:
    """Slabs between neighbouring crossings, O(n^2 log n): mass of all slabs.

    In a slab the sum over the cells of weight * height is linear in w; a crossing changes the
    cell between the two lines, and the borders of the cells below and above it.
    """
    total, slabs = 0.0, 0
    for axis in (0, 1):
        masses = slab_masses(question, axis)
        total += float(masses.sum())
        slabs += len(masses)
    return f"{slabs:,} slabs, log mass {log_mass(question, total):.3f}"


def slab_masses(question: Question, axis: int) -> NDArray[np.float64]:
    """Mass of each slab, from left to right."""
    d = question.lattice.d
    # examples are moved a little, so that no three lines meet
    points = question.points + np.random.default_rng(0).uniform(-1e-6, 1e-6, question.points.shape)
    order = np.argsort(points[:, axis])
    t, s = points[order, axis], points[order, 1 - axis]
    labels = np.stack([question.labels, ~question.labels], axis=1)[order].astype(np.int64)

    def weigh(below: NDArray[np.int64]) -> NDArray[np.float64]:
        return cell_weights(question, *below.T)

    # at w = -d lines have height s + t and slope -t / d, the border 0 and 0, 2 d and -1
    upwards = np.argsort(s + t)
    levels = np.concatenate([np.zeros((1, 2), dtype=np.int64), np.cumsum(labels[upwards], axis=0)])
    below = np.empty_like(labels)
    below[upwards] = levels[:-1]
    weights = weigh(levels)
    height = weights @ np.diff((s + t)[upwards], prepend=0, append=2 * d)
    slope = weights @ np.diff(-t[upwards] / d, prepend=0, append=-1)

    # at w = 0 the border turns
    crossings, jumps = [np.zeros(1)], [weights[:1] + weights[-1:]]
    for i in range(len(t)):
        with np.errstate(divide="ignore", invalid="ignore"):
            w = d * (s - s[i]) / (t - t[i])
        met = np.flatnonzero(np.abs(w) < d)
        met = met[np.argsort(w[met])]
        # lines of larger t come down from above; below both lines is what i had below before
        turned = np.where(met > i, 1, -1)[:, None] * labels[met]
        falls = met > i
        j = met[falls]
        both = below[i] + (np.cumsum(turned, axis=0) - turned)[falls]
        jump = weigh(both + labels[i]) + weigh(both + labels[j])
        jump -= weigh(both) + weigh(both + labels[i] + labels[j])
        crossings.append(w[j])
        jumps.append(jump * (t[j] - t[i]) / d)
    where, jump = np.concatenate(crossings), np.concatenate(jumps)
    order = np.argsort(where)
    widths = np.diff(where[order], prepend=-d, append=d)
    slopes = slope + np.cumsum(np.append(0.0, jump[order]))
    heights = height + np.cumsum(np.append(0.0, slopes * widths))
    masses: NDArray[np.float64] = widths * (heights[:-1] + heights[1:]) / 2
    return masses


def cgal(question: Question) -> str:
    """CGAL by scikit-geometry: the arrangement alone, its cells counted and not weighed."""
    skgeom = importlib.import_module("skgeom")
    count = 0
    for axis in (0, 1):
        arrangement = skgeom.arrangement.Arrangement()
        ends = dual_segments(question, axis).tolist()
        arrangement.insert([skgeom.Segment2(skgeom.Point2(*a), skgeom.Point2(*b)) for a, b in ends])
        count += sum(not face.is_unbounded() for face in arrangement.faces)
    return f"{count:,} cells, not weighed"


def arrangement(question: Question) -> str:
    """Our reference: all cells in exact arithmetic, and a draw."""
    selection = ArrangementSelection(question.lattice, "halfplane", max_cells=10**12)
    found = selection.select(
        question.counts, question.score, question.rate, question.source
    ).progress
    return f"{found.boxes:,} cells, log mass {found.log_mass:.3f}"


def envelope(question: Question) -> str:
    """Our sampler: a draw from the same law."""
    found = (
        EnvelopeSelection(question.lattice, "halfplane")
        .select(question.counts, question.score, question.rate, question.source)
        .progress
    )
    return f"{found.boxes:,} boxes, {found.trials:,} trials"


ENVELOPE = "EnvelopeSelection"

#: Ways to select a halfplane, by name; each returns a remark.
METHODS: dict[str, Callable[[Question], str]] = {
    "GEOS polygonize": polygonize,
    "slab sweep": sweep,
    "CGAL": cgal,
    "ArrangementSelection": arrangement,
    ENVELOPE: envelope,
}
