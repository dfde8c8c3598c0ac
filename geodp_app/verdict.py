"""What settings promise and what to expect of them, in two plain sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from geodp_app.document.work import RunSettings, Work
from geometry.halfplane import HalfplaneLattice
from learners.accounting import inner_budget
from learners.theory.planner import LearnerName, Setting, error_guaranteed
from learners.theory.rule_of_thumb import expected_error, expected_error_by_tiles


@dataclass(frozen=True, slots=True)
class Verdict:
    """Two sentences about a run.

    Attributes
    ----------
    promise : str
        What the theorem guarantees, honest when it is void.
    practice : str
        What runs usually reach: an estimate.
    """

    promise: str
    practice: str


def verdict(work: Work) -> Verdict:
    """The verdict beside n."""
    run = work.run
    if run.learner.startswith("greedy"):
        return Verdict(
            "No privacy is promised: this learner is for comparison only.",
            "It looks for the best piece in every step and adds no noise.",
        )
    n = work.sampling.n if work.examples is None else len(work.examples.points)
    if n == 0:
        return Verdict(
            "Proved: nothing about the error; privacy holds in any case." + _seeded(run),
            "There are no examples: what is learned is left to chance.",
        )
    if run.by_tiles:
        return _by_tiles(run, n)
    if run.learner == "stability":
        return Verdict(
            "Proved: a public point on which 85 % of the chunks agree gets their label with "
            "probability 0.9; nothing about the error." + _seeded(run),
            "Needs some hundreds of chunks: with fewer than a few hundred examples in each, "
            "expect errors of several percent.",
        )
    if run.learner == "threshold":
        return _threshold(run, n, work.drawing.grid)
    if run.curved:
        return _curved(run, n, work.drawing.grid)
    try:
        setting = Setting(
            k=run.k,
            beta=run.beta,
            epsilon=run.epsilon,
            delta=run.delta,
            lattice=HalfplaneLattice(work.drawing.grid, run.measure),
            learner=cast(LearnerName, run.learner),
            neighbours=run.neighbours,
        )
        plan = error_guaranteed(setting, n)
        expected = expected_error(setting, n, _gain_share(work), run.n_steps)
    except ValueError as error:
        return Verdict("", f"These settings cannot run: {error}.")
    sure = 1 - run.beta
    if plan.alpha is None:
        promise = (
            f"Proved: nothing below error 50 % for {n:,} examples. The theorem needs far more; "
            "privacy holds in any case."
        )
    else:
        promise = (
            f"Proved: error at most {plan.alpha:.2%} with probability {sure:g}, "
            f"with {plan.steps} steps, if {run.k} pieces fit the shape exactly."
        )
    practice = (
        f"In practice expect an error of about {_percent(expected)} "
        f"if {run.k} pieces fit the shape."
    )
    return Verdict(promise + _seeded(run), practice)


def _by_tiles(run: RunSettings, n: int) -> Verdict:
    """What runs by tiles reached: nothing is proved of their error."""
    try:
        expected = expected_error_by_tiles(run.epsilon, run.neighbours, n)
    except ValueError as error:
        return Verdict("", f"These settings cannot run: {error}.")
    given = "" if run.tiles is None else " and as many tiles as a run chooses itself"
    return Verdict(
        "Proved: nothing about the error, whatever the shape; privacy holds in any case."
        + _seeded(run),
        f"In practice expect an error of about {_percent(expected)} for shapes of few "
        f"edges{given}.",
    )


def _threshold(run: RunSettings, n: int, grid: int) -> Verdict:
    """What is proved of a private threshold, and the mean of its law on dense examples."""
    # they bring compiled loops along
    from learners.theory.theorems import alpha_for, find_theorem
    from learners.threshold_learner import threshold_class_size

    size = threshold_class_size(grid)
    parameters = {"size": size, "epsilon": run.epsilon, "neighbours": run.neighbours}
    try:
        alpha = alpha_for(find_theorem("private-finite"), n, run.beta, parameters)
        inner = inner_budget(run.epsilon, run.delta, run.neighbours)[0]
    except ValueError as error:
        return Verdict("", f"These settings cannot run: {error}.")
    fits = "if a halfplane along an axis fits the shape exactly"
    if alpha is None:
        promise = f"Proved: nothing below error 50 % for {n:,} examples; privacy holds in any case."
    else:
        promise = (
            f"Proved: error at most {_percent(alpha)} with probability {1 - run.beta:g}, {fits}."
        )
    practice = f"In practice expect an error of about {_percent(min(0.5, 1 / (inner * n)))} {fits}."
    return Verdict(promise + _seeded(run), practice)


def _curved(run: RunSettings, n: int, grid: int) -> Verdict:
    """Discs and ellipses: the theorem of any set cover; no rule of thumb."""
    # they bring compiled loops along
    from geometry.lift import MAX_CONIC_D, ConicLattice
    from learners.theory.theorems import alpha_for, find_theorem

    if grid > MAX_CONIC_D:
        return Verdict(
            "", f"These settings cannot run: {run.learner} need a grid d of at most {MAX_CONIC_D}."
        )
    members = ConicLattice(grid, "disc" if run.learner == "discs" else "ellipse").members
    parameters = {
        "k": run.k, "size": members, "epsilon": run.epsilon, "delta": run.delta,
        "neighbours": run.neighbours,
    }  # fmt: skip
    try:
        alpha = alpha_for(find_theorem("set-cover"), n, run.beta, parameters)
    except ValueError as error:
        return Verdict("", f"These settings cannot run: {error}.")
    fits = f"if {run.k} {run.learner} fit the shape"
    promise = "Proved: nothing below error 50 % for so few examples; privacy holds in any case."
    if alpha is not None:
        sure = 1 - run.beta
        promise = (
            f"Proved: error at most {_percent(alpha)} with probability {sure:g}, with the steps "
            f"that the theorem needs, {fits} exactly."
        )
    practice = f"No estimate is made: ten thousand examples do well {fits} and labels are right."
    return Verdict(promise + _seeded(run), practice)


def _seeded(run: RunSettings) -> str:
    return "" if run.seed is None else " A seeded run is not private."


def _gain_share(work: Work) -> float:
    """Share of the examples to gain, as the drawing has it; a third when there is none."""
    region = work.drawing.region()
    share = region.area / work.drawing.grid**2 if not region.is_empty else 1 / 3
    return 1 - share if work.run.learner == "convex" else share


def _percent(share: float) -> str:
    if share >= 0.1:
        return f"{share:.0%}"
    return f"{share:.1%}" if share >= 0.01 else f"{share:.2%}"
