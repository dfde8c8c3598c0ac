"""Data that ships with geodp: example targets (GeoJSON), read through importlib.resources."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

_EXAMPLES = (
    "flood",
    "fire",
    "letters",
    "croatia",
    "switzerland",
    "italy",
    "tri",
    "L",
    "star",
    "three",
)


class UnknownExampleError(ValueError):
    """No example target has this name; the message lists those that exist."""


def examples() -> tuple[str, ...]:
    """Names of the example targets, in the order to show them."""
    return _EXAMPLES


def example_path(name: str) -> Path:
    """Path of an example target's GeoJSON file.

    Parameters
    ----------
    name : str
        One of :func:`examples`.

    Raises
    ------
    UnknownExampleError
        If there is no such example.
    """
    if name not in _EXAMPLES:
        raise UnknownExampleError(f"no example {name!r}; there are: {', '.join(_EXAMPLES)}")
    # the package is installed as plain files, so a resource is a path
    return Path(str(files(__name__) / "examples" / f"{name}.geojson"))
