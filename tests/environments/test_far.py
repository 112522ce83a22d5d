"""An engine on another machine by ssh: set-up in an empty home, work, and every way to lose it.

A real sshd on a loopback port stands for the other machine.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import psutil
import pytest
from msgspec.structs import replace

import gpuexplorer
from gpuexplorer.cli import main
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import CannotRunHere, ExplorerError, WorkFailed
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.sweep import SweepDocument
from gpuexplorer.engine import program, protocol
from gpuexplorer.engine.checking import check_engine
from gpuexplorer.engine.client import Engine, EngineLost, EngineOptions, EngineReady, Event
from gpuexplorer.engine.interpreters import Interpreters
from gpuexplorer.engine.machine import SILENCE_S, Machine
from gpuexplorer.engine.session import EngineSession, RunProgress
from gpuexplorer.environments import detached, far
from gpuexplorer.environments.detached import Detached
from gpuexplorer.environments.kinds import Kind
from gpuexplorer.environments.progress import Cancelled, SetUpProgress
from gpuexplorer.search.detached import Outcome, encode
from gpuexplorer.search.sweep import SweepStep
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load
from tests.support.bad_link import BadLink
from tests.support.detached_jobs import (
    PATIENCE_S,
    SWEEP,
    begun,
    collect_continue_and_collect,
    until,
)
from tests.support.results import made_config
from tests.support.sshd import Sshd

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sshd is tested on POSIX")
VECTORS = load()["vector_add"]


class Box:
    """The other machine, with an engine that was set up in its empty home."""

    def __init__(self, sshd: Sshd, kind: Kind, wheels: Path) -> None:
        self.sshd, self.kind, self.wheels = sshd, kind, wheels
        self.machine = Machine.read(sshd.address)
        self.progress: list[SetUpProgress] = []
        self.found = far.look(self.machine)
        self.made = far.make(self.found, kind, wheels, self.progress.append)

    @property
    def python(self) -> str:
        """The interpreter's path there."""
        return self.made.python

    def at(self, port: int) -> str:
        """The engine's address by way of another port."""
        return self.sshd.address_at(port) + self.python

    def processes(self) -> list[psutil.Process]:
        """Every process of either side but the server that listens."""
        found = []
        for one in psutil.process_iter(["cmdline", "status"]):
            words = one.info["cmdline"] or []
            ours = any(str(self.sshd.folder) in word for word in words)
            if ours and one.info["status"] != psutil.STATUS_ZOMBIE and "-D" not in words:
                found.append(one)
        return found

    def engines(self) -> list[psutil.Process]:
        """The engines there."""
        return [
            one for one in self.processes()
            if any(word.endswith("bootstrap.py") for word in one.info["cmdline"])
            and "python" in Path(one.info["cmdline"][0]).name
        ]  # fmt: skip


@pytest.fixture(scope="module")
def box(
    tmp_path_factory: pytest.TempPathFactory, engine_kind: Kind, engine_wheels: Path
) -> Iterator[Box]:
    with pytest.MonkeyPatch.context() as patch:
        sshd = Sshd(tmp_path_factory.mktemp("far"), patch)
        try:
            yield Box(sshd, engine_kind, engine_wheels)
        finally:
            sshd.close()


@pytest.fixture(autouse=True)
def nothing_is_left(box: Box) -> Iterator[None]:
    """No process stays on either side."""
    box.sshd.know()
    far.add("gpu", box.made)
    yield
    until(lambda: not box.processes(), lambda: [one.info["cmdline"] for one in box.processes()])


