"""How errors are said."""

from __future__ import annotations

import pytest

from gpuexplorer.cli.messages import DETAIL_LINES, report, shorten
from gpuexplorer.core.errors import CannotRunHere, InputError, WorkFailed


def test_an_error_is_one_line_with_its_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(InputError("no such\nthing", remedy="look again")) == 2
    assert capsys.readouterr().err == "gpuexplorer: error: no such thing; look again\n"
    assert report(CannotRunHere("nothing here")) == 3


def test_an_unexpected_error_is_said_too_and_traced_only_when_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert report(KeyError("k")) == 1
    err = capsys.readouterr().err
    assert "internal error: KeyError: 'k'" in err
    assert err.count("\n") == 1
    report(KeyError("k"), verbose=True)
    assert "KeyError" in capsys.readouterr().err.split("\n", 1)[1]


def test_a_compilers_log_is_cut_to_what_tells() -> None:
    log = [f"note {i}" for i in range(40)]
    log[20:20] = ["kernel.cu(7): error: identifier is undefined", "    x = y;", "        ^"]
    short = shorten("\n".join(log))
    assert short[:3] == log[20:23]
    assert short[-1] == "... 40 more lines, shown with -v"
    assert shorten("one\ntwo") == ["one", "two"]
    assert len(shorten("\n".join(["error"] * 100))) == DETAIL_LINES + 1


def test_the_detail_stands_below_the_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(WorkFailed("does not compile", detail="kernel.cu:3: error: no")) == 1
    assert capsys.readouterr().err.splitlines() == [
        "gpuexplorer: error: does not compile",
        "  kernel.cu:3: error: no",
    ]
