"""Where this machine gets packages from: what its user has told pip.

uv reads none of pip's files and variables. Private indexes, proxies and certificates stand in them
on many machines, so they are read here by pip's rules (pip.pypa.io, "Configuration"), for uv and
for our own downloads.
"""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from netrc import NetrcParseError, netrc
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit, urlunsplit
from urllib.request import getproxies

import msgspec
import platformdirs

from gpuexplorer.core.frozen import clean_environment
from gpuexplorer.engine.surroundings import prefix_of

KEYRING_S = 30.0
"""How long the program ``keyring`` may take; it may ask its user to unlock it."""


class PipSettings(msgspec.Struct, frozen=True):
    """What pip was told about where packages are."""

    index: str | None = None
    """None: the public one."""
    more_indexes: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    """Folders and pages that name wheels."""
    only_links: bool = False
    """Whether no index is asked at all."""
    trusted_hosts: tuple[str, ...] = ()
    """Hosts whose certificates are not checked."""
    certificates: str | None = None
    """A file of trusted certificates."""
    client_certificate: str | None = None
    """A file with the certificate, and its key, that a server may want."""
    proxy: str | None = None

    @property
    def proxies(self) -> dict[str, str]:
        """The proxies by scheme: pip's own, or those of the system."""
        return {"http": self.proxy, "https": self.proxy} if self.proxy else getproxies()

    def credentials(self, url: str) -> tuple[str, str] | None:
        """Return user and password for a file: those of an index on its host, or netrc's."""
        host = urlsplit(url).netloc
        for index in (self.index, *self.more_indexes, *self.links):
            user, _, there = urlsplit(index or "").netloc.rpartition("@")
            if user and there == host:
                name, _, password = user.partition(":")
                return unquote(name), unquote(password)
        with suppress(OSError, NetrcParseError):
            found = netrc(os.environ.get("NETRC")).authenticators(urlsplit(url).hostname or "")
            if found is not None:
                return found[0], found[2] or ""
        return None

    def trusts(self, url: str) -> bool:
        """Whether the certificate of a file's server is not checked."""
        parts = urlsplit(url)
        return parts.hostname in self.trusted_hosts or parts.netloc in self.trusted_hosts


def read_settings(python: Path) -> PipSettings:
    """Return pip's settings as they hold for a Python; files that cannot be read say nothing."""
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, "environment": {}}
    for path in _files(python):
        parser = configparser.RawConfigParser()
        with suppress(OSError, UnicodeDecodeError, configparser.Error):
            parser.read(path, encoding="utf-8")
        for section in ("global", "install"):
            if parser.has_section(section):
                found[section] |= {_option(name): text for name, text in parser.items(section)}
    for name, text in os.environ.items():
        if name.startswith("PIP_") and text:
            found["environment"][_option(name[4:])] = text
    said = found["global"] | found["install"] | found["environment"]
    index = said.get("index-url")
    return PipSettings(
        index=_with_password(index) if index else None,
        more_indexes=tuple(map(_with_password, said.get("extra-index-url", "").split())),
        links=tuple(said.get("find-links", "").split()),
        only_links=said.get("no-index", "").lower() in ("1", "true", "yes", "on"),
        trusted_hosts=tuple(said.get("trusted-host", "").split()),
        certificates=_file(said.get("cert")),
        client_certificate=_file(said.get("client-cert")),
        proxy=said.get("proxy") or None,
    )


def _option(name: str) -> str:
    return name.lower().replace("_", "-")


def _file(path: str | None) -> str | None:
    """Return a file's path, if the file is there."""
    return path if path and Path(path).is_file() else None


def _files(python: Path) -> Iterator[Path]:
    """Yield pip's files of settings, those that win last: the machine's, the user's, the Python's.

    None where ``PIP_CONFIG_FILE`` names the null device, by which pip is told to read none.
    """
    named = os.environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return
    name = "pip.ini" if os.name == "nt" else "pip.conf"
    if sys.platform == "darwin":
        yield Path("/Library/Application Support/pip") / name
    else:
        shared = platformdirs.site_config_dir("pip", appauthor=False, multipath=True)
        for folder in reversed(shared.split(os.pathsep)):
            yield Path(folder) / name
        if os.name != "nt":
            yield Path("/etc") / name
    yield Path.home() / ("pip" if os.name == "nt" else ".pip") / name
    if sys.platform == "darwin":
        yield Path.home() / ".config" / "pip" / name
    yield Path(platformdirs.user_config_dir("pip", appauthor=False, roaming=True)) / name
    yield prefix_of(python) / name
    if named:
        yield Path(named)


def _with_password(url: str) -> str:
    """Return an index's address, with the password that ``keyring`` knows where it has only a user.

    What pip finds so, it finds by the same program.
    """
    parts = urlsplit(url)
    keyring = shutil.which("keyring")
    if not parts.username or parts.password is not None or keyring is None:
        return url
    host = parts.netloc.rpartition("@")[2]
    for service in (url, host):
        with suppress(OSError, subprocess.TimeoutExpired):
            done = subprocess.run(
                [keyring, "get", service, unquote(parts.username)],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                timeout=KEYRING_S, env=clean_environment(os.environ),
            )  # fmt: skip
            password = done.stdout.rstrip("\r\n")
            if done.returncode == 0 and password:
                user = f"{parts.username}:{quote(password, safe='')}"
                return urlunsplit(parts._replace(netloc=f"{user}@{host}"))
    return url
