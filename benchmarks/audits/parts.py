"""Parts of the learners in the plane that are audited alone, and a budget for several runs.

A part is given what is public before it draws: a number of examples, a triangle, a list of tiles.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.audits.events import Outcome, Pair
from benchmarks.audits.subjects import (
    DELTA,
    EPSILON,
    Case,
    Mechanism,
    Told,
    numbered,
    values,
)
from geodp_app.document.examples import Examples, Frame
from geodp_app.files.learned_file import whole_square
from geodp_app.files.ledger import Ledger, NewRun, Source
from geodp_app.files.persons import some_each
from geometry.errors import InputError
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice, Sheet
from geometry.tiling import EdgeZone, TileIndex, tile_square
from learners import PolygonUnionLearner
from learners.core.accuracy import checked, divided, with_check
from learners.core.records import StepDiagnostics, StepRecord, StepRelease, TileStep
from learners.core.support import cells_per_side
from learners.cover.sharpening import sharpened_steps
from learners.privacy.accounting import (
    Charge,
    noise_scale,
    of_persons,
    one_of_several,
    pure_spent,
)
from learners.privacy.noise import discrete_laplace
from learners.privacy.randomness import RandomSource
from learners.privacy.several_runs import Budget
from learners.tiles.tile_choice import CHOICE_SHARE, LEAST_PAYS, choose_per_side, noisy_mistakes
from learners.tiles.tiles import noisy_tile_counts


def _examples(*given: tuple[int, int, int]) -> tuple[Any, Any]:
    """Examples (x, y, label), as a sample."""
    rows = np.array(given, dtype=np.int64).reshape(-1, 3)
    return rows[:, :2], rows[:, 2]


def _counts(d: int, *given: tuple[int, int, int]) -> GridCounts:
    points, labels = _examples(*given)
    return GridCounts.of_examples(points, labels, d)


# -- tile choice -------------------------------------------------------------------------------

#: On this grid the list has two, three and four tiles a side, of which four weigh most.
_CHOICE_GRID = 8


def _tile_choice(numbers: list[int], source: RandomSource) -> Told:
    """Examples labelled 1 in a corner, and labelled 0 where only two or three tiles a side pay."""
    ones, zeros = numbers
    counts = _counts(_CHOICE_GRID, *[(0, 0, 1)] * ones, *[(2, 2, 0)] * zeros)
    # so many examples are announced, and eta is such, that the choice costs epsilon
    eta = EPSILON / CHOICE_SHARE
    chosen = choose_per_side(counts, round(LEAST_PAYS / eta), eta, 2, source)
    return Told((chosen,), pure_spent(EPSILON, "add-remove", True))


# -- what a run by tiles counts ----------------------------------------------------------------


def _mistakes(numbers: list[int], source: RandomSource) -> Told:
    """Examples of both labels at one grid point: the fewer are wrong however it is labelled."""
    ones, zeros = numbers
    counts = _counts(_CHOICE_GRID, *[(0, 0, 1)] * ones, *[(0, 0, 0)] * zeros)
    found = noisy_mistakes(counts, 100, 1.0, 2, noise_scale(EPSILON, 1), source)
    return Told((found,), pure_spent(EPSILON, "add-remove", True))


def _tile_counts(numbers: list[int], source: RandomSource) -> Told:
    """Examples in one of four tiles: its number, and whether the others have more than nothing."""
    counts = _counts(3, *[(0, 0, 1)] * numbers[0])
    tiles = tile_square(3, 2)
    (own,) = (i for i, tile in enumerate(tiles) if tile.holds(np.zeros((1, 2), np.int64))[0])
    groups = TileIndex.of(tiles).groups(counts.points)
    found = list(noisy_tile_counts(counts, groups, noise_scale(EPSILON, 1), source))
    return Told((found.pop(own), sum(found) > 0), pure_spent(EPSILON, "add-remove", True))


# -- agreeing borders --------------------------------------------------------------------------


def _next_door(release: Any) -> Outcome:
    """How many grid points are labelled 1 in the tiles beside the examples' one."""
    x, y = np.divmod(np.arange(16), 4)
    beside = (x < 2) == (y < 2)
    return (int(release.predict(np.stack([x, y], axis=1))[beside].sum()),)


