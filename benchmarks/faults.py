"""What is left of a person's files when the disk, the machine or the process fails.

    python benchmarks/faults.py [--kills 200] [--part disk order read-only kill] [--json]

*disk*: a write fails at every byte of a file (after 0, 1, 2, ... bytes have arrived), for every
kind of file that is written, and at every call in between; once more with a real limit on the
size of files (RLIMIT_FSIZE), and on a real full disk if this user may mount one.
*order*: the calls that a save makes are recorded and played up to every point; what a power cut
leaves then is the old file or the new one (the model: a file's bytes are there for sure only after
its own fsync, a name may change at any time from its rename on).
*read-only*: a folder mounted read-only (a user with that right), or else without permission.
*kill*: a process that saves sessions, exports and recovery files in a loop gets SIGKILL at a
random moment, so many times; every file must then be whole, and the work recoverable.

Exit status 1 if a file was lost.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import io
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from geodp_app.document.examples import Examples, Frame
from geodp_app.document.work import Work
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.files import writing
from geodp_app.files.autosave import discard, recoverable
from geodp_app.files.document_files import export_examples, export_target
from geodp_app.files.points import read_examples
from geodp_app.files.session import load_session, save_session
from geometry.errors import InputError
from geometry.geojson import read_geojson

SHAPE = Shape(((1, 1), (60, 1), (60, 60), (1, 60)))


@dataclass
class Outcome:
    """What one part found.

    Attributes
    ----------
    part : str
    cases : int
    losses : list of str
        Cases after which neither the old nor the new file was whole.
    notes : list of str
    """

    part: str
    cases: int = 0
    losses: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def check(self, holds: object, what: str) -> None:
        """Count a case."""
        self.cases += 1
        if not holds and len(self.losses) < 20:
            self.losses.append(what)


def work(name: str, n: int = 20) -> Work:
    """A small work, told from others by its name."""
    rng = np.random.default_rng(len(name))
    examples = Examples(rng.integers(0, 65, (n, 2)), rng.integers(0, 2, n), Frame(64))
    return Work(name, Drawing(64, (SHAPE,)), examples=examples)


#: Kinds of file: how one is written, and how it is read back (raising if it is not whole).
WRITERS: dict[str, tuple[Callable[[Path, Work], None], Callable[[Path], object]]] = {
    ".geodp": (save_session, lambda path: load_session(path).work.name),
    ".csv": (
        lambda path, w: export_examples(path, w.examples),  # type: ignore[arg-type]
        lambda path: len(read_examples(path).labels),
    ),
    ".geojson": (export_target, lambda path: read_geojson(path).name),
}


# Full disk


class Leaky(io.FileIO):
    """A file on a disk that takes so many bytes more."""

    room = 0

    def write(self, data: Any) -> int:
        """As much as fits; then the disk is full."""
        view = memoryview(data).cast("B")
        taken = min(len(view), Leaky.room)
        Leaky.room -= taken
        if not taken and len(view):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(view[:taken])


@contextlib.contextmanager
def disk_with_room(room: int) -> Iterator[None]:
    """Files opened for writing by `geodp_app.files.writing` take `room` bytes together."""

    def leaky_open(path: str | int, mode: str = "r") -> io.BufferedWriter:
        return io.BufferedWriter(Leaky(path, mode.replace("b", "")))

    Leaky.room = room
    writing.open = leaky_open  # type: ignore[attr-defined]
    try:
        yield
    finally:
        del writing.open  # type: ignore[attr-defined]


def full_disk(folder: Path, stride: int = 1) -> Outcome:
    """A write that fails after every number of bytes, and at every call."""
    outcome = Outcome("disk")
    for suffix in WRITERS:
        _fill(folder, suffix, stride, outcome)
    _limited(folder, outcome)
    _small_disk(outcome)
    return outcome


def _fill(folder: Path, suffix: str, stride: int, outcome: Outcome) -> None:
    """One kind of file."""
    write, read = WRITERS[suffix]
    path = folder / f"full{suffix}"
    write(path, work("old"))
    old = path.read_bytes()
    write(folder / f"size{suffix}", work("newer"))
    size = (folder / f"size{suffix}").stat().st_size
    (folder / f"size{suffix}").unlink()
    for room in range(0, size, stride):
        with disk_with_room(room):
            refused = _refused(lambda: write(path, work("newer")))
        whole = path.read_bytes() == old and not _litter(folder)
        outcome.check(refused and whole, f"{suffix} with room for {room} bytes")
    for call in ("fsync", "replace", "chmod", "link"):
        with _failing(call):
            refused = _refused(lambda: write(path, work("newer")))
        whole = path.read_bytes() == old and not _litter(folder)
        outcome.check(refused and whole, f"{suffix}, {call} fails")
    with disk_with_room(size):
        write(path, work("newer"))
    outcome.check(read(path) and path.read_bytes() != old, f"{suffix} with just enough room")
    path.unlink()


def _refused(do: Callable[[], None]) -> bool:
    """Whether the person is told in one clear line."""
    try:
        do()
    except InputError as error:
        return "cannot be written" in str(error) and "unchanged" in str(error)
    return False


def _litter(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(".geodp-")]


@contextlib.contextmanager
def _failing(call: str) -> Iterator[None]:
    real = getattr(os, call)

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    setattr(os, call, fail)
    try:
        yield
    finally:
        setattr(os, call, real)


def _limited(folder: Path, outcome: Outcome) -> None:
    """The system's own limit on the size of a file."""
    path = folder / "limited.geodp"
    save_session(path, work("old"))
    old = path.read_bytes()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for limit in (0, 1, 100, 1000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        try:
            refused = _refused(lambda: save_session(path, work("newer", 500)))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        whole = path.read_bytes() == old and not _litter(folder)
        outcome.check(refused and whole, f"RLIMIT_FSIZE {limit}")
    signal.signal(signal.SIGXFSZ, handler)
    path.unlink()


@contextlib.contextmanager
def mounted(*options: str) -> Iterator[Path | None]:
    """A file system of its own; None if this user may not mount one."""
    with tempfile.TemporaryDirectory(prefix="geodp-disk-") as name:
        command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "geodp-faults", name]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            yield None
            return
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", name], check=False, capture_output=True)


