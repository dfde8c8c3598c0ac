"""Strands side by side: what they do depends on counted work, not on which of them is quicker."""

import random
import threading
import time
from typing import Any

import pytest
from envelope_laws import random_examples, score_of

from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice
from learners.core.selection import Cancelled, SelectionProgress, Watch
from learners.envelope import race, strands
from learners.envelope.envelope_selection import EnvelopeSelection
from learners.privacy.randomness import SeededRandom

#: Work of a slice: so little that a draw takes many turns, and strands are divided in it.
WORK = 100


def drawn(
    monkeypatch: pytest.MonkeyPatch, advance: Any, seed: int, watch: Watch | None = None
) -> Any:
    """A draw whose strands do each slice of work by `advance`, and what they had done then."""
    monkeypatch.setattr(race, "_WORTH_TWO", 2)
    monkeypatch.setattr(strands, "_WORK_PER_CALL", WORK)
    monkeypatch.setattr(strands.Strand, "advance", advance)
    points, labels = random_examples(64, 400, seed=5)
    selection = EnvelopeSelection(HalfplaneLattice(64), "triangle", table_bytes=1 << 18)
    counts = GridCounts.of_examples(points, labels, 64)
    selected = selection.select(
        counts, score_of("disjunction", 2, labels, 60), 1.0, SeededRandom(seed), watch
    )
    progress = selected.progress
    return selected.piece, progress.trials, progress.boxes, progress.log_mass, selected.details


@pytest.mark.parametrize("seed", range(4))
def test_a_seed_means_one_run_however_slow_each_strand_is(seed, monkeypatch):
    plain = strands.Strand.advance
    slices: list[strands.Strand] = []
    seen: dict[int, int] = {}

    def advance(strand: strands.Strand, horizon: float) -> None:
        # for some slices those are late that were first to run, then the others
        seen.setdefault(id(strand), len(seen))
        late = (len(slices) // 30 + seen[id(strand)]) % 2
        time.sleep(0.001 * late * random.random())
        slices.append(strand)
        plain(strand, horizon)

    first = drawn(monkeypatch, plain, seed)
    found = [drawn(monkeypatch, advance, seed) for _ in range(3)]
    assert found == [first] * 3
    assert len(slices) > 3 * 12


def test_no_strand_is_far_ahead_of_another_in_a_turn() -> None:
    class Slow:
        accepted, mass = None, 1.0

        def __init__(self, pause: float, last: int) -> None:
            self.pause, self.last, self.slices, self.clock = pause, last, 0, 0.0

        def advance(self, horizon: float) -> None:
            ahead.append(self.slices - other[self].slices)
            time.sleep(self.pause)
            self.slices += 1
            if self.slices == self.last:
                self.clock = horizon + 1

    for first, last in ((30, 5), (5, 30), (30, 30)):
        ahead: list[int] = []
        pair = Slow(0.0, first), Slow(0.004, last)
        other = {pair[0]: pair[1], pair[1]: pair[0]}
        turn: Any = race._Turn(pair, 1.0, 12)  # type: ignore[arg-type]
        waiting = race._POOL.submit(turn.run, 1)
        turn.run(0)
        waiting.result()
        assert max(ahead) <= race._AHEAD
        end = min(first, last)
        expected = [min(one.last, end + race._AHEAD, 12) for one in pair]
        assert [one.slices for one in pair] == expected


def test_a_strand_that_fails_does_not_leave_the_other_waiting(monkeypatch):
    plain = strands.Strand.advance
    asked = []

    def advance(strand: strands.Strand, horizon: float) -> None:
        asked.append(strand)
        if len(set(map(id, asked))) > 1 and strand is not asked[0]:
            raise MemoryError("no room")
        plain(strand, horizon)

    with pytest.raises(MemoryError, match="no room"):
        drawn(monkeypatch, advance, 1)


@pytest.mark.parametrize("last", [1, 40])
def test_a_cancel_is_heard_after_every_slice_and_ends_both_strands(last, monkeypatch):
    plain = strands.Strand.advance
    slices: list[int] = []
    outcome: list[int] = []

    def advance(strand: strands.Strand, horizon: float) -> None:
        plain(strand, horizon)
        slices.append(threading.get_ident())

    def watch(progress: SelectionProgress) -> None:
        own = slices.count(threading.get_ident())
        if not progress.amid:
            assert progress.heaviest is not None
            return
        assert progress.heaviest is None
        assert progress.density is None
        outcome.append(own)
        if len(outcome) == last:
            raise Cancelled

    with pytest.raises(Cancelled):
        drawn(monkeypatch, advance, 1, watch)
    # after the first turn, whose progress there is nothing to tell of yet, every slice is told
    assert outcome == list(range(outcome[0], outcome[0] + last))
    assert len(set(slices)) == 2
    done = len(slices)
    time.sleep(0.02)
    assert len(slices) == done
