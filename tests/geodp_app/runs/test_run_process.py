"""The learner's server, in a thread here, and the link to it: who lets go of that."""

import itertools
import multiprocessing
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from jobs import GRID, job
from patience import HANGS
from recorded_runs import hopeless

from geodp_app.runs import learner_process, process_link
from geodp_app.runs.learner_process import MOST_BOXES, LearnerServer, make_learner
from geodp_app.runs.process_link import ProcessLink
from geodp_app.runs.protocol import (
    Answered,
    Ask,
    Cancel,
    Failed,
    Finished,
    Next,
    Prepare,
    Prepared,
    Preparing,
    Progressed,
    Queried,
    Query,
    Refine,
    Reply,
    ReportQuestion,
    Request,
    ShadeQuestion,
    ShareQuestion,
    Start,
    Started,
    Stepped,
    Stopped,
)
from geometry.halfplane import HalfplaneLattice, Sheet
from learners.core.records import GreedyDiagnostics, StepDiagnostics, StepRecord
from learners.core.selection import set_cover_score


class Client:
    """The window's end of the pipe."""

    def __init__(self) -> None:
        self.pipe, self.far = multiprocessing.Pipe()
        self.thread = threading.Thread(target=LearnerServer(self.far).serve, daemon=True)

    def send(self, *requests: Request) -> None:
        for request in requests:
            process_link.send(self.pipe, request)

    def receive(self) -> Reply:
        assert self.pipe.poll(HANGS), "no reply"
        reply: Reply = process_link.receive(self.pipe)
        return reply

    def until(self, kind: type) -> Reply:
        """The next reply that says more than "at work"; it must be of that kind."""
        while isinstance(reply := self.receive(), Progressed | Preparing):
            pass
        assert isinstance(reply, kind), reply
        return reply


@pytest.fixture
def client() -> Iterator[Client]:
    one = Client()
    one.thread.start()
    yield one
    one.pipe.close()
    one.thread.join(HANGS)
    assert not one.thread.is_alive()
    one.far.close()


@pytest.mark.parametrize("learner", ["tiles", "cover", "greedy-convex"])
def test_a_run_by_steps_is_the_learners_own_run(client: Client, learner: str) -> None:
    work = job(learner)
    client.send(Start(7, work))
    started = client.receive()
    assert isinstance(started, Started)
    assert started.run == 7
    records: list[StepRecord] = []
    while not records or records[-1].step < records[-1].steps:
        client.send(Next(7))
        reply = client.until(Stepped)
        assert reply.run == 7
        records.append(reply.record)
    last = client.receive()
    assert isinstance(last, Finished)
    model = make_learner(work.settings, GRID)
    expected = list(model.steps(work.points, work.labels))
    assert [r.release for r in records] == [r.release for r in expected]
    assert last.release == model.release_
    # what it spends was said before the first step
    assert started.plan == last.release.privacy == model.plan()
    # no class that would bring compiled loops into the window's process
    kind = GreedyDiagnostics if learner.startswith("greedy") else StepDiagnostics
    assert {type(record.diagnostics) for record in records} == {kind}
    if learner.startswith("greedy"):
        assert [r.diagnostics.gap for r in records] == [r.diagnostics.gap for r in expected]
    client.send(Next(7))
    assert "over" in client.until(Failed).message  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", [4, None])
def test_a_run_that_was_prepared_for_is_the_run_that_is_started(client, seed):
    """With a seed it is the same run, and without one its boxes are there when it begins."""
    work = job(seed=seed, finish="none")
    client.send(Refine(work), Start(7, None), Next(7))
    assert client.until(Started).run == 7  # type: ignore[union-attr]
    first = client.until(Stepped).record  # type: ignore[union-attr]
    if seed is not None:
        model = make_learner(work.settings, GRID)
        assert first.release == next(model.steps(work.points, work.labels)).release
    # one that is prepared for is no run: there is none now
    client.send(Refine(work), Next(7), Next(7), Next(7))
    for _ in range(2):
        client.until(Stepped)
    client.until(Finished)
    client.until(Failed)
    client.send(Start(8, work), Next(8))
    assert client.until(Started).run == 8  # type: ignore[union-attr]
    client.until(Stepped)


