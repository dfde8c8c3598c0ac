"""The verbs of the command line, and what parses their options."""

from __future__ import annotations

import argparse
import sys
from typing import Any, NoReturn

from geometry.errors import InputError

#: Help text that keeps its line breaks.
RawHelp = argparse.RawDescriptionHelpFormatter


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage and exiting."""
        if message.startswith("unrecognized arguments: ") and " -" not in message:
            message += "; several values of an option have commas between them, without spaces"
        raise InputError(f"{message} (see {self.prog} --help)")

    def _print_message(self, message: str, file: Any = None) -> None:
        if message:  # as argparse does it, but for failures, of which it says nothing
            (file or sys.stderr).write(message)
