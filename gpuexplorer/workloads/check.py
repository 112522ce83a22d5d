"""Which runs show that kernels are right: every variant, precision and awkward shape."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Literal
from zlib import crc32

import msgspec

from gpuexplorer.core.config import Block, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceLimits, DeviceList, Unavailable
from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.workloads.choose import (
    complete,
    default_block,
    default_tunables,
    device_for_variant,
    missing_framework,
)
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.workload import Workload

MAX_FLOP = 4e7
MAX_ELEMENTS = 300_000
"""Work and elements of a check's largest run: quick on a CPU, and several blocks of any shape."""
LARGER_FLOP = 1e9
LARGER_ELEMENTS = 4_000_000
"""The same for the one larger size of a full check."""
Depth = Literal["quick", "usual", "full"]
_CANDIDATES = (1, 2, 31, 64, 127, 128, 256, 257, 1024, 4093, 4096, 65536, 65537, 99991)
_LARGER = (257, 511, 769, 1023, 1537, 65537, 299_993, 999_983)
_ODD_BLOCKS: tuple[Block, ...] = (
    (1, 1, 1), (7, 1, 1), (32, 1, 1), (33, 1, 1), (96, 1, 1), (1024, 1, 1),
    (1, 32, 1), (5, 3, 1), (24, 6, 1), (32, 32, 1), (3, 5, 2), (1, 1, 64), (8, 4, 4),
)  # fmt: skip
"""Blocks of one warp, not the usual powers of two, narrow, flat, or as large as allowed."""


class CheckCase(msgspec.Struct, frozen=True):
    """One run to make, and what it is there to find."""

    request: RunRequest
    finds: str


class SkippedCase(msgspec.Struct, frozen=True):
    """A variant and precision that this device cannot run, and why."""

    variant: str
    precision: str
    reason: str
    missing: Unavailable | None = None
    """The framework that is not here, where that is why."""


