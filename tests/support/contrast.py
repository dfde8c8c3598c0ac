"""How well colours stand apart for the eye, by WCAG 2.2."""

from geodp_app.palette import parse_colour


def luminance(colour: str) -> float:
    """Relative luminance, 0..1 (WCAG 2.2)."""
    channels = (c / 255 for c in parse_colour(colour))
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a: str, b: str) -> float:
    """Contrast ratio of two colours, 1..21 (WCAG 2.2): 4.5 for words, 3 for marks."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)
