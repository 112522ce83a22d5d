"""What every section works with: one engine, the device under test, the workloads."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Unpack

import msgspec
from msgspec.structs import replace

import gpuexplorer
from gpuexplorer.core.closing import Closing
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.core.knobs import RequestArguments, request_of
from gpuexplorer.core.opencl_choice import chosen_by_user
from gpuexplorer.core.result import Environment, RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.session import EngineSession, RunProgress
from gpuexplorer.reproduce import command_line
from gpuexplorer.selftest.task import Interrupted, Skipped
from gpuexplorer.workloads.choose import complete, find_device
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload


class SelfTestOptions(msgspec.Struct, frozen=True):
    """What is to be tested, and how."""

    device: str = "auto"
    quick: bool = False
    kernels: tuple[Path, ...] = ()
    """Folders of the user's own workloads, tried beside the shipped ones."""
    sections: tuple[str, ...] = ()
    """Names of the sections to run; none means all."""
    python: str | None = None
    threads: int | None = None

    def command(self, *sections: str) -> str:
        """Return the command line that runs these sections again, or the whole self-test."""
        words = ["gpuexplorer", "selftest", "--device", self.device]
        words += ["--quick"] if self.quick else []
        for section in sections or self.sections:
            words += ["--section", section]
        for folder in self.kernels:
            words += ["--kernels", str(folder)]
        if self.threads is not None:
            words += ["--threads", str(self.threads)]
        return self._with_variables(shlex.join(words))

    def run_command(self, config: RunConfig) -> str:
        """Return the ``run`` command of one configuration."""
        return self._with_variables(command_line(config, self.kernels, seconds=0.1))

    def _with_variables(self, command: str) -> str:
        words = [*(f"{n}={shlex.quote(v)}" for n, v in chosen_by_user().items()), command]
        if self.python is not None:
            words += ["--python", shlex.quote(self.python)]
        return " ".join(words)


class SelfTestContext(Closing):
    """One engine for the whole self-test; use it in a ``with`` statement.

    ``stop_asked`` is looked at often; once it is True, Interrupted is raised.
    """

    def __init__(
        self,
        options: SelfTestOptions,
        stop_asked: Callable[[], bool] = lambda: False,
        log: Callable[[str], None] | None = None,
    ) -> None:
        self.log = log
        self._stop_asked = stop_asked
        self.shipped = load()
        """The shipped workloads, which the sections on time, memory and faults use."""
        self.workloads = load(options.kernels)
        self.environment = Environment(
            gpuexplorer=gpuexplorer.__version__, python=platform.python_version()
        )
        """The versions that the runs reported; before any run, those of this process."""
        self.on_step: Callable[[str], None] = lambda words: None
        """Called with what a long check is doing."""
        self.session = EngineSession(python=options.python, threads=options.threads, log=log)
        try:
            self.devices: DeviceList = self.session.devices()
            self.device: DeviceInfo = find_device(self.devices, options.device)
            self.options = replace(options, device=self.device.id)
        except BaseException:
            self.session.close()
            raise

    def close(self) -> None:
        """End what it holds."""
        self.session.close()

    @property
    def quick(self) -> bool:
        """Whether the short form was asked for."""
        return self.options.quick

    @property
    def is_gpu(self) -> bool:
        """Whether the device under test is a GPU."""
        return self.device.kind == "gpu"

    def check_stop(self, progress: RunProgress | None = None) -> None:
        """Raise Interrupted when the user wants to stop."""
        if self._stop_asked():
            raise Interrupted

    def config(self, workload: Workload, **wanted: Unpack[RequestArguments]) -> RunConfig:
        """Return a complete configuration on this device; Skipped when it cannot run it."""
        wanted.setdefault("device", self.device.id)
        request = request_of(workload.name, **wanted)
        try:
            return complete(request, workload, self.devices)
        except CannotRunHere as error:
            raise Skipped(error.what) from None

    def measure(
        self, config: RunConfig, *, seconds: float, workload: Workload | None = None
    ) -> RunResult:
        """Measure one configuration of a shipped workload."""
        result = self.session.measure(
            config,
            workload or self.shipped[config.workload],
            RunOptions(seconds=seconds),
            on_progress=self.check_stop,
        ).result()
        self.note(result.environment)
        return result

    def note(self, environment: Environment) -> None:
        """Keep what a run says of its versions; each backend knows its own."""
        known = {n: v for n, v in msgspec.structs.asdict(environment).items() if v is not None}
        for other in ("source_sha256", "machine", "person"):
            known.pop(other, None)
        self.environment = msgspec.structs.replace(self.environment, **known)
