"""What the theorems of set covers ask for, beside what a run has: by public numbers alone.

n is private, so none of this looks at the examples; a planned n is what a person types.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from geodp_app.document.work import RunSettings
from geodp_app.formatting import MISSING, count, percentage
from geometry.halfplane import HalfplaneLattice
from learners.cover.set_cover import NOISE_SHARE, Budget, plan_budget, theorem_steps
from learners.privacy.accounting import after_arithmetic, inner_budget, selection_account
from learners.privacy.composition import advanced_rate
from learners.theory import planner
from learners.theory.planner import LearnerName, Setting, error_guaranteed, examples_needed

#: Learners whose steps and examples a theorem is about, and the theorem.
THEOREMS = {
    "cover": "theorem 5.1",
    "convex-cover": "theorem 4.7",
    "discs": "theorem 3.2",
    "ellipses": "theorem 3.2",
}

_NOTHING = (MISSING, MISSING)


@dataclass(frozen=True, slots=True)
class Question:
    """What a person asks, in public numbers.

    Attributes
    ----------
    run : RunSettings
        Of a learner among :data:`THEOREMS`.
    grid : int
        d.
    alpha, beta : float
        Error wanted, and probability of failing, in (0, 1).
    planned : int or None
        A number of examples that the person has in mind.
    """

    run: RunSettings
    grid: int
    alpha: float = 0.1
    beta: float = 0.1
    planned: int | None = None


@dataclass(frozen=True, slots=True)
class Rates:
    """Nats per example in each of so many steps, by four accounts, with the same noisy counts.

    Attributes
    ----------
    basic, advanced : float
        Naive composition, which takes every step for a general exponential mechanism.
    set_cover : float
        KMMS's claim 3.4 in its tight form.
    optimal : float
        The closed form of whole runs, which the learners use.
    """

    basic: float
    advanced: float
    set_cover: float
    optimal: float


@dataclass(frozen=True, slots=True)
class Answer:
    """Figures of the theorem, and of the run.

    Attributes
    ----------
    question : Question
    theorem_steps, run_steps : int
        Without those that draw edges again.
    order : int or None
        The printed order of growth with constant 1; None where none is printed.
    printed : int
        Examples with KMMS's printed constants, for error alpha on the sample.
    here : int or None
        Examples with the constants proved here, for error alpha on new points; None if no
        number is known to suffice.
    naive : int or None
        The same by naive composition; None also of discs and ellipses.
    lattice : str or None
        What a coarse lattice means for the theorem; None of a fine one.
    reached : float or None
        The error that the planned n guarantees; None without it, or from 1/2 up.
    theorem_rates, run_rates : Rates
    """

    question: Question
    theorem_steps: int
    run_steps: int
    order: int | None
    printed: int
    here: int | None
    naive: int | None
    lattice: str | None
    reached: float | None
    theorem_rates: Rates
    run_rates: Rates


def answer(question: Question) -> Answer:
    """What the theorem asks for, and what the run has.

    Raises
    ------
    ValueError
        If a parameter is out of range, or the budget is too small to run at all.
    """
    q, run = question, question.run
    steps = theorem_steps(_told_k(run), q.alpha)
    needed, guaranteed = _planner(q)
    return Answer(
        question=q,
        theorem_steps=steps,
        run_steps=run.cover_steps,
        order=_order(q),
        printed=_printed(q),
        here=needed(),
        naive=_naive(q),
        lattice=None if run.curved else planner.lattice_note(_lattice(q)),
        reached=None if q.planned is None else guaranteed(q.planned),
        theorem_rates=rates(run, steps, q.beta),
        run_rates=rates(cover_part(run), run.cover_steps, run["beta"]),
    )


def _told_k(run: RunSettings) -> int:
    if run["k"] == "auto":
        raise ValueError("the theorem is about runs with a given k: set k")
    return int(run["k"])


def cover_part(run: RunSettings) -> RunSettings:
    """The run with the part of its budget that its triangles share; all, if it has no other."""
    if not run.sharpened:
        return run
    # it brings compiled loops along
    from learners.cover.sharpening import plan_sharpened

    plan = plan_sharpened(
        *_budget(run), run.cover_steps, run["beta"], run.whole_neighbours, private=True
    )
    return run.with_(epsilon=plan.cover.spent.epsilon, delta=plan.cover.spent.delta)


def _budget(run: RunSettings) -> tuple[float, float]:
    return run["epsilon"], run["delta"]


def rates(run: RunSettings, steps: int, beta: float) -> Rates:
    """What four accounts grant so many steps at the run's epsilon and delta.

    Raises
    ------
    ValueError
        If the budget is too small.
    """
    share = 0.0 if run.alone and steps == 1 else NOISE_SHARE
    budget = plan_budget(
        *_budget(run), steps, beta, run.whole_neighbours, private=True, noise_share=share
    )
    epsilon, delta = inner_budget(*_budget(run), run.whole_neighbours)
    left = after_arithmetic(epsilon - _counts(budget), delta, steps)
    granted = dict(selection_account(*left, steps).alternatives)
    # KMMS weigh by exp(epsilon^ q / 2): half a nat per example for each nat of the composition
    naive = granted["basic"] / 2, advanced_rate(*left, steps) / 2
    return Rates(*naive, granted["set-cover"], budget.eta)


def _counts(budget: Budget) -> float:
    """What the noisy counts would cost alone."""
    charge = budget.spent.charge("noisy counts")
    return 0.0 if charge is None else charge.alone


def _order(q: Question) -> int | None:
    """Theorems 4.7 and 5.1 with constant 1."""
    # they bring compiled loops along
    from learners.theory.theorems import examples_for, find_theorem

    if q.run.curved:
        return None
    parameters = {"k": q.run["k"], "d": q.grid, "epsilon": q.run["epsilon"]}
    return examples_for(find_theorem("cover-printed"), q.alpha, q.beta, parameters)


def _printed(q: Question) -> int:
    run = q.run
    epsilon = planner.printed_selection_epsilon(*_budget(run))
    beta = planner.printed_selection_failure(_told_k(run), q.alpha, q.beta)
    if run.curved:
        loss = planner.printed_finite_loss(math.log(_members(q)), epsilon, beta)
    else:
        edges = 3 if run.learner == "cover" else 1
        loss = planner.printed_halfplanes_loss(edges, q.grid, epsilon, beta)
    return planner.printed_sample_examples(_told_k(run), q.alpha, q.beta, run["epsilon"], loss)


def _planner(
    q: Question,
) -> tuple[Callable[[], int | None], Callable[[int], float | None]]:
    """What finds n for alpha, and alpha for n, with every constant."""
    run = q.run
    if not run.curved:
        setting = _setting(q)
        return (
            lambda: examples_needed(setting, q.alpha).examples,
            lambda n: error_guaranteed(setting, n).alpha,
        )
    from learners.theory.theorems import alpha_for, examples_for, find_theorem

    theorem = find_theorem("conic-cover")
    parameters: dict[str, Any] = {
        "k": run["k"], "size": _members(q), "epsilon": run["epsilon"], "delta": run["delta"],
        "neighbours": run.whole_neighbours,
    }  # fmt: skip
    return (
        lambda: examples_for(theorem, q.alpha, q.beta, parameters),
        lambda n: alpha_for(theorem, n, q.beta, parameters),
    )


def _lattice(q: Question) -> HalfplaneLattice:
    return HalfplaneLattice(q.grid, q.run.piece_measure)


def _setting(q: Question) -> Setting:
    run = q.run
    return Setting(
        k=_told_k(run),
        beta=q.beta,
        epsilon=run["epsilon"],
        delta=run["delta"],
        lattice=_lattice(q),
        learner=cast(LearnerName, run.learner),
        neighbours=run.whole_neighbours,
    )


def _naive(q: Question) -> int | None:
    """Examples if every selection were charged by itself, KMMS's example 3.3."""
    if q.run.curved:
        return None
    return examples_needed(replace(_setting(q), account="naive"), q.alpha).examples


