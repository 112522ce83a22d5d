"""Which model files the user agreed to run: a list of SHA-256 fingerprints in the config folder.

A model's file is a program. It runs in the engine's process, and never before the user has agreed
to exactly this text of it; a changed file is asked about again.
"""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.text import path_text
from gpuexplorer.exchange.files import atomic_file, write_error
from gpuexplorer.workloads.frameworks import is_own
from gpuexplorer.workloads.own_model import ModelFile, text_sha256, workload_name
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
    """A model's file that was not agreed to yet."""

    kind = "not-trusted"

    def __init__(self, model: ModelFile) -> None:
        super().__init__(
            f"{model.path} is a program, and nobody agreed to run it yet "
            f"(SHA-256 {model.sha256[:16]}…)",
            remedy="read it, then agree with --trust, or in a terminal or the window when asked",
        )
        self.model = model


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


def trust(model: ModelFile, *, remember: bool = True) -> None:
    """Agree to run a file, for good or for this process.

    Raises InputError when the list cannot be written; the agreement then holds for this process.
    """
    with _lock:
        _agreed.add(model.sha256)
        if not remember:
            return
        document = _read()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        document.models.pop(model.sha256, None)
        document.models[model.sha256] = _Entry(path_text(model.path.absolute()), now)
        for oldest in list(document.models)[: max(0, len(document.models) - MAX_ENTRIES)]:
            del document.models[oldest]
        folder = config_folder()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_error(folder, error) from None
        with atomic_file(folder / FILE) as stream:
            encoded = msgspec.json.encode(document)
            stream.write(msgspec.json.format(encoded, indent=2) + b"\n")


def forget(sha256: str) -> None:
    """Trust a file no more; InputError when the list cannot be written."""
    with _lock:
        _agreed.discard(sha256)
        document = _read()
        if document.models.pop(sha256, None) is not None:
            with atomic_file(config_folder() / FILE) as stream:
                encoded = msgspec.json.encode(document)
                stream.write(msgspec.json.format(encoded, indent=2) + b"\n")


def known_path(name: str) -> Path | None:
    """Return where a trusted file that runs under a workload's name lies, the latest first."""
    for entry in reversed(list(_read().models.values())):
        path = Path(entry.path)
        if name in (workload_name(path), f"{workload_name(path)}-own") and path.is_file():
            return path
    return None


def agreed(workload: Workload) -> bool:
    """Return whether a workload may run: it is no model's file, or one the user agreed to."""
    if not any(is_own(variant.model) for variant in workload.manifest.variants.values()):
        return True
    return is_trusted(_model_sha256(workload))


def agree_here(workload: Workload) -> None:
    """Let this process run a workload that the user agreed to elsewhere."""
    with _lock:
        _agreed.add(_model_sha256(workload))


def _model_sha256(workload: Workload) -> str:
    return text_sha256(workload.source.files.get(MODEL_FILE, ""))
