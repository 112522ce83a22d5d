"""Operators recorded by PyTorch: nested, summed up, bounded; held against its own table."""

from __future__ import annotations

import importlib.util

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.backends.torch import operators
from gpuexplorer.backends.torch.operators import ITERATION, Event, Memory, record, sum_up
from gpuexplorer.core.errors import WorkFailed

WHOLE = (0, 1_000_000)


def cpu(name: str, start: int, end: int, *, id: int = 0, linked: int = 0, row: int = 1) -> Event:
    return Event(name, False, row, start, end, id, linked)


def kernel(name: str, start: int, end: int, linked: int, row: int = 7) -> Event:
    return Event(name, True, row, start, end, 0, linked)


def marker() -> Event:
    return cpu(ITERATION, *WHOLE, id=1)


def test_self_time_is_what_the_callees_leave() -> None:
    events = [
        marker(),
        cpu("linear", 0, 1000, id=2),
        cpu("addmm", 100, 900, id=3),
        cpu("copy", 200, 300, id=4),
        cpu("linear", 2000, 2400, id=5),
    ]
    found = sum_up(events, [], plain_s=1.0, gpu=False)
    rows = {o.name: o for o in found.operators}
    assert rows["linear"].calls == 2
    assert rows["linear"].self_s == pytest.approx(600e-9)
    assert rows["linear"].total_s == pytest.approx(1400e-9)
    assert rows["addmm"].self_s == pytest.approx(700e-9)
    assert [o.name for o in found.operators] == ["addmm", "linear", "copy"]
    assert sum(o.share for o in found.operators) == pytest.approx(1.0)
    assert found.operators[0].device_self_s is None
    assert [(c.depth, round(c.start_s * 1e9)) for c in found.calls] == [
        (0, 0), (1, 100), (2, 200), (0, 2000)
    ]  # fmt: skip
    assert found.tracks[0].levels == 3


def test_a_call_inside_its_own_kind_counts_once_in_the_total() -> None:
    events = [marker(), cpu("add", 0, 1000, id=2), cpu("add", 100, 600, id=3)]
    (row,) = sum_up(events, [], plain_s=1.0, gpu=False).operators
    assert row.calls == 2
    assert row.total_s == pytest.approx(1000e-9)
    assert row.self_s == pytest.approx(1000e-9)


def test_kernels_belong_to_the_operator_that_launched_them_and_to_its_callers() -> None:
    events = [
        marker(),
        cpu("linear", 0, 1000, id=2),
        cpu("addmm", 100, 900, id=3),
        cpu("cudaLaunchKernel", 200, 300, id=9, linked=3, row=99),
        kernel("gemm", 5000, 9000, linked=3),
        kernel("of another time", -500, -100, linked=3),
    ]
    found = sum_up(events, [], plain_s=1.0, gpu=True)
    rows = {o.name: o for o in found.operators}
    assert rows["addmm"].device_self_s == pytest.approx(4000e-9)
    assert rows["linear"].device_self_s == 0
    assert rows["linear"].device_total_s == pytest.approx(4000e-9)
    assert rows["addmm"].share == pytest.approx(1.0)
    assert "gemm" not in rows  # it stands in the flame chart
    launch = next(c for c in found.calls if found.names[c.name] == "cudaLaunchKernel")
    assert found.tracks[launch.track].title == "CPU thread 1"
    assert launch.depth == 2
    assert [t.kind for t in found.tracks] == ["cpu", "gpu"]
    assert found.iteration_s == pytest.approx(1e-3)


def test_memory_goes_to_the_innermost_call() -> None:
    events = [marker(), cpu("linear", 0, 1000, id=2), cpu("empty", 100, 200, id=3)]
    memory = [Memory(1, 150, 4096), Memory(1, 500, -1024), Memory(2, 150, 7), Memory(1, 5000, 9)]
    rows = {o.name: o for o in sum_up(events, memory, plain_s=1.0, gpu=False).operators}
    assert rows["empty"].memory_B == 4096
    assert rows["linear"].memory_B == -1024


def test_what_lies_outside_the_iteration_does_not_count() -> None:
    inside = cpu("add", 10, 20, id=3)
    events = [cpu("before", -100, -10, id=2), marker(), inside, cpu("after", 1_000_001, 1_000_002)]
    found = sum_up(events, [], plain_s=1.0, gpu=False)
    assert [o.name for o in found.operators] == ["add"]
    assert found.calls_total == 1


def test_without_the_iteration_nothing_can_be_said() -> None:
    with pytest.raises(WorkFailed, match="did not record the iteration"):
        sum_up([cpu("add", 0, 1)], [], plain_s=1.0, gpu=False)


def test_more_calls_than_the_limit_are_counted_and_the_longest_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(operators, "MAX_CALLS", 10)
    events = [marker()]
    for i in range(20):
        events.append(cpu("outer", 1000 * i, 1000 * i + 500 + i, id=2 + i))
        events.append(cpu("inner", 1000 * i + 10, 1000 * i + 400, id=50 + i))
    found = sum_up(events, [], plain_s=1.0, gpu=False)
    assert found.calls_total == 40
    assert len(found.calls) == 10
    assert {found.names[c.name] for c in found.calls} == {"outer"}
    assert sum(o.calls for o in found.operators) == 40


spans = st.lists(
    st.tuples(st.integers(0, 900), st.integers(0, 100), st.sampled_from("abc")), max_size=40
)


@given(spans)
def test_self_times_add_up_to_the_outermost_calls(found: list[tuple[int, int, str]]) -> None:
    events = [marker()] + [
        cpu(name, start, start + length, id=i + 2) for i, (start, length, name) in enumerate(found)
    ]
    result = sum_up(events, [], plain_s=1.0, gpu=False)
    outermost = sum(c.duration_s for c in result.calls if c.depth == 0)
    assert sum(o.self_s for o in result.operators) == pytest.approx(outermost, abs=1e-15)
    assert result.calls_total == len(found)
    kept = {(c.depth, c.start_s, c.duration_s) for c in result.calls}
    for call in result.calls:  # whoever is nested lies within one a level higher
        if call.depth:
            assert any(
                depth == call.depth - 1
                and start <= call.start_s + 1e-15
                and start + duration >= call.start_s + call.duration_s - 1e-15
                for depth, start, duration in kept
            )


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_the_table_is_pytorchs_own() -> None:
    import torch

    module = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 10)
    )
    images = torch.randn(4, 3, 8, 8)

    def step() -> object:
        return module(images).sum().backward()

    steps = []
    found = record(
        torch,
        step,
        lambda: None,
        prepare=lambda: steps.append(module.zero_grad(set_to_none=True)),
        gpu=False,
        shapes=True,
    )
    assert len(steps) == 3
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True
    ) as seen:
        module.zero_grad(set_to_none=True)
        step()
    theirs = {row.key: row.count for row in seen.key_averages() if row.key.startswith("aten::")}
    ours: dict[str, int] = {}
    for row in found.operators:
        if row.name.startswith("aten::"):
            ours[row.name] = ours.get(row.name, 0) + row.calls
    # Theirs leaves out a call whose only callee has the same name; both see the same operators.
    assert ours.keys() == theirs.keys()
    assert all(ours[name] >= theirs[name] for name in theirs)
    assert ours["aten::conv2d"] == theirs["aten::conv2d"] == 1
    conv = next(o for o in found.operators if o.name == "aten::conv2d")
    assert (conv.shapes or "").startswith("4×3×8×8, 8×3×3×3, 8")
    assert 0 < conv.self_s < conv.total_s < found.iteration_s
    assert found.plain_s is not None and found.plain_s > 0
