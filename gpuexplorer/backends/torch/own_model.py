"""A user's own module as a model: converted to the run's precision, stepped, and set back.

The module that ``build()`` returned stays on the host as it is, and so do the example inputs: they
are the masters from which every run, and the check in float64, takes weights and data.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from gpuexplorer.backends.base import HostArray
from gpuexplorer.backends.models import ModelStep
from gpuexplorer.backends.torch.compiled import STEPS, Compiled, check_compiler
from gpuexplorer.backends.torch.model import TorchModel
from gpuexplorer.backends.torch.own_model_file import Built, UserFile, mapped, tensors_in
from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads.frameworks import OWN_MODELS
from gpuexplorer.workloads.own_model import ITERATIONS, look_over
from gpuexplorer.workloads.plan import ArrayPlan, Plan
from gpuexplorer.workloads.workload import MODEL_FILE

LEARNING_RATE = 1e-3
"""Of the optimiser's step (SGD); its time does not depend on it."""
WEIGHTS, INPUT, LOSS = "weights", "input", "loss"
_FORWARD, _TRAINING = OWN_MODELS


class OwnModel(TorchModel):
    """The module of a user's file, in the plan's precision or in another one."""

    def __init__(self, torch: Any, plan: Plan, place: str) -> None:
        super().__init__(torch, plan, place)
        text = plan.files[MODEL_FILE]
        self.file = UserFile(text, plan.origin, torch)
        self.declared = look_over(text, Path(plan.origin))
        self.trains = plan.model == _TRAINING
        self.module: Any = None
        self.first_s: float | None = None
        """What an iteration took, as far as it was tried while building."""
        self._optimizer: Any = None
        self._call: Callable[..., Any] | None = None
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._overwritten: frozenset[int] = frozenset()
        """Numbers of the inputs that an iteration changes."""
        self._held: list[tuple[Any, Any]] = []
        """What ``reset`` sets back, beside what was written there: weights and buffers of a
        training step, and inputs that are overwritten."""

    # ---- the textbook program

    def prepare(self) -> None:
        """Run the file, convert the module, try it, count its work, and compile it if asked to.

        Afterwards ``plan`` has the operations, bytes and arrays that no manifest knew.
        """
        if self.switches.get("cuda_graph") and self.plan.config.include_transfers:
            raise InputError(
                "a CUDA graph of your own model holds its arrays, so it cannot copy them anew",
                remedy="leave --include-transfers or --switch cuda_graph out",
            )
        self.built = self.build()
        if self.trains and self.built.loss is None:
            raise InputError(
                f"{self.file.origin}: there is no loss to train with",
                remedy="define loss(output), or return it from build() as the third",
            )
        self.module = self.converted(self.dtype)
        if self.trains:
            self._optimizer = self._new_optimizer(self.module)
        self._call = self.module
        self._fill()
        with self._mode_of("grad" if self.trains else "no_grad"):
            self._count()
        with self.mode():
            self._compile()
            self.reset()
            began = perf_counter()
            self.step()
            self.wait()
            self.first_s = perf_counter() - began
        self.file.show_printed()
        self.free()

    def build(self) -> Built:
        """Run the file's ``build()``; the same seed makes the same module."""
        sizes = {name: self.plan.config.size[name] for name in self.declared.sizes}
        built = self.file.build(sizes, self.plan.config.seed)
        if any(self.torch.nn.parameter.is_lazy(p) for p in built.module.parameters()):
            args, kwargs = self._copied(built, lambda tensor: tensor.clone())
            with self.torch.no_grad():
                built.module(*args, **kwargs)  # lazy layers learn their shapes
        return built

    def converted(self, dtype: Any) -> Any:
        """Return a copy of the module on the device, its floating-point numbers as ``dtype``."""
        module = self._copy().to(device=self.place, dtype=dtype)
        if self.switches.get("channels_last"):
            module = module.to(memory_format=self.torch.channels_last)
        return module.train(self.trains)

    def _copy(self) -> Any:
        try:
            return copy.deepcopy(self.built.module)
        except Exception:  # noqa: BLE001 - what cannot be copied is built once more
            return self.build().module

    def example_inputs(self, dtype: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the example inputs on the device, their floating-point numbers as ``dtype``."""

        def moved(tensor: Any) -> Any:
            wanted = dtype if tensor.is_floating_point() else tensor.dtype
            made = tensor.detach().to(device=self.place, dtype=wanted, copy=True)
            if self.switches.get("channels_last") and made.dim() == 4:
                made = made.contiguous(memory_format=self.torch.channels_last)
            return made

        return self._copied(self.built, moved)

    def _copied(
        self, built: Built, change: Callable[[Any], Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the example inputs with every tensor changed."""
        args = tuple(mapped(self.torch, value, change) for value in built.args)
        return args, {k: mapped(self.torch, v, change) for k, v in built.kwargs.items()}

    def _new_optimizer(self, module: Any) -> Any:
        fused = bool(self.switches.get("fused_optimizer", False))
        weights = [p for p in module.parameters() if p.requires_grad]
        if not weights:
            raise InputError(
                f"{self.file.origin}: the module has no weights to train",
                remedy="choose the forward variant",
            )
        return self.torch.optim.SGD(weights, lr=LEARNING_RATE, fused=fused)

    def allocate(self) -> None:
        """Allocate weights and data, uninitialised."""
        self.free()
        with self.torch.no_grad():
            for own, master in self._pairs():
                own.data = self.torch.empty_like(
                    self._as_own(master), device=self.place, dtype=self._type_of(master)
                )

    def write(self, arrays: Mapping[str, HostArray]) -> None:
        """Round the masters and copy them; ``arrays`` is empty, for the file brings its own."""
        self._fill()

    def _fill(self) -> None:
        with self.torch.no_grad():
            for own, master in self._pairs():
                if own.shape == master.shape:
                    own.copy_(master)
                else:  # freed, and not allocated again
                    own.data = self._as_own(master).to(
                        device=self.place, dtype=self._type_of(master), copy=True
                    )
            self._args, self._kwargs = self.example_inputs(self.dtype)
            kept = [own for own, _ in self._pairs()] if self.trains else []
            kept += [one for index, one in enumerate(self._inputs()) if index in self._overwritten]
            self._held = [(one, one.detach().clone()) for one in kept]
        self.wait()

    def _inputs(self) -> list[Any]:
        return tensors_in(self.torch, (self._args, self._kwargs))

    @property
    def overwrites(self) -> bool:
        """Whether an iteration changes its inputs."""
        return bool(self._overwritten)

    def _pairs(self) -> Iterator[tuple[Any, Any]]:
        """Yield weights and buffers of the run beside their masters."""
        master = self.built.module
        yield from zip(self.module.parameters(), master.parameters(), strict=True)
        yield from zip(self.module.buffers(), master.buffers(), strict=True)

    def _as_own(self, master: Any) -> Any:
        if self.switches.get("channels_last") and master.dim() == 4:
            return master.detach().contiguous(memory_format=self.torch.channels_last)
        return master.detach()

    def _type_of(self, master: Any) -> Any:
        return self.dtype if master.is_floating_point() else master.dtype

    def reset(self) -> None:
        """Set what an iteration changes back to what was written."""
        with self.torch.no_grad():
            for one, written in self._held:
                one.copy_(written)

    def read(self, results: Any, names: tuple[str, ...]) -> dict[str, HostArray]:
        """Copy results to the host, halves as float32."""
        torch = self.torch
        found = dict(zip(self._outputs(results), self.results_of(results), strict=True))
        host: dict[str, HostArray] = {}
        for name in names:
            tensor = found[name].detach().cpu()
            wide = tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor
            host[name] = wide.numpy().copy()
        return host

    def results_of(self, results: Any) -> list[Any]:
        """Return the tensors that an iteration gave."""
        return tensors_in(self.torch, results)

    def free(self) -> None:
        """Free every array on the device; the masters stay."""
        self._bound = None
        self._args, self._kwargs, self._held = (), {}, []
        if self.module is None:
            return
        self.module.zero_grad(set_to_none=True)
        for own in (*self.module.parameters(), *self.module.buffers()):
            own.data = self.torch.empty(0, dtype=own.dtype, device=self.place)

    # ---- the step

    @contextmanager
    def mode(self) -> Iterator[None]:
        """Have gradients for training, and otherwise what the switch says."""
        chosen = str(self.switches.get("grad_mode", "inference"))
        with self._mode_of("grad" if self.trains else chosen):
            yield

    @property
    def iterations(self) -> int:
        """Iterations of one launch: a size of files that have none of their own."""
        return 1 if self.declared.sizes else self.plan.config.size.get(ITERATIONS, 1)

    def eager(self) -> ModelStep:
        """Return the step as it is launched without a graph."""
        args, kwargs = self._args, self._kwargs
        call = self._cast(self.module if self._call is None else self._call)
        if self.trains:
            iteration = self.learning(call, self._optimizer, args, kwargs)
        else:

            def iteration() -> Any:
                return call(*args, **kwargs)

        times = self.iterations
        if times == 1:
            return iteration

        def several() -> Any:
            for _ in range(times - 1):
                iteration()
            return iteration()

        return several

    def learning(
        self,
        call: Callable[..., Any],
        optimizer: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        plain: bool = False,
    ) -> ModelStep:
        """Return one training step, which returns the loss; ``plain``: without autocast."""
        loss_of = self.built.loss
        assert loss_of is not None
        autocast = nullcontext if plain else self._autocast

        def learn() -> Any:
            optimizer.zero_grad(set_to_none=True)
            with autocast():
                loss = loss_of(call(*args, **kwargs))
            loss.backward()
            optimizer.step()
            return loss.detach()

        return learn

    def _cast(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a call under autocast, where that is asked for; training casts its loss, too."""
        if self.format.autocast is None or self.trains:
            return call
        autocast = self._autocast

        def cast(*args: Any, **kwargs: Any) -> Any:
            with autocast():
                return call(*args, **kwargs)

        return cast

    def _autocast(self) -> Any:
        torch = self.torch
        lower = None if self.format.autocast is None else getattr(torch, self.format.autocast)
        return torch.autocast(
            "cpu" if self.kind == "cpu" else "cuda", lower, enabled=lower is not None
        )

    def _bind(self) -> ModelStep:
        step = super()._bind()
        self.reset()  # recording a graph has run it
        return step

    def _compile(self) -> None:
        mode = str(self.switches.get("compile", "off"))
        if mode == "off":
            return
        check_compiler(self.torch, self.kind)
        Compiled.forget(self.torch)
        if self.kind == "cpu":  # helpers that wait for work would be there while we measure
            self.torch._inductor.config.compile_threads = 1
        self._call = self.torch.compile(
            self.module, dynamic=False, mode=None if mode == "default" else mode
        )
        self._bound = None
        for _ in range(STEPS):
            self.reset()
            self.step()
        self.wait()

    # ---- what no manifest knows

    def _count(self) -> None:
        """Run an iteration, count its operations, and put what is known into the plan."""
        from torch.utils.flop_counter import FlopCounterMode

        step = self.eager()
        try:
            with FlopCounterMode(display=False) as counter:
                results = step()
            flops = float(counter.get_total_flops())
            counted = {str(op) for ops in counter.get_flop_counts().values() for op in ops}
        except Exception:  # noqa: BLE001 - the counter does not know every operator
            results, flops, counted = step(), 0.0, set()  # what fails again is the file's own
        self.wait()
        if self.trains:
            self._check_loss(results)
        self._look_for_overwritten()
        read, write, arrays = self._arrays(results)
        self.plan = msgspec.structs.replace(
            self.plan,
            arrays=arrays,
            reset=(
                *((WEIGHTS,) if self.trains else ()),
                *(_numbered(INPUT, index) for index in sorted(self._overwritten)),
            ),
            flops=flops,
            fewer_flops=any("convolution" in op for op in counted),
            compulsory_read_B=float(read),
            compulsory_write_B=float(write),
        )
        self._bound = None

    def _look_for_overwritten(self) -> None:
        """Note which inputs the iteration before has changed, and hold what they were."""
        present = self._inputs()
        written = tensors_in(self.torch, self.example_inputs(self.dtype))
        found = [
            index
            for index, (one, other) in enumerate(zip(present, written, strict=False))
            if _changed(one, other)
        ]
        self._overwritten = frozenset(found)
        self._held += [(present[index], written[index]) for index in found]

    def _check_loss(self, loss: Any) -> None:
        torch = self.torch
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            kind = type(loss).__name__
            raise InputError(
                f"{self.file.origin}: the loss is a {kind} of shape {tuple(loss.shape)}"
                if isinstance(loss, torch.Tensor)
                else f"{self.file.origin}: the loss is a {kind}",
                remedy="return one number as a tensor, such as a mean",
            )

    def _arrays(self, results: Any) -> tuple[int, int, tuple[ArrayPlan, ...]]:
        """Return bytes read and written at least, and the arrays: weights, inputs, outputs."""
        own = [p for p, _ in self._pairs()]
        weights_B = sum(p.numel() * p.element_size() for p in own)
        arrays = [_array(WEIGHTS, (weights_B,), 1, "in")] if weights_B else []
        inputs = self._inputs()
        for index, tensor in enumerate(inputs):
            arrays.append(_array(_numbered(INPUT, index), tuple(tensor.shape),
                                 tensor.element_size(), "in"))  # fmt: skip
        names = self._outputs(results)
        outputs = self.results_of(results)
        for name, tensor in zip(names, outputs, strict=True):
            arrays.append(_array(name, tuple(tensor.shape), tensor.element_size(), "out"))
        read_B = weights_B + sum(t.numel() * t.element_size() for t in inputs)
        write_B = sum(t.numel() * t.element_size() for t in outputs)
        return read_B, write_B + (weights_B if self.trains else 0), tuple(arrays)

    def _outputs(self, results: Any) -> list[str]:
        if self.trains:
            return [LOSS]
        return [_numbered("output", i) for i in range(len(self.results_of(results)))]


def _changed(one: Any, written: Any) -> bool:
    """Whether a tensor holds anything else than was written; one of another shape cannot be set
    back.
    """
    if one.shape != written.shape:
        return False
    try:
        same = (one == written) | ((one != one) & (written != written))
        return not bool(same.all())
    except Exception:  # noqa: BLE001 - some kinds of tensors cannot be compared
        return False


def _array(name: str, shape: tuple[int, ...], itemsize_B: int, role: Any) -> ArrayPlan:
    return ArrayPlan(
        name=name, shape=shape, type="float", role=role, fill="normal", itemsize_B=itemsize_B
    )


def _numbered(name: str, index: int) -> str:
    return name if index == 0 else f"{name}[{index}]"
