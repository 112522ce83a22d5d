"""The on-disk cache: whole entries or none, whatever happens to the folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpuexplorer.compile.cache import ENVIRONMENT_VARIABLE, DiskCache, cache_folder, key


def test_what_was_put_is_got(tmp_path: Path) -> None:
    cache = DiskCache("x", tmp_path)
    assert cache.get(key("a")) is None
    cache.put(key("a"), b"one")
    cache.put(key("b"), b"")
    cache.put(key("a"), b"two")
    assert DiskCache("x", tmp_path).get(key("a")) == b"two"
    assert cache.get(key("b")) == b""
    cache.remove(key("a"))
    assert cache.get(key("a")) is None


def test_keys_tell_parts_apart() -> None:
    assert len({key("ab", "c"), key("a", "bc"), key("abc"), key("abc", ""), key(b"ab", "d")}) == 5


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "foreign"])
def test_a_damaged_entry_counts_as_absent_and_is_replaced(tmp_path: Path, damage: str) -> None:
    cache = DiskCache("x", tmp_path)
    cache.put(key("a"), b"payload" * 100)
    (path,) = (tmp_path / "x").iterdir()
    data = path.read_bytes()
    path.write_bytes(
        {
            "truncate": data[:-1],
            "flip": data[:-1] + bytes([data[-1] ^ 1]),
            "empty": b"",
            "foreign": b"something else",
        }[damage]
    )
    assert cache.get(key("a")) is None
    cache.put(key("a"), b"again")
    assert cache.get(key("a")) == b"again"


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    cache = DiskCache("x", tmp_path, max_bytes=3500)
    for index, name in enumerate("abc"):
        cache.put(key(name), b"." * 1000)
        os.utime(tmp_path / "x" / f"{key(name)}.bin", (index + 1, index + 1))
    assert cache.get(key("a")) is not None  # now the most recently used
    cache.put(key("d"), b"." * 1000)
    assert cache.get(key("b")) is None
    assert all(cache.get(key(name)) is not None for name in "acd")
    assert cache.size_B() <= 3500


def test_files_left_by_a_killed_writer_are_cleared_in_time(tmp_path: Path) -> None:
    cache = DiskCache("x", tmp_path)
    cache.put(key("a"), b"1")
    left = tmp_path / "x" / "new-left"
    left.write_bytes(b"half")
    cache.put(key("b"), b"1")
    assert left.exists(), "it may be another writer's, at work"
    os.utime(left, (1, 1))
    cache.put(key("c"), b"1")
    assert not left.exists()


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    cache = DiskCache("x", tmp_path / "file")
    cache.put(key("a"), b"1")
    assert cache.get(key("a")) is None
    cache.clear()
    assert cache.size_B() == 0


def test_clear_leaves_nothing(tmp_path: Path) -> None:
    cache = DiskCache("x", tmp_path)
    cache.put(key("a"), b"1")
    cache.clear()
    assert list((tmp_path / "x").iterdir()) == []


WRITER = """
import sys
from pathlib import Path
from gpuexplorer.compile.cache import DiskCache, key
cache = DiskCache("x", Path(sys.argv[1]), max_bytes=20_000)
for i in range(200):
    name = key(str(i % 7))
    found = cache.get(name)
    assert found is None or (len(found) == 5000 and len(set(found)) == 1), "a torn entry"
    cache.put(name, bytes([int(sys.argv[2])]) * 5000)
"""


def test_processes_share_a_folder(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(n)], cwd=root)
        for n in range(2)
    ]
    assert [w.wait(60) for w in writers] == [0, 0]


def test_the_environment_chooses_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv(ENVIRONMENT_VARIABLE)
    assert cache_folder() != tmp_path
