"""The CUDA backend's parts that need no GPU: layout, arguments, prediction, errors, description."""

from __future__ import annotations

import ctypes
import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.analysis.occupancy import LIMITS
from gpuexplorer.backends.cuda import CudaBackend, errors
from gpuexplorer.backends.cuda import driver as cu
from gpuexplorer.backends.cuda.arguments import PackedArguments
from gpuexplorer.backends.cuda.backend import cupy_trouble
from gpuexplorer.backends.cuda.describe import (
    architecture,
    describe,
    multiprocessor_limits,
    peak_bandwidth_B_per_s,
)
from gpuexplorer.backends.cuda.kernels import partial_grid, predict_s
from gpuexplorer.backends.cuda.memory import ALIGNMENT_B, GUARD_B, lay_out
from gpuexplorer.core.config import Block
from gpuexplorer.core.device import Unavailable
from gpuexplorer.core.errors import DeviceLost, InputError, WorkFailed
from gpuexplorer.workloads.manifest import Role
from gpuexplorer.workloads.plan import ArrayPlan
from tests.backends.fake_cuda import FACTS, CUDARuntimeError


def array(name: str, elements: int, role: Role = "out", itemsize_B: int = 4) -> ArrayPlan:
    return ArrayPlan(
        name=name, shape=(elements,), type="real", role=role, fill="normal", itemsize_B=itemsize_B
    )


# ---- memory layout


@given(st.lists(st.integers(0, 100_000), min_size=1, max_size=6), st.sampled_from([2, 4, 8]))
def test_every_byte_of_the_allocation_is_array_or_guard(sizes: list[int], itemsize: int) -> None:
    arrays = [array(f"a{i}", n, itemsize_B=itemsize) for i, n in enumerate(sizes)]
    layout = lay_out(arrays, ())
    spans = sorted(
        [*layout.arrays.values(), *(g for _, g in layout.guards)], key=lambda s: (s.start, s.end)
    )
    at = 0
    for span in spans:
        assert span.start == at
        at = span.end
    assert at == layout.total_B
    assert all(s.start % ALIGNMENT_B == 0 for s in layout.arrays.values())
    assert all(g.nbytes >= GUARD_B for _, g in layout.guards)
    assert len(layout.guards) == len(arrays) + 1


def test_only_inout_arrays_that_are_reset_are_kept_twice() -> None:
    arrays = [array("x", 100, "inout"), array("y", 100, "inout"), array("z", 100)]
    layout = lay_out(arrays, ("x", "z"))
    assert set(layout.copies) == {"x"}
    assert layout.copies["x"].nbytes == 400
    assert layout.copies["x"].start >= layout.guards[-1][1].end


# ---- arguments


def test_arguments_lie_where_the_table_points_in_their_own_types() -> None:
    packed = PackedArguments(
        ["A", np.int32(-3), np.float64(0.1), np.float16(1.5), np.uint64(2**40)], {"A": 0xABCDEF01}
    )
    table = (ctypes.c_void_p * 5).from_address(packed.address)
    assert all(pointer for pointer in table)

    def read(index: int, kind: type[np.generic]) -> float:
        dtype = np.dtype(kind)
        return float(np.frombuffer(ctypes.string_at(table[index] or 0, dtype.itemsize), dtype)[0])

    assert read(0, np.uint64) == 0xABCDEF01
    assert read(1, np.int32) == -3
    assert read(2, np.float64) == 0.1
    assert read(3, np.float16) == 1.5
    assert read(4, np.uint64) == 2**40


def test_a_kernel_without_arguments_has_a_table_too() -> None:
    assert PackedArguments([], {}).address


# ---- prediction

grids = st.tuples(st.integers(1, 5000), st.integers(1, 50), st.integers(1, 20))


clusters = st.tuples(st.integers(1, 8), st.integers(1, 4), st.integers(1, 2))


@given(grids, clusters, st.integers(1, 10_000_000))
def test_a_part_of_a_grid_lies_inside_it_in_whole_clusters_and_has_enough_blocks(
    many: Block, cluster: Block, blocks: int
) -> None:
    x, y, z = (n * size for n, size in zip(many, cluster, strict=True))
    part = partial_grid((x, y, z), blocks, cluster)
    assert all(1 <= p <= g for p, g in zip(part, (x, y, z), strict=True))
    assert all(p % size == 0 for p, size in zip(part, cluster, strict=True))
    assert math.prod(part) >= min(blocks, x * y * z)


@given(grids, st.integers(1, 5000), st.floats(1e-7, 1e-3))
def test_a_kernel_whose_time_is_its_blocks_is_predicted_rightly(
    grid: Block, resident: int, per_set_s: float
) -> None:
    def time_s(part: Block) -> float:
        return 3e-6 + math.ceil(math.prod(part) / resident) * per_set_s

    predicted = predict_s(grid, resident, time_s)
    assert predicted == pytest.approx(time_s(grid), rel=0.35)


@given(st.integers(2, 100_000), st.integers(1, 5000), st.floats(1e-6, 0.09))
def test_a_kernel_that_strides_by_its_grid_is_not_scaled_up(
    blocks: int, resident: int, whole_s: float
) -> None:
    def time_s(part: Block) -> float:
        return whole_s * max(1.0, resident / math.prod(part))

    assert predict_s((blocks, 1, 1), resident, time_s) <= time_s((blocks, 1, 1)) * 1.01


