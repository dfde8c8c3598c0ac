"""What a ledger holds, adds up and refuses."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from run_charges import run_charge, stated

from geodp import InputError
from geodp_app.files.ledger import Ledger, NewRun, Source, past_run
from geodp_app.files.ledger_recording import Recording, beside, ledger_of
from geodp_app.files.ledger_state import budget_words, share_spent
from learners.core.selection import Cancelled
from learners.privacy.accounting import Charge, PrivacySpent, of_persons, one_of_several
from learners.privacy.several_runs import Budget

ROOT = Path(__file__).parents[3]
ROWS = Source("rows.csv")


def one(epsilon: float = 1.0, delta: float = 0.0, neighbours: str = "add-remove") -> PrivacySpent:
    if delta:
        return stated(epsilon, delta, neighbours)
    charges = (Charge("noisy cells", epsilon / 2 if neighbours == "replace-one" else epsilon),)
    return PrivacySpent(epsilon, delta, neighbours, "basic", charges, True)


def run(privacy: PrivacySpent | None = None, verb: str = "learn") -> NewRun:
    return NewRun(verb, "histogram", one() if privacy is None else privacy)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "geodp.ledger", budget=Budget(3.0, 1e-5))


def test_a_run_is_entered_before_it_draws_and_ended_once(ledger: Ledger) -> None:
    first = run(one(0.5))
    ledger.begin([first], ROWS)
    (entry,) = ledger.state().entries
    assert (entry.run, entry.verb, entry.learner) == (first.run, "learn", "histogram")
    assert (entry.privacy, entry.end) == (first.privacy, None)
    assert ledger.state().together == (0.5, 0.0)  # nothing is said of its end: it counts
    ledger.end({first.run: "cancelled"})
    ledger.end({first.run: "withdrawn", "f" * 32: "released"})  # neither the first word nor known
    assert [e.end for e in ledger.state().entries] == ["cancelled"]
    assert ledger.state().together == (0.5, 0.0)


@pytest.mark.parametrize("end", ["released", "cancelled", "failed"])
def test_runs_count_in_full_however_they_end(ledger: Ledger, end: str) -> None:
    for _ in range(3):
        begun = run()
        ledger.begin([begun], ROWS)
        ledger.end({begun.run: end})
    before = ledger.path.read_bytes()
    with pytest.raises(InputError) as caught:
        ledger.begin([run(one(0.1))], ROWS)
    assert str(caught.value) == (
        f"{ledger.path}: epsilon would be 3.1, and the budget allows 3: 0 is left; "
        "nothing was drawn"
    )
    assert ledger.path.read_bytes() == before


def test_several_runs_are_entered_together_or_not_at_all(ledger: Ledger) -> None:
    with pytest.raises(InputError, match=r"epsilon would be 3\.5"):
        ledger.begin([run(), run(one(2.5))], ROWS)
    assert ledger.state().entries == ()
    two = [run(), run()]
    ledger.begin(two, ROWS)
    ledger.end({two[1].run: "withdrawn"})  # it never drew
    assert ledger.state().together == (1.0, 0.0)
    ledger.begin([run(one(2.0))], ROWS)


def test_delta_is_a_budget_too(ledger: Ledger) -> None:
    ledger.begin([run(one(0.1, 1e-5))], ROWS)
    with pytest.raises(InputError, match=r"delta would be 2e-05, and the budget allows 1e-05"):
        ledger.begin([run(one(0.1, 1e-5))], ROWS)
    with pytest.raises(InputError, match="delta would be a little above 1e-05"):
        ledger.begin([run(one(0.1, 1e-40))], ROWS)
    ledger.begin([run(one(0.1))], ROWS)


def test_runs_without_privacy_and_seeded_ones_are_entered_and_spend_nothing(ledger: Ledger) -> None:
    seeded = replace(one(50.0), private=False)
    ledger.begin([NewRun("compare", "greedy-cover", None), run(seeded)], ROWS)
    state = ledger.state()
    assert [entry.spends for entry in state.entries] == [False, False]
    assert state.together == (0.0, 0.0)


def test_a_ledger_without_a_budget_counts_and_refuses_nothing(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger")
    for _ in range(3):
        ledger.begin([run(one(9.0))], ROWS)
    assert budget_words(ledger.state()) == "epsilon = 27, delta = 0, without a budget"
    ledger.set_budget(Budget(30.0, 0.0))
    ledger.begin([run(one(3.0))], ROWS)
    with pytest.raises(InputError, match="epsilon would be 31"):
        ledger.begin([run()], ROWS)
    ledger.set_budget(Budget(31.0, 0.0))
    ledger.begin([run()], ROWS)
    assert ledger.state().budgets == 2


def test_by_renyi_divergence_many_small_runs_are_allowed(tmp_path: Path) -> None:
    budget = Budget(4.0, 1e-5)
    basic = Ledger.create(tmp_path / "a", budget=budget)
    renyi = Ledger.create(tmp_path / "b", budget=budget, composition="renyi")
    small = PrivacySpent(0.1, 0.0, "add-remove", "basic", (Charge("selections", 0.1),), True)
    many = [NewRun("learn", "threshold", small) for _ in range(41)]
    with pytest.raises(InputError, match=r"epsilon would be 4\.1"):
        basic.begin(many, ROWS)
    renyi.begin(many, ROWS)
    state = renyi.state()
    assert state.rule.order == pytest.approx(6.42, abs=0.01)
    assert 0.1 < share_spent(state) < 0.2
    assert state.together == (4.1, 0.0)
    with pytest.raises(InputError, match=r"the Renyi divergence would be [\d.]+, and the budget"):
        renyi.begin([run(one(3.9))], ROWS)
    with pytest.raises(InputError, match="needs a budget"):
        Ledger.create(tmp_path / "c", composition="renyi")
    with pytest.raises(InputError, match="needs a delta"):
        Ledger.create(tmp_path / "c", composition="renyi", budget=Budget(1.0, 0.0))


def test_neighbours_and_unit_are_fixed(tmp_path: Path) -> None:
    replaced = Ledger.create(tmp_path / "a", relation="replace-one", budget=Budget(3.0, 0.0))
    replaced.begin([run(one(1.0)), run(one(1.0, neighbours="replace-one"))], ROWS)
    assert replaced.state().together == (3.0, 0.0)
    plain = Ledger.create(tmp_path / "b")
    with pytest.raises(InputError, match="replace-one neighbours says nothing about add-remove"):
        plain.begin([run(one(1.0, neighbours="replace-one"))], ROWS)
    with pytest.raises(
        InputError,
        match=r"and of each reporter one was taken: count every row, or begin another ledger$",
    ):
        plain.begin([run()], Source("rows.csv", "reporter"))
    persons = Ledger.create(tmp_path / "c", unit="reporter")
    for source in (ROWS, Source("rows.csv", "household")):
        told = "with reporter as the column that says whose a row is$"
        with pytest.raises(InputError, match=told) as caught:
            persons.begin([run()], source)
        assert caught.value.typed == " (--id reporter)"  # the window knows no options
        with pytest.raises(InputError, match="protects whoever reporter names"):
            persons.join(([(run(), "released")], source))
    persons.begin([run()], Source("rows.csv", "reporter"))
    assert plain.state().entries == ()


def test_several_rows_of_a_person_are_charged_together(tmp_path: Path) -> None:
    """What each of them costs is no statement about the person, and is not entered as one."""
    ledger = Ledger.create(tmp_path / "a", unit="reporter", budget=Budget(3.0, 0.0))
    several = Source("rows.csv", "reporter", rows=3)
    each = one_of_several(3.0, 0.0, 3)[0]
    whole = of_persons(one(each), 3.0, 0.0, 3)
    for spent, source in ((one(each), several), (whole, Source("rows.csv", "reporter"))):
        with pytest.raises(InputError, match=r"a person has [13] rows, and the run is charged for"):
            ledger.begin([run(spent)], source)
        with pytest.raises(InputError, match="nothing was drawn"):
            ledger.join(([(run(spent), "released")], source))
    rows = Ledger.create(tmp_path / "b")
    with pytest.raises(InputError, match="is charged for 3"):
        rows.begin([run(whole)], ROWS)
    ledger.begin([run(whole)], several)
    assert ledger.state().together == (3.0, 0.0)
    assert ledger.state().entries[0].privacy == whole
    with pytest.raises(InputError, match="0 is left"):
        ledger.begin([run(one(0.1))], Source("rows.csv", "reporter"))


def test_names_and_contents_are_salted_hashes(tmp_path: Path) -> None:
    data, copy, other = (tmp_path / name for name in ("secret.csv", "copy.csv", "other.csv"))
    data.write_text("x,y,label\n1,2,1\n")
    copy.write_text(data.read_text())
    other.write_text("x,y,label\n")
    for contents in (False, True):
        path = tmp_path / f"{contents}.ledger"
        ledger = Ledger.create(path, of="water", contents=contents)
        for file in (data, copy, other):
            ledger.begin([run()], Source.of_files([file]))
        ledger.begin([run()], Source("url::table"))
        state = ledger.state()
        assert len({entry.source for entry in state.entries}) == 4
        hashes = [entry.contents for entry in state.entries]
        assert hashes[3] is None
        assert (hashes[0] == hashes[1] != hashes[2]) if contents else hashes == [None] * 4
        assert state.of == state.hash_of("water") != state.hash_of("fire")
        kept = path.read_bytes()
        assert b"secret" not in kept
        assert b"water" not in kept
    salts = {Ledger(tmp_path / f"{each}.ledger").state().salt for each in (True, False)}
    assert len(salts) == 2


def test_what_a_session_spent_joins_once(ledger: Ledger) -> None:
    charges = [run_charge(2.0, 1e-6, "add-remove", finished=f) for f in (True, False)]
    past = [past_run(charge) for charge in charges]
    for _ in range(2):  # beyond the budget: it has been spent all the same, and once
        ledger.join((past, ROWS))
        assert len(ledger.state().entries) == 2
    state = ledger.state()
    assert state.together == (4.0, 2e-6)
    assert [entry.end for entry in state.entries] == ["released", "cancelled"]
    assert state.with_past((new.run, new.privacy, end) for new, end in past) == state
    with pytest.raises(InputError, match="epsilon would be 4"):
        ledger.begin([run(one(1e-9))], ROWS)


# -- a recording -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "end"),
    [(KeyboardInterrupt(), "cancelled"), (Cancelled(), "cancelled"), (MemoryError(), "failed")],
)
def test_a_run_that_is_broken_off_counts_and_those_after_it_never_drew(ledger, capsys, error, end):
    def break_off() -> None:
        with Recording(ledger, ROWS) as recording:
            recording.enter("learn", [("tiles", one(each)) for each in (0.5, 0.25, 0.125)])
            recording.released()
            raise error

    with pytest.raises(type(error)):
        break_off()
    assert [entry.end for entry in ledger.state().entries] == ["released", end, "withdrawn"]
    assert ledger.state().together == (0.75, 0.0)
    assert "counts in full" in capsys.readouterr().err


def test_an_end_that_cannot_be_told_is_a_warning(ledger: Ledger, capsys) -> None:
    with Recording(ledger, ROWS) as recording:
        recording.enter("learn", [("tiles", run().privacy)])
        assert recording.words == (f"{ledger.path}: epsilon = 1 of 3, delta = 0 of 1e-05")
        ledger.path.unlink()
        recording.released()
        assert recording.words == f"{ledger.path}: is not there"
    assert "is not there; the run counts in full" in capsys.readouterr().err


def test_without_a_ledger_nothing_is_told(tmp_path: Path) -> None:
    with Recording(None, ROWS) as recording:
        recording.enter("learn", [("tiles", one(99.0))])
        recording.released()
    assert list(tmp_path.iterdir()) == []


# -- finding it --------------------------------------------------------------------------------


def test_a_ledger_beside_the_data_is_theirs(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    a, b, c = (tmp_path / name / "p.csv" for name in ("a", "b", "c"))
    ledgers = [Ledger.create(path.parent / "geodp.ledger") for path in (a, b)]
    assert beside(a) == str(ledgers[0].path)
    assert (beside(c), ledger_of(None, [c]), ledger_of(None, [])) == (None, None, None)
    found = ledger_of(None, [a, c])
    assert found.path == ledgers[0].path
    assert ledger_of(ledgers[1].path, [c]) is not None
    assert ledger_of(ledgers[0].path, [a]) is not None
    with pytest.raises(InputError, match="is not the ledger of these data"):
        ledger_of(ledgers[1].path, [a])
    with pytest.raises(InputError, match="beside two ledgers"):
        ledger_of(None, [a, b])


# -- names of runs -----------------------------------------------------------------------------


def test_a_run_is_in_a_ledger_once_and_says_one_thing(ledger: Ledger) -> None:
    named = run(one().of_run())
    ledger.begin([named], ROWS)
    with pytest.raises(InputError, match="has such a run already; nothing was drawn"):
        ledger.begin([named], ROWS)
    ledger.join(([(named, "released")], ROWS))
    assert [entry.run for entry in ledger.state().entries] == [named.run]
    less = NewRun("file", "histogram", one(0.5).of_run(named.run))
    with pytest.raises(InputError, match=f"says otherwise of run {named.run}"):
        ledger.join(([(less, "released")], ROWS))
    undrawn = run(one(0.5).of_run())
    ledger.begin([undrawn], ROWS)
    ledger.end({undrawn.run: "withdrawn"})
    with pytest.raises(InputError, match=f"says otherwise of run {undrawn.run}"):
        ledger.join(([(undrawn, "released")], ROWS))  # it would count nowhere
    wrong = replace(one(), epsilon=0.1)
    for use in (ledger.begin, lambda runs, _: ledger.join(([(runs[0], "released")], ROWS))):
        with pytest.raises(InputError, match="its charges compose to epsilon = 1"):
            use([run(wrong)], ROWS)
    assert ledger.state().together == (1.0, 0.0)


# -- processes ---------------------------------------------------------------------------------

_SPEND = """
import sys
from geometry.errors import InputError
from geodp_app.files.ledger import Ledger, NewRun, Source
from learners.privacy.accounting import Charge, PrivacySpent
ledger, source, made = Ledger(sys.argv[1]), Source("rows.csv"), 0
sys.stdin.readline()
while True:
    charges = (Charge("noisy cells", 0.1),)
    run = NewRun("learn", "tiles", PrivacySpent(0.1, 0.0, "add-remove", "basic", charges, True))
    try:
        ledger.begin([run], source)
    except InputError:
        break
    made += 1
    ledger.end({run.run: "released"})
