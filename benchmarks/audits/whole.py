"""An audit of whole releases: a classifier learns to tell two samples apart by what is published.

An event that somebody thought of may miss what a release says.  So everything in a release's form
for files is made a feature, whatever it means: numbers, words and lengths of lists, by where they
stand.  A decision tree and a logistic regression (scikit-learn) are trained on some runs on either
sample.  The tree's leaf and the regression's rounded answer are the statistics of a usual audit
(:mod:`benchmarks.audits.events`) on fresh runs: so the bound holds however the classifiers came
about.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from benchmarks.audits.events import Audit, Outcome, Pair, audit_pairs
from benchmarks.audits.subjects import Case
from learners.core.codec import release_to_dict

#: Of a list so many items are looked at, from either end.
_ITEMS = 6

#: Leaves of the tree, and steps of the regression's answer for one nat.
_LEAVES, _STEPS = 8, 2

#: Share of the runs that train.
_TRAINING = 0.4


def features(release: Any) -> dict[str, Any]:
    """Whatever a release holds, by where it stands; its statement is the same for all but for the
    name of the run."""
    form = release_to_dict(release) if hasattr(release, "kind") else asdict(release)
    privacy = form.pop("privacy")
    if privacy is not None and privacy["run"] is not None:
        form["run"] = [int(digit, 16) for digit in privacy["run"]]
    return dict(_flat("", form))


def _flat(place: str, what: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(what, dict):
        for name, one in what.items():
            yield from _flat(f"{place}/{name}", one)
    elif isinstance(what, list | tuple):
        yield f"{place}/length", len(what)
        for i, one in enumerate(what[:_ITEMS]):
            yield from _flat(f"{place}/{i}", one)
        for i, one in enumerate(what[: -_ITEMS - 1 : -1], start=1):
            yield from _flat(f"{place}/-{i}", one)
    elif what is None or isinstance(what, str):
        yield place, str(what)
    elif abs(what) < 1e30:
        yield place, float(what)


def whole_audit(case: Case, runs: int, seed: int | None = None, confidence: float = 0.999) -> Audit:
    """Train on some of the runs, audit with the others."""
    make = case.factory(seed)
    training = max(8, int(_TRAINING * runs) // (2 * len(case.pairs)))

    def seen(pair: Pair) -> tuple[list[dict[str, Any]], list[int]]:
        rows, sides = [], []
        for _ in range(training):
            for side, sample in enumerate((pair.sample, pair.neighbour)):
                model = make()
                model.fit(*sample)
                rows.append(features(model.release_))
                sides.append(side)
        return rows, sides

    trained = [(pair, *seen(pair)) for pair in case.pairs]
    pair, rows, sides = max(trained, key=lambda one: _told_apart(*one[1:]))
    tree, line = _classifiers()
    tree.fit(rows, sides)
    line.fit(rows, sides)

    def leaf(release: Any) -> Outcome:
        found = tree[:-1].transform([features(release)])
        return (int(tree[-1].apply(found)[0]),)

    def answer(release: Any) -> Outcome:
        return (round(_STEPS * float(line.decision_function([features(release)])[0])),)

    left = runs - 2 * training * len(case.pairs)
    events = {"leaf of the tree": leaf, "answer of the regression": answer}
    return audit_pairs(make, [pair], events, max(8, left), confidence=confidence, claim=case.claim)


def _classifiers() -> tuple[Pipeline, Pipeline]:
    tree = DecisionTreeClassifier(max_leaf_nodes=_LEAVES, min_samples_leaf=5, random_state=0)
    line = make_pipeline(
        DictVectorizer(sparse=False), StandardScaler(), LogisticRegression(max_iter=200)
    )
    return make_pipeline(DictVectorizer(sparse=False), tree), line


def _told_apart(rows: list[dict[str, Any]], sides: list[int]) -> float:
    """How much better than chance a tree of half of the runs does on the other half."""
    tree, _ = _classifiers()
    half = len(rows) // 2
    tree.fit(rows[:half], sides[:half])
    return float(np.mean(tree.predict(rows[half:]) == np.array(sides[half:])))
