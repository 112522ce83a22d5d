"""From a configuration to launches: grids cover the work, and what cannot run is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core.device import DeviceInfo, DeviceLimits
from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.workloads.loader import load
from tests.support.problems import device, library_device, made, model_device, plan_of

SHIPPED = load()
LAUNCH = "[[variants.only.launch]]"
THREE_D = (
    ('shape = ["N"], role = "in"', 'shape = ["N", "N", "N"], role = "in"'),
    ('shape = ["N"], role = "out"', 'shape = ["N", "N", "N"], role = "out"'),
    ("block = [64]", "block = [8, 4, 2]"),
    (
        'grid = ["ceil_div(N, block_x)"]',
        'grid = ["ceil_div(N, block_x)", "ceil_div(N, block_y)", "ceil_div(N, block_z)"]',
    ),
)


@given(st.integers(1, 3000), st.integers(1, 32), st.integers(1, 32))
def test_the_grid_covers_a_matrix_and_no_block_is_idle(n: int, x: int, y: int) -> None:
    (step,) = plan_of(SHIPPED["matmul"], size={"N": n}, block=(x, y)).steps
    assert step.block == (x, y, 1)
    for blocks, threads in zip(step.grid[:2], (x, y), strict=True):
        assert (blocks - 1) * threads < n <= blocks * threads
    assert step.grid[2] == 1


def test_block_and_grid_are_those_of_the_launch_that_follows_the_sliders() -> None:
    plan = plan_of(SHIPPED["matmul"], variant="panels", size={"N": 100}, block=(16, 4))
    pack, product = plan.steps
    assert plan.main_step == 1
    assert pack.block == (32, 1, 1)
    assert plan.config.grid == product.grid == (4, 5, 1)


def test_three_dimensional_blocks() -> None:
    (step,) = plan_of(made(*THREE_D), size={"N": 10}, block=(4, 3, 2)).steps
    assert (step.block, step.grid) == ((4, 3, 2), (3, 4, 5))
    assert plan_of(made(*THREE_D), size={"N": 10}).steps[0].block == (8, 4, 2)


def test_bytes_and_operations_of_the_textbook_product() -> None:
    plan = plan_of(SHIPPED["matmul"], size={"N": 64}, precision="fp16")
    assert plan.flops == 2 * 64**3
    assert plan.compulsory_read_B == 2 * 64**2 * 2
    assert plan.compulsory_write_B == 64**2 * 2
    assert plan.requested_read_B == 2 * 64**3 * 2
    assert plan.memory_B == 3 * 64**2 * 2


def test_a_library_may_do_fewer_operations_than_a_convolution_has_and_a_kernel_not() -> None:
    assert plan_of(SHIPPED["conv2d"], model_device(), variant="torch").fewer_flops
    assert not plan_of(SHIPPED["conv2d"], variant="direct").fewer_flops
    assert not plan_of(SHIPPED["mlp"], model_device(), variant="torch").fewer_flops


def test_a_tile_is_asked_for_once_a_block() -> None:
    wide = plan_of(SHIPPED["matmul"], variant="tiled", size={"N": 100}, block=(32, 8))
    assert wide.steps[0].grid == (4, 13, 1)
    assert wide.requested_read_B == 100 * 100 * (4 + 13) * 4
    assert wide.steps[0].shared_B == 16 * (32 + 8) * 4


def test_two_launches_with_a_computed_argument() -> None:
    plan = plan_of(SHIPPED["reduction"], variant="tree", size={"N": 1000}, block=(96,))
    partial, final = plan.steps
    assert (partial.grid, final.grid) == ((11, 1, 1), (1, 1, 1))
    assert partial.block == final.block == (96, 1, 1)
    assert final.arguments[-1].value == partial.grid[0]
    assert [a.type for a in plan.arrays] == ["real", "accum", "accum"]


def test_the_blocks_of_a_reduction_fit_its_scratch_array() -> None:
    plan = plan_of(SHIPPED["reduction"], variant="tree", size={"N": 1 << 26}, block=(1,))
    assert plan.steps[0].grid[0] <= plan.array("sums").elements


def test_only_arrays_that_are_used_are_made() -> None:
    assert [a.name for a in plan_of(SHIPPED["stream"], variant="copy").arrays] == ["A", "C"]
    assert [a.name for a in plan_of(SHIPPED["stream"], variant="triad").arrays] == ["A", "B", "C"]
    torch = plan_of(SHIPPED["reduction"], library_device("torch.sum"), variant="torch")
    assert [a.name for a in torch.arrays] == ["X", "total"]


def test_a_library_plan_hands_over_its_arguments_in_order() -> None:
    torch = library_device("torch.add")
    plan = plan_of(SHIPPED["stream"], torch, variant="triad_torch", size={"N": 8})
    assert plan.library == "torch.add"
    assert [(a.kind, a.name, a.value) for a in plan.library_arguments] == [
        ("array", "A", 0),
        ("array", "B", 0),
        ("scalar", "scale", 3),
        ("array", "C", 0),
    ]
    assert plan.config.block is None and plan.steps == ()


@pytest.mark.parametrize(
    ("request_", "limits", "said"),
    [
        ({"block": (33, 32)}, {}, "1056 threads, and opencl:0 allows 1024"),
        ({"block": (1, 512)}, {"max_block": (1024, 256, 64)}, "longer in y than the 256"),
        ({"block": (1, 1)}, {"max_grid": (100, 100, 1)}, "would need 512 blocks in x"),
        ({"block": (16, 16, 2)}, {}, "2-dimensional blocks, not 16×16×2"),
        ({"block": (0, 5)}, {}, "block 0×5 has a dimension below 1"),
        ({"block": (1, 1, 1, 1)}, {}, "one to three dimensions"),
        ({"size": {"N": 0}}, {}, "size N=0 is out of range"),
        ({"size": {"M": 5}}, {}, "no size 'M'"),
        ({"size": {"N": 16384}}, {"memory_B": 2**31}, "needs 6.44 GB of memory"),
        ({"size": {"N": 16384}}, {"max_allocation_B": 2**29}, "the array 'A' needs 1.07 GB"),
        ({"variant": "tiled"}, {"max_shared_B": 2000}, "2.05 kB of shared memory"),
        ({"variant": "tiled", "tunables": {"TILE": 17}}, {}, "TILE cannot be 17; use 4, 8"),
        ({"variant": "tiled", "tunables": {"TILES": 16}}, {}, "has no tunable 'TILES'"),
        ({"variant": "blocked"}, {}, "no variant 'blocked'"),
        ({"precision": "fp8"}, {}, "no precision 'fp8'"),
        ({"fill": "gaussian"}, {}, "no input distribution 'gaussian'"),
    ],
)
def test_what_a_device_cannot_launch_is_refused(
    request_: dict[str, Any], limits: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        plan_of(SHIPPED["matmul"], device(limits=DeviceLimits(**limits)), **request_)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("workload", "request_", "changes", "said"),
    [
        ("matmul", {"precision": "fp16"}, {"precisions": ("fp32",)}, "does not offer fp16"),
        ("matmul", {}, {"runs_kernels": False}, "runs library variants only"),
        ("matmul", {"variant": "cublas"}, {}, "does not offer the library call cublas.gemm"),
        ("reduction", {"variant": "shuffle"}, {"features": ()}, "requires shuffle"),
    ],
)
def test_what_a_device_lacks_is_said(
    workload: str, request_: dict[str, Any], changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(CannotRunHere) as caught:
        plan_of(SHIPPED[workload], device(**changes), **request_)
    assert said in str(caught.value)


def test_a_constraint_tells_its_reason() -> None:
    with pytest.raises(InputError, match="a warp has 32 threads"):
        plan_of(SHIPPED["reduction"], variant="shuffle", block=(48,))


def test_a_required_compute_capability_is_a_least_one() -> None:
    hopper: DeviceInfo = device("cuda:0", compute_capability=(9, 0))
    assert hopper.has("sm_80") and hopper.has("sm_90") and not hopper.has("sm_100")


def test_a_tied_tunable_follows_the_block_and_cannot_be_set() -> None:
    tied = made((LAUNCH, f'[variants.only.tunables.W]\nformula = "2 * block_x"\n{LAUNCH}'))
    assert plan_of(tied, block=(48,)).defines == {"W": 96}
    assert plan_of(tied, block=(48,), tunables={"W": 96}).defines == {"W": 96}
    with pytest.raises(InputError, match="follows from"):
        plan_of(tied, tunables={"W": 3})


def test_a_tunable_is_refused_where_there_is_none() -> None:
    with pytest.raises(InputError, match="has no tunable 'TILE'"):
        plan_of(
            SHIPPED["matmul"], library_device("numpy.matmul"), variant="numpy", tunables={"TILE": 8}
        )


@pytest.mark.parametrize("value", ["N * 2**31", "N / 3"])
def test_an_int_argument_neither_wraps_nor_is_cut(value: str) -> None:
    workload = made(('args = ["A", "B", "N"]', f'args = ["A", "B", {{ value = "{value}" }}]'))
    with pytest.raises(InputError, match="not a whole number of 32 bits"):
        plan_of(workload, size={"N": 100})


def test_an_array_has_at_least_one_element() -> None:
    workload = made(('B = { shape = ["N"]', 'B = { shape = ["N - 1"]'))
    with pytest.raises(InputError, match=r"array 'B' would have the shape \(0\)"):
        plan_of(workload, size={"N": 1})


def test_a_runs_fill_replaces_the_manifests() -> None:
    workload = made(('role = "in" }', 'role = "in", fill = "uniform" }'))
    assert plan_of(workload).array("A").fill == "uniform"
    assert plan_of(workload, fill="manifest").array("A").fill == "uniform"
    assert plan_of(workload, fill="normal").array("A").fill == "normal"
    assert plan_of(workload, fill="zeros").array("A").fill == "zeros"
    assert plan_of(workload, fill="large").array("A").fill == "large"


@pytest.mark.parametrize(
    "amount", ["inf", "nan", "-5", '"N / 0"', '"-N"', '"(N ** 60) ** 9"', '"1e300 * 1e300"']
)
def test_an_amount_of_work_is_finite_and_not_below_zero(amount: str) -> None:
    with pytest.raises(InputError, match=r"made.toml: formula "):
        plan_of(made(('flops = "N"', f"flops = {amount}")), size={"N": 10})


@pytest.mark.parametrize("length", ["inf", "nan", "2.5", "-3", '"1 - N"'])
def test_a_shape_is_of_whole_numbers_above_zero(length: str) -> None:
    shape = ('shape = ["N"], role = "in"', f'shape = [{length}], role = "in"')
    with pytest.raises(InputError, match=r"made.toml: (formula|array 'A')"):
        plan_of(made(shape), size={"N": 10})


def test_on_a_cpu_the_hosts_copies_count_as_well() -> None:
    needed_B = 2 * 4 * 1000
    limits = DeviceLimits(memory_B=int(1.5 * needed_B))
    gpu, cpu = (device(kind=kind, limits=limits) for kind in ("gpu", "cpu"))
    assert plan_of(made(), gpu, size={"N": 1000}).memory_B == needed_B
    with pytest.raises(InputError, match=r"needs 16.0 kB of memory, .* has 12.0 kB"):
        plan_of(made(), cpu, size={"N": 1000})
