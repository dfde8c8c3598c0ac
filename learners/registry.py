"""Declares every learner once: its name, its promise, its parameters, where it is offered.

A new learner is a module and an entry here: command line, window, comparison, audit and catalogue
offer it by this entry (docs/architecture.md has the exercise).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

from learners.declaration import Learner, Parameter, Place, Role

#: So many take ten minutes and more, and their counts at epsilon = 1 are off by half a million.
MOST_STEPS = 100_000

#: More tiles a side are never chosen, and are refused: each takes its time, however few examples.
MOST_TILES = 128

# -- parameters that learners share --------------------------------------------------------

EPSILON = Parameter(
    "epsilon", "number", "ε",
    "How much one report may change what is published: any result is at most e^ε times as likely "
    "with the report as without it. Smaller protects more and needs more reports.",
    1.0, low=0, open=True,
)  # fmt: skip
DELTA = Parameter(
    "delta", "number", "δ",
    "Probability with which the promise of ε may fail; keep it far below one over the number of "
    "people.",
    1e-6, low=0, high=1, open=True,
)  # fmt: skip
NEIGHBOURS = Parameter(
    "neighbours", "choice", "Neighbours",
    "What a stranger may not find out: whether one example was there at all, or which of two it "
    "was.",
    "add-remove",
    choices=(
        ("add-remove", "Add or remove one"),
        ("replace-one", "Replace one"),
    ),
)  # fmt: skip
SEED = Parameter(
    "seed", "whole number", "Seed",
    "Makes the run repeatable and therefore not private: for tests and demonstrations.",
    unset="drawn from the operating system: private",
)  # fmt: skip
MEASURE = Parameter(
    "measure", "choice", "Measure",
    "Which halfplanes are equally likely before any example is seen: those whose boundaries are "
    "spread evenly over the square (chord), or the box of the paper.",
    "chord", choices=(("chord", "Chord"), ("paper", "Paper")), advanced=True,
)  # fmt: skip
K = Parameter(
    "k", "whole number", "Pieces k", "How many pieces a good shape has.", 4, low=1, high=1_000
)
STEPS = Parameter(
    "n_steps", "whole number", "Steps m",
    "How many pieces are picked. A few more than k make up for pieces that fit badly.",
    unset="1 for k = 1, else 3k", low=1, high=MOST_STEPS, option="steps", advanced=True,
)  # fmt: skip
FINISH = Parameter(
    "finish", "choice", "Acts",
    "Triangles alone, as in the paper. Or these with three tenths of epsilon, and then every edge "
    "drawn again among the examples nearest to it; one triangle by its mistakes.",
    "sharpen", choices=(("none", "Triangles"), ("sharpen", "Triangles, then sharpen")),
)  # fmt: skip
STEPS_SHARPENED = replace(STEPS, unset="1 for k = 1, else 2k; at most 8 for k = auto")
ALPHA = Parameter(
    "alpha", "number", "Error α",
    "Picks as many pieces as the theorem needs for this error: 2k ln(2/α).",
    unset="by the number of steps", low=0, high=1, open=True, of_code=True,
)  # fmt: skip
BETA = Parameter(
    "beta", "number", "Failure β",
    "Probability with which some noisy count may exceed the true one. Privacy does not depend on "
    "it.",
    0.1, low=0, high=1, open=True, advanced=True,
)  # fmt: skip
TILES = Parameter(
    "tiles", "whole number", "Tiles a side",
    "Into how many tiles a side of the square is divided.",
    unset="chosen by a noisy number of examples", low=1, high=MOST_TILES, advanced=True,
)  # fmt: skip
EDGES = Parameter(
    "edges", "whole number", "Edges",
    "Most edges of a tile's piece. One is faster where many labels are wrong.",
    2, low=1, high=2, of_code=True,
)  # fmt: skip
SUPPORT = Parameter(
    "support", "number", "Support",
    "Share of epsilon that also releases where there were enough reports to say anything.",
    unset="not released", low=0, high=1, open=True, advanced=True,
)  # fmt: skip
CHECK = Parameter(
    "check", "number", "Checked by",
    "Share of the reports that is kept from the learner, to say how right the shape is: noisy "
    "counts of them are published, and between what limits the share on its right side lies.",
    unset="not checked", low=0, high=1, open=True,
)  # fmt: skip
DIRECTION = Parameter(
    "direction", "choice", "Labelled 1",
    "On which side of the border points are labelled 1.",
    unset="learned too",
    choices=(
        ("right", "right of it"), ("left", "left of it"), ("above", "above it"),
        ("below", "below it"),
    ),
)  # fmt: skip
CELLS = Parameter(
    "cells", "whole number", "Cells a side",
    "Into how many cells a side of the square is divided.",
    unset="chosen by a noisy number of examples", low=1, of_code=True,
)  # fmt: skip
SELECTION = Parameter(
    "selection", "choice", "Sampler",
    "How a piece is drawn: by refining an envelope, or from all cells of a tiny arrangement.",
    "envelope", choices=(("envelope", "Envelope"), ("arrangement", "Arrangement")), of_python=True,
    of_code=True,
)  # fmt: skip
LEVELS = Parameter(
    "levels", "whole number", "Levels", "Levels of each normal of a halfspace.", 128, low=2
)
REACH = Parameter(
    "reach", "whole number", "Reach", "Largest entry of a normal of a halfspace.", 4, low=1, high=12
)
CENTRES = Parameter(
    "centres", "whole number", "Centres", "Centres of balls along a side of the cube.", 17,
    low=2, high=129,
)  # fmt: skip
DEGREE = Parameter(
    "degree", "whole number", "Degree", "Degree of the polynomial.", 2, low=2, high=3
)
CHUNKS = Parameter(
    "chunks", "whole number", "Chunks K",
    "Into how many chunks the examples are divided; each trains a learner of its own.",
    unset="planned from ε and δ", low=1, high=1_000_000, of_python=True,
)  # fmt: skip
QUERIES = Parameter(
    "queries", "whole number", "Queries",
    "How many public points are labelled by votes.", 1000, low=1, of_python=True, of_code=True,
)  # fmt: skip
MECHANISM = Parameter(
    "mechanism", "choice", "Mechanism",
    "A draw by the exponential mechanism, or noise on the losses of the whole list.",
    "exponential", choices=(("exponential", "Exponential"), ("laplace", "Noise on all losses")),
)  # fmt: skip
#: Four billion examples of such losses have sums that 64 bits hold.
_MOST_LOSS = 10**9

BOUND = Parameter(
    "bound", "whole number", "Bound", "Largest loss of one example.", 1, low=1, high=_MOST_LOSS
)
LOSS_LEVELS = Parameter(
    "levels", "whole number", "Levels",
    "Real losses in [0, 1] are rounded to so many steps.", unset="losses are whole numbers", low=1,
    high=_MOST_LOSS,
)  # fmt: skip
ACCOUNT = Parameter(
    "account", "choice", "Account", "How counts and selections are charged together.", "optimal",
    choices=tuple((name, name) for name in ("optimal", "basic", "zcdp", "set-cover", "naive")),
)  # fmt: skip
HALTS = Parameter(
    "halts", "whole number", "Halts T",
    "How many points may stay without an answer before the run ends.", 1, low=1, high=1_000,
    of_python=True,
)  # fmt: skip
KEPT = Parameter(
    "kept", "whole number", "Kept for you",
    "How many of the halts are kept for the points that you ask about after the run, and half of "
    "the queries with them. More halts need more chunks.",
    0, high=999, of_python=True,
)  # fmt: skip

MONOTONE = Parameter(
    "monotone", "choice", "Literals",
    "Variables and their negations; or variables alone, a smaller class that needs fewer examples.",
    False, choices=((False, "negated too"), (True, "variables alone")), of_python=True,
)  # fmt: skip

_PRIVACY = (EPSILON, DELTA, NEIGHBOURS, SEED)
_SHAPES = (CHECK, *_PRIVACY)
_PURE = (EPSILON, NEIGHBOURS, SEED)

#: Of a learner that can protect labels alone, where all may know what else the examples are.
RELATIONS = replace(
    NEIGHBOURS, choices=(*NEIGHBOURS.choices, ("replace-label", "Replace one label"))
)

_EVERYWHERE: frozenset[Place] = frozenset({"learn", "compare", "plan", "window"})
_NOT_PLANNED: frozenset[Place] = frozenset({"learn", "compare", "window"})
_COMPARED: frozenset[Place] = frozenset({"compare", "window"})


def _k(counts: str, default: int) -> Parameter:
    label = counts.split()[0].capitalize()
    return replace(
        K, default=default, label=f"{label} k", help=f"How many {counts}.", counts=counts
    )


# -- learners ------------------------------------------------------------------------------

_TRIANGLES, _POLYGON = "triangles that cover the region", "edges of the convex polygon"

_K_OR_AUTO = replace(
    _k(_TRIANGLES, 4), default="auto",
    help=f"How many {_TRIANGLES}, or auto: the run finds by itself, privately, how many it takes.",
    auto="found by the run itself",
)  # fmt: skip


def _formulas(form: Role) -> tuple[Learner, ...]:
    """The learners of one of the two forms of formulas."""
    k, of = _k(f"literals of the {form}", 4), form.capitalize()
    which = "most specific" if form == "conjunction" else "most general"
    whole = "learners.boolean.consistent_conjunction"
    return (
        Learner(
            form, f"Private {form}", f"Learns a {form} of literals, picked one after the other.",
            f"learners.boolean.conjunction.{of}Learner",
            "(epsilon, delta)-DP, (alpha, beta)-PAC at the planned n; account='naive' is naive "
            "composition", (3, 4, 5), role=form, piece="literal",
            parameters=(k, STEPS, ALPHA, BETA, ACCOUNT, *_PRIVACY),
        ),
        Learner(
            f"strawman-{form}", f"Strawman {form}",
            f"Lists the good literals privately, and covers by a {form} from the list.",
            f"learners.boolean.conjunction.Strawman{of}Learner",
            "(epsilon, delta)-DP, (alpha, beta)-PAC at the planned n, which grows as the number of "
            "variables", (5,), role=form, piece="literal",
            parameters=(k, STEPS, BETA, *_PRIVACY),
        ),
        Learner(
            f"greedy-{form}", f"Greedy {form}",
            f"Learns a {form} by the best literal of every step, without privacy.",
            f"{whole}.Greedy{of}Learner",
            "not private; consistent, at most k ln n literals if k suffice", (1,),
            role=form, piece="literal",
            parameters=(replace(STEPS, unset="until nothing is left to gain"),),
        ),
        Learner(
            f"consistent-{form}", f"Consistent {form}",
            f"Takes the {which} {form} that agrees with all examples, without privacy.",
            f"{whole}.Consistent{of}Learner",
            f"not private; the {which} consistent {form}, (alpha, beta)-PAC", (1, 20),
            role=form, piece="literal", parameters=(MONOTONE,),
        ),
        Learner(
            f"private-consistent-{form}", f"Private consistent {form}",
            f"Draws a {form} from all there are, the likelier the fewer its mistakes.",
            f"{whole}.PrivateConsistent{of}Learner",
            f"epsilon-DP, (alpha, beta)-PAC; over all 3^d + 1 {form}s, or the 2^d monotone ones; "
            "small d", (20,), role=form, piece="concept", parameters=(MONOTONE, *_PURE),
        ),
    )  # fmt: skip


def _conics(piece: Literal["disc", "ellipse"]) -> Learner:
    """The learner of unions of discs, or of ellipses."""
    several = f"{piece}s"
    return Learner(
        several, several.capitalize(),
        f"Covers the shape by {several}, picked one after the other.",
        f"learners.curved.curved_learners.{piece.capitalize()}UnionLearner",
        f"(epsilon, delta)-DP by a cover of {several}, which are halfspaces of a lift; "
        "(alpha, beta)-PAC by the theorem of any set cover", (11,), role="disjunction", piece=piece,
        parameters=(_k(f"{several} that cover the region", 1), STEPS, BETA, *_SHAPES),
        shows=frozenset({"odds"}), offered=_EVERYWHERE,
    )  # fmt: skip


# fmt: off
LEARNERS: tuple[Learner, ...] = (
    Learner(
        "cover", "Set cover by triangles",
        "Picks triangles that cover the shape, one after the other, as the paper does. Sharpening "
        "their edges is a second act of its own.",
        "learners.cover.polygons.PolygonUnionLearner",
        "(epsilon, delta)-DP by a cover of k triangles; (alpha, beta)-PAC at the planned n if it "
        "stops there", (3, 8),
        parameters=(_K_OR_AUTO, STEPS_SHARPENED, FINISH, ALPHA, BETA, MEASURE, SELECTION, *_SHAPES),
        role="disjunction", piece="triangle", shows=frozenset({"dual plane", "odds", "boxes"}),
        offered=_EVERYWHERE,
    ),
    Learner(
        "tiles", "Tiles",
        "Divides the square into as many tiles as the examples ask for, and learns a piece of at "
        "most two edges in each.", "learners.cover.polygons.PolygonUnionLearner",
        "epsilon-DP by tiles, each with all of epsilon; nothing is proved of the error", (3, 8),
        parameters=(TILES, EDGES, SUPPORT, MEASURE, *_SHAPES), piece="tile",
        shows=frozenset({"dual plane", "odds", "tiles", "boxes"}), offered=_EVERYWHERE,
        needs_delta=False,
    ),
    Learner(
        "convex", "Convex polygon",
        "Learns tiles, and fits the one convex polygon that agrees with them best.",
        "learners.cover.polygons.ConvexPolygonLearner",
        "epsilon-DP by tiles, to which a convex polygon is fitted; nothing is proved of the error",
        (3, 7), parameters=(TILES, EDGES, MEASURE, *_SHAPES), role="conjunction", piece="halfplane",
        shows=frozenset({"dual plane"}), offered=_EVERYWHERE, needs_delta=False,
    ),
    Learner(
        "convex-cover", "Set cover by halfplanes",
        "Cuts the shape out by halfplanes, picked one after the other.",
        "learners.cover.polygons.ConvexPolygonLearner",
        "(epsilon, delta)-DP by a cover of k halfplanes; (alpha, beta)-PAC at the planned n",
        (3, 7), parameters=(_k(_POLYGON, 4), STEPS, ALPHA, BETA, MEASURE, SELECTION, *_SHAPES),
        role="conjunction", piece="halfplane", shows=frozenset({"dual plane", "odds", "boxes"}),
        offered=_EVERYWHERE,
    ),
    _conics("disc"),
    _conics("ellipse"),
    Learner(
        "threshold", "Threshold along an axis",
        "Learns one straight border along an axis, in one draw with all of ε.",
        "learners.cover.threshold_learner.ThresholdLearner",
        "epsilon-DP, (alpha, beta)-PAC at the planned n; a halfplane with one free coordinate, "
        "all of the square, or nothing", (16,), parameters=(DIRECTION, *_SHAPES),
        role="conjunction", piece="halfplane", shows=frozenset({"dual plane"}), offered=_EVERYWHERE,
        needs_delta=False,
    ),
    Learner(
        "stability", "Triangles by votes",
        "Trains a learner on each of a few hundred chunks, and labels public points by their "
        "votes where these are stable.", "learners.stability.stability_learner.StabilityLearner",
        "(epsilon, delta)-DP; public grid points are labelled by stable votes, then k triangles "
        "learned from these", (26, 27),
        parameters=(
            _k(_TRIANGLES, 4), CHUNKS, QUERIES, HALTS, KEPT, CHECK, EPSILON, DELTA, RELATIONS, SEED,
        ),
        role="disjunction", piece="triangle", shows=frozenset({"dual plane", "votes"}),
        offered=_EVERYWHERE,
    ),
    Learner(
        "histogram", "Interpolated noisy histogram",
        "Counts labels in cells with noise, smooths the counts and interpolates between cells: on "
        "coasts ahead of tiles up to some 10,000 evenly spread reports.",
        "learners.baselines.noisy_histogram.NoisyHistogramLearner",
        "epsilon-DP; linear binning, smoothed, interpolated; vectorised to polygons", (32,),
        fixed=(("smooth", True),), parameters=(CELLS, *_SHAPES), piece="tile",
        shows=frozenset({"tiles"}), offered=_NOT_PLANNED, needs_delta=False,
    ),
    Learner(
        "plain-histogram", "Plain noisy histogram",
        "Counts labels in square cells with noise, and labels each cell by the majority.",
        "learners.baselines.noisy_histogram.NoisyHistogramLearner",
        "epsilon-DP; vectorised to polygons", (32,), fixed=(("smooth", False),),
        parameters=(CELLS, *_SHAPES), piece="tile", shows=frozenset({"tiles"}),
        offered=_NOT_PLANNED, needs_delta=False,
    ),
    Learner(
        "quadtree", "Noisy quadtree",
        "Divides the square into four, and again where labels differ, by noisy counts.",
        "learners.baselines.quadtree.QuadtreeLearner",
        "epsilon-DP (PrivTree with labels); vectorised to polygons", (33,), parameters=_SHAPES,
        piece="tile", shows=frozenset({"tiles"}), offered=_NOT_PLANNED, needs_delta=False,
    ),
    Learner(
        "greedy-cover", "Greedy cover (not private)",
        "Covers the shape by the best triangle of every step, without privacy.",
        "learners.baselines.greedy.GreedyUnionLearner",
        "not private; consistent with the sample if k triangles are", (9,),
        parameters=(_k(_TRIANGLES, 4), STEPS, MEASURE), role="disjunction", piece="triangle",
        shows=frozenset({"dual plane", "odds"}), offered=_COMPARED,
    ),
    Learner(
        "greedy-convex", "Greedy convex polygon (not private)",
        "Cuts the shape out by the best halfplane of every step, without privacy.",
        "learners.baselines.greedy.GreedyConvexLearner",
        "not private; consistent with the sample if k halfplanes are", (9,),
        parameters=(_k(_POLYGON, 4), STEPS, MEASURE), role="conjunction", piece="halfplane",
        shows=frozenset({"dual plane", "odds"}), offered=_COMPARED,
    ),
    # three dimensions
    Learner(
        "polytope", "Convex polytope in three dimensions",
        "Cuts a body out by halfspaces, picked one after the other.",
        "learners.curved.curved_learners.ConvexPolytopeLearner",
        "(epsilon, delta)-DP by a cover of halfspaces of a small public class; time exponential "
        "in the dimension", (10,),
        parameters=(_k("faces of the polytope", 4), REACH, LEVELS, STEPS, BETA, *_SHAPES),
        role="conjunction", piece="halfspace",
    ),
    Learner(
        "simplices", "Union of simplices in three dimensions",
        "Covers a body by simplices, picked one after the other.",
        "learners.curved.curved_learners.SimplexUnionLearner",
        "(epsilon, delta)-DP by a cover of simplices of a small public class; time exponential in "
        "the dimension", (10,),
        parameters=(
            _k("simplices that cover the body", 1), replace(LEVELS, default=8), STEPS, BETA,
            *_SHAPES,
        ),
        role="disjunction", piece="simplex",
    ),
    Learner(
        "balls", "Union of balls in three dimensions",
        "Covers a body by balls, picked one after the other.",
        "learners.curved.curved_learners.BallUnionLearner",
        "(epsilon, delta)-DP by a cover of balls of a small public class, which are halfspaces of "
        "a lift", (10, 11),
        parameters=(
            _k("balls that cover the body", 1), CENTRES,
            replace(LEVELS, default=32, help="Radii of each centre of balls.", low=1),
            STEPS, BETA, *_SHAPES,
        ),
        role="disjunction", piece="ball",
    ),
    Learner(
        "polynomials", "Union of regions bounded by polynomials",
        "Covers the shape by regions bounded by a polynomial, picked one after the other.",
        "learners.curved.curved_learners.PolynomialUnionLearner",
        "(epsilon, delta)-DP by a cover of regions of degree 2 or 3 of a small public class, "
        "which are halfspaces of a lift", (11,),
        parameters=(
            _k("regions that cover the shape", 1), DEGREE,
            replace(REACH, default=2, help="Largest coefficient of a polynomial.", high=8),
            replace(LEVELS, default=64, help="Levels of each polynomial."),
            STEPS, BETA, *_SHAPES,
        ),
        role="disjunction", piece="region", offered=frozenset({"learn", "compare"}),
    ),
    # Boolean functions
    *itertools.chain(*zip(_formulas("conjunction"), _formulas("disjunction"), strict=True)),
    Learner(
        "parity", "Parity by elimination", "Solves the equations of the examples over GF(2).",
        "learners.boolean.parity.ParityLearner",
        "not private; a consistent parity over GF(2), (alpha, beta)-PAC", (14,), piece="concept",
    ),
    Learner(
        "private-parity", "Private parity",
        "Solves the equations of a random part of the examples, or gives no answer.",
        "learners.boolean.parity.PrivateParityLearner",
        "epsilon-DP, (alpha, beta)-PAC with beta, by amplification", (17,),
        parameters=(
            replace(
                BETA, help="Probability with which no parity is found.",
                unset="one half, with one block",
            ),
            Parameter(
                "constants", "choice", "Constants", "The tight ones, or those of the source.",
                "tight", choices=(("tight", "Tight"), ("source", "Source")),
            ),
            Parameter(
                "test_share", "number", "Test share",
                "Share of the examples on which the parities that were found are compared.", 0.0,
                high=1,
            ),
            *_PURE,
        ),
        piece="concept",
    ),
    # lists
    Learner(
        "finite-class", "Learner of a finite class",
        "Takes the concept of a list with the fewest mistakes.",
        "learners.finite.finite_class.FiniteClassLearner",
        "not private; fewest mistakes, (alpha, beta)-PAC proper and agnostic", (14, 15),
        piece="concept",
    ),
    Learner(
        "private-finite-class", "Private learner of a finite class",
        "Draws a concept of a list, the likelier the fewer its mistakes.",
        "learners.finite.finite_class.PrivateFiniteClassLearner",
        "epsilon-DP, (alpha, beta)-PAC proper and agnostic", (16,), parameters=(MECHANISM, *_PURE),
        piece="concept",
    ),
    Learner(
        "empirical-risk", "Empirical risk minimization",
        "Takes the hypothesis of a list with the least loss.",
        "learners.finite.empirical_risk.EmpiricalRiskMinimizer",
        "not private; the least loss on the sample, with uniform convergence", (19,),
        parameters=(BOUND, LOSS_LEVELS), piece="concept",
    ),
    Learner(
        "private-empirical-risk", "Private empirical risk minimization",
        "Draws a hypothesis of a list, the likelier the smaller its loss.",
        "learners.finite.empirical_risk.PrivateERM",
        "epsilon-DP for bounded losses; by the exponential mechanism or by noise on all losses",
        (19,), parameters=(BOUND, LOSS_LEVELS, MECHANISM, *_PURE), piece="concept",
    ),
    Learner(
        "memorizing", "Examples by heart",
        "Agrees with its examples and is random elsewhere: to demonstrate overfitting.",
        "learners.finite.finite_class.MemorizingLearner",
        "not private, and no learner: no error on the sample, one half on what is new", (13,),
        parameters=(SEED,), piece="concept",
    ),
)
# fmt: on

#: By their id.
BY_ID: dict[str, Learner] = {learner.id: learner for learner in LEARNERS}

#: Modules of the learners' classes, and of two that play a game and learn from no examples.
HOMES: dict[str, str] = {
    **{learner.class_name: learner.path.rpartition(".")[0] for learner in LEARNERS},
    **dict.fromkeys(("MultiplicativeWeights", "PrivateExperts"), "learners.finite.experts"),
}

#: What learners were called before, in one place or another.
_FORMER = {
    "union": ("cover", "tiles"),
    "greedy": ("greedy-cover",),
    "greedy-union": ("greedy-cover",),
    "finite-laplace": ("private-finite-class-laplace",),
}


def offered(place: Place) -> tuple[Learner, ...]:
    """The learners that a place offers, in order."""
    return tuple(learner for learner in LEARNERS if place in learner.offered)


def declared(learners: Iterable[Learner], name: str) -> list[Parameter]:
    """What learners declare of a parameter, each that has it."""
    return [found for each in learners if (found := each.parameter(name)) is not None]


def check_declared(class_name: str, given: Mapping[str, Any]) -> None:
    """Refuse a value that no learner of a class declares: files of a release would not be read.

    Raises
    ------
    ValueError
        If there is one; None, and parameters that nobody declares, are a matter of the class.

    Examples
    --------
    >>> check_declared("DiscUnionLearner", {"k": 1_000, "bounds": None})
    """
    own = [each for each in LEARNERS if each.class_name == class_name]
    for name, value in given.items():
        known = declared(own, name)
        if known and value is not None and not any(each.accepts(value) for each in known):
            raise ValueError(known[0].refusal(value))


def resolved_parameters(
    learner: Learner,
    given: Mapping[str, Any],
    place: Place,
    *,
    typed: bool = False,
    asks_k: bool = False,
) -> dict[str, Any]:
    """The parameters of a learner: those given, else as declared.

    What no learner takes is left to the class, which says why.

    Parameters
    ----------
    learner : Learner
    given : mapping of str to value
    place : str
        Whose learners are named for what this one does not take.
    typed : bool
        Whether people know the parameters as options of the command line.
    asks_k : bool
        Whether k has to be given where the learner does not find it.

    Raises
    ------
    ValueError
        If one is given that means nothing to the learner, or is another's value, or k is missing.

    Examples
    --------
    >>> resolved_parameters(BY_ID["threshold"], {"epsilon": 2.0}, "learn")["delta"]
    1e-06
    """
    dashes = "--" if typed else ""
    for name, value in given.items():
        own = learner.parameter(name)
        others = {one.id: p for one in offered(place) if (p := one.parameter(name)) is not None}
        said = f"--{next(iter(others.values())).typed}" if typed else name
        if own is None:
            text = f"it takes {', '.join(each.name for each in learner.parameters)}"
            if others:
                text = f"leave it out, or take {dashes}learner {_or(others)}"
            if name == "k" and learner.id in _WITH_K:
                text = f"with k pieces it is {dashes}learner {_WITH_K[learner.id]} {dashes}k K"
            raise ValueError(f"{said} means nothing to {learner.id}: {text}")
        takers = [other for other, declared in others.items() if declared.accepts(value)]
        if takers and not own.accepts(value):
            raise ValueError(
                f"{said} {value} means nothing to {learner.id}: it is for "
                f"{dashes}learner {_or(takers)}"
            )
    k = learner.parameter("k")
    if asks_k and k is not None and not k.auto and "k" not in given:
        raise ValueError(f"{learner.id} needs {dashes}k: {learner.counts}")
    return {each.name: given.get(each.name, each.default) for each in learner.parameters}


#: What `k` asks for, of learners that have none.
_WITH_K = {"tiles": "cover", "convex": "convex-cover"}


def _or(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def unknown_learner(name: str, known: Iterable[str]) -> str:
    """What to say of a name that is none of those known: the new one, if it is an old one.

    Examples
    --------
    >>> unknown_learner("union", ["cover", "tiles"])
    "the learner 'union' is now called cover or tiles"
    """
    known = tuple(known)
    now = [new for new in (*_FORMER.get(name, ()), f"private-{name}") if new in known]
    if now:
        return f"the learner {name!r} is now called {' or '.join(now)}"
    what = f"{name!r} is not offered here" if name in BY_ID else f"unknown learner {name!r}"
    return f"{what}: use {', '.join(known)}"
