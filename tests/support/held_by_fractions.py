"""Which points a drawing holds, by fractions and without any order of edges."""

from collections.abc import Sequence
from fractions import Fraction

Spot = tuple[Fraction | int, Fraction | int]
Ring = Sequence[Spot]
#: An outline and its holes.
Polygon = Sequence[Ring]

#: Far below any distance of a point to an edge beside it, in what is asked here.
HAIR = Fraction(1, 10**12)


def held(polygons: Sequence[Polygon], x: int, y: int) -> bool:
    """Whether in one of them every hair, or some, from the point ends in the open region."""
    return any(_open(rings, *end) for rings in polygons for end in _ends(rings, x, y))


def _sides(ring: Ring) -> list[tuple[Spot, Spot]]:
    return list(zip(ring, [*ring[1:], ring[0]], strict=True))


def _ends(rings: Polygon, x: int, y: int) -> list[Spot]:
    """Ends of hairs, one between any two neighbouring edges that meet the point."""
    places = set()
    for (a, b), (c, d) in (side for ring in rings for side in _sides(ring)):
        on_line = (c - a) * (y - b) == (d - b) * (x - a)
        if on_line and min(a, c) <= x <= max(a, c) and min(b, d) <= y <= max(b, d):
            places |= {_place(u - x, v - y) for u, v in ((a, b), (c, d)) if (u, v) != (x, y)}
    around = sorted(places) or [Fraction(0)]
    following = [*around[1:], around[0] + 8]
    between = [_way((p + q) / 2 % 8) for p, q in zip(around, following, strict=True)]
    return [(x + HAIR * u, y + HAIR * v) for u, v in between]


def _place(u: Fraction | int, v: Fraction | int) -> Fraction:
    """Where a direction leaves the square -1..1, counted along its border from (1, -1)."""
    most = max(abs(u), abs(v))
    u, v = Fraction(u) / most, Fraction(v) / most
    if u == 1 and v < 1:
        return v + 1
    if v == 1 and u > -1:
        return 3 - u
    return 5 - v if u == -1 and v > -1 else 7 + u


def _way(place: Fraction) -> Spot:
    side, along = divmod(place, 2)
    return ((1, along - 1), (1 - along, 1), (-1, 1 - along), (along - 1, -1))[int(side)]


def _open(rings: Polygon, x: Fraction | int, y: Fraction | int) -> bool:
    odd = [
        sum((b > y) != (d > y) and a + (y - b) * (c - a) / Fraction(d - b) > x
            for (a, b), (c, d) in _sides(ring)) % 2 == 1
        for ring in rings
    ]  # fmt: skip
    return odd[0] and not any(odd[1:])
