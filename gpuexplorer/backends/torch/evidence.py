"""Which arithmetic really ran: what the numbers, the kernels' names and the CPU itself say."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np

from gpuexplorer.backends.base import HostArray
from gpuexplorer.backends.models import same_bits
from gpuexplorer.backends.torch.failures import out_of_memory
from gpuexplorer.backends.torch.instructions import instructions_words
from gpuexplorer.backends.torch.layers import Int8CpuLinear
from gpuexplorer.backends.torch.model import TorchModel
from gpuexplorer.core.result import Arithmetic
from gpuexplorer.workloads.frameworks import family_of

SUMS = {"bfloat16": ("bf16", 256), "float16": ("fp16", 2048)}
"""Where a sum of ones stops growing when it is kept in a 16-bit type."""
ONES = 8192
WITHOUT_PRODUCTS = ("softmax", "layer_norm")
PRODUCT = re.compile(
    r"gemm|cutlass|nvjet|xmma|conv|wgrad|dgrad|flash|fmha|attention", re.IGNORECASE
)
LOWER = {
    "tf32": re.compile(r"tf32|s1688", re.IGNORECASE),
    "bf16": re.compile(r"bf16|bfloat16|nvjet_t", re.IGNORECASE),
    "fp16": re.compile(r"f16|half|nvjet_h", re.IGNORECASE),
}
"""What the names of NVIDIA's kernels hold where they compute in a lower precision."""
COMPARED_BELOW_S = 0.5
"""A longer step is not run once more in fp32, to see whether the results are the same."""
LOOKED_AT = 1 << 16
"""Numbers of each input that are looked at."""
SHOWN = 3
"""Names of kernels that are told."""


def asked_for(model: TorchModel) -> str:
    """Return what weights and data are stored as, and who decides about products."""
    torch = model.torch
    stored = model.format.stored
    if model.format.autocast is not None:
        autocast = model.format.autocast
        return f"weights and data are {stored}, and autocast computes products in {autocast}"
    if model.precision in ("fp32", "tf32") and model.kind == "gpu":
        if torch.backends.cuda.matmul.allow_tf32:
            return f"weights and data are {stored}, and tf32 is on"
        return f"weights and data are {stored}, and tf32 is off"
    if model.precision == "int8":
        packed = any(isinstance(part, Int8CpuLinear) for part in model.module.modules())
        layer = "quantized::linear_dynamic" if packed else "torch._int_mm"
        return (
            f"weights and data are {stored}; layers are {layer} with int8 weights and "
            "inputs rounded as they come"
        )
    if model.precision == "fp8_e4m3":
        if model.kind == "gpu":
            return f"weights and data are {stored}; products are torch._scaled_mm of e4m3 numbers"
        return f"weights and data are {stored}; products are those in fp32 of e4m3 numbers"
    return f"weights and data are {stored}"


def accumulates_in(model: TorchModel) -> tuple[str, str]:
    """Return the type that products are added in, and how that is known."""
    known = model.format.accumulates_in
    stored = model.format.autocast or model.format.stored
    if stored not in SUMS or family_of(model.plan.model or "") in WITHOUT_PRODUCTS:
        return known, ""
    name, stops_at = SUMS[stored]
    found = _sum_of_ones(model.torch, model.place, stored)
    if found == ONES:
        return "fp32", f"{ONES} products of ones add up, where {name} sums would stop at {stops_at}"
    return name, f"{ONES} products of ones add up to {found:g}"


@functools.cache
def _sum_of_ones(torch: Any, place: str, stored: str) -> float:
    dtype = getattr(torch, stored)
    with torch.no_grad():
        rows = torch.ones(64, ONES, dtype=dtype, device=place)
        return float((rows @ rows.t()).float().min())


def kernel_names(model: TorchModel) -> list[str]:
    """Return the kernels of one step, in order; empty where the profiler cannot see them."""
    profiler = model.torch.profiler
    try:
        with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as seen:
            model.step()
            model.wait()
    except RuntimeError:  # no CUPTI, or another profiler has it
        return []
    names = [e.name for e in seen.events() if "CUDA" in str(e.device_type)]
    return [name for name in names if not name.startswith(("Memcpy", "Memset"))]


def distinguishable(inputs: Mapping[str, HostArray]) -> bool:
    """Whether a lower precision must change the results: inputs that it has to round."""
    wide = [values.ravel()[:LOOKED_AT] for values in inputs.values() if values.dtype == np.float32]
    return any(bool((values.view(np.uint32) & 0x1FFF).any()) for values in wide)


