"""The fast intrinsics on the CPU are within the bounds that CUDA's programming guide states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpuexplorer.compile.cache import ENVIRONMENT_VARIABLE
from gpuexplorer.compile.nvrtc import compile_kernels
from tests.backends.opencl_support import backend, device, made_workload, plan_for

COUNT = 1 << 18
Array = npt.NDArray[Any]


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield


def between(low: float, high: float) -> Array:
    return np.random.default_rng(1).uniform(low, high, COUNT).astype(np.float32)


def magnitudes(low: int, high: int, seed: int = 1) -> Array:
    exponents = np.random.default_rng(seed).uniform(low, high, COUNT)
    return np.exp2(exponents).astype(np.float32)


def computed(text: str, x: Array, y: Array) -> Array:
    source = (
        "__global__ void made(const float *A, float *B, const float *Y, int N) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"    if (i < N) {{ float x = A[i], y = Y[i]; B[i] = {text}; }}\n}}\n"
    )
    arrays = "\n".join(
        f'{name} = {{ shape = ["N"], role = "{role}" }}'
        for name, role in (("A", "in"), ("Y", "in"), ("B", "out"))
    )
    workload = made_workload(source, arrays=arrays, args='["A", "B", "Y", "N"]', reference="A + Y")
    runner = backend().runner(plan_for(workload, size={"N": COUNT}, precision="fp32"), device())
    runner.build()
    runner.allocate()
    try:
        runner.upload({"A": x, "Y": y})
        runner.poison()
        runner.launch(1)
        runner.check_guards()
        return runner.download(("B",))["B"]
    finally:
        runner.free()


def ulps(found: Array, exact: Array) -> Array:
    """Return errors in units of the last place of the exact result, where that is a normal one."""
    usual = (np.abs(exact) > 2.0**-126) & (np.abs(exact) < 3.4e38)
    spacing = np.spacing(np.abs(exact[usual]).astype(np.float32)).astype(np.float64)
    return np.asarray(np.abs(found[usual].astype(np.float64) - exact[usual]) / spacing)


# Name, inputs, exact result, and the bound in units of the last place.
CASES: dict[str, tuple[str, Array, Array | None, Callable[..., Array], Callable[[Array], Any]]] = {
    "__expf": ("__expf(x)", between(-87, 88), None, np.exp, lambda x: 2 + abs(1.173 * x) // 1),
    "__exp10f": (
        "__exp10f(x)", between(-37, 38), None, lambda x: 10.0**x, lambda x: 2 + abs(2.97 * x) // 1
    ),
    "__logf": ("__logf(x)", magnitudes(2, 127), None, np.log, lambda x: 3),
    "__logf small": ("__logf(x)", magnitudes(-126, -2), None, np.log, lambda x: 3),
    "__log2f": ("__log2f(x)", magnitudes(2, 127), None, np.log2, lambda x: 2),
    "__log10f": ("__log10f(x)", magnitudes(2, 127), None, np.log10, lambda x: 3),
    "__powf": (
        "__powf(x, y)", magnitudes(-10, 10), between(-10, 10), np.power, lambda x: 2 + 2 * abs(x)
    ),
    "__fdividef": (
        "__fdividef(x, y)", magnitudes(-20, 20), magnitudes(-100, 100, 2), np.divide, lambda x: 2
    ),
    "__frcp_rn": ("__frcp_rn(x)", magnitudes(-125, 125), None, lambda x: 1 / x, lambda x: 0.5),
    "__fsqrt_rn": ("__fsqrt_rn(x)", magnitudes(-126, 127), None, np.sqrt, lambda x: 0.5),
    "rsqrtf": ("rsqrtf(x)", magnitudes(-126, 127), None, lambda x: 1 / np.sqrt(x), lambda x: 2),
    "__fdiv_rn": (
        "__fdiv_rn(x, y)", magnitudes(-20, 20), magnitudes(-100, 100, 2), np.divide, lambda x: 0.5
    ),
    "__fmul_rn and __fadd_rn": (
        "__fadd_rn(__fmul_rn(x, y), 1.0f)", between(1, 2), between(1, 2),
        lambda x, y: (x * y).astype(np.float32).astype(np.float64) + 1, lambda x: 0.5,
    ),
    "tanf": ("__tanf(x)", between(-1.5, 1.5), None, np.tan, lambda x: 2 ** (24 - 19)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_errors_are_within_cudas_bounds(name: str) -> None:
    text, x, y, exact_of, bound_of = CASES[name]
    wide = [a.astype(np.float64) for a in (x, y) if a is not None]
    exact = exact_of(*wide)
    found = computed(text, x, x if y is None else y)
    usual = (np.abs(exact) > 2.0**-126) & (np.abs(exact) < 3.4e38)
    bounds = np.broadcast_to(bound_of(wide[0]), exact.shape)[usual]
    errors = ulps(found, exact)
    assert len(errors) > COUNT // 2
    assert (errors <= bounds + 1e-6).all(), errors.max()


@pytest.mark.parametrize(
    ("text", "low", "high", "exact_of", "bits"),
    [
        ("__sinf(x)", -np.pi, np.pi, np.sin, 21.41),
        ("__cosf(x)", -np.pi, np.pi, np.cos, 21.19),
        ("__logf(x)", 0.5, 2.0, np.log, 21.41),
        ("__log2f(x)", 0.5, 2.0, np.log2, 22.0),
        ("__log10f(x)", 0.5, 2.0, np.log10, 24.0),
    ],
)
def test_absolute_errors_are_within_cudas_bounds(
    text: str, low: float, high: float, exact_of: Callable[[Array], Array], bits: float
) -> None:
    x = between(low, high)
    found = computed(text, x, x)
    assert np.abs(found.astype(np.float64) - exact_of(x.astype(np.float64))).max() <= 2.0**-bits


def test_the_rest_of_them() -> None:
    x = between(-2, 2)
    assert np.array_equal(computed("__saturatef(x)", x, x), np.clip(x, 0, 1))
    both = computed("({ float s, c; __sincosf(x, &s, &c); s * s + c * c; })", x, x)
    assert np.abs(both - 1).max() < 1e-6
    fused = computed("__fmaf_rn(x, x, -1.0f)", x, x)
    wide = x.astype(np.float64)
    assert np.array_equal(fused, (wide * wide - 1).astype(np.float32))


TYPED: dict[str, tuple[int, Callable[[Array], Array]]] = {
    "fmax(x, 0)": (4, lambda x: np.maximum(x, 0)),
    "fmin(1u, x)": (4, lambda x: np.minimum(x, 1)),
    "fmax(x, 1LL)": (4, lambda x: np.maximum(x, 1)),
    "fmod(x, 2)": (4, lambda x: np.fmod(x, 2)),
    "atan2(x, 1)": (4, lambda x: np.arctan2(x, 1)),
    "hypot(3, x)": (4, lambda x: np.hypot(x, 3)),
    "fdim(x, 1)": (4, lambda x: np.maximum(x - 1, 0)),
    "remainder(x, 3)": (4, lambda x: x - 3 * np.rint(x / 3)),
    "pow(2, x)": (4, lambda x: np.exp2(x)),
    "pow(x, 2)": (4, lambda x: x * x),
    "fmax((double)x, 0)": (8, lambda x: np.maximum(x, 0)),
    "hypot(3, (double)x)": (8, lambda x: np.hypot(x, 3)),
    "std::sqrt(x * x)": (4, np.abs),
    "::std::abs(x)": (4, np.abs),
    "std::fabsf(x)": (4, np.abs),
    "std::max(x, 0.5f)": (4, lambda x: np.maximum(x, 0.5)),
    "std::min(2, 3) + 0 * x": (4, lambda x: np.full_like(x, 2)),
    "std::max<float>(x, 1)": (4, lambda x: np.maximum(x, 1)),
    "std :: pow(x, 2)": (4, lambda x: x * x),
}
"""Calls that CUDA takes, the bytes of what they give, and the same in NumPy."""


@pytest.mark.skipif("Portable" in device().driver, reason="plain C has no overloads")
def test_functions_of_two_types_and_of_std_give_what_they_give_on_a_gpu() -> None:
    x = between(-4, 4)
    for text, (size_B, exact_of) in TYPED.items():
        seen = f'static_assert(sizeof({text}) == {size_B}, "")'
        found = computed(f"({{ {seen}; {text}; }})", x, x)
        assert np.allclose(found, exact_of(x.astype(np.float64)), rtol=1e-5, atol=1e-5), text
    kernel = "#include <cuda/std/cmath>\nusing namespace std;\n__global__ void k(float x) {\n"
    every = "".join(f'static_assert(sizeof({t}) == {n}, "");\n' for t, (n, _) in TYPED.items())
    compile_kernels("k.cu", {"k.cu": f"{kernel}{every}}}\n"}, "sm_90")
