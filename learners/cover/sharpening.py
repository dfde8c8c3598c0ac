"""Draws every edge of a cover's triangles again, among the examples nearest to it.

A private set cover finds where the shape is; what its triangles leave at their borders costs it
most of its error.  So it is given a part of epsilon, and its triangles divide the square into
zones, one an edge, or several of a long one (:mod:`geometry.tiling`, :func:`zone_side`).  In every
zone a labelled piece of at most two edges is drawn by its number of mistakes on the zone's own
examples (:mod:`learners.envelope.envelope_selection`), with all the rest of epsilon: an example
lies in one zone (docs/privacy.md, lemma 8; parallel composition: McSherry 2009).  With the last
zone labels along borders are changed where the noise alone explains them
(:mod:`learners.tiles.tidying`), which costs nothing.

Departs from the source: KMMS stop at the triangles (`finish="none"`).  What the hypothesis errs,
and what was tried instead: docs/decisions/0015-sharpening.md.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from geometry.arrays import Ints
from geometry.grid_counts import GridCounts
from geometry.tiling import EdgeZone, EdgeZones, Tile, rows_by_number
from learners.core.records import Piece, StepRecord, StepRelease, Tidied, TileStep, predict_pieces
from learners.core.selection import Watch
from learners.cover.set_cover import NOISE_SHARE, Budget, plan_budget
from learners.envelope.envelope_selection import ConceptSelection
from learners.privacy.accounting import (
    LEAST_DELTA,
    MOST_RATE,
    ZONES_DELTA,
    Charge,
    Neighbours,
    PrivacySpent,
    after_arithmetic,
    check_budget,
    delta_of_cover,
    inner_budget,
    neglected_delta,
)
from learners.privacy.randomness import RandomSource
from learners.tiles.tidying import one_nat_side, tidied
from learners.tiles.tile_choice import usual_per_side
from learners.tiles.tiles import tile_steps

#: Share of epsilon that the cover has.
COVER_SHARE = 0.3

#: Side of the largest zone, in tiles.
_TILES_LONG = 2

#: What the rule of their size takes for the number of examples.
_EXAMPLES_PER_POSITIVE = 4

#: Share of the square that the shape covers at least, in the rule of what is noise.
_LEAST_COVERED = 0.02

#: Most edges of a zone's piece.
_EDGES = 2


@dataclass(frozen=True, slots=True)
class SharpenedBudget:
    """What a run may spend, fixed before it starts by public numbers alone.

    Attributes
    ----------
    cover : Budget
    eta : float
        Nats per mistake in every zone.
    spent : PrivacySpent
        The statement of the whole run.
    """

    cover: Budget
    eta: float
    spent: PrivacySpent


def plan_sharpened(
    epsilon: float,
    delta: float,
    steps: int,
    beta: float,
    neighbours: Neighbours,
    private: bool,
    noise_share: float = NOISE_SHARE,
) -> SharpenedBudget:
    """Divide epsilon between the cover and its zones.

    `noise_share` is what the cover's noisy counts may cost alone, in parts of its epsilon.

    Raises
    ------
    ValueError
        If a parameter states no guarantee, or delta does not pay for the events that the samplers'
        arithmetic neglects.
    """
    check_budget(epsilon, delta)
    inner, _ = inner_budget(epsilon - COVER_SHARE * epsilon, delta, neighbours)
    # an example lies in one zone: one draw is off
    eta = min(after_arithmetic(inner, delta, 1)[0], MOST_RATE)
    left = delta_of_cover(delta, eta, neighbours)
    if left < LEAST_DELTA:
        least = LEAST_DELTA / (1 - ZONES_DELTA) + neglected_delta(eta, 2, neighbours)
        raise ValueError(
            f"delta = {delta:g} does not pay for what the arithmetic of a sharpened cover neglects "
            f"at epsilon = {epsilon:g}: use a delta above {least:.3g}"
        )
    own = COVER_SHARE * epsilon
    cover = plan_budget(own, left, steps, beta, neighbours, private, noise_share)
    spent = replace(
        cover.spent,
        epsilon=epsilon,
        delta=delta,
        charges=(*cover.spent.charges, Charge("sharpening", eta)),
    )
    return SharpenedBudget(cover, eta, spent)


def zone_side(noisy: int, eta: float, d: int) -> int:
    """Most grid points along a side of a zone: twice a tile's of a run by tiles.

    Parameters
    ----------
    noisy : int
        The first noisy count, of examples labelled 1: taken for a quarter of all.
    eta : float
        Nats per mistake in every zone.
    d : int
        Grid size.
    """
    return -(-_TILES_LONG * (d + 1) // usual_per_side(_EXAMPLES_PER_POSITIVE * noisy, eta, d))


def sharpened_steps(
    counts: GridCounts,
    cover: Iterator[StepRecord],
    *,
    eta: float,
    source: RandomSource,
    watch: Watch | None,
) -> Iterator[StepRecord]:
    """The records of a cover of triangles, and then one for every zone of their edges.

    Parameters
    ----------
    counts : GridCounts
        Examples on the grid.
    cover : iterator of StepRecord
        Of a union of pieces.
    eta : float
        Nats per mistake in every zone.
    source : RandomSource
    watch : callable, optional
        Called from inside every selection; may raise Cancelled.
    """
    pieces: list[Piece] = []
    noisy = 0
    for record in cover:
        assert isinstance(record.release, StepRelease)
        if not pieces:
            assert record.release.threshold is not None  # a private cover draws one in every step
            noisy = record.release.threshold
        pieces.append(record.release.halfplanes)
        # a zone an edge, at least
        yield replace(record, steps=record.steps * (1 + len(pieces[0])))
    zones = EdgeZones(tuple(pieces), zone_side(noisy, eta, counts.d)).all()
    yield from tile_steps(
        counts,
        tiles=zones,
        groups=zone_groups(zones, counts.points),
        selection=_sampler,
        eta=eta,
        source=source,
        watch=watch,
        before=predict_pieces("disjunction", tuple(pieces), counts.points),
        first=len(pieces) + 1,
        tidy=functools.partial(_tidied, noisy=noisy, eta=eta),
    )


def _tidied(steps: Sequence[TileStep], noisy: int, eta: float) -> Tidied | None:
    """What is changed along the zones' borders, as if examples lay as densely outside as inside."""
    drawn = sum(step.shape().area for step in steps)
    least = _LEAST_COVERED * steps[0].tile.d ** 2
    return tidied(steps, one_nat_side(noisy, max(drawn, least), eta))


def _sampler(zone: Tile | EdgeZone) -> ConceptSelection:
    assert isinstance(zone, EdgeZone)
    return ConceptSelection(zone.lattice, _EDGES)


def zone_groups(zones: Sequence[EdgeZone], points: Ints) -> list[Ints]:
    """For each of all zones of some pieces the rows of the points that it holds, in their order."""
    groups = rows_by_number(zones[0].zones.find(points), len(zones))
    return [rows[zone.in_box(points[rows])] for zone, rows in zip(zones, groups, strict=True)]
