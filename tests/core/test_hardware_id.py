"""Hardware without a number of its own is told from the same model in another machine."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest

from gpuexplorer.backends.cpu import cpu_hardware_id, cpu_name
from gpuexplorer.core import hardware_id
from gpuexplorer.core.hardware_id import in_this_machine, may_be_same, without_machine


def machine(monkeypatch: pytest.MonkeyPatch, file: Path, number: str, name: str) -> str:
    """Return what a processor is called in a machine with a number and a name."""
    file.write_text(f"{number}\n")
    monkeypatch.setattr(hardware_id, "MACHINE_IDS", (file.with_name("none"), file))
    monkeypatch.setattr(platform, "node", lambda: name)
    hardware_id._mark.cache_clear()
    return in_this_machine("cpu:Some CPU")


def test_machines_differ_by_their_number_and_by_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "machine-id"
    monkeypatch.setattr(hardware_id, "_number_of_macos", lambda: None)
    monkeypatch.setattr(hardware_id, "OF_CONTAINERS", ())
    one = machine(monkeypatch, file, "a" * 32, "node1")
    others = [
        machine(monkeypatch, file, "b" * 32, "node1"),
        machine(monkeypatch, file, "a" * 32, "node2"),  # started from the same image
        machine(monkeypatch, file, "", "node3"),
    ]
    assert len({one, *others}) == 4
    assert one == machine(monkeypatch, file, "a" * 32, "node1")
    assert re.fullmatch(r"cpu:Some CPU #[0-9a-f]{8}", one), "it names nobody"
    assert not any(may_be_same(one, other) for other in others)
    assert may_be_same(one, "cpu:Some CPU") and may_be_same("cpu:Some CPU", one)
    assert not may_be_same(one, "cpu:Another CPU")
    hardware_id._mark.cache_clear()


def test_a_container_started_again_under_another_name_is_in_the_same_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (mark := tmp_path / ".dockerenv").touch()
    monkeypatch.setattr(hardware_id, "_number_of_macos", lambda: None)
    monkeypatch.setattr(hardware_id, "OF_CONTAINERS", (tmp_path / "none", mark))
    names = {machine(monkeypatch, tmp_path / "id", "a" * 32, name) for name in ("0a1b", "2c3d")}
    assert len(names) == 1
    hardware_id._mark.cache_clear()


def test_the_processor_here_is_called_the_same_every_time() -> None:
    assert cpu_hardware_id() == cpu_hardware_id()
    assert without_machine(cpu_hardware_id()) == f"cpu:{cpu_name()}"
    assert without_machine("GPU-12345678") == "GPU-12345678"
