"""Write runs to files that other programs read: JSON documents and CSV tables of samples.

A file appears whole or not at all: it is written beside its target under another name, flushed to
the disk, and renamed.
"""

from __future__ import annotations

import csv
import errno
import io
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult

_REASONS = {
    errno.ENOSPC: ("the disk is full", "free some space or choose another folder"),
    errno.EDQUOT: ("the disk quota is used up", "free some space or choose another folder"),
    errno.EFBIG: ("the file would be larger than allowed", "raise the file-size limit"),
    errno.EACCES: ("permission denied", "choose a folder you may write to"),
    errno.EPERM: ("permission denied", "choose a folder you may write to"),
    errno.EROFS: ("the disk is read-only", "choose another folder"),
    errno.ENOENT: ("there is no such folder", "create the folder first"),
    errno.ENOTDIR: ("part of the path is a file, not a folder", "choose another folder"),
    errno.EISDIR: ("it is a folder", "give a file name"),
    errno.ENAMETOOLONG: ("the name is too long", "choose a shorter name"),
    errno.ELOOP: ("the link leads back to itself", "choose another name"),
}

CSV_COLUMNS = (
    "run", "workload", "variant", "size", "block", "precision", "device",
    "batch", "batch_start_s", "sample", "duration_s",
)  # fmt: skip


def write_error(path: Path, error: OSError) -> InputError:
    """Return what a user should be told when writing ``path`` failed."""
    reason, remedy = _REASONS.get(error.errno or 0, (error.strerror or str(error), ""))
    return InputError(f"cannot write {path}: {reason}", remedy=remedy)


def check_target(path: Path) -> None:
    """Raise InputError when a file cannot be written at ``path``; for use before long work."""
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "")
        folder = _resolved(path).parent
        if not stat.S_ISDIR(folder.stat().st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "")
        writable = path if path.exists() and not path.is_file() else folder
        if not os.access(writable, os.W_OK):
            raise PermissionError(errno.EACCES, "")
    except OSError as error:
        raise write_error(path, error) from None


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except RuntimeError:  # what a circle of links was before Python 3.13
        raise OSError(errno.ELOOP, "") from None


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open ``path`` for writing so that it appears whole or not at all.

    A device or pipe is written directly. Raises InputError with a remedy when the file cannot be
    written; whatever stood there before is then untouched.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open("wb") as stream:
                yield stream
            return
        target = _resolved(path)  # through links, so that a link stays one
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "")
        part = target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}.part")
        try:
            with part.open("xb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            if target.exists():
                part.chmod(stat.S_IMODE(target.stat().st_mode))
            part.replace(target)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise
    except OSError as error:
        raise write_error(path, error) from None


def run_json(result: RunResult) -> bytes:
    """Return one run's document: a line for each key, so that it also reads well."""
    fields = msgspec.to_builtins(result)
    lines = (f"  {_compact(key)}: {_compact(value)}" for key, value in fields.items())
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _compact(value: object) -> str:
    return msgspec.json.encode(value).decode()


def write_json(result: RunResult, path: Path) -> None:
    """Write one run's document; InputError when the file cannot be written."""
    _write(path, lambda: run_json(result))


def _write(path: Path, make: Callable[[], bytes]) -> None:
    with atomic_file(path) as stream:
        stream.write(make())


def write_csv(results: Sequence[RunResult], path: Path) -> None:
    """Write every sample of some runs as one table; InputError when the file cannot be written.

    One row a launch, in order. The leading columns repeat the configuration, so that the tables of
    several runs can be stacked and nothing but the file is needed to read it. ``batch_start_s`` is
    the time from the run's first batch to the one that holds the sample; it is empty when unknown.
    """
    with atomic_file(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=False)
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        for result in results:
            writer.writerows(_rows(result))
        text.flush()
        text.detach()


def _rows(result: RunResult) -> Iterator[tuple[object, ...]]:
    config = result.config
    head = (
        result.id,
        config.workload,
        config.variant,
        " ".join(f"{symbol}={value}" for symbol, value in config.size.items()),
        "x".join(map(str, config.block)) if config.block else "",
        config.precision,
        config.device,
    )
    batch, start = _batch_columns(result)
    for index, duration in enumerate(result.samples_s):
        yield (*head, batch[index], start[index], index, duration)


def _batch_columns(result: RunResult) -> tuple[Sequence[object], Sequence[object]]:
    counts = [b.samples for b in result.batches]
    if sum(counts) != len(result.samples_s):
        empty = [""] * len(result.samples_s)
        return empty, empty
    starts = np.array([b.start_s for b in result.batches])
    relative = np.round(starts - starts[0], 9) if len(starts) else starts
    return np.repeat(np.arange(len(counts)), counts).tolist(), np.repeat(relative, counts).tolist()
