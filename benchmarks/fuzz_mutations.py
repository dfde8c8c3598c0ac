"""Small accidents that happen to inputs: bytes are changed, JSON nodes too."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

Random = random.Random

#: Longest input.
MOST_BYTES = 1 << 16

ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e-320, 1e308, 2**20, 2**20 + 1, 2**31, 2**53 + 1,
    2**63, 2**64, 10**400, -(10**30), "", "x", "nan", "inf", "\u0000", "\ud800", "é\n", "a" * 300,
    "../../etc/passwd", "FLAT_ABOVE", "Polygon", "Feature", "GeometryCollection", "grid", "lonlat",
    [], [[]], {}, {"x": 1}, [0, 0], [1, 2, 3, 4], [0, 0, 1, 1], [[0, 0], [1, 0], [1, 1], [0, 0]],
)  # fmt: skip
TOKENS: tuple[bytes, ...] = (
    b"\0", b"\n", b"\r", b"\r\n", b",", b",,", b'"', b"#", b"# geodp ", b"x,y,label\n", b"nan",
    b"inf", b"-0", b"1e999", b"1e-999", b"0x1", b"1_0", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8",
    b"\xc2\xa0", b"[", b"]", b"{", b"}", b"[[[[", b"NaN", b"-Infinity", b"1e400", b"null", b"PK",
    b"9" * 30, b"9" * 5000, b"1" * 20000 + b"x", b"[" * 5000,
    b'{"a":' * 3000, b"\\ud800", b"\\u0000",
    b'"bounds": [0, 0, 1e400, 1]', b'"bounds": [1' + b"0" * 400 + b", 0, 1, 1]",
)  # fmt: skip


def mutate_bytes(data: bytes, rng: Random, seeds: list[bytes]) -> bytes:
    """A few small accidents: flips, cuts, repeats, tokens, a splice with another seed."""
    out = bytearray(data)
    for _ in range(1 + min(rng.getrandbits(2), rng.getrandbits(2))):
        at = rng.randrange(len(out) + 1)
        end = min(len(out), at + 1 + rng.randrange(1 << rng.randrange(1, 8)))
        choice = rng.randrange(8)
        if choice == 0 and at < len(out):
            out[at] ^= 1 << rng.randrange(8)
        elif choice == 1 and at < len(out):
            out[at] = rng.randrange(256)
        elif choice == 2:
            del out[at:end]
        elif choice == 3:
            out[at:at] = out[at:end] * rng.randrange(1, 9)
        elif choice in (4, 5):
            out[at : at if choice == 4 else end] = rng.choice(TOKENS)
        elif choice == 6:
            other = rng.choice(seeds)
            begin = rng.randrange(len(other) + 1)
            out[at:end] = other[begin : begin + rng.randrange(1, 200)]
        else:
            out[at:end] = str(rng.choice(ODD_VALUES)).encode("utf-8", "replace")
    return bytes(out[:MOST_BYTES])


def mutate_json(value: Any, rng: Random) -> Any:
    """The value with a node changed, left out, doubled, wrapped, or put elsewhere."""
    nodes: list[tuple[Any, Any]] = []
    stack = [value] if isinstance(value, dict | list) else []
    while stack:
        node = stack.pop()
        pairs = node.items() if isinstance(node, dict) else enumerate(node)
        for key, child in pairs:
            nodes.append((node, key))
            if isinstance(child, dict | list):
                stack.append(child)
    if not nodes:
        return copy.deepcopy(rng.choice(ODD_VALUES))
    parent, key = rng.choice(nodes)
    child, choice = parent[key], rng.randrange(9)
    if choice == 0:
        del parent[key]
    elif choice == 1 and isinstance(parent, list):
        parent.insert(key, child)
    elif choice == 2:
        parent[key] = [child]
    elif choice == 3:
        other, name = rng.choice(nodes)
        parent[key] = json.loads(json.dumps(other[name])) if name in _keys(other) else None
    elif choice in (4, 5) and isinstance(child, int | float):
        parent[key] = _near(child, rng)
    elif choice == 6 and isinstance(child, list):
        parent[key] = child * rng.choice((0, 2, 5)) if len(child) < 100 else child[::-1]
    elif choice == 7 and isinstance(parent, dict):
        parent[str(rng.choice(("x", "conics", "tiles", "halfspaces", "geodp")))] = child
    else:
        # a copy: it may be changed in its turn, or put into itself
        parent[key] = copy.deepcopy(rng.choice(ODD_VALUES))
    return value


def _keys(node: Any) -> Any:
    return node if isinstance(node, dict) else range(len(node))


def _near(number: float, rng: Random) -> float:
    if abs(number) > 1e300:
        return -number
    if rng.getrandbits(1):
        return number + rng.choice((-1, 1, 0.5, 1e-9, 100))
    return number * rng.choice((-1, 2, 0.1, 1e6, 1e-6))


def mutate_text(data: bytes, rng: Random, seeds: list[bytes]) -> bytes:
    """As JSON if it is JSON, else as bytes."""
    if rng.randrange(3):
        try:
            value = json.loads(data)
            for _ in range(1 + rng.getrandbits(1)):
                value = mutate_json(value, rng)
            return json.dumps(value).encode()[:MOST_BYTES]
        except (ValueError, RecursionError):
            pass
    return mutate_bytes(data, rng, seeds)
