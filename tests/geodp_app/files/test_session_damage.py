"""Damaged and hostile sessions: one clear line, little memory, never a traceback."""

import io
import json
import pickle
import struct
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from full_work import full_work
from run_charges import stated
from run_records import stored

from geodp import InputError
from geodp_app.document.document import Document
from geodp_app.files.document_files import open_any
from geodp_app.files.session import load_session, save_session
from learners.core.codec_parts import privacy_to_dict

Members = dict[str, bytes]


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "a.geodp"
    save_session(path, full_work(), stored())
    return path.read_bytes()


def members_of(data: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(members: Members, compression: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def refusal(path: Path, data: bytes) -> str:
    """What is said of a file with these bytes."""
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        load_session(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    assert len(text) < len(str(path)) + 400
    return text.removeprefix(f"{path}: ")


def complaint(path: Path) -> str:
    """What is said of a file; empty if it can be read."""
    try:
        open_any(path, Document())
    except InputError as error:
        return str(error)
    return ""


def directory_of(data: bytes) -> int:
    """Where the directory of an archive begins."""
    return struct.unpack_from("<L", data, len(data) - 6)[0]


def state_with(change: Callable[[dict[str, Any]], Any]) -> Callable[[Members], None]:
    def apply(members: Members) -> None:
        state = json.loads(members["session.json"])
        changed = change(state)
        state = state if changed is None else changed
        members["session.json"] = json.dumps(state).encode()

    return apply


def put(*keys: Any, value: Any) -> Callable[[Members], None]:
    """Set a value deep in session.json."""

    def change(state: dict[str, Any]) -> None:
        for key in keys[:-1]:
            state = state[key]
        state[keys[-1]] = value

    return state_with(change)


def drop(key: str) -> Callable[[Members], None]:
    return state_with(lambda state: {name: state[name] for name in state if name != key})


#: Polygons in degrees: an outline that crosses itself, and one that is elsewhere.
BOW = [[[14, 43], [15, 44], [15, 43], [14, 44], [14, 43]]]
FAR = [[[1, 2], [2, 2], [2, 3], [1, 2]]]

SPENT = privacy_to_dict(stated(1.0, 1e-6).of_run(32 * "a"))
CHARGE = {"privacy": SPENT, "finished": True}


def spent(**members: Any) -> Callable[[Members], None]:
    """One charge whose statement has other members."""
    return put("spent", value=[{**CHARGE, "privacy": {**SPENT, **members}}])


def without_examples(change: Callable[[Members], None]) -> Callable[[Members], None]:
    def apply(members: Members) -> None:
        put("examples", value=None)(members)
        del members["points.npz"]
        change(members)

    return apply


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all values in a JSON value that are no objects or lists, and to empty ones."""
    if not isinstance(value, dict | list) or not value:
        yield path
        return
    for key, below in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(below, (*path, key))


def test_every_member_is_needed_and_nothing_stands_for_it(tmp_path, good):
    state = json.loads(members_of(good)["session.json"])
    needed = set(state) - {"format", "schema", "geodp", "warning"}
    for key in needed:
        members = members_of(good)
        drop(key)(members)
        assert f"'{key}' is missing" in refusal(tmp_path / "a", pack(members))
    # of an outline, by its own reader
    found = [path for path in leaves(state) if path[0] in needed and len(path) < 5]
    assert len(found) > 35
    for path in found:
        for wrong in ({"odd": 1}, [[]]):
            members = members_of(good)
            put(*path, value=wrong)(members)
            assert refusal(tmp_path / "a", pack(members)), path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("schema", value=-1), "is of schema -1, and geodp"),
        (put("schema", value=10**30), "reads schema 11 alone"),
        (put("name", value="x" * 10**5), "a name is a text of at most 200 characters"),
        (put("bounds", value=[0, 0, "1", 1]), "bounds: must be four numbers"),
        (put("bounds", value=[5, 0, 1, 1]), "west < east"),
        (put("bounds", value=[10**400, 0, 1, 1]), "session.json: "),
        (put("drawing", "grid", value=10**7), "grid size 10000000 is outside 1..1048576"),
        (put("drawing", "shapes", value=[[[[0, 0], [1, 0], [0, 101]]]]), "off the grid 0..100"),
        (put("drawing", "shapes", value=[[[[0, 0], [1, 0]]]]), "a ring of 2 vertices"),
        (put("drawing", "shapes", value=[[[[0, 0], [1, 0], [0, 0.5]]]]), "0.5 is not a whole"),
        (put("sampling", "extra", value=1), "sampling: 'extra' is missing or unknown"),
        (put("sampling", "n", value=0), "number of examples 0"),
        (put("sampling", "seed", value=-1), "seed of the sample -1"),
        (put("sampling", "dabs", value=[[1, 2, "x"]]), "is not on the grid"),
        (put("run", "epsilon", value=-1), "epsilon must be a number and be above 0, not -1"),
        (
            put("run", "epsilon", value=10**400),
            "epsilon must be a number and be below 1e+300, not 1000",
        ),
        (put("run", "extra", value=1), "extra: there is no such parameter"),
        (put("run", "k", value=1.5), "k must be a whole number and lie between 1 and 1000, not"),
        (put("spent", value=[{**CHARGE, "paid": 1}]), "spent: 'paid' is missing or unknown"),
        (put("spent", value=[{**CHARGE, "finished": 1}]), "finished: 1 is neither true nor false"),
        (put("spent", value=[CHARGE, CHARGE]), "is charged for twice"),
        (put("spent", value=[{**CHARGE, "privacy": None}]), "not a privacy statement"),
        (spent(epsilon=-1), "not a privacy statement"),
        (spent(epsilon=0.01), "its charges do not compose to (epsilon, delta) = (0.01, 1e-06)"),
        (spent(delta=2), "not a privacy statement"),
        (spent(run="x"), "not a privacy statement"),
        (spent(run=None), "a run that is charged for is private, and has a name"),
        (spent(private=False, run=None), "a run that is charged for is private, and has a name"),
        (put("ledger", value=""), "'' is no path of a ledger"),
        (without_examples(put("ledger", value="a")), "ledger: of examples, and there are none"),
        (without_examples(put("spent", value=[CHARGE])), "spent: runs on examples, and there are"),
        (put("examples", "count", value=301), "points.npz: points.npy: is uint16 of shape"),
        (put("examples", "count", value=10**12), "points.npz: points.npy: is uint16 of shape"),
        (put("examples", "simulated", value=0), "points.npz: simulated: 0 is neither true nor"),
        (put("examples", value=None), "points.npz: is there, and session.json knows nothing"),
        (put("within", "more", value=7), "within: must be an object of name and map"),
        (put("within", "map", "coordinates", value=[]), "session.json: no polygons in it"),
        (put("within", "map", "coordinates", value=[BOW]), "the outline crosses or touches itself"),
        (put("within", "map", "coordinates", value=[FAR]), "nothing of it lies within (13.1, 42.0"),
        (put("within", "map", "coordinates", value=[[[[0, 10**400]] * 4]]), "is not finite"),
        (put("within", "map", "geodp", "frame", value="here"), "geodp.frame must be"),
        (put("within", "map", "geodp", "grid", value=-1), "geodp.grid must be an integer"),
        (put("has_steps", value=False), "steps.jsonl: is there, and session.json knows nothing"),
        (put("drawing", value={"grid": 50, "shapes": []}), "session.json: dab"),
        (state_with(lambda _: []), "this is not a session of geodp"),
        (lambda m: m.update({"session.json": b"{"}), "session.json: is not JSON"),
        (lambda m: m.update({"session.json": b"\xff"}), "session.json: is not UTF-8"),
        (lambda m: m.update({"session.json": b"[" * 10**6}), "session.json: is nested too deeply"),
        (lambda m: m.update({"session.json": b'{"a": NaN}'}), "is not JSON: 'NaN'"),
        (lambda m: m.update({"session.json": b"9" * 5000}), "session.json: is not JSON"),
        (lambda m: m.update({"steps.jsonl": b"{}\n"}), "steps.jsonl: line 1: is not the beginning"),
        (lambda m: m.update({"steps.jsonl": b""}), "steps.jsonl: has no lines"),
        (lambda m: m.update({"points.npz": b"PK"}), "points.npz: is not a zip archive"),
        (lambda m: m.update({"extra.txt": b""}), "has a member 'extra.txt' that does not belong"),
        (lambda m: m.update({"../../x": b""}), "has a member '../../x' that does not belong"),
        (lambda m: m.update({"a" * 9000: b""}), "has a member 'aaa"),
        (lambda m: m.pop("session.json") and None, "session.json: is missing"),
        (lambda m: m.pop("points.npz") and None, "points.npz: is missing"),
        (lambda m: m.pop("steps.jsonl") and None, "steps.jsonl: is missing"),
    ],
)
def test_every_damage_is_named_with_its_member(tmp_path, good, change, message):
    members = members_of(good)
    change(members)
    said = refusal(tmp_path / "a.geodp", pack(members))
    assert message.replace("\\", "") in said


# -- the examples -------------------------------------------------------------------------------


def npz(**arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


POINTS, LABELS = np.zeros((300, 2), "<u2"), np.zeros(300, "u1")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"points": POINTS}, "labels.npy: is missing"),
        ({"points": POINTS, "labels": LABELS, "more": LABELS}, "has a member 'more.npy'"),
        ({"points": POINTS.astype("<i8"), "labels": LABELS}, "points.npy: is int64 of shape"),
        ({"points": POINTS.astype(">u2"), "labels": LABELS}, "points.npy: is >u2 of shape"),
        ({"points": POINTS[:299], "labels": LABELS}, "points.npy: is uint16 of shape (299, 2)"),
        ({"points": np.asfortranarray(POINTS), "labels": LABELS}, "points.npy: is uint16"),
        ({"points": POINTS, "labels": LABELS[None]}, "labels.npy: is uint8 of shape (1, 300)"),
        (
            {"points": POINTS + np.uint16(101), "labels": LABELS},
            "an example is off the grid 0..100",
        ),
        ({"points": POINTS, "labels": LABELS + np.uint8(2)}, "a label is neither 0 nor 1"),
        ({"points": np.array([{"a": 1}]), "labels": LABELS}, "points.npy: is object of shape"),
    ],
)
def test_examples_of_the_wrong_kind_are_refused(tmp_path, good, arrays, message):
    members = members_of(good) | {"points.npz": npz(**arrays)}
    said = refusal(tmp_path / "a.geodp", pack(members))
    assert said.startswith("points.npz: ")
    assert message in said


class Bomb:
    """Sets itself off when it is unpickled."""

    def __reduce__(self):
        return (pytest.fail, ("unpickled",))


def test_nothing_is_ever_unpickled(tmp_path, good):
    bomb = pickle.dumps(Bomb())
    for data in (bomb, b"\x93NUMPY\x01\x00" + bomb):
        inner = pack({"points.npy": data, "labels.npy": data})
        members = members_of(good) | {"points.npz": inner}
        assert "points.npy: " in refusal(tmp_path / "a.geodp", pack(members))
    members = members_of(good) | {"points.npz": npz(points=np.array([Bomb()]), labels=LABELS)}
    assert "points.npy: is object" in refusal(tmp_path / "a.geodp", pack(members))


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<u2', 'fortran_order': False, 'shape': (300, 2), }",  # and no data
        b"{'descr': '<u2', 'fortran_order': False, 'shape': (10**12, 2), }",
        b"{'descr': '<u2', 'fortran_order': False, 'shape': (1000000000000, 2), }",
        b"{'descr': '<u2', 'fortran_order': False, 'shape': (-300, -2), }",
        b"{'descr': '|O', 'fortran_order': False, 'shape': (300, 2), }",
        b"{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (300, 2), }",
        b"(" * 5000,
        b"'''",
        b"  1\n 2\n",
        b"\xff\xfe",
        b"[]",
        b"",
    ],
)
def test_array_headers_are_not_believed(tmp_path, good, header):
    array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    inner = pack({"points.npy": array, "labels.npy": array})
    members = members_of(good) | {"points.npz": inner}
    assert refusal(tmp_path / "a.geodp", pack(members)).startswith("points.npz: points.npy: ")


# -- the archive --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data", [b"", b"PK", b"not a zip" * 10, b"\0" * 22, b"PK\x05\x06" + b"\0" * 17, b"{}"]
)
def test_what_is_no_archive_is_said_to_be_none(tmp_path, data):
    assert "is not a zip archive" in refusal(tmp_path / "a.geodp", data)


def test_an_archive_without_members_has_no_session(tmp_path):
    assert refusal(tmp_path / "a.geodp", pack({})) == "session.json: is missing"


def test_every_cut_is_noticed(tmp_path, good):
    for end in range(0, len(good), 97):
        refusal(tmp_path / "a.geodp", good[:end])


def test_a_byte_more_or_less_is_noticed(tmp_path, good):
    for place in range(0, len(good), 97):
        for data in (good[:place] + good[place + 1 :], good[:place] + b"a" + good[place:]):
            assert "cannot be read" not in refusal(tmp_path / "a.geodp", data)


def test_flipped_bytes_are_noticed_or_harmless(tmp_path, good):
    rng = np.random.default_rng(5)
    path = tmp_path / "a.geodp"
    # some anywhere, and every byte of the directory, where sizes, names and flags are
    places = [*rng.integers(0, len(good), 200), *range(directory_of(good), len(good))] * 3
    said = []
    for i, place in enumerate(places):
        data = bytearray(good)
        data[place] ^= (0x01, 0x80, 0xFF)[3 * i // len(places)]
        path.write_bytes(data)
        said.append(complaint(path))
    refused = [text for text in said if text]
    assert len(refused) > len(places) / 2
    assert all(text.startswith(f"{path}: ") for text in refused)


def test_two_members_of_one_name_are_refused(tmp_path, good):
    out = io.BytesIO(good)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(out, "a") as archive:
        archive.writestr("session.json", b"{}")
    assert "two members 'session.json'" in refusal(tmp_path / "a.geodp", out.getvalue())


def test_encrypted_and_oddly_squeezed_members_are_refused(tmp_path, good):
    encrypted = bytearray(good)
    directory = directory_of(good)
    encrypted[6] |= 1
    encrypted[directory + 8] |= 1
    assert "session.json: is damaged: " in refusal(tmp_path / "a.geodp", bytes(encrypted))
    odd = bytearray(good)
    odd[8] = odd[directory + 10] = 97
    assert "session.json: is damaged: " in refusal(tmp_path / "a.geodp", bytes(odd))


def peak_of(path: Path, data: bytes) -> tuple[str, int]:
    """What is said, and the most memory that it took, in bytes."""
    tracemalloc.start()
    try:
        said = refusal(path, data)
        return said, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_zip_bomb_is_refused_before_it_is_inflated(tmp_path, good):
    zeros = b"0" * (30 * 2**20)
    bombs = {
        "session.json": "session.json: is squeezed more than 200 times",
        "points.npz": "points.npz: is squeezed more than 200 times",
        "steps.jsonl": "steps.jsonl: has 31,457,280 bytes; at most 16,777,216 are read",
    }
    for name, message in bombs.items():
        data = pack(members_of(good) | {name: zeros}, zipfile.ZIP_DEFLATED)
        said, peak = peak_of(tmp_path / "a.geodp", data)
        assert said == message
        assert peak < 2**20 + 3 * len(data)


def test_a_bomb_inside_the_examples_is_refused_too(tmp_path, good):
    inner = pack({"points.npy": b"0" * (30 * 2**20), "labels.npy": b""}, zipfile.ZIP_DEFLATED)
    data = pack(members_of(good) | {"points.npz": inner})
    said, peak = peak_of(tmp_path / "a.geodp", data)
    assert said == "points.npz: points.npy: is squeezed more than 200 times"
    assert peak < 2**20 + 3 * len(data)


def resize(data: bytes, name: bytes, size: int) -> bytes:
    """The archive with another inflated size of a member in its directory."""
    place = data.index(name, directory_of(data)) - 46
    return data[: place + 24] + struct.pack("<L", size) + data[place + 28 :]


def test_all_members_together_are_limited(tmp_path, good):
    data = good
    for name in (b"session.json", b"points.npz", b"steps.jsonl"):
        data = resize(data, name, 300 * 2**20)
    said = refusal(tmp_path / "a.geodp", data)
    assert said == "would unpack to 943,718,400 bytes; at most 536,870,912 are read"


def test_a_directory_that_lies_about_sizes_gains_nothing(tmp_path, good):
    squeezed = pack(members_of(good) | {"session.json": b" " * (40 * 2**20)}, zipfile.ZIP_DEFLATED)
    said, peak = peak_of(tmp_path / "a.geodp", resize(squeezed, b"session.json", 1000))
    assert said.startswith("session.json: is damaged: ")
    assert peak < 2**21
    said = refusal(tmp_path / "a.geodp", resize(good, b"session.json", 10**6))
    assert said.startswith("session.json: ")


def test_an_archive_of_very_many_members_is_not_even_listed(tmp_path):
    data = pack({f"{i}": b"" for i in range(5000)})
    said, peak = peak_of(tmp_path / "a.geodp", data)
    assert said == "is a zip archive with far too many members"
    assert peak < 2**19
    data = pack({"session.json": b"{}"})
    data = data[:-22] + b"PK\x06\x07" + bytes(16) + data[-22:]  # 64-bit records
    assert "too many members" in refusal(tmp_path / "a.geodp", data)
