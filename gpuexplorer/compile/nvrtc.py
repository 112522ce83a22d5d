"""CUDA source to a cubin with NVRTC: for an exact architecture, on any machine, GPU or not."""

from __future__ import annotations

import importlib.metadata
import io
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from gpuexplorer.compile.cache import DiskCache, key
from gpuexplorer.compile.cubin import KernelResources, read_cubin
from gpuexplorer.compile.cuda_source import HOST_HEADERS, CudaSource, Signature, inline_includes
from gpuexplorer.compile.prelude import cuda_prelude
from gpuexplorer.core.errors import CannotRunHere, InputError, WorkFailed
from gpuexplorer.core.frozen import is_frozen, to_get

_REMEDY = to_get("gpuexplorer[nvrtc]", in_an_engine=True)
if not is_frozen():
    _REMEDY += ", or [cuda13] or [cuda12] for an NVIDIA GPU here"
_FORMAT = "nvrtc-2"
_NVRTC_PACKAGES = ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12")
_RUNTIME_PACKAGES = ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">][^\n]*', re.MULTILINE)
_SPILLS = re.compile(
    r"Function properties for (\S+)\s+ptxas\s*\.?\s*(\d+) bytes stack frame, "
    r"(\d+) bytes spill stores, (\d+) bytes spill loads"
)


_BARRIERS = re.compile(r"\bused (\d+) barriers?\b")


class CompiledKernel(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel of a cubin; what ptxas did not say is None."""

    symbol: str
    resources: KernelResources
    spill_store_B: int | None = None
    spill_load_B: int | None = None
    barriers: int | None = None
    """Barriers a block of it takes."""


class Cubin(msgspec.Struct, frozen=True, kw_only=True):
    """A cubin for one architecture, its kernels by entry name, and the compiler's log."""

    code: bytes
    arch: str
    kernels: dict[str, CompiledKernel]
    log: str


def signatures(source: str, files: Mapping[str, str]) -> dict[str, Signature]:
    """Return how each kernel of a source file is called, by name."""
    text = CudaSource(inline_includes(source, files))
    return {name: text.signature(kernel) for name, kernel in text.kernels.items()}


def compile_cubin(
    source: str,
    files: Mapping[str, str],
    arch: str,
    *,
    precision: str = "fp32",
    defines: Mapping[str, int] | None = None,
    entries: Iterable[str] | None = None,
) -> Cubin:
    """Compile file ``source`` of a workload for ``arch`` (such as ``sm_90``).

    ``entries`` are the kernels to be found in it, template arguments included (``scale<4>``); by
    default every kernel that is not a template. Raises WorkFailed with the compiler's message, the
    user's file and line first, in ``detail``; InputError for an unknown entry or architecture;
    CannotRunHere where NVRTC is not installed.
    """
    flat = CudaSource(inline_includes(source, files))
    known = flat.kernels
    names = [n for n, k in known.items() if not k.is_template] if entries is None else list(entries)
    for name in names:
        if name.partition("<")[0].rpartition("::")[2].strip() not in known:
            there = ", ".join(known) or "no kernel"
            raise InputError(f"{source} has no kernel '{name}'", remedy=f"it has {there}")
    text = cuda_prelude(precision, defines or {}) + _without_host_headers(flat) + "\n"
    cache = DiskCache("nvrtc")
    entry = key(_FORMAT, _nvrtc_version(), arch, text, *names)
    kept = cache.get(entry)
    if kept is not None:
        try:
            return msgspec.msgpack.decode(kept, type=Cubin)
        except msgspec.MsgspecError:
            cache.remove(entry)
    cubin = _compile(source, text, arch, names)
    cache.put(entry, msgspec.msgpack.encode(cubin))
    return cubin


def _without_host_headers(source: CudaSource) -> str:
    """Blank the includes of headers that NVRTC does not need and cannot read."""
    text = source.text
    for match in reversed(list(_INCLUDE.finditer(text))):
        if match[1] in HOST_HEADERS and source.plain[match.start() : match.end()].strip():
            text = text[: match.start()] + text[match.end() :]
    return text


def _compile(source: str, text: str, arch: str, names: list[str]) -> Cubin:
    try:
        from cuda.core import Program, ProgramOptions
    except ImportError as error:
        raise CannotRunHere(f"NVRTC is not installed ({error})", remedy=_REMEDY) from None
    log = io.StringIO()
    try:
        options = ProgramOptions(
            arch=arch, std="c++17", ptxas_options=["-v"], include_path=header_folders()
        )
        program = Program(text, "c++", options)
        code = program.compile("cubin", name_expressions=tuple(names), logs=log)
    except Exception as error:  # noqa: BLE001  cuda-core's classes differ between versions
        raise _failure(source, arch, error) from None
    found = log.getvalue().replace("\0", "").strip()
    return _describe(bytes(code.code), arch, found, code.symbol_mapping)


def _failure(source: str, arch: str, error: Exception) -> Exception:
    text = str(error)
    if "NVRTC_ERROR" not in text:
        return CannotRunHere(f"NVRTC cannot be used here ({_first_line(text)})", remedy=_REMEDY)
    if "architecture" in text or "INVALID_OPTION" in text:
        return InputError(
            f"this NVRTC does not compile for '{arch}'", remedy="give one such as sm_80 or sm_90"
        )
    log = clean_log(text)
    first = re.search(r"^(\S[^(\n]*)\((\d+)\): (?:catastrophic )?error:? *(.*)$", log, re.MULTILINE)
    what = f"{first[1]}:{first[2]}: {first[3]}" if first else f"{source}: {_first_line(log)}"
    return WorkFailed(
        f"the kernel does not compile: {what}", remedy="correct the source", detail=log
    )


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0] if lines else "no reason given"


