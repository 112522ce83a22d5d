"""What is bundled: everything has an owner, and its licence goes along, word for word."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest
from builder import bundled, notices, parts, sbom
from builder.bundled import Owners
from builder.errors import BuildError
from builder.files import sha256
from builder.parts import Kind, Part, Text
from builder.targets import Context

from gpuexplorer.core.fonts import CHINESE, files
from tests.support.payload import ROOT, stand_in

LICENCE = "Copyright (c) 2020 Them\n\nDo as you like.\n"
WHEEL = "ab" * 32


def install(site: Path, name: str, licence: str, *modules: str, text: str | None = LICENCE) -> None:
    """Lay a package out as pip does."""
    info = site / f"{name}-1.5.dist-info"
    info.mkdir(parents=True)
    meta = f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.5\n{licence}\n"
    meta += "Project-URL: Source, https://example.org/source\n"
    (info / "METADATA").write_text(meta)
    listed = [f"{info.name}/METADATA,,", *(f"{module},," for module in modules)]
    if text is not None:
        (info / "licenses").mkdir()
        (info / "licenses" / "LICENSE").write_text(text)
        listed.append(f"{info.name}/licenses/LICENSE,,")
    for module in modules:
        (site / module).parent.mkdir(parents=True, exist_ok=True)
        (site / module).write_text(f"code of {module}")
    (info / "RECORD").write_text("\n".join(listed) + "\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of installed packages that are the only ones."""
    folder = tmp_path / "site"
    install(
        folder, "Num_Py", "License-Expression: BSD-3-Clause", "num_py/__init__.py", "num_py/c.so"
    )
    install(folder, "pure", "License: MIT", "pure.py")
    install(folder, "qt6", "License: LGPL-3.0-only OR GPL-3.0-only", "qt6/lib.so", text=None)
    install(folder, "pyinstaller", "License: GPLv2", "loader.py")
    monkeypatch.setattr(
        metadata,
        "distributions",
        lambda: metadata.Distribution.discover(path=[str(folder)]),
    )
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    return folder


@pytest.fixture
def context(tmp_path: Path, site: Path) -> Context:
    """Return a context whose frozen program was made of these packages, as the tables say."""
    made = stand_in(tmp_path)
    for path in [p for p in made.frozen.rglob("*") if p.is_file() or p.is_symlink()]:
        path.unlink()
    internal = made.frozen / "_internal"
    tables = made.work / "pyinstaller" / "gpuexplorer"
    (internal / "num_py").mkdir()
    (internal / "qt6").mkdir()
    (internal / "num_py" / "c.so").write_bytes(b"compiled")
    (internal / "qt6" / "lib.so").write_bytes(b"the window")
    (internal / "lib.so").symlink_to("qt6/lib.so")
    (internal / "base_library.zip").write_bytes(b"modules")
    (internal / "kernel.cu").write_bytes(b"ours")
    for letters in ("Inter-Regular.ttf", "Chinese.ttf"):
        (internal / letters).write_bytes(b"letters")
    (made.frozen / "gpuexplorer").write_bytes(b"program")
    collected = [
        ("num_py/c.so", str(site / "num_py/c.so"), "EXTENSION"),
        ("qt6\\lib.so", str(site / "qt6/lib.so"), "BINARY"),
        ("lib.so", "qt6/lib.so", "SYMLINK"),
        ("base_library.zip", str(tables / "base_library.zip"), "DATA"),
        ("kernel.cu", str(ROOT / "kernels/kernel.cu"), "DATA"),
        ("Inter-Regular.ttf", str(ROOT / "resources/fonts/Inter-Regular.ttf"), "DATA"),
        ("Chinese.ttf", str(files(CHINESE)[0]), "DATA"),
        ("gpuexplorer", str(tables / "gpuexplorer"), "EXECUTABLE"),
        ("left/out.so", str(site / "left/out.so"), "BINARY"),
    ]
    packed = [
        ("pure", str(site / "pure.py"), "PYMODULE"),
        ("space.named", "-", "PYMODULE"),
        ("os", os.__file__, "PYMODULE"),
        ("gpuexplorer", str(ROOT / "gpuexplorer/__init__.py"), "PYMODULE"),
    ]
    tables.mkdir(parents=True)
    (tables / "COLLECT-00.toc").write_text(repr((collected,)))
    (tables / "PYZ-00.toc").write_text(repr(("/build/PYZ-00.pyz", packed)))
    (tables / "PKG-00.toc").write_text(repr(("x", {"a": 1}, [("o", "", "OPTION")], False)))
    return made


def found(context: Context) -> dict[str, Part]:
    return {part.name: part for part in bundled.parts(context)}


def no_dpkg(*_: str) -> str:
    return ""


