"""The Python package: a source archive, and the wheel that is built from nothing but it."""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from email.message import Message
from email.parser import BytesParser
from pathlib import Path

from builder.errors import BuildError
from builder.files import fresh_folder, write_bytes
from builder.targets import Context, Target
from builder.tools import run

DATA = ("kernels", "resources")
NOT_IN_THE_WHEEL = "resources/screenshots/"
_DEAD = re.compile(r"\]\((?![a-z]+:|#)[^)]*\)")


def build(context: Context) -> list[Path]:
    """Build both; BuildError when a file that the program reads is in neither, or a link is dead.

    What is installed from the archive is the same as what is installed from the wheel.
    """
    work = fresh_folder(context.work / "wheel")
    archive = hatch(context, context.root, work / "sdist")
    tree = unpack(archive, work / "tree")
    wheel = hatch(context, tree, work / "wheel")
    check_names([wheel, archive], context.version)
    check_wheel(wheel, tree)
    made = [context.out / path.name for path in (wheel, archive)]
    for source, target in zip((wheel, archive), made, strict=True):
        write_bytes(target, source.read_bytes())
    return made


def hatch(context: Context, tree: Path, out: Path) -> Path:
    """Build from a tree what ``out`` is called after, wheel or sdist, and return its file."""
    run(
        [sys.executable, "-m", "hatchling", "build", "--target", out.name, "--directory", out],
        cwd=tree,
        env={"SOURCE_DATE_EPOCH": str(context.epoch), "PYTHONDONTWRITEBYTECODE": "1"},
        log=context.work / "wheel.log",
    )
    made = [path for path in out.iterdir() if path.is_file()]
    if len(made) != 1:
        raise BuildError(f"hatchling made {len(made)} files in {out}, not one")
    return made[0]


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a source archive and return the one folder in it."""
    fresh_folder(folder)
    with tarfile.open(archive) as file:
        if hasattr(tarfile, "data_filter"):  # from Python 3.11.4 on; the archive is our own
            file.extractall(folder, filter="data")
        else:
            file.extractall(folder)
    (tree,) = folder.iterdir()
    return tree


def check_names(files: Iterable[Path], version: str) -> None:
    """Raise BuildError unless these are the wheel and the archive of this version."""
    expected = {f"gpuexplorer-{version}-py3-none-any.whl", f"gpuexplorer-{version}.tar.gz"}
    found = {path.name for path in files}
    if found != expected:
        raise BuildError(
            f"{', '.join(sorted(found - expected))} is not what version {version} is called"
        )


def check_wheel(wheel: Path, tree: Path) -> None:
    """Raise BuildError unless all that the program reads is in the wheel, and its page is sound."""
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
        info = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = BytesParser().parsebytes(file.read(info))
    missing = sorted(expected_files(tree) - names)
    if missing:
        raise BuildError(f"{wheel.name} lacks {missing[0]} and {len(missing) - 1} more")
    dead = dead_links(metadata)
    if dead:
        raise BuildError(f"the page of {wheel.name} leads nowhere with {dead[0]}")


def expected_files(tree: Path) -> set[str]:
    """Return what a wheel of this tree must hold: every module and every file that is read."""
    found = set()
    for folder, inside in (("gpuexplorer", ""), *((name, "gpuexplorer/_data/") for name in DATA)):
        for path in (tree / folder).rglob("*"):
            name = path.relative_to(tree).as_posix()
            if path.is_file() and "__pycache__" not in name and not _left_out(name):
                found.add(f"{inside}{name}")
    return found


def _left_out(name: str) -> bool:
    return name.startswith(NOT_IN_THE_WHEEL)


def dead_links(metadata: Message) -> list[str]:
    """Return the links of the long description that are no whole addresses."""
    page = metadata.get_payload()
    return _DEAD.findall(page) if isinstance(page, str) else []


TARGETS = (
    Target(
        name="wheel",
        title="the Python package: wheel and source archive",
        needs=("hatchling",),
        after=(),
        build=build,
    ),
)
