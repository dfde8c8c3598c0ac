"""Divides the square into tiles, and learns a piece in each with the whole epsilon.

1. b = n + DiscreteLaplace(1 / epsilon_noise), a noisy number of examples, chooses a short list of
   numbers of tiles: a public function of b and epsilon.
2. One of the list is drawn by how few mistakes pieces can make in its tiles
   (:mod:`learners.tiles.tile_choice`), with a rate of rho nats; where the list has one number
   nothing is drawn, rho = 0.
3. In every tile a labelled piece of at most two edges is drawn by its number of mistakes on the
   tile's own examples (:mod:`learners.envelope.envelope_selection`), with a rate of eta - rho nats.
4. Where they are to be tidied, every tile's examples are counted, with integer Laplace noise, and
   with the last tile labels along borders and edges are changed where the noise alone explains
   them (:mod:`learners.tiles.tidying`): a function of what is released.

Privacy (docs/privacy.md, lemma 7), for neighbours that add or remove one example: b, the draw of
the number of tiles, the counts of tiles and the draws of pieces compose.  Given the tiles the
example lies in one, and the counts and draws of all others have the same law with and without it.
The run is (epsilon_noise + eta)-DP by basic composition, whatever the number of tiles (parallel
composition: McSherry 2009); delta only pays for events that the samplers' arithmetic neglects.
Where a share of epsilon goes to support (:mod:`learners.core.support`, lemma 10), all this has the
rest.

Departs from the source: KMMS cover the region by k triangles one after the other, each selected
from all examples with a share of epsilon.  Here the pieces need no k and no share, for the price
of seams: a tile sees its own part of the shape only.  Whichever does better on what shape:
docs/accuracy.md.

Several tiles are worked on at a time, in threads (:func:`learners.core.selection.thread_map`):
compiled loops leave the interpreter to others.  Tasks differ much in size: a draw without boxes is
over before a thread has it, so it is done at once.  While a long one is under way the short ones
after it are done: what comes of them waits for its turn.
"""

from __future__ import annotations

import functools
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from geometry.arrays import Flags, Ints
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice, Measure
from geometry.tiling import EdgeZone, Tile, TileIndex, chessboard, tile_square
from learners.core.estimator import PlaneParameters, Run, Stream
from learners.core.records import Mistakes, StepRecord, Tidied, TileStep, halfplanes_of
from learners.core.selection import Selected, SelectionProgress, Watch, thread_map
from learners.core.support import noisy_support
from learners.declaration import check_open_unit
from learners.envelope.envelope_selection import (
    PLAIN_BOXES,
    PLAIN_WHERE_WRONG,
    ConceptDraw,
    ConceptSelection,
    DrawByChance,
)
from learners.envelope.target import NOTHING
from learners.privacy.accounting import (
    LEAST_DELTA,
    MOST_RATE,
    Charge,
    Neighbours,
    PrivacySpent,
    after_arithmetic,
    check_budget,
    inner_budget,
    noise_scale,
)
from learners.privacy.noise import discrete_laplace, discrete_laplace_array
from learners.privacy.randomness import RandomSource, open_source
from learners.tiles.borders import Agreeing, border_strength, labels_beside
from learners.tiles.tidying import largest_speck, one_nat_side, tidied, without_speck
from learners.tiles.tile_choice import (
    choice_rate,
    choose_per_side,
    noisy_mistakes,
    piece_rate,
    usual_count,
    wrong_share,
)

#: Share of epsilon that pays for noisy numbers of examples: of all, or half of it for all and half
#: for those in every tile.
COUNT_SHARE = 0.02

#: Share of epsilon that pays for a noisy number of mistakes, where tiles are chosen.
MISTAKES_SHARE = 0.005


#: From this share of wrong labels on, draws come to need factorised boxes anyway.
_MANY_WRONG = 0.05


@dataclass(frozen=True, slots=True)
class TileBudget:
    """What one run may spend, fixed before it starts by public numbers alone.

    Attributes
    ----------
    scale : Fraction or None
        Scale of the integer Laplace noise of the count; None when nothing is counted.
    eta : float
        Nats per mistake of the choice of tiles and the draw in a tile together.
    spent : PrivacySpent
        However many tiles there are.
    support_scale : Fraction or None
        Scale of the integer Laplace noise of every cell's count; None when support is not released.
    tile_scale : Fraction or None
        Scale of the integer Laplace noise of every tile's count; None when tiles are not counted.
    mistakes_scale : Fraction or None
        Scale of the integer Laplace noise of the number of mistakes; None when the number of tiles
        is not chosen.
    """

    scale: Fraction | None
    eta: float
    spent: PrivacySpent
    support_scale: Fraction | None = None
    tile_scale: Fraction | None = None
    mistakes_scale: Fraction | None = None