def _small_disk(outcome: Outcome) -> None:
    with mounted("size=64k") as disk:
        if disk is None:
            outcome.notes.append("no real disk could be mounted: only modelled ones were filled")
            return
        path = disk / "a.geodp"
        save_session(path, work("old"))
        old = path.read_bytes()
        refused = _refused(lambda: save_session(path, work("newer", 30_000)))
        outcome.check(refused and path.read_bytes() == old and not _litter(disk), "a full tmpfs")
        outcome.notes.append("a tmpfs of 64 KiB was filled")


# Power cuts

#: (call, what it is about, bytes if it writes)
Step = tuple[str, str, bytes]


def recorded(do: Callable[[], None]) -> list[Step]:
    """The calls that change files, in order, as :mod:`geodp_app.files.writing` makes them."""
    steps: list[Step] = []
    names: dict[int, str] = {}
    real = {
        name: getattr(os, name) for name in ("fsync", "replace", "unlink", "open", "chmod", "link")
    }

    class Noted(io.FileIO):
        def write(self, data: Any) -> int:
            steps.append(("write", str(self.name), bytes(data)))
            return super().write(data)

    def noted_open(path: str | int, mode: str = "r", **_: Any) -> io.BufferedWriter:
        steps.append(("create", str(path), b""))
        file = Noted(path, mode.replace("b", ""))
        names[file.fileno()] = str(path)
        return io.BufferedWriter(file)

    def open_folder(path: str, *rest: Any) -> int:
        handle: int = real["open"](path, *rest)
        names[handle] = path
        return handle

    def link(source: str, name: str, **keys: Any) -> None:
        steps.append(("link", source.rpartition("/")[2], name.encode()))
        real["link"](source, name, **keys)

    def note(name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **keys: Any) -> Any:
            about = arguments[0]
            about = names[about] if isinstance(about, int) else os.fspath(about)
            steps.append((name, str(about), str(arguments[-1]).encode()))
            return real[name](*arguments, **keys)

        return call

    writing.open = noted_open  # type: ignore[attr-defined]
    os.open, os.link = open_folder, link
    for name in ("fsync", "replace", "unlink", "chmod"):
        setattr(os, name, note(name))
    try:
        do()
    finally:
        del writing.open  # type: ignore[attr-defined]
        for name, call in real.items():
            setattr(os, name, call)
    return steps


