"""A file appears whole or not at all."""

import os
import stat
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from patience import HANGS

from geodp_app.files import writing as files
from geodp_app.files.writing import NewFile, atomic_write
from geometry.errors import InputError

linux = hasattr(os, "O_TMPFILE")
posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")


def test_bytes_and_text_arrive_as_given(tmp_path: Path) -> None:
    path = tmp_path / "a"
    atomic_write(path, b"\x00\xff\r\n")
    assert path.read_bytes() == b"\x00\xff\r\n"
    atomic_write(str(path), "Zürich\r\n\n")
    assert path.read_bytes() == "Zürich\r\n\n".encode()
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("unnamed", [linux, False])
@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "Full"), KeyboardInterrupt(), MemoryError()])
def test_a_failure_keeps_the_old_file_and_leaves_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, error: BaseException, unnamed: bool
) -> None:
    path = tmp_path / "a"
    path.write_text("old")

    def fail(*_: Any) -> None:
        # a new file has a name, in the same folder, no sooner than it is whole
        named = call == "replace" or not unnamed
        assert len(os.listdir(tmp_path)) == 1 + named
        raise error

    if not unnamed:
        monkeypatch.setattr(files, "_write_unnamed", lambda *_: False)
    monkeypatch.setattr(os, call, fail)
    with pytest.raises(type(error)):
        atomic_write(path, "new")
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["a"]
    assert path.read_text() == "old"


def test_text_that_cannot_be_encoded_touches_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        atomic_write(tmp_path / "a", "\ud800")
    assert os.listdir(tmp_path) == []


def test_bytes_reach_the_disk_before_the_name_changes(tmp_path, monkeypatch):
    order: list[str] = []

    def spy(name: str) -> None:
        call = getattr(os, name)

        def noted(*arguments: Any) -> Any:
            order.append(name)
            return call(*arguments)

        monkeypatch.setattr(os, name, noted)

    spy("fsync")
    spy("replace")
    atomic_write(tmp_path / "a", "x")
    assert order[:2] == ["fsync", "replace"]


def test_errors_name_the_file_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "a"
    with pytest.raises(FileNotFoundError) as missing:
        atomic_write(path, "x")
    assert missing.value.filename == str(path)
    with pytest.raises(IsADirectoryError) as folder:
        atomic_write(tmp_path, "x")
    assert folder.value.filename == str(tmp_path)


@posix
def test_a_new_file_follows_the_umask_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        atomic_write(tmp_path / "new", "x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    (tmp_path / "new").chmod(0o604)
    atomic_write(tmp_path / "new", "y")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o604


@posix
@pytest.mark.parametrize("unnamed", [linux, False])
@pytest.mark.parametrize("before", [None, 0o644, 0o666, 0o600, 0o200])
def test_a_private_file_is_its_owners_alone_before_it_has_a_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int | None, unnamed: bool
) -> None:
    path = tmp_path / "a"
    if before is not None:
        path.write_text("old")
        path.chmod(before)
    opened = []
    system_open = os.open

    def watched(name: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        handle = system_open(name, flags, mode, **more)
        if flags & os.O_CREAT:
            opened.append(stat.S_IMODE(os.fstat(handle).st_mode))
        return handle

    if not unnamed:
        monkeypatch.setattr(files, "_write_unnamed", lambda *_: False)
    monkeypatch.setattr(os, "open", watched)
    old = os.umask(0)
    try:
        atomic_write(path, "x", private=True)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == "x"
    assert unnamed or opened == [0o600]


@pytest.mark.parametrize("private", [False, True])
def test_a_file_that_is_read_only_is_not_replaced(tmp_path: Path, private: bool) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o444)
    refused = "a: cannot be written: it is read-only: choose another name"
    for do in (lambda: files.try_files([NewFile(path, "new")]),
               lambda: files.write_whole(path, "new", private=private)):  # fmt: skip
        with pytest.raises(InputError, match=refused):
            do()
    assert (os.listdir(tmp_path), path.read_text()) == (["a"], "old")
    path.chmod(0o644)  # or Windows could not remove it


@posix
def test_a_symbolic_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "file")
    atomic_write(tmp_path / "link", "x")  # dangling at first
    atomic_write(tmp_path / "link", "y")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "file").read_text() == "y"


@posix
def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    atomic_write(pipe, "through")
    reader.join(HANGS)
    assert got == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    full = [b"a" * 300_000, b"b" * 300_000]
    atomic_write(path, full[0])
    seen, stop = set(), threading.Event()

    def watch() -> None:
        while not stop.is_set():
            seen.add(path.read_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    for i in range(30):
        atomic_write(path, full[i % 2])
    stop.set()
    watcher.join()
    assert seen <= set(full)
