"""Every shipped kernel gives the right result on the CPU, whatever size, block and tunable."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.workloads.check import check_plan
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.fills import make_inputs
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.manifest import FILLS
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.references import Reference
from gpuexplorer.workloads.workload import Workload, WorkloadSource
from tests.backends.opencl_support import backend, device
from tests.support.kernels import write_article

SHIPPED = load()
KERNELS = [
    (workload, variant)
    for workload in SHIPPED.values()
    for variant, spec in workload.manifest.variants.items()
    if spec.launch
]


def verdict(workload: Workload, request: RunRequest, references: dict[str, Reference]) -> str:
    """Run a request once; return what is wrong with its result, or an empty text."""
    config = complete(request, workload, DeviceList(devices=(device(),)))
    plan = make_plan(workload, config, device())
    inputs = make_inputs(plan)
    problem = str((config.size, config.precision, config.fill))
    reference = references.setdefault(problem, Reference(workload, plan, inputs))
    runner = backend().runner(plan, device())
    runner.build()
    try:
        runner.allocate()
        runner.upload(inputs)
        runner.poison()
        runner.launch(1)
        runner.check_guards()
        outputs = runner.download(tuple(a.name for a in plan.outputs))
    finally:
        runner.free()
    return "" if reference.verify(outputs).ok else reference.explain(outputs)


@pytest.mark.parametrize(
    ("workload", "variant"), KERNELS, ids=[f"{w.name}-{v}" for w, v in KERNELS]
)
def test_the_check_finds_nothing_wrong(workload: Workload, variant: str) -> None:
    devices = DeviceList(devices=(device(),))
    cases, _ = check_plan(workload, devices, device())
    cases = [case for case in cases if case.request.variant == variant]
    if not cases and "shuffle" not in device().features:
        pytest.skip("this CPU driver has no warp shuffles")
    assert {case.request.precision for case in cases} == set(device().precisions)
    references: dict[str, Reference] = {}
    wrong = {
        str(case.request): said
        for case in cases
        if (said := verdict(workload, case.request, references))
    }
    assert not wrong


@pytest.mark.parametrize("precision", ["fp64", "fp32", "fp16"])
@pytest.mark.parametrize("variant", ["naive", "uncoalesced", "tiled", "register_tile", "packed"])
def test_a_product_that_no_block_divides(variant: str, precision: str) -> None:
    if precision not in device().precisions:
        pytest.skip(f"this CPU driver has no {precision}")
    request = RunRequest(
        workload="matmul", variant=variant, size={"N": 511}, precision=precision, device="cpu"
    )
    assert verdict(SHIPPED["matmul"], request, {}) == ""


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize(
    ("workload", "variant"), KERNELS, ids=[f"{w.name}-{v}" for w, v in KERNELS]
)
def test_results_are_right_whatever_the_inputs_hold(
    workload: Workload, variant: str, fill: str
) -> None:
    requires = workload.variant(variant).requires
    if not all(device().has(r) for r in requires):
        pytest.skip(f"this CPU driver has no {', '.join(requires)}")
    size = 129 if any(len(a.shape) == 2 for a in workload.manifest.arrays.values()) else 70_001
    for precision in set(workload.precisions_of(variant)) & set(device().precisions):
        request = RunRequest(
            workload=workload.name, variant=variant, size={"": size}, precision=precision,
            fill=fill, device="cpu",
        )  # fmt: skip
        assert verdict(workload, request, {}) == "", (precision, fill)


def test_the_articles_kernel_runs_unchanged(tmp_path: Path) -> None:
    write_article(tmp_path)
    article = load([tmp_path])["article"]
    for block in ((16, 16), (7, 5), (1, 64)):
        request = RunRequest(workload="article", size={"N": 97}, block=block, device="cpu")
        assert verdict(article, request, {}) == ""


def test_a_sum_kept_in_half_is_found_by_the_check() -> None:
    """What the large inputs are for: products of halves overflow unless they are widened."""
    source = SHIPPED["matmul"].source
    naive = source.files["naive.cu"]
    narrow = naive.replace("accum sum = 0;", "real sum = 0;").replace(
        "(accum)A[row * N + k] * (accum)B[k * N + col]", "A[row * N + k] * B[k * N + col]"
    )
    assert narrow != naive
    workload = Workload(
        WorkloadSource(manifest=source.manifest, files={**source.files, "naive.cu": narrow})
    )
    if "fp16" not in device().precisions:
        pytest.skip("this CPU driver has no fp16")
    request = RunRequest(
        workload="matmul",
        variant="naive",
        size={"N": 33},
        precision="fp16",
        fill="large",
        device="cpu",
    )
    assert verdict(workload, request, {}) != ""
    assert verdict(SHIPPED["matmul"], request, {}) == ""
