"""Sessions: what is saved comes back, and an older file stays when saving fails."""

from __future__ import annotations

import io
import json
import math
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from full_work import BOX, examples, full_work
from hypothesis import given, settings, strategies as st
from run_charges import run_charge
from run_records import sharpened, stored

from geodp import Examples, Frame, InputError
from geodp_app.document.document import Document
from geodp_app.document.work import RunSettings, Work
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.files import session
from geodp_app.files.session import load_session, save_session
from geometry.halfplane import MAX_D


def assert_same(one: Work, other: Work) -> None:
    assert replace(one, examples=None) == replace(other, examples=None)
    assert (one.examples is None) == (other.examples is None)
    if one.examples is not None and other.examples is not None:
        assert one.examples.frame == other.examples.frame
        assert one.examples.unit == other.examples.unit
        assert np.array_equal(one.examples.points, other.examples.points)
        assert np.array_equal(one.examples.labels, other.examples.labels)
        assert other.examples.points.dtype == other.examples.labels.dtype == np.int64


@pytest.mark.parametrize(
    "work",
    [
        Work(),
        full_work(),
        replace(full_work(), simulated=True),
        replace(full_work(), k_drawn=False),
        replace(full_work(), examples=examples(0)),
        replace(full_work(), examples=replace(examples(9), unit="who")),
    ],
)
@pytest.mark.parametrize("run", [None, stored(), stored(False), sharpened(), sharpened(5)])
def test_a_session_comes_back_as_it_was(tmp_path, work, run):
    path = tmp_path / "a.geodp"
    save_session(path, work, run)
    back, back_run = load_session(path)
    assert_same(work, back)
    assert back_run == run


def test_a_session_is_its_owners_alone_also_in_place_of_an_open_file(tmp_path):
    path = tmp_path / "a.geodp"
    save_session(path, full_work())
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    save_session(path, full_work())
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_same_session_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        save_session(tmp_path / name, full_work(), stored())
        time.sleep(0.01)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_session_says_what_it_is_and_that_it_is_private(tmp_path):
    save_session(tmp_path / "a.geodp", full_work(), stored())
    with zipfile.ZipFile(tmp_path / "a.geodp") as archive:
        assert archive.namelist() == ["session.json", "points.npz", "steps.jsonl"]
        state = json.loads(archive.read("session.json"))
        with np.load(io.BytesIO(archive.read("points.npz")), allow_pickle=False) as arrays:
            assert arrays["points"].shape == (300, 2)
            assert set(arrays.files) == {"points", "labels"}
    assert state["format"] == "geodp session"
    assert state["schema"] == session.SCHEMA
    assert state["warning"].startswith("Private data")


def test_points_in_column_order_or_views_are_saved_right(tmp_path):
    work = full_work()
    odd = examples(600)
    odd = replace(odd, points=np.asfortranarray(odd.points)[::2], labels=odd.labels[::2])
    save_session(tmp_path / "a", replace(work, examples=odd))
    assert_same(replace(work, examples=odd), load_session(tmp_path / "a").work)
    one = replace(odd, points=odd.points[:1], labels=odd.labels[:1])
    save_session(tmp_path / "a", replace(work, examples=one))
    assert_same(replace(work, examples=one), load_session(tmp_path / "a").work)


@pytest.mark.parametrize("d", [65535, 65536, MAX_D])
def test_points_at_the_far_edge_of_a_large_grid_come_back(tmp_path, d):
    frame = Frame(d)
    far = Examples(np.array([[d, 0], [d - 1, d], [0, d]]), np.array([1, 0, 1]), frame)
    work = Work(drawing=Drawing(d), examples=far)
    save_session(tmp_path / "a", work)
    assert_same(work, load_session(tmp_path / "a").work)


def test_a_million_examples_take_5_megabytes(tmp_path):
    path = tmp_path / "a.geodp"
    work = replace(full_work(), examples=examples(10**6))
    save_session(path, work)
    back = load_session(path)
    assert path.stat().st_size < 5.1e6
    assert_same(work, back.work)


def test_a_session_that_another_program_packed_again_is_read(tmp_path):
    path, again = tmp_path / "a.geodp", tmp_path / "b.geodp"
    work = replace(full_work(), examples=Examples(np.zeros((10**5, 2), int), np.zeros(10**5, int),
                                                  full_work().frame))  # fmt: skip
    save_session(path, work, stored())
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(again, "w", zipfile.ZIP_DEFLATED) as new:
        for name in reversed(old.namelist()):
            new.writestr(name, old.read(name))
    assert_same(work, load_session(again).work)
    assert load_session(again).run == stored()


