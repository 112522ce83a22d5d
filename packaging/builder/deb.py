"""The Debian package: the frozen program under /usr/lib, and what the desktop is told about it.

No script runs when it is installed or removed: menus, file types, icons and manuals are taken in by
the triggers of the packages that keep their caches, and nothing is written outside of what dpkg
knows, so that nothing stays.
"""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

from builder.bundled import parts
from builder.debian_copyright import copyright_file
from builder.errors import BuildError
from builder.files import (
    EXECUTABLE,
    copy_tree,
    entries,
    fresh_folder,
    gzipped,
    settle,
    write_bytes,
    write_text,
)
from builder.linux_metadata import HOMEPAGE, write_share
from builder.parts import Part
from builder.system_libraries import needed_packages
from builder.targets import Context, Target
from builder.tools import run

PACKAGE = "gpuexplorer"
MAINTAINER = "GPU Explorer contributors <gpuexplorer@users.noreply.github.com>"
REVISION = "1"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
OVERRIDES = "packaging/linux/lintian-overrides"
RECOMMENDED = ("hicolor-icon-theme", "shared-mime-info")
# Only who wants engines in Pythons of their own needs one.
SUGGESTED = ("python3 (>= 3.11)",)
SUMMARY = "laboratory for the performance of compute kernels"
DESCRIPTION = """\
Pick a workload, a kernel, a problem size, the threads per block and a precision, and watch real
timings and memory traffic change while a knob moves. Every figure says how it was measured, its
noise, and whether the result was verified.

It works without a GPU, too: the same CUDA kernels then run on the processor through OpenCL, with
the runtime that this package brings. Engines for NVIDIA GPUs and for deep-learning frameworks are
set up from within the program."""


def build(context: Context) -> list[Path]:
    """Build the package from the frozen program; BuildError in a sentence."""
    root = fresh_folder(context.work / "deb")
    lay_out(context, root, parts(context))
    depends = needed_packages(root / "usr/lib" / PACKAGE)
    return [pack(context, root, depends)]


def lay_out(context: Context, root: Path, bundled: Sequence[Part]) -> None:
    """Put everything that is installed below ``root``; ``bundled`` is what is others' in it."""
    program = root / "usr/lib" / PACKAGE
    copy_tree(context.frozen, program)
    if not (program / PACKAGE).is_file():
        raise BuildError(f"{context.frozen} holds no program {PACKAGE}; build it: builder frozen")
    launcher = root / "usr/bin" / PACKAGE
    launcher.parent.mkdir(parents=True)
    launcher.symlink_to(f"../lib/{PACKAGE}/{PACKAGE}")
    write_share(context, root / "usr/share")
    papers = root / "usr/share/doc" / PACKAGE
    licence = (context.root / "LICENSE").read_text(encoding="utf-8")
    write_text(papers / "copyright", copyright_file(licence, bundled))
    changes = (context.root / "CHANGELOG.md").read_bytes()
    write_bytes(papers / "changelog.gz", gzipped(changes))
    debian = debian_changelog(context.version, context.epoch).encode()
    write_bytes(papers / "changelog.Debian.gz", gzipped(debian))
    overrides = (context.root / OVERRIDES).read_bytes()
    write_bytes(root / "usr/share/lintian/overrides" / PACKAGE, overrides)


def pack(context: Context, root: Path, depends: Sequence[str]) -> Path:
    """Make the package of what is laid out below ``root``, and return its file."""
    control = root / "DEBIAN"
    sums = md5sums(root)
    size = installed_kib(root)
    write_text(control / "md5sums", sums)
    write_text(control / "control", control_file(context, depends, size))
    settle(root, context.epoch)
    control.chmod(EXECUTABLE)
    version = debian_version(context.version)
    target = context.out / f"{PACKAGE}_{version}_{architecture(context.arch)}.deb"
    fresh = target.with_name(f".{target.name}.new")
    context.out.mkdir(parents=True, exist_ok=True)
    run(
        ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, fresh],
        env={"SOURCE_DATE_EPOCH": str(context.epoch)},
    )
    fresh.replace(target)
    return target


def architecture(machine: str) -> str:
    """Return Debian's word for a processor; BuildError for one that we do not know."""
    if machine not in ARCHITECTURES:
        raise BuildError(f"there is no Debian name for {machine}; add it to deb.ARCHITECTURES")
    return ARCHITECTURES[machine]


def debian_version(version: str) -> str:
    """Return Debian's form of a version of Python's: a candidate sorts before its release."""
    return re.sub(r"\.?(a|b|rc|dev)(\d+)", r"~\1\2", version) + f"-{REVISION}"


def debian_changelog(version: str, epoch: int) -> str:
    """Return the package's own log of changes, of which upstream's holds the substance."""
    day = format_datetime(datetime.fromtimestamp(epoch, UTC))
    return (
        f"{PACKAGE} ({debian_version(version)}) stable; urgency=medium\n\n"
        f"  * Version {version}; what is new stands in changelog.gz.\n\n"
        f" -- {MAINTAINER}  {day}\n"
    )


def control_file(context: Context, depends: Sequence[str], size_kib: int) -> str:
    """Return the package's description for dpkg."""
    fields = {
        "Package": PACKAGE,
        "Version": debian_version(context.version),
        "Section": "science",
        "Priority": "optional",
        "Architecture": architecture(context.arch),
        "Maintainer": MAINTAINER,
        "Installed-Size": str(size_kib),
        "Depends": ", ".join(depends),
        "Recommends": ", ".join(RECOMMENDED),
        "Suggests": ", ".join(SUGGESTED),
        "Homepage": HOMEPAGE,
        "Description": SUMMARY,
    }
    lines = [f"{name}: {value}" for name, value in fields.items()]
    for paragraph in DESCRIPTION.split("\n\n"):
        if paragraph != DESCRIPTION.split("\n\n")[0]:
            lines.append(" .")
        lines += [f" {line}" for line in textwrap.wrap(paragraph, 78)]
    return "\n".join(lines) + "\n"


def md5sums(root: Path) -> str:
    """Return the sums of all files below ``root``, as dpkg keeps them."""
    lines = []
    for path in entries(root):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as stream:
                digest = hashlib.file_digest(stream, "md5").hexdigest()
            lines.append(f"{digest}  {path.relative_to(root).as_posix()}\n")
    return "".join(lines)


def installed_kib(root: Path) -> int:
    """Return what Debian calls the installed size: each file rounded up, 1 KiB for all else."""
    return sum(
        -(-path.stat().st_size // 1024) if path.is_file() and not path.is_symlink() else 1
        for path in entries(root)
    )


TARGETS = (
    Target(
        name="deb",
        title="the package for Debian and Ubuntu",
        needs=("linux", "dpkg-deb"),
        after=("frozen",),
        build=build,
    ),
)