def after_power_cut(steps: list[Step], target: str, old: bytes) -> Iterator[bytes]:
    """All that the target may hold after a cut behind these steps.

    Bytes that were not synced may be there in part or not at all; a rename that the folder's
    fsync has not confirmed may have happened or not.
    """
    content: dict[str, bytes] = {}
    synced: set[str] = set()
    held = [old]
    for call, about, data in steps:
        if call == "create":
            content[about] = b""
        elif call == "write":
            content[about] += data
            synced.discard(about)
        elif call == "fsync" and about in content:
            synced.add(about)
        elif call == "fsync":  # the folder: its names are as they were last set
            held = held[-1:]
        elif call == "link":
            content[data.decode()] = content[about]
            if about in synced:
                synced.add(data.decode())
        elif call == "replace" and data.decode() == target:
            new = content[about]
            held.append(new if about in synced else new[: len(new) // 2])
    yield from held


def power_cut(folder: Path) -> Outcome:
    """Every prefix of what a save does leaves the old file or the new one."""
    outcome = Outcome("order")
    for suffix, (write, _) in WRITERS.items():
        path = folder / f"order{suffix}"
        write(path, work("old"))
        old = path.read_bytes()
        steps = recorded(lambda write=write, path=path: write(path, work("newer")))
        new = path.read_bytes()
        for count in range(len(steps) + 1):
            for held in after_power_cut(steps[:count], str(path), old):
                outcome.check(held in (old, new), f"{suffix} after {count} of {len(steps)} calls")
        last = list(after_power_cut(steps, str(path), old))
        outcome.check(last == [new], f"{suffix}: what was told to be saved may be lost")
        calls = " ".join(call for call, *_ in steps)
        outcome.notes.append(f"{suffix}: {calls}")
        path.unlink()
    return outcome


# Read-only


def read_only(folder: Path) -> Outcome:
    """A folder that takes nothing."""
    outcome = Outcome("read-only")
    with mounted("size=1m") as disk:
        place = disk or folder / "closed"
        place.mkdir(exist_ok=True)
        for suffix, (write, _) in WRITERS.items():
            write(place / f"a{suffix}", work("old"))
        old = {path.name: path.read_bytes() for path in place.iterdir()}
        if disk is not None:
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
            outcome.notes.append("mounted read-only")
        elif os.geteuid() == 0:
            outcome.notes.append("skipped: this user may write everywhere and mount nothing")
            return outcome
        else:
            place.chmod(0o500)
            outcome.notes.append("without permission to write")
        for suffix, (write, _) in WRITERS.items():
            refused = _refused(lambda s=suffix, w=write: w(place / f"a{s}", work("newer")))
            outcome.check(refused, f"{suffix} is not refused clearly")
        now = {path.name: path.read_bytes() for path in place.iterdir()}
        outcome.check(now == old, "a file changed")
        place.chmod(0o700) if disk is None else None
    return outcome


# Killed

_CHILD = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from faults import WRITERS, work
from geodp_app.files.autosave import Autosave
from geodp_app.document.document import Document

folder = Path({folder!r})
document = Document(work("kept", 2000))
autosave = Autosave(folder / "recovery")
number = 0
while True:
    number += 1
    document.change("rename", name=f"kept {{number}}")
    autosave.save(document.work)
    for suffix, (write, _) in WRITERS.items():
        write(folder / f"a{{suffix}}", work(f"number {{number}}", 500 + number % 7))
    if number == 1:
        print("begun", flush=True)
"""


def killed(folder: Path, kills: int, seed: int = 1) -> Outcome:
    """A process that saves without end, killed so many times at a random moment."""
    outcome, rng = Outcome("kill"), random.Random(seed)
    here, root = str(Path(__file__).parent), str(Path(__file__).parent.parent)
    code = _CHILD.format(path=[here, root], folder=str(folder))
    litter = 0
    begun = time.perf_counter()
    # one parent that forks: starting Python anew would take most of the time
    for number in range(kills):
        child = _forked(code)
        time.sleep(rng.uniform(0.0, 0.06))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for suffix, (_, read) in WRITERS.items():
            outcome.check(_reads(read, folder / f"a{suffix}"), f"kill {number}: {suffix}")
        litter = max(litter, len(_litter(folder)))
        found = recoverable(folder / "recovery")
        outcome.check(found, f"kill {number}: nothing to recover")
        for recovery in found:
            name = ""
            with contextlib.suppress(InputError):
                name = load_session(recovery.path).work.name
            outcome.check(name.startswith("kept"), f"kill {number}: recovery")
            discard(recovery.path)
        outcome.check(not os.listdir(folder / "recovery"), f"kill {number}: recovery is littered")
    took = time.perf_counter() - begun
    outcome.notes.append(f"{kills} kills in {took:.0f} s; temporary files left: {litter}")
    return outcome


def _forked(code: str) -> int:
    """A child that runs the code, after its first round of saves."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(writer, 1)
            sys.stdout = os.fdopen(1, "w")
            exec(compile(code, "child", "exec"), {})
        finally:
            os._exit(1)
    os.close(writer)
    result = os.read(reader, 5)
    os.close(reader)
    if not result:
        raise RuntimeError("the child did not begin to save")
    return child


def _reads(read: Callable[[Path], object], path: Path) -> bool:
    try:
        return bool(read(path))
    except (InputError, ValueError, OSError):
        return False


PARTS: dict[str, Callable[[Path, argparse.Namespace], Outcome]] = {
    "disk": lambda folder, _: full_disk(folder),
    "order": lambda folder, _: power_cut(folder),
    "read-only": lambda folder, _: read_only(folder),
    "kill": lambda folder, options: killed(folder, options.kills),
}


def main() -> int:
    """Run the parts and report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    lost = 0
    for part in options.part:
        with tempfile.TemporaryDirectory(prefix="geodp-faults-") as name:
            outcome = PARTS[part](Path(name), options)
        lost += len(outcome.losses)
        if options.json:
            print(json.dumps(asdict(outcome)), flush=True)
            continue
        print(f"{part:9}: {outcome.cases:,} cases, {len(outcome.losses)} losses", flush=True)
        for line in (*outcome.losses, *outcome.notes):
            print(f"    {line}", flush=True)
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
