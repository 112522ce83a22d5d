"""Read a package index: its files with their hashes (PEP 503, 691), sizes and requirements.

The index is the one that pip is configured for in this process's environment, PyPI by default.
"""

from __future__ import annotations

import io
import json
import os
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from email.parser import Parser
from functools import cache
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from builder.errors import BuildError

PYPI = "https://pypi.org/simple"
TIMEOUT_S = 60.0
ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.1"
PART_B = 1 << 18
"""What is read of a wheel at once: most lists of contents fit in."""
AT_ONCE = 12


@dataclass(frozen=True)
class IndexFile:
    """One file of an index."""

    name: str
    url: str
    sha256: str
    size_B: int | None = None


class Index:
    """A package index; every page is fetched once."""

    def __init__(self, address: str | None = None) -> None:
        self._address = (address or os.environ.get("PIP_INDEX_URL") or PYPI).rstrip("/")
        self.files = cache(self._files)
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._required = cache(self._requires)
        self._sized = cache(self._with_size)

    def requires(self, files: Iterable[IndexFile]) -> set[str]:
        """Return everything that any of some wheels requires, as their metadata say it."""
        return {line for lines in self._pool.map(self._required, files) for line in lines}

    def with_sizes(self, files: Iterable[IndexFile]) -> list[IndexFile]:
        """Return files with their sizes, asked from their server where the index does not say."""
        return list(self._pool.map(self._sized, files))

    def _files(self, name: str) -> list[IndexFile]:
        """Return every file of a package that has a SHA-256; BuildError when it cannot be asked."""
        address = f"{self._address}/{name}/"
        data, kind = _get(address, {"Accept": ACCEPT})
        if "json" in kind:
            return [_of_json(one) for one in json.loads(data)["files"] if "sha256" in one["hashes"]]
        page = _Page(address)
        page.feed(data.decode("utf-8", "replace"))
        return page.files

    def _with_size(self, file: IndexFile) -> IndexFile:
        if file.size_B is not None:
            return file
        return replace(file, size_B=_Remote(file.url).size_B)

    def _requires(self, file: IndexFile) -> tuple[str, ...]:
        """Return what a wheel requires; only the part of it that says so is fetched."""
        with zipfile.ZipFile(io.BufferedReader(_Remote(file.url), PART_B)) as wheel:
            named = [n for n in wheel.namelist() if n.endswith(".dist-info/METADATA")]
            (name,) = [n for n in named if n.count("/") == 1]
            told = Parser().parsestr(wheel.read(name).decode("utf-8", "replace"), headersonly=True)
        return tuple(told.get_all("Requires-Dist") or ())


def _of_json(one: dict[str, Any]) -> IndexFile:
    return IndexFile(one["filename"], one["url"], one["hashes"]["sha256"], one.get("size"))


class _Page(HTMLParser):
    """Collects the files of a page."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address
        self.files: list[IndexFile] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = dict(attrs).get("href") if tag == "a" else None
        if address is None:
            return
        url, fragment = urldefrag(urljoin(self._address, address))
        if fragment.startswith("sha256="):
            name = unquote(urlsplit(url).path).rpartition("/")[2]
            self.files.append(IndexFile(name, url, fragment.removeprefix("sha256=")))


class _Remote(io.RawIOBase):
    """A file on a server of which parts are read."""

    def __init__(self, url: str) -> None:
        self._url, self._at = url, 0
        request = urllib.request.Request(url, method="HEAD")
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                self.size_B = int(answer.headers["Content-Length"])
        except (OSError, TypeError, ValueError) as error:
            raise BuildError(f"{url} cannot be asked for its size: {error}") from None

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size_B}[whence]
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        end = min(self.size_B, self._at + len(buffer))
        if end <= self._at:
            return 0
        data, _ = _get(self._url, {"Range": f"bytes={self._at}-{end - 1}"})
        if len(data) != end - self._at:
            raise BuildError(f"{self._url} cannot be read in parts")
        buffer[: len(data)] = data
        self._at = end
        return len(data)


def _get(url: str, headers: dict[str, str]) -> tuple[bytes, str]:
    try:
        request = urllib.request.Request(url, headers=headers)
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            return answer.read(), answer.headers.get("Content-Type", "")
    except (urllib.error.URLError, OSError) as error:
        raise BuildError(f"{url} cannot be read: {error}") from None
