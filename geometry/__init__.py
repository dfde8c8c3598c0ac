"""Exact geometry of the grid and its dual plane; knows no noise and no window."""