def test_every_file_and_module_has_its_owner(context: Context) -> None:
    parts = found(context)
    fonts = {"inter", "noto-sans-cjk-sc"}
    assert parts.keys() == {*fonts, "num-py", "pure", "pyinstaller", "python", "qt6"}
    assert parts["inter"].files == ("_internal/Inter-Regular.ttf",)
    assert parts["noto-sans-cjk-sc"].files == ("_internal/Chinese.ttf",)
    assert "The Inter Project" in parts["inter"].texts[0].words
    assert "Adobe" in parts["noto-sans-cjk-sc"].texts[0].words
    assert all("SIL OPEN FONT LICENSE" in parts[name].texts[0].words for name in fonts)
    assert parts["num-py"].files == ("_internal/num_py/c.so",)
    assert parts["qt6"].files == ("_internal/qt6/lib.so",)
    assert parts["pure"].files == ()  # packed into the program
    assert parts["python"].files == ("_internal/base_library.zip",)
    assert parts["pyinstaller"].files == ("gpuexplorer",)
    assert parts["num-py"].version == "1.5"
    assert parts["num-py"].licence == "BSD-3-Clause" and parts["num-py"].is_spdx
    assert parts["num-py"].homepage == "https://example.org/source"
    assert parts["python"].version == ".".join(map(str, sys.version_info[:3]))
    assert "PYTHON SOFTWARE FOUNDATION" in parts["python"].texts[0].words


def test_a_file_that_no_table_has_stops_the_build(context: Context) -> None:
    (context.frozen / "_internal" / "stranger.so").write_bytes(b"?")
    with pytest.raises(BuildError, match=r"where .*stranger\.so comes from"):
        bundled.parts(context)


def test_a_file_of_nobody_stops_the_build(
    context: Context, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bundled, "dpkg_query", no_dpkg)
    stranger = tmp_path / "elsewhere" / "libstranger.so"
    with pytest.raises(BuildError, match=r"whose .*libstranger\.so is, which is bundled"):
        Owners(context).of([stranger])


def test_a_systems_library_is_its_debian_packages(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dpkg(option: str, *paths: str) -> str:
        known = "/usr/lib/x86_64-linux-gnu/libthing.so.1"
        return f"diversion by x from: {known}\nlibthing1:amd64: {known}\n" if known in paths else ""

    monkeypatch.setattr(bundled, "dpkg_query", dpkg)
    source = Path("/lib/x86_64-linux-gnu/libthing.so.1")
    assert Owners(context).of([source]) == {source: (Kind.DEBIAN, "libthing1")}


def test_a_package_without_a_text_of_its_licence_is_refused(context: Context, site: Path) -> None:
    (site / "pure-1.5.dist-info" / "RECORD").write_text("pure.py,,\n")
    with pytest.raises(BuildError, match=r"pure 1\.5 brings no text .*/licences/pure\.txt"):
        bundled.parts(context)


def test_a_text_that_we_keep_stands_in(context: Context) -> None:
    assert [text.title for text in found(context)["qt6"].texts] == ["LGPL-3.0-only", "GPL-3.0-only"]
    assert parts.our_texts("nvidia-ml-py", "BSD", ROOT)[0].words.startswith("Copyright")
    assert parts.our_texts("unknown", "of nobody", ROOT) == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("x.dist-info/LICENSE", True),
        ("x.dist-info/licenses/AUTHORS", True),
        ("matplotlib/fonts/LICENSE_STIX", True),
        ("../../share/doc/tbb/licensing/third-party-programs.txt", True),
        ("../../licensing/compiler/Intel Developer Tools EULA", True),
        ("x/COPYING.LESSER", True),
        ("x/notices.py", False),
        ("x/licenses/__init__.py", False),
        ("x/relicensed.txt", False),
    ],
)
def test_licences_are_known_by_their_names(path: str, expected: bool) -> None:
    assert parts.is_licence(path.split("/")) is expected


def test_without_a_frozen_program_there_is_nothing_to_say(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="build it: builder frozen"):
        bundled.parts(stand_in(tmp_path))


# --- notices -------------------------------------------------------------------------------------


def test_the_notices_hold_every_text_once(context: Context) -> None:
    words = notices.notices(context, bundled.parts(context))
    assert words.count("Do as you like.") == 1  # the same words of three packages
    assert words.count("the same as LICENSE of num-py 1.5") == 2
    for line in ("num-py", "pure", "qt6", "python"):
        assert re.search(rf"(?m)^{line} +\d", words)
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in words
    assert "GNU GENERAL PUBLIC LICENSE" in words
    assert "Permission is hereby granted" in words  # our own
    assert words == notices.notices(context, bundled.parts(context))


def test_lesser_libraries_can_be_replaced_and_their_source_is_named() -> None:
    qt = part("pyside6-essentials", "LGPL-3.0-only OR GPL-2.0-only", version="6.10.3")
    (said,) = notices.remarks([qt, part("either", "Apache-2.0 OR LGPL-2.1-or-later")])
    assert "You may replace" in " ".join(said.split())
    assert "  pyside6-essentials 6.10.3\n" in said
    assert "version 6.10.3, is at\n  https://download.qt.io" in said
    assert "either" not in said


