"""`geodp plan`: how many examples suffice, or what a number of them guarantees."""

from __future__ import annotations

import argparse
import json
import math
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from geodp_app.commands import arguments
from geodp_app.document.examples import DEFAULT_GRID, LARGE_GRIDS
from geodp_app.errors import InputError
from geodp_app.formatting import counted
from learners.declaration import Learner
from learners.registry import BETA, BY_ID, DELTA, EPSILON, MEASURE, NEIGHBOURS, K

if TYPE_CHECKING:
    from geometry.lift import ConicKind
    from learners.theory.planner import Plan, Setting
    from learners.theory.rule_of_thumb import Settings
    from learners.theory.theorems import Theorem

#: Parameters that a plan depends on.
_ASKED = ("learner", "k", "epsilon", "neighbours", "grid")
_OF_VOTES = ("learner", "k", "epsilon", "delta", "neighbours", "grid")
_PARAMETERS = ("k", "direction", "measure", "beta", "epsilon", "delta", "neighbours")

_DESCRIPTION = """Say how many examples suffice for error alpha, or with --n what n guarantees.

Learners are those of `geodp learn`.

For covers a theorem answers (Kaplan, Mansour, Matias, Stemmer 2019).  It is a worst case: it
assumes independent examples with right labels, and k pieces that fit them exactly, and then fails
with probability at most beta.  Runs usually need far fewer examples.

For tiles, and for a convex polygon by tiles, nothing is proved of the error; printed is the range
that nine of ten measured runs reached.

For votes of chunks (stability), printed is how many chunks K --queries and --halts take.

With --theorem NAME another theorem of the sources answers; --theorems lists them.

n must be a public number: do not take it from the private data."""


