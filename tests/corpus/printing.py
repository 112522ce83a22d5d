"""What kernels print."""

from __future__ import annotations

import numpy as np

from tests.corpus.case import Case, outputs, wholes

_X = np.array([1.5, -2.25, 3.0, -4.0], np.float32)
_SUMS = wholes((3, 32), -9, 9)
_TWO = Case("printOnceABlock", 3, 32, {"in": _SUMS, "out": outputs(3, kind="i4")},
            out=lambda d: d["in"].sum(1))  # fmt: skip
_TWO.printed = [f"block {b} of 3: sum = {row.sum()}" for b, row in enumerate(_TWO.arguments["in"])]

CASES = [
    Case("helloFromGPU", 2, 3, {},
         printed=[f"Hello World from block {b}, thread {t}!" for b in (0, 1) for t in range(3)]),
    Case("printKinds", 1, 4, dict(x=_X, y=_X.astype("f8") / 4, z=np.arange(4, dtype="i8") - 2**40,
                                  n=3),
         printed=[f"{i:2d}: {_X[i]:8.3f} {_X[i] / 4:g} {i - 2**40} {i * 10}% {'abc'[i]} 0x{i:04x}"
                  for i in range(3)]),
    Case("printFromHelper", 1, 32, dict(x=_X, y=outputs(4), n=4), y=lambda d: np.maximum(_X, 0),
         printed=[f"element {i} is {_X[i]:f}, which is negative" for i in (1, 3)]),
    _TWO,
]  # fmt: skip
