"""Lines that only grow: what is found of changes, and what processes do to each other."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from geodp import InputError
from geodp_app.files import chained_lines
from geodp_app.files.chained_lines import append, create, read

ROOT = Path(__file__).parents[3]


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "a.ledger"
    create(path, {"n": 0})
    for n in (1, 2, 3):
        append(path, lambda _, n=n: [{"n": n}])
    return path


def numbers(path: Path) -> list[int]:
    return [line["n"] for line in read(path).lines]


def test_lines_come_back_with_their_hashes(book):
    found = read(book)
    assert numbers(book) == [0, 1, 2, 3]
    assert len(set(found.hashes)) == 4
    assert found.size == book.stat().st_size
    assert all(found.holds(each) for each in found.hashes)
    assert not found.holds("0" * 64)


def test_the_first_line_can_be_read_alone(book):
    found, first = read(book), read(book, first=True)
    assert (first.lines, first.hashes) == (found.lines[:1], found.hashes[:1])
    data = book.read_bytes()
    book.write_bytes(data.replace(b'"n":0', b'"n":7'))
    with pytest.raises(InputError, match="line 1 does not follow"):
        read(book, first=True)


def test_a_hash_is_of_the_bytes_as_they_stand(book):
    """A line written otherwise, its hash made to fit, still has to fit the lines after it."""
    lines = book.read_bytes().splitlines()
    body = b'{ "n": 1}'
    made = hashlib.sha256(read(book).hashes[0].encode() + body).hexdigest()
    lines[1] = body[:-1] + b',"hash":"' + made.encode() + b'"}'
    book.write_bytes(b"\n".join(lines[:2]) + b"\n")
    assert numbers(book) == [0, 1]
    book.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(InputError, match="line 3 does not follow"):
        read(book)


def test_the_file_is_its_owners_alone_and_is_not_made_twice(book):
    assert book.stat().st_mode & 0o777 == 0o600
    before = book.read_bytes()
    with pytest.raises(InputError, match="is there already"):
        create(book, {"n": 9})
    assert book.read_bytes() == before


def test_every_change_of_a_byte_within_is_found(book):
    """Each byte, replaced by another; in the last line as well, but for its end."""
    data = book.read_bytes()
    for at in range(len(data) - 1):
        changed = bytearray(data)
        changed[at] ^= 1
        book.write_bytes(bytes(changed))
        with pytest.raises(InputError) as caught:
            read(book)
        assert f"{book}: line " in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[:1] + lines[2:],
        lambda lines: lines[1:],
        lambda lines: [lines[0], lines[2], lines[1], lines[3]],
        lambda lines: [*lines, lines[-1]],
        lambda lines: [*lines[:2], lines[0], *lines[2:]],
        lambda lines: [*lines[:2], b"{}", *lines[2:]],
        lambda lines: [*lines[:2], b"", *lines[2:]],
        lambda lines: [*lines[:2], lines[2].replace(b":", b": "), *lines[3:]],
    ],
)
def test_lines_taken_out_put_in_or_moved_are_found(book, change):
    book.write_bytes(b"".join(line + b"\n" for line in change(book.read_bytes().splitlines())))
    with pytest.raises(InputError, match="line"):
        read(book)
    with pytest.raises(InputError, match="line"):
        append(book, lambda _: [{"n": 4}])


def test_a_cut_end_is_found_only_by_who_noted_the_head(book):
    """What the chain cannot tell, as the module says."""
    head = read(book).head
    book.write_bytes(b"".join(line + b"\n" for line in book.read_bytes().splitlines()[:2]))
    assert numbers(book) == [0, 1]
    assert not read(book).holds(head)


def test_a_torn_line_was_never_said_and_the_next_writer_takes_it_off(book):
    whole = book.read_bytes()
    append(book, lambda _: [{"n": 4}])
    longer = book.read_bytes()
    for size in range(len(whole) + 1, len(longer)):
        book.write_bytes(longer[:size])
        assert numbers(book) == [0, 1, 2, 3]
        append(book, lambda _: [{"n": 5}])
        assert numbers(book) == [0, 1, 2, 3, 5]


def test_what_is_raised_or_cannot_be_written_leaves_the_file_as_it_was(book, monkeypatch):
    before = book.read_bytes()

    def refuse(found):
        raise InputError("no")

    with pytest.raises(InputError, match="no"):
        append(book, refuse)
    assert book.read_bytes() == before

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(chained_lines.os, "fsync", full)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        append(book, lambda _: [{"n": 4}])
    assert book.read_bytes() == before


def test_a_full_disk_in_the_middle_of_a_line_leaves_no_part_of_it(book, tmp_path):
    """The system itself refuses: a process that may write so many bytes and no more."""
    before = book.read_bytes()
    program = (
        "import resource, signal, sys\n"
        "from geodp_app.errors import InputError\n"
        "from geodp_app.files.chained_lines import append\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "most = int(sys.argv[2])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))\n"
        "try:\n"
        "    append(sys.argv[1], lambda _: [{'n': 4}])\n"
        "except InputError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(book), str(len(before) + 20)],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    assert "cannot be written" in done.stdout
    assert book.read_bytes() == before


def test_two_processes_lose_no_update(book):
    """Each adds one to the last number, read under the lock: a lost update would repeat one."""
    program = (
        "import sys\n"
        "from geodp_app.files.chained_lines import append\n"
        "sys.stdin.readline()\n"
        "for _ in range(60):\n"
        "    append(sys.argv[1], lambda found: [{'n': found.lines[-1]['n'] + 1}])\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(book)], stdin=subprocess.PIPE, cwd=ROOT
        )
        for _ in range(2)
    ]
    for process in processes:  # both wait for this
        process.stdin.write(b"\n")
        process.stdin.close()
    assert [process.wait(240) for process in processes] == [0, 0]
    assert numbers(book) == list(range(124))


def test_a_writer_that_is_killed_leaves_whole_lines(book):
    """Killed at any moment; what it had reported is there, and the next one goes on."""
    program = (
        "import sys\n"
        "from geodp_app.files.chained_lines import append\n"
        "n = 0\n"
        "while True:\n"
        "    n = append(sys.argv[1], lambda f: [{'n': f.lines[-1]['n'] + 1}]).lines[-1]['n']\n"
        "    print(n, flush=True)\n"
    )
    outcome = 3
    for lines in (1, 5, 9):
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(book)], stdout=subprocess.PIPE, cwd=ROOT
        )
        for _ in range(lines):
            outcome = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        outcome = max([outcome, *(int(line) for line in process.communicate()[0].splitlines())])
        found = numbers(book)
        assert found == list(range(len(found)))
        assert found[-1] in (outcome, outcome + 1)


def test_a_lock_that_is_not_given_up_is_told(book, monkeypatch):
    monkeypatch.setattr(chained_lines, "PATIENCE", 0.05)
    with book.open("rb") as held:
        assert chained_lines.try_lock(held)
        with pytest.raises(InputError, match="keeps it locked"):
            append(book, lambda _: [{"n": 4}])
    append(book, lambda _: [{"n": 4}])


@pytest.mark.parametrize("use", [read, lambda path: append(path, lambda _: [])])
def test_what_is_no_file_is_refused_without_waiting(tmp_path, use):
    os.mkfifo(tmp_path / "pipe")
    for name, reason in (("pipe", "is not a file"), (".", "is not a file"), ("b", "is not there")):
        with pytest.raises(InputError, match=reason):
            use(tmp_path / name)
    (tmp_path / "odd").write_text(json.dumps({"n": 1}) + "\n")
    with pytest.raises(InputError, match="line 1"):
        use(tmp_path / "odd")
