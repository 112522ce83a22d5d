"""A job is deleted once the history has all that it measured, and not before."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

import msgspec
import pytest

from gpuexplorer.cli import main
from gpuexplorer.cli.own_files import take_files
from gpuexplorer.cli.parser import parse
from gpuexplorer.cli.sweep import measuring_of, space_of
from gpuexplorer.cli.tune import options_of, ranges_of
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError, WorkFailed
from gpuexplorer.core.shared_device import WHEN_SHARED_VARIABLE
from gpuexplorer.engine.errors import EngineKilled, failed_of
from gpuexplorer.environments import detached
from gpuexplorer.environments.detached import Detached, DetachedState
from gpuexplorer.exchange.files import atomic_file, write_error
from gpuexplorer.history.errors import StoreFull
from gpuexplorer.history.store import Store
from gpuexplorer.search.detached import ANSWERS, DONE, LOOKS, WORK, Outcome, TuneWork, Work, encode
from gpuexplorer.search.detached import main as job_of
from gpuexplorer.search.space_sweep import SpaceSweep
from gpuexplorer.search.tune import Tuner
from gpuexplorer.search.tune_space import tuning_space
from gpuexplorer.workloads.kernel_answers import Answers
from gpuexplorer.workloads.loader import keep_manifest, load, own_workload
from gpuexplorer.workloads.workload import Workload
from tests.search.engine import MadeEngine
from tests.support.detached_jobs import stored
from tests.support.own_kernels import TEXTBOOK
from tests.support.problems import device

pytestmark = pytest.mark.skipif(os.name != "posix", reason="nothing is detached on Windows")

DEVICES = DeviceList(devices=(device("opencl:0", threads=1),))
MATMUL = load()["matmul"]
SWEEP = ["sweep", "matmul", "--variant", "naive", "--device", "opencl:0", "--block-x", "1,2"]
TUNE = ["tune", "matmul", "--variant", "naive", "--device", "opencl:0", "--block-x", "8,16",
        "--block-y", "4", "--sampler", "grid"]  # fmt: skip


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(tmp_path / "history.db"))
    monkeypatch.setenv("GPUEXPLORER_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(detached, "start", lambda about: None)


def ended(words: list[str], work: Work, outcomes: list[Outcome]) -> Detached:
    """Return a job that has measured all it was to."""
    one = detached.begin(" ".join(words), work, words, None)
    (one.folder / ANSWERS).mkdir()
    for number, outcome in enumerate(outcomes):
        (one.folder / ANSWERS / f"{number:06d}").write_bytes(encode(outcome))
    (one.folder / DONE).touch()
    return one


def swept(*more: str, workload: Workload = MATMUL, words: list[str] = SWEEP) -> Detached:
    """Return a sweep that a job has measured."""
    options = parse([*words, *more])
    take_files(options)
    space = space_of(options, workload.manifest)
    measuring = measuring_of(options)
    sweep = SpaceSweep(space, workload, DEVICES, measuring).sweep
    results = [MadeEngine().measure(c, workload, measuring).result() for c in sweep.coming]
    work = Work(source=workload.source, configs=sweep.coming, options=measuring, devices=DEVICES)
    outcomes = [Outcome(config=one.config, result=one) for one in results]
    return ended([*words, *more], work, outcomes)


def tuned(fails: bool = False, *more: str, workload: Workload = MATMUL) -> Detached:
    """Return a tuning that a job has ended, or that failed there after it had measured."""
    options = parse(TUNE)
    asked = TuneWork(
        request=RunRequest(workload="matmul", variant="naive", device="opencl:0"),
        ranges=ranges_of(options),
        options=options_of(options),
    )
    space = tuning_space(asked.request, workload, DEVICES, asked.ranges)
    tuner = Tuner(MadeEngine(), workload, space, asked.options)
    outcomes: list[Outcome] = []
    tuner.on_result = lambda run: outcomes.append(Outcome(config=run.config, result=run))
    tuning, failed = tuner.run(), None
    if fails:
        tuning, failed = tuner.so_far(), failed_of(WorkFailed("the disk there is full"))
    outcomes.append(Outcome(config=space.start, tuning=tuning, failed=failed))
    work = Work(source=workload.source, devices=DEVICES, tuning=asked)
    return ended([*TUNE, *more], work, outcomes)


class JobEngine(MadeEngine):
    """The engine of a job, which is ended by the system ``strikes`` times at one of two blocks."""

    strikes = 0

    def __init__(self) -> None:
        super().__init__(self._strike)

    def _strike(self, config: RunConfig) -> float:
        if JobEngine.strikes and config.block is not None and config.block[0] == 2:
            JobEngine.strikes -= 1
            raise EngineKilled("the engine was ended from outside: signal 9", remedy="run it again")
        return 1e-3

    def __enter__(self) -> JobEngine:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()

    def close(self) -> None:
        """Do nothing: it holds nothing."""


@pytest.fixture
def job_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have jobs measured in this process."""
    monkeypatch.setattr("gpuexplorer.search.detached._session", lambda *_: JobEngine())
    monkeypatch.setenv(WHEN_SHARED_VARIABLE, "")  # taken back afterwards

    def start(about: Detached) -> None:
        if (about.folder / ANSWERS).is_dir():  # else it is not made up yet
            job_of([str(about.folder)])

    monkeypatch.setattr(detached, "start", start)


