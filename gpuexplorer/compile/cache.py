"""What was compiled, kept on disk: built once per source, options and compiler.

An entry is a file named by the hash of everything that decides its content, and holds its own
checksum: a torn or foreign file counts as absent. Files are replaced in one step, so that several
processes may share the folder, and the least recently used ones go when it grows too large. A
folder that cannot be written only costs the time to compile again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

import platformdirs

ENVIRONMENT_VARIABLE = "GPUEXPLORER_CACHE_DIR"
MAX_BYTES = 64 * 1024 * 1024
_MAGIC = b"gpuexplorer-cache-1\n"
_SUFFIX = ".bin"
_STALE_S = 3600.0


def cache_folder() -> Path:
    """Return the user's cache folder, or the one the environment names."""
    chosen = os.environ.get(ENVIRONMENT_VARIABLE)
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("gpuexplorer"))


def key(*parts: str | bytes) -> str:
    """Return the name of what ``parts`` decide, in order; no two lists share one."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


class DiskCache:
    """Bytes by key in one folder, at most ``max_bytes`` together."""

    def __init__(self, name: str, folder: Path | None = None, max_bytes: int = MAX_BYTES) -> None:
        self.folder = (folder or cache_folder()) / name
        self.max_bytes = max_bytes

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def get(self, key: str) -> bytes | None:
        """Return what is kept under ``key``; None when there is nothing, or nothing whole."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        head = len(_MAGIC) + 32
        payload = data[head:]
        if data[: len(_MAGIC)] != _MAGIC or data[len(_MAGIC) : head] != _checksum(payload):
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # recently used
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Keep ``payload`` under ``key``, as far as the folder allows."""
        temporary: str | None = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix="new-", dir=self.folder)
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + _checksum(payload) + payload)
            os.replace(temporary, self._path(key))
            temporary = None
        except OSError:
            pass  # read-only, full, gone: the next build compiles again
        finally:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
        self._evict()

    def remove(self, key: str) -> None:
        """Forget ``key``."""
        with contextlib.suppress(OSError):
            self._path(key).unlink()

    def clear(self) -> None:
        """Forget everything."""
        for path, _, _ in self._entries():
            with contextlib.suppress(OSError):
                path.unlink()

    def size_B(self) -> int:
        """Return the bytes in use."""
        return sum(size for _, size, _ in self._entries())

    def _entries(self) -> list[tuple[Path, int, float]]:
        found = []
        with contextlib.suppress(OSError):
            for path in self.folder.iterdir():
                with contextlib.suppress(OSError):
                    status = path.stat()
                    found.append((path, status.st_size, status.st_mtime))
        return found

    def _evict(self) -> None:
        entries = self._entries()
        newest = max((used for _, _, used in entries), default=0.0)
        total = sum(size for _, size, _ in entries)
        for path, size, used in sorted(entries, key=lambda e: e[2]):
            abandoned = path.suffix != _SUFFIX and newest - used > _STALE_S
            if not abandoned and (total <= self.max_bytes or path.suffix != _SUFFIX):
                continue
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size


def _checksum(payload: bytes) -> bytes:
    return hashlib.sha256(payload).digest()
