"""What a Linux desktop is told of the program: menu entry, icons, file type, manual."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from builder.errors import BuildError
from builder.files import gzipped, write_bytes, write_text
from builder.icons import PNG_SIZES, SVG, draw
from builder.man_page import man_page
from builder.targets import Context

APP_ID = "io.github.gpuexplorer.GPUExplorer"
DESKTOP_FILE = f"{APP_ID}.desktop"
METAINFO_FILE = f"{APP_ID}.metainfo.xml"
MIME_FILE = "gpuexplorer-mime.xml"
HOMEPAGE = "https://github.com/gpuexplorer/gpuexplorer"


def write_share(context: Context, share: Path) -> None:
    """Write what stands under ``/usr/share`` for the desktop and for ``man``.

    Raises BuildError when the icon cannot be drawn or a template is missing.
    """
    desktop = share / "applications" / DESKTOP_FILE
    write_bytes(desktop, _template(context, DESKTOP_FILE))
    write_text(share / "metainfo" / METAINFO_FILE, metainfo(context))
    mime = share / "mime" / "packages" / "gpuexplorer.xml"
    write_bytes(mime, _template(context, MIME_FILE))
    write_icons(context, share / "icons" / "hicolor")
    manual = gzipped(man_page(context.version, context.epoch).encode())
    write_bytes(share / "man" / "man1" / "gpuexplorer.1.gz", manual)


def write_icons(context: Context, theme: Path) -> None:
    """Write the icon in a theme's folders: each size, and the drawing for all others."""
    svg = context.root / SVG
    for edge, picture in draw(svg, PNG_SIZES).items():
        write_bytes(theme / f"{edge}x{edge}" / "apps" / "gpuexplorer.png", picture.png)
    write_bytes(theme / "scalable" / "apps" / "gpuexplorer.svg", svg.read_bytes())


def metainfo(context: Context) -> str:
    """Return the AppStream description with the releases that the changelog tells of."""
    text = _template(context, METAINFO_FILE).decode()
    changelog = (context.root / "CHANGELOG.md").read_text(encoding="utf-8")
    return with_releases(text, releases(changelog, context.version, context.epoch))


def releases(changelog: str, version: str, epoch: int) -> list[tuple[str, str]]:
    """Return each release's version and day, the newest first; this one is always among them."""
    found = re.findall(r"^## \[(\d[^\]]*)\] - (\d{4}-\d{2}-\d{2})$", changelog, re.MULTILINE)
    if version not in dict(found):
        found.insert(0, (version, time.strftime("%Y-%m-%d", time.gmtime(epoch))))
    return [(str(name), str(day)) for name, day in found]


def with_releases(text: str, known: Sequence[tuple[str, str]]) -> str:
    """Return an AppStream description with a list of releases; BuildError when it is no XML."""
    end = "</component>"
    lines = [f'    <release version="{name}" date="{day}"/>' for name, day in known]
    block = "\n".join(["  <releases>", *lines, "  </releases>"])
    head, found, _ = text.rpartition(end)
    whole = f"{head}{block}\n{end}\n"
    try:
        ElementTree.fromstring(whole)
    except ElementTree.ParseError as error:
        raise BuildError(f"{METAINFO_FILE} is not valid XML ({error}); mend it") from None
    if not found:
        raise BuildError(f"{METAINFO_FILE} describes no component; mend it")
    return whole


def _template(context: Context, name: str) -> bytes:
    path = context.root / "packaging" / "linux" / name
    try:
        return path.read_bytes()
    except OSError as error:
        raise BuildError(f"{path} cannot be read ({error.strerror})") from None
