"""Two ways to compare an output with float64: element by element, and through random vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gpuexplorer.workloads import formulas
from gpuexplorer.workloads.evaluation import Scope, times
from gpuexplorer.workloads.expected import (
    MOVED,
    Array,
    Expected,
    HostArray,
    moved,
    number_words,
    ratio,
    root_mean_square,
    unfit,
)
from gpuexplorer.workloads.fills import is_poison
from gpuexplorer.workloads.plan import ArrayPlan

Rows = npt.NDArray[np.int64]

SAMPLED_ROWS = 64
"""Rows a sample has at least, besides the first and the last."""
STRETCHES = 1024
"""A sample of more rows is taken in so many stretches of neighbouring ones."""
ROUNDS = 4
"""Random vectors of Freivalds' product."""


class OutputComparison(Protocol):
    """How one output is judged."""

    method: str

    @property
    def nbytes(self) -> int:
        """Bytes of float64 kept."""

    def error(self, output: HostArray) -> float:
        """Return the largest error."""

    def judge(self, output: HostArray) -> tuple[float, float | None]:
        """Return the largest error, and ‖output − reference‖ over ‖reference‖ of what is compared.

        The second is None where that is no number.
        """

    def finds(self, output: HostArray) -> bool:
        """Return whether an output that is right is refused once one element is moved."""

    def explain(self, output: HostArray) -> str:
        """Say which element is furthest off."""


