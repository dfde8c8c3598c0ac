"""Lists every learner and tool: what it promises, where it is, where it can be used.

Learners come from their declarations (:mod:`learners.registry`); tools are listed here.

Items are the numbers of the systems in the sources (:data:`SYSTEMS`); every system has at least
one entry.  `geodp learners` prints the catalogue, and docs/learners.md is made from it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from learners.declaration import Learner
from learners.registry import LEARNERS

#: Where a thing can be used: "window: Compare" is the window that compares learners.
Where = Literal[
    "python", "geodp learn", "geodp compare", "geodp plan", "geodp audit", "window",
    "window: Compare", "window: dual plane", "window: Theorem",
]  # fmt: skip

#: The systems that the sources describe, and what people would pick instead.
SYSTEMS: dict[int, str] = {
    1: "Non-private conjunctions and disjunctions (Kaplan, Mansour, Matias, Stemmer: KMMS)",
    2: "Laplace and exponential mechanism (KMMS)",
    3: "Set cover with any selection (KMMS, theorem 3.2)",
    4: "Naive composition, for comparison (KMMS, example 3.3)",
    5: "Private conjunctions and disjunctions (KMMS, theorem 3.5)",
    6: "Halfplanes, dual plane, arrangement, selection of a halfplane (KMMS, lemma 4.6)",
    7: "Convex polygons (KMMS, theorem 4.7)",
    8: "Selection of a triangle, unions of polygons (KMMS, theorem 5.1)",
    9: "Non-private counterparts of 7 and 8 (KMMS)",
    10: "Higher dimension: halfspaces, simplices, balls (KMMS)",
    11: "Linearization: discs, ellipses, balls, low-degree polynomials (KMMS)",
    12: "VC bounds of intersections and unions, sample sizes (KMMS)",
    13: "Errors on a sample and on a distribution, promises checked by simulation (Nissim)",
    14: "Points, thresholds, parity, without privacy (Nissim)",
    15: "Consistent learner, VC dimension, shattering, Sauer's bound (Nissim)",
    16: "Generic private learner of a finite class, points, thresholds (Nissim)",
    17: "Private parity (Nissim)",
    18: "Generalization of differential privacy (Nissim)",
    19: "Empirical risk minimization, privately, and noise on all losses (Nikolov)",
    20: "Consistent and private consistent conjunctions (lecture notes)",
    21: "Experts by multiplicative weights, privately (lecture notes)",
    22: "Sparse vector (Bassily, Thakurta, Thakkar: BTT, algorithm 1)",
    23: "Distance to instability (BTT, algorithm 2)",
    24: "Online stable queries (BTT, algorithm 3)",
    25: "Sub-sample and aggregate, for many classes (BTT, algorithm 4)",
    26: "Private classification queries on public points (BTT)",
    27: "Label-private learner, in both modes (BTT, algorithm 5)",
    28: "Soft labels with shifted histograms (BTT, algorithms 6 to 8)",
    29: "Diagnostics of stability, quality and consistent randomization (BTT)",
    30: "On-average stability and the reduction by SGD (BTT)",
    31: "Votes by advanced composition, for comparison (BTT)",
    32: "Noisy histograms",
    33: "Noisy quadtrees",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A learner or tool.

    Attributes
    ----------
    name : str
        What people call it.
    path : str
        Import path, to the name in its module.
    items : tuple of int
        Keys of :data:`SYSTEMS`.
    guarantee : str
        What is promised, in a sentence.
    where : tuple of str
        Of :data:`Where`; a test goes to all of them (test_window_learners).
    id : str
        Of a learner; empty for a tool.
    """

    name: str
    path: str
    items: tuple[int, ...]
    guarantee: str
    where: tuple[Where, ...] = ("python",)
    id: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The object as plain dictionaries, lists, numbers and strings, ready for JSON."""
        return {**asdict(self), "items": list(self.items), "where": list(self.where)}


def _entry(learner: Learner) -> Entry:
    where: list[Where] = ["python"]
    for verb in ("learn", "compare", "plan"):
        if verb in learner.offered:
            where.append(f"geodp {verb}")  # type: ignore[arg-type]
    where.append("geodp audit")
    if "window" in learner.offered:
        where.append("window")
    if "compare" in learner.offered:
        where.append("window: Compare")
    return Entry(
        learner.title, learner.path, learner.systems, learner.promise, tuple(where), learner.id
    )


# fmt: off
#: What is no learner that a person picks by its name.
TOOLS: tuple[Entry, ...] = (
    # polygons
    Entry(
        "Set cover with any selection", "learners.cover.set_cover.private_steps", (3,),
        "(epsilon, delta)-DP for any selection that draws from the exponential mechanism",
    ),
    Entry(
        "Selection by envelope refinement",
        "learners.envelope.envelope_selection.EnvelopeSelection", (6, 8),
        "the exponential mechanism over lattice halfplanes or triangles, within a factor "
        "exp(2^-38) that is charged; what covers and tiles draw by; its time is measured, KMMS's "
        "proved",
    ),
    Entry(
        "Selection by the arrangement", "learners.cover.arrangement_selection.ArrangementSelection",
        (6, 8),
        "the same from all cells of the dual arrangement, within exp(2^-60); polynomial in n, for "
        "small samples",
    ),
    Entry(
        "Halfplanes", "geometry.halfplane.HalfplaneLattice", (6,), "exact side tests in integers",
    ),
    Entry(
        "Dual lines and points", "geometry.halfplane.dual_line", (6,),
        "halfplanes are points of the dual plane, examples are lines; exact",
        ("python", "window: dual plane"),
    ),
    Entry(
        "Arrangement of dual lines", "geometry.arrangement.arrange", (6,),
        "all cells, in rational arithmetic", ("python", "window: dual plane"),
    ),
    # finite classes
    Entry(
        "Exponential mechanism over a list",
        "learners.privacy.exponential_mechanism.exponential_index", (2,),
        "epsilon-DP; exactly its law for integer scores; loss at most ln(|H|/beta)/rate",
    ),
    Entry(
        "Laplace mechanism", "learners.privacy.noise.discrete_laplace", (2,),
        "epsilon-DP for counts; integer noise, exactly its law",
    ),
    Entry(
        "Points", "learners.finite.finite_class.PointClass", (14, 16),
        "the class of points of a finite domain and of nothing, for both learners; without "
        "privacy ln(1/beta) / -ln(1 - alpha) examples are enough, however many points there are",
    ),
    Entry(
        "Thresholds", "learners.finite.finite_class.ThresholdClass", (14, 16),
        "the class of thresholds on 0..d, x >= t or x < t, for both learners; examples without "
        "privacy as for points",
    ),
    Entry(
        "Amplification", "learners.finite.amplification.AmplifiedLearner", (16, 17),
        "costs what one run of any private learner costs; fails with probability beta where a run "
        "fails half of the time, at the planned n",
    ),
    Entry(
        "Multiplicative weights", "learners.finite.experts.MultiplicativeWeights", (21,),
        "not private; regret at most sqrt(T ln(N) / 2)",
    ),
    Entry(
        "Private experts", "learners.finite.experts.PrivateExperts", (21,),
        "(epsilon, delta)-DP by zCDP or basic composition; regret bound stated",
        ("python", "geodp audit"),
    ),
    # stability
    Entry(
        "Sparse vector", "learners.stability.stable_queries.SparseVector", (22,),
        "(epsilon, delta)-DP until T queries fall below the threshold; integer noise",
    ),
    Entry(
        "Distance to instability", "learners.stability.stable_queries.DistanceTest", (23,),
        "(epsilon, delta)-DP release of a function where it is stable",
    ),
    Entry(
        "Online stable queries", "learners.stability.stable_queries.StableQueries", (24,),
        "(epsilon, delta)-DP; exact answers to stable queries, at most T unanswered",
    ),
    Entry(
        "Sub-sample and aggregate", "learners.stability.sample_and_aggregate.train_chunks", (25,),
        "one example changes one vote of K, for any learner and any number of classes",
    ),
    Entry(
        "Private classification queries", "learners.stability.classifiers.StableQueryClassifier",
        (25, 26),
        "(epsilon, delta)-DP for all queries together; answered as the chunks agree, with T and K "
        "planned for the realizable and the agnostic case", ("python", "geodp audit"),
    ),
    Entry(
        "Label-private learner", "learners.stability.label_private.LabelPrivateLearner", (27,),
        "(epsilon, delta)-DP of the sample, or of its labels; one hypothesis from any learner",
    ),
    Entry(
        "Soft labels", "learners.stability.classifiers.StableSoftClassifier", (28,),
        "(epsilon, delta)-DP; predictions in [0, 1] up to a width, by plain or shifted histograms",
    ),
    Entry(
        "Nearness to a truth", "learners.stability.quality.quality", (29,),
        "shares of models near a known truth; agreement of votes beside it",
    ),
    Entry(
        "Weak and strong quality", "learners.stability.quality.end_quality", (29,),
        "whether predictions are near 0 or 1, expected or but for beta, with confidence bounds; T "
        "of theorem 5.14",
    ),
    Entry(
        "From weak to strong quality", "learners.stability.quality.strong_failure", (28, 29),
        "a bound of the probability that a private prediction is not the end's bin (lemma 5.13)",
    ),
    Entry(
        "Consistent randomization", "learners.stability.quality.check_randomization", (29,),
        "whether expected predictions depend on a learner's coins: yes, no or open, by confidence "
        "bounds",
    ),
    Entry(
        "On-average stability", "learners.stability.quality.estimate_stability", (30,),
        "an estimate with its confidence bound",
    ),
    Entry(
        "Stochastic gradient descent", "learners.stability.base_learners.GradientDescentClassifier",
        (30,),
        "not private by itself; with replacement, by one permutation or in one pass: stable by 2 "
        "L^2 / n times the sum of its steps, uniformly or on average",
    ),
    Entry(
        "Noisy votes", "learners.stability.sample_and_aggregate.NoisyVotes", (31,),
        "(epsilon, delta)-DP for m queries by advanced composition or zCDP: the baseline",
    ),
    # theory
    Entry(
        "VC dimension of a finite class", "learners.finite.sample_sizes.vc_dimension", (15,),
        "exact, by search; dichotomies and shattering beside it",
    ),
    Entry(
        "Sauer's bound", "learners.finite.sample_sizes.sauer_bound", (15,), "exact whole numbers",
    ),
    Entry(
        "VC bounds of intersections and unions", "learners.finite.sample_sizes.combined_vc_bound",
        (12,), "the largest N whose growth bound reaches 2^N",
    ),
    Entry(
        "Sample sizes of every theorem", "learners.theory.theorems.examples_for",
        (12, 15, 19, 26, 27, 28),
        "n for (alpha, beta) and back, of private queries T and K too; O(.) where the sources "
        "have no constant", ("python", "geodp plan", "window: Theorem"),
    ),
    Entry(
        "Errors on a distribution", "learners.theory.pac.LabelledDistribution", (13,),
        "error on a sample and on a distribution over a finite domain, exact",
    ),
    Entry(
        "Promises checked by simulation", "learners.theory.pac.check_promise", (13,),
        "failures of an (alpha, beta) promise with exact confidence bounds",
    ),
    Entry(
        "Generalization of private learners", "learners.theory.pac.generalization_gap", (18,),
        "how far errors on the sample and on new examples may be apart",
    ),
)
# fmt: on

#: Learners as they are declared, then the tools.
CATALOGUE: tuple[Entry, ...] = (*(_entry(learner) for learner in LEARNERS), *TOOLS)


def as_markdown() -> str:
    """The catalogue as a Markdown table."""
    lines = [
        "# Learners and tools",
        "",
        "Every learner and tool of geodp, with its name for `--learner`, its import in Python and",
        "what it promises. Made by `geodp learners --markdown`; do not edit. `geodp learners` says",
        "which verbs and windows offer each, `geodp plan --theorems` how many examples a promise",
        "takes. Proofs: [privacy](privacy.md).",
        "",
        "| name | import | promise | systems |",
        "| --- | --- | --- | --- |",
    ]
    for entry in CATALOGUE:
        source = f"[`{entry.path}`](../{entry.path.rpartition('.')[0].replace('.', '/')}.py)"
        typed = f", `{entry.id}`" if entry.id else ""
        items = ", ".join(str(item) for item in entry.items)
        lines.append(f"| {entry.name}{typed} | {source} | {entry.guarantee} | {items} |")
    return "\n".join(lines) + "\n"
