"""What an engine's start may say, and one that is no engine of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import EngineLost, EngineOptions, EngineReady
from gpuexplorer.workloads.loader import load
from tests.support.prepared import prepared
from tests.support.watched import Watched


def test_an_interpreter_that_cannot_start_is_said_once() -> None:
    watched = Watched(EngineOptions(python="/no/such/python"))
    lost = watched.wait(EngineLost)
    assert isinstance(lost, EngineLost)
    assert not lost.restarting
    assert "/no/such/python" in lost.reason
    watched.engine.close()


def test_an_engine_that_was_given_up_is_started_for_what_is_asked_of_it(tmp_path: Path) -> None:
    """It was waited for without end."""
    python = tmp_path / "python"
    watched = Watched(EngineOptions(python=str(python)))
    watched.until(lambda: any(isinstance(e, EngineLost) for e in watched.events))
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    config = msgspec.structs.replace(prepared().config, device="numpy:cpu")
    watched.engine.run(config, load()["matmul"], RunOptions(samples=1))
    watched.until(lambda: any(isinstance(e, EngineReady) for e in watched.events))
    watched.engine.close()


def test_an_interpreter_that_only_prints_is_tried_once(tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho 'this is not an engine'\n")
    script.chmod(0o755)
    watched = Watched(EngineOptions(python=str(script)))
    watched.until(
        lambda: any(isinstance(e, EngineLost) and not e.restarting for e in watched.events)
    )
    assert len(watched.of(EngineLost)) == 1
    assert any("this is not an engine" in line for line in watched.log)
    watched.engine.close()


def test_what_a_shell_prints_first_does_not_matter(tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\necho 'Welcome to this host'\nexec {sys.executable} \"$@\"\n")
    script.chmod(0o755)
    watched = Watched(EngineOptions(python=str(script)))
    watched.wait(EngineReady)
    assert "Welcome to this host" in watched.log
    watched.engine.close()


def test_a_library_that_prints_cannot_corrupt_the_stream() -> None:
    code = "import os; os.write(1, b'noise'); print('more noise', flush=True)"
    environment = {**os.environ, "PYTHONSTARTUP": ""}
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from gpuexplorer.engine.launcher import take_streams\n"
            "incoming, outgoing = take_streams()\n"
            f"{code}\n"
            "outgoing.write(b'frame')\n",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    out, err = process.communicate()
    assert out == b"frame"
    assert b"noise" in err


def test_another_protocol_version_is_refused_by_name(watched: Watched) -> None:
    welcome = protocol.Welcome(
        protocol=protocol.PROTOCOL + 1,
        version="99.0",
        pid=1,
        python="3.11",
        monotonic_ns=0,
        utc="",
        threads=1,
    )
    watched.wait(EngineReady)
    watched.engine._welcome(msgspec.structs.replace(welcome))
    lost = watched.of(EngineLost)[-1]
    assert isinstance(lost, EngineLost)
    assert "99.0" in lost.reason
    assert not lost.restarting
