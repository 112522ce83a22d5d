"""A workload's variant as it would be launched on an architecture, whether or not it is here."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from gpuexplorer.analysis.architectures import device_of, exact_architecture
from gpuexplorer.analysis.static import (
    CompileRequest,
    KernelAnalysis,
    KernelFigures,
    Launch,
    curve_blocks,
    describe_kernel,
)
from gpuexplorer.core.config import Block, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.plan import KernelLaunch
from gpuexplorer.workloads.planning import launch_steps, make_plan
from gpuexplorer.workloads.workload import Workload

if TYPE_CHECKING:
    from gpuexplorer.analysis.listing import KernelListing

Known = Mapping[bytes, Sequence[KernelFigures]]
"""What is compiled already, by ``request_key``."""


def request_key(request: CompileRequest) -> bytes:
    """Return what is equal for equal requests, and short: hundreds are kept, of long sources."""
    return hashlib.sha256(msgspec.msgpack.encode(request, order="sorted")).digest()


class _Launches(msgspec.Struct, frozen=True):
    """A variant's launches with one block, and the macros they are compiled with."""

    defines: dict[str, int]
    steps: tuple[KernelLaunch, ...]

    @property
    def sources(self) -> tuple[str, ...]:
        """Each source file once."""
        return tuple(dict.fromkeys(step.source for step in self.steps))


class VariantOn:
    """A variant of a workload as it would be launched on an architecture.

    Raises InputError for a request that cannot be, CannotRunHere for a variant that needs another
    architecture or is a library's.
    """

    def __init__(self, workload: Workload, request: RunRequest, arch: str) -> None:
        name = request.variant or workload.manifest.first_variant
        variant = workload.variant(name)
        if variant.call is not None:
            kernels = [n for n, v in workload.manifest.variants.items() if v.launch]
            raise InputError(
                f"variant '{name}' is the library call {variant.call}, whose kernels are its own"
                if variant.library
                else f"variant '{name}' is the model {variant.call}, whose kernels are its own",
                remedy=f"choose one of {', '.join(kernels)}" if kernels else "",
            )
        self._workload = workload
        self._device = device_of(exact_architecture(arch, variant.requires))
        wanted = msgspec.structs.replace(request, device=self._device.id, threads=None)
        self._config = complete(wanted, workload, DeviceList(devices=(self._device,)))
        plan = make_plan(workload, self._config, self._device)
        self.config = plan.config
        self.block: Block = plan.config.block or (1, 1, 1)
        here = _Launches(plan.defines, plan.steps)
        self._launches: dict[Block, _Launches | None] = {self.block: here}
        self._here = here
        self._varies = [step.follows_sliders for step in variant.launch]

    def requests(self) -> list[CompileRequest]:
        """Return everything that has to be compiled, each once.

        That is one request a source file, and more only where a macro is tied to the block.
        """
        found: dict[bytes, CompileRequest] = {}
        for block in curve_blocks(self.block):
            launches = self._launches_with(block)
            if launches is None:
                continue
            for source in launches.sources:
                request = self._request(launches, source)
                found.setdefault(request_key(request), request)
        return list(found.values())

    def listing_requests(self) -> list[CompileRequest]:
        """Return what has to be compiled for the listings of every launch, a source file each."""
        return [
            msgspec.structs.replace(self._request(self._here, source), listed=True)
            for source in self._here.sources
        ]

    def listings(self, known: Known) -> list[KernelListing]:
        """Return every launch of the variant as instructions, from ``listing_requests``."""
        from gpuexplorer.analysis.listing import kernel_listing

        requests = {request.source: request for request in self.listing_requests()}
        return [
            kernel_listing(
                next(k for k in known[request_key(requests[step.source])] if k.name == step.entry),
                subject=f"{self._workload.name} {self.config.variant}",
                precision=self.config.precision,
                tunables=self._here.defines,
            )
            for step in self._here.steps
        ]

    def describe(self, known: Known) -> list[KernelAnalysis]:
        """Return every launch of the variant, from figures of all ``requests``."""
        return [self._describe(index, known) for index in range(len(self._here.steps))]

    def _describe(self, index: int, known: Known) -> KernelAnalysis:
        def launch_at(block: Block) -> Launch | None:
            launches = self._launches_with(block) if varies else self._here
            if launches is None:
                return None
            step = launches.steps[index]
            compiled = known[request_key(self._request(launches, step.source))]
            return next(k for k in compiled if k.name == step.entry), step.shared_B

        varies = self._varies[index]
        return describe_kernel(
            launch_at,
            self._here.steps[index].block,
            precision=self.config.precision,
            tunables=self._here.defines,
            varies=varies,
        )

    def _launches_with(self, block: Block) -> _Launches | None:
        """Return what would be launched with another block; None when the variant refuses it."""
        if block not in self._launches:
            config = msgspec.structs.replace(self._config, block=block)
            try:
                found = _Launches(*launch_steps(self._workload, config, self._device))
            except ExplorerError:
                found = None
            self._launches[block] = found
        return self._launches[block]

    def _request(self, launches: _Launches, source: str) -> CompileRequest:
        return CompileRequest(
            source=source,
            files=self._workload.source.files,
            arch=self._device.hardware_id,
            precision=self.config.precision,
            defines=launches.defines,
            entries=tuple(sorted({s.entry for s in launches.steps if s.source == source})),
        )
