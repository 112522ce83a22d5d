"""Another machine that engines run on: its address, and the system's own ssh to it.

Everything about the way there is ssh's: its settings, keys, agent, jump hosts and known hosts. It
runs without a terminal, so it asks nothing: what it would ask becomes a sentence (see ``link``).
What runs there is one line for whatever shell logs in: words in single quotes, which every shell
reads alike, and below ``HOME`` a tilde that it fills in.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import msgspec

from gpuexplorer.core.errors import CannotRunHere, InputError

SCHEME = "ssh://"
HOME = "~/.local/share/gpuexplorer"
"""Below which everything of ours stands on another machine."""
SILENCE_S = 8.0
"""An engine on another machine that hears nothing for so long ends: nobody waits for it."""
ALIVE_EVERY_S = 2.0
"""How often it is told that somebody does."""
CONNECT_S = 10.0
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*|[0-9A-Fa-f:]+(%[A-Za-z0-9]+)?")
_HARMLESS = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_OPTIONS = {
    "BatchMode": "yes",
    "ClearAllForwardings": "yes",
    "ConnectTimeout": f"{CONNECT_S:.0f}",
    "ControlMaster": "no",  # one that a user has is used; ours would outlive us
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "LogLevel": "INFO",
    "PermitLocalCommand": "no",
    "RemoteCommand": "none",
    "RequestTTY": "no",
    "ServerAliveCountMax": "3",
    "ServerAliveInterval": "2",
}
_TELL_STATUS = '"$0" "$@"; exit $?'
SSH_FAILED = 255
"""ssh's own exit status; any other is that of the program there."""
FROM_SIGNALS = 128
"""A shell adds the number of a signal to this."""
_BULK = {"Compression": "yes", "ServerAliveInterval": "20"}


def is_address(word: str) -> bool:
    """Whether a word means another machine, and no path on this one."""
    return "://" in word


class Machine(msgspec.Struct, frozen=True):
    """A machine, and the Python there that an engine runs in."""

    host: str
    user: str | None = None
    port: int | None = None
    python: str = ""
    """The interpreter's path there; empty where none is chosen."""

    @classmethod
    def read(cls, word: str) -> Machine:
        """Return what ``ssh://[USER@]HOST[:PORT][/PATH]`` means; InputError where it is none."""
        try:
            parts = urlsplit(word)
            host, user, port = parts.hostname, parts.username, parts.port
        except ValueError:
            host = user = port = None
        if (
            not word.startswith(SCHEME)
            or host is None
            or not _HOST.fullmatch(host)
            or (user is not None and not _NAME.fullmatch(user))
            or parts.password is not None
            or parts.query
            or parts.fragment
            or (parts.path not in ("", "/") and not _HARMLESS.fullmatch(parts.path))
        ):
            raise InputError(
                f"'{word[:200]}' is no address of a machine",
                remedy="write ssh://USER@HOST, or ssh://USER@HOST:PORT; ssh knows the keys",
            )
        # As it is written: ssh's settings tell names apart that differ in case.
        written = parts.netloc.rpartition("@")[2]
        if not written.startswith("["):
            host = written.partition(":")[0]
        return cls(host, user, port, "" if parts.path == "/" else parts.path)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        user = f"{self.user}@" if self.user is not None else ""
        port = f":{self.port}" if self.port is not None else ""
        return f"{SCHEME}{user}{host}{port}{self.python}"

    def may_be(self, other: Machine) -> bool:
        """Whether this may be another's machine and user: ssh's settings fill in what is left out.

        Whatever the Python is.
        """
        pairs = ((self.user, other.user), (self.port, other.port))
        return self.host == other.host and all(a == b or None in (a, b) for a, b in pairs)

    @property
    def target(self) -> str:
        """What a user gives ssh to get there: ``me@box``, or ``-p 2222 me@box``."""
        user = f"{self.user}@" if self.user is not None else ""
        port = ["-p", str(self.port)] if self.port is not None else []
        return " ".join([*port, f"{user}{self.host}"])

    def command(self, words: Sequence[str], *, bulk: bool = False) -> list[str]:
        """Return the command that runs a program there; CannotRunHere without an ssh.

        ``bulk``: much is sent, which is worth making smaller, and holds up the answers of a link
        that is alive.
        """
        ssh = shutil.which("ssh")
        if ssh is None:
            raise CannotRunHere(
                "there is no 'ssh' on this machine", remedy="install OpenSSH's client"
            )
        options = {**_OPTIONS, **(_BULK if bulk else {})}
        given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        if self.user is not None:
            given += ["-l", self.user]
        if self.port is not None:
            given += ["-p", str(self.port)]
        line = " ".join(["exec", *map(_quoted, words)])
        return [ssh, "-T", *given, "--", self.host, line]


def far_engine(
    machine: Machine, bootstrap: str, arguments: Sequence[str], variables: Mapping[str, str]
) -> list[str]:
    """Return the words that start an engine there; it ends when it hears nothing of us.

    A shell stays with it, whose status tells the signal that ended it (see ``ended_with``): ssh has
    one word for every signal and for its own failures. ``bootstrap`` is where ``core/bootstrap.py``
    stands there, ``variables`` what its environment has besides its own.
    """
    given = [f"{name}={value}" for name, value in variables.items()]
    return [
        "sh", "-c", _TELL_STATUS, *(["env", *given] if given else []),
        machine.python, bootstrap, *arguments,
        "--silence", f"{SILENCE_S:g}",
    ]  # fmt: skip


def ended_with(status: int) -> int:
    """Return how a program there ended, as on this machine: a signal is a negative number."""
    return FROM_SIGNALS - status if FROM_SIGNALS < status < SSH_FAILED else status


def _quoted(word: str) -> str:
    """Return a word as every shell takes it; the tilde of ``HOME`` is the shell's to fill in."""
    home, rest = ("~/", word[2:]) if word.startswith("~/") else ("", word)
    return home + (rest if _HARMLESS.fullmatch(rest) else shlex.quote(rest))
