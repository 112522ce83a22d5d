"""Static analysis of kernels without a GPU: of a file as it stands, or of a workload's variant."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from gpuexplorer.analysis.compiled_accesses import compiled_accesses
from gpuexplorer.analysis.listing import Listings, kernel_listing
from gpuexplorer.analysis.occupancy import MAX_THREADS_PER_BLOCK
from gpuexplorer.analysis.static import (
    Analysis,
    CompileRequest,
    KernelAnalysis,
    KernelFigures,
    describe_kernel,
)
from gpuexplorer.core.accesses import AccessProfile, CompiledAccesses
from gpuexplorer.core.config import Block, RunRequest
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.precision import KERNEL_PRECISIONS
from gpuexplorer.core.units import count
from gpuexplorer.engine.compiler import Compiler
from gpuexplorer.engine.variant_on import VariantOn, request_key
from gpuexplorer.workloads.cuda_source import CudaSource
from gpuexplorer.workloads.loader import kernel_sources
from gpuexplorer.workloads.strict import suggestion
from gpuexplorer.workloads.workload import Workload

DEFAULT_BLOCK: Block = (256, 1, 1)
MAX_Z = 64
MOST_KERNELS = 500
"""Of a file that are compiled together: each takes the compiler about a tenth of a second."""


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
    chosen = None if block is None else _checked(block)
    tunables = dict(defines or {})
    requests = _file_requests(path, architectures, precision, tunables, entries)
    found = [
        _describe_free(figures, chosen, dynamic_shared_B, precision, tunables)
        for compiled in Compiler(python).figures(requests)
        for figures in compiled
    ]
    if not found:
        raise _no_kernel(path)
    return Analysis(subject=str(path), kernels=tuple(found))


def list_file(
    path: Path,
    architectures: Iterable[str],
    *,
    precision: str = "fp32",
    defines: Mapping[str, int] | None = None,
    entries: Iterable[str] = (),
    python: str | None = None,
) -> Listings:
    """Return the instructions of the kernels in a CUDA source file, beside its lines.

    Arguments and errors are those of ``analyze_file``; CannotRunHere also without nvdisasm.
    """
    tunables = dict(defines or {})
    requests = _file_requests(path, architectures, precision, tunables, entries, listed=True)
    found = tuple(
        kernel_listing(figures, subject=str(path), precision=precision, tunables=tunables)
        for compiled in Compiler(python).figures(requests)
        for figures in compiled
    )
    if not found:
        raise _no_kernel(path)
    return Listings(kernels=found, sources=requests[0].files)


def _file_requests(
    path: Path,
    architectures: Iterable[str],
    precision: str,
    tunables: dict[str, int],
    entries: Iterable[str],
    *,
    listed: bool = False,
) -> list[CompileRequest]:
    if precision not in KERNEL_PRECISIONS:
        raise InputError(
            f"no precision '{precision}'", remedy=suggestion(precision, KERNEL_PRECISIONS)
        )
    files, names = kernel_sources(path, below=True), tuple(entries)
    kernels = CudaSource(files[path.name]).kernels
    if not names and len(kernels) > MOST_KERNELS:
        raise InputError(
            f"{path} has {count(len(kernels))} kernels, too many to compile all",
            remedy=f"choose some with --entry, such as --entry {next(iter(kernels))}",
        )
    return [
        CompileRequest(
            source=path.name,
            files=files,
            arch=arch,
            precision=precision,
            defines=tunables,
            entries=names,
            whole_program=True,
            listed=listed,
        )
        for arch in architectures
    ]


def _no_kernel(path: Path) -> InputError:
    return InputError(
        f"{path} has no kernel that is not a template",
        remedy="declare one with __global__, or name a template's with --entry 'name<4>'",
    )


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
    if z > MAX_Z:
        raise InputError(
            f"block {shape} is longer in z than the {MAX_Z} a GPU allows",
            remedy="make it shorter in z",
        )
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


def list_variants(
    workload: Workload,
    requests: Iterable[RunRequest],
    architectures: Iterable[str],
    *,
    python: str | None = None,
) -> Listings:
    """Return the instructions of every launch of some variants, as on each architecture.

    Of each request variant, size, block, precision and tunables count. Raises what
    ``analyze_variant`` raises, and CannotRunHere without nvdisasm.
    """
    names = tuple(architectures)
    variants = [VariantOn(workload, request, arch) for request in requests for arch in names]
    needed = {request_key(r): r for variant in variants for r in variant.listing_requests()}
    compiled = Compiler(python).figures(list(needed.values()))
    known = dict(zip(needed, compiled, strict=True))
    return Listings(
        kernels=tuple(k for variant in variants for k in variant.listings(known)),
        sources=dict(workload.source.files),
    )


def with_compiled(
    profile: AccessProfile,
    workload: Workload,
    request: RunRequest,
    arch: str,
    *,
    python: str | None = None,
) -> AccessProfile:
    """Return counted accesses with what they became on an architecture, or why nobody knows."""
    try:
        listings = list_variants(workload, [request], [arch], python=python)
        kernel = listings.kernels[profile.look.launch]
        compiled = compiled_accesses(kernel, listings.sources)
    except ExplorerError as error:
        compiled = CompiledAccesses(arch=arch, unknown=str(error))
    return msgspec.structs.replace(profile, compiled=compiled)
