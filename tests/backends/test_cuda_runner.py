"""The order of things around a launch: gate, events, resets, guards, adoption, errors."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from gpuexplorer.backends.cuda import gate, timing
from gpuexplorer.backends.cuda.describe import describe
from gpuexplorer.backends.cuda.kernels import BuiltStep, KernelRunner
from gpuexplorer.backends.cuda.memory import GUARD_BYTE
from gpuexplorer.backends.cuda.session import MAX_MODULES, CudaSession
from gpuexplorer.core.config import Cache, RunConfig
from gpuexplorer.core.errors import BlockTooLarge, DeviceLost, WorkFailed, WrongResult
from gpuexplorer.workloads.manifest import Role
from gpuexplorer.workloads.plan import Argument, ArrayPlan, KernelLaunch, Plan
from tests.backends.fake_cuda import FACTS, FakeCuda, LaunchCall

DEVICE = describe(FACTS, "CUDA 13.0", None, ())
N = 1000
X = np.arange(N, dtype=np.float32)


def make_plan(
    *, reset: tuple[str, ...] = (), cache: Cache = "hot", block: int = 100, shared_B: int = 0
) -> Plan:
    """y = y + 2·x over 1000 floats, one block for each ``block`` of them."""

    def array(name: str, role: Role) -> ArrayPlan:
        return ArrayPlan(name=name, shape=(N,), type="real", role=role, fill="normal", itemsize_B=4)

    arguments = (Argument(kind="array", name="x"), Argument(kind="array", name="y"))
    return Plan(
        config=RunConfig(
            workload="axpy", variant="direct", size={"N": N}, precision="fp32", device="cuda:0",
            cache=cache,
        ),
        arrays=(array("x", "in"), array("y", "inout")),
        steps=(
            KernelLaunch(
                source="axpy.cu", entry="axpy", block=(block, 1, 1), grid=(N // block, 1, 1),
                shared_B=shared_B, arguments=arguments,
            ),
        ),
        reset=reset,
    )  # fmt: skip


def build(plan: Plan, step: KernelLaunch) -> BuiltStep:
    return BuiltStep(b"cubin", "sm_90a", step.entry, [a.name for a in step.arguments])


def floats(address: int, count: int = N) -> npt.NDArray[np.float32]:
    return np.ctypeslib.as_array((ctypes.c_float * count).from_address(address))


def axpy(call: LaunchCall) -> None:
    x, y = (floats(word) for word in call.words)
    done = call.grid[0] * call.block[0]
    y[:done] += 2 * x[:done]


def open_fake(
    kernel: Callable[[LaunchCall], None] = axpy,
) -> tuple[FakeCuda, CudaSession]:
    fake = FakeCuda(kernels={"axpy": (2, kernel)})
    session = CudaSession(FACTS, fake.api, lambda: b"gate")
    fake.ran.clear()
    return fake, session


def ready(session: CudaSession, plan: Plan) -> KernelRunner:
    runner = KernelRunner(plan, DEVICE, session, build)
    runner.build()
    runner.allocate()
    runner.upload({"x": X, "y": np.zeros(N, np.float32)})
    return runner


def test_the_textbook_sequence_gives_the_result() -> None:
    _, session = open_fake()
    runner = ready(session, make_plan())
    runner.poison()
    batch = runner.launch(1)
    runner.check_guards()
    np.testing.assert_array_equal(runner.download(("y",))["y"], 2 * X)
    assert batch.seconds == pytest.approx([1e-5])


def test_code_stays_on_the_device_as_long_as_its_runner() -> None:
    fake, session = open_fake()
    runner = ready(session, make_plan())
    runner.launch(1)
    runner.free()
    for number in range(3 * MAX_MODULES):
        session.load(b"another %d" % number, "axpy")
    runner.allocate()
    runner.upload({"x": X, "y": np.zeros(N, np.float32)})
    runner.launch(1)
    np.testing.assert_array_equal(runner.download(("y",))["y"], 2 * X)
    runner.free()
    del runner
    gc.collect()
    for number in range(3 * MAX_MODULES):
        session.load(b"another %d" % number, "axpy")
    assert b"cubin" not in fake.modules.values()
    ready(session, make_plan()).launch(1)


def test_launches_are_queued_behind_the_gate_and_the_gate_is_open_before_the_wait() -> None:
    fake, session = open_fake()
    runner = ready(session, make_plan())
    runner.launch(1)
    fake.ran.clear()
    batch = runner.launch(500)
    assert len(batch.seconds) == 500
    assert batch.seconds == pytest.approx(np.full(500, 1e-5), rel=1e-3)
    assert fake.ran[0] == "gate"
    assert fake.ran.count("axpy") == 500
    assert fake.ran.count("gate") > 1
    assert fake.most_behind_gate <= gate.MAX_OPERATIONS
    assert session.gate is not None
    assert not session.gate.took_late
    assert timing.GATED in runner.method


def test_the_first_launch_of_a_kernel_is_not_held_back() -> None:
    fake, session = open_fake()
    runner = ready(session, make_plan())
    fake.ran.clear()
    runner.launch(3)
    assert fake.ran[:4] == ["event", "axpy", "event", "event"]  # the last one is waited for
    assert fake.ran[4] == "gate"


def test_a_kernel_that_ran_before_is_held_back_at_once_with_another_block() -> None:
    fake, session = open_fake()
    ready(session, make_plan()).launch(1)
    other = ready(session, make_plan(block=50))
    fake.ran.clear()
    other.launch(1)
    assert fake.ran == ["gate", "event", "axpy", "event", "end", "event"]


def test_only_the_event_that_is_waited_for_has_waiters_sleep() -> None:
    fake, session = open_fake()
    ready(session, make_plan()).launch(20)
    timed = [fake.event_flags[event] for event in session.events(0)]
    assert timed == [0] * 38  # the first launch had its events again
    (waited,) = set(fake.event_flags) - set(session.events(0))
    assert fake.event_flags[waited] == 1 | 2  # cudaEventBlockingSync, cudaEventDisableTiming


@pytest.mark.parametrize("reset", [(), ("y",)])
def test_the_textbook_sequence_queues_the_kernel_and_nothing_else(reset: tuple[str, ...]) -> None:
    fake, session = open_fake()
    runner = ready(session, make_plan(reset=reset))
    fake.ran.clear()
    runner.launch_plain()
    assert fake.ran == ["axpy"]
    np.testing.assert_array_equal(runner.download(("y",))["y"], 2 * X)


def test_resets_are_outside_of_the_timed_part() -> None:
    fake, session = open_fake()
    runner = ready(session, make_plan(reset=("y",)))
    fake.ran.clear()
    runner.launch(1)
    assert fake.ran == ["copy", "event", "axpy", "event", "event"]
    runner.launch(4)
    np.testing.assert_array_equal(runner.download(("y",))["y"], 2 * X)


def test_a_profiler_looks_at_the_launch_and_not_at_what_comes_before_it() -> None:
    fake, session = open_fake()
    runner = ready(session, make_plan(cache="cold", reset=("y",)))
    fake.ran.clear()

    @contextmanager
    def marks() -> Iterator[None]:
        assert fake.ran == ["copy", "set", "event"]  # which was waited for
        fake.ran.clear()
        yield
        assert fake.ran == ["axpy", "event"]

    runner.launch_alone(marks)


def test_a_cold_launch_follows_a_write_of_more_than_the_cache() -> None:
    fake, session = open_fake()
    runner = ready(session, make_plan(cache="cold"))
    fake.ran.clear()
    runner.launch(1)
    assert fake.ran == ["set", "event", "axpy", "event", "event"]
    assert "cold: 2 × the 65.5 kB L2 cache written before each launch" in runner.method


def test_without_a_gate_the_method_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    fake, session = open_fake()
    runner = ready(session, make_plan())
    runner.launch(5)
    assert "gate" not in fake.ran
    assert timing.PLAIN in runner.method


def test_a_gate_that_opens_late_on_this_machine_is_not_used() -> None:
    fake = FakeCuda(kernels={"axpy": (2, axpy)}, gate_opens_late=True)
    session = CudaSession(FACTS, fake.api, lambda: b"gate")
    assert session.gate is None


def test_a_batch_whose_gate_opened_by_itself_is_taken_again() -> None:
    fake, session = open_fake()
    runner = ready(session, make_plan())
    runner.launch(1)
    fake.gate_opens_late = True
    fake.ran.clear()
    runner.launch(3)
    assert fake.ran.count("axpy") == 3 * timing.ATTEMPTS
    assert timing.PLAIN in runner.method  # and it is not tried again


@pytest.mark.parametrize(
    ("offset", "where"), [(N, "right behind the end of 'y'"), (N + 5, "20 bytes behind")]
)
def test_a_write_behind_an_array_is_found(offset: int, where: str) -> None:
    def outside(call: LaunchCall) -> None:
        floats(call.words[1], N + 10)[offset] = 1.0

    _, session = open_fake(outside)
    runner = ready(session, make_plan())
    runner.poison()
    runner.launch(1)
    with pytest.raises(WrongResult, match=where):
        runner.check_guards()


def test_a_write_before_the_first_array_is_found() -> None:
    def outside(call: LaunchCall) -> None:
        floats(call.words[0] - 8, 4)[0] = 1.0

    _, session = open_fake(outside)
    runner = ready(session, make_plan())
    runner.poison()
    runner.launch(1)
    with pytest.raises(WrongResult, match="5 bytes before the first array"):
        runner.check_guards()


def test_guards_never_written_accuse_nobody() -> None:
    _, session = open_fake()
    runner = ready(session, make_plan())
    runner.check_guards()
    assert GUARD_BYTE not in (0, 0xFF)


def test_arrays_are_taken_over_with_their_contents() -> None:
    fake, session = open_fake()
    first = ready(session, make_plan())
    before = fake.allocated
    second = KernelRunner(make_plan(block=50), DEVICE, session, build)
    second.build()
    assert second.adopt(first)
    assert first.arrays is None
    assert fake.allocated == before
    second.launch(1)
    np.testing.assert_array_equal(second.download(("y",))["y"], 2 * X)
    first.free()
    second.free()
    second.free()
    assert fake.allocated == before - 1


def test_arrays_without_the_copy_a_reset_needs_are_not_taken_over() -> None:
    _, session = open_fake()
    first = ready(session, make_plan())
    second = KernelRunner(make_plan(reset=("y",)), DEVICE, session, build)
    assert not second.adopt(first)
    assert first.arrays is not None


def test_no_memory_is_one_sentence() -> None:
    fake, session = open_fake()
    runner = KernelRunner(make_plan(), DEVICE, session, build)
    runner.build()
    fake.fail_malloc = True
    with pytest.raises(WorkFailed, match="no memory left for the arrays of axpy"):
        runner.allocate()
    runner.free()


def test_an_illegal_address_loses_the_device_and_nothing_is_freed_in_it() -> None:
    fake, session = open_fake()
    runner = ready(session, make_plan())
    fake.fail_wait = 700
    with pytest.raises(DeviceLost, match=r"outside its arrays .*running axpy/direct"):
        runner.launch(1)
    runner.free()
    session.close()
    assert session.lost


def test_prediction_grows_with_the_part_of_the_grid() -> None:
    fake, session = open_fake()
    fake.seconds = lambda call: call.grid[0] * 0.001
    runner = ready(session, make_plan(block=1))
    assert runner.predict_s() == pytest.approx(1.0, rel=0.05)
    assert "gate" not in fake.ran


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [((0, 0, 0), [128, 128, 512, 1000]), ((5, 1, 1), [130, 130, 520, 1000])],
)
def test_each_part_of_a_grid_has_whole_clusters(
    cluster: tuple[int, int, int], expected: list[int]
) -> None:
    parts: list[int] = []
    fake, session = open_fake(lambda call: parts.append(call.grid[0]))
    fake.cluster = cluster
    ready(session, make_plan(block=1)).predict_s()
    assert parts == expected


def test_each_part_of_a_grid_begins_with_the_arrays_set_back() -> None:
    tickets: list[float] = []

    def draw(call: LaunchCall) -> None:
        counter = floats(call.words[1])
        tickets.append(float(counter[0]))
        counter[0] += call.grid[0]

    _, session = open_fake(draw)
    runner = ready(session, make_plan(reset=("y",)))
    runner.launch(1)
    runner.predict_s()
    assert len(tickets) > 2
    assert set(tickets) == {0.0}, "a counter would have led outside of the arrays"


@pytest.mark.parametrize(("uploaded", "left"), [(False, 0), (True, 0x96969696 - (1 << 32))])
def test_what_memory_held_before_is_no_index(uploaded: bool, left: int) -> None:
    """Before a first prediction all whole numbers are zeros, before each those in scratch."""
    indices: list[tuple[int, int]] = []

    def look(call: LaunchCall) -> None:
        first, second = (ctypes.c_int32.from_address(word).value for word in call.words)
        indices.append((first, second))

    _, session = open_fake(look)
    plan = make_plan()
    roles: tuple[Role, Role] = ("out", "scratch")
    whole = [
        ArrayPlan(name=name, shape=(N,), type="int", role=role, fill="zeros", itemsize_B=4)
        for name, role in zip("xy", roles, strict=True)
    ]
    runner = KernelRunner(
        msgspec.structs.replace(plan, arrays=tuple(whole)), DEVICE, session, build
    )
    runner.build()
    runner.allocate()
    runner.poison()
    if not uploaded:
        runner.clear_indices()
    runner.predict_s()
    assert set(indices) == {(left, 0)}


def test_a_block_with_too_many_threads_for_its_registers_is_refused() -> None:
    fake, session = open_fake()
    fake.cu_funcGetAttribute = lambda attribute, f: 64  # type: ignore[method-assign]
    fake.api.driver.funcGetAttribute = fake.cu_funcGetAttribute
    runner = KernelRunner(make_plan(), DEVICE, session, build)
    with pytest.raises(BlockTooLarge, match="at most 64 threads, not 100"):
        runner.build()


def test_much_shared_memory_is_asked_for() -> None:
    fake, session = open_fake()
    KernelRunner(make_plan(shared_B=100 * 1024), DEVICE, session, build).build()
    assert fake.attributes == [(8, 100 * 1024)]


def test_a_runner_that_asks_for_less_shared_memory_takes_none_from_another() -> None:
    fake, session = open_fake()
    for shared_B in (100, 64, 120, 100):
        KernelRunner(make_plan(shared_B=shared_B * 1024), DEVICE, session, build).build()
    assert fake.attributes == [(8, 100 * 1024), (8, 120 * 1024)]


def test_resources_name_what_limits_the_occupancy() -> None:
    _, session = open_fake()
    runner = ready(session, make_plan(block=1000))
    found = runner.resources()
    assert found.registers_per_thread == 32
    assert found.occupancy == pytest.approx(1.0)
    assert found.occupancy_limiter == "threads"


def test_the_driver_is_asked_for_any_block_of_a_step() -> None:
    fake, session = open_fake()
    runner = ready(session, make_plan(block=256))
    assert runner.resident_blocks() == 8
    assert runner.resident_blocks(0, threads=512, dynamic_B=64 * 1024) == 4
    assert fake.attributes == [(8, 64 * 1024)]
    assert [k.registers for k in runner.kernels] == [32]


def test_closing_gives_everything_back() -> None:
    fake, session = open_fake()
    ready(session, make_plan(cache="cold")).free()
    session.close()
    assert fake.allocated == 0
