"""What else is fuzzed: verbs, ledgers, and the command line of the plugin for QGIS.

Kinds as in :mod:`fuzz_kinds`.  Verbs are run as a person runs them: code 0 and a file, or code 2,
one line and no file.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import sqlite3
from pathlib import Path
from typing import Any

import fuzz_kinds
from fuzz_kinds import Kind, must
from fuzz_mutations import ODD_VALUES, Random, mutate_bytes, mutate_text
from fuzz_tables import SEAM, json_of, path_of, refused

from geodp_app.cli import build_parser, main
from geodp_app.commands.plugin import declared
from geodp_app.files.ledger import _TABLE, Ledger, NewRun, Source
from geodp_app.files.ledger_state import budget_words, chained
from geodp_app.qgis.command import GeodpError, option_arguments, run as run_program
from geometry.errors import InputError
from learners.privacy.accounting import Charge, pure_spent
from learners.privacy.several_runs import Budget

# Verbs


def _typed(argv: list[str]) -> tuple[int, str]:
    """Run a command; its code and what it says on standard error."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = main(argv)
    return code, said.getvalue()


def _done(argv: list[str], output: Path) -> str:
    """Code 0 and a file, or code 2, one line, and no file."""
    folder = fuzz_kinds.FOLDER
    output.unlink(missing_ok=True)
    before = {each.name for each in folder.iterdir()}
    code, said = _typed(argv)
    made = {each.name for each in folder.iterdir()} - before
    for name in made:
        (folder / name).unlink()
    if code == 0:
        must(output.name in made or "--help" in argv or "-h" in argv, "no file, and code 0")
        return "read"
    must(code == 2, f"code {code}: {said[:200]!r}")
    must(not made, f"refused, and yet wrote {sorted(made)}")
    lines = said.splitlines()
    must(len(lines) >= 1 and lines[-1].startswith("geodp"), f"says {said[-200:]!r}")
    outcome = [line for line in lines if not line.startswith("geodp: warning")]
    must(len(outcome) == 1, f"{len(outcome)} lines: {said[:300]!r}")
    typed = sum(map(len, argv))  # is told in full
    must(len(said) <= 4 * (fuzz_kinds.LONGEST + typed), f"{len(said)} characters: {said[:200]!r}")
    return "refused"


_OPTIONS = (
    [], ["--quiet"], ["--bounds", "13,42,20,47"], ["--columns", "lon=a,lat=b"], ["--grid", "64"],
    ["--crs", "EPSG:32633"], ["--out-of-bounds", "clip"], ["--out-of-bounds", "drop"],
    ["--layer", "a"], ["--title", "A \u00e9"], ["--within", "nowhere.geojson"], ["--help"],
    ["-o", "/nowhere/a.csv"], ["--nonsense"],
)  # fmt: skip


def predict_seeds() -> list[bytes]:
    """Points, a learned shape, and how to write them."""
    learned = fuzz_kinds.learned_seeds()[:3]
    points = [
        b"x,y,label\n3,4,1\n5,6,0\n", b"lon;lat;a\n14,5;43;q\n", b'wkt\n"POINT(14 43)"\n',
        b'{"type":"Point","coordinates":[14,43]}',
    ]  # fmt: skip
    options = (["-o", ".csv"], ["--bounds", "13,42,20,47", "-o", ".gpkg"])
    return [
        SEAM.join([json.dumps(each).encode(), one, other])
        for each in options
        for one in points
        for other in learned
    ]


def mutate_parts(data: bytes, rng: Random, seeds: list[bytes]) -> bytes:
    """One part changed; options are taken out and put in."""
    parts = data.split(SEAM)
    if rng.randrange(3) == 0:
        argv = json_of(parts[0])
        if isinstance(argv, list):
            at = rng.randrange(len(argv) + 1)
            argv[at:at] = rng.choice(_OPTIONS)
            if not rng.randrange(4):
                del argv[rng.randrange(len(argv)) :][:1]
            parts[0] = json.dumps(argv).encode()
            return SEAM.join(parts)
    at = rng.randrange(len(parts))
    parts[at] = mutate_text(parts[at], rng, [each.split(SEAM)[at] for each in seeds])
    return SEAM.join(parts)


