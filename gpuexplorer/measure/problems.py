"""Inputs and references kept between runs, so that moving a block slider costs neither."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from gpuexplorer.backends.base import HostArray
from gpuexplorer.workloads.fills import make_inputs
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.references import Reference
from gpuexplorer.workloads.workload import Workload

MAX_KEPT_B = 1 << 30


@dataclass
class Problem:
    """One problem: its inputs on the host, and the float64 reference to check against."""

    key: str
    inputs: Mapping[str, HostArray]
    reference: Reference

    @property
    def nbytes(self) -> int:
        """Bytes of the inputs, and of what the reference keeps in float64."""
        return sum(a.nbytes for a in self.inputs.values()) + self.reference.nbytes


class ProblemCache:
    """The latest problems, up to ``MAX_KEPT_B`` bytes of inputs and references."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Problem] = OrderedDict()

    def get(self, workload: Workload, plan: Plan) -> Problem:
        """Return the problem of a plan, making its inputs when they are not there."""
        config = plan.config
        what = (
            workload.sha256, config.size, config.precision, config.fill, config.seed,
            config.variant if workload.variant(config.variant).reference else "",
            [(a.name, a.shape) for a in plan.inputs],
        )  # fmt: skip
        key = msgspec.json.encode(what, order="sorted").decode()
        problem = self._kept.get(key)
        if problem is None:
            inputs = make_inputs(plan)
            problem = Problem(
                key=key,
                inputs=inputs,
                reference=Reference(workload, plan, inputs),
            )
            self._kept[key] = problem
        self._kept.move_to_end(key)
        while len(self._kept) > 1 and sum(p.nbytes for p in self._kept.values()) > MAX_KEPT_B:
            self._kept.popitem(last=False)
        return problem
