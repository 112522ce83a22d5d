"""NVIDIA's Nsight Compute: exact counters of single kernels, by running a program under it.

Only kernels between ``cuProfilerStart`` and ``cuProfilerStop`` are profiled; clocks are left as
they are. The format of its answer is that of ``--csv --page raw``: lines of its own words, a line
of column names, a line of units, then a line for each kernel.
"""

from __future__ import annotations

import csv
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gpuexplorer.core.errors import CannotRunHere, WorkFailed
from gpuexplorer.core.telemetry import Counters, SourceState
from gpuexplorer.telemetry.nvml import ALLOW_COUNTERS

PATH_VARIABLE = "GPUEXPLORER_NCU"
LIMIT_S = 300.0
"""How long one run under it may take."""
_POLL_S = 0.1
_running: set[subprocess.Popen[bytes]] = set()
_USUAL_PLACES = (
    "/usr/local/cuda/bin/ncu",
    "/opt/nvidia/nsight-compute/*/ncu",
    "C:/Program Files/NVIDIA Corporation/Nsight Compute*/ncu.bat",
)

DRAM_READ = ("dram__bytes_read.sum", "dram__bytes_op_read.sum")
DRAM_WRITE = ("dram__bytes_write.sum", "dram__bytes_op_write.sum")
"""On most chips, and on GeForce RTX 50."""
DURATION = "gpu__time_duration.sum"
L2 = "lts__t_bytes.sum"
L1 = "l1tex__t_bytes.sum"
OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
METRIC_SETS = tuple(
    (DRAM_READ[i], DRAM_WRITE[i], DURATION, L2, L1, OCCUPANCY) for i in range(len(DRAM_READ))
)
"""Tried in turn; each fits one pass, so that a kernel runs once and finds its caches as they are.
"""

_UNITS = {
    "": 1.0, "%": 1.0, "byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "Tbyte": 1e12,
    "ns": 1e-9, "nsecond": 1e-9, "us": 1e-6, "usecond": 1e-6, "ms": 1e-3, "msecond": 1e-3,
    "s": 1.0, "second": 1.0,
}  # fmt: skip


