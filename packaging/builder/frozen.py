"""The frozen program: PyInstaller makes a folder that needs no Python, and it tests itself."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from builder import contents
from builder.errors import BuildError
from builder.files import fresh_folder
from builder.frozen_check import problems, try_out
from builder.notices import write_beside
from builder.targets import Context, Target
from builder.tools import run, this_platform

SPEC = "packaging/gpuexplorer.spec"
NEEDS_OF_LINUX = ("objdump", "strip")


def build(context: Context) -> list[Path]:
    """Build ``build/frozen/gpuexplorer`` and have it test itself; BuildError when either fails."""
    log = context.work / "frozen.log"
    log.unlink(missing_ok=True)
    fresh = fresh_folder(context.work / "frozen.new")
    environment = {
        "SOURCE_DATE_EPOCH": str(context.epoch),
        "PYTHONHASHSEED": "0",
    }
    if this_platform() != "linux":
        environment[contents.ICON_VARIABLE] = str(_icon(context))
    run(
        [
            sys.executable, "-m", "PyInstaller", context.root / SPEC, "--noconfirm",
            "--log-level", "WARN",
            "--distpath", fresh,
            "--workpath", context.work / "pyinstaller",
        ],
        cwd=context.root,
        env=environment,
        log=log,
    )  # fmt: skip
    made = fresh / context.frozen.name
    strip_python(made, log)
    found = problems(made, context.root)
    if found:
        raise BuildError(f"{made} is not whole: {'; '.join(found)}; see {log}")
    try_out(made, context.version, log)
    write_beside(context, made)
    context.frozen.parent.mkdir(parents=True, exist_ok=True)
    for entry in sorted(fresh.iterdir()):  # on macOS the app, too
        target = context.frozen.with_name(entry.name)
        shutil.rmtree(target, ignore_errors=True)
        entry.rename(target)
    fresh.rmdir()
    return [context.frozen]


def strip_python(folder: Path, log: Path) -> None:
    """Take the debugger's tables out of Python's own libraries, as they are on Linux.

    Nothing else is touched: wheels come stripped, and a licence may forbid it.
    """
    if this_platform() != "linux":
        return
    internal = folder / "_internal"
    own = [*internal.glob("libpython3*.so*"), *internal.glob("python3.*/lib-dynload/*.so")]
    if own:
        run(["strip", "--strip-unneeded", *sorted(own)], log=log)


def _icon(context: Context) -> Path:
    from builder.icons import write_icons  # needs Qt, which is imported where it is used

    folder = context.work / "icons"
    write_icons(context.root / "resources" / "icons" / "gpuexplorer.svg", folder)
    return folder / ("gpuexplorer.ico" if this_platform() == "windows" else "gpuexplorer.icns")


TARGETS = (
    Target(
        name="frozen",
        title="the program without a Python of the user's",
        needs=("PyInstaller", *(NEEDS_OF_LINUX if this_platform() == "linux" else ())),
        after=(),
        build=build,
    ),
)