def plan_tiles(
    epsilon: float,
    delta: float,
    neighbours: Neighbours,
    private: bool,
    counted: bool,
    support: float | None = None,
    *,
    tiles_counted: bool = False,
    chosen: bool = False,
) -> TileBudget:
    """Divide epsilon between support, noisy numbers, if there are these, and the selections.

    Parameters
    ----------
    epsilon, delta : float
    neighbours : {"add-remove", "replace-one"}
    private : bool
    counted : bool
        Whether there is a noisy number of examples.
    support : float, optional
        Share of epsilon for :mod:`learners.core.support`, strictly between 0 and 1.
    tiles_counted : bool
        Whether there is one in every tile as well.
    chosen : bool
        Whether the examples choose how many tiles there are, if they are many enough.

    Raises
    ------
    ValueError
        If a parameter states no guarantee.
    """
    check_budget(epsilon, delta)
    inner, inner_delta = inner_budget(epsilon, delta, neighbours)
    beside: tuple[Charge, ...] = ()
    support_scale = None
    if support is not None:
        check_open_unit(support=support)
        epsilon_support = min(support * inner, MOST_RATE)
        support_scale = noise_scale(epsilon_support, 1)
        beside = (Charge("support counts", epsilon_support),)
        # rounded down: the shares must not add up to more
        inner = math.nextafter(inner - epsilon_support, 0.0)
    epsilon_mistakes = min(MISTAKES_SHARE * inner, MOST_RATE) if chosen else 0.0
    if chosen:
        inner = math.nextafter(inner - epsilon_mistakes, 0.0)
    epsilon_noise = COUNT_SHARE * inner if counted else 0.0
    # an example lies in one tile: one draw is off
    eta, _ = after_arithmetic(inner - epsilon_noise, inner_delta, 1)
    eta = min(eta, MOST_RATE)
    scale = tile_scale = mistakes_scale = None
    count: tuple[Charge, ...] = ()
    if chosen:
        mistakes_scale = noise_scale(epsilon_mistakes, 1)
        beside = (*beside, Charge("noisy number of mistakes", epsilon_mistakes))
    if counted and tiles_counted:
        # halves of a double are exact
        epsilon_noise /= 2
        tile_scale = noise_scale(epsilon_noise, 1)
        beside = (*beside, Charge("tile counts", epsilon_noise))
    if counted:
        scale = noise_scale(epsilon_noise, 1)
        count = (Charge("noisy number of examples", epsilon_noise),)
    charges = (*count, *beside, Charge("selections", eta))
    spent = PrivacySpent(epsilon, LEAST_DELTA, neighbours, "basic", charges, private)
    return TileBudget(scale, eta, spent, support_scale, tile_scale, mistakes_scale)


def tile_lattice(tiles: tuple[Tile, ...], measure: Measure) -> HalfplaneLattice:
    """The lattice of every tile's own frame, large enough for the largest."""
    widest = max(max(tile.x1 - tile.x0, tile.y1 - tile.y0) for tile in tiles)
    return HalfplaneLattice(max(1, widest), measure)


def noisy_count(n: int, scale: Fraction, source: RandomSource) -> int:
    """The number of examples with integer Laplace noise of that scale."""
    return n + discrete_laplace(source, scale)


def noisy_tile_counts(
    counts: GridCounts, groups: Sequence[Ints], scale: Fraction, source: RandomSource
) -> tuple[int, ...]:
    """The numbers of examples of all tiles, each with integer Laplace noise of that scale.

    `groups` are the entries that each tile holds, every entry once: an example is in one tile.
    """
    noise = discrete_laplace_array(source, scale, len(groups)).tolist()
    return tuple(counts.where(rows).n + z for rows, z in zip(groups, noise, strict=True))


