"""Reads files strictly and writes them whole: examples, sessions, runs, shapes.  Free of Qt."""
