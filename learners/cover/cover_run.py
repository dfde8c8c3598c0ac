"""Sets up a run of the private set cover (:mod:`learners.cover.set_cover`) by its parameters.

Pieces are halfplanes or triangles, discs, ellipses, halfspaces or simplices; triangles may be
sharpened afterwards (:mod:`learners.cover.sharpening`), and one alone is drawn by its mistakes.
"""

from __future__ import annotations

from geometry.grid_counts import MOST_EXAMPLES, GridCounts
from geometry.halfplane import HalfplaneLattice
from learners.core.estimator import CoverParameters, PlaneParameters, Run, Stream
from learners.core.releases import Lattice
from learners.core.selection import Sampler, Watch
from learners.cover.arrangement_selection import ArrangementSelection
from learners.cover.set_cover import (
    Finish,
    Pieces,
    expected_count,
    noise_share,
    plan_budget,
    private_steps,
    step_count,
    step_law,
)
from learners.cover.sharpening import plan_sharpened, sharpened_steps
from learners.envelope.envelope_selection import EnvelopeSelection, RefinedSelection
from learners.privacy.randomness import open_source


def cover_run(
    parameters: CoverParameters,
    k: Pieces,
    lattice: Lattice,
    selection: Sampler,
    *,
    alpha: float | None = None,
    finish: Finish | None = None,
) -> Run:
    """The cover by k pieces.

    Parameters
    ----------
    parameters : CoverParameters
    k : int or "auto"
    lattice : Lattice
        The class of pieces.
    selection : Sampler
        Of that class.
    alpha : float, optional
        Error aimed at: chooses the number of steps, if that is not given.
    finish : {"sharpen", "none"}, optional
        Of a union of triangles: what follows them.  With it `k` may be "auto".

    Raises
    ------
    ValueError
        If a parameter is out of range; as the run begins, if the examples are too many.
    """
    # the edges of one triangle divide the square without any need
    if k == "auto" and finish == "none":
        raise ValueError("k = 'auto' is for covers that are sharpened: give the number of pieces")
    sharpened = finish == "sharpen" and k != 1
    steps = step_count(parameters.n_steps, k, alpha, triangles=finish is not None)
    # one triangle alone is drawn by its mistakes, without a noisy count
    share = 0.0 if finish == "sharpen" and k == steps == 1 else noise_share(k)
    terms = (
        parameters.epsilon,
        parameters.delta,
        steps,
        parameters.beta,
        parameters.neighbours,
        parameters.seed is None,
        share,
    )
    whole = plan_sharpened(*terms) if sharpened else None
    budget = plan_budget(*terms) if whole is None else whole.cover

    def begin(counts: GridCounts, watch: Watch | None) -> Stream:
        if k != "auto" and k * counts.n > MOST_EXAMPLES:
            raise ValueError(
                f"k = {k} pieces and so many examples make scores beyond {MOST_EXAMPLES}, where "
                "arithmetic is exact: use a smaller k, or fewer examples"
            )
        if isinstance(selection, ArrangementSelection):
            selection.check(counts)
        source = open_source(parameters.seed)
        ahead = None
        # with a seed a draw must be the same, however much time there is before it
        if parameters.seed is None and isinstance(selection, EnvelopeSelection):
            ahead = RefinedSelection(selection)
            noisy = expected_count(counts, parameters.role, budget) if budget.scale else None
            first = noisy if sharpened else None
            score, rate = step_law(counts, parameters.role, k, budget, noisy, first)
            ahead.expect(counts, score, rate / score.k)
        records = private_steps(
            counts,
            role=parameters.role,
            k=k,
            budget=budget,
            selection=ahead or selection,
            source=source,
            watch=watch,
            sharpened=sharpened,
            expect=None if ahead is None else ahead.expect,
        )
        if whole is not None:
            records = sharpened_steps(counts, records, eta=whole.eta, source=source, watch=watch)
        public = ("k", k), ("steps", steps), ("beta", parameters.beta)
        return Stream(records, lattice, public, refine=None if ahead is None else ahead.refine)

    return Run((whole or budget).spent, begin)


def plane_cover(parameters: PlaneParameters, k: Pieces, finish: Finish | None = None) -> Run:
    """The cover by k triangles or halfplanes of a learner that could also go by tiles."""

    if parameters.tiles is not None:
        raise ValueError("a run with k pieces has no tiles: give k or tiles, not both")
    lattice = HalfplaneLattice(parameters.grid, parameters.measure)
    made = EnvelopeSelection if parameters.selection == "envelope" else ArrangementSelection
    selection = made(lattice, parameters.piece)
    return cover_run(parameters, k, lattice, selection, alpha=parameters.alpha, finish=finish)
