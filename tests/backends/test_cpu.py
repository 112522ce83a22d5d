"""What the system says of the processor's caches is read whole, or not at all."""

from __future__ import annotations

from pathlib import Path

from gpuexplorer.backends.cpu import last_level_cache_B


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
    assert last_level_cache_B(tmp_path) == 2 * 16 * 1024 * 1024


def test_without_a_third_level_the_second_is_the_last(tmp_path: Path) -> None:
    _cache(tmp_path, 0, 0, 1, "Data", "48K", "0")
    _cache(tmp_path, 0, 1, 2, "Unified", "2048K", "0")
    assert last_level_cache_B(tmp_path) == 2 * 1024 * 1024


def test_a_system_that_does_not_say_gives_none(tmp_path: Path) -> None:
    assert last_level_cache_B(tmp_path) is None
    _cache(tmp_path, 0, 0, 1, "Data", "a lot", "0")
    assert last_level_cache_B(tmp_path) is None
