"""What a model's memory depends on: sizes, types, the framework and its switches."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.workloads.frameworks import family_of, framework_of
from gpuexplorer.workloads.models import MODELS
from gpuexplorer.workloads.models.reference import ReferenceModel
from gpuexplorer.workloads.plan import ArrayPlan, Plan

QUANTISED = {"fp8_e4m3": 2, "int8": 4}
"""Bytes of everything but the factors of products, which take one byte."""
CAST_B = 2
"""Bytes of a number that autocast computes a product in."""
FUSING = ("compile", "jit", "xla")
"""Switches that have a compiler look at the whole model."""
LABEL_B = {"torch": 8, "tensorflow": 8, "keras": 8, "jax": 4}
"""Bytes of a class label: ``torch.nn.functional.cross_entropy`` takes 64-bit ones."""


class Facts(msgspec.Struct, frozen=True):
    """One model run: what each of its layers needs to know to say what it takes."""

    plan: Plan
    framework: str
    model: ReferenceModel
    precision: str
    stored: int
    """Bytes of a weight and of a number of the data, as they lie on the device."""
    computed: int
    """Bytes of a number that a layer puts out."""
    casts: bool
    """Whether matrix products convert their factors first, as autocast has them."""
    switches: Mapping[str, bool | str]

    @classmethod
    def of(cls, plan: Plan) -> Facts:
        """Return the facts of a plan of a model."""
        name = plan.model or ""
        precision = PRECISIONS[plan.config.precision]
        stored = QUANTISED.get(precision.name, precision.itemsize_B)
        return cls(
            plan=plan,
            framework=framework_of(name),
            model=MODELS[family_of(name)],
            precision=precision.name,
            stored=stored,
            computed=CAST_B if precision.is_autocast else stored,
            casts=precision.is_autocast,
            switches=plan.switches,
        )

    @classmethod
    def in_float64(cls, plan: Plan) -> Facts:
        """Return the facts of the same model as the check computes it, in float64 by NumPy."""
        return replace(
            cls.of(plan), precision="fp64", stored=8, computed=8, casts=False, switches={}
        )

    def switch(self, name: str) -> bool | str | None:
        """Return the value of a switch, None where the model does not have it."""
        return self.switches.get(name)

    @property
    def records(self) -> bool:
        """Whether PyTorch keeps what a backward pass would need, although none follows."""
        return self.switch("grad_mode") == "grad"

    @property
    def fuses(self) -> bool:
        """Whether a compiler makes one kernel of neighbouring element-wise operators."""
        return any(self.switch(name) not in (None, False, "off") for name in FUSING)

    def size(self, symbol: str) -> int:
        """Return a size."""
        return self.plan.config.size[symbol]

    @property
    def on_cpu(self) -> bool:
        """Whether the device is a CPU: only there a run has a number of threads."""
        return self.plan.config.threads is not None

    @property
    def reorders_images(self) -> bool:
        """Whether a convolution works in a layout of its own: PyTorch's on a CPU."""
        return self.on_cpu and self.framework == "torch" and not self.switch("channels_last")

    @property
    def samples(self) -> int:
        """How many samples a launch computes, as its first input counts them."""
        names = self.model.per_sample or self.model.inputs
        return int(self.plan.array(names[0]).shape[0])

    @property
    def optimizer_state(self) -> frozenset[str]:
        """The arrays that the optimiser keeps: those that a step changes beside the weights."""
        return frozenset(
            a.name
            for a in self.plan.arrays
            if a.role == "inout" and a.name not in self.model.weights
        )

    def stored_B(self, array: ArrayPlan) -> float:
        """Return the bytes of an array of the manifest on the device."""
        return float(array.elements * self.item_B(array))

    def item_B(self, array: ArrayPlan) -> int:
        """Return the bytes of one element of an array on the device."""
        if array.type == "int":
            return LABEL_B[self.framework]
        return 1 if array.name in self._rounded else self.stored

    @property
    def _rounded(self) -> frozenset[str]:
        """Factors that are stored in 8 bits: weights of linear layers, matrices of a product."""
        if self.precision not in QUANTISED:
            return frozenset()
        if self.model.name == "matmul":
            return frozenset("AB" if self.precision == "fp8_e4m3" else "B")
        weights = self.model.weights
        return frozenset(
            a.name for a in self.plan.arrays if a.name in weights and len(a.shape) == 2
        )
