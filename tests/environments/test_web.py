"""Files come over TLS from servers that the user's own certificates, or words, vouch for."""

from __future__ import annotations

import ssl
import urllib.error
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuexplorer.environments.pip_settings import PipSettings
from gpuexplorer.environments.web import Web
from tests.support.package_index import PackageIndex
from tests.support.wheels import small_wheel

PEM = Path(__file__).with_name("localhost.pem")
"""A key and its certificate, of this machine for itself."""


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """A file of 5,000 bytes and more that is served over TLS."""
    wheel = small_wheel(tmp_path / "wheels", "apple", "1.0", size_B=5000)
    with PackageIndex(wheel.parent, certificate=PEM) as index:
        yield index.address.replace("/simple/", f"/files/{wheel.name}")


def test_a_server_that_nobody_vouches_for_is_not_believed(url: str) -> None:
    web = Web(PipSettings())
    assert web.size_of(url) is None
    with pytest.raises(urllib.error.URLError) as refused:
        web.open_at(url, 0)
    assert isinstance(refused.value.reason, ssl.SSLError)


@pytest.mark.parametrize(
    "settings",
    [
        PipSettings(certificates=str(PEM)),
        PipSettings(trusted_hosts=("127.0.0.1",)),
        PipSettings(certificates=str(PEM), client_certificate=str(PEM)),
    ],
    ids=["certificates", "trusted host", "client certificate"],
)
def test_pips_certificates_and_trusted_hosts_are_believed(url: str, settings: PipSettings) -> None:
    web = Web(settings)
    size_B = web.size_of(url)
    assert size_B is not None
    assert size_B > 5000
    answer, begins = web.open_at(url, 1000)
    with answer:
        assert begins == 1000
        assert len(answer.read()) == size_B - 1000


def test_a_proxy_of_pips_is_asked_in_place_of_the_server(tmp_path: Path) -> None:
    wheel = small_wheel(tmp_path / "wheels", "apple", "1.0", size_B=100)
    with PackageIndex(wheel.parent) as proxy:
        web = Web(PipSettings(proxy=proxy.address.removesuffix("/simple/")))
        assert web.size_of(f"http://nowhere.invalid/files/{wheel.name}") is not None
