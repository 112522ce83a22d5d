"""A cluster is named by its file or its address, and never spoken to in the open."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import Mock

import pytest

from gpuexplorer.cluster.connection import Cluster
from gpuexplorer.cluster.place import find_cluster
from gpuexplorer.core.errors import InputError
from tests.support.cli import assert_one_sentence, run_cli


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:8786", "tcp://localhost:1", "tcp://[::1]:8786", "tls://gpu7:8786"]
)
def test_an_address_that_is_safe_is_taken_as_it_is(address: str) -> None:
    assert find_cluster(address).scheduler == address


@pytest.mark.skipif(os.name == "nt", reason="users' rights are POSIX's")
def test_a_file_that_others_wrote_or_may_change_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cluster.toml"
    file.write_text('schema = "gpuexplorer/cluster/1"\nscheduler = "tls://gpu7:8786"\n')
    file.chmod(0o664)
    assert find_cluster(str(file)).encrypted
    file.chmod(0o666)
    with pytest.raises(InputError, match="can be written by somebody else"):
        find_cluster(str(file))
    file.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(file, 4321, -1)
    owner = file.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(InputError, match="use a cluster of your own"):
        find_cluster(str(tmp_path))


@pytest.mark.parametrize("address", ["tcp://gpu7:8786", "tcp://10.0.0.7:8786", "tcp://0.0.0.0:1"])
def test_what_is_not_encrypted_is_refused_but_on_this_machine_and_the_reason_is_said(
    address: str, tmp_path: Path
) -> None:
    file = tmp_path / "cluster.toml"
    file.write_text(f'schema = "gpuexplorer/cluster/1"\nscheduler = "{address}"\n')
    for where in (address, str(file)):
        with pytest.raises(InputError, match="whoever reaches it can run any program as you"):
            find_cluster(where)


@pytest.mark.parametrize("address", ["http://gpu7:80", "tls://gpu7", "tls://:8786", "tls://a:bc"])
def test_what_is_no_schedulers_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="no scheduler's address; write tls://HOST:PORT"):
        find_cluster(address)


def test_a_file_names_its_certificates_beside_itself(tmp_path: Path) -> None:
    file = tmp_path / "cluster.toml"
    file.write_text(
        'schema = "gpuexplorer/cluster/1"\nscheduler = "tls://gpu7:8786"\n'
        'ca = "cert.pem"\ncert = "cert.pem"\nkey = "key.pem"\n'
    )
    place = find_cluster(str(file))
    assert (place.ca, place.key) == (str(tmp_path / "cert.pem"), str(tmp_path / "key.pem"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("scheduler = 1", "is no cluster's file"),
        ("[", "is no cluster's file"),
        ('schema = "other/1"', "is of the kind 'other/1', not gpuexplorer/cluster/1"),
    ],
)
def test_a_file_of_another_kind_is_refused(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "cluster.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        find_cluster(str(file))


def test_an_encrypted_scheduler_without_certificates_is_refused() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match=r"needs certificates, and none are named; give the"):
        find_cluster("tls://gpu7:8786").security()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--slower-by", "5%"], "--slower-by is for the workers of a cluster; give --cluster"),
        (["--cluster", "tcp://gpu7:8786"], "is not encrypted: whoever reaches it can run any"),
        (["--cluster", "tls://gpu7:1", "--python", "tf"], "a cluster's workers use theirs"),
        (["--cluster", "nowhere.toml"], "cannot read nowhere.toml: there is no such file"),
    ],
)
def test_a_sweep_refuses_what_does_not_go_with_a_cluster(
    options: list[str], said: str, tmp_path: Path
) -> None:
    done = run_cli("sweep", "matmul", "--block-x", "8,16", *options, cwd=tmp_path)
    assert said in assert_one_sentence(done, 2)


@pytest.mark.parametrize("error", [OSError("gone"), ValueError("IOStream is not idle")])
def test_leaving_says_nothing_of_a_connection_that_was_being_made_anew(error: Exception) -> None:
    cluster = Cluster.__new__(Cluster)
    cluster.client = Mock(close=Mock(side_effect=error))
    cluster.close()
    cluster.client.close.assert_called_once()
