"""Why the way to another machine does not come about, or broke: ssh's own words as a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpuexplorer.engine.machine import SSH_FAILED, Machine

_REFUSED = re.compile(r"Connection refused")
_NO_WAY = re.compile(
    r"No route to host|timed out|Network is unreachable|Host is down|Connection timed out"
)


def not_reached(machine: Machine, output: Iterable[str]) -> tuple[str, str]:
    """Return why ssh did not get there, and what to do about it."""
    text = "\n".join(output)
    once = f"'ssh {machine.target}'"
    where = f"{machine.host}"
    if "IDENTIFICATION HAS CHANGED" in text or "Offending" in text:
        port = f"[{machine.host}]:{machine.port}" if machine.port is not None else machine.host
        return (
            f"the key of {where} is not the one that was known: it was set up anew, or another "
            "machine answers in its place",
            f"ask whose machine it is; then run once in a terminal: ssh-keygen -R '{port}', and "
            f"{once}",
        )
    if "Host key verification failed" in text:
        return (
            f"the key of {where} is not known yet, and nobody can be asked here",
            f"run {once} once in a terminal and compare the key that it shows",
        )
    if "Too many authentication failures" in text:
        return (
            f"{where} refused us after too many keys were tried",
            f"name the key for it in ssh's settings (IdentityFile, IdentitiesOnly), and run {once} "
            "once in a terminal",
        )
    if "Permission denied" in text:
        return (
            f"{where} does not let us in without a password or another key",
            f"run 'ssh-copy-id {machine.target}' once in a terminal, or unlock the key with "
            "ssh-add",
        )
    if "Could not resolve hostname" in text:
        return (
            f"no machine called {where} is known",
            "check its name, or the network",
        )
    if _REFUSED.search(text):
        return (
            f"nothing answers ssh on {where}",
            f"check that sshd runs there and the port is right, with {once} in a terminal",
        )
    if _NO_WAY.search(text):
        return (
            f"there is no way to {where} now",
            f"check the network, and that the machine is on, with {once} in a terminal",
        )
    return (
        f"ssh does not reach {where}: {_last(text)}",
        f"run {once} once in a terminal to see why",
    )


def lost(machine: Machine) -> str:
    """Return that the way to an engine broke; what it delivered is kept."""
    return f"the link to {machine.host} is lost"


def is_of_link(status: int | None) -> bool:
    """Whether ssh ended over the way there, rather than with the status of what ran there."""
    return status is None or status < 0 or status == SSH_FAILED


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
