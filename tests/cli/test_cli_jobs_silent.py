"""A machine that lets nobody wait for its answer: the other jobs are listed, and Ctrl-C ends it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from gpuexplorer.cli import main
from gpuexplorer.environments import detached
from gpuexplorer.environments.detached import Detached
from tests.support.cli import cli_command, cli_environment
from tests.support.detached_jobs import until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="nothing is detached on Windows")

SSH = """#!/bin/sh
# A machine whose sshd answers, and whose Python stands still, as over a home that is gone.
echo $$ >> "$SAID"
exec sleep 1000
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A job on a machine that does not answer; the file that names who has asked it."""
    ssh, said = tmp_path / "bin" / "ssh", tmp_path / "asked"
    ssh.parent.mkdir()
    ssh.write_text(SSH)
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SAID", str(said))
    monkeypatch.setenv("GPUEXPLORER_DATA_DIR", str(tmp_path))
    one = Detached(
        id="badc0de0", title="a sweep", arguments=["sweep"], engine="far",
        address="ssh://box/usr/bin/python3", total=2, created_utc="2026-01-02T03:04:05+00:00",
    )  # fmt: skip
    one.folder.mkdir(parents=True)
    detached.keep_group(one, "a group")  # which writes it down
    yield said
    for pid in map(int, said.read_text().split()):
        assert not psutil.pid_exists(pid), "nobody asks on"


def test_a_machine_that_stands_still_is_told_as_such(
    asked: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The list waited for it without an end."""
    monkeypatch.setattr(detached, "ANSWER_S", 0.5)
    assert main(["jobs"]) == 0
    assert "box did not answer within" in " ".join(capsys.readouterr().out.split())
    assert main(["jobs", "follow", "badc"]) == 1
    assert "box did not answer within" in capsys.readouterr().err


def test_a_list_that_waits_for_a_machine_ends_with_ctrl_c(asked: Path, tmp_path: Path) -> None:
    """It went on waiting in its threads, whatever was pressed."""
    listing = subprocess.Popen(
        cli_command("jobs"), env=cli_environment(), cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    try:
        until(lambda: asked.exists() and asked.read_text().endswith("\n"))
        listing.send_signal(signal.SIGINT)
        assert listing.wait(60.0) == 130
    finally:
        listing.kill()
        listing.communicate()
