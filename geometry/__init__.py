"""Exact geometry of the grid and its dual plane; knows no noise and no window."""

from geometry.compile_cache import ensure_cache

ensure_cache()
