"""``gpuexplorer analyze --accesses`` as a process: its table, its document, its refusals."""

from __future__ import annotations

import csv
from pathlib import Path

import msgspec
import pytest

from gpuexplorer.core.accesses import (
    ACCESSES_SCHEMA,
    AccessProfile,
    AccessRequest,
    AccessRequests,
)
from tests.backends.opencl_support import device
from tests.support.cli import assert_one_sentence, run_cli

pytestmark = pytest.mark.skipif("Portable" in device().driver, reason="notes need C++ for OpenCL")


def test_the_table_names_the_line_and_what_to_change(tmp_path: Path) -> None:
    done = run_cli(
        "analyze", "matmul", "--variant", "naive", "--size", "64", "--block", "1x64",
        "--accesses", "--csv", "rows.csv", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    words = " ".join(done.stdout.split())
    assert "warp 0 of 2 in block 0,0,0 of a grid of 64×1 blocks of 1×64 threads" in words
    assert "Line 9 fetches 32 sectors of 32 B for 128 B a request (A[row * N + k])" in words
    assert "swap x and y of the block" in words
    assert "counted from the source, run on the CPU device" in words
    assert "Requested bytes, counted in this block and times all blocks: 2.10 MB read" in words
    with (tmp_path / "rows.csv").open(encoding="utf-8") as file:
        rows = {row["expression"]: row for row in csv.DictReader(file)}
    assert rows["A[row * N + k]"]["sectors"] == "2048"
    assert rows["B[k * N + col]"]["fetched_B"] == "2048"


def test_the_document_holds_the_requests_of_the_warp_that_was_asked_for(tmp_path: Path) -> None:
    done = run_cli(
        "analyze", "reduction", "--variant", "tree", "--size", "100000", "--block", "128",
        "--accesses", "--launch", "1", "--warp", "3", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = msgspec.json.decode(done.stdout.encode())
    requests = msgspec.convert(document.pop("requests"), list[AccessRequest])
    profile = msgspec.convert(document | {"requests": AccessRequests()}, AccessProfile)
    assert (profile.schema, profile.entry, profile.look.warp) == (ACCESSES_SCHEMA, "finalSum", 3)
    assert profile.compiled is not None and profile.compiled.unknown is None
    assert profile.compiled.arch == "sm_90"
    assert {("global", "read"), ("shared", "write")} <= {
        (one.space, one.kind) for one in profile.compiled.found if one.line
    }
    first = requests[0]
    assert profile.rows[first.row].text == "sums[i]"
    assert first.offsets_B == tuple(4 * (96 + lane) for lane in range(32))


@pytest.mark.parametrize(
    ("more", "what"),
    [
        (["--accesses", "--arch", "sm_90", "--arch", "sm_80"], "there are several"),
        (["--accesses", "--arch", "sm_1"], "sm_1"),
        (["--warp", "2"], "--warp belongs to --accesses"),
        (["--accesses", "--place", "99,0"], "there is no block 99,0,0"),
        (["--accesses", "--place", "1,2,3,4"], "not one to three numbers"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path: Path, more: list[str], what: str) -> None:
    done = run_cli(
        "analyze", "transpose", "--variant", "naive", "--size", "64", *more, cwd=tmp_path
    )
    assert what in assert_one_sentence(done, 2)
