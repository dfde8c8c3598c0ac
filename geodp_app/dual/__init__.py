"""Computes what the dual plane shows, as arrays: lines, densities, boxes, cells.  Free of Qt."""