def sample_rows(rows: int, wanted: int, seed: int) -> Rows:
    """Choose about ``wanted`` of ``rows``, with the first and the last, in ascending order.

    Many rows come in stretches of neighbours, which are faster to fetch and show a block of wrong
    elements just as well.
    """
    length = max(1, wanted // STRETCHES)
    stretches = -(-rows // length)
    count = min(stretches, -(-wanted // length))
    chosen = np.random.default_rng(seed).choice(stretches, count, replace=False, shuffle=False)
    starts = np.unique([0, stretches - 1, *chosen]).astype(np.int64) * length
    picked: Rows = (starts[:, None] + np.arange(length)).reshape(-1)
    return picked[picked < rows]


def _spread(rows: Rows) -> Rows:
    """Return so many of some rows as are computed one by one, from the first to the last."""
    count = min(len(rows), SAMPLED_ROWS)
    return rows[np.linspace(0, len(rows) - 1, count).astype(np.int64)]


class ByElement:
    """Compares all rows of an output, or some of them."""

    def __init__(self, array: ArrayPlan, expected: Expected, rows: Rows | None = None) -> None:
        self._array, self._expected, self._rows = array, expected, rows
        self.method = "full" if rows is None else f"{len(rows)} of {array.shape[0]} rows"

    @property
    def nbytes(self) -> int:
        """Bytes of float64 kept."""
        return self._expected.nbytes

    def error(self, output: HostArray) -> float:
        """Return the largest error."""
        return self.judge(output)[0]

    def judge(self, output: HostArray) -> tuple[float, float | None]:
        """Return the largest error, and that of all together."""
        judgement = self._expected.judge(self._chosen(output))
        return judgement.worst, judgement.rms_rel_error

    def finds(self, output: HostArray) -> bool:
        """Return whether an output that is right is refused once one element is moved."""
        return self._expected.finds(self._chosen(output))

    def explain(self, output: HostArray) -> str:
        """Say which element is furthest off."""
        part = self._chosen(output)
        flat = self._expected.judge(part).where
        index = self._place([int(i) for i in np.unravel_index(flat, part.shape)])
        found, right = part.reshape(-1)[flat : flat + 1], self._expected.words(flat)
        element = f"{self._array.name}[{', '.join(map(str, index))}]"
        if found.itemsize > 1 and is_poison(found)[0]:  # which a byte may well be
            return f"{element} holds what was there before the launch and should be {right}"
        return f"{element} is {number_words(found[0])} and should be {right}"

    def _chosen(self, output: HostArray) -> HostArray:
        return output if self._rows is None else output[self._rows]

    def _place(self, index: list[int]) -> list[int]:
        """Return where an element of what was chosen stands in the whole output."""
        return index if self._rows is None else [int(self._rows[index[0]]), *index[1:]]


class BySample(ByElement):
    """Compares some samples of a batch: those of an output's first ``axes`` axes together."""

    def __init__(self, array: ArrayPlan, expected: Expected, samples: Rows, axes: int) -> None:
        super().__init__(array, expected, samples)
        self._samples, self._axes = samples, axes
        self.method = f"{len(samples)} of {math.prod(array.shape[:axes])} samples"

    def _chosen(self, output: HostArray) -> HostArray:
        return output.reshape(-1, *output.shape[self._axes :])[self._samples]

    def _place(self, index: list[int]) -> list[int]:
        leading = np.unravel_index(int(self._samples[index[0]]), self._array.shape[: self._axes])
        return [*(int(i) for i in leading), *index[1:]]


class ByRandomVectors:
    """Compares a product ``P @ Q`` with an output through random vectors of ±1.

    ``C r`` is compared with ``P (Q r)`` (Freivalds 1977): every element takes part, and no product
    of matrices is needed. Errors are measured against the root mean square of ``P Q r``, which is
    that of the product times the square root of its width; rounding errors add up the same way.
    Rows that hold an infinity, which half precision may rightly have, are compared by element.
    """

    method = f"freivalds with {ROUNDS} random vectors"

    def __init__(
        self,
        scope: Scope,
        array: ArrayPlan,
        expression: str,
        expect: Callable[[Array], Expected],
        tolerance: float,
        seed: int,
    ) -> None:
        factors = formulas.product_factors(expression)
        assert factors is not None  # the manifest was checked
        self._left, self._right = factors
        self._scope, self._array, self._expect = scope, array, expect
        self._tolerance = tolerance
        signs = np.random.default_rng(seed).choice((-1.0, 1.0), (array.shape[1], ROUNDS))
        self._vectors: Array = signs
        self._product = scope.times(self._left, scope.times(self._right, signs))
        if not np.isfinite(self._product).all():
            raise unfit(array.name, f"the reference '{expression}' is not finite")
        self._scale = root_mean_square(self._product)

    @property
    def nbytes(self) -> int:
        """Bytes of float64 kept."""
        return self._vectors.nbytes + self._product.nbytes

    def error(self, output: HostArray) -> float:
        """Return the largest error."""
        return self.judge(output)[0]

    def judge(self, output: HostArray) -> tuple[float, float | None]:
        """Return the largest error, and the error of the whole as the random vectors tell it.

        Over random signs the expectation of ‖(C − P Q) r‖² is ‖C − P Q‖².
        """
        distances = self._distances(output)
        rows = self._row_errors(distances)
        finite = np.isfinite(rows)
        worst = float(rows[finite].max()) if finite.any() else 0.0
        if not finite.all():
            odd = _spread(np.flatnonzero(~finite))
            return max(worst, self._by_element(odd).error(output)), None
        with np.errstate(all="ignore"):
            squares = float(np.vdot(distances, distances))
            return worst, ratio(squares, float(np.vdot(self._product, self._product)))

    def finds(self, output: HostArray) -> bool:
        """Return whether an output that is right is refused once one element is moved."""
        row, column = (length // 2 for length in output.shape)
        part = output[row : row + 1].copy()
        distance = MOVED * self._tolerance * self._scale
        part[0, column] = moved(part[0, column], distance)
        with np.errstate(all="ignore"):
            distances = np.abs(times(part, self._vectors) - self._product[row : row + 1])
        return not float(self._row_errors(distances)[0]) <= self._tolerance

    def explain(self, output: HostArray) -> str:
        """Say which element is furthest off in the row that is."""
        rows = self._row_errors(self._distances(output))
        finite = np.isfinite(rows)
        odd = _spread(np.flatnonzero(~finite))
        return self._by_element(odd if len(odd) else np.array([rows.argmax()])).explain(output)

    def _distances(self, output: HostArray) -> Array:
        with np.errstate(all="ignore"):
            return np.abs(times(output, self._vectors) - self._product)

    def _row_errors(self, distances: Array) -> Array:
        with np.errstate(all="ignore"):
            distance = distances.max(axis=1)
            if self._scale == 0.0:
                return np.where(distance == 0.0, 0.0, math.nan)
            return np.asarray(distance / self._scale)

    def _by_element(self, rows: Rows) -> ByElement:
        left = self._scope.evaluate(self._left)[rows]
        values = left @ self._scope.evaluate(self._right)
        self._scope.forget()
        return ByElement(self._array, self._expect(values), rows)
