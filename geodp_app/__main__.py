"""`python -m geodp_app` is the command `geodp`; this is where it enters.

Importing the command takes half a second, in which Ctrl+C must end as it does later.
"""

import os
import signal
import sys


def main() -> int:
    """Import the command and run it; the exit code."""
    heard = signal.getsignal(signal.SIGINT)
    # a KeyboardInterrupt amid imports would come out as a traceback, or as another error
    if heard is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    try:
        import geodp_app.own_packages  # noqa: F401  refuses others of their names
    except ImportError as error:
        return _say(str(error))
    try:
        from geodp_app.cli import main as command
    except ImportError as error:
        from geodp_app.own_packages import overwritten

        if told := overwritten():
            return _say(f"{error}; {told}")
        raise
    signal.signal(signal.SIGINT, heard)
    return command()


def _say(message: str) -> int:
    """One line on standard error; the exit code of wrong input."""
    sys.stderr.write(f"geodp: {' '.join(message.split())}\n")
    return 2


def _leave(*_: object) -> None:
    """Nothing has begun, and nothing is to be put away."""
    os.write(2, b"geodp: cancelled; nothing was written\n")
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
