"""A run of one model in PyTorch: on the CPU by the host's clock, on a GPU by CUDA events."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, ClassVar

from gpuexplorer.backends.base import Batch, TimingChoice
from gpuexplorer.backends.caches import FLUSH_FACTOR, cpu_flush
from gpuexplorer.backends.models import Model, ModelRunner, ModelStep, check_model
from gpuexplorer.backends.torch import clock
from gpuexplorer.backends.torch.clock import CudaClock
from gpuexplorer.backends.torch.compiled import graphs
from gpuexplorer.backends.torch.estimate import estimate_s
from gpuexplorer.backends.torch.failures import explain, out_of_memory
from gpuexplorer.backends.torch.formats import MODELS, refusal
from gpuexplorer.backends.torch.load import load, set_as_started, set_threads
from gpuexplorer.backends.torch.memory import CountsOnCpu, CountsOnGpu
from gpuexplorer.backends.torch.model import TorchModel
from gpuexplorer.backends.torch.operators import record
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import CannotRunHere, ExplorerError, WorkFailed
from gpuexplorer.core.operators import Recorded
from gpuexplorer.core.result import Arithmetic
from gpuexplorer.core.units import quantity
from gpuexplorer.workloads.plan import Plan

RETRIES = 3
"""How often a batch is taken again because something was compiled while it ran."""
NO_ATTENTION = ("No available kernel", "No viable backend for scaled_dot_product_attention")
"""How PyTorch says that the attention that was chosen cannot run."""
MAX_KNOWN = 512
"""Configurations whose arithmetic is remembered."""


class TorchModelRunner(ModelRunner):
    """What both kinds of device share."""

    _known: ClassVar[OrderedDict[str, Arithmetic]] = OrderedDict()
    """Arithmetic by configuration: what ran once runs so again in this process."""

    _torch: Any
    _made: TorchModel | None = None

    def __init__(self, plan: Plan, device: DeviceInfo, threads: int) -> None:
        super().__init__(plan, device)
        self._threads = threads
        self._launched = False
        self._graphs = 0
        self._compiled_again = 0

    @property
    def _place(self) -> str:
        return self.device.id.partition(":")[2]

    def _make(self) -> Model:
        check_model(self.plan, self.device, MODELS)
        refused = refusal(self.plan, self.device.kind)
        if refused is not None:
            raise CannotRunHere(refused[0], remedy=refused[1])
        self._torch = load()
        set_as_started(self._torch)
        self._start()
        model = self._new_model()
        model.set_flags()
        return model

    def _new_model(self) -> TorchModel:
        return TorchModel(self._torch, self.plan, self._place)

    def _start(self) -> None:
        """Choose device and threads."""

    def build(self) -> None:
        """Make the model and compile it where that is asked for."""
        super().build()
        model = self.model
        assert isinstance(model, TorchModel)
        self._made = model
        self._graphs = graphs(self._torch)

    def _mode(self) -> AbstractContextManager[object]:
        return nullcontext() if self._made is None else self._made.mode()

    def launch(self, count: int) -> Batch:
        """Run ``count`` steps; a batch in which PyTorch compiled something is taken again."""
        for _ in range(RETRIES):
            batch = super().launch(count)
            compiled = graphs(self._torch)
            if compiled == self._graphs:
                break
            self._compiled_again += compiled - self._graphs
            self._graphs = compiled
            if not self._launched:  # the one that is checked: a second would learn twice
                break
        else:
            raise WorkFailed(
                f"torch.compile compiled '{self.plan.config.variant}' again in each of {RETRIES} "
                "batches, so that its time cannot be told",
                remedy="leave --switch compile out",
            )
        self._launched = True
        return batch

    @property
    def timed_words(self) -> str:
        """How steps are timed."""
        return self.timed_by

    @property
    def method(self) -> str:
        """How launches are timed and what the caches hold, as it stands beside the number."""
        facts = [self.timed_words, self.cache_words]
        if self._compiled_again:
            facts.append(
                f"torch.compile compiled {self._compiled_again} × again, outside the times"
            )
        return "; ".join(facts)

    @property
    def made(self) -> TorchModel:
        """The model, once it is built."""
        if self._made is None:
            raise WorkFailed(f"the model of '{self.plan.config.variant}' was not built")
        return self._made

    def arithmetic(self) -> Arithmetic | None:
        """Say which arithmetic ran, by the evidence there is; looked at once in this process."""
        key = f"{self.device.id} {self.plan.source_sha256} {self.plan.config.key}"
        found = self._known.get(key)
        if found is None:
            found = self._surviving("looking at its arithmetic", self._observed)
            if found is None:
                return None
            self._known[key] = found
            if len(self._known) > MAX_KNOWN:
                self._known.popitem(last=False)
        return found

    def _observed(self) -> Arithmetic | None:
        from gpuexplorer.backends.torch import evidence

        return evidence.look(self.made)

    def _estimate_s(self) -> float | None:
        return estimate_s(self.made)

    def operators(self, *, shapes: bool) -> Recorded:
        """Record the operators of one step."""
        model = self.made
        with self._mode():
            return self._surviving(
                "recording its operators",
                lambda: record(
                    self._torch,
                    model.step,
                    model.wait,
                    prepare=model.reset if self.plan.reset else None,
                    gpu=model.kind == "gpu",
                    shapes=shapes,
                ),
            )

    def _out_of_memory(self, error: Exception) -> bool:
        return out_of_memory(self._torch, error)

    def _explained(self, error: Exception, doing: str) -> ExplorerError | None:
        found = super()._explained(error, doing)
        if found is not None or not isinstance(error, RuntimeError):
            return found
        if any(words in str(error) for words in NO_ATTENTION):
            attention, precision = self.plan.switches.get("sdpa"), self.plan.config.precision
            refusal = (
                f"PyTorch's '{attention}' attention cannot run this in {precision} on "
                f"{self.device.id}"
            )
            why = self._reason()
            return CannotRunHere(
                f"{refusal}: {why}" if why else refusal,
                remedy="choose another value of the switch sdpa",
                detail=str(error),
            )
        return explain(self._torch, error, self.device.id, doing)

    def _reason(self) -> str:
        """Return why no attention kernel runs, in PyTorch's words, which it gives as warnings."""
        if self._made is None:
            return ""
        with warnings.catch_warnings(record=True) as said, self._made.mode():
            warnings.simplefilter("always")
            try:
                self._made.step()
            except RuntimeError:
                pass
        words = [str(w.message).splitlines()[0].split(" (Triggered")[0] for w in said]
        return words[-1] if words else ""


