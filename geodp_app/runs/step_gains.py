"""What each step of a run gained: which points it decided, and what is undecided or wrong after it.

One integer a point and its label replay the whole run: no mask is kept per step.  A step and a
look back cost O(points); a million points take a few hundredths of a second.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geometry.arrays import Flags, Ints
from geometry.tiling import EdgeZone, Tile
from learners.core.records import StepRelease, TileStep, inside_piece
from learners.core.selection import Role


class Decisions:
    """Labelled grid points under a growing list of steps.

    A union decides what lies inside a piece (it is predicted 1), an intersection what lies
    outside (it is predicted 0); what no piece has decided is predicted the other way.  A tile
    decides all that it holds; what lies in tiles to come is predicted 0.  After a union, zones of
    its edges decide all points a second time; what lies in zones to come is predicted as before.
    The last tile or zone may change labels of all.

    Parameters
    ----------
    points : ndarray of int64, shape (n, 2)
        Grid points in 0..d.
    labels : ndarray of bool or of 0 and 1, shape (n,)
    role : {"disjunction", "conjunction"} or None
        None for tiles.
    """

    def __init__(self, points: Ints, labels: NDArray[np.generic], role: Role | None) -> None:
        self.points = np.asarray(points, dtype=np.int64)
        self.labels = np.asarray(labels).astype(np.bool_)
        self._before = role == "conjunction"
        # the step that decided each point, from 1; 0 for none yet; and as what
        self._step = np.zeros(len(self.points), dtype=np.int32)
        self._label = np.full(len(self.points), self._before)
        # the same for the zones of edges; none until there is one
        self._zone: Ints | None = None
        self._again = np.zeros(0, dtype=np.int32)
        self._label_again = np.zeros(0, dtype=np.bool_)
        self._pieces = 0  # steps before the first zone
        self._columns: tuple[NDArray[np.int32], ...] | None = None
        self._steps = 0
        # labels after the last step, if it changes those of all
        self._tidied: Flags | None = None

    def add(self, release: StepRelease | TileStep) -> None:
        """Take in one more step of the run."""
        self._steps += 1
        if release.zone is not None:
            self._sharpen(release, release.zone)
        else:
            decided, label = self._decide(release)
            self._step[decided] = self._steps
            self._label[decided] = label
        if release.tidied is not None:
            self._tidied = release.tidied.predict(self.points, self.predicted(self._steps))

    def _sharpen(self, release: TileStep, zone: EdgeZone) -> None:
        """A zone decides its points again."""
        if self._zone is None:
            self._zone = zone.zones.find(self.points)
            self._again = np.zeros(len(self.points), dtype=np.int32)
            self._label_again = self._label.copy()
            self._pieces = self._steps - 1
        held = np.flatnonzero(self._zone == zone.number)
        held = held[zone.in_box(self.points[held])]
        self._again[held] = self._steps
        self._label_again[held] = release.predict(self.points[held])

    def _in_zones(self, step: int) -> bool:
        """Whether a step comes after the first zone began to decide again."""
        return self._zone is not None and step > self._pieces

    def _decide(self, release: StepRelease | TileStep) -> tuple[Ints, Flags]:
        """Which points a step decides, and how it labels them."""
        if release.tile is not None:
            decided = self._held(release.tile)
            return decided, release.predict(self.points[decided])
        alive = np.flatnonzero(self._step == 0)
        held = inside_piece(release.piece, self.points[alive])
        decided = alive[held != self._before]
        return decided, np.full(len(decided), not self._before)

    def _held(self, tile: Tile | EdgeZone) -> Ints:
        """Indices of the undecided points in a tile."""
        # columns of their own, and short ones: many times as fast for a million points
        if self._columns is None:
            self._columns = tuple(column.astype(np.int32) for column in self.points.T)
        x, y = self._columns
        held = (x >= tile.x0) & (x <= tile.x1) & (y >= tile.y0) & (y <= tile.y1)
        return np.flatnonzero(held & (self._step == 0))

    def decided_by(self, step: int) -> Ints:
        """Indices, rising, of the points that a step decided."""
        if self._in_zones(step):
            return np.flatnonzero(self._again == step)
        return np.flatnonzero(self._step == step)

    def alive(self, step: int) -> Flags:
        """Points that the first `step` steps leave undecided, bool of shape (n,).

        After the first zone, those in zones to come.
        """
        last = self._again if self._in_zones(step) else self._step
        alive: Flags = (last == 0) | (last > step)
        return alive

    def predicted(self, step: int) -> Flags:
        """Labels predicted after `step` steps, bool of shape (n,)."""
        if self._tidied is not None and step == self._steps:
            return self._tidied
        alive = self.alive(step)
        if self._in_zones(step):
            return (self._label & alive) | (self._label_again & ~alive)
        return self._label | alive if self._before else self._label & ~alive

    def wrong(self, step: int) -> Flags:
        """Points whose label is not the one predicted after `step` steps, bool of shape (n,)."""
        wrong: Flags = self.predicted(step) != self.labels
        return wrong

    def wrong_before(self, step: int) -> int | None:
        """Examples of an edge's zone that were labelled wrongly before; None of other steps."""
        if not self._in_zones(step):
            return None
        return int(np.count_nonzero(self.wrong(step - 1)[self.decided_by(step)]))
