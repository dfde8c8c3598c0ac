"""What commands say can be read in any terminal, whatever its letters are, and at any numbers."""

from __future__ import annotations

import io
import json
import sys

import pytest
from terminal import geodp

from geodp_app.commands.parser import VERBS
from learners.theory.theorems import THEOREMS


def said(monkeypatch: pytest.MonkeyPatch, encoding: str, *argv: object) -> tuple[int, str]:
    """The exit code, and what is read of a terminal of that encoding."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
    for name, stream in zip(("stdout", "stderr"), streams, strict=True):
        monkeypatch.setattr(sys, name, stream)
    code = geodp(*argv)
    for stream in streams:
        stream.flush()
    written = b"".join(stream.buffer.getvalue() for stream in streams)  # type: ignore[attr-defined]
    return code, written.decode(encoding)


ENCODINGS = ("cp437", "cp1252", "ascii", "utf-8")
#: The verb of the most letters in all of them, the others by turns.
HELP = [("learn", encoding) for encoding in ENCODINGS]
HELP += [(verb, ENCODINGS[i % 4]) for i, verb in enumerate(VERBS) if verb != "learn"]


@pytest.mark.parametrize(("verb", "encoding"), HELP)
def test_help_is_read_in_any_terminal(monkeypatch, verb, encoding):
    code, text = said(monkeypatch, encoding, verb, "--help")
    assert code == 0
    assert text.startswith("usage: geodp")
    if verb == "learn":
        assert ("\u03b5" if encoding in ("utf-8", "cp437") else "epsilon") in text
        assert "?" not in text


@pytest.mark.parametrize("encoding", ENCODINGS[1:3])
@pytest.mark.parametrize(
    "argv",
    [
        ["plan", "--alpha", 0.01], ["plan", "--learner", "cover", "--k", 2], ["plan", "--theorems"],
        ["plan", "--learner", "cover"], ["learners"], ["learners", "--markdown"],
        ["learn", "\u65e5.csv"],
    ],
)  # fmt: skip
def test_output_is_read_in_any_terminal(monkeypatch, encoding, argv):
    code, text = said(monkeypatch, encoding, *argv)
    assert code == (2 if argv[0] == "learn" else 0)
    assert text


LEARNERS = [
    ("tiles", []), ("cover", ["--k", 1]), ("cover", ["--k", 30]), ("convex-cover", ["--k", 3]),
    ("discs", ["--k", 2]), ("threshold", []), ("stability", []), ("cover", []), ("convex", []),
]  # fmt: skip
EXTREMES = [
    {"epsilon": 1e6, "alpha": 1e-300}, {"epsilon": 1e6}, {"epsilon": 1e300, "n": 100},
    {"epsilon": 1e-300}, {"alpha": 1e-320}, {"alpha": 1 - 1e-16}, {"beta": 1e-320},
    {"n": 10**30}, {"n": 10**400}, {"delta": 1 - 1e-16}, {"delta": 1e-320},
]  # fmt: skip


def check(capsys: pytest.CaptureFixture[str], argv: list[object]) -> None:
    """An answer in finite numbers, or one line that says why there is none."""
    code = geodp(*argv)
    out, err = capsys.readouterr()
    outcome = [line for line in err.splitlines() if not line.startswith("geodp: warning")]
    assert code in (0, 2), argv
    assert len(outcome) == (code == 2), argv
    assert not {"nan", "inf"} & set(out.split()), argv
    if code == 0 and "--json" in argv:
        json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} in {argv}"))


@pytest.mark.parametrize(("learner", "k"), LEARNERS, ids=lambda one: "".join(map(str, one)))
def test_plans_at_extreme_numbers(capsys, learner, k):
    for number, extreme in enumerate(EXTREMES):
        taken = {n: v for n, v in extreme.items() if not (n == "beta" and learner == "stability")}
        options = [one for name, value in taken.items() for one in (f"--{name}", value)]
        more = ["--json"] if (number + LEARNERS.index((learner, k))) % 2 else []
        check(capsys, ["plan", "--learner", learner, *k, *options, *more])


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda one: one.name)
def test_theorems_at_extreme_numbers(capsys: pytest.CaptureFixture[str], theorem: object) -> None:
    given = {"k": 3, "d": 8, "size": 100, "vc": 3, "experts": 5, "queries": 100, "halts": 3}
    given |= {"stable": 1}
    needs = {name: value for name, value in given.items() if name in theorem.needs}  # type: ignore[attr-defined]
    for extreme in EXTREMES:
        options = [one for pair in (needs | extreme).items() for one in (f"--{pair[0]}", pair[1])]
        check(capsys, ["plan", "--theorem", theorem.name, *options])  # type: ignore[attr-defined]
