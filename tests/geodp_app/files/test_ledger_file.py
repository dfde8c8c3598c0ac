"""The file of a ledger: what is found of changes, and what processes do to each other."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from geodp import InputError
from geodp_app.files import ledger as ledger_module
from geodp_app.files.ledger import Ledger, NewRun, Source
from geodp_app.files.ledger_state import chained
from learners.privacy.several_runs import Budget

ROOT = Path(__file__).parents[3]
#: What a program of its own begins with: a ledger, and a number that each entry raises by one.
RAISE = """
import sys
from geometry.errors import InputError
from geodp_app.files.ledger import Ledger
ledger = Ledger(sys.argv[1])
def raise_it():
    with ledger._entering() as (state, lines):
        number = state.budget.epsilon + 1
        lines.append({"kind": "budget", "epsilon": number, "delta": 0.0})
    return number
"""


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    """Of four lines, the number 3 in the last one."""
    ledger = Ledger.create(tmp_path / "a.ledger", budget=Budget(1.0, 0.0))
    for number in (2.0, 3.0):
        ledger.set_budget(Budget(number, 0.0))
    return ledger


def rewrite(ledger: Ledger, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(ledger.path)) as file:
        for statement in statements:
            file.execute(statement)
        file.commit()


def numbers(ledger: Ledger) -> list[int]:
    return [int(line["epsilon"]) for line in ledger.state().lines[1:]]


def raising(ledger: Ledger, program: str, *argv: object, **named: object) -> subprocess.Popen:
    argv = (sys.executable, "-c", RAISE + program, ledger.path, *argv)
    return subprocess.Popen(list(map(str, argv)), stdout=subprocess.PIPE, cwd=ROOT, **named)


def test_lines_come_back_with_their_hashes(book: Ledger) -> None:
    found = book.state()
    assert [line["kind"] for line in found.lines] == ["ledger", "budget", "budget", "budget"]
    assert len(set(found.hashes)) == 4
    assert found.head == found.hashes[-1]
    assert all(found.holds(each) for each in found.hashes)
    assert not found.holds("0" * 64)


def test_the_first_line_can_be_read_alone(book: Ledger) -> None:
    with book._transaction("read") as file:
        assert book._state(file, most=1).hashes == book.state().hashes[:1]
    rewrite(book, "UPDATE lines SET line = replace(line, 'geodp ledger', 'other') WHERE rowid = 1")
    with book._transaction("read") as file, pytest.raises(InputError, match="line 1 does not foll"):
        book._state(file, most=1)


def test_a_hash_is_of_the_text_as_it_stands(book: Ledger) -> None:
    """A line written otherwise, its hash made to fit, still has to fit the lines after it."""
    found = book.state()
    text = json.dumps(found.lines[1])
    made = chained(found.hashes[0], text.encode())
    rewrite(book, f"UPDATE lines SET line = '{text}', hash = '{made}' WHERE rowid = 2")
    with pytest.raises(InputError, match="line 3 does not follow"):
        book.state()
    rewrite(book, "DELETE FROM lines WHERE rowid > 2")
    assert book.state().lines == found.lines[:2]


@pytest.mark.skipif(sys.platform == "win32", reason="modes of files")
def test_the_file_and_its_journal_are_their_owners_alone(tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        ledger = Ledger.create(tmp_path / "a.ledger")
        with ledger._transaction("written") as file:
            file.execute("INSERT INTO lines VALUES ('', '')")
            assert sorted(os.listdir(tmp_path)) == ["a.ledger", "a.ledger-journal"]
            assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
            file.execute("DELETE FROM lines WHERE line = ''")
    finally:
        os.umask(mask)
    assert os.listdir(tmp_path) == ["a.ledger"]


def test_it_is_not_made_twice(book: Ledger) -> None:
    before = book.path.read_bytes()
    with pytest.raises(InputError, match="is there already"):
        Ledger.create(book.path)
    assert book.path.read_bytes() == before


def test_what_is_entered_is_on_the_disk(book: Ledger) -> None:
    """As SQLite defines it: the file, the end of the journal and its folder; no file beside it."""
    with book._transaction("written") as file:
        assert file.execute("PRAGMA synchronous").fetchone() == (3,)
        assert file.execute("PRAGMA journal_mode").fetchone() == (b"delete",)


def test_a_change_of_a_byte_is_found_or_changes_nothing(book: Ledger) -> None:
    """Each byte that is not 0 anyway, and every seventeenth of these, replaced by another."""
    data, found, refused = book.path.read_bytes(), book.state().lines, 0
    for at, old in enumerate(data):
        if not old and at % 17:
            continue
        changed = bytearray(data)
        changed[at] ^= 1
        book.path.write_bytes(bytes(changed))
        said = ""
        try:
            assert book.state().lines == found
        except InputError as error:
            said = str(error)
        assert not said or (said.startswith(f"{book.path}: ") and "\n" not in said)
        refused += said != ""
    assert refused > 900


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM lines WHERE rowid = 2",
        "DELETE FROM lines WHERE rowid = 1",
        "UPDATE lines SET rowid = 9 WHERE rowid = 2",
        "INSERT INTO lines SELECT line, hash FROM lines WHERE rowid = 4",
        "UPDATE lines SET line = '{}' WHERE rowid = 3",
        "UPDATE lines SET line = '' WHERE rowid = 3",
        "UPDATE lines SET line = 3 WHERE rowid = 3",
        "UPDATE lines SET line = x'ff' WHERE rowid = 3",
        "UPDATE lines SET hash = '' WHERE rowid = 3",
        "UPDATE lines SET line = replace(line, ':', ': ') WHERE rowid = 3",
        "CREATE TABLE more (a)",
        "CREATE TRIGGER t AFTER INSERT ON lines BEGIN DELETE FROM lines; END",
        "ALTER TABLE lines RENAME TO old; CREATE VIEW lines AS SELECT line, hash FROM old",
        "ALTER TABLE lines ADD more",
    ],
)
def test_lines_taken_out_put_in_or_moved_are_found(book: Ledger, change: str) -> None:
    statements = [change] if "TRIGGER" in change else change.split("; ")
    rewrite(book, *statements)
    said = "line |is no ledger of geodp, or an older one"
    with pytest.raises(InputError, match=said):
        book.state()
    before = book.path.read_bytes()
    with pytest.raises(InputError, match=said):
        book.set_budget(Budget(4.0, 0.0))
    assert book.path.read_bytes() == before


def test_what_is_raised_leaves_the_file_as_it_was(book: Ledger) -> None:
    before = book.path.read_bytes()
    for error in (InputError("no"), KeyboardInterrupt(), OSError(28, "No space left on device")):
        for statement in ("INSERT INTO lines VALUES ('', '')", "DELETE FROM lines"):

            def broken_off(statement: str = statement, error: BaseException = error) -> None:
                with book._transaction("written") as file:
                    file.execute(statement)
                    raise error

            with pytest.raises(type(error)):
                broken_off()
            assert book.path.read_bytes() == before
    assert os.listdir(book.path.parent) == ["a.ledger"]


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
@pytest.mark.parametrize("end", ["refused", "killed"])
def test_a_disk_that_is_full_and_a_kill_at_any_write_leave_all_or_nothing(tmp_path, end):
    """The system refuses to write beyond so many bytes, or kills the process that does.

    A group of runs takes new pages and changes old ones, so it ends between two of these, too.
    """
    import resource

    ledger, old = Ledger.create(tmp_path / "a.ledger"), 0
    rolled_back, done = 0, 0
    for room in range(0, 60_000, 2_000):
        runs = [NewRun("learn", "a" * 1000, None) for _ in range(12)]
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                handler = signal.SIG_IGN if end == "refused" else signal.SIG_DFL
                signal.signal(signal.SIGXFSZ, handler)
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
                try:
                    ledger.begin(runs, Source("rows.csv"))
                except InputError as error:
                    os._exit(3 if "cannot be written" in str(error) else 4)
                os._exit(0)
            os._exit(5)
        status = os.waitpid(child, 0)[1]
        code = os.waitstatus_to_exitcode(status)
        assert code in (0, 3 if end == "refused" else -signal.SIGXFSZ)
        left = ledger.path.read_bytes()
        entries = {entry.run for entry in ledger.state().entries}
        assert len(entries) == old + (12 if code == 0 else 0)
        assert code or {run.run for run in runs} <= entries
        rolled_back += left != ledger.path.read_bytes()
        if code == 0 or end == "refused":
            assert os.listdir(tmp_path) == ["a.ledger"]
        done, old = done + (code == 0), len(entries)
    assert 0 < done < 30
    assert (rolled_back > 0) == (end == "killed")  # who read next put the old pages back


def test_two_processes_lose_no_update(book: Ledger) -> None:
    """Each adds one to the last number, read under the lock: a lost update would repeat one."""
    program = "sys.stdin.readline()\nfor _ in range(60):\n    raise_it()\n"
    processes = [raising(book, program, stdin=subprocess.PIPE) for _ in range(2)]
    for process in processes:  # both wait for this
        process.stdin.write(b"\n")
        process.stdin.close()
    assert [process.wait() for process in processes] == [0, 0]
    assert numbers(book) == list(range(1, 124))


def test_a_writer_that_is_killed_leaves_whole_lines(book: Ledger) -> None:
    """Killed at any moment; what it had reported is there, and the next one goes on."""
    outcome = 3
    for lines in (1, 5, 9):
        process = raising(book, "while True:\n    print(int(raise_it()), flush=True)\n")
        for _ in range(lines):
            outcome = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        outcome = max([outcome, *(int(line) for line in process.communicate()[0].splitlines())])
        found = numbers(book)
        assert found == list(range(1, len(found) + 1))
        assert found[-1] in (outcome, outcome + 1)


def test_a_lock_that_is_not_given_up_is_told(book: Ledger, monkeypatch) -> None:
    monkeypatch.setattr(ledger_module, "PATIENCE", 0.05)
    with contextlib.closing(sqlite3.connect(book.path, isolation_level=None)) as other:
        for begin, uses in (("IMMEDIATE", [add]), ("EXCLUSIVE", [add, Ledger.state])):
            other.execute(f"BEGIN {begin}")
            for use in uses:
                with pytest.raises(InputError, match="another program keeps it locked"):
                    use(book)
            other.execute("ROLLBACK")
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM lines").fetchall()
        with pytest.raises(InputError, match="another program keeps it locked"):
            add(book)  # who reads keeps it from being changed
    assert numbers(book) == [1, 2, 3]
    add(book)


def add(ledger: Ledger) -> None:
    ledger.set_budget(Budget(4.0, 0.0))


USES = pytest.mark.parametrize("use", [Ledger.state, add])


@USES
def test_what_is_no_file_is_refused_without_waiting(tmp_path, use):
    os.mkfifo(tmp_path / "pipe")
    for name, reason in (("pipe", "is not a file"), (".", "is not a file"), ("b", "is not there")):
        with pytest.raises(InputError, match=reason):
            use(Ledger(tmp_path / name))
    assert os.listdir(tmp_path) == ["pipe"]


@USES
def test_other_files_are_refused_and_stay_as_they_are(tmp_path, book, use, monkeypatch):
    older = {"kind": "ledger", "format": "geodp ledger", "version": 2, "hash": "0" * 64}
    (tmp_path / "older").write_text(json.dumps(older) + "\n")
    (tmp_path / "empty").touch()
    for name, mode in (("other", "delete"), ("wal", "wal")):
        with contextlib.closing(sqlite3.connect(tmp_path / name)) as file:
            file.execute(f"PRAGMA journal_mode = {mode}")
            file.execute("CREATE TABLE lines (line, hash)")
    names = sorted(os.listdir(tmp_path))
    for name in ("older", "empty", "other", "wal"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(InputError, match="is no ledger of geodp, or an older one: begin anot"):
            use(Ledger(tmp_path / name))
        assert (tmp_path / name).read_bytes() == before
    (tmp_path / "half").write_bytes(book.path.read_bytes()[:5000])
    with pytest.raises(InputError, match="is damaged"):
        use(Ledger(tmp_path / "half"))
    monkeypatch.setattr(ledger_module, "MOST_BYTES", 5000)
    with pytest.raises(InputError, match="has more than 5,000 bytes; begin another one"):
        use(book)
    assert sorted(os.listdir(tmp_path)) == sorted([*names, "half"])


@pytest.mark.parametrize("name", ["a?b=c", "a#b", "a%41", "a b", "file:a?mode=memory", ":memory:"])
@pytest.mark.skipif(sys.platform == "win32", reason="names that are none there")
def test_a_name_is_a_name(tmp_path: Path, monkeypatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert add(Ledger.create(name)) is None
    os.symlink(name, "link")
    add(Ledger("link"))
    assert sorted(os.listdir()) == sorted([name, "link"])
    assert Ledger(tmp_path / name).state().budgets == 2


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may do anything")
def test_a_file_that_may_be_read_alone_is_read_and_not_written(book: Ledger) -> None:
    folder = book.path.parent
    for path, mode, reason in ((book.path, 0o400, "readonly"), (folder, 0o500, "its folder")):
        path.chmod(mode)
        assert numbers(book) == [1, 2, 3]
        with pytest.raises(InputError, match=f"cannot be written: .*{reason}"):
            add(book)
        path.chmod(0o700)
    assert numbers(book) == [1, 2, 3]
