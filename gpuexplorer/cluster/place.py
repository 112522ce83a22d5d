"""Where a cluster's scheduler is, and the certificates by which both sides know each other."""

from __future__ import annotations

import ipaddress
import os
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from gpuexplorer.cluster.library import load_distributed
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.text import brief
from gpuexplorer.exchange.files import read_file

SCHEMA = "gpuexplorer/cluster/1"
FILE = "cluster.toml"
MAX_FILE_B = 1 << 20
ENCRYPTED = "tls"


class ClusterPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A scheduler's address, and the files that hold certificates and key."""

    scheduler: str
    ca: str | None = None
    """The file of the certificate that signed everybody's; None: what Dask's settings say."""
    cert: str | None = None
    key: str | None = None

    @property
    def encrypted(self) -> bool:
        """Whether both sides prove who they are and nobody else can read along."""
        return self.scheduler.startswith(f"{ENCRYPTED}://")

    def security(self) -> Any:
        """Return what Dask calls Security; InputError where certificates are missing."""
        security = load_distributed().Security
        if not self.encrypted:
            return security(require_encryption=False)
        if self.ca is None:
            made = security(require_encryption=True)
            if not made.tls_ca_file:
                raise InputError(
                    f"{self.scheduler} needs certificates, and none are named",
                    remedy="give the cluster.toml that 'gpuexplorer cluster up' wrote",
                )
            return made
        files = {"tls_ca_file": self.ca}
        for role in ("client", "scheduler", "worker"):
            files |= {f"tls_{role}_cert": self.cert or "", f"tls_{role}_key": self.key or ""}
        return security(require_encryption=True, **files)


class _File(msgspec.Struct, kw_only=True):
    schema: str = ""
    scheduler: str = ""
    ca: str | None = None
    cert: str | None = None
    key: str | None = None


def find_cluster(where: str) -> ClusterPlace:
    """Return the place of ``tls://HOST:PORT``, ``tcp://`` on this machine, a file or its folder.

    Raises InputError for any other, and for a connection that anybody could use or read.
    """
    if "://" in where:
        place = _checked(where)
    else:
        path = Path(os.path.expanduser(where))
        place = _read(path / FILE if path.is_dir() else path)
    if not place.encrypted and not is_loopback(place.scheduler):
        raise InputError(
            f"{place.scheduler} is not encrypted: whoever reaches it can run any program as you, "
            "on every worker",
            remedy="use tls:// with certificates, as 'gpuexplorer cluster up' makes them",
        )
    return place


def _checked(address: str) -> ClusterPlace:
    parts = urlsplit(address)
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme not in ("tcp", ENCRYPTED) or not parts.hostname or port is None:
        raise InputError(
            f"'{brief(address)}' is no scheduler's address",
            remedy="write tls://HOST:PORT, or name a cluster.toml",
        )
    return ClusterPlace(scheduler=address)


def _read(path: Path) -> ClusterPlace:
    data = read_file(path, MAX_FILE_B)
    _check_own(path)
    try:
        found = msgspec.convert(tomllib.loads(data.decode()), _File)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path} is no cluster's file: {brief(str(error))}",
            remedy="give the cluster.toml that 'gpuexplorer cluster up' wrote",
        ) from None
    if found.schema != SCHEMA:
        raise InputError(
            f"{path} is of the kind '{brief(found.schema) or 'unknown'}', not {SCHEMA}",
            remedy="give the cluster.toml that 'gpuexplorer cluster up' wrote",
        )
    place = _checked(found.scheduler)
    files = (found.ca, found.cert, found.key)
    ca, cert, key = (None if file is None else str(path.parent / file) for file in files)
    return ClusterPlace(scheduler=place.scheduler, ca=ca, cert=cert, key=key)


def _check_own(path: Path) -> None:
    """Raise InputError for a file that somebody else wrote or may change."""
    if os.name == "nt":
        return
    status, user = path.stat(), os.geteuid()
    others = user not in (status.st_uid, 0) and status.st_uid != 0
    if others or status.st_mode & 0o002:
        raise InputError(
            f"{path} can be written by somebody else, and whoever has a cluster can run programs "
            "as those who use it",
            remedy="use a cluster of your own, with a file that you alone may change",
        )


def is_loopback(address: str) -> bool:
    """Whether nobody but this machine reaches an address."""
    host = urlsplit(address).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
