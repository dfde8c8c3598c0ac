"""Defines the app's own exceptions: each message is one line for the person at the keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from geometry.errors import InputError as InputError, printable as printable


class PictureError(Exception):
    """A picture could not be drawn; everything else still works."""


@contextmanager
def refusals(name: object = "", kind: type[Exception] = ValueError) -> Iterator[None]:
    """What is refused meanwhile by an error of that kind becomes an :class:`InputError`, which
    names what it is about."""
    try:
        yield
    except kind as error:
        raise InputError(f"{name}: {error}" if name else str(error)) from None
