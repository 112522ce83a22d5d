"""Record one iteration with PyTorch's own profiler and sum it up in bounded memory.

The profiler's events are read one by one into columns of numbers; PyTorch's own ``events()`` makes
an object of a few kilobytes of each, which a large model has hundreds of thousands of.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.core.operators import MAX_CALLS, MAX_OPERATORS, Call, Operator, Recorded, Track

ITERATION = "iteration"
"""The name under which the whole iteration stands in the trace."""
METHOD = "torch.profiler around one iteration, after one that warms up"
MAX_NAME = 300
"""Letters kept of a name: kernels made of templates have names of a thousand."""
MAX_SHAPES = 160
_MEMORY = "[memory]"
_OUT_OF_MEMORY = "[OutOfMemory]"
_NOT_OPERATORS = frozenset(
    {
        "profiler::_record_function_enter",
        "profiler::_record_function_enter_new",
        "profiler::_record_function_exit",
        "aten::is_leaf",
        "aten::output_nr",
        "aten::_version",
    }
)
"""What the profiler and autograd's bookkeeping do themselves; PyTorch's table hides it, too."""


@dataclass
class Event:
    """One event of the profiler: a call on a CPU thread, or a kernel on a GPU's stream."""

    name: str
    on_gpu: bool
    row: int
    """Thread, or stream."""
    start_ns: int
    end_ns: int
    id: int = 0
    linked: int = 0
    """The ``id`` of the call that started it, where it is a kernel or a driver's call."""
    shapes: str | None = None
    depth: int = 0
    children_ns: int = 0
    inside_same: bool = False
    kernels_ns: int = 0
    below_ns: int = 0
    """Kernels of what it calls."""
    memory_B: int = 0
    parent: Event | None = field(default=None, repr=False)

    @property
    def duration_ns(self) -> int:
        """Nanoseconds from start to end."""
        return self.end_ns - self.start_ns


class Memory(msgspec.Struct, frozen=True):
    """An allocation (above 0 bytes) or a free on some thread."""

    row: int
    at_ns: int
    nbytes: int


def record(
    torch: Any,
    step: Callable[[], object],
    wait: Callable[[], None],
    *,
    prepare: Callable[[], None] | None = None,
    gpu: bool,
    shapes: bool = False,
) -> Recorded:
    """Run one iteration unrecorded and one recorded, and sum the second up.

    ``step`` is the iteration, ``wait`` waits for the device, ``prepare`` sets back what the
    iteration changes and is not recorded. Raises WorkFailed when nothing was recorded.
    """
    activity = torch.profiler.ProfilerActivity
    activities = [activity.CPU, activity.CUDA] if gpu else [activity.CPU]

    def iterate() -> None:
        step()
        wait()

    def ready() -> None:
        if prepare is not None:
            prepare()
        wait()

    ready()
    iterate()  # what is compiled, loaded or chosen at the first call does not stand in the picture
    ready()
    began = time.perf_counter()
    iterate()
    plain_s = time.perf_counter() - began
    ready()
    with (
        torch.profiler.profile(
            activities=activities, record_shapes=shapes, profile_memory=True
        ) as profiler,
        torch.profiler.record_function(ITERATION),
    ):
        iterate()
    result = getattr(profiler.profiler, "kineto_results", None)
    if result is None:
        raise WorkFailed(
            "PyTorch's profiler recorded nothing", remedy="use a PyTorch that has Kineto"
        )
    return sum_up(*_read(torch, result, gpu=gpu, shapes=shapes), plain_s=plain_s, gpu=gpu)


