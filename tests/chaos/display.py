"""An X server of one's own, which may be ended like any other process."""

from __future__ import annotations

import subprocess


class Display:
    """Runs Xvfb on a number that it chooses itself."""

    def __init__(self, size: str = "1600x1000") -> None:
        self._server = subprocess.Popen(
            ["Xvfb", "-displayfd", "1", "-screen", "0", f"{size}x24", "-nolisten", "tcp"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert self._server.stdout is not None
        self.name = f":{self._server.stdout.readline().decode().strip()}"

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._server.poll() is None

    def end(self) -> None:
        """End it at once."""
        self._server.kill()
        self._server.wait()
        if self._server.stdout is not None:
            self._server.stdout.close()
