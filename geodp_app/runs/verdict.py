"""What settings promise and what to expect of them, in plain sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

from geodp_app.document.work import RunSettings, Work
from geodp_app.formatting import SPACE, amount, counted
from geodp_app.runs.practice import budget_warning, error_sentence, long_run
from geodp_app.runs.theorem_view import cover_part
from geometry.halfplane import HalfplaneLattice
from learners.cover.set_cover import plan_budget, rate_before_sharpening
from learners.privacy.accounting import inner_budget
from learners.theory.planner import LearnerName, Setting, drawn_alone, error_guaranteed
from learners.theory.rule_of_thumb import NotMeasuredError, Settings


@dataclass(frozen=True, slots=True)
class Verdict:
    """Sentences about a run.

    Attributes
    ----------
    promise : str
        What the theorem guarantees, honest when it is void.
    practice : str
        What runs usually reach: an estimate.
    warning : str
        What is wrong with the budget; empty if nothing is.
    """

    promise: str
    practice: str
    warning: str = ""


def verdict(work: Work) -> Verdict:
    """The verdict beside n."""
    run = work.run
    n = work.sampling.n if work.examples is None else len(work.examples.points)
    try:
        found = _verdict(work, n)
    except ValueError as error:
        found = Verdict("", f"These settings cannot run: {error}.")
    if text := long_run(run.parameters()):
        found = replace(found, practice=f"{found.practice} {text[0].upper()}{text[1:]}.")
    if not run.declared.private:
        return found
    # delta can be chosen where it is needed only
    delta = run["delta"] if run.declared.needs_delta else 0.0
    warning = _greek(budget_warning(run["epsilon"], delta, n=n))
    warnings = [f"Warning: {warning}."] if warning else []
    if run.learner == "cover" and work.simulated and n:
        warnings.append(_too_few(run, n, _inside(work)))
    return replace(found, warning=" ".join(filter(None, warnings)))


#: Nats that the examples which a triangle is asked for weigh, at least, where it nearly always
#: finds them; many find some of fewer (docs/decisions/0036-two-acts.md has a table).
_TELLING = 2.0


def _inside(work: Work) -> float:
    """The share of examples that is labelled 1, or about what will be: shapes count by their areas,
    without the time that their union would take."""
    if work.examples is not None:
        return float((work.examples.labels != 0).mean())
    areas = sum(shape.figure().area for shape in work.drawing.shapes)
    return min(1.0, float(areas) / work.drawing.grid**2)


def _too_few(run: RunSettings, n: int, inside: float) -> str:
    """That more than a quarter of the triangles may find nothing, and how many examples would do;
    `inside` is the share of them that is labelled 1."""
    try:
        run = cover_part(run)
        noisy = _noise_steps(run, n * inside)
        if 4 * noisy <= run.cover_steps:
            return ""
        enough = (m * 10**e for e in range(3, 8) for m in (1, 3))
        found = next((m for m in enough if 4 * _noise_steps(run, m * inside) <= run.cover_steps), 0)
    except ValueError:  # these settings cannot run
        return ""
    would_do = f": {found:,} would do" if found else ""
    return (
        f"With so few examples at this ε up to {noisy} of the {run.cover_steps} triangles may "
        f"find nothing{would_do}."
    )


def _noise_steps(run: RunSettings, positives: float) -> int:
    """Steps of a cover by k triangles whose odds its examples hardly change, as many in each step
    as are left where every one before it covered a k-th of what was left.  `run` has the budget of
    its triangles."""
    k, steps = run["k"], run.cover_steps
    if k in ("auto", 1):
        return 0
    terms = (run["epsilon"], run["delta"], steps, run["beta"], run.whole_neighbours)
    plan = plan_budget(*terms, run.private)
    noisy, first = 0, max(1, round(positives) - plan.margin)
    for step in range(steps):
        left = positives * (1 - 1 / k) ** step
        eta = plan.eta
        if run.sharpened:
            eta = rate_before_sharpening(eta, max(1, round(left) - plan.margin), first)
        noisy += eta * (left - 2 * plan.margin) / k < _TELLING
    return noisy


def _verdict(work: Work, n: int) -> Verdict:
    """Without its warning; ValueError if the settings cannot run."""
    run = work.run
    if not run.declared.private:
        return Verdict(
            "No privacy is promised: this learner is for comparison only.",
            "It looks for the best piece in every step and adds no noise.",
        )
    if n == 0:
        return Verdict(
            "Proved: nothing about the error; privacy holds in any case." + _seeded(run),
            "There are no examples: what is learned is left to chance.",
        )
    if run.learner in ("tiles", "convex"):
        return _by_tiles(run, n, work.drawing.grid)
    if run.learner == "stability":
        return Verdict(
            "Proved: a public point on which 85 % of the chunks agree gets their label with "
            "probability 0.9; nothing about the error." + _seeded(run),
            "Measured at ε = 1 with one halt: one triangle, errors of 2.0–6.4 % with 100,000 "
            "examples and of 0.5–1.3 % with 1,000,000. Each halt more takes as many chunks again. "
            "More triangles are far worse, and with 10,000 examples mostly nothing is learned.",
        )
    if run.learner == "threshold":
        return _threshold(run, n, work.drawing.grid)
    if run.curved:
        return _curved(run, n, work.drawing.grid)
    if run.learner not in ("cover", "convex-cover"):
        return Verdict(
            "Proved: nothing about the error; privacy holds in any case." + _seeded(run),
            "No estimate is made: docs/accuracy.md has what such runs reached.",
        )
    if run["k"] == "auto":
        return Verdict(
            "Proved: nothing about the error of a run that finds k by itself; privacy holds in any "
            "case." + _seeded(run),
            BY_ITSELF if run["measure"] == "chord" else _BY_PAPER,
        )
    setting = Setting(
        k=run["k"],
        beta=run["beta"],
        epsilon=run["epsilon"],
        delta=run["delta"],
        lattice=HalfplaneLattice(work.drawing.grid, run["measure"]),
        learner=cast(LearnerName, run.learner),
        neighbours=run.whole_neighbours,
    )
    if run.alone:
        fits = "if a triangle fits the shape exactly"
        promise = _proved_of_one_draw(run, n, drawn_alone(setting), fits)
        return Verdict(promise + _seeded(run), _practice(run, n, work.drawing.grid))
    plan = error_guaranteed(setting, n)
    sure = 1 - run["beta"]
    if run.sharpened:
        promise = (
            "Proved: nothing about the error of sharpened edges; privacy holds in any case. The "
            "theorem is about runs that stop at the triangles."
        )
    elif plan.alpha is None:
        promise = (
            f"Proved: nothing below error 50 % for {counted(n, 'example')}. The theorem needs far "
            "more; "
            "privacy holds in any case."
        )
    else:
        fit = "one piece fits" if run["k"] == 1 else f"{run['k']} pieces fit"
        promise = (
            f"Proved: error at most {plan.alpha:.2%} with probability {sure:g}, "
            f"with {counted(plan.steps, 'step')}, if {fit} the shape exactly."
        )
    return Verdict(promise + _seeded(run), _practice(run, n, work.drawing.grid))


#: docs/accuracy.md, means of cases of up to so many triangles.
_MEASURED_K = 5
_SEVERAL_TRIANGLES = (
    "Measured at ε = 1, with k from the drawing, on three shapes of four to six triangles: mean "
    "errors of 3.4 % with 10,000 examples, 2.5 % with 20,000, 2.1 % with 30,000. For these "
    "settings no estimate is made."
)
_BY_PAPER = "No estimate is made: only runs with the chord measure were measured."
#: Of covers that are not told k (docs/decisions/0016-k-not-told.md).
BY_ITSELF = (
    "Measured at ε = 1, on shapes of one to five triangles: mean errors of 5.7 % with 1,000 "
    "examples, 0.97 % with 10,000, 0.13 % with 100,000; on outlines of many corners 2–5 % with "
    "10,000. For these settings no estimate is made."
)
_SHARPENED = (
    "Measured at ε = 1, with the right k given, on shapes of two to five triangles: mean errors "
    "of 6.1 % with 1,000 examples, 1 % with 10,000, 0.13 % with 100,000. For these settings no "
    "estimate is made."
)
_MANY_SHARPENED = (
    "Not measured for so many triangles but on three outlines, with 10,000 examples at ε = 1 and "
    "k = 12: errors of 3–8 %, where tiles had 2–3 %."
)
_MANY_TRIANGLES = (
    "Not measured for so many triangles but on three outlines, with 10,000 examples at ε = 1 and "
    "k = 12, in 36 steps: errors of 15–19 %, where tiles had 2–3 %."
)


def _by_tiles(run: RunSettings, n: int, grid: int) -> Verdict:
    """What runs by tiles reached: nothing is proved of their error."""
    practice = _practice(run, n, grid)
    if run["tiles"] is not None:
        practice += " That is for as many tiles as a run chooses itself."
    if run["support"] is not None and run.has("support"):
        practice += " The rest of ε is for support."
    return Verdict(
        "Proved: nothing about the error, whatever the shape; privacy holds in any case."
        + _seeded(run),
        practice,
    )


def _practice(run: RunSettings, n: int, grid: int) -> str:
    """What such runs reached when they were measured."""
    settings = Settings(
        learner=cast(Any, run.learner),
        epsilon=run["epsilon"] * (1 - (run.parameters().get("support") or 0)),
        delta=run["delta"],
        neighbours=run.whole_neighbours,
        measure=run["measure"],
        grid=grid,
        k=run["k"] if run.has("k") and run["k"] != "auto" else None,
        n_steps=run["n_steps"],
        beta=run["beta"],
    )
    try:
        return _greek(error_sentence(settings, n))
    except NotMeasuredError as error:
        measured = run.learner == "cover" and run["measure"] == "chord"
        if measured and run["k"] != "auto" and run["k"] > 1:
            few = run["k"] <= _MEASURED_K
            if run.sharpened:
                return _SHARPENED if few else _MANY_SHARPENED
            return _SEVERAL_TRIANGLES if few else _MANY_TRIANGLES
        return _greek(f"No estimate is made: {error}.")


def _proved_of_one_draw(run: RunSettings, n: int, parameters: dict[str, Any], fits: str) -> str:
    """The error of one draw by the exponential mechanism, by its theorem's parameters."""
    # they bring compiled loops along
    from learners.theory.theorems import alpha_for, find_theorem

    alpha = alpha_for(find_theorem("private-finite"), n, run["beta"], parameters)
    if alpha is None:
        many = counted(n, "example")
        return f"Proved: nothing below error 50 % for {many}; privacy holds in any case."
    return f"Proved: error at most {_percent(alpha)} with probability {1 - run['beta']:g}, {fits}."


