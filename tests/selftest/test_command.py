"""``gpuexplorer selftest`` as a user runs it: here every shipped kernel is verified by day."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from gpuexplorer.selftest.report import SCHEMA, SelfTestReport
from tests.support.cli import assert_one_sentence, cli_command, cli_environment, run_cli
from tests.support.kernels import BROKEN_BODY, WRONG_BODY, write_vector


def document(path: Path) -> SelfTestReport:
    return msgspec.json.decode(path.read_bytes(), type=SelfTestReport)


@pytest.mark.first
def test_what_is_shipped_passes_and_a_wrong_kernel_fails_in_a_sentence(tmp_path: Path) -> None:
    """One self-test with one wrong kernel and one that does not compile, for all that it says."""
    write_vector(tmp_path / "mine", WRONG_BODY, name="wrong")
    write_vector(tmp_path / "mine", BROKEN_BODY, name="broken")
    done = run_cli(
        "selftest", "--quick", "--device", "cpu", "--section", "kernels", "--section", "telemetry",
        "--section", "occupancy", "--kernels", "mine", "--json", "report.json", cwd=tmp_path,
    )  # fmt: skip
    report = document(tmp_path / "report.json")
    shipped = [one for one in report.failures if not one.name.startswith(("wrong/", "broken/"))]
    assert not shipped, "\n".join(f"{one.name}: {one.found}; {one.command}" for one in shipped)
    _says_what_failed(done)
    _covers_every_variant_and_precision(tmp_path / "report.json")
    _says_why_something_is_skipped(report, done)
    _the_command_beside_a_failure_repeats_it(report, tmp_path)


def _says_what_failed(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    wrong = [line for line in failed if "wrong/plain" in line]
    assert wrong
    assert all("B[5] is" in line for line in wrong)
    (not_compiled,) = [line for line in failed if "broken/plain" in line]
    assert "compile" in not_compiled
    assert f"{len(failed)} checks failed" in done.stdout


def _the_command_beside_a_failure_repeats_it(report: SelfTestReport, folder: Path) -> None:
    failure = next(c for c in report.failures if "wrong" in c.name)
    program, *arguments = shlex.split(failure.command)
    assert program == "gpuexplorer"
    done = run_cli(*arguments, cwd=folder)
    assert assert_one_sentence(done, 1) == failure.found


def _covers_every_variant_and_precision(path: Path) -> None:
    plain = msgspec.json.decode(path.read_bytes())
    assert plain["schema"] == SCHEMA
    report = document(path)
    assert not report.ok and not report.interrupted and report.quick
    assert report.environment.pyopencl
    assert report.device.driver
    kernels = [c for c in report.checks if c.section == "kernels"]
    shipped = {c.name.split()[0] for c in kernels}
    assert {"matmul/naive", "matmul/tiled", "reduction/tree", "stream/triad"} <= shipped
    tried = [c for c in kernels if c.status != "skipped"]
    for name in ("matmul/naive", "transpose/padded", "vector_add/direct"):
        mine = [c.name for c in tried if c.name.startswith(f"{name} ")]
        assert any("=1" in n.split()[2:] or n.split()[2].endswith("=1") for n in mine)
        assert any(int(n.split()[2].rpartition("=")[2]) % 2 for n in mine)
        assert any("×" in n for n in mine)
    matmul = [c for c in tried if c.name.startswith("matmul/")]
    assert matmul and all(c.status == "passed" for c in matmul)
    for check in report.checks:
        assert check.found
        assert check.time_s >= 0
        assert "gpuexplorer " in check.command
    assert sum(s.planned for s in report.sections) == len(report.checks)


def _says_why_something_is_skipped(
    report: SelfTestReport, done: subprocess.CompletedProcess[str]
) -> None:
    occupancy = next(s for s in report.sections if s.name == "occupancy")
    assert (occupancy.planned, occupancy.skipped) == (1, 1)
    assert "skipped in occupancy: opencl has no occupancy query" in done.stdout
    assert all(c.status != "failed" for c in report.checks if c.section == "telemetry")


def test_nothing_else_is_on_standard_output_with_json(tmp_path: Path) -> None:
    done = run_cli("selftest", "--section", "occupancy", "--device", "cpu", "--json", cwd=tmp_path)
    assert done.returncode == 3  # nothing but a skipped check
    assert (
        msgspec.json.decode(done.stdout.encode(), type=SelfTestReport).checks[0].status == "skipped"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--section", "timings"], 2, "did you mean 'timing'"),
        (["--device", "opencl:99"], 2, "no device 'opencl:99'"),
        (["--kernels", "nowhere"], 2, "no such folder"),
        (["--json", "no/such/folder.json"], 2, "folder"),
    ],
)
def test_wrong_input_is_one_sentence(
    arguments: list[str], code: int, says: str, tmp_path: Path
) -> None:
    assert says in assert_one_sentence(run_cli("selftest", *arguments, cwd=tmp_path), code)


def test_a_device_that_is_not_here_ends_with_3(tmp_path: Path) -> None:
    no_driver = {"GPUEXPLORER_OPENCL_CPU": "nonsense"}
    done = run_cli("selftest", "--device", "opencl", cwd=tmp_path, environment=no_driver)
    assert "'opencl' is not available" in assert_one_sentence(done, 3)


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal's Ctrl-C is a POSIX signal here")
@pytest.mark.long
def test_ctrl_c_says_what_was_done_so_far(tmp_path: Path) -> None:
    process = subprocess.Popen(
        cli_command("selftest", "--device", "cpu", "--json", "part.json"),
        cwd=tmp_path, env=cli_environment(), stdin=subprocess.DEVNULL, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        lines = iter(process.stderr.readline, "")  # of progress
        said = next(line for line in lines if not line.startswith("self-test: 0 of "))
        assert said.startswith("self-test: ")
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Nothing failed until it was stopped" in out
    assert "gpuexplorer: stopped after " in err
    report = document(tmp_path / "part.json")
    assert report.interrupted and not report.ok
    assert 0 < len(report.checks) < sum(s.planned for s in report.sections)
