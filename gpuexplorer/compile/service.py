"""The compiler as a process of its own: one request in, one answer out, and it ends.

The window and the command line never load a compiler: a source that crashes or stalls it takes
down nothing but this process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import BinaryIO

import msgspec

from gpuexplorer.analysis.static import CompileAnswer, CompileRequest, KernelFigures, Refusal
from gpuexplorer.compile.device_part import device_part
from gpuexplorer.compile.disassembler import codes_of
from gpuexplorer.compile.nvrtc import Compiled, compile_kernels, headers
from gpuexplorer.core.errors import ExplorerError, WorkFailed
from gpuexplorer.core.pipes import write_all

POLITENESS = 10
"""Added to the process's niceness: a kernel measured on the same cores comes first."""


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> int:
    """Answer the one request on ``incoming`` and return the exit code."""
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(POLITENESS)
    requests = msgspec.msgpack.decode(incoming.read(), type=list[CompileRequest])
    write_all(outgoing, msgspec.msgpack.encode(answer(requests)))
    outgoing.flush()
    return 0


def answer(requests: list[CompileRequest]) -> CompileAnswer:
    """Compile each request and return its kernels' figures, or the first refusal."""
    try:
        return CompileAnswer(figures=[figures_of(request) for request in requests])
    except ExplorerError as error:
        refusal = Refusal(
            exit_code=error.exit_code,
            what=error.what,
            remedy=error.remedy,
            detail=error.detail,
        )
        return CompileAnswer(refusal=refusal)


def figures_of(request: CompileRequest) -> list[KernelFigures]:
    """Compile one source file and return what its kernels take; raises ExplorerError.

    Of PTX (``arch`` is ``compute_90``, say) nothing is known before a driver has compiled it: that
    is compiled for the cache alone, and the list is empty.
    """
    compiled = _program(request) if request.whole_program else _compile(request, request.files)
    codes = codes_of(compiled) if request.listed else {}
    return [
        KernelFigures(
            name=name,
            source=request.source,
            arch=request.arch,
            registers_per_thread=kernel.resources.registers_per_thread,
            static_shared_B=kernel.resources.static_shared_B,
            local_B=kernel.resources.frame_B,
            spill_store_B=kernel.spill_store_B,
            spill_load_B=kernel.spill_load_B,
            barriers=kernel.barriers,
            max_threads_per_block=kernel.resources.max_threads,
            code=codes.get(kernel.symbol),
        )
        for name, kernel in compiled.kernels.items()
        if kernel.resources is not None
    ]


def _compile(request: CompileRequest, files: Mapping[str, str]) -> Compiled:
    return compile_kernels(
        request.source,
        files,
        request.arch,
        precision=request.precision,
        defines=request.defines,
        entries=request.entries or None,
        listed=request.listed,
    )


def _program(request: CompileRequest) -> Compiled:
    """Compile a file without its host code; as it stands, should too much have been left out."""
    found = headers()

    def is_known(name: str) -> bool:
        return name in request.files or found.has(name)

    parts = {name: device_part(text, is_known) for name, text in request.files.items()}
    left_out = [what for _, names in parts.values() for what in names]
    try:
        return _compile(request, {name: text for name, (text, _) in parts.items()})
    except WorkFailed as error:
        with suppress(WorkFailed):
            return _compile(request, request.files)
        if left_out:
            error.detail = f"{error.detail}\n(compiled without {', '.join(left_out)})"
        raise
