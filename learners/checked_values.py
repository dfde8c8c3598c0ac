"""Reads and checks parameters: what is a number becomes Python's own, what is not is named.

NumPy's numbers, fractions and decimals are read as the int or float of the same value; where there
is none, as the float nearest to it.  What is read is what a run spends and its release states.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from decimal import Decimal
from functools import wraps
from numbers import Number, Real
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

import numpy as np


def whole(name: str, value: Any, low: int | None = None) -> int:
    """A whole number, if wanted of at least `low`, as an int.

    Parameters
    ----------
    name : str
        Of the parameter, for the error.
    value : object
    low : int, optional

    Raises
    ------
    ValueError
        If it is none, or below; arrays, truth values and text are none.

    Examples
    --------
    >>> import numpy as np
    >>> whole("grid", np.int64(64)), whole("grid", 64.0)
    (64, 64)
    """
    if _is_number(value) and math.isfinite(value):
        number = int(value)
        if number == value and (low is None or number >= low):
            return number
    least = "" if low is None else f" of at least {low}"
    raise ValueError(f"{name} must be a whole number{least}, got {shown(value)}")


def real(name: str, value: Any) -> float:
    """A finite number, as a float.

    Raises
    ------
    ValueError
        If it is none, or too large for a float; arrays, truth values and text are none.

    Examples
    --------
    >>> from fractions import Fraction
    >>> real("epsilon", Fraction(1, 4)), real("epsilon", 2)
    (0.25, 2.0)
    """
    if _is_number(value):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise ValueError(f"{name} must be a finite number, got {shown(value)}")


def log_over(number: float, share: float) -> float:
    """ln(number / share) of positive numbers, also where the quotient is beyond all floats."""
    quotient = number / share
    return math.log(quotient) if quotient < math.inf else math.log(number) - math.log(share)


def shown(value: object) -> str:
    """A value in one line, not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_number(value: object) -> bool:
    """Whether it is one real number: True and spans of time are numbers to Python and NumPy."""
    if isinstance(value, Decimal):
        return value.is_finite()
    return isinstance(value, Real) and not isinstance(value, bool | np.timedelta64)


def read(name: str, kind: Any, value: Any) -> Any:
    """A value of a parameter as the type says that is declared of it.

    Parameters
    ----------
    name : str
    kind : type
        int, float, bool, choices (Literal) or one of several, maybe None.  Of any other type the
        value stays as it is.
    value : object

    Returns
    -------
    object
        Of Python's own types: an int, a float, a bool, the choice that equals it, or None.

    Raises
    ------
    ValueError
        If it is of none of the kinds.
    """
    parts = _parts(kind)
    choices = [one for part in parts if get_origin(part) is Literal for one in get_args(part)]
    plain = {part for part in parts if get_origin(part) is not Literal}
    if not plain <= {int, float, bool, type(None)}:
        return value
    if value is None and type(None) in plain:
        return None
    if bool in plain and isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str):
        for choice in choices:
            if value == choice:
                return choice
    if isinstance(value, Number) or not choices:
        if float in plain:
            return real(name, value)
        if int in plain:
            return whole(name, value, 0 if name == "seed" else None)
    raise ValueError(f"{name} must be {_listed(plain, choices)}, got {shown(value)}")


def _parts(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _listed(plain: set[Any], choices: list[Any]) -> str:
    """What a parameter may be, in words."""
    named = {bool: "True or False", int: "a whole number", float: "a number"}
    words = [text for one, text in named.items() if one in plain]
    words += [repr(choice) for choice in choices]
    if type(None) in plain:
        words.append("None")
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


_Computed = TypeVar("_Computed", bound=Callable[..., Any])


def within_floats(compute: _Computed) -> _Computed:
    """Decorator of what is computed of numbers that people give: beyond all floats is an error.

    Raises
    ------
    ValueError
        Where a float overflows or a divisor vanishes: a number is larger or smaller than anybody's.
    """

    @wraps(compute)
    def computed(*args: Any, **kwargs: Any) -> Any:
        try:
            return compute(*args, **kwargs)
        except (OverflowError, ZeroDivisionError):
            raise ValueError(
                "one of these numbers is so large, or so near to 0 or 1, that the answer is beyond "
                "what can be computed: take less extreme ones"
            ) from None

    return cast(_Computed, computed)


def check_count(name: str, value: int) -> int:
    """A whole number of at least 1, as an int.

    Raises
    ------
    ValueError
        Otherwise.
    """
    return whole(name, value, 1)


def check_open_unit(**values: float) -> None:
    """Refuse values that do not lie strictly between 0 and 1.

    Raises
    ------
    ValueError
        With the name of the first such value.
    """
    for name, value in values.items():
        try:
            inside = 0 < real(name, value) < 1
        except ValueError:
            inside = False
        if not inside:
            raise ValueError(f"{name} must lie strictly between 0 and 1, got {shown(value)}")
