"""The AppDir: it starts from any path, as a folder or through a link, and is never written to."""

from __future__ import annotations

import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from builder import appimage

from tests.support.payload import EPOCH, stand_in


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an AppDir with the stand-in program."""
    return appimage.build_appdir(stand_in(tmp_path_factory.mktemp("appdir")))[0]


def started(program: Path, *words: str) -> str:
    """Run a program in no folder of its own and return what it says."""
    return subprocess.run(
        [program, *words], check=True, capture_output=True, text=True, cwd="/"
    ).stdout


def test_it_starts_from_a_path_that_is_not_plain_and_through_a_link(
    folder: Path, tmp_path: Path
) -> None:
    place = tmp_path / "Zoë's «programs» $HOME"
    shutil.copytree(folder, place, symlinks=True)
    assert started(place / "AppRun", "run", "two words") == "stand-in run two words\n"
    link = tmp_path / "link"
    link.symlink_to(place / "AppRun")
    assert started(link, "devices") == "stand-in devices\n"
    assert started(place / "usr/bin/gpuexplorer") == "stand-in \n"


def test_it_has_what_appimagetool_looks_for(folder: Path) -> None:
    entries = [path.name for path in folder.glob("*.desktop")]
    assert entries == ["io.github.gpuexplorer.GPUExplorer.desktop"]
    assert "Icon=gpuexplorer\n" in (folder / entries[0]).read_text(encoding="utf-8")
    assert (folder / "gpuexplorer.png").read_bytes() == (folder / ".DirIcon").read_bytes()
    assert stat.S_IMODE((folder / "AppRun").stat().st_mode) == 0o755
    assert {path.lstat().st_mtime for path in folder.rglob("*")} == {EPOCH}
