"""Every mechanism once more, broken as people break them: the audits must say so.

A twin is a learner or a mechanism with one fault, and its statement as if it had none.  An audit
that does not refute it has found its own limit, and is a finding.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal
from unittest import mock

import numpy as np

import learners.baselines.noisy_histogram
import learners.baselines.quadtree
import learners.boolean.conjunction
import learners.boolean.consistent_conjunction
import learners.boolean.parity
import learners.cover.set_cover
import learners.cover.threshold_learner
import learners.curved.selection
import learners.finite.empirical_risk
import learners.finite.experts
import learners.stability.sample_and_aggregate
import learners.stability.stable_queries
import learners.tiles.tiles
from benchmarks.audits import canaries, subjects
from benchmarks.audits.events import Audit, audit_pairs
from benchmarks.audits.one_run import CanaryAudit
from benchmarks.audits.subjects import MECHANISMS, Case, declared
from benchmarks.audits.whole import whole_audit
from learners import PolygonUnionLearner
from learners.curved.selection import ConicSelection
from learners.envelope.envelope_selection import ConceptSelection, EnvelopeSelection
from learners.privacy.randomness import SeededRandom

Breaks = contextlib.AbstractContextManager[Any]


@dataclass(frozen=True, slots=True)
class Twin:
    """A broken mechanism.

    Attributes
    ----------
    mechanism, fault : str
    case : callable
        What is audited.
    breaks : callable
        Puts the fault in, as a context.
    runs : int
        Enough for the audit to see it.
    by : {"events", "whole", "canaries"}
    quick : bool
        Whether the audit takes a second at most.
    """

    mechanism: str
    fault: str
    case: Callable[[], Case]
    breaks: Callable[[], Breaks]
    runs: int
    by: Literal["events", "whole", "canaries"] = "events"
    quick: bool = True

    def audit(self, seed: int | None = 1) -> Audit | CanaryAudit:
        """Audit the broken twin."""
        with self.breaks():
            if self.by == "canaries":
                return canaries.audit(self.mechanism, seed, self.runs)
            case = self.case()
            if self.by == "whole":
                return whole_audit(case, self.runs, seed)
            return audit_pairs(case.factory(seed), case.pairs, case.events, self.runs)


# -- faults ------------------------------------------------------------------------------------


def silent(module: Any, name: str = "discrete_laplace") -> Breaks:
    """No noise at all."""
    return mock.patch.object(module, name, return_value=0)


def silent_arrays(module: Any) -> Breaks:
    return mock.patch.object(
        module,
        "discrete_laplace_array",
        lambda source, scale, count: np.zeros(count, dtype=np.int64),
    )


def narrow(module: Any, times: int, name: str = "discrete_laplace_array") -> Breaks:
    """Noise of a scale that is so many times too small."""
    draw = getattr(module, name)
    return mock.patch.object(
        module, name, lambda source, scale, *count: draw(source, scale / times, *count)
    )


def sharp(module: Any, times: int) -> Breaks:
    """An exponential mechanism over a list at so many times its rate."""
    draw = module.exponential_index
    return mock.patch.object(
        module,
        "exponential_index",
        lambda source, scores, rate, *more: draw(source, scores, times * rate, *more),
    )


def _sharp_selection(selection: type[Any], times: int, method: str = "select") -> Breaks:
    """A sampler of pieces at so many times its rate, which comes before the source."""
    plain = getattr(selection, method)

    def sharp(self: Any, *arguments: Any) -> Any:
        rate = 2 if method == "select" else 1
        given = list(arguments)
        given[rate] *= times
        return plain(self, *given)

    return mock.patch.object(selection, method, sharp)


def until_right() -> Breaks:
    """A tile's piece is drawn again as long as it makes a mistake."""
    plain = learners.tiles.tiles._TileDraw.complete

    def complete(self: Any, *arguments: Any) -> Any:
        for _ in range(20):
            step, selected = plain(self, *arguments)
            if np.array_equal(step.predict(self.held.points), self.held.labels):
                break
            for strand in getattr(self.draw, "strands", ()):
                strand.restart()
        return step, selected

    return mock.patch.object(learners.tiles.tiles._TileDraw, "complete", complete)


def _states_n() -> Breaks:
    """The release has the number of examples among its public parameters."""
    plain = PolygonUnionLearner.fit

    def fit(self: Any, X: Any, y: Any, **more: Any) -> Any:
        plain(self, X, y, **more)
        parameters = (*self.release_.parameters, ("rows", len(y)))
        self.release_ = replace(self.release_, parameters=parameters)
        return self

    return mock.patch.object(PolygonUnionLearner, "fit", fit)


def _named_by_n() -> Breaks:
    """The name of a run says how many examples there are."""
    plain = PolygonUnionLearner.fit

    def fit(self: Any, X: Any, y: Any, **more: Any) -> Any:
        plain(self, X, y, **more)
        stated = replace(self.release_.privacy, run=f"{len(y):032x}")
        self.release_ = replace(self.release_, privacy=stated)
        return self

    return mock.patch.object(PolygonUnionLearner, "fit", fit)


def _same_bits(module: Any) -> Breaks:
    """Every run has the same bits."""

    def same(seed: int | None) -> SeededRandom:
        return SeededRandom(0)

    return mock.patch.object(module, "open_source", same)


def _whole_epsilon(module: Any) -> Breaks:
    """A replaced example is charged like one that is added."""
    plain = module.pure_budget
    return mock.patch.object(
        module, "pure_budget", lambda epsilon, neighbours: plain(epsilon, "add-remove")
    )


def _no_margin(module: Any) -> Breaks:
    """Tests of stability without a margin: a value that one example changes is answered."""
    return mock.patch.object(module, "least_margin", return_value=0)


