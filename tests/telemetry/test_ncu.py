"""Nsight Compute: its answer is read, its refusals are sentences, nothing of it is left behind."""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from gpuexplorer.core.errors import CannotRunHere, WorkFailed
from gpuexplorer.core.telemetry import Counters
from gpuexplorer.telemetry import ncu

HEAD = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",'
    '"Grid Size","Device","CC",'
    '"dram__bytes_read.sum","dram__bytes_write.sum","gpu__time_duration.sum",'
    '"l1tex__t_bytes.sum","lts__t_bytes.sum",'
    '"sm__warps_active.avg.pct_of_peak_sustained_active"\n'
)
UNITS = '"","","","","","","","","","","","byte","byte","ns","byte","byte","%"\n'
PROF = "==PROF== Connected to process 4242 (/usr/bin/python3.11)\n"
DONE = "==PROF== Disconnected from process 4242\n"


def row(number: int, name: str, *values: str) -> str:
    who = f'"{number}","4242","python3.11","127.0.0.1","{name}","1","7"'
    where = '"(16, 16, 1)","(64, 64, 1)","0","9.0"'
    return f"{who},{where}," + ",".join(f'"{v}"' for v in values) + "\n"


ONE = PROF + HEAD + UNITS + row(
    0, "matrixMul(const float *, const float *, float *, int)",
    "75,497,472", "4194304", "1025600", "8589934592", "1,234,567,890", "61.50",
) + DONE  # fmt: skip


def test_the_answer_is_read_in_base_units() -> None:
    (kernel,) = ncu.parse(ONE)
    assert kernel.kernels == ("matrixMul(const float *, const float *, float *, int)",)
    assert kernel.dram_read_B == 75_497_472
    assert kernel.dram_write_B == 4_194_304
    assert kernel.duration_s == pytest.approx(1.0256e-3)
    assert kernel.l1_B == 8_589_934_592
    assert kernel.l2_B == 1_234_567_890
    assert kernel.occupancy == pytest.approx(0.615)


def test_units_with_prefixes_are_understood_and_others_are_refused() -> None:
    units = '"","","","","","","","","","","","Mbyte","Kbyte","usecond","Gbyte","byte","%"\n'
    (kernel,) = ncu.parse(HEAD + units + row(0, "k", "75.5", "12", "1.5", "2", "3", "50"))
    assert kernel.dram_read_B == 75.5e6
    assert kernel.dram_write_B == 12e3
    assert kernel.duration_s == pytest.approx(1.5e-6)
    assert kernel.l1_B == 2e9
    strange = '"","","","","","","","","","","","sector","byte","ns","byte","byte","%"\n'
    with pytest.raises(WorkFailed, match="sector"):
        ncu.parse(HEAD + strange + row(0, "k", "1", "1", "1", "1", "1", "1"))


def test_what_was_not_counted_is_none() -> None:
    (kernel,) = ncu.parse(HEAD + UNITS + row(0, "k", "n/a", "", "100", "n/a", "n/a", "n/a"))
    assert kernel.dram_read_B is None
    assert kernel.duration_s == pytest.approx(1e-7)
    assert ncu.parse("==PROF== nothing\n") == []
    assert ncu.parse("") == []


def test_the_kernels_of_one_launch_are_added_up() -> None:
    text = HEAD + UNITS + row(0, "first", "100", "10", "3000", "1", "2", "80")
    text += row(1, "second", "50", "5", "1000", "1", "2", "40")
    found = ncu.total(ncu.parse(text))
    assert found.kernels == ("first", "second")
    assert (found.dram_read_B, found.dram_write_B, found.l2_B) == (150, 15, 4)
    assert found.duration_s == pytest.approx(4e-6)
    assert found.occupancy == pytest.approx((0.8 * 3 + 0.4) / 4)
    lacking = ncu.total([*ncu.parse(text), Counters(kernels=("third",))])
    assert lacking.dram_read_B is None  # a sum without a part would be too small


def test_as_traffic_of_a_run() -> None:
    (kernel,) = ncu.parse(ONE)
    kinds = {t.kind: t for t in kernel.traffic()}
    assert kinds["dram"].read_B == 75_497_472
    assert kinds["dram"].source == kinds["l2"].source == "ncu"
    assert kinds["l2"].combined_B == 1_234_567_890
    assert Counters(kernels=()).traffic() == []


STAND_IN = """#!{python}
import os, subprocess, sys, time
arguments = sys.argv[1:]
log = arguments[arguments.index("--log-file") + 1]
metrics = arguments[arguments.index("--metrics") + 1].split(",")
{body}
"""


