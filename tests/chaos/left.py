"""What must not be left behind: processes, temporary files, half-written ones."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from tests.chaos.world import World

STORE = ("history.sqlite", "history.sqlite-wal", "history.sqlite-shm", "history.sqlite-journal")
"""The last one until the next program opens what was ended while it was made."""
OF_DATA = {*STORE, "ceilings", "ceilings.json"}


def left_behind(world: World, allowed: set[str], *, but: set[int] | None = None) -> list[str]:
    """Return what was left, as sentences; the next step finds an empty place.

    ``allowed`` are the names of files that were asked for, ``but`` processes that go on.
    """
    wrong = []
    for pid, command in world.wait_for_none(but).items():
        wrong.append(f"process {pid} is left: {' '.join(command)[:160]}")
    if but is None:
        wrong += [f"{path.name} is left in the folder for temporary files"
                  for path in world.tmp.iterdir()]  # fmt: skip
        for path in world.tmp.iterdir():
            _remove(path)
    for path in sorted(world.work.iterdir()):
        if path.name not in allowed:
            wrong.append(f"{path.name} is left beside the files that were asked for")
            _remove(path)
    wrong += [f"{path.name} is left in the data folder"
              for path in world.data.iterdir() if path.name not in OF_DATA]  # fmt: skip
    return wrong


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
