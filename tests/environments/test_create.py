"""An environment from its first file to its last: made, cut off in every step, used, removed."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.interpreters import Interpreters
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.environments.create import PHASES, SetUpProgress, _unpacked, create
from gpuexplorer.environments.journal import FILE, Journal, Managed, engines_folder
from gpuexplorer.environments.kinds import Kind
from gpuexplorer.environments.managed import (
    clean_up,
    disk_use,
    find_managed,
    free_name,
    list_managed,
    remove,
)
from gpuexplorer.environments.one_at_a_time import one_at_a_time
from gpuexplorer.environments.plan import EnvironmentPlan, Package, Source, plan
from gpuexplorer.environments.progress import Cancelled, check
from gpuexplorer.environments.pythons import FoundPython
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load
from tests.support.engine_wheels import downloads_B
from tests.support.package_index import PackageIndex
from tests.support.wheels import sha256, small_wheel, tamper

TINY = Kind(name="tiny", title="Tiny", teaches="Nothing.", requirements=("apple",))
KILLED_IN = """
import os, pickle, signal, sys
from gpuexplorer.environments.create import create

phase, planned = sys.argv[1], pickle.loads(sys.stdin.buffer.read())

def on_progress(progress):
    half = progress.done_B > progress.total_B // 2 or phase != "download"
    if progress.phase == phase and half and not progress.words.startswith("making"):
        os.kill(os.getpid(), signal.SIGKILL)

create(planned, "sturdy", on_progress)
"""


def test_killed_in_every_step_it_goes_on_and_is_an_engine_in_the_end(
    engine_wheels: Path,
    engine_kind: Kind,
    python: FoundPython,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with PackageIndex(engine_wheels) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.address)
        planned = plan(engine_kind, python)
        for phase in PHASES:
            index.asked.clear()
            killed = subprocess.run(
                [sys.executable, "-c", KILLED_IN, phase],
                input=pickle.dumps(planned), capture_output=True, check=False,
            )  # fmt: skip
            assert killed.returncode == -9, killed.stderr.decode()
            fetched = [file for file, _ in index.asked]
            (left,) = list_managed()
            assert (left.name, left.ready) == ("sturdy", False)
            assert Interpreters().read().engines == {}
        assert fetched == []  # the second attempt had fetched it all
        told: list[SetUpProgress] = []
        made = create(planned, "sturdy", told.append)
        assert {one.phase for one in told} == {"verify"}
    assert (made.ready, made.verified, made.problem) == (True, None, "")
    assert set(made.packages) == {"msgspec", "numpy", "platformdirs", "psutil", "simpleeval"}
    assert list_managed() == [made]
    assert downloads_B() == 0
    assert {p.name for p in place.iterdir()} == {".downloads", ".lock", "sturdy"}
    used = _measure_in("sturdy")
    assert used == "sturdy"
    _removed("sturdy", place)


def _measure_in(word: str) -> str | None:
    workload = load()["matmul"]
    with EngineSession(python=word, threads=1) as session:
        request = RunRequest(workload="matmul", variant="numpy", device="numpy:cpu", size={"N": 64})
        config = complete(request, workload, session.devices())
        result = session.measure(config, workload, RunOptions(seconds=0.05)).result()
    assert result.verification is not None
    assert result.verification.ok
    return result.environment.engine


def _removed(name: str, place: Path) -> None:
    assert find_managed(name) is not None
    assert free_name(name) == f"{name}-2"
    Interpreters().choose(name)
    size_B = disk_use(name)
    assert size_B > 10_000_000
    assert remove(name) == size_B
    assert list_managed() == []
    assert Interpreters().read().engines == {}
    assert Interpreters().default is None
    assert not (place / name).exists()
    with pytest.raises(InputError, match=f"no environment '{name}'"):
        remove(name)


# ---- with wheels of nothing, and an engine that is not started


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    small_wheel(folder, "apple", "1.0", size_B=1_500_000, requires="pear")
    small_wheel(folder, "pear", "2.0", size_B=500_000)
    return folder


def of_folder(wheels: Path, python: FoundPython) -> EnvironmentPlan:
    """Return what ``plan`` makes of the folder; uv is not asked each time."""
    packages = [
        Package(
            name=path.name.split("-")[0],
            version=path.name.split("-")[1],
            file=path.name,
            url=path.as_uri(),
            sha256=sha256(path),
            size_B=path.stat().st_size,
            vouched_by="SHA256SUMS",
        )
        for path in sorted(wheels.glob("*.whl"))
    ]
    return EnvironmentPlan(
        kind=TINY,
        python=python,
        source=Source(folder=wheels),
        packages=tuple(packages),
        folder=engines_folder(),
        installed_B=sum(one.size_B or 0 for one in packages),
    )


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Have the engine be as a test says instead of starting it; '' means that it can be used."""
    from gpuexplorer.engine.checking import EngineReport
    from gpuexplorer.environments.verify import Verified

    def say(problem: str) -> None:
        report = EngineReport(name="x", path="x", problem=problem or None)

        def verify(
            word: str, kind: Kind, on_step: object, cancel: threading.Event | None
        ) -> Verified:
            check(cancel)  # as before its engine is heard
            return Verified(engine=report)

        monkeypatch.setattr("gpuexplorer.environments.create.verify", verify)

    say("")
    return say


