"""Says what settings promise and what to expect of them: in sentences, and on the theorem page.

For the curator: the number of examples is the sample's, which under add/remove is private.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from geodp_app.document.work import RunSettings, Work
from geodp_app.formatting import MISSING, SPACE, amount, count, counted, percentage
from geodp_app.progress import long_run
from geodp_app.runs.practice import in_practice, measured_words, outwards
from geometry.halfplane import HalfplaneLattice
from learners.cover.set_cover import (
    NOISE_SHARE,
    plan_budget,
    rate_before_sharpening,
    rates_by_account,
    theorem_steps,
)
from learners.privacy.accounting import budget_warning, inner_budget
from learners.stability.stable_queries import DEFAULT_AGREEMENT, DEFAULT_BETA
from learners.theory.cover_sizes import CoverPlan, lattice_note
from learners.theory.rule_of_thumb import MEASURED, NotMeasuredError, means_of
from learners.theory.theorems import alpha_for, examples_for, find_theorem, plan_for, theorem_of


@dataclass(frozen=True, slots=True)
class Verdict:
    """Sentences about a run."""

    #: What the theorem guarantees, honest when it is void.
    promise: str
    #: What runs usually reach: an estimate.
    practice: str
    #: What is wrong with the budget; empty if nothing is.
    warning: str = ""


def verdict(work: Work) -> Verdict:
    """The verdict beside n."""
    run = work.run
    n = work.sampling.n if work.examples is None else len(work.examples.points)
    n = round(n * (1 - (run.parameters().get("check") or 0)))  # what it learns from
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
    except (ValueError, ArithmeticError):  # these settings cannot run
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
    run, grid = work.run, work.drawing.grid
    if not run.declared.private:
        return Verdict(
            "No privacy is promised: this learner is for comparison only.",
            "It looks for the best piece in every step and adds no noise.",
        )
    if n == 0:
        promise = f"{_NOTHING}; privacy holds in any case."
        practice = "There are no examples: what is learned is left to chance."
    else:
        promise, practice = _proved(run, n, grid), _practice(run, n, grid)
    seeded = "" if run["seed"] is None else " A seeded run is not private."
    return Verdict(promise + seeded, practice)


_NOTHING = "Proved: nothing about the error"


# dragged corners ask again, with the same settings
@lru_cache
def _proved(run: RunSettings, n: int, grid: int) -> str:
    """What the theorem about such runs guarantees of n examples."""
    if run.learner == "stability":
        return (
            f"Proved: a public point on which {100 * DEFAULT_AGREEMENT:g} % of the chunks agree "
            f"gets their label with probability {1 - DEFAULT_BETA:g}; nothing about the error."
        )
    asked = theorem_of(run.learner, run.of_whole_examples(), grid, alone=run.alone)
    if asked is None:
        by_itself = run.has("k") and run["k"] == "auto"
        about = " of a run that finds k by itself" if by_itself else ", whatever the shape"
        return f"{_NOTHING}{about}; privacy holds in any case."
    alpha = alpha_for(asked[0], n, run["beta"], asked[1])
    if run.sharpened:
        return (
            f"{_NOTHING} of sharpened edges; privacy holds in any case. The theorem is about runs "
            "that stop at the triangles."
        )
    if alpha is None:
        return (
            f"Proved: nothing below error 50{SPACE}% for {counted(n, 'example')}. The theorem "
            "needs far more; privacy holds in any case."
        )
    plan = plan_for(asked[0], alpha, run["beta"], asked[1])
    steps = f" with {counted(plan.steps, 'step')}," if isinstance(plan, CoverPlan) else ""
    return (
        f"Proved: error at most {_percent(alpha, 3)} with probability {1 - run['beta']:g},{steps} "
        f"{_fits(run)} the shape exactly."
    )


def _fits(run: RunSettings) -> str:
    if run.learner == "threshold":
        return "if a halfplane along an axis fits"
    piece = run.declared.piece
    return f"if one {piece} fits" if run["k"] == 1 else f"if {run['k']} {piece}s fit"


def _practice(run: RunSettings, n: int, grid: int) -> str:
    """What such runs reached when they were measured."""
    if run.learner == "stability":
        return _greek(
            f"{measured_words(means_of('stability'))} Each halt more takes as many chunks again. "
            "More triangles are far worse, and with 10,000 examples mostly nothing is learned."
        )
    if run.learner == "threshold":
        inner = inner_budget(run["epsilon"], run["delta"], run.whole_neighbours)[0]
        # mistakes on the sample that its law makes on average, and half of the gap between examples
        error = _percent(min(0.5, (1 / inner + 0.5) / n))
        return f"In practice expect an error of about {error} {_fits(run)} the shape exactly."
    if run.learner not in MEASURED:
        return "No estimate is made: docs/accuracy.md has what such runs reached."
    tiles = run.learner in ("tiles", "convex")
    support = (run.parameters().get("support") or 0) if tiles else 0
    parameters = run.of_whole_examples() | {"epsilon": run["epsilon"] * (1 - support)}
    try:
        words = in_practice(run.learner, parameters, grid, examples=n)[0]
    except NotMeasuredError as error:
        words = f"No estimate is made: {error}."
        k = 0 if run["k"] == "auto" else run["k"]
        means = means_of(run.learner, run["finish"], k) if run["measure"] == "chord" else ()
        if means:
            words = f"{measured_words(means)} Of other settings no estimate is made."
    if tiles and run["tiles"] is not None:
        words += " That is for as many tiles as a run chooses itself."
    return _greek(words + (" The rest of ε is for support." if support else ""))


def _greek(text: str) -> str:
    """As the window names them."""
    return text.replace("epsilon", "ε").replace("delta", "δ").replace("beta", "β")


def _percent(share: float, digits: int = 2) -> str:
    """So many digits, rounded up: what is promised must hold."""
    return f"{amount(outwards(100 * share, digits, up=True), digits)}{SPACE}%"


# -- the theorem page: n is private, so none of this looks at the examples; a planned n is typed --

#: Learners whose steps and examples a theorem is about, and the theorem.
THEOREMS = {
    "cover": "theorem 5.1",
    "convex-cover": "theorem 4.7",
    "discs": "theorem 3.2",
    "ellipses": "theorem 3.2",
}


#: What is shown of it: a title, a sentence, and the labels of its numbers.
CARDS = (
    (
        "Steps",
        "After so many steps at most half of α is left to gain, as each gains at least one part "
        "in 2k of what was left.",
        ("Steps m",),
    ),
    (
        "Examples",
        "With as many as are proved here, the error on new points is at most α with probability "
        "1 − β, if k pieces fit the shape exactly. Runs usually need far fewer.",
        ("Order alone", "KMMS’s constants", "Proved here", "By naive composition",
         "Error at planned n"),
    ),
    (
        "η in each step",
        "η is how strongly a step prefers a piece that is better by one example. An account that "
        "knows of set cover grants more of it for the same ε, and the closed form the most.",
        ("Basic", "Advanced", "KMMS’s", "Closed form"),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """What the theorem asks for, and what the run has."""

    #: Of the theorem, without those that draw edges again.
    steps: int
    #: By the labels of :data:`CARDS`: of the theorem, and of the run where it has any.
    numbers: dict[str, tuple[str, ...]]
    #: By those of the rates: the run's, as a share of its largest.
    shares: dict[str, float]
    #: One a card.
    formulas: tuple[str, str, str]


def answer(
    run: RunSettings, grid: int, alpha: float = 0.1, beta: float = 0.1, planned: int | None = None
) -> Answer:
    """Figures of the theorem, and of the run.  Raises ValueError if a parameter is out of range, or
    the budget is too small to run at all.

    Parameters
    ----------
    run : RunSettings
        Of a learner among :data:`THEOREMS`.
    grid : int
        d.
    alpha, beta : float
        Error wanted, and probability of failing, in (0, 1).
    planned : int, optional
        A number of examples that the person has in mind.
    """
    asked = theorem_of(run.learner, run.of_whole_examples(), grid)
    if asked is None:
        raise ValueError("the theorem is about runs with a given k: set k")
    theorem, parameters = asked
    steps, name = theorem_steps(run["k"], alpha), theorem.name
    names: tuple[str | None, ...] = ("cover-printed", f"{name}-constants", name, f"{name}-naive")
    if run.curved:
        names = (None, "set-cover-constants", name, None)
    found = [
        None if each is None else examples_for(find_theorem(each), alpha, beta, parameters)
        for each in names
    ]
    reached = MISSING
    if planned:
        error = alpha_for(theorem, planned, beta, parameters)
        reached = "nothing" if error is None else percentage(error)
    of_steps, of_examples, of_rates = (labels for _, _, labels in CARDS)
    rates = _rates(run, steps, beta), _rates(cover_part(run), run.cover_steps, run["beta"])
    numbers: dict[str, tuple[str, ...]] = {of_steps[0]: (count(steps), count(run.cover_steps))}
    numbers |= zip(of_examples, zip((*map(count, found), reached)), strict=True)
    for label, *each in zip(of_rates, *rates, strict=True):
        numbers[label] = tuple(f"{rate:.4f}" for rate in each)
    shares = {label: own / max(rates[1]) for label, own in zip(of_rates, rates[1], strict=True)}
    formula = (
        f"m = ⌈2k ln(2/α)⌉ = ⌈2 · {run['k']} · ln(2 / {alpha:g})⌉ = {count(steps)}. KMMS, claim "
        "3.1; a run without a number of steps makes 3k, of triangles 2k, or 1 for k = 1."
    )
    return Answer(steps, numbers, shares, (formula, _examples_formula(run, grid), _RATES_FORMULA))


def cover_part(run: RunSettings) -> RunSettings:
    """The run with the part of its budget that its triangles share; all, if it has no other."""
    if not run.sharpened:
        return run
    # it brings compiled loops along
    from learners.cover.sharpening import plan_sharpened

    terms = run["epsilon"], run["delta"], run.cover_steps, run["beta"], run.whole_neighbours
    spent = plan_sharpened(*terms, private=True).cover.spent
    return run.with_(epsilon=spent.epsilon, delta=spent.delta)


def _rates(run: RunSettings, steps: int, beta: float) -> tuple[float, float, float, float]:
    """Nats per example in each of so many steps, by four accounts, with the same noisy counts.

    Basic and advanced composition, which take every step for a general exponential mechanism;
    KMMS's claim 3.4 in its tight form; and the closed form of whole runs, which the learners use.
    """
    share = 0.0 if run.alone and steps == 1 else NOISE_SHARE
    terms = run["epsilon"], run["delta"], steps, beta, run.whole_neighbours
    budget = plan_budget(*terms, private=True, noise_share=share)
    rates, _ = rates_by_account(budget)
    return rates["basic"] / 2, rates["advanced"] / 2, rates["set-cover"], budget.eta


_RATES_FORMULA = (
    "Basic and advanced composition are naive, KMMS’s example 3.3: 2mη = ε′; "
    "2η√(2m ln(1/δ)) + 2mη(exp(2η) − 1) = ε′ (Dwork, Rothblum, Vadhan 2010). KMMS’s, claim 3.4 in "
    "its tight form: η = ln(1 + ε′/ln(e/δ)), whatever m. ε′ is what the noisy counts leave of ε. "
    "Closed form, used here: lemma 4 in docs/privacy.md, of counts and selections together. A run "
    "that draws edges again has three tenths of ε for its triangles."
)


def _examples_formula(run: RunSettings, grid: int) -> str:
    note = None
    if run.curved:
        order = f"KMMS, {THEOREMS[run.learner]}, prints an order without all its factors. "
        loss = "λ = (2/ε̂) ln(|H|/β′): claims 3.1 and 3.4, proposition 2.5. "
    else:
        note = lattice_note(HalfplaneLattice(grid, run.piece_measure))
        factor = 24 if run.learner == "cover" else 8
        order = f"Order, constant 1: (k/αε) ln(d/αβ), KMMS, {THEOREMS[run.learner]}. "
        loss = f"λ = ({factor}/ε̂) ln(2d/β′): claims 3.1 and 3.4, lemma 4.6. "
    return (
        f"{f'{note} ' if note else ''}{order}KMMS’s constants, for errors on the sample alone: "
        "n = max{8kλL, 4Δ + 4kλL}/α, L = ln(2/α), ε̂ = ε/(2 ln(e/δ)), "
        f"{loss}Claim 3.4 is stated for ε < 1, and the counts’ ε comes on top. "
        "Proved here: what geodp plan prints, of runs whose edges are not drawn again; and the "
        "same if every selection were charged by itself, KMMS, example 3.3."
    )
