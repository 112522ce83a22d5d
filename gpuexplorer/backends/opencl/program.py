"""Programs built for a device: from memory, from the disk, or by the driver's compiler."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import msgspec

from gpuexplorer.backends.opencl.build_log import clean_log, first_error, led_to_recursion
from gpuexplorer.backends.opencl.session import OpenclSession
from gpuexplorer.compile.access_sites import Sites
from gpuexplorer.compile.arguments import of_bfloat
from gpuexplorer.compile.assertions import Assertion
from gpuexplorer.compile.bound_symbols import filled_B, room_for
from gpuexplorer.compile.cache import DiskCache, key
from gpuexplorer.compile.prelude import Language, opencl_prelude
from gpuexplorer.compile.prelude_recording import RECORDING
from gpuexplorer.compile.printing import Printed
from gpuexplorer.compile.refusals import refuse_recursion
from gpuexplorer.compile.rewriter import PortableKernel, Rewritten, rewrite
from gpuexplorer.compile.thread_numbers import MOST_THREADS
from gpuexplorer.core.errors import CannotRunHere, WorkFailed
from gpuexplorer.workloads.cuda_source import CudaSource
from gpuexplorer.workloads.includes import to_correct
from gpuexplorer.workloads.plan import KernelLaunch, Plan

MAX_PROGRAMS = 128
SIGNED_BELOW_B = 1 << 31
"""Arrays smaller than this have no element that a signed subscript of 32 bits does not reach."""
_DISK = "opencl"
_NOTHING = "__kernel void gpuexplorer_nothing() {}"

_Numbers = tuple[tuple[str, int], ...]
Use = Literal["timed", "recorded", "asserting"]
"""Whether a program does what its source says alone, takes notes of its accesses as well, or looks
at what it asserts."""
ProgramName = tuple[str, str, str, str, _Numbers, _Numbers, bool, Use]
"""The sources by their hash, which of them, which kernel, precision, macros, the bytes of variables
that are filled, whether indices have signs, and what it is for."""


@dataclass
class MadeKernel:
    """A kernel of a program, and what the driver says of it."""

    kernel: Any
    static_shared_B: int
    most_threads: int
    """Threads of the largest block that it can run with."""
    owner: object = None
    """Whose arguments it has."""


class BuiltProgram(msgspec.Struct, frozen=True):
    """One kernel's program on one device, and what is known of it."""

    program: Any
    kernel: PortableKernel
    made: dict[int, MadeKernel] = msgspec.field(default_factory=dict)
    """By the kernel's number where a plan launches it more than once."""
    sites: Sites | None = None
    """What its notes of accesses stand for, where it takes some."""
    probed: list[int] = msgspec.field(default_factory=list)
    """What the probe of the parameters' types has stored."""
    printed: Printed | None = None
    """The formats of what it prints, where it prints."""
    asserted: tuple[Assertion, ...] = ()
    """What its source asserts."""
    copying: dict[str, Any] = msgspec.field(default_factory=dict)
    """The kernels of ours that copy to and from variables outside of functions."""


def build_program(
    session: OpenclSession, plan: Plan, step: KernelLaunch, use: Use = "timed"
) -> BuiltProgram:
    """Build what one step of a plan launches, or find it built.

    Raises WorkFailed with the compiler's message, which names the user's file and line, in
    ``detail``; InputError for an entry that the source does not have.
    """
    name = _name_of(plan, step, use)
    if name not in session.programs:
        built = _build(session, plan, step, _is_small(plan) and use != "recorded", use)
        while len(session.programs) >= MAX_PROGRAMS:
            session.programs.pop(next(iter(session.programs)))
        session.programs[name] = built
    found: BuiltProgram = session.programs[name]
    return found


def is_built(session: OpenclSession, plan: Plan, step: KernelLaunch) -> bool:
    """Return whether ``build_program`` would find a step's program built by this process."""
    return _name_of(plan, step) in session.programs


def load_compiler(session: OpenclSession) -> None:
    """Have the driver load its compiler, unless programs may be found on the disk.

    That takes several times as long as to compile a kernel.
    """
    if DiskCache(_DISK).size_B() == 0:
        _built(session, _NOTHING)


def _name_of(plan: Plan, step: KernelLaunch, use: Use = "timed") -> ProgramName:
    sources = (plan.source_sha256, step.source, step.entry)
    defines = tuple(sorted(plan.defines.items()))
    filled = filled_B(plan, step)
    return (*sources, plan.config.precision, defines, filled, _is_small(plan), use)


