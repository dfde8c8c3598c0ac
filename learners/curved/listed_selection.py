"""Draws halfspaces, simplices, balls and regions of polynomials exactly, by enumeration.

KMMS: their constructions extend to constant dimension D, in time exponential in D; an
arrangement of n hyperplanes has n^D cells, and a simplex is one of n^(D(D+1)) tuples.  Here the
class is public and small (:mod:`geometry.halfspaces`), and every member is scored: halfspaces from
prefix sums over the levels of each normal, simplices from four-dimensional prefix sums over the
levels of each four normals.  Balls and regions bounded by a polynomial are halfspaces of lifted
points (:mod:`geometry.halfspaces`) and scored like these.  One member is drawn by
:func:`learners.privacy.exponential_mechanism.exponential_index`, exactly (docs/privacy.md, lemma
L2).

The time is exponential in the dimension: a simplex in D dimensions is one of L^(D+1) choices of
levels for each D + 1 directions.  Processor time of one step, n = 20,000, d = 16, on one core:

==========  ==============  ==========  =======
pieces      class           members     seconds
==========  ==============  ==========  =======
halfspaces  reach 1             890       0.01
halfspaces  reach 2           5,138       0.02
halfspaces  reach 4          35,858       0.09
halfspaces  reach 8         820,514       0.2
simplices   4 levels        175,104       0.2
simplices   8 levels      2,801,664       0.6
simplices   10 levels     6,840,000       1.3
==========  ==============  ==========  =======

With 16 levels there are 45 million simplices: refused, with their number and what it means.  In
four dimensions the 80 normals with entries -1, 0, 1 would make 24 million sets of five to look
through, each that spans with 8^5 = 32,768 members at 8 levels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geometry.grid_counts import GridCounts
from geometry.halfplane import Region
from geometry.halfspaces import HalfspaceLattice3, ListedLattice, Normal, spanning_fours
from learners.core.selection import Score, Selected, SelectionProgress, Watch
from learners.privacy.exponential_mechanism import exponential_index
from learners.privacy.randomness import RandomSource

#: Most members of a class that is enumerated: about a third of a gigabyte while one is drawn.
MOST_MEMBERS = 1 << 23

#: What one member costs, measured: seconds and bytes.
_SECONDS, _BYTES = 1.8e-7, 40


@dataclass(frozen=True, slots=True)
class LiftedSelection:
    """Sampler of balls, or of regions bounded by a polynomial: halfspaces of lifted points.

    See :class:`learners.core.selection.Sampler`; counts are of points of the lattice's dimensions.

    Raises
    ------
    ValueError
        If the class is too large to be enumerated.
    """

    lattice: ListedLattice

    def __post_init__(self) -> None:
        refuse_large("regions", self.lattice.directions * (self.lattice.levels + 1))

    def _sets(self) -> tuple[tuple[Normal, ...], ...]:
        """Normals whose halfspaces are intersected, a level of each."""
        return tuple((normal,) for normal in self.lattice.normals)

    def select(
        self,
        counts: GridCounts,
        score: Score,
        rate: float,
        source: RandomSource,
        watch: Watch | None = None,
    ) -> Selected:
        """Draw one piece."""
        sets = self._sets()
        parts: list[NDArray[np.int64]] = []
        scored = 0
        for values in values_of(self.lattice, sets, counts, score):
            parts.append(values.ravel())
            scored += values.size
            if watch is not None:
                watch(SelectionProgress(scored, 0, -math.inf))
        values = np.concatenate(parts)
        index = exponential_index(source, values, rate)
        starts = np.cumsum([0, *(len(part) for part in parts)])
        chosen = int(np.searchsorted(starts, index, side="right")) - 1
        levels = [self.lattice.levels_of(normal) for normal in sets[chosen]]
        places = np.unravel_index(index - starts[chosen], [len(each) for each in levels])
        piece: tuple[Region, ...] = tuple(
            self.lattice.member(normal, int(each[place]))
            for normal, each, place in zip(sets[chosen], levels, places, strict=True)
        )
        best = int(values.max())
        log_mass = rate * best + math.log(float(np.mean(np.exp(rate * (values - best)))))
        return Selected(piece, SelectionProgress(scored, 0, log_mass))


@dataclass(frozen=True, slots=True)
class HalfspaceSelection3(LiftedSelection):
    """Sampler of single halfspaces of a lattice; errors as above."""

    lattice: HalfspaceLattice3

    def __post_init__(self) -> None:
        refuse_large("halfspaces", self.lattice.members)


@dataclass(frozen=True, slots=True)
class SimplexSelection3(LiftedSelection):
    """Sampler of simplices of a lattice with reach 1.

    Raises
    ------
    ValueError
        If the reach is larger, or the class is too large to be enumerated.
    """

    lattice: HalfspaceLattice3

    def __post_init__(self) -> None:
        if self.lattice.reach != 1:
            raise ValueError(f"simplices have normals of reach 1, not {self.lattice.reach}")
        refuse_large("simplices", simplex_count(self.lattice))

    def _sets(self) -> tuple[tuple[Normal, ...], ...]:
        return spanning_fours(self.lattice.normals)


def simplex_count(lattice: HalfspaceLattice3) -> int:
    """Number of simplices of the lattice."""
    counts = {normal: len(lattice.levels_of(normal)) for normal in lattice.normals}
    fours = spanning_fours(lattice.normals)
    return sum(math.prod(counts[normal] for normal in four) for four in fours)


def refuse_large(what: str, members: int) -> None:
    """Refuse a class that takes too long.

    Raises
    ------
    ValueError
        With the number of members, and what it would cost.
    """
    if members > MOST_MEMBERS:
        raise ValueError(
            f"{members:,} {what} would be scored in every step, about {members * _SECONDS:,.0f} s "
            f"and {members * _BYTES / 1e9:,.1f} GB each; at most {MOST_MEMBERS:,} are taken: "
            "use fewer levels"
        )


def values_of(
    lattice: ListedLattice,
    sets: tuple[tuple[Normal, ...], ...],
    counts: GridCounts,
    score: Score,
) -> Iterator[NDArray[np.int64]]:
    """Scores of all members, an array for each set of normals, an axis for each normal."""
    spots = lattice.lift(counts.points[counts.begins])
    negatives, positives = counts.by_group(np.cumsum(counts.begins) - 1, len(spots))

    def held(normal: Normal) -> NDArray[np.int64]:
        """Of each grid point, how many levels after the first still hold it."""
        found = np.searchsorted(lattice.levels_of(normal), spots @ np.array(normal), side="right")
        return np.asarray(found - 1)

    # sets of several share their normals; of single ones there may be too many to be kept
    known = {n: held(n) for n in {n for chosen in sets if len(chosen) > 1 for n in chosen}}
    for chosen in sets:
        shape = [len(lattice.levels_of(normal)) for normal in chosen]
        cells = np.zeros(len(spots), dtype=np.int64)
        for normal, count in zip(chosen, shape, strict=True):
            cells = cells * count + (known[normal] if normal in known else held(normal))
        gained = score.k * _at_least(cells, positives, shape) + score.c_pos
        lost = -score.k * _at_least(cells, negatives, shape) + score.c_neg
        yield gained + lost if score.total else np.minimum(gained, lost)


def _at_least(
    cells: NDArray[np.int64], counts: NDArray[np.int64], shape: list[int]
) -> NDArray[np.int64]:
    """How many lie in cells whose every coordinate is at least that of the entry."""
    # sums of counts below 2^53 are exact in doubles
    flat = np.bincount(cells, weights=counts, minlength=math.prod(shape)).astype(np.int64)
    table = flat.reshape(shape)
    for axis in range(len(shape)):
        table = np.flip(np.cumsum(np.flip(table, axis), axis=axis), axis)
    return table
