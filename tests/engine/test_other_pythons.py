"""Engines in other Pythons: they measure there, and one sentence says why one does not start."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pytest

from gpuexplorer.core.bootstrap import FILE
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import Cancelled, CannotRunHere
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine import protocol
from gpuexplorer.engine.checking import check_engine
from gpuexplorer.engine.client import Engine, EngineLost, EngineOptions, EngineReady, Event
from gpuexplorer.engine.interpreters import CONFIG_VARIABLE, Interpreters
from gpuexplorer.engine.process import LOGGED_A_SECOND
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load
from tests.support.pythons import make_conda, make_python, older, pretend, put_package

PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python of another environment that has what an engine needs."""
    return make_python(tmp_path_factory.mktemp("other") / "env")


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONFIG_VARIABLE, str(tmp_path / "settings"))


def start(python: Path | str, handshake_s: float = PATIENCE_S) -> tuple[list[Event], list[str]]:
    """Start an engine, wait until it answered or was given up; return events and log."""
    events: list[Event] = []
    log: list[str] = []
    engine = Engine(
        EngineOptions(python=str(python), threads=1, handshake_s=handshake_s),
        events.append,
        log.append,
    )
    engine.start()
    limit = time.monotonic() + PATIENCE_S + handshake_s
    try:
        while not any(isinstance(e, EngineReady | EngineLost) for e in events):
            assert time.monotonic() < limit
            engine.poll(0.1)
    finally:
        engine.close()
    return events, log


def given_up(python: Path | str, handshake_s: float = PATIENCE_S) -> EngineLost:
    """Return how an engine was lost that never started; nobody tries it again."""
    events, _ = start(python, handshake_s)
    (lost,) = [e for e in events if isinstance(e, EngineLost)]
    assert (lost.kind, lost.restarting) == ("start", False)
    assert "\n" not in lost.reason
    return lost


# ---- it measures there


def test_a_run_in_another_python_says_which_and_with_what(other: Path) -> None:
    Interpreters().add("other", str(other))
    workload = load()["matmul"]
    with EngineSession(python="other", threads=1) as session:
        devices = session.devices()
        request = RunRequest(workload="matmul", variant="numpy", device="numpy:cpu", size={"N": 64})
        config = complete(request, workload, devices)
        result = session.measure(config, workload, RunOptions(seconds=0.05)).result()
        assert session.pid is not None
        process = psutil.Process(session.pid)
        assert process.cmdline()[:2] == [str(other), FILE]
        environment = process.environ()
        assert "PYTHONPATH" not in environment
        assert environment["VIRTUAL_ENV"] == str(other.parent.parent)
    assert result.environment.engine == "other"
    assert result.environment.python == ".".join(map(str, sys.version_info[:3]))
    assert result.verification is not None
    assert result.verification.ok


def test_a_path_stands_for_a_name_and_the_built_in_engine_for_none(other: Path) -> None:
    workload = load()["matmul"]
    found = {}
    for word in (str(other.parent.parent), "built-in"):
        with EngineSession(python=word, threads=1) as session:
            request = RunRequest(workload="matmul", variant="numpy", device="numpy:cpu",
                                 size={"N": 32})  # fmt: skip
            config = complete(request, workload, session.devices())
            found[word] = (
                session.measure(config, workload, RunOptions(seconds=0.02))
                .result()
                .environment.engine
            )
    assert found == {str(other.parent.parent): str(other), "built-in": None}


def test_a_conda_environment_is_started_as_if_it_were_activated(
    other: Path, tmp_path: Path
) -> None:
    conda = make_conda(tmp_path / "deep", other, {"NOTED_BY_CONDA": "yes"})
    with EngineSession(python=str(tmp_path / "deep"), threads=1) as session:
        session.devices()
        assert session.pid is not None
        environment = psutil.Process(session.pid).environ()
    assert environment["CONDA_PREFIX"] == str(conda.parent.parent)
    assert environment["NOTED_BY_CONDA"] == "yes"
    assert environment["PATH"].split(os.pathsep)[0] == str(conda.parent)


