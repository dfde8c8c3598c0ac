"""The parts of :mod:`benchmarks.audits.parts` once more, broken: the audits must say so."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from unittest import mock

import numpy as np

import benchmarks.audits.parts
import learners.core.accuracy
import learners.core.support
import learners.cover.set_cover
import learners.cover.sharpening
import learners.privacy.accounting
import learners.tiles.tile_choice
import learners.tiles.tiles
from benchmarks.audits.parts import MIDDLE, PARTS, support_verge
from benchmarks.audits.subjects import Case
from benchmarks.audits.twins import Breaks, Twin, narrow, sharp, silent, silent_arrays, until_right
from geodp_app.files.ledger_state import State
from geometry.grid_counts import GridCounts
from learners.core.records import TileStep
from learners.privacy.several_runs import Rule


def _of(name: str) -> Callable[[], Case]:
    return PARTS[name][0]


@contextlib.contextmanager
def _both(one: Breaks, other: Breaks) -> Iterator[None]:
    with one, other:
        yield


# -- faults ------------------------------------------------------------------------------------


def _best_of_the_list() -> Breaks:
    """The number of tiles with the best score, without a draw."""
    return mock.patch.object(
        learners.tiles.tile_choice,
        "exponential_index",
        lambda source, scores, *more: int(np.argmax(scores)),
    )


def _counted_in_every_tile() -> Breaks:
    """Scores that count a mistake once for each tile a side, as if it could lie in all of them."""
    plain = learners.tiles.tile_choice.fewest_mistakes

    def fewest(counts: GridCounts, numbers: Sequence[int], *more: Any) -> Any:
        return plain(counts, tuple(numbers), *more) * np.array(numbers)

    return mock.patch.object(learners.tiles.tile_choice, "fewest_mistakes", fewest)


def _mistakes_added() -> Breaks:
    """The mistakes of four numbers of tiles, added, with the noise for one."""
    plain = learners.tiles.tile_choice.fewest_mistakes

    def fewest(*given: Any) -> Any:
        return 4 * np.asarray(plain(*given))

    return mock.patch.object(learners.tiles.tile_choice, "fewest_mistakes", fewest)


def _counted_next_door() -> Breaks:
    """An example counts in the tiles beside its own too."""
    plain = benchmarks.audits.parts.noisy_tile_counts

    def counts_of(counts: GridCounts, groups: Sequence[Any], *more: Any) -> Any:
        return plain(counts, [np.concatenate(list(groups))] * len(groups), *more)

    return mock.patch.object(benchmarks.audits.parts, "noisy_tile_counts", counts_of)


def _looks_next_door() -> Breaks:
    """A tile agrees with the examples of the tiles beside it, not with what these released."""
    steps, beside = learners.tiles.tiles.tile_steps, learners.tiles.tiles.labels_beside
    held: list[GridCounts] = []

    def tile_steps(counts: GridCounts, **more: Any) -> Any:
        held[:] = [counts]
        return steps(counts, **more)

    def labels_beside(
        tile: Any, index: Any, released: Mapping[int, TileStep], strength: Any
    ) -> Any:
        seen = {}
        for number, step in released.items():
            inside = held[0].where(step.tile.holds(held[0].points))
            label = inside.positives > inside.negatives
            seen[number] = TileStep(step.tile, (), label) if inside.n else step
        return beside(tile, index, seen, strength)

    return _both(
        mock.patch.object(learners.tiles.tiles, "tile_steps", tile_steps),
        mock.patch.object(learners.tiles.tiles, "labels_beside", labels_beside),
    )


def _all_in_the_box() -> Breaks:
    """Zones that overlap: each has all examples in its box."""
    return mock.patch.object(
        learners.cover.sharpening,
        "zone_groups",
        lambda zones, points: [np.flatnonzero(zone.in_box(points)) for zone in zones],
    )


def _again(times: int) -> Breaks:
    """The zone of the middle is drawn so many times, with the whole rate each time."""
    plain = learners.cover.sharpening.tile_steps

    def tile_steps(counts: GridCounts, *, tiles: Any, groups: Any, **more: Any) -> Any:
        (own,) = (i for i, zone in enumerate(tiles) if zone.holds(MIDDLE)[0])
        tiles, groups = (
            [*tiles, *[tiles[own]] * (times - 1)],
            [*groups, *[groups[own]] * (times - 1)],
        )
        return plain(counts, tiles=tiles, groups=groups, **more)

    return mock.patch.object(learners.cover.sharpening, "tile_steps", tile_steps)


def _ends_by_the_true_count() -> Breaks:
    """A run with k = "auto" ends when no positive example is left, by the examples themselves."""
    plain, left = learners.cover.set_cover.Cover.take, [0]

    def take(self: Any, *given: Any) -> Any:
        outcome = plain(self, *given)
        left[0] = self._counts.where(self.alive).positives
        return outcome

    def ends_before(*given: Any) -> bool:
        return not left[0]

    return _both(
        mock.patch.object(learners.cover.set_cover.Cover, "take", take),
        mock.patch.object(learners.cover.set_cover, "ends_before", ends_before),
    )


def _true_number_of_cells() -> Breaks:
    """How many cells a side is a function of the number of examples itself."""
    plain = learners.tiles.tiles.noisy_support
    return mock.patch.object(
        learners.tiles.tiles,
        "noisy_support",
        lambda counts, count, scale, source: plain(counts, counts.n, scale, source),
    )


def _checked_and_learned_from() -> Breaks:
    """What goes to the check is learned from, too."""
    plain = benchmarks.audits.parts.divided
    return mock.patch.object(
        benchmarks.audits.parts,
        "divided",
        lambda counts, *more: (counts, plain(counts, *more)[1]),
    )


def _charged_once() -> Breaks:
    """A person's rows cost together what each of them costs."""
    return _both(
        *(
            mock.patch.object(
                module, "one_of_several", lambda epsilon, delta, rows: (epsilon, delta)
            )
            for module in (benchmarks.audits.parts, learners.privacy.accounting)
        )
    )


