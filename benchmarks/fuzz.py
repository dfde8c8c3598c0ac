"""Feeding nonsense to everything that reads: CSV, GeoJSON, sessions, learned files, gestures,
tables, GIS layers, Parquet, data frames, verbs, ledgers, the plugin's command line, places.

    python benchmarks/fuzz.py [--inputs 10000 | --seconds 60] [--kind csv geojson session ...]
                              [--engine auto|atheris|mutation] [--seed 1] [--keep FOLDER] [--json]

Two engines.  *mutation* needs nothing: seeds and good finds are changed at random, as text, as
JSON or as bytes; the same seed gives the same inputs.  *atheris* (if it can be imported; it is no
dependency) follows the coverage of the code and uses the same mutations half of the time.  auto
takes atheris if it is there.

Inputs run in a child process, watched from outside: a hang over `--patience` seconds, memory over
`--memory` MiB, or a crash of the child is a finding, as is every exception that is not documented
and everything that :mod:`fuzz_kinds` says must hold and does not.  Exit status 1 if there is one.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import mmap
import os
import pickle
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fuzz_kinds import Kind
from fuzz_mutations import MOST_BYTES

#: Modules of kinds.
_MODULES = ("fuzz_kinds", "fuzz_edges", "fuzz_tables", "fuzz_layers", "fuzz_verbs", "fuzz_places")


def _kinds() -> dict[str, Kind]:
    """All of them by name, of modules that are imported now if they were not."""
    return {k: v for name in _MODULES for k, v in importlib.import_module(name).KINDS.items()}


KINDS = _kinds()

#: Inputs of one child process.
_BATCH = 5_000
_HEAD = 32


@dataclass
class Tally:
    """What came of the inputs of one kind.

    Attributes
    ----------
    inputs, read, refused : int
    seconds : float
    slowest : float
        Seconds of the slowest input.
    peak_mib : int
        Largest memory of a child process.
    findings : dict of str to str
        What went wrong, each once, with an input (as hex, cut) that does it.
    """

    kind: str
    engine: str
    inputs: int = 0
    read: int = 0
    refused: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    peak_mib: int = 0
    findings: dict[str, str] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        """Take in the tally of a batch."""
        self.inputs += other.inputs
        self.read += other.read
        self.refused += other.refused
        self.slowest = max(self.slowest, other.slowest)
        self.findings = {**other.findings, **self.findings}


class Watched:
    """Memory shared with the child: how many inputs it has begun, and the one it is at."""

    def __init__(self) -> None:
        self._map = mmap.mmap(-1, _HEAD + MOST_BYTES)

    def begin(self, data: bytes) -> None:
        """The child begins an input."""
        self._map[16 : 16 + 8] = len(data).to_bytes(8, "little")
        self._map[_HEAD : _HEAD + len(data)] = data
        self._map[0:8] = (self.count + 1).to_bytes(8, "little")
        self._map[8] = 1

    def end(self) -> None:
        """The child has done with it."""
        self._map[8] = 0

    @property
    def busy(self) -> bool:
        """Whether it is at an input: not changing or choosing one."""
        return self._map[8] == 1

    @property
    def count(self) -> int:
        """Inputs begun so far."""
        return int.from_bytes(self._map[0:8], "little")

    @property
    def data(self) -> bytes:
        """The last input begun."""
        size = int.from_bytes(self._map[16 : 16 + 8], "little")
        return self._map[_HEAD : _HEAD + size]


def try_one(kind: Kind, data: bytes, tally: Tally) -> bool:
    """Run one input and count it; whether it was read."""
    begun = time.perf_counter()
    outcome = ""
    try:
        outcome = kind.run(data)
    except (Exception, RecursionError) as error:
        tally.findings.setdefault(_name(error), data.hex())
    tally.inputs += 1
    tally.read += outcome == "read"
    tally.refused += outcome == "refused"
    tally.slowest = max(tally.slowest, time.perf_counter() - begun)
    return outcome == "read"


def _name(error: BaseException) -> str:
    """Kind and place of an exception: what makes two findings one."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "geodp_app" in f.filename or "/geometry/" in f.filename]
    last = (own or frames)[-1]
    text = " ".join(str(error).split())[:90]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {text}"


