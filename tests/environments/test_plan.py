"""What would be fetched, before anything is."""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec
import pytest

from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.environments.kinds import Kind
from gpuexplorer.environments.plan import Source, plan
from gpuexplorer.environments.progress import Cancelled
from gpuexplorer.environments.pythons import FoundPython
from tests.support.package_index import PackageIndex
from tests.support.wheels import sha256, small_wheel, tamper, write_sums

KIND = Kind(name="tiny", title="Tiny", teaches="Nothing.", requirements=("apple>=1",))


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """Wheels of which one needs another, and a third that nobody needs."""
    folder = tmp_path / "wheels"
    small_wheel(folder, "apple", "1.0", size_B=1000)
    small_wheel(folder, "apple", "2.0", size_B=100_000, requires="pear")
    small_wheel(folder, "pear", "3.1", size_B=5000)
    small_wheel(folder, "plum", "1.0")
    return folder


def with_lock(folder: Path, wheel: Path, version: str, digest: str) -> Kind:
    lock = folder / "tiny.lock"
    lock.write_text(
        'kind = "tiny"\nrequirements = ["apple>=1"]\n[[packages]]\nname = "apple"\n'
        f'version = "{version}"\nwheels = [{{ file = "{wheel.name}", sha256 = "{digest}" }}]\n'
    )
    return msgspec.structs.replace(KIND, lock=lock)


def test_a_folders_wheels_are_chosen_and_sized(
    wheels: Path, python: FoundPython, place: Path
) -> None:
    write_sums(wheels)
    found = plan(KIND, python, Source(folder=wheels))
    assert [(p.name, p.version, p.vouched_by) for p in found.packages] == [
        ("apple", "2.0", "SHA256SUMS"), ("pear", "3.1", "SHA256SUMS"),
    ]  # fmt: skip
    apple = found.packages[0]
    file = wheels / apple.file
    assert (apple.local, apple.size_B, apple.sha256) == (file, file.stat().st_size, sha256(file))
    assert found.total_B == sum(p.size_B or 0 for p in found.packages)
    assert found.download_B == 0
    assert 105_000 < found.installed_B < found.total_B
    assert found.free_B > found.needs_B
    assert found.folder == place
    assert not place.exists()


def test_a_wheel_that_nothing_vouches_for_is_refused(wheels: Path, python: FoundPython) -> None:
    with pytest.raises(InputError, match=r"nothing vouches for apple-2\.0-.*sha256sum"):
        plan(KIND, python, Source(folder=wheels))


def test_a_lock_pins_the_version_and_vouches_for_it(
    wheels: Path, python: FoundPython, tmp_path: Path
) -> None:
    older = next(wheels.glob("apple-1.0-*"))
    found = plan(with_lock(tmp_path, older, "1.0", sha256(older)), python, Source(folder=wheels))
    assert [(p.version, p.vouched_by) for p in found.packages] == [("1.0", "lock")]


def test_a_folder_that_lacks_something_says_what(wheels: Path, python: FoundPython) -> None:
    next(wheels.glob("pear-*")).unlink()
    next(wheels.glob("apple-1.0-*")).unlink()  # which would do without
    write_sums(wheels)
    with pytest.raises(WorkFailed, match=r"do not do for 'Tiny'.*pear"):
        plan(KIND, python, Source(folder=wheels))


def test_a_broken_wheel_is_named(wheels: Path, python: FoundPython) -> None:
    write_sums(wheels)
    broken = next(wheels.glob("apple-2.0-*"))
    broken.write_bytes(broken.read_bytes()[:-100])
    with pytest.raises(WorkFailed, match=r"apple-2\.0-\S+ is refused: .* SHA256SUMS says"):
        plan(KIND, python, Source(folder=wheels))


def test_no_folder_is_said(tmp_path: Path, python: FoundPython) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        plan(KIND, python, Source(folder=tmp_path / "nowhere"))


def test_an_indexs_wheels_are_sized_by_their_server(
    wheels: Path, python: FoundPython, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PackageIndex(wheels) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.address)
        found = plan(KIND, python)
        assert {p.name: p.size_B for p in found.packages} == {
            p.name: (wheels / p.file).stat().st_size for p in found.packages
        }
        assert {p.vouched_by for p in found.packages} == {"index"}
        assert found.download_B == found.total_B > 100_000


def test_an_index_that_serves_another_file_than_the_lock_names_is_refused(
    wheels: Path, python: FoundPython, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = next(wheels.glob("apple-1.0-*"))
    kind = with_lock(tmp_path, wheel, "1.0", sha256(wheel))
    tamper(wheel)
    with PackageIndex(wheels) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.address)
        with pytest.raises(WorkFailed, match=r"apple-1\.0-\S+ is refused: .*lock file says"):
            plan(kind, python)


def test_an_index_that_nobody_serves_is_said(python: FoundPython) -> None:
    with pytest.raises(
        WorkFailed, match=r"index cannot be reached; check the network, or .*--from"
    ):
        plan(KIND, python)


def test_planning_can_be_cancelled(wheels: Path, python: FoundPython) -> None:
    write_sums(wheels)
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        plan(KIND, python, Source(folder=wheels), cancel)


def test_a_python_that_cannot_be_used_is_refused(python: FoundPython) -> None:
    with pytest.raises(InputError, match="too old; choose another Python"):
        plan(KIND, msgspec.structs.replace(python, problem="it is too old"))


def test_what_a_kind_does_without_stands_in_its_plan(
    wheels: Path, python: FoundPython, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sums(wheels)
    lacking = {"apple": "it has no wheel", "cherry": "it has no wheel either"}
    monkeypatch.setattr("gpuexplorer.environments.plan.missing_of", lambda *_: lacking)
    found = plan(KIND, python, Source(folder=wheels))
    assert found.left_out == {"cherry": "it has no wheel either"}, "an apple is among the wheels"


def test_a_kind_without_wheels_for_a_python_is_refused_before_uv_is_asked(
    wheels: Path, python: FoundPython, tmp_path: Path
) -> None:
    locked = with_lock(tmp_path, next(wheels.glob("apple-1.0-*")), "1.0", "0" * 64)
    older = msgspec.structs.replace(locked, newest_python=(3, 10))
    with pytest.raises(InputError, match=r"'tiny' cannot be made with Python .*up to 3\.10"):
        plan(older, python, Source(folder=wheels))
