"""Static analysis through the compiler's process: files, workloads, and what goes wrong."""

from __future__ import annotations

import math
import stat
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpuexplorer
from gpuexplorer.analysis.architectures import limits_of
from gpuexplorer.analysis.static import CompileRequest, curve_blocks, shape_like
from gpuexplorer.compile.cache import ENVIRONMENT_VARIABLE
from gpuexplorer.compile.program import Nvrtc
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import Cancelled, CannotRunHere, InputError, WorkFailed
from gpuexplorer.engine.analyze import analyze_file, analyze_variant
from gpuexplorer.engine.compiler import Compiler
from gpuexplorer.engine.variant_on import VariantOn, request_key
from gpuexplorer.workloads.loader import kernel_sources, load
from gpuexplorer.workloads.workload import Workload, WorkloadSource
from tests.support.kernels import MATMUL_MANIFEST

SHIPPED = load()
TEXTBOOK = (
    "#include <cuda_runtime.h>\n"
    "__global__ void twice(const float *A, float *B, int N)\n"
    "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < N) B[i] = 2.0f * A[i]; }\n"
)
BOUNDED = (
    "__global__ void __launch_bounds__(128) bounded(real *B)\n"
    "{ __shared__ accum tile[TILE]; tile[threadIdx.x] = (accum)B[threadIdx.x];\n"
    "  __syncthreads(); B[threadIdx.x] = (real)tile[127 - threadIdx.x]; }\n"
    "template <int N> __global__ void add(real *B) { B[threadIdx.x] = (real)((accum)N); }\n"
)
SPILLING = (
    "__global__ void __launch_bounds__(1024) spilling(float *A, int n)\n"
    "{ float v[120];\n"
    "#pragma unroll\n"
    "  for (int k = 0; k < 120; k++) v[k] = A[k * 1024 + threadIdx.x];\n"
    "  for (int j = 0; j < n; j++) {\n"
    "#pragma unroll\n"
    "    for (int k = 0; k < 120; k++) v[k] = v[k] * v[(k + 7) % 120] + 1.0f; }\n"
    "#pragma unroll\n"
    "  for (int k = 0; k < 120; k++) A[k * 1024 + threadIdx.x] = v[k]; }\n"
)


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled things go to a folder of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield


def written(folder: Path, text: str, name: str = "k.cu") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_what_is_kept_of_a_compilation_has_a_short_key() -> None:
    wanted = RunRequest(workload="matmul", variant="tiled")
    (first,), (other,) = (
        VariantOn(SHIPPED["matmul"], wanted, arch).requests() for arch in ("sm_90", "sm_80")
    )
    assert sum(map(len, first.files.values())) > 10_000
    assert len(request_key(first)) < 100
    assert request_key(first) == request_key(first) != request_key(other)


# ---- files


def test_a_textbook_file_as_it_stands(tmp_path: Path) -> None:
    found = analyze_file(written(tmp_path, TEXTBOOK), ["sm_80", "sm_90"], block=(16, 16))
    assert [(k.name, k.arch) for k in found.kernels] == [("twice", "sm_80"), ("twice", "sm_90")]
    hopper = found.kernels[1]
    assert 0 < hopper.registers_per_thread < 32
    assert (hopper.static_shared_B, hopper.local_B, hopper.spill_store_B) == (0, 0, 0)
    assert hopper.block == (16, 16, 1)
    assert (hopper.occupancy, hopper.blocks_per_multiprocessor) == (1.0, 8)
    assert hopper.occupancy_limiter == "threads"
    assert [p.threads for p in hopper.curve] == list(range(32, 1025, 32))
    assert hopper.curve[0].limiter == "blocks"
    assert {p.occupancy for p in hopper.curve if p.block == hopper.block} == {1.0}


def test_launch_bounds_macros_shared_memory_and_templates(tmp_path: Path) -> None:
    path = written(tmp_path, BOUNDED)
    (found,) = analyze_file(path, ["sm_90"], precision="fp64", defines={"TILE": 128}).kernels
    assert (found.name, found.max_threads_per_block) == ("bounded", 128)
    assert found.block == (128, 1, 1)
    assert found.static_shared_B == 128 * 8
    assert found.barriers == 1
    beyond = [p for p in found.curve if p.threads > 128]
    assert {(p.occupancy, p.limiter) for p in beyond} == {(0.0, "launch bounds")}
    (more,) = analyze_file(
        path, ["sm_90"], defines={"TILE": 128}, dynamic_shared_B=100 * 1024
    ).kernels
    assert (more.dynamic_shared_B, more.occupancy_limiter) == (102400, "shared memory")
    assert more.blocks_per_multiprocessor == 2
    (named,) = analyze_file(path, ["sm_90"], defines={"TILE": 128}, entries=["add<4>"]).kernels
    assert named.name == "add<4>"


