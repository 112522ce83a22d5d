"""What CUDA's headers offer compiles for every architecture, from wherever the headers stand."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from gpuexplorer.analysis.static import CompileRequest
from gpuexplorer.compile import headers
from gpuexplorer.compile.headers import Headers, header_folders
from gpuexplorer.compile.nvrtc import Compiled, compile_kernels, target_for
from gpuexplorer.compile.program import Nvrtc
from gpuexplorer.compile.service import figures_of
from gpuexplorer.compile.targets import is_ptx, number
from gpuexplorer.core.errors import WorkFailed
from tests.support.crossed import crossed

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a")
INCLUDES = {
    "wmma": "#include <mma.h>\n",
    "cooperative groups": (
        "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n"
    ),
    "barrier": "#include <cuda/barrier>\n",
    "pipeline": "#include <cuda/pipeline>\n",
    "fp16": "#include <cuda_fp16.h>\n",
    "bf16": "#include <cuda_bf16.h>\n",
    "fp8": "#include <cuda_fp8.h>\n",
    "cub": "#include <cub/block/block_reduce.cuh>\n",
    "libcu++": "#include <cuda/std/cmath>\n#include <cuda/std/cstdint>\n#include <cuda/atomic>\n",
}
KERNELS = {
    "wmma": """\
__global__ void probe(const half *A, const half *B, float *C)
{
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    wmma::load_matrix_sync(a, A, 16);
    wmma::load_matrix_sync(b, B, 16);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(C, c, 16, wmma::mem_row_major);
}
""",
    "cooperative groups": """\
namespace cg = cooperative_groups;
__global__ void probe(int *A)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int sum = cg::reduce(tile, A[block.thread_rank()], cg::plus<int>());
    block.sync();
    if (tile.thread_rank() == 0) A[tile.meta_group_rank()] = sum;
}
""",
    "barrier": """\
__global__ void probe(int *A)
{
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    #pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier all;
    if (threadIdx.x == 0) init(&all, blockDim.x);
    __syncthreads();
    A[threadIdx.x] = threadIdx.x;
    all.arrive_and_wait();
    A[threadIdx.x + blockDim.x] = A[threadIdx.x ^ 1];
}
""",
    "pipeline": """\
__global__ void probe(const float4 *A, float4 *B)
{
    __shared__ float4 tile[256];
    auto pipeline = cuda::make_pipeline();
    pipeline.producer_acquire();
    cuda::memcpy_async(&tile[threadIdx.x], &A[threadIdx.x], cuda::aligned_size_t<16>(16), pipeline);
    pipeline.producer_commit();
    pipeline.consumer_wait();
    B[threadIdx.x] = tile[threadIdx.x];
    pipeline.consumer_release();
}
""",
    "fp16": "__global__ void probe(half2 *A) { A[0] = __hfma2(A[1], A[2], A[3]); }\n",
    "bf16": """\
__global__ void probe(__nv_bfloat16 *A)
{
    A[0] = __float2bfloat16(2.0f * __bfloat162float(A[1])) + A[2];
}
""",
    "fp8": """\
__global__ void probe(__nv_fp8_e4m3 *A, float *B)
{
    A[threadIdx.x] = __nv_fp8_e4m3(B[threadIdx.x]);
    B[threadIdx.x + 256] = float(A[threadIdx.x + 256]);
}
""",
    "cub": """\
__global__ void probe(int *A)
{
    using Reduce = cub::BlockReduce<int, 128>;
    __shared__ typename Reduce::TempStorage room;
    int sum = Reduce(room).Sum(A[threadIdx.x]);
    if (threadIdx.x == 0) A[0] = sum;
}
""",
    "libcu++": """\