def mutation_batch(kind: Kind, count: int, seed: str, watched: Watched, tally: Tally) -> None:
    """Inputs changed at random; what is read may become a seed of the batch."""
    rng = random.Random(seed)
    seeds = _seeds(kind)
    pool = list(seeds)
    most = _peak() + _MEMORY[0] * 1024
    for _ in range(count):
        data = kind.mutate(rng.choice(pool), rng, seeds)[:MOST_BYTES]
        watched.begin(data)
        read = try_one(kind, data, tally)
        watched.end()
        if read and not rng.randrange(4):
            if len(pool) < 200:
                pool.append(data)
            else:
                pool[rng.randrange(len(seeds), len(pool))] = data
        if _peak() > most:
            tally.findings["memory over the bound"] = data.hex()
            return


def atheris_batch(
    kind: Kind, count: int, seed: str, watched: Watched, tally: Tally, done: Callable[[], None]
) -> None:
    """As many inputs, led by coverage; never returns, `done` is called instead."""
    import atheris

    seeds = _seeds(kind)
    corpus = Path(tempfile.gettempdir()) / f"geodp-corpus-{kind.name}"
    corpus.mkdir(exist_ok=True)
    for data in seeds:
        (corpus / hashlib.sha1(data).hexdigest()).write_bytes(data)
    most = _peak() + _MEMORY[0] * 1024

    def one(data: bytes) -> None:
        if kind.framed and not data:  # what it always begins with
            return
        watched.begin(data)
        try_one(kind, data, tally)
        watched.end()
        if _peak() > most:
            tally.findings["memory over the bound"] = data.hex()
            tally.inputs = max(tally.inputs, count)
        if tally.inputs >= count:
            done()

    def change(data: bytes, most: int, number: int) -> bytes:
        rng = random.Random(number)
        if not kind.framed and rng.getrandbits(1):
            return bytes(atheris.Mutate(data, most))
        try:
            return kind.mutate(data, rng, seeds)[:most]
        except Exception:  # nothing that it has made: begin anew
            return kind.mutate(rng.choice(seeds), rng, seeds)[:most]

    number = str(int(hashlib.sha1(seed.encode()).hexdigest()[:7], 16))
    options = [
        "fuzz", f"-seed={number}", f"-artifact_prefix={corpus}-",
        f"-max_len={MOST_BYTES}", "-timeout=100000", "-rss_limit_mb=0",
        "-print_final_stats=0", "-verbosity=0", str(corpus),
    ]  # fmt: skip
    atheris.Setup(options, one, custom_mutator=change)
    atheris.Fuzz()


_MEMORY = [1024]
_SEEDS: dict[str, list[bytes]] = {}


def _seeds(kind: Kind) -> list[bytes]:
    if kind.name not in _SEEDS:
        _SEEDS[kind.name] = kind.seeds()
    return _SEEDS[kind.name]


def _peak() -> int:
    """Largest resident size of this process so far, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def run_batch(kind: Kind, engine: str, count: int, seed: str, patience: float) -> Tally:
    """A batch in a process of its own, ended if one input takes too long."""
    watched, begun = Watched(), time.perf_counter()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _in_child(kind, engine, count, seed, watched, writer)
    os.close(writer)
    os.set_blocking(reader, False)
    parts: list[bytes] = []
    seen, since, hung = -1, time.perf_counter(), False
    while True:
        parts += _available(reader)
        ended, status, usage = os.wait4(child, os.WNOHANG)
        if ended:
            break
        now = time.perf_counter()
        if watched.count != seen or (not watched.busy and now - since < 10 * patience):
            since = now if watched.count != seen else since
            seen = watched.count
        elif seen > 0 and now - since > patience and not hung:
            hung = True
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
    parts += _available(reader)
    os.close(reader)
    answer = b"".join(parts)
    tally = pickle.loads(answer) if answer and not hung else Tally(kind.name, engine)
    if hung or not answer:
        tally.inputs = watched.count
        what = f"hangs over {patience:.0f} s" if hung else f"ends the process, status {status}"
        tally.findings[what] = watched.data.hex()
    tally.seconds = time.perf_counter() - begun
    tally.peak_mib = usage.ru_maxrss // 1024
    return tally


def _available(reader: int) -> list[bytes]:
    parts = []
    try:
        while part := os.read(reader, 1 << 16):
            parts.append(part)
    except BlockingIOError:
        pass
    return parts


def _in_child(
    kind: Kind, engine: str, count: int, seed: str, watched: Watched, writer: int
) -> None:
    """Work, send the tally, end without clean-up."""
    tally = Tally(kind.name, engine)
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115

    def done() -> None:
        os.set_blocking(writer, True)
        with os.fdopen(writer, "wb") as file:
            file.write(pickle.dumps(tally))
        os._exit(0)

    try:
        if engine == "atheris":
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 2)
            atheris_batch(kind, count, seed, watched, tally, done)
        mutation_batch(kind, count, seed, watched, tally)
        done()
    except BaseException as error:  # of the fuzzer itself
        tally.findings[_name(error)] = watched.data.hex()
        done()
    finally:
        os._exit(1)


def fuzz(
    kind: Kind,
    engine: str,
    *,
    inputs: int | None,
    seconds: float | None,
    seed: int,
    patience: float,
    tell: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Batches until there are enough inputs, or the time is over."""
    total, begun, number = Tally(kind.name, engine), time.perf_counter(), 0
    _seeds(kind)  # learners compile here, once
    begun = time.perf_counter()
    while (inputs is None or total.inputs < inputs) and (
        seconds is None or time.perf_counter() - begun < seconds
    ):
        count = _BATCH if inputs is None else min(_BATCH, inputs - total.inputs)
        if seconds is not None:
            count = min(count, 1000)
        batch = run_batch(kind, engine, count, f"{kind.name} {seed} {number}", patience)
        total.add(batch)
        total.peak_mib = max(total.peak_mib, batch.peak_mib)
        total.seconds = time.perf_counter() - begun
        number += 1
        tell(total)
    return total


