"""Where the store is, and which journal is safe there."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from gpuexplorer.core.errors import InputError
from gpuexplorer.history import place
from gpuexplorer.history.sql import database
from gpuexplorer.history.store import Store
from tests.history.conftest import made_run
from tests.support.cli import cli_environment


def test_the_users_own_store_is_in_the_data_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(place.ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.setenv("GPUEXPLORER_DATA_DIR", str(tmp_path / "data"))
    assert place.find_place().path == tmp_path / "data" / "history.sqlite"
    with Store.open() as store:
        store.add(made_run(1))
        assert store.path == tmp_path / "data" / "history.sqlite"
    monkeypatch.setenv(place.ENVIRONMENT_VARIABLE, str(tmp_path / "team.sqlite"))
    assert place.find_place().path == tmp_path / "team.sqlite"
    assert place.find_place(tmp_path / "named.sqlite").path == tmp_path / "named.sqlite"


def test_files_and_urls_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert place.find_place("a.sqlite").path == tmp_path / "a.sqlite"
    assert place.find_place("sqlite:///a.sqlite").path == tmp_path / "a.sqlite"
    assert place.find_place(f"sqlite:///{tmp_path}/a.sqlite").path == tmp_path / "a.sqlite"
    nobody = "~nobody-of-this-name/a.sqlite"  # a name like any other: there is no such home
    assert place.find_place(nobody).path == tmp_path / nobody
    assert place.file_of("sqlite:///a.sqlite?timeout=3") == Path("a.sqlite")
    assert place.file_of("postgresql://me@server/team") is None
    for memory in ("sqlite://", "sqlite:///:memory:"):
        assert place.find_place(memory).path is None
    for url in ("postgresql://me@server/team", "postgres://me@server/team",
                "postgresql+psycopg://me@server/team"):  # fmt: skip
        assert place.find_place(url).url == "postgresql+psycopg://me@server/team"
    with pytest.raises(InputError, match="not a kind of store"):
        place.find_place("https://server/team")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:s3cret@server/team", "postgresql://me:***@server/team"),
        ("postgresql://me:p@ss@server/team", "postgresql://me:***@server/team"),
        ("postgresql://server/team?user=me&password=s3cret&x=1",
         "postgresql://server/team?user=me&password=***&x=1"),
        ("postgresql://me@server/team", "postgresql://me@server/team"),
        ("postgresql://server:5432/team", "postgresql://server:5432/team"),
        ("postgresql://me:p/ss@server/team?sslpassword=s3cret",
         "postgresql://me:***@server/team?sslpassword=***"),
    ],
)  # fmt: skip
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    assert place.find_place(url).words == shown


MOUNTS = r"""overlay / overlay rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb1 /home/me/disk ext4 rw 0 0
//server/share /mnt/my\040share cifs rw 0 0
host: /mnt/remote fuse.sshfs rw 0 0
/dev/sdc1 /mnt/stick fuse.ntfs-3g rw 0 0
C:\134 /mnt/c 9p rw 0 0
tmpfs /dev/shm tmpfs rw 0 0
autofs /data autofs rw 0 0
server:/data /data nfs rw 0 0
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's list of what is mounted")
@pytest.mark.parametrize(
    ("path", "network"),
    [
        ("/var/lib/x", False), ("/home/me/x", True), ("/home/me/disk/x", False),
        ("/homework/x", False), ("/mnt/my share/x", True), ("/mnt/my", False),
        ("/mnt/remote/x", True), ("/mnt/stick/x", False), ("/mnt/c/x", True),
        ("/dev/shm/x", False), ("/data/x", True), ("/data", True),
    ],
)  # fmt: skip
def test_network_file_systems_are_known(
    path: str, network: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mounts").write_text(MOUNTS, encoding="utf-8")
    monkeypatch.setattr(place, "MOUNTS", tmp_path / "mounts")
    assert place.on_network(Path(path)) is network


def journal_of(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    return str(mode)


def test_a_local_store_logs_ahead_and_one_on_a_network_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local, shared = tmp_path / "local.sqlite", tmp_path / "shared.sqlite"
    with Store.open(local) as store:
        store.add(made_run(1))
    assert journal_of(local) == "wal"
    with monkeypatch.context() as patch:
        patch.setattr(database, "on_network", lambda path: True)
        for path in (shared, local):  # the second was copied there
            with Store.open(path) as store:
                store.add(made_run(2))
                assert store.get(made_run(2).id) == made_run(2)
            assert journal_of(path) == "delete"
    with Store.open(local) as store:
        assert store.count() == 2
    assert journal_of(local) == "wal"


FRESH = """
import sys
{work}
heavy = [m for m in ("sqlalchemy", "psycopg", "sqlite3") if m in sys.modules]
print(*heavy)
"""


@pytest.mark.parametrize(
    "work",
    [
        "from gpuexplorer.history.store import Query, Store",
        "import gpuexplorer.api",
        "from gpuexplorer.cli import main\nassert main(['devices', '--json', '/dev/null']) == 0",
        "from gpuexplorer.cli import main\nmain(['history', '--help'])",
        "from gpuexplorer.cli import main\n"
        "main(['run', 'matmul', '--size', '64', '--seconds', '0.01', '--no-history', "
        "'--json', '/dev/null'])",
    ],
)
def test_databases_are_not_loaded_before_a_store_is_opened(work: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FRESH.format(work=work)],
        env=cli_environment(), cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == ""
