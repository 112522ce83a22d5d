"""The disk image for macOS: the frozen app, signed inside out, notarised and stapled.

What is secret lives in a keychain; the environment only names it. Without a name at all the image
is for trying out alone, and its file name says so; with half of the names nothing is built, because
a signed app that is not notarised is refused on every Mac but the one that signed it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder.errors import BuildError, CannotBuildHere
from builder.files import fresh_folder
from builder.linux_metadata import APP_ID
from builder.notices import FILE as NOTICES
from builder.targets import Context, Target
from builder.tools import run
from builder.version import numbers

APP = "GPU Explorer.app"
VOLUME = "GPU Explorer"
ENTITLEMENTS = "packaging/macos/entitlements.plist"
OLDEST_MACOS = "13.0"
"""What Qt 6.10 runs on."""
SESSION_TYPE = f"{APP_ID}.session"
IDENTITY = "GPUEXPLORER_CODESIGN_IDENTITY"
PROFILE = "GPUEXPLORER_NOTARY_PROFILE"
KEYCHAIN = "GPUEXPLORER_NOTARY_KEYCHAIN"
MUST_SIGN = "GPUEXPLORER_MUST_SIGN"
_MACH_O = frozenset(
    bytes.fromhex(magic)
    for magic in ("feedface", "cefaedfe", "feedfacf", "cffaedfe", "cafebabe", "cafebabf")
)
"""How a program or a library begins: for 32 or 64 bits, either order, one processor or several."""
_BUNDLES = frozenset({".framework", ".app", ".bundle", ".plugin"})


@dataclass(frozen=True)
class Signing:
    """Whose signature, and which kept credentials for Apple's notary."""

    identity: str
    profile: str
    keychain: str | None = None
    """Where the credentials are kept; None: where notarytool keeps them by itself."""

    def credentials(self) -> list[str]:
        """Return what tells notarytool who asks."""
        where = ["--keychain", self.keychain] if self.keychain else []
        return ["--keychain-profile", self.profile, *where]


def info_plist(version: str) -> dict[str, Any]:
    """Return what macOS is told of the app: its version, and the session files that it owns."""
    return {
        "CFBundleName": "GPU Explorer",
        "CFBundleDisplayName": "GPU Explorer",
        "CFBundleIdentifier": APP_ID,
        "CFBundleShortVersionString": version,
        "CFBundleVersion": numbers(version, 3),
        "CFBundlePackageType": "APPL",
        "LSApplicationCategoryType": "public.app-category.developer-tools",
        "LSMinimumSystemVersion": OLDEST_MACOS,
        "NSHighResolutionCapable": True,
        "NSHumanReadableCopyright": "GPU Explorer contributors, MIT licence",
        # Without it the window keeps to the light appearance whatever the system's is.
        "NSRequiresAquaSystemAppearance": False,
        "CFBundleDocumentTypes": [
            {
                "CFBundleTypeName": "GPU Explorer session",
                "CFBundleTypeRole": "Editor",
                "LSHandlerRank": "Owner",
                "LSItemContentTypes": [SESSION_TYPE],
            }
        ],
        "UTExportedTypeDeclarations": [
            {
                "UTTypeIdentifier": SESSION_TYPE,
                "UTTypeDescription": "GPU Explorer session",
                "UTTypeConformsTo": ["public.data"],
                "UTTypeTagSpecification": {
                    "public.filename-extension": ["gpux"],
                    "public.mime-type": ["application/x-gpuexplorer-session"],
                },
            }
        ],
    }


def signing(environment: Mapping[str, str]) -> Signing | None:
    """Return who signs; None for an image to try out; CannotBuildHere when a name is missing."""
    identity, profile = environment.get(IDENTITY), environment.get(PROFILE)
    if identity and profile:
        return Signing(identity, profile, environment.get(KEYCHAIN) or None)
    missing = [name for name, value in ((IDENTITY, identity), (PROFILE, profile)) if not value]
    if len(missing) == 1 or environment.get(MUST_SIGN):
        raise CannotBuildHere(
            f"{' and '.join(missing)} must be set: the 'Developer ID Application: ...' certificate "
            "in the keychain, and the profile made with 'xcrun notarytool store-credentials' "
            "(packaging/README.md)"
        )
    return None


def image_name(version: str, arch: str, signed: bool) -> str:
    """Return the image's file name."""
    apple = {"aarch64": "arm64"}.get(arch, arch)
    return f"gpuexplorer-{version}-macos-{apple}{'' if signed else '-unsigned'}.dmg"


# --- signing, from the inside out ----------------------------------------------------------------


