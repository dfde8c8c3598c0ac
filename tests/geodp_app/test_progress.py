"""What a command tells on the way: the bar, and that loops are being compiled."""

import importlib
import io
import os
import re
import time
from pathlib import Path

import pytest
from terminal import geodp, started

from geodp_app.progress import COMPILING, ProgressBar, long_run, telling_of_compiling


@pytest.fixture
def points(write) -> Path:
    """Some examples in a file."""
    rows = "\n".join(f"{x},{y},{int(x < 20)}" for x in range(40) for y in range(40))
    path: Path = write("p.csv", f"x,y,label\n{rows}\n")
    return path


class Terminal(io.StringIO):
    """A text stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def test_the_bar_is_drawn_on_a_terminal_and_wiped():
    stream = Terminal()
    with ProgressBar(stream=stream) as bar:
        bar.update(0.5, "step 2 of 2")
        bar.update(1.0, "too soon after the last")
    text = stream.getvalue()
    assert text.startswith("\r[############............] step 2 of 2, 0 s")
    assert "too soon" not in text
    assert text.rsplit("\r", 2)[1].strip() == ""


def test_there_is_no_bar_in_a_pipe_or_when_quiet():
    for stream, quiet in ((io.StringIO(), False), (Terminal(), True)):
        with ProgressBar(quiet=quiet, stream=stream) as bar:
            bar.update(0.5, "step")
        assert stream.getvalue() == ""


def test_lines_are_for_programs_and_said_once():
    stream = io.StringIO()
    with ProgressBar(stream=stream, lines=True) as bar:
        for share in (0.5, 0.5, 2.0):
            bar.update(share, "step 2 of 2")
            time.sleep(0.11)  # no more often
    assert stream.getvalue() == "progress 0.500 step 2 of 2\nprogress 1.000 step 2 of 2\n"


def test_a_run_says_in_lines_how_far_it_is_and_nothing_private(points, tmp_path, capsys):
    argv = ["learn", points, "--tiles", 3, "--seed", 1, "--progress", "-o", tmp_path / "l.geojson"]
    assert geodp(*argv) == 0
    said = [each for each in capsys.readouterr().err.splitlines() if each.startswith("progress")]
    assert said[0] == "progress 0.000 planning"
    assert all(
        re.fullmatch(r"progress [01]\.\d{3} (planning|step \d+( of 9)?)", each) for each in said
    )


# -- compiling ---------------------------------------------------------------------------------


def test_compiling_is_told_once_at_a_terminal_alone_and_then_counted(tmp_path, monkeypatch):
    from geometry.compiled_loops import njit
    from learners.envelope import compiled_beside

    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    beside = []

    class Process:
        stdout = ()

        def __init__(self, command, **_):
            beside.append(command[-1])

    monkeypatch.setattr(compiled_beside.subprocess, "Popen", Process)

    def compiled(name) -> None:
        (tmp_path / f"{name}.py").write_text("def more(x):\n    return x + 1\n")
        monkeypatch.syspath_prepend(tmp_path)
        njit(cache=True)(importlib.import_module(name).more)(1)

    streams = ((io.StringIO(), False), (Terminal(), False), (Terminal(), True))
    for i, (stream, quiet) in enumerate(streams):
        with ProgressBar(stream=stream, quiet=quiet) as bar, telling_of_compiling(bar):
            compiled(f"first_{i}")
            time.sleep(0.15)  # a bar is not drawn more often
            compiled(f"second_{i}")
        compiled(f"third_{i}")  # nobody listens any more
        shown = stream.getvalue()
        outcome = stream.isatty() and not quiet
        assert shown.count(COMPILING) == outcome
        assert ("compiling, 2 loops done" in shown) == outcome
        assert shown.startswith(f"{COMPILING}\n") == outcome
    stream = io.StringIO()  # nor in lines for a program, which may keep them
    with ProgressBar(stream=stream, lines=True) as bar, telling_of_compiling(bar):
        compiled("fourth")
    assert stream.getvalue() == ""
    # each time a second process is asked to help
    assert beside == ["geodp_app.runs.warm_up"] * 4


def test_loops_that_are_compiled_are_no_news(points, tmp_path, capfd):
    argv = ["learn", points, "--tiles", 2, "-o", tmp_path / "l.geojson"]
    assert geodp(*argv) == 0
    capfd.readouterr()
    assert "compiling" not in started(*argv, check=True).stderr


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["learn", "compare", "shot"])
def test_what_a_pipe_holds_does_not_say_that_loops_were_compiled(points, tmp_path, verb):
    options = {
        "learn": [points, "--tiles", 2, "-o", tmp_path / "l.geojson"],
        "compare": [points, "--learners", "tiles"],
        "shot": ["--example", "tri", "--n", 500, "-o", tmp_path / "w.png"],
    }[verb]
    empty = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = started(verb, *options, check=True, env=empty)
    assert "compiling" not in done.stderr


def test_edges_drawn_again_are_counted_but_of_one_triangle_alone_none_are() -> None:
    told = {k: long_run({"k": k, "n_steps": 999, "finish": "sharpen"}) for k in (1, 2)}
    assert not told[1]
    assert "about 3,996 draws" in told[2]
