"""A run that ends after a number of samples, and arrays that stay for the next one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec
import pytest

from gpuexplorer.core.accesses import AccessProfile
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.sample_block import unpacked
from gpuexplorer.engine import accesses, protocol
from gpuexplorer.engine.accesses import count_requests
from gpuexplorer.engine.receiver import Receiver
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load

WORKLOAD = load()["vector_add"]


@pytest.fixture(scope="module")
def session() -> Iterator[EngineSession]:
    with EngineSession(threads=1) as session:
        yield session


def config_of(session: EngineSession, block: int) -> RunConfig:
    request = RunRequest(
        workload="vector_add", size={"": 4096}, block=(block, 1, 1), device="cpu", threads=1
    )
    return complete(request, WORKLOAD, session.devices())


@pytest.mark.parametrize("samples", [1, 7, 300])
def test_a_run_ends_after_exactly_so_many_samples(session: EngineSession, samples: int) -> None:
    record = session.measure(
        config_of(session, 64), WORKLOAD, RunOptions(seconds=None, samples=samples, warm_up_s=0.001)
    )
    assert record.samples == samples
    assert record.result().timing.stopped_by == "samples"


def test_a_run_whose_result_changed_later_is_not_called_right(session: EngineSession) -> None:
    record = session.measure(config_of(session, 64), WORKLOAD, RunOptions(samples=3))
    assert record.result().verified
    run = Receiver(record.prepared.config)
    run.take(record.prepared)
    run.take(protocol.Samples(generation=1, batch=unpacked(record.batches[0])))
    run.take(protocol.Failed(generation=1, kind="wrong-result", what="the result changes"))
    assert run.record is not None
    partial = run.record.result()
    assert not partial.verified
    assert partial.timing.stopped_by == "failed"
    assert partial.verification is not None and "another result" in partial.verification.method


def test_an_interrupt_while_the_last_word_is_taken_in_ends_the_run(
    session: EngineSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waited for a word that had come."""
    take = Receiver.take

    def interrupted(self: Receiver, told: Any) -> bool:
        if isinstance(told, protocol.Finished):
            raise KeyboardInterrupt
        return take(self, told)

    monkeypatch.setattr(Receiver, "take", interrupted)
    config = config_of(session, 16)
    with pytest.raises(KeyboardInterrupt):
        session.measure(config, WORKLOAD, RunOptions(samples=5))
    assert session.record is not None and session.record.samples == 5
    monkeypatch.undo()
    assert session.measure(config, WORKLOAD, RunOptions(samples=5)).samples == 5


def test_time_may_end_it_before(session: EngineSession) -> None:
    record = session.measure(
        config_of(session, 64), WORKLOAD, RunOptions(seconds=0.05, samples=1_000_000, warm_up_s=0.0)
    )
    assert 0 < record.samples < 1_000_000
    assert record.result().timing.stopped_by == "time"


def test_arrays_that_were_kept_are_not_made_again(session: EngineSession) -> None:
    first = session.measure(
        config_of(session, 64), WORKLOAD, RunOptions(seconds=None, samples=3, keep_arrays=True)
    ).result()
    assert first.phases_s.free is None, "they are still there"
    second = session.measure(
        config_of(session, 128), WORKLOAD, RunOptions(seconds=None, samples=3)
    ).result()
    assert second.verified
    assert second.phases_s.allocate == first.phases_s.allocate
    assert second.phases_s.host_to_device == first.phases_s.host_to_device
    assert second.phases_s.free is not None


class Interrupted:
    """A session in which counting ends as it was told to."""

    def __init__(self, end: BaseException) -> None:
        self.end = end

    def accesses(self, *_: object, **__: object) -> AccessProfile:
        raise self.end


def unstated(record: RunRecord) -> RunRecord:
    """Return a run whose manifest does not say what its threads ask for."""
    record.prepared = msgspec.structs.replace(record.prepared, traffic=[])
    return record


@pytest.mark.parametrize("end", [KeyboardInterrupt(), WorkFailed("the engine ended")])
def test_what_ends_the_counting_after_a_run_costs_the_counts_alone(
    session: EngineSession, end: BaseException
) -> None:
    config = config_of(session, 64)
    record = unstated(session.measure(config, WORKLOAD, RunOptions(samples=3)))
    assert count_requests(session, record, WORKLOAD)
    assert count_requests(cast(EngineSession, Interrupted(end)), record, WORKLOAD) == ()


def test_a_block_that_takes_long_is_not_run_again_to_be_counted(
    session: EngineSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_of(session, 64)
    record = unstated(session.measure(config, WORKLOAD, RunOptions(samples=3)))
    monkeypatch.setattr(accesses, "LONGEST_BLOCK_S", 0.0)
    unused = cast(EngineSession, Interrupted(AssertionError("it was counted")))
    assert count_requests(unused, record, WORKLOAD) == ()
