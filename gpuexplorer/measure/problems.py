"""Inputs and references kept between runs, so that moving a block slider costs neither."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from functools import cached_property

import msgspec

from gpuexplorer.backends.base import HostArray
from gpuexplorer.workloads.fills import make_inputs
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.python_function import PythonFunction, python_function
from gpuexplorer.workloads.references import Reference
from gpuexplorer.workloads.workload import Workload

MAX_KEPT_B = 1 << 30


class Problem:
    """One problem: its inputs and the float64 reference, both made when first needed."""

    def __init__(self, key: str, workload: Workload, plan: Plan) -> None:
        self.key = key
        self._workload = workload
        self._plan = plan
        self._trusted: Mapping[str, HostArray] | None = None

    @cached_property
    def inputs(self) -> Mapping[str, HostArray]:
        """The inputs, by array name."""
        return make_inputs(self._plan)

    @cached_property
    def reference(self) -> Reference:
        """What a right result is."""
        return Reference(self._workload, self._plan, self.inputs, self._trusted)

    @property
    def wanted_variant(self) -> str | None:
        """The variant that has to run first, because its results are the reference."""
        variant = self._workload.reference_of(self._plan.config.variant).variant
        return None if self._trusted is not None else variant

    @property
    def wanted_function(self) -> PythonFunction | None:
        """The Python function that has to be called first, because it says what is right."""
        said = self._workload.reference_of(self._plan.config.variant).python
        return None if said is None or self._trusted is not None else python_function(said)

    def trust(self, results: Mapping[str, HostArray]) -> None:
        """Take what the reference's variant wrote, or its function returned, by array name."""
        self._trusted = results

    def forget(self) -> None:
        """Let go of what was made; it is made again when it is needed."""
        self._trusted = None
        for name in ("inputs", "reference"):
            vars(self).pop(name, None)

    @property
    def nbytes(self) -> int:
        """Bytes of what was made so far: inputs, and what the reference keeps in float64."""
        made = vars(self)
        inputs = sum(a.nbytes for a in self.inputs.values()) if "inputs" in made else 0
        return inputs + (self.reference.nbytes if "reference" in made else 0)


class ProblemCache:
    """The latest problems, up to ``MAX_KEPT_B`` bytes of inputs and references."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Problem] = OrderedDict()

    def get(self, workload: Workload, plan: Plan) -> Problem:
        """Return the problem of a plan: a kept one, or a new one."""
        config = plan.config
        what = (
            workload.sha256, config.size, config.precision, config.fill, config.seed,
            _own_reference(workload, config.variant),
            workload.tolerance_of(config.variant, config.precision),
            [(a.name, a.shape, a.type) for a in (*plan.inputs, *plan.outputs)],
        )  # fmt: skip
        key = msgspec.json.encode(what, order="sorted").decode()
        problem = self._kept.get(key)
        if problem is None:
            problem = self._kept[key] = Problem(key, workload, plan)
        self._kept.move_to_end(key)
        while len(self._kept) > 1 and sum(p.nbytes for p in self._kept.values()) > MAX_KEPT_B:
            self._kept.popitem(last=False)
        return problem


def _own_reference(workload: Workload, variant: str) -> str:
    """Return a variant's name where something else is right for it than for the others."""
    return "" if workload.reference_of(variant) is workload.manifest.reference else variant
