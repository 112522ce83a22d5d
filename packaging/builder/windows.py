"""The installer for Windows: the frozen program, listed file by file for NSIS.

Elsewhere than on Windows the same script is compiled with empty files of the same names, so that a
mistake in it shows on the machine where it was made.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from builder.bundled import parts
from builder.errors import BuildError
from builder.files import fresh_folder, write_bytes, write_text
from builder.icons import ICO_SIZES, SVG, draw, ico
from builder.notices import terms_to_accept
from builder.targets import Context, Target
from builder.tools import find, run
from builder.version import numbers

SCRIPT = "packaging/windows/gpuexplorer.nsi"
PROGRAMS = ("gpuexplorer.exe", "gpuexplorer-cli.exe")
"""The window, and the command line with a console."""
COMMAND = PurePosixPath("bin/gpuexplorer.cmd")
"""The command in terminals: its folder goes on PATH, where the window's program must not be."""
SIGN_COMMAND_VARIABLE = "GPUEXPLORER_SIGN_COMMAND"
"""Names a command that signs the file given after it; without it the installer is not signed."""
LONGEST_NAME = 180
"""Characters of a path below the program's folder: Windows ends whole paths at 259."""
MOST_DICTIONARY_MB = 64
"""How far back the compressor looks; it and every installation take about as much memory."""
SIDE_PIXELS = (164, 314)
SIDE_GROUND = "#13202b"
_FORBIDDEN = re.compile(r'[<>:"|?*\\\[\]\x00-\x1f]')
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")


@dataclass(frozen=True)
class Item:
    """One file to install: where below the program's folder, and what it is made of."""

    name: PurePosixPath
    source: Path


def installer_name(version: str, arch: str) -> str:
    """Return the file name of the installer."""
    return f"gpuexplorer-{version}-windows-{arch}-setup.exe"


def payload(folder: Path) -> list[Item]:
    """Return every file below a folder, sorted; BuildError when there is none."""
    if not folder.is_dir():
        raise BuildError(f"there is no folder {folder}; build it first: builder frozen")
    names = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    return [Item(PurePosixPath(name), folder / name) for name in names]


def check_names(names: Iterable[PurePosixPath]) -> None:
    """Refuse names that Windows cannot have; BuildError names the first of them."""
    seen: dict[str, PurePosixPath] = {}
    for name in names:
        for part in name.parts:
            if _FORBIDDEN.search(part) or _RESERVED.fullmatch(part) or part[-1] in ". ":
                raise BuildError(f"'{name}' cannot be a file on Windows; rename '{part}'")
        if len(str(name)) > LONGEST_NAME:
            raise BuildError(
                f"'{name}' has {len(str(name))} characters; at most {LONGEST_NAME} leave room for "
                "the folder a user chooses, because Windows ends paths at 259"
            )
        other = seen.setdefault(str(name).lower(), name)
        if other != name:
            raise BuildError(f"'{other}' and '{name}' are one file on Windows; rename one")


def payload_script(items: Sequence[Item], defines: dict[str, str | int | Path]) -> str:
    """Return what gpuexplorer.nsi includes: the defines, and the files to install and to remove."""
    folders = {folder for item in items for folder in item.name.parents if folder.name}
    lines = [f"!define {key} {_quoted(value)}" for key, value in defines.items()]
    lines.append("!macro PAYLOAD_INSTALL")
    for folder in [PurePosixPath("."), *sorted(folders)]:
        inside = [item for item in items if item.name.parent == folder]
        if inside:
            lines.append(f"SetOutPath {_installed(folder)}")
        lines += [f'File "/oname={_at_run_time(i.name.name)}" {_quoted(i.source)}' for i in inside]
    # Where a shortcut that is made next starts the program.
    lines += ['SetOutPath "$INSTDIR"', "!macroend", "!macro PAYLOAD_REMOVE_FILES"]
    lines += [f"Delete {_installed(item.name)}" for item in items]
    lines += ["!macroend", "!macro PAYLOAD_REMOVE_FOLDERS"]
    # What is inside goes before what is around it.
    lines += [f"RMDir {_installed(folder)}" for folder in sorted(folders, reverse=True)]
    return "\n".join([*lines, "!macroend", ""])


def _installed(name: PurePosixPath) -> str:
    """Return the path of an installed file or folder in the script."""
    return '"' + "\\".join(["$INSTDIR", *map(_at_run_time, name.parts)]) + '"'


def _at_run_time(text: str) -> str:
    """Return text as the installer reads it, to which ``$`` begins a variable."""
    return text.replace("$", "$$")


def _quoted(value: object) -> str:
    """Return a word that the compiler reads, to which ``$`` alone means nothing."""
    text = str(value).replace('"', '$\\"')
    return f'"{text}"'


