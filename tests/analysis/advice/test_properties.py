"""What holds for every plausible situation, whatever is measured on whatever device."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuexplorer.analysis.advice import shape
from gpuexplorer.analysis.advice.advice import MOST_SHOWN
from gpuexplorer.analysis.advice.choose import RULES, advise
from gpuexplorer.analysis.advice.roofs import place_of
from gpuexplorer.analysis.advice.rules_lanes import partial_warps, short_rows
from gpuexplorer.analysis.advice.rules_measured import faster_before
from gpuexplorer.analysis.advice.rules_occupancy import low_occupancy
from gpuexplorer.analysis.advice.rules_orientation import orientation
from gpuexplorer.analysis.advice.situation import Measured, Situation
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.result import Phases
from gpuexplorer.core.sample import Reading
from gpuexplorer.workloads.change import changed
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.planning import make_plan
from tests.support.situations import H100, INTEL, POCL, made_ceilings, shipped, situation

GAMING = msgspec.structs.replace(
    H100, id="cuda:1", name="RTX", compute_units=30, compute_capability=(8, 6)
)
MANY_CORES = msgspec.structs.replace(INTEL, threads=63, compute_units=64)
DEVICES = (H100, GAMING, INTEL, MANY_CORES, POCL)
KERNELS = [
    (name, variant)
    for name, workload in shipped().items()
    for variant, spec in workload.manifest.variants.items()
    if spec.library is None
]
seconds = st.floats(1e-7, 10.0)
times = st.one_of(st.none(), seconds)


@st.composite
def situations(draw: st.DrawFn, on: DeviceInfo | None = None) -> Situation:
    """Draw the situation of a run that could be."""
    workload, variant = draw(st.sampled_from(KERNELS))
    spec = shipped()[workload].variant(variant)
    device = on or draw(st.sampled_from(DEVICES))
    block: tuple[int, ...] = ()
    for _ in range(max(1, spec.dimensions)):
        room = 1024 // math.prod(block)
        powers = st.sampled_from([1 << k for k in range(room.bit_length())])
        block = (*block, draw(st.one_of(st.integers(1, room), powers)))
    tunables = {
        name: draw(st.sampled_from(tunable.values))
        for name, tunable in spec.tunables.items()
        if tunable.values
    }
    gathered: dict[str, Any] = {
        "phases_s": Phases(
            allocate=draw(times), host_to_device=draw(times), kernel=draw(times),
            device_to_host=draw(times), free=draw(times),
        ),
        "readings": [
            Reading(t_ns=i, source="made", sm_clock_Hz=clock, throttle_reasons=reasons)
            for i, (clock, reasons) in enumerate(
                draw(
                    st.lists(
                        st.tuples(
                            st.one_of(st.none(), st.floats(1e8, 3e9)),
                            st.one_of(
                                st.none(),
                                st.sampled_from(
                                    [(), ("power cap",), ("power brake",), ("application clocks",)]
                                ),
                            ),
                        ),
                        max_size=3,
                    )
                )
            )
        ],
        "ceilings": draw(
            st.one_of(
                st.none(),
                st.builds(
                    made_ceilings,
                    st.one_of(st.none(), st.floats(1e9, 1e13)),
                    st.one_of(st.none(), st.floats(1e9, 1e15)),
                ),
            )
        ),
        "suspect": draw(st.one_of(st.none(), st.just("above the roof"))),
    }  # fmt: skip
    try:
        made = situation(
            workload,
            device,
            variant=variant,
            block=block,
            tunables=tunables,
            size={"": draw(st.integers(1, 3000))},
            precision=draw(st.sampled_from(["fp32", "fp64", "fp16"])),
            median_s=draw(seconds),
            registers=draw(st.integers(16, 255)),
            switches=draw(st.sampled_from([{}, {"include_transfers": True}])),
            gathered=gathered,
        )
    except ExplorerError:
        assume(False)  # this block or precision cannot be launched
        raise
    return made


def follow(made: Situation, change: Any, median_s: float | None = None) -> Situation:
    """Return the situation after a change, in the same time unless told otherwise."""
    workload = shipped()[made.config.workload]
    request = changed(made.config, change, workload)
    fields = {
        name: getattr(request, name)
        for name in ("variant", "size", "block", "precision", "tunables", "cache", "switches")
    }
    registers = made.resources.registers_per_thread or 32
    return situation(
        made.config.workload, made.device, registers=registers,
        median_s=median_s or made.median_s, **fields,
    )  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(situations())
def test_no_rule_ever_fails_and_what_it_says_is_a_sentence_with_figures(made: Situation) -> None:
    for rule in RULES:
        advice = rule(made)
        if advice is None:
            continue
        assert 0 <= advice.saves <= 1
        assert advice.title and not advice.title.endswith(".")
        assert advice.title[0].isupper() or advice.title[0].isdigit()
        assert any(c.isdigit() for c in advice.evidence) or advice.rule in ("suspect", "throttled")
        assert "None" not in advice.evidence + advice.title
        assert "–" not in advice.evidence, "a figure that is not known"


@settings(max_examples=100, deadline=None)
@given(
    situations(),
    st.dictionaries(st.sampled_from(["A", "B"]), st.integers(-4, 4)),
    st.sampled_from([0.0, 5e-324, 1e-3, 1e300]),
    st.sampled_from([0.0, 5e-324, 1e300]),
)
def test_no_rule_fails_over_tunables_that_are_no_lengths_or_over_extreme_times(
    made: Situation, tunables: dict[str, int], median_s: float, other_s: float
) -> None:
    config = msgspec.structs.replace(made.config, tunables=made.config.tunables | tunables)
    another = Measured(msgspec.structs.replace(config, block=(64, 1, 1)), other_s)
    offered = made.tunables | {name: (value,) for name, value in tunables.items()}
    odd = replace(made, config=config, tunables=offered, median_s=median_s, others=(another,))
    assert len(advise(odd)) <= MOST_SHOWN


@settings(max_examples=100, deadline=None)
@given(situations())
def test_at_most_three_are_shown_and_every_change_can_be_launched(made: Situation) -> None:
    found = advise(made)
    assert len(found) <= MOST_SHOWN
    workload, devices = shipped()[made.config.workload], DeviceList(devices=(made.device,))
    for advice in found:
        if advice.change is None:
            continue
        config = complete(changed(made.config, advice.change, workload), workload, devices)
        plan = make_plan(workload, config, made.device)
        assert plan.config != made.config, "a change changes something"


@settings(max_examples=50, deadline=None)
@given(situations())
def test_following_advice_on_the_block_comes_to_an_end(made: Situation) -> None:
    seen = [made.config.block]
    for _ in range(8):
        blocks = [a for a in advise(made) if a.change is not None and a.change.block is not None]
        if not blocks:
            return
        change = blocks[0].change
        assert change is not None
        made = follow(made, change)
        assert made.config.block not in seen, f"round and round: {seen}"
        seen.append(made.config.block)
    raise AssertionError(f"no end: {seen}")


@settings(max_examples=50, deadline=None)
@given(situations(), st.floats(1.01, 100.0), st.floats(0.05, 1.0))
def test_the_nearer_a_roof_the_less_is_promised(
    made: Situation, factor: float, share: float
) -> None:
    assume(not made.config.include_transfers)
    roof = made.launch.compulsory_B / made.median_s / share
    near = replace(made, ceilings=made_ceilings(memory=roof, compute=None))
    far = replace(near, median_s=near.median_s * factor)
    assert place_of(near).attained == pytest.approx(share)
    for rule in (partial_warps, short_rows, orientation, low_occupancy):
        says_near, says_far = rule(near), rule(far)
        if says_near is not None:
            assert says_far is not None and says_far.saves >= says_near.saves
            assert says_near.saves <= 1 - share + 1e-9


@given(st.integers(1, 1023))
def test_lanes_in_use_are_all_of_them_only_for_whole_warps_and_vectors(x: int) -> None:
    assert (shape.warp_lanes((x, 1, 1)) == 1) == (x % 32 == 0)
    assert (shape.vector_lanes((x, 1, 1)) == 1) == (x % 16 == 0)
    assert 0 < shape.warp_lanes((x, 1, 1)) <= 1
    assert 0 < shape.vector_lanes((x, 1, 1)) <= 1


@given(st.integers(1, 5))
def test_longer_runs_of_neighbours_never_look_worse(exponent: int) -> None:
    def promised(x: int) -> float:
        advice = orientation(situation(on=H100, variant="naive", block=(x, 32)))
        return advice.saves if advice is not None else 0.0

    assert promised(2**exponent) <= promised(2 ** (exponent - 1))


@settings(max_examples=40, deadline=None)
@given(situations(on=H100))
def test_a_warp_never_has_more_neighbours_than_threads(made: Situation) -> None:
    if made.block is not None:
        for axis in ("x", "y"):
            assert 1 <= shape.run_of(made.block, axis) <= 32
        assert shape.residency(made, made.block, made.resources.shared_B or 0) is not None
        assert 0 < shape.balance(made, made.launch) <= 1
        assert 0 < shape.covering(made.launch) <= 1
        assert math.prod(made.block) == made.launch.threads_per_block or made.launch.blocks


@settings(max_examples=40, deadline=None)
@given(situations(), seconds)
def test_what_was_measured_faster_is_promised_exactly(made: Situation, other_s: float) -> None:
    assume(made.block is not None)
    before = Measured(msgspec.structs.replace(made.config, block=(64, 1, 1)), other_s)
    advice = faster_before(replace(made, others=(before,)))
    if advice is not None:
        assert advice.saves == 1 - other_s / made.median_s
        assert other_s < made.median_s
