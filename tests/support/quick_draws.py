"""Thousands of draws of one envelope selection, without what is the same for all of them.

Laws are tested on many draws from one sample.  What a selection makes of the sample before it
draws a bit is then made once and copied, and bits come from a generator that is quicker than the
learners' own seeded one.  Strands run one after the other: which threads they run in decides
nothing, as test_envelope_selection.py states.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pytest

from geometry.columns import LineTables
from geometry.grid_counts import GridCounts
from learners.envelope import envelope_selection, piled_lines, race
from learners.envelope.pile_gains import find_piles
from learners.envelope.piled_lines import Sampler
from learners.envelope.strands import Examples


class QuickBits:
    """A seeded source of bits, as :class:`learners.privacy.randomness.SeededRandom` is one."""

    private = False

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._seeds = np.random.SeedSequence(seed) if isinstance(seed, int) else seed
        self._words = np.random.SFC64(self._seeds)

    def bytes(self, count: int) -> bytes:
        return self._words.random_raw(count // 8 + 1).tobytes()[:count]

    def spawn(self) -> Self:
        return QuickBits(self._seeds.spawn(1)[0])


class _Now:
    """What a pool of threads is asked for, done in the caller's thread."""

    def submit(self, work: Callable[..., None], *arguments: Any) -> Future[None]:
        done: Future[None] = Future()
        done.set_result(work(*arguments))
        return done


def _own(arrays: Any) -> Any:
    """The same arrays, copied where they may be written to."""
    return type(arrays)(
        *(a.copy() if isinstance(a, np.ndarray) and a.flags.writeable else a for a in arrays)
    )


def _own_tables(tables: LineTables) -> LineTables:
    """The same of line tables; what is beyond the lines in use was never written."""
    used = int(tables.used[0])
    own = _own(tables._replace(lines=None, below=None))
    parts = {}
    for name in ("lines", "below"):
        plain = getattr(tables, name)
        parts[name] = np.empty_like(plain)
        parts[name][:used] = plain[:used]
    return own._replace(**parts)


def _once(make: Callable[..., Any], key: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, that makes one thing only for each key of what it is given."""
    made: dict[Any, Any] = {}

    def once(*given: Any) -> Any:
        if (name := key(*given)) not in made:
            made[name] = make(*given)
        return made[name]

    return once


def _bytes(counts: GridCounts, *rest: Any) -> bytes:
    parts = counts.points, counts.labels, counts.amounts
    return b"".join(part.tobytes() for part in parts) + repr(rest).encode()


def _key(_: Any, target: Any, examples: Examples, boxes: Any, __: Any, *rest: Any) -> bytes:
    """Strands differ in their boxes, in what they aim at and what they expect."""
    return repr((target, rest)).encode() + examples.totals[0].tobytes() + boxes.tobytes()


@contextmanager
def one_sample() -> Iterator[None]:
    """Selections of one sample, score and rate: strands are started once, then copied."""
    started = _once(envelope_selection.start_strand, _key)
    begun = _once(piled_lines.begin_sampler, lambda *given: repr(given[4:]))

    def start(lattice: Any, target: Any, examples: Any, boxes: Any, source: Any, *rest: Any) -> Any:
        one = started(lattice, target, examples, boxes, QuickBits(0), *rest)
        return replace(
            one,
            tables=_own_tables(one.tables),
            pairs=one.pairs and one.pairs._replace(tables=_own_tables(one.pairs.tables)),
            partition=_own(one.partition),
            source=source.spawn(),
            theta=one.theta.copy(),
        )

    def begin(*given: Any) -> Sampler:
        one = begun(*given)
        return _own(one)._replace(every=_own_tables(one.every), left=_own_tables(one.left))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(envelope_selection, "find_piles", _once(find_piles, _bytes))
        patch.setattr(piled_lines, "begin_sampler", begin)
        patch.setattr(envelope_selection, "start_strand", start)
        patch.setattr(Examples, "of", _once(Examples.of, _bytes))
        patch.setattr(race, "_POOL", _Now())
        # one after the other they cannot wait for each other
        patch.setattr(race, "_AHEAD", 1 << 62)
        # and nobody looks at the boxes of draws ahead
        patch.setattr(race, "_FINAL_BOXES", 0)
        yield
