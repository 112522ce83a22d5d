"""Each rule speaks where its evidence is there, and is silent where it is not."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from gpuexplorer.analysis.advice.advice import Advice
from gpuexplorer.analysis.advice.choose import RULES, advise
from gpuexplorer.analysis.advice.roofs import cache_of, place_of
from gpuexplorer.analysis.advice.rules_trust import at_limit, no_spare_core, throttled
from gpuexplorer.analysis.advice.situation import Measured
from gpuexplorer.core.ceilings import Ceiling
from gpuexplorer.core.change import Change
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.result import Phases, Traffic
from gpuexplorer.core.sample import Reading
from gpuexplorer.core.series.examine import examine
from gpuexplorer.engine.situation import Gatherer
from tests.support.situations import (
    H100,
    INTEL,
    POCL,
    made_ceilings,
    made_prepared,
    shipped,
    situation,
)


def said(*arguments: Any, **changes: Any) -> dict[str, Advice]:
    """Return what each rule by itself says."""
    made = situation(*arguments, **changes)
    return {advice.rule: advice for rule in RULES if (advice := rule(made)) is not None}


# ---- lanes


@pytest.mark.parametrize(
    ("block", "idle"), [((7, 7), "49 threads a block take 2 warps of 32 lanes, 15 of them idle"),
                        ((8, 1), "8 threads a block take 1 warp of 32 lanes, 24 of them idle")],
)  # fmt: skip
def test_partial_warps_name_their_idle_lanes(block: tuple[int, int], idle: str) -> None:
    advice = said(on=H100, block=block)["partial-warps"]
    assert advice.evidence == idle
    assert advice.change is not None and advice.change.block is not None
    assert math.prod(advice.change.block) % 32 == 0


@pytest.mark.parametrize("block", [(32, 1), (16, 16), (8, 4), (1024, 1)])
def test_full_warps_are_not_spoken_of(block: tuple[int, int]) -> None:
    assert "partial-warps" not in said(on=H100, block=block)


@pytest.mark.parametrize("block", [(1, 256), (8, 8), (15, 16), (20, 16), (31, 8)])
def test_short_rows_on_intels_runtime_lead_to_rows_that_fill_vectors(
    block: tuple[int, int],
) -> None:
    advice = said(block=block)["short-rows"]
    assert advice.change is not None and advice.change.block is not None
    assert advice.change.block[0] % 16 == 0


@pytest.mark.parametrize("block", [(16, 1), (16, 16), (48, 4), (256, 1)])
def test_rows_that_fill_vectors_are_left_alone(block: tuple[int, int]) -> None:
    assert "short-rows" not in said(block=block)


def test_pocl_joins_no_threads_so_rows_do_not_matter_there() -> None:
    assert "short-rows" not in said(on=POCL, block=(1, 256))


def test_a_transpose_that_gains_nothing_from_vectors_is_left_alone() -> None:
    assert "short-rows" not in said("transpose", variant="naive", block=(8, 8))


def test_a_gpu_of_another_maker_has_no_warps_of_32() -> None:
    other = msgspec.structs.replace(
        H100, id="opencl:1", backend="opencl", hardware_id="0000:03:00.0", compute_capability=None
    )
    assert not {"partial-warps", "orientation"} & said(on=other, block=(7, 7)).keys()
    nvidia = msgspec.structs.replace(other, hardware_id="GPU-2")
    assert "partial-warps" in said(on=nvidia, block=(7, 7))


# ---- orientation


def test_a_column_of_threads_on_a_gpu_is_turned_along_the_rows() -> None:
    advice = said(on=H100, variant="naive", block=(1, 256))["orientation"]
    assert "single elements" in advice.title
    assert advice.change is not None and advice.change.block is not None
    assert advice.change.block[0] >= 32


def test_rows_and_columns_swapped_want_the_column_on_a_gpu() -> None:
    advice = said(on=H100, variant="uncoalesced", block=(256, 1))["orientation"]
    assert advice.change is not None and advice.change.block is not None
    assert advice.change.block[0] == 1
    assert "orientation" not in said(on=H100, variant="uncoalesced", block=(1, 256))


def test_on_the_cpu_the_swapped_variant_gathers_and_the_other_one_is_suggested() -> None:
    advice = said(variant="uncoalesced", block=(16, 16))["orientation"]
    assert advice.change == Change(variant="naive")


@pytest.mark.parametrize("on", [H100, INTEL])
def test_wide_blocks_have_nothing_to_turn(on: DeviceInfo) -> None:
    assert "orientation" not in said(on=on, variant="naive", block=(32, 8))


def test_a_plain_transpose_far_from_the_roof_is_told_of_its_strides() -> None:
    """As seen: 1.9 GB/s where STREAM moves 33.7, and nothing was said."""
    run: dict[str, Any] = {"variant": "naive", "block": (16, 16), "size": {"": 2048}}
    ceilings = made_ceilings(memory=33.7e9)
    slow = said("transpose", median_s=0.0177, gathered={"ceilings": ceilings}, **run)["strides"]
    assert "1.90 GB/s, 5.6 % of the measured 33.7 GB/s: 17.8× less" in slow.evidence
    assert "reads and writes do not both run along neighbouring elements" in slow.evidence
    assert "in variant tiled neighbouring threads take neighbouring elements" in slow.evidence
    assert slow.change == Change(variant="tiled")
    assert slow.saves == pytest.approx(0.5)
    unknown = said("transpose", median_s=0.0177, **run)["strides"]  # without a calibration
    assert "1.90 GB/s" in unknown.evidence and "33.7" not in unknown.evidence
    near = said("transpose", median_s=1.4e-3, gathered={"ceilings": ceilings}, **run)
    assert "strides" not in near
    small = said("transpose", variant="naive", block=(16, 16), size={"": 256}, median_s=1e-3)
    assert "strides" not in small
    tiled = said("transpose", variant="tiled", size={"": 2048}, median_s=0.0177)
    assert "strides" not in tiled


def test_threads_that_take_pieces_of_their_own_go_in_strides_in_warps_alone() -> None:
    run: dict[str, Any] = {"variant": "in_registers", "block": (16, 16), "size": {"": 2048}}
    assert "strides" not in said("transpose", median_s=0.0177, **run)
    on_card = said("transpose", median_s=1e-3, on=H100, **run)
    assert on_card["strides"].change == Change(variant="tiled")
    assert "each thread takes pieces of its own" in on_card["strides"].evidence
    assert "do not both run" not in on_card["strides"].evidence


# ---- occupancy


def test_shared_memory_that_leaves_few_warps_leads_to_a_block_that_takes_less() -> None:
    tile: dict[str, Any] = {
        "on": H100,
        "variant": "tiled",
        "tunables": {"TILE": 64},
        "size": {"": 4096},
    }
    advice = said(**tile, block=(256, 1))["low-occupancy"]
    assert advice.evidence == "limited by shared memory: 65.8 kB of it a block of 256 threads"
    assert advice.change is not None and advice.change.block is not None
    better = situation(**tile, block=advice.change.block).resources.occupancy
    assert better is not None and better >= 0.5


def test_registers_that_leave_few_warps_are_said() -> None:
    advice = said(on=H100, block=(32, 8), size={"": 4096}, registers=100)["low-occupancy"]
    assert advice.evidence == "limited by registers: 100 registers a thread, 256 threads a block"


def test_a_kernel_that_holds_its_tile_in_registers_is_left_alone() -> None:
    assert "low-occupancy" not in said(on=H100, block=(32, 8), size={"": 4096}, registers=200)


def test_occupancy_does_not_matter_at_the_memory_roof() -> None:
    copies: dict[str, Any] = {"on": H100, "block": (256,), "registers": 100, "size": {"": 2**26}}
    assert "low-occupancy" in said("vector_add", **copies, median_s=1e-3)
    at_roof = 3 * 4 * 2**26 / 1e-3 / 0.98
    near = {"ceilings": made_ceilings(memory=at_roof, compute=None)}
    assert "low-occupancy" not in said("vector_add", **copies, median_s=1e-3, gathered=near)


# ---- the grid


def test_too_few_blocks_for_the_multiprocessors() -> None:
    advice = said(on=H100, block=(32, 32), size={"": 128})["idle-workers"]
    assert advice.title == "116 of 132 multiprocessors have no block"
    assert advice.change is not None and advice.change.block is not None
    assert math.prod(advice.change.block) < 1024


def test_the_last_round_of_blocks_is_counted() -> None:
    # 8 blocks of 256 threads fit on each of 132 multiprocessors: 1056 at once.
    advice = said(on=H100, block=(32, 8), size={"": 560}, registers=32)["idle-workers"]
    assert "over 1\u202f056 at once take 2 rounds, the last with" in advice.evidence


def test_multiprocessors_with_unequal_numbers_of_blocks() -> None:
    advice = said(on=H100, block=(32, 8), size={"": 200})["idle-workers"]  # 7 × 25 blocks
    assert advice.evidence == (
        "175 blocks over 132 multiprocessors: 43 of them have 2, the others 1"
    )


def test_where_residency_is_not_known_only_a_lack_of_blocks_is_said() -> None:
    unknown = msgspec.structs.replace(H100, compute_capability=None)
    assert "idle-workers" not in said(on=unknown, block=(32, 8), size={"": 200})
    assert "idle-workers" in said(on=unknown, block=(32, 32), size={"": 128})


def test_cpu_threads_without_a_block() -> None:
    eight = msgspec.structs.replace(INTEL, threads=8, compute_units=9)
    advice = said(on=eight, block=(32, 32), size={"": 64})["idle-workers"]
    assert advice.title == "4 of 8 CPU threads have no block"


def test_blocks_too_small_for_a_cpu() -> None:
    advice = said("vector_add", block=(16,), median_s=6.4e-3)["tiny-blocks"]
    assert advice.change is not None and advice.change.block is not None
    assert advice.change.block[0] >= 64
    assert "tiny-blocks" not in said("vector_add", block=(1024,), median_s=2e-3)


def test_tiles_that_reach_beyond_the_size() -> None:
    advice = said(block=(32, 32), size={"": 33})["edge-tiles"]
    assert advice.evidence == "along x, 2 tiles of 32 cover 64 of N = 33"
    assert "edge-tiles" not in said(block=(32, 32), size={"": 64})


def test_tiles_of_a_tunable_count_like_those_of_the_block() -> None:
    advice = said("transpose", variant="tiled", size={"": 33}, tunables={"TILE": 32})["edge-tiles"]
    assert "2 tiles of 32 cover 64 of N = 33" in advice.evidence


def test_a_grid_of_fixed_size_has_no_tiles() -> None:
    strides: dict[str, Any] = {
        "variant": "grid_stride",
        "block": (256,),
        "size": {"": 1025 * 256 * 3 + 1},
    }
    assert "edge-tiles" not in said("vector_add", **strides)


@pytest.mark.parametrize(
    ("workload", "run"),
    [("conv2d", {"variant": "implicit_gemm"}), ("attention", {"variant": "tiled"}),
     ("conv2d", {"variant": "tiled", "size": {"B": 1}}),
     ("conv2d", {"variant": "padded", "size": {"B": 1}}),
     ("layer_norm", {"variant": "kept", "size": {"B": 1}}),
     ("spmv", {"variant": "lanes", "tunables": {"LANES": 32}}),
     ("matmul", {"variant": "packed", "size": {"N": 64}}),
     ("stencil3d", {"variant": "queue", "tunables": {"PLANES": 512}})],
)  # fmt: skip
@pytest.mark.parametrize("on", [H100, INTEL])
def test_a_grid_that_covers_a_size_with_nothing_left_over_has_no_edge(
    workload: str, on: DeviceInfo, run: dict[str, Any]
) -> None:
    assert "edge-tiles" not in said(workload, on, **run)


def test_tiles_are_those_that_the_manifest_divides_the_size_by() -> None:
    rows = said("softmax", variant="kept", size={"B": 1})["edge-tiles"]
    assert rows.title == "75 % of the threads have no element to work on"
    assert rows.evidence == "along x, 1 tile of 4 covers 4 of B = 1"
    queries = said("attention", variant="online", size={"S": 33}, block=(32,))["edge-tiles"]
    assert queries.evidence == "along y, 2 tiles of 32 cover 64 of S = 33"


# ---- roofs


def test_the_place_under_the_roof() -> None:
    at = {"ceilings": made_ceilings(memory=1e11, compute=1e12)}
    stream = said("vector_add", block=(256,), median_s=3 * 4 * 2**22 / 0.92e11, gathered=at)
    assert stream["roof"].title.startswith("Memory-bound")
    assert "92 % of the memory's measured 100 GB/s" in stream["roof"].evidence
    product = said(size={"": 1024}, block=(16, 16), median_s=2 * 1024**3 / 0.95e12, gathered=at)
    assert product["roof"].title.startswith("Compute-bound")
    slow = said(size={"": 1024}, block=(16, 16), median_s=1.0, gathered=at)
    assert slow["roof"].title.startswith("Far from the roofs")


def test_below_the_roof_the_nearer_one_is_named_and_what_is_left_of_the_time() -> None:
    at = {"ceilings": made_ceilings(memory=1e11, compute=1e12)}
    product = said(size={"": 1024}, block=(16, 16), median_s=2 * 1024**3 / 0.65e12, gathered=at)
    assert product["roof"].title == (
        "Arithmetic is the nearer roof: 35 % of the time goes into something else"
    )
    stream = said("vector_add", block=(256,), median_s=3 * 4 * 2**22 / 0.7e11, gathered=at)
    assert (
        stream["roof"].title
        == "Memory is the nearer roof: 30 % of the time goes into something else"
    )
    cache = Ceiling(kind="cache", value=2.7e10, footprint_B=1000)
    in_cache = {"ceilings": msgspec.structs.replace(made_ceilings(None, None), ceilings=(cache,))}
    cpu = msgspec.structs.replace(INTEL, last_level_cache_B=2**28)
    seconds = 3 * 4 * 2**22 / (0.75 * 2.7e10)
    held = said("vector_add", cpu, block=(256,), median_s=seconds, gathered=in_cache)
    assert (
        held["roof"].title
        == "The caches are the nearer roof: 25 % of the time goes into something else"
    )


def test_without_ceilings_nothing_is_said_of_roofs() -> None:
    assert "roof" not in said(block=(16, 16))


def test_bytes_asked_for_again_and_again_lead_to_the_tiled_variant() -> None:
    advice = said(size={"": 1024}, block=(16, 16), variant="naive", median_s=0.3)["reuse"]
    assert advice.change == Change(variant="tiled")
    small = said(size={"": 256}, block=(16, 16), variant="naive", median_s=1e-3)
    assert "reuse" not in small, "caches serve small matrices"


@pytest.mark.parametrize("variant", ["register_tile", "packed", "panels", "cache_blocked"])
@pytest.mark.parametrize("on", [H100, INTEL])
def test_fast_kernels_are_not_led_back_to_the_tiled_one(on: DeviceInfo, variant: str) -> None:
    assert "reuse" not in said(on=on, size={"": 1024}, variant=variant, median_s=0.3)


@pytest.mark.parametrize(
    ("workload", "variant", "other"),
    [("matmul", "naive", "tiled"), ("matmul", "tiled", "block_2d"),
     ("conv2d", "direct", "implicit_gemm"), ("attention", "naive", "online")],
)  # fmt: skip
def test_bytes_asked_for_again_lead_on_to_a_kernel_that_builds_on_this_one(
    workload: str, variant: str, other: str
) -> None:
    advice = said(workload, size={"": 1024}, variant=variant, median_s=0.3)["reuse"]
    assert advice.change == Change(variant=other)


def test_slow_double_precision_leads_to_single_where_arithmetic_limits() -> None:
    slow = Ceiling(kind="fma", precision="fp64", value=5e11)
    fast = Ceiling(kind="fma", precision="fp32", value=3.2e13)
    at = {"ceilings": msgspec.structs.replace(made_ceilings(None, None), ceilings=(slow, fast))}
    run: dict[str, Any] = {"on": H100, "size": {"": 2048}, "block": (32, 8), "gathered": at}
    advice = said(**run, precision="fp64", median_s=2 * 2048**3 / 4e11)["slow-precision"]
    assert advice.title == "fp32 arithmetic is 64 times as fast on this device"
    assert advice.change == Change(precision="fp32")
    assert "slow-precision" not in said(**run, precision="fp32", median_s=0.01)
    assert "slow-precision" not in said(**run, precision="fp64", median_s=1.0)


# ---- time besides the kernel


def with_transfers(upload_s: float, kernel_s: float) -> dict[str, Advice]:
    phases = Phases(allocate=0.0, host_to_device=upload_s, kernel=kernel_s, device_to_host=0.0,
                    free=0.0)  # fmt: skip
    return said(switches={"include_transfers": True}, block=(16, 16), gathered={"phases_s": phases})


def test_copies_that_dominate_are_said_and_can_be_left_out() -> None:
    advice = with_transfers(8e-3, 2e-3)["transfers"]
    assert advice.title == "Copies take 80 % of each sample"
    assert advice.evidence.endswith("; keep data on the device between kernels")
    assert advice.change == Change(include_transfers=False)
    assert advice.saves == 0, "leaving copies out of the samples saves none of them"
    assert advice.weight[1] == pytest.approx(0.8)
    assert "transfers" not in with_transfers(1e-3, 9e-3)


def test_with_transfers_only_the_kernels_share_can_be_saved() -> None:
    alone = said(block=(8, 8), median_s=1e-2)["short-rows"].saves
    phases = Phases(kernel=2e-3, host_to_device=8e-3)
    shared = said(block=(8, 8), median_s=1e-2, switches={"include_transfers": True},
                  gathered={"phases_s": phases})["short-rows"].saves  # fmt: skip
    assert shared == pytest.approx(alone * 0.2)


def test_a_launch_too_short_leads_to_a_larger_size() -> None:
    advice = said(on=H100, size={"": 64}, block=(32, 8), median_s=4e-6)["short-launch"]
    assert advice.change is not None and advice.change.size["N"] > 64
    assert advice.title == "The kernel is about as short as the launch that starts it"
    longer = said(on=H100, size={"": 64}, block=(32, 8), median_s=15e-6)["short-launch"]
    assert longer.title == "Launching takes a good part of so short a kernel"
    assert "short-launch" not in said(on=H100, size={"": 64}, block=(32, 8), median_s=40e-6)


def test_a_library_on_the_cpu_launches_nothing() -> None:
    called = msgspec.structs.replace(INTEL, libraries=("numpy.matmul",))
    found = said(on=called, variant="numpy", size={"": 16}, median_s=4e-6)
    assert "short-launch" not in found


# ---- trust


def reading(clock_Hz: float, *reasons: str) -> Reading:
    return Reading(t_ns=0, source="made", sm_clock_Hz=clock_Hz, throttle_reasons=reasons)


def test_a_clock_that_heat_or_a_fault_holds_is_said_with_its_reasons() -> None:
    readings = [reading(1.98e9), *[reading(1.4e9, "power brake", "power cap")] * 20]
    found = said(on=H100, block=(32, 8), gathered={"readings": readings})
    assert found["throttled"].evidence == "power brake; clock held at 1.40 GHz, 71 % of 1.98 GHz"
    assert "at-limit" not in found


def test_marked_samples_are_said_to_be_out_of_the_median_only_where_they_are() -> None:
    """Most of 50 samples marked: the median is theirs."""
    prepared, devices = made_prepared("matmul", H100)
    gatherer = Gatherer(prepared, shipped()["matmul"], devices)

    def evidence(marked: int) -> str:
        summary = examine(np.full(50, 1e-2), throttled=np.arange(50) < marked)
        said = throttled(gatherer.situation(summary))
        assert said is not None
        return said.evidence

    assert evidence(20) == "20 samples marked, not in the median"
    assert evidence(40) == (
        "40 samples marked, most of them, so the median is that of a throttled device"
    )


def test_the_devices_own_power_limit_is_a_remark_and_no_doubt() -> None:
    capped = [reading(1.1e9, "power cap")] * 20
    at = msgspec.structs.replace(H100, nominal_clock_Hz=2.04e9)
    run = situation(on=at, block=(32, 8), gathered={"readings": capped})
    assert throttled(run) is None
    remark = at_limit(run)
    assert remark is not None
    assert remark.kind == "place"
    assert remark.title == "The device runs at its power limit"
    assert remark.evidence == "clock at 1.10 GHz, 54 % of 2.04 GHz"
    full = situation(on=at, block=(32, 8), gathered={"readings": [reading(2.0e9, "power cap")]})
    assert at_limit(full) is None
    often = [*capped[:5], *[reading(1.1e9)] * 15]
    assert at_limit(situation(on=at, block=(32, 8), gathered={"readings": often})) is None


def test_clocks_that_somebody_chose_are_no_throttling() -> None:
    readings = [reading(1.4e9, "application clocks")] * 20
    found = said(on=H100, block=(32, 8), gathered={"readings": readings})
    assert "throttled" not in found
    assert "at-limit" not in found


def test_a_reason_seen_once_is_no_throttling() -> None:
    readings = [reading(1.98e9, "power brake"), *[reading(1.98e9)] * 50]
    assert "throttled" not in said(on=H100, block=(32, 8), gathered={"readings": readings})


def test_an_impossible_figure_comes_before_everything() -> None:
    found = advise(situation(block=(1, 256), gathered={"suspect": "twice the roof"}))
    assert (found[0].rule, found[0].evidence) == ("suspect", "twice the roof")


def test_arrays_that_stay_in_a_cache_are_not_the_memorys_speed() -> None:
    at = {"ceilings": made_ceilings(memory=1e10, compute=None)}
    fast: dict[str, Any] = {"block": (256,), "size": {"": 2**16}, "median_s": 3 * 4 * 2**16 / 5e10}
    advice = said("vector_add", **fast, gathered=at)["cached"]
    assert advice.change == Change(cache="cold")
    assert "cached" not in said("vector_add", **fast, cache="cold", gathered=at)


def test_a_run_above_a_roof_that_is_too_low_is_memory_bound_and_in_no_cache() -> None:
    """As seen after a calibration on a busy machine: 110 % of the memory's measured 20.0 GB/s."""
    cpu = msgspec.structs.replace(INTEL, last_level_cache_B=32 * 10**6)
    low, size = made_ceilings(memory=2e10, compute=None), 2**25
    large: dict[str, Any] = {"on": cpu, "block": (256,), "size": {"": size}}
    seconds = 3 * 4 * size / 2.2e10
    above = said("vector_add", **large, median_s=seconds, gathered={"ceilings": low})
    assert "cached" not in above
    assert above["roof"].title.startswith("Memory-bound")
    assert "110 % of the memory's measured 20.0 GB/s" in above["roof"].evidence
    half: dict[str, Any] = {"on": cpu, "block": (256,), "size": {"": 2**22}}
    kept = said(
        "vector_add", **half, median_s=3 * 4 * 2**22 / 4e10, gathered={"ceilings": low}
    )  # 50 MB, of which the cache may keep 32
    assert "cached" in kept
    flushed = situation("vector_add", **half, median_s=3 * 4 * 2**22 / 4e10, cache="cold",
                        gathered={"ceilings": low})  # fmt: skip
    assert not place_of(flushed).cached, "only the results may stay"


