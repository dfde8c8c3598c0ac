"""What is fuzzed: five kinds of input, each with seeds, a mutation
(:mod:`fuzz_mutations`), and what must hold.

An input is a byte string.  `Kind.run` hands it to the code as a file, or decodes it into gestures,
and returns "read" or "refused".  Anything else that comes out is a finding: an exception that is
not documented, a message of several lines, a value that does not survive being written and read.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from fuzz_mutations import Random, mutate_bytes, mutate_text

from geodp_app.document.document import Document
from geodp_app.document.examples import Examples, Frame
from geodp_app.document.history import History
from geodp_app.document.work import RunSettings, SampleSettings, Work
from geodp_app.drawing.editor import TOOLS, Editor, Modifiers
from geodp_app.drawing.faults import faults
from geodp_app.drawing.shapes import Drawing, Shape, vertex_rows
from geodp_app.files.document_files import import_target
from geodp_app.files.learned_file import learned_text, read_learned
from geodp_app.files.points import format_examples, read_examples
from geodp_app.files.run_record import RunRecord
from geodp_app.files.session import load_session, save_session
from geodp_app.runs.learner_process import make_learner
from geometry.errors import InputError
from geometry.geojson import GeoJSONError, read_geojson
from geometry.grid import Bounds

#: Longest message that a person is shown, without the file's name.
LONGEST = 600

BOX = Bounds(13.0, 42.0, 20.0, 47.0)
SHAPE = Shape(((1, 1), (60, 1), (60, 60), (1, 60)), (((10, 10), (20, 10), (20, 30)),))


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of input.

    Attributes
    ----------
    name : str
    seeds : callable
        Good inputs to begin with.
    mutate : callable
        (data, rng, seeds) to another input.
    run : callable
        Input to "read" or "refused"; raises what must not happen.
    framed : bool
        Inputs are the fuzzer's own JSON, such as edits of a file: `mutate` alone may change them.
    """

    name: str
    seeds: Callable[[], list[bytes]]
    mutate: Callable[[bytes, Random, list[bytes]], bytes]
    run: Callable[[bytes], str]
    framed: bool = False


class Broken(AssertionError):
    """Something that must hold does not."""


def must(holds: object, what: str) -> None:
    """An assertion that stays under ``python -O``."""
    if not holds:
        raise Broken(what)


# Files

_SHM = "/dev/shm"  # no disk in the way
FOLDER = Path(tempfile.mkdtemp(prefix="geodp-fuzz-", dir=_SHM if os.path.isdir(_SHM) else None))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def _file(data: bytes, suffix: str) -> Path:
    path = FOLDER / f"{os.getpid()}{suffix}"
    path.write_bytes(data)
    return path


def refused(path: Path, error: Exception, *, typed: bool = False) -> str:
    """A refusal is one line that names the file, or is about what was `typed`, however long."""
    text = str(error)
    must(text.startswith(f"{path}: ") or typed, f"does not name the file: {text[:200]!r}")
    must(len(text.splitlines()) == 1, f"several lines: {text[:200]!r}")
    must(len(text) <= len(str(path)) + LONGEST or typed, f"{len(text)} characters: {text[:200]!r}")
    must(text.isprintable() or "\ufffd" in text or typed, f"not printable: {text[:200]!r}")
    return "refused"


# CSV


def csv_seeds() -> list[bytes]:
    """Every way of writing a table."""
    mark = b'# geodp {"grid": 64, "bounds": [13.0, 42.0, 20.0, 47.0]}\n'
    return [
        b"x,y,label\n3,4,1\n5,6,0\n",
        mark + b"x,y,label\r\n3,4,1\r\n5,6,0\r\n",
        mark + b"lon,lat,label\n14,43,1\n15.5,44.25,0\n",
        b"\xef\xbb\xbf# by hand\n\nX , Y , Label\n3.0,+4,1e0\n\n5,6,0\n \t\n",
        b'name,y,label,x\n"a, b",4,1,3\n"c ""d""",6,0,5\n',
        b"id,x,y,label\n7,3,4,1\n8,1024,0,0\n",
        mark + b"x,y,label\n",
    ]


def sound(examples: Examples) -> str:
    """Examples are on the grid, have labels, and survive being written and read."""
    d = examples.frame.d
    must(((examples.points >= 0) & (examples.points <= d)).all(), "off the grid")
    must(np.isin(examples.labels, (0, 1)).all(), "labels")
    path = FOLDER / f"{os.getpid()}-again.csv"
    path.write_text(format_examples(examples))
    again = read_examples(path)
    must((again.points == examples.points).all(), "points change")
    must((again.labels == examples.labels).all(), "labels change")
    must(again.frame == examples.frame, "the frame changes")
    return "read"


