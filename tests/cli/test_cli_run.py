"""``gpuexplorer run`` for real: its document and its files."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from gpuexplorer.core.result import RunResult
from tests.support.cli import run_cli

# The document's fields, as they are promised to other programs.
FIELDS: dict[str, set[str]] = {
    "": {
        "schema", "id", "time_utc", "config", "device", "environment", "timing", "samples_s",
        "batches", "phases_s", "throughput", "traffic", "verification", "resources", "telemetry",
    },
    "config": {
        "workload", "variant", "size", "block", "grid", "precision", "tunables", "device",
        "cache", "fill", "seed", "threads", "switches",
    },
    "device": {
        "id", "hardware_id", "name", "backend", "driver", "compute_units",
        "peak_bandwidth_B_per_s", "peak_source",
    },
    "environment": {"gpuexplorer", "python", "cupy", "torch", "cuda", "source_sha256"},
    "timing": {
        "samples", "median_s", "mean_s", "min_s", "p05_s", "p95_s", "stdev_s", "ci95_low_s",
        "ci95_high_s", "method", "resolution_s", "stopped_by", "converged", "marked_throttled",
        "suspect", "dropped",
    },
    "phases_s": {"compile", "allocate", "host_to_device", "kernel", "device_to_host", "free"},
    "throughput": {"flop_per_s", "bandwidth_B_per_s"},
    "verification": {"ok", "max_rel_error", "tolerance", "method", "rms_rel_error", "not_compared"},
    "resources": {
        "registers_per_thread", "shared_B", "local_B", "occupancy", "occupancy_limiter",
    },
    "telemetry": {
        "sm_clock_Hz", "power_W", "energy_per_launch_J", "temperature_C", "throttle_reasons",
        "source",
    },
}  # fmt: skip


@pytest.mark.parametrize("table", FIELDS)
def test_the_document_has_the_promised_fields(table: str, run_document: dict[str, Any]) -> None:
    held = run_document[table] if table else run_document
    assert FIELDS[table] <= set(held)


def test_the_document_is_typed_throughout(run_document: dict[str, Any]) -> None:
    result = msgspec.convert(run_document, RunResult)
    assert result.schema == "gpuexplorer/run/1"
    assert result.config.block == (16, 16, 1)
    assert result.config.grid == (16, 16, 1)
    assert (result.config.cache, result.config.fill) == ("hot", "manifest")
    assert result.timing.method.endswith("; caches warm")
    assert {t.kind for t in result.traffic} >= {"compulsory", "requested"}


def test_the_figures_agree_with_each_other(run_document: dict[str, Any]) -> None:
    timing, samples = run_document["timing"], run_document["samples_s"]
    median = float(np.median(samples))
    assert timing["samples"] == len(samples) >= 10
    assert timing["median_s"] == pytest.approx(median, rel=1e-9)
    assert run_document["throughput"]["flop_per_s"] == pytest.approx(2 * 256**3 / median, rel=1e-9)
    assert run_document["throughput"]["bandwidth_B_per_s"] == pytest.approx(
        3 * 256**2 * 4 / median, rel=1e-9
    )
    assert sum(b["samples"] for b in run_document["batches"]) == len(samples)
    assert run_document["verification"]["ok"] is True
    assert run_document["phases_s"]["host_to_device"] > 0


def test_files_are_written_beside_the_summary(tmp_path: Path) -> None:
    done = run_cli(
        "run", "matmul", "--size", "64", "--seconds", "0.1",
        "--json", "run.json", "--csv", "run.csv", "--plot", "run.svg", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "GFLOP/s" in done.stdout or "MFLOP/s" in done.stdout
    assert "verified" in done.stdout
    assert done.stderr.splitlines() == ["wrote run.json", "wrote run.csv", "wrote run.svg"]
    result = msgspec.json.decode((tmp_path / "run.json").read_bytes(), type=RunResult)
    with (tmp_path / "run.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [float(r["duration_s"]) for r in rows] == result.samples_s
    assert (tmp_path / "run.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert sorted(os.listdir(tmp_path)) == ["run.csv", "run.json", "run.svg"]


def test_caches_and_inputs_stand_in_the_document_and_beside_the_number(tmp_path: Path) -> None:
    done = run_cli(
        "run", "matmul", "--size", "64", "--seconds", "0.1", "--cache", "cold", "--fill", "zeros",
        "--json", "run.json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "cold cache · zeros inputs" in done.stdout
    result = msgspec.json.decode((tmp_path / "run.json").read_bytes(), type=RunResult)
    assert (result.config.cache, result.config.fill) == ("cold", "zeros")
    assert "cold: " in result.timing.method
    assert result.verified
    assert result.verification and result.verification.max_rel_error == 0


def test_json_on_standard_output_is_alone_there(tmp_path: Path) -> None:
    done = run_cli("run", "matmul", "--size", "64", "--seconds", "0.05", "--json", cwd=tmp_path)
    assert done.returncode == 0
    assert msgspec.json.decode(done.stdout.encode())["schema"] == "gpuexplorer/run/1"
    assert done.stderr == ""


def test_a_run_ends_when_the_median_is_known_as_well_as_asked(tmp_path: Path) -> None:
    done = run_cli(
        "run", "matmul", "--size", "64", "--noise", "40%", "--seconds", "30", "--json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    timing = msgspec.json.decode(done.stdout.encode(), type=RunResult).timing
    assert timing.stopped_by in ("noise", "stable")
    assert timing.max_noise == 0.4
    assert timing.converged
    assert timing.ci95_low_s is not None and timing.ci95_high_s is not None
    assert timing.ci95_high_s - timing.ci95_low_s <= 0.8 * timing.median_s


def test_transfers_can_be_included(tmp_path: Path) -> None:
    done = run_cli(
        "run", "matmul", "--size", "64", "--seconds", "0.1", "--include-transfers", "--json",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = msgspec.json.decode(done.stdout.encode(), type=RunResult)
    assert result.config.include_transfers
    kernel_s = result.phases_s.kernel
    assert kernel_s is not None
    assert result.timing.median_s > kernel_s


def test_a_closed_pipe_is_quiet(tmp_path: Path) -> None:
    import subprocess

    from tests.support.cli import cli_command, cli_environment

    with subprocess.Popen(
        cli_command("run", "--help"), cwd=tmp_path, env=cli_environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert said == b""
