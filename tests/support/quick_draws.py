"""Thousands of draws of one envelope selection, without what is the same for all of them.

Laws are tested on many draws from one sample.  What a selection makes of the sample before it
draws a bit is then made once and copied, and bits come from a generator that is quicker than the
learners' own seeded one.  Strands run one after the other: which threads they run in decides
nothing, as test_envelope_selection.py states.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pytest

from geometry.columns import LineTables
from geometry.grid_counts import GridCounts
from learners.envelope import envelope_selection, piled_lines, race
from learners.envelope.piled_lines import Sampler
from learners.envelope.strands import Examples, Strand


class QuickBits:
    """A seeded source of bits, as :class:`learners.privacy.randomness.SeededRandom` is one."""

    private = False

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._seeds = np.random.SeedSequence(seed) if isinstance(seed, int) else seed
        self._generator = np.random.Generator(np.random.SFC64(self._seeds))

    def bytes(self, count: int) -> bytes:
        return self._generator.bytes(count)

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


@contextmanager
def one_sample() -> Iterator[None]:
    """Selections of one sample, score and rate: strands are started once, then copied."""
    plain_start, plain_of = envelope_selection.start_strand, Examples.of
    started: dict[bytes, Strand] = {}
    read: dict[bytes, Examples] = {}

    def start(lattice: Any, target: Any, examples: Any, boxes: Any, source: Any, *rest: Any) -> Any:
        # strands differ in their boxes, in what they aim at and what they expect
        key = repr((target, rest)).encode() + examples.totals[0].tobytes() + boxes.tobytes()
        if key not in started:
            started[key] = plain_start(lattice, target, examples, boxes, QuickBits(0), *rest)
        one = started[key]
        return replace(
            one,
            tables=_own_tables(one.tables),
            pairs=one.pairs and one.pairs._replace(tables=_own_tables(one.pairs.tables)),
            partition=_own(one.partition),
            source=source.spawn(),
            theta=one.theta.copy(),
        )

    def of(counts: GridCounts, in_pairs: bool = False, eta: float | None = None) -> Examples:
        key = b"".join(part.tobytes() for part in (counts.points, counts.labels, counts.amounts))
        key += repr((in_pairs, eta)).encode()
        if key not in read:
            read[key] = plain_of(counts, in_pairs, eta)
        return read[key]

    plain_begin = piled_lines.begin_sampler
    begun: dict[str, Sampler] = {}

    def begin(lattice: Any, piles: Any, left: Any, counts: Any, *rest: Any) -> Sampler:
        key = repr(rest)
        if key not in begun:
            begun[key] = plain_begin(lattice, piles, left, counts, *rest)
        return deepcopy(begun[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(piled_lines, "begin_sampler", begin)
        patch.setattr(envelope_selection, "start_strand", start)
        patch.setattr(Examples, "of", of)
        patch.setattr(race, "_POOL", _Now())
        # one after the other they cannot wait for each other
        patch.setattr(race, "_AHEAD", 1 << 62)
        yield