def _members(q: Question) -> int:
    """Size of the class of discs or ellipses.

    Raises
    ------
    ValueError
        If the grid is too large for them.
    """
    from geometry.lift import ConicLattice

    return ConicLattice(q.grid, "disc" if q.run.learner == "discs" else "ellipse").members


# in words


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


def figures(answer: Answer | None) -> tuple[Figure, Figure, Figure]:
    """Steps, examples and rates, ready to show; without numbers as long as there are none."""
    return _steps(answer), _examples(answer), _rates(answer)


def _steps(a: Answer | None) -> Figure:
    formula = ""
    if a is not None:
        k, alpha = a.question.run["k"], a.question.alpha
        formula = (
            f"m = ⌈2k ln(2/α)⌉ = ⌈2 · {k} · ln(2 / {alpha:g})⌉ = {count(a.theorem_steps)}. "
            "KMMS, claim 3.1; a run without a number of steps makes 3k, of triangles 2k, or 1 for "
            "k = 1."
        )
    return Figure(
        "Steps",
        "After so many steps at most half of α is left to gain, as each gains at least one part "
        "in 2k of what was left.",
        (Row("Steps m", *((count(a.theorem_steps), count(a.run_steps)) if a else _NOTHING)),),
        formula,
    )


def _examples(a: Answer | None) -> Figure:
    found: tuple[str, ...] = (MISSING,) * 5
    formula = ""
    if a is not None:
        reached = percentage(a.reached) if a.reached else "nothing" if a.question.planned else None
        counts = (count(n) for n in (a.order, a.printed, a.here, a.naive))
        found = (*counts, reached or MISSING)
        formula = _examples_formula(a.question)
        if a.lattice is not None:
            formula = f"{a.lattice} {formula}"
    labels = ("Order alone", "KMMS’s constants", "Proved here", "By naive composition",
              "Error at planned n")  # fmt: skip
    return Figure(
        "Examples",
        "With as many as are proved here, the error on new points is at most α with probability "
        "1 − β, if k pieces fit the shape exactly. Runs usually need far fewer.",
        tuple(Row(label, value) for label, value in zip(labels, found, strict=True)),
        formula,
    )


