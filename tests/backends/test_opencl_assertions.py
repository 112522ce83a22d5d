"""What kernels assert is looked at on the CPU by a launch of its own, before the one checked."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gpuexplorer.compile.cache import ENVIRONMENT_VARIABLE
from gpuexplorer.core.errors import WorkFailed
from tests.backends.opencl_support import (
    ARRAYS,
    device,
    made_workload,
    ready_runner,
    verify,
)

pytestmark = pytest.mark.skipif("Portable" in device().driver, reason="plain C has none of them")
KERNEL = """\
#include <cassert>
__global__ void made(const float *A, float *B, int N) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert({});
    if (i < N) B[i] = A[i];
}}
"""


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.parametrize(
    "holds", ["blockDim.x == 64", 'i < N && "in it"', "A != nullptr && B != 0", "(i, true)"]
)
def test_what_holds_changes_nothing(holds: str) -> None:
    verify(made_workload(KERNEL.format(holds)), precision="fp32")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (KERNEL.format("blockDim.x == 1"), r"made\.cu:4: the assertion 'blockDim.x == 1' failed"),
        (KERNEL.format('i < 255 || !"last"'), r"""made\.cu:4: .* 'i < 255 \|\| !"last"' failed"""),
        (
            "#define CHECK(x) \\\n    assert((x) && true)\n"
            "__global__ void made(const float *A, float *B, int N) { CHECK(N == 1); }\n",
            r"made\.cu:2: the assertion '\(x\) && true' failed",
        ),
        (
            "__device__ int f(int local) { assert(local <\n 255); return local; }\n"
            + KERNEL.format("f(i) == i"),
            r"made\.cu:1: .* 'local < 255' failed",
        ),
    ],
)
def test_what_fails_is_named_with_its_line(source: str, words: str) -> None:
    with pytest.raises(WorkFailed, match=words):
        ready_runner(made_workload(source), precision="fp32")


@pytest.mark.parametrize("off", ["#define NDEBUG\n", "#define assert(x)\n"])
def test_a_source_may_leave_them_out(off: str) -> None:
    verify(made_workload(off + KERNEL.format("false")), precision="fp32")


@pytest.mark.parametrize("holds", ["B[i] < 100.0f", "(B[i] = 7.0f) == 7.0f"])
def test_the_launch_that_is_checked_has_none_and_finds_the_arrays_as_they_were(holds: str) -> None:
    source = KERNEL.format(holds).replace("B[i] = A[i]", "B[i] += 1000.0f")
    arrays = ARRAYS.replace('"out"', '"inout"')
    runner, inputs = ready_runner(made_workload(source, arrays=arrays), precision="fp32")
    runner.launch(1)
    runner.check_guards()
    found = runner.download(("B",))["B"]
    runner.poison()  # what holds is not looked at again
    runner.free()
    assert np.array_equal(found, inputs["B"] + np.float32(1000))
