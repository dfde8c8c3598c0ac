"""Sessions and recovery files: what is saved comes back, whole whatever happens."""

import io
import json
import math
import os
import shutil
import signal
import subprocess
import sys
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
from geodp_app.files.autosave import Autosave, discard, recoverable
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


CHARGES = (
    run_charge(1.0, 1e-40, "add-remove", finished=True),
    run_charge(0.1 + 0.2, 0.0, "replace-one", finished=False),
)


def test_what_runs_on_the_examples_spent_comes_back(tmp_path):
    path, work = tmp_path / "a.geodp", replace(full_work(), spent=CHARGES, ledger="/data/a.ledger")
    save_session(path, work)
    back = load_session(path).work
    assert_same(work, back)
    assert back.spent == CHARGES
    assert [one.privacy.run for one in back.spent] == [one.privacy.run for one in CHARGES]


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


# -- recovery files --------------------------------------------------------------------------------


_CHILD = """
import sys
from pathlib import Path
from geodp_app.files.autosave import Autosave
from geodp_app.document.document import Document
from geodp_app.document.work import Work

document = Document()
document.new(Work(name="from the child"), Path("/somewhere/field.geodp"))
document.set_sampling(n=20000)
autosave = Autosave(Path(sys.argv[1]))
while True:
    document.sample()
    autosave.save(document.work, document.path)
    print("saved", flush=True)
    if sys.argv[2] == "once":
        sys.stdin.read()
"""


def child(folder: Path, how_often: str) -> subprocess.Popen[str]:
    """Another window's process, after its first save."""
    process = subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(folder), how_often],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "saved\n"
    return process


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def work(name: str = "mine") -> Work:
    return Work(name=name)


def test_a_killed_window_leaves_what_it_saved_and_a_living_one_is_left_alone(tmp_path):
    begun, process = time.time(), child(tmp_path, "once")
    try:
        assert recoverable(tmp_path) == []
    finally:
        kill(process)
    (found,) = recoverable(tmp_path)
    work, run = load_session(found.path)
    assert (work.name, len(work.examples.labels), run) == ("from the child", 20_000, None)
    assert found.original == Path("/somewhere/field.geodp")
    assert begun - 2 < found.saved < time.time() + 2  # some disks count in seconds
    day = time.strftime("%Y-%m-%d", time.localtime(found.saved))
    assert found.text.startswith(f"field.geodp, kept on {day} at ")
    discard(found.path)
    assert recoverable(tmp_path) == []
    assert os.listdir(tmp_path) == []


def test_a_window_killed_while_it_saves_leaves_a_whole_file(tmp_path):
    for pause in (0.0, 0.031):
        process = child(tmp_path, "often")
        time.sleep(pause)
        kill(process)
    found = recoverable(tmp_path)
    assert len(found) == 2
    for recovery in found:
        assert load_session(recovery.path).work.name == "from the child"
        discard(recovery.path)
    assert os.listdir(tmp_path) == []  # temporary files too


def test_two_windows_of_one_process_have_a_file_each(tmp_path):
    folder = tmp_path / "new" / "recovery"
    one, two = Autosave(folder), Autosave(folder)
    assert not folder.exists()
    path = one.save(work("one"))
    assert path != two.save(work("two"), run=stored())
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert recoverable(folder) == []
    one.discard()
    assert len(os.listdir(folder)) == 1
    one.save(work("again"))
    one.discard()
    two.discard()
    assert os.listdir(folder) == []


def die(autosave: Autosave) -> None:
    """What the system does to the files of a dead process."""
    autosave._owner.close()


def test_the_newest_comes_first_with_its_run(tmp_path):
    for age, name in ((100, "old"), (0, "new"), (50, "middle")):
        autosave = Autosave(tmp_path)
        path = autosave.save(work(name), run=stored())
        os.utime(path, (1e9 - age, 1e9 - age))
        die(autosave)
    found = [load_session(recovery.path) for recovery in recoverable(tmp_path)]
    assert [session.work.name for session in found] == ["new", "middle", "old"]
    assert found[0].run == stored()


def test_only_the_last_save_counts_and_its_path_is_known(tmp_path):
    autosave = Autosave(tmp_path)
    autosave.save(work("first"))
    autosave.save(work("second"), Path("a.geodp"))
    autosave.save(work("third"))
    die(autosave)
    (found,) = recoverable(tmp_path)
    assert (load_session(found.path).work.name, found.original) == ("third", None)
    assert found.text.startswith("Unsaved work, kept on ")


@pytest.mark.parametrize("owner", [None, b"", b"{", b"[]", b'{"pid": 1}', b'{"original": 7}'])
def test_a_damaged_or_missing_owner_does_not_lose_the_work(tmp_path, owner):
    autosave = Autosave(tmp_path)
    path = autosave.save(work())
    die(autosave)
    (path.parent / "owner").unlink()
    if owner is not None:
        (path.parent / "owner").write_bytes(owner)
    (found,) = recoverable(tmp_path)
    assert (found.original, load_session(found.path).work.name) == (None, "mine")


def test_a_damaged_recovery_file_is_refused_clearly_and_can_be_removed(tmp_path):
    autosave = Autosave(tmp_path)
    path = autosave.save(work())
    die(autosave)
    path.write_bytes(path.read_bytes()[:-30])
    (found,) = recoverable(tmp_path)
    with pytest.raises(InputError, match=r"recovery.geodp: is not a zip archive"):
        load_session(found.path)
    discard(found.path)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        load_session(found.path)
    discard(found.path)


def test_other_things_in_the_folder_are_left_alone(tmp_path):
    (tmp_path / "notes.txt").touch()
    (tmp_path / "window-empty").mkdir()
    autosave = Autosave(tmp_path)
    path = autosave.save(work())
    (path.parent / "notes.txt").touch()
    assert recoverable(tmp_path) == []
    autosave.discard()
    assert os.listdir(path.parent) == ["notes.txt"]
    assert recoverable(tmp_path / "missing") == []


def test_a_folder_that_somebody_removed_is_made_again(tmp_path):
    autosave = Autosave(tmp_path / "recovery")
    autosave.save(work("first"))
    shutil.rmtree(tmp_path / "recovery")
    path = autosave.save(work("second"))
    assert recoverable(tmp_path / "recovery") == []
    die(autosave)
    assert [one.path for one in recoverable(tmp_path / "recovery")] == [path]
    assert load_session(path).work.name == "second"


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    autosave = Autosave(tmp_path / "file" / "recovery")
    with pytest.raises(InputError, match="file/recovery: cannot be written: Not a directory"):
        autosave.save(work())
    autosave.discard()