def tile_run(
    parameters: PlaneParameters, support: float | None = None, *, tidy: bool = False
) -> Run:
    """Learn tile after tile.

    Parameters
    ----------
    parameters : PlaneParameters
    support : float, optional
        Share of epsilon that releases where there were enough examples.
    tidy : bool
        The last record changes labels along borders (:mod:`learners.tiles.tidying`), unless the
        number of tiles is given.

    Raises
    ------
    ValueError
        If a parameter is out of range, or belongs to a run with k pieces.
    """
    for name, default in (("n_steps", None), ("alpha", None), ("selection", "envelope")):
        value = getattr(parameters, name)
        if value != default:
            raise ValueError(f"{name} = {value!r} belongs to a run with k pieces: give k")
    # refuses a grid that cannot be used at all, and more tiles than it has points
    HalfplaneLattice(parameters.grid, parameters.measure)
    given = parameters.tiles or 0
    square = tile_square(parameters.grid, given) if given else ()
    counting = parameters.tiles is None or support is not None
    # of tiles that are given, how densely examples lie is not asked, and their number is not noisy
    tidy = tidy and parameters.tiles is None
    budget = plan_tiles(
        parameters.epsilon,
        parameters.delta,
        parameters.neighbours,
        parameters.seed is None,
        counting,
        support,
        tiles_counted=tidy,
        chosen=parameters.tiles is None,
    )

    def begin(counts: GridCounts, watch: Watch | None) -> Stream:
        source = open_source(parameters.seed)
        counted: dict[str, float] = {}
        eta = budget.eta
        supported = None
        if budget.scale is None:
            count = usual_count(given, eta)
        else:
            counted["noisy_count"] = count = noisy_count(counts.n, budget.scale, source)
        if budget.support_scale is not None:
            supported = noisy_support(counts, count, budget.support_scale, source)
        wrong, per_side = 0.0, given
        if parameters.tiles is None:
            if rate := choice_rate(count, eta, parameters.grid):
                assert budget.mistakes_scale is not None  # the number of tiles is not given
                mistakes = noisy_mistakes(
                    counts, count, eta, parameters.edges, budget.mistakes_scale, source, watch
                )
                wrong = wrong_share(mistakes, count, parameters.grid)
                counted |= {"choice_rate": rate, "noisy_mistakes": mistakes}
            per_side = choose_per_side(
                counts, count, eta, parameters.edges, source, watch, wrong=wrong
            )
            eta = piece_rate(count, eta, parameters.grid, wrong)
            if wrong:
                counted["wrong_labels"] = wrong
        alone, others = chessboard(square or tile_square(parameters.grid, per_side))
        tiles = alone + others
        index = TileIndex.of(tiles)
        # where the tiles are given it need not be known how many examples there are
        speck = (
            largest_speck(count, eta, parameters.grid) if parameters.tiles is None else Fraction(0)
        )
        groups = index.groups(counts.points)
        noisy = None
        if budget.tile_scale is not None:
            noisy = noisy_tile_counts(counts, groups, budget.tile_scale, source)
        # where a share of labels is wrong, so many examples speak for a change that is none
        unit = one_nat_side(count, parameters.grid**2, eta * (1 - 2 * wrong))
        lattice = tile_lattice(tiles, parameters.measure)
        plain_boxes = PLAIN_BOXES if wrong < _MANY_WRONG else PLAIN_WHERE_WRONG
        selection = ConceptSelection(lattice, parameters.edges, plain_boxes=plain_boxes)
        records = tile_steps(
            counts,
            tiles=tiles,
            groups=groups,
            selection=lambda tile: selection,
            eta=eta,
            source=source,
            watch=watch,
            agreeing=Agreeing(len(alone), index, border_strength(count, per_side)),
            largest_speck=speck,
            tidy=(lambda steps: tidied(steps, unit, budget.tile_scale)) if tidy else None,
            noisy=noisy,
        )
        public = {"tiles": per_side, "edges": parameters.edges, **counted}
        return Stream(records, lattice, tuple(public.items()), supported)

    return Run(budget.spent, begin, draws=True)