def test_a_debian_package_says_what_it_is_under_and_where_its_source_is() -> None:
    text = Text("copyright", "On Debian systems, see /usr/share/common-licenses/LGPL-2.1.\n")
    lesser = part("libcairo2", "see its text", kind=Kind.DEBIAN, texts=(text,))
    said = "".join(notices.remarks([lesser]))
    assert "libcairo2" in said and "snapshot.debian.org" in said


def test_a_text_that_is_only_referred_to_goes_along(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    common = tmp_path / "common"
    common.mkdir()
    (common / "Thing-2").write_text("the common words\n")
    monkeypatch.setattr(notices, "COMMON", common)
    for reference in ("Thing-2", "Thing-2.0"):
        text = Text("copyright", f"see `/usr/share/common-licenses/{reference}'.")
        words = notices.notices(context, [part("lib", "Thing", kind=Kind.DEBIAN, texts=(text,))])
        assert words.rstrip().endswith("the common words")
    unknown = Text("copyright", "see /usr/share/common-licenses/Other.")
    with pytest.raises(BuildError, match=r"refers to .*Other, which this system does not have"):
        notices.notices(context, [part("lib", "Other", kind=Kind.DEBIAN, texts=(unknown,))])


def test_terms_that_bind_the_user_are_shown_before_installing(context: Context) -> None:
    eula = Text("LICENSE.txt", "Intel End User License Agreement\nYou may not.")
    intel = part("intel-opencl-rt", "Intel End User License Agreement", texts=(eula,))
    other = replace(intel, name="intel-cmplr-lib-rt")
    said = notices.terms_to_accept(context, [intel, other, part("free", "MIT")])
    assert said.startswith("MIT License")
    assert said.count("You may not.") == 1
    (remark,) = notices.remarks([intel, other])
    assert "reverse engineer" in remark and "intel-cmplr-lib-rt" in remark


def part(
    name: str,
    licence: str,
    *,
    version: str = "1",
    kind: Kind = Kind.WHEEL,
    texts: Sequence[Text] = (Text("LICENSE", LICENCE),),
) -> Part:
    return Part(kind, name, version, licence, False, None, tuple(texts), ())


# --- the bill of materials -----------------------------------------------------------------------


def test_the_bill_lists_versions_licences_and_hashes(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = tmp_path / "environment"
    environment.mkdir()
    (environment / bundled.WHEELS_FILE).write_text(json.dumps({"num-py==1.5": WHEEL}))
    (path,) = sbom.build(context)
    assert path.name.endswith("-x86_64.cdx.json")
    bill = json.loads(path.read_text(encoding="utf-8"))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    assert bill["metadata"]["timestamp"] == "2023-11-14T22:13:20+00:00"
    components = {component["name"]: component for component in bill["components"]}
    numbers = components["num-py"]
    assert numbers["purl"] == "pkg:pypi/num-py@1.5"
    assert numbers["licenses"] == [{"expression": "BSD-3-Clause"}]
    assert numbers["hashes"] == [{"alg": "SHA-256", "content": WHEEL}]
    (file,) = numbers["components"]
    assert file["name"] == "_internal/num_py/c.so"
    assert file["hashes"][0]["content"] == sha256(context.frozen / file["name"])
    assert components["pure"]["licenses"] == [{"license": {"name": "MIT"}}]
    references = [c["bom-ref"] for c in components.values()]
    references += [f["bom-ref"] for c in components.values() for f in c.get("components", [])]
    assert len(set(references)) == len(references)
    (depends,) = bill["dependencies"]
    assert depends["ref"] == bill["metadata"]["component"]["bom-ref"]
    assert set(depends["dependsOn"]) == {c["bom-ref"] for c in components.values()}


def test_the_same_program_gives_the_same_papers(context: Context) -> None:
    first = [path.read_bytes() for build in (sbom.build, notices.build) for path in build(context)]
    again = [path.read_bytes() for build in (sbom.build, notices.build) for path in build(context)]
    assert again == first
    later = sbom.bill(replace(context, epoch=context.epoch + 1), bundled.parts(context))
    assert later["serialNumber"] not in first[0].decode()


def test_a_debian_package_has_its_address() -> None:
    thing = part("libthing1", "Expat", version="1:2.0-1+b1", kind=Kind.DEBIAN)
    address = sbom.package_url(thing, "x86_64")
    assert address == "pkg:deb/debian/libthing1@1%3A2.0-1%2Bb1?arch=amd64"


def test_hashes_of_wheels_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    path = tmp_path / bundled.WHEELS_FILE
    assert bundled.wheel_hashes(path) == {}
    path.write_text("[1]")
    with pytest.raises(BuildError, match="delete it and set up again"):
        bundled.wheel_hashes(path)
