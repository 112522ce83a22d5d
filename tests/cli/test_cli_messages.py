"""How errors are said."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from gpuexplorer.cli.messages import DETAIL_LINES, report, shorten
from gpuexplorer.cli.streams import prepare_streams
from gpuexplorer.core.errors import CannotRunHere, InputError, WorkFailed
from tests.support.cli import run_cli


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


def test_a_terminal_without_our_letters_gets_plain_ones() -> None:
    prepare_streams()
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="gpuexplorer")
    stream.write("12 µs ± 2 % · 16×16 → ✓ ∞ é 日")
    stream.flush()
    said = stream.detach().getvalue()
    assert said == rb"12 us +- 2 % | 16x16 -> ok inf \xe9 \u65e5"


@pytest.mark.parametrize(
    "closed", [(0,), (0, 1, 2), *(pytest.param((one,), marks=pytest.mark.long) for one in (1, 2))]
)
def test_closed_standard_streams_do_no_harm(closed: tuple[int, ...], tmp_path: Path) -> None:
    def close() -> None:
        for descriptor in closed:
            os.close(descriptor)

    done = run_cli(
        "run", "matmul", "--size", "16", "--seconds", "0.1", "--json", "out.json",
        cwd=tmp_path, before=close,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.json").stat().st_size > 1000
