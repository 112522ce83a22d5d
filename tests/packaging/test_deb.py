"""The Debian package: what dpkg reads in it, and that it is the same whoever builds it."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from dataclasses import replace
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from builder import deb, system_libraries
from builder.debian_copyright import copyright_file, without_common
from builder.errors import BuildError
from builder.parts import Kind, Part, Text

from tests.support.payload import stand_in

GPL = """GNU GENERAL PUBLIC LICENSE
Version 3, 29 June 2007

many words

END OF TERMS AND CONDITIONS
"""
PART = Part(
    kind=Kind.WHEEL,
    name="thing",
    version="4.5",
    licence="BSD-3-Clause AND GPL-3.0",
    is_spdx=True,
    homepage="https://thing.example",
    texts=(Text("LICENSE", f"Copyright (c) 2020 Ada\n\nDo as you like.\n\n{GPL}"),),
    files=("_internal/libthing.so.1", "_internal/thing/a.so", "_internal/thing/b.so"),
)
DEPENDS = ["libc6 (>= 2.28)", "xkb-data"]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a package of the stand-in program."""
    return built(tmp_path_factory.mktemp("deb"))


def built(base: Path) -> Path:
    """Lay a package out and pack it."""
    context = stand_in(base)
    deb.lay_out(context, base / "root", [PART])
    return deb.pack(context, base / "root", DEPENDS)


def asked(*words: str | Path) -> str:
    """Return what dpkg-deb says."""
    return subprocess.run(["dpkg-deb", *words], check=True, capture_output=True, text=True).stdout


def control(package: Path) -> Message:
    """Return a package's description."""
    return Parser().parsestr(asked("--field", package))


def listed(package: Path) -> dict[str, list[str]]:
    """Return each path in a package with its mode and owner."""
    rows = (line.split(None, 5) for line in asked("--contents", package).splitlines())
    return {row[5].partition(" -> ")[0].removeprefix("./"): row[:2] for row in rows}


def test_dpkg_reads_its_description(package: Path) -> None:
    fields = control(package)
    assert package.name == "gpuexplorer_1.2.3-1_amd64.deb"
    assert (fields["Package"], fields["Version"]) == ("gpuexplorer", "1.2.3-1")
    assert fields["Depends"] == ", ".join(DEPENDS)
    assert "python3" in fields["Suggests"] and "python3" not in fields["Recommends"]
    assert int(fields["Installed-Size"]) > 0
    assert all(len(line) <= 80 for line in fields["Description"].splitlines())


def test_everything_belongs_to_root_and_nothing_is_run_at_installation(
    package: Path, tmp_path: Path
) -> None:
    files = listed(package)
    assert {owner for _, owner in files.values()} == {"root/root"}
    assert files["usr/lib/gpuexplorer/gpuexplorer"][0] == "-rwxr-xr-x"
    assert files["usr/bin/gpuexplorer"][0].startswith("l")
    assert files["usr/lib/gpuexplorer/_internal/libthing.so.1"][0] == "-rw-r--r--"
    assert not any("__pycache__" in name for name in files)
    for name in ("copyright", "changelog.gz", "changelog.Debian.gz"):
        assert f"usr/share/doc/gpuexplorer/{name}" in files
    asked("--control", package, tmp_path / "control")
    assert sorted(path.name for path in (tmp_path / "control").iterdir()) == ["control", "md5sums"]


