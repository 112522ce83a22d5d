"""Two ways to compare an output with float64: element by element, and through random vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gpuexplorer.workloads import formulas
from gpuexplorer.workloads.evaluation import Scope, by_rows
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
GROUP = 32
"""Columns that are summed together, so that one wrong element shows."""
BY_CHANCE = 1.5
"""How many times larger than others the columns of a group may look by the chance of signs."""


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
    of matrices is needed. Rounding errors add up as the root of the width, and so far may a sum be
    off: in a sum over a whole row one wrong element would be lost among them. So the first vector
    is taken apart into groups of ``GROUP`` columns, and one element shows once it is off by
    √GROUP, 5.7, times the tolerance and the root mean square of all elements, at any size. The
    other vectors find what cancels within a group.

    Errors are measured against the root mean square of the output: of the reference only sums are
    known, and over columns that are alike they may cancel. Rows and groups that are larger than the
    others are measured against their own size. Rows that hold an infinity, which half precision may
    rightly have, are compared by element.
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
        columns = array.shape[1]
        self._signs: Array = np.random.default_rng(seed).choice((-1.0, 1.0), (columns, ROUNDS))
        self._groups = slice(-(-columns // GROUP))
        folded = self._folded(scope.held(self._right))
        self._product = by_rows(scope.held(self._left), lambda rows: rows @ folded)
        if not np.isfinite(self._product).all():
            raise unfit(array.name, f"the reference '{expression}' is not finite")
        self._growth = np.full(folded.shape[1], math.sqrt(columns))
        self._growth[self._groups] = math.sqrt(min(GROUP, columns))
        squares = np.square(self._product)
        self._columns = np.sqrt(squares.mean(axis=0)) / self._growth
        self._sum_size = math.sqrt(squares[:, self._groups].mean(axis=0).sum() / columns)

    @property
    def nbytes(self) -> int:
        """Bytes of float64 kept."""
        return self._signs.nbytes + self._product.nbytes

    def error(self, output: HostArray) -> float:
        """Return the largest error."""
        return self.judge(output)[0]

    def judge(self, output: HostArray) -> tuple[float, float | None]:
        """Return the largest error, and the error of the whole as the random vectors tell it.

        Over random signs the expectation of ‖(C − P Q) r‖² is ‖C − P Q‖².
        """
        distances = self._distances(output)
        rows = self._row_errors(distances, _row_sizes(output))
        finite = np.isfinite(rows)
        worst = float(rows[finite].max()) if finite.any() else 0.0
        if not finite.all():
            odd = _spread(np.flatnonzero(~finite))
            return max(worst, self._by_element(odd).error(output)), None
        with np.errstate(all="ignore"):
            squares = float(np.square(distances[:, self._groups]).sum())
            return worst, ratio(squares, float(np.square(self._product[:, self._groups]).sum()))

    def finds(self, output: HostArray) -> bool:
        """Return whether an output that is right is refused once one element is moved.

        It is moved by ``MOVED`` times what a comparison by element allows it, whatever the sums
        that it is part of are allowed, and stands where nothing larger than usual is beside it.
        """
        sizes = _row_sizes(output)
        row = int(sizes.argmin())
        column = GROUP * int(self._columns[self._groups].argmin())
        part = output[row : row + 1].copy()
        with np.errstate(all="ignore"):
            distance = MOVED * self._tolerance * (abs(float(part[0, column])) + _size(sizes))
            part[0, column] = moved(part[0, column], distance)
            distances = np.abs(self._folded(part) - self._product[row : row + 1])
        return not float(self._row_errors(distances, sizes, row)[0]) <= self._tolerance

    def explain(self, output: HostArray) -> str:
        """Say which element is furthest off in the row that is."""
        rows = self._row_errors(self._distances(output), _row_sizes(output))
        finite = np.isfinite(rows)
        odd = _spread(np.flatnonzero(~finite))
        return self._by_element(odd if len(odd) else np.array([rows.argmax()])).explain(output)

    def _folded(self, matrix: HostArray) -> Array:
        """Return a matrix times the first vector, group by group, and times each other one."""
        count, left = divmod(matrix.shape[1], GROUP)
        whole = count * GROUP
        signs = self._signs[:whole].reshape(count, GROUP, ROUNDS)

        def fold(rows: Array) -> Array:
            sums = rows[:, :whole].reshape(len(rows), count, GROUP).transpose(1, 0, 2) @ signs
            last = rows[:, whole:] @ self._signs[whole:]
            others = sums[:, :, 1:].sum(axis=0) + last[:, 1:]
            return np.hstack([sums[:, :, 0].T, last[:, : min(left, 1)], others])

        return by_rows(matrix, fold)

    def _distances(self, output: HostArray) -> Array:
        with np.errstate(all="ignore"):
            return np.abs(self._folded(output) - self._product)

    def _row_errors(self, distances: Array, sizes: Array, row: int | None = None) -> Array:
        """Return the largest error of each row, or of one; ``sizes`` are those of all rows.

        The reference's own size is known from sums alone, which are far too small or too large
        where its columns are alike: no more than √GROUP times, by which an output is not too small.
        """
        size = max(_size(sizes), self._sum_size / math.sqrt(GROUP))
        with np.errstate(all="ignore"):
            if size == 0.0:
                return np.where(distances.max(axis=1) == 0.0, 0.0, math.nan)
            usual = BY_CHANCE * max(size, self._sum_size)
            allowed = size * self._growth * np.maximum(1.0, self._columns / usual)
            larger = np.maximum(1.0, (sizes if row is None else sizes[[row]]) / size)
            larger[~np.isfinite(larger)] = math.nan  # judged by element, as enormous numbers are
            return np.asarray((distances / allowed).max(axis=1) / larger)

    def _by_element(self, rows: Rows) -> ByElement:
        left = self._scope.evaluate(self._left)[rows]
        values = left @ self._scope.evaluate(self._right)
        self._scope.forget()
        return ByElement(self._array, self._expect(values), rows)


def _row_sizes(output: HostArray) -> Array:
    """Return the root mean square of each row; infinite or no number where an element is."""
    with np.errstate(all="ignore"):
        return by_rows(output, lambda rows: np.sqrt(np.square(rows).mean(axis=1)))


def _size(rows: Array) -> float:
    """Return the root mean square of the rows that are finite."""
    return root_mean_square(rows[np.isfinite(rows)])
