"""A file of examples as columns of any names, and which of these are coordinates and labels.

A reader for each format knows nothing but columns, and gives batches of them: text
(:mod:`geodp_app.files.csv_table`), and others (:mod:`geodp_app.files.import_formats`).  Which rows
are examples is told in one place for all of them (:mod:`geodp_app.files.import_rows`).

Columns are chosen as options say, else by their names.  Files, data frames and tables in an engine
ask here.  A command never looks at rows for that (docs/privacy.md, lemma T0), and says what it
guessed, or refuses where two columns could be meant.  The window's dialog looks at first rows, too:
its guess is an offer to the person before it.  Which column may say whose a row is, is asked here,
too, and told.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from geodp_app.files.csv_table import GEOMETRIES, GEOMETRY, Batch, Column, as_cells
from geometry.coordinates import read_places
from geometry.errors import InputError
from geometry.grid import NAMES_OF_AXES, plain_name
from learners.core.examples import OPPOSITES, normal

#: Names of the columns that stand for a feature's place.
AXES = ("longitude", "latitude")
#: Rows that are shown before anything is chosen.
PREVIEW = 3


class Reader(Protocol):
    """The rows of a format, in order, each as often as they are asked for."""

    def batches(self, places: Sequence[int], numbers: Collection[int] = ()) -> Iterator[Batch]:
        """The columns at these places; :data:`GEOMETRY` is the column of geometries.  At `numbers`
        texts that are numbers may come as such."""
        ...


@dataclass(frozen=True, slots=True)
class ImportFile:
    """A file of examples."""

    #: Path, for messages.
    name: str
    #: Names of the columns as they stand, given without those of the places, `axes`; one without a
    #: name is called by its number.
    columns: Sequence[str]
    reader: Reader
    #: What the file states of its frame; empty if nothing.
    member: dict[str, Any] = field(default_factory=dict)
    #: Whether the first two columns are the places of a column of geometries.
    placed: bool = False
    #: Coordinate reference system that the file states.
    crs: str | None = None
    #: Whether numbers may have a comma for a point.
    decimal_comma: bool = False
    #: Whether the file is empty and of a format that names its columns in its rows.
    headless: bool = False
    #: Whether geometries are one column among others, beside which there may be coordinates.
    loose: bool = False
    axes: tuple[str, str] = AXES
    #: Cells of the first rows.
    preview: tuple[tuple[str, ...], ...] = field(init=False)

    def __post_init__(self) -> None:
        columns = (*self.axes, *self.columns) if self.placed else self.columns
        named = tuple(column or f"column {i}" for i, column in enumerate(columns, 1))
        object.__setattr__(self, "columns", named)
        first = tuple(tuple(row) for row, _, _ in itertools.islice(self.rows, PREVIEW))
        object.__setattr__(self, "preview", first)

    @property
    def rows(self) -> Iterator[tuple[list[str], int | None, float]]:
        """All rows in order: cells as text, the line in the file if it has lines, and how much of
        the file has been read with it, 0..1."""
        for batch in self.batches(range(len(self.columns))):
            texts = [as_cells(column) for column in batch.columns]
            for i, fault in batch.faults.items():
                texts[0][i] = fault
            for i, row in enumerate(zip(*texts, strict=True)):
                yield [*row], int(batch.lines[i]) if len(batch.lines) else None, batch.share

    def batches(self, places: Sequence[int], numbers: Collection[int] = ()) -> Iterator[Batch]:
        """The columns at these places, of all rows in order; raises InputError if a line cannot be
        taken apart; it is named."""
        first = 2 * self.placed
        own = [GEOMETRY if place < first else place - first for place in places]
        asked = list(dict.fromkeys(own))
        numbers = [place - first for place in numbers if place >= first]
        for batch in self.reader.batches(asked, numbers):
            found: dict[int, Column] = dict(zip(asked, batch.columns, strict=True))
            if GEOMETRY in found:
                points = read_places(found[GEOMETRY])
                batch.faults.update(points.faults)
                batch.systems = points.systems
            batch.columns = [
                points.xy[:, place] if at == GEOMETRY else found[at]
                for place, at in zip(places, own, strict=True)
            ]
            yield batch


Kind = Literal["grid", "degrees"]

_LABELS = ("label", "labels", "class", "inside", "target", "positive", "y")
#: Names of what is no label, beside coordinates: numbers and times of reports, places as text.
_OTHERS = frozenset({"id", "fid", "objectid", "ogcfid", "gmlid", "person", "user", "time",
                     "timestamp", "date"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Columns:
    """Places of the columns that are read, from 0; None where none is chosen."""

    #: x and y, or longitude and latitude.
    first: int | None = None
    second: int | None = None
    label: int | None = None

    @property
    def complete(self) -> bool:
        """Whether three different columns are chosen."""
        places = (self.first, self.second, self.label)
        return None not in places and len(set(places)) == 3


#: What the three columns are called, by the kind of coordinates.
ROLES: dict[Kind, tuple[str, str, str]] = {
    "grid": ("x", "y", "label"),
    "degrees": ("lon", "lat", "label"),
}


def choose_columns(
    names: Sequence[str],
    wanted: Mapping[str, str],
    *,
    placed: bool = False,
    loose: bool = False,
    on_grid: bool = False,
    metres: bool = False,
    labelled: bool = True,
) -> tuple[Columns, Kind]:
    """The columns that are told, and beside them those that names speak for; never the rows.

    All roads ask here: files, data frames, tables.  Raises InputError if a column is missing, or
    two could be meant; what to do is told, no file is named.

    Parameters
    ----------
    wanted : mapping
        Names of columns by what they stand for: x, y, lon, lat, label.
    placed : bool
        Whether the first two columns are the places of a column of geometries.
    loose : bool
        Whether that column is one among others, beside which there may be coordinates.
    on_grid : bool
        Whether geometries are in grid units.
    metres : bool
        Whether a system of coordinates is stated: what is not called longitude is then in it.
    labelled : bool
        Whether a label is needed.
    """
    plain = [plain_name(name) for name in names]
    strange = set(wanted) - {role for roles in ROLES.values() for role in roles}
    if strange or ({"x", "y"} & set(wanted) and {"lon", "lat"} & set(wanted)):
        raise InputError("--columns: names are those of x,y or lon,lat, and of label")
    chosen = {role: place_of(name, names, placed=placed) for role, name in wanted.items()}
    for role, place in chosen.items():
        same = [other for other in chosen if chosen[other] == place]
        if len(same) > 1 and role == same[0]:
            both = " and ".join(same)
            raise InputError(f"--columns: {both} are one column, {cut(names[place])}: name two")
    pair, kind = _axes(names, plain, chosen, placed=placed, loose=loose, on_grid=on_grid)
    if pair is not None and metres and kind == "degrees" and pair != (0, 1) * placed:
        # point_x is an easting as well as a longitude
        called = bool({"lon", "lat"} & set(chosen)) or plain[pair[0]].startswith(("lon", "lng"))
        kind = "degrees" if called else "grid"
    first, second = pair or tuple(chosen.get(role) for role in ROLES[kind][:2])
    label = chosen.get("label")
    if label is None and labelled:
        taken = tuple(place for place in (first, second) if place is not None)
        label = _guess_label(names, plain, (*taken, *range(2 * placed)), placed=pair is not None)
    roles = ROLES[kind][: 3 if labelled else 2]
    found = dict(zip(roles, (first, second, label), strict=False))
    lacking = [role for role in roles if found[role] is None]
    if lacking:
        ask = ",".join(f"{role}=NAME" for role in lacking)
        raise InputError(
            f"missing column {', '.join(lacking)}: it has {_shown(names)}; name yours: "
            f"--columns {ask}"
        )
    return Columns(first, second, label if labelled else None), kind


def guess_columns(
    names: Sequence[str],
    rows: Sequence[Sequence[str]] = (),
    *,
    placed: bool = False,
    loose: bool = False,
) -> tuple[Columns, Kind]:
    """The columns that names speak for, and the kind of coordinates; None where two could be meant.

    `rows`: the first rows.  Where no name says label, it is the only column that is left, or the
    only one that holds words such as yes and no.  `placed` and `loose`: as in
    :func:`choose_columns`.
    """
    plain = [plain_name(name) for name in names]
    try:
        pair, kind = _axes(names, plain, {}, placed=placed, loose=loose)
    except InputError:
        pair, kind = None, "degrees"
    taken = (*(pair or ()), *range(2 * placed))
    try:
        label = _guess_label(names, plain, taken, rows, placed=pair is not None)
    except InputError:
        label = None
    first, second = pair or (None, None)
    return Columns(first, second, label), kind if pair else "degrees"


def is_plain(names: Sequence[str]) -> bool:
    """Whether columns are called as the program calls them: x,y,label or lon,lat,label."""
    plain = {name.lower() for name in names}
    return any(plain >= set(roles) for roles in ROLES.values())


def place_of(wanted: str, names: Sequence[str], *, placed: bool = False) -> int:
    """Where the column is that is meant: by its name as it stands, else by the only one that
    differs in letters' case and outer spaces; raises InputError if there is none, or several."""
    alike = [i for i, name in enumerate(names) if name.strip().lower() == wanted.strip().lower()]
    exact = [i for i in alike if names[i] == wanted]
    found = exact or alike
    own = [i for i in found if i >= 2 * placed]  # before those that come of geometries
    found = own or found
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(_twice(names, found))
    raise InputError(f"missing column {cut(wanted)}: it has {_shown(names)}")


