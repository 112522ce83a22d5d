"""The AppDir, which runs from any folder, and the AppImage, which is that folder in one file."""

from __future__ import annotations

from pathlib import Path

from builder.errors import BuildError
from builder.files import EXECUTABLE, copy_tree, fresh_folder, settle, write_bytes
from builder.icons import SVG, draw
from builder.linux_metadata import DESKTOP_FILE, write_share
from builder.targets import Context, Target
from builder.tools import run

ICON_EDGE = 256
"""The edge in pixels of the picture that file managers show."""


def appdir(context: Context) -> Path:
    """Return the AppDir's place."""
    return context.work / "GPU_Explorer.AppDir"


def build_appdir(context: Context) -> list[Path]:
    """Build the AppDir from the frozen program; BuildError in a sentence."""
    folder = fresh_folder(appdir(context))
    program = folder / "usr/lib/gpuexplorer"
    copy_tree(context.frozen, program)
    if not (program / "gpuexplorer").is_file():
        raise BuildError(f"{context.frozen} holds no program; build it: builder frozen")
    launcher = folder / "usr/bin/gpuexplorer"
    launcher.parent.mkdir(parents=True)
    launcher.symlink_to("../lib/gpuexplorer/gpuexplorer")
    write_share(context, folder / "usr/share")
    start = (context.root / "packaging/linux/AppRun").read_bytes()
    write_bytes(folder / "AppRun", start, EXECUTABLE)
    (folder / DESKTOP_FILE).symlink_to(f"usr/share/applications/{DESKTOP_FILE}")
    picture = draw(context.root / SVG, [ICON_EDGE])[ICON_EDGE]
    write_bytes(folder / "gpuexplorer.png", picture.png)
    (folder / ".DirIcon").symlink_to("gpuexplorer.png")
    settle(folder, context.epoch)
    return [folder]


def build_appimage(context: Context) -> list[Path]:
    """Pack the AppDir with ``appimagetool``; BuildError in a sentence."""
    target = context.out / f"GPU_Explorer-{context.version}-{context.arch}.AppImage"
    fresh = context.work / target.name
    context.out.mkdir(parents=True, exist_ok=True)
    # It gives the image a date of its own, always the same one, and some releases of it fail when
    # they are told another.
    command = ["env", "-u", "SOURCE_DATE_EPOCH", "appimagetool", "--no-appstream"]
    run(
        [*command, appdir(context), fresh],
        env={"ARCH": context.arch, "VERSION": context.version},
        log=context.work / "appimage.log",
    )
    write_bytes(target, fresh.read_bytes(), EXECUTABLE)
    fresh.unlink()
    return [target]


TARGETS = (
    Target(
        name="appdir",
        title="a folder that runs from anywhere, also where nobody can write",
        needs=("linux",),
        after=("frozen",),
        build=build_appdir,
    ),
    Target(
        name="appimage",
        title="the same in one file",
        needs=("linux", "appimagetool"),
        after=("appdir",),
        build=build_appimage,
    ),
)
