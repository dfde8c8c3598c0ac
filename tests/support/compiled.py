"""Inner functions of compiled loops, compiled so that tests can call them."""

from collections.abc import Callable
from typing import Any

from numba import njit

from learners.envelope import factorised_boxes

#: Functions that :func:`geometry.compiled_loops.cached_inner` decorates.
CACHED = (factorised_boxes.factorise, factorised_boxes.factor_trial, factorised_boxes.split_factors)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as loops run it; called as it stands, an inner function runs as Python.

    One that has a place of its own in the cache would be taken from there, where it has no wrapper
    for calls from Python, and crash: call it from a compiled function instead.
    """
    if function in CACHED:
        raise TypeError(f"{function.__name__} is cached without a wrapper for Python")
    dispatcher: Callable[..., Any] = njit(cache=True, nogil=True, error_model="numpy")(function)
    return dispatcher