def _all_rows_count() -> Breaks:
    """Every row of a person counts, however many there are."""
    return mock.patch.object(
        benchmarks.audits.parts, "some_each", lambda examples, owners, rows, each: rows
    )


def _cancelled_runs_are_free() -> Breaks:
    """A ledger counts the runs that released something alone."""
    plain = State.spending
    assert isinstance(plain, property)

    def spending(self: State) -> Any:
        return tuple(e.privacy for e in self.entries if e.spends and e.end != "cancelled")

    return mock.patch.object(State, "spending", property(spending))


def _equal_runs_count_once() -> Breaks:
    """A budget adds up the statements that differ."""
    plain = Rule.allows

    def allows(self: Rule, budget: Any, runs: Any) -> bool:
        return plain(self, budget, set(runs))

    return mock.patch.object(Rule, "allows", allows)


def _no_new_run() -> Breaks:
    """A budget is looked up before the new run is added."""
    plain = Rule.allows

    def allows(self: Rule, budget: Any, runs: Any) -> bool:
        return plain(self, budget, tuple(runs)[:-1])

    return mock.patch.object(Rule, "allows", allows)


PART_TWINS: tuple[Twin, ...] = (
    Twin("tile choice", "three times the rate", _of("tile-choice"),
         lambda: sharp(learners.tiles.tile_choice, 3), 3_000, quick=False),
    Twin("tile choice", "the best number of tiles, not drawn", _of("tile-choice"),
         _best_of_the_list, 400),
    Twin("tile choice", "a mistake counted once for each tile a side", _of("tile-choice"),
         _counted_in_every_tile, 4_000, quick=False),
    Twin("mistakes", "counts without noise", _of("mistakes"),
         lambda: silent(learners.tiles.tile_choice), 200),
    Twin("mistakes", "noise a quarter as wide", _of("mistakes"),
         lambda: narrow(learners.tiles.tile_choice, 4, "discrete_laplace"), 1_500, quick=False),
    Twin("mistakes", "those of four numbers of tiles, added", _of("mistakes"), _mistakes_added,
         1_500, quick=False),
    Twin("tile counts", "counts without noise", _of("tile-counts"),
         lambda: silent_arrays(learners.tiles.tiles), 200),
    Twin("tile counts", "noise a quarter as wide", _of("tile-counts"),
         lambda: narrow(learners.tiles.tiles, 4), 1_500, quick=False),
    Twin("tile counts", "an example counts in every tile", _of("tile-counts"), _counted_next_door,
         8_000, quick=False),
    Twin("agreeing borders", "agrees with the examples next door, not with their tile's release",
         _of("agreeing-borders"), _looks_next_door, 2_000, quick=False),
    Twin("sharpening", "zones that overlap", _of("sharpening"), _all_in_the_box, 16_000,
         quick=False),
    Twin("sharpening", "one zone drawn four times", _of("sharpening"), lambda: _again(4), 16_000,
         quick=False),
    Twin("sharpening", "a zone's piece is drawn again while it errs", _of("sharpening"),
         until_right, 1_000, quick=False),
    Twin("cover, k not told", "counts without noise", _of("cover-auto"),
         lambda: silent(learners.cover.set_cover), 300, quick=False),
    Twin("cover, k not told", "ends when no positive example is left", _of("cover-auto"),
         _ends_by_the_true_count, 400, quick=False),
    Twin("support", "counts without noise", _of("support"),
         lambda: silent_arrays(learners.core.support), 200),
    Twin("support", "noise a quarter as wide", _of("support"),
         lambda: narrow(learners.core.support, 4), 1_500, quick=False),
    Twin("support", "as many cells as the true number of examples asks for", support_verge,
         _true_number_of_cells, 200),
    Twin("a check", "counts without noise", _of("check"),
         lambda: silent_arrays(learners.core.accuracy), 1_000),
    Twin("a check", "noise a quarter as wide", _of("check"),
         lambda: narrow(learners.core.accuracy, 4), 2_000, quick=False),
    Twin("a check", "what is checked is learned from, too", _of("check"),
         _checked_and_learned_from, 10_000, quick=False),
    Twin("several rows of a person", "charged once", _of("persons"), _charged_once, 1_000),
    Twin("several rows of a person", "all rows of a person count", _of("persons"),
         _all_rows_count, 1_000, quick=False),
    Twin("a ledger's budget", "cancelled runs cost nothing", _of("budget"),
         _cancelled_runs_are_free, 300, quick=False),
    Twin("a ledger's budget", "equal statements count once", _of("budget"),
         _equal_runs_count_once, 300, quick=False),
    Twin("a ledger's budget", "the new run is not counted", _of("budget"), _no_new_run, 2_000,
         quick=False),
)  # fmt: skip