def look(model: TorchModel) -> Arithmetic:
    """Say what ran, after a step has: by the numbers, and on a GPU by its kernels' names.

    Runs the model once more; weights that learn are then as they were written.
    """
    with model.mode():
        kernels = kernel_names(model) if model.kind == "gpu" else []
    same, why_not = _held_against_fp32(model)
    return arithmetic_of(model, same, why_not, kernels)


def _held_against_fp32(model: TorchModel) -> tuple[bool | None, str]:
    """Return whether a step in fp32 gives the very same numbers, or why that was not compared."""
    if model.precision in ("fp32", "fp64"):
        return None, ""
    inputs = dict(model.inputs)
    if not distinguishable(inputs):
        return None, "every precision holds these inputs as they are"
    names = tuple(a.name for a in model.plan.outputs)
    learned = {a.name: inputs[a.name] for a in model.plan.arrays if a.role == "inout"}
    model.write(learned)
    began = perf_counter()
    own = _results(model, names)
    took_s = perf_counter() - began
    model.write(learned)
    if took_s > COMPARED_BELOW_S:
        return None, "that would take long"
    plain = TorchModel(model.torch, model.plan, model.place, "fp32")
    try:
        plain.set_flags()
        plain.prepare()
        plain.allocate()
        plain.write(inputs)
        return same_bits(own, _results(plain, names)), ""
    except Exception as error:
        if not out_of_memory(model.torch, error):
            raise
        return None, "memory is short"
    finally:
        plain.free()
        model.set_flags()


def _results(model: TorchModel, names: tuple[str, ...]) -> dict[str, HostArray]:
    with model.mode():
        results = model.step()
        model.wait()
    return model.read(results, names)


def arithmetic_of(
    model: TorchModel, same: bool | None, why_not: str, kernels: list[str]
) -> Arithmetic:
    """Put together what is known; ``same``: whether the results are fp32's, None: not compared."""
    asked = model.precision
    sums, known_by = accumulates_in(model)
    how = [asked_for(model)]
    if model.kind == "cpu":
        how.append(instructions_words(model.torch, model.precision) or "")
    if kernels:
        how.append(f"kernels: {', '.join(_short(kernels))}")
    how.append(known_by)
    if model.switches.get("reduced_accumulation"):
        how.append("parts of a sum may be added in 16 bits, as was asked for")
    if same is not None:
        how.append("the results are those of fp32" if same else "the results are not those of fp32")
    elif why_not:
        how.append(f"not compared with fp32: {why_not}")
    fallback = fallback_of(model, same, kernels)
    return Arithmetic(
        asked=asked,
        ran=asked if fallback is None else "fp32",
        accumulates_in=sums,
        how="; ".join(words for words in how if words),
        fallback=fallback,
    )


def fallback_of(model: TorchModel, same: bool | None, kernels: list[str]) -> str | None:
    """Return the sentence that says what ran instead of what was asked for; None if that ran."""
    asked = model.precision
    if asked in ("fp64", "fp32"):
        return None
    if same:
        reason = {
            "tf32": "tf32 was allowed, and nothing used it",
            "autocast_bf16": "autocast leaves this model's operators in fp32",
            "autocast_fp16": "autocast leaves this model's operators in fp32",
        }.get(asked, f"nothing was computed in {asked}")
        return f"{reason}: the results are those of fp32 to the last bit"
    if asked == "fp8_e4m3" and model.kind == "cpu":
        return (
            "CPUs have no fp8 arithmetic: the numbers are rounded to e4m3, widened and multiplied "
            "in fp32"
        )
    lower = LOWER.get(asked.removeprefix("autocast_"))
    products = [name for name in kernels if PRODUCT.search(name)]
    if lower is not None and products and not any(lower.search(name) for name in products):
        if all("sgemm" in name or "simt" in name or "f32f32" in name for name in products):
            return f"the products ran in fp32, as the names of their kernels say: {products[0]}"
    return None


def _short(kernels: list[str]) -> list[str]:
    """Return the names of a few kernels, products first, without their template arguments."""
    ordered = sorted(dict.fromkeys(kernels), key=lambda name: not PRODUCT.search(name))
    return [re.sub(r"[<(].*", "", name)[:80] for name in ordered[:SHOWN]]
