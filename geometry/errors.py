"""Defines the error of wrong input: each message is one line for the person at the keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def printable(text: str) -> str:
    """A text as one line: what a terminal would obey, or not show, becomes a mark or a space.

    Messages quote files, and a file may hold anything.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text)


def one_line(text: str, most: int = 40) -> str:
    """A text without line ends, for a message: at most so many characters."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 3] + "..."


class InputError(Exception):
    """Wrong input: says what was wrong, where, and what to do.  Ends with exit code 2.

    `typed` goes on after the message for who types options: the window shows none.
    """

    def __init__(self, message: str, typed: str = "") -> None:
        super().__init__(printable(message))
        self.typed = printable(typed)


@contextmanager
def file_errors(name: object) -> Iterator[None]:
    """A file that cannot be read meanwhile is told as an :class:`InputError`."""
    try:
        yield
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{name}: cannot be read: {reason}") from None


@contextmanager
def refusals(
    name: object = "",
    kind: type[Exception] | tuple[type[Exception], ...] = ValueError,
    told: type[Exception] = InputError,
) -> Iterator[None]:
    """What is refused meanwhile by an error of that kind is told as an :class:`InputError`, or
    another, which names what it is about."""
    try:
        yield
    except kind as error:
        raise told(f"{name}: {error}" if name else str(error)) from None