def test_a_file_of_thousands_of_kernels_is_refused_in_one_sentence(tmp_path: Path) -> None:
    kernels = "".join(f"__global__ void k{n}(int *A) {{ A[0] = {n}; }}\n" for n in range(600))
    path = written(tmp_path, kernels)
    with pytest.raises(InputError, match=r"has 600 kernels, too many .*--entry k0"):
        analyze_file(path, ["sm_90"])
    assert [k.name for k in analyze_file(path, ["sm_90"], entries=["k7"]).kernels] == ["k7"]


def test_spills_are_told(tmp_path: Path) -> None:
    (found,) = analyze_file(written(tmp_path, SPILLING), ["sm_90"]).kernels
    assert found.registers_per_thread <= 64
    assert found.spill_store_B is not None and found.spill_store_B > 0
    assert found.spill_load_B is not None and found.spill_load_B > 0
    assert found.local_B > 0


def test_files_beside_it_are_included(tmp_path: Path) -> None:
    written(tmp_path, '#pragma once\n#include "b.cuh"\n', "a.cuh")
    written(tmp_path, "__device__ float same(float x) { return x; }\n", "b.cuh")
    path = written(
        tmp_path, '#include "a.cuh"\n__global__ void k(float *A) { A[0] = same(A[1]); }\n'
    )
    assert set(kernel_sources(path, below=True)) == {"k.cu", "a.cuh", "b.cuh"}
    outside = tmp_path / "inner" / "k.cu"
    outside.parent.mkdir()
    secret = written(tmp_path, "secret", "secret.h")
    outside.write_text(f'#include "{secret}"\n#include "../secret.h"\n', encoding="utf-8")
    assert set(kernel_sources(outside, below=True)) == {"k.cu"}
    assert [k.name for k in analyze_file(path, ["sm_75"]).kernels] == ["k"]


PROGRAM = """#include <cstdio>
#include <vector>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { exit(1); } } while (0)
using namespace std;
const int WIDTH = 16;
void fill(std::vector<float> &values);
float *device_memory;
constexpr int padded(int n) { return n + 1; }
__device__ float twice(float x) { return 2.0f * x; }
__global__ void tile(const float *A, float *B, int n)
{
    __shared__ float tile[WIDTH][padded(WIDTH)];
    tile[threadIdx.y][threadIdx.x] = A[threadIdx.y * n + threadIdx.x];
    __syncthreads();
    B[threadIdx.x * n + threadIdx.y] = twice(tile[threadIdx.x][threadIdx.y]);
}
int main()
{
    std::vector<float> values(WIDTH);  // with a brace in a string: "}"
    CHECK(cudaMalloc(&device_memory, 4));
    tile<<<dim3(1), dim3(16, 16)>>>(device_memory, device_memory, 16);
    printf("}");
}
void fill(std::vector<float> &values) { for (auto &v : values) v = 1.0f; }
"""


def test_a_whole_program_is_analysed_without_its_host_code(tmp_path: Path) -> None:
    path = written(tmp_path, PROGRAM)
    (found,) = analyze_file(path, ["sm_90"], block=(16, 16)).kernels
    assert (found.name, found.static_shared_B) == ("tile", 16 * 17 * 4)
    broken = written(tmp_path, PROGRAM.replace("* n + threadIdx.y]", "* m + threadIdx.y]"))
    with pytest.raises(WorkFailed, match=r'k\.cu:17: .*"m" is undefined') as caught:
        analyze_file(broken, ["sm_90"])
    assert "<vector>" in caught.value.detail
    assert "main()" in caught.value.detail


def test_a_macro_that_marks_device_functions_is_no_host_code(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "#define DEVICE __device__\nDEVICE float one() { return 1; }\n"
        "__global__ void k(float *A) { A[0] = one(); }\n",
    )
    assert [k.name for k in analyze_file(path, ["sm_75"]).kernels] == ["k"]


def test_an_architecture_without_known_limits_has_no_occupancy(tmp_path: Path) -> None:
    known = (f"sm_{number}" for number in Nvrtc.load().known)
    arch = next(arch for arch in known if limits_of(arch) is None)
    (found,) = analyze_file(written(tmp_path, TEXTBOOK), [arch]).kernels
    assert found.registers_per_thread > 0
    assert found.occupancy is None
    assert found.occupancy_limiter is None
    assert found.curve == ()


