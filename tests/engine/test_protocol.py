"""Frames carry messages whole, and anything else is noticed."""

from __future__ import annotations

import io
import math
import struct
import subprocess

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core.equal_parts import reusing
from gpuexplorer.core.result import Traffic
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine import protocol
from gpuexplorer.engine.process import engine_command
from tests.support.prepared import prepared


def test_a_message_survives_the_frame() -> None:
    batch = SampleBatch(seconds=b"\x00" * 16, counts=(2,), starts_ns=(5,))
    message = protocol.Samples(generation=7, batch=batch, dropped=3)
    body = protocol.read_body(io.BytesIO(protocol.frame(message)))
    assert body is not None
    assert protocol.engine_decoder().decode(body) == message


def test_the_end_of_the_stream_is_none_and_a_torn_frame_an_error() -> None:
    whole = protocol.frame(protocol.Cancel(generation=1))
    assert protocol.read_body(io.BytesIO(b"")) is None
    for cut in range(1, len(whole)):
        with pytest.raises(protocol.ProtocolError):
            protocol.read_body(io.BytesIO(whole[:cut]))


def test_a_run_that_is_prepared_as_the_one_before_shares_its_parts_and_says_its_own() -> None:
    before = protocol.engine_decoder().decode(msgspec.msgpack.encode(prepared()))
    assert isinstance(before, protocol.Prepared)
    config = msgspec.structs.replace(before.config, block=(32, 8, 1))
    more = [*before.traffic, Traffic(kind="requested", read_B=9, write_B=9, source="model")]
    sent = msgspec.structs.replace(before, generation=2, config=config, traffic=more, flops=-1.0)
    told = protocol.engine_decoder().decode(msgspec.msgpack.encode(sent))
    kept = reusing(told, before)
    assert kept == told == sent
    assert isinstance(kept, protocol.Prepared)
    assert kept.config.size is before.config.size and kept.config.block == (32, 8, 1)
    for part in ("device", "environment", "verification", "resources", "phases_s"):
        assert getattr(kept, part) is getattr(before, part) is not getattr(told, part)
    assert reusing(told, None) is told
    assert reusing([1.0, "a"], [1.0, "b"]) == [1.0, "a"]


@pytest.mark.parametrize(
    "parts",
    [
        {"seconds": b"\x00" * 15}, {"seconds": struct.pack("<2d", 1.0, math.nan)},
        {"seconds": struct.pack("<2d", 1.0, 1e300)}, {"counts": (3,)},
        {"counts": (3, -1)}, {"starts_ns": ()},
        {"phases_s": ((0.0,) * 5,)}, {"phases_s": b"\x00" * 41}, {"phases_s": b"\x00" * 40},
        {"launches": (0,)}, {"launches": (1, 1)},
        {"clocks_Hz": (1e9, 1e9)},
    ],
)  # fmt: skip
def test_samples_that_do_not_hold_together_are_no_message(parts: dict[str, object]) -> None:
    whole = {"seconds": b"\x00" * 16, "counts": (2,), "starts_ns": (5,)}
    body = {"type": "Samples", "generation": 1, "batch": whole}
    sent = msgspec.msgpack.encode(body)
    assert isinstance(protocol.engine_decoder().decode(sent), protocol.Samples)
    spoiled = msgspec.msgpack.encode(body | {"batch": whole | parts})
    with pytest.raises(msgspec.ValidationError, match="does not hold together"):
        protocol.engine_decoder().decode(spoiled)


def test_a_frame_above_the_limit_is_refused_both_ways() -> None:
    with pytest.raises(protocol.ProtocolError, match="above the limit"):
        protocol.read_body(io.BytesIO(b"\xff\xff\xff\xff"))
    samples = protocol.MAX_FRAME_B // 8 + 1
    huge = SampleBatch(seconds=b"\x00" * (8 * samples), counts=(samples,), starts_ns=(0,))
    with pytest.raises(protocol.ProtocolError, match="above the limit"):
        protocol.frame(protocol.Samples(generation=1, batch=huge))


@given(st.binary(max_size=300))
def test_what_a_login_shell_prints_before_the_preamble_is_skipped(noise: bytes) -> None:
    stream = io.BytesIO(noise + protocol.PREAMBLE + b"rest")
    if protocol.PREAMBLE not in noise + protocol.PREAMBLE[:-1]:
        assert protocol.skip_to_preamble(stream) == noise
        assert stream.read() == b"rest"


def test_no_preamble_says_what_was_printed_instead() -> None:
    with pytest.raises(protocol.ProtocolError, match="command not found"):
        protocol.skip_to_preamble(io.BytesIO(b"python: command not found\n"))


@given(st.binary(max_size=200))
def test_random_bodies_are_refused_not_obeyed(body: bytes) -> None:
    try:
        message = protocol.client_decoder().decode(body)
    except msgspec.DecodeError:
        return
    assert isinstance(message, protocol.Message)


def test_an_engine_that_is_sent_what_it_cannot_read_ends() -> None:
    """A reader that died alone would leave an engine that hears nothing any more."""
    body = msgspec.msgpack.encode({"type": "Cancel", "generation": 1}).replace(
        b"Cancel", b"\xa8" * 6
    )
    hello = protocol.Hello(protocol=protocol.PROTOCOL, client_version="0")
    sent = protocol.frame(hello) + len(body).to_bytes(4, "little") + body
    engine = subprocess.Popen(
        engine_command(1, framed=True), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    with engine:
        assert engine.stdin is not None and engine.stderr is not None
        engine.stdin.write(sent)
        engine.stdin.flush()
        assert engine.wait(60) == 0  # its input is still open
        assert b"unreadable message" in engine.stderr.read()
