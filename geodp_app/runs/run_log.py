"""The log of a run keeps its records, the figures of every step, and a cursor to look back.

Private, all of it but the release.  Frame: grid units.  Free of Qt.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
from shapely.geometry.base import BaseGeometry

from geodp_app.document.examples import Examples
from geodp_app.document.sampling import fresh_sample
from geodp_app.document.work import RunSettings, Work
from geodp_app.files.run_record import Question, RunRecord, all_tiles, own_lattice
from geodp_app.runs.figures import FiguresView, Published
from geodp_app.runs.learner_process import make_learner
from geodp_app.runs.protocol import AsGood
from geodp_app.runs.step_gains import Decisions
from geometry.arrays import Flags, Ints
from geometry.halfplane import HalfplaneLattice, Region
from geometry.lift import Conic, conic_union
from geometry.polygons import piece_polygon, union_shape
from geometry.tiling import EdgeZone, Tile, joined_shape, tiles_shape
from learners.core.records import Piece, StepRecord, StepRelease, TileStep, halfplanes_of
from learners.core.releases import Release, for_persons
from learners.core.selection import PIECE_SIZE, HeavyBox, Role
from learners.privacy.accounting import PrivacySpent
from learners.privacy.composition import spent_after
from learners.stability.sample_and_aggregate import VoteView


class RunLog:
    """One run on one sample, and how it looked after each step.

    Steps count from 1.  What is asked of one that has not been made raises ValueError.

    Parameters
    ----------
    work : Work
        The examples, the drawing that labels them, and the settings.
    run : RunRecord, optional
        What has been made of it; by default it begins.
    test : Examples, optional
        Points to test the hypothesis on; by default a :func:`fresh_sample` of the work.
    """

    def __init__(
        self, work: Work, run: RunRecord | None = None, test: Examples | None = None
    ) -> None:
        self.work = work
        given = RunRecord(work.run, work.drawing.grid) if run is None else run
        self.run = replace(given, records=())
        self.role: Role | None = self.settings.declared.role
        self._views: list[tuple[HeavyBox, ...]] = []
        #: Of a run by votes: the newest view (private); a session does not keep it.
        self.votes: VoteView | None = None
        self._examples = _decisions(work.examples, self.role)
        self._test = _decisions(test or fresh_sample(work), self.role)
        #: What the learner will spend; None until it says so, and when it is not private.
        self.plan: PrivacySpent | None = None
        self._cursor = 0
        #: Whether a finished run is shown as a whole: its cursor was put one step beyond the last.
        self.at_end = False
        #: The newest step that there is something to see of.
        self.newest = 0
        self._regions: dict[int, BaseGeometry] = {}
        self._tile_shapes: list[BaseGeometry] = []  # made as tiles come, while others are learned
        self._tiling: tuple[Tile | EdgeZone, ...] = ()
        self._unsharpened: list[BaseGeometry] = []  # of each zone, what the triangles cover of it
        self._figures: dict[int, FiguresView] = {}
        self._gains: list[int] = []
        #: By step, how likely an edge as good as the chosen one was, of each, once that is known.
        self.as_good: dict[int, tuple[AsGood, ...]] = {}
        for record in given.records:
            self.add(record)
        if run is not None and run.release is None:
            with contextlib.suppress(ValueError):  # what it refuses was told when it was begun
                self.plan = make_learner(run.settings, run.grid).plan()

    @property
    def settings(self) -> RunSettings:
        """What the learner was given."""
        return self.run.settings

    @property
    def grid(self) -> int:
        """d."""
        return self.run.grid

    @property
    def records(self) -> tuple[StepRecord, ...]:
        """Steps made so far."""
        return self.run.records

    @property
    def release(self) -> Release | None:
        """What may be published, once the run has come to its end."""
        return self.run.release

    @property
    def questions(self) -> tuple[Question, ...]:
        """Of a run by votes: what was asked after it."""
        return self.run.questions

    @property
    def published(self) -> Published:
        """What may be shown of it to anybody."""
        if self.release is None:
            return Published()
        asked = tuple(replace(one, diagnostics=None) for one in self.questions)
        return Published(self.release, self.shown_figures.published, asked)

    # growing

    def add(
        self, record: StepRecord, views: tuple[HeavyBox, ...] = (), votes: VoteView | None = None
    ) -> None:
        """One more step, and what was seen of it; a cursor at the newest follows, but not to an
        edge that no example is nearest to: there is nothing to see.  Raises ValueError if it is not
        the next step."""
        if record.step != len(self.records) + 1:
            raise ValueError(f"step {record.step} does not follow step {len(self.records)}")
        follows = self._cursor == self.newest
        self._examples.add(record.release)
        self._test.add(record.release)
        if record.release.tile is not None:
            self._tile_shapes.append(record.release.shape())
        self.run = replace(self.run, records=(*self.records, record))
        self._views.append(views)
        self.votes = votes
        if not self.idle(record):
            self.newest = record.step
        if follows:
            self._cursor = self.newest

    def finish(self, release: Release) -> None:
        """The run has come to its end."""
        unit = None if self.work.examples is None else self.work.examples.unit
        self.run = replace(self.run, release=for_persons(release, unit))

    def ask(self, question: Question) -> None:
        """A point was asked about after its end."""
        self.run = replace(self.run, questions=(*self.questions, question))

    @staticmethod
    def idle(record: StepRecord) -> bool:
        """Whether it is about the edge of a triangle, and no example is nearest to that."""
        known = record.diagnostics
        return record.release.zone is not None and not known.positives_alive + known.negatives_alive

    @property
    def between(self) -> bool:
        """Whether more steps belong to what the newest one is about: the edge of a triangle."""
        zone = self.records[-1].release.zone if self.records else None
        if zone is None or len(self.records) == self.records[-1].steps:
            return False
        following = EdgeZone(zone.zones, zone.number + 1)
        looked_at = self.records[self.newest - 1].release.zone
        same = looked_at is not None and looked_at.edge_number == zone.edge_number
        return following.edge_number == zone.edge_number or not same

    @property
    def planned(self) -> int:
        """Steps of the whole run; a greedy run may end before.

        0 as long as it is not known: the first step of a run by tiles tells how many there are.
        Of a cover that will be sharpened, at least so many, until its zones are known; at most so
        many triangles, if the run itself finds k.
        """
        if self.records:
            return self.records[-1].steps
        s = self.settings
        if s.has("n_steps"):
            return s.cover_steps * (1 + (PIECE_SIZE["triangle"] if s.sharpened else 0))
        if s.has("k"):
            return 0 if s["k"] == "auto" else s["k"]
        if s.by_tiles and s.has("tiles"):
            return 0 if s["tiles"] is None else s["tiles"] ** 2
        return 1 if s.learner == "threshold" else 0

    @property
    def privacy(self) -> PrivacySpent | None:
        """What the whole run spends; None when the learner is not private."""
        return self.plan if self.release is None else self.release.privacy

    # at the cursor

    @property
    def cursor(self) -> int:
        """How many steps are shown, 0..len(records)."""
        return self._cursor

    @cursor.setter
    def cursor(self, step: int) -> None:
        if not 0 <= step <= self.last:
            raise ValueError(f"step {step} is outside 0..{self.last}")
        self.at_end = step > len(self.records)
        self._cursor = step - self.at_end

    @property
    def last(self) -> int:
        """The furthest that the cursor can be put: one step further than the last, at the end."""
        return len(self.records) + (self.release is not None)

    @property
    def first_act(self) -> int:
        """Steps of the run before any edge is drawn again; 0 as long as that is not known."""
        if not self.settings.sharpened:
            return self.planned
        if self.sharpening:
            return self.triangles
        each = 1 + PIECE_SIZE["triangle"]
        return self.records[-1].steps // each if self.records else self.settings.cover_steps

    def title(self, step: int) -> str:
        """What a step is called, from 1, and how many there will be; 0 is before the first."""
        if self._sharpens(step) and (zone := self.record(step).release.zone):
            edges = self.triangles * zone.zones.edges
            return f"Sharpening edge {zone.edge_number + 1} of {edges}"
        piece, first = self.settings.declared.piece or "step", self.first_act
        if not first:
            return "No steps yet"
        finds = self.settings.has("k") and self.settings["k"] == "auto"
        most = "at most " if finds and not self.sharpening and self.triangles < first else ""
        if step:
            return f"{piece.capitalize()} {step} of {most}{first}"
        return f"Before {piece} 1 of {most}{first}"

    @property
    def pieces(self) -> tuple[tuple[Region, ...], ...]:
        """Pieces of the steps shown; the last is the newest.  At the end, those of no tile."""
        return tuple(step.piece for step in self.shown if not (self.at_end and step.tile))

    @property
    def newest_piece(self) -> Piece:
        """The halfplanes of the last step shown.

        Empty before the first and at the end, for a tile without any, and for a disc or an ellipse.
        """
        if not self._cursor or self.at_end:
            return ()
        return self.records[self._cursor - 1].release.halfplanes

    @property
    def shown(self) -> tuple[StepRelease | TileStep, ...]:
        """What the steps shown published; the last is the newest."""
        return tuple(record.release for record in self.records[: self._cursor])

    @property
    def triangles(self) -> int:
        """Steps made so far that label no tile, nor the zone of an edge."""
        return len(self.records) - len(self._tile_shapes)

    @property
    def sharpening(self) -> bool:
        """Whether the last step made draws the edge of a triangle again."""
        return self._sharpens(len(self.records))

    @property
    def tiling(self) -> tuple[Tile | EdgeZone, ...]:
        """All tiles, or zones of edges, also those to come; empty before the first."""
        if len(self._tiling) < max(1, len(self._tile_shapes)):
            self._tiling = all_tiles(self.records)
        return self._tiling

    def tile_lattice(self, step: int) -> HalfplaneLattice:
        """The lattice of the own frame of the tile of a step, or of its zone."""
        zone = self.record(step).release.zone
        return zone.lattice if zone else own_lattice(self.records, self.settings["measure"])

    def seen_by(self, step: int) -> tuple[Ints, Flags]:
        """The examples that a step has seen, those of a tile in its own frame, and their labels."""
        tile = self.record(step).release.tile
        points, labels = self._examples.points, self._examples.labels
        if tile is None:
            alive = self._examples.alive(step - 1)
            return points[alive], labels[alive]
        rows = self._examples.decided_by(step)
        return tile.to_own_frame(points[rows]), labels[rows]

    @property
    def positives(self) -> int:
        """All examples labelled 1."""
        return int(np.count_nonzero(self._examples.labels))

    @property
    def negatives(self) -> int:
        """All examples labelled 0."""
        return len(self._examples.labels) - self.positives

    @property
    def views(self) -> tuple[HeavyBox, ...]:
        """The sampler's heaviest boxes at the end of the last step shown."""
        return self._views[self._cursor - 1] if self._cursor else ()

    @property
    def alive(self) -> Flags:
        """Examples that no step shown has decided, shape (n,)."""
        return self._examples.alive(self._cursor)

    @property
    def seen(self) -> Flags:
        """Examples that the newest step shown has seen; all before the first, shape (n,)."""
        return self._examples.alive(max(0, self._cursor - 1))

    @property
    def wrong(self) -> Flags:
        """Examples whose label is not the predicted one, shape (n,)."""
        return self._examples.wrong(self._cursor)

    def region(self) -> BaseGeometry:
        """The hypothesis as a valid shape in grid units: that of the release, at the end."""
        if self._cursor not in self._regions:
            tidied = self.shown[-1].tidied if self._cursor else None
            if tidied is not None:
                shape = tidied.outline.polygon()
            elif self._sharpens(self._cursor):
                shape = self._sharpened_region()
            elif self.settings.by_tiles:
                shape = tiles_shape(self._tile_shapes[: self._cursor])
            elif self.settings.curved:
                parts = [one for piece in self.pieces for one in piece]
                shape = conic_union(tuple(one for one in parts if isinstance(one, Conic)))
            else:
                pieces = [halfplanes_of(piece) for piece in self.pieces]
                if self.role == "disjunction":
                    shape = union_shape(pieces, self.grid)
                else:
                    shape = piece_polygon([h for piece in pieces for h in piece], self.grid)
            self._regions[self._cursor] = shape
        return self._regions[self._cursor]

    def _sharpened_region(self) -> BaseGeometry:
        done = self._tile_shapes[: self._cursor - self.triangles]
        if not self._unsharpened:
            steps = self.records[: self.triangles]
            cover = union_shape([halfplanes_of(r.release.piece) for r in steps], self.grid)
            self._unsharpened = [cover.intersection(zone.polygon()) for zone in self.tiling]
        return joined_shape([*done, *self._unsharpened[len(done) :]])

    def _sharpens(self, step: int) -> bool:
        """Whether a step draws the edge of a triangle again."""
        return self.settings.sharpened and step > self.triangles

    # of any step

    def figures(self, step: int) -> FiguresView:
        """Figures of a step, or of the run before its first (0)."""
        settings, greedy = self.settings, not self.settings.declared.private
        view = FiguresView(
            step=0,
            steps=self.planned,
            guarantee="greedy" if greedy else "private" if settings.private else "seeded",
            epsilon=None if greedy else settings["epsilon"],
            delta=None if self.privacy is None else self.privacy.delta,
            neighbours=None if greedy else settings["neighbours"],
        )
        if step and step not in self._figures:
            self._figures[step] = self._figure(view, self.record(step))
        view = self._figures[step] if step else view
        return replace(view, title=self.title(step))

    @property
    def shown_figures(self) -> FiguresView:
        """Those at the cursor."""
        view = replace(self.figures(self._cursor), steps=self.planned)
        return replace(view, title="The end", at_end=True) if self.at_end else view

    def _figure(self, view: FiguresView, record: StepRecord) -> FiguresView:
        step, known, privacy = record.step, record.diagnostics, self.privacy
        test = self._test.wrong(step)
        spent = None if privacy is None else spent_after(privacy, self._charged(step))
        missed = int(np.count_nonzero(self._examples.wrong(step) & self._examples.labels))
        return replace(
            view,
            step=step,
            steps=record.steps,
            known=known,
            test_error=float(test.mean()) if len(test) else None,
            positives_covered=None if self.role == "conjunction" else self.positives - missed,
            positives=self.positives,
            threshold=record.release.threshold,
            eta=known.rate or None,
            epsilon_so_far=None if spent is None else spent[0],
            account=None if spent is None else spent[1],
        )

    def _charged(self, step: int) -> int:
        """Steps of the planned run that a step, and whether another comes, are a function of."""
        assert self.privacy is not None
        if self.settings["k"] != "auto" or not self.settings.has("k"):
            return step
        # whether it goes on says the next one's noisy count; where it ended, all of them might have
        whole = self.privacy.steps
        ended = self._sharpens(step) or self.records[step - 1].steps == step
        return whole + 1 if ended else min(step + 1, whole)

    def gain(self, step: int) -> tuple[int, int]:
        """Examples that a step decided rightly, and those that it decided wrongly, of those that
        the learner saw.

        Of a tile, those among the examples that it labels 1.  Of the zone of an edge, how many more
        are right than before, or wrong.
        """
        record = self.record(step)
        known = record.diagnostics
        if record.release.zone is not None:
            first = self.records[0].diagnostics
            before = self.record(step - 1).diagnostics.empirical_error
            fewer = before - known.empirical_error
            better = round(fewer * (first.positives_alive + first.negatives_alive))
            return max(0, better), max(0, -better)
        taken = known.positives_taken, known.negatives_taken
        return taken[::-1] if self.role == "conjunction" else taken

    def wrong_before(self, step: int) -> int | None:
        """Examples of an edge's zone that were labelled wrongly before; None of other steps, and
        where nobody knows which of them were kept for a check."""
        before = self._examples.wrong_before(self.record(step).step)
        return None if self.settings.checked else before

    @property
    def gains(self) -> tuple[int, ...]:
        """Of every step made, examples decided rightly less those decided wrongly; at least 0."""
        for step in range(len(self._gains) + 1, len(self.records) + 1):
            right, wrong = self.gain(step)
            self._gains.append(max(0, right - wrong))
        return tuple(self._gains)

    def record(self, step: int) -> StepRecord:
        """A step that has been made."""
        if not 1 <= step <= len(self.records):
            raise ValueError(f"step {step} is outside 1..{len(self.records)}")
        return self.records[step - 1]


def _decisions(examples: Examples | None, role: Role | None) -> Decisions:
    """Nothing decided yet; of no examples where there are none."""
    if examples is None:
        return Decisions(np.empty((0, 2), dtype=np.int64), np.empty(0), role)
    return Decisions(examples.points, examples.labels, role)
