"""The curve of an audit's bounds as an SVG picture."""

from __future__ import annotations

import math
from html import escape

from learners.audit import Audit

_WIDTH, _HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 20, 40, 50
_TEXT = 'font-family="sans-serif" font-size="12" fill="#333"'


def plot_svg(found: Audit, title: str) -> str:
    """Lower bound of epsilon against the number of tested runs, and the claim as a dashed line.

    Parameters
    ----------
    found : Audit
    title : str

    Returns
    -------
    str
        A whole SVG file.
    """
    highest = max(found.epsilon, *(bound for _, bound in found.curve)) * 1.15
    most = max(2, found.runs)

    def across(runs: int) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * math.log(runs) / math.log(most)

    def up(epsilon: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * epsilon / highest

    curve = " ".join(f"{across(runs):.1f},{up(bound):.1f}" for runs, bound in found.curve)
    left, right, bottom = _LEFT, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    claim = up(found.epsilon)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text x="{left}" y="22" {_TEXT}>{escape(title)}</text>',
        f'<path d="M{left} {_TOP}V{bottom}H{right}" fill="none" stroke="#333"/>',
        f'<path d="M{left} {claim:.1f}H{right}" stroke="#b2182b" stroke-dasharray="6 4"/>',
        f'<text x="{left + 6}" y="{claim - 6:.1f}" {_TEXT}>claim: {found.epsilon:g}</text>',
        f'<polyline points="{curve}" fill="none" stroke="#2166ac" stroke-width="2"/>',
        f'<text x="{right}" y="{up(found.lower) - 6:.1f}" text-anchor="end" {_TEXT}>'
        f"bound: {found.lower:.3f}</text>",
    ]
    for runs in sorted({1, *(10**i for i in range(1, 9) if 10**i <= most), most}):
        if runs == most or most / runs > 2:
            parts.append(
                f'<text x="{across(runs):.1f}" y="{bottom + 16}" text-anchor="middle" {_TEXT}>'
                f"{runs:,}</text>"
            )
    for tick in (0.0, highest / 2, highest):
        parts.append(
            f'<text x="{left - 6}" y="{up(tick) + 4:.1f}" text-anchor="end" {_TEXT}>'
            f"{tick:.2f}</text>"
        )
    parts.append(
        f'<text x="{(left + right) / 2:.0f}" y="{_HEIGHT - 12}" text-anchor="middle" {_TEXT}>'
        "tested runs on each sample (logarithmic); epsilon in nats</text>"
    )
    return "\n".join([*parts, "</svg>", ""])
