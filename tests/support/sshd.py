"""Another machine: a real sshd of this user's on a loopback port, whose home is an empty folder.

The ``ssh`` that is first in PATH meanwhile reads settings of the test's own: nothing of the user's
keys and known hosts is looked at.
"""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

START_S = 20.0
"""How long sshd may take to answer."""
PLACES = ("/usr/sbin", "/usr/local/sbin", "/sbin")


def sshd_program() -> str | None:
    """Return the path of the system's sshd; None where there is none."""
    return shutil.which("sshd") or shutil.which("sshd", path=os.pathsep.join(PLACES))


class Sshd:
    """The server, and the settings of the client; ``close`` ends it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        program, ssh = sshd_program(), shutil.which("ssh")
        if program is None or ssh is None:
            pytest.skip("no sshd here: apt-get install openssh-server")
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        folder.chmod(0o700)
        self._program = program
        self.port = free_port()
        for name in ("host", "other-host", "user"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
            subprocess.run(command, check=True)
        (folder / "authorized").write_text((folder / "user.pub").read_text())
        (folder / "authorized").chmod(0o600)
        self.known_hosts = folder / "known_hosts"
        self.know()
        self.settings = folder / "ssh_config"
        self.settings.write_text(
            f"UserKnownHostsFile {self.known_hosts}\nGlobalKnownHostsFile none\n"
            f"IdentityFile {folder / 'user'}\nIdentitiesOnly yes\nIdentityAgent none\n"
            f"StrictHostKeyChecking yes\n"
        )
        commands = folder / "bin"
        commands.mkdir()
        wrapper = commands / "ssh"
        wrapper.write_text(f'#!/bin/sh\nexec {ssh} -F {self.settings} "$@"\n')
        wrapper.chmod(0o755)
        monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def address(self) -> str:
        """The machine as ``engines add`` takes it."""
        return self.address_at(self.port)

    def address_at(self, port: int) -> str:
        """Return the machine's address by way of another port."""
        return f"ssh://{getpass.getuser()}@127.0.0.1:{port}"

    def know(self, key: str = "host", ports: tuple[int, ...] = ()) -> None:
        """Have the client take a key for the server's, on its port and others."""
        public = " ".join((self.folder / f"{key}.pub").read_text().split()[:2])
        lines = [f"[127.0.0.1]:{port} {public}\n" for port in (self.port, *ports)]
        self.known_hosts.write_text("".join(lines))

    def start(self) -> None:
        """Start the server; it is told in the foreground, so that it is ours to end."""
        settings = self.folder / "sshd_config"
        settings.write_text(
            f"ListenAddress 127.0.0.1:{self.port}\nHostKey {self.folder / 'host'}\n"
            f"AuthorizedKeysFile {self.folder / 'authorized'}\nStrictModes no\nUsePAM no\n"
            f"PidFile none\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
            f"PermitRootLogin prohibit-password\nSetEnv HOME={self.home}\nMaxStartups 100\n"
            f"LogLevel ERROR\n"
        )
        # As root it wants a folder of the system's, which a machine without the service lacks.
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        log = self.folder / "sshd.log"
        self._process = subprocess.Popen(
            [self._program, "-D", "-f", str(settings), "-E", str(log)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1.0) as link:
                if link.recv(4) == b"SSH-":
                    return
            if self._process.poll() is not None:
                break
            time.sleep(0.02)
        raise RuntimeError(f"sshd did not start: {log.read_text() if log.exists() else ''}")

    def close(self) -> None:
        """End the server; what it has started for a client lives on until that has gone."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10.0)
            self._process = None


def free_port() -> int:
    """Return a port of the loopback address that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
