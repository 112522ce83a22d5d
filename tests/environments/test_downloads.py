"""Files that are fetched go on where they were cut off, and count when their hash is right."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.environments import downloads
from gpuexplorer.environments.downloads import fetch, have_B, part_of
from gpuexplorer.environments.pip_settings import PipSettings
from gpuexplorer.environments.plan import Package
from gpuexplorer.environments.progress import Cancelled
from gpuexplorer.environments.web import Web
from tests.support.package_index import PackageIndex
from tests.support.wheels import sha256, small_wheel

SIZE_B = 600_000
NO_SETTINGS = PipSettings()


@pytest.fixture
def index(tmp_path: Path) -> Iterator[PackageIndex]:
    small_wheel(tmp_path / "wheels", "apple", "1.0", size_B=SIZE_B)
    with PackageIndex(tmp_path / "wheels") as serving:
        yield serving


@pytest.fixture
def apple(index: PackageIndex) -> Package:
    (wheel,) = index.folder.glob("*.whl")
    return Package(
        name="apple",
        version="1.0",
        file=wheel.name,
        url=index.address.replace("/simple/", f"/files/{wheel.name}"),
        sha256=sha256(wheel),
        size_B=wheel.stat().st_size,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "downloads"
    made.mkdir()
    return made


def get(
    package: Package,
    folder: Path,
    cancel: threading.Event | None = None,
    settings: PipSettings = NO_SETTINGS,
) -> list[int]:
    told: list[int] = []
    fetch(package, folder, Web(settings), 0, told.append, cancel)
    return told


def test_a_file_arrives_whole_and_is_not_fetched_again(
    index: PackageIndex, apple: Package, folder: Path
) -> None:
    get(apple, folder)
    assert sha256(folder / apple.file) == apple.sha256
    assert [p.name for p in folder.iterdir()] == [apple.file]
    told = get(apple, folder)
    assert index.asked == [(apple.file, 0)]
    assert told[-1] == apple.size_B


def test_what_was_cancelled_half_way_goes_on_from_there(
    index: PackageIndex, apple: Package, folder: Path
) -> None:
    index.hold_after_B = 400_000
    cancel = threading.Event()

    def cancel_half_way() -> None:
        index.held.wait()
        cancel.set()

    threading.Thread(target=cancel_half_way).start()
    with pytest.raises(Cancelled):
        get(apple, folder, cancel)
    there = have_B(folder, apple)
    assert 0 < there < SIZE_B
    index.hold_after_B = None
    index.go_on.set()
    get(apple, folder)
    assert sha256(folder / apple.file) == apple.sha256
    assert index.asked == [(apple.file, 0), (apple.file, there)]


def test_a_connection_that_breaks_is_made_again(
    index: PackageIndex, apple: Package, folder: Path
) -> None:
    index.break_after_B = 200_000
    get(apple, folder)
    assert sha256(folder / apple.file) == apple.sha256
    assert [start > 0 for _, start in index.asked] == [False, True]


def test_a_beginning_of_another_file_is_thrown_away(
    index: PackageIndex, apple: Package, folder: Path
) -> None:
    part_of(folder, apple).write_bytes(b"?" * 1000)
    get(apple, folder)
    assert sha256(folder / apple.file) == apple.sha256
    assert index.asked == [(apple.file, 1000), (apple.file, 0)]


def test_a_part_that_is_longer_than_the_file_is_thrown_away(
    index: PackageIndex, apple: Package, folder: Path
) -> None:
    part_of(folder, apple).write_bytes(b"?" * (SIZE_B * 2))
    get(apple, folder)
    assert sha256(folder / apple.file) == apple.sha256


def test_a_whole_file_that_was_changed_is_fetched_again(
    index: PackageIndex, apple: Package, folder: Path
) -> None:
    (folder / apple.file).write_bytes(b"not what it was")
    get(apple, folder)
    assert sha256(folder / apple.file) == apple.sha256


def test_a_file_that_is_not_what_its_hash_says_is_refused_by_name(
    index: PackageIndex, apple: Package, folder: Path
) -> None:
    wheel = index.folder / apple.file
    wheel.write_bytes(wheel.read_bytes()[::-1])
    with pytest.raises(WorkFailed) as refused:
        get(apple, folder)
    assert refused.value.what.startswith(f"{apple.file} is refused: it is not what the index says")
    assert list(folder.iterdir()) == []


def test_a_server_that_is_gone_is_said_with_what_helps(
    index: PackageIndex, apple: Package, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "ATTEMPTS", 1)
    (index.folder / apple.file).unlink()
    with pytest.raises(WorkFailed, match=r"cannot be fetched: .*Not Found; check the network"):
        get(apple, folder)


def test_a_server_that_asks_who_that_is_gets_the_password_of_its_index(
    index: PackageIndex, apple: Package, folder: Path
) -> None:
    index.password = "secret"
    with pytest.raises(WorkFailed, match=r"401 .*give pip what the server asks for.*--from"):
        get(apple, folder)
    get(apple, folder, settings=PipSettings(index=index.address))
    assert sha256(folder / apple.file) == apple.sha256
