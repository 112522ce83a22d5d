"""Where the memory of a run goes: predicted by formula, and the peak that a counter saw.

Every part is what is held at one moment, the moment of the peak, so the parts add up to it: a
gradient that is gone by then does not count. All amounts are bytes.
"""

from __future__ import annotations

import msgspec


class MemoryParts(msgspec.Struct, frozen=True, kw_only=True):
    """A peak by what it is for; make it with ``MemoryParts.of``, which adds up the total."""

    weights_B: float = 0.0
    """The parameters, and copies of them that a launch needs: casts, a state to go back to."""
    gradients_B: float = 0.0
    """What backward has made so far: of the parameters, and of the layer it is at."""
    optimizer_B: float = 0.0
    """What the optimiser keeps for each parameter, such as Adam's two moments."""
    activations_B: float = 0.0
    """What the layers put out: kept for backward, or alive between one layer and the next."""
    inputs_B: float = 0.0
    """The data of one launch, labels and masks included."""
    outputs_B: float = 0.0
    """The arrays that a launch fills and that are copied back."""
    workspace_B: float = 0.0
    """Scratch arrays, and what a library takes for itself while it computes."""
    total_B: float = 0.0

    @classmethod
    def of(cls, parts: dict[str, float]) -> MemoryParts:
        """Return the parts by their names in ``PARTS``; ValueError for any other name."""
        unknown = set(parts) - set(PARTS)
        if unknown:
            raise ValueError(f"no part of memory is called {', '.join(sorted(unknown))}")
        return cls(
            **{f"{name}_B": float(nbytes) for name, nbytes in parts.items()},
            total_B=float(sum(parts.values())),
        )

    def named(self) -> list[tuple[str, float]]:
        """Return (title, bytes) of each part that is there, in the order of ``PARTS``."""
        found = [(title, float(getattr(self, f"{name}_B"))) for name, title in PARTS.items()]
        return [(title, nbytes) for title, nbytes in found if nbytes]


PARTS = {
    "weights": "weights",
    "gradients": "gradients",
    "optimizer": "optimiser",
    "activations": "activations",
    "inputs": "inputs",
    "outputs": "outputs",
    "workspace": "workspace",
}
"""The parts in the order they are shown, and what each is called."""


class MemoryUse(msgspec.Struct, frozen=True, kw_only=True):
    """The memory that one launch and its arrays hold at most."""

    predicted: MemoryParts | None = None
    """By formula, before anything was allocated; None where no formula is known."""
    peak_B: float | None = None
    """As ``counter`` saw it; None where it was not counted, which ``reason`` explains."""
    counter: str | None = None
    """Whose word the peak is, such as ``torch.cuda.max_memory_allocated``."""
    reason: str | None = None
    """Why there is no peak, or no prediction."""

    @property
    def relative_error(self) -> float | None:
        """How far the prediction lies from the peak, as a fraction of the peak; + is too much."""
        if self.predicted is None or not self.peak_B:
            return None
        return self.predicted.total_B / self.peak_B - 1.0