Install = Callable[[str], Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return what puts a program in ``ncu``'s place; its body sees ``log`` and ``metrics``."""
    if sys.platform == "win32":
        pytest.skip("a stand-in needs a system that starts scripts by their first line")

    def put(body: str) -> Path:
        program = tmp_path / "ncu"
        program.write_text(STAND_IN.format(python=sys.executable, body=body))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv(ncu.PATH_VARIABLE, str(program))
        return program

    return put


def never() -> bool:
    return False


def answer(text: str) -> str:
    return f"open(log, 'w').write({text!r})"


def test_a_program_runs_under_it_and_its_counters_come_back(
    install: Install, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    install(
        f"open({str(seen)!r}, 'w').write(' '.join(arguments)); "
        "subprocess.run(arguments[arguments.index('--log-file') + 2:], check=True); " + answer(ONE)
    )
    target = [sys.executable, "-c", f"open({str(tmp_path / 'ran')!r}, 'w')"]
    found = ncu.count(target, never, cold=False)
    assert found is not None
    assert found.dram_read_B == 75_497_472
    assert (tmp_path / "ran").exists()
    words = seen.read_text()
    assert "--clock-control none" in words
    assert "--cache-control none" in words
    assert "--profile-from-start off" in words
    assert "--csv --page raw" in words
    ncu.count(target, never, cold=True)
    assert "--cache-control all" in seen.read_text()


def test_kernels_of_a_cold_launch_find_in_the_caches_what_those_before_them_left(
    install: Install,
) -> None:
    def two(read_B: str) -> str:
        values = (read_B, "1", "1", "1", "1", "50")
        return PROF + HEAD + UNITS + row(0, "k", *values) + row(1, "k", *values) + DONE

    install(
        "each = arguments[arguments.index('--cache-control') + 1] == 'all'\n"
        f"open(log, 'w').write({two('4')!r} if each else {two('1')!r})"
    )
    begun: list[str] = []
    found = ncu.count(["true"], never, cold=True, begins=lambda: begun.append("run"))
    assert found is not None and found.dram_read_B == 2
    assert begun == ["run", "run"]


def test_a_chip_with_other_names_is_asked_by_those(install: Install) -> None:
    other = ONE.replace("dram__bytes_", "dram__bytes_op_")
    install(
        f"known = 'dram__bytes_op_read.sum' in metrics\n"
        f"open(log, 'w').write({other!r} if known else "
        "'==ERROR== Failed to find metric dram__bytes_read.sum')\nsys.exit(0 if known else 1)"
    )
    found = ncu.count(["true"], never, cold=False)
    assert found is not None
    assert found.dram_write_B == 4_194_304


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (
            answer("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access "
                   "NVIDIA GPU Performance Counters on the target device 0.") + "; sys.exit(1)",
            CannotRunHere, "NVreg_RestrictProfilingToAdminUsers=0",
        ),
        (answer("==WARNING== No kernels were profiled.\n"), WorkFailed, "profiled no kernel"),
        ("sys.exit(9)", WorkFailed, "ended with status 9"),
        (
            f"print({ncu.FAILED_MARK!r} + 'the memory is not enough')",
            WorkFailed, "the memory is not enough",
        ),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_a_sentence(
    install: Install, body: str, kind: type[Exception], words: str
) -> None:
    install(body)
    with pytest.raises(kind, match=words):
        ncu.count(["true"], never, cold=False)


def test_without_the_program_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(ncu.PATH_VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(ncu, "_USUAL_PLACES", ())
    with pytest.raises(CannotRunHere, match="no 'ncu'; install it"):
        ncu.find()
    monkeypatch.setenv(ncu.PATH_VARIABLE, str(tmp_path / "none"))
    with pytest.raises(CannotRunHere, match=ncu.PATH_VARIABLE):
        ncu.find()
    assert ncu.PATH_VARIABLE in ncu.missing()


def test_the_usual_places_are_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for version in ("2024.1", "2025.3"):
        program = tmp_path / version / "ncu"
        program.parent.mkdir()
        program.write_text("")
        program.chmod(0o755)
    monkeypatch.delenv(ncu.PATH_VARIABLE, raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(ncu, "_USUAL_PLACES", (str(tmp_path / "*" / "ncu"),))
    assert ncu.find() == str(tmp_path / "2025.3" / "ncu")


def engine_that_ends(note: Path) -> None:
    def look() -> bool:
        if note.exists():
            ncu.kill_running()
        return False

    with pytest.raises(WorkFailed, match="ended with status -9"):
        ncu.count(["true"], look, cold=False)


def gone(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("why", ["cancelled", "too long", "the engine ends"])
def test_it_is_ended_with_what_it_started(install: Install, tmp_path: Path, why: str) -> None:
    note = tmp_path / "pids"
    install(
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(note) + '.new'!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        f"os.rename({str(note) + '.new'!r}, {str(note)!r})\n"
        "time.sleep(600)"
    )
    if why == "cancelled":
        assert ncu.count(["true"], note.exists, cold=False) is None
    elif why == "the engine ends":
        counting = threading.Thread(target=engine_that_ends, args=(note,))
        counting.start()
        counting.join(60)
        assert not counting.is_alive()
    else:
        with pytest.raises(WorkFailed, match="did not end within"):
            ncu.count(["true"], never, cold=False, limit_s=2.0)
    pids = [int(pid) for pid in note.read_text().split()]
    ends = time.monotonic() + 10
    while not all(gone(pid) for pid in pids) and time.monotonic() < ends:
        os.sched_yield()
    assert all(gone(pid) for pid in pids)
