"""What outlives a single run: backends, devices, problems, the last runner and its arrays."""

from __future__ import annotations

import getpass
import platform
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache

import msgspec
import numpy as np

import gpuexplorer
from gpuexplorer.backends import registry
from gpuexplorer.backends.base import Backend, HostArray, Runner, TimingChoice
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.deadline import devices_deadline_s
from gpuexplorer.core.device import DeviceInfo, DeviceList, Unavailable
from gpuexplorer.core.errors import DeviceLost, InputError, OutOfMemory
from gpuexplorer.core.memory import MemoryUse
from gpuexplorer.core.result import Environment, Phases, Traffic, Verification
from gpuexplorer.measure.job import AGREED_DEADLINE_S, WARM_UP_S, Job, Sink, Stopped, TooLong
from gpuexplorer.measure.noise import Noise
from gpuexplorer.measure.problems import Problem, ProblemCache
from gpuexplorer.measure.recipe import run_job
from gpuexplorer.measure.right_results import right_results
from gpuexplorer.measure.shortage import give_back, memory_limit, out_of_memory
from gpuexplorer.measure.stop import Enough, NoiseReached, NoiseStable, Slower, StopRule, TimeUp
from gpuexplorer.workloads.choose import default_block, find_device
from gpuexplorer.workloads.memory.predict import held_parts, predict
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.planning import check_memory, make_plan
from gpuexplorer.workloads.workload import Workload

MAX_PREDICTIONS = 10_000
"""Configurations whose prediction and verification are remembered."""
ROUGH_BELOW_S = 0.2
"""A launch that is predicted below this in a search is short enough, whatever it takes exactly."""
FREE_FOR_S = 0.1
"""What was free so short a time ago is free in a search, whose arrays are there already."""
UNKNOWN_CACHE_B = 1 << 26
LIVE_WARM_UP_S = 0.002
"""Launches before the first sample of a run without an end, which shows its own start."""


