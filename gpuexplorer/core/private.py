"""Text that may be given to strangers: it does not say who uses the program, nor where."""

from __future__ import annotations

import getpass
import re
import socket
from pathlib import Path

HOME, USER, HOST = "~", "USER", "HOST"
"""What stands for the home folder, the user's name and the machine's."""
_PLACE = re.compile(r"\b(?!https?:)([a-z][a-z0-9+.-]*)://[^\s,;/]+")
"""A server, such as that of a team's history, with whoever logs in there."""


def without_private(text: str) -> str:
    """Return text without the home folder's path, the user's, the machine's and servers' names."""
    for folder in _homes():
        text = re.sub(re.escape(folder), lambda _: HOME, text, flags=re.IGNORECASE)
    text = _PLACE.sub(rf"\1://{HOST}", text)
    text = _without_name(text, user_name(), USER, re.IGNORECASE)
    for name in sorted({host_name(), host_name().split(".")[0]}, key=len, reverse=True):
        text = _without_name(text, name, HOST)
    return text


def user_name() -> str:
    """Return the name of the user who runs this; "" where it is not known."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return ""


def host_name() -> str:
    """Return this machine's name."""
    return socket.gethostname()


def _homes() -> list[str]:
    """Return the home folder's path, also without links; none where it is the root."""
    try:
        home = Path.home()
    except RuntimeError:
        return []
    paths = {str(home), str(home.resolve())} - {home.anchor, home.resolve().anchor}
    return sorted(paths, key=len, reverse=True)


def _without_name(
    text: str, name: str, instead: str, flags: re.RegexFlag = re.RegexFlag.NOFLAG
) -> str:
    """Return text without a name where it stands by itself; part of a word it means another."""
    if not name or name == "localhost":
        return text
    return re.sub(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", instead, text, flags=flags)