def raising(error: ExplorerError) -> Callable[..., Store]:
    """Return what opens no history."""

    def opens(*_: object) -> Store:
        raise error

    return opens


def test_nothing_is_measured_by_a_job_that_could_not_be_noted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[Detached] = []
    keep = atomic_file

    def full(path: Path, *, private: bool = False) -> AbstractContextManager[BinaryIO]:
        if path.name == detached.ABOUT:
            raise OSError(errno.ENOSPC, "No space left on device")
        return keep(path, private=private)

    monkeypatch.setattr(detached, "start", begun.append)
    monkeypatch.setattr(detached, "atomic_file", full)
    with pytest.raises(OSError, match="No space left"):
        swept()
    assert not begun and not list(detached.folder_here().iterdir())


def test_a_job_is_collected_beside_an_earlier_sweep_of_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for number in (1, 2):
        one = swept()
        assert main(["jobs", "collect", one.id]) == 0
        assert len(stored()) == 2 * number, "what the job measured, and not what stood there"
        assert "was collected whole and is deleted" in capsys.readouterr().err
    with Store.open_to_read() as store:
        assert len(store.groups()) == 2


def test_what_is_collected_again_is_stored_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detached, "forget", lambda about: None)
    for one in (swept(), tuned()):
        for _ in range(2):
            assert main(["jobs", "collect", one.id]) == 0
    with Store.open_to_read() as store:
        assert sorted(group.kind for group in store.groups()) == ["sweep", "tuning"]