def test_roofs_of_a_brief_calibration_put_nothing_into_a_cache_and_cut_no_promise() -> None:
    brief = msgspec.structs.replace(made_ceilings(memory=1e10, compute=None), brief=True)
    at = {"ceilings": brief}
    fast: dict[str, Any] = {"size": {"": 2**16}, "median_s": 3 * 4 * 2**16 / 5e10}
    found = said("vector_add", block=(256,), **fast, gathered=at)
    assert "cached" not in found
    assert found["roof"].title.startswith("Memory-bound")
    assert "partial-warps" in said("vector_add", H100, block=(40,), **fast, gathered=at)


def test_a_cpu_without_a_spare_core_is_said_to_be_noisy() -> None:
    busy = msgspec.structs.replace(INTEL, threads=4, compute_units=4)
    run = situation(on=busy, block=(16, 16))
    noisy = replace(run, relative_error=0.08)
    advice = no_spare_core(noisy)
    assert advice is not None and advice.change == Change(threads=3)
    assert no_spare_core(replace(run, relative_error=0.01)) is None
    assert no_spare_core(replace(situation(on=INTEL, block=(16, 16)), relative_error=0.5)) is None


def test_the_caches_roof_is_the_one_for_arrays_of_this_size() -> None:
    small = Ceiling(kind="cache", value=9e10, footprint_B=500_000)
    large = Ceiling(kind="cache", value=2.7e10, footprint_B=30_000_000)
    known = msgspec.structs.replace(made_ceilings(None, None), ceilings=(large, small))
    assert cache_of(known, 1e5) is small and cache_of(known, 1e6) is small
    assert cache_of(known, 5e7) is large
    cpu = msgspec.structs.replace(INTEL, last_level_cache_B=2**28)
    run: dict[str, Any] = {"on": cpu, "block": (256,), "gathered": {"ceilings": known}}
    place = said("vector_add", **run, median_s=3 * 4 * 2**22 / 2.5e10)["roof"]
    assert place.title.startswith("Cache-bound")
    assert "93 % of the caches' measured 27.0 GB/s" in place.evidence
    cold = said("vector_add", **run, cache="cold", median_s=3 * 4 * 2**22 / 2.5e10)
    assert "roof" not in cold, "a flush leaves only main memory, which was not measured"


