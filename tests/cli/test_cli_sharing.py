"""``devices`` lists other machines' as well; ``devices`` and ``doctor`` say who else uses each."""

from __future__ import annotations

import json

import pytest

from gpuexplorer.cli import main
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.sample import DeviceUser
from gpuexplorer.core.telemetry import SourceState
from gpuexplorer.engine.interpreters import BUILT_IN, Interpreters
from gpuexplorer.engine.known_devices import elsewhere, remember_devices
from gpuexplorer.engine.session import EngineSession
from tests.telemetry.stand_ins import gpu


def test_others_are_told_with_what_they_hold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    anna = DeviceUser(pid=7, program="python", user="anna", memory_B=3e9, load=0.45)

    def telemetry(session: EngineSession) -> dict[str, tuple[SourceState, ...]]:
        state = SourceState(source="nvml", title="NVML", gives=("load",), users=(anna,))
        return {device.hardware_id: (state,) for device in session.devices()}

    monkeypatch.setattr(EngineSession, "telemetry", telemetry)
    assert main(["devices", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["shared"]) == {device["id"] for device in found["devices"]}
    assert set(found["shared"].values()) == {
        "python of user anna (3.00 GB, 45 % busy) uses this GPU"
    }
    assert main(["devices"]) == 0
    assert " is shared: python of user anna" in " ".join(capsys.readouterr().out.split())
    main(["doctor", "--json", "-"])
    checks = json.loads(capsys.readouterr().out)["checks"]
    (told,) = {check["found"] for check in checks if check["name"] == "others"}
    assert told == "python (3.00 GB, 45 % busy) uses this GPU", "a report is given to strangers"


def test_the_devices_of_other_machines_are_listed_as_they_were_seen_last(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Interpreters().add("gpu", "ssh://me@gpubox/home/me/env/bin/python")
    assert main(["devices"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "On gpubox: nothing is known yet; ask it with 'gpuexplorer devices --engine gpu'" in shown
    )
    remember_devices("gpu", DeviceList(devices=(gpu(),)))
    assert main(["devices", "--json", "-"]) == 0
    (there,) = json.loads(capsys.readouterr().out)["elsewhere"]
    assert there["devices"] == [{"id": "cuda:0", "name": "Test"}]
    assert main(["devices"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "On gpubox: Test (cuda:0); measure there with --engine gpu" in shown
    (here,) = elsewhere("gpu")
    assert here.engine == BUILT_IN
    assert here.devices, "as this machine answered a moment ago"