def test_an_engine_says_what_it_has(other: Path) -> None:
    Interpreters().add("other", str(other))
    steps: list[str] = []
    report = check_engine("other", on_step=steps.append)
    assert (report.ok, report.name, report.path) == (True, "other", str(other))
    assert report.handshake_s is not None
    assert report.handshake_s > 0
    assert report.python == ".".join(map(str, sys.version_info[:3]))
    assert "numpy" in report.packages
    assert report.devices is not None
    assert any(device.id == "numpy:cpu" for device in report.devices)
    for missing in report.devices.unavailable:
        assert missing.reason
        assert missing.remedy
    assert steps[0] == "starting"
    assert steps[-1] == "looking for its devices"
    assert msgspec.json.decode(msgspec.json.encode(report), type=type(report)) == report


def test_a_check_is_stopped_within_a_moment(tmp_path: Path) -> None:
    began = tmp_path / "began"
    python = pretend(tmp_path / "bin", f": > '{began}'\nexec sleep 600")
    with pytest.raises(Cancelled):
        check_engine(str(python), cancelled=began.exists)


def test_a_check_of_what_cannot_be_an_engine_is_a_report(tmp_path: Path) -> None:
    report = check_engine("no-such-thing")
    assert "is no engine, no command and no path" in (report.problem or "")
    python = make_python(tmp_path / "bare", packages=False)
    report = check_engine(str(python))
    assert not report.ok
    assert "lacks msgspec, numpy" in (report.problem or "")
    assert "pip install" in report.remedy
    assert report.devices is None


# ---- it does not start, and one sentence says why


def test_a_python_that_is_too_old(other: Path, tmp_path: Path) -> None:
    lost = given_up(older(tmp_path / "old", other, (3, 9, 2)))
    assert "is Python 3.9.2, and an engine needs 3.11 or newer" in lost.reason
    assert "choose another interpreter" in lost.remedy


def test_a_python_so_old_that_it_cannot_read_the_bootstrap(tmp_path: Path) -> None:
    python = pretend(
        tmp_path / "bin",
        f"echo '  File \"{FILE}\", line 14' >&2\n"
        "echo 'SyntaxError: future feature annotations is not defined' >&2\nexit 1",
    )
    assert "is a Python older than 3.8" in given_up(python).reason


def test_a_python_that_lacks_what_an_engine_needs(tmp_path: Path) -> None:
    lost = given_up(make_python(tmp_path / "bare", packages=False))
    assert "lacks msgspec, numpy, platformdirs, psutil and simpleeval" in lost.reason
    assert "'msgspec>=0.19'" in lost.remedy
    with pytest.raises(CannotRunHere, match=r"lacks msgspec.*pip install"):
        EngineSession(python=str(tmp_path / "bare")).devices()


def test_a_python_whose_numpy_is_broken(tmp_path: Path) -> None:
    python = make_python(tmp_path / "env")
    put_package(tmp_path / "env", "numpy", "2.1.0", "raise ImportError('libgfortran.so.5: none')")
    lost = given_up(python)
    assert "cannot load what an engine needs: libgfortran.so.5: none" in lost.reason
    assert "Traceback" in lost.detail


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 0", "did not run as a Python: it ended with status 0 before the first line"),
        ("echo 'no module named life' >&2; exit 7", "with status 7 .*: no module named life"),
        ("kill -SEGV $$", "did not run as a Python: it ended killed by SIGSEGV"),
        ('exec cat "$0"', "did not run as a Python"),
        ('exec ls "$@"', "did not run as a Python"),
    ],
)
def test_a_program_that_is_no_python(script: str, said: str, tmp_path: Path) -> None:
    lost = given_up(pretend(tmp_path / "bin", script))
    assert re.search(said, lost.reason), lost.reason
    assert "choose a Python interpreter" in lost.remedy


def test_a_python_that_dies_once_it_runs(other: Path, tmp_path: Path) -> None:
    site = make_python(tmp_path / "env")
    put_package(tmp_path / "env", "simpleeval", "1.0.3", "import os; os._exit(41)")
    lost = given_up(site)
    version = ".".join(map(str, sys.version_info[:3]))
    assert f"(Python {version}) ended before it answered, with status 41" in lost.reason


@pytest.mark.parametrize("stream", ["", ">&2"])
def test_one_that_prints_megabytes_is_ended_or_waited_for_without_filling_anything(
    stream: str, tmp_path: Path
) -> None:
    python = pretend(tmp_path / "bin", f"yes 'all work and no play' | head -c 8000000 {stream}")
    events, log = start(python)
    (lost,) = [e for e in events if isinstance(e, EngineLost)]
    assert ("printed more than 1 MiB" in lost.reason) is (not stream)
    assert "all work and no play" in lost.detail
    assert len(lost.detail.splitlines()) <= 12
    assert len(log) < 40 * LOGGED_A_SECOND, "a log that is shown must not be flooded"