coordinates = st.tuples(st.integers(0, 50), st.integers(0, 50))
rings = st.lists(coordinates, min_size=3, max_size=6).map(tuple)
finite = st.floats(1e-12, 1e6, exclude_min=True)


@given(
    name=st.text(max_size=30),
    shapes=st.lists(st.builds(Shape, rings, st.lists(rings, max_size=2).map(tuple)), max_size=4),
    bounds=st.none() | st.just(BOX),
    noise=st.floats(0, 1),
    seed=st.none() | st.integers(0, 2**128 - 1),
    epsilon=finite,
    delta=st.floats(1e-40, 0.5),
    n_steps=st.none() | st.integers(1, 100_000),
)
@settings(max_examples=30, deadline=None)
def test_whatever_the_document_takes_can_be_saved_and_read_back(
    tmp_path_factory, name, shapes, bounds, noise, seed, epsilon, delta, n_steps
):
    document = Document()
    document.change("rename", name=name)
    document.set_grid(50)
    document.edit("draw", Drawing(50, tuple(shapes)))
    document.change("change the bounds", bounds=bounds)
    document.set_sampling(noise=noise, seed=seed, n=20)
    document.set_run(epsilon=epsilon, delta=delta, n_steps=n_steps, seed=seed)
    document.sample()
    path = tmp_path_factory.getbasetemp() / "any.geodp"
    save_session(path, document.work)
    assert_same(document.work, load_session(path).work)


# -- schemas ------------------------------------------------------------------------------------


def rewrite(path: Path, change: Any) -> None:
    """Change session.json of a session in place."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["session.json"] = json.dumps(change(json.loads(members["session.json"]))).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


@pytest.mark.parametrize("other", [session.SCHEMA - 1, session.SCHEMA + 1])
def test_another_schema_is_refused_before_anything_else_is_asked(tmp_path, other):
    path = tmp_path / "a.geodp"
    save_session(path, full_work())
    rewrite(path, lambda state: {"format": state["format"], "schema": other, "geodp": "9.1.0"})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("dual.bin", b"of another schema")
    with pytest.raises(InputError) as caught:
        load_session(path)
    outcome = f"{path}: session.json: is of schema {other}, and geodp "
    assert str(caught.value).startswith(outcome)
    assert str(caught.value).endswith(f"reads schema {session.SCHEMA} alone")


def test_a_damaged_zone_is_refused_with_the_name_of_its_line(tmp_path):
    path = tmp_path / "a.geodp"
    run = sharpened()
    save_session(path, full_work(), run)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    lines = members["steps.jsonl"].splitlines(keepends=True)
    zone = json.loads(lines[6])
    lines[6] = json.dumps({**zone, "inside": 2}).encode() + b"\n"
    members["steps.jsonl"] = b"".join(lines)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(InputError, match=r"steps.jsonl: line 7: inside: 2 is neither 0 nor 1"):
        load_session(path)


CHARGES = (
    run_charge(1.0, 1e-40, "add-remove", finished=True),
    run_charge(0.1 + 0.2, 0.0, "replace-one", finished=False),
)


def test_what_runs_on_the_examples_spent_comes_back(tmp_path):
    path, work = tmp_path / "a.geodp", replace(full_work(), spent=CHARGES)
    save_session(path, work)
    back = load_session(path).work
    assert_same(work, back)
    assert back.spent == CHARGES
    assert [one.privacy.run for one in back.spent] == [one.privacy.run for one in CHARGES]


def test_a_session_of_examples_keeps_its_ledger(tmp_path):
    path, work = tmp_path / "a.geodp", replace(full_work(), ledger="/data/geodp.ledger")
    save_session(path, work)
    assert load_session(path).work.ledger == "/data/geodp.ledger"


# -- failures while writing ---------------------------------------------------------------------


def test_a_session_cannot_be_written_over_a_folder_or_into_none(tmp_path):
    with pytest.raises(InputError, match="cannot be written: Is a directory"):
        save_session(tmp_path, Work())
    with pytest.raises(InputError, match=r"cannot be written: No such file or directory$"):
        save_session(tmp_path / "no" / "a.geodp", Work())


def test_a_session_too_large_to_be_read_back_is_not_written(tmp_path, monkeypatch):
    path = tmp_path / "a.geodp"
    monkeypatch.setitem(session._LIMITS, "points.npz", 1000)
    with pytest.raises(InputError, match=r"points.npz would have [\d,]+ bytes; .* at most 1,000"):
        save_session(path, full_work())
    assert not path.exists()


def test_infinite_settings_never_reach_a_file(tmp_path):
    work = Work(run=RunSettings(epsilon=math.inf))
    with pytest.raises(ValueError, match="JSON"):
        save_session(tmp_path / "a.geodp", work)
    assert not (tmp_path / "a.geodp").exists()