def run_csv(data: bytes) -> str:
    """Read examples; what is read survives writing."""
    path = _file(data, ".csv")
    try:
        examples = read_examples(path)
    except InputError as error:
        return refused(path, error)
    return sound(examples)


# GeoJSON


def geojson_seeds() -> list[bytes]:
    """Every wrapping of a polygon, in both frames."""
    square = [[0, 0], [40, 0], [40, 40], [0, 40], [0, 0]]
    hole = [[10, 10], [10, 20], [20, 20], [20, 10], [10, 10]]
    other = [[30.5, 0], [70, 0, 5], [70, 40], [30.5, 0]]
    polygon = {"type": "Polygon", "coordinates": [square, hole]}
    feature = {"type": "Feature", "properties": {"name": "a"}, "geometry": polygon}
    second = {**feature, "geometry": {"type": "MultiPolygon", "coordinates": [[other]]}}
    member = {"frame": "grid", "grid": 100, "bounds": [13, 42, 20, 47], "georeferenced": True}
    bag = {"type": "GeometryCollection", "geometries": [polygon, {"type": "Point"}]}
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}
    documents: list[Any] = [
        polygon,
        {**feature, "crs": crs},
        {"type": "FeatureCollection", "name": "b", "features": [feature, second]},
        {"type": "FeatureCollection", "features": [feature, second], "geodp": member},
        {"type": "Feature", "properties": None, "geometry": bag, "geodp": {"frame": "lonlat"}},
    ]
    return [json.dumps(document).encode() for document in documents]


def run_geojson(data: bytes) -> str:
    """Read a shape and import it into a document."""
    path = _file(data, ".geojson")
    try:
        target = read_geojson(path)
    except GeoJSONError as error:
        return refused(path, error)
    must(shapely.is_valid(target.geometry), "not valid")
    must(not target.geometry.is_empty, "empty")
    document = Document(Work(drawing=Drawing(64)))
    try:
        import_target(path, document)
    except InputError as error:
        return refused(path, error)
    rows = vertex_rows(document.drawing)
    must(all(0 <= x <= 64 and 0 <= y <= 64 for *_, x, y in rows), "off the grid")
    must(shapely.is_valid(document.drawing.region()), "the drawing is not valid")
    return "read"


# Sessions: an input is a bundle of members, so that a change does not end at a checksum

MEMBERS = ("session.json", "points.npz/points.npy", "points.npz/labels.npy", "steps.jsonl")
_SEAM = b"\n--8<--\n"


def stored_runs() -> Iterator[tuple[Work, RunRecord]]:
    """A work and a run of each of some learners."""
    rng = np.random.default_rng(1)
    frame = Frame(64, BOX)
    points = rng.integers(0, 65, (40, 2))
    examples = Examples(points, (points[:, 0] < 32).astype(np.int64), frame)
    work = Work(
        "a",
        Drawing(64, (SHAPE,)),
        BOX,
        SampleSettings(40, "painted", 0.1, 1, ((1, 2, 3),)),
        examples=examples,
        simulated=False,
    )
    for name in ("tiles", "cover", "threshold", "discs", "greedy-cover"):
        settings = RunSettings(name, epsilon=4.0, k=2, n_steps=2, seed=3, tiles=2)
        model = make_learner(settings, 64)
        records = tuple(model.steps(examples.points, examples.labels))
        yield work, RunRecord(settings, 64, records, model.release_)


def session_seeds() -> list[bytes]:
    """Sessions with and without examples and runs, one of each learner; a bundle has 4 parts."""
    runs = list(stored_runs())
    bundles = [_unpacked(Work(), None), _unpacked(runs[0][0], None)]
    return bundles + [_unpacked(work, run) for work, run in runs]


def _unpacked(work: Work, run: RunRecord | None) -> bytes:
    path = FOLDER / f"{os.getpid()}-seed.geodp"
    save_session(path, work, run)
    parts = dict.fromkeys(MEMBERS, b"")
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            if name.endswith(".npz"):
                with zipfile.ZipFile(io.BytesIO(data)) as inner:
                    parts |= {f"{name}/{each}": inner.read(each) for each in inner.namelist()}
            else:
                parts[name] = data
    return _SEAM.join(parts.values())


