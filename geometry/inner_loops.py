"""Functions that only compiled loops call.

Numba gives each function that it compiles a wrapper for calls from Python, machine code of its
own and a place in its cache.  A function that is only ever part of other loops needs none of
them, and from an empty cache they are a good part of the time.  Called from Python such a function
runs as Python.
"""

from __future__ import annotations

from numba.extending import register_jitable

#: Decorator of a function that is compiled into the loops that call it, and cached with them.
inner = register_jitable(nogil=True, error_model="numpy", no_cfunc_wrapper=True)