def _pairs(*samples: tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]) -> list[Pair]:
    return [
        Pair(f"{len(one)} examples and one more", _examples(*one), _examples(*two))
        for one, two in samples
    ]


def borders() -> Case:
    """Four tiles on a grid of four points a side, the examples in one that is learned first."""
    one, two = (0, 3, 1), (0, 3, 0)
    return Case(
        "tiles that agree with those beside them",
        lambda seed: numbered(
            seed, lambda own: PolygonUnionLearner(grid=3, tiles=2, epsilon=EPSILON, seed=own)
        ),
        _pairs(([], [one]), ([one], [one, two])),
        {"labels next door": _next_door},
    )


# -- sharpening --------------------------------------------------------------------------------


MIDDLE = np.array([[1, 1]], dtype=np.int64)


def _triangle() -> StepRecord:
    """The lower left half of a square of three grid points a side."""
    lattice = HalfplaneLattice(2, bits=0)
    piece = (
        lattice.halfplane(Sheet.FLAT_ABOVE, 0, 0),
        lattice.halfplane(Sheet.STEEP_RIGHT, 0, 0),
        lattice.halfplane(Sheet.FLAT_BELOW, 2, 0),
    )
    nothing = StepDiagnostics(0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, 0.0)
    return StepRecord(1, 1, StepRelease(piece, 1), nothing)


def _sharpening(numbers: list[int], source: RandomSource) -> Told:
    """Examples labelled 1 in the middle; how often its own zone, and others, label it 1."""
    counts = _counts(2, *[(1, 1, 1)] * numbers[0])
    cover = iter([_triangle()])
    records = list(sharpened_steps(counts, cover, eta=EPSILON, source=source, watch=None))
    own = others = 0
    for step in (record.release for record in records[1:]):
        assert isinstance(step, TileStep)
        assert isinstance(step.tile, EdgeZone)
        label = int(step.predict(MIDDLE)[0])
        if step.tile.holds(MIDDLE)[0]:
            own += label
        else:
            others += label
    return Told((own, others), pure_spent(EPSILON, "add-remove", True))


# -- a cover whose k is not told ---------------------------------------------------------------


def _sharpened(release: Any) -> Outcome:
    """How many triangles, and the label of the examples' point."""
    return len(release.pieces), int(release.predict(np.array([[1, 1]]))[0])


def _first_count(release: Any) -> Outcome:
    """How many triangles, and the first noisy count."""
    return len(release.pieces), release.thresholds[0]


def cover_auto() -> Case:
    """Examples labelled 1 at one point, covered by as many triangles as it takes."""
    one = (1, 1, 1)
    return Case(
        "union of triangles, k not told, sharpened",
        lambda seed: numbered(
            seed,
            lambda own: PolygonUnionLearner(
                grid=2, k="auto", epsilon=EPSILON, delta=DELTA, seed=own
            ),
        ),
        _pairs(([], [one]), ([one, one], [one, one, one])),
        {"triangles and label": _sharpened, "triangles and first noisy count": _first_count},
    )


# -- support -----------------------------------------------------------------------------------


def _supported(release: Any) -> Outcome:
    return tuple(int(cell) for cell in release.support.cells)


def support(copies: int = 5) -> Case:
    """Support that has half of epsilon, with as many copies of an example as its threshold."""
    one = (1, 1, 1)
    return Case(
        "support of a run by one tile",
        lambda seed: numbered(
            seed,
            lambda own: PolygonUnionLearner(
                grid=2, tiles=1, support=0.5, epsilon=EPSILON, seed=own
            ),
        ),
        _pairs(([one] * copies, [one] * (copies + 1))),
        {"support": _supported},
    )


def support_verge() -> Case:
    """The same where one example more would make more cells of it, if the true number counted."""
    scale = noise_scale(EPSILON / 2, 1)
    copies = 1
    while cells_per_side(copies + 1, scale, 2) == 1:
        copies += 1
    return support(copies)


# -- a check -----------------------------------------------------------------------------------


