"""Clusters for tests: a real one in processes of its own, started as a user starts it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from gpuexplorer.cluster.place import ClusterPlace, find_cluster
from tests.support.cli import cli_command, cli_environment

END_S = 60.0
PATIENCE_S = 150.0


class ClusterUp:
    """A ``gpuexplorer cluster up`` that runs."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self.process, self.folder = process, folder
        self.said: list[str] = []
        self._looked_at = 0
        self._ended = False
        self._more = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def place(self) -> ClusterPlace:
        """Where it is."""
        return find_cluster(str(self.folder))

    def wait_for(self, words: str) -> None:
        """Wait until it says something that it has not been waited for yet."""
        with self._more:
            while True:
                for line in self.said[self._looked_at :]:
                    self._looked_at += 1
                    if words in line:
                        return
                assert not self._ended, f"it has ended without saying '{words}': {self._told()}"
                assert self._more.wait(PATIENCE_S), f"it does not say '{words}': {self._told()}"

    def _told(self) -> str:
        """Return what it and the programs beside it have said."""
        logs = [f"{path.name}: {path.read_text()}" for path in self.folder.parent.glob("*.log")]
        return "\n".join(["", *self.said, *logs])

    def _read(self) -> None:
        """Take in what it says, in a thread, so that it never waits for its reader."""
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            for line in stream:
                with self._more:
                    self.said.append(line)
                    self._more.notify_all()
        with self._more:
            self._ended = True
            self._more.notify_all()

    def end(self, how: signal.Signals, *, group: bool = False) -> tuple[int, list[psutil.Process]]:
        """End it by a signal; return its exit status, and what of it still runs.

        A ``group`` gets it as a whole, as a terminal does that with Ctrl-C.
        """
        below = psutil.Process(self.process.pid).children(recursive=True)
        if group:
            os.killpg(self.process.pid, how)
        else:
            self.process.send_signal(how)
        code = self.process.wait(END_S)
        return code, psutil.wait_procs(below, timeout=END_S)[1]


@contextmanager
def cluster_up(folder: Path, *options: str, **environment: str) -> Iterator[ClusterUp]:
    """Start a cluster whose files are in ``folder``, and end it."""
    process = subprocess.Popen(
        cli_command("cluster", "up", *options, "--folder", str(folder)),
        env=cli_environment(**environment), stderr=subprocess.PIPE, text=True, cwd=os.getcwd(),
        start_new_session=True,
    )  # fmt: skip
    up = ClusterUp(process, folder)
    try:
        yield up
    finally:
        if process.poll() is None:
            up.end(signal.SIGKILL)
