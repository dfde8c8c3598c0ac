"""What the commands leave of layers, tables and pictures when the disk fills while they write.

    python benchmarks/layer_faults.py [--limits 40] [--json]

*limit*: no file may grow beyond so many bytes (RLIMIT_FSIZE), for many numbers below what the
largest file of the output needs; the libraries that write (GDAL, Arrow, Qt) meet it as they meet a
full disk.  *disk*: a real file system of little room, if this user may mount one, holds the
output; *temporary*: it holds the temporary files alone.  *interrupt*: Ctrl+C at each call that
changes files, of a run with a report and records beside its shape.

Each command runs in a process of its own, with nothing and with old files at the output's names.
It must end with code 2 and one line that names a file and says what to do, leave what was there as
it was, and no other file there or among the temporary ones but what was learned, if it says where;
or end well, with the output whole.  What is interrupted ends with code 130, has written all of its
files or none, and says which.

Exit status 1 if anything else was found.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from faults import mounted

from geodp_app.cli import main as command

_BOUNDS = ["--bounds", "13,42,20,47"]
#: Endings of what each verb writes.
ENDINGS = {
    "predict": (".csv", ".geojson", ".gpkg", ".fgb", ".shp", ".parquet"),
    "learn": (".geojson", ".gpkg", ".fgb", ".shp", ".parquet"),
    "render": (".png", ".svg"),
}


@dataclass
class Outcome:
    """What one verb and ending came to.

    Attributes
    ----------
    what : str
    cases, refused : int
        All of them; those that ended with code 2.
    faults : list of str
        At most 20.
    """

    what: str
    cases: int = 0
    refused: int = 0
    faults: list[str] = field(default_factory=list)


class Bench:
    """A folder with inputs, an output folder and one of temporary files.

    Parameters
    ----------
    folder : Path
    points : int
        How many are labelled.
    """

    def __init__(self, folder: Path, points: int = 300) -> None:
        self.out, self.temporary = folder / "out", folder / "temporary"
        for each in (self.out, self.temporary):
            each.mkdir()
        self.points, self.learned = folder / "points.csv", folder / "learned.geojson"
        rng = np.random.default_rng(0)
        rows = rng.uniform([13, 42], [20, 47], (points, 2))
        self.points.write_text(
            "lon,lat,label,note\n"
            + "".join(f"{x:.5f},{y:.5f},{int(x < 16)},note {x:.1f}\n" for x, y in rows)
        )
        # loaded here once, not by every process that is forked
        predict = ["predict", str(self.learned), str(self.points), *_BOUNDS]
        first = [*predict, "-o", str(folder / "first.gpkg"), "--quiet"]
        for arguments in ([*self._learn(self.learned), "--quiet"], first):
            if command(arguments):
                raise RuntimeError("the inputs cannot be made")

    def _learn(self, output: Path) -> list[str]:
        learn = ["learn", str(self.points), *_BOUNDS, "--grid", "64", "--epsilon", "2"]
        return [*learn, "--seed", "1", "--support", "0.2", "-o", str(output)]

    def arguments(self, verb: str, output: Path) -> list[str]:
        """A command that writes this output."""
        if verb == "learn":
            return [*self._learn(output), "--overwrite"]
        points = [str(self.points), *_BOUNDS] if verb == "predict" else []
        return [verb, str(self.learned), *points, "-o", str(output), "--overwrite"]

    def run(
        self, arguments: list[str], limit: int | None = None, stop: int | None = None
    ) -> tuple[int, str]:
        """Code and words of a command in a process of its own, interrupted at a call or not."""
        with tempfile.TemporaryFile("w+") as words:
            child = os.fork()
            if child == 0:
                code = 99
                try:
                    if stop is not None:
                        interrupt_at(stop)
                    code = self._child(arguments, limit, words.fileno())
                finally:
                    os._exit(code)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            words.seek(0)
            return code, words.read()

    def _child(self, arguments: list[str], limit: int | None, words: int) -> int:
        # the words go through a pipe: they are no file that the limit is about
        reader, writer = os.pipe()
        if (writing := os.fork()) == 0:
            os.close(writer)
            while result := os.read(reader, 1 << 16):
                os.write(words, result)
            os._exit(0)
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        tempfile.tempdir = str(self.temporary)
        if limit is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        code = command(arguments)
        sys.stdout.close()
        sys.stderr.close()
        for handle in (1, 2, writer):
            with contextlib.suppress(OSError):
                os.close(handle)
        os.waitpid(writing, 0)
        return code

    def check(
        self, outcome: Outcome, output: Path, verb: str, full: dict[str, bytes], limit: int | None
    ) -> None:
        """One command on a disk that fills, with and without old files."""
        for old in (False, True):
            # a style that is there stays: it is no output then
            before = {name: b"old " + name.encode() for name in full if old and ".qml" not in name}
            replace_files(output.parent, before)
            code, result = self.run(self.arguments(verb, output), limit)
            outcome.cases += 1
            outcome.refused += code == 2
            fault = _fault(code, result, contents(output.parent), before, full)
            left = [str(each) for each in self.temporary.iterdir()]
            if not fault and left and left != [result.strip().rpartition(" is kept in ")[2]]:
                fault = "temporary files stay"
            replace_files(self.temporary, {})
            if fault and len(outcome.faults) < 20:
                outcome.faults.append(f"{limit} bytes, old files {old}: {fault}")


def _fault(
    code: int,
    result: str,
    found: dict[str, bytes],
    before: dict[str, bytes],
    full: dict[str, bytes],
) -> str:
    """What is wrong; nothing if nothing is."""
    if code == 0:
        lengths = {name: len(data) for name, data in found.items()}
        whole = lengths == {name: len(data) for name, data in full.items()}
        return "" if whole else f"ends well, with files of {lengths}"
    if code != 2:
        return f"ends with {code}: {result[-200:]}"
    if "is on standard output instead" in result and result.startswith('{"type"'):
        result = result.partition("\n")[2]
    if len(result.splitlines()) != 1 or "make room" not in result or "/" not in result:
        return f"says {result[-300:]!r}"
    return "" if found == before else f"files are { ({n: len(d) for n, d in found.items()}) }"


def interrupt_at(number: int) -> None:
    """Ctrl+C at this call of those that change files, from 0, once a run has been tried."""
    from geodp_app.files import learned_file

    calls = 0
    shape_files = learned_file.shape_files

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **keys: Any) -> Any:
            nonlocal calls
            if calls == number:
                calls += 1
                signal.raise_signal(signal.SIGINT)
            calls += 1
            return real(*arguments, **keys)

        return call

    def begin(path: Any, shape: Any, **how: Any) -> Any:
        if shape.release.learner != "none":  # this is no trial
            for name in ("open", "fsync", "link", "replace", "unlink"):
                setattr(os, name, counted(getattr(os, name)))
        return shape_files(path, shape, **how)

    learned_file.shape_files = begin


def interrupted(bench: Bench, _: int) -> Iterator[Outcome]:
    """A run with three kinds of files."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for ending in ENDINGS["learn"]:
        output, outcome = bench.out / f"a{ending}", Outcome(f"interrupt, learn {ending}")
        others = ["--report", f"{bench.out}/r.json", "--records", f"{bench.out}/s.jsonl"]
        arguments = [*bench.arguments("learn", output), *others]
        replace_files(bench.out, {})
        bench.run(arguments)
        full = contents(bench.out)
        for number in range(200):
            replace_files(bench.out, {})
            code, result = bench.run(arguments, stop=number)
            found = contents(bench.out)
            outcome.cases += 1
            if code == 0:  # there is no such call any more
                break
            outcome.refused += not found
            words = "when it had written" if found else "cancelled; nothing was written"
            names = all(name in result for name in found)
            whole = found.keys() == full.keys() and all(
                found[name] == full[name]
                for name in full
                if name != "s.jsonl"  # it has seconds
            )
            if os.listdir(bench.temporary):
                outcome.faults.append(f"call {number}: temporary files stay")
                replace_files(bench.temporary, {})
            if code != 130 or (found and not whole) or words not in result or not names:
                outcome.faults.append(
                    f"call {number}: ends with {code}, {sorted(found)}: {result!r}"
                )
        yield outcome


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder."""
    return {each.name: each.read_bytes() for each in folder.iterdir()}


def replace_files(folder: Path, files: dict[str, bytes]) -> None:
    """Empty a folder and fill it."""
    for each in folder.iterdir():
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)


def outputs() -> Iterator[tuple[str, str]]:
    """Verbs and endings."""
    for verb, endings in ENDINGS.items():
        for ending in endings:
            yield verb, ending


def whole_output(bench: Bench, verb: str, output: Path) -> dict[str, bytes]:
    """What a command writes that nothing hinders."""
    replace_files(output.parent, {})
    code, result = bench.run(bench.arguments(verb, output))
    if code:
        raise RuntimeError(result)
    return contents(output.parent)


def limits_below(sizes: list[int], count: int) -> list[int]:
    """About so many limits that do not suffice: around pages and ends of files, and between."""
    largest = max(sizes)
    around = [0, 1, 100, 511, 512, 4095, 4096, 8192, *(s + d for s in sizes for d in (-1, 0, 1))]
    between = [largest * i // count for i in range(1, count)]
    return sorted({limit for limit in (*around, *between) if 0 <= limit < largest})


def limited(bench: Bench, count: int) -> Iterator[Outcome]:
    """Files that may not grow."""
    for verb, ending in outputs():
        output = bench.out / f"a{ending}"
        full = whole_output(bench, verb, output)
        outcome = Outcome(f"limit, {verb} {ending}")
        for limit in limits_below([len(data) for data in full.values()], count):
            bench.check(outcome, output, verb, full, limit)
        yield outcome


def small_disk(bench: Bench, temporary: bool) -> Iterator[Outcome]:
    """A disk of one page less than needed, and of less: for the output or temporary files."""
    for verb, ending in outputs():
        full = whole_output(bench, verb, bench.out / f"a{ending}")
        pages = sum(-(-len(data) // 4096) for data in full.values())
        outcome = Outcome(f"{'temporary' if temporary else 'disk'}, {verb} {ending}")
        # old files of a few bytes take a page each; a folder and a new name take none
        for room in sorted({*range(1, pages, max(1, pages // 8)), pages - 1} - {0}):
            with mounted(f"size={4 * (room + len(full) * (not temporary))}k") as disk:
                if disk is None:
                    return
                used = bench.temporary
                bench.temporary = disk if temporary else used
                output = (bench.out if temporary else disk) / f"a{ending}"
                bench.check(outcome, output, verb, full, None)
                bench.temporary = used
        yield outcome


PARTS: dict[str, Callable[[Bench, int], Iterator[Outcome]]] = {
    "interrupt": interrupted,
    "limit": limited,
    "disk": lambda bench, _: small_disk(bench, temporary=False),
    "temporary": lambda bench, _: small_disk(bench, temporary=True),
}


def main() -> int:
    """Run all parts and report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--limits", type=int, default=40, help="about so many of each output")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    faults = cases = 0
    with tempfile.TemporaryDirectory(prefix="geodp-layers-") as name:
        bench = Bench(Path(name))
        for part in options.part:
            for outcome in PARTS[part](bench, options.limits):
                faults += len(outcome.faults)
                cases += outcome.cases
                if options.json:
                    print(json.dumps(asdict(outcome)), flush=True)
                    continue
                result = f"{outcome.cases} cases, {outcome.refused} refused, "
                print(f"{outcome.what}: {result}{len(outcome.faults)} faults", flush=True)
                for line in outcome.faults:
                    print(f"    {line}", flush=True)
    print(f"{cases:,} cases, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