def code_in(app: Path) -> list[Path]:
    """Return the programs and libraries in an app, and the bundles around them, innermost first.

    A signature covers what is inside, so that must be signed before. The app itself is left out.
    """
    found = []
    for folder, names, files in os.walk(app):
        here = Path(folder)
        found += [here / name for name in files if is_code(here / name)]
        inside = [here / name for name in names if not (here / name).is_symlink()]
        for path in inside:
            if path.suffix == ".framework":
                versions = [p for p in sorted(path.glob("Versions/*")) if not p.is_symlink()]
                found += versions or [path]
            elif path.suffix in _BUNDLES:
                found.append(path)
    # A bundle's own folder comes after everything in it, which is deeper.
    return sorted(found, key=lambda path: (-len(path.parts), str(path)))


def is_code(path: Path) -> bool:
    """Return whether a file is a program or a library of macOS; a link is what it leads to."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as stream:
        head = stream.read(8)
    # A compiled Java class begins like code for several processors, of which there are few.
    several = head[:4] == b"\xca\xfe\xba\xbe" and int.from_bytes(head[4:8], "big") > 20
    return head[:4] in _MACH_O and not several


def codesign(paths: Sequence[Path], by: Signing | None, entitlements: Path | None = None) -> None:
    """Sign files or bundles; ``by`` None marks them as unchanged, which Apple's processors need."""
    command: list[str | Path] = ["codesign", "--force", "--sign", by.identity if by else "-"]
    if by is not None:
        # Both are what the notary asks for.
        command += ["--timestamp", "--options", "runtime"]
    if entitlements is not None:
        command += ["--entitlements", entitlements]
    for path in paths:
        run([*command, path])


def sign_app(app: Path, by: Signing | None, entitlements: Path) -> None:
    """Sign an app from the inside out and have the signature checked."""
    codesign(code_in(app), by)
    codesign([app], by, entitlements)
    run(["codesign", "--verify", "--deep", "--strict", "--verbose=2", app])


# --- the image -----------------------------------------------------------------------------------


def build(context: Context) -> list[Path]:
    """Build the disk image; BuildError when Apple's notary refuses it, with its reasons."""
    by = signing(os.environ)
    frozen = context.frozen.with_name(APP)
    if not frozen.is_dir():
        raise BuildError(f"there is no {frozen}; build it on macOS: builder frozen")
    work = fresh_folder(context.work / "macos")
    app = work / "image" / APP
    # Links stay links: copies of what frameworks link to would break their signatures.
    shutil.copytree(frozen, app, symlinks=True)
    shutil.copyfile(context.frozen / NOTICES, app / "Contents" / "Resources" / NOTICES)
    sign_app(app, by, context.root / ENTITLEMENTS)
    (app.parent / "Applications").symlink_to("/Applications")
    image = work / image_name(context.version, context.arch, by is not None)
    run(
        [
            "hdiutil", "create", "-volname", VOLUME, "-srcfolder", app.parent, "-fs", "HFS+",
            "-format", "UDZO", "-imagekey", "zlib-level=9", "-ov", image,
        ]
    )  # fmt: skip
    if by is not None:
        codesign([image], by)
        notarise(image, by)
    context.out.mkdir(parents=True, exist_ok=True)
    target = context.out / image.name
    fresh = target.with_name(f".{target.name}.new")
    shutil.copyfile(image, fresh)
    fresh.replace(target)
    return [target]


def notarise(image: Path, by: Signing) -> None:
    """Have Apple look at the image, and keep its answer in it; BuildError with its reasons."""
    notary = ["xcrun", "notarytool"]
    credentials = by.credentials()
    said = run(
        [*notary, "submit", image, *credentials, "--wait", "--output-format", "json"],
        timeout_s=2 * 3600,
    )
    # It ends well even when it refuses.
    answer = parse_answer(said)
    if answer.get("status") != "Accepted":
        reasons = run([*notary, "log", str(answer.get("id", "")), *credentials])
        raise BuildError(f"Apple's notary says '{answer.get('status')}' to {image}:\n{reasons}")
    run(["xcrun", "stapler", "staple", image])
    run(["xcrun", "stapler", "validate", image])
    run(
        [
            "spctl", "--assess", "--type", "open", "--context", "context:primary-signature",
            "--verbose", image,
        ]
    )  # fmt: skip


def parse_answer(said: str) -> dict[str, Any]:
    """Return the notary's answer, behind whatever else it said; BuildError when there is none."""
    try:
        answer = json.loads(said[said.index("{") : said.rindex("}") + 1])
    except ValueError:
        raise BuildError(f"Apple's notary answered in words, not in JSON: {said.strip()}") from None
    return dict(answer)


TARGETS = (
    Target(
        name="dmg",
        title="the disk image for macOS",
        needs=("macos", "xcrun"),
        after=("frozen",),
        build=build,
    ),
)
