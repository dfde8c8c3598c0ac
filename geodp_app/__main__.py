"""Starts the command `geodp`; `python -m geodp_app` is the same.

Importing the command takes half a second, in which Ctrl+C must end as it does later.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Iterable
from typing import Any, TextIO, cast


class _Forgiving:
    """Standard error that a reader may leave and a disk may refuse: no run ends for a word.

    Other programs' words go where ours do: nowhere, once a write has failed.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """As much as can be said."""
        try:
            return self._stream.write(text)
        except (OSError, ValueError):
            self._give_up()
            return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """One after the other."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """What is left to be said, if it can be."""
        try:
            self._stream.flush()
        except (OSError, ValueError):
            self._give_up()

    def _give_up(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _open_streams() -> None:
    """Give closed standard streams something to be: the next file opened would be taken for them.

    What is printed to a closed output fails when it is, and what is said on a closed standard error
    goes nowhere.
    """
    for number, name, mode in (
        (0, "stdin", os.O_RDONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY),
    ):  # fmt: skip
        try:
            os.fstat(number)
        except OSError:
            handle = os.open(os.devnull, mode)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
    sys.stderr = cast("TextIO", _Forgiving(sys.stderr))


def main() -> int:
    """Import the command and run it; the exit code."""
    _open_streams()
    heard = signal.getsignal(signal.SIGINT)
    # a KeyboardInterrupt amid imports would come out as a traceback, or as another error
    if heard is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    try:
        import geodp_app.own_packages  # noqa: F401  refuses others of their names
    except ImportError as error:
        return _say(str(error))
    try:
        from geodp_app.cli import load, main as command

        load(sys.argv[1:])
    except ImportError as error:
        from geodp_app.own_packages import overwritten

        if words := overwritten():
            return _say(f"{error}; {words}")
        raise
    signal.signal(signal.SIGINT, heard)
    return command()


def _say(message: str) -> int:
    """One line on standard error; the exit code of wrong input."""
    sys.stderr.write(f"geodp: {' '.join(message.split())}\n")
    return 2


def _leave(*_: object) -> None:
    """Nothing has begun, and nothing is to be put away."""
    os.write(2, b"geodp: cancelled; nothing was written\n")
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