def test_a_long_probe_is_not_repeated_and_gives_the_upper_bound() -> None:
    probes: list[int] = []

    def time_s(part: Block) -> float:
        probes.append(math.prod(part))
        return 0.5

    assert predict_s((4096, 4096, 1), 4096, time_s) == 0.5 * 4096
    assert probes == [4096]


def test_waiting_for_the_kernel_to_load_does_not_hide_its_growth() -> None:
    first = [0.005]

    def time_s(part: Block) -> float:
        return (first.pop() if first else 0.0) + math.prod(part) * 1e-6

    assert predict_s((1_000_000, 1, 1), 1000, time_s) == pytest.approx(1.0, rel=0.05)


# ---- errors


@pytest.mark.parametrize("status", [214, 700, 702, 710, 716, 719, 999])
def test_an_error_that_poisons_the_context_ends_the_engine(status: int) -> None:
    found = errors.explain(CUDARuntimeError(status), "running matmul/naive")
    assert isinstance(found, DeviceLost)
    assert "while running matmul/naive" in str(found)
    assert str(found).endswith("the engine starts afresh")
    assert "\n" not in str(found)


def test_no_memory_is_said_and_ends_nothing() -> None:
    found = errors.explain(CUDARuntimeError(2), "the arrays of matmul")
    assert type(found) is WorkFailed
    assert "no memory left for the arrays of matmul" in str(found)


def test_too_many_registers_are_the_users_block() -> None:
    assert isinstance(errors.explain(CUDARuntimeError(701), "running"), InputError)


def test_other_errors_are_left_alone() -> None:
    assert errors.explain(ValueError("no"), "running") is None
    assert errors.explain(InputError("no"), "running") is None


# ---- devices


def test_a_device_is_described_by_what_the_driver_says() -> None:
    peak = peak_bandwidth_B_per_s(3_201_000, 6144)
    info = describe(FACTS, "580.159.03 (CUDA 13.0)", peak, ("cupy.add",))
    assert info.id == "cuda:0"
    assert info.hardware_id == "GPU-00112233-4455-6677-8899-aabbccddeeff"
    assert info.peak_bandwidth_B_per_s == pytest.approx(4.917e12, rel=1e-3)
    assert info.peak_source == "memory clock × bus width (nominal)"
    assert info.limits.max_shared_B == 227 * 1024
    assert info.precisions == ("fp64", "fp32", "bf16", "fp16")
    assert {"cuda", "shuffle", "fp16", "fp64", "sm_90", "sm_90a"} <= set(info.features)
    assert info.has("sm_80")
    assert not info.has("sm_100a")
    assert multiprocessor_limits(FACTS) == LIMITS[9, 0]


@pytest.mark.parametrize(("time_limit", "launch_s"), [(1, 1.5), (0, None), (None, None)])
def test_a_gpu_whose_system_ends_long_kernels_has_a_longest_launch(
    time_limit: int | None, launch_s: float | None
) -> None:
    attributes = {**FACTS.attributes, cu.KERNEL_TIME_LIMIT: time_limit}
    facts = msgspec.structs.replace(FACTS, attributes=attributes)
    assert describe(facts, "CUDA 13.0", None, ()).limits.max_launch_s == launch_s


def test_no_peak_is_claimed_when_clock_or_width_is_unknown() -> None:
    assert peak_bandwidth_B_per_s(0, 6144) is None
    assert peak_bandwidth_B_per_s(3_201_000, None) is None
    assert describe(FACTS, "CUDA 13.0", None, ()).peak_source is None


@pytest.mark.parametrize(
    ("capability", "arch"),
    [((7, 5), "sm_75"), ((8, 9), "sm_89"), ((9, 0), "sm_90a"), ((12, 0), "sm_120a")],
)
def test_the_exact_architecture(capability: tuple[int, int], arch: str) -> None:
    assert architecture(capability) == arch


# ---- what is missing


def test_without_a_driver_the_reason_and_the_remedy_are_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cu.Driver, "load", staticmethod(lambda: None))
    found = CudaBackend(threads=1).discover()
    assert isinstance(found, Unavailable)
    assert found.reason == "no NVIDIA driver is installed"
    assert found.remedy


class Library:
    """A driver library whose initialisation answers with ``code``."""

    def __init__(self, code: int) -> None:
        self.code = code

    def cuInit(self, flags: int) -> int:
        return self.code

    def cuGetErrorName(self, code: int, text: object) -> int:
        return 1


@pytest.mark.parametrize(
    ("code", "reason"), [(100, "finds no GPU"), (803, "does not start: error (803)")]
)
def test_a_driver_without_a_device_or_in_trouble_is_told_apart(
    monkeypatch: pytest.MonkeyPatch, code: int, reason: str
) -> None:
    monkeypatch.setattr(cu.Driver, "load", staticmethod(lambda: Library(code)))
    found = CudaBackend(threads=1).discover()
    assert isinstance(found, Unavailable)
    assert reason in found.reason


def test_an_old_driver_is_told_to_be_replaced() -> None:
    trouble = cupy_trouble(11, 8)
    assert trouble is not None
    assert "CUDA 11.8 only" in trouble[0]


def test_missing_cupy_is_named_with_the_extra_of_the_driver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert cupy_trouble(12, 8) == ("CuPy is not installed", "pip install 'gpuexplorer[cuda12]'")
    assert cupy_trouble(14, 1) == ("CuPy is not installed", "pip install 'gpuexplorer[cuda13]'")
