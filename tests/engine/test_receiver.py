"""What came of a run is read from its messages in one place: samples, losses, errors."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from gpuexplorer.core.errors import ExplorerError, InputError, WorkFailed, WrongResult
from gpuexplorer.core.memory import MemoryUse
from gpuexplorer.core.result import Phases
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.sample import Reading, SampleBatch
from gpuexplorer.core.telemetry import Counters
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import EngineLost
from gpuexplorer.engine.errors import EngineGone, EngineKilled, LongRun
from gpuexplorer.engine.receiver import Receiver
from tests.support.prepared import prepared

CONFIG = prepared().config
COUNTERS = Counters(kernels=("matmul",), dram_read_B=64.0, dram_write_B=32.0)


def samples(dropped: int = 0) -> protocol.Samples:
    batch = SampleBatch(
        seconds=np.full(20, 1e-3).astype("<f8").tobytes(), counts=(20,), starts_ns=(1,)
    )
    return protocol.Samples(generation=1, batch=batch, dropped=dropped)


def read(*, device: str, power_W: float) -> protocol.Telemetry:
    return protocol.Telemetry(
        device=device, reading=Reading(t_ns=2, power_W=power_W, source="nvml")
    )


def finished() -> protocol.Finished:
    return protocol.Finished(generation=1, stopped_by="samples", phases_s=Phases(free=0.5))


def lost(**told: object) -> EngineLost:
    given = {
        "generation": 1, "kind": "crash", "reason": "the kernel crashed", "exit_code": -11,
        "restarting": True, "remedy": "look at its indices",
    }  # fmt: skip
    return EngineLost(**{**given, **told})  # type: ignore[arg-type]


def test_a_run_from_its_first_message_to_its_record() -> None:
    run = Receiver(CONFIG, RunOptions(seconds=1.0, max_noise=0.1))
    memory = MemoryUse(peak_B=96.0, counter="a counter")
    for message in (
        protocol.Stage(generation=1, name="build"),
        prepared(),
        protocol.Stage(generation=1, name="measure"),
        samples(),
        read(device=CONFIG.device, power_W=40.0),
        read(device="cuda:1", power_W=600.0),  # it was watched before
        read(device=CONFIG.device, power_W=41.0),
        protocol.MemoryCounted(generation=1, memory=memory),
        samples(),
    ):
        assert not run.take(message)
    assert run.stage == "measure"
    assert run.take(finished())
    record = run.measured()
    assert (record.samples, record.stopped_by, record.memory) == (40, "samples", memory)
    assert [reading.power_W for reading in record.readings] == [40.0, 41.0]
    assert (record.phases_s.free, record.max_noise) == (0.5, 0.1)


def test_samples_that_were_lost_on_their_way_stand_in_the_document() -> None:
    run = Receiver(CONFIG)
    for message in (prepared(), samples(), samples(dropped=7), samples(dropped=5), finished()):
        run.take(message)
    timing = run.measured().result().timing
    assert (timing.samples, timing.dropped) == (60, 12)


def test_a_warm_up_is_no_rest() -> None:
    run = Receiver(CONFIG)
    energy_J, begin_ns = 0.0, 5_000_000_000

    def tell(*, until_s: float, watts: float) -> None:
        nonlocal energy_J
        last = run.record.readings[-1:] if run.record is not None else []
        t_ns = last[0].t_ns if last else begin_ns - 100_000_000
        while t_ns < begin_ns + until_s * 1e9:
            t_ns += 100_000_000
            energy_J += 0.1 * watts
            reading = Reading(t_ns=t_ns, source="nvml", energy_J=energy_J)
            run.take(protocol.Telemetry(device=CONFIG.device, reading=reading))

    run.take(prepared())
    run.take(protocol.Stage(generation=1, name="rest"))
    tell(until_s=1.5, watts=100.0)
    run.take(protocol.Stage(generation=1, name="measure"))
    tell(until_s=2.1, watts=600.0)
    run.take(protocol.Stage(generation=1, name="measure"))
    for number in range(80):
        batch = SampleBatch(
            seconds=np.full(100, 1e-3).astype("<f8").tobytes(),
            counts=(100,),
            starts_ns=(begin_ns + 2_100_000_000 + number * 100_000_000,),
        )
        run.take(protocol.Samples(generation=1, batch=batch))
        tell(until_s=2.1 + 0.1 * number, watts=600.0)
    run.take(protocol.Stage(generation=1, name="verify"))
    run.take(protocol.Stage(generation=1, name="measure"))
    run.take(finished())
    state = run.measured().result().telemetry
    assert state.idle_power_W == pytest.approx(100.0)
    assert state.energy_per_launch_J == pytest.approx(0.5)


def test_a_run_that_did_not_rest_has_no_power_at_rest() -> None:
    run = Receiver(CONFIG)
    run.take(prepared())
    run.take(protocol.Stage(generation=1, name="measure"))
    for step in range(20):
        reading = Reading(t_ns=step * 100_000_000, source="nvml", energy_J=60.0 * step)
        run.take(protocol.Telemetry(device=CONFIG.device, reading=reading))
    late = samples()
    batch = msgspec.structs.replace(late.batch, starts_ns=(2_000_000_000,))
    run.take(msgspec.structs.replace(late, batch=batch))
    run.take(finished())
    assert run.measured().result().telemetry.idle_power_W is None


def test_a_run_that_is_prepared_again_begins_anew() -> None:
    run = Receiver(CONFIG)
    for message in (prepared(), samples(), prepared(), samples(dropped=1)):
        run.take(message)
    assert run.record is not None
    assert (run.record.samples, run.record.dropped) == (20, 1)
    (first,) = run.earlier
    assert (first.samples, first.stopped_by) == (20, "timing")
    assert first.id != run.record.id


@pytest.mark.parametrize(
    ("told", "kind", "words"),
    [
        (lost(), WorkFailed, "the kernel crashed; look at its indices"),
        (lost(kind="hang", reason="it hangs", remedy="allow more with --deadline"), WorkFailed,
         "it hangs; allow more with --deadline"),
        (lost(outside=True), EngineKilled, "the kernel crashed; run it again"),
        (lost(generation=0, restarting=False), EngineGone,
         "the kernel crashed; look at its indices"),
        (lost(kind="start", reason="no engine", remedy="", restarting=False), EngineGone,
         "no engine; see 'gpuexplorer doctor', or choose another interpreter with --python"),
        (protocol.Failed(generation=1, kind="wrong-result", what="wrong", remedy="look"),
         WrongResult, "wrong; look"),
        (protocol.Failed(generation=1, kind="input", what="too large", exit_code=2), InputError,
         "too large"),
        (protocol.NeedsConfirmation(generation=1, predicted_s=3.0), LongRun,
         "one launch would take about 3.0 s; agree to it with --yes, or choose another block or a "
         "smaller size"),
    ],
)  # fmt: skip
def test_an_error_has_its_remedy_and_its_configuration(
    told: EngineLost | protocol.Failed | protocol.NeedsConfirmation,
    kind: type[ExplorerError],
    words: str,
) -> None:
    run = Receiver(CONFIG)
    run.take(prepared())
    run.take(samples())
    assert run.take(told)
    with pytest.raises(kind) as caught:
        run.measured()
    assert str(caught.value) == words
    assert caught.value.config == CONFIG
    assert run.record is not None and run.record.samples == 20  # what was sampled stays


def test_another_engine_that_takes_over_between_runs_is_no_end() -> None:
    run = Receiver(CONFIG)
    assert not run.take(lost(generation=0))


def test_what_was_cancelled_before_anything_came_says_so() -> None:
    run = Receiver(CONFIG)
    assert run.take(protocol.Cancelled(generation=1))
    with pytest.raises(WorkFailed, match="stopped before it had a sample"):
        run.measured()
    with pytest.raises(WorkFailed, match="stopped before it was counted"):
        run.counted()
    with pytest.raises(WorkFailed, match="stopped before it was recorded"):
        run.profiled()


def test_counters_of_a_launch_belong_to_the_run_that_was_sampled() -> None:
    run = Receiver(CONFIG)
    for message in (prepared(), samples(), finished()):
        run.take(message)
    assert run.take(protocol.Counted(generation=2, counters=COUNTERS))
    assert run.counted() == COUNTERS
    assert run.record is not None and run.record.counters == COUNTERS


def test_options_that_never_end_a_run_are_refused() -> None:
    assert RunOptions(samples=1).ends and RunOptions(seconds=1.0).ends and not RunOptions().ends
    for options in (RunOptions(seconds=0.0), RunOptions(samples=0), RunOptions(max_noise=1.5)):
        with pytest.raises(InputError):
            options.check()
    sent = protocol.Run(generation=1, config=CONFIG, workload_sha256="0", options=options)
    again = protocol.client_decoder().decode(msgspec.msgpack.encode(sent))
    assert again == sent
