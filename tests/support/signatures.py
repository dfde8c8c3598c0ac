"""What halfplanes hold, told apart by their dual points."""

from geodp_app.runs.protocol import ShadeQuestion
from geometry.halfplane import Sheet, dual_line


def signature(q: ShadeQuestion, sheet: int, u: float, v: float) -> tuple[bool, ...]:
    """Which examples the halfplane at a dual point off all dual lines holds; grid units."""
    unit = 1 << q.lattice.bits
    held = []
    for x, y in q.points.tolist():
        a, b, c = dual_line(q.lattice, Sheet(sheet), (x, y))
        below = a * u * unit + b * v * unit < c
        held.append(below == Sheet(sheet).upper)
    return tuple(held)