def _is_small(plan: Plan) -> bool:
    """Return whether indices in this plan may be computed with signs."""
    widest = max(g * b for step in plan.steps for g, b in zip(step.grid, step.block, strict=True))
    return max(a.nbytes for a in plan.arrays) < SIGNED_BELOW_B and widest < MOST_THREADS


def _build(
    session: OpenclSession, plan: Plan, step: KernelLaunch, signed: bool, use: Use
) -> BuiltProgram:
    probed = session.probed
    language: Language = "clc++" if probed.language == "clc++" else "c"
    files = tuple(plan.files.items())
    filled = filled_B(plan, step)
    names = tuple(name for name, _ in filled)
    rewritten = _rewritten(step.source, step.entry, files, language, signed, use, names)
    _check_values(rewritten, plan)
    text = RECORDING if use == "recorded" else ""
    text += opencl_prelude(
        plan.config.precision,
        plan.defines,
        language,
        rewritten.source,
        fp16="fp16" in session.info.features,
        fp64="fp64" in session.info.features,
    )
    text += f"{rewritten.source}\n{room_for(filled)}{rewritten.probes}"
    options = _options(session)
    cache = DiskCache(_DISK)
    entry = key(text, options, probed.platform, probed.name, probed.driver, str(probed.lanes or ""))
    program = _from_binary(session, cache, entry, options)
    if program is None:
        program = _compile(session, text, step.source, rewritten)
        binaries = program.get_info(session.cl.program_info.BINARIES)
        if binaries and binaries[0]:
            cache.put(entry, binaries[0])
    (kernel,) = rewritten.kernels.values()
    return BuiltProgram(
        program, kernel,
        sites=rewritten.sites, printed=rewritten.printed, asserted=rewritten.asserted,
    )  # fmt: skip


def _check_values(rewritten: Rewritten, plan: Plan) -> None:
    """Refuse what CUDA passes by value and C++ for OpenCL cannot."""
    for kernel in rewritten.kernels.values():
        for parameter in kernel.signature.parameters:
            if not parameter.is_pointer and of_bfloat(parameter, plan.config.precision):
                raise CannotRunHere(
                    f"{kernel.signature.where}: '{parameter.name}' is a bf16 passed by value, "
                    "which the CPU device cannot take",
                    remedy="pass a float (accum) and convert it in the kernel",
                )


@lru_cache(maxsize=16)
def _rewritten(
    source: str,
    entry: str,
    files: tuple[tuple[str, str], ...],
    language: Language,
    signed: bool,
    use: Use,
    filled: tuple[str, ...],
) -> Rewritten:
    """Rewrite a source once for all of its macros, which follow in another text."""
    return rewrite(
        source, dict(files), language, entry=entry, signed=signed, filled=filled,
        recorded=use == "recorded", asserting=use == "asserting",
    )  # fmt: skip


def _from_binary(session: OpenclSession, cache: DiskCache, entry: str, options: str) -> Any:
    cl = session.cl
    binary = cache.get(entry)
    if binary is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = cl.Program(session.context, [session.device], [binary])
            return program.build(options, cache_dir=False)
    except (cl.Error, RuntimeError):
        cache.remove(entry)  # a driver that no longer takes its own binary
        return None


def _options(session: OpenclSession) -> str:
    return f"-cl-std={session.probed.standard}"


def _built(session: OpenclSession, text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the compiler's remarks on a good build
        program = session.cl.Program(session.context, text)
        return program.build(_options(session), cache_dir=False)


def _compile(session: OpenclSession, text: str, source: str, rewritten: Rewritten) -> Any:
    cl = session.cl
    try:
        return _built(session, text)
    except (cl.Error, RuntimeError) as error:
        log = clean_log(str(error), rewritten.origin)
        _refuse_recursion(log, rewritten)
        first = first_error(log)
        what = f"{first.where}: {first.what}" if first else f"{source}: {log or error}"
        raise WorkFailed(
            f"the kernel does not compile: {what}",
            remedy=to_correct(rewritten.without),
            detail=log,
        ) from None


def _refuse_recursion(log: str, rewritten: Rewritten) -> None:
    """Say that a function calls itself as it is said where the text alone shows it."""
    if names := led_to_recursion(log):
        refuse_recursion(CudaSource(rewritten.origin.flat), names)
