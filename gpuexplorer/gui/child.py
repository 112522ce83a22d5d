"""The command line as a child process, which reads and writes files of other programs.

Such files load large libraries and hold Python for longer than a frame, and a broken file can end
no more than the child.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.core.frozen import module_command
from gpuexplorer.core.language import given
from gpuexplorer.core.language.available import VARIABLE
from gpuexplorer.engine.surroundings import own_environment

CONVERTED: dict[str, tuple[str, str]] = {
    "html": ("HTML report", "html"),
    "parquet": ("Parquet table of all samples", "parquet"),
    "nvbench.json": ("NVBench JSON with its sample files", "nvbench"),
    "trace.json": ("Chrome trace of the phases, for Perfetto", "trace"),
}
"""Formats that the child writes: their names, and what the command line calls them."""
LIMIT_S = 900
ERROR = "gpuexplorer: error: "


class Child:
    """The command line as a child process, which may be ended from another thread."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = False

    def run(self, *words: str) -> tuple[int, bytes, list[str]]:
        """Run a command to its end; return its exit code, its output and the errors it told.

        Raises WorkFailed when it cannot be started or takes too long.
        """
        command = module_command("gpuexplorer", *words)
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=own_environment() | {VARIABLE: given()},
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
            if self._ended:
                self._process.kill()
            output, said = self._process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self.end()
            raise WorkFailed(f"'gpuexplorer {words[0]}' took longer than {LIMIT_S} s") from None
        except OSError as error:
            raise WorkFailed(f"the process cannot be started: {error.strerror}") from None
        lines = said.decode(errors="replace").splitlines()
        errors = [line.removeprefix(ERROR) for line in lines if line.startswith(ERROR)]
        code = self._process.returncode
        if code != 0 and not errors:
            last = lines[-1] if lines else f"it ended with status {code}"
            errors = [f"'gpuexplorer {words[0]}' failed: {last}"]
        return code, output, errors

    def end(self) -> None:
        """End the child; what it was writing does not appear."""
        self._ended = True
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def convert(document: bytes, path: Path, chosen: str) -> None:
    """Write runs, given as one of our documents, to a file of another format.

    Raises InputError in one sentence when that fails.
    """
    with tempfile.TemporaryDirectory(prefix="gpuexplorer-") as folder:
        source = Path(folder) / "runs.json"
        source.write_bytes(document)
        _, _, errors = Child().run("export", str(source), str(path.resolve()), "--format", chosen)
    if errors:
        raise InputError(errors[0])
