"""CUDA files of one's own: what their text tells, the manifest it makes, and what is refused."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads.cuda_source import CudaSource
from gpuexplorer.workloads.host_text import HostText
from gpuexplorer.workloads.kernel_answers import Answers
from gpuexplorer.workloads.kernel_file import MOST_VARIANTS, KernelFile
from gpuexplorer.workloads.kernel_manifest import kernel_manifest
from gpuexplorer.workloads.kernel_text import KernelText, read_kernel
from gpuexplorer.workloads.loader import (
    keep_manifest,
    kernel_workload,
    load,
    own_workload,
    programs_of,
    source_paths,
)
from gpuexplorer.workloads.manifest import ReferenceSpec
from gpuexplorer.workloads.own_kernel import manifest_path
from tests.support.own_kernels import FORMS, TEMPLATES, TEXTBOOK, WITH_CPU

ALPHABET = "__global void*float()[]{}<>,;= +-%/#define\n\r\t\"'aNn0123&|!?:."


def read(text: str, name: str) -> KernelText:
    source = CudaSource(text)
    return read_kernel(source, source.kernels[name], HostText(source))


@pytest.mark.parametrize(
    ("name", "sizes", "others", "uses", "shapes", "reach"),
    [
        ("transpose", ("width", "height"), (), ("in", "out"),
         (("height", "width"), ("width", "height")), {"x": "width", "y": "height"}),
        ("histogram", ("n", "nbins"), (), ("in", "out"), (("n",), ("nbins",)), {"x": "n"}),
        ("gemm", ("M", "N", "K"), ("alpha", "beta"), ("in", "in", "inout"),
         (("M", "K"), ("K", "N"), ("M", "N")), {"x": "M", "y": "N"}),
        ("stencil", ("nx", "ny", "nz"), (), ("in", "out"), (("nz", "ny", "nx"),) * 2,
         {"x": "nx", "y": "ny", "z": "nz"}),
        ("flat", ("rows", "cols"), (), ("in", "out"), (("rows * cols",),) * 2,
         {"x": "rows * cols"}),
        ("gray", ("n",), (), ("in", "out"), (("n", "3"), ("n",)), {"x": "n"}),
        ("rows_of_64", ("rows",), (), ("in", "out"), (("rows", "64"),) * 2,
         {"x": "64", "y": "rows"}),
    ],
)  # fmt: skip
def test_a_kernels_text_tells_sizes_shapes_and_what_is_written(
    name: str,
    sizes: tuple[str, ...],
    others: tuple[str, ...],
    uses: tuple[str, ...],
    shapes: tuple[tuple[str, ...], ...],
    reach: dict[str, str],
) -> None:
    found = read(FORMS, name)
    assert (found.sizes, found.others) == (sizes, others)
    assert tuple(found.uses.values()) == uses
    assert tuple(found.shapes.values()) == shapes
    assert found.reach == reach


@pytest.mark.parametrize("kind", ["half", "__half", "nv_bfloat16", "__nv_bfloat16"])
def test_numbers_of_16_bits_give_the_precision_and_their_bytes(kind: str) -> None:
    text = (
        f"__global__ void twice(const {kind} *x, {kind} *y, int n)\n"
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] + x[i]; }\n"
        f"void f() {{ {kind} *x; cudaMalloc(&x, 640 * sizeof({kind})); }}\n"
    )
    file = KernelFile(text, Path("mine.cu"), Answers(unchecked=True))
    assert file.precision == ("fp16" if "half" in kind else "bf16")
    assert file.shapes["x"] == file.shapes["y"]


@pytest.mark.parametrize(
    ("text", "number"),
    [("0x7F", 127),
     ("0x10000u", 65536), ("1'000'000", 1_000_000), ("0.5e3f", 500), ("1 << 20", 1048576),
     ("2 * sizeof(float)", 8), ("sizeof(other)", None), ("N", None)],
)  # fmt: skip
def test_numbers_of_host_code_are_read_as_c_reads_them(text: str, number: int | None) -> None:
    host = HostText(CudaSource("#define N (N + N + N)\n"))
    assert host.number(text) == number


@pytest.mark.parametrize(
    ("body", "a", "b"),
    [
        ("if (i < n) b[i] = a[i] + a[i + n];", "n + n", "n"),
        ("if (i < n) b[i + n - 1] = a[n - 1 - i];", "n", "n + n - 1"),
        ("int j = n - i - 1; if (i < n) b[j] = a[i + 2 * n];", "n + 2 * n", "n"),
        ("if (i < n - 1) b[i] = a[i + 1] - a[i - 1];", "n", "n"),
        ("if (i < n) for (int k = 0; k < m; k++) b[i] += a[i + k];", "n + m - 1", "n"),
        ("if (i < n) for (int k = 0; k < m; k++) if (i + k < n) b[i] += a[i + k];", "n", "n"),
        ("b[blockIdx.x * blockDim.x + threadIdx.x + n] = a[i]; if (i < n) b[i] = 0;", "n", "n + n"),
    ],
)
def test_what_is_added_to_an_index_moves_its_end(body: str, a: str, b: str) -> None:
    head = "__global__ void k(const float* a, float* b, int n, int m) {"
    found = read(f"{head} int i = blockIdx.x * blockDim.x + threadIdx.x; {body} }}", "k")
    assert found.shapes == {"a": (a,), "b": (b,)}


@pytest.mark.parametrize(
    ("head", "shape"),
    [
        ("float a[][W]", ("n", "8")),
        ("float a[H][W]", ("n", "8")),
        ("float (*a)[W]", ("n", "8")),
        ("float (* __restrict__ a)[2][W]", ("n", "2", "8")),
        ("float a[][UNKNOWN]", None),
    ],
)
def test_a_pointer_to_rows_is_an_array_of_them(head: str, shape: tuple[str, ...] | None) -> None:
    text = f"#define W 8\n#define H (W * 2)\n__global__ void k({head}, int n) {{\n"
    text += "    int i = threadIdx.x; if (i < n) a[i][0] = 1;\n}\n"
    found = read(text, "k")
    assert found.shapes == {"a": shape}
    assert found.uses == {"a": "out"}


def test_an_array_has_as_many_rows_as_are_reached() -> None:
    body = "if (x < w && y < h) b[y * w + x] = a[y * w + x] + a[(y + h) * w + x];"
    found = read(
        "__global__ void k(const float* a, float* b, int w, int h) { int x = threadIdx.x + "
        f"blockIdx.x * blockDim.x; int y = threadIdx.y + blockIdx.y * blockDim.y; {body} }}", "k"
    )  # fmt: skip
    assert found.shapes == {"a": ("h + h", "w"), "b": ("h", "w")}


FILTER = """\
#define R 2
__constant__ float mask[2 * R + 1][2 * R + 1];
__constant__ float gain;
__constant__ int unused;
__device__ float at(int y, int x) { return gain * mask[y][x]; }
__global__ void filter(const float *in, float *out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) out[y * w + x] = in[y * w + x] * at(y % 5, x % 5);
}
int main() {
    float g = 0.25f, weights[25];
    cudaMemcpyToSymbol(mask, weights, sizeof(weights));
    cudaMemcpyToSymbol(gain, &g, sizeof(float));
    filter<<<dim3(4, 4), dim3(16, 16)>>>(in, out, 64, 48);
}
"""


def test_what_the_host_copies_to_symbols_is_an_array_or_a_number_of_the_manifest(
    tmp_path: Path,
) -> None:
    path = tmp_path / "filter.cu"
    manifest = tomllib.loads(kernel_manifest(FILTER, path, "filter", Answers(unchecked=True)))
    assert manifest["arrays"]["mask"] == {"shape": [5, 5], "role": "in"}
    assert manifest["scalars"] == {"gain": {"type": "real", "value": 0.25}}
    assert {n: s["default"] for n, s in manifest["sizes"].items()} == {"w": 64, "h": 48}
    (launch,) = manifest["variants"]["filter"]["launch"]
    assert launch["args"] == ["in", "out", "w", "h"] and launch["symbols"] == ["mask", "gain"]
    kernel = "mask[1][1] = 2; __syncthreads(); if (x < w"
    written = FILTER.replace("if (x < w", kernel).replace(
        "__constant__ float m", "__device__ float m"
    )
    with pytest.raises(InputError, match=r"filter\.cu:2: the kernel writes to 'mask'"):
        kernel_manifest(written, path, "filter", Answers(unchecked=True))


COUNTED = """
__device__ unsigned int found = 0u;
__device__ float middle;
__device__ float largest[2][3];
__device__ float kept[4] = {0};
__device__ int retired = 0;
__global__ void count(const float *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && data[i] > 0.5f) atomicAdd(&found, 1u);
    if (i == 0) middle = data[n / 2];
    if (i < 6) largest[i / 3][i % 3] = data[i];
    if (i < 4) kept[i] += data[i];
    if (i == 0) retired++;
}
int main()
{
    unsigned h; float m, big[6], k[4] = {1, 2, 3, 4};
    cudaMemcpyToSymbol(kept, k, sizeof(k));
    count<<<4, 256>>>(d, 1000);
    cudaMemcpyFromSymbol(&h, found, sizeof(h));
    cudaMemcpyFromSymbolAsync(&m, &middle, sizeof(float), 0, cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(big, largest, sizeof(big));
    cudaMemcpyFromSymbol(k, kept, sizeof(k));
}
"""


def test_what_the_host_copies_from_symbols_is_an_output(tmp_path: Path) -> None:
    path = tmp_path / "count.cu"
    manifest = tomllib.loads(kernel_manifest(COUNTED, path, "count", Answers(unchecked=True)))
    arrays = {n: (a["shape"], a["role"], a.get("type")) for n, a in manifest["arrays"].items()}
    assert arrays == {
        "data": (["n"], "in", None),
        "retired": ([1], "scratch", "int"),
        "found": ([1], "out", "int"),
        "middle": ([1], "out", None),
        "largest": ([2, 3], "out", None),
        "kept": ([4], "inout", None),
    }
    variant = manifest["variants"]["count"]
    assert variant["reset"] == ["found", "kept", "retired"]
    assert variant["launch"][0]["symbols"] == ["found", "middle", "largest", "kept", "retired"]


def test_shared_memory_of_a_launch_follows_the_block_or_has_to_be_known(tmp_path: Path) -> None:
    body = "extern __shared__ float s[]; int i = blockIdx.x * blockDim.x + threadIdx.x"
    kernel = (
        f"__global__ void k(const float *a, float *b, int n) {{ {body}; if (i < n) b[i] = a[i]; }}"
    )
    for asked_for, shared in (("128 * sizeof(float)", "4 * block_x"), ("1000", "1000")):
        launch = f"int main() {{ k<<<8, 128, {asked_for}>>>(a, b, 1024); }}"
        found = made(f"{kernel}\n{launch}\n", tmp_path, Answers(unchecked=True))
        (step,) = found["variants"]["k"]["launch"]  # type: ignore[index]
        assert step["shared_bytes"] == shared
    with pytest.raises(InputError, match=r"mine.cu:1: how many bytes of extern __shared__ memory"):
        made(kernel, tmp_path, Answers(unchecked=True))


def made(text: str, tmp_path: Path, answers: Answers, name: str = "mine.cu") -> dict[str, object]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    manifest = kernel_manifest(text, path, "mine", answers)
    kernel_workload(path, manifest)
    return tomllib.loads(manifest)


def test_host_code_tells_size_and_block_and_a_shared_array_fixes_it(tmp_path: Path) -> None:
    found = made(TEXTBOOK, tmp_path, Answers(reference={"": "A @ B"}))
    assert found["sizes"] == {"N": {"min": 1, "max": 2**31 - 1, "default": 192}}
    assert found["work"] == {
        "flops": "2 * N * N * N",
        "read_bytes": "N * N * itemsize + N * N * itemsize",
        "write_bytes": "N * N * itemsize",
    }
    assert found["reference"] == {"outputs": {"C": "A @ B"}, "check": "freivalds"}
    variants = found["variants"]
    assert isinstance(variants, dict)
    naive, tiled = variants["matrixMul"], variants["tiled"]
    assert naive["launch"][0]["block"] == [32, 8] and "constraints" not in naive
    assert tiled["launch"][0]["block"] == [16, 16]
    assert [c["rule"] for c in tiled["constraints"]] == ["block_x == 16", "block_y == 16"]
    assert tiled["launch"][0]["grid"] == ["ceil_div(N, block_x)", "ceil_div(N, block_y)"]


def test_answers_win_over_the_text_and_what_accumulates_is_set_back(tmp_path: Path) -> None:
    answers = Answers(
        reference={"C": "alpha * (A @ B) + beta * C"}, kernel="gemm", sizes={"M": 96},
        block=(8, 8), scalars={"beta": 0.5},
    )  # fmt: skip
    found = made(FORMS, tmp_path, answers)
    sizes, scalars, variants = found["sizes"], found["scalars"], found["variants"]
    assert isinstance(sizes, dict) and isinstance(scalars, dict) and isinstance(variants, dict)
    assert [s["default"] for s in sizes.values()] == [96, 512, 512]
    assert scalars == {
        "alpha": {"type": "real", "value": 2.0},
        "beta": {"type": "real", "value": 0.5},
    }
    assert variants["gemm"]["reset"] == ["C"]
    assert variants["gemm"]["launch"][0]["block"] == [8, 8]


def test_a_kernel_without_a_size_has_the_shape_that_is_answered(tmp_path: Path) -> None:
    text = "__global__ void f(std::size_t stride, int *a) { a[threadIdx.x * stride]++; }"
    answers = Answers(unchecked=True, shapes={"a": ("256",)}, sizes={"stride": 1})
    found = made(text, tmp_path, answers)
    assert found["arrays"] == {
        "a": {"shape": [256], "role": "inout", "type": "int", "fill": "integers"}
    }
    alone = text.replace("std::size_t stride, ", "").replace(" * stride", "")
    found = made(alone, tmp_path, Answers(unchecked=True, shapes={"a": ("256",)}))
    assert found["sizes"] == {"one": {"min": 1, "max": 1, "default": 1}}


@pytest.mark.parametrize(
    ("text", "answers", "words"),
    [
        ("int main() { return 0; }", Answers(unchecked=True), "no __global__ function here"),
        ("", Answers(unchecked=True), "no __global__ function here"),
        ("template <int... N> __global__ void f(float* a) { a[0] = 1; }", Answers(unchecked=True),
         "mine.cu:1: the template parameter 'int... N' of 'f' is not understood"),
        (TEMPLATES, Answers(unchecked=True, kernel="blockSum<float, 64, 3>"),
         "mine.cu:5: 'blockSum' is a template of T, BLOCK"),
        (TEXTBOOK, Answers(unchecked=True, kernel="matmul"), "no kernel 'matmul'"),
        (WITH_CPU, Answers(reference={"": "allocate"}),
         "mine.cu: 'allocate' cannot stand in for the kernel 'matrixMul'"),
        (WITH_CPU, Answers(reference={"": "sum"}), "'sum' cannot stand in for the kernel"),
        (TEXTBOOK, Answers(reference={"D": "A @ B"}), "has no output 'D'"),
        (TEXTBOOK, Answers(reference={"": "A @ D"}), "uses 'D'"),
        (TEXTBOOK, Answers(unchecked=True, scalars={"alpha": 1.0}), "has no number 'alpha'"),
        (TEXTBOOK, Answers(unchecked=True, sizes={"N": 0}), "the size N = 0 is out of range"),
        ("__global__ void f(float* a) { a[threadIdx.x]++; }", Answers(unchecked=True),
         "mine.cu:1: how large 'a' is cannot be told"),
        ("__global__ void f(wchar_t* a, int n) { if (threadIdx.x < n) a[threadIdx.x] = 1; }",
         Answers(unchecked=True), "mine.cu:1: arrays of 'wchar_t' cannot be filled here"),
        ("struct S { int a; };\n__global__ void f(float* a, int n, S s)\n"
         "{ int i = threadIdx.x; if (i < n) a[i] = s.a; }", Answers(unchecked=True),
         "mine.cu:2: a 'S' by value cannot be handed over"),
        ("__global__ void f(float* a, int n) { int i = threadIdx.x; if (i < n) set(a, i); }",
         Answers(unchecked=True), "whether 'a' is read or written cannot be told"),
    ],
)  # fmt: skip
def test_what_cannot_be_known_is_asked_in_one_sentence(
    text: str, answers: Answers, words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        made(text, tmp_path, answers)
    assert words in str(caught.value)
    assert caught.value.remedy or "D" in words


def test_a_template_has_the_instances_that_are_launched(tmp_path: Path) -> None:
    found = made(TEMPLATES, tmp_path, Answers(reference={"": "sum(in)"}))
    assert found["default_variant"] == "blockSum_float_128"
    variants = found["variants"]
    assert isinstance(variants, dict)
    assert list(variants) == ["blockSum_float_128", "blockSum_float_64"]
    second = variants["blockSum_float_64"]
    assert second["title"] == second["launch"][0]["entry"] == "blockSum<float, 64>"
    assert [c["rule"] for c in second["constraints"]] == ["block_x == 64"]
    assert second["reset"] == ["out"]
    assert found["arrays"] == {
        "in": {"shape": ["n"], "role": "in"},
        "out": {"shape": [1], "role": "out"},
    }


@pytest.mark.parametrize(
    ("named", "entry"),
    [
        ("blockSum", "blockSum<float, 128>"),
        ("blockSum<double>", "blockSum<double, 256>"),
        ("blockSum_float_64", "blockSum<float, 64>"),
        ("blockSum<float, 32>", "blockSum<float, 32>"),
    ],
)
def test_an_instance_is_named_as_in_the_source_or_as_its_variant(named: str, entry: str) -> None:
    assert KernelFile(TEMPLATES, Path("mine.cu"), Answers(kernel=named)).name == entry


@pytest.mark.parametrize(
    ("launch", "entry"),
    [
        ("k<<<1, 1>>>(x, n);", "k<double, 16>"),  # deduced from the pointer's declaration
        ("k<T, S><<<1, 1>>>(y, n);", "k<float, 16>"),  # in a function that is a template itself
        ("k<half, SIDE><<<1, 1>>>(y, n);", "k<half, 8>"),
    ],
)
def test_what_a_launch_leaves_open_is_deduced_or_guessed(launch: str, entry: str) -> None:
    text = (
        "#define SIDE 8\ntemplate <class T, int S>\n__global__ void k(T* a, int n)\n"
        "{ int i = threadIdx.x; if (i < n) a[i] = S; }\n"
        f"void f(double *x, void *y, int n) {{ {launch} }}\n"
    )
    assert KernelFile(text, Path("mine.cu"), Answers(unchecked=True)).name == entry


@pytest.mark.parametrize("said", [{"": "matrixMulCPU"}, {"C": " matrixMulCPU"}])
def test_a_function_of_the_host_may_be_the_reference(said: dict[str, str], tmp_path: Path) -> None:
    file = KernelFile(WITH_CPU, tmp_path / "mine.cu", Answers(reference=said))
    assert file.host_functions == {"matrixMulCPU": ["A", "B", "C", "n"]}
    found = made(WITH_CPU, tmp_path, Answers(reference=said))
    assert found["reference"] == {"variant": "matrixMulCPU"}
    variants = found["variants"]
    assert isinstance(variants, dict)
    assert list(variants) == ["matrixMul", "forgetful", "matrixMulCPU"]
    (launch,) = variants["matrixMulCPU"]["launch"]
    assert (launch["block"], launch["grid"]) == (["1"], ["1"])
    assert launch["args"] == ["A", "B", "C", "n"]


def test_another_kernel_may_be_the_reference_and_is_not_verified_itself(tmp_path: Path) -> None:
    path = tmp_path / "mine.cu"
    path.write_text(WITH_CPU, encoding="utf-8")
    answers = Answers(reference={"": "matrixMul"}, kernel="forgetful")
    workload = kernel_workload(path, kernel_manifest(WITH_CPU, path, "mine", answers))
    assert workload.manifest.first_variant == "forgetful"
    assert workload.reference_of("forgetful") == ReferenceSpec(variant="matrixMul")
    assert workload.reference_of("matrixMul") == ReferenceSpec(unchecked=True)


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("check.py:product", None),
        ("other.py:product", "'other.py' is not there"),
        ("/elsewhere/check.py:product", "does not lie beside"),
        ("check.py:prod", "check.py has no function prod(); did you mean 'product'"),
        ("check.py:needs", "check.py:2: needs() takes 'D', and nothing says what it is"),
        ("torn.py:f", "torn.py:1: "),
    ],
)
def test_a_python_function_is_looked_over_and_not_run(
    reference: str, said: str | None, tmp_path: Path
) -> None:
    text = "def product(A, B, **rest): ...\ndef needs(A, D, E=2): ...\nraise SystemExit\n"
    (tmp_path / "check.py").write_text(text, encoding="utf-8")
    (tmp_path / "torn.py").write_text("def f(:", encoding="utf-8")
    answers = Answers(reference={"C": reference})
    if said is None:
        assert made(TEXTBOOK, tmp_path, answers)["reference"] == {"python": "check.py:product"}
        keep_manifest(tmp_path / "mine.cu", answers)
        (found,) = programs_of(tmp_path / "mine.cu")
        assert (found.path, found.text) == (tmp_path / "check.py", text)
    else:
        with pytest.raises(InputError) as refused:
            made(TEXTBOOK, tmp_path, answers)
        assert said in str(refused.value)


@given(st.text(alphabet=ALPHABET, max_size=400))
@settings(max_examples=300, deadline=None)
def test_no_text_is_too_odd_to_be_read(text: str) -> None:
    head = "__global__ void f(float* a, int n) { int i = threadIdx.x; if (i < n) a[i] = 1; }\n"
    for whole in (text, head + text, head.replace("a[i] = 1", text)):
        try:
            manifest = kernel_manifest(whole, Path("mine.cu"), "mine", Answers(unchecked=True))
        except InputError:
            continue
        tomllib.loads(manifest)


def test_of_thousands_of_kernels_the_chosen_one_is_offered_among_the_first(tmp_path: Path) -> None:
    many = "".join(
        f"__global__ void k{i}(float* a, int n) {{ int i = threadIdx.x; if (i < n) a[i] = {i}; }}\n"
        for i in range(3000)
    )
    found = made(many, tmp_path, Answers(unchecked=True, kernel="k2999"))
    variants = found["variants"]
    assert isinstance(variants, dict) and len(variants) == MOST_VARIANTS
    assert found["default_variant"] == "k2999" and {"k0", "k98", "k2999"} <= variants.keys()


def test_answers_on_a_file_in_a_folder_that_cannot_be_written_are_kept_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, settings = tmp_path / "shared" / "mine.cu", tmp_path / "settings"
    path.parent.mkdir()
    path.write_text(WITH_CPU, encoding="utf-8")
    monkeypatch.setenv("GPUEXPLORER_CONFIG_DIR", str(settings))
    monkeypatch.setattr("os.access", lambda place, _: Path(place) != path.parent)
    assert keep_manifest(path, Answers(unchecked=True))
    assert [p.name for p in path.parent.iterdir()] == ["mine.cu"]
    (kept,) = settings.rglob("mine.toml")
    assert kept == manifest_path(path) and kernel_workload(path).name == "mine"
    assert source_paths(kernel_workload(path)) == [kept, path]
    path.with_suffix(".toml").write_text(kept.read_text(encoding="utf-8"), encoding="utf-8")
    assert manifest_path(path) == path.with_suffix(".toml"), "one beside the file comes first"


def test_a_file_with_its_manifest_is_a_root_of_workloads(tmp_path: Path) -> None:
    path = tmp_path / "my kernel.cu"
    path.write_text('#include "sizes.h"\n' + TEXTBOOK, encoding="utf-8")
    (tmp_path / "sizes.h").write_text('#include "missing.h"\n#define WIDE 1\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"--reference none"):
        own_workload(path)
    text = kernel_manifest(TEXTBOOK, path, "my-kernel", Answers(unchecked=True))
    path.with_suffix(".toml").write_text(text, encoding="utf-8")
    workload = load([path])["my-kernel"]
    assert set(workload.source.files) == {"my kernel.cu", "sizes.h"}
    assert workload.reference_of("matrixMul").unchecked
