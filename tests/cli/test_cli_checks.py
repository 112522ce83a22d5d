"""What the doctor says of packages that are not there."""

from __future__ import annotations

import sys

import pytest

from gpuexplorer.cli import checks


def cupti(monkeypatch: pytest.MonkeyPatch, **installed: str) -> list[checks.Check]:
    versions = {name.replace("_", "-"): version for name, version in installed.items()}
    monkeypatch.setattr(checks, "_version", versions.get)
    return [check for check in checks.packages() if check.name == "CUPTI"]


def test_cupti_is_left_out_for_a_reason_or_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert cupti(monkeypatch) == cupti(monkeypatch, cupy_cuda12x="14.2.0") == []
    (there,) = cupti(monkeypatch, cupy_cuda13x="14.2.0", cupti_python="13.4.0")
    assert (there.status, there.found, there.remedy) == ("ok", "cupti-python 13.4.0", "")
    (missing,) = cupti(monkeypatch, cupy_cuda13x="14.2.0")
    assert missing.status == "warn"
    assert missing.remedy == "pip install 'gpuexplorer[cupti]'"
    monkeypatch.setattr(sys, "version_info", (3, 14, 0))
    (beside_torch,) = cupti(monkeypatch, cupy_cuda13x="14.2.0", torch="2.13.0")
    assert beside_torch.found == (
        "left out: the version that goes with PyTorch has no wheel for Python 3.14"
    )
    assert beside_torch.remedy == ""
    (beside_cpu,) = cupti(monkeypatch, cupy_cuda13x="14.2.0", torch="2.13.0+cpu")
    assert beside_cpu.remedy
    monkeypatch.setattr(sys, "platform", "win32")
    (windows,) = cupti(monkeypatch, cupy_cuda13x="14.2.0")
    assert windows.found == "left out: there is no wheel of it for Windows"
