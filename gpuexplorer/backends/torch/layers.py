"""Linear layers and products in the forms that only low precisions have.

Imports PyTorch: load it only in a runner.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import nn

from gpuexplorer.backends.torch.formats import STEPS
from gpuexplorer.backends.torch.instructions import capabilities

FP8_LARGEST = 448.0
"""The largest number of e4m3."""
INT8_LARGEST = 127.0
TINY = 1e-12
"""Scales are at least this, so that an array of zeros divides by something."""


class Quantised(nn.Module):  # type: ignore[misc]
    """A layer that turns what is written to it into its own form."""

    def take(self, name: str, values: Any) -> None:
        """Take in an array by its name; ``values`` is float32 on the layer's device."""
        raise ValueError(f"{type(self).__name__} has no '{name}'")

    def drop(self) -> None:
        """Let go of what is no parameter or buffer."""


def to_fp8(values: Any) -> tuple[Any, Any]:
    """Return values as e4m3 and the factor that they were divided by, one for the whole array."""
    wide = values.float()
    scale = (wide.abs().amax() / FP8_LARGEST).clamp(min=TINY)
    return (wide / scale).to(torch.float8_e4m3fn), scale


def fp8_product(a: Any, bt: Any, scale_a: Any, scale_b: Any, bias: Any = None) -> Any:
    """Return ``a btᵀ`` of e4m3 matrices, each with its scale, plus a bias, in bf16; sums are fp32.

    On a GPU that is ``torch._scaled_mm``. On a CPU the numbers are widened to fp32 and multiplied:
    PyTorch does the same on most of them, and on the others calls a reference implementation of
    oneDNN's that takes several hundred times as long (``ref:any`` in its log, v3.12).
    """
    if a.is_cuda:
        return torch._scaled_mm(
            a, bt.t(), scale_a=scale_a, scale_b=scale_b, bias=bias, out_dtype=torch.bfloat16
        )
    out = torch.mm(a.float(), bt.float().t()).mul_(scale_a * scale_b)
    return (out if bias is None else out.add_(bias)).to(torch.bfloat16)


