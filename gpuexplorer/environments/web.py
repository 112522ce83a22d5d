"""HTTP by pip's certificates, proxy and passwords: sizes of files, and files in parts."""

from __future__ import annotations

import http.client
import re
import ssl
import urllib.error
import urllib.request
from base64 import b64encode
from functools import cache

import truststore

import gpuexplorer
from gpuexplorer.environments.pip_settings import PipSettings

TIMEOUT_S = 30.0


class Web:
    """How files are fetched."""

    def __init__(self, settings: PipSettings) -> None:
        self._settings = settings
        self._opener = cache(self._make_opener)

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

        Raises OSError.
        """
        headers = {"Range": f"bytes={start}-"} if start else {}
        try:
            answer = self._open(url, "GET", headers)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 416 and start:  # there is no more than what is there already
                return self._open(url, "GET", {}), 0
            raise
        told = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range") or "")
        begins = int(told[1]) if answer.status == 206 and told is not None else 0
        return answer, begins

    def _open(self, url: str, method: str, headers: dict[str, str]) -> http.client.HTTPResponse:
        headers = headers | {
            "User-Agent": f"gpuexplorer/{gpuexplorer.__version__}",
            "Accept-Encoding": "identity",
        }
        request = urllib.request.Request(url, method=method, headers=headers)
        known = self._settings.credentials(url)
        if known is not None:  # not to be sent on to where the file may stand
            said = b64encode(":".join(known).encode()).decode()
            request.add_unredirected_header("Authorization", f"Basic {said}")
        opener = self._opener(self._settings.trusts(url))
        answer: http.client.HTTPResponse = opener.open(request, timeout=TIMEOUT_S)
        return answer

    def _make_opener(self, trusted: bool) -> urllib.request.OpenerDirector:
        settings = self._settings
        context: ssl.SSLContext
        if trusted:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        elif settings.certificates is not None:
            context = ssl.create_default_context(cafile=settings.certificates)
        else:  # the system's, also where Python's own way to them was built for another
            context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if settings.client_certificate is not None:
            context.load_cert_chain(settings.client_certificate)
        return urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=context),
            urllib.request.ProxyHandler(settings.proxies),
        )
