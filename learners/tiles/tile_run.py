"""Sets up a run by tiles (:mod:`learners.tiles.tiles`) as a learner's parameters ask for it."""

from __future__ import annotations

from fractions import Fraction

from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice
from geometry.tiling import TileIndex, chessboard, tile_square
from learners.core.estimator import PlaneParameters, Run, Stream
from learners.core.selection import Watch
from learners.core.support import noisy_support
from learners.envelope.concept_selection import (
    PLAIN_BOXES,
    PLAIN_WHERE_WRONG,
    ConceptSelection,
)
from learners.parameters import check_count
from learners.privacy.randomness import open_source
from learners.tiles.agreeing_borders import border_strength
from learners.tiles.tidying import largest_speck, one_nat_side, tidied
from learners.tiles.tile_choice import (
    MOST_PER_SIDE,
    choice_rate,
    choose_per_side,
    noisy_mistakes,
    piece_rate,
    usual_count,
    wrong_share,
)
from learners.tiles.tiles import (
    Agreeing,
    noisy_count,
    noisy_tile_counts,
    plan_tiles,
    tile_lattice,
    tile_steps,
)

#: From this share of wrong labels on, draws come to need factorised boxes anyway.
_MANY_WRONG = 0.05


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
        If a parameter states no guarantee; as the run begins, if another is out of range, or
        belongs to a run with k pieces.
    """
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
        for name, default in (("n_steps", None), ("alpha", None), ("selection", "envelope")):
            value = getattr(parameters, name)
            if value != default:
                raise ValueError(f"{name} = {value!r} belongs to a run with k pieces: give k")
        if parameters.edges not in (1, 2):
            raise ValueError(f"a tile's piece has at most 1 or 2 edges, not {parameters.edges!r}")
        # refuses a grid that cannot be used at all before anything is drawn
        HalfplaneLattice(parameters.grid, parameters.measure)
        source = open_source(parameters.seed)
        counted: dict[str, float] = {}
        eta = budget.eta
        supported = None
        per_side = 0 if parameters.tiles is None else check_count("tiles", parameters.tiles)
        if per_side > MOST_PER_SIDE:
            raise ValueError(f"tiles must be at most {MOST_PER_SIDE} along a side, got {per_side}")
        if budget.scale is None:
            count = usual_count(per_side, eta)
        else:
            counted["noisy_count"] = count = noisy_count(counts.n, budget.scale, source)
        if budget.support_scale is not None:
            supported = noisy_support(counts, count, budget.support_scale, source)
        wrong = 0.0
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
        alone, others = chessboard(tile_square(parameters.grid, per_side))
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

    return Run(budget.spent, begin)