def test_the_compilers_word_reaches_the_user(tmp_path: Path) -> None:
    path = written(tmp_path, "\n\n__global__ void k() { oops; }\n", "mine.cu")
    with pytest.raises(WorkFailed, match=r"mine\.cu:3: .*oops") as caught:
        analyze_file(path, ["sm_90"])
    assert "oops" in caught.value.detail


def test_what_cannot_be_is_refused_before_anything_is_compiled(tmp_path: Path) -> None:
    path = written(tmp_path, TEXTBOOK)
    with pytest.raises(InputError, match="1056 threads"):
        analyze_file(path, ["sm_90"], block=(33, 32))
    with pytest.raises(InputError, match="no precision 'fp8'"):
        analyze_file(path, ["sm_90"], precision="fp8")
    with pytest.raises(InputError, match="no kernel 'thrice'"):
        analyze_file(path, ["sm_90"], entries=["thrice"])
    with pytest.raises(InputError, match="no kernel that is not a template"):
        analyze_file(written(tmp_path, "__device__ int x;\n", "none.cu"), ["sm_90"])
    with pytest.raises(InputError, match="missing"):
        analyze_file(tmp_path / "missing.cu", ["sm_90"])
    with pytest.raises(InputError, match="sm_12"):
        analyze_file(path, ["sm_12"])


# ---- variants


def test_every_launch_of_a_variant_with_its_shared_memory() -> None:
    found = analyze_variant(
        SHIPPED["reduction"], RunRequest(workload="reduction", precision="fp64"), ["sm_90"]
    )
    assert found.subject == "reduction tree"
    assert [k.name for k in found.kernels] == ["partialSums", "finalSum"]
    for kernel in found.kernels:
        assert kernel.block == (256, 1, 1)
        assert kernel.dynamic_shared_B == 256 * 8
        assert all(p.dynamic_shared_B == p.threads * 8 for p in kernel.curve)


def test_tunables_and_block_decide_the_shared_memory() -> None:
    request = RunRequest(workload="matmul", variant="tiled", block=(32, 32), tunables={"TILE": 64})
    (found,) = analyze_variant(SHIPPED["matmul"], request, ["sm_86"]).kernels
    assert found.tunables == {"TILE": 64}
    assert found.dynamic_shared_B == 64 * (32 + 32) * 4
    for p in found.curve:
        assert p.dynamic_shared_B == 64 * (p.block[0] + p.block[1]) * 4


def tied_workload() -> Workload:
    """Return a product whose shared tile is as wide as the block, as textbooks print it."""
    manifest = MATMUL_MANIFEST.format(name="tied").replace(
        'teaches = "The textbook kernel."',
        'teaches = "The textbook kernel."\n\n[variants.article.tunables.TILE]\n'
        'formula = "block_x"\n',
    )
    source = (
        "__global__ void matrixMul(float *A, float *B, float *C, int N) {\n"
        "__shared__ float tile[TILE][TILE]; tile[threadIdx.x][threadIdx.x] = A[threadIdx.x];\n"
        "__syncthreads(); C[threadIdx.x] = tile[N % TILE][threadIdx.x] + B[0]; }\n"
    )
    return Workload(WorkloadSource(manifest=manifest, files={"kernel.cu": source}))


def test_a_macro_tied_to_the_block_is_compiled_for_each_of_its_values() -> None:
    workload = tied_workload()
    request = RunRequest(workload="tied", block=(64, 4))
    on = VariantOn(workload, request, "sm_80")
    assert sorted(r.defines["TILE"] for r in on.requests()) == [32, 64]
    (found,) = analyze_variant(workload, request, ["sm_80"]).kernels
    assert found.static_shared_B == 64 * 64 * 4
    shared = {p.block[0]: p for p in found.curve}
    assert shared[32].blocks_per_multiprocessor > 0


def test_what_another_gpu_would_not_run_is_said() -> None:
    tiled = SHIPPED["matmul"]
    request = RunRequest(
        workload="matmul", variant="tiled", precision="fp64", block=(128, 8), tunables={"TILE": 64}
    )
    assert analyze_variant(tiled, request, ["sm_80"]).kernels[0].occupancy
    with pytest.raises(InputError, match="cuda:sm_75"):
        analyze_variant(tiled, request, ["sm_75"])
    with pytest.raises(InputError, match=r"is the model torch\.matmul, whose"):
        VariantOn(tiled, RunRequest(workload="matmul", variant="torch"), "sm_90")
    with pytest.raises(InputError, match=r"is the library call numpy\.matmul, whose"):
        VariantOn(tiled, RunRequest(workload="matmul", variant="numpy"), "sm_90")
    with pytest.raises(InputError, match="no variant"):
        VariantOn(tiled, RunRequest(workload="matmul", variant="other"), "sm_90")


