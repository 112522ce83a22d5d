"""What is wanted of an engine's devices, whether it was asked, and by when it has to answer."""

from __future__ import annotations

from gpuexplorer.engine import protocol
from gpuexplorer.engine.deadlines import Deadlines


class DeviceLook:
    """The look for devices of an engine that is kept alive.

    Each fresh process is asked anew until one has answered. A look may hang with a driver, so it
    has a deadline, which begins when the engine comes to it: at once, or after the run before.
    """

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines = deadlines
        self._wanted: protocol.ListDevices | None = None
        self.asked = False
        """Whether the present process was asked, and has not answered."""

    def want(self, *, telemetry: bool, packages: bool) -> None:
        """Note what is to be asked."""
        self._wanted = protocol.ListDevices(telemetry=telemetry, packages=packages)

    def question(self, *, after_run: bool) -> protocol.ListDevices | None:
        """Return what to ask the present process now, None for nothing.

        ``after_run``: it has a run, and looks after that.
        """
        if self._wanted is None or self.asked:
            return None
        self.asked = True
        if not after_run:
            self._deadlines.look()
        return self._wanted

    def run_sent(self) -> None:
        """Note that a run was sent; an idle engine may be at opening its device still."""
        if self._deadlines.overdue_at is None and self._deadlines.stopping_since is None:
            self._deadlines.look()

    def run_ended(self) -> None:
        """Note that the run before is over."""
        if self.asked:
            self._deadlines.look()

    def answered(self, *, run_waits: bool) -> None:
        """Note that the engine has looked; ``run_waits``: a run was sent meanwhile."""
        self._wanted, self.asked = None, False
        self._deadlines.overdue_at = None
        if run_waits:
            self._deadlines.look()

    def lost(self) -> None:
        """Note that the process is gone; the next one is asked."""
        self.asked = False
