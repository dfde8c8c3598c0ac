"""Sharpening a cover: every edge of its triangles drawn again, each among the examples nearest it.

A private set cover finds where the shape is; what its triangles leave at their borders costs it
most of its error, and further steps must share epsilon with it.  So it is given a part of epsilon,
and its triangles divide the square into zones, one an edge (:mod:`geometry.edge_zones`).  In every
zone a labelled piece of at most two edges is drawn by its number of mistakes on the zone's own
examples (:mod:`learners.envelope.concept_selection`), with all the rest of epsilon.

Privacy (docs/privacy.md, lemma 8), for neighbours that add or remove one example: the zones are a
function of the released triangles, so given these the example lies in one zone, and the draws of
all others have the same law with and without it.  The draws together are eta-DP, whatever the
number of zones (parallel composition: McSherry 2009), and with an (epsilon_1, delta)-DP cover
before them (epsilon_1 + eta, delta)-DP (basic composition).

Departs from the source: KMMS stop at the triangles (`finish="none"`).  The hypothesis is no union
of triangles any more, but of their zones' pieces; what it errs, and what was tried instead:
docs/decisions/0015-sharpening.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geometry.edge_zones import EdgeZone, EdgeZones
from geometry.grid_counts import GridCounts
from geometry.tiling import Tile
from learners.accounting import (
    LEAST_DELTA,
    MOST_RATE,
    Charge,
    Neighbours,
    PrivacySpent,
    after_arithmetic,
    check_budget,
    inner_budget,
    neglected_delta,
)
from learners.envelope.concept_selection import ConceptSelection
from learners.randomness import RandomSource
from learners.records import Piece, StepRecord, StepRelease, predict_pieces
from learners.selection import Watch
from learners.set_cover import Budget, plan_budget
from learners.tiles import tile_steps

#: Share of epsilon that the cover has.
COVER_SHARE = 0.3

#: Part of delta that pays for events which the arithmetic of the zones' draws neglects.
_DELTA_SHARE = 2.0**-20

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
) -> SharpenedBudget:
    """Divide epsilon between the cover and its zones.

    Raises
    ------
    ValueError
        If a parameter states no guarantee, or delta does not pay for the events that the samplers'
        arithmetic neglects.
    """
    check_budget(epsilon, delta)
    part = _DELTA_SHARE * delta
    if delta - part < LEAST_DELTA:
        raise ValueError(f"a sharpened cover needs a delta above {LEAST_DELTA}, got {delta}")
    cover = plan_budget(COVER_SHARE * epsilon, delta - part, steps, beta, neighbours, private)
    inner, inner_delta = inner_budget(epsilon - COVER_SHARE * epsilon, part, neighbours)
    # an example lies in one zone: one draw is off
    eta = min(after_arithmetic(inner, inner_delta, 1)[0], MOST_RATE)
    neglected = neglected_delta(eta, 1, neighbours)
    if neglected > part:
        raise ValueError(
            f"delta = {delta:g} does not pay for what the arithmetic of sharpening neglects at "
            f"epsilon = {epsilon:g}: use a delta above {neglected / _DELTA_SHARE:.1e}, or a "
            "smaller epsilon"
        )
    spent = replace(
        cover.spent,
        epsilon=epsilon,
        delta=delta,
        charges=(*cover.spent.charges, Charge("sharpening", eta)),
    )
    return SharpenedBudget(cover, eta, spent)


def sharpened_steps(
    counts: GridCounts,
    cover: Iterator[StepRecord],
    *,
    eta: float,
    source: RandomSource,
    watch: Watch | None,
    edges: int,
) -> Iterator[StepRecord]:
    """The records of a cover, and then one for every zone of its pieces' edges.

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
    edges : int
        Of every piece.
    """
    pieces: list[Piece] = []
    steps = 0
    for record in cover:
        steps = record.steps
        assert isinstance(record.release, StepRelease)
        pieces.append(record.release.halfplanes)
        yield replace(record, steps=steps * (1 + edges))
    zones = EdgeZones(tuple(pieces)).all()
    yield from tile_steps(
        counts,
        tiles=zones,
        groups=zone_groups(zones, counts.points),
        selection=lambda zone: _sampler(zone),
        eta=eta,
        source=source,
        watch=watch,
        before=predict_pieces("disjunction", tuple(pieces), counts.points),
        first=steps + 1,
    )


def _sampler(zone: Tile | EdgeZone) -> ConceptSelection:
    assert isinstance(zone, EdgeZone)
    return ConceptSelection(zone.lattice, _EDGES)


def zone_groups(zones: Sequence[EdgeZone], points: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """For each of all zones of some pieces the rows of the points that it holds, in their order."""
    numbers = zones[0].zones.find(points)
    order = np.argsort(numbers, kind="stable")
    ends = np.searchsorted(numbers[order], np.arange(1, len(zones)))
    return [
        rows[zone.in_box(points[rows])]
        for zone, rows in zip(zones, np.split(order, ends), strict=True)
    ]