def test_what_the_hardware_saw_of_arrays_in_a_cache_is_held_against_no_roof_of_the_memory() -> None:
    held = msgspec.structs.replace(H100, last_level_cache_B=50 * 2**20)
    caches = Ceiling(kind="cache", value=5e12, footprint_B=2**23)
    main = Ceiling(kind="copy", value=3e12)
    known = msgspec.structs.replace(made_ceilings(None, None), ceilings=(main, caches))
    needed_B = 3 * 4 * 2**20
    run: dict[str, Any] = {"on": held, "block": (40,), "size": {"": 2**20}}

    def counted(dram_B: float | None, rate: float) -> dict[str, Advice]:
        dram = Traffic(kind="dram", read_B=dram_B, write_B=0.0, source="gpm")
        at = {"ceilings": known, "traffic": [dram] if dram_B is not None else []}
        return said("vector_add", **run, median_s=needed_B / rate, gathered=at)

    for little_B in (None, 0.0, 0.02 * needed_B):
        found = counted(little_B, 4.8e12)
        assert found["roof"].title.startswith("Cache-bound"), little_B
        assert "96 % of the caches' measured 5.00 TB/s" in found["roof"].evidence
        assert "partial-warps" not in found, "nothing is left above the roof"
    through = counted(needed_B, 2.8e12)
    assert through["roof"].title.startswith("Memory-bound")
    assert "93 % of the memory's measured 3.00 TB/s" in through["roof"].evidence


