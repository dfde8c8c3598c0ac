"""`geodp plan` tells how many examples suffice, or what a number of them guarantees."""

from __future__ import annotations

import argparse
import json
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from geodp_app.commands import Parser, arguments
from geodp_app.document.examples import DEFAULT_GRID, LARGE_GRIDS
from geodp_app.formatting import counted
from geodp_app.progress import warn_of_budget
from geometry.errors import InputError, refusals
from learners.declaration import Learner
from learners.registry import BETA, BY_ID, DELTA, EPSILON, MEASURE, NEIGHBOURS, K

if TYPE_CHECKING:
    from learners.theory.cover_sizes import CoverPlan
    from learners.theory.theorems import Theorem

#: Parameters that a plan depends on.
_ASKED = ("learner", "k", "epsilon", "neighbours", "grid")
_OF_VOTES = ("learner", "k", "epsilon", "delta", "neighbours", "grid")
_PARAMETERS = ("k", "direction", "measure", "beta", "epsilon", "delta", "neighbours")

PLAN = """Say how many examples suffice for error alpha, or with --n what n guarantees.

Of the learners of `geodp learn`, those that --learner names can be planned.

For covers a theorem answers (Kaplan, Mansour, Matias, Stemmer 2019). It is a worst case: it
assumes independent examples with right labels, and k pieces that fit them exactly, and then fails
with probability at most beta. Runs usually need far fewer examples.

For tiles, and for a convex polygon by tiles, nothing is proved of the error; printed is the range
that nine of ten measured runs reached.

For votes of chunks (stability), printed is how many chunks K --queries and --halts take.

With --theorem NAME another theorem of the sources answers; --theorems lists them.

n must be a public number: do not take it from the private data."""


def plan_options(parser: Parser) -> None:
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
        type=arguments.below_one,
        default=0.0,
        help="error of the best hypothesis (default %(default)s)",
    )
    theorems.add_argument(
        "--stable",
        type=arguments.positive,
        metavar="C",
        help="C, of a learner that is C/n-stable on average (soft-queries)",
    )
    arguments.add_flags(parser, "json")


def plan(options: argparse.Namespace) -> None:
    """Work out what is proved and what such runs reached, and print it."""
    from learners.theory.rule_of_thumb import within_floats

    with refusals():
        document, words = within_floats(_plan)(options)
    print(json.dumps(document) if options.json else words)


#: What is printed: as JSON, and in words.
_Answer = tuple[Any, str]


def _plan(options: argparse.Namespace) -> _Answer:
    from learners.theory.theorems import THEOREMS

    if options.theorems:
        lines = []
        for theorem in THEOREMS:
            needs = " ".join(f"--{name}" for name in theorem.needs)
            lines += [f"{theorem.name}: {theorem.promise}", f"    {theorem.source}"]
            lines.append(f"    needs {needs}")
        return [_stated(theorem) for theorem in THEOREMS], "\n".join(lines)
    learner = _settle(options)
    answer = _answered(options, learner)
    used = options.theorem is not None or learner.needs_delta
    # n is public here
    warn_of_budget(options.epsilon, options.delta, used=used, n=options.n)
    return answer


def _answered(options: argparse.Namespace, learner: Learner) -> _Answer:
    from learners.theory.theorems import find_theorem, theorem_of

    if options.theorem is not None:
        d = options.grid if options.d is None else options.d
        return _ask_theorem(options, find_theorem(options.theorem), {**vars(options), "d": d})
    if "votes" in learner.shows:
        return _plan_votes(options)
    alone = (learner.id, options.k) == ("cover", 1)
    asked = theorem_of(learner.id, vars(options), options.grid, alone=alone)
    if asked is None:
        return _plan_unproved(options)
    if "measure" in asked[0].takes or alone:
        return _plan_cover(options, *asked)
    return _ask_theorem(options, *asked)


def _found(
    options: argparse.Namespace, theorem: Theorem, parameters: dict[str, Any]
) -> tuple[int | None, float | None]:
    """n for alpha, or with --n the alpha of n; None where nothing is proved."""
    from learners.theory.theorems import alpha_for, examples_for

    if options.n is None:
        return examples_for(theorem, options.alpha, options.beta, parameters), options.alpha
    return options.n, alpha_for(theorem, options.n, options.beta, parameters)


