"""What desktops are told: the same names everywhere, and every release with its day."""

from __future__ import annotations

import configparser
import gzip
import os
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from builder.errors import BuildError
from builder.linux_metadata import APP_ID, metainfo, releases, with_releases, write_share

from gpuexplorer.gui.model.session_suffix import SUFFIX
from tests.support.payload import DAY, EPOCH, ROOT, stand_in

MIME = "application/x-gpuexplorer-session"
NAMESPACE = "{http://www.freedesktop.org/standards/shared-mime-info}"


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder as it is installed under /usr/share."""
    base = tmp_path_factory.mktemp("share")
    write_share(stand_in(base), base / "share")
    return base / "share"


def test_menu_entry_file_type_and_description_name_each_other(share: Path) -> None:
    entry = configparser.RawConfigParser()
    entry.read(share / "applications" / f"{APP_ID}.desktop", encoding="utf-8")
    desktop = entry["Desktop Entry"]
    assert desktop["Exec"] == "gpuexplorer %f"
    assert desktop["MimeType"] == f"{MIME};"
    mime = ElementTree.parse(share / "mime/packages/gpuexplorer.xml").getroot()[0]
    assert mime.get("type") == MIME
    assert [glob.get("pattern") for glob in mime.iter(f"{NAMESPACE}glob")] == [f"*{SUFFIX}"]
    about = ElementTree.parse(share / "metainfo" / f"{APP_ID}.metainfo.xml").getroot()
    assert about.findtext("id") == APP_ID
    assert about.findtext("launchable") == f"{APP_ID}.desktop"
    assert about.findtext("provides/mediatype") == MIME
    assert about.findtext("releases/release") == ""
    assert (share / "icons/hicolor/48x48/apps" / f"{desktop['Icon']}.png").is_file()
    assert (share / "icons/hicolor/scalable/apps" / f"{desktop['Icon']}.svg").is_file()


def test_the_manual_is_compressed_without_a_date_of_its_own(share: Path) -> None:
    data = (share / "man/man1/gpuexplorer.1.gz").read_bytes()
    assert data[4:8] == b"\0\0\0\0"
    assert gzip.decompress(data).startswith(b".TH GPUEXPLORER 1")


def test_releases_are_those_of_the_changelog_and_this_one() -> None:
    changelog = "## [Unreleased]\n\n## [1.1.0] - 2026-02-03\n\n## [1.0.0] - 2025-12-24\n"
    assert releases(changelog, "1.2.3", EPOCH) == [
        ("1.2.3", DAY),
        ("1.1.0", "2026-02-03"),
        ("1.0.0", "2025-12-24"),
    ]
    assert releases(changelog, "1.1.0", EPOCH)[0] == ("1.1.0", "2026-02-03")


@pytest.mark.parametrize("name", ["AppRun", "install.sh", "try_deb.sh", "check_deb.sh"])
def test_scripts_can_be_started_and_read_by_the_shell_they_name(name: str) -> None:
    script = ROOT / "packaging" / "linux" / name
    shell = script.read_text(encoding="utf-8").splitlines()[0].split("/")[-1].split()[-1]
    assert os.access(script, os.X_OK)
    done = subprocess.run([shell, "-n", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_description_that_is_no_xml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="XML"):
        with_releases("<component><name></component>", [("1", DAY)])
    assert 'version="1.2.3"' in metainfo(stand_in(tmp_path))
