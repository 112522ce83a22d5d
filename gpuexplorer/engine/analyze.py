"""Static analysis of kernels without a GPU: of a file as it stands, or of a workload's variant."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gpuexplorer.analysis.architectures import device_of, exact_architecture
from gpuexplorer.analysis.occupancy import MAX_THREADS_PER_BLOCK
from gpuexplorer.analysis.static import (
    Analysis,
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
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.engine.compiler import Compiler
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import read_source
from gpuexplorer.workloads.plan import Step, launch_steps, make_plan
from gpuexplorer.workloads.strict import suggestion
from gpuexplorer.workloads.workload import Workload

DEFAULT_BLOCK: Block = (256, 1, 1)
MAX_BLOCK = (1024, 1024, 64)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)

Known = Mapping[bytes, Sequence[KernelFigures]]
"""What is compiled already, by ``request_key``."""


def request_key(request: CompileRequest) -> bytes:
    """Return a text that is equal for equal requests."""
    return msgspec.msgpack.encode(request, order="sorted")


# ---- a file


@dataclass(frozen=True)
class KernelFile:
    """A CUDA source file with the files of its folder that it includes, by name."""

    name: str
    files: dict[str, str]


def read_kernel_file(path: Path) -> KernelFile:
    """Read a CUDA source and what it includes; InputError when one cannot be read."""
    files = {path.name: read_source(path)}
    waiting = [path.name]
    while waiting:
        for name in _INCLUDE.findall(files[waiting.pop()]):
            beside = path.parent / name
            if name not in files and beside.is_file():
                files[name] = read_source(beside)
                waiting.append(name)
    return KernelFile(path.name, files)


def analyze_file(
    path: Path,
    architectures: Iterable[str],
    *,
    block: Sequence[int] | None = None,
    precision: str = "fp32",
    defines: Mapping[str, int] | None = None,
    dynamic_shared_B: int = 0,
    entries: Iterable[str] = (),
    python: str | None = None,
) -> Analysis:
    """Return resources and occupancy of the kernels in a CUDA source file.

    ``block`` is by default 256 threads, or what ``__launch_bounds__`` allow; ``defines`` are
    macros; ``entries`` the kernels wanted, template arguments included (``scale<4>``), by default
    each that is no template; ``python`` is the interpreter that compiles. Raises InputError,
    CannotRunHere without NVRTC, WorkFailed with the compiler's message.
    """
    if precision not in PRECISIONS:
        raise InputError(
            f"no precision '{precision}'", remedy=suggestion(precision, list(PRECISIONS))
        )
    chosen = None if block is None else _checked(block)
    source = read_kernel_file(path)
    tunables = dict(defines or {})
    requests = [
        CompileRequest(
            source=source.name,
            files=source.files,
            arch=arch,
            precision=precision,
            defines=tunables,
            entries=tuple(entries),
        )
        for arch in architectures
    ]
    found = [
        _describe_free(figures, chosen, dynamic_shared_B, precision, tunables)
        for compiled in Compiler(python).figures(requests)
        for figures in compiled
    ]
    if not found:
        raise InputError(
            f"{path} has no kernel that is not a template",
            remedy="declare one with __global__, or name a template's with --entry 'name<4>'",
        )
    return Analysis(subject=str(path), kernels=tuple(found))


def _checked(block: Sequence[int]) -> Block:
    """Return a block with three dimensions; InputError for one that no GPU launches."""
    shape = "x".join(map(str, block))
    if not 1 <= len(block) <= 3 or min(block) < 1:
        raise InputError(
            f"'{shape}' is no block", remedy="give one to three dimensions of 1 or more"
        )
    x, y, z = (*block, 1, 1)[:3]
    if math.prod(block) > MAX_THREADS_PER_BLOCK:
        raise InputError(
            f"block {shape} has {math.prod(block)} threads, and a GPU allows "
            f"{MAX_THREADS_PER_BLOCK}",
            remedy="make the block smaller",
        )
    if z > MAX_BLOCK[2]:
        raise InputError(f"block {shape} is longer in z than the {MAX_BLOCK[2]} a GPU allows")
    return x, y, z


def _describe_free(
    figures: KernelFigures,
    block: Block | None,
    dynamic_B: int,
    precision: str,
    tunables: dict[str, int],
) -> KernelAnalysis:
    """Describe a kernel that nothing is known of but its source."""
    bound = figures.max_threads_per_block or DEFAULT_BLOCK[0]
    return describe_kernel(
        lambda _: (figures, dynamic_B),
        block or (min(DEFAULT_BLOCK[0], bound), 1, 1),
        precision=precision,
        tunables=tunables,
    )


# ---- a workload's variant


class VariantOn:
    """A variant of a workload as it would be launched on an architecture.

    Raises InputError for a request that cannot be, CannotRunHere for a variant that needs another
    architecture or is a library's.
    """

    def __init__(self, workload: Workload, request: RunRequest, arch: str) -> None:
        name = request.variant or workload.manifest.first_variant
        variant = workload.variant(name)
        if variant.library is not None:
            kernels = [n for n, v in workload.manifest.variants.items() if v.launch]
            raise InputError(
                f"variant '{name}' is the library call {variant.library}, whose kernels are its "
                "own",
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


@dataclass(frozen=True)
class _Launches:
    """A variant's launches with one block, and the macros they are compiled with."""

    defines: dict[str, int]
    steps: tuple[Step, ...]

    @property
    def sources(self) -> tuple[str, ...]:
        """Each source file once."""
        return tuple(dict.fromkeys(step.source for step in self.steps))


def analyze_variant(
    workload: Workload,
    request: RunRequest,
    architectures: Iterable[str],
    *,
    python: str | None = None,
) -> Analysis:
    """Return resources and occupancy of every launch of a variant, as on each architecture.

    Of ``request`` variant, size, block, precision and tunables count. Raises what ``VariantOn``
    and the compiler raise.
    """
    variants = [VariantOn(workload, request, arch) for arch in architectures]
    needed = {request_key(r): r for variant in variants for r in variant.requests()}
    compiled = Compiler(python).figures(list(needed.values()))
    known = dict(zip(needed, compiled, strict=True))
    return Analysis(
        subject=f"{workload.name} {variants[0].config.variant}" if variants else workload.name,
        kernels=tuple(k for variant in variants for k in variant.describe(known)),
    )
