"""Starts a learner's process and exchanges messages with it over a pipe: requests go in without
waiting, replies call back.

Two threads do what may block: one starts the process and reads its replies, the other writes
requests.  Neither computes anything.  Free of Qt, but not its owners: a link is let go of by the
thread that makes links, which is theirs, and never by its own.

Messages are pickled values.  Pickling a million examples copies 17 MB in one piece of compiled code
that holds the interpreter's lock: a frame of the window.  So large buffers stay out of the pickle
(its protocol 5) and go over the pipe by themselves, in writes that release the lock.
"""

from __future__ import annotations

import multiprocessing
import pickle
import threading
from collections.abc import Callable
from multiprocessing.context import SpawnProcess
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: Buffers of fewer bytes stay inside the pickle.
_LARGE = 1 << 16


def send(pipe: Connection[Any, Any], value: object) -> None:
    """Send one value.  Raises OSError if the other end is gone."""
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
    """The next value; waits for it.  Raises EOFError, OSError if the other end is gone."""
    message = pipe.recv_bytes()
    # a copy that may be written to, as arrays may
    buffers = [bytearray(pipe.recv_bytes()) for _ in range(int.from_bytes(message[:8], "little"))]
    return pickle.loads(message[8:], buffers=buffers)


#: Links whose threads may still run.  If a link's own thread dropped the last reference to it, what
#: Qt keeps for slots of its owner would be cleared there: Qt's locks and the interpreter's would be
#: taken in the other order than in the window's thread, and both threads might wait for ever.
_KEPT: set[ProcessLink] = set()


class ProcessLink:
    """One process, from its start to its end.

    `receive`: called from a thread with this link and every reply, and at last with None when the
    process has ended, whoever ended it.  `entry`: what runs in the process, given its end of the
    pipe; of a module that can be imported.
    """

    def __init__(
        self,
        receive: Callable[[ProcessLink, Any], None],
        entry: Callable[[Connection[Any, Any]], None],
    ) -> None:
        self._receive = receive
        self._entry = entry
        self._requests: SimpleQueue[object | None] = SimpleQueue()
        self._process: SpawnProcess | None = None
        self._unwanted = False
        self._reader = threading.Thread(target=self._live, name="geodp-replies", daemon=True)
        self._writer: threading.Thread | None = None
        _KEPT.difference_update([link for link in _KEPT if link.ended])
        _KEPT.add(self)
        self._reader.start()

    @property
    def ended(self) -> bool:
        """Whether none of its threads runs any more."""
        writer = self._writer
        return not (self._reader.is_alive() or (writer is not None and writer.is_alive()))

    def send(self, request: object) -> None:
        """Put a request on its way; never waits.  Without a process it is lost."""
        self._requests.put(request)

    def kill(self) -> None:
        """End the process at once; never waits."""
        self._unwanted = True
        process = self._process
        if process is not None:
            process.kill()

    def join(self, seconds: float) -> bool:
        """Wait for the end of a process that was killed; whether it came in time."""
        self._reader.join(seconds)
        return not self._reader.is_alive()

    @property
    def pid(self) -> int | None:
        """The process's number, once it has started."""
        return None if self._process is None else self._process.pid

    @property
    def exit_code(self) -> int | None:
        """How the process ended: negative for a signal; None before, or if it never started."""
        return None if self._process is None else self._process.exitcode

    def _live(self) -> None:
        try:
            self._serve()
        finally:
            self._requests.put(None)
            self._receive(self, None)

    def _serve(self) -> None:
        # spawn: a fork of a process with threads and a window is not safe
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(
            target=self._entry, args=(there,), name="geodp-learner", daemon=True
        )
        try:
            process.start()
        except OSError:
            return  # no room for another process
        finally:
            there.close()
        self._process = process
        if self._unwanted:
            process.kill()
        self._writer = threading.Thread(
            target=self._write, args=(here,), name="geodp-requests", daemon=True
        )
        self._writer.start()
        try:
            while True:
                self._receive(self, receive(here))
        except (EOFError, OSError):
            pass
        finally:
            process.kill()
            process.join()

    def _write(self, pipe: Connection[Any, Any]) -> None:
        try:
            while (request := self._requests.get()) is not None:
                send(pipe, request)
        except OSError:
            pass  # the process has ended; the reader tells
        finally:
            pipe.close()