def test_of_two_counts_of_the_dram_bytes_advice_takes_the_exact_one() -> None:
    near = Traffic(kind="dram", read_B=1e6, write_B=0.0, source="gpm")
    exact = Traffic(kind="dram", read_B=3e6, write_B=1e6, source="ncu")
    for traffic in ([near, exact], [exact, near], [exact]):
        assert situation(gathered={"traffic": traffic}).dram_B == 4e6
    assert situation(gathered={"traffic": [near]}).dram_B == 1e6
    assert situation().dram_B is None


# ---- what was measured


def measured(seconds: float, **request: Any) -> Measured:
    return Measured(situation(**request).config, seconds, request.get("variant") == "numpy")


def test_what_was_faster_a_moment_ago_is_offered_with_its_figures() -> None:
    before = measured(2e-3, block=(32, 8))
    advice = said(block=(16, 16), median_s=4e-3, gathered={"others": [before]})["faster-before"]
    assert advice.change == Change(block=(32, 8, 1))
    assert advice.evidence == "measured in this session: 2.00 ms against 4.00 ms"


def test_another_question_is_not_compared() -> None:
    for other in ({"size": {"": 256}}, {"precision": "fp64"}, {"fill": "zeros"}):
        before = measured(1e-3, block=(32, 8), **other)
        assert "faster-before" not in said(
            block=(16, 16), median_s=4e-3, gathered={"others": [before]}
        )


