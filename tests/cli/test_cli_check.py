"""``gpuexplorer check-kernels``: right kernels pass, wrong and broken ones are named."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpuexplorer.backends.cpu import cpu_cores
from gpuexplorer.cli import main
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import BlockTooLarge
from gpuexplorer.engine.errors import error_of, failed_of
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import EngineSession
from tests.support.cli import assert_one_sentence, run_cli
from tests.support.kernels import BROKEN_BODY, WRONG_BODY, write_article, write_vector


def test_right_kernels_pass_in_every_precision(tmp_path: Path) -> None:
    write_article(tmp_path)
    write_vector(tmp_path)
    done = run_cli("check-kernels", tmp_path, "--json", "check.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "verified" in done.stdout
    made = msgspec.json.decode((tmp_path / "check.json").read_bytes())
    assert made["schema"] == "gpuexplorer/check/1"
    assert made["ok"] is True
    assert {c["workload"] for c in made["cases"]} == {"article", "vector"}
    assert len(made["cases"]) >= 10
    for case in made["cases"]:
        assert case["ok"] is True
        assert case["max_rel_error"] <= case["tolerance"]
    assert any(n % 2 for c in made["cases"] for n in c["size"].values())


def test_kernels_are_tried_with_another_number_of_threads_too(tmp_path: Path) -> None:
    write_article(tmp_path)
    done = run_cli("check-kernels", tmp_path, "--threads", "1", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    cases = msgspec.json.decode(done.stdout.encode())["cases"]
    others = [2] if cpu_cores() > 1 else []
    assert [c["threads"] for c in cases] == [1] * (len(cases) - len(others)) + others
    assert cases[-1]["size"] == max((c["size"] for c in cases), key=lambda size: size["N"])


def test_a_check_that_cannot_fail_is_named_and_says_what_to_correct(tmp_path: Path) -> None:
    folder = write_vector(tmp_path, "if (i < N) B[i] = 999.0f;")
    manifest = folder / "workload.toml"
    text = manifest.read_text(encoding="utf-8")
    right = 'outputs = { B = "2 * A" }'
    assert right in text
    manifest.write_text(text.replace(right, f'{right}\nscale = "1 / (0 * A)"'), encoding="utf-8")
    done = run_cli("check-kernels", tmp_path, cwd=tmp_path)
    assert done.returncode == 1
    assert "the check of 'B' says nothing: its scale '1 / (0 * A)' is" in done.stderr
    assert "verified" not in done.stdout


def test_a_wrong_kernel_is_named_and_the_others_still_run(tmp_path: Path) -> None:
    write_vector(tmp_path, WRONG_BODY, name="wrong")
    write_vector(tmp_path, name="zright")
    done = run_cli("check-kernels", tmp_path, cwd=tmp_path)
    assert done.returncode == 1
    failed = [line for line in done.stderr.splitlines() if line.startswith("wrong/plain fp32 N=")]
    assert failed
    assert "is wrong" in failed[0]
    assert "zright" in done.stdout
    assert not any(line.startswith("zright") for line in done.stderr.splitlines())
    assert "Traceback" not in done.stderr


def test_a_block_that_what_was_compiled_is_too_large_for_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a GPU registers decide: a kernel of many of them has no block of 1024 threads there."""
    write_article(tmp_path)
    measure = EngineSession.measure

    def refuse(self: EngineSession, config: RunConfig, *how: Any, **told: Any) -> RunRecord:
        if math.prod(config.block or ()) > 256:
            raise error_of(failed_of(BlockTooLarge("a block of it has at most 256 threads")))
        return measure(self, config, *how, **told)

    monkeypatch.setattr(EngineSession, "measure", refuse)
    made = tmp_path / "check.json"
    assert main(["check-kernels", str(tmp_path), "--json", str(made)]) == 0
    document = msgspec.json.decode(made.read_bytes())
    assert document["ok"]
    refused = [case for case in document["cases"] if case["not_launched"]]
    assert refused and all(math.prod(case["block"]) > 256 for case in refused)
    assert len(refused) < len(document["cases"])
    told = capsys.readouterr().out
    assert "not launched article/" in told and "at most 256 threads" in told
    assert "verified" in told and "failed" not in told


def test_a_kernel_that_does_not_compile_is_tried_once(tmp_path: Path) -> None:
    write_vector(tmp_path, BROKEN_BODY)
    done = run_cli("check-kernels", tmp_path, "--json", cwd=tmp_path)
    assert done.returncode == 1
    (case,) = msgspec.json.decode(done.stdout.encode())["cases"]
    assert case["ok"] is False
    assert "nothing_of_that_name" in case["detail"]
    assert "kernel.cu" in case["detail"]


def test_a_folder_without_workloads_is_refused(tmp_path: Path) -> None:
    done = run_cli("check-kernels", tmp_path, cwd=tmp_path)
    assert "no workload.toml here" in assert_one_sentence(done, 2)
    done = run_cli("check-kernels", tmp_path / "missing", cwd=tmp_path)
    assert "no such folder" in assert_one_sentence(done, 2)
