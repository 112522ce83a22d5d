"""uv, which chooses packages and installs them: where it stands, and how it is started.

It does so several times faster than pip, with any Python, also one that has no pip. Two things stay
ours. Files are fetched by ``downloads``: after a cancel, uv begins each anew, and it does not hand
over the wheels that ``engines fetch`` collects. And Pythons are found by ``pythons``: uv looks
neither at conda nor at what pyenv has besides the version in use, and leaves out what is broken
without a word.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.core.frozen import is_frozen
from gpuexplorer.environments.children import Done, run, surroundings, watched
from gpuexplorer.environments.locked import engines_data
from gpuexplorer.environments.pip_settings import PipSettings

ALWAYS = ("--no-config", "--no-progress", "--no-python-downloads")
RETRIES = 2
_NETWORK = re.compile(
    r"error sending request|client error \(Connect\)|dns error|tcp connect error|timed out"
    r"|Connection (refused|reset)|Network is unreachable|certificate",
    re.IGNORECASE,
)


def uv_program() -> Path:
    """Return uv's executable; CannotRunHere where there is none."""
    if is_frozen():
        found = engines_data() / ("uv.exe" if os.name == "nt" else "uv")
        if found.is_file():
            return found
    else:
        import uv  # a package with no more in it than this program, and where it stands

        try:
            return Path(uv.find_uv_bin())
        except FileNotFoundError:
            pass
    raise CannotRunHere(
        "uv, which makes environments, is missing", remedy="install GPU Explorer again"
    )


def run_uv(
    python: Path,
    arguments: Sequence[str],
    scratch: Path,
    settings: PipSettings | None,
    cancel: threading.Event | None = None,
    on_tick: Callable[[], None] = lambda: None,
) -> Done:
    """Run uv to its end; it ends when this program does.

    ``scratch``: a folder for what it needs meanwhile; ``settings``: where packages are, None when
    it needs no network. Raises Cancelled, and CannotRunHere when there is no uv.
    """
    command = [str(uv_program()), *arguments, *ALWAYS, "--cache-dir", str(scratch)]
    environment = {
        name: text for name, text in surroundings(python).items() if not name.startswith("UV_")
    }
    environment |= {name: str(scratch) for name in ("TMPDIR", "TEMP", "TMP")}
    if settings is None:
        command.append("--offline")
    else:
        command += _sources(settings)
        environment |= _variables(settings)
    return run(watched(python, command), environment, cancel, on_tick)


def _sources(settings: PipSettings) -> list[str]:
    """Return uv's options for where packages are; of several indexes all count, as with pip."""
    links = [word for one in settings.links for word in ("--find-links", one)]
    if settings.only_links:
        return [*links, "--no-index"]
    return [*links, "--index-strategy", "unsafe-best-match"]


def _variables(settings: PipSettings) -> dict[str, str]:
    """Return what is told by variables, since every user can read a program's arguments."""
    told = {"UV_HTTP_RETRIES": str(RETRIES), "UV_SYSTEM_CERTS": "1"}
    if settings.index is not None:
        told["UV_DEFAULT_INDEX"] = settings.index
    if settings.more_indexes:
        told["UV_INDEX"] = " ".join(settings.more_indexes)
    if settings.trusted_hosts:
        told["UV_INSECURE_HOST"] = " ".join(settings.trusted_hosts)
    if settings.certificates is not None:
        told["SSL_CERT_FILE"] = settings.certificates
    if settings.client_certificate is not None:
        told["SSL_CLIENT_CERT"] = settings.client_certificate
    for scheme, address in settings.proxies.items():
        told[f"{scheme.upper()}_PROXY"] = address
    return told


def reason(done: Done) -> str:
    """Return in one line why uv failed."""
    text = re.sub(r"\s+", " ", done.text.partition("error:")[2]).strip()
    because = re.search(r"Because (.*?)(?:,? we can conclude|$)", text)
    said = because[1] if because else text.rpartition("cause: ")[2] or text
    return said[:300].rstrip(".") or "uv gave no reason"


def no_network(done: Done) -> bool:
    """Whether uv failed because it reached no server."""
    return _NETWORK.search(done.text) is not None
