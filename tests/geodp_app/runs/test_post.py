"""Threads tell while windows close: nothing of Qt that is deleted is touched by them."""

from __future__ import annotations

import subprocess
import sys

_WINDOWS = """
import threading
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMainWindow, QWidget
from geodp_app.runs.task_process import again
from geodp_app.views.window.app import make_application
from geodp_app.views.run import run_controller, tasks

class Talker:
    # a link whose process says a lot, and still does so for a while when it is ended
    pid = exit_code = None

    def __init__(self, receive, entry=None):
        self.receive, self.over = receive, False
        threading.Thread(target=self.talk, daemon=True).start()

    def talk(self):
        while not self.over:
            self.receive(self, None)
        for _ in range(200):
            self.receive(self, None)

    def send(self, request):
        pass

    def kill(self):
        self.over = True

    def join(self, seconds):
        return True

class Window(QMainWindow):
    def __init__(self):
        super().__init__()
        run_controller.RunController(self)
        self.again = tasks.OneTask(again, self)
        for _ in range(50):
            QWidget(self)

    def event(self, event):
        return super().event(event)

tasks.ProcessLink = Talker
application = make_application(offscreen=True)
for _ in range(20):
    window = Window()
    window.show()
    window.again.start(None)
    QTest.qWait(1)
    window.again.drop()
    window.deleteLater()
    del window
    QTest.qWait(1)
print("closed")
"""


def test_windows_close_while_links_tell() -> None:
    said = subprocess.run([sys.executable, "-c", _WINDOWS], capture_output=True, text=True)
    assert (said.returncode, said.stdout) == (0, "closed\n"), said.stderr[:2000]
