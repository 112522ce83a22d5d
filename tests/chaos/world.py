"""A world of its own for the programs under test: folders, a store, orders to stand-ins."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from tests.support.cli import cli_environment

VARIABLE = "GPUEXPLORER_CHAOS"
RELAY_VARIABLE = "GPUEXPLORER_CHAOS_RELAY"
STAND_INS = Path(__file__).with_name("stand_ins")
PATIENCE_S = 10.0
"""How long a process may take to be gone after its parent is."""


class World:
    """Folders that nothing else uses; every process started in it carries its name."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="gpuexplorer-chaos-"))
        self.data, self.work, self.tmp = (self._folder(n) for n in ("data", "work", "tmp"))
        self._folder("home")
        self.store = self.data / "history.sqlite"

    def _folder(self, name: str) -> Path:
        folder = self.root / name
        folder.mkdir()
        return folder

    def close(self) -> None:
        """End what still runs in it and remove it."""
        self.end_all()
        shutil.rmtree(self.root, ignore_errors=True)

    def environment(self, *, relay: bool = False, **changes: str) -> dict[str, str]:
        """Return the environment of a program in this world."""
        made = cli_environment(
            GPUEXPLORER_DATA_DIR=str(self.data),
            GPUEXPLORER_CONFIG_DIR=str(self.root / "config"),
            GPUEXPLORER_CACHE_DIR=str(self.root / "cache"),
            HOME=str(self.root / "home"),
            XDG_CACHE_HOME=str(self.root / "home" / "cache"),
            TMPDIR=str(self.tmp),
            **{VARIABLE: str(self.root)},
            **changes,
        )
        made["PYTHONPATH"] = os.pathsep.join([str(STAND_INS), made["PYTHONPATH"]])
        if relay:
            made[RELAY_VARIABLE] = "1"
        return made

    # ---- orders to the stand-ins

    def order(self, name: str, text: str = "1") -> None:
        """Give an order; it appears whole."""
        part = self.root / f"{name}.new"
        part.write_text(text, encoding="ascii")
        part.rename(self.root / name)

    def forget_orders(self) -> bool:
        """Take back every order; return whether one had not been obeyed."""
        left = [self.root / name for name in ("clock", "frames", "poison")]
        waiting = any(path.exists() for path in left[1:])
        for path in left:
            path.unlink(missing_ok=True)
        return waiting

    # ---- processes

    def processes(self) -> dict[int, list[str]]:
        """Return every process of this world that runs: its number and its command."""
        mark = f"{VARIABLE}={self.root}\0".encode()
        found: dict[int, list[str]] = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            with suppress(OSError):
                if mark in (entry / "environ").read_bytes() + b"\0":
                    command = (entry / "cmdline").read_bytes().decode(errors="replace")
                    if command:  # what has ended has none
                        found[int(entry.name)] = command.rstrip("\0").split("\0")
        return found

    def engines(self) -> list[int]:
        """Return the engines that run, without their relays."""
        found = []
        for pid, command in self.processes().items():
            if "gpuexplorer.engine" in command and "--compile" not in command:
                with suppress(OSError):
                    if os.getpgid(pid) == pid:
                        found.append(pid)
        return found

    def wait_for_none(self, but: set[int] | None = None) -> dict[int, list[str]]:
        """Wait until no process but some is left; return those that are."""
        limit = time.monotonic() + PATIENCE_S
        while True:
            left = {p: c for p, c in self.processes().items() if p not in (but or ())}
            if not left or time.monotonic() > limit:
                return left
            time.sleep(0.02)

    def end_all(self) -> None:
        """End every process of this world at once, as a power cut does."""
        limit = time.monotonic() + PATIENCE_S
        while (found := self.processes()) and time.monotonic() < limit:
            for pid in found:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
