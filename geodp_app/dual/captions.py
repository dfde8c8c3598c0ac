"""Sentences of the dual view."""

from __future__ import annotations

from geodp_app.dual.shading import Scale, ShadeMode
from geodp_app.dual.sheets import dual_position, equation_words, number, sheet_words
from geometry.halfplane import Halfplane, HalfplaneLattice

EMPTY = "Sample examples to see their dual lines"
EMPTY_RELEASE = "Nothing has been released yet: chosen points will appear here"
NO_PROBABILITIES = "This run has no probabilities to show: its choice was not random"
POINT_AT = "Point at a sheet to read a halfplane"


def reading_words(lattice: HalfplaneLattice) -> str:
    """How to read the sheets."""
    chord = lattice.measure == "chord"
    upper, lower = ("Above and Right", "Below and Left") if chord else ("Above", "Below")
    return (
        f"Each example is a line, each halfplane a point. In {upper} it holds the examples whose "
        f"lines pass over the point, in {lower} those whose lines pass under it."
    )


def shading_words(mode: ShadeMode, edge: int, edges: int) -> str:
    """What the colours answer."""
    if mode == "probability":
        given = f" for edge {edge + 1}, the other two staying as they are" if edges == 3 else ""
        return f"Colour: how likely each place was{given or ' to be chosen'}."
    where = "it"
    if edges == 3:
        where = f"edge {edge + 1}"
    others = " and the other two stayed as they are" if edges == 3 else ""
    return f"Colour: how good the newest piece would be if {where} were elsewhere{others}."


def hover_words(
    halfplane: Halfplane,
    digits: int,
    counts: tuple[int, int] | None = None,
    shade: tuple[Scale, float] | None = None,
) -> str:
    """The readout for the halfplane under the pointer.

    Parameters
    ----------
    halfplane : Halfplane
    digits : int
        After the point.
    counts : (int, int), optional
        Positive and negative examples in it; private.
    shade : (Scale, float), optional
        The value under the pointer and its scale; private.
    """
    name = sheet_words(halfplane.lattice, halfplane.sheet).name
    u, v = dual_position(halfplane)
    parts = [
        f"{name}: u = {number(u, digits)}, v = {number(v, digits)}",
        equation_words(halfplane, digits),
    ]
    if counts is not None:
        parts.append(f"holds {counts[0]:,} positive and {counts[1]:,} negative")
    if shade is not None:
        scale, value = shade
        unit = "" if scale.percent else " examples"
        kind = scale.label.split()[0]
        parts.append(f"{kind} {scale.text(value)}{unit}")
    return "  ·  ".join(parts)