def test_preparing_gives_way_and_what_is_wrong_is_told_when_a_run_starts(client: Client) -> None:
    slow, work = hopeless(), job()
    slow = replace(slow, settings=slow.settings.with_(seed=None))
    wrong = replace(work, settings=work.settings.with_(epsilon=-1.0))
    client.send(Refine(slow), Start(1, work), Next(1))
    client.until(Started)
    client.until(Stepped)
    client.send(Refine(wrong), Start(2, None))
    assert client.until(Failed) == Failed(2, "epsilon must be a number and be above 0, not -1.0")
    client.send(Refine(slow), Start(3, None), Next(3), Cancel(3))
    client.until(Started)
    client.until(Stopped)


def test_a_run_at_once_makes_all_steps_unasked_and_the_same_ones(client: Client) -> None:
    asked = job("tiles", tiles=3)
    client.send(Start(1, asked), Next(1), *[Next(1)] * 8)
    client.until(Started)
    single = [client.until(Stepped) for _ in range(9)]
    client.until(Finished)
    client.send(Start(2, replace(asked, at_once=True)))
    client.until(Started)
    whole = [client.until(Stepped) for _ in range(9)]
    client.until(Finished)
    for one, other in zip(single, whole, strict=True):
        assert other.record.release == one.record.release
        assert other.views == ()  # nothing of the sampler's boxes


def test_a_run_at_once_can_be_cancelled_between_its_steps(client: Client) -> None:
    client.send(Start(1, replace(job("tiles", n=20_000, tiles=12), at_once=True)))
    client.until(Started)
    client.until(Stepped)
    client.send(Cancel(1))
    steps = 1
    while isinstance(reply := client.receive(), Stepped):
        steps += 1
    assert isinstance(reply, Stopped)
    assert steps < 144
    client.send(Next(1))
    client.until(Failed)  # it is over


def test_boxes_come_in_units_of_the_lattice_with_every_step(client: Client) -> None:
    unit = 1 << HalfplaneLattice(GRID).bits
    client.send(Start(1, job()), Next(1))
    client.until(Started)
    stepped = client.until(Stepped)
    views = stepped.views
    assert 0 < len(views) <= MOST_BOXES
    assert 0 < sum(view.share for view in views) <= 1 + 1e-9
    for view in views:
        assert len(view.sheets) == len(view.rectangles) == 3
        for u0, u1, v0, v1 in view.rectangles:
            assert -GRID <= u0 / unit < u1 / unit <= 2 * GRID + 1
            assert -GRID <= v0 / unit < v1 / unit <= 2 * GRID + 1


def test_progress_is_told_at_most_every_tenth_of_a_second(client: Client) -> None:
    client.send(Start(1, hopeless()), Next(1))
    client.until(Started)
    outcome = [client.receive() for _ in range(4)]
    assert all(isinstance(reply, Progressed) and reply.step == 1 for reply in outcome)
    seconds = [reply.seconds for reply in outcome]  # type: ignore[union-attr]
    assert all(late - early >= 0.099 for early, late in itertools.pairwise(seconds))
    boxes = [reply.done.boxes for reply in outcome]  # type: ignore[union-attr]
    assert boxes == sorted(boxes)
    assert all(0 < len(reply.views) <= MOST_BOXES for reply in outcome)  # type: ignore[union-attr]
    for reply in outcome:
        assert isinstance(reply, Progressed)
        assert [sheet for sheet, _ in reply.density] == [0, 1, 2, 3]
        held = sum(float(one.sum()) for _, one in reply.density)
        assert held == pytest.approx(3, rel=1e-4)  # the edges of a triangle
    client.send(Cancel(1))
    client.until(Stopped)


def test_a_cancelled_selection_releases_nothing_and_ends_the_run(client: Client) -> None:
    client.send(Start(1, hopeless()), Next(1))
    client.until(Started)
    assert isinstance(client.receive(), Progressed)
    client.send(Cancel(1), Next(1))
    assert client.until(Stopped) == Stopped(1)
    assert "over" in client.until(Failed).message  # type: ignore[union-attr]
    # and the process goes on
    client.send(Start(2, job()), Next(2))
    client.until(Started)
    client.until(Stepped)


def test_requests_that_come_during_a_selection_wait_their_turn(client: Client) -> None:
    client.send(Start(1, hopeless()), Next(1))
    client.until(Started)
    assert isinstance(client.receive(), Progressed)
    client.send(Prepare(), Cancel(1), Start(2, job()))
    assert client.until(Stopped) == Stopped(1)
    assert isinstance(client.until(Prepared), Prepared)
    assert client.until(Started).run == 2  # type: ignore[union-attr]