def person_place(
    wanted: str, names: Sequence[str], columns: Columns, *, placed: bool = False
) -> int:
    """Where the column is that says whose a row is: as :func:`place_of`, and none of the others."""
    place = place_of(wanted, names, placed=placed)
    if place in (columns.first, columns.second, columns.label):
        raise InputError(
            f"column {cut(names[place])} is read as a place or a label, and says not whose a row is"
        )
    return place


def _axes(
    names: Sequence[str],
    plain: Sequence[str],
    chosen: Mapping[str, int],
    *,
    placed: bool,
    loose: bool,
    on_grid: bool = False,
) -> tuple[tuple[int, int] | None, Kind]:
    """The two columns of coordinates, and their kind."""
    asked: Kind | None = None
    if {"x", "y", "lon", "lat"} & set(chosen):
        asked = "grid" if {"x", "y"} & set(chosen) else "degrees"
    if placed and not loose and asked is None:
        return (0, 1), "grid" if on_grid else "degrees"
    pairs: dict[tuple[int, int], Kind] = {}
    for names_of_axes in NAMES_OF_AXES:
        kind, both = names_of_axes[2], []
        if asked not in (None, kind):
            continue
        for role, axis in zip(ROLES[kind][:2], names_of_axes[:2], strict=True):
            found = [i for i, name in enumerate(plain) if name in axis and i >= 2 * placed]
            both.append([chosen[role]] if role in chosen else found)
        for found in both if all(both) else ():
            called = [plain[i] for i in found]
            if twice := [i for i in found if called.count(plain[i]) > 1]:
                raise InputError(_twice(names, twice))
        # columns that mean the same are as many pairs: of several, none is taken
        for first, second in itertools.product(*both):
            pairs.setdefault((first, second), kind)
    if asked is None and "grid" in pairs.values():
        if placed:
            pairs[0, 1] = "degrees"
        elif found := [i for i, name in enumerate(plain) if name in _GEOMETRIES]:
            pair = next(iter(pairs))
            ours = ",".join(f"{role}={names[i]}" for role, i in zip("xy", pair, strict=True))
            raise InputError(
                f"several columns are places: {_shown(names)}: read without {names[found[0]]} by "
                f"--columns {cut(ours, 200)}"
            )
    degrees = [pair for pair, kind in pairs.items() if kind == "degrees"]
    unclear = len(degrees) > 1 or (len(pairs) > 1 and not degrees)
    if unclear or any(plain[a] == "x" and len(pairs) > 1 for a, _ in pairs):
        choices = [
            ",".join(f"{role}={names[i]}" for role, i in zip(ROLES[kind], pair, strict=False))
            for pair, kind in pairs.items()
        ]
        raise InputError(
            f"several columns are places: {_shown(names)}; choose: --columns "
            f"{cut(' or --columns '.join(choices), 200)}"
        )
    if degrees or pairs:
        pair = degrees[0] if degrees else next(iter(pairs))
        return pair, pairs[pair]
    if placed and asked is None:
        return (0, 1), "degrees"
    lonely: Kind = "degrees" if {"lon", "lng", "lat", "longitude"} & set(plain) else "grid"
    return None, asked or lonely


