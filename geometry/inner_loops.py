"""Functions that only compiled loops call.

Numba gives each function that it compiles a wrapper for calls from Python, machine code of its
own and a place in its cache.  A function that is only ever part of other loops needs none of
them, and from an empty cache they are a good part of the time.  Called from Python such a function
runs as Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit, types
from numba.core.typing.templates import infer_global

_F = TypeVar("_F", bound=Callable[..., Any])


def inner(function: _F) -> _F:
    """Decorator of a function that is compiled into the loops that call it, and cached with them.

    As :func:`numba.extending.register_jitable`, which would compile it anew for callers with other
    options.
    """
    loop = njit(
        nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
    )(function)
    function.loop = loop  # type: ignore[attr-defined]  # numba holds it by a weak reference
    infer_global(function, types.Dispatcher(loop))
    return function
