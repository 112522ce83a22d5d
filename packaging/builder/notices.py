"""The notices of everything bundled: whose it is, and its licence word for word.

They stand beside the program in every package, so that no package can go out without them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from builder.bundled import CONTENTS, PRODUCT, parts
from builder.errors import BuildError
from builder.files import write_text
from builder.parts import Kind, Part, read_text
from builder.targets import Context, Target
from builder.tools import this_platform

FILE = "THIRD-PARTY-NOTICES.txt"
WIDTH = 88
COMMON = Path("/usr/share/common-licenses")
"""Where Debian keeps the texts that its packages only refer to."""
_REFERENCE = re.compile(r"/usr/share/common-licenses/([A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*)")
_QT = ("pyside6-essentials", "shiboken6")

INTRODUCTION = """\
Third-party notices of GPU Explorer {version}

GPU Explorer itself is free software under the MIT licence:

{licence}
What follows was made by others. It is passed on with GPU Explorer, and each part has terms of its
own. First a list, then remarks that some of the terms ask for, then the terms.
"""
LGPL = """\
Libraries under the GNU Lesser General Public License
-----------------------------------------------------
{names}

are used as separate, dynamically loaded files in the program's folder {folder}. You may
replace them with your own builds of compatible versions, and change them for your own use; nothing
in GPU Explorer or its terms forbids to take it apart in order to debug such changes. Their texts,
with the GNU General Public License that they build on, stand below.
"""
QT_SOURCE = """\
The source of Qt for Python and of the Qt libraries in it, version {version}, is at
  https://download.qt.io/official_releases/QtForPython/
  https://download.qt.io/official_releases/qt/
"""
DEBIAN_SOURCE = """\
The source of each Debian package, in exactly the version listed, is at
  https://snapshot.debian.org/
and "apt-get source NAME" fetches it on the Debian that this was built on.
"""
INTEL = """\
Intel's runtime for OpenCL on processors
----------------------------------------
{names}

are Intel's, and the "Intel End User License Agreement for Developer Tools" below governs them.
They are passed on only as parts of GPU Explorer. By its terms you may not reverse engineer,
decompile or disassemble these files, and Intel's liability is limited as its section 7 says, for
you as well. This holds for Intel's files alone, not for GPU Explorer.
"""


def build(context: Context) -> list[Path]:
    """Write the notices for users beside the packages; BuildError when a text is missing."""
    name = f"{PRODUCT}-{context.version}-{this_platform()}-{context.arch}-{FILE}"
    write_text(context.out / name, notices(context, parts(context)))
    return [context.out / name]


def write_beside(context: Context, folder: Path) -> None:
    """Write the notices beside a frozen program, from where every package takes them."""
    write_text(folder / FILE, notices(context, parts(context, folder)))


def notices(context: Context, bundled: Iterable[Part]) -> str:
    """Return the whole text, the same for the same parts."""
    found = list(bundled)
    licence = read_text(context.root / "LICENSE")
    blocks = [
        INTRODUCTION.format(version=context.version, licence=indented(licence)),
        _list(found),
        *remarks(found),
        *_terms(found),
        *_common(found),
    ]
    return "\n".join(blocks)


def _list(found: Iterable[Part]) -> str:
    rows = [(part.name, part.version, part.homepage or "") for part in found]
    names, versions = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    lines = [f"{row[0]:{names}}  {row[1]:{versions}}  {row[2]}".rstrip() for row in rows]
    return "\n".join(["What is bundled", "---------------", *lines, ""])


def remarks(found: Iterable[Part]) -> list[str]:
    """Return what licences of these parts ask to be said."""
    by_name = {part.name: part for part in found}
    said = []
    lesser = [part for part in by_name.values() if is_lesser(part)]
    if lesser:
        folder = "Contents/Frameworks" if this_platform() == "macos" else CONTENTS
        text = LGPL.format(names=_names(lesser), folder=folder)
        qt = next((by_name[name] for name in _QT if name in by_name), None)
        if qt is not None:
            text += QT_SOURCE.format(version=qt.version)
        said.append(text)
    if any(part.kind is Kind.DEBIAN for part in by_name.values()):
        said.append(DEBIAN_SOURCE)
    intel = [part for part in by_name.values() if part.licence.startswith("Intel End User")]
    if intel:
        said.append(INTEL.format(names=_names(intel)))
    return said


def is_lesser(part: Part) -> bool:
    """Return whether a part is under the LGPL, by what it states or by what its texts say."""
    if "LGPL" in part.licence:
        # Of alternatives, one that asks for less is the one we take.
        return all("GPL" in choice for choice in part.licence.split(" OR "))
    return part.kind is Kind.DEBIAN and any("common-licenses/LGPL" in t.words for t in part.texts)


def _names(found: Iterable[Part]) -> str:
    return "\n".join(f"  {part.name} {part.version}" for part in found)


def _terms(found: Iterable[Part]) -> list[str]:
    """Return each part's texts; one that stood before is referred to, not repeated."""
    seen: dict[str, str] = {}
    blocks = []
    for part in found:
        title = f"{part.name} {part.version}"
        lines = ["=" * WIDTH, f"{title} ({part.kind.value})", f"Licence: {part.licence}"]
        if part.homepage:
            lines.append(part.homepage)
        lines += ["=" * WIDTH, ""]
        for text in part.texts:
            same = " ".join(text.words.split())
            if same in seen:
                lines += [f"--- {text.title}: the same as {seen[same]}", ""]
                continue
            seen[same] = f"{text.title} of {title}"
            lines += [f"--- {text.title}", "", text.words.strip("\n"), ""]
        blocks.append("\n".join(lines))
    return blocks


def _common(found: Iterable[Part]) -> list[str]:
    """Return the texts that Debian packages refer to without bringing them."""
    words = [text.words for part in found if part.kind is Kind.DEBIAN for text in part.texts]
    named = {name for said in words for name in _REFERENCE.findall(said)}
    rule = "=" * WIDTH
    return [
        f"{rule}\n{path}\n{rule}\n\n{read_text(path).strip(chr(10))}\n"
        for path in sorted({common_file(name) for name in named})
    ]


def common_file(name: str) -> Path:
    """Return where Debian keeps a licence; BuildError when it keeps none of that name.

    Some copyright files write GPL-2.0 for GPL-2, or Apache-2 for Apache-2.0.
    """
    for spelled in (name, name.removesuffix(".0"), f"{name}.0"):
        if (COMMON / spelled).is_file():
            return COMMON / spelled
    raise BuildError(f"a notice refers to {COMMON / name}, which this system does not have")


def indented(text: str) -> str:
    """Return a text with every line moved in."""
    return "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())


def terms_to_accept(context: Context, bundled: Iterable[Part]) -> str:
    """Return what an installer shows: our licence, and terms of others that bind the user."""
    licence = read_text(context.root / "LICENSE")
    binding: Mapping[str, str] = {
        text.words: f"{part.name} {part.version}"
        for part in bundled
        if part.licence.startswith("Intel End User")
        for text in part.texts
        if "End User License Agreement" in text.words
    }
    said = [licence, f"What others made and is passed on with it has its own terms: {FILE}.\n"]
    said += [f"{'-' * 60}\nFor {name} alone:\n\n{words}" for words, name in binding.items()]
    return "\n".join(said)


TARGETS = (
    Target(
        name="notices",
        title="the notices and licences of everything bundled",
        needs=(),
        after=("frozen",),
        build=build,
    ),
)