def clean_log(text: str) -> str:
    """Return NVRTC's messages from the first one on, without the wrapper's words."""
    text = text.replace("\0", "")
    start = re.search(r"^\S[^(\n]*\(\d+\): ", text, re.MULTILINE)
    text = text[start.start() :] if start else text
    lines = [line for line in text.splitlines() if "detected in the compilation of" not in line]
    return "\n".join(lines).strip()


def _describe(code: bytes, arch: str, log: str, symbols: Mapping[str, Any]) -> Cubin:
    resources = read_cubin(code, arch)
    said = {m[1]: (int(m[3]), int(m[4]), _barriers(log, m.end())) for m in _SPILLS.finditer(log)}
    kernels = {}
    for name, raw in symbols.items():
        symbol = raw.decode() if isinstance(raw, bytes) else str(raw)
        stores, loads, barriers = said.get(symbol, (None, None, None))
        kernels[name] = CompiledKernel(
            symbol=symbol,
            resources=resources[symbol],
            spill_store_B=stores,
            spill_load_B=loads,
            barriers=barriers,
        )
    return Cubin(code=code, arch=arch, kernels=kernels, log=log)


def _barriers(log: str, start: int) -> int | None:
    """Return the barriers in the line on usage that follows a function's properties."""
    line = re.compile(r"^ptxas.*: Used .*$", re.MULTILINE).search(log, start)
    found = _BARRIERS.search(line[0]) if line else None
    return int(found[1]) if found else None


def header_folders() -> list[str]:
    """Return where CUDA's headers stand: beside the runtime from pip, or in a toolkit."""
    for package in _RUNTIME_PACKAGES:
        try:
            files = importlib.metadata.files(package) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for file in files:
            if file.name == "cuda_fp16.h":
                return [str(Path(str(file.locate())).resolve().parent)]
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        folder = Path(os.environ.get(variable, "")) / "include"
        if (folder / "cuda_fp16.h").is_file():
            return [str(folder)]
    return []


def _nvrtc_version() -> str:
    """Return NVRTC's version as installed, or as it says itself (loading it takes longer)."""
    for package in _NVRTC_PACKAGES:
        try:
            return f"{package} {importlib.metadata.version(package)}"
        except importlib.metadata.PackageNotFoundError:
            continue
    try:
        from cuda.bindings import nvrtc

        return f"nvrtc {nvrtc.nvrtcVersion()[1:]}"
    except Exception as error:  # noqa: BLE001  not installed, or no library: it says which
        raise CannotRunHere(
            f"NVRTC is not installed ({_first_line(str(error))})", remedy=_REMEDY
        ) from None
