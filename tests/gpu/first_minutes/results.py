"""Kernels, library calls and a model, each held against NumPy in float64."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuexplorer.backends import registry
from gpuexplorer.backends.base import Runner
from gpuexplorer.backends.cuda import driver as cu
from gpuexplorer.core.config import Block, RunRequest
from gpuexplorer.core.device import Unavailable
from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.fills import make_inputs
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.references import Reference
from tests.gpu.first_minutes.check import Failed, LeftOut, Note, require, within
from tests.gpu.first_minutes.here import Here
from tests.gpu.first_minutes.sources import TENSOR, TENSOR_SOURCE, TENSOR_TILE
from tests.gpu.machine import ROOT, environment, lacks
from tests.support.kernels import write_article

TOLERANCES = {"fp64": 1e-13, "fp32": 1e-5, "fp16": 2e-3}
"""Root-mean-square error of a product over the root mean square of the product."""
KIB = 1024
SHARED_TILE = 64
SHARED_BLOCKS: dict[int, Block] = {69 * KIB: (273, 3, 1), 61 * KIB: (240, 4, 1)}
"""Blocks of the tiled product whose two tiles of floats take so many bytes, the most first."""
USUAL_SHARED_B = 48 * KIB
FIRST_WITH_TENSOR_CORES = (7, 0)
TENSOR_N = 128


def naive(here: Here, note: Note) -> None:
    """The textbook's kernel computes the product."""
    _product(here, note, variant="naive", block=(32, 8, 1))


def large_shared(here: Here, note: Note) -> None:
    """A kernel gets more shared memory than a launch has without asking for it."""
    most_B = here.facts.attribute(cu.MAX_SHARED_PER_BLOCK_OPTIN) or USUAL_SHARED_B
    wanted_B = next((size for size in SHARED_BLOCKS if size <= most_B), None)
    note("most for a block_B", most_B)
    if wanted_B is None:
        wanted_B = min(SHARED_BLOCKS)
        try:
            _product(here, note, variant="tiled", block=SHARED_BLOCKS[wanted_B], tile=SHARED_TILE)
        except InputError as error:
            note("refused", str(error))
            return
        raise Failed(f"a block of {wanted_B} bytes ran where {most_B} are the most")
    runner = _product(here, note, variant="tiled", block=SHARED_BLOCKS[wanted_B], tile=SHARED_TILE)
    (step,) = runner.plan.steps
    note("dynamic_B", step.shared_B)
    note("static and dynamic_B", runner.resources().shared_B)
    require(step.shared_B == wanted_B, f"the kernel had {step.shared_B} bytes and not {wanted_B}")


def cublas_fp32(here: Here, note: Note) -> None:
    """cuBLAS computes the product in float32, and not in TF32."""
    _product(here, note, variant="cublas")


def cublas_fp16(here: Here, note: Note) -> None:
    """cuBLAS computes the product of halves."""
    _product(here, note, variant="cublas", precision="fp16")


def tensor_cores(here: Here, note: Note) -> None:
    """A kernel that includes ``mma.h`` compiles, runs, and computes the product."""
    if here.facts.capability < FIRST_WITH_TENSOR_CORES:
        raise LeftOut("tensor cores begin with compute capability 7.0")
    kernel = here.kernel(TENSOR, TENSOR_SOURCE, "tensorProduct", precision="fp16")
    generator, n = np.random.default_rng(1), TENSOR_N
    a, b = (generator.standard_normal((n, n)).astype(np.float16) for _ in range(2))
    found = np.full((n, n), np.nan, np.float32)
    addresses = [here.upload(array) for array in (a, b, found)]
    tiles = n // TENSOR_TILE
    arguments: list[np.generic] = [*map(np.uint64, addresses), np.int32(n)]
    here.launch(kernel, (tiles, tiles, 1), (32, 1, 1), arguments)
    here.session.wait()
    here.download(addresses[2], found)
    _close(note, found, a.astype(np.float64) @ b.astype(np.float64), 1e-5)


