"""Cold caches on the CPU: emptied before each launch, untimed, and the results stay right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from gpuexplorer.backends import caches, registry
from gpuexplorer.backends.base import Runner
from gpuexplorer.backends.caches import FLUSH_STEP_B, CacheInfo, Flush
from gpuexplorer.backends.opencl import OpenCLBackend
from gpuexplorer.backends.opencl.session import CacheFlush
from gpuexplorer.core.device import Unavailable
from gpuexplorer.core.errors import CannotRunHere, WorkFailed
from gpuexplorer.workloads.fills import make_inputs
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.references import Reference
from tests.backends import opencl_support
from tests.support.problems import plan_of

SHIPPED = load()
VARIANTS = {"opencl": "copy", "numpy": "copy_numpy", "torch": "triad_torch"}


def ready(name: str, **request: Any) -> Runner:
    """Return a runner of STREAM on the CPU through a backend, with its arrays filled."""
    backend = opencl_support.backend() if name == "opencl" else registry.create(name, 1)
    found = backend.discover()
    if isinstance(found, Unavailable):
        pytest.skip(found.reason)
    plan = plan_of(SHIPPED["stream"], found[0], variant=VARIANTS[name], **request)
    runner = backend.runner(plan, found[0])
    runner.build()
    runner.allocate()
    runner.upload(make_inputs(plan))
    runner.poison()
    return runner


@pytest.fixture
def small_cache(monkeypatch: pytest.MonkeyPatch) -> Flush:
    """Have the CPU state a cache of 1 MiB, so that emptying it takes no time."""
    flush = Flush(2 << 20, CacheInfo(1 << 20, 2, 1, "test"))
    for module in ("numpy", "torch.runner", "opencl.session"):
        monkeypatch.setattr(f"gpuexplorer.backends.{module}.cpu_flush", lambda: flush)
    opencl_support.backend().close()  # a session remembers its buffer
    return flush


@pytest.mark.parametrize("name", VARIANTS)
def test_the_method_says_what_was_emptied_and_how(name: str, small_cache: Flush) -> None:
    hot, cold = ready(name, cache="hot"), ready(name, cache="cold")
    assert hot.method.endswith("; caches warm")
    assert cold.method.endswith(
        "; cold: 2.10 MB read before each launch, 2 × the 1.05 MB L2 cache (test)"
    )
    assert hot.resolution_s == cold.resolution_s
    hot.free()
    cold.free()


@pytest.mark.parametrize("name", VARIANTS)
def test_results_are_right_with_the_cache_emptied(name: str, small_cache: Flush) -> None:
    runner = ready(name, cache="cold", size={"N": 5000})
    batch = runner.launch(5)
    assert (len(batch.seconds), batch.launches) == (5, 1) and (batch.seconds > 0).all()
    outputs = runner.download(tuple(a.name for a in runner.plan.outputs))
    reference = Reference(SHIPPED["stream"], runner.plan, make_inputs(runner.plan))
    assert reference.verify(outputs).ok
    runner.free()


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_a_library_reads_once_before_each_call(
    name: str, small_cache: Flush, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = ready(name, cache="cold", size={"N": 1000})
    order: list[str] = []
    make, bound = runner._flusher, runner._bound  # type: ignore[attr-defined]

    def noted(word: str, call: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            order.append(word)
            return call()

        return run

    monkeypatch.setattr(runner, "_flusher", noted("make", lambda: noted("read", make())))
    monkeypatch.setattr(runner, "_bound", lambda: noted("call", bound()))
    runner.launch(2)
    runner.launch(1)
    assert order == ["make", *["read", "call"] * 3]
    runner.free()


def test_a_pass_is_queued_before_each_launch_on_opencl(
    small_cache: Flush, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = ready("opencl", cache="cold", size={"N": 1000})
    passes: list[int] = []
    queue = CacheFlush.queue

    def counted(flush: CacheFlush) -> None:
        passes.append(flush.pass_.nbytes)
        queue(flush)

    monkeypatch.setattr(CacheFlush, "queue", counted)
    runner.launch(3)
    assert passes == [small_cache.nbytes] * 3
    hot = ready("opencl", cache="hot", size={"N": 1000})
    hot.launch(3)
    assert len(passes) == 3
    runner.launch(1)  # what the hot one gave back is made again
    assert len(passes) == 4
    runner.free()
    hot.free()


def test_memory_that_cannot_be_had_for_the_pass_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    huge = Flush(1 << 60, CacheInfo(1 << 59, 3, 1, "test"))
    for module in ("numpy", "opencl.session"):
        monkeypatch.setattr(f"gpuexplorer.backends.{module}.cpu_flush", lambda: huge)
    opencl_support.backend().close()
    for name in ("numpy", "opencl"):
        runner = ready(name, cache="cold", size={"N": 1000})
        with pytest.raises(WorkFailed, match="use --cache hot"):
            runner.launch(1)
        runner.free()
    opencl_support.backend().close()


def test_an_opencl_gpu_is_emptied_by_its_own_word_or_not_at_all() -> None:
    runner = ready("opencl", size={"N": 1000})
    session = runner._session  # type: ignore[attr-defined]
    gpu = msgspec.structs.replace(session.info, kind="gpu")

    class Device:
        global_mem_cache_size = 4 << 20

    class Session:
        info, device = gpu, Device

    flush = CacheFlush(Session)  # type: ignore[arg-type]
    assert flush.pass_.nbytes == 8 << 20
    assert "last-level cache (OpenCL)" in flush.pass_.words
    Device.global_mem_cache_size = 0
    assert flush.pass_.nbytes == 8 << 20  # what was allocated stays what is read
    with pytest.raises(CannotRunHere, match="how large its cache is"):
        _ = CacheFlush(Session).pass_  # type: ignore[arg-type]
    runner.free()


def test_adopted_arrays_bring_their_pass_along(small_cache: Flush) -> None:
    hot = ready("numpy", cache="hot", size={"N": 1000})
    plan = msgspec.structs.replace(
        hot.plan, config=msgspec.structs.replace(hot.plan.config, cache="cold")
    )
    cold = registry.create("numpy", 1).runner(plan, hot.device)
    cold.build()
    assert cold.adopt(hot)
    cold.launch(1)
    made = cold._flush  # type: ignore[attr-defined]
    assert made is not None
    assert hot.adopt(cold)
    hot.launch(1)
    assert cold.adopt(hot)
    assert cold._flush is made  # type: ignore[attr-defined]
    cold.free()


@pytest.mark.alone
def test_a_copy_that_fits_the_cache_is_slower_when_it_was_emptied() -> None:
    """With this machine's own cache: the ratio itself is what ``bench/hot_cold.py`` measures."""
    flush = caches.cpu_flush()
    if flush.nbytes < caches.FLUSH_FACTOR * flush.cache.nbytes - FLUSH_STEP_B:
        pytest.skip("too little memory is free to empty this cache")
    OpenCLBackend.close(opencl_support.backend())
    elements = min(1 << 18, flush.cache.nbytes // 32)
    hot, cold = (ready("opencl", cache=c, size={"N": elements}) for c in ("hot", "cold"))
    pairs = [(hot.launch(2).seconds[-1], cold.launch(1).seconds[-1]) for _ in range(15)]
    hot_s, cold_s = np.median(pairs, axis=0)
    assert cold_s > hot_s
    hot.free()
    cold.free()
    opencl_support.backend().close()