__global__ void probe(float *A, int64_t *B, cuda::std::uint8_t *C)
{
    cuda::atomic_ref<float, cuda::thread_scope_device> all(A[0]);
    all.fetch_add(cuda::std::isnan(A[1]) ? NAN : INFINITY);
    *B = *C;
}
""",
}
INSTRUCTIONS = {
    # in the PTX: from Turing on; from Ampere on
    "wmma": (r"wmma\.mma\.sync", r"wmma\.mma\.sync"),
    "cooperative groups": (r"shfl\.sync", r"redux\.sync"),
    "barrier": (r"atom\.", r"mbarrier\.arrive"),
    "pipeline": (r"st\.shared\.v4", r"cp\.async\.c[ag]\.shared"),
    "fp16": (r"fma\.rn\.f16x2", r"fma\.rn\.f16x2"),
    "bf16": (r"fma\.rn\.f32|add\.f32", r"bf16"),
    "fp8": (r"cvt", r"cvt"),
}


def probe(name: str, target: str, precision: str = "fp32") -> Compiled:
    """Compile one probe."""
    files = {"probe.cu": INCLUDES[name] + KERNELS[name]}
    return compile_kernels("probe.cu", files, target, precision=precision)


@pytest.mark.parametrize(
    ("name", "arch"),
    crossed([name for name in KERNELS if name not in ("cub", "libcu++")], ARCHITECTURES),
)
def test_what_the_headers_offer_compiles_for_every_architecture(name: str, arch: str) -> None:
    target = target_for(arch)
    assert is_ptx(target) == (number(arch) not in Nvrtc.load().known)
    compiled = probe(name, target)
    assert set(compiled.kernels) == {"probe"}
    assert compiled.code.startswith(b"//" if is_ptx(target) else b"\x7fELF")
    assert "warning" not in compiled.log


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_the_headers_lead_to_the_hardwares_own_instructions(name: str) -> None:
    for target, pattern in zip(("compute_75", "compute_80"), INSTRUCTIONS[name], strict=True):
        assert re.search(pattern, probe(name, target).code.decode())


@pytest.mark.parametrize(
    ("name", "precision"), crossed(["cub", "libcu++", "wmma"], ["fp64", "fp32", "fp16"])
)
def test_headers_and_the_prelude_live_together(name: str, precision: str) -> None:
    """cub includes by a macro's name; libcu++ defines INFINITY and the integers, as we do."""
    compiled = probe(name, "sm_90", precision)
    assert set(compiled.kernels) == {"probe"}
    assert "warning" not in compiled.log


def test_a_whole_program_keeps_its_includes_of_cudas_headers() -> None:
    text = "#include <cuda_runtime.h>\n#include <vector>\n#include <helper_cuda.h>\n"
    text += INCLUDES["cooperative groups"] + INCLUDES["barrier"]
    text += KERNELS["cooperative groups"] + KERNELS["barrier"].replace("probe", "other")
    text += "int main() { std::vector<int> v(32); probe<<<1, 32>>>(v.data()); }\n"
    request = CompileRequest(source="p.cu", files={"p.cu": text}, arch="sm_80", whole_program=True)
    assert {kernel.name for kernel in figures_of(request)} == {"probe", "other"}


# ---- where they stand


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put CUDA's headers, as a toolkit has them, where a Windows user of such a name has them."""
    include = tmp_path / "Jörg Müller 测试" / "CUDA Toolkit" / "include"
    include.mkdir(parents=True)
    for folder in header_folders(Nvrtc.load().version[0]):
        there = include / "cccl" if folder.name == "cccl" else include
        for name in ("cuda", "cooperative_groups", "crt", "nv"):
            if (folder / name).is_dir():
                shutil.copytree(folder / name, there / name, dirs_exist_ok=True)
        for file in folder.glob("*.h*"):
            shutil.copy(file, there)
    monkeypatch.setattr(headers, "_packaged", lambda part, major: None)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setenv("CUDA_HOME", str(include.parent))
    return include


