"""The outbox keeps order, coalesces samples, and never makes the measuring thread wait."""

from __future__ import annotations

import io
import os
import select
import time
from collections import deque
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest

from gpuexplorer.core.sample import Reading, SampleBatch
from gpuexplorer.engine import outbox, protocol

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer


def batch(first: int, count: int) -> SampleBatch:
    values = np.arange(first, first + count, dtype="<f8")
    return SampleBatch(seconds=values.tobytes(), counts=(count,), starts_ns=(first,))


def received(stream: io.BytesIO) -> list[protocol.EngineMessage]:
    stream.seek(0)
    messages = []
    while (body := protocol.read_body(stream)) is not None:
        messages.append(protocol.engine_decoder().decode(body))
    return messages


def test_samples_are_coalesced_in_order_and_before_what_follows() -> None:
    stream = io.BytesIO()
    box = outbox.Outbox(stream)
    for i in range(1000):
        box.put_samples(3, batch(i * 4, 4))
    box.put(protocol.Cancelled(generation=3))
    box.close()
    messages = received(stream)
    assert isinstance(messages[-1], protocol.Cancelled)
    samples = [m for m in messages if isinstance(m, protocol.Samples)]
    assert len(samples) < 100
    series = np.concatenate([m.batch.durations_s for m in samples])
    assert np.array_equal(series, np.arange(4000.0))
    assert sum(len(m.batch.counts) for m in samples) == 1000


def test_what_a_batch_says_of_itself_travels_with_it() -> None:
    first = msgspec.structs.replace(batch(0, 2), launches=(50,), clocks_Hz=(1.5e9,))
    second = msgspec.structs.replace(batch(2, 3), launches=(1,), clocks_Hz=(None,))
    joined = outbox.merge(deque([first, second]))
    assert joined.counts == (2, 3)
    assert (joined.launches, joined.clocks_Hz) == ((50, 1), (1.5e9, None))


class Suspended(io.BytesIO):
    """A pipe without a buffer, whose writer is suspended and continued again and again."""

    def write(self, data: Buffer) -> int:
        return super().write(memoryview(data)[:1000])


def test_a_frame_is_written_whole_however_often_the_process_is_suspended() -> None:
    stream = Suspended()
    box = outbox.Outbox(stream)
    box.put_samples(1, batch(0, 10_000))
    box.put(protocol.Cancelled(generation=1))
    box.close()
    samples, last = received(stream)
    assert isinstance(samples, protocol.Samples) and isinstance(last, protocol.Cancelled)
    assert np.array_equal(samples.batch.durations_s, np.arange(10_000.0))


def test_samples_of_two_runs_never_share_a_message() -> None:
    stream = io.BytesIO()
    box = outbox.Outbox(stream)
    for generation in (1, 2, 1):
        box.put_samples(generation, batch(generation, 1))
    box.close()
    samples = [m for m in received(stream) if isinstance(m, protocol.Samples)]
    assert [m.generation for m in samples] == [1, 2, 1]


def test_the_first_samples_of_a_run_wait_for_no_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """A knob was moved for them; what follows is told so many times a second."""
    monkeypatch.setattr(outbox, "SAMPLE_FRAMES_PER_S", 1 / 600)
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "wb", buffering=0) as writer, os.fdopen(read_end, "rb", 0) as reader:
        box = outbox.Outbox(writer)
        for generation in (1, 2):
            box.put_samples(generation, batch(0, 1))
            assert select.select([reader], [], [], 30.0)[0], f"nothing is told of run {generation}"
            body = protocol.read_body(reader)
            assert body is not None
            samples = protocol.engine_decoder().decode(body)
            assert isinstance(samples, protocol.Samples) and samples.generation == generation
        box.put_samples(2, batch(1, 1))
        assert not select.select([reader], [], [], 0.2)[0], "these wait for the frame"
        box.close()
        assert select.select([reader], [], [], 0.0)[0]


def test_a_client_that_does_not_read_costs_samples_but_neither_time_nor_memory() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "wb", buffering=0) as writer, os.fdopen(read_end, "rb") as reader:
        box = outbox.Outbox(writer)
        started = time.perf_counter()
        for i in range(300):
            box.put_samples(1, batch(i * 10_000, 10_000))
        assert time.perf_counter() - started < 30.0  # it would wait for ever
        assert box._pending_B <= outbox.MAX_PENDING_B
        box.put(protocol.Cancelled(generation=1))
        seen, dropped = 0, 0
        while (body := protocol.read_body(reader)) is not None:
            message = protocol.engine_decoder().decode(body)
            if isinstance(message, protocol.Cancelled):
                break
            assert isinstance(message, protocol.Samples)
            seen += sum(message.batch.counts)
            dropped += message.dropped
        assert dropped > 0
        assert seen + dropped == 3_000_000
        box.close()


def test_samples_with_phases_that_wait_fit_into_a_frame() -> None:
    """Each takes six times as much as one without, and the client may be away for long."""
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "wb", buffering=0) as writer, os.fdopen(read_end, "rb") as reader:
        box = outbox.Outbox(writer)
        box.put_samples(1, batch(0, 100_000))  # more than the pipe takes
        phases = np.ones((1000, 5)).tobytes()
        for i in range(450):
            box.put_samples(2, msgspec.structs.replace(batch(i * 1000, 1000), phases_s=phases))
        box.put(protocol.Cancelled(generation=2))
        seen, dropped = 0, 0
        while (body := protocol.read_body(reader)) is not None:
            message = protocol.engine_decoder().decode(body)
            if isinstance(message, protocol.Cancelled):
                break
            assert isinstance(message, protocol.Samples)
            seen += sum(message.batch.counts)
            dropped += message.dropped
        assert dropped > 0 and seen + dropped == 100_000 + 450 * 1000
        box.close()


