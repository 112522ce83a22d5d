"""The sums of everything that is given out, in a file that sha256sum checks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from builder.errors import BuildError
from builder.files import sha256, write_text
from builder.targets import Context, Target

NAME = "SHA256SUMS"


def build(context: Context) -> list[Path]:
    """Write the sums of all files in the folder of packages; BuildError when there are none."""
    files = given_out(context.out)
    if not files:
        raise BuildError(f"{context.out} holds no packages yet; build them: make package")
    target = context.out / NAME
    write_text(target, sums(files))
    return [target]


def given_out(folder: Path) -> list[Path]:
    """Return the files for users, sorted by name: what is hidden is being written."""
    if not folder.is_dir():
        return []
    return sorted(
        path
        for path in folder.iterdir()
        if path.is_file() and path.name != NAME and not path.name.startswith(".")
    )


def sums(files: Iterable[Path]) -> str:
    """Return a line for each file: its SHA-256, two spaces, its name."""
    return "".join(f"{sha256(path)}  {path.name}\n" for path in files)


TARGETS = (
    Target(
        name="checksums",
        title="the sums of all packages (whatever lies in the folder of packages)",
        needs=(),
        after=(),
        build=build,
    ),
)