def test_no_path_reaches_nvrtc_whatever_the_folders_are_called(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Windows NVRTC cannot open a path outside ASCII, so it is given none."""
    given: list[str] = []
    build = Nvrtc.build

    def seen(self: Nvrtc, text: str, known: dict[str, bytes], options: list[str], *rest, **ptx):  # type: ignore[no-untyped-def]
        given.extend([*options, *known, *re.findall(r'^#line \d+ "(.*)"', text, re.MULTILINE)])
        return build(self, text, known, options, *rest, **ptx)

    monkeypatch.setattr(Nvrtc, "build", seen)
    monkeypatch.chdir(elsewhere)
    assert header_folders(Nvrtc.load().version[0])[0] == elsewhere
    for name in ("wmma", "cooperative groups", "pipeline", "fp8"):
        files = {
            "größe 测.cu": '#include "maße.cuh"\n' + INCLUDES[name] + KERNELS[name],
            "maße.cuh": "// Größe\n",
        }
        compiled = compile_kernels("größe 测.cu", files, "sm_80", precision="fp16")
        assert set(compiled.kernels) == {"probe"}
    assert given and all(word.isascii() for word in given)
    assert not any(str(elsewhere.parent) in word for word in given)


def test_a_files_own_name_comes_back_in_the_compilers_message() -> None:
    files = {"größe.cu": '#include "maße.cuh"\n__global__ void k() { }\n', "maße.cuh": "\noops;\n"}
    with pytest.raises(WorkFailed, match=r"maße\.cuh:2: ") as caught:
        compile_kernels("größe.cu", files, "sm_80")
    assert caught.value.detail.startswith("maße.cuh(2): error")


def test_a_toolkit_of_another_major_version_is_left_alone(elsewhere: Path) -> None:
    major = Nvrtc.load().version[0]
    assert header_folders(major + 1) == ()
    (elsewhere / "cuda.h").write_text("#define CUDA_VERSION 11080\n", encoding="utf-8")
    assert header_folders(major) == ()
    assert header_folders(11)[0] == elsewhere
    (elsewhere / "cuda.h").unlink()
    assert header_folders(major) == ()


def test_a_file_that_is_not_found_is_told_from_headers_that_are_not_installed(
    elsewhere: Path,
) -> None:
    files = {"k.cu": '#include "mine.cuh"\n__global__ void k() { mine(); }\n'}
    with pytest.raises(WorkFailed, match=r"k\.cu:2: .*; put mine\.cuh beside the source, or "):
        compile_kernels("k.cu", files, "sm_80")
    shutil.rmtree(elsewhere / "crt")
    headers.headers_in.cache_clear()
    files = {"k.cu": "#include <mma.h>\n__global__ void k() { }\n"}
    words = r"""mma\.h:\d+: .*"crt/mma\.h"; .*; CUDA's headers: pip install 'gpuexplorer\[nvrtc"""
    with pytest.raises(WorkFailed, match=words) as caught:
        compile_kernels("k.cu", files, "sm_80")
    assert "search list" not in str(caught.value)


def test_headers_belong_to_what_the_cache_knows(elsewhere: Path) -> None:
    """A result made with other headers is not taken for this one's."""
    files = {"k.cu": "#include <cuda_pipeline.h>\n__global__ void k(int *A) { A[0] = ANSWER; }\n"}
    header = elsewhere / "cuda_pipeline.h"
    text = header.read_text(encoding="utf-8")
    codes = []
    for answer in (41, 42):
        header.write_text(f"{text}\n#define ANSWER {answer}\n", encoding="utf-8")
        headers.headers_in.cache_clear()
        codes.append(compile_kernels("k.cu", files, "sm_80").code)
    assert codes[0] != codes[1]


# ---- what is included


@pytest.fixture
def some(tmp_path: Path) -> Headers:
    """Return two folders of headers that include each other in every way."""
    first, second = tmp_path / "first", tmp_path / "second" / "cccl"
    texts = {
        first / "a.h": '#include "details/b.h"\n# include <lib/x>\n#include <not/there.h>\n',
        first / "details" / "b.h": '#include "../a.h"\n#include "c.h"\n',
        first / "details" / "c.h": "// 1\n",
        first / "c.h": "// 2\n",
        second / "lib" / "x": "#pragma once\n",
        second / "lib" / "y.h": "#define WHICH <lib/z.h>\n#include WHICH\n",
        second / "lib" / "z.h": "// found by a macro\n",
        second / "a.h": "// behind the first folder's\n",
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Headers((first, second))


def test_a_header_comes_with_what_it_includes_under_one_name_each(some: Headers) -> None:
    found = some.included_by('#include "a.h"\n')
    assert set(found) == {"a.h", "details/b.h", "details/c.h", "lib/x"}
    assert found["a.h"] == b"#include <details/b.h>\n# include <lib/x>\n#include <not/there.h>\n"
    assert found["details/b.h"] == b"#include <a.h>\n#include <details/c.h>\n"
    assert some.included_by("// no #include <a.h>\n") == {}


def test_an_include_by_a_macro_may_be_any_of_its_library(some: Headers) -> None:
    assert set(some.included_by("#include <lib/y.h>\n")) == {"lib/x", "lib/y.h", "lib/z.h"}


@pytest.mark.parametrize("name", ["../first/a.h", "/etc/hosts", "C:/a.h", "lib\\x", "", "lib", "."])
def test_only_what_lies_below_the_folders_is_a_header(some: Headers, name: str) -> None:
    assert not some.has(name)
    assert some.has("a.h") and some.has("lib/x")


def test_nvrtc_and_its_headers_come_from_the_same_toolkit() -> None:
    """That of the folder which the environment names, or that of the packages here."""
    major, minor = Nvrtc.load().version
    folders = header_folders(major)
    text = Headers(folders).included_by("#include <cuda.h>\n")["cuda.h"].decode()
    assert f"#define CUDA_VERSION {major * 1000 + minor * 10}" in text
    assert all(Headers(folders).has(name) for name in ("crt/mma.h", "nv/target", "cuda/pipeline"))
    other = os.environ.get("GPUEXPLORER_TEST_NVRTC")
    if other is not None:
        assert all(folder.is_relative_to(other) for folder in folders)
