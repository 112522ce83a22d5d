"""Machines over SSH as a user lists them, and the certificates that each of them gets."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from gpuexplorer.cluster.certificates import CERT, KEY
from gpuexplorer.core.errors import CannotRunHere, InputError, WorkFailed
from gpuexplorer.core.text import brief
from gpuexplorer.exchange.files import read_file

MAX_FILE_B = 1 << 20
MOST_WORKERS = 64
"""Workers of one machine."""
CONNECT_S = 20.0
_LINE = re.compile(
    r"(?:(?P<user>[\w.-]+)@)?(?P<name>[\w.-]+|\[[\da-fA-F:]+\])(?::(?P<port>\d{1,5}))?"
    r"(?:\s+(?P<workers>\d+))?"
)


class Host(msgspec.Struct, frozen=True):
    """A machine that this user's SSH reaches."""

    name: str
    user: str | None = None
    port: int | None = None
    workers: int = 1

    @property
    def options(self) -> dict[str, Any]:
        """How it is connected to; the rest stands in the user's own settings of SSH."""
        options: dict[str, Any] = {"connect_timeout": CONNECT_S}
        if self.user is not None:
            options["username"] = self.user
        if self.port is not None:
            options["port"] = self.port
        return options


def read_hosts(path: Path) -> list[Host]:
    """Read a file with a machine a line, ``[USER@]HOST[:PORT] [WORKERS]``; ``#`` begins a comment.

    Raises InputError naming the line that is none.
    """
    found = []
    text = read_file(path, MAX_FILE_B).decode(errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].strip()
        if not words:
            continue
        match = _LINE.fullmatch(words)
        workers = int(match["workers"] or 1) if match is not None else 0
        if match is None or not 1 <= workers <= MOST_WORKERS:
            raise InputError(
                f"line {number} of {path} is no machine: {brief(words)}",
                remedy=f"write [USER@]HOST[:PORT] and how many workers, 1 to {MOST_WORKERS}",
            )
        port = match["port"]
        name = match["name"].strip("[]")
        found.append(Host(name, match["user"], int(port) if port else None, workers))
    if not found:
        raise InputError(f"{path} names no machine", remedy="write one on each line")
    return found


def copy_certificates(hosts: Sequence[Host], folder: Path, there: str) -> None:
    """Write a cluster's certificate and key into a new folder of each machine, for its user alone.

    Raises WorkFailed for a machine that cannot be reached, CannotRunHere without ``asyncssh``.
    """
    place = shlex.quote(there)
    texts = {name: (folder / name).read_text() for name in (CERT, KEY)}

    async def copy(connection: Any) -> None:
        await connection.run(f"umask 077 && mkdir {place}", check=True)
        for name, text in texts.items():
            await connection.run(f"umask 077 && cat > {place}/{name}", input=text, check=True)

    failed = _on_each(hosts, copy)
    if failed:
        name, error = next(iter(failed.items()))
        raise WorkFailed(
            f"{name} cannot be used over SSH",
            remedy=f"run 'ssh {name} true' once in a terminal, and answer what it asks",
            detail=str(error),
        )


def remove_certificates(hosts: Sequence[Host], there: str) -> None:
    """Remove the folder again; a machine that is not reached any more keeps it."""

    async def remove(connection: Any) -> None:
        await connection.run(f"rm -rf {shlex.quote(there)}")

    _on_each(hosts, remove)


def _on_each(hosts: Sequence[Host], work: Callable[[Any], Awaitable[None]]) -> dict[str, Exception]:
    """Do something on every machine at a time; return what went wrong, by machine."""
    try:
        import asyncssh
    except ImportError:
        raise CannotRunHere(
            "workers over SSH need asyncssh, which is not installed here",
            remedy="install it with: pip install 'gpuexplorer[cluster]'",
        ) from None
    failed: dict[str, Exception] = {}

    async def on(host: Host) -> None:
        try:
            async with asyncssh.connect(host.name, **host.options) as connection:
                await work(connection)
        except (OSError, asyncssh.Error, TimeoutError) as error:
            failed[host.name] = error

    async def on_all() -> None:
        one_each = {(host.name, host.user, host.port): host for host in hosts}
        await asyncio.gather(*(on(host) for host in one_each.values()))

    asyncio.run(on_all())
    return failed
