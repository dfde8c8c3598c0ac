"""Every statement of the sources has a row, its check finds what is known, the page says it all."""

import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(FOLDER))
sources = importlib.import_module("sources")
row = importlib.import_module("promises.row")
Row, Verdict = row.Row, row.Verdict

#: Whatever has a number in the sources and states something.
NUMBERED = {
    "KMMS": (
        "observation 2.2", "theorem 2.4", "proposition 2.5", "claim 3.1", "theorem 3.2",
        "example 3.3", "claims 3.4 and 4.3", "theorem 3.5", "observation 4.1", "observation 4.4",
        "claim 4.5", "lemma 4.6", "theorem 4.7", "theorem 5.1", "section 6",
    ),
    "BTT": (
        "lemma 2.6", "theorem 2.7", "theorem 2.8", "theorem 3.2", "theorem 3.5", "theorem 3.6",
        "corollary 3.9", "corollary 3.10", "theorem 3.11", "corollary 4.1", "theorem 4.3",
        "theorem 4.4", "theorem 4.6", "theorem 4.7", "theorem 5.4", "theorem 5.6", "lemma 5.8",
        "definition 5.9", "corollary 5.10", "definitions 5.11 and 5.12", "lemma 5.13",
        "theorem 5.14",
    ),
    "Notes": ("theorem 1", "theorem 2", "theorem 3"),
}  # fmt: skip


def test_every_system_and_every_numbered_statement_has_a_row() -> None:
    assert {system for one in sources.ROWS for system in one.systems} == set(sources.SYSTEMS)
    for work, statements in NUMBERED.items():
        cited = [one.source for one in sources.ROWS if work in one.source]
        assert [s for s in statements if not any(s in source for source in cited)] == []


def test_rows_have_keys_of_their_own_and_short_forms_are_short() -> None:
    assert len({sources.key(one) for one in sources.ROWS}) == len(sources.ROWS)
    assert all(one.short <= one.runs for one in sources.ROWS)
    assert all(one.departure for one in sources.ROWS if one.known_wrong)


@pytest.mark.parametrize(
    "one", sources.ROWS, ids=lambda one: f"{one.systems[0]}, {one.source}, {one.promise[:30]}"
)
def test_a_short_check_finds_what_is_known(one: Row) -> None:
    verdict = one.check(one.short)
    assert not sources.contrary(one, verdict), verdict


def test_every_row_has_a_kept_verdict_of_a_whole_check() -> None:
    found = sources.stored()
    assert set(found) == {sources.key(one) for one in sources.ROWS}
    for one in sources.ROWS:
        runs, verdict = found[sources.key(one)]
        assert runs == one.runs, one.source
        assert not sources.contrary(one, verdict), one.source


def test_the_page_of_learners_is_up_to_date() -> None:
    page = sources.PAGE.read_text(encoding="utf-8")
    assert page == sources.page(), "run: python benchmarks/sources.py --page"


def _row(word: str, **more: object) -> Row:
    return Row((1,), "a source", "a promise", "a setting", lambda n: Verdict(word, f"{n}"),
               7, 2, **more)  # fmt: skip


def test_the_command_prints_rows_and_fails_on_what_is_not_expected(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sources, "STORED", tmp_path / "kept.csv")
    kept = _row("confirmed", departure="here"), _row("refuted", departure="b", known_wrong=True)
    monkeypatch.setattr(sources, "ROWS", kept[:1])
    assert sources.main(["--write"]) == 0
    shown = capsys.readouterr().out
    assert "1  a source\n    a promise\n    with a setting\n    CONFIRMED: 7 (" in shown
    assert "departs: here" in shown
    assert sources.stored() == {sources.key(kept[0]): (7, Verdict("confirmed", "7"))}
    assert sources.main(["--missing"]) == 0
    assert capsys.readouterr().out.startswith("0 rows")
    monkeypatch.setattr(sources, "ROWS", kept[1:])
    assert sources.main(["--short"]) == 0
    assert "REFUTED, as is known: 2 (" in capsys.readouterr().out
    monkeypatch.setattr(sources, "ROWS", (_row("refuted"),))
    assert sources.main([]) == 3
    assert "1 other than expected a source" in capsys.readouterr().out
