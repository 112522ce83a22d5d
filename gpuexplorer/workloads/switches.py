"""What the structure of a model's work allows: switches, each of which changes one thing.

A switch changes how a model is computed and never what. Values that differ from the default stand
in ``RunConfig.switches``; ``Plan.switches`` has every switch that is offered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gpuexplorer.core.config import EVEN_IF_WRONG
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.core.knobs import TRANSFERS, switch_value
from gpuexplorer.core.units import listed
from gpuexplorer.workloads.frameworks import FRAMEWORKS, OWN_FAMILIES, family_of, framework_of
from gpuexplorer.workloads.manifest import VariantSpec
from gpuexplorer.workloads.strict import suggestion

Value = bool | str

_FORWARD = ("matmul", "mlp", "conv2d", "attention", "softmax", "layer_norm", "transformer_block",
            "cnn", "own")  # fmt: skip
_SHIPPED = (*(name for name in _FORWARD if name not in OWN_FAMILIES), "mlp_training")
_SAMPLES = ("mlp", "conv2d", "attention", "transformer_block", "cnn")
_PRODUCTS = ("matmul", "mlp", "mlp_training", "attention", "transformer_block", "cnn", "conv2d",
             *OWN_FAMILIES)  # fmt: skip


class Switch(msgspec.Struct, frozen=True):
    """One switch: its values, the first of which need not be the default, and who offers it."""

    name: str
    title: str
    teaches: str
    """What it changes and why that may help, in one or two sentences."""
    values: tuple[Value, ...]
    default: Value
    frameworks: tuple[str, ...]
    kinds: tuple[str, ...] = ("cpu", "gpu")
    workloads: tuple[str, ...] = ()
    """The models (``family_of``) that have it; empty: all."""
    gpu_values: tuple[Value, ...] = ()
    """Values that only a GPU has."""
    with_transfers: bool = False
    """Whether it changes the copies alone, so that it needs ``include_transfers``."""

    def values_on(self, kind: str) -> tuple[Value, ...]:
        """Return the values that a kind of device (``cpu``, ``gpu``) has."""
        return tuple(v for v in self.values if kind == "gpu" or v not in self.gpu_values)

    def require(self, value: object) -> None:
        """Raise InputError when it is none of the switch's values, which are typed: no 1 for on."""
        if value not in self.values or isinstance(value, bool) != isinstance(self.default, bool):
            raise InputError(
                f"switch '{self.name}' cannot be {value!r}",
                remedy=f"use {', '.join(repr(v) for v in self.values)}",
            )

    def read(self, text: str) -> Value:
        """Return the value that a text names; InputError when it is none of them."""
        word = text.strip().lower()
        if isinstance(self.default, bool):
            word = {"true": "on", "yes": "on", "false": "off", "no": "off"}.get(word, word)
        for value in self.values:
            if word == switch_value(value):
                return value
        allowed = [switch_value(v) for v in self.values]
        raise InputError(
            f"switch '{self.name}' cannot be '{text}'", remedy=suggestion(text, allowed)
        )


def _flag(
    name: str,
    title: str,
    teaches: str,
    frameworks: tuple[str, ...],
    *,
    default: bool = False,
    kinds: tuple[str, ...] = ("cpu", "gpu"),
    workloads: tuple[str, ...] = (),
    with_transfers: bool = False,
) -> Switch:
    return Switch(
        name, title, teaches, (False, True), default, frameworks, kinds, workloads,
        with_transfers=with_transfers,
    )  # fmt: skip


