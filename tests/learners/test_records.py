"""Releases: what they hold, that they survive a file, and that shape and prediction agree."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

from geometry.halfplane import Halfplane, HalfplaneLattice, Measure, Sheet
from learners.accounting import Charge, PrivacySpent
from learners.codec import release_from_dict, release_to_dict
from learners.convex_polygon import ConvexPolygonLearner
from learners.records import Piece, StepDiagnostics, inside_piece, predict_pieces
from learners.releases import CoverRelease, Release, TilesRelease
from learners.scores import Role
from learners.support import Support

D = 12
SPENT = PrivacySpent(
    1.0, 1e-6, "replace-one", "zcdp",
    (Charge("noisy counts", 0.025, 4), Charge("selections", 0.07, 4)), True,
)  # fmt: skip
ROLES: tuple[Role, ...] = ("disjunction", "conjunction")


def random_halfplane(lattice: HalfplaneLattice, rng: np.random.Generator) -> Halfplane:
    """Uniform among those that cut the square, in either measure."""
    while True:
        sheet = lattice.sheets[int(rng.integers(0, len(lattice.sheets)))]
        if lattice.measure == "chord":
            u, v = (int(c) for c in rng.integers(lattice.low, lattice.high + 1, 2))
        else:
            # slopes and heights near the square; uniform ones are nearly all vertical
            u, v = (int(c) << lattice.bits for c in rng.integers(-D, D + 1, 2))
        if lattice.admits(u, v):
            return lattice.halfplane(sheet, u, v)


def random_release(role: Role, seed: int, measure: Measure = "chord") -> CoverRelease:
    rng = np.random.default_rng(seed)
    lattice = HalfplaneLattice(D, measure, 3)
    size = 3 if role == "disjunction" else 1
    pieces = tuple(tuple(random_halfplane(lattice, rng) for _ in range(size)) for _ in range(4))
    return CoverRelease(
        learner="PolygonUnionLearner",
        role=role,
        lattice=lattice,
        pieces=pieces,
        thresholds=(17, -3, 5, 0),
        parameters=(("k", 2), ("steps", 4), ("beta", 0.1)),
        privacy=SPENT,
    )


def grid_points() -> NDArray[np.int64]:
    return np.array([[x, y] for x in range(D + 1) for y in range(D + 1)])


# -- prediction ----------------------------------------------------------------------------


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("measure", ["chord", "paper"])
@pytest.mark.parametrize("seed", range(12))
def test_prediction_is_containment_in_the_shape_off_its_boundaries(
    role: Role, measure: Measure, seed: int
) -> None:
    release = random_release(role, seed, measure)
    shape = release.shape()
    assert shape.is_valid
    halfplanes = [h for piece in release.pieces for h in piece]
    points = grid_points()
    # a shape has no area on its boundaries, nor on the square's sides
    clear = np.array(
        [
            0 < x < D
            and 0 < y < D
            and all(a * x + b * y != c for a, b, c in (h.coefficients for h in halfplanes))
            for x, y in points.tolist()
        ]
    )
    assert clear.sum() > 50
    predicted = release.predict(points[clear])
    contained = shapely.contains_xy(shape, points[clear].astype(float))
    np.testing.assert_array_equal(predicted, contained.astype(int))
    assert predicted.dtype == np.int64


def test_prediction_decides_boundaries_exactly() -> None:
    lattice = HalfplaneLattice(D, bits=3)
    # y >= x / 3 passes through (3, 1), (6, 2), ...: no double represents 1/3
    edge = lattice.halfplane(Sheet.FLAT_ABOVE, 0, 4 << 3)
    for x, y in grid_points().tolist():
        expected = y >= Fraction(x, 3)
        assert bool(inside_piece((edge,), np.array([[x, y]]))[0]) == expected


@pytest.mark.parametrize("role", ROLES)
def test_prediction_is_the_union_or_the_intersection_of_the_pieces(role: Role) -> None:
    release = random_release(role, 5)
    combine = any if role == "disjunction" else all
    expected = [
        int(
            combine(
                all(a * x + b * y >= c for a, b, c in (h.coefficients for h in piece))
                for piece in release.pieces
            )
        )
        for x, y in grid_points().tolist()
    ]
    assert release.predict(grid_points()).tolist() == expected
    assert 0 < sum(expected) < len(expected)


def test_no_pieces_mean_nothing_or_everything() -> None:
    points = grid_points()
    assert not predict_pieces("disjunction", (), points).any()
    assert predict_pieces("conjunction", (), points).all()
    assert replace(random_release("disjunction", 1), pieces=()).shape().is_empty
    assert replace(random_release("conjunction", 1), pieces=()).shape().area == D * D


# -- files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("measure", ["chord", "paper"])
def test_a_release_survives_json(role: Role, measure: Measure) -> None:
    release = random_release(role, 3, measure)
    again = release_from_dict(json.loads(json.dumps(release_to_dict(release))))
    assert again == release
    np.testing.assert_array_equal(again.predict(grid_points()), release.predict(grid_points()))


def test_a_release_without_privacy_survives_json() -> None:
    release = replace(random_release("conjunction", 3), privacy=None, thresholds=())
    assert release_from_dict(json.loads(json.dumps(release_to_dict(release)))) == release


def test_big_integers_survive_json() -> None:
    lattice = HalfplaneLattice(1024, "paper")
    piece: Piece = (lattice.halfplane(Sheet.FLAT_BELOW, lattice.low, lattice.high - 1),)
    release = replace(
        random_release("conjunction", 1), lattice=lattice, pieces=(piece,), thresholds=(-5,)
    )
    again = release_from_dict(json.loads(json.dumps(release_to_dict(release))))
    assert isinstance(again, CoverRelease)
    assert again.pieces[0][0].v == lattice.high - 1
    assert again == release


def broken() -> list[tuple[str, Any]]:
    return [
        ("role", "xor"),
        ("grid", "wide"),
        ("grid", 0),
        ("measure", "metric"),
        ("bits", 99),
        ("pieces", [[["FLAT_ABOVE", 0]]]),
        ("pieces", [[["SIDEWAYS", 0, 0]]]),
        ("pieces", [[["FLAT_ABOVE", -(10**9), 0]]]),
        ("pieces", 3),
        ("thresholds", ["many"]),
        ("thresholds", [1, 2, 3, 4, 5, 6, 7]),
        ("pieces", [[["FLAT_ABOVE", 0, 0]] * 2]),
        ("parameters", None),
        ("privacy", {"epsilon": 1.0}),
        ("privacy", 5),
    ]


@pytest.mark.parametrize(("member", "value"), broken())
def test_a_damaged_release_is_refused(member: str, value: object) -> None:
    data = {**release_to_dict(random_release("disjunction", 1)), member: value}
    with pytest.raises(ValueError):  # noqa: PT011 - the message names what was met first
        release_from_dict(data)


@pytest.mark.parametrize("member", sorted(release_to_dict(random_release("disjunction", 1))))
def test_a_release_without_a_member_is_refused(member: str) -> None:
    data = release_to_dict(random_release("disjunction", 1))
    del data[member]
    with pytest.raises(ValueError, match="not a learned hypothesis"):
        release_from_dict(data)


# -- what is published ---------------------------------------------------------------------


def test_a_release_publishes_these_members_and_no_others() -> None:
    data = release_to_dict(random_release("disjunction", 1))
    assert set(data) == {
        "kind", "version", "learner", "role", "grid", "measure", "bits", "pieces", "thresholds",
        "parameters", "privacy",
    }  # fmt: skip
    assert set(data["privacy"]) == {
        "epsilon", "delta", "neighbours", "account", "charges", "private", "run",
    }  # fmt: skip
    # the type itself has room for nothing else: a new field must be thought about here
    assert {f.name for f in fields(Release)} == {"learner", "lattice", "parameters", "privacy"}
    own = {"role", "pieces", "thresholds"}
    assert {f.name for f in fields(CoverRelease)} == {f.name for f in fields(Release)} | own
    own = {"tiles", "support"}
    assert {f.name for f in fields(TilesRelease)} == {f.name for f in fields(Release)} | own
    assert {f.name for f in fields(Support)} == {"per_side", "threshold", "cells"}
    assert not hasattr(random_release("disjunction", 1), "__dict__")


def test_no_diagnostic_seed_or_count_is_named_in_a_release() -> None:
    text = json.dumps(release_to_dict(random_release("disjunction", 1)))
    private = {f.name for f in fields(StepDiagnostics)} | {"seed", "n", "examples", "error"}
    assert not [name for name in private if f'"{name}"' in text]


def test_only_a_run_that_came_to_its_end_releases() -> None:
    points, labels = grid_points()[::9], np.arange(19) % 2
    model = ConvexPolygonLearner(
        k=1, n_steps=2, grid=D, selection="arrangement", seed=987654321, epsilon=2.0
    )
    stream = model.steps(points, labels)
    first = next(stream)
    assert not hasattr(model, "release_")
    second = next(stream)
    release = model.release_
    assert isinstance(release, CoverRelease)
    assert release.pieces == (first.release.piece, second.release.piece)
    assert release.thresholds == (first.release.threshold, second.release.threshold)
    # public numbers only: not the seed, not the number of examples
    assert dict(release.parameters) == {"k": 1, "steps": 2, "beta": 0.1}
    assert "987654321" not in json.dumps(release_to_dict(release))
    assert release.privacy is not None
    assert not release.privacy.private


def test_a_release_cannot_be_changed() -> None:
    release = random_release("disjunction", 1)
    with pytest.raises(FrozenInstanceError):
        release.thresholds = ()  # type: ignore[misc]