def instrument() -> bool:
    """Import the readers with coverage; False if atheris is not there."""
    try:
        import atheris
    except ImportError:
        return False
    own = ("assets", "geodp", "geodp_app", "geometry", "learners")  # one class of each name
    for name in [n for n in sys.modules if n.split(".")[0] in own]:
        del sys.modules[name]
    for name in _MODULES:
        sys.modules.pop(name, None)
    with atheris.instrument_imports(include=["geodp_app", "geometry"]):
        KINDS.update(_kinds())
    return True


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--inputs", type=int, help="inputs of each kind (default 10000)")
    parser.add_argument("--seconds", type=float, help="seconds for each kind")
    parser.add_argument("--kind", nargs="+", choices=sorted(KINDS), default=list(KINDS))
    parser.add_argument("--engine", choices=("auto", "atheris", "mutation"), default="auto")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--patience", type=float, default=10.0, help="seconds that are a hang")
    parser.add_argument(
        "--memory", type=int, default=1024, help="MiB more than at first that are too much"
    )
    parser.add_argument("--keep", type=Path, help="folder for inputs that found something")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.inputs is None and options.seconds is None:
        options.inputs = 10_000
    return options


def main() -> int:
    """Fuzz and report."""
    options = _options()
    engine = "mutation"
    if options.engine != "mutation":
        engine = "atheris" if instrument() else "mutation"
        if options.engine == "atheris" and engine != "atheris":
            print("atheris cannot be imported: pip install atheris", file=sys.stderr)
            return 2
    _MEMORY[0] = options.memory
    bad = 0
    for name in options.kind:
        tally = fuzz(
            KINDS[name],
            engine,
            inputs=options.inputs,
            seconds=options.seconds,
            seed=options.seed,
            patience=options.patience,
            tell=lambda t: print(_line(t), file=sys.stderr) if sys.stderr.isatty() else None,
        )
        bad += len(tally.findings)
        print(json.dumps(asdict(tally)) if options.json else _report(tally), flush=True)
        if options.keep:
            _keep(options.keep, tally)
    return 1 if bad else 0


def _line(t: Tally) -> str:
    rate = t.inputs / max(t.seconds, 1e-9)
    return (
        f"{t.kind:9} {t.engine}: {t.inputs:>9,} inputs, {rate:7,.0f}/s, read {t.read:,}, refused "
        f"{t.refused:,}, slowest {t.slowest:.2f} s, peak {t.peak_mib} MiB, findings "
        f"{len(t.findings)}"
    )


def _report(tally: Tally) -> str:
    return "\n".join([_line(tally), *(f"    {what}" for what in tally.findings)])


def _keep(folder: Path, tally: Tally) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for what, data in tally.findings.items():
        name = f"{tally.kind}-{hashlib.sha1(what.encode()).hexdigest()[:10]}"
        (folder / name).write_bytes(bytes.fromhex(data))
        (folder / f"{name}.txt").write_text(what + "\n")


if __name__ == "__main__":
    raise SystemExit(main())