def test_a_variant_for_one_chip_is_compiled_for_exactly_that_chip() -> None:
    manifest = MATMUL_MANIFEST.format(name="own").replace(
        'teaches = "The textbook kernel."',
        'teaches = "The textbook kernel."\nrequires = ["sm_90a"]',
    )
    workload = Workload(
        WorkloadSource(
            manifest=manifest,
            files={"kernel.cu": "__global__ void matrixMul(float *A,float *B,float *C,int N){}\n"},
        )
    )
    request = RunRequest(workload="own")
    (found,) = analyze_variant(workload, request, ["sm_90"]).kernels
    assert (found.arch, found.occupancy) == ("sm_90a", 1.0)
    with pytest.raises(CannotRunHere, match="requires sm_90a"):
        VariantOn(workload, request, "sm_120")


# ---- the curve's blocks


@pytest.mark.parametrize("block", [(16, 16, 1), (256, 1, 1), (1, 64, 1), (7, 5, 1), (8, 8, 4)])
def test_the_curves_blocks_keep_the_shape(block: tuple[int, int, int]) -> None:
    blocks = curve_blocks(block)
    sizes = [math.prod(b) for b in blocks]
    assert sizes == sorted({*range(32, 1025, 32), math.prod(block)})
    assert block in blocks
    for b in blocks:
        assert b == block or block[0] % b[0] == 0 or b[1:] == (1, 1)
    assert shape_like((16, 16, 1), 96) == (16, 6, 1)


# ---- the process


def test_without_nvrtc_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = tmp_path / "hidden" / "cuda"
    hidden.mkdir(parents=True)
    written(hidden, "raise ImportError('no cuda')\n", "__init__.py")
    monkeypatch.setenv("PYTHONPATH", str(hidden.parent))
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path / "cache"))
    with pytest.raises(CannotRunHere, match=r"NVRTC is not installed .*pip install"):
        analyze_file(written(tmp_path, TEXTBOOK), ["sm_90"])


def request_of(text: str) -> CompileRequest:
    return CompileRequest(source="k.cu", files={"k.cu": text}, arch="sm_90")


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")
def test_a_compiler_that_dies_is_told_with_its_last_words(tmp_path: Path) -> None:
    script = written(tmp_path, "#!/bin/sh\necho out of luck >&2\nexit 3\n", "python")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(WorkFailed, match="gave no answer: out of luck"):
        Compiler(str(script)).figures([request_of(TEXTBOOK)])
    with pytest.raises(CannotRunHere, match="cannot be started"):
        Compiler(str(tmp_path / "nothing")).figures([request_of(TEXTBOOK)])


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")
def test_a_request_that_is_given_up_ends_its_process(tmp_path: Path) -> None:
    began = tmp_path / "began"
    script = written(tmp_path, f"#!/bin/sh\n: > '{began}'\nexec sleep 600\n", "python")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    compiler = Compiler(str(script))
    raised: list[BaseException] = []

    def ask() -> None:
        try:
            compiler.figures([request_of(TEXTBOOK)])
        except Cancelled as error:
            raised.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    limit = time.monotonic() + 30
    while not began.exists() and time.monotonic() < limit:
        asking.join(0.01)
    assert began.exists()
    compiler.cancel()
    asking.join(timeout=30)
    assert not asking.is_alive()
    assert len(raised) == 1
    with pytest.raises(Cancelled):
        compiler.figures([request_of(TEXTBOOK)])


# ---- Python


def test_the_public_function_takes_files_and_workloads(tmp_path: Path) -> None:
    path = written(tmp_path, TEXTBOOK)
    assert gpuexplorer.analyze(path, arch="H100").kernels[0].arch == "sm_90"
    found = gpuexplorer.analyze("matmul", arch=["a100", "4090"], variant="naive", block=(32, 8))
    assert [k.arch for k in found.kernels] == ["sm_80", "sm_89"]
    with pytest.raises(InputError, match="no architecture 'K80'"):
        gpuexplorer.analyze("matmul", arch="K80")
    (listed,) = gpuexplorer.listings(path).kernels
    assert listed.arch == "sm_90" and listed.sass and listed.mix["control"] > 0
    (naive,) = gpuexplorer.listings("matmul", arch="a100", variant="naive").kernels
    assert (naive.subject, naive.arch) == ("matmul naive", "sm_80") and naive.ptx
