"""The version stands in one place: a change there changes every package and its papers."""

from __future__ import annotations

import re
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

from builder import deb, linux_metadata, macos, sbom, windows
from builder.targets import make_context

import gpuexplorer
from tests.support.payload import ROOT, stand_in

NEXT = "98.76.54"


def test_every_package_is_of_the_version_it_is_given(tmp_path: Path) -> None:
    context = replace(stand_in(tmp_path), version=NEXT)
    assert NEXT in windows.installer_name(context.version, context.arch)
    assert NEXT in macos.image_name(context.version, context.arch, signed=True)
    assert macos.info_plist(NEXT)["CFBundleShortVersionString"] == NEXT
    assert f'version="{NEXT}"' in linux_metadata.metainfo(context)
    assert f"Version: {NEXT}-1\n" in deb.control_file(context, [], 1)
    assert sbom.bill(context, [])["metadata"]["component"]["version"] == NEXT


def test_that_version_is_the_packages(tmp_path: Path) -> None:
    assert make_context(ROOT, tmp_path).version == gpuexplorer.__version__
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["hatch"]["version"]["path"] == "gpuexplorer/__init__.py"


def test_no_other_file_of_packaging_states_it() -> None:
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "packaging", ".github"],
        capture_output=True, text=True, check=False,
    ).stdout.split()  # fmt: skip
    stated = re.compile(
        rf"gpuexplorer[-_=\" ]+v?{re.escape(gpuexplorer.__version__)}\b|"
        rf"(?i:version)[\"'=: >]+{re.escape(gpuexplorer.__version__)}\b"
    )
    for name in listed:
        if not name.startswith("packaging/licences/") and not name.endswith((".png", ".ico")):
            text = (ROOT / name).read_text(encoding="utf-8")
            assert not stated.search(text), name
