"""The program's icon in the sizes and containers that systems ask for, drawn from its one SVG.

Qt draws it, without a display. The same drawing gives the same bytes, so packages are the
same, too.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.errors import BuildError
from builder.files import write_bytes

SVG = "resources/icons/gpuexplorer.svg"
PNG_SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)
"""Edges in pixels of the icon theme's folders on Linux."""
ICO_SIZES = (16, 20, 24, 32, 40, 48, 64, 256)
ICNS_KINDS = {
    b"ic11": 32,  # 16 at twice the density, and so on
    b"ic12": 64,
    b"ic07": 128,
    b"ic13": 256,
    b"ic08": 256,
    b"ic14": 512,
    b"ic09": 512,
    b"ic10": 1024,
}
"""An Apple icon's members with their edges in pixels; all hold PNG."""
PNG_IN_ICO = 256
"""From this edge on an .ico's member is a PNG; below, a bitmap, as old programs want."""


@dataclass(frozen=True)
class Picture:
    """One drawing: its edge in pixels, as a PNG, and as rows of B, G, R, A from above."""

    edge: int
    png: bytes
    bgra: bytes


def draw(svg: Path, edges: Iterable[int]) -> dict[int, Picture]:
    """Draw the square SVG in each size; BuildError when it cannot be read."""
    # Imported here: the containers below, and their tests, need no Qt.
    from PySide6.QtCore import QBuffer, QByteArray, QIODevice
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    renderer = QSvgRenderer(str(svg))
    if not renderer.isValid():
        raise BuildError(f"the icon {svg} cannot be drawn; it must be a valid SVG")
    pictures: dict[int, Picture] = {}
    for edge in sorted(set(edges)):
        image = QImage(edge, edge, QImage.Format.Format_ARGB32)
        image.fill(0)
        painter = QPainter(image)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        renderer.render(painter)
        painter.end()
        data = QByteArray()
        buffer = QBuffer(data)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        image.save(buffer, "PNG")  # type: ignore[call-overload]  # the stub wants bytes, Qt a str
        buffer.close()
        pixels = bytes(image.constBits())[: 4 * edge * edge]
        pictures[edge] = Picture(edge, bytes(data.data()), pixels)
    return pictures


def ico(pictures: Sequence[Picture]) -> bytes:
    """Return a Windows icon of these pictures, each at most 256 pixels."""
    bodies = [p.png if p.edge >= PNG_IN_ICO else _bitmap(p) for p in pictures]
    offset = 6 + 16 * len(bodies)
    head = struct.pack("<HHH", 0, 1, len(bodies))
    for picture, body in zip(pictures, bodies, strict=True):
        edge = picture.edge % 256  # one byte, in which 0 stands for 256
        head += struct.pack("<BBBBHHII", edge, edge, 0, 0, 1, 32, len(body), offset)
        offset += len(body)
    return head + b"".join(bodies)


def _bitmap(picture: Picture) -> bytes:
    """Return a device-independent bitmap with alpha and the mask that old programs look at."""
    edge = picture.edge
    rows = [picture.bgra[4 * edge * y : 4 * edge * (y + 1)] for y in range(edge)]
    stride = (edge + 31) // 32 * 4
    mask = bytearray()
    for row in reversed(rows):  # a bitmap begins with its lowest row
        line = bytearray(stride)
        for x in range(edge):
            if row[4 * x + 3] == 0:
                line[x // 8] |= 0x80 >> x % 8
        mask += line
    # Twice the height: the picture and its mask.
    head = struct.pack(
        "<IiiHHIIiiII", 40, edge, 2 * edge, 1, 32, 0, 4 * edge * edge + len(mask), 0, 0, 0, 0
    )
    return head + b"".join(reversed(rows)) + bytes(mask)


def icns(pictures: dict[int, Picture]) -> bytes:
    """Return an Apple icon; ``pictures`` holds every edge of ICNS_KINDS."""
    members = b"".join(
        kind + struct.pack(">I", 8 + len(pictures[edge].png)) + pictures[edge].png
        for kind, edge in ICNS_KINDS.items()
    )
    return b"icns" + struct.pack(">I", 8 + len(members)) + members


def write_icons(svg: Path, folder: Path) -> list[Path]:
    """Write ``gpuexplorer-EDGE.png``, ``gpuexplorer.ico`` and ``gpuexplorer.icns``."""
    pictures = draw(svg, (*PNG_SIZES, *ICO_SIZES, *ICNS_KINDS.values()))
    files = {png_name(edge): pictures[edge].png for edge in PNG_SIZES}
    files["gpuexplorer.ico"] = ico([pictures[edge] for edge in ICO_SIZES])
    files["gpuexplorer.icns"] = icns(pictures)
    for name, data in files.items():
        write_bytes(folder / name, data)
    return [folder / name for name in files]


def png_name(edge: int) -> str:
    """Return what the PNG of this edge is called in the folder of icons."""
    return f"gpuexplorer-{edge}.png"
