"""Making an environment in a thread; the page looks at how far it is."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from gpuexplorer.environments.progress import SetUpProgress

if TYPE_CHECKING:
    from gpuexplorer.environments.managed import Managed
    from gpuexplorer.environments.plan import EnvironmentPlan


class Making:
    """One attempt to make an environment. ``progress`` may be read from any thread."""

    def __init__(self, planned: EnvironmentPlan, name: str) -> None:
        self.planned, self.name = planned, name
        self._lock = threading.Lock()
        self._progress: SetUpProgress | None = None

    @property
    def progress(self) -> SetUpProgress | None:
        """How far it is; None before it said so."""
        with self._lock:
            return self._progress

    def _take(self, progress: SetUpProgress) -> None:
        with self._lock:
            self._progress = progress

    def run(self, cancel: threading.Event) -> Managed:
        """Make it, in the thread; raises as ``environments.create`` does."""
        from gpuexplorer.environments import create  # here, so that the window need not wait for it

        return create.create(self.planned, self.name, self._take, cancel)
