"""The window at work for a long time: memory, handles and objects after so many operations.

    QT_QPA_PLATFORM=offscreen python benchmarks/soak.py [--operations 2000] [--seed 1] [--json]
    QT_QPA_PLATFORM=offscreen python benchmarks/soak.py --repeat 200 --operations 24

A script in the hands of chance draws, edits, undoes, samples, runs and steps learners, cancels,
zooms, changes views and themes, saves, opens, exports, and opens and closes the window that
compares learners.  It takes the tour, reads the theorem, asks about points, looks at one report,
draws the same run again and again, and keeps ledgers of imported examples.  Four times on the way
everything comes to rest and is counted.  Exit status 1 if from the first count to the last memory
grows by more than --most-mib, or file descriptors, threads, child processes or Qt objects grow, or
if an operation raises.

With --repeat so many short runs, each in a process of its own and with a seed of its own, are
watched from outside, with Python's fault handler on: one that ends by a signal, or without its last
line, ended early.  None of N bounds how probable that is by 1 - 0.05^(1/N), at confidence 95 %.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QPoint, QStandardPaths, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QMessageBox

from geodp_app.document.work import Work
from geodp_app.drawing.editor import TOOLS
from geodp_app.drawing.shapes import Drawing
from geodp_app.files.document_files import export_examples, export_target
from geodp_app.files.ledger import Ledger
from geodp_app.palette import load_palette
from geodp_app.views.window.app import make_application
from geodp_app.views.window.main_window import MainWindow

GRID = 64
#: Seconds that a step of a learner may take on a busy machine.
PATIENCE = 120.0
_LEFT, _NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
_VIEWS = ("shade_none", "shade_score", "shade_probability", "show_boxes", "release_view",
          "snapping", "vertex_table", "fit", "live", "zoom_to_streak")  # fmt: skip
_FULL_SPEED = 4
_LEARNERS = ("tiles", "threshold", "discs", "cover", "convex", "histogram", "quadtree",
             "stability", "greedy-cover")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Count:
    """What the process holds when it is at rest.

    Attributes
    ----------
    operations : int
    seconds : float
        Since the start.
    rss_mib, pss_anon_mib : float
        Resident memory; of it what is not a file's.
    descriptors, threads, children : int
    qt_objects : int
        QObjects below the window and the application.
    python_objects : int
        That the garbage collector follows.
    """

    operations: int
    seconds: float
    rss_mib: float
    anonymous_mib: float
    descriptors: int
    threads: int
    children: int
    qt_objects: int
    python_objects: int


class Soak:
    """A window and what is done with it.

    Parameters
    ----------
    folder : Path
        For its files.
    seed : int
    """

    def __init__(self, folder: Path, seed: int, patience: float = PATIENCE) -> None:
        self.patience = patience
        QStandardPaths.setTestModeEnabled(True)
        self.application = QApplication.instance() or make_application(offscreen=True)
        self.folder, self.rng = folder, random.Random(seed)
        self.window = MainWindow(load_palette("light"), recovery=folder / "recovery")
        self.window.resize(1200, 800)
        self.window.document.new(Work(drawing=Drawing(GRID)))
        self.window.show()
        self.done: Counter[str] = Counter()
        self.complaints: Counter[str] = Counter()
        self.raised: list[str] = []
        self.begun = time.perf_counter()
        self.total = 0
        # no dialog may wait for a person
        self.window.complain = lambda what, why: self.complaints.update([f"{what}: {why}"])
        self.window.files.may_discard = lambda: True
        self._hook, sys.excepthook = sys.excepthook, self._excepthook
        self._exec, QMessageBox.exec = QMessageBox.exec, lambda _: QMessageBox.StandardButton.Yes
        self._dialog, QDialog.exec = QDialog.exec, lambda dialog: self._glance(dialog)
        self.wait(lambda: self.window.runs.controller.state != "preparing")
        self.operations: dict[Callable[[], None], int] = {
            self.polygon: 4, self.rectangle: 3, self.drag: 4, self.keys: 4, self.tool: 3,
            self.undo: 6, self.redo: 2, self.sample: 3, self.settings: 3, self.step: 4,
            self.run: 2, self.cancel: 2, self.reset: 1, self.cursor: 2, self.zoom: 2,
            self.view: 5, self.theme: 1, self.save: 2, self.open: 1, self.export: 1,
            self.compare: 1, self.anew: 1, self.keep: 1, self.picture: 1, self.again: 1,
            self.ask: 3, self.hover: 2, self.tour: 1, self.theorem: 2, self.ledger: 2,
        }  # fmt: skip

    def _excepthook(self, kind: type[BaseException], error: BaseException, trace: object) -> None:
        self.raised.append("".join(traceback.format_exception(error)))

    def close(self) -> None:
        """End everything."""
        self.window.abandon()
        self.window.hide()
        self.window.deleteLater()
        self.turn()
        sys.excepthook, QMessageBox.exec = self._hook, self._exec
        QDialog.exec = self._dialog

    def _glance(self, dialog: QDialog) -> int:
        """What a person does with a dialog who only looks at it."""
        dialog.show()
        self.turn(0.05)
        dialog.reject()
        return 0

    def go(self, operations: int) -> None:
        """So many operations."""
        kinds, weights = list(self.operations), list(self.operations.values())
        for _ in range(operations):
            operation = self.rng.choices(kinds, weights)[0]
            try:
                operation()
            except Exception:
                self.raised.append(traceback.format_exc())
            self.done[operation.__name__] += 1
            self.total += 1
            self.turn()

    def turn(self, seconds: float = 0.0) -> None:
        """Let the window react, and let go of what is to be deleted."""
        end = time.perf_counter() + seconds
        while True:
            QCoreApplication.processEvents()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
            if time.perf_counter() >= end:
                return
            time.sleep(0.005)

    def wait(self, done: Callable[[], bool]) -> None:
        """Until something is true."""
        end = time.perf_counter() + self.patience
        while not done():
            if time.perf_counter() > end:
                raise TimeoutError(f"{self.total} operations: not done in {self.patience} s")
            self.turn(0.005)

    def at_rest(self) -> Count:
        """Stop what goes on, empty the document's history, count."""
        window = self.window
        window.tour.end()
        window.again.controller.drop()
        window.runs.cancel()
        self.wait(lambda: not window.runs.busy)
        window.document.new(Work(drawing=Drawing(GRID)))
        window.runs.reset()
        self.wait(lambda: window.runs.controller.state in ("ready", "finished"))
        self.turn(0.5)
        gc.collect()
        status = Path("/proc/self/status").read_text().split("\n")
        fields = dict(line.split(":", 1) for line in status if ":" in line)
        kib = {name: int(fields[name].split()[0]) for name in ("VmRSS", "RssAnon")}
        roots = [window, self.application]
        return Count(
            self.total,
            round(time.perf_counter() - self.begun, 1),
            round(kib["VmRSS"] / 1024, 1),
            round(kib["RssAnon"] / 1024, 1),
            len(os.listdir("/proc/self/fd")),
            int(fields["Threads"]),
            _children(),
            sum(1 + len(root.findChildren(QObject)) for root in roots)
            + len(QApplication.topLevelWidgets()),
            len(gc.get_objects()),
        )

    # operations

    def _spot(self) -> QPoint:
        x, y = (self.rng.uniform(0, GRID) for _ in "xy")
        return self.window.plane.to_widget(x, y).toPoint()

    def _act(self, name: str) -> None:
        action = self.window.commands.by_id[name]
        if action.isEnabled():
            action.trigger()

    def polygon(self) -> None:
        """Clicks and Enter."""
        self.window.set_tool(self.rng.choice(("polygon", "hole")))
        for _ in range(self.rng.randint(3, 6)):
            QTest.mouseClick(self.window.plane.viewport(), _LEFT, _NONE, self._spot())
        QTest.keyClick(self.window.plane, Qt.Key.Key_Return)

    def rectangle(self) -> None:
        """A drag with a drawing tool."""
        self.window.set_tool(self.rng.choice(("rectangle", "freehand", "paint")))
        self.drag()

    def drag(self) -> None:
        """Whatever the tool makes of a drag."""
        viewport = self.window.plane.viewport()
        QTest.mousePress(viewport, _LEFT, _NONE, self._spot())
        for _ in range(self.rng.randint(1, 8)):
            QTest.mouseMove(viewport, self._spot())
            self.turn()
        QTest.mouseRelease(viewport, _LEFT, _NONE, self._spot())

    def keys(self) -> None:
        """Keys on the canvas."""
        keys = (Qt.Key.Key_Escape, Qt.Key.Key_Backspace, Qt.Key.Key_Delete, Qt.Key.Key_Insert,
                Qt.Key.Key_Left, Qt.Key.Key_Up, Qt.Key.Key_Return)  # fmt: skip
        QTest.keyClick(self.window.plane, self.rng.choice(keys))

    def tool(self) -> None:
        """Another tool."""
        self.window.set_tool(self.rng.choice(TOOLS))

    def undo(self) -> None:
        """Undo."""
        self.window.undo()

    def redo(self) -> None:
        """Redo."""
        self.window.redo()

    def sample(self) -> None:
        """A small sample; of an example if nothing is drawn."""
        if not self.window.document.drawing.shapes:
            self.window.files.open_example(self.rng.choice(("tri", "L", "star")))
        self.window.document.set_sampling(n=self.rng.randint(50, 1000))
        self.window.sample()

    def settings(self) -> None:
        """Another learner and other numbers."""
        learner = self.rng.choice(_LEARNERS)
        self.window.document.set_run(
            learner=learner, k=1, n_steps=2, tiles=2, epsilon=self.rng.choice((0.5, 1.0, 4.0))
        )
        if self.window.document.drawing.grid > 256:
            self.window.document.set_grid(GRID)

    def step(self) -> None:
        """One step of a learner, waited for."""
        self.window.document.set_grid(GRID)
        self._act("step")
        self.wait(lambda: self.window.runs.controller.state not in ("selecting", "preparing"))

    def run(self) -> None:
        """A whole run."""
        self.window.document.set_grid(GRID)
        self.window.runs.set_speed(_FULL_SPEED)  # hundreds of tiles at half a second are minutes
        self._act("run")
        self.turn(0.2)
        self.wait(lambda: not self.window.runs.busy)

    def cancel(self) -> None:
        """A run, cancelled."""
        self._act("run")
        self.turn(0.05)
        self._act("stop")
        self.wait(lambda: not self.window.runs.busy)

    def reset(self) -> None:
        """Forget the run."""
        self._act("reset")

    def cursor(self) -> None:
        """Look at other steps."""
        self._act(self.rng.choice(("back", "forward")))

    def zoom(self) -> None:
        """Fit, zoom, resize."""
        self._act(self.rng.choice(("fit", "zoom_to_chosen")))
        self.window.resize(self.rng.randint(1000, 1400), self.rng.randint(700, 900))

    def view(self) -> None:
        """Shading, boxes, release view, snapping, the table of vertices."""
        self._act(self.rng.choice(_VIEWS))

    def theme(self) -> None:
        """Light or dark."""
        self._act("dark_theme")

    def save(self) -> None:
        """Save the session."""
        self.window.files.save_to(self.folder / f"{self.rng.randrange(3)}.geodp")

    def open(self) -> None:
        """Open a session."""
        path = self.folder / f"{self.rng.randrange(3)}.geodp"
        if path.exists():
            self.window.files.open(path)

    def export(self) -> None:
        """Write drawing and examples, and import one of them."""
        work = self.window.document.work
        if work.drawing.region().is_empty or work.examples is None:
            return
        export_target(self.folder / "a.geojson", work)
        export_examples(self.folder / "a.csv", work.examples)
        self.window.files.open(self.folder / self.rng.choice(("a.geojson", "a.csv")))

    def compare(self) -> None:
        """The window that compares learners, opened and closed."""
        self.window.compare_learners()
        self.turn(0.05)
        if self.window.comparison is not None:
            self.window.comparison.close()

    def again(self) -> None:
        """The same run again, some of twenty times."""
        self.window.document.set_grid(GRID)
        self._act("again")
        self.turn(self.rng.choice((0.05, 0.5)))
        if self.window.again.controller.busy:
            self._act("again")

    def ask(self) -> None:
        """Ask about a point, or look at one report."""
        self.window.set_tool(self.rng.choice(("ask", "report")))
        QTest.mouseClick(self.window.plane.viewport(), _LEFT, _NONE, self._spot())

    def hover(self) -> None:
        """The mouse over both planes."""
        for view in (self.window.plane.viewport(), self.window.dual, self.window.chart):
            for _ in range(3):
                x, y = self.rng.random() * view.width(), self.rng.random() * view.height()
                QTest.mouseMove(view, QPoint(int(x), int(y)))
                self.turn()

    def tour(self) -> None:
        """Begin the tour and go to some of its stops, or to its end."""
        self._act("tour")
        for _ in range(self.rng.randint(0, 7)):
            if self.window.tour.active:
                self.window.tour.go(self.rng.choice((1, 1, 1, -1)))
            self.turn(0.02)
        self.window.tour.end()
        self.window.document.set_grid(GRID)

    def theorem(self) -> None:
        """Another page beside the views."""
        self.window.pages.setCurrentIndex(self.rng.randrange(self.window.pages.count()))
        self.turn(0.02)

    def ledger(self) -> None:
        """Imported examples with a ledger of their own, and a run that is entered in it."""
        path = self.folder / f"{self.total}.ledger"
        (self.folder / "real.csv").write_text(
            "x,y,label\n"
            + "".join(f"{i % 60},{(i + self.total) % 64},{i % 2}\n" for i in range(100))
        )
        self.window.document.set_grid(GRID)
        if not self.window.files.open(self.folder / "real.csv"):
            return
        Ledger.create(path)
        self.window.document.set_ledger(str(path))
        self._act("ledger")
        self.window.document.set_run(learner="tiles", k=1, tiles=2, epsilon=1.0)
        self.window.runs.set_speed(_FULL_SPEED)
        self._act("run")
        self.turn(0.05)
        self._act(self.rng.choice(("stop", "fit")))
        self.wait(lambda: not self.window.runs.busy)
        entries = len(Ledger(path).state().entries)
        if entries > 1:
            raise AssertionError(f"one run was begun, the ledger has {entries}")

    def anew(self) -> None:
        """An empty document."""
        self.window.files.start_anew()
        self.window.document.set_grid(GRID)

    def keep(self) -> None:
        """The recovery file."""
        self.window.recovery.save()

    def picture(self) -> None:
        """Everything painted, and a picture written."""
        self.window.grab()
        self.window.write_picture(self.folder / self.rng.choice(("a.png", "a.svg")))