def _filled_up(outputs: int, precision: str) -> int:
    """Return how many rows a weight has, so that a GPU's product takes it; the rest are zeros."""
    step = STEPS[precision]
    return -(-outputs // step) * step


def _fill(target: Any, values: Any) -> None:
    """Copy values to the first rows of an array, and zeros to the others."""
    target[len(values) :] = 0
    target[: len(values)].copy_(values)


class Fp8Linear(Quantised):
    """A linear layer whose weights are e4m3 and whose inputs become e4m3 as they come.

    Each has one scale for the whole array. The product adds in fp32 and gives bf16.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.outputs = outputs
        rows = _filled_up(outputs, "fp8_e4m3")
        self.register_buffer("weight", torch.empty(rows, inputs, dtype=torch.float8_e4m3fn))
        self.register_buffer("scale", torch.empty((), dtype=torch.float32))
        self.register_buffer("bias", torch.empty(rows, dtype=torch.bfloat16))

    def take(self, name: str, values: Any) -> None:
        """Round the weight or the bias."""
        if name == "bias":
            _fill(self.bias, values)
            return
        rounded, scale = to_fp8(values)
        _fill(self.weight, rounded)
        self.scale.copy_(scale)

    def forward(self, x: Any) -> Any:
        """Return ``x weightᵀ + bias`` in bf16."""
        rounded, scale = to_fp8(x.reshape(-1, x.shape[-1]))
        out = fp8_product(rounded, self.weight, scale, self.scale, self.bias)
        return out[:, : self.outputs].reshape(*x.shape[:-1], self.outputs)


class Fp8Product(Quantised):
    """The product of two matrices that were rounded to e4m3 when they were written."""

    def __init__(self, rows: int, inner: int, columns: int) -> None:
        super().__init__()
        self.register_buffer("A", torch.empty(rows, inner, dtype=torch.float8_e4m3fn))
        self.register_buffer("Bt", torch.empty(columns, inner, dtype=torch.float8_e4m3fn))
        self.register_buffer("scale_A", torch.empty((), dtype=torch.float32))
        self.register_buffer("scale_B", torch.empty((), dtype=torch.float32))

    def take(self, name: str, values: Any) -> None:
        """Round a matrix; the second one is stored by columns, as the product wants it."""
        rounded, scale = to_fp8(values if name == "A" else values.t())
        (self.A if name == "A" else self.Bt).copy_(rounded)
        (self.scale_A if name == "A" else self.scale_B).copy_(scale)

    def forward(self) -> Any:
        """Return the product in bf16."""
        return fp8_product(self.A, self.Bt, self.scale_A, self.scale_B)


class Int8Linear(Quantised):
    """A linear layer by dynamic quantisation with ``torch._int_mm``: on a GPU, or compiled.

    Weights have a scale for each output and inputs one for each row, both symmetric.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.outputs = outputs
        rows = _filled_up(outputs, "int8")
        self.register_buffer("weight", torch.empty(rows, inputs, dtype=torch.int8))
        self.register_buffer("scale", torch.empty(outputs, dtype=torch.float32))
        self.register_buffer("bias", torch.empty(outputs, dtype=torch.float32))

    def take(self, name: str, values: Any) -> None:
        """Round the weight; the bias stays as it is."""
        if name == "bias":
            self.bias.copy_(values)
            return
        scale = (values.abs().amax(dim=1) / INT8_LARGEST).clamp(min=TINY)
        self.scale.copy_(scale)
        _fill(self.weight, (values / scale[:, None]).round())

    def forward(self, x: Any) -> Any:
        """Return ``x weightᵀ + bias`` in fp32."""
        flat = x.reshape(-1, x.shape[-1])
        scale = (flat.abs().amax(dim=1, keepdim=True) / INT8_LARGEST).clamp(min=TINY)
        rounded = (flat / scale).round().to(torch.int8)
        sums = torch._int_mm(rounded, self.weight.t())[:, : self.outputs]
        return (sums * scale * self.scale + self.bias).view(*x.shape[:-1], self.outputs)


class Int8CpuLinear(Quantised):
    """A linear layer by dynamic quantisation on the CPU, as ``quantize_dynamic`` makes it.

    It calls the operator that ``torch.ao.quantization``'s dynamic linear layer calls
    (``quantized::linear_dynamic``), because that module is deprecated and the operator is not.
    Weights have a scale for each output, symmetric; inputs one for the whole array with a zero
    point. Where the CPU has no instruction for it (VNNI), inputs get 7 bits, or sums overflow.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.drop()
        self._short = not capabilities(torch).get("avx512_vnni", False)

    def drop(self) -> None:
        """Let go of the weights."""
        self._weight: Any = None
        self._bias: Any = None
        self._packed: Any = None

    def take(self, name: str, values: Any) -> None:
        """Round the weight and pack it with the bias, once both are there."""
        if name == "bias":
            self._bias = values.clone()
        else:
            scale = (values.abs().amax(dim=1) / INT8_LARGEST).clamp(min=TINY).double()
            zero = torch.zeros(len(scale), dtype=torch.int64)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it is to go; see ``linear``
                self._weight = torch.quantize_per_channel(values, scale, zero, 0, torch.qint8)
        if self._weight is not None and self._bias is not None:
            self._packed = torch.ops.quantized.linear_prepack(self._weight, self._bias)

    def forward(self, x: Any) -> Any:
        """Return ``x weightᵀ + bias`` in fp32."""
        return torch.ops.quantized.linear_dynamic(x, self._packed, self._short)


def linear(inputs: int, outputs: int, precision: str, *, packed: bool) -> Any:
    """Return a linear layer for a precision, weights not yet written.

    ``packed``: int8 weights in the CPU's own form, which torch.compile cannot look into. A PyTorch
    that no longer has them, for they are deprecated, has ``torch._int_mm``.
    """
    if precision == "fp8_e4m3":
        return Fp8Linear(inputs, outputs)
    if precision == "int8":
        packed = packed and hasattr(torch, "quantize_per_channel")
        return Int8CpuLinear(inputs, outputs) if packed else Int8Linear(inputs, outputs)
    return nn.Linear(inputs, outputs)