@pytest.mark.usefixtures("verified")
def test_cancelled_half_way_it_goes_on_with_what_is_there(
    wheels: Path, python: FoundPython, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancel = threading.Event()
    with PackageIndex(wheels) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.address)
        planned = plan(TINY, python)
        index.hold_after_B = 800_000
        index.asked.clear()

        def on_progress(progress: SetUpProgress) -> None:
            if progress.done_B > 700_000:
                cancel.set()

        with pytest.raises(Cancelled):
            create(planned, "tiny", on_progress, cancel)
        (left,) = list_managed()
        assert (left.ready, left.problem) == (False, "")
        assert downloads_B() > 700_000
        assert free_name("tiny") == "tiny"
        index.hold_after_B = None
        again = plan(TINY, python)
        assert again.have_B == downloads_B()
        assert again.download_B == planned.download_B - again.have_B
        index.asked.clear()
        told: list[SetUpProgress] = []
        made = create(again, "tiny", told.append)
    assert [start > 0 for _, start in index.asked] == [True, False]
    assert made.ready
    assert made.packages == {"apple": "1.0", "pear": "2.0"}
    phases = list(dict.fromkeys(one.phase for one in told))
    assert phases == ["download", "install"]
    assert all(0 <= one.done_B <= one.total_B for one in told)


@pytest.mark.usefixtures("verified")
def test_cancelled_while_it_installs_it_goes_on_where_that_was(
    wheels: Path, python: FoundPython, place: Path
) -> None:
    cancel = threading.Event()
    planned = of_folder(wheels, python)

    def on_progress(progress: SetUpProgress) -> None:
        if progress.phase == "install":
            cancel.set()

    with pytest.raises(Cancelled):
        create(planned, "tiny", on_progress, cancel)
    assert {path.name for path in place.iterdir()} == {".downloads", ".lock", "tiny"}
    assert create(planned, "tiny").ready
    assert list((place / "tiny").glob("**/site-packages/pear/__init__.py"))


