"""Says what a learner and its parameters are, and reads and checks the parameters' values.

Of the classes `Learner` and `Parameter` the entries of :mod:`learners.registry` are made; command
line, window, comparison, catalogue, audit and docs/learners.md are made from these.  Nothing here
loads a learner.

NumPy's numbers, fractions and decimals are read as the int or float of the same value; where there
is none, as the float nearest to it.  What is read is what a run spends and its release states.
"""

from __future__ import annotations

import importlib
import math
import types
from dataclasses import dataclass
from decimal import Decimal
from numbers import Number, Real
from typing import Any, Literal, Union, get_args, get_origin

#: How pieces make the hypothesis: their union or their intersection.
Role = Literal["disjunction", "conjunction"]

#: No number that is computed with is as large; whole numbers may be beyond all floats.
_TOO_LARGE = 1e300

#: Places that let a person pick a learner, besides Python.
Place = Literal["learn", "compare", "plan", "window"]

#: What a learner's hypothesis is made of, one a step.
PieceName = Literal[
    "triangle", "halfplane", "tile", "disc", "ellipse", "halfspace", "simplex", "ball", "region",
    "literal", "concept",
]  # fmt: skip

#: What a run can show beside its shape: its halfplanes as points of the dual plane; how likely each
#: other halfplane would have been; tiles; the sampler's boxes; votes of chunks.
Shown = Literal["dual plane", "odds", "tiles", "boxes", "votes"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a learner, as people see it.

    Attributes
    ----------
    name : str
        Of the constructor.
    kind : {"whole number", "number", "choice"}
    label : str
        In the window.
    help : str
        What it does, in a plain sentence or two.
    default : value
    unset : str
        What None means, for a parameter that may be left out; else empty.
    auto : str
        What "auto" means, for a number that a run can find itself; else empty.
    low, high : number
        Least and greatest value of a number.
    open : bool
        Whether `low` and `high` themselves are left out.
    choices : tuple of (value, str)
        Of a choice: values, and what they are called.
    option : str
        At the command line, without the dashes; empty if it is `name`.
    of_python : bool
        Whether the command line leaves it out.
    of_code : bool
        Whether the window leaves it out.
    advanced : bool
        Whether a first run needs no one to know: the window folds it away.
    counts : str
        What it counts, of k.
    """

    name: str
    kind: Literal["whole number", "number", "choice"]
    label: str
    help: str
    default: Any = None
    unset: str = ""
    auto: str = ""
    low: float = 0
    high: float = float("inf")
    open: bool = False
    choices: tuple[tuple[Any, str], ...] = ()
    option: str = ""
    of_python: bool = False
    of_code: bool = False
    advanced: bool = False
    counts: str = ""

    @property
    def typed(self) -> str:
        """Its name at the command line, without the dashes."""
        return self.option or self.name

    def accepts(self, value: Any) -> bool:
        """Whether a value is of its kind and in its range."""
        if value is None:
            return bool(self.unset)
        if not isinstance(value, str | int | float):
            return False
        if value == "auto":
            return bool(self.auto)
        if self.kind == "choice":
            return any(value == known for known, _ in self.choices)
        if isinstance(value, bool | str):
            return False
        if self.kind == "whole number" and not isinstance(value, int):
            return False
        if self.kind == "number" and abs(value) >= _TOO_LARGE:
            return False
        return self.low < value < self.high if self.open else self.low <= value <= self.high

    def range(self, value: Any) -> str:
        """What its values must do, in words for one that does not."""
        if self.kind == "choice":
            return f"be one of {', '.join(str(value) for value, _ in self.choices)}"
        low, high = f"{self.low:g}", f"{self.high:.15g}"
        if self.high == math.inf:
            if isinstance(value, float | int) and self.kind == "number" and value >= _TOO_LARGE:
                return f"be below {_TOO_LARGE:g}"
            return f"be above {low}" if self.open else f"be at least {low}"
        if self.open:
            return f"lie strictly between {low} and {high}"
        return f"lie between {low} and {high}"

    def refusal(self, value: Any) -> str:
        """What to say of a value that it does not accept."""
        kind = "" if self.kind == "choice" else f"be a {self.kind} and "
        return f"{self.name} must {kind}{self.range(value)}, not {value!r:.60}"


@dataclass(frozen=True, slots=True)
class Learner:
    """The declaration of a learner.

    Attributes
    ----------
    id : str
        Its one name, in all places and files.
    title : str
        What people read, in a few words.
    sentence : str
        What it does, in one plain sentence.
    path : str
        Import path of its class.
    promise : str
        What is proved of it, for the catalogue.
    systems : tuple of int
        Keys of :data:`learners.catalogue.SYSTEMS`.
    fixed : tuple of (str, value)
        Parameters that make the class this learner.
    parameters : tuple of Parameter
        What a person may set, besides the grid; with this learner's defaults.
    role : {"disjunction", "conjunction"} or None
        How pieces make the hypothesis: their union or their intersection.
    piece : str or None
    shows : frozenset of str
    offered : frozenset of str
    needs_delta : bool
        Whether its privacy rests on delta; others state 0, or what arithmetic alone takes.
    """

    id: str
    title: str
    sentence: str
    path: str
    promise: str
    systems: tuple[int, ...]
    fixed: tuple[tuple[str, Any], ...] = ()
    parameters: tuple[Parameter, ...] = ()
    role: Role | None = None
    piece: PieceName | None = None
    shows: frozenset[Shown] = frozenset()
    offered: frozenset[Place] = frozenset()
    needs_delta: bool = True

    @property
    def class_name(self) -> str:
        """The name of the learner's class."""
        return self.path.rpartition(".")[2]

    @property
    def private(self) -> bool:
        """Whether its runs are private."""
        return self.parameter("epsilon") is not None

    @property
    def takes_counts(self) -> bool:
        """Whether it can learn from counts of a table: points of the plane, unless chunks vote."""
        apart = ("halfspace", "simplex", "ball", "literal", "concept")
        return self.piece not in apart and "votes" not in self.shows

    @property
    def counts(self) -> str:
        """What its k counts; empty for a learner without k."""
        k = self.parameter("k")
        return k.counts if k else ""

    @property
    def by_tiles(self) -> bool:
        """Whether each step labels a tile of its own."""
        return self.piece == "tile"

    @property
    def curved(self) -> bool:
        """Whether pieces are discs or ellipses: no halfplanes, and so no dual plane."""
        return self.piece in ("disc", "ellipse")

    def load(self) -> type[Any]:
        """Import the learner's class and return it."""
        module, _, name = self.path.rpartition(".")
        cls: type[Any] = getattr(importlib.import_module(module), name)
        return cls

    def build(self, **parameters: Any) -> Any:
        """An estimator of this learner, not yet fitted."""
        return self.load()(**dict(self.fixed) | parameters)

    def parameter(self, name: str) -> Parameter | None:
        """The declared parameter of that name; None if it has none."""
        return next((each for each in self.parameters if each.name == name), None)


# values


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
    # no float: a whole number may be beyond them all
    if _is_number(value) and value not in (math.inf, -math.inf) and value == value:
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


def shown(value: object) -> str:
    """A value in one line, not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_number(value: object) -> bool:
    """Whether it is one real number: True and spans of time are numbers to Python and NumPy."""
    import numpy as np  # the command's help needs none

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
    import numpy as np

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
