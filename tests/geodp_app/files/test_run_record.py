"""A stored run comes back exactly, and a damaged one is refused by its line."""

import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from run_records import (
    asked,
    by_tiles,
    diagnostics,
    piece,
    sharpened,
    stored,
    supported,
)

from geodp_app.document.work import RunSettings
from geodp_app.files.run_record import RunRecord
from geodp_app.files.strict_reading import DamagedFileError
from geometry.halfplane import MAX_D, HalfplaneLattice
from learners.core.records import StepRecord, StepRelease

RUNS = [asked(), supported(), stored(), stored(False)]
RUNS += [RunRecord(RunSettings("cover", seed=3), 4096)]
RUNS += [by_tiles(steps) for steps in (0, 1, 3, 4)]
RUNS += [sharpened(steps) for steps in (0, 1, 2, 3, 7, 8)]


@pytest.mark.parametrize("run", RUNS)
def test_a_run_comes_back_exactly(run):
    lines = run.to_lines()
    assert all("\n" not in line for line in lines)
    assert RunRecord.from_lines(lines) == run
    text = "\n".join(lines).encode() + b"\n"
    assert RunRecord.from_lines(text.split(b"\n")) == run


def test_the_first_line_says_that_it_is_private():
    assert "Private" in json.loads(stored().to_lines()[0])["warning"]


def test_nan_comes_back():
    record = replace(stored().records[0], diagnostics=diagnostics(log_mass=math.nan))
    back = RunRecord.from_lines(replace(stored(False), records=(record,)).to_lines())
    assert math.isnan(back.records[0].diagnostics.log_mass)


def test_numpy_numbers_are_stored_as_plain_ones():
    odd = diagnostics(score=np.float64(1.5), trials=np.int64(7), boxes=True)
    record = replace(stored().records[0], diagnostics=odd)
    back = RunRecord.from_lines(replace(stored(False), records=(record,)).to_lines())
    found = back.records[0].diagnostics
    assert (type(found.score), type(found.trials), type(found.boxes)) == (float, int, int)
    assert (found.score, found.trials, found.boxes) == (1.5, 7, 1)


def test_a_greedy_run_is_kept_with_plain_diagnostics():
    from learners.baselines.greedy import GreedyDiagnostics

    run = stored(False)
    greedy = GreedyDiagnostics(**asdict(diagnostics()), gap=3)
    records = tuple(replace(record, diagnostics=greedy) for record in run.records)
    back = RunRecord.from_lines(replace(run, records=records).to_lines())
    assert [record.diagnostics for record in back.records] == [diagnostics()] * 2


@pytest.mark.parametrize("measure", ["chord", "paper"])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_any_pieces_on_any_lattice_come_back(measure, data):
    d = data.draw(st.integers(1, MAX_D))
    bits = data.draw(st.integers(0, HalfplaneLattice.finest_bits(d, measure)))
    lattice = HalfplaneLattice(d, measure, bits)
    heights = st.integers(0, d << bits)
    halfplanes = st.builds(lattice.halfplane, st.sampled_from(lattice.sheets), heights, heights)
    size = data.draw(st.sampled_from([1, 3]))
    records = tuple(
        StepRecord(i + 1, 3, StepRelease(tuple(some), data.draw(st.none() | st.integers())), diag)
        for i, some in enumerate(
            data.draw(st.lists(st.lists(halfplanes, min_size=size, max_size=size), max_size=3))
        )
        for diag in [diagnostics(score=data.draw(st.floats(allow_nan=False)))]
    )
    run = RunRecord(RunSettings("cover", k=4, measure=measure, finish="none"), d, records)
    back = RunRecord.from_lines(run.to_lines())
    assert back == run
    if records:
        assert back.records[0].release.piece[0].lattice.bits == bits


def test_pieces_of_another_lattice_are_not_written():
    run = stored(False)
    coarse = HalfplaneLattice(100, "chord", 3)
    odd = StepRecord(2, 2, StepRelease(piece(coarse), 3), diagnostics())
    for wrong in (
        replace(run, records=(run.records[0], odd)),
        replace(run, grid=101),
        replace(run, settings=RunSettings("cover", measure="paper")),
        replace(run, settings=RunSettings("tiles")),
        replace(by_tiles(1), settings=RunSettings("cover")),
        replace(by_tiles(1), grid=49),
        replace(sharpened(3), settings=RunSettings("cover", k=2, n_steps=3)),
        replace(sharpened(3), settings=RunSettings("cover", k=2, n_steps=2, finish="none")),
        replace(sharpened(3), records=sharpened(3).records[1:]),
    ):
        with pytest.raises(ValueError, match="of one lattice"):
            wrong.to_lines()


@pytest.mark.parametrize("version", [6, 8, None])
def test_a_run_of_another_version_is_refused_in_one_line(version: int | None):
    lines = stored().to_lines()
    lines[0] = json.dumps({**json.loads(lines[0]), "version": version})
    with pytest.raises(DamagedFileError, match=f"version {version}, and this geodp reads"):
        RunRecord.from_lines(lines)


