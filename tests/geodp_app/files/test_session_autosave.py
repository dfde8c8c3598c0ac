"""Recovery files: kept while a window lives, offered when it died, whole whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from run_records import stored

from geodp import InputError
from geodp_app.document.work import Work
from geodp_app.files.autosave import Autosave, discard, recoverable
from geodp_app.files.session import load_session

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
    process.communicate(timeout=120)


def work(name: str = "mine") -> Work:
    return Work(name=name)


def test_a_killed_window_leaves_what_it_saved_and_a_living_one_is_left_alone(tmp_path):
    process = child(tmp_path, "once")
    try:
        assert recoverable(tmp_path) == []
    finally:
        kill(process)
    (found,) = recoverable(tmp_path)
    work, run = load_session(found.path)
    assert (work.name, len(work.examples.labels), run) == ("from the child", 20_000, None)
    assert found.original == Path("/somewhere/field.geodp")
    assert abs(found.saved - time.time()) < 60
    day = time.strftime("%Y-%m-%d", time.localtime(found.saved))
    assert found.text.startswith(f"field.geodp, kept on {day} at ")
    discard(found.path)
    assert recoverable(tmp_path) == []
    assert os.listdir(tmp_path) == []


def test_a_window_killed_while_it_saves_leaves_a_whole_file(tmp_path):
    for pause in (0.0, 0.013, 0.031):
        process = child(tmp_path, "often")
        time.sleep(pause)
        kill(process)
    found = recoverable(tmp_path)
    assert len(found) == 3
    for recovery in found:
        assert load_session(recovery.path).work.name == "from the child"
        discard(recovery.path)
    assert os.listdir(tmp_path) == []  # temporary files too


def test_two_windows_of_one_process_have_a_file_each(tmp_path):
    folder = tmp_path / "new" / "recovery"
    one, two = Autosave(folder), Autosave(folder)
    assert not folder.exists()
    assert one.save(work("one")) != two.save(work("two"), run=stored())
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


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    autosave = Autosave(tmp_path / "file" / "recovery")
    with pytest.raises(InputError, match="file/recovery: cannot be written: Not a directory"):
        autosave.save(work())
    autosave.discard()