def _children() -> int:
    count = 0
    for task in os.listdir("/proc/self/task"):
        try:
            count += len(Path(f"/proc/self/task/{task}/children").read_text().split())
        except OSError:
            continue
    return count


def grown(first: Count, last: Count, most_mib: float) -> list[str]:
    """What grew from one count to another."""
    found = []
    if last.anonymous_mib > first.anonymous_mib + most_mib:
        found.append(f"memory: {first.anonymous_mib} MiB, then {last.anonymous_mib} MiB")
    for name, slack in (("descriptors", 4), ("threads", 4), ("children", 0), ("qt_objects", 20)):
        one, other = getattr(first, name), getattr(last, name)
        if other > one + slack:
            found.append(f"{name}: {one}, then {other}")
    return found


def repeated(runs: int, operations: int, seed: int, patience: float) -> int:
    """Short runs, one after the other; how many ended early is printed, and why."""
    early = raised = 0
    for done, number in enumerate(range(runs), start=1):
        command = [sys.executable, "-X", "faulthandler", __file__, "--operations", str(operations)]
        command += ["--seed", str(seed + number), "--most-mib", "100"]
        command += ["--patience", str(patience)]
        one = subprocess.run(command, capture_output=True, text=True, check=False)
        if one.returncode < 0 or '"complaints"' not in one.stdout:
            early += 1
            print(f"seed {seed + number}: ended with {one.returncode}", flush=True)
            print(one.stdout[-2000:], one.stderr[-4000:], sep="\n", flush=True)
        elif "operations raised" in one.stdout:
            # what grows in so few operations is made when it is first used
            raised += 1
            print(f"seed {seed + number}: {one.stdout.splitlines()[-1]}", flush=True)
        bound = 1 - 0.05 ** (1 / done)
        outcome = {"runs": done, "early": early, "raised": raised}
        print(json.dumps(outcome | ({} if early else {"below": round(bound, 4)})), flush=True)
    return 1 if early or raised else 0


