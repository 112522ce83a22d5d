"""The installer for Windows: it compiles without a warning, and removes what it installed."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest
from builder import windows
from builder.errors import BuildError
from builder.targets import Context
from builder.windows import Item, check_names, compile_script, payload, payload_script

from gpuexplorer.gui.model.session_suffix import SUFFIX
from tests.support.payload import ROOT, stand_in

SCRIPT = (ROOT / windows.SCRIPT).read_text(encoding="utf-8")
needs_nsis = pytest.mark.skipif(
    shutil.which("makensis") is None, reason="needs makensis: apt-get install nsis"
)


@pytest.fixture
def context(tmp_path: Path) -> Context:
    """Return a context with a frozen program that has names which scripts stumble over."""
    made = stand_in(tmp_path)
    for name in ("_internal/a $INSTDIR/%PATH%.dll", "_internal/a $INSTDIR/中/ö.txt", "notes.txt"):
        path = made.frozen / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return made


def compiled(context: Context, folder: Path) -> bytes:
    folder.mkdir()
    items = windows.stand_in(payload(context.frozen), folder / "payload")
    installer = folder / windows.installer_name(context.version, context.arch)
    return compile_script(context, items, "Terms of “others”", folder, installer).read_bytes()


@needs_nsis
def test_the_script_compiles_without_a_warning_to_the_same_bytes(
    context: Context, tmp_path: Path
) -> None:
    work = tmp_path / "work"  # the same place: paths are not what is compared
    first = compiled(context, work)
    shutil.rmtree(work)
    assert compiled(context, work) == first
    assert first.startswith(b"MZ")
    assert not list(work.glob(".*"))


@needs_nsis
def test_a_warning_of_the_compiler_stops_the_build(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    doubtful = tmp_path / "doubtful.nsi"
    doubtful.write_text(
        '!include "${GENERATED}/payload.nsh"\nOutFile "${OUTFILE}"\nVar NeverUsed\n'
        "Section\nSectionEnd\n"
    )
    monkeypatch.setattr(windows, "SCRIPT", str(doubtful))
    with pytest.raises(BuildError, match="NeverUsed"):
        compiled(context, tmp_path / "work")
    assert not list((tmp_path / "work").glob("*.exe"))


def test_what_is_installed_is_what_is_removed(context: Context) -> None:
    items = payload(context.frozen)
    script = payload_script(items, {"VERSION": "1.2.3"})
    install, remove, folders = re.split(r"!macro PAYLOAD_\w+\n", script)[1:]
    placed = set()
    for line in install.splitlines():
        if line.startswith("SetOutPath"):
            folder = line.removeprefix('SetOutPath "').removesuffix('"')
        elif line.startswith("File"):
            name = line.removeprefix('File "/oname=').partition('"')[0]
            placed.add(f"{folder}\\{name}")
    assert placed == set(re.findall(r'^Delete "(.*)"$', remove, re.MULTILINE))
    assert len(placed) == len(items) == 7
    assert "$INSTDIR\\_internal\\a $$INSTDIR\\中\\ö.txt" in placed
    removed = re.findall(r'^RMDir "(.*)"$', folders, re.MULTILINE)
    assert removed == [
        "$INSTDIR\\_internal\\a $$INSTDIR\\中",
        "$INSTDIR\\_internal\\a $$INSTDIR",
        "$INSTDIR\\_internal",
    ]


def test_nothing_is_removed_with_all_that_is_in_it() -> None:
    code = "\n".join(line.partition(";")[0] for line in SCRIPT.splitlines())
    assert not re.search(r"RMDir\s+/r", code)
    assert "/REBOOTOK" not in code
    # A whole key goes only when it is ours by name.
    for line in re.findall(r"^\s*DeleteRegKey .*$", code, re.MULTILINE):
        ours = re.search(r"\$\{(PROGID|\w+_KEY)\}", line)
        assert ours or "/ifnosubkeys /ifnovalues" in line, line


def test_every_question_has_an_answer_for_a_silent_installation() -> None:
    joined = SCRIPT.replace("\\\n", " ")
    questions = re.findall(r"MessageBox .*", joined)
    assert len(questions) >= 5
    silent = [question for question in questions if "/SD ID" in question]
    assert [q for q in questions if q not in silent] == [
        'MessageBox MB_OK|MB_ICONEXCLAMATION "$Problem"'  # of a page, which is never shown then
    ]


def test_names_are_those_of_the_product() -> None:
    assert f'!define SUFFIX "{SUFFIX}"' in SCRIPT
    for program in windows.PROGRAMS:
        assert f'"{program}"' in SCRIPT
    assert f"$INSTDIR\\{windows.COMMAND.parent}" in SCRIPT


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a/con.txt", "rename 'con.txt'"),
        ("a/b?.txt", r"rename 'b\?.txt'"),
        ("a/b.", r"rename 'b\.'"),
        ("x" * 181, "at most 180 leave room"),
    ],
)
def test_names_that_windows_cannot_have_are_refused(name: str, said: str) -> None:
    with pytest.raises(BuildError, match=said):
        check_names([PurePosixPath("fine/console.txt"), PurePosixPath(name)])


def test_names_that_differ_in_case_alone_are_refused() -> None:
    with pytest.raises(BuildError, match="'a/B' and 'A/b' are one file"):
        check_names([PurePosixPath("a/B"), PurePosixPath("A/b")])


def test_a_program_of_another_system_makes_no_installer(context: Context) -> None:
    with pytest.raises(BuildError, match=r"has no gpuexplorer\.exe and no gpuexplorer-cli\.exe"):
        windows.build(context)
    with pytest.raises(BuildError, match="build it first"):
        payload(context.frozen / "nothing")


def test_the_stand_in_has_the_real_names_and_nothing_else(context: Context, tmp_path: Path) -> None:
    items = windows.stand_in(payload(context.frozen), tmp_path / "empty")
    names = {str(item.name) for item in items}
    assert names >= {"gpuexplorer.exe", "gpuexplorer-cli.exe", "_internal/naïve data.txt"}
    assert "gpuexplorer" not in names
    assert all(item.source.stat().st_size == 0 for item in items)


def test_the_size_in_windows_settings_is_that_of_the_files(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "find", lambda program: program)

    def no_compiler(*_: object, **__: object) -> str:
        work = tmp_path / "work"
        (work / ".setup.exe.new").write_bytes(b"MZ")
        return ""

    monkeypatch.setattr(windows, "run", no_compiler)
    big = tmp_path / "big"
    big.write_bytes(b"x" * 3000)
    item = Item(PurePosixPath("gpuexplorer.exe"), big)
    work = tmp_path / "work"
    setup = compile_script(
        replace(context, version="2.0rc1"), [item], "Terms", work, work / "setup.exe", "sign it"
    )
    assert setup.read_bytes() == b"MZ"
    written = (work / "payload.nsh").read_text(encoding="utf-8")
    assert '!define SIZE_KB "3"' in written  # 3000 bytes and the command of a line
    assert '!define VERSION_QUAD "2.0.0.0"' in written
    assert '!define SIGN_COMMAND "sign it"' in written
    assert (work / "terms.txt").read_bytes().startswith(b"\xef\xbb\xbfTerms")
    assert (work / "gpuexplorer.cmd").read_bytes().endswith(b"%*\r\n")
