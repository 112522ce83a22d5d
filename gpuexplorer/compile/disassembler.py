"""``nvdisasm`` of the CUDA toolkit: a cubin to its instructions, for any architecture.

No GPU is needed. nvdisasm prints either source lines or live registers, so it is asked twice. That
of CUDA 13 follows no registers in what NVRTC 12 compiled; its instructions and lines are told.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from gpuexplorer.analysis.instructions import Code
from gpuexplorer.analysis.ptx_text import read_ptx
from gpuexplorer.analysis.sass_text import read_sass
from gpuexplorer.compile.cache import DiskCache, key
from gpuexplorer.compile.nvrtc import Compiled
from gpuexplorer.core.errors import CannotRunHere, WorkFailed
from gpuexplorer.core.frozen import clean_environment, to_get
from gpuexplorer.core.interrupts import at_once

PACKAGE = "nvidia-cuda-nvdisasm"
_NAME = "nvdisasm.exe" if os.name == "nt" else "nvdisasm"
LINES = ("-gi", "-c")
REGISTERS = ("-lrm", "count", "-c")
LIMIT_S = 120.0


class Disassembly(msgspec.Struct, frozen=True):
    """A cubin as text, twice."""

    with_lines: str
    with_registers: str
    """Empty where nvdisasm cannot follow the registers."""


def codes_of(compiled: Compiled) -> dict[str, Code]:
    """Return the instructions of each kernel of a cubin that knows its source's lines, by symbol.

    Raises CannotRunHere without nvdisasm, WorkFailed when it does not take the cubin.
    """
    text = disassemble(compiled.code)

    def name_of(path: str) -> str:
        return file_name(path, compiled.files)

    sass = read_sass(text.with_lines, text.with_registers, name_of)
    ptx = read_ptx(compiled.ptx, name_of)
    return {symbol: Code(sass=code, ptx=ptx.get(symbol, ())) for symbol, code in sass.items()}


def file_name(path: str, files: Mapping[str, str]) -> str:
    """Return a file's name by the path that the compiler made of it, below any folder."""
    plain = path.replace("\\", "/")
    known = [name for name in files if plain == name or plain.endswith(f"/{name}")]
    return files[max(known, key=len)] if known else plain


def find_disassembler() -> Path:
    """Return nvdisasm: of its package, of the toolkit in CUDA_PATH or CUDA_HOME, or in PATH.

    Raises CannotRunHere where there is none.
    """
    try:
        distribution = importlib.metadata.distribution(PACKAGE)
        packaged = [f for f in distribution.files or [] if f.name == _NAME]
        candidates = [Path(str(distribution.locate_file(file))) for file in packaged]
    except importlib.metadata.PackageNotFoundError:
        candidates = []
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        if os.environ.get(variable):
            candidates.append(Path(os.environ[variable]) / "bin" / _NAME)
    on_path = shutil.which(_NAME)
    candidates += [Path(on_path)] if on_path else []
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise CannotRunHere(
        "nvdisasm, which lists a kernel's instructions, is not installed",
        remedy=to_get(PACKAGE, in_an_engine=True),
    )


def disassemble(code: bytes) -> Disassembly:
    """Return a cubin as text; what was once disassembled is kept on disk.

    Raises CannotRunHere without nvdisasm, WorkFailed when it does not take the cubin.
    """
    program = find_disassembler()
    status = program.stat()
    cache = DiskCache("nvdisasm")
    entry = key(code, str(status.st_size), str(status.st_mtime_ns))
    kept = cache.get(entry)
    if kept is not None:
        try:
            return msgspec.msgpack.decode(kept, type=Disassembly)
        except msgspec.MsgspecError:
            cache.remove(entry)
    with tempfile.TemporaryDirectory(prefix="gpuexplorer-") as folder:
        cubin = Path(folder) / "kernel.cubin"
        cubin.write_bytes(code)
        texts = at_once(lambda words: _print(program, words, cubin), (LINES, REGISTERS), 2)
        found = Disassembly(*texts)
    cache.put(entry, msgspec.msgpack.encode(found))
    return found


def _print(program: Path, words: tuple[str, ...], cubin: Path) -> str:
    try:
        done = subprocess.run(
            [str(program), *words, str(cubin)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=clean_environment(os.environ),
            timeout=LIMIT_S,
            check=False,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except OSError as error:
        raise CannotRunHere(
            f"{program} cannot be started: {error.strerror or error}",
            remedy=to_get(PACKAGE, in_an_engine=True),
        ) from None
    except subprocess.TimeoutExpired:
        raise WorkFailed(
            f"nvdisasm took longer than {LIMIT_S:.0f} s to list the kernel's instructions",
            remedy="try again when the machine has less to do",
        ) from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        lines = said.splitlines() or [f"it ended with status {done.returncode}"]
        if words == REGISTERS and "flow analysis is disabled" in said:  # what NVRTC 12 compiled
            return ""
        raise WorkFailed(
            f"nvdisasm does not list this kernel: {lines[0]}",
            remedy="choose another architecture",
            detail=said,
        )
    return done.stdout.decode(errors="replace")
