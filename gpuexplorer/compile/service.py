"""The compiler as a process of its own: one request in, one answer out, and it ends.

The window and the command line never load a compiler: a source that crashes or stalls it takes
down nothing but this process.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import BinaryIO

import msgspec

from gpuexplorer.analysis.static import CompileAnswer, CompileRequest, KernelFigures, Refusal
from gpuexplorer.compile.nvrtc import compile_cubin
from gpuexplorer.core.errors import ExplorerError

POLITENESS = 10
"""Added to the process's niceness: a kernel measured on the same cores comes first."""


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> int:
    """Answer the one request on ``incoming`` and return the exit code."""
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(POLITENESS)
    requests = msgspec.msgpack.decode(incoming.read(), type=list[CompileRequest])
    outgoing.write(msgspec.msgpack.encode(answer(requests)))
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
    """Compile one source file and return what its kernels take; raises ExplorerError."""
    cubin = compile_cubin(
        request.source,
        request.files,
        request.arch,
        precision=request.precision,
        defines=request.defines,
        entries=request.entries or None,
    )
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
        )
        for name, kernel in cubin.kernels.items()
    ]