def _guess_label(
    names: Sequence[str],
    plain: Sequence[str],
    taken: Sequence[int],
    rows: Sequence[Sequence[str]] = (),
    *,
    placed: bool,
) -> int | None:
    places = {name for first, second, _ in NAMES_OF_AXES for name in (*first, *second)}
    out = (places - set(_LABELS)) | _OTHERS | _GEOMETRIES
    left = [i for i in range(len(plain)) if i not in taken and plain[i] not in out]
    for some in (_LABELS[:1], _LABELS[1:]):
        found = [i for i in left if plain[i] in some]
        called = [plain[i] for i in found]
        if len(set(called)) < len(called):
            raise InputError(_twice(names, [i for i in found if called.count(plain[i]) > 1]))
        if len(found) > 1:
            choices = " or ".join(f"--columns label={names[i]}" for i in found)
            raise InputError(f"several columns may be labels; choose: {cut(choices, 200)}")
        if found:
            return found[0]
    if placed and len(left) == 1:
        return left[0]
    speaking = []
    for i in left:
        found_words = {normal(row[i]) for row in rows if len(row) == len(plain)}
        if found_words and any(found_words <= set(pair) for pair in OPPOSITES):
            speaking.append(i)
    return speaking[0] if len(speaking) == 1 else None


def _twice(names: Sequence[str], places: Sequence[int]) -> str:
    alike = " and ".join(repr(cut(names[i])) for i in places)
    return f"columns {alike} have one name: rename one, or choose with --columns"