class Laboratory:
    """Everything needed to run one configuration after another in this process."""

    def __init__(self, threads: int, clock_reasons: Callable[[], Sequence[str]] = tuple) -> None:
        """``clock_reasons`` tells what held the device's clock when it was last read."""
        self.threads = threads
        self._clock_reasons = clock_reasons
        self._backends: dict[str, Backend] = {}
        self._found: dict[str, tuple[DeviceInfo, ...] | Unavailable] = {}
        self._versions: dict[str, dict[str, str]] = {}
        """Of the libraries that each backend has loaded, which do not change any more."""
        self._problems = ProblemCache()
        self._runner: Runner | None = None
        self._problem: Problem | None = None
        self._intact = False
        """Whether the arrays of the last runner hold the inputs for certain."""
        self._phases_s = Phases()
        self._predictions: dict[str, float] = {}
        self._verified: dict[str, Verification] = {}
        self._verified_again: set[str] = set()
        """Programs, whatever their block and size, whose result was checked twice."""
        self._free: tuple[float, str, int | None] = (0.0, "", None)
        """When it was told how much memory is free, of which device, and how much."""
        self._timing: dict[str, TimingChoice] = {}
        """How a configuration was timed in its first run, and so is in all its turns."""
        self._memory: dict[str, MemoryUse] = {}
        """What was counted, by configuration: it does not change from run to run."""

    # ---- devices

    def _backend(self, name: str) -> Backend:
        if name not in self._backends:
            self._backends[name] = registry.create(name, self.threads)
        return self._backends[name]

    def _discover(self, name: str) -> tuple[DeviceInfo, ...] | Unavailable:
        if name not in self._found:
            try:
                self._found[name] = self._backend(name).discover()
            except Exception as error:  # noqa: BLE001 - one broken backend must not hide the others
                traceback.print_exc()
                self._found[name] = Unavailable(
                    backend=name,
                    reason=f"looking for its devices failed: {type(error).__name__}: {error}",
                    remedy="see 'gpuexplorer doctor', or reinstall its libraries",
                )
        return self._found[name]

    def devices(self) -> DeviceList:
        """Return every device of every backend, and why some have none."""
        found = [self._discover(name) for name in registry.BACKENDS]
        return DeviceList(
            devices=tuple(d for part in found if not isinstance(part, Unavailable) for d in part),
            unavailable=tuple(part for part in found if isinstance(part, Unavailable)),
        )

    def device(self, device_id: str) -> DeviceInfo:
        """Return a device by its full id."""
        backend = device_id.partition(":")[0]
        found = self._discover(backend) if backend in registry.BACKENDS else ()
        if not isinstance(found, Unavailable):
            for device in found:
                if device.id == device_id:
                    return device
        raise InputError(f"this engine has no device '{device_id}'")

    def prepare(self) -> None:
        """Open the CPU where that runs kernels unless another device is asked for.

        Raises what opening it raises. A GPU is opened by its first run: that takes of its memory.
        """
        device = find_device(self.devices(), "auto")
        if device.kind == "cpu" and device.runs_kernels:
            self._backend(device.backend).prepare(device)
            self._versions_of(device)

    def _versions_of(self, device: DeviceInfo) -> dict[str, str]:
        """Return the versions of the libraries behind a device, which are read from files."""
        if not self._versions.get(device.backend):
            self._versions[device.backend] = self._backend(device.backend).versions()
        return self._versions[device.backend]

    def environment(self, plan: Plan, device: DeviceInfo) -> Environment:
        """Return the versions a figure of this plan depends on."""
        versions = self._versions_of(device)
        return Environment(
            gpuexplorer=gpuexplorer.__version__,
            python=platform.python_version(),
            numpy=np.__version__,
            cupy=versions.get("cupy"),
            pyopencl=versions.get("pyopencl"),
            torch=versions.get("torch"),
            tensorflow=versions.get("tensorflow"),
            keras=versions.get("keras"),
            jax=versions.get("jax"),
            cuda=versions.get("cuda"),
            source_sha256=plan.source_sha256,
            machine=platform.node() or msgspec.UNSET,
            person=_person() or msgspec.UNSET,
        )

    # ---- runs

    def run(
        self,
        workload: Workload,
        config: RunConfig,
        sink: Sink,
        cancelled: Callable[[], bool],
        *,
        seconds: float | None,
        max_noise: float | None,
        allow_s: float,
        samples: int | None = None,
        warm_up_s: float | None = None,
        in_search: bool = False,
        slower_than_s: float | None = None,
    ) -> tuple[str, Phases]:
        """Run one configuration; return what ended it and its phases.

        ``seconds`` is how long to sample at the most, None until it is cancelled;
        ``max_noise`` the relative error of the median that is enough, None for no such end;
        ``samples`` how many are enough. ``warm_up_s`` is how long to launch without keeping a
        sample (None: briefly for a run without an end, otherwise ``WARM_UP_S``). ``in_search``: it
        is one of many, so a configuration that this process verified before is not again, and a
        prediction is only as fine as it takes to know that a launch is short.
        ``slower_than_s`` is what a launch may take before the run is given up (``Slower``).
        """
        sink.stage("check", devices_deadline_s())
        device = self.device(config.device)
        if device.threads is not None and config.threads != self.threads:
            raise InputError(
                f"this engine runs with {self.threads} CPU threads, not {config.threads}"
            )
        plan = make_plan(workload, config, device)
        problem = self._problems.get(workload, plan)
        runner = self._backend(device.backend).runner(plan, device)
        key = f"{workload.sha256} {plan.config.key}"
        program = f"{workload.sha256} {config.variant} {config.precision} {plan.defines}"
        previous = self._reusable(problem)
        free_B = self._memory_free_B(device, FREE_FOR_S if in_search else 0.0)
        room_B = None if free_B is None else free_B + _kept_B(previous, device)
        if room_B is not None:
            check_memory(workload, plan, device, free_B=room_B)
        job = Job(
            runner=runner,
            problem=problem,
            stop_rules=_stop_rules(seconds, max_noise, samples),
            samples=samples,
            slower=None if slower_than_s is None else Slower(slower_than_s),
            cancelled=cancelled,
            allow_s=allow_s,
            warm_up_s=_warm_up_s(seconds, samples) if warm_up_s is None else warm_up_s,
            wait_when_throttled=seconds is not None or samples is not None,
            clock_reasons=self._clock_reasons,
            timing=self._timing.get(key),
            include_transfers=config.include_transfers,
            known_prediction_s=self._predictions.get(key),
            in_search=in_search,
            rough_below_s=ROUGH_BELOW_S if in_search else 0.0,
            known_verification=self._verified.get(key) if in_search else None,
            verified_again=in_search and program in self._verified_again,
            previous=previous,
            previous_intact=self._intact,
            phases_s=self._phases_s,
            memory=self._memory.get(key) or _uncounted(runner),
        )
        failure: OutOfMemory | None = None
        try:
            with memory_limit(device, free_B):
                reference_s = max(AGREED_DEADLINE_S, job.least_deadline_s)
                if problem.wanted_variant is not None:
                    sink.stage("verify", reference_s)
                    problem.trust(self._results_of(problem.wanted_variant, workload, plan))
                function = problem.wanted_function
                if function is not None:
                    sink.stage("verify", reference_s)
                    problem.trust(right_results(function, workload, plan, problem.inputs))
                stopped_by = run_job(job, sink)
        except (Stopped, TooLong):
            self._keep(job)
            raise
        except DeviceLost:
            self._runner = None  # the context is gone, and freeing in it would fail again
            raise
        except Exception as error:
            runner.free()  # a faulty kernel may have harmed its inputs, too
            self.release()
            failure = out_of_memory(error, plan, device, room_B)
            if failure is None:
                raise
        if failure is not None:  # the error is gone by now, with the frames that held arrays
            problem.forget()
            give_back()
            raise failure
        self._keep(job)
        if len(self._predictions) < MAX_PREDICTIONS and job.predicted_s is not None:
            self._predictions[key] = job.predicted_s
        if len(self._verified) < MAX_PREDICTIONS and job.verification is not None:
            self._verified[key] = job.verification
        if len(self._timing) < MAX_PREDICTIONS and job.timing is not None:
            self._timing[key] = job.timing
        if job.verified_again and len(self._verified_again) < MAX_PREDICTIONS:
            self._verified_again.add(program)
        if len(self._memory) < MAX_PREDICTIONS and job.memory.peak_B is not None:
            self._memory[key] = job.memory
        return stopped_by, job.phases_s

    def _memory_free_B(self, device: DeviceInfo, known_for_s: float) -> int | None:
        """Return the bytes that a run could take of a device, as they were so long ago at most."""
        told_s, device_id, free_B = self._free
        if device_id != device.id or time.monotonic() - told_s >= known_for_s:
            free_B = self._backend(device.backend).memory_free_B(device)
            self._free = (time.monotonic(), device.id, free_B)
        return free_B

    @contextmanager
    def held(self, workload: Workload, config: RunConfig) -> Iterator[Runner]:
        """Have a runner of one configuration, built and with its inputs, apart from any run."""
        device = self.device(config.device)
        plan = make_plan(workload, config, device)
        runner = self._backend(device.backend).runner(plan, device)
        runner.build()
        try:
            runner.allocate()
            runner.upload(self._problems.get(workload, plan).inputs)
            yield runner
        finally:
            runner.free()

    def _results_of(self, variant: str, workload: Workload, plan: Plan) -> dict[str, HostArray]:
        """Run a variant once on a plan's problem; return what it wrote of the plan's outputs."""
        config = plan.config
        trusted = msgspec.structs.replace(
            config, variant=variant, block=default_block(workload.variant(variant)), tunables={}
        )
        with self.held(workload, trusted) as runner:
            runner.poison()
            runner.launch_plain()
            runner.check_guards()
            there = {a.name for a in runner.plan.outputs}
            names = tuple(a.name for a in plan.outputs if a.name in there)
            if not names:
                raise InputError(
                    f"variant '{variant}' is the reference of '{config.variant}' and writes none "
                    "of its outputs",
                    remedy="name another variant under 'reference' in the manifest",
                )
            return runner.download(names)

    def _reusable(self, problem: Problem) -> Runner | None:
        """Return the last runner when its arrays hold the same problem; free it otherwise."""
        if self._runner is None:
            return None
        if self._problem is not None and self._problem.key == problem.key:
            return self._runner
        self.release()
        return None

    def _keep(self, job: Job) -> None:
        """Keep the arrays of a run that ended well, for the next run of the same problem."""
        self._phases_s = job.phases_s
        if job.arrays == "filled":
            self._runner, self._problem, self._intact = job.runner, job.problem, job.intact
        elif job.arrays == "held":
            job.runner.free()
            self._runner = self._problem = None

    def release(self) -> None:
        """Free the arrays of the last run."""
        if self._runner is not None:
            self._runner.free()
        self._runner = self._problem = None

    def close(self) -> None:
        """Free everything and close the backends."""
        self.release()
        for backend in self._backends.values():
            backend.close()


