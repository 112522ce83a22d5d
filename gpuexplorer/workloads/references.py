"""Is a result right? Compare it with float64, in full or by samples, as the workload says.

Inputs are taken as stored (a half is what it was rounded to), so an error is the computation's own.
The float64 side is computed once: checking the same problem again, with another block or variant,
costs the comparison alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import Verification
from gpuexplorer.workloads.comparison import (
    SAMPLED_ROWS,
    ByElement,
    ByRandomVectors,
    BySample,
    OutputComparison,
    Rows,
    sample_rows,
)
from gpuexplorer.workloads.evaluation import Scope
from gpuexplorer.workloads.expected import (
    Array,
    Expected,
    HostArray,
    check_measure,
    unfit,
)
from gpuexplorer.workloads.fills import dtype_of
from gpuexplorer.workloads.formulas import names_in
from gpuexplorer.workloads.models import MODELS, ReferenceModel
from gpuexplorer.workloads.plan import ArrayPlan, Plan
from gpuexplorer.workloads.workload import Workload

FULL_FLOP = 2e8
"""A problem of at most so many operations, ..."""
FULL_ELEMENTS = 1 << 24
"""... and at most so many elements in inputs and output, is always checked in full."""
SAMPLED_FLOP = 2e9
"""Operations that a sample of rows may cost, beyond its ``SAMPLED_ROWS``."""
LEAST_SAMPLES = 4
"""Samples of a batch that are checked at least, the first and the last among them, ..."""
LEAST_SAMPLES_FLOP = 2e11
"""... unless they need more operations than this: then one."""
MAX_MODEL_FLOP = 4e12
"""Operations a model's check may need (a minute or so); a larger problem is refused."""
NO_REFERENCE = "its manifest does not say what a right result is"
IS_REFERENCE = "the other variants are verified against it"
_CHUNK = 1 << 20