def _read(torch: Any, result: Any, *, gpu: bool, shapes: bool) -> tuple[list[Event], list[Memory]]:
    """Return the events within the iteration, and what was allocated on the run's device."""
    device = torch.autograd.DeviceType
    wanted = device.CUDA if gpu else device.CPU
    events: list[Event] = []
    memory: list[Memory] = []
    for one in result.events():
        name = one.name()
        if name == _MEMORY:
            if one.device_type() == wanted:
                memory.append(Memory(one.start_thread_id(), one.start_ns(), one.nbytes()))
            continue
        on_gpu = one.device_type() != device.CPU
        user = bool(getattr(one, "is_user_annotation", lambda: False)())
        if name == _OUT_OF_MEMORY or name in _NOT_OPERATORS or (on_gpu and user):
            continue
        events.append(
            Event(
                name[:MAX_NAME],
                on_gpu,
                one.device_resource_id() if on_gpu else one.start_thread_id(),
                one.start_ns(),
                one.end_ns() if hasattr(one, "end_ns") else one.start_ns() + one.duration_ns(),
                one.correlation_id(),
                one.linked_correlation_id(),
                _shape_words(one.shapes()) if shapes and not on_gpu else None,
            )
        )
    return events, memory


def _shape_words(shapes: Sequence[Any]) -> str | None:
    """Return the shapes of a call's inputs, such as ``32×784, 784×128``."""
    words = ["×".join(map(str, shape)) if shape else "–" for shape in shapes]
    while words and words[-1] == "–":  # scalars at the end say nothing
        words.pop()
    text = ", ".join(words)
    return (text if len(text) <= MAX_SHAPES else text[: MAX_SHAPES - 1] + "…") or None


def sum_up(events: list[Event], memory: Sequence[Memory], *, plain_s: float, gpu: bool) -> Recorded:
    """Nest the calls, sum them up by operator, and keep the longest for the flame chart.

    Only what lies within the event ``ITERATION`` on its thread, or was started from there, counts.
    """
    marker = next((e for e in events if e.name == ITERATION and not e.on_gpu), None)
    if marker is None:
        raise WorkFailed("PyTorch's profiler did not record the iteration")
    _join_threads(events)
    inside = [
        e for e in events
        if e is not marker and e.start_ns >= marker.start_ns and (
            e.on_gpu or e.end_ns <= marker.end_ns
        )
    ]  # fmt: skip
    rows: dict[tuple[bool, int], list[Event]] = defaultdict(list)
    for event in inside:
        rows[event.on_gpu, event.row].append(event)
    for row in rows.values():
        _nest(row)
    _credit_kernels(inside)
    _credit_memory(rows, memory)
    end_ns = max([marker.end_ns, *(e.end_ns for e in inside)])
    operators = _operators([e for e in inside if not e.on_gpu], gpu=gpu)
    names, tracks, calls = _flame(rows, marker)
    return Recorded(
        method=METHOD,
        iteration_s=(end_ns - marker.start_ns) * 1e-9,
        plain_s=plain_s,
        operators=tuple(operators[:MAX_OPERATORS]),
        operators_total=len(operators),
        names=names,
        tracks=tracks,
        calls=calls,
        calls_total=len(inside),
    )


def _join_threads(events: Sequence[Event]) -> None:
    """Put the driver's calls on the thread of the operator that made them.

    The profiler numbers the threads of both differently.
    """
    thread_of = {e.id: e.row for e in events if not e.on_gpu and not e.linked}
    for event in events:
        if not event.on_gpu and event.linked:
            event.row = thread_of.get(event.linked, event.row)


def _nest(row: list[Event]) -> None:
    """Give each event of a thread its depth, and its parent the time it takes."""
    row.sort(key=lambda e: (e.start_ns, -e.end_ns))
    open_: list[Event] = []
    for event in row:
        while open_ and event.start_ns >= open_[-1].end_ns:
            open_.pop()
        while open_ and event.end_ns > open_[-1].end_ns:  # overlaps and is not inside: beside it
            open_.pop()
        if open_:
            event.parent = open_[-1]
            open_[-1].children_ns += event.duration_ns
        event.depth = len(open_)
        event.inside_same = any(e.name == event.name for e in open_)
        open_.append(event)


