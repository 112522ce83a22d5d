"""Kernels tried one case after another: what ``check-kernels`` and the self-test share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from gpuexplorer.charts.words import block_words
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList, Unavailable
from gpuexplorer.core.errors import BlockTooLarge, ExplorerError, WrongResult
from gpuexplorer.core.result import Environment, Verification
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.units import listed
from gpuexplorer.engine.session import EngineSession, RunProgress
from gpuexplorer.workloads.check import CheckCase, Depth, check_plan
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.workload import Workload

SECONDS_EACH = 1e-6
"""One batch of launches is enough: the figure that counts is the verification before it."""


@dataclass
class Tried:
    """One case with what came of it: a verification or an error."""

    case: CheckCase
    config: RunConfig | None = None
    verification: Verification | None = None
    environment: Environment | None = None
    error: ExplorerError | None = None

    @property
    def refused(self) -> str:
        """Why its block cannot be launched of what was compiled for this device; "" if it can."""
        return str(self.error) if isinstance(self.error, BlockTooLarge) else ""


@dataclass
class Group:
    """One variant of a workload in one precision: its cases so far, or why it cannot run here."""

    workload: Workload
    variant: str
    precision: str
    skipped: str = ""
    missing: Unavailable | None = None
    """The framework that is not here, where that is why."""
    cases: list[CheckCase] = field(default_factory=list)
    tried: list[Tried] = field(default_factory=list)

    @property
    def runs_kernels(self) -> bool:
        """Whether the variant launches kernels of its own, and calls no library or framework."""
        return bool(self.workload.variant(self.variant).launch)

    @property
    def failures(self) -> list[Tried]:
        """The cases that failed."""
        return [t for t in self.tried if t.error is not None and not t.refused]

    @property
    def broken(self) -> ExplorerError | None:
        """An error that every further case would meet: anything but a wrong result."""
        errors = (t.error for t in self.failures)
        return next((e for e in errors if not isinstance(e, WrongResult)), None)

    @property
    def margin(self) -> float | None:
        """The largest error as a share of its tolerance."""
        checks = [t.verification for t in self.tried if t.verification is not None]
        return max((c.max_rel_error / c.tolerance for c in checks), default=None)

    @property
    def outcome(self) -> str:
        """What came of the cases that did not fail: ``verified``, or what could not be."""
        checks = [t.verification for t in self.tried if t.error is None]
        words = dict.fromkeys("not verified" if c is None else c.words for c in checks)
        return listed(words) or "no block can be launched"


def plan_groups(
    workloads: Iterable[Workload], devices: DeviceList, device: DeviceInfo, depth: Depth = "usual"
) -> list[Group]:
    """Return the cases of every workload, by variant and precision."""
    groups: dict[tuple[str, str, str], Group] = {}
    for workload in workloads:
        cases, skipped = check_plan(workload, devices, device, depth)
        for case in cases:
            key = (workload.name, str(case.request.variant), str(case.request.precision))
            groups.setdefault(key, Group(workload, *key[1:])).cases.append(case)
        for one in skipped:
            key = (workload.name, one.variant, one.precision)
            groups[key] = Group(
                workload, one.variant, one.precision, skipped=one.reason, missing=one.missing
            )
    return list(groups.values())


def try_case(
    group: Group,
    case: CheckCase,
    session: EngineSession,
    on_progress: Callable[[RunProgress], None] | None = None,
) -> Tried:
    """Run one case and note what came of it."""
    tried = Tried(case)
    group.tried.append(tried)
    try:
        tried.config = complete(case.request, group.workload, session.devices())
        options = RunOptions(seconds=SECONDS_EACH)
        result = session.measure(
            tried.config, group.workload, options, on_progress=on_progress
        ).result()
        tried.config, tried.verification = result.config, result.verification
        tried.environment = result.environment
    except ExplorerError as error:
        tried.error = error
    return tried


def case_words(request: RunRequest) -> str:
    """Return what tells a case from the others of its variant, such as ``fp16 N=257 7×1``."""
    parts = [str(request.precision)]
    parts += [f"{symbol}={value}" for symbol, value in request.size.items()]
    if request.block is not None:
        parts.append(block_words(request.block))
    parts += [f"{name}={value}" for name, value in request.tunables.items()]
    if request.fill is not None:
        parts.append(f"{request.fill} inputs")
    return " ".join(parts)