def _examples_formula(q: Question) -> str:
    run = q.run
    if run.curved:
        order = f"KMMS, {THEOREMS[run.learner]}, prints an order without all its factors. "
        loss = "λ = (2/ε̂) ln(|H|/β′): claims 3.1 and 3.4, proposition 2.5. "
    else:
        factor = 24 if run.learner == "cover" else 8
        order = f"Order, constant 1: (k/αε) ln(d/αβ), KMMS, {THEOREMS[run.learner]}. "
        loss = f"λ = ({factor}/ε̂) ln(2d/β′): claims 3.1 and 3.4, lemma 4.6. "
    return (
        f"{order}KMMS’s constants, for errors on the sample alone: "
        "n = max{8kλL, 4Δ + 4kλL}/α, L = ln(2/α), ε̂ = ε/(2 ln(e/δ)), "
        f"{loss}Claim 3.4 is stated for ε < 1, and the counts’ ε comes on top. "
        "Proved here: what geodp plan prints, of runs whose edges are not drawn again; and the "
        "same if every selection were charged by itself, KMMS, example 3.3."
    )


def _rates(a: Answer | None) -> Figure:
    names = ("Basic", "Advanced", "KMMS’s", "Closed form")
    rows = [Row(name, *_NOTHING, 0.0) for name in names]
    if a is not None:
        most = max(_each(a.run_rates))
        rows = [
            Row(name, f"{theorem:.4f}", f"{run:.4f}", run / most)
            for name, theorem, run in zip(
                names, _each(a.theorem_rates), _each(a.run_rates), strict=True
            )
        ]
    rows[-1] = replace(rows[-1], used=True)
    return Figure(
        "η in each step",
        "η is how strongly a step prefers a piece that is better by one example. An account that "
        "knows of set cover grants more of it for the same ε, and the closed form the most.",
        tuple(rows),
        "Basic and advanced composition are naive, KMMS’s example 3.3: 2mη = ε′; "
        "2η√(2m ln(1/δ)) + 2mη(exp(2η) − 1) = ε′ (Dwork, Rothblum, Vadhan 2010). KMMS’s, claim "
        "3.4 in its tight form: η = ln(1 + ε′/ln(e/δ)), whatever m. ε′ is what the noisy counts "
        "leave of ε. Closed form, used here: lemma 4 in docs/privacy.md, of counts and selections "
        "together. A run that draws edges again has three tenths of ε for its triangles.",
    )


def _each(rates: Rates) -> tuple[float, ...]:
    return rates.basic, rates.advanced, rates.set_cover, rates.optimal
