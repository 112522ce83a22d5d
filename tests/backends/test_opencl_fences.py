"""A kernel that reads or writes outside its arrays on the CPU is told so, however far it goes."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gpuexplorer.backends.opencl import faults
from gpuexplorer.backends.opencl.fences import (
    ALIGNMENT_B,
    HUGE_PAGE_B,
    MAX_MARGIN_B,
    FencedMemory,
)
from gpuexplorer.compile.cache import ENVIRONMENT_VARIABLE
from gpuexplorer.core.errors import WrongResult
from tests.backends.opencl_support import backend, device, made_workload, plan_for, ready_runner

pytestmark = pytest.mark.skipif(not faults.can_watch(), reason="Linux tells of such accesses")

COPY = """\
__global__ void made(const real *A, real *B, int N)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) B[i] = A[i];
    {extra}
}}
"""


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield


def told(extra: str, size: int = 1024) -> str:
    """Return what is said of a kernel that does ``extra`` besides; it has to go on living."""
    runner, _ = ready_runner(made_workload(COPY.format(extra=extra)), size={"N": size}, block=(64,))
    try:
        runner.launch(1)
        runner.check_guards()
        return ""
    except WrongResult as error:
        return error.what
    finally:
        runner.free()


@pytest.mark.parametrize(
    ("index", "words"),
    [
        ("N", "1 element behind"),
        ("-1", "1 element before"),
        ("N + 65536", "65,537 elements behind"),  # behind every pattern that there was
        ("-65536 - 4096", "69,632 elements before"),
        ("N + (1 << 28)", "268,435,457 elements behind"),  # 1 GiB
        ("threadIdx.x - 1u", "4,294,966,272 elements behind"),  # wrapped at 32 bits
    ],
)
@pytest.mark.parametrize("did", ["read", "wrote"])
def test_one_access_outside_is_found_and_said(did: str, index: str, words: str) -> None:
    place = f"[(long long)({index})]" if "u" not in index else f"[(unsigned)({index})]"
    extra = f"B{place} = A[0];" if did == "wrote" else f"B[0] = A[0] * A{place} * (real)0 + A[0];"
    sentence = told(f"if (i == 0) {{ {extra} }}")
    array = "B" if did == "wrote" else "A"
    assert sentence == f"the kernel {did} outside array {array}: {words} it"


@pytest.mark.parametrize("size", [1, 15, 16, 1000, 1001, 4096, 100_000])
def test_a_write_right_behind_an_array_of_any_size_is_found(size: int) -> None:
    assert "B: 1 element behind" in told("if (i == 0) B[N] = A[0];", size)
    assert "B: 1 element before" in told("if (i == 0) B[-1] = A[0];", size)


@pytest.mark.parametrize("size", [1, 16, 1000, 1001, 4096])
def test_what_keeps_to_its_arrays_is_left_alone(size: int) -> None:
    assert told("", size) == ""


def test_an_access_that_comes_to_another_arrays_fence_is_not_laid_to_that_array() -> None:
    runner, _ = ready_runner(made_workload(COPY.format(extra="")), size={"N": 1024}, block=(64,))
    places = runner._arrays._places  # type: ignore[attr-defined]
    ctypes.c_uint8.from_address(places["A"]._memory.start - (1 << 30)).value = 1
    ctypes.c_uint8.from_address(places["B"]._memory.start + 4096 + (1 << 20)).value = 1
    with pytest.raises(WrongResult, match="outside array B"):
        runner.check_guards()
    runner.free()


def test_the_next_check_knows_nothing_of_the_last() -> None:
    bad = made_workload(COPY.format(extra="if (i == 0) B[N + 70000] = A[0];"))
    first, inputs = ready_runner(bad, size={"N": 1024}, block=(64,))
    first.launch(1)
    with pytest.raises(WrongResult):
        first.check_guards()
    with pytest.raises(WrongResult):
        first.check_guards()
    good = backend().runner(
        plan_for(made_workload(COPY.format(extra="")), size={"N": 1024}, block=(64,)), device()
    )
    good.build()
    assert good.adopt(first)
    good.poison()
    good.launch(1)
    good.check_guards()
    assert np.array_equal(good.download(("B",))["B"], inputs["A"])
    good.poison()
    good.launch(1)
    good.check_guards()
    good.free()


def test_a_kernel_that_goes_on_and_on_ends_its_process_which_says_why() -> None:
    code = """