print(made)
"""


def test_two_processes_spend_a_budget_together_and_no_more(ledger: Ledger) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _SPEND, str(ledger.path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT,
        )
        for _ in range(2)
    ]  # fmt: skip
    for process in processes:
        process.stdin.write(b"\n")
        process.stdin.flush()
    made = [int(process.communicate()[0]) for process in processes]
    assert sum(made) == 30
    state = ledger.state()
    assert state.together == (3.0, 0.0)
    assert [entry.end for entry in state.entries] == ["released"] * 30


# -- damage ------------------------------------------------------------------------------------


def rewritten(ledger: Ledger, change) -> None:
    """A ledger whose hashes fit, of other lines."""
    lines = list(ledger.state().lines)
    change(lines)
    ledger.path.unlink()
    ledger._create(lines)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines[0].update(format="other"), "line 1 is not the beginning of a ledger"),
        (
            lambda lines: lines[0].update(version=2),
            "line 1 is of version 2, and this geodp reads 3",
        ),
        (
            lambda lines: lines[0].update(version=4),
            "line 1 is of version 4, and this geodp reads 3",
        ),
        (lambda lines: lines[0].update(neighbours="any"), "line 1 names no neighbours"),
        (lambda lines: lines[0].update(order=0.5), "line 1 has an order"),
        (lambda lines: lines[0].update(salt="zz"), "line 1 "),
        (lambda lines: lines[0].update(salt="00" * 65), "line 1 has a salt of another length"),
        (lambda lines: lines[0].update(salt=""), "line 1 has a salt of another length"),
        (lambda lines: lines[0].update(order=[2]), "line 1 has no number for order"),
        (lambda lines: lines[0].update(unit=["a"]), "line 1 has no text for unit"),
        (lambda lines: lines[1].update(epsilon=10**400), "line 2 int too large"),
        (lambda lines: lines[1].update(delta=[]), "line 2 has no number for delta"),
        (lambda lines: lines[1].update(epsilon=-1), "line 2 epsilon must be a positive number"),
        (lambda lines: lines[1].update(kind="gift"), "line 2 is of no known kind"),
        (lambda lines: lines[2].pop("privacy"), "line 3 'privacy' is missing"),
        (lambda lines: lines[2]["privacy"].update(epsilon="x"), "line 3 not a privacy statement"),
        (lambda lines: lines[2]["privacy"].update(epsilon=0.01), "line 3 its charges compose to"),
        (lambda lines: lines[2]["privacy"].update(delta=1e-3), "line 3 delta of charges that add"),
        (lambda lines: lines[2]["privacy"].update(run="a" * 32), "line 3 has a statement of"),
        (lambda lines: lines.append(lines[2]), "line 5 tells of a run twice"),
        (lambda lines: lines.append(lines[3]), "line 5 tells of an end that cannot be"),
        (lambda lines: lines[3].update(end="free"), "line 4 tells of an end that cannot be"),
        (lambda lines: lines[3].update(run="x"), "line 4 'x' is missing or unknown"),
    ],
)
def test_lines_that_geodp_would_not_have_written_are_refused(ledger, change, said) -> None:
    first = run()
    ledger.begin([first], ROWS)
    ledger.end({first.run: "released"})
    rewritten(ledger, change)
    for use in (ledger.state, lambda: ledger.begin([run()], ROWS)):
        with pytest.raises(InputError) as caught:
            use()
        assert str(caught.value).startswith(f"{ledger.path}: {said}")
        assert "\n" not in str(caught.value)


def test_a_ledger_that_was_changed_lets_nothing_be_drawn(ledger: Ledger) -> None:
    ledger.begin([run(one(2.5))], ROWS)
    changed = ledger.path.read_bytes().replace(b'"epsilon":2.5', b'"epsilon":0.5')
    ledger.path.write_bytes(changed)
    with pytest.raises(InputError, match="line 3 does not follow from the lines before it"):
        ledger.begin([run(one(2.0))], ROWS)


def test_a_ledger_without_lines_is_none(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "a")
    ledger._create([])
    with pytest.raises(InputError, match="is no ledger: it has no first line"):
        ledger.state()
