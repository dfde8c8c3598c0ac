"""Draws coins, integers and exponential variates from a buffer of uniform 16-bit chunks.  Compiled.

Each function takes the buffer and a position and returns its draw with the next position.  No
draw rounds a probability that it compares with: bits are read until the comparison is decided.
How a trial is made of them: docs/privacy.md, lemma E1.  Exponential variates are rounded, and their
rounding is charged: lemma 5.
"""

from __future__ import annotations

import math

import numpy as np

from geometry.compiled_loops import inner

#: Chunks kept for one trial, which reads about 40.  A trial that would outrun them counts as
#: rejected; lazy comparison and masked rejection make that less likely than 2**-1000.
RESERVE = 4096


@inner
def less(p, chunks, at):
    """(U < p, next position) for U uniform with infinitely many bits: exact for a double p."""
    while p > 0.0 and at < len(chunks):
        p *= 65536.0
        whole = math.floor(p)
        chunk = chunks[at]
        at += 1
        if chunk != whole:
            return chunk < whole, at
        p -= whole
    return False, at


@inner
def uniform_below(width, chunks, at):
    """(uniform integer in 0..width-1, next position), exact, by masked rejection.

    width is at most 2**48; -1 when the chunks run out.
    """
    mask = width - 1
    mask |= mask >> 1
    mask |= mask >> 2
    mask |= mask >> 4
    mask |= mask >> 8
    mask |= mask >> 16
    mask |= mask >> 32
    while at + 3 <= len(chunks):
        draw = np.int64(chunks[at])
        at += 1
        if mask > 0xFFFF:
            draw |= np.int64(chunks[at]) << 16
            at += 1
        if mask > 0xFFFFFFFF:
            draw |= np.int64(chunks[at]) << 32
            at += 1
        draw &= mask
        if draw < width:
            return draw, at
    return np.int64(-1), at


@inner
def exponential(chunks, at):
    """(-ln U, next position), U uniform to a relative 2**-48 however small; 0 when they run out."""
    if at + 5 > len(chunks):
        return 0.0, at
    # above one half, read 1 - U instead: short waits keep their precision too
    upper = chunks[at] >= 32768
    blank = 65535 if upper else 0
    zeros = 0.0
    while chunks[at] == blank and at + 5 < len(chunks):
        zeros += 1.0
        at += 1
    mantissa = 0.0
    for i in range(4):
        mantissa = mantissa * 65536.0 + abs(np.int64(blank) - np.int64(chunks[at + i]))
    if upper:
        return -math.log1p(-(mantissa + 0.5) * 2.0**-64 * 2.0 ** (-16.0 * zeros)), at + 4
    # U = (mantissa + 1/2) / 2**64 / 2**(16 * zeros)
    return (64.0 + 16.0 * zeros) * 0.6931471805599453 - math.log(mantissa + 0.5), at + 4
