"""The corpus on the CPU device: each kernel a program, as the product makes it, run once."""

from __future__ import annotations

import importlib
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gpuexplorer.backends.opencl.session import OpenclSession
from gpuexplorer.compile.arguments import declared_dtype
from gpuexplorer.compile.prelude import opencl_prelude
from gpuexplorer.compile.printing import MOST_WORDS, TAKE, Printed
from gpuexplorer.compile.rewriter import PortableKernel, rewrite
from gpuexplorer.core.errors import ExplorerError
from tests.backends.opencl_support import backend, device
from tests.corpus.case import Array, Case

FOLDER = Path(__file__).parent
RUNS = "runs"
GUARD_B = 256
"""Behind each array, which nothing may touch."""
_GUARD = 0xA5


def subjects() -> list[str]:
    """Return the corpus's files, without their endings."""
    return sorted(path.stem for path in FOLDER.glob("*.cu"))


def cases(subject: str) -> list[Case]:
    """Return what a file's kernels should compute, in its order."""
    found: list[Case] = importlib.import_module(f"tests.corpus.{subject}").CASES
    return found


@cache
def text_of(subject: str) -> str:
    """Return a file's text."""
    return (FOLDER / f"{subject}.cu").read_text(encoding="utf-8")


@cache
def session() -> OpenclSession:
    """Return the CPU device, open."""
    return backend()._session(device())


def program(subject: str, case: Case) -> tuple[Any, PortableKernel, Printed | None]:
    """Build the program of one kernel; WorkFailed for one that is refused."""
    name = f"{subject}.cu"
    made = rewrite(name, {name: text_of(subject)}, entry=case.kernel)
    opened = session()
    text = opencl_prelude("fp32", {}, "clc++", made.source, fp16=True, fp64=True) + made.source
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        built = opened.cl.Program(opened.context, text)
        built.build(f"-cl-std={opened.probed.standard}", cache_dir=False)
    (kernel,) = made.kernels.values()
    return built, kernel, made.printed


def outcome(subject: str, case: Case) -> str:
    """Return that a kernel runs and computes what it should, what is wrong, or its refusal."""
    try:
        wrong = case.wrong(run(subject, case))
    except ExplorerError as error:
        return f"refused: {error}"
    return f"WRONG: {wrong}" if wrong else RUNS


def run(subject: str, case: Case) -> dict[str, Array]:
    """Run a case once, and return its arrays."""
    built, kernel, printed = program(subject, case)
    opened = session()
    cl, queue = opened.cl, opened.queue
    made = cl.Kernel(built, kernel.signature.name)
    buffers: dict[str, Any] = {}
    values: list[Any] = []
    for parameter in kernel.signature.parameters:
        value = case.arguments[parameter.name]
        if parameter.is_pointer:
            guarded = np.append(value.reshape(-1).view("u1"), np.full(GUARD_B, _GUARD, "u1"))
            flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
            buffers[parameter.name] = cl.Buffer(opened.context, flags, hostbuf=guarded)
            values.append(buffers[parameter.name])
        elif isinstance(value, np.generic | np.ndarray):
            values.append(value)
        else:
            long = np.dtype(np.int64)  # which alone the text does not tell
            values.append((declared_dtype(parameter.type, "fp32") or long).type(value))
    if kernel.dynamic_shared:
        values.append(cl.LocalMemory(max(case.shared_B, 1)))
    if kernel.takes_grid:
        values += [np.int32(n) for n in (*case.grid, 1, 1)[:3]]
    for index, value in enumerate(values):
        made.set_arg(index, value)
    block = (*case.block, 1, 1)[:3]
    size = tuple(g * b for g, b in zip((*case.grid, 1, 1)[:3], block, strict=True))
    cl.enqueue_nd_range_kernel(queue, made, size, block)
    if printed is not None:
        case.did_print = _printed(opened, built, printed)
    return {n: _read(cl, queue, b, case.arguments[n], n) for n, b in buffers.items()}


def _printed(opened: OpenclSession, built: Any, printed: Printed) -> str:
    words = np.zeros(1 + MOST_WORDS, np.uint64)
    cl = opened.cl
    buffer = cl.Buffer(opened.context, cl.mem_flags.READ_WRITE, words.nbytes)
    taking = cl.Kernel(built, TAKE)
    taking.set_arg(0, buffer)
    cl.enqueue_nd_range_kernel(opened.queue, taking, (1,), (1,))
    cl.enqueue_copy(opened.queue, words, buffer)
    return printed.text(words.tolist())


def _read(cl: Any, queue: Any, buffer: Any, like: Array, name: str) -> Array:
    held = np.empty(like.nbytes + GUARD_B, "u1")
    cl.enqueue_copy(queue, held, buffer)
    buffer.release()
    assert (held[like.nbytes :] == _GUARD).all(), f"{name} was written behind its end"
    return held[: like.nbytes].view(like.dtype).reshape(like.shape)