def edit(number: int, run: RunRecord | None = None, **members) -> list[str]:
    """The lines of a run with members of one line replaced; None removes one."""
    lines = (run or stored()).to_lines()
    data = {**json.loads(lines[number]), **members}
    lines[number] = json.dumps({k: v for k, v in data.items() if v is not None})
    return lines


HEAD, STEP, LAST = 0, 2, 3
SETTINGS = json.loads(stored().to_lines()[0])["settings"]
PIECE = json.loads(stored().to_lines()[2])["piece"]
FIGURES = json.loads(stored().to_lines()[2])["diagnostics"]
RELEASE = json.loads(stored().to_lines()[3])["release"]
BY_TILES = json.loads(by_tiles().to_lines()[5])["release"]
SHARPENED = json.loads(sharpened().to_lines()[9])["release"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "has no lines"),
        (["{"], "line 1: is not JSON"),
        (["[]"], "line 1: a line must be an object"),
        (['{"kind": "step"}'], "line 1: is not the beginning of a run"),
        ([b"\xff"], "line 1: is not UTF-8"),
        (["[" * 10**5], "line 1: is nested too deeply"),
        (stored().to_lines()[1:], "line 1: is not the beginning"),
        (stored().to_lines() + ["{}"], "line 5: comes after the release"),
        ([*stored().to_lines()[:2], *stored().to_lines()[3:]], "line 3: the release has other"),
        ([*stored().to_lines()[:1], *stored().to_lines()[2:]], "line 2: is step 2 of 2 in place"),
        (edit(HEAD, bits=-1), "line 1: bits: -1 is negative"),
        (edit(HEAD, bits=40), "line 1: bits = 40 is outside"),
        (edit(HEAD, bits=3), "line 2: "),
        (edit(HEAD, bits="17"), "line 1: bits: '17' is not a whole number"),
        (edit(HEAD, grid=10**7), "line 1: grid size d = 10000000"),
        (edit(HEAD, grid=None), "line 1: 'grid' is missing or unknown"),
        (edit(HEAD, settings={**SETTINGS, "k": 0}), "line 1: cover: k must be a whole"),
        (
            edit(HEAD, settings={**SETTINGS, "extra": 0}),
            "line 1: extra: there is no such parameter",
        ),
        (edit(HEAD, settings={}), "line 1: 'learner' is missing or unknown"),
        (edit(HEAD, settings=[]), "line 1: the settings of a run must be an object"),
        (edit(HEAD, settings={**SETTINGS, "measure": "paper"}), "line 2: "),
        (edit(STEP, kind="leap"), "line 3: is of the unknown kind 'leap'"),
        (edit(STEP, step=3), "line 3: is step 3 of 2"),
        (edit(STEP, steps=1), "line 3: is step 2 of 1"),
        (edit(STEP, step=2.0), "line 3: step: 2.0 is not a whole number"),
        (edit(STEP, threshold="3"), "line 3: threshold: '3'"),
        (edit(STEP, piece=PIECE[:2]), "line 3: a piece of 2 halfplanes"),
        (edit(STEP, piece=[["FLAT", 0, 0]]), "line 3: 'FLAT' is missing or unknown"),
        (edit(STEP, piece=[["FLAT_ABOVE", 10**9, 0]]), "line 3: .* is not in the chord lattice"),
        (edit(STEP, piece=[["FLAT_ABOVE", 0.5, 0]]), "line 3: u: 0.5 is not a whole number"),
        (edit(STEP, piece=[["FLAT_ABOVE", 0]]), "line 3: "),
        (edit(STEP, piece=7), "line 3: "),
        (edit(STEP, diagnostics={**FIGURES, "score": "much"}), "line 3: score: 'much'"),
        (edit(STEP, diagnostics={**FIGURES, "trials": "inf"}), "line 3: trials: 'inf'"),
        (edit(STEP, diagnostics={**FIGURES, "score": [1]}), r"line 3: score: \[1\]"),
        (edit(STEP, diagnostics={}), "line 3: 'positives_alive' is missing or unknown"),
        (edit(LAST, release={**RELEASE, "bits": 3}), "line 4: "),
        (edit(LAST, release={**RELEASE, "pieces": []}), "line 4: "),
        (edit(LAST, release={**RELEASE, "grid": 99}), "line 4: "),
        (edit(LAST, release={**RELEASE, "privacy": 3}), "line 4: "),
        (edit(LAST, release=None), "line 4: 'release' is missing"),
        (edit(LAST, release=BY_TILES), "line 4: the release is of another kind"),
        (edit(HEAD, by_tiles(), side=None), "line 1: 'side' is missing"),
        (edit(HEAD, by_tiles(), side=101), "line 1: side: 101 is larger than the grid's 100"),
        (edit(HEAD, by_tiles(), side=49), "line 2: "),
        (
            edit(HEAD, by_tiles(), settings={**SETTINGS, "tiles": 999}),
            "line 1: tiles must be a whole number",
        ),
        (edit(4, asked(), point=[0, 101]), r"line 5: the point \(0, 101\) is off the grid 0..100"),
        (edit(4, asked(), point=[0, 1.5]), "line 5: a question's numbers are whole"),
        (edit(4, asked(), value=2), "line 5: a question is answered 0 or 1, or not at all"),
        (edit(4, asked(), status="halted"), "line 5: a question is answered 0 or 1, or not"),
        (edit(4, asked(), votes=[3, 4]), "line 5: "),
        (edit(4, asked(), kind="answer"), "line 5: comes after the release"),
        (edit(4, asked(), halts_left=1), "line 6: a question does not follow the one before"),
        (edit(4, asked(), query=44), "line 6: a question does not follow the one before"),
        ([*asked().to_lines(), asked().to_lines()[-1]], "line 8: a question does not follow"),
        ([*stored().to_lines(), asked().to_lines()[-1]], "line 5: comes after the release"),
        (edit(STEP, by_tiles(), box=[0, 0, 1]), "line 3: "),
        (edit(STEP, by_tiles(), box=[0, 0, 101, 9]), "line 3: .* does not lie on its grid"),
        (edit(STEP, by_tiles(), box=[0, 0, 60, 9]), "line 3: box: .* is larger than side = 50"),
        (edit(STEP, by_tiles(), box=[0, 0, 9, 9.5]), "line 3: box: 9.5 is not a whole number"),
        (
            edit(LAST + 2, supported(), release=BY_TILES),
            "line 6: the release has support where none",
        ),
        (
            edit(HEAD, supported(), settings={**SETTINGS, "learner": "tiles", "support": None}),
            "line 6: the release has support where none",
        ),
        (
            edit(HEAD, supported(), settings={**SETTINGS, "learner": "tiles", "support": 2}),
            "line 1: tiles: support must be a number",
        ),
        (edit(STEP, by_tiles(), inside=2), "line 3: inside: 2 is neither 0 nor 1"),
        (edit(STEP, by_tiles(), piece=4 * PIECE[:1]), "line 3: a piece of 4 halfplanes"),
        (edit(STEP, by_tiles(), inside=1), "line 6: the release has other pieces than the steps"),
        (edit(5, by_tiles(), release=RELEASE), "line 6: the release is of another kind"),
        (
            edit(0, sharpened(), settings={**SETTINGS, "finish": "blunt"}),
            "line 1: cover: finish must be one of none, sharpen, not 'blunt'",
        ),
        (
            edit(0, sharpened(), settings={**SETTINGS, "finish": None}),
            "line 1: cover: finish must be one of",
        ),
        # the settings have eight triangles, and the third line has no triangle
        (edit(0, sharpened(), settings={**SETTINGS, "finish": "sharpen"}), "line 4: 'threshold'"),
        (edit(2, sharpened(), kind="step", threshold=None), "line 3: 'threshold' is missing"),
        (edit(3, sharpened(), side=0), "line 4: 2 pieces have no zones of side 0"),
        (edit(3, sharpened(), side=2.0), "line 4: side: 2.0 is not a whole number"),
        # zones of a grid point each have other boxes
        (edit(3, sharpened(), side=1), r"line 4: box: .*; its triangles' zone 1 has \["),
        # an edge is of the lattice of its zone's own box
        (edit(4, sharpened(), piece=[["FLAT_ABOVE", 10**9, 0]]), "line 5: .* is not in the chord"),
        (
            edit(4, sharpened(), box=[0, 0, 9, 9]),
            r"line 5: box: \[0, 0, 9, 9\]; its triangles' zone 2 has",
        ),
        (edit(4, sharpened(), threshold=3), "line 5: 'threshold': is missing, unknown"),
        (edit(4, sharpened(), inside=1), "line 10: the release has other pieces than the steps"),
        (
            sharpened().to_lines()[:4] + sharpened().to_lines()[5:],
            "line 5: is step 5 of 8 in place",
        ),
        (sharpened().to_lines()[:8] + sharpened().to_lines()[9:], "line 9: the release has other"),
        (edit(9, sharpened(), release=RELEASE), "line 10: the release is of another kind"),
        (edit(LAST, release=SHARPENED), "line 4: the release is of another kind"),
        (['{"kind": "run", "grid": NaN}'], "line 1: is not JSON: 'NaN' is not a finite"),
        (['{"kind": "run", "grid": 1e999}'], "line 1: is not JSON: '1e999' is not a finite"),
    ],
)
def test_a_damaged_run_is_refused_by_its_line(lines, message):
    with pytest.raises(DamagedFileError, match=message) as caught:
        RunRecord.from_lines(lines)
    assert "\n" not in str(caught.value)
