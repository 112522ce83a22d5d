"""Which Python files the user agreed to run: a list of SHA-256 fingerprints in the config folder.

A model's file is a program, and so is one with the function that says what is right. It runs in the
engine's process, and never before the user has agreed to exactly this text of it; a changed file is
asked about again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.text import path_text
from gpuexplorer.exchange.files import atomic_file, changing
from gpuexplorer.workloads.own_model import read_model, workload_name
from gpuexplorer.workloads.programs import Program
from gpuexplorer.workloads.python_function import python_function
from gpuexplorer.workloads.workload import MODEL_FILE, Workload

SCHEMA = "gpuexplorer/trusted-models/1"
FILE = "trusted-models.json"
ENVIRONMENT_VARIABLE = "GPUEXPLORER_CONFIG_DIR"
MAX_ENTRIES = 10_000
MAX_FILE_B = 8 << 20

_lock = threading.Lock()
_agreed: set[str] = set()
"""What this process was told to trust and does not write down."""


class NotTrusted(InputError):
    """A Python file that was not agreed to yet."""

    kind = "not-trusted"

    def __init__(self, program: Program) -> None:
        super().__init__(
            f"{program.path} is a program, and nobody agreed to run it yet "
            f"(SHA-256 {program.sha256[:16]}…)",
            remedy="read it, then agree with --trust, or in a terminal or the window when asked",
        )
        self.program = program


class _Entry(msgspec.Struct, frozen=True):
    path: str
    time_utc: str


class _Document(msgspec.Struct):
    schema: str = SCHEMA
    models: dict[str, _Entry] = {}


def config_folder() -> Path:
    """Return the user's folder of settings, or the one the environment names."""
    import platformdirs

    named = os.environ.get(ENVIRONMENT_VARIABLE)
    return Path(named) if named else platformdirs.user_config_path("gpuexplorer", False)


def _read() -> _Document:
    """Return the list; one that cannot be read trusts nothing."""
    path = config_folder() / FILE
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_FILE_B + 1)
        document = msgspec.json.decode(data, type=_Document)
    except (OSError, msgspec.DecodeError, ValueError):
        return _Document()
    return document if document.schema == SCHEMA and len(data) <= MAX_FILE_B else _Document()


def is_trusted(sha256: str) -> bool:
    """Return whether the user agreed to run a file of this fingerprint."""
    with _lock:
        return sha256 in _agreed or sha256 in _read().models


def untrusted(found: Iterable[Program]) -> Program | None:
    """Return the first of some programs that nobody agreed to run; None for none."""
    return next((program for program in found if not is_trusted(program.sha256)), None)


def trust(program: Program, *, remember: bool = True) -> None:
    """Agree to run a file, for good or for this process.

    Raises InputError when the list cannot be written; the agreement then holds for this process.
    """
    with _lock:
        _agreed.add(program.sha256)
        if not remember:
            return
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with changing(config_folder() / FILE):
            document = _read()
            document.models.pop(program.sha256, None)
            document.models[program.sha256] = _Entry(path_text(program.path.absolute()), now)
            for oldest in list(document.models)[: max(0, len(document.models) - MAX_ENTRIES)]:
                del document.models[oldest]
            _write(document)


def forget(sha256: str) -> None:
    """Trust a file no more; InputError when the list cannot be written."""
    with _lock:
        _agreed.discard(sha256)
        if sha256 not in _read().models:
            return
        with changing(config_folder() / FILE):
            document = _read()
            if document.models.pop(sha256, None) is not None:
                _write(document)


def _write(document: _Document) -> None:
    with atomic_file(config_folder() / FILE) as stream:
        stream.write(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")


def known_path(name: str) -> Path | None:
    """Return where a trusted model's file lies that runs under a name, the latest first."""
    for entry in reversed(list(_read().models.values())):
        path = Path(entry.path)
        named = name in (workload_name(path), f"{workload_name(path)}-own")
        if named and path.is_file() and _is_model(path):
            return path
    return None


def _is_model(path: Path) -> bool:
    try:
        read_model(path)
    except InputError:
        return False
    return True


def programs(workload: Workload) -> list[Program]:
    """Return the Python files that a workload runs: its model's, or its references'."""
    manifest, origin = workload.manifest, Path(workload.source.origin)
    if workload.is_own_model:
        return [Program(origin, workload.source.files.get(MODEL_FILE, ""))]
    said = [manifest.reference, *(v.reference for v in manifest.variants.values() if v.reference)]
    names = (python_function(reference.python or "") for reference in said)
    files = dict.fromkeys(found.file for found in names if found is not None)
    return [Program(origin.parent / name, workload.source.files[name]) for name in files]


def agreed(workload: Workload) -> bool:
    """Return whether a workload may run: it has no Python file, or those the user agreed to."""
    return untrusted(programs(workload)) is None


def agree_here(workload: Workload) -> None:
    """Let this process run a workload that the user agreed to elsewhere."""
    with _lock:
        _agreed.update(program.sha256 for program in programs(workload))
