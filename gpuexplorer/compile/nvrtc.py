"""CUDA source to a cubin with NVRTC: for an exact architecture, on any machine, GPU or not.

A GPU newer than NVRTC gets PTX of the newest architecture before it, which its driver compiles.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

import msgspec

from gpuexplorer.compile import targets
from gpuexplorer.compile.cache import DiskCache, key
from gpuexplorer.compile.cubin import KernelResources, parameter_sizes, read_cubin
from gpuexplorer.compile.device_part import without_host_code
from gpuexplorer.compile.headers import Headers, header_folders, headers_in, lacks_some
from gpuexplorer.compile.parameters import (
    PROBE,
    CompiledParameter,
    kinds_of,
    probe_of,
    sizes_in_ptx,
    with_kinds,
)
from gpuexplorer.compile.prelude import cuda_prelude
from gpuexplorer.compile.program import Built, Nvrtc, Refused, missing
from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.core.frozen import to_get
from gpuexplorer.workloads.cuda_source import (
    CudaSource,
    Signature,
)
from gpuexplorer.workloads.includes import (
    HOST_HEADERS,
    LIBRARY_HEADERS,
    includes_of,
    inline_includes,
    to_correct,
)
from gpuexplorer.workloads.instances import needs_arguments, split_entry

_FORMAT = "nvrtc-5"
_NVRTC_PACKAGES = ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12")
_MACROS_TOO = "cuda/std/"
"""These headers define INFINITY, INT_MAX and their like, as the prelude has done before."""
_LINE = re.compile(r'^(#line \d+ ")([^"\n]+)(")', re.MULTILINE)
_SPILLS = re.compile(
    r"Function properties for (\S+)\s+ptxas\s*\.?\s*(\d+) bytes stack frame, "
    r"(\d+) bytes spill stores, (\d+) bytes spill loads"
)
_NOT_FOUND = re.compile(r"^(?:cannot|could not) open source file")
_NOWHERE = " (no directories in search list)"
_WRONG_TARGET = re.compile(r"^NVRTC_ERROR_INVALID_OPTION|: Command-line error: .*arch")
_BARRIERS = re.compile(r"\bused (\d+) barriers?\b")


class CompiledKernel(msgspec.Struct, frozen=True, kw_only=True):
    """One compiled kernel; what is not known before the driver compiles PTX is None."""

    symbol: str
    resources: KernelResources | None
    spill_store_B: int | None = None
    spill_load_B: int | None = None
    barriers: int | None = None
    """Barriers a block of it takes."""
    parameters: tuple[CompiledParameter, ...] = ()


class Compiled(msgspec.Struct, frozen=True, kw_only=True):
    """A cubin, or PTX; its kernels by entry name, and the compiler's log."""

    code: bytes
    target: str
    """What it was compiled for: ``sm_90``, or ``compute_90`` for PTX."""
    kernels: dict[str, CompiledKernel]
    log: str
    ptx: str = ""
    """The PTX that a cubin with its source lines was made of."""
    variables: dict[str, str] = {}
    """The symbols of variables outside of functions that were asked for, by their names."""
    files: dict[str, str] = {}
    """Where source lines were asked for: the names of files by what the compiler knew them as."""


def signatures(
    source: str, files: Mapping[str, str], entries: Collection[str] = ()
) -> dict[str, Signature]:
    """Return how each kernel of a source file is called, by name; ``entries`` run as kernels."""
    text = CudaSource(inline_includes(source, without_host_code(files, entries)))
    return {name: text.signature(kernel) for name, kernel in text.kernels.items()}


def target_for(arch: str) -> str:
    """Return what is compiled for a GPU of ``arch``: itself, or ``compute_90`` for PTX.

    Raises CannotRunHere for a GPU older than NVRTC's oldest, and where NVRTC is not installed.
    """
    nvrtc = Nvrtc.load()
    return targets.target_for(arch, nvrtc.known, nvrtc.version)


def headers() -> Headers:
    """Return CUDA's headers for the NVRTC in use; CannotRunHere where that is not installed."""
    return headers_in(header_folders(Nvrtc.load().version[0]))


