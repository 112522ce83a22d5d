"""A disk that is full, while files are fetched and while they are installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuexplorer.calibration.store import ENVIRONMENT_VARIABLE
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.engine.checking import EngineReport
from gpuexplorer.environments.create import SetUpProgress, create
from gpuexplorer.environments.disk import no_space, says_full
from gpuexplorer.environments.kinds import Kind
from gpuexplorer.environments.managed import list_managed
from gpuexplorer.environments.plan import Source, plan
from gpuexplorer.environments.pythons import FoundPython
from gpuexplorer.environments.verify import Verified
from tests.support.engine_wheels import downloads_B
from tests.support.package_index import PackageIndex
from tests.support.wheels import small_wheel, write_sums

TINY = Kind(name="tiny", title="Tiny", teaches="Nothing.", requirements=("apple",))
DISK_B = 24_000_000
WHEEL_B = 4_000_000


class Disk:
    """A disk of its own, or where that cannot be had, a limit on the length of a file."""

    def __init__(self, folder: Path, mounted: bool) -> None:
        self.folder, self._mounted = folder, mounted
        self._limits: tuple[int, int] | None = None

    def fill(self) -> None:
        """Leave room for next to nothing; a second time changes nothing."""
        if self._mounted:
            filler = self.folder / "filler"
            if not filler.exists():
                free_B = shutil.disk_usage(self.folder).free - 200_000
                filler.write_bytes(bytes(max(0, free_B)))
        elif self._limits is None:
            import resource

            self._limits = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, self._limits[1]))

    def empty(self) -> None:
        """Make room again."""
        (self.folder / "filler").unlink(missing_ok=True)
        if self._limits is not None:
            import resource

            resource.setrlimit(resource.RLIMIT_FSIZE, self._limits)
            self._limits = None


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_B}", "tmpfs", str(folder)]
    root = sys.platform == "linux" and os.geteuid() == 0
    mounted = root and subprocess.run(mount, capture_output=True, check=False).returncode == 0
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(folder / "data"))
    usable = EngineReport(name="x", path="x")
    monkeypatch.setattr(
        "gpuexplorer.environments.create.verify", lambda *_: Verified(engine=usable)
    )
    made = Disk(folder, mounted)
    yield made
    made.empty()
    if mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    small_wheel(folder, "apple", "1.0", size_B=WHEEL_B)
    write_sums(folder)
    return folder


def says_how_much(error: WorkFailed) -> float:
    """Return the megabytes that are said to be missing."""
    told = re.search(r"the disk with \S+ is full: about ([\d.]+) MB are missing", error.what)
    assert told, error.what
    assert "\n" not in str(error)
    return float(told[1])


def test_full_while_it_downloads(
    disk: Disk, wheels: Path, python: FoundPython, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PackageIndex(wheels) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.address)
        planned = plan(TINY, python)

        def fill(progress: SetUpProgress) -> None:
            if progress.phase == "download" and progress.done_B == 0:
                disk.fill()

        with pytest.raises(WorkFailed) as full:
            create(planned, "tiny", fill)
        assert says_how_much(full.value) > 0.9
        assert "free so much and start again; what is downloaded is kept" in full.value.remedy
        disk.empty()
        assert downloads_B() > 0
        index.asked.clear()
        assert create(plan(TINY, python), "tiny").ready
        assert index.asked[-1][1] > 0


def test_full_while_it_installs(disk: Disk, wheels: Path, python: FoundPython) -> None:
    planned = plan(TINY, python, Source(folder=wheels))

    def fill(progress: SetUpProgress) -> None:
        if progress.words == "0 of 1 packages":
            disk.fill()

    with pytest.raises(WorkFailed) as full:
        create(planned, "tiny", fill)
    assert says_how_much(full.value) > 0.9
    disk.empty()
    (left,) = list_managed()
    assert not left.ready
    assert not (Path(left.path) / "bin").exists()
    assert create(planned, "tiny").ready


def test_what_cannot_fit_is_refused_before_anything_is_fetched(
    disk: Disk, wheels: Path, python: FoundPython, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuexplorer.environments.create.free_B", lambda folder: 1_000_000)
    monkeypatch.setattr("gpuexplorer.environments.disk.free_B", lambda folder: 1_000_000)
    with PackageIndex(wheels) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.address)
        planned = plan(TINY, python)
        index.asked.clear()
        with pytest.raises(WorkFailed) as full:
            create(planned, "tiny")
        assert index.asked == []
    missing = (planned.download_B + planned.installed_B - 1_000_000) / 1e6
    assert says_how_much(full.value) == pytest.approx(missing, rel=0.05)
    assert "is downloaded" not in full.value.remedy


@pytest.mark.parametrize(
    "said",
    [
        "  cause: failed to write to file `/x/y.bin`: No space left on device (os error 28)",
        "  cause: Quota exceeded (os error 122)",
        "  cause: There is not enough space on the disk. (os error 112)",
        "  cause: File too large (os error 27)",
    ],
)
def test_what_uv_says_of_a_full_disk_is_understood(said: str, tmp_path: Path) -> None:
    assert says_full(said)
    assert not says_full("error: Because there is no version of apple==28")
    assert "about 1.00 MB are missing" in str(no_space(tmp_path, 0))
