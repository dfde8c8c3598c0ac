"""Inner functions of compiled loops, compiled so that tests can call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as loops run it; called as it stands, an inner function runs as Python."""
    dispatcher: Callable[..., Any] = njit(cache=True, nogil=True, error_model="numpy")(function)
    return dispatcher