def compile_kernels(
    source: str,
    files: Mapping[str, str],
    target: str,
    *,
    precision: str = "fp32",
    defines: Mapping[str, int] | None = None,
    entries: Iterable[str] | None = None,
    probed: Iterable[str] = (),
    variables: Iterable[str] = (),
    listed: bool = False,
) -> Compiled:
    """Compile file ``source`` of a workload for ``target``, such as ``sm_90`` or ``compute_90``.

    ``entries`` are the kernels to be found in it, template arguments included (``scale<4>``); by
    default every kernel that is not a template. Of those ``probed`` the compiler is asked what kind
    of number each parameter is. ``variables`` are those outside of functions whose symbols are
    wanted. ``listed``: with the lines of the source, which change nothing of
    the code, and with the PTX. Raises WorkFailed with the compiler's message, the
    user's file and line first, in ``detail``; InputError for an unknown entry or architecture;
    CannotRunHere where NVRTC is not installed.
    """
    wanted = [] if entries is None else list(entries)
    flat = CudaSource(inline_includes(source, without_host_code(files, wanted)))
    known = flat.kernels
    names = wanted or [n for n, k in known.items() if not k.is_template]
    for name in names:
        kernel = known.get(split_entry(name)[0])
        if kernel is None:
            there = ", ".join(known) or "no kernel"
            raise InputError(f"{source} has no kernel '{name}'", remedy=f"it has {there}")
        if kernel.is_template and "<" not in name:
            raise needs_arguments(flat, kernel)
    nvrtc = Nvrtc.load()
    if targets.number(target.replace("compute_", "sm_")) not in nvrtc.known:
        raise targets.unknown(target, nvrtc.known, nvrtc.version)
    own, without = _without_host_headers(flat)
    text = cuda_prelude(precision, defines or {}, flat.text) + own + "\n"
    probes = [probe_of(name) for name in probed]
    text += PROBE if probes else ""
    included = headers().included_by(text)
    cache = DiskCache("nvrtc")
    spelled = [part for item in included.items() for part in item]
    spelled += ["-lineinfo"] if listed else []
    asked = [f"&{name}" for name in variables]
    spelled += [*names, *probes, *asked]
    entry = key(_FORMAT, _exact(nvrtc), target, text, str(len(included)), *spelled)
    kept = cache.get(entry)
    if kept is not None:
        try:
            return msgspec.msgpack.decode(kept, type=Compiled)
        except msgspec.MsgspecError:
            cache.remove(entry)
    program = _Program(source, text, included, listed, without)
    try:
        compiled = _compile(nvrtc, program, target, names, [*probes, *asked])
    except WorkFailed:
        if not probes:
            raise
        compiled = _compile(nvrtc, program, target, names, asked)  # types that cannot be asked for
    cache.put(entry, msgspec.msgpack.encode(compiled))
    return compiled


def _without_host_headers(source: CudaSource) -> tuple[str, list[str]]:
    """Leave out what host code includes, and what is not there; return the names of the latter.

    Other quoted names get brackets, with which NVRTC looks for no file of this machine.
    """
    text, found = source.text, headers()
    without = []
    for one in reversed(list(includes_of(text, source.plain))):
        line = f"#include <{one.name}>"
        if not found.has(one.name) and (one.is_own or one.name in HOST_HEADERS | LIBRARY_HEADERS):
            line = ""
            without += [one.name] if one.is_own else []
        text = text[: one.start] + line + text[one.end :]
    return text, without[::-1]


class _Program(msgspec.Struct, frozen=True):
    """A source as NVRTC gets it, with the headers it may include."""

    source: str
    text: str
    headers: dict[str, bytes]
    listed: bool
    """Whether the code is to know the source's lines."""
    without: list[str]
    """Files that it includes and that are not there."""


def _compile(
    nvrtc: Nvrtc, program: _Program, target: str, names: list[str], others: list[str]
) -> Compiled:
    ptx = targets.is_ptx(target)
    options = [f"--gpu-architecture={target}", "--std=c++17"]
    options += [] if ptx else ["--ptxas-options=-v"]
    options += ["--generate-line-info"] if program.listed else []
    if any(name.startswith(_MACROS_TOO) for name in program.headers):
        options.append("--diag-suppress=47")
    text, named = _with_plain_names(program.text)
    try:
        wanted = [*names, *others]
        built = nvrtc.build(text, program.headers, options, wanted, ptx=ptx, listed=program.listed)
    except Refused as refused:
        if _WRONG_TARGET.search(f"{refused.status}: {refused.log}"):
            raise targets.unknown(target, nvrtc.known, nvrtc.version) from None
        said = clean_log(_with_names(refused.log, named))
        raise _failure(nvrtc, program, refused.status, said) from None
    except Exception as error:  # noqa: BLE001  a function that this library does not have
        raise missing(error) from None
    compiled = _describe(built, target, names, _with_names(built.log, named))
    if not program.listed:
        return compiled
    files = {plain: named.get(plain, plain) for plain in _files(text)}
    files |= {name: name for name in program.headers}
    return msgspec.structs.replace(compiled, ptx=built.between, files=files)


