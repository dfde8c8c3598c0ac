"""Tells a person at a terminal how far a run is, and before it what to know of it: that its budget
protects hardly anybody, that it takes long; and private facts, which never go to a pipe.

Under add/remove the number of examples is private, and standard error may end in a log.  So what is
said of budgets there is made from epsilon, delta and n where it is public, or from a release.

Also that loops are being compiled: some 15 seconds, once on a machine.  Numba compiles a loop
at its first call and keeps it; a loop that is in its cache is no news.  Which loops a run calls
depends on its examples, and what is in the cache on those of earlier runs, so that is for a
terminal, too.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from learners.core.releases import Release


def tell(line: str, *, quiet: bool) -> None:
    """Say something on standard error, unless nothing is to be said."""
    if not quiet:
        sys.stderr.write(f"{line}\n")


def tell_curator(line: str, *, quiet: bool) -> None:
    """Say something private on standard error: only to a terminal, where it is read and gone.

    A pipe may end in a log that others read.
    """
    tell(line, quiet=not hears_curator(quiet=quiet))


def hears_curator(*, quiet: bool) -> bool:
    """Whether anybody reads what :func:`tell_curator` says."""
    return not quiet and sys.stderr.isatty()


#: So many draws, one after the other, take minutes however few examples there are.
_MANY = 1_000


def long_run(parameters: Mapping[str, Any]) -> str:
    """What to know of a run that takes long, in one line, by public numbers; empty of others.

    Parameters
    ----------
    parameters : mapping
        Of the learner, by name.
    """
    tiles, k, steps, alpha = (parameters.get(name) for name in ("tiles", "k", "n_steps", "alpha"))
    if isinstance(tiles, int):
        draws, what = tiles**2, f"{tiles} tiles a side are {tiles**2:,} tiles, learned"
    elif isinstance(k, int):
        from learners.cover.set_cover import step_count  # of no run by tiles

        finish = parameters.get("finish")
        # three edges of each triangle are drawn again, but of one alone none
        each = 4 if finish == "sharpen" and k > 1 else 1
        draws = each * step_count(steps, k, alpha, triangles=finish is not None)
        what = f"k = {k} and its number of steps ask for about {draws:,} draws,"
    else:
        return ""
    return "" if draws < _MANY else f"{what} one after the other: minutes, however few the examples"


def tell_long_run(parameters: Mapping[str, Any], *, quiet: bool) -> None:
    """Write that line, if there is one, to stderr."""
    if text := long_run(parameters):
        tell(f"geodp: {text}", quiet=quiet)


def warn_of_budget(
    epsilon: float,
    delta: float,
    *,
    used: bool = True,
    n: int | None = None,
    release: Release | None = None,
    quiet: bool = False,
) -> None:
    """Write the warning, if there is one, to stderr.

    With a release only what its noisy counts tell beyond epsilon and delta is written: the rest
    has been, before the run.
    """
    from learners.privacy.accounting import budget_warning

    text = budget_warning(epsilon, delta, used=used, n=n)
    if release is not None:
        # about the number of examples of one label, never many more than n
        counts: tuple[int, ...] = getattr(release, "thresholds", ()) or ()
        text = "" if text or not counts else budget_warning(epsilon, delta, used=used, n=counts[0])
    if text:
        tell(f"geodp: warning: {text}", quiet=quiet)


class ProgressBar:
    """Draws ``[#####.....] text`` on a stream that is a terminal, at most every 0.1 s.

    With `lines` it writes ``progress 0.500 text`` instead, a line each time and on any stream, for
    a program that reads them: then nothing private may be in the text.
    """

    WIDTH = 24

    def __init__(
        self, *, quiet: bool = False, stream: TextIO | None = None, lines: bool = False
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        #: Whether lines are written, for a program that may keep them.
        self.for_programs = lines and not quiet
        self._on = not quiet and not lines and self._stream.isatty()
        #: Whether anybody sees it.
        self.seen = self._on or self.for_programs
        self._started = time.monotonic()
        self._drawn = -1.0
        self._length = 0
        self._said = ""

    def update(self, done: float, text: str) -> None:
        """Show a fraction done, in 0..1, and a short text."""
        now = time.monotonic()
        if not self.seen or now - self._drawn < 0.1:
            return
        self._drawn = now
        done = min(max(done, 0.0), 1.0)
        if self.for_programs:
            line = f"progress {done:.3f} {text}\n"
            if line != self._said:
                self._stream.write(line)
                self._stream.flush()
                self._said = line
            return
        filled = round(self.WIDTH * done)
        bar = "#" * filled + "." * (self.WIDTH - filled)
        line = f"[{bar}] {text}, {now - self._started:.0f} s"
        line = line[: max(20, shutil.get_terminal_size().columns - 1)]
        self._stream.write("\r" + line.ljust(self._length))
        self._stream.flush()
        self._length = len(line)

    def line(self, text: str) -> None:
        """Say something that stays above the bar, on a terminal alone."""
        if self._on:
            self.clear()
            self._stream.write(f"{text}\n")
            self._stream.flush()

    def clear(self) -> None:
        """Take the bar off the terminal."""
        if self._on and self._length:
            self._stream.write("\r" + " " * self._length + "\r")
            self._stream.flush()
            self._length = 0

    def __enter__(self) -> ProgressBar:
        """The bar itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Clear the bar, whatever happened."""
        self.clear()


COMPILING = "geodp: compiling the learner's loops, once on this machine: some 15 seconds"

#: When a run ends before the second process.
COMPILING_ON = "geodp: compiling other learners' loops in the background, for some 15 seconds"


@contextmanager
def telling_of_compiling(bar: ProgressBar) -> Iterator[None]:
    """Say so when the first loop is not in the cache, and on a terminal how many are done.

    A second process helps (:mod:`learners.envelope.compiled_beside`).
    """
    # it brings the compiler along, which every verb that comes here needs
    from learners.envelope.compiled_beside import compiling_beside

    def told(done: int, of: int) -> None:
        if not done:
            bar.line(COMPILING)
        if not bar.for_programs:
            all_of = f" of {of}" if of else ""
            bar.update(done / of if of else 0.0, f"compiling, {done}{all_of} loops done")

    with compiling_beside("geodp_app.runs.warm_up", told) as goes_on:
        yield
    if goes_on():
        bar.line(COMPILING_ON)