def own_kernel(here: Here, note: Note) -> None:
    """A user's folder with a ``.cu`` runs through the command line and an engine."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_article(folder / "mine", "product")
        done = subprocess.run(
            [sys.executable, "-m", "gpuexplorer", "run", "product", "--kernels",
             str(folder / "mine"), "--block", "32x8", "--device", here.device.id,
             "--seconds", "0.3", "--no-history", "--json", "-"],
            cwd=ROOT, env=environment(folder), capture_output=True, text=True, encoding="utf-8",
            check=False,
        )  # fmt: skip
    require(done.returncode == 0, f"exit code {done.returncode}: {done.stderr.strip()}")
    run: dict[str, Any] = json.loads(done.stdout)
    verification, timing = run["verification"], run["timing"]
    note("median_s", timing["median_s"])
    note("samples", timing["samples"])
    note("method", timing["method"])
    note("largest error", verification["max_rel_error"])
    require(verification["ok"], "the result is wrong")
    require(run["device"]["hardware_id"] == here.device.hardware_id, "it ran on another device")
    within("a launch", timing["median_s"], 1e-7, 1e-2, "s")


def torch_model(here: Here, note: Note) -> None:
    """PyTorch's MLP computes on the GPU, in float32, what NumPy does."""
    lacking = lacks("torch")
    if lacking:
        raise LeftOut(lacking)
    import torch

    note("torch", torch.__version__)
    backend = registry.create("torch", 1)
    found = backend.discover()
    if isinstance(found, Unavailable):
        raise Failed(f"{found.reason}; {found.remedy}")
    gpus = [device for device in found if device.kind == "gpu"]
    require(gpus, f"PyTorch for CUDA {torch.version.cuda} does not see the GPU")
    require(gpus[0].hardware_id == here.facts.uuid, "PyTorch's first GPU is another one")
    workload = here.workloads["mlp"]
    plan = _plan(here, "mlp", gpus[0].id, variant="torch", precision="fp32")
    inputs = make_inputs(plan)
    runner = backend.runner(plan, gpus[0])
    runner.build()
    try:
        runner.allocate()
        runner.upload(inputs)
        batch = runner.launch(8)
        outputs = runner.download(tuple(array.name for array in plan.outputs))
        arithmetic = runner.arithmetic()
    finally:
        runner.free()
    judged = Reference(workload, plan, inputs).verify(outputs)
    note("median of a step_s", float(np.median(batch.seconds)))
    note("relative error", judged.rms_rel_error)
    require(judged.ok, f"the largest error is {judged.max_rel_error:.1e}")
    within("the relative error", judged.rms_rel_error, -1.0, TOLERANCES["fp32"])
    ran = "no arithmetic" if arithmetic is None else arithmetic.ran
    require(ran == "fp32", f"{ran} ran, not fp32")


def _plan(here: Here, name: str, device_id: str, **request: Any) -> Plan:
    workload = here.workloads[name]
    asked = RunRequest(workload=name, device=device_id, **request)
    devices = here.devices
    if device_id != here.device.id:
        found = registry.create(device_id.partition(":")[0], 1).discover()
        assert not isinstance(found, Unavailable)
        devices = type(devices)(devices=found)
    config = complete(asked, workload, devices)
    return make_plan(workload, config, next(d for d in devices if d.id == config.device))


def _product(
    here: Here, note: Note, *, variant: str, precision: str = "fp32", n: int = 500,
    block: Block | None = None, tile: int | None = None,
) -> Runner:  # fmt: skip
    """Run a matrix product once between poisoned outputs and guards, compare, and time it."""
    plan = _plan(
        here, "matmul", here.device.id, variant=variant, precision=precision, size={"N": n},
        block=block, tunables={} if tile is None else {"TILE": tile},
    )  # fmt: skip
    inputs = make_inputs(plan)
    runner = here.backend.runner(plan, here.device)
    runner.build()
    try:
        runner.allocate()
        runner.upload(inputs)
        runner.poison()
        runner.launch(1)
        runner.check_guards()
        found = runner.download(("C",))["C"]
        a, b = (inputs[name].astype(np.float64) for name in ("A", "B"))
        _close(note, found, a @ b, TOLERANCES[precision])
        median_s = float(np.median(runner.launch(8).seconds))
    finally:
        runner.free()
    note("median_s", median_s)
    within("a launch", median_s, 1e-7, 1.0, "s")
    return runner


def _close(
    note: Note, found: npt.NDArray[Any], expected: npt.NDArray[np.float64], tolerance: float
) -> None:
    """Note how far a result is from float64's; raise Failed when that is too far."""
    require(np.isfinite(found).all(), "the result holds numbers that are none")
    difference = found.astype(np.float64) - expected
    error = float(np.linalg.norm(difference) / np.linalg.norm(expected))
    note("relative error", error)
    require(error < tolerance, f"the relative error is {error:.1e}, not below {tolerance:.0e}")
