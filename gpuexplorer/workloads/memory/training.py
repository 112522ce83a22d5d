"""The training step of the MLP: what forward keeps, what backward makes of it, the optimiser."""

from __future__ import annotations

from dataclasses import dataclass

from gpuexplorer.workloads.memory.facts import Facts
from gpuexplorer.workloads.memory.ledger import Ledger

WIDE = 4
"""The least bytes of a number in a loss: autocast computes it in fp32."""


@dataclass(frozen=True)
class Layer:
    """A linear layer of the net: its number, inputs and outputs of one sample."""

    name: str
    inputs: int
    outputs: int


def mlp_training(facts: Facts, ledger: Ledger) -> None:
    """One step: three linear layers with GELU between them, cross-entropy, backward, SGD.

    Forward keeps, for each layer, its input (``addmm`` saves ``mat1``; the weight is there anyway)
    and what GELU is applied to (``gelu`` saves ``self``), and the logarithms of the softmax
    (``_log_softmax`` saves ``result``). Backward goes from the last layer to the first: at each it
    holds the gradient that comes in and the one that goes out, makes the weight's gradient, and
    lets go of what that layer had saved. The optimiser then works in place.

    With gradient checkpointing each hidden layer keeps its input alone; backward computes it again
    and holds what the layer would have saved, one layer at a time.
    """
    batch, width = facts.plan.array("X").shape
    hidden, classes = facts.plan.array("W1").shape[0], facts.plan.array("W3").shape[0]
    layers = (
        Layer("1", width, hidden), Layer("2", hidden, hidden), Layer("3", hidden, classes)
    )  # fmt: skip
    step = _Step(facts, ledger, batch)
    step.forward(layers)
    step.loss(classes)
    step.backward(layers)


class _Step:
    """The walk through one step; names of held arrays are those of the comments in ``forward``."""

    def __init__(self, facts: Facts, ledger: Ledger, batch: int) -> None:
        self.ledger, self.batch = ledger, batch
        self.casts = facts.casts
        self.item, self.stored = facts.computed, facts.stored
        self.checkpointed = bool(facts.switch("checkpointing"))

    def _rows(self, width: int, item: int | None = None) -> float:
        return self.batch * width * (self.item if item is None else item)

    def forward(self, layers: tuple[Layer, ...]) -> None:
        """Take z = x Wᵀ + b and a = GELU(z) of each hidden layer, and the logits."""
        if self.casts and not self.checkpointed:
            self.ledger.take("x cast", self._rows(layers[0].inputs))
        for layer in layers[:-1]:
            self._layer(layer)
            if self.checkpointed:
                self.ledger.give(f"z{layer.name}", *self._cast(layer))
        self._cast_weight(layers[-1])
        self.ledger.take("logits", self._rows(layers[-1].outputs))

    def _layer(self, layer: Layer) -> None:
        self._cast_weight(layer)
        self.ledger.take(f"z{layer.name}", self._rows(layer.outputs))
        self.ledger.take(f"a{layer.name}", self._rows(layer.outputs))

    def _cast_weight(self, layer: Layer) -> None:
        if self.casts:
            nbytes = (layer.inputs + 1) * layer.outputs * self.item
            self.ledger.take(f"W{layer.name} cast", nbytes, "weights")

    def _cast(self, layer: Layer) -> tuple[str, ...]:
        return (f"W{layer.name} cast",) if self.casts else ()

    def loss(self, classes: int) -> None:
        """Take the logarithms of the softmax, in fp32 at least where autocast chooses."""
        wide = max(self.item, WIDE) if self.casts else self.item
        if self.casts:
            self.ledger.take("wide logits", self._rows(classes, wide))
        self.ledger.take("log softmax", self._rows(classes, wide))
        self.ledger.give("logits", *(["wide logits"] if self.casts else []))
        self.ledger.take("d log softmax", self._rows(classes, wide), "gradients")
        self.ledger.take("d3", self._rows(classes, wide), "gradients")
        self.ledger.give("d log softmax", "log softmax")
        if self.casts:
            with self.ledger.brief("d3 cast", self._rows(classes), "gradients"):
                self.ledger.give("d3")
            self.ledger.take("d3", self._rows(classes), "gradients")

    def backward(self, layers: tuple[Layer, ...]) -> None:
        """Go back through the layers; d is the gradient of the loss for a layer's output."""
        for layer, before in zip(layers[:0:-1], layers[-2::-1], strict=True):
            self._product(layer, first=False)
            self.ledger.give(f"a{before.name}", f"d{layer.name}", *self._cast(layer))
            if self.checkpointed:
                self._layer_again(before)
            self.ledger.take(f"d{before.name}", self._rows(layer.inputs), "gradients")
            self.ledger.give(f"z{before.name}", f"d a{before.name}")
        self._product(layers[0], first=True)

    def _layer_again(self, layer: Layer) -> None:
        self._layer(layer)
        self.ledger.give(f"a{layer.name}")

    def _product(self, layer: Layer, *, first: bool) -> None:
        """Make the gradients for a layer's input, but not for the data, and for its weight."""
        if not first:
            self.ledger.take(
                f"d a{int(layer.name) - 1}", self._rows(layer.inputs), "gradients"
            )
        elements = (layer.inputs + 1) * layer.outputs
        if self.casts:
            with self.ledger.brief(f"dW{layer.name} cast", elements * self.item, "gradients"):
                self.ledger.take(f"dW{layer.name}", elements * self.stored, "gradients")
        else:
            self.ledger.take(f"dW{layer.name}", elements * self.stored, "gradients")