@pytest.mark.usefixtures("verified")
def test_what_is_unpacked_is_seen_where_uv_keeps_it_until_all_of_it_is(
    wheels: Path, python: FoundPython, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned, kept = of_folder(wheels, python), tmp_path / "kept"
    kept.mkdir()
    names = [one.name for one in planned.packages]
    assert _unpacked(kept, names) == []
    monkeypatch.setattr("gpuexplorer.environments.create._working", lambda *_: nullcontext(kept))
    create(planned, "tiny")
    assert _unpacked(kept, names) == names


@pytest.mark.usefixtures("verified")
def test_a_tampered_wheel_is_refused_by_its_name(wheels: Path, python: FoundPython) -> None:
    planned = of_folder(wheels, python)
    wheel = next(wheels.glob("pear-*"))
    tamper(wheel)
    with pytest.raises(WorkFailed) as refused:
        create(planned, "tiny")
    assert refused.value.what.startswith(f"{wheel.name} is refused: it is not what SHA256SUMS says")
    (left,) = list_managed()
    assert wheel.name in left.problem
    assert not left.ready
    assert Interpreters().read().engines == {}


@pytest.mark.usefixtures("verified")
def test_the_password_of_an_index_is_used_for_its_files(
    wheels: Path, python: FoundPython, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PackageIndex(wheels) as index:
        index.password = "secret"
        monkeypatch.setenv("PIP_INDEX_URL", index.address)
        assert create(plan(TINY, python), "tiny").ready


def test_one_that_cannot_be_an_engine_says_so_and_is_made_anew(
    wheels: Path, python: FoundPython, verified: Callable[[str], None]
) -> None:
    planned = of_folder(wheels, python)
    verified("it lacks numpy")
    with pytest.raises(WorkFailed, match="'tiny' was installed, but it lacks numpy"):
        create(planned, "tiny")
    (left,) = list_managed()
    assert "lacks numpy" in left.problem
    verified("")
    told: list[SetUpProgress] = []
    assert create(planned, "tiny", told.append).problem == ""
    assert "install" in {one.phase for one in told}


@pytest.mark.usefixtures("verified")
def test_a_name_that_is_taken_is_refused(wheels: Path, python: FoundPython, place: Path) -> None:
    planned = of_folder(wheels, python)
    Interpreters().add("other", sys.executable)
    with pytest.raises(InputError, match="there is an engine 'other' already"):
        create(planned, "other")
    (place / "foreign").mkdir()
    (place / "foreign" / "diary.txt").write_text("mine")
    with pytest.raises(InputError, match="is there already, and was not made here"):
        create(planned, "foreign")
    with pytest.raises(InputError, match="no name for an engine"):
        create(planned, "../up")
    create(planned, "tiny")
    with pytest.raises(InputError, match="there is an environment 'tiny' already"):
        create(planned, "tiny")
    assert (place / "foreign" / "diary.txt").exists()


@pytest.mark.usefixtures("verified")
def test_two_programs_do_not_meet(wheels: Path, python: FoundPython, place: Path) -> None:
    planned = of_folder(wheels, python)
    with one_at_a_time(place):
        for work in (lambda: create(planned, "tiny"), clean_up):
            with pytest.raises(WorkFailed, match="another GPU Explorer is making or removing"):
                work()
    assert create(planned, "tiny").ready


def test_what_is_unfinished_is_cleaned_up(
    wheels: Path, python: FoundPython, monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    assert clean_up() == 0
    cancel = threading.Event()
    with PackageIndex(wheels) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.address)
        planned = plan(TINY, python)

        def on_progress(progress: SetUpProgress) -> None:
            if progress.words.startswith("pear"):
                cancel.set()

        with pytest.raises(Cancelled):
            create(planned, "tiny", on_progress, cancel)
    for left_behind in (".removed-old-1234", ".pip", ".uv-1234"):
        (place / left_behind).mkdir()
    assert clean_up() > 1_500_000
    assert list_managed() == []
    assert [p.name for p in place.iterdir()] == [".lock"]


@pytest.mark.usefixtures("verified")
def test_what_was_not_made_here_or_by_another_version_stays(
    wheels: Path, python: FoundPython, place: Path
) -> None:
    """Cleaning up deleted it, finished environments of a newer version among it."""
    create(of_folder(wheels, python), "newer")
    journal = place / "newer" / FILE
    journal.write_text(journal.read_text().replace("environment/1", "environment/2"))
    (place / "foreign").mkdir()
    (place / "foreign" / "diary.txt").write_text("mine")
    assert clean_up() == 0
    for name, file in (("newer", FILE), ("foreign", "diary.txt")):
        with pytest.raises(InputError, match=f"no environment '{name}' that was made here"):
            remove(name)
        assert (place / name / file).exists()
    assert list_managed() == []


def test_cleaning_up_that_was_killed_half_way_is_done_the_next_time(
    monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    made = Managed(name="tiny", kind="tiny", title="", path=str(place / "tiny"), ready=False)
    (place / "tiny").mkdir(parents=True)
    Journal(step="download", key="", environment=made).write()
    (place / "tiny" / "left").write_bytes(bytes(100))

    def killed(folder: Path) -> None:
        (folder / FILE).unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            clean_up()
    assert clean_up() >= 100
    assert [p.name for p in place.iterdir()] == [".lock"]
