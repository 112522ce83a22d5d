"""Programs built for a device: from memory, from the disk, or by the driver's compiler."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from gpuexplorer.backends.opencl.build_log import clean_log, first_error
from gpuexplorer.backends.opencl.session import OpenclSession
from gpuexplorer.compile.cache import DiskCache, key
from gpuexplorer.compile.origin import Origin
from gpuexplorer.compile.prelude import Language, opencl_prelude
from gpuexplorer.compile.rewriter import PortableKernel, Rewritten, rewrite
from gpuexplorer.compile.thread_numbers import MOST_THREADS
from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.workloads.plan import Plan

MAX_PROGRAMS = 128
SIGNED_BELOW_B = 1 << 31
"""Arrays smaller than this have no element that a signed subscript of 32 bits does not reach."""
_DISK = "opencl"


@dataclass
class MadeKernel:
    """A kernel of a program, and what the driver says of it."""

    kernel: Any
    static_shared_B: int
    most_threads: int
    """Threads of the largest block that it can run with."""
    owner: object = None
    """Whose arguments it has."""


@dataclass(frozen=True)
class BuiltProgram:
    """One program on one device, and what is known of its kernels."""

    program: Any
    kernels: dict[str, PortableKernel]
    made: dict[tuple[str, int], MadeKernel] = field(default_factory=dict)
    """By entry and, where a plan launches one more than once, its number."""
    probed: dict[str, list[int]] = field(default_factory=dict)
    """What each probe of parameters' types has stored, by its name."""

    def kernel(self, entry: str, source: str) -> PortableKernel:
        """Return the kernel of that name; InputError listing those there are."""
        if entry not in self.kernels:
            there = ", ".join(self.kernels) or "no kernel"
            raise InputError(f"{source} has no kernel '{entry}'", remedy=f"it has {there}")
        return self.kernels[entry]


def build_program(session: OpenclSession, plan: Plan, source: str) -> BuiltProgram:
    """Build one source of a plan, or find it built.

    Raises WorkFailed with the compiler's message, which names the user's file and line, in
    ``detail``.
    """
    name = _name_of(plan, source)
    if name not in session.programs:
        built = _build(session, plan, source, _is_small(plan))
        while len(session.programs) >= MAX_PROGRAMS:
            session.programs.pop(next(iter(session.programs)))
        session.programs[name] = built
    found: BuiltProgram = session.programs[name]
    return found


def is_built(session: OpenclSession, plan: Plan, source: str) -> bool:
    """Return whether ``build_program`` would find one source of a plan built by this process."""
    return _name_of(plan, source) in session.programs


def _name_of(plan: Plan, source: str) -> str:
    defines = repr(sorted(plan.defines.items()))
    parts = (plan.source_sha256, source, plan.config.precision, defines, repr(_is_small(plan)))
    return key(*parts)


def _is_small(plan: Plan) -> bool:
    """Return whether indices in this plan may be computed with signs."""
    widest = max(g * b for step in plan.steps for g, b in zip(step.grid, step.block, strict=True))
    return max(a.nbytes for a in plan.arrays) < SIGNED_BELOW_B and widest < MOST_THREADS


def _build(session: OpenclSession, plan: Plan, source: str, signed: bool) -> BuiltProgram:
    probed = session.probed
    language: Language = "clc++" if probed.language == "clc++" else "c"
    rewritten = _rewritten(source, tuple(plan.files.items()), language, signed)
    text = opencl_prelude(
        plan.config.precision,
        plan.defines,
        language,
        rewritten.source,
        fp16="fp16" in session.info.features,
        fp64="fp64" in session.info.features,
    )
    text += rewritten.source + "\n" + rewritten.probes
    options = f"-cl-std={probed.standard}"
    cache = DiskCache(_DISK)
    entry = key(text, options, probed.platform, probed.name, probed.driver)
    program = _from_binary(session, cache, entry, options)
    if program is None:
        program = _compile(session, text, options, source, rewritten.origin)
        binaries = program.get_info(session.cl.program_info.BINARIES)
        if binaries and binaries[0]:
            cache.put(entry, binaries[0])
    return BuiltProgram(program, rewritten.kernels)


@lru_cache(maxsize=16)
def _rewritten(
    source: str, files: tuple[tuple[str, str], ...], language: Language, signed: bool
) -> Rewritten:
    """Rewrite a source once for all of its macros, which follow in another text."""
    return rewrite(source, dict(files), language, signed=signed)


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


def _compile(session: OpenclSession, text: str, options: str, source: str, origin: Origin) -> Any:
    cl = session.cl
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the compiler's remarks on a good build
            return cl.Program(session.context, text).build(options, cache_dir=False)
    except (cl.Error, RuntimeError) as error:
        log = clean_log(str(error), origin)
        first = first_error(log)
        what = f"{first.where}: {first.what}" if first else f"{source}: {log or error}"
        raise WorkFailed(
            f"the kernel does not compile: {what}",
            remedy="correct the source",
            detail=log,
        ) from None
