"""Processors' energy counters, in folders laid out as the kernel shows them."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from gpuexplorer.telemetry.base import Refusal
from gpuexplorer.telemetry.rapl import RaplSource
from tests.telemetry.stand_ins import gpu

RANGE_uJ = 262_143_328_850


def domain(root: Path, folder: str, name: str, energy_uJ: int) -> Path:
    made = root / folder
    made.mkdir(parents=True)
    (made / "name").write_text(f"{name}\n")
    (made / "energy_uj").write_text(f"{energy_uJ}\n")
    (made / "max_energy_range_uj").write_text(f"{RANGE_uJ}\n")
    return made


def source(root: Path) -> RaplSource:
    found = RaplSource.find(root)
    assert isinstance(found, RaplSource)
    return found


def test_packages_are_added_up_and_their_parts_are_not(tmp_path: Path) -> None:
    first = domain(tmp_path, "intel-rapl:0", "package-0", 1_000_000)
    second = domain(tmp_path, "intel-rapl:1", "package-1", 5_000_000)
    domain(tmp_path, "intel-rapl:0:0", "core", 0)
    domain(tmp_path, "intel-rapl:2", "psys", 0)
    reader = source(tmp_path)
    assert reader.read().energy_J == 0.0
    (first / "energy_uj").write_text("3000000")
    (second / "energy_uj").write_text("6000000")
    assert reader.read().energy_J == pytest.approx(3.0)


def test_power_is_energy_over_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = domain(tmp_path, "intel-rapl:0", "package-0", 0)
    now = [0]
    monkeypatch.setattr(time, "perf_counter_ns", lambda: now[0])
    reader = source(tmp_path)
    assert reader.read().power_W is None
    now[0] = 500_000_000
    (package / "energy_uj").write_text("20000000")
    assert reader.read().power_W == pytest.approx(40.0)
    now[0] += 1_000_000  # too soon for another figure
    (package / "energy_uj").write_text("29000000")
    assert reader.read().power_W == pytest.approx(40.0)


def test_a_counter_that_wraps_goes_on(tmp_path: Path) -> None:
    package = domain(tmp_path, "intel-rapl:0", "package-0", RANGE_uJ - 1_000_000)
    reader = source(tmp_path)
    (package / "energy_uj").write_text("2000000")
    assert reader.read().energy_J == pytest.approx(3.0)


def test_a_system_without_counters_says_so(tmp_path: Path) -> None:
    for root in (tmp_path, tmp_path / "none"):
        refusal = RaplSource.find(root)
        assert isinstance(refusal, Refusal)
        assert "virtual machines" in refusal.reason


def test_counters_for_the_administrator_alone_say_how_to_open_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = domain(tmp_path, "intel-rapl:0", "package-0", 0)
    (package / "energy_uj").chmod(0o400)
    read_text = Path.read_text

    def denied(path: Path, *more: str) -> str:
        if path.name == "energy_uj":
            raise PermissionError(13, "Permission denied", str(path))
        return read_text(path)

    if not hasattr(os, "geteuid") or os.geteuid() == 0:  # nothing is closed to root
        monkeypatch.setattr(Path, "read_text", denied)
    refusal = RaplSource.find(tmp_path)
    assert isinstance(refusal, Refusal)
    assert "since 2020" in refusal.reason
    assert "chmod a+r" in refusal.remedy
    assert "powercap" in refusal.remedy


@pytest.mark.parametrize("system", ["darwin", "win32", "freebsd14"])
def test_other_systems_say_that_they_have_none(
    system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    refusal = RaplSource.open(gpu("cpu:X", kind="cpu"))
    assert isinstance(refusal, Refusal)
    assert refusal.reason


def test_a_gpu_has_none() -> None:
    assert RaplSource.open(gpu()) is None
