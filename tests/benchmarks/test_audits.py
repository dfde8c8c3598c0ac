"""Audits of whole releases, and broken twins: the short version of `make audit`."""

import itertools
from dataclasses import replace

import pytest

from benchmarks.audits import __main__ as everything, canaries
from benchmarks.audits.broken_parts import PART_TWINS
from benchmarks.audits.events import audit_pairs
from benchmarks.audits.parts import PARTS
from benchmarks.audits.report import Row, page
from benchmarks.audits.subjects import MECHANISMS, Told, declared
from benchmarks.audits.twins import TWINS, Twin
from benchmarks.audits.whole import features, whole_audit
from learners import PolygonUnionLearner
from learners.core.codec import release_to_dict
from learners.privacy.accounting import pure_spent

#: The others are marked slow.
ALL_TWINS = (*TWINS, *PART_TWINS)
QUICK = [twin for twin in ALL_TWINS if twin.quick]


def named(twin: Twin) -> str:
    return f"{twin.mechanism}: {twin.fault}"


@pytest.mark.parametrize("twin", QUICK, ids=named)
def test_a_broken_twin_is_caught(twin: Twin) -> None:
    found = twin.audit()
    assert found.refuted, found
    # it states no more than it should, so it is the fault that was seen
    assert found.epsilon == 1


@pytest.mark.slow
@pytest.mark.parametrize("twin", [twin for twin in ALL_TWINS if not twin.quick], ids=named)
def test_a_broken_twin_that_takes_longer_is_caught(twin: Twin) -> None:
    assert twin.audit().refuted


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_as_it_stands_is_not_flagged(name: str) -> None:
    case = MECHANISMS[name]
    assert not audit_pairs(case.factory(2), case.pairs, case.events, 400).refuted


@pytest.mark.parametrize("name", PARTS)
def test_a_part_as_it_stands_is_not_flagged(name: str) -> None:
    case = PARTS[name][0]()
    found = audit_pairs(case.factory(2), case.pairs, case.events, 32)
    assert not found.refuted
    assert found.epsilon == 1


@pytest.mark.parametrize("name", ["finite-class", "memorizing", "parity"])
def test_what_claims_nothing_is_refuted_however_small_the_share_is(name, monkeypatch):
    monkeypatch.setattr(everything, "SUBJECTS", {name: everything.SUBJECTS[name]})
    for nothing in ("MECHANISMS", "PARTS"):
        monkeypatch.setattr(everything, nothing, {})
    rows = itertools.islice(everything.audits(1e-6, 1), 2)
    assert [(row.broken, row.verdict) for row in rows] == [(True, "caught")] * 2


# -- whole releases ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["conjunction", "plain-histogram-cell", "quadtree"])
def test_whole_releases_of_a_learner_as_it_stands_are_not_flagged(name: str) -> None:
    found = whole_audit(declared(name), 300, seed=3)
    assert not found.refuted
    assert found.event.statistic in ("leaf of the tree", "answer of the regression")


def test_whole_releases_show_a_loss() -> None:
    """Most of epsilon is seen though nobody said where to look."""
    found = whole_audit(declared("plain-histogram-cell"), 1_000, seed=4)
    assert 0.2 < found.lower <= 1


def test_features_are_all_that_a_release_says() -> None:
    model = PolygonUnionLearner(grid=4, tiles=1, seed=1).fit([[0, 0], [4, 4]], [0, 1])
    found = features(model.release_)
    form = release_to_dict(model.release_)
    assert found["/parameters/tiles"] == 1
    assert found["/learner"] == form["learner"]
    assert found["/tiles/length"] == 1
    assert not any("privacy" in place for place in found)
    outcome = Told((3, 4), pure_spent(1.0, "add-remove", "noisy counts", True))
    assert features(outcome) == {
        "/values/length": 2, "/values/0": 3.0, "/values/1": 4.0, "/values/-1": 4.0,
        "/values/-2": 3.0,
    }  # fmt: skip


# -- canaries and the page ---------------------------------------------------------------------


def test_one_run_shows_most_of_what_a_histogram_loses() -> None:
    found = canaries.audit("plain histogram", 5)
    assert found.runs == 1
    assert 0.6 < found.lower <= 1


def test_the_page_says_what_is_not_as_it_must_be() -> None:
    found = canaries.audit("quadtree", 6)
    rows = [Row("Canaries", "quadtree", found, 1.0)]
    assert "as it must be: 1." in page(rows, "told")
    assert "| not refuted |" in page(rows, "told")
    assert "NOT CAUGHT" in page([replace(rows[0], broken=True)], "told")
    refuted = replace(found, lower=2.0)
    assert "REFUTED" in page([replace(rows[0], found=refuted)], "told")
    assert "caught" in page([replace(rows[0], found=refuted, broken=True)], "told")