class Reference:
    """What one problem's outputs must be, whatever the device, the block, and any variant without a
    reference of its own.
    """

    def __init__(
        self,
        workload: Workload,
        plan: Plan,
        inputs: Mapping[str, HostArray],
        trusted: Mapping[str, HostArray] | None = None,
    ) -> None:
        """Remember the problem; ``inputs`` are what ``fills.make_inputs`` made for the plan.

        ``trusted`` is what the reference's variant wrote, or its Python function returned.
        """
        self._spec = workload.reference_of(plan.config.variant)
        self._tolerance = workload.tolerance_of(plan.config.variant, plan.config.precision)
        self._is_reference = workload.manifest.reference.variant == plan.config.variant
        self._plan = plan
        self._scope = Scope(workload, plan, inputs)
        self._trusted = trusted or {}
        self._proved = False

    @cached_property
    def _comparisons(self) -> dict[str, OutputComparison]:
        if self._spec.model is not None:
            return self._model_comparisons(MODELS[self._spec.model])
        if self._spec.variant is not None or self._spec.python is not None:
            return {name: self._trusted_comparison(name) for name in self._trusted}
        made = {
            name: self._compare(self._plan.array(name), expression)
            for name, expression in self._spec.outputs.items()
        }
        self._scope.forget()
        return made

    @property
    def _against(self) -> str:
        """What results are compared with, as documents say it."""
        if self._spec.python is not None:
            return f"function {self._spec.python}"
        return "float64" if self._spec.variant is None else f"variant {self._spec.variant}"

    @property
    def unchecked(self) -> str | None:
        """Why there is nothing to compare with, in a clause; None where there is."""
        if not self._spec.unchecked:
            return None
        return IS_REFERENCE if self._is_reference else NO_REFERENCE

    @property
    def nbytes(self) -> int:
        """Bytes of float64 kept, once the first result was checked."""
        made: dict[str, OutputComparison] = self.__dict__.get("_comparisons", {})
        return sum(comparison.nbytes for comparison in made.values())

    def verify(self, outputs: Mapping[str, HostArray]) -> Verification:
        """Compare every checked output; shapes and dtypes are the plan's.

        The float64 side is computed at the first call. Raises InputError when an expression fails
        or does not give the output's shape.

        ``max_rel_error`` is the largest ``|out - ref| / (|ref| + rms(ref))``, or over the
        manifest's ``scale``. It is infinite where an output is NaN or infinite and the reference is
        not; where the reference does not fit into the storage type, the output must be infinite
        with its sign.
        """
        judged = [c.judge(outputs[name]) for name, c in self._comparisons.items()]
        worst = max(error for error, _ in judged)
        if worst <= self._tolerance:
            self._prove(outputs)
        together = [rms for _, rms in judged if rms is not None]
        methods = dict.fromkeys(c.method for c in self._comparisons.values())
        return Verification(
            ok=worst <= self._tolerance,
            max_rel_error=worst,
            tolerance=self._tolerance,
            method=f"{', '.join(methods)}, {self._against}",
            rms_rel_error=max(together) if len(together) == len(judged) else None,
            not_compared=tuple(
                a.name for a in self._plan.outputs if a.name not in self._comparisons
            ),
        )

    def _prove(self, outputs: Mapping[str, HostArray]) -> None:
        """See once that each check finds an element moved well beyond its tolerance."""
        if self._proved:
            return
        for name, comparison in self._comparisons.items():
            if not comparison.finds(outputs[name]):
                raise unfit(name, "an element moved to ten times its tolerance is not found")
        self._proved = True

    def explain(self, outputs: Mapping[str, HostArray]) -> str:
        """Say in one clause which element of a wrong result is furthest off."""
        worst = max(self._comparisons, key=lambda n: self._comparisons[n].error(outputs[n]))
        return self._comparisons[worst].explain(outputs[worst])

    def _compare(self, array: ArrayPlan, expression: str) -> OutputComparison:
        flop = self._plan.flops
        inputs = [a for a in self._plan.inputs if a.name in names_in(expression)]
        elements = array.elements + sum(a.elements for a in inputs)
        small = flop <= FULL_FLOP and elements <= FULL_ELEMENTS
        if small or self._spec.check == "full":
            return ByElement(array, self._all_rows(array, expression))
        seed = self._plan.config.seed
        if self._spec.check == "freivalds":
            return ByRandomVectors(
                self._scope,
                array,
                expression,
                lambda values: self._measure(array, values),
                self._tolerance,
                seed,
            )
        share = min(1.0, FULL_ELEMENTS / elements, SAMPLED_FLOP / max(1.0, flop))
        rows = sample_rows(array.shape[0], max(SAMPLED_ROWS, int(array.shape[0] * share)), seed)
        expected = self._some_rows(array, expression, rows)
        return ByElement(array, expected, rows if len(rows) < array.shape[0] else None)

    def _model_comparisons(self, model: ReferenceModel) -> dict[str, OutputComparison]:
        """Compute a model's outputs once, of a large batch for some samples."""
        plan, axes = self._plan, model.sample_axes
        samples = self._model_samples(model)
        inputs: dict[str, Array] = {}
        for name in model.inputs:
            values = self._scope.inputs[name]
            if samples is not None and name in model.per_sample:
                rest = values.shape[axes:]
                values = values.reshape(-1, *rest)[samples]
                values = values.reshape(len(samples), *(1,) * (axes - 1), *rest)
            inputs[name] = values.astype(np.float64, copy=False)
        with np.errstate(all="ignore"):
            outputs = model.compute(inputs, plan.config.size)
        made: dict[str, OutputComparison] = {}
        for name in model.outputs:
            array = plan.array(name)
            if samples is None:
                expected = self._expected(array, _shaped(outputs[name], array.shape, model.name))
                made[name] = ByElement(array, expected)
            else:
                shape = (len(samples), *array.shape[axes:])
                expected = self._expected(array, outputs[name].reshape(shape))
                made[name] = BySample(array, expected, samples, axes)
        return made

    def _model_samples(self, model: ReferenceModel) -> Rows | None:
        """Choose the samples to check; None: all of them.

        Raises InputError when even one is too much to compute in float64.
        """
        plan = self._plan
        total = 1
        if model.per_sample:
            first = plan.array(model.per_sample[0])
            total = math.prod(first.shape[: model.sample_axes])
        each_flop = max(1.0, plan.flops / total)
        elements = sum(a.elements for a in (*plan.inputs, *plan.outputs))
        if total == 1 or (plan.flops <= FULL_FLOP and elements <= FULL_ELEMENTS):
            wanted = total
        else:
            least = LEAST_SAMPLES if LEAST_SAMPLES * each_flop <= LEAST_SAMPLES_FLOP else 1
            share = min(SAMPLED_FLOP / each_flop, total * FULL_ELEMENTS / elements)
            wanted = min(total, max(least, int(share)))
        flop = wanted * each_flop
        if flop > MAX_MODEL_FLOP:
            raise InputError(
                "a result of this size cannot be checked: float64 would need "
                f"{flop:.2g} operations",
                remedy="choose a smaller size",
            )
        if wanted >= total:
            return None
        if wanted == 1:
            return np.zeros(1, np.int64)
        return sample_rows(total, max(1, wanted - 2), plan.config.seed)

    def _trusted_comparison(self, name: str) -> OutputComparison:
        array = self._plan.array(name)
        return ByElement(array, self._expected(array, self._trusted[name]))

    def _expected(
        self, array: ArrayPlan, values: HostArray, scale: Array | None = None
    ) -> Expected:
        check_measure(array.name, values, scale, self._spec.scale or "")
        return self._measure(array, values, scale)

    def _measure(self, array: ArrayPlan, values: HostArray, scale: Array | None = None) -> Expected:
        dtype = dtype_of(array, self._plan.config.precision)
        return Expected(values, dtype, self._tolerance, scale)

    def _all_rows(self, array: ArrayPlan, expression: str) -> Expected:
        values = _shaped(self._scope.evaluate(expression), array.shape, expression)
        if self._spec.scale is None:
            return self._expected(array, values)
        scale = _shaped(self._scope.evaluate(self._spec.scale), array.shape, self._spec.scale)
        return self._expected(array, values, scale)

    def _some_rows(self, array: ArrayPlan, expression: str, rows: Rows) -> Expected:
        shape = (len(rows), *array.shape[1:])
        values = np.empty(shape)
        scale = None if self._spec.scale is None else np.empty(shape)
        step = max(SAMPLED_ROWS + 2, _CHUNK * array.shape[0] // max(1, array.elements))
        for start in range(0, len(rows), step):
            chosen = rows[start : start + step]
            cut = self._cut(chosen)
            part = slice(start, start + len(chosen))
            values[part] = _shaped(
                self._scope.evaluate(expression, cut), values[part].shape, expression
            )
            if scale is not None and self._spec.scale is not None:
                scale[part] = self._scope.evaluate(self._spec.scale, cut)
        return self._expected(array, values, scale)

    def _cut(self, rows: Rows) -> dict[str, Array]:
        inputs = self._scope.inputs
        cut = {name: inputs[name][rows].astype(np.float64) for name in self._spec.row_arrays}
        for name in self._spec.column_arrays:
            cut[name] = inputs[name][..., rows].astype(np.float64)
        return cut


def _shaped(values: Array, shape: tuple[int, ...], expression: str) -> Array:
    """Return ``values`` in the output's shape; a single number serves a one-element output."""
    if values.shape == shape:
        return values
    if values.size == 1:
        return np.broadcast_to(values.reshape(()), shape)
    raise InputError(
        f"reference '{expression}' gives the shape {values.shape}, and the output has {shape}",
        remedy="correct the expression or the array's shape",
    )


def verify(
    workload: Workload,
    plan: Plan,
    inputs: Mapping[str, HostArray],
    outputs: Mapping[str, HostArray],
) -> Verification:
    """Compare a plan's outputs with float64, once; keep a ``Reference`` to do it again."""
    return Reference(workload, plan, inputs).verify(outputs)
