"""Before a long run the device rests, where something counts its energy."""

from __future__ import annotations

import io
import threading
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gpuexplorer.core.sample import Reading
from gpuexplorer.engine import protocol
from gpuexplorer.engine.server import FIRST_READING_S, REST_S, Server


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
