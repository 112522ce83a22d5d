"""One kernel of the corpus: how it is launched, on what, and what it should compute."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Fill = Callable[[np.random.Generator], Array]
Expected = Callable[[Mapping[str, Any]], Any]
"""From the arguments as they were handed over, floats widened to float64, to an array."""
POISON = 0x5A


class Case:
    """A kernel with its arguments by name, and for each array that counts what it should hold."""

    def __init__(
        self,
        kernel: str,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        arguments: Mapping[str, Any],
        *,
        shared: int = 0,
        tolerance: float = 1e-5,
        exact: bool = False,
        within: int = 0,
        printed: list[str] | None = None,
        refused: str | None = None,
        ordered: Sequence[str] = (),
        read: Mapping[str, Callable[[Array], Array]] | None = None,
        **expected: Expected,
    ) -> None:
        self.kernel = kernel
        self.grid = (grid,) if isinstance(grid, int) else grid
        self.block = (block,) if isinstance(block, int) else block
        self.shared_B = shared
        self.tolerance = 0.0 if exact else tolerance
        self.within = within
        """By how much whole numbers may differ that were rounded from others."""
        self.printed = printed
        """The lines that it prints, sorted: their order the threads' own decides."""
        self.did_print = ""
        self.refused = refused
        """The words of its refusal, line first, as a pattern; None for one that runs."""
        self.read = read or {}
        """How an array's numbers are read that NumPy has no type for."""
        self.ordered = ordered
        """Arrays whose order the threads' own decides: they are compared sorted."""
        self.expected = expected
        random = np.random.default_rng(zlib.crc32(kernel.encode()))
        self.arguments = {n: _made(v, random) for n, v in arguments.items()}

    def wrong(self, found: Mapping[str, Array]) -> str:
        """Return in what arrays differ from what they should hold; nothing where they do not."""
        given = {n: _widened(v) for n, v in self.arguments.items()}
        for name, of in self.expected.items():
            right = np.asarray(of(given))
            read: Callable[[Array], Array] = self.read.get(name, _widened)
            got, want = np.asarray(read(found[name])).ravel(), right.ravel()
            if got.size != want.size:
                return f"{name} has {got.size} elements, and should have {want.size}"
            if name in self.ordered:
                got, want = np.sort(got), np.sort(want)
            if self.tolerance == 0.0 or want.dtype.kind in "iub":
                far = np.abs(got.astype(np.int64) - want) if self.within else got != want
                bad = np.flatnonzero(far > self.within)
            else:
                scale = np.abs(want) + np.sqrt(np.mean(want**2)) + 1e-300
                bad = np.flatnonzero(~(np.abs(got - want) <= self.tolerance * scale))
            if len(bad):
                at = bad[0]
                return f"{name}[{at}] is {got[at]}, and should be {want[at]} ({len(bad)} wrong)"
        lines = sorted(self.did_print.splitlines())
        if self.printed is not None and lines != sorted(self.printed):
            return f"it printed {lines[:5]}, and should print {sorted(self.printed)[:5]}"
        return ""


def _made(value: Any, random: np.random.Generator) -> Any:
    is_value = isinstance(value, np.ndarray | np.generic | int | float)
    return value if is_value else value(random)


def _widened(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value.astype(np.float64)
    return value


# ---- what arrays are filled with


def floats(*shape: int) -> Fill:
    """Normally distributed in float32."""
    return lambda random: random.standard_normal(shape, np.float32)


def doubles(*shape: int) -> Fill:
    """Normally distributed in float64."""
    return lambda random: random.standard_normal(shape)


def halves(*shape: int) -> Fill:
    """Normally distributed in float16."""
    return lambda random: random.standard_normal(shape, np.float32).astype(np.float16)


def bfloats(*shape: int) -> Fill:
    """Normally distributed in bfloat16, as its bits."""
    return lambda random: (random.standard_normal(shape, np.float32).view("u4") >> 16).astype("u2")


def widened(bits: Array) -> Array:
    """Return what the bits of bfloat16 numbers stand for."""
    return (bits.astype("u4") << 16).view("f4").astype(np.float64)


def wholes(shape: int | tuple[int, ...], low: int, high: int, kind: str = "i4") -> Fill:
    """Whole numbers from ``low`` to below ``high``."""
    return lambda random: random.integers(low, high, shape).astype(kind)


def bytes_(*shape: int) -> Fill:
    """Bytes."""
    return lambda random: random.integers(0, 256, shape).astype("u1")


def zeros(shape: int | tuple[int, ...], kind: str = "f4") -> Fill:
    """Nothing yet: what is added up, counted or compared."""
    return lambda random: np.zeros(shape, kind)


def outputs(*shape: int, kind: str = "f4") -> Fill:
    """What a kernel writes: every byte is poison before."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    return lambda random: np.full(size, POISON, np.uint8).view(kind).reshape(shape)