SWITCHES: dict[str, Switch] = {
    s.name: s
    for s in (
        Switch(
            "compile",
            "torch.compile",
            "The model is traced once and its operators are fused into fewer kernels, so that "
            "intermediate results stay in registers and caches. 'reduce-overhead' records CUDA "
            "graphs as well; 'max-autotune' also tries several kernels and keeps the fastest.",
            ("off", "default", "reduce-overhead", "max-autotune"),
            "off",
            ("torch",),
            gpu_values=("reduce-overhead",),
        ),
        _flag(
            "cuda_graph",
            "CUDA graph",
            "The launches of one step are recorded once and replayed as a whole: the CPU no longer "
            "pays for each of them, which is what small kernels wait for.",
            ("torch",),
            kinds=("gpu",),
        ),
        _flag(
            "channels_last",
            "Channels last",
            "Images and filters lie in memory with the channels of a pixel side by side (NHWC), "
            "which tensor cores and vector units read without rearranging.",
            ("torch",),
            workloads=("conv2d", "cnn", *OWN_FAMILIES),
        ),
        Switch(
            "sdpa",
            "Attention back end",
            "Which implementation of scaled dot-product attention runs: 'math' writes the whole "
            "matrix of scores to memory, the fused ones keep it in tiles on the chip.",
            ("auto", "math", "flash", "efficient", "cudnn"),
            "auto",
            ("torch",),
            workloads=("attention", "transformer_block", *OWN_FAMILIES),
            gpu_values=("efficient", "cudnn"),
        ),
        _flag(
            "fused_optimizer",
            "Fused optimiser",
            "The optimiser updates all weights in one kernel instead of several for each array.",
            ("torch",),
            workloads=("mlp_training", "own_training"),
        ),
        _flag(
            "in_place",
            "In place",
            "Activations overwrite their inputs: less memory is allocated and written.",
            ("torch",),
            workloads=("mlp", "cnn"),
        ),
        Switch(
            "grad_mode",
            "Gradient mode",
            "Whether PyTorch records what a backward pass would need: 'grad' does, 'no_grad' does "
            "not, 'inference' also drops the version counters of its tensors.",
            ("grad", "no_grad", "inference"),
            "inference",
            ("torch",),
            workloads=_FORWARD,
        ),
        _flag(
            "one_by_one",
            "Without batching",
            "The samples of the batch are computed one after another: what batching buys, seen by "
            "taking it away.",
            tuple(FRAMEWORKS),
            workloads=_SAMPLES,
        ),
        _flag(
            "pinned",
            "Pinned memory",
            "The host's arrays lie in page-locked memory, which the GPU reads and writes itself; "
            "from ordinary memory the driver copies everything once more.",
            ("torch",),
            kinds=("gpu",),
            workloads=_SHIPPED,
            with_transfers=True,
        ),
        _flag(
            "async_copies",
            "Asynchronous copies",
            "The batch is cut into parts, and while one is computed the next is copied, on streams "
            "of their own, from pinned memory.",
            ("torch",),
            kinds=("gpu",),
            workloads=_SAMPLES,
            with_transfers=True,
        ),
        _flag(
            "checkpointing",
            "Gradient checkpointing",
            "The forward pass keeps only the inputs of its parts, and the backward pass computes "
            "the rest again: less memory for more time.",
            ("torch",),
            workloads=("mlp_training",),
        ),
        _flag(
            "reduced_accumulation",
            "Reduced-precision sums",
            "PyTorch may add parts of fp16 and bf16 products in the type of the result. It does by "
            "default; here sums are fp32 unless this is on.",
            ("torch",),
            kinds=("gpu",),
            workloads=_PRODUCTS,
        ),
        _flag(
            "jit",
            "jax.jit",
            "The whole function is compiled by XLA once, instead of one operator at a time.",
            ("jax",),
        ),
        _flag(
            "tf_function",
            "tf.function",
            "The model is traced into a graph once; Python no longer runs between operators.",
            ("tensorflow", "keras"),
        ),
        _flag(
            "xla",
            "XLA",
            "The graph is compiled by XLA, which fuses operators (tf.function with jit_compile).",
            ("tensorflow", "keras"),
        ),
        _flag(
            "memory_growth",
            "Memory growth",
            "The framework takes GPU memory as it needs it; otherwise it takes nearly all of it at "
            "the start, and another program finds none.",
            ("tensorflow", "keras", "jax"),
            default=True,
            kinds=("gpu",),
        ),
    )
}

COMPILING = ("compile", "xla", "jit", "tf_function")
"""Switches with which a model is compiled before its first launch; nobody knows how long."""


def offered(variant: VariantSpec, device: DeviceInfo) -> tuple[Switch, ...]:
    """Return the switches of a variant on a device; a kernel or library call has none."""
    if variant.model is None:
        return ()
    return tuple(
        s for s in SWITCHES.values() if _why_not(s, variant.model, device.kind, device.id) is None
    )


