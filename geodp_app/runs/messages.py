"""Messages over a pipe: pickled values, with large arrays sent as they lie in memory.

Pickling a million examples copies 17 MB in one piece of compiled code that holds the
interpreter's lock: a frame of the window.  So large buffers stay out of the pickle (its protocol
5) and go over the pipe by themselves, in writes that release the lock.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: Buffers of fewer bytes stay inside the pickle.
_LARGE = 1 << 16


def send(pipe: Connection[Any, Any], value: object) -> None:
    """Send one value.

    Raises
    ------
    OSError
        If the other end is gone.
    """
    buffers: list[memoryview] = []

    def keep_inside(buffer: pickle.PickleBuffer) -> bool:
        view = buffer.raw()
        if view.nbytes < _LARGE:
            return True
        buffers.append(view)
        return False

    text = pickle.dumps(value, protocol=5, buffer_callback=keep_inside)
    pipe.send_bytes(len(buffers).to_bytes(8, "little") + text)
    for buffer in buffers:
        pipe.send_bytes(buffer)


def receive(pipe: Connection[Any, Any]) -> Any:
    """The next value; waits for it.

    Raises
    ------
    EOFError, OSError
        If the other end is gone.
    """
    message = pipe.recv_bytes()
    # a copy that may be written to, as arrays may
    buffers = [bytearray(pipe.recv_bytes()) for _ in range(int.from_bytes(message[:8], "little"))]
    return pickle.loads(message[8:], buffers=buffers)