def _argv(text: bytes, ending: str) -> tuple[list[str], Path]:
    """Typed words; an output that is named by its ending alone is a file of this process."""
    given = json_of(text)
    words = [str(word) for word in given] if isinstance(given, list) else []
    # what a command line cannot hold: an end of text, half of a character
    words = [word.replace("\0", "").encode("utf-8", "replace").decode() for word in words]
    words = [word for word in words if not word.startswith("/dev")]
    output = path_of(f"-out{ending}")
    for i, word in enumerate(words[:-1]):
        if word == "-o" and words[i + 1].startswith("."):
            output = path_of(f"-out{words[i + 1][:12].replace('/', '')}")
            words[i + 1] = str(output)
    safe = [word for word in words if not (word.startswith("-o") and len(word) > 2)]
    # nothing is written elsewhere
    named = [w for i, w in enumerate(safe) if i and safe[i - 1] in ("-o", "--output")]
    if any(not w.startswith(str(fuzz_kinds.FOLDER)) and w != "/nowhere/a.csv" for w in named):
        return ["--nonsense"], output
    if any(word.startswith("--output") for word in safe):
        return ["--nonsense"], output
    return safe, Path(named[-1]) if named else output


def run_predict(data: bytes) -> str:
    """`geodp predict`."""
    parts = [*data.split(SEAM), b"", b"", b""][:3]
    points, learned = path_of(".csv"), path_of("-learned.geojson")
    argv, output = _argv(parts[0], ".csv")
    points.write_bytes(parts[1])
    learned.write_bytes(parts[2])
    return _done(["predict", str(learned), str(points), *argv], output)


def render_seeds() -> list[bytes]:
    """Learned shapes and polygons, as PNG and SVG."""
    shapes = [*fuzz_kinds.learned_seeds()[:3], fuzz_kinds.geojson_seeds()[2]]
    return [
        SEAM.join([json.dumps(["-o", ending]).encode(), shape])
        for ending in (".svg", ".png")
        for shape in shapes
    ]


def run_render(data: bytes) -> str:
    """`geodp render`."""
    parts = [*data.split(SEAM), b"", b""][:2]
    learned = path_of("-learned.geojson")
    argv, output = _argv(parts[0], ".png")
    learned.write_bytes(parts[1])
    return _done(["render", str(learned), *argv], output)


# Ledgers: lines without their hashes, which are made anew


def _run_of(name: str) -> NewRun:
    spent = pure_spent(0.1, "add-remove", True, Charge("noisy cells", 0.1))
    return NewRun("learn", name, spent)


_ROWS = Source("rows.csv")


def ledger_seeds() -> list[bytes]:
    """Ledgers with and without a budget, with runs of every end."""
    found = []
    for budget, composition in ((None, "basic"), (Budget(3.0, 1e-5), "basic"),
                                (Budget(3.0, 1e-5), "renyi")):  # fmt: skip
        path = path_of("-seed.ledger")
        path.unlink(missing_ok=True)
        ledger = Ledger.create(path, budget=budget, composition=composition)  # type: ignore[arg-type]
        runs = [_run_of(name) for name in ("tiles", "cover", "histogram")]
        ledger.begin(runs, _ROWS)
        ledger.end({runs[0].run: "released", runs[1].run: "cancelled"})
        found.append(b"\n".join(json.dumps(line).encode() for line in ledger.state().lines))
    return found