def compile_script(
    context: Context,
    items: Sequence[Item],
    terms: str,
    folder: Path,
    installer: Path,
    sign: str | None = None,
) -> Path:
    """Compile the installer of these files; ``folder`` takes what is written for it.

    ``terms`` are shown before anything is installed. Raises BuildError for a name that Windows
    cannot have and for every warning of NSIS.
    """
    shim = folder / COMMAND.name
    write_bytes(shim, b'@"%~dp0..\\gpuexplorer-cli.exe" %*\r\n')
    icon = folder / "gpuexplorer.ico"
    svg = context.root / SVG
    drawn = draw(svg, ICO_SIZES)
    write_bytes(icon, ico([drawn[edge] for edge in ICO_SIZES]))
    write_bytes(folder / "side.bmp", side_picture(svg))
    everything = sorted([*items, Item(COMMAND, shim)], key=lambda item: str(item.name))
    check_names(item.name for item in everything)
    fresh = installer.with_name(f".{installer.name}.new")
    size = sum(item.source.stat().st_size for item in everything)
    defines: dict[str, str | int | Path] = {
        "VERSION": context.version,
        "VERSION_QUAD": numbers(context.version, 4),
        "OUTFILE": fresh,
        "ICON": icon,
        "SIDE_PICTURE": folder / "side.bmp",
        "TERMS": folder / "terms.txt",
        "SIZE_KB": math.ceil(size / 1024),
        "DICTIONARY_MB": min(MOST_DICTIONARY_MB, 1 + size // 2**20),
        "LONGEST": max(len(str(item.name)) for item in everything),
    }
    if sign is not None:
        defines["SIGN_COMMAND"] = sign
    write_text(folder / "payload.nsh", payload_script(everything, defines))
    # With the mark by which NSIS knows UTF-8, and lines as Windows ends them.
    shown = "\r\n".join(terms.splitlines())
    write_bytes(folder / "terms.txt", shown.encode("utf-8-sig"))
    installer.parent.mkdir(parents=True, exist_ok=True)
    run(
        [
            find("makensis"), "-V2", "-WX", "-INPUTCHARSET", "UTF8",
            f"-DGENERATED={folder}", context.root / SCRIPT,
        ],
        cwd=folder,
        env={"SOURCE_DATE_EPOCH": str(context.epoch)},
        log=folder / "makensis.log",
    )  # fmt: skip
    fresh.replace(installer)
    return installer


def side_picture(svg: Path) -> bytes:
    """Draw what stands beside the first and last page: the icon on a plain ground, as a bitmap."""
    from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF
    from PySide6.QtGui import QColor, QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    image = QImage(*SIDE_PIXELS, QImage.Format.Format_RGB32)
    image.fill(QColor(SIDE_GROUND))
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    edge = SIDE_PIXELS[0] * 0.6
    left, top = (SIDE_PIXELS[0] - edge) / 2, SIDE_PIXELS[1] * 0.18
    QSvgRenderer(str(svg)).render(painter, QRectF(left, top, edge, edge))
    painter.end()
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "BMP")  # type: ignore[call-overload]  # the stub wants bytes, Qt a str
    buffer.close()
    return bytes(data.data())


def build(context: Context) -> list[Path]:
    """Build the installer from the frozen program, signed when a command for it is named."""
    items = payload(context.frozen)
    missing = [name for name in PROGRAMS if PurePosixPath(name) not in {i.name for i in items}]
    if missing:
        raise BuildError(f"{context.frozen} has no {' and no '.join(missing)}; build it on Windows")
    installer = context.out / installer_name(context.version, context.arch)
    folder = fresh_folder(context.work / "windows")
    sign = os.environ.get(SIGN_COMMAND_VARIABLE) or None  # a secret that is not set is empty
    terms = terms_to_accept(context, parts(context))
    return [compile_script(context, items, terms, folder, installer, sign)]


def check_script(context: Context) -> list[Path]:
    """Compile the installer with empty files of the real names; nothing is given out."""
    folder = fresh_folder(context.work / "windows-script")
    items = stand_in(payload(context.frozen), folder / "payload")
    terms = terms_to_accept(context, parts(context))
    installer = folder / installer_name(context.version, context.arch)
    compile_script(context, items, terms, folder, installer)
    return []


def stand_in(items: Iterable[Item], folder: Path) -> list[Item]:
    """Make empty files of these names, and of the programs as they are called on Windows."""
    names = {item.name for item in items} - {PurePosixPath("gpuexplorer")}
    made = []
    for name in sorted({*names, *map(PurePosixPath, PROGRAMS)}, key=str):
        source = folder / name
        source.parent.mkdir(parents=True, exist_ok=True)
        source.touch()
        made.append(Item(name, source))
    return made


def _target(
    name: str, title: str, needs: tuple[str, ...], build: Callable[[Context], list[Path]]
) -> Target:
    return Target(name=name, title=title, needs=needs, after=("frozen",), build=build)


TARGETS = (
    _target("windows", "the installer for Windows", ("windows", "makensis"), build),
    _target("windows-script", "its script, compiled with empty files", ("makensis",), check_script),
)
