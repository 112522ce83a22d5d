"""Whole programs as people write them, host code and all, run from what their text tells."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpuexplorer.compile.nvrtc import compile_kernels
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.workloads.kernel_answers import Answers
from gpuexplorer.workloads.kernel_manifest import kernel_manifest
from gpuexplorer.workloads.workload import Workload, WorkloadSource
from tests.backends.opencl_support import device, ready_runner

Array = npt.NDArray[Any]
FOLDER = Path(__file__).parent / "programs"
INTEL = pytest.mark.skipif("Portable" in device().driver, reason="plain C is not C++")


def program(name: str, **answers: Any) -> Workload:
    """Return a program as a workload: the text and nothing else says how it runs."""
    path = FOLDER / f"{name}.cu"
    text = path.read_text(encoding="utf-8")
    manifest = kernel_manifest(text, path, name, Answers(unchecked=True, **answers))
    return Workload(WorkloadSource(manifest=manifest, files={path.name: text}, origin=str(path)))


def _filtered(d: Mapping[str, Any]) -> Array:
    image, r = d["N"], d["r"]
    height, width = image.shape
    padded = np.pad(image, r)
    parts = [
        d["F"][i, j] * padded[i : i + height, j : j + width]
        for i in range(2 * r + 1)
        for j in range(2 * r + 1)
    ]
    return np.asarray(np.sum(parts, axis=0) + 0.5)


def _heated(d: Mapping[str, Any]) -> Array:
    u = d["u"]
    around = u[1:-1, 2:] + u[1:-1, :-2] + u[2:, 1:-1] + u[:-2, 1:-1] - 4 * u[1:-1, 1:-1]
    result = np.array(u)
    result[1:-1, 1:-1] += 0.1 * 2.5 * around
    return result


def _pulled(d: Mapping[str, Any]) -> Array:
    position, result = d["p"][:, :3], np.array(d["v"])
    apart = position[None] - position[:, None]
    inverse = (np.square(apart).sum(2) + 1e-9) ** -1.5
    result[:, :3] += 0.01 * (apart * inverse[..., None]).sum(1)
    return result


def _spmv(d: Mapping[str, Any]) -> Array:
    return np.asarray((d["data"] * d["x"][d["indices"]]).reshape(-1, 8).sum(1))


def _softmax(d: Mapping[str, Any]) -> Array:
    powers = np.exp(d["in"])
    return np.asarray(powers / powers.sum(1, keepdims=True))


def _normalised(d: Mapping[str, Any]) -> Array:
    rows = d["inp"] - d["inp"].mean(1, keepdims=True)
    spread = np.square(rows).mean(1, keepdims=True)
    return np.asarray(rows / np.sqrt(spread + 1e-5) * d["weight"] + d["bias"])


def _julia(d: Mapping[str, Any]) -> Array:
    y, x = np.mgrid[:200, :200]
    a = 1.5 * (100 - x) / 100 + 1.5j * (100 - y) / 100
    kept = np.ones(a.shape, bool)
    for _ in range(200):
        a = np.where(kept, a * a + (-0.8 + 0.156j), 0)
        kept &= abs(a) ** 2 <= 1000
    result = np.zeros((200, 200, 4))
    result[..., 0], result[..., 3] = 255 * kept, 255
    return result


@INTEL
@pytest.mark.parametrize(
    ("name", "size", "output", "expected"),
    [
        ("histogram", {"length": 5000}, "bins", lambda d: np.bincount(d["data"], minlength=256)),
        ("scan", {"n": 1000}, "output", lambda d: d["input"].cumsum() - d["input"]),
        ("heat", {"nx": 70, "ny": 45}, "u_new", _heated),
        ("spmv", {"num_rows": 300}, "y", _spmv),
        ("nbody", {"n": 256}, "v", _pulled),
        ("julia", {}, "ptr", _julia),
        ("transpose", {}, "odata", lambda d: d["idata"].T),
        ("coop", {"n": 5000}, "result", lambda d: np.array([d["a"] @ d["b"]])),
        ("conv", {"width": 50, "height": 40}, "P", _filtered),
        ("rowsum", {"rows": 90, "cols": 300}, "out", lambda d: d["A"].sum(1)),
        ("rowsum", {"rows": 300, "cols": 7}, "out", lambda d: d["A"].sum(1)),
        ("tall", {"n": 700}, "y", lambda d: d["x"]),
        ("softmax", {"C": 210}, "out", _softmax),
        ("layernorm", {"N": 30, "C": 70}, "out", _normalised),
        ("spmv_block", {"num_rows": 300}, "y", _spmv),
        ("spmv_warp", {"num_rows": 300}, "y", _spmv),
    ],
)  # fmt: skip
def test_a_program_computes_what_numpy_does(
    name: str, size: dict[str, int], output: str, expected: Callable[[Mapping[str, Any]], Array]
) -> None:
    found, right = both(program(name), size, output, expected)
    # Whether a point of a Julia set escapes may hang on the last bit.
    assert _wrong(found, right) <= (0.01 if name == "julia" else 0), name


@INTEL
@pytest.mark.parametrize(
    ("name", "block", "size", "output", "expected"),
    [
        ("spmv_warp", (64,), {"num_rows": 300}, "y", _spmv),
        ("layernorm", (32, 2), {"N": 30, "C": 70}, "out", _normalised),
    ],
)
def test_a_block_of_another_size_still_reaches_every_row(
    name: str,
    block: tuple[int, ...],
    size: dict[str, int],
    output: str,
    expected: Callable[[Mapping[str, Any]], Array],
) -> None:
    assert _wrong(*both(program(name), size, output, expected, block=block)) == 0


def both(
    workload: Workload,
    size: dict[str, int],
    output: str,
    expected: Callable[[Mapping[str, Any]], Array],
    **request: Any,
) -> tuple[Array, Array]:
    """Return what a program computes, and what NumPy does."""
    runner, inputs = ready_runner(workload, size=size, precision=_precision(workload), **request)
    runner.launch(1)
    runner.check_guards()
    found = runner.download((output,))[output].astype(np.float64)
    given = {n: a.astype(np.float64) if a.dtype.kind == "f" else a for n, a in inputs.items()}
    right = expected({**runner.plan.config.size, **given})
    runner.free()
    assert found.size == right.size
    return found.ravel(), right.ravel()


def _wrong(found: Array, right: Array) -> float:
    """Return how much of a result is another one, or was never written."""
    return float(1 - (np.abs(found - right) <= 1e-4 * (np.abs(right).max() + 1)).mean())


def _precision(workload: Workload) -> str:
    return next(iter(workload.manifest.precisions))


@INTEL
def test_a_step_of_a_sort_and_a_template_run_as_the_host_launches_them() -> None:
    runner, inputs = ready_runner(program("bitonic"), precision="fp32")
    runner.launch(1)
    runner.check_guards()
    values = runner.download(("dev_values",))["dev_values"]
    assert np.array_equal(np.sort(values), np.sort(inputs["dev_values"]))
    runner.free()
    found = tomllib.loads(program("reduce").source.manifest)
    assert list(found["variants"]) == [f"reduceShuffle_float_{n}" for n in (512, 256, 128, 64)]
    rules = [v["constraints"][0]["rule"] for v in found["variants"].values()]
    assert rules == [f"block_x == {n}" for n in (512, 256, 128, 64)]
    runner, inputs = ready_runner(program("reduce"), size={"n": 5000}, precision="fp32")
    runner.launch(1)
    sums = runner.download(("g_odata",))["g_odata"][: runner.plan.steps[0].grid[0]]
    assert sums.sum() == pytest.approx(inputs["g_idata"].sum(), abs=1e-3)
    runner.free()


@INTEL
def test_what_relies_on_a_warp_in_step_is_refused_with_its_line() -> None:
    workload = program("reduce", kernel="reduce6<512>")
    launch = tomllib.loads(workload.source.manifest)["variants"]["reduce6_512"]["launch"][0]
    assert (launch["block"], launch["shared_bytes"]) == ([512], "block_x * 4")
    with pytest.raises(WorkFailed, match=r"reduce\.cu:\d+: .*__syncwarp"):
        ready_runner(workload, size={"n": 5000}, precision="fp32")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.cu")), ids=lambda path: path.stem)
def test_a_gpus_compiler_takes_them(path: Path) -> None:
    found = tomllib.loads(program(path.stem).source.manifest)
    entries = [v["launch"][0]["entry"] for v in found["variants"].values()]
    files = {path.name: path.read_text(encoding="utf-8")}
    symbols = [s for v in found["variants"].values() for s in v["launch"][0].get("symbols", [])]
    made = compile_kernels(path.name, files, "sm_90", entries=entries, variables=symbols)
    assert set(made.kernels) == set(entries) and set(made.variables) == set(symbols)
