"""Which runs show that kernels are right: every variant, precision and awkward shape."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from gpuexplorer.core.config import Block, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.workloads.choose import complete, default_block, device_for_variant
from gpuexplorer.workloads.plan import Plan, make_plan
from gpuexplorer.workloads.workload import Workload

MAX_FLOP = 4e7
MAX_ELEMENTS = 300_000
"""Work and elements of a check's largest run: quick on a CPU, and several blocks of any shape."""
_CANDIDATES = (1, 2, 31, 64, 127, 128, 256, 257, 1024, 4093, 4096, 65536, 65537, 99991)
_ODD_BLOCKS: tuple[Block, ...] = (
    (1, 1, 1), (7, 1, 1), (33, 1, 1), (96, 1, 1), (1024, 1, 1),
    (1, 32, 1), (5, 3, 1), (24, 6, 1), (32, 32, 1), (3, 5, 2), (1, 1, 64), (8, 4, 4),
)  # fmt: skip
"""Blocks that are not the usual powers of two, narrow, flat, or as large as allowed."""


@dataclass(frozen=True)
class CheckCase:
    """One run to make, and what it is there to find."""

    request: RunRequest
    finds: str


@dataclass(frozen=True)
class SkippedCase:
    """A variant and precision that this device cannot run, and why."""

    variant: str
    precision: str
    reason: str


def check_plan(
    workload: Workload, devices: DeviceList, device: DeviceInfo
) -> tuple[list[CheckCase], list[SkippedCase]]:
    """Return the runs that check a workload on a device, and what the device cannot run.

    Every variant and precision runs at sizes of 1, powers of two, primes and one more than a power
    of two; once with unusual blocks and with every value of its tunables; and in half precision
    once with large inputs, so that a sum or product that overflows is found.
    """
    cases: list[CheckCase] = []
    skipped: list[SkippedCase] = []
    for variant in workload.manifest.variants:
        view = device_for_variant(devices, workload.variant(variant), device)
        for precision in workload.precisions_of(variant):
            try:
                cases += _Enumeration(workload, variant, precision, devices, view).cases()
            except CannotRunHere as error:
                skipped.append(SkippedCase(variant, precision, str(error)))
    return cases, skipped


class _Enumeration:
    """The cases of one variant in one precision on one device."""

    def __init__(
        self,
        workload: Workload,
        variant: str,
        precision: str,
        devices: DeviceList,
        device: DeviceInfo,
    ) -> None:
        self.workload, self.variant, self.precision = workload, variant, precision
        self.devices, self.device = devices, device
        self.spec = workload.variant(variant)

    def cases(self) -> list[CheckCase]:
        """Return the cases; CannotRunHere when the device lacks what the variant requires."""
        sizes = self._sizes()
        found = [CheckCase(self._request(size), "every part of the grid") for size in sizes]
        odd = sizes[-1]
        for block in self._blocks(odd):
            found.append(CheckCase(self._request(odd, block=block), "unusual blocks"))
        for tunables in self._tunables():
            request = self._request(odd, tunables=tunables)
            if self._plan(request) is not None:
                found.append(CheckCase(request, "every value of a tunable"))
        if PRECISIONS[self.precision].is_half:
            found.append(CheckCase(self._request(odd, fill="large"), "sums that overflow"))
        return found

    def _request(
        self,
        size: dict[str, int],
        *,
        block: Block | None = None,
        tunables: dict[str, int] | None = None,
        fill: str | None = None,
    ) -> RunRequest:
        return RunRequest(
            workload=self.workload.name,
            variant=self.variant,
            size=size,
            precision=self.precision,
            device=self.device.id,
            block=None if block is None else block[: self.spec.dimensions],
            tunables=tunables or {},
            fill=fill,
        )

    def _plan(self, request: RunRequest) -> Plan | None:
        """Return the plan of a request; None when this block, size or tunable is not legal."""
        try:
            config = complete(request, self.workload, self.devices)
            return make_plan(self.workload, config, self.device)
        except InputError:
            return None

    def _sizes(self) -> list[dict[str, int]]:
        """Return the sizes to run, smallest first; the last one is no multiple of any block."""
        legal = [size for size in self._candidates() if self._affordable(size)]
        if not legal:  # a workload that is never small: its smallest
            return [{symbol: spec.min for symbol, spec in self.workload.manifest.sizes.items()}]
        legal.sort(key=lambda size: math.prod(size.values()))
        odd = [size for size in legal if all(n % 2 for n in size.values())]
        even = [size for size in legal if size not in odd]
        chosen = [*legal[:1], *even[-1:], *odd[-3:]]
        return [size for i, size in enumerate(chosen) if size not in chosen[:i]]

    def _candidates(self) -> Iterator[dict[str, int]]:
        specs = self.workload.manifest.sizes
        for index in range(len(_CANDIDATES)):
            size = {}
            for shift, (symbol, spec) in enumerate(specs.items()):
                wanted = _CANDIDATES[max(0, index - shift)]  # sizes that differ from each other
                size[symbol] = min(max(wanted, spec.min), spec.max)
            yield size

    def _affordable(self, size: dict[str, int]) -> bool:
        plan = self._plan(self._request(size))
        if plan is None:
            return False
        elements = sum(array.elements for array in plan.arrays)
        return plan.flops <= MAX_FLOP and elements <= MAX_ELEMENTS

    def _blocks(self, size: dict[str, int]) -> list[Block]:
        dimensions = self.spec.dimensions
        found: list[Block] = []
        for block in _ODD_BLOCKS:
            fits = block[dimensions:] == (1,) * (3 - dimensions)
            if not dimensions or not fits or block == default_block(self.spec):
                continue
            if self._plan(self._request(size, block=block)) is not None:
                found.append(block)
        return found

    def _tunables(self) -> Iterator[dict[str, int]]:
        for name, tunable in self.spec.tunables.items():
            default = tunable.values[0] if tunable.default is None and tunable.values else None
            for value in tunable.values:
                if value not in (default, tunable.default):
                    yield {name: value}