def tile_steps(
    counts: GridCounts,
    *,
    tiles: Sequence[Tile | EdgeZone],
    groups: Sequence[Ints],
    selection: Callable[[Tile | EdgeZone], ConceptSelection],
    eta: float,
    source: RandomSource,
    watch: Watch | None,
    before: Flags | None = None,
    first: int = 1,
    agreeing: Agreeing | None = None,
    largest_speck: Fraction = Fraction(0),
    tidy: Callable[[Sequence[TileStep]], Tidied | None] | None = None,
    noisy: Sequence[int | None] | None = None,
) -> Iterator[StepRecord]:
    """Learn tile after tile, one record each.

    Parameters
    ----------
    counts : GridCounts
        Examples on the grid, m entries.
    tiles : sequence of Tile or EdgeZone
        They hold every grid point once.
    groups : sequence of int64 arrays
        For each tile the entries that it holds.
    selection : callable
        The sampler of a tile, on the lattice of its own frame.
    eta : float
        Nats per mistake.
    source : RandomSource
    watch : callable, optional
        Called while tiles are learned, in the caller's thread; may raise Cancelled.
    before : ndarray of bool, shape (m,), optional
        Labels of the entries in tiles to come; by default 0.
    first : int
        Number of the first record.
    agreeing : Agreeing, optional
        How later tiles agree with what earlier ones have released; by default they know nothing of
        each other.
    largest_speck : Fraction
        A piece that cuts off less area of its tile is left out (:mod:`learners.tiles.tidying`).
    tidy : callable, optional
        What the last record changes in all tiles, by what is released of each, in their order.
    noisy : sequence of int, optional
        The noisy number of examples in every tile; by default none is released.
    """
    mistakes = Mistakes(counts, False if before is None else before)
    released: dict[int, TileStep] = {}
    progress = None if watch is None else _TileProgress(watch, first)

    def begin(tile: Tile | EdgeZone, rows: Ints) -> _TileDraw:
        held, sampler, expected = counts.where(rows), selection(tile), NOTHING
        own = GridCounts(
            sampler.lattice.d, tile.to_own_frame(held.points), held.labels, held.amounts
        )
        if agreeing is not None and isinstance(tile, Tile):
            expected = labels_beside(tile, agreeing.index, released, agreeing.strength)
        return _TileDraw(tile, rows, held, sampler.begin(own, eta, source, expected))

    def drawn(numbered: tuple[int, _TileDraw], stopped: Callable[[], bool]) -> _Drawn:
        # which bits a draw has is settled when it begins
        place, each = numbered
        started = time.perf_counter()
        note = None if progress is None else functools.partial(progress.note, place)
        return each.rows, each.held, *each.complete(note, stopped), time.perf_counter() - started

    alone = len(tiles) if agreeing is None else agreeing.alone
    paired, number = list(zip(tiles, groups, strict=True)), first
    # what a tile knows of others has to be drawn before it begins
    for part in (paired[:alone], paired[alone:]):
        begun = itertools.starmap(begin, part)
        learned: list[TileStep] = []
        for rows, held, step, selected, seconds in thread_map(
            drawn,
            enumerate(begun, start=number),
            None if progress is None else progress.tick,
            short=lambda numbered: isinstance(numbered[1].draw, DrawByChance),
        ):
            if progress is not None:
                progress.next(selected.progress)
            step = without_speck(step, largest_speck)
            if noisy is not None:
                step = replace(step, count=noisy[len(released) + len(learned)])
            predicted = step.predict(held.points)
            mistakes.relabel(rows, predicted)
            learned.append(step)
            if tidy is not None and len(released) + len(learned) == len(tiles):
                step = replace(step, tidied=tidy([*released.values(), *learned]))
                if step.tidied is not None:
                    changed = step.tidied.predict(counts.points, mistakes.labels)
                    mistakes.relabel(np.arange(len(counts)), changed)
            inside, positives = held.where(predicted), held.positives
            diagnostics = mistakes.diagnostics(
                (held.negatives, positives),
                (inside.negatives, inside.positives),
                score=float(inside.positives - positives - inside.negatives),
                seconds=seconds,
                rate=eta,
                **selected.progress.work(),
            )
            yield StepRecord(number, first - 1 + len(tiles), step, diagnostics)
            number += 1
        released.update(enumerate(learned, start=len(released)))


@dataclass(frozen=True, slots=True)
class _TileDraw:
    """A tile, the entries that it holds, and the draw of its piece, which has begun."""

    tile: Tile | EdgeZone
    rows: Ints
    held: GridCounts
    draw: ConceptDraw | DrawByChance

    def complete(
        self, watch: Watch | None = None, stop: Callable[[], bool] | None = None
    ) -> tuple[TileStep, Selected]:
        """Carry the draw out."""
        selected = self.draw.complete(watch, stop)
        return TileStep(self.tile, halfplanes_of(selected.piece), selected.inside), selected


#: Entries of a tile, what is drawn in it, how, and the seconds that it took; its tables are let go.
_Drawn = tuple[Ints, GridCounts, TileStep, Selected, float]


class _TileProgress:
    """How far the tile is whose record comes next: the tiles' threads note it, a watch is told."""

    def __init__(self, watch: Watch, first: int) -> None:
        self._watch = watch
        self._next = first
        self._noted: dict[int, SelectionProgress] = {}

    def note(self, number: int, progress: SelectionProgress) -> None:
        """From a tile's thread; the sampler's tables are read there alone."""
        self._noted[number] = replace(progress, heaviest=None, density=None)

    def tick(self) -> None:
        """Tell where the next one is."""
        self._watch(self._noted.get(self._next, SelectionProgress(0, 0, 0.0)))

    def next(self, progress: SelectionProgress) -> None:
        """Tell how the next one ended, and go on to the one after it."""
        self._noted.pop(self._next, None)
        self._next += 1
        self._watch(progress)
