"""The training step of the MLP: what forward keeps, what backward makes of it, the optimiser."""

from __future__ import annotations

import msgspec

from gpuexplorer.workloads.memory.facts import Facts
from gpuexplorer.workloads.memory.ledger import Ledger

WIDE_B = 4
"""The least bytes of a number in a loss where autocast chooses: it computes losses in fp32."""


class Layer(msgspec.Struct, frozen=True):
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
    GELU is applied to once more, one layer at a time. A compiler puts the gradient before GELU
    where that behind it was.
    """
    batch, width = facts.plan.array("X").shape
    hidden, classes = facts.plan.array("W1").shape[0], facts.plan.array("W3").shape[0]
    layers = (Layer(1, width, hidden), Layer(2, hidden, hidden), Layer(3, hidden, classes))
    step = _Step(facts, ledger, batch)
    step.forward(layers)
    step.loss(layers[-1])
    step.backward(layers)


class _Step:
    """The walk: of layer n, z is what it puts out, a is GELU of that, d the gradient for z."""

    def __init__(self, facts: Facts, ledger: Ledger, batch: int) -> None:
        self.ledger, self.batch = ledger, batch
        self.casts, self.fuses = facts.casts, facts.fuses
        self.item, self.stored = facts.computed, facts.stored
        self.checkpointed = bool(facts.switch("checkpointing"))

    def _rows(self, width: int, item: int | None = None) -> float:
        return self.batch * width * (self.item if item is None else item)

    def forward(self, layers: tuple[Layer, ...]) -> None:
        """Take z and a of the hidden layers, and the logits."""
        take, give = self.ledger.take, self.ledger.give
        for layer in layers[:-1]:
            self._cast_factors(layer)
            take(f"z{layer.number}", self._rows(layer.outputs))
            take(f"a{layer.number}", self._rows(layer.outputs))
            if self.checkpointed:
                give(f"z{layer.number}")
                self._drop_casts(layer)
        self._cast_factors(layers[-1])
        take("logits", self._rows(layers[-1].outputs))

    def _cast_factors(self, layer: Layer) -> None:
        """Take autocast's copies of a layer's weight and, of the first one, of the data."""
        if not self.casts:
            return
        self.ledger.take(f"W{layer.number} cast", layer.parameters * self.item, "weights")
        if layer.number == 1:
            self.ledger.take("x cast", self._rows(layer.inputs), "inputs")

    def _drop_casts(self, layer: Layer) -> None:
        if self.casts:
            data = ("x cast",) if layer.number == 1 else ()
            self.ledger.give(f"W{layer.number} cast", *data)

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
        first = layers[0]
        if self.casts and not self.checkpointed:
            give(f"W{first.number} cast")  # the data need no gradient, so nothing saved it
        for layer, before in zip(layers[:0:-1], layers[-2::-1], strict=True):
            take(f"d a{before.number}", self._rows(layer.inputs), "gradients")
            self._weight_gradient(layer)
            give(f"a{before.number}", f"d{layer.number}")
            self._drop_casts(layer)
            self._widen(layer)
            if self.checkpointed:
                self._cast_factors(before)
                take(f"z{before.number}", self._rows(before.outputs))
            behind, done = f"d a{before.number}", f"z{before.number}"
            if self.fuses:
                give(behind)
            take(f"d{before.number}", self._rows(layer.inputs), "gradients")
            give(done, *(() if self.fuses else (behind,)))
        self._weight_gradient(first)
        if self.casts:
            give("x cast")
        self._widen(first)

    def _weight_gradient(self, layer: Layer) -> None:
        item = self.item if self.casts else self.stored
        self.ledger.take(f"dW{layer.number}", layer.parameters * item, "gradients")

    def _widen(self, layer: Layer) -> None:
        """Convert the gradient that autocast made in 16 bits to the weight's own type."""
        if self.casts:
            wide = f"dW{layer.number} wide"
            self.ledger.take(wide, layer.parameters * self.stored, "gradients")
            self.ledger.give(f"dW{layer.number}")
