"""The version, as :mod:`learners.version` has it."""

from learners.version import __version__ as __version__