def test_an_outbox_that_cannot_write_any_more_ends_its_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The client takes the end of the stream for the engine's, and starts another one."""
    monkeypatch.setattr(protocol, "MAX_FRAME_B", 100)
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "wb", buffering=0) as writer, os.fdopen(read_end, "rb", 0) as reader:
        box = outbox.Outbox(writer)
        box.put_samples(1, batch(0, 1000))
        assert select.select([reader], [], [], 30.0)[0], "the client waits for ever"
        assert reader.read(1) == b""
        box.close()


def test_a_message_that_cannot_be_encoded_fails_where_it_is_put() -> None:
    stream = io.BytesIO()
    box = outbox.Outbox(stream)
    with pytest.raises(OverflowError):
        box.put(protocol.Cancelled(generation=2**70))
    box.put(protocol.Cancelled(generation=3))
    box.close()
    assert received(stream) == [protocol.Cancelled(generation=3)]


def test_readings_pile_up_neither_alone_nor_as_pieces_of_the_samples() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "wb", buffering=0) as writer, os.fdopen(read_end, "rb"):
        box = outbox.Outbox(writer)
        reading = Reading(t_ns=1, source="x")
        for i in range(2000):  # the client is stopped, and the pipe is soon full
            box.put_samples(1, batch(i * 1000, 1000))
            box.put(protocol.Telemetry(device="opencl:0", reading=reading))
        assert len(box._messages) <= 2 * outbox.MAX_PENDING_READINGS
        assert box._pending_B <= outbox.MAX_PENDING_B


def step(name: str) -> protocol.Stage:
    return protocol.Stage(generation=1, name=name)


def told(stream: io.BytesIO, names: int) -> list[str]:
    """Return the steps that were told, once there are so many."""
    limit = time.monotonic() + 30.0
    while True:
        messages = received(io.BytesIO(stream.getvalue()))
        found = [m.name for m in messages if isinstance(m, protocol.Stage)]
        if len(found) >= names:
            return found
        assert time.monotonic() < limit, found
        time.sleep(0.001)


def test_a_step_that_lasts_is_told_and_one_that_is_over_soon_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox, "SOON_S", 0.2)
    stream = io.BytesIO()
    box = outbox.Outbox(stream)
    box.put_soon(step("check"))
    box.put(step("build"))
    box.put_soon(step("compare"))
    box.put_soon(step("measure"))
    assert box.told == "build"
    box.put_samples(1, batch(0, 4))  # the step goes on
    assert told(stream, 2) == ["build", "measure"]
    assert box.told == "measure"
    box.put_soon(step("memory"))
    box.put(protocol.Cancelled(generation=1))
    box.close()
    messages = received(stream)
    steps = [m.name for m in messages if isinstance(m, protocol.Stage)]
    assert steps == ["build", "measure"]


def test_a_step_is_told_however_long_nothing_was_said_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox, "SOON_S", 0.01)
    stream = io.BytesIO()
    box = outbox.Outbox(stream)
    limit = time.monotonic() + 30.0
    while not box._sleeps:
        assert time.monotonic() < limit
        time.sleep(0.001)
    box.put_soon(step("measure"))
    assert told(stream, 1) == ["measure"]
    box.close()


def test_what_may_wait_comes_with_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "SOON_S", 30.0)
    stream = io.BytesIO()
    box = outbox.Outbox(stream)
    waits(box)
    before = stream.getvalue()
    box.put(step("measure"), soon=True)
    box.put_samples(1, batch(0, 4), soon=True)
    assert stream.getvalue() == before == b""
    box.put(protocol.Cancelled(generation=1))
    box.close()
    assert [type(m).__name__ for m in received(stream)] == ["Stage", "Samples", "Cancelled"]


def test_what_may_wait_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "SOON_S", 0.01)
    stream = io.BytesIO()
    box = outbox.Outbox(stream)
    box.put(step("measure"), soon=True)
    assert told(stream, 1) == ["measure"]
    box.close()


def waits(box: outbox.Outbox) -> None:
    """Return once the writing thread has nothing to do."""
    limit = time.monotonic() + 30.0
    while not box._waits:
        assert time.monotonic() < limit
        time.sleep(0.001)


@pytest.mark.skipif(
    not hasattr(select, "poll"), reason="no system call tells whether there is room"
)
def test_a_short_message_is_written_without_another_thread_as_long_as_there_is_room() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "wb", buffering=0) as writer, os.fdopen(read_end, "rb") as reader:
        box = outbox.Outbox(writer)
        waits(box)
        box.put(protocol.Cancelled(generation=7))
        assert select.select([reader], [], [], 0)[0], "it is there when put returns"
        body = protocol.read_body(reader)
        assert body is not None
        assert protocol.engine_decoder().decode(body) == protocol.Cancelled(generation=7)
        piece = b"x" * select.PIPE_BUF
        while protocol.write_at_once(writer, piece):  # until the pipe is full
            pass
        waits(box)
        began = time.monotonic()
        box.put(protocol.Cancelled(generation=8))  # the thread's, which waits for room
        assert time.monotonic() - began < 20.0
        assert not protocol.write_at_once(writer, b"x")
    box.close()


def test_where_the_system_does_not_tell_of_room_nothing_is_written_at_once() -> None:
    stream = io.BytesIO()
    assert not protocol.write_at_once(stream, b"x")
    assert stream.getvalue() == b""