def test_values_come_out_of_the_pipe_as_they_went_in() -> None:
    """Large and small arrays, of any layout; and they may be written to."""
    near, far = multiprocessing.Pipe()
    large = np.arange(10**5).reshape(-1, 2)
    value = {"large": large, "same": large, "turned": large.T, "small": np.ones(3), "every": 1}
    value |= {"second": large[::2], "none": np.empty((0, 2))}
    sender = threading.Thread(target=process_link.send, args=(near, value))
    sender.start()
    got = process_link.receive(far)
    sender.join(HANGS)
    assert list(got) == list(value)
    assert all(np.array_equal(got[name], value[name]) for name in value)
    assert got["same"] is got["large"]
    got["large"][0, 0] = 7
    assert not far.poll()
    near.close()
    with pytest.raises(EOFError):
        process_link.receive(far)


def test_a_closed_pipe_ends_the_server_even_inside_a_selection(client: Client) -> None:
    client.send(Start(1, hopeless()), Next(1))
    client.until(Started)
    assert isinstance(client.receive(), Progressed)
    client.pipe.close()
    client.thread.join(HANGS)
    assert not client.thread.is_alive()


def test_wrong_settings_and_examples_are_told_in_one_line(client: Client) -> None:
    work = job()
    off = replace(work, points=work.points + GRID)
    client.send(Start(1, replace(work, settings=work.settings.with_(epsilon=-1.0))))
    assert client.receive() == Failed(1, "epsilon must be a number and be above 0, not -1.0")
    client.send(Start(2, off))
    outcome = client.receive()
    assert isinstance(outcome, Failed)
    assert "is off the grid 0..64" in outcome.message
    client.send(Next(2), Start(3, work))
    client.until(Failed)
    assert client.until(Started).run == 3  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (MemoryError(), "out of memory"),
        (RuntimeError("two\nlines"), "internal error, nothing was released: RuntimeError: two"),
    ],
)
def test_errors_inside_a_step_end_the_run_and_not_the_process(client, monkeypatch, error, text):
    class Broken:
        def plan(self) -> None:
            pass

        def steps(self, *_: object, **__: object) -> Iterator[StepRecord]:
            raise error
            yield

    client.send(Start(1, job()))
    client.until(Started)
    monkeypatch.setattr(learner_process, "make_learner", lambda *_: Broken())
    client.send(Start(2, job()), Next(2))
    client.until(Started)
    failed = client.receive()
    assert isinstance(failed, Failed)
    assert failed.run == 2
    assert failed.message.startswith(text)
    assert "\n" not in failed.message
    monkeypatch.undo()
    client.send(Next(2), Start(3, job()), Next(3))
    client.until(Failed)
    client.until(Started)
    client.until(Stepped)


def test_a_run_by_votes_answers_for_points_after_its_end_and_no_other_run_does(client):
    votes = job("stability", epsilon=8.0, k=1, halts=2, kept=1)
    points = np.array([[30, 30], [60, 60]])
    client.send(Query(1, points), Start(1, votes), Query(1, points), Next(1), Query(2, points))
    early = client.until(Queried)
    client.until(Started)
    during = client.until(Queried)
    client.until(Stepped)
    client.until(Finished)
    other = client.until(Queried)
    for reply in (early, during, other):
        assert reply.records == ()
        assert reply.refused == "the chunks of this run are gone: a new run trains others"
    client.send(Query(1, points), Query(1, np.array([[65, 0]])))
    reply = client.until(Queried)
    learner = make_learner(votes.settings, GRID)
    learner.fit(votes.points, votes.labels)
    assert reply == Queried(1, reply.points, learner.ask(points))
    np.testing.assert_array_equal(reply.points, points)
    assert "off the grid 0..64" in client.until(Queried).refused
    # a new run lets go of the chunks
    client.send(Start(2, job()), Query(1, points))
    client.until(Started)
    assert client.until(Queried).refused


