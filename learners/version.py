"""States the version, once; released shapes say it."""

__version__ = "0.2.0.dev0"
