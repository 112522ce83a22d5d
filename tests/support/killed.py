"""A program that is killed while it measures, and what is in its history then."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from gpuexplorer.history.errors import StoreReadOnly
from gpuexplorer.history.store import Group, Query, Store
from tests.support.cli import cli_environment

PATIENCE_S = 120.0


def groups_at(path: Path) -> list[tuple[Group, dict[str, int]]]:
    """Return the groups of a store with the number of samples of each of their runs."""
    if not path.exists():
        return []
    with suppress(StoreReadOnly), Store.open(path, read_only=True) as store:
        return [
            (group, {row.id: row.samples for row in store.find(Query(group=group.id))})
            for group in store.groups()
        ]
    return []  # the program has begun to make it


@contextmanager
def to_be_killed(
    command: Sequence[str], told: Path, **environment: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program that says its troubles in a file; it is killed with SIGKILL at the end."""
    with told.open("wb") as stream:
        child = subprocess.Popen(
            command,
            env=cli_environment(**environment),
            stdout=subprocess.DEVNULL,
            stderr=stream,
        )
    try:
        yield child
    finally:
        child.send_signal(signal.SIGKILL)
        assert child.wait(30) == -signal.SIGKILL, told.read_text()


def wait_for(condition: Callable[[], bool], child: subprocess.Popen[bytes], told: Path) -> None:
    """Wait until a program has written what is asked for."""
    limit = time.monotonic() + PATIENCE_S
    while not condition():
        assert child.poll() is None, told.read_text()
        assert time.monotonic() < limit, f"nothing of it was kept in {PATIENCE_S:.0f} s"
        time.sleep(0.05)


class Growing:
    """Looks whether the two runs of a comparison, say, are stored, and then with more samples."""

    def __init__(self, path: Path, kind: str = "comparison") -> None:
        self._path, self._kind = path, kind
        self._seen: list[dict[str, int]] = []

    def __call__(self) -> bool:
        """Whether they were seen to grow."""
        for group, samples in groups_at(self._path):
            before = self._seen[-1] if self._seen else {}
            grown = all(number > before.get(run, 0) for run, number in samples.items())
            if group.kind == self._kind and len(samples) == 2 and grown:
                self._seen.append(samples)
        return len(self._seen) >= 2

    def check(self) -> tuple[Group, set[str]]:
        """Check what is there once the program is gone; return the group and its runs' ids."""
        [(group, samples)] = groups_at(self._path)
        assert not group.finished
        assert samples.keys() == self._seen[0].keys(), "a run that goes on is the same run"
        text = json.dumps(group.document)
        assert all(run in text for run in samples), "the document speaks of its runs"
        with Store.open(self._path) as store:
            for run_id, number in samples.items():
                run = store.get(run_id)
                assert len(run.samples_s) == run.timing.samples == number
        return group, set(samples)