def test_a_question_is_answered_and_gives_way_to_other_requests(client: Client) -> None:
    work = job()
    score = set_cover_score("conjunction", 2, 5, int(work.labels.sum()), int((~work.labels).sum()))
    question = ShadeQuestion(
        work.points, work.labels, HalfplaneLattice(GRID), score, 0.1, (), most_lines=0
    )
    client.send(Start(1, work), Ask(1, question, 11))
    client.until(Started)
    shaded = client.until(Answered)
    assert (shaded.run, shaded.tag, len(shaded.answer)) == (1, 11, 4)
    chosen = HalfplaneLattice(GRID).halfplane(Sheet.FLAT_ABOVE, 0, 0)
    report = ReportQuestion(question, chosen, (3, 4), True, False, score)
    client.send(Ask(1, report, 13))
    outcome = client.until(Answered)
    assert (outcome.run, outcome.tag, len(outcome.answer.sheets)) == (1, 13, 4)
    client.send(Ask(1, ShareQuestion(replace(question, others=()), (chosen,)), 14))
    shared = client.until(Answered)
    assert (shared.run, shared.tag) == (1, 14)
    (share,) = shared.answer
    assert 0 <= share.low <= share.share <= share.high <= 1
    second = Client()
    second.send(Start(1, work), Ask(1, question, 12), Next(1))
    second.thread.start()
    second.until(Started)
    # Next was in the pipe before the question was looked at
    assert second.receive() == Answered(1, 12, None)
    second.until(Stepped)
    second.pipe.close()
    second.thread.join(HANGS)


_LOADED = """
import sys
import numpy as np
from numba.core.dispatcher import Dispatcher
from geodp_app.document.work import RunSettings
from geodp_app.runs.learner_process import make_learner
from geodp_app.runs.score_raster import PieceCounter
from geodp_app.runs.warm_up import warm_up
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice, Sheet

def loaded():
    return {
        (module.__name__, name, str(signature))
        for module in list(sys.modules.values())
        if module.__name__.split(".")[0] in ("geometry", "learners", "geodp_app")
        for name, value in vars(module).items()
        if isinstance(value, Dispatcher)
        for signature in value.signatures
    }

told = []
warm_up(lambda: told.append(1))
warm = loaded()
assert len(warm) >= 8, warm
rng = np.random.default_rng(0)
points = rng.integers(0, 129, (300, 2))
labels = points.sum(axis=1) < 128
for learner in ("tiles", "cover", "convex-cover", "greedy-cover", "greedy-convex"):
    model = make_learner(RunSettings(learner, k=1, n_steps=2, seed=1, tiles=2), 128)
    for record in model.steps(points, labels):
        pass
more = rng.integers(0, 129, (8000, 2))
for record in make_learner(RunSettings("tiles", seed=1), 128).steps(more, more[:, 0] < 50):
    pass
lattice = HalfplaneLattice(128)
other = lattice.halfplane(Sheet.FLAT_ABOVE, 0, 0)
counter = PieceCounter(GridCounts.of_examples(points, labels, 128), lattice, (other, other))
counter.count(Sheet.FLAT_BELOW, np.arange(20), np.arange(20), lambda: None)
assert loaded() == warm, loaded() - warm
"""


def test_after_warming_up_a_real_run_loads_and_compiles_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_preparing_is_told_once_when_a_loop_is_not_cached(client, monkeypatch, tmp_path):
    client.send(Prepare())
    # loops that are loaded already, or in the cache
    while isinstance(client.receive(), Preparing):
        pass
    from geodp_app.runs import warm_up
    from geometry.compiled_loops import njit

    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))

    @njit(cache=True)
    def fresh(x):  # type: ignore[no-untyped-def]
        return x + 1

    monkeypatch.setattr(warm_up.PieceCounter, "count", lambda *_: (fresh(1), fresh(1.0)))
    client.send(Prepare())
    assert client.receive() == Preparing()
    assert client.receive() == Prepared()


# -- who lets go of a link -------------------------------------------------------------------------


def make_link(outcome: list[str]) -> ProcessLink:
    """A link to a process that ends at once; `told`: in which thread it is let go of."""
    link = ProcessLink(lambda *_: None, id)  # `id` takes one argument, as an entry does
    weakref.finalize(link, lambda: outcome.append(threading.current_thread().name))
    return link


def wait_for(link: weakref.ref[ProcessLink]) -> None:
    """Until its threads have ended."""
    end = time.monotonic() + HANGS
    while not ((one := link()) is None or one.ended):
        assert time.monotonic() < end
        del one
        time.sleep(0.01)


def test_a_links_own_threads_never_let_go_of_it() -> None:
    """What its owner connected to it would be cleared there, under Qt's locks."""
    outcome: list[str] = []
    first = weakref.ref(make_link(outcome))
    wait_for(first)
    assert outcome == []
    # by who makes the next one, then
    second = make_link(outcome)
    assert first() is None
    assert outcome == [threading.current_thread().name]
    wait_for(weakref.ref(second))
    third = weakref.ref(make_link([]))
    assert len(outcome) == 1
    del second
    assert outcome == 2 * [threading.current_thread().name]
    wait_for(third)
