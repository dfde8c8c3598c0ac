"""Compares what the theorems of set covers ask for with what a run has, by public numbers alone.

n is private, so none of this looks at the examples; a planned n is what a person types.
"""

from __future__ import annotations

from dataclasses import dataclass

from geodp_app.document.work import RunSettings
from geodp_app.formatting import MISSING, count, percentage
from geometry.halfplane import HalfplaneLattice
from learners.cover.set_cover import NOISE_SHARE, plan_budget, rates_by_account, theorem_steps
from learners.theory.cover_sizes import lattice_note
from learners.theory.theorems import alpha_for, examples_for, find_theorem, theorem_of

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
    """What the theorem asks for, and what the run has.

    Attributes
    ----------
    steps : int
        Of the theorem, without those that draw edges again.
    numbers : dict
        By the labels of :data:`CARDS`: of the theorem, and of the run where it has any.
    shares : dict
        By those of the rates: the run's, as a share of its largest.
    formulas : tuple of str
        One a card.
    """

    steps: int
    numbers: dict[str, tuple[str, ...]]
    shares: dict[str, float]
    formulas: tuple[str, str, str]


def answer(
    run: RunSettings, grid: int, alpha: float = 0.1, beta: float = 0.1, planned: int | None = None
) -> Answer:
    """Figures of the theorem, and of the run.

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

    Raises
    ------
    ValueError
        If a parameter is out of range, or the budget is too small to run at all.
    """
    asked = theorem_of(run.learner, run.of_whole_examples(), grid)
    if asked is None:
        raise ValueError("the theorem is about runs with a given k: set k")
    theorem, parameters = asked
    steps = theorem_steps(run["k"], alpha)

    def needed(name: str) -> int | None:
        return examples_for(find_theorem(name), alpha, beta, parameters)

    found: tuple[int | None, ...]
    if run.curved:
        found = (None, needed("set-cover-constants"), needed(theorem.name), None)
    else:
        name = theorem.name
        found = (
            needed("cover-printed"),
            *map(needed, (f"{name}-constants", name, f"{name}-naive")),
        )
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
