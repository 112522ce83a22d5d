"""The archive: the same bytes whoever packs it, and a program that runs and links from anywhere."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from builder import tarball
from builder.errors import BuildError
from builder.files import copy_tree
from builder.targets import Context

from tests.support.payload import EPOCH, stand_in

NAME = "gpuexplorer-1.2.3-linux-x86_64"
PLACE = "a folder of Zoë's"


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Context, Path]:
    """Return a context and the archive that was built in it."""
    context = stand_in(tmp_path_factory.mktemp("tarball"))
    return context, tarball.build(context)[0]


@pytest.fixture
def unpacked(packed: tuple[Context, Path], tmp_path: Path) -> Path:
    """Return the folder in the archive, unpacked where the path is not plain."""
    place = tmp_path / PLACE
    place.mkdir(parents=True)
    subprocess.run(["tar", "-xf", packed[1], "-C", place], check=True)
    return place / NAME


def test_dates_owners_and_modes_are_nobodys(packed: tuple[Context, Path]) -> None:
    with tarfile.open(packed[1]) as archive:
        members = archive.getmembers()
    assert {member.mtime for member in members} == {EPOCH}
    assert {(member.uid, member.uname) for member in members} == {(0, "root")}
    modes = {m.name.removeprefix(f"{NAME}/"): m.mode & 0o777 for m in members if m.isfile()}
    assert modes["gpuexplorer"] == modes["install.sh"] == 0o755
    assert modes["_internal/naïve data.txt"] == 0o644
    assert not any("__pycache__" in member.name for member in members)
    assert [m.linkname for m in members if m.issym()] == ["libthing.so.1"]


def test_the_same_program_gives_the_same_archive(packed: tuple[Context, Path]) -> None:
    context, first = packed
    before = first.read_bytes()
    assert tarball.build(context)[0].read_bytes() == before


def test_the_readme_says_what_this_build_needs(unpacked: Path) -> None:
    words = (unpacked / "README.txt").read_text(encoding="utf-8")
    assert words.startswith("GPU Explorer 1.2.3 for Linux on x86_64")
    assert "glibc 2.28 or newer" in words


def test_links_are_made_and_taken_back_without_a_trace(unpacked: Path, tmp_path: Path) -> None:
    prefix = tmp_path / "my prefix"
    subprocess.run([unpacked / "install.sh", prefix], check=True, capture_output=True)
    said = subprocess.run(
        [prefix / "bin/gpuexplorer", "devices"], check=True, capture_output=True, text=True
    )
    assert said.stdout == "stand-in devices\n"
    menu = prefix / "share/applications/io.github.gpuexplorer.GPUExplorer.desktop"
    assert f'Exec="{prefix}/bin/gpuexplorer" %f' in menu.read_text(encoding="utf-8")
    assert (prefix / "share/icons/hicolor/scalable/apps/gpuexplorer.svg").is_file()
    others = prefix / "bin/other"
    others.write_text("not ours")
    subprocess.run([unpacked / "install.sh", "--remove", prefix], check=True, capture_output=True)
    ours = ("mimeinfo.cache", "/share/mime/")  # caches that the system's own programs keep
    left = [p for p in prefix.rglob("*") if not p.is_dir() or p.is_symlink()]
    assert [p for p in left if not any(word in str(p) for word in ours)] == [others]


def test_a_prefix_that_is_not_whole_is_refused(unpacked: Path) -> None:
    done = subprocess.run(
        [unpacked / "install.sh", "local"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "not a whole path" in done.stderr


def test_what_leads_out_of_the_program_is_not_packed(tmp_path: Path) -> None:
    context = stand_in(tmp_path)
    (context.frozen / "_internal" / "libc.so").symlink_to("/lib/libc.so.6")
    with pytest.raises(BuildError, match=r"libc\.so leads to"):
        tarball.build(context)
    shutil.rmtree(context.frozen)
    with pytest.raises(BuildError, match="builder frozen"):
        copy_tree(context.frozen, tmp_path / "copy")