def _files(text: str) -> list[str]:
    """Return the names of the files that a text says it is of."""
    return list(dict.fromkeys(match[2] for match in _LINE.finditer(text)))


def _with_plain_names(text: str) -> tuple[str, dict[str, str]]:
    """Return a text whose files have ASCII names, and each real name by that which stands for it.

    NVRTC does not write others back on Windows as they were.
    """
    named: dict[str, str] = {}

    def plain(match: re.Match[str]) -> str:
        name = match[2]
        if not name.isascii():
            name = f"named-{len(named)}-elsewhere"
            named[name] = match[2]
        return f"{match[1]}{name}{match[3]}"

    return _LINE.sub(plain, text), named


def _with_names(log: str, named: Mapping[str, str]) -> str:
    for plain, name in named.items():
        log = log.replace(plain, name)
    return log


def _failure(nvrtc: Nvrtc, program: _Program, status: str, log: str) -> WorkFailed:
    first = re.search(r"^(\S[^(\n]*)\((\d+)\): (?:catastrophic )?error:? *(.*)$", log, re.MULTILINE)
    what = (
        f"{first[1]}:{first[2]}: {first[3]}"
        if first
        else f"{program.source}: {_first(log, status)}"
    )
    remedy = to_correct(program.without)
    if first and _NOT_FOUND.search(first[3]):
        remedy = "put that file beside the source"
        major = nvrtc.version[0]
        if lacks_some(header_folders(major)):
            extra = "nvrtc" if major > 12 else f"nvrtc{major}"
            headers = to_get(f"gpuexplorer[{extra}]", in_an_engine=True)
            remedy = f"put that file beside the source; CUDA's headers: {headers}"
    return WorkFailed(
        f"the kernel does not compile: {what.removesuffix(_NOWHERE)}", remedy=remedy, detail=log
    )


def _first(log: str, otherwise: str) -> str:
    lines = log.splitlines()
    return lines[0] if lines else otherwise


def clean_log(text: str) -> str:
    """Return NVRTC's messages from the first one on."""
    start = re.search(r"^\S[^(\n]*\(\d+\): ", text, re.MULTILINE)
    text = text[start.start() :] if start else text
    lines = [line for line in text.splitlines() if "detected in the compilation of" not in line]
    return "\n".join(lines).strip()


def _describe(built: Built, target: str, names: list[str], log: str) -> Compiled:
    ptx = targets.is_ptx(target)
    resources = {} if ptx else read_cubin(built.code, target)
    sizes_B = sizes_in_ptx(built.code.decode()) if ptx else parameter_sizes(built.code)
    said = {m[1]: (int(m[3]), int(m[4]), _barriers(log, m.end())) for m in _SPILLS.finditer(log)}
    kernels = {}
    for name in names:
        symbol = built.symbols[name]
        probed = built.symbols.get(probe_of(name))
        kinds = kinds_of(probed) if probed is not None else None
        stores, loads, barriers = said.get(symbol, (None, None, None))
        kernels[name] = CompiledKernel(
            symbol=symbol,
            resources=resources.get(symbol),
            spill_store_B=stores,
            spill_load_B=loads,
            barriers=barriers,
            parameters=tuple(with_kinds(sizes_B.get(symbol, ()), kinds)),
        )
    variables = {n[1:]: symbol for n, symbol in built.symbols.items() if n.startswith("&")}
    return Compiled(code=built.code, target=target, kernels=kernels, log=log, variables=variables)


def _barriers(log: str, start: int) -> int | None:
    """Return the barriers in the line on usage that follows a function's properties."""
    line = re.compile(r"^ptxas.*: Used .*$", re.MULTILINE).search(log, start)
    found = _BARRIERS.search(line[0]) if line else None
    return int(found[1]) if found else None


def _exact(nvrtc: Nvrtc) -> str:
    """Return NVRTC's version to the last digit as far as pip knows it."""
    told = [".".join(map(str, nvrtc.version))]
    for package in _NVRTC_PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            told.append(f"{package} {importlib.metadata.version(package)}")
    return " ".join(told)
