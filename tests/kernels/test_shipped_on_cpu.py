"""Every shipped kernel gives the right result on the CPU, whatever size, block and tunable."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path

import pytest

from gpuexplorer.compile.prelude import opencl_prelude
from gpuexplorer.compile.rewriter import rewrite
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
from tests.backends.opencl_support import backend, device, plan_for
from tests.support.crossed import crossed
from tests.support.kernels import write_article

SHIPPED = load()
KERNELS = [
    (workload, variant)
    for workload in SHIPPED.values()
    for variant, spec in workload.manifest.variants.items()
    if spec.launch
]
Sizes = list[dict[str, int]]
Tiles = list[tuple[tuple[int, ...], dict[str, int]]]
PAST_THE_LIBRARIES: dict[str, tuple[Sizes, Tiles]] = {
    "matmul cache_blocked": (
        [{"N": n} for n in (1, 31, 256, 257)],
        [((16, 2, 16), {"ROWS": 6, "COLS": 4}), ((3, 5, 2), {"ROWS": 12, "COLS": 1}),
         ((256, 1, 1), {"ROWS": 1, "COLS": 1})],
    ),
    # Rows of 16 bytes and not, and tiles that reach past the end of rows that are.
    "transpose streamed": (
        [{"N": n} for n in (1, 31, 40, 256, 257)],
        [((2, 4), {"ROWS": 32, "COLS": 32}), ((3, 1), {"ROWS": 8, "COLS": 16}),
         ((1, 7), {"ROWS": 16, "COLS": 8}), ((1, 4), {"ROWS": 64, "COLS": 64}),
         ((4, 4), {"ROWS": 16, "COLS": 32, "PAST": 0})],
    ),
    # Rows of whole lines in some precisions and not in others, and threads beyond the last square.
    "transpose lines": (
        [{"N": n} for n in (1, 31, 40, 48, 256, 257)],
        [((1, 1), {"DOWN": 32, "ACROSS": 2}), ((2, 3), {"DOWN": 1, "BESIDE": 1, "ACROSS": 1}),
         ((4, 1), {"DOWN": 2, "BESIDE": 4, "ACROSS": 8, "AHEAD": 0, "BELOW": 3})],
    ),
    "conv2d padded": (
        [dict(zip("BCKHR", size, strict=True))
         for size in ((1, 1, 1, 4, 1), (2, 3, 7, 31, 3), (1, 4, 24, 64, 5), (1, 1, 2, 257, 7))],
        [((16, 11), {"ROWS": 6, "COLS": 4}), ((7, 2), {"ROWS": 12, "COLS": 3}),
         ((256, 1), {"ROWS": 1, "COLS": 1})],
    ),
}  # fmt: skip
"""Sizes that are divided and that are not, each in some blocks and tiles."""
CHECKED_BY_DAY = ("layer_norm two_passes", "stencil2d direct", "stream add", "vector_add direct")
"""Without tunables: with them a kernel has hundreds of cases."""
PLAIN = [(w, name) for w, name in KERNELS if not w.variant(name).requires]


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
    ("workload", "variant"),
    [
        pytest.param(
            workload, variant, id=f"{workload.name}-{variant}",
            marks=() if f"{workload.name} {variant}" in CHECKED_BY_DAY else pytest.mark.long,
        )
        for workload, variant in KERNELS
    ],
)  # fmt: skip
def test_the_check_finds_nothing_wrong(workload: Workload, variant: str) -> None:
    """By night of every kernel; by day the quick self-test has each (tests/selftest)."""
    devices = DeviceList(devices=(device(),))
    cases, _ = check_plan(workload, devices, device())
    cases = [case for case in cases if case.request.variant == variant]
    if not cases:
        lacking = [r for r in workload.variant(variant).requires if not device().has(r)]
        assert lacking
        pytest.skip(f"this CPU has no {', '.join(lacking)}")
    offered = set(workload.precisions_of(variant)) & set(device().precisions)
    assert {case.request.precision for case in cases} == offered >= {"fp32", "fp64"}
    references: dict[str, Reference] = {}
    wrong = {
        str(case.request): said
        for case in cases
        if (said := verdict(workload, case.request, references))
    }
    assert not wrong


@pytest.mark.parametrize(
    ("variant", "precision"),
    crossed([v for w, v in KERNELS if w.name == "matmul"], ["fp64", "fp32", "bf16", "fp16"]),
)
def test_a_product_that_no_block_divides(variant: str, precision: str) -> None:
    if precision not in device().precisions:
        pytest.skip(f"this CPU driver has no {precision}")
    if lacking := [r for r in SHIPPED["matmul"].variant(variant).requires if not device().has(r)]:
        pytest.skip(f"this CPU driver has no {', '.join(lacking)}")
    request = RunRequest(
        workload="matmul", variant=variant, size={"N": 511}, precision=precision, device="cpu"
    )
    assert verdict(SHIPPED["matmul"], request, {}) == ""


@pytest.mark.parametrize(
    ("kernel", "fill"), crossed(KERNELS, FILLS, name=lambda one: f"{one[0].name}-{one[1]}")
)
def test_results_are_right_whatever_the_inputs_hold(
    kernel: tuple[Workload, str], fill: str
) -> None:
    workload, variant = kernel
    requires = workload.variant(variant).requires
    if not all(device().has(r) for r in requires):
        pytest.skip(f"this CPU driver has no {', '.join(requires)}")
    sizes = workload.manifest.sizes
    flat = all(len(a.shape) == 1 for a in workload.manifest.arrays.values())
    usual = (70_001 if flat else 129) if len(sizes) == 1 else 2_049 if flat else 33
    if len(sizes) > 3:
        usual = 9
    size = {symbol: min(max(usual, spec.min), spec.max) for symbol, spec in sizes.items()}
    for precision in set(workload.precisions_of(variant)) & set(device().precisions):
        request = RunRequest(
            workload=workload.name, variant=variant, size=size, precision=precision,
            fill=fill, device="cpu",
        )  # fmt: skip
        assert verdict(workload, request, {}) == "", (precision, fill)


@pytest.mark.parametrize("length", [1, 31, 257, 65_537])
@pytest.mark.parametrize("variant", ["hillis_steele", "work_efficient", "shuffle", "look_back"])
def test_a_scan_of_any_length_is_right_in_a_block_of_any_width(variant: str, length: int) -> None:
    """Blocks so narrow that a part takes many rounds, and sums of so many parts more than one."""
    if variant in ("shuffle", "look_back") and "shuffle" not in device().features:
        pytest.skip("this CPU driver has no warp shuffles")
    whole_warps = variant in ("shuffle", "look_back")
    for width in (32, 96) if whole_warps else (3, 7):
        tunables = {"EACH": 1} if variant == "look_back" else {}
        request = RunRequest(
            workload="scan", variant=variant, size={"N": length}, precision="fp32",
            block=(width,), tunables=tunables, device="cpu",
        )  # fmt: skip
        assert verdict(SHIPPED["scan"], request, {}) == "", width


@pytest.mark.parametrize("precision", ["fp64", "fp32", "bf16", "fp16"])
@pytest.mark.parametrize("name", PAST_THE_LIBRARIES)
def test_the_last_rungs_of_a_cpu_are_right_at_any_size(name: str, precision: str) -> None:
    workload, variant = name.split()
    lacking = {precision, *SHIPPED[workload].variant(variant).requires} - {
        *device().precisions, *device().features
    }  # fmt: skip
    if lacking:
        pytest.skip(f"this CPU driver has no {', '.join(lacking)}")
    for size, (block, tunables) in itertools.product(*PAST_THE_LIBRARIES[name]):
        request = RunRequest(
            workload=workload, variant=variant, size=size, precision=precision, block=block,
            tunables=tunables, device="cpu",
        )  # fmt: skip
        assert verdict(SHIPPED[workload], request, {}) == "", (size, block)


@pytest.mark.parametrize("width", [97, 129, 193, 256])
def test_attention_runs_with_its_defaults_however_wide_its_heads_are(width: int) -> None:
    if not any(device().has(f"lanes_{lanes}") for lanes in (8, 16)):
        pytest.skip("nothing was tuned for this CPU")
    for precision in {"fp64", "fp32", "bf16", "fp16"} & set(device().precisions):
        request = RunRequest(
            workload="attention", variant="tiled", size={"B": 1, "H": 2, "S": 37, "D": width},
            precision=precision, device="cpu",
        )  # fmt: skip
        assert verdict(SHIPPED["attention"], request, {}) == "", precision


@pytest.mark.parametrize("variant", ["direct", "tiled", "column"])
@pytest.mark.parametrize("size", [(1, 257), (257, 1), (2, 3), (31, 65)])
def test_a_plane_of_any_shape_keeps_its_border(variant: str, size: tuple[int, int]) -> None:
    request = RunRequest(
        workload="stencil2d", variant=variant, size=dict(zip("HW", size, strict=True)),
        precision="fp32", device="cpu",
    )  # fmt: skip
    assert verdict(SHIPPED["stencil2d"], request, {}) == ""


@pytest.mark.parametrize("variant", ["direct", "tiled", "queue"])
@pytest.mark.parametrize("size", [(1, 5, 70), (70, 1, 5), (3, 3, 3), (37, 19, 33)])
def test_a_volume_of_any_shape_keeps_its_border(variant: str, size: tuple[int, int, int]) -> None:
    request = RunRequest(
        workload="stencil3d", variant=variant, size=dict(zip("DHW", size, strict=True)),
        precision="fp32", device="cpu",
    )  # fmt: skip
    assert verdict(SHIPPED["stencil3d"], request, {}) == ""


@pytest.mark.parametrize("variant", ["scalar", "vector", "lanes"])
def test_rows_of_a_sparse_matrix_are_found_in_any_number(variant: str) -> None:
    if variant != "scalar" and "shuffle" not in device().features:
        pytest.skip("this CPU driver has no warp shuffles")
    for rows, each in ((1, 2), (7, 3), (8, 2), (31, 63), (257, 17)):
        request = RunRequest(
            workload="spmv", variant=variant, size={"N": rows, "K": each}, precision="fp64",
            device="cpu",
        )  # fmt: skip
        assert verdict(SHIPPED["spmv"], request, {}) == "", (rows, each)


@pytest.mark.parametrize(
    ("workload", "variant"), PLAIN, ids=[f"{w.name}-{name}" for w, name in PLAIN]
)
def test_every_kernel_without_warps_is_plain_c(workload: Workload, variant: str) -> None:
    """PoCL takes nothing else, and does not know every processor: Intel's compiler stands in."""
    if device().driver.startswith("Portable"):
        pytest.skip("PoCL itself is here")
    session = backend()._session(device())
    plan = plan_for(workload, variant=variant)
    for source, entry in {(step.source, step.entry) for step in plan.steps}:
        made = rewrite(source, plan.files, "c", entry=entry)
        text = opencl_prelude("fp32", plan.defines, "c", made.source, fp64=True)
        text += made.source + "\n" + made.probes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the compiler's remarks on a good build
            session.cl.Program(session.context, text).build("-cl-std=CL1.2", cache_dir=False)


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