def find() -> str:
    """Return the program's path; CannotRunHere when it is not installed."""
    named = os.environ.get(PATH_VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise CannotRunHere(f"{PATH_VARIABLE} names '{named}', which is no program")
        return found
    usual = [path for place in _USUAL_PLACES for path in sorted(glob.glob(place), reverse=True)]
    found = shutil.which("ncu") or next((path for path in usual if shutil.which(path)), None)
    if found is None:
        raise CannotRunHere(
            "Nsight Compute is not installed: there is no 'ncu'",
            remedy="install it with the CUDA toolkit or from developer.nvidia.com/nsight-compute, "
            f"or name it in {PATH_VARIABLE}",
        )
    return found


def missing() -> str:
    """Return why it cannot be used, and what to do; "" where it is there."""
    try:
        find()
    except CannotRunHere as error:
        return str(error)
    return ""


def state() -> SourceState:
    """Say whether it is there; whether it may use the counters shows when it is used."""
    reason = remedy = ""
    try:
        find()
    except CannotRunHere as error:
        reason, remedy = error.what, error.remedy
    gives = () if reason else ("dram_read_B_per_s", "dram_write_B_per_s", "occupancy")
    return SourceState(
        source="ncu",
        title="Nsight Compute, on demand",
        gives=gives,
        reason=reason,
        remedy=remedy,
    )


def command(
    program: str, target: Sequence[str], log: Path, metrics: Sequence[str], *, cold: bool
) -> list[str]:
    """Return the command that runs ``target`` under ``ncu`` and writes its answer to ``log``."""
    return [
        program,
        "--csv",
        "--page", "raw",
        "--print-units", "base",
        "--clock-control", "none",
        "--cache-control", "all" if cold else "none",
        "--profile-from-start", "off",
        "--target-processes", "all",
        "--metrics", ",".join(metrics),
        "--log-file", str(log),
        *target,
    ]  # fmt: skip


def count(
    target: Sequence[str],
    cancelled: Callable[[], bool],
    *,
    cold: bool,
    environment: Mapping[str, str] | None = None,
    limit_s: float = LIMIT_S,
    begins: Callable[[], None] = lambda: None,
) -> Counters | None:
    """Run a program under ``ncu`` and return what its marked kernels counted.

    Several times where the first run does not tell: each may take ``limit_s``, and ``begins`` is
    called before it.
    None when it was cancelled. With ``cold`` the caches are emptied before the launch. A target of
    several kernels has to do so itself, before its marks: Nsight Compute would empty them between
    the kernels, too. Raises CannotRunHere without the program or the permission, WorkFailed for
    what else went wrong.
    """
    program = find()
    said = ""
    for metrics in METRIC_SETS:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "ncu.csv"
            arguments = command(program, target, log, metrics, cold=cold)
            begins()
            ended = _run(arguments, cancelled, environment, limit_s)
            if ended is None:
                return None
            status, target_said = ended
            said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        _raise_for(said, target_said)
        kernels = parse(said)
        if any(kernel.dram_read_B is not None for kernel in kernels):
            if cold and len(kernels) > 1:  # known only now
                return count(
                    target, cancelled, cold=False, environment=environment, limit_s=limit_s,
                    begins=begins,
                )  # fmt: skip
            return total(kernels)
        if status != 0 and not _names_metrics(said):
            raise WorkFailed(
                f"Nsight Compute ended with status {status}", detail=f"{said}\n{target_said}"
            )
    raise WorkFailed(
        "Nsight Compute profiled no kernel, or knows none of the counters of DRAM bytes",
        remedy="see 'Details' for what it said",
        detail=said,
    )


def _run(
    arguments: list[str],
    cancelled: Callable[[], bool],
    environment: Mapping[str, str] | None,
    limit_s: float,
) -> tuple[int, str] | None:
    """Run to the end and return the status and what was printed; None when cancelled."""
    with tempfile.TemporaryFile() as printed:
        try:
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                env=dict(environment) if environment is not None else None,
                start_new_session=sys.platform != "win32",
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError as error:
            raise CannotRunHere(
                f"Nsight Compute cannot be started: {arguments[0]}: {error.strerror}"
            ) from None
        _running.add(process)
        ends = time.monotonic() + limit_s
        try:
            while True:
                try:
                    status = process.wait(_POLL_S)
                    break
                except subprocess.TimeoutExpired:
                    pass
                if cancelled():
                    return None
                if time.monotonic() > ends:
                    raise WorkFailed(
                        f"Nsight Compute did not end within {limit_s:.0f} s",
                        remedy="choose a smaller size, or allow more with --deadline",
                    )
        finally:
            _end(process)
        printed.seek(0)
        return status, printed.read().decode(errors="replace")


def kill_running() -> None:
    """Kill what runs, without a wait: this process is about to end in the midst of it."""
    for process in tuple(_running):
        _kill(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Leave nothing of it behind: it runs the target as a child of its own."""
    _kill(process)
    process.wait()
    _running.discard(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if sys.platform != "win32":
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
    elif process.poll() is None:
        process.kill()


def _names_metrics(said: str) -> bool:
    """Return whether it complains about a metric that it does not know."""
    return re.search(r"(?i)metric", said) is not None


def _raise_for(said: str, target_said: str) -> None:
    if "ERR_NVGPUCTRPERM" in said:
        raise CannotRunHere(
            "GPU counters are closed to this user",
            remedy=ALLOW_COUNTERS,
            detail=said,
        )
    failed = re.search(rf"^{FAILED_MARK}(.*)$", target_said, re.MULTILINE)
    if failed is not None:
        raise WorkFailed(f"the launch to be profiled failed: {failed[1].strip()}")
    if re.search(r"(?i)another instance|already being profiled|driver resource.*unavail", said):
        raise WorkFailed(
            "another profiler holds the GPU's counters", remedy="end it: ncu, nsys or DCGM",
            detail=said,
        )  # fmt: skip


FAILED_MARK = "gpuexplorer-profile-failed: "
"""How the profiled program says in a line why it failed."""


def parse(text: str) -> list[Counters]:
    """Return the counters of each kernel of ``ncu --csv --page raw``, in order.

    WorkFailed when a unit is not known.
    """
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID",')), None)
    if start is None:
        return []
    rows = list(csv.reader(lines[start:]))
    names, units = rows[0], rows[1] if len(rows) > 1 else []
    return [
        _kernel(dict(zip(names, row, strict=False)), dict(zip(names, units, strict=False)))
        for row in rows[2:]
        if len(row) == len(names)
    ]


def _kernel(row: dict[str, str], units: dict[str, str]) -> Counters:
    def number(*columns: str) -> float | None:
        for column in columns:
            text = row.get(column, "").replace(",", "")
            try:
                value = float(text)
            except ValueError:  # "n/a", or no such column
                continue
            unit = units.get(column, "")
            if unit not in _UNITS:
                raise WorkFailed(f"Nsight Compute gives {column} in '{unit}', which is not known")
            return value * _UNITS[unit]
        return None

    percent = number(OCCUPANCY)
    return Counters(
        kernels=(row.get("Kernel Name", ""),),
        dram_read_B=number(*DRAM_READ),
        dram_write_B=number(*DRAM_WRITE),
        l2_B=number(L2),
        l1_B=number(L1),
        duration_s=number(DURATION),
        occupancy=None if percent is None else percent / 100,
    )


def total(kernels: Sequence[Counters]) -> Counters:
    """Return several kernels of one launch as one: sums, and the occupancy over their time."""

    def add(values: Sequence[float | None]) -> float | None:
        known = [v for v in values if v is not None]
        return sum(known) if len(known) == len(values) else None

    duration_s = add([k.duration_s for k in kernels])
    weighted = add(
        [
            None if k.occupancy is None or k.duration_s is None else k.occupancy * k.duration_s
            for k in kernels
        ]
    )
    return Counters(
        kernels=tuple(name for k in kernels for name in k.kernels),
        dram_read_B=add([k.dram_read_B for k in kernels]),
        dram_write_B=add([k.dram_write_B for k in kernels]),
        l2_B=add([k.l2_B for k in kernels]),
        l1_B=add([k.l1_B for k in kernels]),
        duration_s=duration_s,
        occupancy=weighted / duration_s if weighted is not None and duration_s else None,
    )
