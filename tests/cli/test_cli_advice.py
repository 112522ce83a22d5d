"""What ``gpuexplorer run`` advises below its figures."""

from __future__ import annotations

import io
import json
from pathlib import Path

from rich.console import Console

from gpuexplorer.analysis.advice.advice import Advice
from gpuexplorer.cli.summary import print_advice
from gpuexplorer.core.change import Change
from tests.support.cli import run_cli


def printed(*advice: Advice) -> str:
    stream = io.StringIO()
    print_advice(advice, Console(file=stream, width=100))
    return stream.getvalue()


def test_each_advice_ends_with_the_options_to_try() -> None:
    found = Advice(
        rule="made", kind="speed", title="Rows are short", evidence="8 of 16 lanes", saves=0.5,
        section="Made", change=Change(block=(32, 8, 1), tunables={"TILE": 32}),
    )  # fmt: skip
    text = printed(found)
    assert "Rows are short. 8 of 16 lanes. Try --block 32x8 --set TILE=32." in text


def test_without_advice_nothing_is_said() -> None:
    assert printed() == ""


def test_where_a_run_stands_under_the_roof_is_no_fault() -> None:
    place = Advice(
        rule="roof", kind="place", title="Memory-bound", evidence="90 % of the roof", saves=0.0,
        section="Made",
    )  # fmt: skip
    text = printed(place)
    assert "Memory-bound. 90 % of the roof." in text


def test_a_run_ends_with_advice_and_its_document_stays_alone(tmp_path: Path) -> None:
    run = ("run", "matmul", "--variant", "naive", "--size", "33", "--block", "32x32",
           "--device", "opencl:0", "--seconds", "0.05")  # fmt: skip
    done = run_cli(*run, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    words = " ".join(done.stdout.split())
    assert "73 % of the threads have no element to work on." in words
    assert "2 tiles of 32 cover 64 of N = 33." in words
    assert "Try --block" in words
    document = run_cli(*run, "--json", "-", cwd=tmp_path)
    assert json.loads(document.stdout)["config"]["block"] == [32, 32, 1]
