"""What a reference's expressions see: inputs in float64, sizes, and scalars as stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from gpuexplorer.core import bfloat
from gpuexplorer.workloads import formulas
from gpuexplorer.workloads.expected import Array, HostArray
from gpuexplorer.workloads.fills import element_dtype, is_bfloat
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.planning import base_names
from gpuexplorer.workloads.workload import Workload

_CHUNK = 1 << 16
"""Elements taken at a time, so that they stay in the cache."""


class Scope:
    """The names of one problem; float64 copies are made when first asked for."""

    def __init__(self, workload: Workload, plan: Plan, inputs: Mapping[str, HostArray]) -> None:
        precision = plan.config.precision
        base = base_names(plan.config.size, precision)
        self.inputs = inputs
        self._wide: dict[str, Array] = {}
        self.numbers: dict[str, float] = dict(base)
        """Sizes, bytes of elements, and scalars as stored."""
        for name, spec in workload.manifest.scalars.items():
            value = element_dtype(spec.type, precision).type(formulas.number(spec.value, base))
            exact = bfloat.rounded(value).item() if is_bfloat(spec.type, precision) else value
            self.numbers[name] = float(exact)

    def evaluate(self, expression: str, cut: Mapping[str, Array] | None = None) -> Array:
        """Evaluate an expression; ``cut`` stands in for inputs of which only a part is wanted."""
        names: dict[str, Array | float] = {}
        for name in formulas.names_in(expression):
            if cut is not None and name in cut:
                names[name] = cut[name]
            elif name in self.inputs:
                names[name] = self._widened(name)
            else:
                names[name] = self.numbers[name]
        return formulas.array(expression, names)

    def held(self, expression: str) -> HostArray:
        """Return an expression's array: an input as it is stored, anything else in float64."""
        return self.inputs[expression] if expression in self.inputs else self.evaluate(expression)

    def forget(self) -> None:
        """Let go of the float64 copies."""
        self._wide.clear()

    def _widened(self, name: str) -> Array:
        if name not in self._wide:
            self._wide[name] = self.inputs[name].astype(np.float64, copy=False)
        return self._wide[name]


def by_rows(matrix: HostArray, change: Callable[[Array], Array]) -> Array:
    """Return what ``change`` makes of some rows in float64, without such a copy of them all."""
    step = max(1, _CHUNK // max(1, matrix.shape[1]))
    parts = (matrix[row : row + step] for row in range(0, len(matrix), step))
    return np.concatenate([change(part.astype(np.float64, copy=False)) for part in parts])