def packed(bundle: bytes) -> bytes:
    """The archive of a bundle; a bundle without seams is the archive itself."""
    parts = bundle.split(_SEAM)
    if len(parts) < 2:
        return bundle
    parts += [b""] * (len(MEMBERS) - len(parts))
    outer = {"session.json": parts[0]}
    inner = {n.split("/")[1]: p for n, p in zip(MEMBERS[1:3], parts[1:3], strict=True) if p}
    if inner:
        outer["points.npz"] = _zip(inner)
    if parts[3]:
        outer["steps.jsonl"] = parts[3]
    return _zip(outer)


def _zip(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return out.getvalue()


def mutate_session(data: bytes, rng: Random, seeds: list[bytes]) -> bytes:
    """A part of the bundle changed; or, one time in eight, the archive's own bytes."""
    if _SEAM not in data or not rng.randrange(8):
        return mutate_bytes(packed(data), rng, seeds)
    parts = data.split(_SEAM)
    at = rng.choice((0, 0, 1, 2, 3, 3, 3))
    if at >= len(parts):
        return mutate_bytes(data, rng, seeds)
    if at == 3:
        lines = parts[3].split(b"\n")
        row = rng.randrange(len(lines))
        lines[row] = mutate_text(lines[row], rng, seeds)
        parts[3] = b"\n".join(lines)
    else:
        parts[at] = mutate_text(parts[at], rng, seeds)
    return _SEAM.join(parts)


def run_session(data: bytes) -> str:
    """Open a session; what is opened survives saving."""
    path = _file(packed(data), ".geodp")
    try:
        work, run = load_session(path)
    except InputError as error:
        return refused(path, error)
    save_session(path, work, run)
    again = load_session(path)
    must(again.run == run or _has_nan(run), "the run changes")
    must(again.work.drawing == work.drawing, "the drawing changes")
    must(again.work.run == work.run and again.work.sampling == work.sampling, "settings change")
    if run is not None and run.release is not None:
        labels = run.release.predict(np.array([[0, 0], [run.grid, run.grid]]))
        must(set(labels.tolist()) <= {0, 1}, "labels")
        # a run does not belong to the drawing: it is drawn only on a grid of its own size
    return "read"


def _has_nan(run: RunRecord | None) -> bool:
    return run is not None and any("nan" in line for line in run.to_lines())


# Learned files


def learned_seeds() -> list[bytes]:
    """What exports of each of some learners hold."""
    return [
        learned_text(run.release, work.frame).encode()
        for work, run in stored_runs()
        if run.release is not None
    ]


def run_learned(data: bytes) -> str:
    """Read a learned shape; its exact hypothesis labels points."""
    path = _file(data, ".geojson")
    try:
        learned = read_learned(path)
    except (GeoJSONError, InputError) as error:
        return refused(path, error)
    if learned.release is not None:
        d = learned.release.d
        labels = learned.release.predict(np.array([[0, 0], [d, d], [d // 2, 0]]))
        must(set(labels.tolist()) <= {0, 1}, "labels")
    return "read"


# Gestures: two bytes for the frame, then four bytes an event

GRIDS = (1, 2, 12, 64, 1024, 1 << 20)
KEYS = ("Enter", "Escape", "Backspace", "Delete", "Insert", "Left", "Right", "Up", "Down", "Tab")
_ODD_PLACES = (float("nan"), float("inf"), -1e300, 1e300, -1.0, 1e9)
MOST_EVENTS = 60


class Desk:
    """A host with a history."""

    def __init__(self, drawing: Drawing) -> None:
        self.history, self.states = History(drawing), [drawing]
        self.dabs: list[tuple[int, int, int]] = []

    @property
    def drawing(self) -> Drawing:
        """The current drawing."""
        return self.history.state

    def edit(self, label: str, drawing: Drawing, *, merge: object = None) -> None:
        """Take an edit."""
        must(label, "an edit without a name")
        must(drawing != self.history.state, "an edit that changes nothing")
        self.history.push(label, drawing)
        self.states.append(drawing)

    def add_dab(self, dab: tuple[int, int, int]) -> None:
        """Take a dab."""
        self.dabs.append(dab)


def gesture_seeds() -> list[bytes]:
    """A polygon by clicks, a rectangle by a drag, a hole, a move of vertices."""
    click = b"\x03"
    polygon = b"".join(click + bytes(p) + b"\0" for p in ((10, 10), (200, 20), (120, 220)))
    rectangle = b"\x06\x02\0\0" + b"\0\x20\x20\0" + b"\x01\x90\x90\0" + b"\x02\x90\x90\0"
    hole = b"\x06\x01\0\0" + b"".join(
        click + bytes(p) + b"\0" for p in ((60, 60), (90, 60), (80, 90))
    )
    enter, undo = b"\x04\0\0\0", b"\x05\0\0\0"
    vertices = b"\x06\x05\0\0" + b"\0\x20\x20\0\x01\x50\x50\0\x02\x50\x50\0"
    return [
        b"\x02\0" + polygon + enter + undo,
        b"\x03\x01" + rectangle + hole + enter + vertices + undo * 3,
        b"\x00\x01" + polygon + enter + rectangle,
        b"\x05\x00" + rectangle + hole + enter + vertices,
    ]


def mutate_gestures(data: bytes, rng: Random, seeds: list[bytes]) -> bytes:
    """Events changed, repeated, or taken from another seed; sometimes plain noise."""
    if not rng.randrange(4):
        return rng.randbytes(2 + 4 * rng.randrange(1, MOST_EVENTS))
    return mutate_bytes(data, rng, seeds)[: 2 + 4 * MOST_EVENTS]


def run_gestures(data: bytes) -> str:
    """Draw; nothing raises, the drawing stays one, undo goes back to the start."""
    grid = GRIDS[data[0] % len(GRIDS)] if data else 12
    shapes = (SHAPE,) if len(data) > 1 and data[1] & 1 and grid >= 60 else ()
    host = Desk(Drawing(grid, shapes))
    editor = Editor(host)
    for start in range(2, min(len(data), 2 + 4 * MOST_EVENTS), 4):
        _event(editor, host, data[start : start + 4].ljust(4, b"\0"))
    _check_drawing(editor.current.shown)
    _check_drawing(host.drawing)
    must(editor.current.hint, "no hint")
    faults(editor.current.shown)
    while len(host.states) > 1:
        must(host.history.undo(), "an edit cannot be undone")
        host.states.pop()
        must(host.drawing == host.states[-1], "undo does not go back")
    must(editor.current.shown.grid == grid, "the grid changes")
    return "read"


def _event(editor: Editor, host: Desk, event: bytes) -> None:
    kind, a, b, c = event
    grid = host.drawing.grid
    x, y = (value * (grid / 240) - grid / 32 for value in (a, b))
    if c & 128:
        x = round(x)
        y = round(y)
    if c >= 250:
        x = _ODD_PLACES[c - 250]
    radius = (0.0, grid / 100, 1.0, 2.5)[c & 3]
    keys = Modifiers(bool(c & 4), bool(c & 16))
    at = (x, y)
    match kind % 9:
        case 0:
            editor.press(at, radius, keys, double=bool(c & 32))
        case 1:
            editor.move(at, radius, keys)
        case 2:
            editor.release(at, radius, keys)
        case 3:
            editor.press(at, radius, keys)
            editor.release(at, radius, keys)
        case 4:
            editor.key(KEYS[a % len(KEYS)], keys)
        case 5:
            if not editor.undo_vertex() and len(host.states) > 1:
                host.history.undo()
                host.states.pop()
        case 6:
            editor.set_tool(TOOLS[a % len(TOOLS)])
        case 7:
            editor.snapping = bool(a & 1)
        case _:
            other = Drawing(grid, (Shape(((0, 0), (grid, 0), (grid, grid))),) * (a % 3))
            if other != host.drawing:
                host.history.push("import", other)
                host.states.append(other)


def _check_drawing(drawing: Drawing) -> None:
    must(all(len(ring) >= 3 for shape in drawing.shapes for ring in shape.rings), "a short ring")
    for *_, x, y in vertex_rows(drawing):
        must(type(x) is type(y) is int, "a vertex is no integer")
        must(0 <= x <= drawing.grid and 0 <= y <= drawing.grid, "a vertex off the grid")


KINDS = {
    kind.name: kind
    for kind in (
        Kind("csv", csv_seeds, mutate_text, run_csv),
        Kind("geojson", geojson_seeds, mutate_text, run_geojson),
        Kind("session", session_seeds, mutate_session, run_session),
        Kind("learned", learned_seeds, mutate_text, run_learned),
        Kind("gestures", gesture_seeds, mutate_gestures, run_gestures),
    )
}