def _check(numbers: list[int], source: RandomSource) -> Told:
    """A noisy count of what is learned from, and what is counted right and wrong of the rest."""
    ones, zeros = numbers
    kept, held = divided(_counts(1, *[(0, 0, 1)] * ones, *[(1, 1, 0)] * zeros), 0.5, source)
    learned = kept.n + discrete_laplace(source, noise_scale(EPSILON, 1))
    spent = pure_spent(EPSILON, "add-remove", True, Charge("noisy number of examples", EPSILON))
    everywhere = replace(whole_square(Frame(1)).release, privacy=with_check(spent, 0.5))
    public = dict(checked(everywhere, held, 0.5, source).parameters)
    return Told((learned, public["right_inside"], public["wrong_inside"]), spent)


# -- several rows of a person ------------------------------------------------------------------

#: Examples that each person counts as.
_EACH = 3


def _persons(numbers: list[int], source: RandomSource) -> Told:
    """A noisy count of examples of persons, who have so many different rows; with none nobody."""
    rows = [(person, place) for person, many in enumerate(numbers) for place in range(many)]
    owners, places = [str(person) for person, _ in rows], [(place, 0, 1) for _, place in rows]
    points, labels = _examples(*places)
    examples = Examples(points, labels, Frame(_CHOICE_GRID))
    kept = some_each(examples, owners, np.arange(len(owners)), _EACH)
    asked = EPSILON, DELTA, _EACH
    each, _ = one_of_several(*asked)
    charge = Charge("noisy number of examples", each)
    spent = of_persons(pure_spent(each, "add-remove", True, charge), *asked)
    assert spent is not None
    return Told((len(kept) + discrete_laplace(source, noise_scale(each, 1)),), spent)


# -- a budget for several runs -----------------------------------------------------------------

#: Runs that are asked for, each of which would take all of the budget.
_ASKED = 8


def _budgeted(numbers: list[int], source: RandomSource) -> Told:
    """Noisy counts until a ledger refuses, how many and how many of them are positive.

    Whoever asks cancels each after it was seen.
    """
    charge = Charge("noisy number of examples", EPSILON)
    spent = pure_spent(EPSILON, "add-remove", True, charge)
    seen = []
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.create(Path(folder) / "l.ledger", budget=Budget(EPSILON, 0.0))
        for _ in range(_ASKED):
            run = NewRun("learn", "count", spent)
            try:
                ledger.begin([run], Source("here"))
            except InputError:
                break
            seen.append(sum(numbers) + discrete_laplace(source, noise_scale(EPSILON, 1)) > 0)
            ledger.end({run.run: "cancelled"})
    return Told((len(seen), sum(seen)), spent)


# -- all ---------------------------------------------------------------------------------------


def _alone(
    title: str, tell: Callable[[list[int], RandomSource], Told], *pairs: tuple[list[int], list[int]]
) -> Callable[[], Case]:
    return lambda: Case(
        title,
        lambda seed: numbered(seed, lambda own: Mechanism(tell, own)),
        [Pair(f"{one} and {two}", ([], one), ([], two)) for one, two in pairs],
        {"values": values},
    )


#: A case and how many runs are usual, by name.
PARTS: dict[str, tuple[Callable[[], Case], int]] = {
    "tile-choice": (
        _alone("how many tiles a side", _tile_choice, ([1, 0], [1, 1]), ([3, 2], [4, 2])),
        10_000,
    ),
    "mistakes": (_alone("mistakes of the usual tiles", _mistakes, ([3, 2], [3, 3])), 10_000),
    "tile-counts": (_alone("examples of every tile", _tile_counts, ([0], [1])), 10_000),
    "agreeing-borders": (borders, 4_000),
    "sharpening": (_alone("zones of one triangle's edges", _sharpening, ([0], [1])), 8_000),
    "cover-auto": (cover_auto, 2_000),
    "support": (support, 4_000),
    "check": (
        _alone("a check beside a noisy count", _check, ([0, 0], [1, 0]), ([3, 2], [3, 3])),
        10_000,
    ),
    "persons": (
        _alone("several rows of each person", _persons, ([2, 0], [2, 1]), ([2, 0], [2, 9])),
        10_000,
    ),
    "budget": (_alone("noisy counts under a ledger's budget", _budgeted, ([0], [1])), 4_000),
}
