"""Two windows and a command at once, on one session and one ledger.

    QT_QPA_PLATFORM=offscreen python benchmarks/together.py [--rounds 12]

Each window opens the same session with imported examples, runs a learner, saves over the other's
file and opens it anew, round after round; a command learns from the same ledger meanwhile.  Its
budget is less than they ask for together.  Then: nothing raised or waited for ever; the session
opens; the ledger has every run once, all that was released is in it, and the budget is kept.
Exit status 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from soak import Soak

from geodp_app.document.examples import Frame
from geodp_app.document.work import RunSettings, Work
from geodp_app.drawing.shapes import Drawing
from geodp_app.files.ledger import Ledger
from geodp_app.files.points import format_examples, read_examples
from geodp_app.files.session import load_session, save_session
from learners.privacy.several_runs import Budget

GRID, EACH = 64, 0.125


def window(folder: Path, number: int, rounds: int) -> None:
    """One of the windows: prints what came of its rounds."""
    soak = Soak(folder / f"window{number}", number, 300.0)
    view, released = soak.window, 0
    result: list[str] = []
    view.runs.announced.connect(result.append)
    for _ in range(rounds):
        if not view.files.open(folder / "work.geodp"):
            continue
        view.runs.reset()
        soak._act("run")
        soak.turn(0.05)
        soak.wait(lambda: not view.runs.busy)
        log = view.runs.current
        released += log is not None and log.release is not None
        view.files.save_to(folder / "work.geodp")
    soak.close()
    outcome = {"released": released, "complaints": soak.complaints, "raised": soak.raised}
    print(json.dumps({**outcome, "told": sorted(set(result))}))


def command(folder: Path, rounds: int) -> None:
    """The command, again and again."""
    argv = [sys.executable, "-m", "geodp_app", "learn", "rows.csv", "-o", "learned.geojson"]
    argv += ["--learner", "tiles", "--tiles", "2", "--epsilon", str(EACH), "--quiet"]
    codes = [
        subprocess.run(argv, cwd=folder, capture_output=True, check=False).returncode
        for _ in range(rounds)
    ]
    print(json.dumps({"released": codes.count(0), "raised": [c for c in codes if c not in (0, 2)]}))


def prepare(folder: Path, budget: float) -> Ledger:
    """A session of imported examples, their file, and a ledger beside them."""
    rows = "".join(f"{i % 60},{i % 64},{int(i % 60 < 30)}\n" for i in range(400))
    (folder / "rows.csv").write_text(f"x,y,label\n{rows}")
    ledger = Ledger.create(folder / "geodp.ledger", budget=Budget(budget, 1e-5))
    examples = read_examples(folder / "rows.csv", fallback=Frame(GRID))
    (folder / "rows.csv").write_text(format_examples(examples))
    run = RunSettings("tiles", epsilon=EACH, tiles=2, n_steps=2)
    work = Work(
        "rows",
        Drawing(GRID),
        examples=examples,
        simulated=False,
        run=run,
        ledger=str(ledger.path),
    )
    save_session(folder / "work.geodp", work, None)
    return ledger


def main() -> int:
    """Run them and report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part == "command":
        command(options.folder, options.rounds)
        return 0
    if options.part:
        window(options.folder, int(options.part), options.rounds)
        return 0
    with tempfile.TemporaryDirectory(prefix="geodp-together-") as name:
        folder = Path(name)
        # room for two thirds of the runs
        ledger = prepare(folder, EACH * (2 * options.rounds))
        parts = [
            subprocess.Popen(
                [sys.executable, __file__, "--rounds", str(options.rounds),
                 "--part", part, "--folder", name],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )
            for part in ("1", "2", "command")
        ]  # fmt: skip
        said = [part.communicate()[0] for part in parts]
        for part, text in zip(("window 1", "window 2", "command"), said, strict=True):
            print(f"{part}: {text.strip()}")
        outcomes = [json.loads(text or '{"released": 0, "raised": ["ended early"]}')
                    for text in said]  # fmt: skip
        state = ledger.state()
        work, _ = load_session(folder / "work.geodp")
        released = sum(outcome["released"] for outcome in outcomes)
        entered = [entry for entry in state.entries if entry.end == "released"]
        spent = state.together[0]
        print(
            f"{len(state.entries)} runs entered, {len(entered)} released, {released} seen; "
            f"epsilon {spent:g} of {EACH * 2 * options.rounds:g}; "
            f"the session has {len(work.spent)} charges"
        )
        good = (
            not any(outcome["raised"] for outcome in outcomes)
            and released == len(entered)
            and spent <= EACH * 2 * options.rounds
            and len({entry.run for entry in state.entries}) == len(state.entries)
            and work.examples is not None
        )
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
