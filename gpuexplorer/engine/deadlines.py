"""By when an engine must answer: for its stage, for a run that is to end, and while suspended.

Time for which this program was suspended itself counts towards none of it (see ``suspension``).
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from gpuexplorer.core.deadline import devices_deadline_s
from gpuexplorer.engine import suspension

CANCEL_GRACE_S = 0.25
"""How long a launch has to end by itself after a cancel, before the process is ended."""
CANCEL_GRACE_OTHER_S = 2.0
"""The same for steps that end by themselves: making inputs, building, copying."""
REPLACE_GRACE_S = 15.0
"""The same when another run waits for one that looks for devices or builds: what that has loaded
and compiled by then serves the next run, and a fresh process would do it all again."""
BUSY_GRACE_S = 2.0
"""How much longer it may take where other programs keep the engine from running."""
LOOK_AFTER_S = 0.05
"""An engine that has not stopped by then is watched: does it run, or wait for a core?"""
LEAST_WAIT_S = 0.01
"""A shorter wait for a core is usual, and no reason for more time."""
LAUNCH_STAGES = frozenset({"predict", "verify", "measure"})
LASTING_STAGES = frozenset({"", "check", "build"})
"""Steps whose outcome the engine keeps."""
SAID_STAGES = frozenset({"build", "compare", "memory", "accesses", "operators", "profile"})
"""Further steps that are given more where the user says so."""
NEVER = float("inf")


class Deadlines:
    """What an engine is at, and when it is overdue; times are those of ``time.monotonic``."""

    def __init__(self, handshake_s: float) -> None:
        """``handshake_s`` is how long a fresh process may take to answer."""
        self._handshake_s = handshake_s
        self.stage = ""
        """The step the engine is at, of whatever run; empty for a fresh engine."""
        self.deadline_s: float | None = None
        """How long it may be silent at that step; None: as long as it likes."""
        self.overdue_at: float | None = None
        self.stopping_since: float | None = None
        """Since when the engine should leave what it is doing: cancelled or replaced."""
        self._core_waits_s: Mapping[str, float] | None = None
        """How long each of its threads had waited for a core when it was looked at since then."""
        self._granted_s = 0.0
        """How much longer than usual it has been given for that."""
        self.started_at = 0.0
        self.suspension = suspension.SuspensionWatch()

    def started(self) -> None:
        """Note that a process was started."""
        self.started_at = time.monotonic()
        self.suspension = suspension.SuspensionWatch()

    def ended(self) -> None:
        """Note that the process is gone, and owes nothing any more."""
        self.stage = ""
        self.overdue_at = self.deadline_s = self.stopping_since = None

    def begin(self, stage: str, deadline_s: float | None) -> None:
        """Note the step that the engine is at now."""
        self.stage, self.deadline_s = stage, deadline_s

    def look(self) -> None:
        """Note that the engine looks for devices next, which may hang with a driver."""
        self.begin("check", devices_deadline_s())
        self.heard()

    def heard(self) -> None:
        """Note that something came of the run; the time of its step begins anew."""
        self.overdue_at = None
        if self.deadline_s is not None:
            self.overdue_at = time.monotonic() + self.deadline_s

    def done(self) -> None:
        """Note the last message of a run."""
        self.overdue_at = self.stopping_since = None

    def stop(self) -> None:
        """Note that the engine should leave what it is doing, if that is not known yet."""
        if self.stopping_since is None:
            self.stopping_since = time.monotonic()
            self._core_waits_s, self._granted_s = None, 0.0

    def is_kept_waiting(self, core_waits_s: Mapping[str, float]) -> bool:
        """Return whether an engine that should stop is given more time.

        As much as a thread of it has waited for a core since it was looked at last, up to
        ``BUSY_GRACE_S`` in all: beside busy programs the shortest launch takes long. The first look
        only begins to watch. ``core_waits_s``: as ``idle.core_waits_s`` tells.
        """
        before, self._core_waits_s = self._core_waits_s, core_waits_s
        if before is None:
            return True
        waits_s = (waited_s - before.get(of, waited_s) for of, waited_s in core_waits_s.items())
        more_s = min(max(waits_s, default=0.0), BUSY_GRACE_S - self._granted_s)
        if self.stopping_since is None or more_s < LEAST_WAIT_S:
            return False
        self.stopping_since += more_s
        self._granted_s += more_s
        return True

    def grace_s(self, *, cancelled: bool) -> float:
        """Return how long the engine has to leave its step, for good or for another run."""
        if self.stage in LAUNCH_STAGES:
            return CANCEL_GRACE_S
        if self.stage in LASTING_STAGES and not cancelled:
            return REPLACE_GRACE_S
        return CANCEL_GRACE_OTHER_S

    def due(self, *, ready: bool, cancelled: bool) -> float:
        """Return when the engine is overdue; ``ready``: it has answered since it was started."""
        if self.stopping_since is not None:
            is_watched = self._core_waits_s is not None
            has_s = self.grace_s(cancelled=cancelled) if is_watched else LOOK_AFTER_S
            return self.stopping_since + has_s
        if self.suspension.due is not None:
            return self.suspension.due
        if not ready:
            return self.started_at + self._handshake_s
        return NEVER if self.overdue_at is None else self.overdue_at

    def discount(self) -> None:
        """Let time for which this program stood still count towards nothing."""
        away_s = self.suspension.away_s()
        if not away_s:
            return
        self.started_at += away_s
        if self.overdue_at is not None:
            self.overdue_at += away_s
        if self.stopping_since is not None:
            self.stopping_since += away_s

    def continued(self) -> None:
        """Give an engine that was suspended and continued its full deadline again."""
        self.started_at = time.monotonic()
        if self.overdue_at is not None and self.deadline_s is not None:
            self.heard()

    def hang(self, *, running: bool, agreed: bool) -> tuple[str, str]:
        """Return what did not come back in time, and what to do about it.

        ``running``: there is a run; ``agreed``: its launches may take long.
        """
        if self.stage == "check":
            return (
                f"looking for devices did not end within {self.deadline_s:.0f} s, so the engine "
                "was ended; a GPU or its driver may hang",
                "look whether 'nvidia-smi' answers, restart the machine where it does not, or "
                "allow more with --deadline",
            )
        if self.stage not in LAUNCH_STAGES or not running:
            return (
                f"nothing came back within {self.deadline_s:.0f} s while the engine was at "
                f"'{self.stage}', so it was ended",
                "allow more with --deadline" if self.stage in SAID_STAGES else "",
            )
        if self.stage == "predict" and not agreed:
            return (
                f"a part of one launch did not end within {self.deadline_s:.0f} s, so its engine "
                "was ended; the kernel may never finish",
                "look for a loop without an end, or choose a smaller size, or agree to long "
                "launches with --yes",
            )
        return (
            f"a launch did not end within {self.deadline_s:.0f} s, so its engine was ended; the "
            "kernel may never finish",
            "look for a loop without an end, or choose a smaller size, or allow more with "
            "--deadline",
        )

    def not_stopped(self) -> str:
        """Return that a run did not end in time after it was cancelled or replaced."""
        if self.stage in LAUNCH_STAGES:
            return "the launch did not end in time, so its engine was ended"
        return f"'{self.stage or 'start'}' did not end in time, so its engine was ended"
