"""Learns polygons by stability, from public grid points that it labels privately (algorithm 5).

1. Every example goes to one of K chunks by a coin; a learner, `base`, is trained on each.
2. Public grid points are labelled by the chunks' majority where it is stable, until m are or T are
   answered ⊥ (:mod:`learners.stability.stable_queries`).
3. The greedy union of k triangles that is not private (:mod:`learners.baselines.greedy`) learns
   from these points and labels alone, so its polygons cost nothing more.

(epsilon, delta)-DP (docs/privacy.md, lemma S6).  K, m and T are public and chosen
without a look at the sample.

The public points, functions of public numbers, answers and coins alone:

random    independent uniform grid points, as BTT take them.
refined   a coarse lattice of points; then, where the four corners of a cell are not all
          answered alike, the five points that halve the cell; and so on.  Queries may be chosen in
          view of earlier answers, so this costs nothing, and most queries fall near the border of
          the concept.  The order within a level is random.

With `kept` > 0 step 2 leaves so many of the T halts, and half of the m queries, for `ask`: after
the run a person has further public points labelled, one by one.  Step 2 and all these questions
are one run of the sparse vector technique with one budget (lemma S6, the interaction).

Two modes, as in :mod:`learners.stability.label_private`.  By default whole examples are protected,
and the public points are of the grid.  With `neighbours = "replace-label"` only labels are: step 2
asks about the points of m random examples, which have no part in step 1.

Departs from the source.  BTT take random points and give ⊥ a fair coin for a label.  Here points
are refined, and unlabelled ones are left out; both ways can be chosen.  K must be some hundreds
whatever n is, so a chunk has n/K examples: on a triangle, some dozens of points are labelled at
n = 1e5, and the error is some percent.  The other private learners of polygons do far better at
every n; this one needs no more of its base than fit and predict.

Time: K trainings of the base; with the default base about a tenth of a second each.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from geometry.arrays import Flags, Ints
from geometry.grid import Box
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice
from learners.baselines.greedy import GreedyUnionLearner
from learners.core.estimator import Estimator, Run, Stream
from learners.core.examples import check_points
from learners.core.records import StepRecord, StepRelease
from learners.core.releases import CoverRelease
from learners.core.selection import Role, Selected, SelectionProgress, Watch, mistakes_score
from learners.cover.set_cover import Cover
from learners.declaration import check_count
from learners.privacy.accounting import PrivacySpent, Relation
from learners.privacy.noise import below_array
from learners.privacy.randomness import RandomSource, below, open_source
from learners.stability.classifiers import (
    PrivateModels,
    QueryRecord,
    answer_votes,
    asked_points,
    open_mapper,
    plan_for,
)
from learners.stability.label_private import (
    Unanswered,
    check_split,
    known_labels,
    split_sample,
)
from learners.stability.sample_and_aggregate import (
    PLACES,
    VoteProgress,
    VoteView,
    assign_chunks,
    check_base,
    places,
    train_chunks,
)
from learners.stability.stable_queries import (
    Constants,
    QueryRelease,
    StableQueries,
    default_chunks,
    kept_queries,
    plan_sparse_vector,
)

PointChoice = Literal["refined", "random"]

#: Cells along a side of the first lattice.
FIRST_CELLS = 4

Point = tuple[int, int]
Cell = tuple[int, int, int, int]

#: Labels points (m, 2), one after the other.
Ask = Callable[[Ints], Iterable[QueryRelease]]


def label_points(
    ask: Ask, choice: PointChoice, d: int, most: int, source: RandomSource
) -> list[tuple[Point, QueryRelease]]:
    """Choose points of 0..d and have them labelled, until `most` are or the run is halted."""
    if choice == "random":
        points = below_array(source, d + 1, 2 * most).reshape(most, 2)
        return label_given(ask, points)
    return _refine(ask, d, most, source)


def label_given(ask: Ask, points: Ints) -> list[tuple[Point, QueryRelease]]:
    """Have points (m, 2) labelled, one after the other."""
    return [((x, y), answer) for (x, y), answer in zip(points.tolist(), ask(points), strict=True)]


def shuffled(items: list[Point], source: RandomSource) -> list[Point]:
    """The items in a uniformly random order."""
    mixed = list(items)
    for last in range(len(mixed) - 1, 0, -1):
        other = below(source, last + 1)
        mixed[last], mixed[other] = mixed[other], mixed[last]
    return mixed


def _refine(ask: Ask, d: int, most: int, source: RandomSource) -> list[tuple[Point, QueryRelease]]:
    answers: dict[Point, QueryRelease] = {}
    cuts = sorted({d * i // FIRST_CELLS for i in range(FIRST_CELLS + 1)})
    spans = list(itertools.pairwise(cuts))
    cells = [(x0, y0, x1, y1) for x0, x1 in spans for y0, y1 in spans]
    while cells:
        new = dict.fromkeys(p for cell in cells for p in _corners(cell) if p not in answers)
        asked = shuffled(list(new), source)[: most - len(answers)]
        if asked:
            answers.update(zip(asked, ask(np.array(asked, dtype=np.int64)), strict=True))
        if len(answers) == most or any(a.halts_left == 0 for a in answers.values()):
            break
        differing = (c for c in cells if len({answers[corner].value for corner in _corners(c)}) > 1)
        cells = [part for cell in differing for part in _halves(cell)]
    return list(answers.items())


def _corners(cell: Cell) -> tuple[Point, ...]:
    x0, y0, x1, y1 = cell
    return (x0, y0), (x0, y1), (x1, y0), (x1, y1)


def _halves(cell: Cell) -> list[Cell]:
    """Up to four cells; none if the cell has no grid point but its corners."""
    x0, y0, x1, y1 = cell
    if max(x1 - x0, y1 - y0) <= 1:
        return []
    across, up = sorted({x0, (x0 + x1) // 2, x1}), sorted({y0, (y0 + y1) // 2, y1})
    return [(a, b, c, e) for a, c in itertools.pairwise(across) for b, e in itertools.pairwise(up)]


#: Public points to be labelled at most, and of these ⊥.
DEFAULT_QUERIES, DEFAULT_HALTS = 1000, 1

#: Work that the default base, and the last learner, may spend on a triangle, in boxes.
_BASE_BOXES, _FINAL_BOXES = 256, 1 << 13


def final_learner(k: int, grid: int) -> GreedyUnionLearner:
    """What learns from labelled public points; not private, and need not be."""
    return GreedyUnionLearner(k=k, grid=grid, loss_weight=1, max_boxes=_FINAL_BOXES)


class StabilityLearner(Estimator):
    """(epsilon, delta)-private union of polygons from any base learner.

    Parameters
    ----------
    epsilon, delta : float
        Privacy of the whole run.
    k : int
        Triangles of a good hypothesis.
    grid : int
        d: examples have integer coordinates in 0..d.
    bounds : Bounds or (west, south, east, north), optional
        Public: where the grid lies; never take it from the examples.  With it, examples are
        longitudes and latitudes, or what the system of the bounds has.
    base : object with fit and predict, or factory of such, optional
        Trained on each chunk; by default a quick greedy union of k triangles.
    chunks : int, optional
        K; by default as many as answer queries on which 85 % of the chunks agree.
    queries : int
        m: most public points.
    halts : int
        T: points that may be answered ⊥.
    kept : int
        Of these halts, fewer than T, for :meth:`ask` after the run; with them half of the queries.
    points : {"refined", "random"}, optional
        See the module; by default refined.  None are chosen where
        only labels are protected: they are the sample's own.
    unanswered : {"omit", "coin"}
        Points without an answer are left out, or labelled by a fair coin.
    constants : {"tight", "printed"}
        Of the noise, see :mod:`learners.stability.stable_queries`.
    neighbours : {"add-remove", "replace-one", "replace-label"}
        What is protected; all cost the same here.  "replace-label": the labels, not the points.
    seed : int, optional
        Makes the run reproducible and therefore not private; the release says so.
    workers : int
        Threads that train; the release does not depend on it.  More help a base that computes
        without the interpreter, which the default one hardly does.

    Attributes
    ----------
    release_ : CoverRelease
        What may be published.
    answers_ : tuple of ((x, y), QueryRelease)
        The labelled public points; may be published too.  How the chunks voted is shown to `watch`
        alone, see :class:`learners.stability.sample_and_aggregate.VoteView`.
    private_models_ : PrivateModels
        With `kept` > 0, for the curator: what answers the questions to come.  The fitted learner
        can then not be pickled or copied.

    Examples
    --------
    >>> import numpy as np
    >>> from learners.stability.base_learners import MajorityCells
    >>> X = np.array([[x, y] for x in range(17) for y in range(17)] * 200)
    >>> y = (X[:, 0] + X[:, 1] <= 14).astype(int)
    >>> base = MajorityCells(grid=16, cells=6)
    >>> model = StabilityLearner(k=1, grid=16, base=base, halts=8, epsilon=8.0, seed=7).fit(X, y)
    >>> model.score(X, y) > 0.9, model.privacy_.epsilon
    (True, 8.0)
    """

    role: ClassVar[Role] = "disjunction"

    epsilon: float = 1.0
    delta: float = 1e-6
    k: int = 4
    grid: int = 1024
    bounds: Box | None = None
    base: Any = None
    chunks: int | None = None
    queries: int = DEFAULT_QUERIES
    halts: int = DEFAULT_HALTS
    kept: int = 0
    points: PointChoice | None = None
    unanswered: Unanswered = "omit"
    constants: Constants = "tight"
    neighbours: Relation = "add-remove"
    seed: int | None = None
    workers: int = 1

    def _planned(self) -> Run:
        budget = plan_for(self, plan_sparse_vector, self.seed is None)
        k = self.k
        lattice = HalfplaneLattice(self.grid)
        # where the public points come from, as the release says it
        choice: str = self.points or "refined"
        if self.neighbours == "replace-label":
            choice = "sample"
            if self.points is not None:
                raise ValueError(
                    "where only labels are protected, the points are the sample's own: leave "
                    f"out points = {self.points!r}"
                )
        check_count("workers", self.workers)
        base = self.base
        if base is None:
            base = GreedyUnionLearner(
                k=k, grid=self.grid, n_steps=k, loss_weight=1, max_boxes=_BASE_BOXES
            )
        check_base(base)
        chunks = default_chunks(budget, self.chunks)
        own = budget.queries - kept_queries(budget, self.kept)

        def begin(counts: GridCounts, watch: Watch | None) -> Stream:
            rows = np.repeat(np.arange(len(counts)), counts.amounts)
            points, labels = counts.points[rows], counts.labels[rows]
            source = open_source(self.seed)
            parameters = (
                ("k", k),
                ("chunks", chunks),
                ("queries", budget.queries),
                ("halts", budget.halts),
                ("margin", budget.margin),
                ("kept", self.kept),
                ("public_points", choice),
                ("unanswered", self.unanswered),
                ("constants", self.constants),
            )

            if choice == "sample":
                check_split(own, len(points))

            def records() -> Iterator[StepRecord]:
                voters, given = (points, labels), None
                if choice == "sample":
                    rest, labels_of_rest, given = split_sample(points, labels, own, source)
                    voters = rest, labels_of_rest
                queries = StableQueries(budget, source, self.kept)
                self._label(voters, given, base, chunks, queries, source, watch)
                where = np.array([at for at, _ in self.answers_], dtype=np.int64).reshape(-1, 2)
                answers = (answer for _, answer in self.answers_)
                kept, targets = known_labels(answers, self.unanswered, np.array([0, 1]), source)
                final = final_learner(k, self.grid)
                started = time.perf_counter()
                release = final.fit(where[kept], targets, watch=watch).release_
                assert isinstance(release, CoverRelease)
                # diagnostics are of the private sample
                cover = Cover(GridCounts.of_examples(points, labels, self.grid), self.role)
                score = mistakes_score(int(np.count_nonzero(labels)))
                count = len(release.pieces)
                for step, piece in enumerate(release.pieces, start=1):
                    progress = SelectionProgress(len(self.answers_), count, float("nan"))
                    diagnostics = cover.take(Selected(piece, progress), score, started)
                    yield StepRecord(step, count, StepRelease(piece, None), diagnostics)
                    started = time.perf_counter()

            return Stream(records(), lattice, parameters)

        return Run(budget.spent, begin)

    def _counted(self, points: Ints, labels: Flags) -> GridCounts:
        # each row has a coin: counts, which have another order, are voted on alike, not equally
        rows = np.ones(len(points), dtype=np.int64)
        return GridCounts(self.grid, points.copy(), labels.copy(), rows)

    @staticmethod
    def check_votes(parameters: Mapping[str, Any], privacy: PrivacySpent) -> None:
        """Refuse a statement that no run of these public parameters makes: ValueError, or KeyError
        if one is missing.

        What the halts cost is its charge; what is left of delta pays for the margin alone.
        """
        planned = plan_sparse_vector(
            privacy.epsilon,
            privacy.delta,
            queries=parameters["queries"],
            halts=parameters["halts"],
            constants=parameters["constants"],
            neighbours=privacy.neighbours,
        )
        (right,), (votes,) = planned.spent.charges, privacy.learned.charges
        same = right.times == votes.times and math.isclose(right.each, votes.each, rel_tol=1e-7)
        if not same or planned.margin != parameters["margin"]:
            raise ValueError(
                f"its charges and its margin do not compose to (epsilon, delta) = "
                f"({privacy.epsilon:g}, {privacy.delta:g})"
            )
        if (privacy.neighbours == "replace-label") != (parameters["public_points"] == "sample"):
            raise ValueError(
                "privacy.neighbours: labels alone are protected if points are the sample's"
            )

    def _label(
        self,
        voters: tuple[Ints, Flags],
        given: Ints | None,
        base: Any,
        chunks: int,
        queries: StableQueries,
        source: RandomSource,
        watch: Watch | None,
    ) -> None:
        """Train the chunks on the voters, and label public points, chosen or given."""
        points, labels = voters

        def progress(trained: int) -> None:
            if watch is not None:
                watch(VoteProgress(trained, chunks, float("nan")))

        chunk = assign_chunks(len(points), chunks, source)
        released: list[QueryRelease] = []
        with open_mapper(self.workers) as mapper:
            models = train_chunks(
                base, points, labels.astype(np.int64), chunk, chunks, np.array([0, 1]),
                mapper=mapper, progress=progress,
            )  # fmt: skip

            if watch is not None:
                votes = models.votes(places(self.grid), mapper)
                margins = ((votes[:, 1] - votes[:, 0]) / chunks).reshape(PLACES, PLACES)
            asked: list[Ints] = [np.empty((0, 2), dtype=np.int64)]

            def ask(where: Ints) -> list[QueryRelease]:
                votes = models.votes(where, mapper)
                new = [record.release for record in answer_votes(queries, votes, models)]
                released.extend(new)
                asked.append(where)
                if watch is not None:
                    view = VoteView(
                        chunks=chunks,
                        margins=margins,
                        asked=np.concatenate(asked),
                        answers=np.array(
                            [-1 if one.value is None else one.value for one in released], np.int8
                        ),
                        halts_left=released[-1].halts_left,
                        queries_left=released[-1].queries_left,
                    )
                    watch(VoteProgress(chunks, chunks, float("nan"), votes=view))
                return new

            if given is None:
                most = queries.queries_left
                answers = label_points(ask, self.points or "refined", self.grid, most, source)
            else:
                answers = label_given(ask, given)
        self.answers_: tuple[tuple[tuple[int, int], QueryRelease], ...] = tuple(answers)
        if self.kept:
            queries.take_up()
            self.private_models_ = PrivateModels(models, queries)

    def ask(self, X: ArrayLike) -> tuple[QueryRecord, ...]:
        """Have more public points labelled after the run, from what was kept of its budget.

        Parameters
        ----------
        X : array, shape (m, 2)
            Points as :meth:`fit` takes them, chosen in view of what is published alone: they are
            published, too.

        Returns
        -------
        tuple of QueryRecord
            A release and diagnostics for each point, in order.  When the halts are used up, the
            status is "halted".

        Raises
        ------
        ValueError
            If a point is off the grid, nothing was kept for questions, or fewer queries are left
            than points; then none is asked.
        NotFittedError
            Before the run has ended.
        """
        points = check_points(X, self._fitted().d, bounds=self.bounds_)
        private = self.__dict__.get("private_models_")
        if private is None:
            raise ValueError("nothing was kept for questions: set kept to 1 or more")
        asked_points(points, private.queries.queries_left)
        return tuple(answer_votes(private.queries, private.models.votes(points), private.models))
