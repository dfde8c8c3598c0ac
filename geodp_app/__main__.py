"""Starts the command `geodp`; `python -m geodp_app` is the same."""

import sys

from geodp_app.cli import start as main

if __name__ == "__main__":
    sys.exit(main())
