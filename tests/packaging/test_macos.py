"""The disk image for macOS: what the app says of itself, what is signed in which order, refusals.

Apple's programs are played by scripts that write down what they were asked.
"""

from __future__ import annotations

import json
import plistlib
from collections.abc import Callable
from pathlib import Path

import pytest
from builder import macos
from builder.errors import BuildError, CannotBuildHere
from builder.macos import APP, Signing, code_in, image_name, info_plist, is_code, signing
from builder.notices import FILE as NOTICES
from builder.targets import Context

from gpuexplorer.gui.model.session_suffix import SUFFIX
from tests.support.payload import ROOT, stand_in

CODE = bytes.fromhex("cffaedfe") + b"\0" * 20
SECRETS = {macos.IDENTITY: "Developer ID Application: Us (X)", macos.PROFILE: "release"}


@pytest.fixture
def context(tmp_path: Path) -> Context:
    """Return a context with an app as PyInstaller lays it out, frameworks and links included."""
    made = stand_in(tmp_path)
    contents = made.frozen.with_name(APP) / "Contents"
    qt = contents / "Frameworks" / "PySide6" / "Qt" / "lib" / "QtCore.framework"
    for path in (
        contents / "MacOS" / "gpuexplorer",
        contents / "Frameworks" / "numpy" / "core.so",
        qt / "Versions" / "A" / "QtCore",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(CODE)
    (qt / "Versions" / "Current").symlink_to("A")
    (qt / "QtCore").symlink_to("Versions/Current/QtCore")
    (contents / "Resources").mkdir()
    (contents / "Resources" / "kernel.cu").write_text("code of another kind")
    (contents / "Frameworks" / "kernel.cu").symlink_to("../Resources/kernel.cu")
    (made.frozen / NOTICES).write_text("notices")
    return made


@pytest.fixture
def apple(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[list[str]]]:
    """Put scripts in the place of Apple's programs; return what tells how they were called."""
    programs = tmp_path / "bin"
    programs.mkdir()
    log = tmp_path / "asked"
    for name in ("codesign", "hdiutil", "xcrun", "spctl"):
        script = programs / name
        script.write_text(
            f'#!/bin/sh\n{{ printf "%s\\036" {name} "$@"; echo; }} >> "{log}"\n'
            "for last; do :; done\n"
            f'[ {name} = hdiutil ] && echo image > "$last"\n'
            'case "$*" in *submit*) cat "$NOTARY_SAYS";; *log*) echo "the reasons";; esac\nexit 0\n'
        )
        script.chmod(0o755)
    answer = tmp_path / "answer"
    answer.write_text('Processing\n{"id": "7", "status": "Accepted"}\n')
    monkeypatch.setenv("NOTARY_SAYS", str(answer))
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    for name in (*SECRETS, macos.KEYCHAIN, macos.MUST_SIGN):
        monkeypatch.delenv(name, raising=False)
    return lambda: [line.split("\x1e")[:-1] for line in log.read_text().split("\n")[:-1]]


def test_macos_is_told_the_version_and_the_session_files() -> None:
    told = plistlib.loads(plistlib.dumps(info_plist("1.2rc1")))
    assert told["CFBundleShortVersionString"] == "1.2rc1"
    assert told["CFBundleVersion"] == "1.2.0"  # a number is wanted here
    (kind,) = told["UTExportedTypeDeclarations"]
    tags = kind["UTTypeTagSpecification"]
    assert tags["public.filename-extension"] == [SUFFIX.removeprefix(".")]
    assert tags["public.mime-type"] == ["application/x-gpuexplorer-session"]
    (document,) = told["CFBundleDocumentTypes"]
    assert document["LSItemContentTypes"] == [kind["UTTypeIdentifier"]]


def test_the_app_asks_for_one_right_only() -> None:
    rights = plistlib.loads((ROOT / macos.ENTITLEMENTS).read_bytes())
    assert rights == {"com.apple.security.cs.allow-unsigned-executable-memory": True}


def test_code_is_known_by_how_it_begins(tmp_path: Path) -> None:
    beginnings = {
        "one": ("cffaedfe00000000", True),
        "several": ("cafebabe00000002", True),
        "java": ("cafebabe00000034", False),
        "short": ("cf", False),
    }
    for name, (begins, expected) in beginnings.items():
        (tmp_path / name).write_bytes(bytes.fromhex(begins))
        assert is_code(tmp_path / name) is expected, name


def test_what_is_inside_is_signed_before_what_is_around_it(context: Context) -> None:
    app = context.frozen.with_name(APP)
    found = [path.relative_to(app / "Contents").as_posix() for path in code_in(app)]
    framework = "Frameworks/PySide6/Qt/lib/QtCore.framework/Versions/A"
    assert found == [
        f"{framework}/QtCore",
        framework,
        "Frameworks/numpy/core.so",
        "MacOS/gpuexplorer",
    ]


def test_an_image_without_a_certificate_is_called_unsigned(
    context: Context, apple: Callable[[], list[list[str]]]
) -> None:
    (image,) = macos.build(context)
    assert image.name == "gpuexplorer-1.2.3-macos-x86_64-unsigned.dmg"
    assert image.read_text() == "image\n"
    asked = apple()
    signed = [call for call in asked if call[:4] == ["codesign", "--force", "--sign", "-"]]
    assert len(signed) == 5 and signed[-1][-1].endswith(APP)
    assert not any(call[0] == "xcrun" for call in asked)
    staged = context.work / "macos" / "image"
    assert (staged / "Applications").readlink() == Path("/Applications")
    assert (staged / APP / "Contents/Resources" / NOTICES).read_text() == "notices"
    assert (staged / APP / "Contents/Frameworks/kernel.cu").is_symlink()


def test_a_signed_image_is_notarised_and_keeps_the_answer(
    context: Context, apple: Callable[[], list[list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(macos.KEYCHAIN, "/a/keychain")
    (image,) = macos.build(context)
    assert image.name == "gpuexplorer-1.2.3-macos-x86_64.dmg"
    asked = apple()
    signed = [call for call in asked if "--sign" in call]
    assert all({"--timestamp", "runtime"} <= set(call) for call in signed)
    with_rights = [call[-1] for call in signed if "--entitlements" in call]
    assert [Path(path).name for path in with_rights] == [APP]
    steps = [" ".join(call[:3]) for call in asked if call[0] in {"xcrun", "spctl", "hdiutil"}]
    assert steps == [
        "hdiutil create -volname",
        "xcrun notarytool submit",
        "xcrun stapler staple",
        "xcrun stapler validate",
        "spctl --assess --type",
    ]
    submitted = next(call for call in asked if "submit" in call)
    assert submitted[submitted.index("--keychain") + 1] == "/a/keychain"


def test_a_refusal_of_the_notary_is_told_with_its_reasons(
    context: Context, apple: Callable[[], list[list[str]]],
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "answer").write_text(json.dumps({"id": "7", "status": "Invalid"}))
    with pytest.raises(BuildError, match=r"(?s)says 'Invalid'.*the reasons"):
        macos.build(context)
    assert not context.out.exists()
    assert not any("stapler" in call for call in apple())


@pytest.mark.parametrize(
    "environment",
    [
        {macos.IDENTITY: "Us"},
        {macos.PROFILE: "release", macos.IDENTITY: ""},
        {macos.MUST_SIGN: "yes"},
    ],
)
def test_a_missing_secret_is_refused_and_named(environment: dict[str, str]) -> None:
    missing = [name for name in SECRETS if not environment.get(name)]
    with pytest.raises(CannotBuildHere, match=" and ".join(missing)):
        signing(environment)


def test_secrets_are_all_or_none() -> None:
    assert signing({macos.IDENTITY: "", macos.PROFILE: ""}) is None
    assert signing(SECRETS) == Signing(SECRETS[macos.IDENTITY], "release")


def test_an_answer_that_is_none_is_told() -> None:
    with pytest.raises(BuildError, match="in words, not in JSON: no network"):
        macos.parse_answer("no network\n")


def test_the_image_names_the_processor_as_apple_does() -> None:
    assert image_name("1.0", "aarch64", signed=True) == "gpuexplorer-1.0-macos-arm64.dmg"


def test_without_an_app_nothing_is_built(
    tmp_path: Path, apple: Callable[[], list[list[str]]]
) -> None:
    with pytest.raises(BuildError, match="build it on macOS"):
        macos.build(stand_in(tmp_path))
