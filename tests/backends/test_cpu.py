"""What a CPU is, as its system tells it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuexplorer.backends import cpu

XEON = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R)  Xeon(R) @ 2.0GHz\n"
EPYC = "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9B45\n"
ARM = "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\n"


@pytest.mark.parametrize(
    ("told", "name", "maker"),
    [
        (XEON, "Intel(R) Xeon(R) @ 2.0GHz", "intel"),
        (EPYC, "AMD EPYC 9B45", "amd"),
        (ARM, "here", None),
        (None, "here", None),
    ],
)
def test_a_cpu_is_known_by_its_name_and_its_maker(
    told: str | None, name: str, maker: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: object, **__: object) -> str:
        if told is None:
            raise FileNotFoundError
        return told

    monkeypatch.setattr(Path, "read_text", read)
    monkeypatch.setattr(cpu, "_in_registry", lambda _: None)
    monkeypatch.setattr("platform.processor", lambda: "here")
    assert (cpu.cpu_name.__wrapped__(), cpu.cpu_maker.__wrapped__()) == (name, maker)
