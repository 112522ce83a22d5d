"""A store that cannot be used is one sentence with a remedy, and loses nothing that it holds."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from gpuexplorer.core.errors import CannotRunHere, ExplorerError, InputError
from gpuexplorer.history import errors
from gpuexplorer.history.sql import migrations
from gpuexplorer.history.sql.database import Database
from gpuexplorer.history.store import Store
from tests.history.conftest import made_run
from tests.support.cli import cli_environment

BUSY_S = 0.2
posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions and limits")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with three runs."""
    made = tmp_path / "history.sqlite"
    with Store.open(made) as store:
        store.add_all(made_run(n) for n in range(3))
    return made


def assert_whole(path: Path, runs: int = 3) -> None:
    with Store.open(path) as store:
        assert store.count() == runs
        for number in range(runs):
            assert store.get(made_run(number).id) == made_run(number)


def sentence(error: ExplorerError) -> str:
    text = str(error)
    assert "\n" not in text and error.remedy, text
    assert "sqlalche" not in text.lower() and "(Background on this error" not in text
    return text


# ---- locked


def test_a_locked_store_is_said_to_be_and_works_again(path: Path) -> None:
    with Store.open(path, busy_s=BUSY_S) as store, closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(errors.StoreLocked) as caught:
            store.add(made_run(3))
        assert "locked by another program" in sentence(caught.value)
        assert store.count() == 3  # who reads need not wait
        other.rollback()
        store.add(made_run(3))
    assert_whole(path, 4)


