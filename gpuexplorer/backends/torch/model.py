"""One model in PyTorch: its module, its arrays on the device, and its step.

It does what a program does: ``model.to(device)`` when arrays are allocated and written,
``data.to(device)``, and ``output = model(data)`` as the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np

from gpuexplorer.backends.base import HostArray
from gpuexplorer.backends.models import ModelStep
from gpuexplorer.backends.torch.compiled import STEPS, Compiled
from gpuexplorer.backends.torch.formats import FORMATS, MODELS
from gpuexplorer.backends.torch.load import set_flags
from gpuexplorer.backends.torch.model_steps import Training
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.workloads.fills import dtype_of
from gpuexplorer.workloads.plan import ArrayPlan, Plan

ATTENTION = {
    "math": "MATH",
    "flash": "FLASH_ATTENTION",
    "efficient": "EFFICIENT_ATTENTION",
    "cudnn": "CUDNN_ATTENTION",
}
"""The values of the switch ``sdpa``, and what PyTorch calls them."""


class TorchModel:
    """A model on ``cpu`` or ``cuda:N``, in the plan's precision or in another one."""

    def __init__(self, torch: Any, plan: Plan, place: str, precision: str | None = None) -> None:
        """Choose; with ``precision`` the model is a plain one for comparison, not compiled."""
        self.torch = torch
        self.plan = plan
        self.place = place
        self.kind = "cpu" if place == "cpu" else "gpu"
        self.precision = precision or plan.config.precision
        self.format = FORMATS[self.precision]
        self.dtype = getattr(torch, self.format.stored)
        self.switches = dict(plan.switches)
        if precision is not None:
            self.switches.update(compile="off", cuda_graph=False)
        self.data: dict[str, Any] = {}
        self.inputs: dict[str, HostArray] = {}
        """What the host wrote last, by array: not copies."""
        self.training: Training | None = None
        self.compiled: Compiled | None = None
        self._saved: dict[str, Any] = {}
        """What ``reset`` arrays held when they were written, on the device."""
        self._bound: ModelStep | None = None
        self._built = False

    def set_flags(self) -> None:
        """Set what holds for the whole process as this model wants it."""
        reduced = bool(self.switches.get("reduced_accumulation", False))
        set_flags(self.torch, tf32=self.precision == "tf32", reduced=reduced)

    # ---- the textbook program

    def prepare(self) -> None:
        """Build the module without memory; compile it, where that is switched on, with a step."""
        from gpuexplorer.backends.torch.models import BUILDERS, Family, Options

        name = MODELS[self.plan.model or ""]
        options = Options.of(self.plan, self.precision, self.kind)
        with self._default_type(), self.torch.device("meta"):
            self.family: Family = BUILDERS[name](self.plan, options)
        self.module = self.family.module
        self._built = True
        mode = str(self.switches.get("compile", "off"))
        if mode != "off":
            self.compiled = Compiled.of(
                self.torch, self.module, mode, plan=self.plan, place=self.place, run=self._run_zeros
            )
            self.module = self.compiled.module

    def _run_zeros(self, compiled: Compiled) -> None:
        """Run a few steps of what is to be compiled, on arrays of zeros."""
        self.compiled = compiled
        self.allocate()
        precision = self.plan.config.precision
        self.write({a.name: np.zeros(a.shape, dtype_of(a, precision)) for a in self.plan.inputs})
        with self.mode():
            for _ in range(STEPS):
                self.step()
            self.wait()
        self.free()

    def allocate(self) -> None:
        """Allocate weights and data, uninitialised."""
        self.free()
        family = self.family
        self._have_weights(self.place)
        if not family.momentum:
            self.module.eval()
        else:
            fused = bool(self.switches.get("fused_optimizer"))
            learns = {name: family.weights[name] for name in family.momentum.values()}
            self.training = Training(self.torch, self.module, learns, fused=fused)
        for name in family.data:
            self.data[name] = self._empty(self.plan.array(name))

    def write(self, arrays: Mapping[str, HostArray]) -> None:
        """Round the host's arrays and copy them."""
        self.inputs.update(arrays)
        with self.torch.no_grad():
            for name, values in arrays.items():
                self.put(name, self.on_host(name, values))
                if name in self.plan.reset:
                    self._saved[name] = self.target(name).clone()
        self.wait()

    def on_host(self, name: str, values: HostArray) -> Any:
        """Return the host's values as a tensor, from which they are copied."""
        return self.torch.from_numpy(values)

    def put(self, name: str, values: Any, *, apart: bool = False) -> None:
        """Copy one array of the host's to its place; ``apart``: the host does not wait for it.

        Rounding is the device's work: what goes over the bus are the host's numbers.
        """
        owner, leaf = self._owner(name)
        if owner is not None and hasattr(owner, "take"):
            owner.take(leaf, values.to(self.place, self.torch.float32))
            return
        target = self.target(name)
        if values.dtype != target.dtype and self.kind == "gpu":
            values = values.to(self.place, non_blocking=apart)
        target.copy_(values, non_blocking=apart)

    @property
    def step(self) -> ModelStep:
        """What runs one launch and returns its results."""
        if self._bound is None:
            self._bound = self._bind()
        return self._bound

    def read(self, results: Any, names: tuple[str, ...]) -> dict[str, HostArray]:
        """Copy results and weights to the host."""
        made = results if isinstance(results, tuple) else (results,)
        found = dict(zip(self.family.results, made, strict=True))
        return {
            name: self.to_host(name, found[name] if name in found else self.target(name))
            for name in names
        }

    def reset(self) -> None:
        """Set the plan's ``reset`` arrays back to what was written."""
        with self.torch.no_grad():
            for name, saved in self._saved.items():
                self.target(name).copy_(saved)

    def free(self) -> None:
        """Free every array."""
        self._bound = self.training = None
        self.data.clear()
        self.inputs.clear()
        self._saved.clear()
        if not self._built:
            return
        for part in self.module.modules():
            if hasattr(part, "drop"):
                part.drop()
        self._have_weights("meta")

    def wait(self) -> None:
        """Wait until the device has done everything."""
        if self.kind == "gpu":
            self.torch.cuda.synchronize(self.place)

    # ---- arrays

    def target(self, name: str) -> Any:
        """Return the tensor that an array is: data, a parameter, or what the optimiser keeps."""
        if name in self.data:
            return self.data[name]
        weight = self.family.momentum.get(name)
        if weight is not None and self.training is not None:
            return self.training.momentum[weight]
        owner, leaf = self._owner(name)
        if owner is None:
            raise WorkFailed(f"the model of '{self.plan.config.variant}' has no array '{name}'")
        return getattr(owner, leaf)

    def _owner(self, name: str) -> tuple[Any, str]:
        path = self.family.weights.get(name)
        if path is None:
            return None, ""
        owner, _, leaf = path.rpartition(".")
        return self.module.get_submodule(owner), leaf

    def _have_weights(self, place: str) -> None:
        """Give the module parameters and buffers on a device, uninitialised; ``meta``: none.

        ``Module.to_empty`` does the same, and first imports seconds' worth of PyTorch.
        """
        parameter = self.torch.nn.Parameter
        for part in self.module.modules():
            for name, old in part._parameters.items():
                if old is not None:
                    made = self._like(old, place)
                    part._parameters[name] = parameter(made, requires_grad=old.requires_grad)
            for name, old in part._buffers.items():
                if old is not None:
                    part._buffers[name] = self._like(old, place)

    def _like(self, old: Any, place: str) -> Any:
        torch = self.torch
        last = self.switches.get("channels_last") and old.dim() == 4
        layout = torch.channels_last if last else torch.contiguous_format
        return torch.empty(old.shape, dtype=old.dtype, device=place, memory_format=layout)

    def _type(self, array: ArrayPlan) -> Any:
        torch = self.torch
        return torch.int64 if array.type == "int" else self.dtype

    def _empty(self, array: ArrayPlan) -> Any:
        torch = self.torch
        if array.type == "int":  # a large model is tried before its labels are there
            return torch.zeros(array.shape, dtype=self._type(array), device=self.place)
        last = self.switches.get("channels_last") and array.name in self.family.images
        return torch.empty(
            array.shape,
            dtype=self._type(array),
            device=self.place,
            memory_format=torch.channels_last if last else torch.contiguous_format,
        )

    def to_host(self, name: str, tensor: Any) -> HostArray:
        """Copy a tensor to the host, in the plan's shape and type."""
        planned = self.plan.array(name)
        dtype = getattr(self.torch, dtype_of(planned, self.plan.config.precision).name)
        wide = tensor.detach().to(dtype).cpu().contiguous()
        values: HostArray = wide.numpy().reshape(planned.shape)
        return values.copy() if wide.data_ptr() == tensor.data_ptr() else values

    @contextmanager
    def _default_type(self) -> Iterator[None]:
        """Have layers made with weights of the stored type."""
        before = self.torch.get_default_dtype()
        self.torch.set_default_dtype(self.dtype)
        try:
            yield
        finally:
            self.torch.set_default_dtype(before)

    # ---- the step

    @contextmanager
    def mode(self) -> Iterator[None]:
        """Have the gradient mode and the attention's back end that are switched on."""
        learns = bool(self.family.momentum)
        with self._mode_of("grad" if learns else str(self.switches.get("grad_mode", "inference"))):
            yield

    @contextmanager
    def _mode_of(self, wanted: str) -> Iterator[None]:
        torch = self.torch
        contexts = {
            "grad": torch.enable_grad,
            "no_grad": torch.no_grad,
            "inference": torch.inference_mode,
        }
        chosen = str(self.switches.get("sdpa", "auto"))
        with ExitStack() as stack:
            stack.enter_context(contexts[wanted]())
            if chosen != "auto":
                attention = torch.nn.attention
                backend = getattr(attention.SDPBackend, ATTENTION[chosen])
                stack.enter_context(attention.sdpa_kernel(backend))
            yield

    def called(self) -> Callable[..., Any]:
        """Return what is called with data: the module, or what it was compiled to."""
        call = self.module if self.compiled is None else self.compiled.call
        if self.format.autocast is None:
            return call  # type: ignore[no-any-return]
        torch = self.torch
        lower = getattr(torch, self.format.autocast)
        device_type = "cpu" if self.kind == "cpu" else "cuda"

        def cast(*data: Any) -> Any:
            with torch.autocast(device_type, lower):  # for each call, as a program does
                return call(*data)

        return cast

    def eager(self) -> ModelStep:
        """Return the step as it is launched without a graph."""
        call = self.called()
        data = tuple(self.data[name] for name in self.family.data)
        if self.training is not None:
            return self.training.step(call, data)
        if not self.switches.get("one_by_one"):
            return partial(call, *data)
        samples = list(zip(*(part.split(1) for part in data), strict=True))
        joined = self.torch.cat

        def one_by_one() -> Any:
            return joined([call(*sample) for sample in samples])

        return one_by_one

    def _bind(self) -> ModelStep:
        if not self.switches.get("cuda_graph"):
            return self.eager()
        from gpuexplorer.backends.torch.model_steps import captured

        learned = [self.target(a.name) for a in self.plan.arrays if a.role == "inout"]
        return captured(self.torch, self.eager(), learned, self.wait)
