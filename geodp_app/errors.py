"""Defines the app's own exceptions: each message is one line for the person at the keyboard."""

from __future__ import annotations

from geometry.errors import InputError as InputError, printable as printable


class PictureError(Exception):
    """A picture could not be drawn; everything else still works."""
