"""One report in words, and in the real window: what it changes in the law of a step."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from any_pieces import all_halfplanes
from finished_runs import GRID, examples, finished, logged
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot
from signatures import signature
from window_driver import Lasting, action, click, log_of, settle

from geodp import Examples, Frame
from geodp_app.document.work import RunSettings
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.runs.edge_law import change, shade
from geodp_app.runs.protocol import Change, ReportQuestion, ShadeQuestion, WhyNone
from geodp_app.runs.questions import (
    OneReport,
    change_words,
    find_report,
    report_question,
    shade_question,
)
from geodp_app.views.window.main_window import MainWindow
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from learners.core.records import TileStep, halfplanes_of, inside_piece
from learners.core.selection import Score, mistakes_score, set_cover_score

TARGET = Drawing(256, (Shape(((40, 40), (200, 40), (200, 150), (40, 150))),))
#: Examples of the window, and its run.
N = 60
RUN = {"learner": "cover", "k": 2, "n_steps": 2, "epsilon": 8.0, "seed": 4, "finish": "none"}
SAMPLE = Examples(np.array([[10, 10], [50, 60], [52, 60]]), np.array([0, 1, 0]), Frame(256))


def test_the_nearest_example_is_taken_and_elsewhere_one_is_put() -> None:
    assert find_report(SAMPLE, (51, 61), 3.0, False) == OneReport((50, 60), True, True)
    assert find_report(SAMPLE, (53, 60), 3.0, True) == OneReport((52, 60), False, True)
    assert find_report(SAMPLE, (70, 60), 3.0, True) == OneReport((70, 60), True, False)
    assert find_report(SAMPLE, (70, 60), 3.0, False) == OneReport((70, 60), False, False)
    nothing = Examples(np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.int64), Frame(256))
    assert not find_report(nothing, (1, 2), 9.0, True).present


@pytest.mark.parametrize("chosen", [-0.02, 0.1])
def test_the_words_say_the_factors(chosen: float) -> None:
    words = change_words(Change((), chosen, 0.12, 0.0), 0.125, None)
    way = "less" if chosen < 0 else "more"
    assert f"{math.exp(abs(chosen)):.3g}"[:4] in words
    assert f"times {way} likely" in words
    assert f"at most {math.exp(0.125):.3g} times in the whole step (η = 0.125)" in words
    assert "about" not in words
    assert "about" in change_words(Change((), chosen, 0.12, 0.01), 0.125, None)
    words = change_words(Change((), 0.0, 0.0, 0.0), 0.125, None)
    assert words.startswith("With it the edge that was chosen is as likely; any other, too. One ")


@pytest.mark.parametrize("reason", ["decided", "outside", "elsewhere"])
def test_a_report_that_changes_nothing_says_why(reason: WhyNone) -> None:
    words = change_words(Change((), 0.0, 0.0, 0.0, reason), 0.125, None)
    assert "changes nothing" in words
    assert "Any report could change a probability at most 1.13 times" in words


@pytest.fixture
def window(lasting: Lasting) -> MainWindow:
    return lasting.drawn(TARGET, N, **RUN)


@pytest.fixture
def finished_window(qtbot: QtBot, lasting: Lasting) -> MainWindow:
    """At the first step of such a run."""
    made = lasting.after_run(qtbot, TARGET, N, **RUN)
    made.runs.move_cursor(1)
    settle(qtbot, made)
    return made


def ratios(window: MainWindow) -> np.ndarray:
    values = [each.values.ravel() for each in window.dual.pictures.drawn.values()]
    found = np.concatenate(values) if values else np.empty(0)
    return found[np.isfinite(found)]


def test_a_click_shows_the_log_ratio_on_a_scale_fixed_at_eta(qtbot, finished_window):
    window, log = finished_window, log_of(finished_window)
    action(window, "report")
    eta = log.figures(1).eta
    examples = window.document.work.examples
    held = inside_piece(log.records[0].release.piece[1:], examples.points)
    x, y = examples.points[int(np.flatnonzero(held)[0])].tolist()
    click(window, x, y)
    qtbot.waitUntil(lambda: "times" in window.why.report.text())
    qtbot.waitUntil(lambda: window.display.at_rest)
    assert window.why.report.text().startswith("A ")
    assert f"at ({x}, {y}), one of the sample" in window.why.report.text()
    scale = window.dual.pictures.shade_scale
    assert (scale.low, scale.high, scale.signed) == (-eta, eta, True)
    found = ratios(window)
    assert len(found) > 10
    assert np.abs(found).max() <= eta * (1 + 1e-12)
    assert np.ptp(found) > 0  # it does change something
    assert window.plane.report.ring.getData()[0].tolist() == [x]
    # one that is not there, and the other label
    click(window, 100, 90, Qt.KeyboardModifier.ShiftModifier)
    qtbot.waitUntil(lambda: "A negative report at (100, 90), put there" in window.why.report.text())
    qtbot.waitUntil(lambda: window.display.at_rest)
    assert np.abs(ratios(window)).max() <= eta * (1 + 1e-12)


def test_another_tool_brings_the_shading_and_why_back(qtbot, finished_window):
    window = finished_window
    why = window.why.what.text()
    action(window, "report")
    click(window, 100, 90)
    qtbot.waitUntil(lambda: "times" in window.why.report.text())
    assert not window.why.what.isVisible()
    action(window, "polygon")
    qtbot.waitUntil(lambda: window.display.at_rest)
    assert window.why.report.text() == ""
    assert window.why.what.isVisible()
    assert window.why.what.text() == why
    scale = window.dual.pictures.shade_scale
    assert not scale.signed
    assert window.plane.report.ring.getData()[0] is None or not len(
        window.plane.report.ring.getData()[0]
    )


def test_the_release_view_shows_nothing_of_it(qtbot: QtBot, finished_window: MainWindow) -> None:
    window = finished_window
    action(window, "report")
    click(window, 100, 90)
    qtbot.waitUntil(lambda: "times" in window.why.report.text())
    action(window, "release_view")
    qtbot.waitUntil(lambda: window.display.at_rest)
    assert not window.why.report.isVisible()
    assert not window.plane.report.ring.isVisible()
    assert window.dual.sheets[window.dual.sheet].shading.isVisible() is False


def test_without_a_run_there_is_nothing_to_change(window: MainWindow) -> None:
    window.sample()
    action(window, "report")
    click(window, 100, 90)
    assert "Run the learner first" in window.status_line.text()
    assert window.why.report.text() == ""


# what one report changes, against laws enumerated over all halfplanes of small lattices

ETA, K, B = 0.7, 3, 4


def score_of(role: str, labels: np.ndarray) -> Score:
    positives, negatives = int(labels.sum()), int((~labels).sum())
    if role == "tile":
        return mistakes_score(positives)
    return set_cover_score(role, K, B, positives, negatives)  # type: ignore[arg-type]


def utility(role: str, inside: np.ndarray, labels: np.ndarray) -> float:
    """The score, in examples, from the definitions."""
    if role == "tile":
        return -float(np.count_nonzero(inside != labels))
    decided, gains = (inside, labels) if role == "disjunction" else (~inside, ~labels)
    gain = np.count_nonzero(decided & gains)
    return min(gain - B / K, -float(np.count_nonzero(decided & ~gains)))


def make_case(role: str, seed: int, lattice: HalfplaneLattice, held: bool) -> ReportQuestion:
    """Random examples and one of them, or one more, in question."""
    rng = np.random.default_rng(seed)
    d = lattice.d
    halfplanes = all_halfplanes(lattice)
    others = tuple(halfplanes[i] for i in rng.integers(0, len(halfplanes), 2)) if held else ()
    points = rng.integers(0, d + 1, (int(rng.integers(1, 15)), 2))
    labels = (points.sum(axis=1) < d) ^ (rng.random(len(points)) < 0.25)
    present = bool(rng.random() < 0.5)
    point, label = points[0].tolist(), bool(labels[0])
    if not present:
        point, label = rng.integers(0, d + 1, 2).tolist(), bool(rng.random() < 0.5)
    one = labels[1:] if present else np.append(labels, label)
    score = score_of(role, labels)
    step = ShadeQuestion(points, labels, lattice, score, ETA / score.k, others, 12)
    chosen = halfplanes[int(rng.integers(len(halfplanes)))]
    return ReportQuestion(step, chosen, tuple(point), label, present, score_of(role, one))


def enumerated(role: str, q: ReportQuestion) -> dict[Halfplane, float]:
    """ln P_with / P_without of every halfplane."""
    absent, labels = q.step.points, q.step.labels
    if q.present:
        absent, labels = absent[1:], labels[1:]
    with_points = np.concatenate([absent, [q.point]])
    with_labels = np.append(labels, q.label)
    laws = []
    for points, truth in ((with_points, with_labels), (absent, labels)):
        fixed = inside_piece(q.step.others, points)
        weights = {
            h: math.exp(ETA * utility(role, fixed & h.contains(points), truth))
            for h in all_halfplanes(q.step.lattice)
        }
        total = math.fsum(weights.values())
        laws.append({h: weight / total for h, weight in weights.items()})
    return {h: math.log(p / laws[1][h]) for h, p in laws[0].items()}


LATTICES = {"chord": HalfplaneLattice(3, bits=1), "paper": HalfplaneLattice(2, "paper", bits=0)}


@pytest.mark.parametrize("role", ["disjunction", "conjunction", "tile"])
@pytest.mark.parametrize("measure", ["chord", "paper"])
@pytest.mark.parametrize("seed", range(12))
def test_the_ratios_are_those_of_both_enumerated_laws(role: str, measure: str, seed: int) -> None:
    q = make_case(role, seed, LATTICES[measure], held=role == "disjunction" and seed % 2 == 0)
    expected = enumerated(role, q)
    assert max(map(abs, expected.values())) <= ETA + 1e-12
    exact, coarse = change(q), change(replace(q, step=replace(q.step, most_lines=0)))
    if not inside_piece(q.step.others, np.array([q.point]))[0]:
        nothing = Change((), 0.0, 0.0, 0.0, "outside")
        assert (exact, coarse) == (nothing, nothing)
        assert max(map(abs, expected.values())) < 1e-12
        return
    assert exact.why_none is None
    assert exact.error == 0
    assert exact.chosen == pytest.approx(expected[q.chosen], abs=1e-12)
    assert exact.largest == pytest.approx(max(map(abs, expected.values())), abs=1e-12)
    # all halfplanes of a cell hold the same examples, that in question included
    seen = replace(q.step, points=np.concatenate([q.step.points, [q.point]]), others=())
    by_signature = {
        (tuple(held.tolist())): ratio
        for held, ratio in ((h.contains(seen.points), r) for h, r in expected.items())
    }
    compared = 0
    for sheet in exact.sheets:
        for cell, ratio in zip(sheet.shaded.cells, sheet.log_ratios, strict=True):
            assert abs(ratio) <= ETA
            u, v = cell.outline.mean(axis=0)
            ratios = by_signature.get(signature(seen, sheet.shaded.sheet, u, v))
            if ratios is not None and not q.step.others:
                assert ratio == pytest.approx(ratios, abs=1e-12)
                compared += 1
    assert compared or q.step.others
    # by draws: the halfplanes' own part is exact, what is common to all within the error
    assert coarse.why_none is None
    off = coarse.chosen - expected[q.chosen]
    assert abs(off) <= 4 * coarse.error + 1e-12
    assert coarse.error < 0.05 * ETA
    known = 0
    for sheet in coarse.sheets:
        ratios = sheet.log_ratios[np.isfinite(sheet.log_ratios)]
        known += len(ratios)
        allowed = np.array(sorted(set(expected.values()))) + off
        assert np.abs(ratios[:, None] - allowed[None, :]).min(axis=1).max() < 1e-9
        assert np.abs(ratios).max() <= ETA
        assert np.abs(ratios).max() <= coarse.largest <= ETA
    assert known > 50


def test_each_pixel_has_the_ratio_of_its_own_halfplane() -> None:
    """On a fine lattice, by counts made one by one."""
    lattice = HalfplaneLattice(20)
    rng = np.random.default_rng(3)
    points = rng.integers(0, 21, (200, 2))
    labels = points.sum(axis=1) < 15
    one = np.append(labels, False)
    step = ShadeQuestion(
        points, labels, lattice, score_of("disjunction", labels), ETA / K, (), 9, most_lines=0
    )
    chosen = lattice.halfplane(Sheet.FLAT_BELOW, 8 << lattice.bits, 4 << lattice.bits)
    q = ReportQuestion(step, chosen, (6, 5), False, False, score_of("disjunction", one))
    answer = change(q)
    unit, seen = 1 << lattice.bits, set()
    with_points = np.concatenate([points, [q.point]])
    for sheet in answer.sheets:
        for i, j in np.ndindex(9, 9):
            u, v = ((round((-20 + (c + 0.5) / 9 * 60) * unit)) for c in (i, j))
            if lattice.admits(u, v):
                h = lattice.halfplane(Sheet(sheet.shaded.sheet), u, v)
                with_one = utility("disjunction", h.contains(with_points), one)
                move = ETA * (with_one - utility("disjunction", h.contains(points), labels))
                chosen_move = ETA * (
                    utility("disjunction", chosen.contains(with_points), one)
                    - utility("disjunction", chosen.contains(points), labels)
                )
                ratio = sheet.log_ratios[i, j]
                assert ratio - answer.chosen == pytest.approx(move - chosen_move, abs=1e-9)
                seen.add(round(move, 9))
            else:
                assert math.isnan(sheet.log_ratios[i, j])
    assert seen == {0.0, -ETA}


@pytest.mark.parametrize("learner", ["cover", "convex-cover"])
def test_a_run_asks_about_its_own_steps(learner: str) -> None:
    """The other score is what the step would have had; decided examples change nothing."""
    log, release = finished(learner, 60)
    eta = release.privacy.charges[-1].each
    asked = 0
    for record in log.records:
        piece = halfplanes_of(record.release.piece)
        before = shade_question(log, record.step)
        # two that may matter, if there are any: others lie beyond the triangle's other edges
        beside = [h.contains(before.points) for h in piece[1:]]
        order = np.argsort(~np.all([*beside, before.labels >= 0], axis=0), kind="stable")[:2]
        for point, label in zip(
            before.points[order].tolist(), before.labels[order].tolist(), strict=True
        ):
            q = report_question(log, record.step, 0, tuple(point), label, True)
            assert (q.chosen, q.why_none) == (piece[0], None)
            rest = np.ones(len(before.points), dtype=bool)
            rest[(before.points == point).all(axis=1).argmax()] = False
            twin = replace(
                q,
                step=replace(
                    q.step,
                    points=before.points[rest],
                    labels=before.labels[rest],
                    score=q.other_score,
                ),
                present=False,
                other_score=q.step.score,
            )
            answer, same = change(q), change(twin)
            assert (answer.chosen, answer.largest) == pytest.approx((same.chosen, same.largest))
            assert answer.largest <= eta
            asked += answer.why_none is None
    assert asked
    assert {report_question(log, 3, 0, p, True, False).why_none for p in corners(log.records)} == {
        "decided"
    }


def corners(records: tuple) -> list[tuple[int, int]]:  # type: ignore[type-arg]
    """Grid points that the first piece decides, inside a union or outside an intersection."""
    grid = np.array(list(itertools.product(range(GRID + 1), repeat=2)))
    piece = records[0].release.piece
    held = inside_piece(piece, grid)
    decided = grid[held] if len(piece) == 3 else grid[~held]
    assert len(decided)
    return [tuple(p) for p in decided[:3].tolist()]


def test_a_tile_is_changed_by_what_it_holds() -> None:
    seen = set()
    logs = finished("tiles", 220)[0], finished("tiles", 900)[0]
    # tiles of one colour, the first five of nine, heed no neighbours
    for log, record in ((each, record) for each in logs for record in each.records[:5]):
        step = record.release
        assert isinstance(step, TileStep)
        tile = step.tile
        for edge, label in itertools.product(range(len(step.piece)), (True, False)):
            q = report_question(log, record.step, edge, (tile.x0, tile.y1), label, False)
            own = (0, tile.y1 - tile.y0)
            assert (q.point, q.label, q.why_none) == (own, label == step.inside, None)
            assert q.other_score.c_pos == q.step.score.c_pos - q.label
            far = ((tile.x0 + GRID // 2 + 1) % (GRID + 1), tile.y0)
            away = report_question(log, record.step, edge, far, label, False)
            if not tile.holds(np.array([far]))[0]:
                assert change(away).why_none == "elsewhere"
                seen.add(step.inside)
    assert seen == {True, False}


def test_odds_are_told_of_choices_drawn_by_these_examples_alone() -> None:
    log, _ = finished("tiles", 220)
    alone = (len(log.records) + 1) // 2
    chosen = [record.step for record in log.records if record.release.halfplanes]
    told = {step: shade_question(log, step).rate > 0 for step in chosen}
    assert told == {step: step <= alone for step in chosen}
    assert set(told.values()) == {True, False}
    heeding = next(step for step in chosen if step > alone)
    with pytest.raises(ValueError, match="not drawn"):
        report_question(log, heeding, 0, (1, 1), True, False)
    # a part of the examples was kept from the learner, and nobody knows which
    for check in (None, 0.1):
        settings = RunSettings("cover", epsilon=2.0, k=2, n_steps=2, seed=2, check=check)
        log = logged(settings.with_(finish="none"), examples(220, seed=1))
        assert (shade_question(log, 1).rate > 0) == (check is None)
    # a greedy choice is not drawn, with few lines either
    greedy, _ = finished("greedy-cover", 60)
    question = shade_question(greedy, 1)
    assert all(math.isnan(cell.probability) for sheet in shade(question) for cell in sheet.cells)
    with pytest.raises(ValueError, match="not drawn"):
        report_question(greedy, 1, 0, (1, 1), True, False)