def check_plan(
    workload: Workload, devices: DeviceList, device: DeviceInfo, depth: Depth = "usual"
) -> tuple[list[CheckCase], list[SkippedCase]]:
    """Return the runs that check a workload on a device, and what the device cannot run.

    Every variant and precision runs at sizes of 1, powers of two, primes and one more than a power
    of two; once with unusual blocks and with every value of its tunables; and in half precision
    once with large inputs, so that a sum or product that overflows is found.

    ``full`` adds one larger size. ``quick`` keeps for each variant and precision the sizes where
    most goes wrong (1, and one that no block divides) and the large inputs, and for each variant
    one size that blocks divide, one unusual block and one value of a tunable, each of which is a
    kernel to compile: in another precision and with another value each time, so that all are seen
    across the variants.
    """
    cases: list[CheckCase] = []
    skipped: list[SkippedCase] = []
    first = crc32(workload.name.encode())  # a workload with one variant has its turn somewhere, too
    seen: set[tuple[int, ...]] = set()
    for turn, variant in enumerate(workload.manifest.variants, first):
        view = device_for_variant(devices, workload.variant(variant), device)
        able: list[_Enumeration] = []
        for precision in workload.precisions_of(variant):
            try:
                every = _Enumeration(workload, variant, precision, devices, view)
                cases += every.quick_cases() if depth == "quick" else every.cases(depth)
                able.append(every)
            except CannotRunHere as error:
                missing = missing_framework(devices, workload.variant(variant))
                skipped.append(SkippedCase(variant, precision, str(error), missing))
        if depth == "quick" and able:
            cases += able[turn % len(able)].unusual_block(turn, seen)
            cases += able[(turn + 1) % len(able)].other_tunable(turn)
            cases += able[(turn + 2) % len(able)].whole_size()
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

    def quick_cases(self) -> list[CheckCase]:
        """Return the few cases that find most."""
        *others, odd = self._sizes
        found = [self._of_size(size) for size in (odd, *others[:1])]
        return [*found, *self._overflow(odd)]

    def whole_size(self) -> list[CheckCase]:
        """Return the case of the size that blocks divide, which kernels may treat by itself."""
        return [self._of_size(size) for size in self._sizes[1:-1][:1] if self.spec.launch]

    def _of_size(self, size: dict[str, int]) -> CheckCase:
        return CheckCase(self._request(size), "every part of the grid")

    def unusual_block(self, turn: int, seen: set[tuple[int, ...]]) -> list[CheckCase]:
        """Return a case with one of the unusual blocks, if there are any: one not ``seen`` yet."""
        odd = self._sizes[-1]
        blocks = self._blocks(odd)
        at = turn % max(1, len(blocks))
        requests = [self._request(odd, block=block) for block in (*blocks[at:], *blocks[:at])]
        requests.sort(key=lambda request: request.block in seen)
        seen.update(request.block for request in requests[:1] if request.block is not None)
        return [CheckCase(request, "unusual blocks") for request in requests[:1]]

    def other_tunable(self, turn: int) -> list[CheckCase]:
        """Return a case with one other value of a tunable, if there are any, as ``turn`` says."""
        odd = self._sizes[-1]
        legal = [
            request for tunables in self._tunables(odd)
            if self._plan(request := self._request(odd, tunables=tunables)) is not None
        ]  # fmt: skip
        requests = [legal[turn % len(legal)]] if legal else []
        return [CheckCase(request, "every value of a tunable") for request in requests]

    def _overflow(self, size: dict[str, int]) -> list[CheckCase]:
        if self.spec.model is not None or not PRECISIONS[self.precision].is_half:
            return []
        return [CheckCase(self._request(size, fill="large"), "sums that overflow")]

    def cases(self, depth: Depth) -> list[CheckCase]:
        """Return the cases; CannotRunHere when the device lacks what the variant requires."""
        sizes = self._sizes
        found = [self._of_size(size) for size in sizes]
        odd = sizes[-1]
        for block in self._blocks(odd):
            found.append(CheckCase(self._request(odd, block=block), "unusual blocks"))
        for tunables in self._tunables(odd):
            request = self._request(odd, tunables=tunables)
            if self._plan(request) is not None:
                found.append(CheckCase(request, "every value of a tunable"))
        for tuned in self.spec.tuned:
            if self.precision in (tuned.precisions or [self.precision]):
                request = self._request(odd, tunables=tuned.tunables)
                if tuned.block:
                    request = msgspec.structs.replace(request, block=tuple(tuned.block))
                there = any(case.request == request for case in found)  # two families, one block
                if self._plan(request) is not None and not there:
                    found.append(CheckCase(request, "what was tuned for other devices"))
        if depth == "full":
            larger = self._sizes_of(_LARGER, LARGER_FLOP, LARGER_ELEMENTS)
            if larger and larger[-1] not in sizes:
                found.append(CheckCase(self._request(larger[-1]), "a larger size"))
        return [*found, *self._overflow(odd)]

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

    @cached_property
    def _sizes(self) -> list[dict[str, int]]:
        """Return the sizes to run: the smallest, one of usual multiples, and those of none."""
        legal = self._sizes_of(_CANDIDATES, MAX_FLOP, MAX_ELEMENTS)
        if not legal:  # a workload that is never small: its smallest
            return [{symbol: spec.min for symbol, spec in self.workload.manifest.sizes.items()}]
        odd = [size for size in legal if all(n % 2 for n in size.values())]
        even = [size for size in legal if size not in odd]
        whole = [size for size in even if any(n % 256 == 0 for n in size.values())]
        chosen = [*legal[:1], *(whole or even)[-1:], *odd[-3:]]
        if self.spec.model is not None:  # nothing that a size could divide, or not
            chosen = [legal[0], legal[len(legal) // 2], legal[-1]]
        return [size for i, size in enumerate(chosen) if size not in chosen[:i]]

    def _sizes_of(
        self, values: tuple[int, ...], flop: float, elements: float
    ) -> list[dict[str, int]]:
        """Return the legal sizes made of ``values`` with no more work, smallest first."""
        specs = self.workload.manifest.sizes
        found: list[dict[str, int]] = []
        different = [
            [values[max(0, index - shift)] for shift in range(len(specs))]
            for index in range(len(values))
        ]
        # Sizes of such a row are hardly ever all odd: once more the last two alone, and the same.
        # Of four or more, each alone as well, for several together are soon too much work.
        square = [[1] * (len(specs) - 2) + [value] * 2 for value in values]
        alone = [
            [value if at == axis else spec.min | 1 for axis, spec in enumerate(specs.values())]
            for at in range(len(specs)) for value in values
        ]  # fmt: skip
        wide = different if len(specs) < 2 else different + square
        for wanted in wide + alone if len(specs) > 3 else wide:
            size = {
                symbol: min(max(value, spec.min), spec.max)
                for value, (symbol, spec) in zip(wanted, specs.items(), strict=True)
            }
            plan = self._plan(self._request(size))
            if plan is None or plan.flops > flop:
                continue
            if size not in found and sum(array.elements for array in plan.arrays) <= elements:
                found.append(size)
        return sorted(found, key=lambda size: math.prod(size.values()))

    def _blocks(self, size: dict[str, int]) -> list[Block]:
        dimensions = self.spec.dimensions
        usual = default_block(self.spec, self.precision, self.device, size)
        found: list[Block] = []
        one, *others = _ODD_BLOCKS
        for block in (one, _largest_block(self.device.limits, dimensions), *others):
            fits = block[dimensions:] == (1,) * (3 - dimensions)
            if not dimensions or not fits or block in (usual, *found):
                continue
            if self._plan(self._request(size, block=block)) is not None:
                found.append(block)
        return found

    def _tunables(self, size: dict[str, int]) -> Iterator[dict[str, int]]:
        usual = default_tunables(self.spec, self.precision, self.device, size)
        for name, tunable in self.spec.tunables.items():
            for value in tunable.values:
                if value != usual.get(name):
                    yield {name: value}


def _largest_block(limits: DeviceLimits, dimensions: int) -> Block:
    """Return a block with as many threads as the device allows, as even as powers of two can be."""
    block = [1, 1, 1]
    axis = 0
    full = 0
    while full < dimensions:
        if block[axis] * 2 <= limits.max_block[axis] and (
            math.prod(block) * 2 <= limits.max_threads_per_block
        ):
            block[axis] *= 2
            full = 0
        else:
            full += 1
        axis = (axis + 1) % dimensions
    return block[0], block[1], block[2]