def _credit_kernels(events: Sequence[Event]) -> None:
    """Give each operator the time of the kernels it launched, and its callers the same."""
    by_id = {e.id: e for e in events if not e.on_gpu and not e.linked}
    for kernel in events:
        if not kernel.on_gpu:
            continue
        caller = by_id.get(kernel.linked)
        if caller is None:
            continue
        caller.kernels_ns += kernel.duration_ns
        above = caller.parent
        while above is not None:
            above.below_ns += kernel.duration_ns
            above = above.parent


def _credit_memory(rows: dict[tuple[bool, int], list[Event]], memory: Sequence[Memory]) -> None:
    """Give each allocation to the innermost call on its thread."""
    by_row: dict[int, list[Memory]] = defaultdict(list)
    for one in memory:
        by_row[one.row].append(one)
    for number, changes in by_row.items():
        calls = rows.get((False, number), [])
        open_: list[Event] = []
        at = 0
        for change in sorted(changes, key=lambda m: m.at_ns):
            while at < len(calls) and calls[at].start_ns <= change.at_ns:
                _close(open_, calls[at].start_ns)
                open_.append(calls[at])
                at += 1
            _close(open_, change.at_ns)
            if open_:
                open_[-1].memory_B += change.nbytes


def _close(open_: list[Event], at_ns: int) -> None:
    while open_ and open_[-1].end_ns < at_ns:
        open_.pop()


def _operators(calls: Sequence[Event], *, gpu: bool) -> list[Operator]:
    """Sum calls up by operator and shapes, the longest self time first."""
    groups: dict[tuple[str, str | None], list[Event]] = defaultdict(list)
    for call in calls:
        groups[call.name, call.shapes].append(call)
    whole_ns = sum(c.kernels_ns if gpu else c.duration_ns - c.children_ns for c in calls) or 1
    rows = []
    for (name, shapes), group in groups.items():
        outer = [c for c in group if not c.inside_same]
        self_ns = sum(c.duration_ns - c.children_ns for c in group)
        kernels_ns = sum(c.kernels_ns for c in group)
        rows.append(
            Operator(
                name=name,
                calls=len(group),
                self_s=self_ns * 1e-9,
                total_s=sum(c.duration_ns for c in outer) * 1e-9,
                share=(kernels_ns if gpu else self_ns) / whole_ns,
                device_self_s=kernels_ns * 1e-9 if gpu else None,
                device_total_s=(
                    sum(c.kernels_ns + c.below_ns for c in outer) * 1e-9 if gpu else None
                ),
                memory_B=float(sum(c.memory_B for c in group)),
                shapes=shapes,
            )
        )
    rows.sort(key=lambda r: (-r.own_s, -r.self_s, r.name))
    return rows


def _flame(
    rows: dict[tuple[bool, int], list[Event]], marker: Event
) -> tuple[tuple[str, ...], tuple[Track, ...], tuple[Call, ...]]:
    """Return names, tracks and the longest calls; a call is never kept without its callers."""
    everything = [e for row in rows.values() for e in row]
    if len(everything) > MAX_CALLS:
        everything = sorted(everything, key=lambda e: (-e.duration_ns, e.depth))[:MAX_CALLS]
    kept = {id(e) for e in everything}
    names: dict[str, int] = {}
    tracks: list[Track] = []
    calls: list[Call] = []
    main = marker.row
    ordered = sorted(rows, key=lambda k: (k[0], k[1] != main, rows[k][0].start_ns))
    threads = 0
    for on_gpu, number in ordered:
        row = [e for e in rows[on_gpu, number] if id(e) in kept]
        if not row:
            continue
        if not on_gpu:
            threads += 1
        title = f"GPU stream {number}" if on_gpu else f"CPU thread {threads}"
        levels = 1 + max(e.depth for e in row)
        tracks.append(Track(title=title, kind="gpu" if on_gpu else "cpu", levels=levels))
        for event in row:
            calls.append(
                Call(
                    names.setdefault(event.name, len(names)),
                    len(tracks) - 1,
                    event.depth,
                    (event.start_ns - marker.start_ns) * 1e-9,
                    event.duration_ns * 1e-9,
                )
            )
    return tuple(names), tuple(tracks), tuple(calls)