def test_one_line_without_an_end_is_cut(tmp_path: Path) -> None:
    python = pretend(tmp_path / "bin", "head -c 3000000 /dev/zero | tr '\\0' 'x' >&2; exit 1")
    lost = given_up(python)
    assert len(lost.detail) < 100_000


@pytest.mark.parametrize(
    ("script", "seconds"), [("exec sleep 6173", "6173"), ("sleep 6174\nexit 0", "6174")]
)
def test_one_that_hangs_meets_its_deadline_and_leaves_nothing(
    script: str, seconds: str, tmp_path: Path
) -> None:
    lost = given_up(pretend(tmp_path / "bin", script), handshake_s=0.5)
    assert "did not answer within 0.5 s and ran no line of Python" in lost.reason
    left = [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", seconds]]
    assert not left


def test_a_python_that_hangs_in_its_own_start(other: Path, tmp_path: Path) -> None:
    make_python(tmp_path / "env")
    put_package(tmp_path / "env", "simpleeval", "1.0.3", "import time; time.sleep(600)")
    lost = given_up(tmp_path / "env", handshake_s=1.0)
    assert "did not answer within 1 s" in lost.reason


@pytest.mark.parametrize(
    ("executable", "shell", "said"),
    [
        (False, "/bin/sh", "it is not executable"),
        (True, "/no/such/shell", "the program that its first line names, is not there"),
    ],
)
def test_one_that_the_system_does_not_start(
    executable: bool, shell: str, said: str, tmp_path: Path
) -> None:
    lost = given_up(pretend(tmp_path / "bin", ":", shell=shell, executable=executable))
    assert lost.reason.startswith("the engine cannot be started: ")
    assert said in lost.reason
    assert lost.remedy


def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    path = tmp_path / "python"
    path.write_bytes(b"\x00\x01\x02 not a program")
    path.chmod(0o755)
    assert "no program that this machine runs" in given_up(path).reason


def test_a_python_on_another_machine_is_said_to_be_there(tmp_path: Path) -> None:
    python = pretend(
        tmp_path / "bin",
        "echo \"python: can't open file '$1': [Errno 2] No such file or directory\" >&2; exit 2",
    )
    lost = given_up(python)
    assert "runs where this program's files are not" in lost.reason
    assert FILE in lost.remedy


def test_an_engine_of_another_version_is_refused(other: Path, tmp_path: Path) -> None:
    code = (
        "import sys, gpuexplorer.core.bootstrap as b; "
        "b.lend_package = lambda: None; import gpuexplorer; gpuexplorer.__version__ = '0.0.7'; "
        "b.main(sys.argv[2:])"
    )
    root = Path(FILE).parents[2]
    python = pretend(tmp_path / "bin", f'PYTHONPATH="{root}" exec "{other}" -c "{code}" "$@"')
    lost = given_up(python)
    assert "GPU Explorer 0.0.7" in lost.reason
    assert "install the same version for both" in lost.remedy


def test_an_engine_that_ran_before_is_started_again(other: Path) -> None:
    events: list[Event] = []
    engine = Engine(EngineOptions(python=str(other), threads=1), events.append)
    engine.start()

    def until(count: int) -> None:
        limit = time.monotonic() + PATIENCE_S
        while sum(isinstance(e, EngineReady) for e in events) < count:
            assert time.monotonic() < limit
            engine.poll(0.1)

    try:
        until(1)
        assert engine.pid is not None
        psutil.Process(engine.pid).kill()
        until(2)
    finally:
        engine.close()
    (lost,) = [e for e in events if isinstance(e, EngineLost)]
    assert (lost.kind, lost.restarting) == ("crash", True)


def test_no_message_of_a_refusal_reaches_whoever_listens(tmp_path: Path) -> None:
    events, _ = start(make_python(tmp_path / "bare", packages=False))
    assert not [e for e in events if isinstance(e, protocol.Refused)]


@pytest.fixture(autouse=True)
def nothing_left_running() -> Iterator[None]:
    before = {p.pid for p in psutil.Process().children(recursive=True)}
    yield
    limit = time.monotonic() + 10
    while left := [p for p in psutil.Process().children(recursive=True) if p.pid not in before]:
        assert time.monotonic() < limit, left
        time.sleep(0.02)
