"""The number formats a workload may be run in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Precision:
    """A storage type, the type its arithmetic accumulates in, and how NumPy holds it."""

    name: str
    title: str
    itemsize_B: int
    accum_itemsize_B: int
    dtype: npt.DTypeLike
    accum_dtype: npt.DTypeLike
    largest: float
    """The largest finite value of the storage type."""

    @property
    def is_half(self) -> bool:
        """Whether the storage type is a 16-bit one."""
        return self.itemsize_B == 2


PRECISIONS: dict[str, Precision] = {
    p.name: p
    for p in (
        Precision("fp64", "fp64 (double)", 8, 8, np.float64, np.float64, 1.7976931348623157e308),
        Precision("fp32", "fp32 (float)", 4, 4, np.float32, np.float32, 3.4028234663852886e38),
        Precision("fp16", "fp16 (half)", 2, 4, np.float16, np.float32, 65504.0),
    )
}
