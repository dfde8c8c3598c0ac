"""`python -m geodp_app` is the command `geodp`."""

import sys

from geodp_app.cli import main

if __name__ == "__main__":
    sys.exit(main())