@pytest.mark.parametrize("job", [swept, tuned])
def test_a_job_that_the_history_did_not_take_is_kept(
    job: Callable[[], Detached], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = job()
    with monkeypatch.context() as full:
        full.setattr(Store, "open", raising(StoreFull("the disk is full")))
        main(["jobs", "collect", one.id])
        assert f"job {one.id} is kept" in capsys.readouterr().err
    assert [one.id for one in detached.list_detached()] == [one.id]
    assert main(["jobs", "collect", one.id]) == 0
    assert stored() and not detached.list_detached()


def test_a_job_of_which_an_answer_cannot_be_read_is_kept_and_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = swept()
    (one.folder / ANSWERS / "000001").write_bytes(b"spoiled")
    assert main(["jobs", "collect", one.id]) == 1
    said = capsys.readouterr().err
    assert f"000001, which job {one.id} has measured, cannot be read; collect it with" in said
    assert f"job {one.id} is kept" in said
    assert detached.list_detached()


def test_what_a_tuning_measured_before_it_failed_is_collected(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = tuned(fails=True)
    assert main(["jobs", "collect", one.id]) == 1
    assert "error: the disk there is full" in capsys.readouterr().err
    assert stored()
    assert not detached.list_detached()


def unmeasured() -> Detached:
    """Return a sweep's job that has measured nothing yet."""
    one = swept()
    (one.folder / DONE).unlink()
    for path in (one.folder / ANSWERS).iterdir():
        path.unlink()
    return one


def test_a_configuration_lost_with_its_engine_is_tried_once_more(job_engine: None) -> None:
    one = unmeasured()
    JobEngine.strikes = 1
    assert job_of([str(one.folder)]) == JobEngine.strikes == 0
    assert main(["jobs", "collect", one.id]) == 0
    assert len(stored()) == 2 and not detached.list_detached()


def test_a_configuration_that_stays_lost_is_measured_when_the_job_continues(
    job_engine: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """It counted as done, nothing measured it again, and the job was deleted as collected whole."""
    one = unmeasured()
    JobEngine.strikes = 2
    assert job_of([str(one.folder)]) == 1
    assert "was ended from outside: signal 9" in capsys.readouterr().err
    main(["jobs", "collect", one.id])
    assert f"job {one.id} is interrupted: continue it" in capsys.readouterr().err
    assert len(stored()) == 1 and detached.list_detached()
    assert main(["jobs", "continue", one.id]) == 0
    assert main(["jobs", "collect", one.id]) == 0
    assert len(stored()) == 2 and not detached.list_detached()


def test_what_an_earlier_version_wrote_of_a_lost_configuration_is_no_answer(
    job_engine: None, capsys: pytest.CaptureFixture[str]
) -> None:
    one = swept()
    lost = detached.work_of(one).configs[1]
    killed = Outcome(config=lost, failed=failed_of(EngineKilled("the engine was ended")))
    (one.folder / ANSWERS / "000001").write_bytes(encode(killed))
    assert main(["jobs", "collect", one.id]) == 1
    said = capsys.readouterr().err
    assert f"was ended; continue with: gpuexplorer jobs continue {one.id}" in said
    assert f"job {one.id} is kept, as it was not collected whole" in said
    assert main(["jobs", "continue", one.id]) == 0
    assert main(["jobs", "collect", one.id]) == 0
    assert len(stored()) == 2 and not detached.list_detached()


@pytest.mark.parametrize("folder", [LOOKS, ANSWERS])
def test_a_disk_that_was_full_for_a_moment_ends_no_tuning(
    folder: str,
    job_engine: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """That became what the tuning had come to, and nothing that it had measured could be had."""
    one = tuned()
    (one.folder / DONE).unlink()
    for path in (one.folder / ANSWERS).iterdir():
        path.unlink()
    keep, written = atomic_file, []

    def full(path: Path) -> AbstractContextManager[BinaryIO]:
        if path.parent.name == folder:
            written.append(path)
            if len(written) == 2:
                raise write_error(path, OSError(errno.ENOSPC, "No space left on device"))
        return keep(path)

    with monkeypatch.context() as disk:
        for module in ("detached", "looks_kept"):
            disk.setattr(f"gpuexplorer.search.{module}.atomic_file", full)
        assert job_of([str(one.folder)]) == 2
    assert "000001: the disk is full; free some space" in capsys.readouterr().err
    assert not detached.state_of(one).finished
    assert main(["jobs", "continue", one.id]) == 0
    assert main(["jobs", "collect", one.id]) == 0
    assert stored() and not detached.list_detached()


def test_machines_are_asked_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each that was off kept the list for ten seconds."""
    both = threading.Barrier(2, timeout=60.0)
    look = detached.state_of

    def waits(one: Detached, given_up: threading.Event) -> DetachedState:
        both.wait()
        return look(one)

    monkeypatch.setattr(detached, "state_of", waits)
    swept()
    tuned()
    assert main(["jobs"]) == 0


@pytest.mark.parametrize("job", [swept, tuned])
def test_a_job_is_collected_though_its_sources_have_changed_since(
    job: Callable[..., Detached], capsys: pytest.CaptureFixture[str]
) -> None:
    """An update of the program or another edit of a kernel made what was measured unreachable."""
    manifest = f"{MATMUL.source.manifest}\n# as it was\n"
    before = Workload(msgspec.structs.replace(MATMUL.source, manifest=manifest))
    one = job(workload=before)
    assert main(["jobs", "collect", one.id]) == 0
    assert f"job {one.id} was collected whole and is deleted" in capsys.readouterr().err
    with Store.open_to_read() as store:
        (group,) = store.groups()
    asked = group.document
    assert before.sha256 in (asked.get("workload_sha256"), asked.get("source_sha256"))


def test_a_job_of_a_file_is_collected_elsewhere_and_once_the_file_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command read the file again, from the folder in which it was given to collect."""
    for name in ("project", "elsewhere"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "project")
    file = Path("mine.cu")
    file.write_text(TEXTBOOK)
    keep_manifest(file, Answers(reference={"": "A @ B"}, sizes={"N": 64}))
    words = ["sweep", "mine.cu", "--variant", "tiled", "--device", "opencl:0", "--size", "32,64"]
    one = swept(workload=own_workload(file), words=words)
    for left in Path().iterdir():
        left.unlink()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(["jobs", "collect", one.id]) == 0
    assert len(stored()) == 2 and not detached.list_detached()


FILES = ["--json", "s.json", "--csv", "s.csv", "--plot", "s.svg"]


@pytest.mark.parametrize(
    ("job", "named"),
    [(lambda: swept(*FILES), FILES[1::2]), (lambda: tuned(False, *FILES[:2]), FILES[1:2])],
)
def test_a_jobs_files_lie_where_it_was_begun(
    job: Callable[[], Detached], named: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were written wherever it was collected."""
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    for folder in (project, elsewhere):
        folder.mkdir()
    monkeypatch.chdir(project)
    one = job()
    monkeypatch.chdir(elsewhere)
    assert main(["jobs", "collect", one.id]) == 0
    assert sorted(path.name for path in project.iterdir()) == sorted(named)
    assert not list(elsewhere.iterdir()) and stored()


@pytest.mark.parametrize("name", ["mine.db", "sqlite:///mine.db"])
def test_a_jobs_history_is_the_file_that_its_command_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    for folder in (project, elsewhere):
        folder.mkdir()
    monkeypatch.chdir(project)
    one = swept("--history", name)
    monkeypatch.chdir(elsewhere)
    assert main(["jobs", "collect", one.id]) == 0
    assert (project / "mine.db").exists() and not list(elsewhere.iterdir())
    with Store.open_to_read(str(project / "mine.db")) as store:
        assert len(store.groups()) == 1


@pytest.mark.parametrize("known", [True, False])
def test_files_of_a_job_whose_folder_is_gone_are_written_here(
    known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Jobs of earlier versions do not know theirs."""
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    for folder in (project, elsewhere):
        folder.mkdir()
    monkeypatch.chdir(project)
    one = swept("--json", "s.json", "--csv", str(tmp_path / "s.csv"))
    assert one.began_in == str(project)
    if not known:
        detached._note(msgspec.structs.replace(one, began_in=""))
    monkeypatch.chdir(elsewhere)
    project.rmdir()
    assert main(["jobs", "collect", one.id]) == 0
    assert [path.name for path in elsewhere.iterdir()] == ["s.json"]
    assert (tmp_path / "s.csv").exists()
    assert (f"was begun is gone: {project}" in capsys.readouterr().err) == known


def test_a_job_whose_request_cannot_be_read_is_kept_and_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = swept()
    (one.folder / WORK).write_bytes(b"spoiled")
    assert main(["jobs", "collect", one.id]) == 1
    said = capsys.readouterr().err
    assert f"which says what job {one.id} measures, cannot be read; collect it with the" in said
    assert detached.list_detached()


def test_a_job_that_is_to_leave_the_history_alone_can_be_collected(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = swept("--no-history")
    assert main(["jobs", "collect", one.id]) == 0
    assert "the fastest of 2" in capsys.readouterr().out
    assert not detached.list_detached()


def test_a_job_that_began_with_a_dry_run_is_collected_all_the_same() -> None:
    one = swept("--dry-run")
    assert main(["jobs", "collect", one.id]) == 0
    assert len(stored()) == 2 and not detached.list_detached()


def test_a_job_that_nothing_but_a_file_was_to_take_is_kept_where_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    swept("--no-history", "--json", str(tmp_path / "a.json"))
    tuned(False, "--no-history")
    for one in detached.list_detached():
        with monkeypatch.context() as patch:
            patch.setattr("gpuexplorer.cli.delivery.write_document", full)
            patch.setattr("gpuexplorer.cli.tune.print_tuning", full)
            assert main(["jobs", "collect", one.id]) == 1
        assert f"job {one.id} is kept, as it was not collected whole" in capsys.readouterr().err
        assert main(["jobs", "collect", one.id]) == 0
    assert not detached.list_detached()


@pytest.mark.parametrize(
    ("about", "why"),
    [
        (b'{"schema": "gpuexplorer/detached/9", "id": "badc0de0"', "truncated"),
        (b'{"schema": "gpuexplorer/detached/9"}', "missing required field"),
        (None, "it is of another version, 'gpuexplorer/detached/9'"),
    ],
)
def test_a_job_that_cannot_be_read_is_told_and_kept_beside_the_others(
    about: bytes | None, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was left out of the list without a word."""
    one = swept()
    if about is None:
        about = (one.folder / detached.ABOUT).read_bytes().replace(b"detached/1", b"detached/9")
    folder = detached.folder_here() / "badc0de0"
    folder.mkdir()
    (folder / detached.ABOUT).write_bytes(about)
    assert main(["jobs"]) == 0
    said = capsys.readouterr()
    assert one.id in said.out
    assert said.err.count("detached job badc0de0 cannot be read: ") == 1 and why in said.err
    assert f"or delete {folder}" in said.err
    assert main(["jobs", "collect", "badc"]) == 1
    assert "detached job badc0de0 cannot be read: " in capsys.readouterr().err
    assert (folder / detached.ABOUT).read_bytes() == about


def test_a_job_that_died_says_why_and_following_it_fails(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It was called interrupted, and nothing said what had become of it."""
    one = swept()
    (one.folder / DONE).unlink()
    (one.folder / ANSWERS / "000001").unlink()
    (one.folder / "log").write_text("begins\n/data/jobs: No space left on device\n\n")
    said = f"gpuexplorer: the last that job {one.id} said: /data/jobs: No space left on device"
    assert main(["jobs", "follow", one.id]) == 1
    assert capsys.readouterr().err.splitlines()[-2:] == [
        f"gpuexplorer: job {one.id} is interrupted: continue it", said,
    ]  # fmt: skip
    assert main(["jobs"]) == 0
    assert capsys.readouterr().err.splitlines() == [said]


@pytest.mark.parametrize("by", ["its machine", "its user", "the system"])
def test_following_a_job_that_ended_before_it_was_done_fails(
    by: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """``follow && collect`` took for a whole one what ended with its machine or by its user."""
    one = swept()
    assert main(["jobs", "follow", one.id]) == 0
    (one.folder / DONE).unlink()
    (one.folder / ANSWERS / "000001").unlink()
    if by == "its machine":
        (one.folder / "boot").write_text("another boot")
    elif by == "its user":
        assert main(["jobs", "end", one.id]) == 0
    capsys.readouterr()
    assert main(["jobs", "follow", one.id]) == 1
    words = {
        "its machine": "ended with its machine: continue it",
        "its user": "ended: collect or continue it",
        "the system": "interrupted: continue it",
    }
    assert capsys.readouterr().err.splitlines()[-1] == (f"gpuexplorer: job {one.id} is {words[by]}")
