"""Whether an environment can be used: its engine starts, and its device passes the self-test."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from gpuexplorer.core.errors import CannotRunHere, ExplorerError
from gpuexplorer.engine.checking import EngineReport, check_engine
from gpuexplorer.engine.interpreters import is_far
from gpuexplorer.environments.children import Done, run, surroundings
from gpuexplorer.environments.driver import find_driver
from gpuexplorer.environments.kinds import Kind, fit_of
from gpuexplorer.environments.progress import check
from gpuexplorer.selftest.context import SelfTestOptions
from gpuexplorer.selftest.report import CheckResult, SectionResult, SelfTestReport
from gpuexplorer.selftest.run import run_selftest

SECTIONS = ("kernels", "memory", "occupancy")
"""What an environment decides: whether kernels compile, run and are right. The other sections of
the self-test are about this program and a quiet machine."""
HANDSHAKE_S = 120.0
"""How long its first start may take: nothing in it has been compiled or read before."""
LIBRARIES = ("cupy", "cuda.bindings.nvrtc", "cupti.cupti", "torch")
"""What is loaded of them where nothing can be run."""
ABSENT = 77
_LOAD = f"""
import importlib.util, sys
if importlib.util.find_spec(sys.argv[1].partition(".")[0]) is None:
    sys.exit({ABSENT})
__import__(sys.argv[1])
"""


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of an environment."""

    engine: EngineReport
    lacks: str = ""
    """Why it has not the device that its kind is for, in one sentence; empty when it has."""
    remedy: str = ""
    untried: str = ""
    """Why nothing of its kind can be run on this machine, as a clause; empty where it can."""
    loaded: tuple[str, ...] = ()
    """The libraries that were loaded instead, where nothing can be run."""
    selftest: SelfTestReport | None = None
    """What the quick self-test found; None where there is no device to test, or nothing started."""

    @property
    def usable(self) -> bool:
        """Whether it can be an engine and has the device that its kind is for."""
        return self.engine.ok and not self.lacks

    @property
    def passed(self) -> bool | None:
        """Whether the self-test passed; None: there was none to make."""
        return None if self.selftest is None else self.selftest.ok

    @property
    def words(self) -> str:
        """Say what was found, in one sentence."""
        if not self.engine.ok:
            return f"{self.engine.problem}"
        if self.lacks:
            return self.lacks
        if self.untried:
            if self.loaded:
                modules = ", ".join(self.loaded)
                return f"Its engine starts and {modules} load; nothing was run: {self.untried}."
            return f"Its engine starts; nothing was run: {self.untried}."
        return "Its engine starts." if self.selftest is None else self.selftest.verdict


def verify(
    word: str,
    kind: Kind,
    on_step: Callable[[int, int, str], None] = lambda done, total, words: None,
    cancel: threading.Event | None = None,
) -> Verified:
    """Start an engine there, ask for its devices, run the quick self-test on the kind's device.

    ``word`` is an engine's name, an interpreter's path or an environment's folder; ``on_step`` is
    told checks made, checks in all (0: not known yet) and what is being done. Raises Cancelled.
    """
    asked = cancel or threading.Event()
    on_step(0, 0, "starting its engine")
    report = check_engine(
        word,
        cancelled=asked.is_set,
        on_step=lambda words: on_step(0, 0, words),
        handshake_s=HANDSHAKE_S,
    )
    if not report.ok or kind.backend is None:
        return Verified(engine=report)
    device = _device_of(report, kind.backend)
    if device is None:
        # What another machine lacks, its engine says itself.
        untried = "" if is_far(word) else fit_of(kind, find_driver(cancel)).trouble
        if untried:
            return _load(report, untried, on_step, cancel)
        lacks, remedy = _why_not(report, kind)
        return Verified(engine=report, lacks=lacks, remedy=remedy)
    options = SelfTestOptions(device=device, quick=True, sections=SECTIONS, python=word)
    try:
        found = run_selftest(options, _Steps(on_step), asked.is_set)
    except ExplorerError as error:
        return Verified(engine=report, lacks=error.what, remedy=error.remedy)
    check(cancel)
    return Verified(engine=report, selftest=found)


def _load(
    report: EngineReport,
    untried: str,
    on_step: Callable[[int, int, str], None],
    cancel: threading.Event | None,
) -> Verified:
    """Load the libraries of an environment nothing of which can be run on this machine."""
    python, loaded = Path(report.path), []
    for module in LIBRARIES:
        on_step(0, 0, f"loading {module}")
        done = _run(python, module, cancel)
        # A library that asks for the driver's own at once is as whole as the others.
        if done.returncode in (0, ABSENT) or re.search(r"libcuda\.so|nvcuda\.dll", done.text):
            loaded += [module] if done.returncode == 0 else []
            continue
        said = [line.strip() for line in done.lines if line.strip()]
        reason = said[-1][:300] if said else f"it ended with status {done.returncode}"
        return Verified(
            engine=report,
            lacks=f"{module} does not load in it: {reason}",
            remedy="make it again; if that does not help, choose another Python (--python)",
        )
    return Verified(engine=report, untried=untried, loaded=tuple(loaded))


def _run(python: Path, module: str, cancel: threading.Event | None) -> Done:
    """Load a module in a Python, or end with ``ABSENT``. Raises Cancelled."""
    try:
        command = [str(python), "-I", "-c", _LOAD, module]
        return run(command, surroundings(python), cancel, timeout_s=HANDSHAKE_S)
    except TimeoutError:
        return Done(1, (f"it takes longer than {HANDSHAKE_S:.0f} s",))
    except CannotRunHere as error:
        return Done(1, (error.what,))


def _device_of(report: EngineReport, backend: str) -> str | None:
    ids = [device.id for device in report.devices or ()]
    return next((one for one in ids if one.partition(":")[0] == backend), None)


def _why_not(report: EngineReport, kind: Kind) -> tuple[str, str]:
    """Return why an engine has no device of the kind's backend, and what would change that."""
    for missing in report.devices.unavailable if report.devices is not None else ():
        if missing.backend == kind.backend:
            return f"it has no {missing.backend} device: {missing.reason}", missing.remedy
    return f"it has no {kind.backend} device", "see 'gpuexplorer doctor'"


class _Steps:
    """Counts the checks of a self-test."""

    def __init__(self, on_step: Callable[[int, int, str], None]) -> None:
        self._on_step = on_step
        self._done, self._total = 0, 0

    def planned(self, sections: Sequence[SectionResult]) -> None:
        self._total = sum(section.planned for section in sections)

    def running(self, section: str, name: str) -> None:
        self._on_step(self._done, self._total, name)

    def done(self, result: CheckResult) -> None:
        self._done += 1
