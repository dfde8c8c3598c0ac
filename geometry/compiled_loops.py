"""Compiles loops: with a cache that mends itself, and functions that only loops call.

Numba reads what it kept of a function as it is: a file that was cut short, by a full disk or a
machine that went off, would be an error in every later run.  :func:`njit` throws such files away
and compiles anew.  Numba numbers the types of a function, too: of two processes that compile it for
two types at once, one would find the other's machine code under its own.  Here a file is named by
its type and written before the index names it, so at worst a type is compiled once more.

Numba gives each function that it compiles a wrapper for calls from Python and a place in its cache.
A function that is only ever part of other loops needs neither, nor machine code of its own: it is
optimised in the loops that it becomes part of.  From an empty cache these are a good part of the
time.  Called from Python such a function runs as Python.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import types
from numba.core import cgutils
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.types.functions import BaseFunction
from numba.core.typing import templates
from numba.extending import intrinsic

_F = TypeVar("_F", bound=Callable[..., Any])

_NAME = "NUMBA_CACHE_DIR"

# stubs of numba know neither the options nor the templates
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
_templates: Any = templates
_utils: Any = cgutils
_kinds: Any = types
_functions: Any = BaseFunction
_cache: Any = FunctionCache
_files: Any = IndexDataCacheFile
_library: Any = JITCodeLibrary
_compiler: Any = Compiler
_config: Any = numba.config


def ensure_cache() -> None:
    """See to it that numba finds a place for its cache; does nothing where it does by itself.

    Numba keeps machine code beside the source, else in the user's cache.  An installation that is
    read-only and a user without a home have neither; numba would then refuse to load a module at
    all.  Here a folder for temporary files steps in, for this user alone: what lies in it is run,
    so it must be nobody else's.  Where there is none either, numba says so in its own words.
    """
    if os.environ.get(_NAME) or sys.platform == "win32":
        return
    if _writable(Path(__file__).parent / "__pycache__") or _writable(_user_cache() / "numba"):
        return
    folder = _own_temporary()
    if folder is not None:
        os.environ[_NAME] = str(folder)
        _config.reload_config()  # numba has read its settings already


def _user_cache() -> Path:
    """The folder of all caches of this user, as numba finds it."""
    if sys.platform == "darwin":
        return Path(os.path.expanduser("~/Library/Caches"))
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _own_temporary() -> Path | None:
    """A folder among the temporary files that is this user's alone; later runs find it again."""
    try:
        folder = Path(tempfile.gettempdir()) / f"geodp-numba-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
        if own and not found.st_mode & 0o077:
            return folder
        # the name is somebody else's: a fresh folder, for this run
        fresh = tempfile.mkdtemp(prefix="geodp-numba-")
        atexit.register(shutil.rmtree, fresh, ignore_errors=True)
        return Path(fresh)
    except OSError:
        return None


ensure_cache()

#: Asked for a loop that the cache has not, by its module and name; it says whether another process
#: has compiled it meanwhile (:mod:`learners.envelope.compiled_beside`).
asked: list[Callable[[str], bool]] = []


class _NamedFiles(_files):  # type: ignore[misc]
    """Machine code by type: processes that compile a function for different types share no file."""

    def save(self, key: Any, data: Any) -> None:
        # by its pickle, not its name: two types may be called the same
        type_name = hashlib.sha256(self._dump(key)).hexdigest()[:32]
        name = f"{self._index_name[:-4]}.{type_name}.nbc"
        self._save_data(name, data)
        self._save_index(self._load_index() | {key: name})


class _MendedCache(_cache):  # type: ignore[misc]
    """What numba keeps of a function; what cannot be read is thrown away, and is no error."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file.__class__ = _NamedFiles
        self._loop = f"{function.__module__}.{function.__qualname__}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = self._kept(sig, target_context)
        if found is None and any([ask(self._loop) for ask in asked]):
            found = self._kept(sig, target_context)
        return found

    def _kept(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling says by any of them that a file is damaged
            self._throw_away()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:
            self._throw_away()
            # where nothing can be written the loop is compiled by every run
            with suppress(Exception):
                super().save_overload(sig, data)

    def _throw_away(self) -> None:
        folder = Path(self.cache_path)
        for file in folder.glob(f"{self._impl.filename_base}.*nb[ic]"):
            with suppress(OSError):
                file.unlink()


class _Part(_library):  # type: ignore[misc]
    """Code of a function that is optimised, and made machine code, in the loops that call it."""

    # nobody asks for its machine code but what would set its environment
    codegen = property(lambda self: self)

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    def set_env(self, name: str, environment: Any) -> None:
        """Only calls from Python, and objects of Python, need it."""


class _PartCompiler(_compiler):  # type: ignore[misc]
    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        super().__init__(typing, target, _Part(target.codegen(), "part"), *rest)


#: What is built here on what numba does not promise: other versions take a third longer.
_KNOWN = numba.__version__.startswith("0.68.")
_PARTS = {"pipeline_class": _PartCompiler} if _KNOWN else {}


def _remember_operators() -> None:
    """What an operator makes of numbers is looked for once: numba tries all that might fit."""
    plain = _functions.get_call_type

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        operator = getattr(self.typing_key, "__module__", "") == "_operator"
        if kws or not operator or not all(isinstance(kind, _kinds.Number) for kind in args):
            return plain(self, context, args, kws)
        seen = vars(self).setdefault("_seen", {})
        if args not in seen:
            seen[args] = plain(self, context, args, kws)
        return seen[args]

    _functions.get_call_type = get_call_type


if _KNOWN:
    _remember_operators()


def njit(**options: Any) -> Callable[[Any], Any]:
    """:func:`numba.njit`; with `cache=True` a cache whose damaged files are made anew."""

    def compiled(function: Any) -> Any:
        loop = numba.njit(**options)(function)
        if options.get("cache"):
            loop._cache = _MendedCache(function)
        return loop

    return compiled


def inner(function: _F) -> _F:
    """Decorator of a function that is compiled into the loops that call it, and cached with them.

    :func:`numba.extending.register_jitable` would compile it once for each set of options that its
    callers have.  What is used of numba here is what its own ``overload`` is made of.
    """
    return _inner(function, _OPTIONS | _PARTS)


def cached_inner(function: _F) -> _F:
    """The same with a place of its own in the cache, so that another process can compile it."""
    return _inner(function, _OPTIONS | {"cache": True})


def _inner(function: _F, options: dict[str, Any]) -> _F:
    loop: Any = njit(**options)(function)
    # numba holds it by a weak reference only
    vars(function)["loop"] = loop
    _templates.infer_global(function, types.Dispatcher(loop))
    return function


def _borrowed(_: Any, kind: Any) -> Any:
    return kind(kind), lambda at, builder, _, given: _without_owner(at, builder, kind, given[0])


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, _kinds.BaseTuple):
        for i, each in enumerate(kind):
            part = builder.extract_value(value, i)
            value = builder.insert_value(value, _without_owner(context, builder, each, part), i)
    elif isinstance(kind, _kinds.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = _utils.get_null_value(array.meminfo.type)
        array.parent = _utils.get_null_value(array.parent.type)
        value = array._getvalue()
    return value


#: borrowed(value), in a compiled loop: the same array, or tuple of such, whose references nobody
#: counts.  For what Python gives a function, and keeps: to count it up and down, by locked
#: instructions, takes longer than most of what is done.  Nothing made of it may be returned.
borrowed: Any = intrinsic(_borrowed)
