"""Files that appear whole or not at all, and what is said when one cannot be written or read.

A file is written beside its target under another name, flushed to the disk, and renamed.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.core.locks import FileLock

OTHERS_S = 5.0
"""How long others may take to change a file."""
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


class NotWritten(InputError):
    """A file cannot be written."""


def write_error(path: Path, error: OSError) -> NotWritten:
    """Return what a user should be told when writing ``path`` failed."""
    reason, remedy = _REASONS.get(error.errno or 0, (error.strerror or str(error), ""))
    return NotWritten(f"cannot write {path}: {reason}", remedy=remedy)


def not_written_reason(error: OSError) -> str:
    """Return why a file cannot be written, where it is clear which one is meant."""
    return _REASONS.get(error.errno or 0, (error.strerror or str(error), ""))[0]


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
def changing(path: Path) -> Iterator[None]:
    """Have a file to oneself while it is read and written anew, so that no other's change is lost.

    Raises WorkFailed when another program does not let go of it, InputError where nothing can be
    written.
    """
    try:
        lock = FileLock(path.with_suffix(".lock"), wait_s=OTHERS_S)
    except OSError as error:
        raise write_error(path if path.parent.is_dir() else path.parent, error) from None
    with lock:
        if not lock.taken:
            raise WorkFailed(
                f"another GPU Explorer is changing {path}", remedy="end that one, and try again"
            )
        yield


@contextmanager
def atomic_file(path: Path, *, durable: bool = True, private: bool = False) -> Iterator[BinaryIO]:
    """Open ``path`` for writing so that it appears whole or not at all.

    Unless it shall be ``durable``, the disk is not waited for: a power cut may take what is new.
    Nobody else may read what is ``private``, where the system knows of users' rights. A
    device or pipe is written directly. Raises InputError with a remedy when the file cannot be
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
                if private and os.name != "nt":
                    os.fchmod(stream.fileno(), 0o600)
                yield stream
                if durable:
                    stream.flush()
                    os.fsync(stream.fileno())
            if target.exists() and not private:
                part.chmod(stat.S_IMODE(target.stat().st_mode))
            part.replace(target)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise
    except OSError as error:
        raise write_error(path, error) from None


def read_file(path: Path, most_B: int) -> bytes:
    """Return a whole file; InputError when it cannot be read or is larger than ``most_B`` bytes."""
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "")
        with path.open("rb") as stream:
            data = stream.read(most_B + 1)
    except OSError as error:
        raise read_error(path, error) from None
    if len(data) > most_B:
        raise InputError(
            f"{path} is larger than {most_B >> 20} MiB, the most that is read",
            remedy="split it into several files",
        )
    return data


def read_error(path: Path, error: OSError) -> InputError:
    """Return what a user should be told when reading ``path`` failed."""
    reasons = {
        errno.ENOENT: ("there is no such file", "check the name"),
        errno.EACCES: ("permission denied", "ask for the right to read it"),
        errno.EISDIR: ("it is a folder", "give a file name"),
    }
    reason, remedy = reasons.get(error.errno or 0, (error.strerror or str(error), ""))
    return InputError(f"cannot read {path}: {reason}", remedy=remedy)
