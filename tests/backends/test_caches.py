"""What the system says of the processor's caches is read whole, or not at all."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from gpuexplorer.backends import caches
from gpuexplorer.backends.caches import (
    FLUSH_STEP_B,
    CacheInfo,
    flush_of,
    from_sysctl,
    from_sysfs,
    from_windows,
)

MiB = 1 << 20


def _cache(root: Path, core: int, index: int, level: int, kind: str, size: str, cores: str) -> None:
    folder = root / f"cpu{core}" / "cache" / f"index{index}"
    folder.mkdir(parents=True)
    for name, text in (
        ("level", str(level)), ("type", kind), ("size", size), ("shared_cpu_list", cores),
    ):  # fmt: skip
        (folder / name).write_text(f"{text}\n", encoding="utf-8")


def test_the_last_levels_of_all_groups_of_cores_are_added_up_once_each(tmp_path: Path) -> None:
    for core in range(4):
        _cache(tmp_path, core, 0, 1, "Data", "32K", str(core))
        _cache(tmp_path, core, 1, 1, "Instruction", "32K", str(core))
        _cache(tmp_path, core, 2, 2, "Unified", "512K", str(core))
        _cache(tmp_path, core, 3, 3, "Unified", "16M", "0-1" if core < 2 else "2-3")
    found = from_sysfs(tmp_path, range(4))
    assert found == CacheInfo(2 * 16 * MiB, 3, 2, "sysfs")
    assert found.words == "the 2 × 16.8 MB L3 cache (sysfs)"
    assert from_sysfs(tmp_path, [3]) == CacheInfo(16 * MiB, 3, 1, "sysfs")


def test_without_a_third_level_the_second_is_the_last(tmp_path: Path) -> None:
    _cache(tmp_path, 0, 0, 1, "Data", "48K", "0")
    _cache(tmp_path, 0, 1, 2, "Unified", "2048K", "0")
    assert from_sysfs(tmp_path, [0]) == CacheInfo(2 * MiB, 2, 1, "sysfs")


def test_a_system_that_does_not_say_gives_none(tmp_path: Path) -> None:
    assert from_sysfs(tmp_path, [0]) is None
    _cache(tmp_path, 0, 0, 1, "Data", "a lot", "0")
    assert from_sysfs(tmp_path, [0]) is None


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"hw.l3cachesize": 8 * MiB, "hw.l2cachesize": 1}, CacheInfo(8 * MiB, 3, 1, "sysctl")),
        (
            {"hw.perflevel0.l2cachesize": 12 * MiB, "hw.perflevel1.l2cachesize": 4 * MiB},
            CacheInfo(16 * MiB, 2, 1, "sysctl"),
        ),
        ({"hw.l3cachesize": 0, "hw.l2cachesize": 4 * MiB}, CacheInfo(4 * MiB, 2, 1, "sysctl")),
        ({}, None),
    ],
)
def test_macos_names_are_tried_from_the_last_level_on(
    names: dict[str, int], expected: CacheInfo | None
) -> None:
    assert from_sysctl(names.get) == expected


def test_windows_entries_other_than_data_caches_are_passed_over() -> None:
    def entry(relation: int, level: int = 0, size: int = 0, kind: int = 0) -> bytes:
        return struct.pack("<QI4xBBHII4x", 3, relation, level, 8, 64, size, kind)

    core, l1i = entry(0, 1, 0, 0), entry(2, 1, 32768, 1)
    l2, l3 = entry(2, 2, MiB, 0), entry(2, 3, 32 * MiB, 0)
    assert from_windows(core + l1i + l2 + l3 + l3) == CacheInfo(64 * MiB, 3, 2, "Windows")
    assert from_windows(core + l1i) is None
    assert from_windows(b"") is None


def test_a_pass_is_twice_the_cache_and_says_when_it_could_not_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cache = CacheInfo(32 * MiB, 3, 1, "sysfs")
    monkeypatch.setattr(caches, "memory_available_B", lambda: 16 << 30)
    assert flush_of(cache).nbytes == 64 * MiB
    assert flush_of(cache).words == (
        "67.1 MB read before each launch, 2 × the 33.6 MB L3 cache (sysfs)"
    )
    assert flush_of(cache, at_most_B=10 * MiB).nbytes == 10 * MiB
    monkeypatch.setattr(caches, "memory_available_B", lambda: 128 * MiB)
    short = flush_of(cache)
    assert short.nbytes == 16 * MiB
    assert "0.5 × the 33.6 MB L3 cache (sysfs), memory is short" in short.words
    monkeypatch.setattr(caches, "memory_available_B", lambda: 0)
    assert flush_of(cache).nbytes == FLUSH_STEP_B


def test_an_assumption_says_that_it_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_sysfs", "_macos", "_windows"):
        monkeypatch.setattr(caches, name, lambda: None)
    found = caches.last_level_cache.__wrapped__()
    assert found.level is None
    assert "assumed" in found.words and "last-level cache" in found.words
