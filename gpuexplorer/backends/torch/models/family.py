"""What every model is built from, and what it says of its arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from gpuexplorer.backends.torch.layers import linear
from gpuexplorer.workloads.plan import Plan


@dataclass(frozen=True)
class Options:
    """What a model's structure depends on besides its sizes."""

    precision: str
    packed: bool
    """Whether int8 weights take the CPU's own form."""
    in_place: bool = False
    checkpointing: bool = False

    @classmethod
    def of(cls, plan: Plan, precision: str, kind: str) -> Options:
        """Return the options of a plan on a kind of device, in the plan's precision or another."""
        return cls(
            precision=precision,
            packed=kind == "cpu" and plan.switches.get("compile", "off") == "off",
            in_place=bool(plan.switches.get("in_place", False)),
            checkpointing=bool(plan.switches.get("checkpointing", False)),
        )

    def linear(self, plan: Plan, weight: str) -> Any:
        """Return a linear layer for a weight of (outputs, inputs)."""
        outputs, inputs = plan.array(weight).shape
        return linear(inputs, outputs, self.precision, packed=self.packed)


@dataclass(frozen=True)
class Family:
    """A model and what its arrays are, by their names in the manifest."""

    module: Any
    """A ``torch.nn.Module``: data in, results out."""
    results: tuple[str, ...]
    data: tuple[str, ...] = ()
    """What the module is called with, in order."""
    weights: Mapping[str, str] = field(default_factory=dict)
    """The arrays that are parameters or buffers, and where each is, such as ``up.weight``."""
    cut: tuple[str, ...] = ()
    """Data whose first axis counts samples that are computed apart; empty: none are."""
    images: tuple[str, ...] = ()
    """Data that may be held with the channels last."""
    momentum: Mapping[str, str] = field(default_factory=dict)
    """What the optimiser keeps: array → the weight whose momentum it is. It trains if there are."""


class Build(Protocol):
    """A file of this folder has one function ``build``."""

    def __call__(self, plan: Plan, options: Options) -> Family:
        """Return the model of a plan; weights are not yet there."""