def _all_examples() -> Breaks:
    """Parity takes every example, so that equations contradict each other where they do."""
    plain = learners.boolean.parity.plan_parity
    return mock.patch.object(
        learners.boolean.parity,
        "plan_parity",
        lambda *given, **more: replace(plain(*given, **more), used=learners.boolean.parity.COIN),
    )


def _of(name: str, **changes: Any) -> Callable[[], Case]:
    return lambda: declared(name, **changes)


def _replaced(name: str) -> Callable[[], Case]:
    return lambda: declared(name, "replace-one")


def _mechanism(name: str) -> Callable[[], Case]:
    return lambda: MECHANISMS[name]


TWINS: tuple[Twin, ...] = (
    # noise
    Twin("noise", "scale a third of what it must be", _mechanism("noise"),
         lambda: narrow(subjects, 3, "discrete_laplace"), 1_000),
    Twin("noise-arrays", "scale a third of what it must be", _mechanism("noise-arrays"),
         lambda: narrow(subjects, 3), 1_500),
    Twin("set cover's counts", "no noise (discs)", _of("discs"),
         lambda: silent(learners.cover.set_cover), 500),
    Twin("conjunction's counts", "no noise", _of("conjunction"),
         lambda: silent(learners.boolean.conjunction), 500),
    Twin("conjunction's counts", "no noise, seen in whole releases", _of("conjunction"),
         lambda: silent(learners.boolean.conjunction), 700, "whole"),
    Twin("tiles' count", "no noise", _of("tiles"),
         lambda: silent(learners.tiles.tiles), 300, quick=False),
    Twin("histogram of one cell", "the same bits in every run", _of("plain-histogram-cell"),
         lambda: _same_bits(learners.baselines.noisy_histogram), 400),
    Twin("plain histogram", "noise a quarter as wide", _of("plain-histogram-cell"),
         lambda: narrow(learners.baselines.noisy_histogram, 4), 600),
    Twin("interpolated histogram", "parts of an example taken for one", _of("histogram"),
         lambda: narrow(learners.baselines.noisy_histogram, 256), 600, "whole", quick=False),
    Twin("quadtree", "splits without noise", _of("quadtree"),
         lambda: silent_arrays(learners.baselines.quadtree), 500),
    # exponential mechanism over a list
    Twin("threshold", "six times the rate", _of("threshold"),
         lambda: sharp(learners.cover.threshold_learner, 6), 1_500),
    Twin("threshold", "a replaced example charged like one that is added", _replaced("threshold"),
         lambda: _whole_epsilon(learners.cover.threshold_learner), 12_000, quick=False),
    Twin("consistent conjunction", "three times the rate", _of("private-consistent-conjunction"),
         lambda: sharp(learners.boolean.consistent_conjunction, 3), 1_000),
    Twin("finite class", "three times the rate", _of("private-finite-class"),
         lambda: sharp(learners.finite.empirical_risk, 3), 2_000),
    Twin("noise on all losses", "scale not multiplied by the number of losses",
         _of("private-finite-class-laplace"),
         lambda: narrow(learners.finite.empirical_risk, 4), 1_500),
    Twin("conjunction's literals", "twelve times the rate", _of("conjunction"),
         lambda: sharp(learners.boolean.conjunction, 12), 1_500),
    Twin("polytope's halfspaces", "twelve times the rate", _of("polytope"),
         lambda: sharp(learners.curved.selection, 12), 2_000, quick=False),
    Twin("experts", "sixteen times the rate", _mechanism("two-experts"),
         lambda: sharp(learners.finite.experts, 16), 1_200),
    Twin("noisy votes", "three times the rate", _mechanism("noisy-votes"),
         lambda: sharp(learners.stability.sample_and_aggregate, 3), 1_000),
    # draws of pieces
    Twin("a tile's piece", "six times the rate", _of("tiles-given"),
         lambda: _sharp_selection(ConceptSelection, 6, "begin"), 1_500, quick=False),
    Twin("a tile's piece", "drawn again while it errs", _of("tiles-given"),
         until_right, 1_500, quick=False),
    Twin("one triangle", "six times the rate", _of("cover-triangle"),
         lambda: _sharp_selection(EnvelopeSelection, 6), 1_500, quick=False),
    Twin("a cover's halfplanes", "twelve times the rate", _of("convex-cover"),
         lambda: _sharp_selection(EnvelopeSelection, 12), 2_000, quick=False),
    Twin("discs", "twelve times the rate", _of("discs"),
         lambda: _sharp_selection(ConicSelection, 12), 2_000, quick=False),
    # stability
    Twin("sparse vector", "no noise", _mechanism("sparse-vector"),
         lambda: silent(learners.stability.stable_queries), 300),
    Twin("stable queries", "no margin", _mechanism("stable-query"),
         lambda: _no_margin(learners.stability.stable_queries), 800),
    Twin("distance to instability", "no margin", _mechanism("distance-test"),
         lambda: _no_margin(learners.stability.stable_queries), 800),
    # others
    Twin("parity", "every example is taken", _of("private-parity"), _all_examples, 2_000),
    Twin("release", "the number of examples among the parameters", _of("tiles-given"),
         _states_n, 200, "whole", quick=False),
    Twin("release", "the run is named by the number of examples", _of("tiles-given"),
         _named_by_n, 200, "whole", quick=False),
    Twin("plain histogram", "noise a quarter as wide, one run",
         _of("plain-histogram"), lambda: narrow(learners.baselines.noisy_histogram, 4), 1,
         "canaries"),
    Twin("tiles", "ten times the rate, two runs",
         _of("tiles"), lambda: _sharp_selection(ConceptSelection, 10, "begin"), 2, "canaries",
         quick=False),
)  # fmt: skip
