"""Frames carry messages whole, and anything else is noticed."""

from __future__ import annotations

import io

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine import protocol


def test_a_message_survives_the_frame() -> None:
    batch = SampleBatch(seconds=b"\x00" * 16, counts=(2,), starts_ns=(5,))
    message = protocol.Samples(generation=7, batch=batch, dropped=3)
    body = protocol.read_body(io.BytesIO(protocol.frame(message)))
    assert body is not None
    assert protocol.engine_decoder.decode(body) == message


def test_the_end_of_the_stream_is_none_and_a_torn_frame_an_error() -> None:
    whole = protocol.frame(protocol.Cancel(generation=1))
    assert protocol.read_body(io.BytesIO(b"")) is None
    for cut in range(1, len(whole)):
        with pytest.raises(protocol.ProtocolError):
            protocol.read_body(io.BytesIO(whole[:cut]))


def test_a_frame_above_the_limit_is_refused_both_ways() -> None:
    with pytest.raises(protocol.ProtocolError, match="above the limit"):
        protocol.read_body(io.BytesIO(b"\xff\xff\xff\xff"))
    huge = SampleBatch(seconds=b"\x00" * (protocol.MAX_FRAME_B + 1), counts=(), starts_ns=())
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
        message = protocol.client_decoder.decode(body)
    except msgspec.DecodeError:
        return
    assert isinstance(message, protocol.Message)