def soaked(folder: Path, seed: int, operations: int, patience: float) -> tuple[Soak, list[Count]]:
    """A soak that came to its end, and what was counted on the way."""
    counts = []
    soak = Soak(folder, seed, patience)
    for once in (soak.compare, soak.tour, soak.theorem):  # what is made once, and kept
        once()
    for part in range(4):
        soak.go(operations * (part + 1) // 4 - soak.total)
        counts.append(soak.at_rest())
        print(json.dumps(asdict(counts[-1])), flush=True)
    soak.close()
    return soak, counts


def main() -> int:
    """Soak and report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--operations", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-mib", type=float, default=32.0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--patience", type=float, default=PATIENCE, help="seconds to wait for anything"
    )
    parser.add_argument("--repeat", type=int, metavar="N", help="so many short runs instead")
    options = parser.parse_args()
    if options.repeat:
        return repeated(options.repeat, options.operations, options.seed, options.patience)
    with tempfile.TemporaryDirectory(prefix="geodp-soak-") as name:
        try:
            soak, counts = soaked(Path(name), options.seed, options.operations, options.patience)
        except Exception:
            # while it soaks, the interpreter's own hook is the window's: nothing would be said
            print("ended early:", traceback.format_exc(), sep="\n")
            return 2
    found = grown(counts[0], counts[-1], options.most_mib)
    print(json.dumps({"done": soak.done, "complaints": soak.complaints}))
    for line in (*found, *soak.raised[:5]):
        print(line)
    if soak.raised:
        print(f"{len(soak.raised)} operations raised")
    return 1 if found or soak.raised else 0


if __name__ == "__main__":
    raise SystemExit(main())
