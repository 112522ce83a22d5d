"""HTTP as pip is configured for it, its certificates and its proxy: sizes, and files in parts."""

from __future__ import annotations

import http.client
import re
import ssl
import tempfile
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import gpuexplorer
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.environments.children import module_in, run
from gpuexplorer.environments.resolve import pip_surroundings

TIMEOUT_S = 30.0
CONFIG_S = 30.0
NOT_FOR_US = {401, 403, 407}
"""Answers of a server or proxy that wants to know who asks: pip may know the answer."""
_ROOTS = "pip/_vendor/certifi/cacert.pem"


class Refused(Exception):
    """The server wants something that only pip may know: a password, a certificate."""


@dataclass(frozen=True)
class Web:
    """How files are fetched."""

    certificates: str | None = None
    """A file of trusted certificates that pip was told to use."""
    proxy: str | None = None
    pip: Path | None = None
    """Where pip stands: its certificates serve where the system has none."""

    @cached_property
    def _opener(self) -> urllib.request.OpenerDirector:
        context = ssl.create_default_context(cafile=self.certificates)
        if self.certificates is None and not _system_has_roots():
            context.load_verify_locations(cadata=_roots_of(self.pip))
        handlers: list[urllib.request.BaseHandler] = [urllib.request.HTTPSHandler(context=context)]
        if self.proxy is not None:
            handlers.append(urllib.request.ProxyHandler({"http": self.proxy, "https": self.proxy}))
        return urllib.request.build_opener(*handlers)

    def size_of(self, url: str) -> int | None:
        """Return how many bytes a file has; None where its server does not say."""
        try:
            with self._open(url, "HEAD", {}) as answer:
                length = answer.headers.get("Content-Length")
        except (OSError, http.client.HTTPException, ValueError):
            return None
        return int(length) if length is not None and length.isdigit() else None

    def open_at(self, url: str, start: int) -> tuple[http.client.HTTPResponse, int]:
        """Ask for a file from byte ``start`` on; return the answer and where it really begins.

        Raises Refused when only pip may get it, and OSError.
        """
        headers = {"Range": f"bytes={start}-"} if start else {}
        try:
            answer = self._open(url, "GET", headers)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 416 and start:  # there is no more than what is there already
                return self._open(url, "GET", {}), 0
            if error.code in NOT_FOR_US:
                raise Refused(f"{error.code} {error.reason}") from None
            raise
        except urllib.error.URLError as error:
            if isinstance(error.reason, ssl.SSLCertVerificationError):
                raise Refused(str(error.reason)) from None
            raise
        told = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range") or "")
        begins = int(told[1]) if answer.status == 206 and told is not None else 0
        return answer, begins

    def _open(self, url: str, method: str, headers: dict[str, str]) -> http.client.HTTPResponse:
        name = f"gpuexplorer/{gpuexplorer.__version__}"
        request = urllib.request.Request(
            url,
            method=method,
            headers={"User-Agent": name, "Accept-Encoding": "identity"} | headers,
        )
        answer: http.client.HTTPResponse = self._opener.open(request, timeout=TIMEOUT_S)
        return answer


def web_for(python: Path, pip: Path) -> Web:
    """Return how to fetch, as pip's own configuration and environment say."""
    scratch = Path(tempfile.gettempdir())
    try:
        done = run(
            module_in(python, "pip", "config", "list", pip=pip),
            pip_surroundings(python, None, scratch),
            timeout_s=CONFIG_S,
        )
    except (ExplorerError, TimeoutError):
        return Web(pip=pip)
    settings = dict(re.findall(r"^[:\w]+\.([\w-]+)='(.*)'$", done.text, re.MULTILINE))
    certificates = settings.get("cert")
    usable = certificates if certificates and Path(certificates).is_file() else None
    return Web(usable, settings.get("proxy") or None, pip)


def _system_has_roots() -> bool:
    """Whether OpenSSL finds certificates by itself; on Windows the system's store has them."""
    paths = ssl.get_default_verify_paths()
    if any(path is not None and Path(path).exists() for path in (paths.cafile, paths.capath)):
        return True
    return bool(ssl.create_default_context().get_ca_certs())


def _roots_of(pip: Path | None) -> str:
    """Return the certificates that pip brings along; none where they cannot be read."""
    if pip is None:
        return ""
    try:
        if pip.suffix == ".whl":
            with zipfile.ZipFile(pip) as wheel:
                return wheel.read(_ROOTS).decode("ascii", "ignore")
        return (pip / _ROOTS).read_text(encoding="ascii", errors="ignore")
    except (OSError, KeyError, zipfile.BadZipFile):
        return ""