def add_parser(verbs: argparse._SubParsersAction[arguments.Parser]) -> None:
    """Add the verb and its options."""
    parser = arguments.add_verb(verbs, "plan", "how many examples suffice", _DESCRIPTION)
    arguments.add_learner(parser, "plan", _PARAMETERS)
    parser.add_argument(
        "--alpha",
        type=arguments.open_unit,
        default=0.1,
        help="error wanted (default %(default)s)",
    )
    parser.add_argument(
        "--grid",
        type=arguments.grid_size,
        default=DEFAULT_GRID,
        metavar="D",
        help=f"grid size d (default %(default)s); {LARGE_GRIDS}",
    )
    parser.add_argument("--n", type=arguments.count, help="say what this many examples give")
    theorems = parser.add_argument_group("theorems of the sources")
    theorems.add_argument("--theorems", action="store_true", help="list them and what each needs")
    theorems.add_argument("--theorem", metavar="NAME", help="apply this one")
    for name, text in (
        ("d", "number of variables or bits (default: --grid)"),
        ("size", "number of hypotheses"),
        ("vc", "VC dimension"),
        ("experts", "number of experts"),
        ("queries", "how many points are labelled by votes"),
        ("halts", "how many queries may stay without an answer"),
    ):
        theorems.add_argument(f"--{name}", type=arguments.count, metavar="N", help=text)
    theorems.add_argument(
        "--gamma",
        type=arguments.closed_unit,
        default=0.0,
        help="error of the best hypothesis (default %(default)s)",
    )
    theorems.add_argument(
        "--stable",
        type=arguments.positive,
        metavar="C",
        help="C, of a learner that is C/n-stable on average (soft-queries)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Work out what is proved and what such runs reached, and print it."""
    from learners.core.checks import within_floats

    try:
        within_floats(_plan)(options)
    except ValueError as error:
        raise InputError(str(error)) from None


def _plan(options: argparse.Namespace) -> None:
    if options.theorems:
        _list_theorems(options.json)
        return
    learner = _settle(options)
    _warn_of_budget(options, learner)
    if learner.id == "threshold" and options.theorem is None:
        from learners.cover.threshold_learner import threshold_class_size

        options.theorem = "private-finite"
        options.size = threshold_class_size(options.grid, options.direction)
    if learner.curved and options.theorem is None:
        _plan_curved(options, learner)
    if options.theorem is not None:
        _ask_theorem(options)
        return
    if "votes" in learner.shows:
        _plan_votes(options)
        return
    if options.k == "auto":
        _run_by_itself(options)
        return
    if not learner.counts:
        _run_by_tiles(options)
        return
    _plan_cover(options)


def _plan_cover(options: argparse.Namespace) -> None:
    """Print what is proved of covers with a given k, and what such runs reached."""
    from geodp_app.runs.practice import practice_document
    from geometry.halfplane import HalfplaneLattice
    from learners.theory.planner import (
        Setting,
        error_guaranteed,
        examples_needed,
        lattice_note,
    )
    from learners.theory.rule_of_thumb import NotMeasuredError

    setting = Setting(
        k=options.k,
        beta=options.beta,
        epsilon=options.epsilon,
        delta=options.delta,
        lattice=HalfplaneLattice(options.grid, options.measure),
        learner=options.learner,
        neighbours=options.neighbours,
    )
    if (options.learner, options.k) == ("cover", 1):
        proved, words = _plan_alone(options, setting)
    else:
        plan, by_itself = (
            examples_needed(one, options.alpha)
            if options.n is None
            else error_guaranteed(one, options.n)
            for one in (setting, replace(setting, account="naive"))
        )
        naive = {name: getattr(by_itself, name) for name in ("examples", "alpha", "eta")}
        coarse = lattice_note(setting.lattice)
        proved = {**plan.to_dict(), "naive": naive, "lattice": coarse}
        words = describe(plan, by_itself, options.alpha)
    try:
        found = practice_document(_settings(options), examples=options.n, error=options.alpha)
        reached = _practice(options)
    except NotMeasuredError as error:
        found = []
        reached = f"No estimate is made of what such runs reach in practice: {error}."
    print(json.dumps({**proved, "in_practice": found}) if options.json else f"{words}\n\n{reached}")


def _plan_alone(options: argparse.Namespace, setting: Setting) -> tuple[dict[str, Any], str]:
    """What is proved of one triangle that is drawn by its mistakes: JSON-ready, and in words.

    Raises
    ------
    ValueError
        If the budget is too small to run at all.
    """
    from learners.theory.planner import drawn_alone
    from learners.theory.theorems import alpha_for, examples_for, find_theorem

    theorem, drawn = find_theorem("private-finite"), drawn_alone(setting)
    n, alpha = options.n, options.alpha
    if n is None:
        n = examples_for(theorem, alpha, options.beta, drawn)
    else:
        alpha = alpha_for(theorem, n, options.beta, drawn)
    proved = {name: getattr(options, name) for name in (*_ASKED, "delta", "measure", "beta")}
    proved |= {"alpha": alpha, "examples": n, "steps": 1, "eta": drawn["epsilon"]}
    words = (
        f"{_verdict(n, alpha, options.alpha, options.beta)}\n\n"
        "one triangle, by its number of mistakes, with all of the budget: "
        f"eta = {drawn['epsilon']:.4f} a mistake\n\n"
        f"The guarantee is for: geodp learn --learner cover --k 1 --epsilon {options.epsilon} "
        f"--delta {options.delta} --grid {options.grid} --neighbours {options.neighbours} "
        f"--measure {options.measure}\n"
        "It holds for every triangle and distribution of the examples; runs usually need far\n"
        "fewer examples."
    )
    return {**proved, "theorem": theorem.name}, words


def _settle(options: argparse.Namespace) -> Learner:
    """The learner; options that are not given become its defaults."""
    if options.theorem is None:
        learner, given = arguments.resolved_learner(options, "plan", _PARAMETERS)
    else:
        learner = BY_ID[options.learner]
        given = {}
        if options.k == "auto":
            raise InputError("--k auto means nothing to a theorem: give a number")
    # a theorem may ask for what the learner has none of
    for each in (EPSILON, DELTA, NEIGHBOURS, MEASURE, BETA, replace(K, default=None)):
        if getattr(options, each.name) is None:
            setattr(options, each.name, given.get(each.name, each.default))
    return learner


def _warn_of_budget(options: argparse.Namespace, learner: Learner) -> None:
    """Of epsilon and delta; n is public here."""
    from geodp_app.runs.practice import warn_of_budget

    used = options.theorem is not None or learner.needs_delta
    warn_of_budget(options.epsilon, options.delta, used=used, n=options.n)


def _plan_curved(options: argparse.Namespace, learner: Learner) -> None:
    """Discs and ellipses: the theorem of any set cover, for as many as the lattice has."""
    from geometry.lift import ConicLattice

    options.theorem = "conic-cover"
    kind: ConicKind = "disc" if learner.piece == "disc" else "ellipse"
    options.size = ConicLattice(options.grid, kind).members


def _cover_settings(options: argparse.Namespace, alpha: float) -> dict[str, Any]:
    """Steps and beta of the run that the theorem of set covers is about."""
    from learners.boolean.conjunction_bounds import set_cover_examples

    plan = set_cover_examples(
        math.log(options.size), options.k, alpha, options.beta,
        epsilon=options.epsilon, delta=options.delta, neighbours=options.neighbours, softened=True,
    )  # fmt: skip
    return {"learner": options.learner, "steps": plan.steps, "learner_beta": plan.beta}


def _list_theorems(as_json: bool) -> None:
    """Print the names of all theorems."""
    from learners.theory.theorems import THEOREMS

    if as_json:
        print(json.dumps([_stated(theorem) for theorem in THEOREMS]))
        return
    for theorem in THEOREMS:
        needs = " ".join(f"--{name}" for name in theorem.needs)
        print(f"{theorem.name}: {theorem.promise}\n    {theorem.source}\n    needs {needs}")


def _stated(theorem: Theorem) -> dict[str, Any]:
    return {
        "theorem": theorem.name,
        "promise": theorem.promise,
        "source": theorem.source,
        "needs": list(theorem.needs),
        "counted": theorem.counted,
        "exact": theorem.exact,
        "necessary": theorem.necessary,
    }


def _ask_theorem(options: argparse.Namespace) -> None:
    """Print n for alpha, or with --n the alpha of n."""
    from learners.theory.theorems import alpha_for, examples_for, find_theorem, settings_for

    parameters = {**vars(options), "d": options.grid if options.d is None else options.d}
    theorem = find_theorem(options.theorem)
    if options.n is None:
        alpha: float | None = options.alpha
        n = examples_for(theorem, options.alpha, options.beta, parameters)
    else:
        n = options.n
        alpha = alpha_for(theorem, n, options.beta, parameters)
    settings = {} if not alpha else settings_for(theorem, alpha, options.beta, parameters)
    curved = BY_ID[options.learner].curved and theorem.name == "conic-cover"
    needed = _cover_settings(options, alpha) if curved and alpha and n else {}
    if options.json:
        asked = {name: parameters[name] for name in theorem.needs}
        answer = {"alpha": alpha, "beta": options.beta, "n": n, **settings, **needed}
        print(json.dumps({**_stated(theorem), **asked, **answer}))
        return
    print(_answer(theorem, n, alpha, options))
    if settings:  # of votes of chunks
        halts, chunks, each = settings.values()
        print(
            f"\nWith halts T = {halts:,} and K = {chunks:,} chunks of {each:,} examples or more "
            f"each: halts={halts}, chunks={chunks}."
        )
    if needed:
        steps, beta = needed["steps"], needed["learner_beta"]
        run = (options.learner, options.k, options.epsilon, options.delta, options.neighbours)
        print(f"\n{_guaranteed(*run, options.grid, steps, beta)}")


def _answer(
    theorem: Theorem, n: int | None, alpha: float | None, options: argparse.Namespace
) -> str:
    """The answer of a theorem in a few lines."""
    if n is None:
        verdict = f"No number of {theorem.counted} is known to suffice for {options.alpha:g}."
    elif alpha is None:
        verdict = f"{n:,} {theorem.counted}: nothing is proved (guarantee void)."
    else:
        relation = "are needed" if theorem.necessary else "suffice"
        about = "" if theorem.exact else "About "
        verdict = (
            f"{about}{n:,} {theorem.counted} {relation} for alpha = {alpha:.3g}, "
            f"except with probability {options.beta:g}."
        )
    order = "" if theorem.exact else "\nO(.): an order of growth, printed with constant 1."
    return f"{verdict}\n\n{theorem.promise}\n{theorem.source}{order}"


def _run_by_tiles(options: argparse.Namespace) -> None:
    """Print what runs by tiles reached."""
    from geodp_app.runs.practice import practice_document

    try:
        if options.json:
            found = practice_document(_settings(options), examples=options.n, error=options.alpha)
            _print_unproved(options, {"in_practice": found})
            return
        words = _practice(options)
    except ValueError as error:
        raise InputError(
            f"no plan can be made: {error}; for --learner cover a bound is proved"
        ) from None
    print(
        f"{words}\n\n"
        "Measured, not proved: what nine runs of ten by tiles reached, on the shapes that were\n"
        "tried (docs/accuracy.md).  Privacy holds for any shape.\n"
        "Of --learner cover and convex-cover a worst case is proved."
    )


def _print_unproved(options: argparse.Namespace, found: dict[str, Any]) -> None:
    asked = {name: getattr(options, name) for name in _ASKED} | {"proved": False}
    asked |= {"alpha": options.alpha} if options.n is None else {"examples": options.n}
    print(json.dumps({**asked, **found}))


def _run_by_itself(options: argparse.Namespace) -> None:
    """Print what covers that find k by themselves reached: nothing is proved of their error."""
    from geodp_app.runs.verdict import BY_ITSELF

    if options.json:
        _print_unproved(options, {"in_practice": []})
        return
    print(
        "Nothing is proved of the error of a cover that finds k by itself.  Privacy holds in any\n"
        f"case.  With a given k (--k K) a worst case is proved.\n\n{BY_ITSELF}"
    )


def _plan_votes(options: argparse.Namespace) -> None:
    """Print the chunks of a run by votes: nothing is proved of its own base learner's error."""
    from learners.stability.sparse_vector import plan_sparse_vector
    from learners.stability.stability_learner import DEFAULT_HALTS, DEFAULT_QUERIES
    from learners.stability.stable_queries import DEFAULT_AGREEMENT, DEFAULT_BETA, default_chunks

    queries, halts = options.queries or DEFAULT_QUERIES, options.halts or DEFAULT_HALTS
    budget = plan_sparse_vector(
        options.epsilon, options.delta, queries=queries, halts=halts, neighbours=options.neighbours
    )
    chunks = default_chunks(budget, None)
    if options.json:
        asked = {name: getattr(options, name) for name in _OF_VOTES} | {"proved": False}
        print(json.dumps({**asked, "queries": queries, "halts": halts, "chunks": chunks}))
        return
    each = f", of about {options.n / chunks:,.0f} examples each" if options.n else ""
    print(
        f"{queries:,} queries, of which T = {halts:,} may have no answer, plan K = {chunks:,} "
        f"chunks{each}:\nall queries on which {DEFAULT_AGREEMENT:.0%} of the chunks agree are then "
        f"answered, except with probability {DEFAULT_BETA:g}.\n\n"
        "Nothing is proved of the error of chunks that learn triangles.  For a class whose VC "
        "dimension is\nknown, n, T and K are told by: geodp plan --theorem queries, "
        "queries-agnostic, labels, labels-agnostic."
    )


def _settings(options: argparse.Namespace) -> Settings:
    """Of the runs that an estimate is about."""
    from learners.theory.rule_of_thumb import Settings

    names = ("learner", "epsilon", "delta", "neighbours", "measure", "grid", "k")
    return Settings(**{name: getattr(options, name) for name in (*names, "beta")})


def _practice(options: argparse.Namespace) -> str:
    """What to expect of runs, in a sentence."""
    from geodp_app.runs.practice import error_sentence, examples_sentence

    if options.n is None:
        return examples_sentence(_settings(options), options.alpha)
    return error_sentence(_settings(options), options.n)


def describe(plan: Plan, naive: Plan, wanted: float) -> str:
    """The plan in a few lines, beside that by naive composition."""
    from learners.theory.planner import lattice_note

    s = plan.setting
    pieces = "triangles" if s.learner == "cover" else "halfplanes"
    lines = [_verdict(plan.examples, plan.alpha, wanted, s.beta)]
    lines += [
        "",
        f"{counted(plan.steps, 'step')} for k = {s.k} {pieces}, each selection at "
        f"eta = {plan.eta:.4f} ({plan.account} account)",
        f"selection: at most {plan.selection_loss:,.0f} examples lost a step",
        f"noisy counts: within {plan.noise:,} examples",
        _naive(naive),
        "",
        _guaranteed(
            s.learner,
            s.k,
            s.epsilon,
            s.delta,
            s.neighbours,
            s.lattice.d,
            plan.steps,
            plan.learner_beta,
        )
        + f" --measure {s.lattice.measure}"
        # the theorem is about the triangles: nothing is proved of sharpened edges
        + (" --finish none" if s.learner == "cover" else ""),
        "It is a worst case over all shapes and samples; runs usually need far fewer examples.",
    ]
    if (note := lattice_note(s.lattice)) is not None:
        lines += ["", *textwrap.wrap(note, 96)]
    return "\n".join(lines)


def _naive(plan: Plan) -> str:
    """What the same would take, or guarantee, if every selection were charged by itself."""
    if plan.examples is None:
        words = "no number of examples would be proved to suffice"
    elif plan.alpha is None:
        words = "nothing below error 1/2 would be proved"
    else:
        words = f"{counted(plan.examples, 'example')} for error {plan.alpha:.3g}"
    return f"by naive composition (KMMS, example 3.3), which no run is charged by: {words}"


def _guaranteed(
    learner: str,
    k: int,
    epsilon: float,
    delta: float,
    neighbours: str,
    grid: int,
    steps: int,
    beta: float,
) -> str:
    """The run that a guarantee is for, with every digit: the proof is for these numbers."""
    return (
        f"The guarantee is for: geodp learn --learner {learner} --k {k} --steps {steps} "
        f"--beta {beta} --epsilon {epsilon} --delta {delta} --grid {grid} "
        f"--neighbours {neighbours}"
    )


def _verdict(examples: int | None, alpha: float | None, wanted: float, beta: float) -> str:
    if examples is None:
        return f"No number of examples is proved to suffice for error {wanted:g}."
    if alpha is None:
        return (
            f"{counted(examples, 'example')}: nothing below error 1/2 is proved (guarantee void)."
        )
    return (
        f"{examples:,} examples suffice for error at most {alpha:.3g} on new points, "
        f"with probability at least {1 - beta:g}."
    )
