"""What the theorems of set covers ask for, beside what a run has: by public numbers alone.

n is private, so none of this looks at the examples; a planned n is what a person types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from geodp_app.document.work import RunSettings
from geodp_app.formatting import MISSING, count, percentage
from geometry.halfplane import HalfplaneLattice
from learners.cover.other_accounts import rates_by_account
from learners.cover.set_cover import NOISE_SHARE, plan_budget, theorem_steps
from learners.theory.cover_sizes import lattice_note
from learners.theory.theorems import alpha_for, examples_for, find_theorem, theorem_of

#: Learners whose steps and examples a theorem is about, and the theorem.
THEOREMS = {
    "cover": "theorem 5.1",
    "convex-cover": "theorem 4.7",
    "discs": "theorem 3.2",
    "ellipses": "theorem 3.2",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of figures.

    Attributes
    ----------
    label, theorem, run : str
        What it is, what the theorem has, and what the run has.
    share : float or None
        Length of its bar, 0..1; None for a line without one.
    used : bool
        Whether it is what the learners use.
    """

    label: str
    theorem: str
    run: str = ""
    share: float | None = None
    used: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the theorem: always as many rows, with the same labels."""

    title: str
    words: str
    rows: tuple[Row, ...]
    formula: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What the theorem asks for, and what the run has: about steps, examples and rates.

    Attributes
    ----------
    steps : int
        Of the theorem, without those that draw edges again.
    figures : tuple of Figure
    """

    steps: int
    figures: tuple[Figure, ...]


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
    rates = _rates(run, steps, beta), _rates(cover_part(run), run.cover_steps, run["beta"])
    return Answer(
        steps,
        _figures(
            (count(steps), count(run.cover_steps)), (*map(count, found), reached), rates,
            f"m = ⌈2k ln(2/α)⌉ = ⌈2 · {run['k']} · ln(2 / {alpha:g})⌉ = {count(steps)}. "
            "KMMS, claim 3.1; a run without a number of steps makes 3k, of triangles 2k, or 1 for "
            "k = 1.",
            _examples_formula(run, grid),
        ),
    )  # fmt: skip


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

    Raises
    ------
    ValueError
        If the budget is too small.
    """
    share = 0.0 if run.alone and steps == 1 else NOISE_SHARE
    terms = run["epsilon"], run["delta"], steps, beta, run.whole_neighbours
    budget = plan_budget(*terms, private=True, noise_share=share)
    rates, _ = rates_by_account(budget)
    return rates["basic"] / 2, rates["advanced"] / 2, rates["set-cover"], budget.eta


# in words


def _figures(
    steps: tuple[str, str], examples: Sequence[str],
    rates: tuple[tuple[float, ...], tuple[float, ...]] | None, of_steps: str, of_examples: str,
) -> tuple[Figure, ...]:  # fmt: skip
    """Steps, examples and rates, with their formulas."""
    labels = ("Order alone", "KMMS’s constants", "Proved here", "By naive composition",
              "Error at planned n")  # fmt: skip
    names = ("Basic", "Advanced", "KMMS’s", "Closed form")
    by_account: tuple[tuple[str, str, float], ...] = ((MISSING, MISSING, 0.0),) * 4
    if rates:
        by_account = tuple(
            (f"{theorem:.4f}", f"{own:.4f}", own / max(rates[1]))
            for theorem, own in zip(*rates, strict=True)
        )
    return (
        Figure(
            "Steps",
            "After so many steps at most half of α is left to gain, as each gains at least one "
            "part in 2k of what was left.",
            (Row("Steps m", *steps),),
            of_steps,
        ),
        Figure(
            "Examples",
            "With as many as are proved here, the error on new points is at most α with "
            "probability 1 − β, if k pieces fit the shape exactly. Runs usually need far fewer.",
            tuple(map(Row, labels, examples)),
            of_examples,
        ),
        Figure(
            "η in each step",
            "η is how strongly a step prefers a piece that is better by one example. An account "
            "that knows of set cover grants more of it for the same ε, and the closed form the "
            "most.",
            tuple(
                Row(name, *values, used=name == names[-1])
                for name, values in zip(names, by_account, strict=True)
            ),
            "Basic and advanced composition are naive, KMMS’s example 3.3: 2mη = ε′; "
            "2η√(2m ln(1/δ)) + 2mη(exp(2η) − 1) = ε′ (Dwork, Rothblum, Vadhan 2010). KMMS’s, "
            "claim 3.4 in its tight form: η = ln(1 + ε′/ln(e/δ)), whatever m. ε′ is what the noisy "
            "counts leave of ε. Closed form, used here: lemma 4 in docs/privacy.md, of counts and "
            "selections together. A run that draws edges again has three tenths of ε for its "
            "triangles.",
        ),
    )


#: Without numbers, as long as there are none.
EMPTY = _figures((MISSING, MISSING), (MISSING,) * 5, None, "", "")


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