def _plan_cover(
    options: argparse.Namespace, theorem: Theorem, parameters: dict[str, Any]
) -> _Answer:
    """What is proved of covers with a given k, and what such runs reached."""
    from learners.theory.cover_sizes import CoverPlan
    from learners.theory.rule_of_thumb import NotMeasuredError
    from learners.theory.theorems import plan_for

    n, alpha = _found(options, theorem, parameters)
    proved = {name: getattr(options, name) for name in (*_OF_VOTES, "measure", "beta")}
    proved |= {"alpha": alpha if n else None, "examples": n}
    if n is None:
        verdict = f"No number of examples is proved to suffice for error {options.alpha:g}."
    elif alpha is None:
        verdict = f"{counted(n, 'example')}: nothing below error 1/2 is proved (guarantee void)."
    else:
        verdict = f"{n:,} examples suffice for error at most {alpha:.3g} on new points, with "
        verdict += f"probability at least {1 - options.beta:g}."
    # nothing below 1/2 is proved: of that
    plan = plan_for(theorem, alpha or 0.5, options.beta, parameters)
    if isinstance(plan, CoverPlan):
        more, words = _described(options, theorem, parameters, plan, n)
    else:
        more = {"steps": 1, "eta": parameters["epsilon"], "theorem": theorem.name}
        words = (
            "one triangle, by its number of mistakes, with all of the budget: "
            f"eta = {parameters['epsilon']:.4f} a mistake\n\n{_guaranteed(options)}\n"
            "It holds for every triangle and distribution of the examples; runs usually need far\n"
            "fewer examples."
        )
    try:
        reached, found = _in_practice(options)
    except NotMeasuredError as error:
        found = []
        reached = f"No estimate is made of what such runs reach in practice: {error}."
    return {**proved, **more, "in_practice": found}, f"{verdict}\n\n{words}\n\n{reached}"


def _described(
    options: argparse.Namespace,
    theorem: Theorem,
    parameters: dict[str, Any],
    plan: CoverPlan,
    n: int | None,
) -> tuple[dict[str, Any], str]:
    """The run that is planned, JSON-ready and in a few lines, beside that by naive composition."""
    from geometry.halfplane import HalfplaneLattice
    from learners.theory.cover_sizes import CoverPlan, lattice_note
    from learners.theory.theorems import find_theorem, plan_for

    naive = find_theorem(f"{theorem.name}-naive")
    needed, alpha = _found(options, naive, parameters)
    other = cast(CoverPlan, plan_for(naive, alpha or 0.5, options.beta, parameters))
    note = lattice_note(HalfplaneLattice(options.grid, options.measure))
    more: dict[str, Any] = {"steps": plan.steps, "learner_beta": plan.beta}
    for name in ("eta", "account", "noise", "selection_loss"):
        more[name] = getattr(plan, name)
    more["training_error"] = None if n is None else plan.training_error(n)
    more["naive"] = {"examples": needed, "alpha": alpha if needed else None, "eta": other.eta}
    more["lattice"] = note
    if needed is None:
        by_itself = "no number of examples would be proved to suffice"
    elif alpha is None:
        by_itself = "nothing below error 1/2 would be proved"
    else:
        by_itself = f"{counted(needed, 'example')} for error {alpha:.3g}"
    pieces = "triangles" if options.learner == "cover" else "halfplanes"
    lines = [
        f"{counted(plan.steps, 'step')} for k = {options.k} {pieces}, each selection at "
        f"eta = {plan.eta:.4f} ({plan.account} account)",
        f"selection: at most {plan.selection_loss:,.0f} examples lost a step",
        f"noisy counts: within {plan.noise:,} examples",
        f"by naive composition (KMMS, example 3.3), which no run is charged by: {by_itself}",
        "",
        _guaranteed(options, plan),
        "It is a worst case over all shapes and samples; runs usually need far fewer examples.",
    ]
    if note is not None:
        lines += ["", *textwrap.wrap(note, 96)]
    return more, "\n".join(lines)


def _guaranteed(options: argparse.Namespace, plan: CoverPlan | None = None) -> str:
    """The run that a guarantee is for, with every digit: the proof is for these numbers."""
    planned = {} if plan is None else {"steps": plan.steps, "beta": plan.beta}
    given = {name: getattr(options, name) for name in ("epsilon", "delta", "grid", "neighbours")}
    given = {"learner": options.learner, "k": options.k, **planned, **given}
    if not BY_ID[options.learner].curved:
        given["measure"] = options.measure
    if plan is not None and options.learner == "cover":
        # the theorem is about the triangles: nothing is proved of sharpened edges
        given["finish"] = "none"
    typed = " ".join(f"--{name} {value}" for name, value in given.items())
    return f"The guarantee is for: geodp learn {typed}"


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


def _stated(theorem: Theorem) -> dict[str, Any]:
    names = ("promise", "source", "needs", "counted", "exact", "necessary")
    return {"theorem": theorem.name, **{name: getattr(theorem, name) for name in names}}


