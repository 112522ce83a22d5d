"""The number formats a workload may be run in."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt


class Precision(msgspec.Struct, frozen=True):
    """A storage type, the type its arithmetic accumulates in, and how NumPy holds it.

    A framework's model takes float32 masters (float64 for fp64) from the host in every precision
    and converts them itself; ``dtype`` is what a kernel's host arrays are (for bf16, which NumPy
    has not, what holds its values: ``core.bfloat``), and those masters' type in a precision that
    only models have.
    """

    name: str
    title: str
    itemsize_B: int
    """Bytes of one weight or input as it is stored on the device."""
    accum_itemsize_B: int
    dtype: npt.DTypeLike
    accum_dtype: npt.DTypeLike
    largest: float
    """The largest finite value of the storage type."""
    rounding: float
    """The largest relative error of rounding one number for a multiplication (unit roundoff)."""
    about: str
    """What it is, in one sentence."""
    kernels: bool = False
    """Whether kernels and library calls have it; the others are for frameworks' models alone."""

    @property
    def adds_in(self) -> str:
        """The precision that a kernel adds up in: fp64 its own, all others fp32."""
        return "fp64" if self.accum_itemsize_B == 8 else "fp32"

    @property
    def is_half(self) -> bool:
        """Whether it is IEEE's half, in whose narrow range sums soon overflow."""
        return self.name == "fp16"

    @property
    def is_autocast(self) -> bool:
        """Whether weights stay float32 and each operator chooses what it computes in."""
        return self.name.startswith("autocast")


_FP32_LARGEST = 3.4028234663852886e38
_BF16_LARGEST = 3.3895313892515355e38

PRECISIONS: dict[str, Precision] = {
    p.name: p
    for p in (
        Precision(
            "fp64", "fp64 (double)", 8, 8, np.float64, np.float64, 1.7976931348623157e308,
            2.0**-53, "IEEE double precision: 53 significant bits.", kernels=True,
        ),
        Precision(
            "fp32", "fp32 (float)", 4, 4, np.float32, np.float32, _FP32_LARGEST,
            2.0**-24, "IEEE single precision: 24 significant bits; tf32 is switched off.",
            kernels=True,
        ),
        Precision(
            "tf32", "tf32 (tensor float)", 4, 4, np.float32, np.float32, _FP32_LARGEST,
            2.0**-11, "Stored as fp32; matrix products round their factors to 11 significant bits "
            "and add in fp32, which NVIDIA's tensor cores do since Ampere.",
        ),
        Precision(
            "bf16", "bf16 (brain float)", 2, 4, np.float32, np.float32, _BF16_LARGEST,
            2.0**-8, "fp32's range with 8 significant bits; products are added in fp32.",
            kernels=True,
        ),
        Precision(
            "fp16", "fp16 (half)", 2, 4, np.float16, np.float32, 65504.0,
            2.0**-11, "IEEE half precision: 11 significant bits, at most 65504.", kernels=True,
        ),
        Precision(
            "fp8_e4m3", "fp8 (e4m3)", 1, 4, np.float32, np.float32, 448.0,
            2.0**-4, "4 significant bits, scaled to the largest value; for matrix products alone, "
            "the rest is computed in bf16.",
        ),
        Precision(
            "int8", "int8 (dynamic)", 1, 4, np.float32, np.float32, _FP32_LARGEST,
            2.0**-8, "Dynamic quantisation: weights are whole numbers of 8 bits, and each layer's "
            "inputs are rounded to 8 bits as they come; sums are 32-bit whole numbers.",
        ),
        Precision(
            "autocast_bf16", "autocast bf16", 4, 4, np.float32, np.float32, _FP32_LARGEST,
            2.0**-8, "Weights stay fp32; matrix products and convolutions are computed in bf16, "
            "what needs range or accuracy in fp32.",
        ),
        Precision(
            "autocast_fp16", "autocast fp16", 4, 4, np.float32, np.float32, _FP32_LARGEST,
            2.0**-11, "Weights stay fp32; matrix products and convolutions are computed in fp16, "
            "what needs range or accuracy in fp32.",
        ),
    )
}  # fmt: skip

BFLOAT_SINCE = (8, 0)
"""The first compute capability that computes in bf16 by itself."""
KERNEL_PRECISIONS: tuple[str, ...] = tuple(n for n, p in PRECISIONS.items() if p.kernels)
"""What hand-written kernels and library calls may be run in."""