def mutate_lines(data: bytes, rng: Random, seeds: list[bytes]) -> bytes:
    """A line changed, left out, doubled or moved."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    choice = rng.randrange(8)
    if choice == 0:
        del lines[at]
    elif choice == 1:
        lines.insert(rng.randrange(len(lines) + 1), lines[at])
    elif choice == 2:
        lines.insert(at, rng.choice(rng.choice(seeds).split(b"\n")))
    else:
        lines[at] = mutate_text(lines[at], rng, seeds)
    return b"\n".join(lines[:50])


def run_ledger(data: bytes) -> str:
    """A ledger of these lines, whose hashes fit."""
    return _run_ledger(_filled(path_of(".ledger"), data))


def ledger_files() -> list[bytes]:
    """Files of such ledgers."""
    return [_filled(path_of("-seed.ledger"), lines).read_bytes() for lines in ledger_seeds()]


def run_ledger_file(data: bytes) -> str:
    """A file that may be no ledger at all."""
    path = path_of(".ledger")
    path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
    path.write_bytes(data)
    return _run_ledger(path)


def _filled(path: Path, data: bytes) -> Path:
    path.unlink(missing_ok=True)
    head = ""
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute(_TABLE)
        for line in data.split(b"\n"):
            head = chained(head, line)
            file.execute("INSERT INTO lines VALUES (CAST(? AS TEXT), ?)", (line, head))
    return path


def _run_ledger(path: Path) -> str:
    """Read a ledger, say what it says, and enter a run."""
    try:
        ledger = Ledger(path)
        state = ledger.state()
    except InputError as error:
        return refused(path, error)
    try:
        must(budget_words(state).isprintable(), "words")
        epsilon, delta = state.together
        must(epsilon >= 0 and delta >= 0, "less than nothing is spent")
        run = _run_of("tiles")
        ledger.begin([run], _ROWS)
    except InputError as error:
        must(len(Ledger(path).state().entries) == len(state.entries), "refused, and yet entered")
        return refused(path, error, options=True)
    ledger.end({run.run: "released"})
    after = Ledger(path).state()
    must(after.entries[:-1] == state.entries, "earlier runs change")
    must(after.entries[-1].end == "released", "no end")
    code, said = _typed(["ledger", str(path)])
    must(code == 0 and not said, f"show: code {code}, {said[:200]!r}")
    return "read"


# The plugin's command line


@functools.cache
def _declared() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(declared()))
    return found


def command_seeds() -> list[bytes]:
    """The defaults of each verb; what a program says."""
    verbs = _declared()["verbs"]
    values = [
        {"verb": verb, "values": {name: option["default"] for name, option in options.items()},
         "said": "progress 0.5 step 1 of 2\ngeodp: a: is wrong", "code": 2}
        for verb, options in verbs.items()
    ]  # fmt: skip
    return [json.dumps(each).encode() for each in values]


def mutate_command(data: bytes, rng: Random, seeds: list[bytes]) -> bytes:
    """Values of options changed."""
    member = json_of(data)
    for _ in range(1 + rng.randrange(3)):
        names = list(member["values"])
        name = rng.choice(names)
        option = _declared()["verbs"][member["verb"]][name]
        choices = [value for value, _ in option.get("choices") or ()]
        value = rng.choice([*ODD_VALUES, 1, 2, 0.1, 1e-9, *choices, *choices, *choices])
        member["values"][name] = value if value is None or type(value) in (int, float, str) else 1
    if not rng.randrange(8):
        said = member["said"].encode("utf-8", "replace")
        member["said"] = mutate_bytes(said, rng, [said]).decode("utf-8", "replace")[:2000]
        member["run"] = True
    else:
        member.pop("run", None)
    return json.dumps(member).encode()


def run_command(data: bytes) -> str:
    """What the plugin types is read back by the program, and what that says is one line."""
    member = json_of(data)
    verb, values = member["verb"], member["values"]
    if member.get("run"):
        _hear(member)
    where = {
        "learn": ["p.csv", "-o", "l.gpkg"],
        "compare": ["p.csv"],
        "evaluate": ["l.geojson", "p.csv"],
        "predict": ["l.geojson", "p.csv", "-o", "a.csv"],
        "areas": ["l.geojson", "--districts", "d.gpkg"],
    }
    typed = option_arguments(_declared()["verbs"][verb], values)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            options = build_parser().parse_args([verb, *where[verb], *typed])
    except InputError as error:
        return refused(Path(verb), error, options=True)
    except SystemExit as stop:
        must(stop.code == 2, f"ends with {stop.code}")
        return "refused"
    for name, value in values.items():
        option = _declared()["verbs"][verb][name]
        whole = option.get("kind") == "whole number" and type(value) is int
        if whole and value != option["default"]:
            must(getattr(options, name) == value, f"{name} is {getattr(options, name)!r}")
    return "read"


def _hear(member: dict[str, Any]) -> None:
    path = path_of(".said")
    path.write_text(member["said"], encoding="utf-8", errors="replace")
    outcome: list[str] = []
    try:
        run_program(
            ["sh", "-c", 'cat "$0" >&2; exit 2', str(path)],
            tell=outcome.append,
            progress=lambda share, text: must(text, "no text"),
            cancelled=lambda: False,
        )
    except GeodpError as error:
        must(str(error) and "\n" not in str(error), f"says {str(error)[:200]!r}")
        return
    raise fuzz_kinds.Broken("a program that failed is taken for one that did not")


KINDS = {
    kind.name: kind
    for kind in (
        Kind("predict", predict_seeds, mutate_parts, run_predict),
        Kind("render", render_seeds, mutate_parts, run_render),
        Kind("ledger", ledger_seeds, mutate_lines, run_ledger),
        Kind("ledger-file", ledger_files, mutate_bytes, run_ledger_file),
        Kind("command", command_seeds, mutate_command, run_command, framed=True),
    )
}
