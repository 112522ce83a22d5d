"""Where results go: checked before the work, written after it, whole or not at all."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.text import visible_json
from gpuexplorer.exchange import atomic_file, check_target

STDOUT = "-"


def json_path(target: str | None) -> Path | None:
    """Return the file of ``--json``; None for none and for standard output."""
    return None if target in (None, STDOUT) else Path(str(target))


def check_targets(*targets: Path | None) -> None:
    """Raise InputError when one of the files could not be written, or two are the same."""
    seen: dict[Path, Path] = {}
    for target in targets:
        if target is None:
            continue
        if str(target) == STDOUT:
            raise InputError("only --json can write to standard output", remedy="give a file name")
        check_target(target)
        if target.resolve() in seen and target.is_file() | (not target.exists()):
            raise InputError(
                f"two results would go to {target}", remedy="give each a file of its own"
            )
        seen[target.resolve()] = target


def check_results(json: str | None, *files: Path | None, plot: Path | None = None) -> None:
    """Raise InputError when JSON, another file or a picture could not be written."""
    check_targets(json_path(json), *files, plot)
    if plot is not None:
        from gpuexplorer.charts.render import check_chart_target

        check_chart_target(plot)


def write_document(target: str | None, data: bytes) -> None:
    """Write JSON text to where ``--json`` points; nothing when it was not given."""
    path = json_path(target)
    if path is not None:
        with atomic_file(path) as stream:
            stream.write(data)
    elif target == STDOUT:
        sys.stdout.buffer.write(visible_json(data) if sys.stdout.isatty() else data)
        sys.stdout.buffer.flush()


def pretty_json(document: Any) -> bytes:
    """Return a small document as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
