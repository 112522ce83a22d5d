"""The commands beside ``run``: devices, workloads, doctor, and the window that cannot open."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpuexplorer.engine import protocol
from tests.support.cli import cli_command, cli_environment, run_cli
from tests.support.kernels import write_article


def document(cwd: Path, *arguments: str | Path) -> dict[str, Any]:
    done = run_cli(*arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    made: dict[str, Any] = msgspec.json.decode(done.stdout.encode())
    return made


def test_devices_are_listed_and_missing_backends_say_what_to_do(tmp_path: Path) -> None:
    found = document(tmp_path, "devices")
    assert found["schema"] == "gpuexplorer/devices/1"
    assert any(d["runs_kernels"] for d in found["devices"])
    for missing in found["unavailable"]:
        assert missing["reason"]
        assert missing["remedy"]
    shown = run_cli("devices", cwd=tmp_path).stdout
    for device in found["devices"]:
        assert device["id"] in shown
    for missing in found["unavailable"]:
        assert f"{missing['backend']} is not available" in shown


def test_threads_can_be_chosen(tmp_path: Path) -> None:
    found = document(tmp_path, "devices", "--threads", "1")
    assert {d["threads"] for d in found["devices"] if d["kind"] == "cpu"} == {1}


def test_workloads_are_listed_with_the_users_own(tmp_path: Path) -> None:
    found = document(tmp_path, "workloads", "--kernels", write_article(tmp_path))
    names = {w["name"] for w in found["workloads"]}
    assert {"matmul", "vector_add", "stream", "transpose", "reduction", "article"} <= names


def test_a_workload_is_shown_with_every_variant(tmp_path: Path) -> None:
    shown = run_cli("workloads", "matmul", cwd=tmp_path).stdout
    (one,) = document(tmp_path, "workloads", "matmul")["workloads"]
    for name, variant in one["variants"].items():
        assert name in shown
        assert variant["title"] in shown
    text = " ".join(shown.split())
    assert "on lanes_16, intel_cpu and fp64, where N <= 1024: block 16×2×16, ROWS = 6" in text


def test_the_doctor_finds_a_device_that_runs_kernels(tmp_path: Path) -> None:
    found = document(tmp_path, "doctor")
    assert found["can_run_kernels"] is True
    for check in found["checks"]:
        assert check["status"] in ("ok", "warn", "fail")
        assert check["status"] == "ok" or check["remedy"], check
    shown = run_cli("doctor", cwd=tmp_path)
    assert shown.returncode == 0
    assert "Kernels can run here." in shown.stdout


def test_the_doctor_shows_every_source_of_telemetry_and_how_to_enable_it(tmp_path: Path) -> None:
    checks = [
        c for c in document(tmp_path, "doctor")["checks"] if c["area"].startswith("telemetry of ")
    ]
    by_name = {c["name"]: c for c in checks}
    assert {"RAPL", "system"} <= by_name.keys()
    assert by_name["system"]["status"] == "ok"
    assert "load" in by_name["system"]["found"]
    rapl = by_name["RAPL"]
    assert rapl["status"] == "ok" or rapl["remedy"] or sys.platform != "linux"


def test_the_doctor_says_when_the_engine_cannot_start(tmp_path: Path) -> None:
    done = run_cli("doctor", "--python", "no-such-python", cwd=tmp_path)
    assert done.returncode == 3
    assert "Nothing here can run kernels" in done.stdout


def test_the_engine_is_a_command(tmp_path: Path) -> None:
    done = subprocess.run(
        cli_command("engine"), cwd=tmp_path, env=cli_environment(), input=b"",
        capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout.endswith(protocol.PREAMBLE)


@pytest.fixture(scope="module")
def exploration(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    cwd = tmp_path_factory.mktemp("explore")
    # Each configuration is sampled for a moment instead of a second; all else is as a user has it.
    code = (
        "import sys, gpuexplorer.cli, gpuexplorer.cli.explore as explore\n"
        "explore.SECONDS_EACH = 0.05\n"
        "sys.exit(gpuexplorer.cli.main([]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=cli_environment(),
        capture_output=True, text=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return cwd, done.stdout, done.stderr


def test_without_a_display_the_exploration_runs_in_the_terminal(
    exploration: tuple[Path, str, str],
) -> None:
    _, out, err = exploration
    assert err.splitlines()[0].startswith("gpuexplorer: no window here, ")
    assert "ssh -X" in err
    assert "QT_QPA_PLATFORM=vnc" in err
    assert "× faster than " in out


def test_the_exploration_writes_charts_and_json(exploration: tuple[Path, str, str]) -> None:
    cwd, out, _ = exploration
    (folder,) = (cwd / "gpuexplorer-results").iterdir()
    names = sorted(p.name for p in folder.iterdir())
    assert names == ["blocks.png", "exploration.json", "fastest.png"]
    made = msgspec.json.decode((folder / "exploration.json").read_bytes())
    assert made["schema"] == "gpuexplorer/sweep/1"
    done = [r for r in made["runs"] if "skipped" not in r]
    assert len(done) >= 8
    assert all(r["verification"]["ok"] for r in done)
    for name in names:
        assert name in out
