"""Certificates for one cluster: whoever has the folder's files may use it, and nobody else."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from gpuexplorer.cluster.library import load_distributed
from gpuexplorer.cluster.place import FILE, SCHEMA, ClusterPlace
from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.exchange.files import atomic_file, write_error

CERT, KEY, LOCK = "cert.pem", "key.pem", ".lock"


def check_folder(folder: Path) -> None:
    """Raise InputError for a folder in which others may put files in place of a cluster's."""
    if os.name != "nt" and _shared(folder) and folder.stat().st_mode & 0o022:
        raise InputError(
            f"others may write in {folder}, and whoever writes there can run programs as you",
            remedy="name a folder of your own, such as a new one",
        )


def _shared(folder: Path) -> bool:
    """Whether a folder holds other files than a cluster's."""
    if not folder.is_dir():
        return False
    return bool({one.name for one in folder.iterdir()} - {CERT, KEY, LOCK, FILE})


def make_certificates(folder: Path) -> None:
    """Write a new certificate, which signs itself, and its key into a folder of one's own.

    Raises InputError where it cannot be written, CannotRunHere without ``cryptography``.
    """
    try:
        made = load_distributed().Security.temporary()
    except ImportError:
        raise CannotRunHere(
            "certificates need the package cryptography, which is not installed here",
            remedy="install it with: pip install 'gpuexplorer[cluster]'",
        ) from None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not _shared(folder):
            folder.chmod(0o700)
    except OSError as error:
        raise write_error(folder, error) from None
    for name, text in ((CERT, made.tls_client_cert), (KEY, made.tls_client_key)):
        _write(folder / name, text)


def write_place(folder: Path, scheduler: str) -> Path:
    """Write the file for clients, beside the certificates; return its path."""
    path = folder / FILE
    lines = [
        "# A cluster of GPU Explorer: whoever has this folder may use it.",
        f'schema = "{SCHEMA}"',
        f"scheduler = {msgspec.json.encode(scheduler).decode()}",
    ]
    if scheduler.startswith("tls://"):
        lines += [f'ca = "{CERT}"', f'cert = "{CERT}"', f'key = "{KEY}"']
    _write(path, "\n".join(lines) + "\n")
    return path


def place_in(folder: Path, scheduler: str) -> ClusterPlace:
    """Return the place of a scheduler that uses the certificates of a folder."""
    cert, key = str(folder / CERT), str(folder / KEY)
    return ClusterPlace(scheduler=scheduler, ca=cert, cert=cert, key=key)


def _write(path: Path, text: str) -> None:
    with atomic_file(path, private=True) as stream:
        stream.write(text.encode())
