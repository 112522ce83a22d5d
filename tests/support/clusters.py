"""Clusters for tests: a real one in processes of its own, started as a user starts it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from gpuexplorer.cluster.place import ClusterPlace, find_cluster
from tests.support.cli import cli_command, cli_environment

END_S = 60.0


class ClusterUp:
    """A ``gpuexplorer cluster up`` that runs."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self.process, self.folder = process, folder
        self.said: list[str] = []

    @property
    def place(self) -> ClusterPlace:
        """Where it is."""
        return find_cluster(str(self.folder))

    def wait_for(self, words: str) -> None:
        """Wait until it has said something."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if words in line:
                return
        raise AssertionError(f"it has ended without saying '{words}': {self.said}")

    def end(self, how: signal.Signals) -> tuple[int, list[psutil.Process]]:
        """End it by a signal; return its exit status, and what of it still runs."""
        below = psutil.Process(self.process.pid).children(recursive=True)
        self.process.send_signal(how)
        code = self.process.wait(END_S)
        return code, psutil.wait_procs(below, timeout=END_S)[1]


@contextmanager
def cluster_up(folder: Path, *options: str, **environment: str) -> Iterator[ClusterUp]:
    """Start a cluster whose files are in ``folder``, and end it."""
    process = subprocess.Popen(
        cli_command("cluster", "up", *options, "--folder", str(folder)),
        env=cli_environment(**environment), stderr=subprocess.PIPE, text=True, cwd=os.getcwd(),
    )  # fmt: skip
    up = ClusterUp(process, folder)
    try:
        yield up
    finally:
        if process.poll() is None:
            up.end(signal.SIGKILL)
        if process.stderr is not None:
            process.stderr.close()