def of_model(model: str) -> tuple[Switch, ...]:
    """Return the switches of a model on any device."""
    return tuple(s for s in SWITCHES.values() if _why_not(s, model, None, "") is None)


def read_switch(name: str, text: str) -> Value:
    """Return the value of a switch as it is written; InputError for an unknown name or value."""
    return _known(name).read(text)


def without_defaults(switches: Mapping[str, Any]) -> dict[str, Any]:
    """Return what differs from its default: equal configurations stay equal."""
    return {
        name: value
        for name, value in switches.items()
        if value != (SWITCHES[name].default if name in SWITCHES else False)
    }


def effective(
    variant: VariantSpec, device: DeviceInfo, switches: Mapping[str, Any]
) -> dict[str, Value]:
    """Return the value of every switch that is offered, given those that were chosen."""
    return {s.name: switches.get(s.name, s.default) for s in offered(variant, device)}


def kept(switches: Mapping[str, Any], variant: VariantSpec) -> dict[str, Any]:
    """Return those switches that another variant has too."""
    own = {s.name for s in of_model(variant.model)} if variant.model is not None else set()
    return {name: value for name, value in switches.items() if name in own or name == TRANSFERS}


def check(variant: VariantSpec, name: str, device: DeviceInfo, switches: Mapping[str, Any]) -> None:
    """Refuse switches that a variant of that name does not have on a device.

    Raises InputError for an unknown name or value and for what does not go together, CannotRunHere
    for what needs another kind of device.
    """
    for switch_name, value in switches.items():
        if switch_name in (TRANSFERS, EVEN_IF_WRONG):
            continue
        switch = _known(switch_name)
        if variant.model is None:
            raise InputError(
                f"variant '{name}' has no switch '{switch_name}'",
                remedy="switches belong to frameworks' models; leave --switch out",
            )
        switch.require(value)
        if value == switch.default:
            continue
        why = _why_not(switch, variant.model, device.kind, device.id)
        if why is not None:
            own = [s.name for s in offered(variant, device)]
            listed = f"it has {', '.join(own)}" if own else "it has none"
            if device.kind not in switch.kinds:
                raise CannotRunHere(why, remedy=listed)
            raise InputError(why, remedy=listed)
        if value not in switch.values_on(device.kind):
            allowed = [switch_value(v) for v in switch.values_on(device.kind)]
            raise CannotRunHere(
                f"switch '{switch_name}' can be '{value}' on a GPU only, and {device.id} is none",
                remedy=f"use {', '.join(allowed)}",
            )
        if switch.with_transfers and not switches.get(TRANSFERS):
            raise InputError(
                f"switch '{switch_name}' changes copies, which are not timed",
                remedy="add --include-transfers",
            )
    _check_together(switches, device.kind)


def _check_together(switches: Mapping[str, Any], kind: str) -> None:
    mode = switches.get("compile", "off")
    records = kind == "gpu" and mode in ("reduce-overhead", "max-autotune")
    if switches.get(TRANSFERS) and (switches.get("cuda_graph") or records):
        raise InputError(
            "a CUDA graph belongs to its arrays, and with transfers every sample has new ones",
            remedy="leave out --include-transfers or the graph; compile=default records none",
        )
    if switches.get("cuda_graph") and records:
        raise InputError(
            f"compile = {mode} records CUDA graphs itself",
            remedy="leave the switch cuda_graph out, or use compile=default",
        )


def _known(name: str) -> Switch:
    if name not in SWITCHES:
        raise InputError(f"no switch '{name}'", remedy=suggestion(name, SWITCHES))
    return SWITCHES[name]


def _why_not(switch: Switch, model: str, kind: str | None, device: str) -> str | None:
    """Return why a model on a kind of device (None: any) does not have a switch; None if it has."""
    framework, family = framework_of(model), family_of(model)
    if framework not in switch.frameworks:
        owners = listed(FRAMEWORKS[f] for f in switch.frameworks)
        return f"switch '{switch.name}' is one of {owners}, not of {FRAMEWORKS[framework]}"
    if switch.workloads and family not in switch.workloads:
        return f"switch '{switch.name}' is for {', '.join(switch.workloads)}, not for {family}"
    if kind is not None and kind not in switch.kinds:
        return f"switch '{switch.name}' is for a {switch.kinds[0].upper()}, which {device} is not"
    return None
