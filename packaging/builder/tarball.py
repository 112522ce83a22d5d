"""The plain archive for Linux: a folder that runs wherever it is unpacked."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

from builder.errors import BuildError
from builder.files import (
    EXECUTABLE,
    copy_tree,
    entries,
    fresh_folder,
    settle,
    write_bytes,
    write_text,
)
from builder.linux_metadata import write_share
from builder.system_libraries import oldest_glibc
from builder.targets import Context, Target
from builder.tools import run

FEWEST_THREADS = 2
"""With one alone, xz writes other bytes than with any other number."""


def build(context: Context) -> list[Path]:
    """Build the archive from the frozen program; BuildError in a sentence."""
    name = f"gpuexplorer-{context.version}-linux-{context.arch}"
    folder = fresh_folder(context.work / "tarball") / name
    lay_out(context, folder)
    return [pack(folder, context.out / f"{name}.tar.xz", context.epoch)]


def lay_out(context: Context, folder: Path) -> None:
    """Put everything that is unpacked into the folder."""
    copy_tree(context.frozen, folder)
    if not (folder / "gpuexplorer").is_file():
        raise BuildError(f"{context.frozen} holds no program; build it: builder frozen")
    write_share(context, folder / "share")
    linux = context.root / "packaging" / "linux"
    readme = (linux / "tarball-README.txt").read_text(encoding="utf-8")
    words = {"VERSION": context.version, "ARCH": context.arch, "GLIBC": oldest_glibc(folder)}
    for word, value in words.items():
        readme = readme.replace(word, value)
    write_text(folder / "README.txt", readme)
    write_bytes(folder / "LICENSE", (context.root / "LICENSE").read_bytes())
    write_bytes(folder / "install.sh", (linux / "install.sh").read_bytes(), EXECUTABLE)


def pack(folder: Path, target: Path, epoch: int) -> Path:
    """Pack the folder under its own name, owned by nobody in particular; return the archive."""
    settle(folder, epoch)
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = folder.parent / target.name.removesuffix(".xz")
    with tarfile.open(fresh, "w", format=tarfile.PAX_FORMAT) as archive:
        for path in [folder, *entries(folder)]:
            name = path.relative_to(folder.parent).as_posix()
            archive.add(path, name, recursive=False, filter=_nobody)
    threads = max(FEWEST_THREADS, os.cpu_count() or 1)
    run(["xz", "--force", "-6", f"--threads={threads}", fresh])
    packed = fresh.with_name(target.name)
    moved = target.with_name(f".{target.name}.new")
    moved.write_bytes(packed.read_bytes())  # the two folders may lie on two file systems
    moved.replace(target)
    packed.unlink()
    return target


def _nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


TARGETS = (
    Target(
        name="tarball",
        title="an archive for any Linux",
        needs=("linux", "xz"),
        after=("frozen",),
        build=build,
    ),
)
