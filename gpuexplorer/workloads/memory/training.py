"""The training step of the MLP: what forward keeps, what backward makes of it, the optimiser."""

from __future__ import annotations

from dataclasses import dataclass

from gpuexplorer.workloads.memory.facts import Facts
from gpuexplorer.workloads.memory.ledger import Ledger

WIDE_B = 4
"""The least bytes of a number in a loss where autocast chooses: it computes losses in fp32."""


@dataclass(frozen=True)
class Layer:
    """A linear layer of the net: its number, inputs and outputs of one sample."""

    number: int
    inputs: int
    outputs: int

    @property
    def parameters(self) -> int:
        """Weights and biases."""
        return (self.inputs + 1) * self.outputs


def mlp_training(facts: Facts, ledger: Ledger) -> None:
    """One step: three linear layers with GELU between them, cross-entropy, backward, SGD.

    Forward keeps, for each layer, its input (``addmm`` saves ``mat1``; the weight is there anyway)
    and what GELU is applied to (``gelu`` saves ``self``), and the logarithms of the softmax
    (``_log_softmax`` saves ``result``). Backward goes from the last layer to the first: at each it
    holds the gradient that comes in and the one that goes out, makes the weight's gradient, and
    lets go of what that layer had saved. The optimiser then works in place, beside all gradients.

    With gradient checkpointing a hidden layer keeps its input alone, and backward computes what
    GELU is applied to once more, one layer at a time. A compiler keeps what GELU is applied to and
    computes GELU once more, which is cheaper than to keep both.
    """
    batch, width = facts.plan.array("X").shape
    hidden, classes = facts.plan.array("W1").shape[0], facts.plan.array("W3").shape[0]
    layers = (Layer(1, width, hidden), Layer(2, hidden, hidden), Layer(3, hidden, classes))
    alone = bool(facts.switch("one_by_one")) and batch > 1
    if alone:  # of the samples that are done
        total = sum(layer.parameters for layer in layers)
        ledger.take("gradients so far", total * facts.stored, "gradients")
    step = _Step(facts, ledger, 1 if alone else batch, alone)
    step.forward(layers)
    step.loss(layers[-1])
    step.backward(layers)


class _Step:
    """The walk: of layer n, z is what it puts out, a is GELU of that, d the gradient for z."""

    def __init__(self, facts: Facts, ledger: Ledger, batch: int, alone: bool) -> None:
        self.ledger, self.batch, self.alone = ledger, batch, alone
        self.casts, self.fuses = facts.casts, facts.fuses
        self.item, self.stored = facts.computed, facts.stored
        self.checkpointed = bool(facts.switch("checkpointing"))

    def _rows(self, width: int, item: int | None = None) -> float:
        return self.batch * width * (self.item if item is None else item)

    def forward(self, layers: tuple[Layer, ...]) -> None:
        """Take z and a of the hidden layers, and the logits."""
        take, give = self.ledger.take, self.ledger.give
        if self.casts:
            take("x cast", self._rows(layers[0].inputs))
        for layer in layers[:-1]:
            number = layer.number
            self._cast_weight(layer)
            take(f"z{number}", self._rows(layer.outputs))
            if self.fuses and number > 1:
                give(f"a{number - 1}")
            take(f"a{number}", self._rows(layer.outputs))
            if self.checkpointed:
                give(f"z{number}", *self._cast_of(layer))
        self._cast_weight(layers[-1])
        take("logits", self._rows(layers[-1].outputs))
        if self.fuses:
            give(f"a{layers[-2].number}")

    def _cast_weight(self, layer: Layer) -> None:
        if self.casts:
            name = f"W{layer.number} cast"
            self.ledger.take(name, layer.parameters * self.item, "weights")

    def _cast_of(self, layer: Layer) -> tuple[str, ...]:
        return (f"W{layer.number} cast",) if self.casts else ()

    def loss(self, last: Layer) -> None:
        """Take the logarithms of the softmax and go back to the gradient for the logits."""
        take, give = self.ledger.take, self.ledger.give
        wide = max(self.item, WIDE_B) if self.casts else self.item
        if self.casts:
            take("wide logits", self._rows(last.outputs, wide))
        take("log softmax", self._rows(last.outputs, wide))
        give("logits", *(["wide logits"] if self.casts else []))
        take("d log softmax", self._rows(last.outputs, wide), "gradients")
        take("d wide", self._rows(last.outputs, wide), "gradients")
        give("d log softmax", "log softmax")
        if self.casts:
            take(f"d{last.number}", self._rows(last.outputs), "gradients")
            give("d wide")
        else:
            give("d wide")
            take(f"d{last.number}", self._rows(last.outputs), "gradients")

    def backward(self, layers: tuple[Layer, ...]) -> None:
        """Make each layer's gradients, the last layer's first."""
        take, give = self.ledger.take, self.ledger.give
        for layer, before in zip(layers[:0:-1], layers[-2::-1], strict=True):
            if self.fuses:
                take(f"a{before.number}", self._rows(before.outputs))
            take(f"d a{before.number}", self._rows(layer.inputs), "gradients")
            self._weight_gradient(layer)
            give(f"a{before.number}", f"d{layer.number}", *self._cast_of(layer))
            if self.checkpointed:
                self._cast_weight(before)
                take(f"z{before.number}", self._rows(before.outputs))
            take(f"d{before.number}", self._rows(layer.inputs), "gradients")
            give(f"z{before.number}", f"d a{before.number}")
        self._weight_gradient(layers[0])

    def _weight_gradient(self, layer: Layer) -> None:
        """Make the gradient of a weight; autocast makes it in 16 bits first and converts it."""
        name = f"dW{layer.number}"
        if self.casts:
            self.ledger.take(f"{name} cast", layer.parameters * self.item, "gradients")
        self.ledger.take(name, layer.parameters * self.stored, "gradients")
        if self.casts:
            self.ledger.give(f"{name} cast")
        if self.alone:  # it is added to those of the samples before
            self.ledger.give(name)
