"""The precisions that PyTorch's models have: how arrays are stored, and who has what.

Nothing here imports PyTorch: devices are found without it.
"""

from __future__ import annotations

import math
import re

import msgspec

from gpuexplorer.workloads.frameworks import family_of
from gpuexplorer.workloads.models import MODELS as FAMILIES
from gpuexplorer.workloads.plan import Plan

MODELS: dict[str, str] = {f"torch.{name}": name for name in FAMILIES}
"""The models that are offered, and the function of ``backends.torch.models`` that builds each."""
LINEAR_MODELS = ("matmul", "mlp", "transformer_block")
"""Models whose work is in matrix products with weights: what fp8 and dynamic int8 are made for."""

STEPS = {"fp8_e4m3": 16, "int8": 8}
"""A GPU multiplies matrices in these whose inner lengths are multiples of so many."""


class Format(msgspec.Struct, frozen=True):
    """How PyTorch runs a model in one precision."""

    stored: str
    """The type of weights and data, by its name in ``torch``."""
    accumulates_in: str
    """The type that products are added in, by PyTorch's documentation."""
    autocast: str | None = None
    """The type that autocast chooses for matrix products and convolutions."""
    quantised: bool = False
    """Whether linear layers have a form of their own (see ``layers``)."""


FORMATS: dict[str, Format] = {
    "fp64": Format("float64", "fp64"),
    "fp32": Format("float32", "fp32"),
    "tf32": Format("float32", "fp32"),
    "bf16": Format("bfloat16", "fp32"),
    "fp16": Format("float16", "fp32"),
    "fp8_e4m3": Format("bfloat16", "fp32", quantised=True),
    "int8": Format("float32", "int32", quantised=True),
    "autocast_bf16": Format("float32", "fp32", autocast="bfloat16"),
    "autocast_fp16": Format("float32", "fp32", autocast="float16"),
}


def cpu_precisions(version: str) -> tuple[str, ...]:
    """Return the precisions of the CPU in a version of PyTorch: fp8 is offered from 2.8 on."""
    without = {"tf32"} if _number(version) >= (2, 8) else {"tf32", "fp8_e4m3"}
    return tuple(name for name in FORMATS if name not in without)


def gpu_precisions(capability: tuple[int, int]) -> tuple[str, ...]:
    """Return the precisions of an NVIDIA GPU of that compute capability.

    tf32 and bf16 came with 8.0, fp8 with 8.9, and whole-number tensor cores with 7.5. Older ones
    run bf16 too, by way of fp32, which is not what is asked for.
    """
    since = {"tf32": (8, 0), "bf16": (8, 0), "autocast_bf16": (8, 0), "fp8_e4m3": (8, 9),
             "int8": (7, 5)}  # fmt: skip
    return tuple(name for name in FORMATS if capability >= since.get(name, (0, 0)))


def _number(version: str) -> tuple[int, ...]:
    """Return major and minor of a version such as ``2.13.0+cpu``."""
    return tuple(int(n) for n in re.findall(r"\d+", version)[:2])


def refusal(plan: Plan, kind: str) -> tuple[str, str] | None:
    """Return why a model cannot run in the plan's precision on a kind of device, and what to do.

    None where it can; what the device itself lacks, ``DeviceInfo.precisions`` says.
    """
    precision, family = plan.config.precision, family_of(plan.model or "")
    if FORMATS[precision].quantised and family not in LINEAR_MODELS:
        return (
            f"PyTorch has {precision} for linear layers and matrix products alone, and "
            f"'{family}' is another model",
            f"choose another precision, or one of {', '.join(LINEAR_MODELS)}",
        )
    if kind == "cpu" or precision not in STEPS:
        return None
    step = STEPS[precision]
    for array in plan.arrays:  # a layer's outputs are filled up, its inputs are not
        inner = array.name in FAMILIES[family].weights and len(array.shape) == 2
        lengths = array.shape if family == "matmul" else array.shape[1:] if inner else ()
        if any(n % step for n in lengths):
            shape = " × ".join(map(str, array.shape))
            return (
                f"{precision} products on a GPU need inner lengths that are multiples of {step}, "
                f"and '{array.name}' is {shape}",
                f"choose sizes that are multiples of {step}",
            )
    rows = next(math.prod(a.shape[:-1]) for a in plan.arrays if a.name in ("X", "A"))
    if precision == "int8" and rows <= 16:
        return (
            f"PyTorch's int8 product on a GPU needs more than 16 rows, and there are {rows}",
            "choose a larger batch",
        )
    return None
