"""Fetch files: each goes on where it was cut off, and counts when its hash is right.

A wheel stands under its own name once its SHA-256 is right, and under another until then. What is
there is read again each time: a disk may have changed it.
"""

from __future__ import annotations

import http.client
import threading
import urllib.error
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path

from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.environments.disk import is_full, no_space
from gpuexplorer.environments.hashes import CHUNK_B, mismatch, sha256_of
from gpuexplorer.environments.packages import Package
from gpuexplorer.environments.progress import Cancelled, Teller, check
from gpuexplorer.environments.resolve import OFFLINE
from gpuexplorer.environments.web import Web
from gpuexplorer.exchange.files import write_error

POLL_S = 0.1
ATTEMPTS = 5
"""How often a broken connection is tried again without a byte in between."""
NOT_FOR_US = {401, 403, 407}
"""Answers of a server or proxy that wants to know who asks."""


def downloads_folder(folder: Path) -> Path:
    """Return where downloads are kept, among the environments of ``folder``."""
    return folder / ".downloads"


def part_of(downloads: Path, wanted: Package) -> Path:
    """Return where a file stands until it is whole; other contents have another name."""
    return downloads / f"{wanted.file}.{wanted.sha256[:12]}.part"


def have_B(downloads: Path, wanted: Package) -> int:
    """Return how many bytes of a file are there."""
    for path in (downloads / wanted.file, part_of(downloads, wanted)):
        with suppress(OSError):
            return path.stat().st_size
    return 0


def fetch_all(
    packages: Sequence[Package],
    downloads: Path,
    web: Web,
    tell: Teller,
    then_B: int,
    cancel: threading.Event | None,
) -> None:
    """Have every wheel in a folder, one after the other, each what its hash says.

    ``then_B``: how many bytes are needed on the same disk afterwards. Raises as ``fetch`` does.
    """
    total, behind = sum(one.size_B or 0 for one in packages), 0
    for package in packages:

        def report(there: int, behind: int = behind, package: Package = package) -> None:
            tell("download", behind + there, total, f"{package.name} {package.version}")

        report(0)
        check(cancel)
        fetch(package, downloads, web, max(0, total - behind) + then_B, report, cancel)
        behind += package.size_B or have_B(downloads, package)


def fetch(
    wanted: Package,
    downloads: Path,
    web: Web,
    rest_B: int,
    on_bytes: Callable[[int], None],
    cancel: threading.Event | None = None,
) -> None:
    """Fetch one file; ``on_bytes`` is told how many of its bytes are there by now.

    ``rest_B``: how many bytes all that is still to come takes, for the sentence on a full disk.
    Raises Cancelled and WorkFailed.
    """
    job = _Job(wanted, downloads, web)
    thread = threading.Thread(target=job.run, name="download", daemon=True)
    thread.start()
    try:
        working = True
        while working:
            thread.join(POLL_S)
            working = thread.is_alive()  # asked first: the last word is said when it has ended
            on_bytes(job.there_B)
            check(cancel)
    finally:
        job.stop.set()
        thread.join(1.0)  # one that waits for a byte ends by itself, and writes nothing more
    error = job.error
    if isinstance(error, OSError) and is_full(error):
        raise no_space(downloads, rest_B - job.there_B) from None
    if isinstance(error, OSError):
        raise write_error(Path(error.filename or downloads), error) from None
    if error is not None:
        raise error


class _Job:
    """The fetching of one file, in a thread of its own."""

    def __init__(self, wanted: Package, downloads: Path, web: Web) -> None:
        self._wanted, self._web = wanted, web
        self._whole, self._part = downloads / wanted.file, part_of(downloads, wanted)
        self.stop = threading.Event()
        self.there_B = 0
        self.error: Exception | None = None

    def run(self) -> None:
        """Fetch; what goes wrong stands in ``error``."""
        try:
            self._fetch()
        except Exception as error:  # noqa: BLE001 - it is raised where the file was asked for
            self.error = error

    def _fetch(self) -> None:
        if self._is_there():
            return
        self.there_B = 0
        resumed = self._part.exists()
        self._complete()
        found = self._hash(self._part)
        if found != self._wanted.sha256 and resumed:
            self._part.unlink()  # its beginning was of another file
            self._complete()
            found = self._hash(self._part)
        if found != self._wanted.sha256:
            self._part.unlink()
            raise mismatch(self._wanted.file, self._wanted.sha256, found, self._wanted.vouched_by)
        self._part.replace(self._whole)

    def _is_there(self) -> bool:
        if self._whole.exists() and self._hash(self._whole) == self._wanted.sha256:
            return True
        self._whole.unlink(missing_ok=True)
        return False

    def _hash(self, path: Path) -> str:
        read = 0

        def count(more: int) -> None:
            nonlocal read
            read += more
            self.there_B = max(self.there_B, read)

        return sha256_of(path, self.stop, count)

    def _complete(self) -> None:
        """Bring the part to its end, over connections that break."""
        attempt = 0
        while True:
            before = self._length()
            try:
                self._stream(before)
                return
            except urllib.error.HTTPError as error:
                if error.code < 500 or attempt + 1 >= ATTEMPTS:
                    raise _unreachable(self._wanted, error) from None
                attempt += 1
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, OSError) and (is_full(error) or error.filename is not None):
                    raise  # the disk's doing, not the network's
                attempt = 0 if self._length() > before else attempt + 1
                if attempt >= ATTEMPTS:
                    raise _unreachable(self._wanted, error) from None
            if self.stop.wait(2.0**attempt - 1.0):
                raise Cancelled

    def _length(self) -> int:
        try:
            return self._part.stat().st_size
        except OSError:
            return 0

    def _stream(self, start: int) -> None:
        """Write what comes from byte ``start`` on; it may come from the first byte on instead."""
        answer, begins = self._web.open_at(self._wanted.url, start)
        with closing(answer), self._part.open("r+b" if begins else "wb") as target:
            target.seek(begins)
            target.truncate()
            self.there_B = begins
            while data := answer.read1(CHUNK_B):
                check(self.stop)
                target.write(data)
                target.flush()  # nothing is written once the fetching is stopped
                self.there_B += len(data)
            missing = int(answer.headers.get("Content-Length") or 0) - (self.there_B - begins)
            if missing > 0:
                raise http.client.IncompleteRead(b"", missing)


def _unreachable(wanted: Package, error: Exception) -> WorkFailed:
    if isinstance(error, urllib.error.HTTPError) and error.code in NOT_FOR_US:
        return WorkFailed(
            f"{wanted.file} cannot be fetched: {error.code} {error.reason}",
            remedy="give pip what the server asks for (see 'pip config'), or use a folder of "
            "wheels (--from FOLDER)",
        )
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
    return WorkFailed(
        f"{wanted.file} cannot be fetched: {reason}",
        remedy=f"{OFFLINE}; what is downloaded is kept",
    )


def make_folder(folder: Path) -> None:
    """Make a folder; InputError when that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if is_full(error):
            raise no_space(folder, 0) from None
        raise write_error(folder, error) from None