def test_the_sums_are_those_of_the_files(package: Path, tmp_path: Path) -> None:
    asked("--raw-extract", package, tmp_path / "raw")
    done = subprocess.run(
        ["md5sum", "--check", "--strict", "--quiet", "DEBIAN/md5sums"],
        cwd=tmp_path / "raw", check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    sums = (tmp_path / "raw/DEBIAN/md5sums").read_text(encoding="utf-8")
    assert "usr/lib/gpuexplorer/_internal/naïve data.txt" in sums and "DEBIAN" not in sums


def test_two_builds_are_one(package: Path, tmp_path: Path) -> None:
    assert built(tmp_path).read_bytes() == package.read_bytes()


@pytest.mark.parametrize(
    ("version", "debian"),
    [("1.2.0", "1.2.0-1"), ("1.2.0rc1", "1.2.0~rc1-1"), ("1.2.0.dev3", "1.2.0~dev3-1")],
)
def test_a_candidate_is_older_than_its_release(version: str, debian: str) -> None:
    assert deb.debian_version(version) == debian
    older = ["dpkg", "--compare-versions", debian, "le", "1.2.0-1"]
    assert subprocess.run(older, check=False).returncode == 0


def test_the_log_of_changes_has_debians_form() -> None:
    first, *_, last = deb.debian_changelog("1.2.3", 1_700_000_000).strip().splitlines()
    assert first == "gpuexplorer (1.2.3-1) stable; urgency=medium"
    assert last.startswith(" -- GPU Explorer contributors <")
    assert last.endswith(">  Tue, 14 Nov 2023 22:13:20 +0000")


def test_the_copyright_file_names_each_part_its_holder_and_its_terms() -> None:
    alone = replace(PART, name="pure", files=(), texts=(Text("LICENSE", "Free."),))
    words = copyright_file("MIT License\n\nCopyright (c) 2026 Us\n\nPermission.", [PART, alone])
    head, own, thing, pure = words.split("\n\n")
    assert head.startswith("Format: https://www.debian.org/doc/packaging-manuals/copyright-format")
    assert own == "Files: *\nCopyright: 2026 Us\nLicense: Expat\n Permission."
    assert thing.startswith(
        "Files:\n usr/lib/gpuexplorer/_internal/libthing.so.1\n"
        " usr/lib/gpuexplorer/_internal/thing/*\nCopyright:\n Copyright (c) 2020 Ada\n"
        "License: BSD-3-Clause AND GPL-3.0\n"
    )
    assert " Do as you like.\n .\n" in thing
    assert "many words" not in thing and "/usr/share/common-licenses/GPL-3" in thing
    assert thing.endswith(" thing 4.5, https://thing.example")
    assert pure.startswith("Files:\n usr/lib/gpuexplorer/gpuexplorer\n")


@pytest.mark.parametrize("end", ["", "\n\n   END OF TERMS AND CONDITIONS"])
def test_apaches_licence_is_named_however_it_was_copied(end: str) -> None:
    copied = (
        "Apache License\n  Version 2.0, January 2004\n\nTERMS\n  many words because\n"
        f"of your accepting any such warranty or additional liability.{end}\n\nPermission of Bob."
    )
    kept = without_common(f"Before.\n{copied}")
    assert kept.startswith("Before.\n[The whole text is /usr/share/common-licenses/Apache-2.0")
    assert kept.endswith("\n\nPermission of Bob.") and "many words" not in kept
    assert "END OF TERMS" not in kept


def test_an_unknown_processor_is_refused() -> None:
    with pytest.raises(BuildError, match="riscv64"):
        deb.architecture("riscv64")


def installed(folder: Path, **shlibs: str) -> Path:
    """Return a folder in which packages say how to depend on their libraries."""
    for name, words in shlibs.items():
        (folder / f"{name}.shlibs").write_text(words)
    return folder


def program_of(name: str) -> Path:
    """Return a program of this system's with the libraries that it is known to need."""
    path = shutil.which(name)
    assert path is not None
    return Path(path)


def test_an_elf_file_tells_its_libraries_as_objdump_reads_them() -> None:
    bash = Path(os.path.realpath(program_of("bash")))
    said = subprocess.run(["ldd", bash], check=True, capture_output=True, text=True).stdout
    needed = system_libraries.needed(bash.read_bytes())
    assert "libc.so.6" in needed
    assert all(name in said for name in needed)
    assert system_libraries.needed(b"\x7fELF" + bytes(10)) == []


def test_needed_packages_come_from_what_the_files_are_linked_against(tmp_path: Path) -> None:
    folder = stand_in(tmp_path).frozen
    shutil.copy(os.path.realpath(program_of("bash")), folder / "_internal" / "bash")
    (folder / "_internal" / "libxkbcommon.so.0").write_bytes(b"\x7fELF")
    assert set(system_libraries.outside(folder).values()) == {"_internal/bash"}
    libraries = set(system_libraries.outside(folder))
    ours = [name for name in libraries if name.startswith(("libc.", "ld-", "libdl."))]
    libc = "".join(f"{name.replace('.so.', ' ')} libc6 (>= 9)\n" for name in ours)
    others = "udeb: libtinfo 6 udeb\nlibtinfo 6 libtinfo6 (>= 6)\n"
    known = tmp_path / "info"
    known.mkdir()
    needed = system_libraries.needed_packages(folder, installed(known, libc=libc, tinfo=others))
    assert "libtinfo6 (>= 6)" in needed and "xkb-data" in needed
    oldest = system_libraries.oldest_glibc(folder)
    assert f"libc6 (>= {oldest})" in needed and "libc6 (>= 9)" not in needed


def test_a_library_that_no_package_has_stops_the_build(tmp_path: Path) -> None:
    folder = stand_in(tmp_path).frozen
    shutil.copy(os.path.realpath(program_of("bash")), folder / "_internal" / "bash")
    with pytest.raises(BuildError, match=r"libc\.so\.6, needed by _internal/bash"):
        system_libraries.needed_packages(folder, tmp_path)


def test_the_changelog_in_the_package_is_the_products(package: Path, tmp_path: Path) -> None:
    asked("--extract", package, tmp_path)
    packed = tmp_path / "usr/share/doc/gpuexplorer/changelog.gz"
    assert gzip.decompress(packed.read_bytes()).startswith(b"# Changelog")
