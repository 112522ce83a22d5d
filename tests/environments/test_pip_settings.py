"""uv and our own downloads get packages from where pip was told that they are."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gpuexplorer.environments.kinds import Kind
from gpuexplorer.environments.pip_settings import PipSettings, read_settings
from gpuexplorer.environments.plan import plan
from gpuexplorer.environments.pythons import FoundPython
from tests.support.package_index import PackageIndex
from tests.support.pythons import pretend
from tests.support.wheels import small_wheel

KIND = Kind(name="tiny", title="Tiny", teaches="Nothing.", requirements=("apple",))


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of settings that pip is pointed to, and nothing else."""
    path = tmp_path / "pip.conf"
    monkeypatch.setenv("PIP_CONFIG_FILE", str(path))
    monkeypatch.delenv("PIP_INDEX_URL")
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS"):
        monkeypatch.setenv(name, str(tmp_path / name))
    return path


def test_pips_certificates_and_proxy_are_used(configured: Path, tmp_path: Path) -> None:
    roots = tmp_path / "ca.pem"
    roots.write_text("")
    configured.write_text(
        f"[global]\ncert = {roots}\nclient-cert = {tmp_path / 'nowhere.pem'}\n"
        "proxy = http://proxy:8080\ntrusted-host =\n  one.example\n  two.example:8443\n"
    )
    found = read_settings(Path(sys.executable))
    assert (found.certificates, found.client_certificate) == (str(roots), None)
    assert found.proxies == {"http": "http://proxy:8080", "https": "http://proxy:8080"}
    assert found.trusts("https://one.example:444/apple.whl")
    assert found.trusts("https://two.example:8443/apple.whl")
    assert not found.trusts("https://two.example/apple.whl")


def test_a_variable_wins_over_install_and_that_over_global(
    configured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured.write_text(
        "[global]\nindex-url = https://a/\nextra-index-url = https://b/ https://c/\n"
        "[install]\nindex_url = https://d/\n"
    )
    found = read_settings(Path(sys.executable))
    assert (found.index, found.more_indexes) == ("https://d/", ("https://b/", "https://c/"))
    monkeypatch.setenv("PIP_INDEX_URL", "https://e/")
    assert read_settings(Path(sys.executable)).index == "https://e/"


@pytest.mark.skipif(sys.platform != "linux", reason="where these files are differs by system")
def test_a_users_file_wins_over_the_machines_and_an_environments_over_both(
    configured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "env" / "bin" / "python"
    machine = tmp_path / "XDG_CONFIG_DIRS" / "pip" / "pip.conf"
    user = tmp_path / "XDG_CONFIG_HOME" / "pip" / "pip.conf"
    of_python = tmp_path / "env" / "pip.conf"
    for path in (machine, user, of_python):
        path.parent.mkdir(parents=True)
    for path in (machine, user, of_python):
        path.write_text(f"[global]\nindex-url = https://{path.parent.name}/\n")
        assert read_settings(python).index == f"https://{path.parent.name}/"
    user.write_text("not settings")
    of_python.unlink()
    assert read_settings(python).index == "https://pip/"  # the machine's
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    assert read_settings(python) == PipSettings()


def test_keyring_is_asked_for_the_password_of_an_index(
    configured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = '[ "$2 $3" = "index.example anna" ] && echo "p@ss word"'
    pretend(tmp_path / "bin", script).rename(tmp_path / "bin" / "keyring")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    configured.write_text("[global]\nindex-url = https://anna@index.example/simple\n")
    found = read_settings(Path(sys.executable))
    assert found.index == "https://anna:p%40ss%20word@index.example/simple"
    assert found.credentials("https://index.example/f/apple.whl") == ("anna", "p@ss word")
    assert found.credentials("https://elsewhere.example/f/apple.whl") is None


def test_netrc_has_the_password_of_a_server(
    configured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "netrc"
    path.write_text("machine files.example login anna password secret\n")
    path.chmod(0o600)
    monkeypatch.setenv("NETRC", str(path))
    assert PipSettings().credentials("https://files.example:8443/a.whl") == ("anna", "secret")
    assert PipSettings().credentials("https://other.example/a.whl") is None


def test_wheels_come_from_every_index_and_folder_that_pip_knows(
    configured: Path, python: FoundPython, tmp_path: Path
) -> None:
    small_wheel(tmp_path / "one", "apple", "2.0", requires="pear")
    small_wheel(tmp_path / "two", "apple", "1.0")
    small_wheel(tmp_path / "two", "pear", "1.0", requires="plum")
    small_wheel(tmp_path / "links", "plum", "1.0")
    with PackageIndex(tmp_path / "one") as one, PackageIndex(tmp_path / "two") as two:
        two.password = "secret"
        configured.write_text(
            f"[global]\nindex-url = {two.address}\nextra-index-url = {one.address}\n"
            f"find-links = {tmp_path / 'links'}\n"
        )
        found = plan(KIND, python)
    assert {p.name: p.version for p in found.packages} == {
        "apple": "2.0", "pear": "1.0", "plum": "1.0",
    }  # fmt: skip
    assert all(p.size_B for p in found.packages)