class Running:
    """An engine there that measures without an end, and what it has told."""

    def __init__(self, word: str) -> None:
        self.events: list[Event] = []
        self.losses = 0
        """How often the engine was lost, as ``lost`` waited for."""
        self.engine = Engine(EngineOptions(python=word, threads=1), self.events.append)
        self.engine.start()
        self.engine.list_devices()
        self.until(lambda: bool(self.of(protocol.Devices)))
        found = self.of(protocol.Devices)[-1]
        assert isinstance(found, protocol.Devices)
        request = RunRequest(workload=VECTORS.name, variant="numpy", device="numpy:cpu")
        self.config = complete(request, VECTORS, found.devices)

    def measure(self) -> None:
        """Have it measure until samples come."""
        before = len(self.of(protocol.Samples))
        self.engine.run(self.config, VECTORS)
        self.until(lambda: len(self.of(protocol.Samples)) > before)

    def of(self, kind: type) -> list[Event]:
        """The events of a kind."""
        return [one for one in self.events if isinstance(one, kind)]

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something."""
        limit = time.monotonic() + PATIENCE_S
        while not condition():
            self.engine.poll(0.1)
            gone = [one for one in self.of(EngineLost) if not getattr(one, "restarting", True)]
            assert not gone and time.monotonic() < limit, self.events[-3:]

    def lost(self) -> EngineLost:
        """Wait until the engine is lost once more; return what was told, once."""
        self.losses += 1
        self.until(lambda: len(self.of(EngineLost)) >= self.losses)
        *_, lost = self.of(EngineLost)
        assert isinstance(lost, EngineLost)
        assert len(self.of(EngineLost)) == self.losses
        return lost

    def goes_on(self) -> None:
        """Wait for the next engine there, and measure in it."""
        self.until(lambda: len(self.of(EngineReady)) > self.losses)
        self.measure()

    @property
    def pid(self) -> int:
        """The number of the ssh."""
        assert self.engine.pid is not None
        return self.engine.pid


@pytest.fixture
def running() -> Iterator[Callable[[str], Running]]:
    made: list[Running] = []

    def start(word: str) -> Running:
        made.append(Running(word))
        made[-1].measure()
        return made[-1]

    yield start
    for one in made:
        one.engine.close()


@pytest.fixture
def link(box: Box) -> Iterator[BadLink]:
    made = BadLink(box.sshd.port)
    box.sshd.know(ports=(made.port,))
    yield made
    made.close()


# ---- set-up


def test_an_engine_is_set_up_in_an_empty_home_from_wheels_that_are_here(box: Box) -> None:
    assert box.python.startswith(str(box.sshd.home)), "nothing stands outside of that home"
    assert {one.phase for one in box.progress} == {"download", "install"}
    report = check_engine("gpu")
    assert report.ok, report
    assert report.gpuexplorer == gpuexplorer.__version__
    assert report.devices is not None
    assert [device.id for device in report.devices] == ["numpy:cpu"]


def test_a_set_up_that_was_cancelled_continues(box: Box) -> None:
    cancel = threading.Event()
    kind = msgspec.structs.replace(box.kind, name="two", requirements=("msgspec", "platformdirs"))

    def stop(progress: SetUpProgress) -> None:
        if progress.phase == "install":
            cancel.set()

    with pytest.raises(Cancelled):
        far.make(box.found, kind, box.wheels, stop, cancel)
    until(lambda: not box.processes())
    made = far.make(box.found, kind, box.wheels)
    assert far.remove("two", made).freed_B > 100_000
    assert not Path(made.python).exists()
    assert Path(box.python).exists(), "the other environment stays"


def test_the_command_line_adds_measures_compares_updates_and_removes(
    box: Box, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    address = box.sshd.address
    assert main(["engines", "add", "box", address, "--python", box.python]) == 0
    assert Interpreters().read().engines["box"] == f"{address}{box.python}"
    words = ["--no-history", "--engine", "box", "--device", "numpy:cpu", "--seconds", "0.2"]
    out = tmp_path / "run.json"
    assert main(["run", "vector_add", "--variant", "numpy", *words, "--json", str(out)]) == 0
    assert json.loads(out.read_text())["environment"]["engine"] == "box"
    command = ["compare", "numpy,engine=box", "numpy", "--workload", "vector_add"]
    assert main([*command, "--device", "numpy:cpu", "--rounds", "3", "--no-history"]) == 0
    assert "box" in capsys.readouterr().out

    there = Path(str(box.sshd.home), program.program_folder().removeprefix("~/"))
    there.rename(there.with_name("0.0.1-other"))  # as another version has left it
    assert main(["run", "vector_add", "--variant", "numpy", *words]) == 3
    said = capsys.readouterr().err
    assert f"127.0.0.1 does not have GPU Explorer {gpuexplorer.__version__}" in said
    assert "gpuexplorer engines update box" in said
    assert main(["engines", "update", "box"]) == 0
    assert main(["run", "vector_add", "--variant", "numpy", *words]) == 0
    assert main(["engines", "remove", "box", "--keep"]) == 0
    assert "box" not in Interpreters().read().engines


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounts a small disk")
def test_a_full_disk_there_is_one_sentence(box: Box) -> None:
    folder = box.sshd.home / ".local/share/gpuexplorer"
    aside = folder.with_name("aside")
    folder.rename(aside)
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        folder.rmdir()
        aside.rename(folder)
        pytest.skip("nothing can be mounted here")
    try:
        with pytest.raises(WorkFailed, match=r"the disk of 127\.0\.0\.1 with .* is full: about"):
            far.make(box.found, box.kind, box.wheels)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
        shutil.rmtree(folder)
        aside.rename(folder)


def test_what_is_there_is_not_sent_again_and_an_engine_without_its_device_says_so(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = msgspec.structs.replace(box.kind, backend="cuda", cuda=13)
    sent = next(Path(box.python).parents[1].glob("lib/*/site-packages/msgspec/__init__.py"))
    before = sent.stat()
    monkeypatch.setattr(far, "find_kind", lambda name: kind)
    with pytest.raises(WorkFailed, match=r"'other' was set up on .*, but it has no cuda device"):
        far.set_up("other", box.machine, "small", box.wheels)
    assert "other" not in Interpreters().read().engines
    after = sent.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


# ---- the way there


def test_what_ssh_would_ask_is_a_sentence_that_says_what_to_run_once(box: Box) -> None:
    def why() -> ExplorerError:
        with pytest.raises(CannotRunHere) as caught:
            far.look(box.machine)
        report = check_engine("gpu")
        assert (report.problem, report.remedy) == (caught.value.what, caught.value.remedy)
        return caught.value

    box.sshd.know("other-host")
    changed = why()
    assert changed.what.startswith("the key of 127.0.0.1 is not the one that was known")
    assert f"ssh-keygen -R '[127.0.0.1]:{box.sshd.port}'" in changed.remedy
    box.sshd.known_hosts.write_text("")
    unknown = why()
    assert unknown.what.startswith("the key of 127.0.0.1 is not known yet")
    assert f"'ssh -p {box.sshd.port} " in unknown.remedy
    box.sshd.know()
    authorized = box.sshd.folder / "authorized"
    keys = authorized.read_text()
    authorized.write_text("")
    try:
        locked = why()
    finally:
        authorized.write_text(keys)
    assert "does not let us in without a password or another key" in locked.what
    assert "ssh-copy-id" in locked.remedy


def test_a_machine_that_does_not_answer_or_has_no_python_is_a_sentence(box: Box) -> None:
    box.sshd.close()
    try:
        with pytest.raises(CannotRunHere, match="nothing answers ssh on"):
            far.look(box.machine)
    finally:
        box.sshd.start()
    with pytest.raises(CannotRunHere, match=r"/usr/bin/false on .* is no Python 3\.11 or newer"):
        far.look(box.machine, "/usr/bin/false")


# ---- losing it


def test_an_engine_that_is_lost_is_told_why_and_another_follows(
    box: Box, running: Callable[[str], Running]
) -> None:
    """A crash there is no lost link: the same configuration would crash again."""
    one = running("gpu")
    strikes: tuple[tuple[Callable[[psutil.Process], None], str, bool], ...] = (
        (lambda _: os.kill(one.pid, signal.SIGKILL), "the link to 127.0.0.1 is lost", True),
        (lambda engine: engine.kill(), "the engine was killed (SIGKILL)", True),
        (
            lambda engine: engine.send_signal(signal.SIGSEGV), "the engine died (SIGSEGV)", False,
        ),
    )  # fmt: skip
    for strike, reason, outside in strikes:
        (engine,) = box.engines()
        strike(engine)
        lost = one.lost()
        assert lost.reason.startswith(reason)
        assert (lost.outside, lost.restarting) == (outside, True)
        until(lambda engine=engine: not engine.is_running())  # type: ignore[misc]
        one.goes_on()


def test_an_engine_that_nobody_talks_to_ends_within_ten_seconds(
    box: Box, running: Callable[[str], Running]
) -> None:
    one = running("gpu")
    (engine,) = box.engines()
    os.kill(one.pid, signal.SIGSTOP)
    began = time.monotonic()
    until(lambda: not engine.is_running())
    assert time.monotonic() - began < 3 * SILENCE_S, "nobody else ends it"
    lost = one.lost()
    assert "suspended from outside (SIGSTOP)" in lost.reason
    one.goes_on()


def test_a_link_that_stalls_or_drops_is_told_once_and_taken_up_again(
    box: Box, running: Callable[[str], Running], link: BadLink
) -> None:
    link.delay_s = 0.05
    one = running(box.at(link.port))
    (engine,) = box.engines()
    link.stall()
    assert one.lost().reason == "the link to 127.0.0.1 is lost"
    until(lambda: not engine.is_running())
    link.flow()
    one.goes_on()
    assert len(one.of(EngineLost)) == 1, "tries that fail are no further sentences"
    link.drop()
    assert one.lost().reason == "the link to 127.0.0.1 is lost"
    one.until(lambda: len(one.of(EngineReady)) > 2)


def test_a_sweep_goes_on_from_its_next_point_and_continues_with_the_lost_one(box: Box) -> None:
    """What was measured is measured once, and what was lost with the link is lost alone."""
    killed: list[int] = []

    def strike(step: SweepStep) -> None:
        ssh = [one for one in box.processes() if one.info["cmdline"][0].endswith("ssh")]
        if ssh and step.index == 2 and not step.ended and not killed:
            killed.append(ssh[0].pid)
            ssh[0].kill()

    def sweep(resume: bool) -> SweepDocument:
        return gpuexplorer.sweep(
            "vector_add", axes={"size.N": [1 << k for k in (10, 11, 12, 13, 14)]},
            variant="numpy", device="numpy:cpu", seconds=0.2, python="gpu", history=True,
            resume=resume, on_step=strike,
        )  # fmt: skip

    first = sweep(False)
    assert killed
    assert len(first.measured) >= 4, "a run that had not begun is asked for again"
    second = sweep(True)
    assert len(second.measured) == 5
    assert {run.id for run in first.measured} <= {run.id for run in second.measured}


def test_samples_are_kept_when_the_link_is_lost(box: Box) -> None:
    with EngineSession(python="gpu", threads=1) as session:
        request = RunRequest(workload=VECTORS.name, variant="numpy", device="numpy:cpu")
        config = complete(request, VECTORS, session.devices())

        def strike(progress: RunProgress) -> None:
            if progress.samples and session.pid is not None:
                os.kill(session.pid, signal.SIGKILL)

        with pytest.raises(WorkFailed, match="the link to") as caught:
            session.measure(config, VECTORS, RunOptions(seconds=30.0), on_progress=strike)
        assert caught.value.remedy == "run it again"
        kept = session.partial()
        assert kept is not None
        assert kept.samples_s
        assert session.measure(config, VECTORS, RunOptions(seconds=0.1)).samples


# ---- searches that go on by themselves


def test_what_a_job_has_measured_is_reached_though_its_engine_was_removed(box: Box) -> None:
    gone = replace(box.made, python=f"{box.sshd.home}/removed/bin/python")
    one = Detached(
        id="0123abcd", title="a sweep", arguments=[], engine="gpu", address=str(gone), total=2,
        created_utc="2026-01-01T12:00:00+00:00",
    )  # fmt: skip
    answers = box.sshd.home / f".local/share/gpuexplorer/jobs/{one.id}/answers"
    answers.mkdir(parents=True)
    (answers / "000000").write_bytes(encode(Outcome(config=made_config())))
    one.folder.mkdir(parents=True)
    assert detached.state_of(one).done == len(detached.outcomes(one)) == 1
    with pytest.raises(WorkFailed, match=r"removed/bin/python"):
        detached.start(one)
    detached.forget(one)
    assert not answers.exists() and not one.folder.exists()


@pytest.mark.long
def test_a_detached_sweep_goes_on_is_interrupted_continues_and_is_collected(
    box: Box, capsys: pytest.CaptureFixture[str]
) -> None:
    one = begun(*SWEEP, "--engine", "gpu", jobs=box.sshd.home / ".local/share/gpuexplorer/jobs")
    assert one.where == "127.0.0.1"
    detached.end(one)
    state = detached.state_of(one)
    assert state.stopped
    assert not state.running
    there = Path(str(box.sshd.home), program.program_folder().removeprefix("~/"))
    there.rename(there.with_name("0.0.2-other"))  # this version is newer than the one that began it
    collect_continue_and_collect(one, capsys)
    assert not one.folder.exists()
    assert not list((box.sshd.home / ".local/share/gpuexplorer/jobs").glob("*"))
    assert main(["jobs"]) == 0