def _kept_B(previous: Runner | None, device: DeviceInfo) -> float:
    """Return what is taken already for a run of the same problem."""
    if previous is None:
        return 0.0
    copies_B = sum(a.nbytes for a in previous.plan.inputs) if device.kind == "cpu" else 0
    return held_parts(previous.plan).total_B + copies_B


def _uncounted(runner: Runner) -> MemoryUse:
    """Return what is known of a run's memory before anything was counted."""
    reason = "not counted so far" if runner.counts_memory else runner.uncounted
    return MemoryUse(predicted=predict(runner.plan), reason=reason)


def _warm_up_s(seconds: float | None, samples: int | None) -> float:
    if seconds is None:
        return LIVE_WARM_UP_S if samples is None else WARM_UP_S
    return min(WARM_UP_S, seconds)


def _stop_rules(
    seconds: float | None, max_noise: float | None, samples: int | None
) -> list[StopRule]:
    rules: list[StopRule] = [] if samples is None else [Enough(samples)]
    if max_noise is not None:
        noise = Noise()
        rules += [NoiseReached(max_noise, noise=noise), NoiseStable(noise=noise)]
    if seconds is not None:
        rules.append(TimeUp(seconds))
    return rules


def traffic_of(plan: Plan) -> list[Traffic]:
    """Return the bytes as the model has them: compulsory, requested if known, host transfers."""
    traffic = [
        Traffic(
            kind="compulsory",
            read_B=plan.compulsory_read_B,
            write_B=plan.compulsory_write_B,
            source="model",
        )
    ]
    if plan.requested_read_B is not None and plan.requested_write_B is not None:
        traffic.append(
            Traffic(
                kind="requested",
                read_B=plan.requested_read_B,
                write_B=plan.requested_write_B,
                source="model",
            )
        )
    # What the phases host→device and device→host copy, seen from the device.
    traffic.append(
        Traffic(
            kind="pcie",
            read_B=sum(a.nbytes for a in plan.inputs),
            write_B=sum(a.nbytes for a in plan.outputs),
            source="model",
        )
    )
    return traffic


def untimed_B_of(plan: Plan, device: DeviceInfo) -> float:
    """Return the bytes moved before each launch that are no part of it.

    Arrays are set back from a copy or by filling them; a cold launch follows a pass over twice the
    last-level cache, whose size is taken to be large where it is not known.
    """
    set_back_B = 2.0 * sum(plan.array(name).nbytes for name in plan.reset)
    if plan.config.cache != "cold":
        return set_back_B
    cache_B = device.last_level_cache_B
    return set_back_B + 2.0 * (cache_B if cache_B is not None else UNKNOWN_CACHE_B)


@cache
def _person() -> str:
    """Return the name of the user who runs this; empty where there is none, as in a container."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
