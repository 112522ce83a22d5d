"""Whether a window can open here, found out without opening one."""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import sys

HOW_TO_GET_A_WINDOW = (
    "over ssh: connect with 'ssh -X' and run gpuexplorer again",
    "without X: run 'QT_QPA_PLATFORM=vnc gpuexplorer' and connect a VNC viewer to port 5900",
)
CONNECT_S = 2.0


def why_no_window() -> str | None:
    """Return why no window can open here, or None when one can, as far as can be seen."""
    if importlib.util.find_spec("PySide6") is None:
        return "PySide6 is not installed"
    if os.environ.get("QT_QPA_PLATFORM"):  # the user's own choice, such as vnc or offscreen
        return None
    if sys.platform in ("win32", "darwin"):
        return None
    if os.environ.get("WAYLAND_DISPLAY"):
        return None
    display = os.environ.get("DISPLAY")
    if not display:
        return "there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)"
    return None if answers(display) else f"the display {display} does not answer"


def answers(display: str) -> bool:
    """Return whether an X server listens at a display name such as ``:0`` or ``localhost:10.0``.

    Qt would abort the whole process if none does. A name of another form counts as answering.
    """
    match = re.fullmatch(r"(?:unix|([\w.-]*)(?:/unix)?):(\d+)(?:\.\d+)?", display)
    if match is None:
        return True
    host, number = match[1] or "", int(match[2])
    if host:
        try:
            socket.create_connection((host, 6000 + number), CONNECT_S).close()
        except OSError:
            return False
        return True
    path = f"/tmp/.X11-unix/X{number}"
    return any(_connects(name) for name in (path, f"\0{path}"))


def _connects(name: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(CONNECT_S)
        try:
            probe.connect(name)
        except OSError:
            return False
    return True
