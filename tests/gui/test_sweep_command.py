"""A wanted sweep of the window: the command that spans the same space, and what it will take."""

from __future__ import annotations

import shlex
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuexplorer.cli.parser import parse
from gpuexplorer.cli.sweep import space_of
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.knobs import values_of
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.gui.model.sweep_preview import estimate, preview, sweep_command
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.space import Axis, Space
from gpuexplorer.workloads.loader import load
from tests.core.test_knobs import REQUESTS
from tests.support.prepared import prepared
from tests.support.studies import cpu, devices

MATMUL = load()["matmul"].manifest
AXES: Any = st.fixed_dictionaries(
    {"size.N": st.lists(st.integers(1, 10**6), min_size=2, max_size=6, unique=True)},
    optional={
        "block.x": st.lists(st.integers(1, 1024), min_size=2, max_size=6, unique=True),
        "precision": st.just(["fp32", "fp64"]),
        "variant": st.just(["naive", "tiled"]),
        "tunable.TILE": st.just([8, 16, 32]),
        "cache": st.just(["hot", "cold"]),
        "threads": st.lists(st.integers(1, 64), min_size=2, max_size=3, unique=True),
    },
)


@given(AXES, REQUESTS)
@settings(deadline=None)
def test_the_command_of_a_sweep_spans_the_same_space(
    axes: dict[str, list[Any]], base: RunRequest
) -> None:
    size = {symbol: value for symbol, value in base.size.items() if symbol}
    base = msgspec.structs.replace(base, workload="matmul", size=size)
    space = Space(base, tuple(Axis(name, tuple(values)) for name, values in axes.items()))
    words = shlex.split(sweep_command(space, Measuring()))[1:]
    again = space_of(parse(words), MATMUL)
    assert {name: axis.values for name, axis in again.by_name.items() if name in axes} == {
        name: tuple(values) for name, values in axes.items()
    }
    varied = {name.partition(".")[0] for name in axes}
    for name, value in values_of(base).items():
        if name not in axes and not ("block" in varied and name == "block"):
            assert values_of(again.base)[name] == value


def test_what_the_live_run_does_between_launches_is_a_cost_of_the_sweep() -> None:
    live = RunRecord(prepared())
    starts_s = [*np.arange(20) * 0.05, *(60 + np.arange(20) * 0.05)]  # held for a minute
    for start_s in starts_s:  # ten samples of 1 ms in 50 ms
        live.add(
            SampleBatch(
                seconds=np.full(10, 1e-3).tobytes(),
                counts=(10,),
                starts_ns=(int(start_s * 1e9),),
            )
        )
    left = estimate(
        load()["matmul"],
        Measuring(samples=10),
        [prepared().config] * 20,
        DeviceList(devices=()),
        lambda device: None,
        live,
    )
    built_s = prepared().phases_s.compile or 0.0
    assert left.seconds == pytest.approx(20 * (10 * 5e-3 + 0.02 + built_s), rel=0.01)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (Measuring(), "Takes at most 31 s"),
        (Measuring(allow_long=True), "How long it takes is not known yet"),
    ],
)
def test_the_form_says_how_long_it_takes_as_far_as_that_is_known(how: Measuring, said: str) -> None:
    space = Space(RunRequest(workload="matmul", variant="naive"), (Axis("size.N", (64, 128)),))
    found = preview(space, load()["matmul"], devices(cpu()), how, lambda device: None, None)
    assert found.estimate == said
