"""Settings that suit the bundled examples: public, as the targets are."""

from __future__ import annotations

#: Grid size on which the examples were tried.
EXAMPLE_GRID = 1024

#: k and the number of steps with which the union learner does well on each example.
EXAMPLE_SETTINGS: dict[str, tuple[int, int]] = {
    "flood": (12, 24), "fire": (12, 24), "letters": (14, 28),
    "croatia": (12, 24), "switzerland": (10, 20), "italy": (14, 28),
    "tri": (1, 1), "L": (2, 6), "star": (5, 15), "three": (4, 12),
}  # fmt: skip