def _ask_theorem(
    options: argparse.Namespace, theorem: Theorem, parameters: dict[str, Any]
) -> _Answer:
    """What a theorem says, and the run that its promise is for where it chooses one."""
    from learners.stability.query_sizes import QuerySizes
    from learners.theory.cover_sizes import CoverPlan
    from learners.theory.theorems import plan_for

    n, alpha = _found(options, theorem, parameters)
    plan = plan_for(theorem, alpha, options.beta, parameters) if alpha and n else None
    settings: dict[str, Any] = {}
    more = ""
    if isinstance(plan, QuerySizes):
        settings = {"halts": plan.halts, "chunks": plan.chunks, "examples_of_a_chunk": plan.each}
        more = (
            f"\n\nWith halts T = {plan.halts:,} and K = {plan.chunks:,} chunks of {plan.each:,} "
            f"examples or more each: halts={plan.halts}, chunks={plan.chunks}."
        )
    elif isinstance(plan, CoverPlan) and options.learner in ("discs", "ellipses"):
        settings = {"learner": options.learner, "steps": plan.steps, "learner_beta": plan.beta}
        more = f"\n\n{_guaranteed(options, plan)}"
    asked = {name: parameters[name] for name in theorem.needs}
    answer = {"alpha": alpha, "beta": options.beta, "n": n, **settings}
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
    words = f"{verdict}\n\n{theorem.promise}\n{theorem.source}{order}{more}"
    return {**_stated(theorem), **asked, **answer}, words


def _plan_unproved(options: argparse.Namespace) -> _Answer:
    """What runs reached of whose error nothing is proved: by tiles, or covers that find k."""
    from geodp_app.runs.practice import measured_words
    from learners.theory.rule_of_thumb import NotMeasuredError, means_of

    found: list[dict[str, Any]] = []
    if options.k == "auto":
        words = (
            "Nothing is proved of the error of a cover that finds k by itself. Privacy holds in "
            "any\ncase. With a given k (--k K) a worst case is proved.\n\n"
            f"{measured_words(means_of(options.learner))} Of other settings no estimate is made."
        )
    else:
        try:
            reached, found = _in_practice(options)
        except NotMeasuredError as error:
            raise InputError(
                f"no plan can be made: {error}; for --learner cover a bound is proved"
            ) from None
        words = (
            f"{reached}\n\n"
            "Measured, not proved: what nine runs of ten by tiles reached, on the shapes that "
            "were\ntried (docs/accuracy.md). Privacy holds for any shape.\n"
            "Of --learner cover and convex-cover a worst case is proved."
        )
    asked = {name: getattr(options, name) for name in _ASKED} | {"proved": False}
    asked |= {"alpha": options.alpha} if options.n is None else {"examples": options.n}
    return {**asked, "in_practice": found}, words


def _in_practice(options: argparse.Namespace) -> tuple[str, list[dict[str, Any]]]:
    """What to expect of runs."""
    from geodp_app.runs.practice import in_practice

    asked = options.learner, vars(options), options.grid
    return in_practice(*asked, examples=options.n, error=options.alpha)


def _plan_votes(options: argparse.Namespace) -> _Answer:
    """The chunks of a run by votes: nothing is proved of its own base learner's error."""
    from learners.stability.stability_learner import DEFAULT_HALTS, DEFAULT_QUERIES
    from learners.stability.stable_queries import (
        DEFAULT_AGREEMENT,
        DEFAULT_BETA,
        default_chunks,
        plan_sparse_vector,
    )

    queries, halts = options.queries or DEFAULT_QUERIES, options.halts or DEFAULT_HALTS
    budget = plan_sparse_vector(
        options.epsilon, options.delta, queries=queries, halts=halts, neighbours=options.neighbours
    )
    chunks = default_chunks(budget, None)
    asked = {name: getattr(options, name) for name in _OF_VOTES} | {"proved": False}
    each = f", of about {options.n / chunks:,.0f} examples each" if options.n else ""
    words = (
        f"{queries:,} queries, of which T = {halts:,} may have no answer, plan K = {chunks:,} "
        f"chunks{each}:\nall queries on which {DEFAULT_AGREEMENT:.0%} of the chunks agree are then "
        f"answered, except with probability {DEFAULT_BETA:g}.\n\n"
        "Nothing is proved of the error of chunks that learn triangles. For a class whose VC "
        "dimension is\nknown, n, T and K are told by: geodp plan --theorem queries, "
        "queries-agnostic, labels, labels-agnostic."
    )
    return {**asked, "queries": queries, "halts": halts, "chunks": chunks}, words
