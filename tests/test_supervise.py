"""A program's time limit: past it nothing of its family is left, whatever groups it made."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.gpu.supervise import Child, Ended, Tail, run

FAMILY = """\
import os, subprocess, sys, time
from pathlib import Path
folder, depth = Path(sys.argv[1]), int(sys.argv[2])
if depth:
    subprocess.Popen([sys.executable, __file__, str(folder), str(depth - 1)],
                     start_new_session=depth == 2, stdout=subprocess.DEVNULL)
(folder / f"{depth}.part").write_text(str(os.getpid()))
os.rename(folder / f"{depth}.part", folder / f"{depth}.pid")
time.sleep(600)
"""
"""A program that hangs, with a child in a session of its own and a grandchild."""


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], list[str]]:
    def write(code: str) -> list[str]:
        path = tmp_path / "script.py"
        path.write_text(code, encoding="utf-8")
        return [sys.executable, str(path)]

    return write


def pids(folder: Path, count: int) -> list[int]:
    """Wait until so many processes have said who they are."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found = [int(path.read_text()) for path in sorted(folder.glob("*.pid"))]
        if len(found) == count:
            return found
        time.sleep(0.01)
    raise AssertionError(f"only {len(found)} of {count} processes started")


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_the_whole_family_of_a_program_is_ended(
    script: Callable[[str], list[str]], tmp_path: Path
) -> None:
    command = [*script(FAMILY), str(tmp_path), "2"]
    child = Child(command, tmp_path / "log", cwd=tmp_path, environment=os.environ)
    try:
        family = pids(tmp_path, 3)
        assert child.wait(0.0) is None
    finally:
        child.end()
    assert child.wait(0.0) is not None
    assert [pid for pid in family if alive(pid)] == []


def test_a_program_past_its_limit_is_ended(
    script: Callable[[str], list[str]], tmp_path: Path
) -> None:
    ended = run(
        script("import time\ntime.sleep(600)"), tmp_path / "log", limit_s=0.5, cwd=tmp_path,
        environment=os.environ,
    )  # fmt: skip
    assert ended.code is None and not ended.in_time
    assert 0.5 <= ended.seconds < 30


def test_an_interrupt_leaves_nothing_behind(
    script: Callable[[str], list[str]], tmp_path: Path
) -> None:
    said: list[str] = []

    def interrupt(text: str) -> None:
        said.append(text)
        if "".join(said).count("\n"):
            raise KeyboardInterrupt

    code = "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)"
    with pytest.raises(KeyboardInterrupt):
        run(script(code), tmp_path / "log", limit_s=60, cwd=tmp_path, environment=os.environ,
            follow=interrupt)  # fmt: skip
    assert not alive(int("".join(said)))


@pytest.mark.parametrize("code", [0, 3])
def test_a_program_ends_by_itself(
    code: int, script: Callable[[str], list[str]], tmp_path: Path
) -> None:
    said: list[str] = []
    ended = run(
        script(f"import sys\nprint('12 µs')\nprint('then', file=sys.stderr)\nsys.exit({code})"),
        tmp_path / "log", limit_s=60, cwd=tmp_path, follow=said.append,
        environment={**os.environ, "PYTHONUTF8": "1"},
    )  # fmt: skip
    assert ended == Ended(code, ended.seconds) and ended.in_time
    assert sorted("".join(said).splitlines()) == ["12 µs", "then"]


def test_a_tail_waits_for_the_rest_of_a_character(tmp_path: Path) -> None:
    path = tmp_path / "log"
    tail = Tail(path)
    assert tail.new() == ""
    path.write_bytes("12 µ".encode()[:-1])
    assert tail.new() == "12 "
    path.write_bytes("12 µs".encode())
    assert tail.new() == "µs"
    assert tail.new() == ""
