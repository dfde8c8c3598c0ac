"""Functions that only compiled loops call.

Numba gives each function that it compiles a wrapper for calls from Python and a place in its cache.
A function that is only ever part of other loops needs neither, and from an empty cache they are a
good part of the time.  Called from Python such a function runs as Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit, types
from numba.core.typing import templates

_F = TypeVar("_F", bound=Callable[..., Any])

# stubs of numba know neither the options nor the templates
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
_templates: Any = templates


def inner(function: _F) -> _F:
    """Decorator of a function that is compiled into the loops that call it, and cached with them.

    :func:`numba.extending.register_jitable` would compile it once for each set of options that its
    callers have.  What is used of numba here is what its own ``overload`` is made of.
    """
    return _inner(function, _OPTIONS)


def cached_inner(function: _F) -> _F:
    """The same with a place of its own in the cache, so that another process can compile it."""
    return _inner(function, _OPTIONS | {"cache": True})


def _inner(function: _F, options: dict[str, Any]) -> _F:
    loop = njit(**options)(function)
    # numba holds it by a weak reference only
    vars(function)["loop"] = loop
    _templates.infer_global(function, types.Dispatcher(loop))
    return function