def test_what_was_tried_and_did_not_help_is_not_suggested_again() -> None:
    run: dict[str, Any] = {"block": (16, 16), "size": {"": 1024}, "median_s": 0.07}
    tried = measured(0.08, variant="tiled", block=(16, 16), size={"": 1024})
    elsewhere = measured(9.0, variant="tiled", block=(1, 1), size={"": 1024})
    fresh = situation(variant="naive", **run, gathered={"others": [elsewhere]})
    knowing = situation(variant="naive", **run, gathered={"others": [tried]})
    assert "reuse" in [a.rule for a in advise(fresh)]
    assert "reuse" not in [a.rule for a in advise(knowing)]


# ---- the whole


def test_a_good_configuration_is_left_alone() -> None:
    found = advise(situation(size={"": 512}, block=(16, 16), median_s=0.011))
    assert found == ()


def test_three_at_most_the_most_valuable_first() -> None:
    bad = situation(on=H100, variant="naive", size={"": 40}, block=(1, 33), median_s=5e-6)
    assert len(advise(bad, most=99)) > 3
    found = advise(bad)
    assert len(found) == 3
    weights = [a.weight for a in found]
    assert weights == sorted(weights, reverse=True)


def test_no_two_cards_offer_the_same_change() -> None:
    bad = situation(on=H100, variant="naive", size={"": 40}, block=(1, 33), median_s=5e-6)
    offered = [a.change for a in advise(bad, most=99) if a.change is not None]
    assert all(offered.count(change) == 1 for change in offered)
