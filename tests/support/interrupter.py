"""An interrupt at a line of Python that one chooses."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import Any


class Interrupter:
    """Sends this process an interrupt at the ``at``-th line of Python that runs in a block."""

    def __init__(self, at: int | None = None) -> None:
        self.at, self.lines = at, 0
        """How many lines have run."""

    def __enter__(self) -> Interrupter:
        sys.settrace(self._trace)
        return self

    def __exit__(self, *ended: object) -> None:
        sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, _argument: object) -> Any:
        self.lines += event == "line"
        if self.lines == self.at:
            sys.settrace(None)
            signal.raise_signal(signal.SIGINT)
        return self._trace