class TorchCpuModelRunner(CountsOnCpu, TorchModelRunner):
    """A model on the CPU."""

    @property
    def flush_words(self) -> str:
        """How the cache is emptied before each launch, in words."""
        return cpu_flush().words

    def _flusher(self) -> ModelStep:
        """Return a sum, which PyTorch's own threads read; see NumPy's for why it only reads."""
        torch = self._torch
        return partial(torch.sum, torch.ones(cpu_flush().nbytes // 4, dtype=torch.float32))

    def _start(self) -> None:
        set_threads(self._torch, self._threads)


class TorchCudaModelRunner(CountsOnGpu, TorchModelRunner):
    """A model on a GPU, each step between two events, queued while the GPU spins."""

    timed_by: ClassVar[str] = clock.TIMED_BY
    clock_step_s: ClassVar[float] = clock.RESOLUTION_S

    _clock: CudaClock

    def _start(self) -> None:
        cuda, place = self._torch.cuda, self._place
        self._surviving("choosing the device", lambda: cuda.set_device(place))
        self._clock = CudaClock(self._torch, place)

    def _new_model(self) -> TorchModel:
        from gpuexplorer.backends.torch.copies import copying_model

        return copying_model(self._torch, self.plan, self._place)

    @property
    def timed_words(self) -> str:
        """How steps are timed, and what the times leave out."""
        queue_s = quantity(self._clock.queue_s, "s", 2)
        return f"{self._clock.words}; queueing one takes the host {queue_s}, which is not in it"

    @property
    def resolution_s(self) -> float:
        """The finest difference between two samples that can be told."""
        return self._clock.resolution_s

    def settle(self, first_s: float, earlier: TimingChoice | None = None) -> TimingChoice | None:
        """Time short steps in groups, unless something has to be done between them."""
        apart = self.cold or bool(self.plan.reset)
        return self._clock.settle(first_s, self.launch, earlier, apart=apart)

    def _timed(self, count: int) -> Batch:
        step, before = self.model.step, self._before()
        self._results = None
        batch, self._results = self._clock.time(step, before, count)
        return batch

    def _step_and_wait(self) -> object:
        results = super()._step_and_wait()
        self._torch.cuda.current_stream().synchronize()
        return results

    def _wait(self) -> None:
        self._torch.cuda.synchronize(self._place)

    @property
    def flush_words(self) -> str:
        """How the cache is emptied before each launch, in words."""
        nbytes = self.device.last_level_cache_B or 0
        return f"{FLUSH_FACTOR} × the {quantity(nbytes, 'B')} L2 cache written before each step"

    def _flusher(self) -> ModelStep:
        """Return what writes twice the L2 cache, as the GPU benchmarks in use do."""
        nbytes = self.device.last_level_cache_B
        if not nbytes:
            raise CannotRunHere(
                f"{self.device.id} does not say how large its L2 cache is, so it cannot be emptied",
                remedy="use --cache hot",
            )
        torch = self._torch
        values = torch.empty(FLUSH_FACTOR * nbytes, dtype=torch.uint8, device=self._place)
        return partial(values.zero_)

    def free(self) -> None:
        """Free every array and give the memory back to the device."""
        super().free()
        if self._made is not None:
            self._torch.cuda.empty_cache()
