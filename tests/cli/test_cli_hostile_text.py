"""Runs of a hostile file reach terminals, tables, pages and charts without giving any order."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import xml.dom.minidom
from pathlib import Path
from typing import Any

import msgspec
import pytest

import gpuexplorer.cli
from gpuexplorer.charts.build import run_chart
from gpuexplorer.charts.render import render
from gpuexplorer.cli import main
from gpuexplorer.core.result import Origin, RunResult
from gpuexplorer.core.text import visible
from gpuexplorer.exchange.document import runs_json
from gpuexplorer.history.place import ENVIRONMENT_VARIABLE
from tests.support.cli import TIMEOUT_S, cli_command, cli_environment
from tests.support.results import made_result

EVIL = (
    "\x1b[31mred\x1b[2J\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x07\x1b]8;;http://x\x1b\\"
    "\u202egnp.exe\u2066\x9b31m\x08\r\u2028"
)
NAME = EVIL.replace("/", "").replace("\\", "")
"""No path, of which documents hold only the end."""


def marked(value: Any) -> Any:
    """Return a value with the orders in every text of it, and in the names that a user gives."""
    if isinstance(value, str):
        return value + EVIL
    if isinstance(value, dict):
        return {key + EVIL: marked(one) for key, one in value.items()}
    if isinstance(value, tuple):
        return tuple(map(marked, value))
    return value


def with_orders(part: Any, *but: str) -> Any:
    """Return part of a document with the orders in its fields, ``but`` some."""
    fields = msgspec.structs.asdict(part)
    return msgspec.structs.replace(
        part, **{name: value if name in but else marked(value) for name, value in fields.items()}
    )


def hostile(number: int) -> RunResult:
    """Return a run whose every word holds orders; the second was measured by another program."""
    result = made_result()
    config = msgspec.structs.replace(
        with_orders(result.config, "cache"), tunables={"T" + EVIL: 3}, switches={"s" + EVIL: EVIL}
    )
    timing = msgspec.structs.replace(
        with_orders(result.timing), warnings=("w" + EVIL,), suspect="u" + EVIL
    )
    where = with_orders(result.environment)
    return msgspec.structs.replace(
        result,
        id=f"abcdef12{number}",
        config=config,
        timing=timing,
        device=with_orders(result.device),
        environment=msgspec.structs.replace(where, engine=NAME, kernels=NAME),
        not_verified=EVIL,
        origin=Origin(program=EVIL, file=EVIL, what=EVIL, note=EVIL, version=EVIL)
        if number
        else None,
    )


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path / "h.sqlite"))
    monkeypatch.chdir(tmp_path)
    Path("evil.json").write_bytes(runs_json([hostile(0), hostile(1)]))
    return tmp_path


def said(capfd: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """Run a command in this process and return what it said, which orders nothing."""
    assert main(list(arguments)) == code
    out, err = capfd.readouterr()
    assert visible(out) == out, arguments
    assert visible(err) == err, arguments
    return out + err


def test_nothing_that_is_printed_orders_anything(
    history: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert "2 runs imported" in said(capfd, "import", "evil.json")
    said(capfd, "history", "note", "abcdef120", "a note" + EVIL)
    said(capfd, "history", "tag", "abcdef120", "tag\x1b]0;t\x07\u202e")
    assert "gnp.exe" in said(capfd, "history")
    assert "gnp.exe" in said(capfd, "history", "show", "abcdef120")
    said(capfd, "history", "show", "abcdef121")
    assert "gnp.exe" in said(capfd, "compare", "abcdef120", "abcdef121", "--stored")
    said(capfd, "history", "show", "1" + EVIL, code=2)
    said(capfd, "run", "w" + EVIL, code=2)
    Path("b" + EVIL.replace("/", "") + ".json").write_text("{")
    said(capfd, "import", "b" + EVIL.replace("/", "") + ".json", code=2)


def test_tables_and_pages_hold_words_and_documents_every_byte(
    history: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    said(capfd, "import", "evil.json")
    said(capfd, "history", "note", "abcdef120", "=1+1" + EVIL)
    for name, more in (("a.csv", ()), ("b.csv", ("--table", "runs")), ("c.html", ())):
        said(capfd, "export", "abcdef120", "abcdef121", name, *more)
        text = Path(name).read_text(encoding="utf-8")
        assert visible(text) == text, name
        assert "gnp.exe" in text
    said(capfd, "export", "abcdef120", "d.json")
    kept = msgspec.json.decode(Path("d.json").read_bytes(), type=RunResult)
    assert kept == hostile(0)


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_charts_are_drawn_and_hold_words(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"chart.{suffix}"
    render(run_chart(hostile(0), title="t" + EVIL), path)
    if suffix == "svg":
        text = path.read_text(encoding="utf-8")
        assert visible(text) == text
        xml.dom.minidom.parseString(text)


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is POSIX's")
def test_a_terminal_is_given_the_consoles_own_colours_and_nothing_else(history: Path) -> None:
    import pty

    subprocess.run(
        cli_command("import", "evil.json"), env=cli_environment(), check=True, capture_output=True
    )
    for command in (("history",), ("history", "show", "abcdef120"),
                    ("history", "show", "abcdef120", "--json")):  # fmt: skip
        watched, terminal = pty.openpty()
        with subprocess.Popen(
            cli_command(*command), stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal,
            env=cli_environment(TERM="xterm-256color", COLUMNS="200"),
        ) as process:  # fmt: skip
            os.close(terminal)
            seen = b""
            try:
                while part := os.read(watched, 65536):
                    seen += part
            except OSError:  # the other end is closed
                pass
            assert process.wait(TIMEOUT_S) == 0
        os.close(watched)
        text = seen.decode().replace("\r\n", "\n")
        plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
        assert visible(plain) == plain, command
        if command[-1] == "--json":
            assert json.loads(plain)["config"]["workload"].endswith(EVIL)


def test_the_command_line_prints_through_one_place() -> None:
    folder = Path(gpuexplorer.cli.__file__).parent
    for path in folder.glob("*.py"):
        if path.name in ("messages.py", "own_files.py"):  # one place, and one question
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "print", f"{path.name}:{node.lineno}"
