"""Before a long run the device rests, where something counts its energy."""

from __future__ import annotations

import io
import threading
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.sample import Reading
from gpuexplorer.engine import protocol
from gpuexplorer.engine.server import FIRST_READING_S, REST_S, Server, _RunSink
from gpuexplorer.workloads.loader import load, pick
from tests.support.prepared import prepared


def server(latest: Reading | None) -> Server:
    made = Server(io.BytesIO(), io.BytesIO(), 1)
    made._sampler = cast(Any, SimpleNamespace(latest=latest))
    made._latest = 1
    return made


def rested_s(one: Server) -> float:
    began = time.monotonic()
    one.rest(1)
    return time.monotonic() - began


def test_a_device_whose_energy_is_counted_rests_long_enough_to_tell_its_power() -> None:
    assert rested_s(server(Reading(t_ns=0, source="x", energy_J=1.0))) >= REST_S


@pytest.mark.parametrize("latest", [None, Reading(t_ns=0, source="x")])
def test_any_other_does_not(latest: Reading | None) -> None:
    assert rested_s(server(latest)) < REST_S
    assert REST_S > 2 * FIRST_READING_S


@pytest.mark.parametrize(
    ("options", "tells"),
    [
        (RunOptions(seconds=10.0), True),
        (RunOptions(seconds=5.0), False),
        (RunOptions(seconds=10.0, max_noise=0.01), False),
        (RunOptions(seconds=10.0, samples=30), False),  # of a search, over long before
        (RunOptions(), False),
    ],
)
def test_a_run_that_is_to_end_before_its_energy_is_known_needs_no_rest(
    options: RunOptions, tells: bool
) -> None:
    config = prepared().config
    run = protocol.Run(generation=1, config=config, workload_sha256="", options=options)
    sink = _RunSink(run, pick(load([]), "matmul"), server(None))
    assert sink._tells_energy is tells
    sink.close()


def test_a_cancelled_run_does_not_rest_on() -> None:
    one = server(Reading(t_ns=0, source="x", energy_J=1.0))
    ended = threading.Event()

    def rest() -> None:
        one.rest(1)
        ended.set()

    thread = threading.Thread(target=rest)
    thread.start()
    one._take(protocol.Cancel(generation=1))
    assert ended.wait(REST_S / 2)
    thread.join()