def _threshold(run: RunSettings, n: int, grid: int) -> Verdict:
    """What is proved of a private threshold, and the mean of its law."""
    # it brings compiled loops along
    from learners.cover.threshold_learner import threshold_class_size

    fits = "if a halfplane along an axis fits the shape exactly"
    inner = inner_budget(run["epsilon"], run["delta"], run.whole_neighbours)[0]
    drawn = {
        "size": threshold_class_size(grid, run["direction"]),
        "epsilon": inner,
        "neighbours": "add-remove",
    }
    promise = _proved_of_one_draw(run, n, drawn, fits)
    # mistakes on the sample that its law makes on average, and half of the gap between examples
    expected = min(0.5, (1 / inner + 0.5) / n)
    practice = f"In practice expect an error of about {_percent(expected)} {fits}."
    return Verdict(promise + _seeded(run), practice)


def _curved(run: RunSettings, n: int, grid: int) -> Verdict:
    """Discs and ellipses: the theorem of any set cover; no rule of thumb."""
    # they bring compiled loops along
    from geometry.lift import MAX_CONIC_D, ConicLattice
    from learners.theory.theorems import alpha_for, find_theorem

    if grid > MAX_CONIC_D:
        raise ValueError(f"{run.learner} need a grid d of at most {MAX_CONIC_D}")
    members = ConicLattice(grid, "disc" if run.learner == "discs" else "ellipse").members
    parameters = {
        "k": run["k"], "size": members, "epsilon": run["epsilon"], "delta": run["delta"],
        "neighbours": run.whole_neighbours,
    }  # fmt: skip
    alpha = alpha_for(find_theorem("conic-cover"), n, run["beta"], parameters)
    fits = f"if {run['k']} {run.learner} fit the shape"
    promise = "Proved: nothing below error 50 % for so few examples; privacy holds in any case."
    if alpha is not None:
        sure = 1 - run["beta"]
        promise = (
            f"Proved: error at most {_percent(alpha)} with probability {sure:g}, with the steps "
            f"that the theorem needs, {fits} exactly."
        )
    practice = f"No estimate is made: what {run.learner} reach was not measured."
    return Verdict(promise + _seeded(run), practice)


def _seeded(run: RunSettings) -> str:
    return "" if run["seed"] is None else " A seeded run is not private."


def _greek(text: str) -> str:
    """As the window names them."""
    return text.replace("epsilon", "ε").replace("delta", "δ").replace("beta", "β")


def _percent(share: float) -> str:
    """Two digits, rounded up: what is promised must hold."""
    percent = 100 * share
    unit = 10.0 ** (math.floor(math.log10(percent)) - 1)
    return f"{amount(math.ceil(percent / unit) * unit, 2)}{SPACE}%"