def _shown(names: Sequence[str]) -> str:
    return repr(cut(",".join(names)))


def cut(name: str, most: int = 60) -> str:
    """A name of whatever length, for a message."""
    return name if len(name) <= most else name[: most - 3] + "..."


#: Names of columns of geometries, without signs and capitals.
_GEOMETRIES = frozenset(plain_name(name) for name in GEOMETRIES)


#: What columns are called that may say whose a row is: a word of a name in capitals, small letters,
#: or both, in some languages.
PERSON_COLUMN = (
    r"(?:(?<![^\W\d_])|(?<=[a-z])(?=[A-Z]))(?i:"
    r"(?:user|person|people|reporter|respondent|participant|contributor|observer|volunteer|patient|"
    r"customer|client|subscriber|account|member|employee|student|citizen|resident|owner|"
    r"author|sender|device|phone|mobile|msisdn|imei|imsi|idfa|gaid|e?mail|login|nick|ssn|"
    r"(?:user|first|last|full|family|given|sur|nick)_?name|mac_?address|ip_?address|"
    r"(?:be)?nutzer(?:name)?|kunde|melder|ger\xe4t|geraet|telefon|handy|vorname|nachname|"
    r"utilisateur|client|appareil|t\xe9l\xe9phone|telephone|courriel|pr\xe9nom|prenom|"
    r"usuario|usu\xe1rio|cliente|dispositivo|tel\xe9fono|telefono|telefone|correo|apellido|"
    r"utente|cognome|korisnik|ure\u0111aj)(?:s|e?n|in)?(?:_?id)?|^name$|^nome$|^nombre$|^nom$)"
    r"(?![a-z\xe0-\xff])"
)

_PERSON = re.compile(PERSON_COLUMN)


def person_column(names: Iterable[str], told: Iterable[str] = ()) -> str | None:
    """The first column that may say whose a row is, from the names alone; `told` are what they are.

    Examples
    --------
    >>> person_column(["lon", "lat", "wet", "userId"])
    'userId'
    """
    other = set(told)
    return next((name for name in names if name not in other and _PERSON.search(name)), None)


def person_words(name: str) -> str:
    """What to say of such a column; what to do follows."""
    return f"column {name} may say whose a row is, and each row counts as a person of its own"
