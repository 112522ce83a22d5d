"""Whether a frozen program is whole and works, before anything is packed of it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from builder.contents import package_files
from builder.errors import BuildError
from builder.tools import this_platform

FORBIDDEN = ("torch", "cupy", "cuda", "tensorflow", "jax", "nvidia", "triton", "pyarrow")
"""Packages that make a folder gigabytes large."""
LIMIT_S = 900.0
KEPT_ON_WINDOWS = ("SYSTEMROOT", "TEMP", "TMP", "COMSPEC", "USERPROFILE", "LOCALAPPDATA")


def problems(folder: Path, root: Path) -> list[str]:
    """Return what a frozen program's folder lacks or has too much, in words."""
    if not program_in(folder).is_file():
        return [f"there is no {program_in(folder).name}"]
    internal = folder / "_internal"
    package = internal / "gpuexplorer"
    found = [f"{name} is in it" for name in FORBIDDEN if (internal / name).exists()]
    for path in package_files(root):  # sources too: other Pythons are lent them
        name = path.relative_to(root)
        if not (internal / name).is_file():
            found.append(f"{name} is missing")
    for data in ("kernels", "resources"):
        for path in sorted((root / data).rglob("*")):
            name = path.relative_to(root)
            if path.is_file() and not (package / "_data" / name).is_file():
                found.append(f"{name} is missing")
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() and not path.exists():
            found.append(f"{path.relative_to(folder)} leads nowhere")
        elif path.name == "__pycache__":
            found.append(f"{path.relative_to(folder)} is left over")
    return found


def program_in(folder: Path) -> Path:
    """Return the command line's program."""
    return folder / ("gpuexplorer-cli.exe" if this_platform() == "windows" else "gpuexplorer")


def try_out(folder: Path, version: str, log: Path) -> None:
    """Run a frozen program's self-test as a new user would; BuildError when something fails."""
    with tempfile.TemporaryDirectory(prefix="gpuexplorer-", ignore_cleanup_errors=True) as home:
        trial = Trial(program_in(folder), Path(home), log)
        said = trial.run("--version").strip()
        if version not in said.split():
            raise BuildError(f"the packaged program says '{said}', and this is version {version}")
        trial.run("--module", "gpuexplorer.gui.first_paint")
        trial.run("selftest", "--quick")
        trial.run("run", "matmul", "--size", "128", "--seconds", "0.2", "--plot", "chart.pdf")
        chart = trial.home / "chart.pdf"
        if not chart.is_file() or not chart.read_bytes().startswith(b"%PDF"):
            raise BuildError(f"the packaged program drew no chart; see {log}")


class Trial:
    """A program that is run in an empty environment, from an empty folder."""

    def __init__(self, program: Path, home: Path, log: Path) -> None:
        self.program = program
        self.home = home
        self._log = log

    def run(self, *arguments: str) -> str:
        """Run it to the end and return what it printed; BuildError when it fails or warns."""
        command = [str(self.program), *arguments]
        words = " ".join(["gpuexplorer", *arguments])
        try:
            done = subprocess.run(
                command,
                cwd=self.home,
                env=bare_environment(os.environ, self.home),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=LIMIT_S,
                check=False,
            )
        except OSError as error:
            raise BuildError(f"{self.program} cannot be started: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise BuildError(f"'{words}' took longer than {LIMIT_S:.0f} s") from None
        said = done.stdout.decode(errors="replace")
        complained = done.stderr.decode(errors="replace")
        with self._log.open("a", encoding="utf-8") as file:
            file.write(f"$ {words}\n{said}{complained}")
        if done.returncode != 0:
            raise BuildError(
                f"the packaged program fails: '{words}' ended with status {done.returncode}; the "
                f"whole log is {self._log}\n{said}{complained}"
            )
        warned = [line for line in complained.splitlines() if "Warning:" in line]
        if warned:  # a library misses a part of it that was left out
            raise BuildError(f"the packaged program warns at '{words}': {warned[0]}")
        return said


def bare_environment(environment: Mapping[str, str], home: Path) -> dict[str, str]:
    """Return the least a program may count on, with a home of its own."""
    if this_platform() == "windows":
        kept = {name: environment[name] for name in KEPT_ON_WINDOWS if name in environment}
        return kept | {"APPDATA": str(home), "PATH": environment.get("SYSTEMROOT", "")}
    return {"HOME": str(home), "PATH": "/usr/bin:/bin", "QT_QPA_PLATFORM": "offscreen"}