from tests.backends.test_opencl_fences import told
print(told("for (long long k = 0; k < 40000000; k++) B[N + 16 + k] = A[0];"))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, cwd=Path(__file__).resolve().parents[2],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == -signal.SIGSEGV
    assert f"{faults.SAID}the kernel wrote outside array B: 17 elements behind it" in done.stderr


def test_an_address_that_nobody_watches_goes_to_the_handler_before() -> None:
    code = """
import ctypes
from gpuexplorer.backends.opencl.fences import FencedMemory
memory = FencedMemory("A", 100, 4)
memory.close()
ctypes.c_int.from_address(8).value
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, cwd=Path(__file__).resolve().parents[2],
        capture_output=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == -signal.SIGSEGV
    assert faults.SAID.encode() not in done.stderr


# ---- the memory itself


@pytest.mark.parametrize("nbytes", [1, 4, 60, 64, 4000, 4096, 1_000_004])
def test_an_array_ends_where_the_fence_begins(nbytes: int) -> None:
    memory = FencedMemory("A", nbytes, 1)
    try:
        memory.values[:] = 7
        memory.close()
        assert memory.start % ALIGNMENT_B == 0
        assert memory.stray() is None
        closed = -(-(memory.start + nbytes) // os.sysconf("SC_PAGESIZE")) * os.sysconf(
            "SC_PAGESIZE"
        )
        assert closed - (memory.start + nbytes) < ALIGNMENT_B
        ctypes.c_uint8.from_address(closed).value = 1
        found = memory.stray()
        assert found is not None
        assert found.distance_B == closed - (memory.start + nbytes)
        assert (memory.values == 7).all()
        memory.close()
        assert memory.stray() is None
    finally:
        memory.free()
        memory.free()


@pytest.mark.parametrize("nbytes", [2 << 20, (5 << 20) + 52])
def test_a_large_array_asks_for_huge_pages(nbytes: int) -> None:
    memory = FencedMemory("A", nbytes, 4)
    try:
        whole = -(-memory.start // HUGE_PAGE_B) * HUGE_PAGE_B
        assert whole - memory.start < HUGE_PAGE_B <= memory.start + nbytes - whole
        assert "hg" in _flags_of_memory_at(whole)
        assert "hg" not in _flags_of_memory_at(memory.start + nbytes + ALIGNMENT_B)
    finally:
        memory.free()


def _flags_of_memory_at(address: int) -> list[str]:
    """Return what the system notes of the memory at an address: ``hg`` asks for huge pages."""
    inside = False
    for line in Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines():
        if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(found[1], 16) <= address < int(found[2], 16)
        elif inside and line.startswith("VmFlags:"):
            return line.split()[1:]
    raise AssertionError("no such memory")


def test_an_open_fence_lets_near_accesses_through_and_notes_far_ones() -> None:
    memory = FencedMemory("A", 4096, 4)
    try:
        memory.close()
        memory.open()
        ctypes.c_uint8.from_address(memory.start + 4096).value = 1
        assert memory.stray() is None
        ctypes.c_uint8.from_address(memory.start + 4096 + MAX_MARGIN_B).value = 1
        found = memory.stray()
        assert found is not None
        assert (found.place, found.distance_B) == ("behind", MAX_MARGIN_B)
    finally:
        memory.free()


def test_where_address_space_is_scarce_fences_are_narrower() -> None:
    code = """
import resource, ctypes
from gpuexplorer.backends.opencl.fences import FencedMemory
limit = 3 << 30
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
memory = FencedMemory("A", 1000, 4)
memory.close()
ctypes.c_uint8.from_address(memory.start + 1000 + (1 << 20)).value = 1
print(memory.stray())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, cwd=Path(__file__).resolve().parents[2],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "distance_B=1048576" in done.stdout
