"""The app's own exceptions: each message is one line for the person at the keyboard."""

from __future__ import annotations


class InputError(Exception):
    """Wrong input: says what was wrong, where, and what to do.  Ends with exit code 2."""


class PictureError(Exception):
    """A picture could not be drawn; everything else still works."""