def test_a_store_that_another_keeps_to_itself_is_locked_to_all(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(errors.StoreLocked):
            Store.open(path, busy_s=BUSY_S)
        other.execute("ROLLBACK")
    assert_whole(path)


# ---- full


def test_a_full_disk_loses_only_what_did_not_fit(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = Database._connect

    def small(self: Database, file: Path) -> sqlite3.Connection:
        connection = connect(self, file)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(Database, "_connect", small)
        with Store.open(path) as store, pytest.raises(errors.StoreFull) as caught:
            store.add_all([made_run(n, samples_s=[1.0 * i for i in range(9999)]) for n in (7, 8)])
    assert "the disk is full" in sentence(caught.value)
    assert_whole(path)


LIMITED = """
import resource, sys
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.history.store import Store
from tests.history.conftest import made_run
with Store.open(sys.argv[1]) as store:
    most = 400_000
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    number = 3
    try:
        while True:
            store.add(made_run(number))
            print(number, flush=True)
            number += 1
    except ExplorerError as error:
        print(str(error), file=sys.stderr)
    assert store.count() == number
"""


@posix
def test_a_file_that_may_not_grow_loses_only_what_did_not_fit(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, path], env=cli_environment(), capture_output=True,
        text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (said,) = done.stderr.splitlines()
    assert "cannot be" in said and "disk" in said
    stored = [int(line) for line in done.stdout.split()]
    assert stored
    assert_whole(path, 3 + len(stored))


# ---- read only


@contextmanager
def as_nobody(folder: Path) -> Iterator[None]:
    """Be somebody who may read a folder and not write it; root may always."""
    files = [folder, *folder.iterdir()]
    modes = [p.stat().st_mode & 0o777 for p in files]
    root = os.geteuid() == 0
    for p in files:
        p.chmod(0o555 if p.is_dir() else 0o444)
    try:
        if root:
            os.seteuid(65534)
        yield
    finally:
        if root:
            os.seteuid(0)
        for p, mode in zip(files, modes, strict=True):
            if p.exists():
                p.chmod(mode)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter, which pytest's own is not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@posix
def test_a_read_only_store_is_read_and_not_written(open_folder: Path) -> None:
    path = open_folder / "history.sqlite"
    with Store.open(path) as store:
        store.add_all(made_run(n) for n in range(3))
    before = path.read_bytes()
    with as_nobody(open_folder):
        with pytest.raises(errors.StoreReadOnly) as caught:
            Store.open(path)
        assert "read-only" in sentence(caught.value)
        with Store.open_to_read(path) as store:
            assert not store.can_write
            assert store.get(made_run(1).id) == made_run(1)
            assert store.count() == 3
            with pytest.raises(errors.StoreReadOnly):
                store.add(made_run(5))
    assert path.read_bytes() == before
    assert_whole(path)


@posix
def test_a_store_in_a_folder_that_may_not_be_written_cannot_be_made(open_folder: Path) -> None:
    with as_nobody(open_folder), pytest.raises(ExplorerError) as caught:
        Store.open(open_folder / "history.sqlite")
    assert "cannot be opened" in sentence(caught.value)
    with as_nobody(open_folder), pytest.raises(InputError, match="permission denied"):
        Store.open(open_folder / "new" / "history.sqlite")


def test_opened_to_read_it_refuses_to_write(store_url: str) -> None:
    with Store.open(store_url) as store:
        store.add(made_run(0))
    with Store.open(store_url, read_only=True) as store:
        assert store.count() == 1
        with pytest.raises(errors.StoreReadOnly):
            store.star(made_run(0).id)


def test_what_is_not_there_cannot_be_opened_to_read_and_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(ExplorerError) as caught:
        Store.open(tmp_path / "history.sqlite", read_only=True)
    assert "cannot be opened" in sentence(caught.value)
    assert list(tmp_path.iterdir()) == []


# ---- damaged, newer, foreign


@pytest.mark.parametrize("size", [1, 100, 5000])
def test_a_file_that_is_no_store_is_left_as_it_is(tmp_path: Path, size: int) -> None:
    path = tmp_path / "history.sqlite"
    junk = bytes(range(1, 256)) * (size // 255 + 1)
    path.write_bytes(junk)
    for read_only in (False, True):
        with pytest.raises(errors.StoreDamaged) as caught:
            Store.open(path, read_only=read_only)
        assert "was left as it is" in sentence(caught.value)
        assert "history.sqlite.damaged" in caught.value.remedy
    assert path.read_bytes() == junk


def test_a_store_that_was_cut_off_is_said_to_be_damaged_and_left(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    before = path.read_bytes()
    with pytest.raises(errors.StoreDamaged), Store.open(path) as store:
        for number in range(3):
            store.get(made_run(number).id)
    assert path.read_bytes() == before


def test_one_damaged_run_is_told_and_the_others_are_read(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE gpuexplorer_samples SET data = x'0102' WHERE run = 2")
        other.execute("UPDATE gpuexplorer_documents SET data = x'' WHERE run = 3")
    with Store.open(path) as store:
        for number in (1, 2):
            with pytest.raises(errors.StoreDamaged):
                store.get(made_run(number).id)
        assert store.get(made_run(0).id) == made_run(0)
        assert len(store.find()) == 3


def test_a_newer_programs_store_is_refused_and_left(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "VERSION", 99)
        with Store.open(store_url) as store:
            store.add(made_run(0))
    for read_only in (False, True):
        with pytest.raises(errors.StoreTooNew) as caught:
            Store.open(store_url, read_only=read_only)
        assert "a newer GPU Explorer" in sentence(caught.value)
        assert "update GPU Explorer" in caught.value.remedy
    monkeypatch.setattr(migrations, "VERSION", 99)
    with Store.open(store_url) as store:
        assert store.get(made_run(0).id) == made_run(0)


def test_another_programs_database_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "bookmarks.sqlite"
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()
    with pytest.raises(errors.StoreForeign) as caught:
        Store.open(path)
    assert "another program" in sentence(caught.value)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["bookmarks.sqlite"]


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        Store.open(tmp_path)


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "history.sqlite").touch()
    with Store.open(tmp_path / "history.sqlite") as store:
        assert store.count() == 0


# ---- a server


@pytest.mark.parametrize(
    ("url", "kind", "said"),
    [
        ("mysql://me@server/team", InputError, "not a kind of store"),
        ("postgresql://me:secret@127.0.0.1:1/team", errors.StoreFailed, "cannot be reached"),
        ("postgresql://me:secret@[::bad/team", InputError, "not a database's URL"),
        ("postgresql://me:secret@h:port/team", InputError, "not a database's URL"),
    ],
)
def test_a_url_that_leads_nowhere_is_said_without_its_password(
    url: str, kind: type[ExplorerError], said: str
) -> None:
    with pytest.raises(kind) as caught:
        Store.open(url)
    assert said in sentence(caught.value)
    assert "secret" not in sentence(caught.value)


def test_a_database_that_is_not_there_is_said(server_url: str) -> None:
    with pytest.raises(InputError, match=r"the server says: .*nothing"):
        Store.open(server_url.replace("/postgres?", "/nothing?"))


def test_without_psycopg_a_server_is_refused_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(CannotRunHere, match=r"gpuexplorer\[postgres\]"):
        Store.open("postgresql://me@server/team")


def test_a_table_that_another_holds_on_a_server_is_locked(new_schema: Callable[[], str]) -> None:
    import psycopg

    url = new_schema()
    with Store.open(url, busy_s=BUSY_S) as store, psycopg.connect(url) as other:
        store.add(made_run(0))
        other.execute("LOCK TABLE gpuexplorer_runs IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(errors.StoreLocked) as caught:
            store.add(made_run(1))
        assert "locked" in sentence(caught.value)
        other.rollback()
        store.add(made_run(1))
        assert store.count() == 2


def test_somebody_who_may_only_read_a_server_reads(new_schema: Callable[[], str]) -> None:
    import psycopg

    url = new_schema()
    with Store.open(url) as store:
        store.add(made_run(0))
    with psycopg.connect(url, autocommit=True) as owner:
        (schema,) = owner.execute("SELECT current_schema()").fetchone() or ("",)
        owner.execute(f"CREATE ROLE {schema}_reader LOGIN".encode())
        owner.execute(f"GRANT USAGE ON SCHEMA {schema} TO {schema}_reader".encode())
        owner.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {schema}_reader".encode())
    reader = url.replace("user=gpuexplorer", f"user={schema}_reader")
    assert reader != url
    with Store.open_to_read(reader) as store:
        assert store.get(made_run(0).id) == made_run(0)
        with pytest.raises(errors.StoreReadOnly) as caught:
            store.add(made_run(1))
        assert sentence(caught.value)


def test_a_connection_that_a_server_dropped_is_made_again(new_schema: Callable[[], str]) -> None:
    import psycopg

    url = new_schema()
    with Store.open(url) as store:
        store.add(made_run(0))
        with psycopg.connect(url, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'gpuexplorer'"
            )
        store.add(made_run(1))
        assert store.count() == 2
