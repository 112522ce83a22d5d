"""What each model's launch takes beside its arrays: its layers in order, each with its formula.

The walks follow eager PyTorch: an operator's result is a new array, and an array goes when nothing
refers to it any more. In inference that is when the next layer has read it; in training, or with
gradients recorded, when the backward function that saved it has run (``derivatives.yaml`` of
PyTorch names what each operator saves). A graph compiler fuses element-wise operators, so with
``torch.compile``, ``jax.jit`` and XLA an activation function takes no array of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from gpuexplorer.workloads.memory.facts import Facts
from gpuexplorer.workloads.memory.ledger import Ledger
from gpuexplorer.workloads.memory.training import mlp_training

Walk = Callable[[Facts, Ledger], None]
STATISTICS_B = 4
"""Bytes of a mean or of a reciprocal deviation: fp32 for 16-bit numbers as well."""


class Forward:
    """A forward pass: each layer's output is taken, then what it read goes, if nothing keeps it."""

    def __init__(self, facts: Facts, ledger: Ledger) -> None:
        self.facts, self.ledger = facts, ledger
        self.item = facts.computed
        self._taken = 0

    def put(self, elements: float, *gone: str, part: str = "activations", keeps: bool = True) -> str:
        """Take a layer's output of so many elements and let go of what it read; return its name.

        With gradients recorded, what the layer read stays where ``keeps`` says that it saves it.
        """
        self._taken += 1
        name = self.ledger.take(f"{part} {self._taken}", elements * self.item, part)
        if not (keeps and self.facts.records):
            self.ledger.give(*gone)
        return name

    def cast(self, name: str, elements: float, part: str = "weights") -> None:
        """Take the copy that autocast makes of a factor; it is kept until autocast is left."""
        if self.facts.casts:
            self.ledger.take(f"{name} cast", elements * self.item, part)

    def weights(self, *names: str) -> None:
        """Take autocast's copies of a layer's weights."""
        for name in names:
            self.cast(name, self.facts.plan.array(name).elements)

    def activated(self, elements: float, *read: str) -> str:
        """Put out a layer with an element-wise function behind it."""
        before = self.put(elements, *read)
        if self.facts.fuses or self.facts.switch("in_place"):
            return before
        return self.put(elements, before)


def matmul(facts: Facts, ledger: Ledger) -> None:
    """C = A B: the product, and under autocast its factors once more."""
    forward, elements = Forward(facts, ledger), facts.plan.array("C").elements
    for name in "AB":
        forward.cast(name, elements, "inputs")
    forward.put(elements, part="outputs")


def mlp(facts: Facts, ledger: Ledger) -> None:
    """X → H → H → Y with ReLU, which is the larger of two neighbouring layers in inference."""
    forward = Forward(facts, ledger)
    batch = _samples(facts)
    hidden, classes = batch * facts.plan.array("W1").shape[0], facts.plan.array("W3").shape[0]
    forward.cast("X", batch * facts.plan.array("X").shape[1], "inputs")
    forward.weights("W1", "b1")
    first = forward.activated(hidden)
    forward.weights("W2", "b2")
    second = forward.activated(hidden, first)
    forward.weights("W3", "b3")
    forward.put(batch * classes, second, part="outputs")


def conv2d(facts: Facts, ledger: Ledger) -> None:
    """One convolution: its output, and under autocast its factors once more."""
    forward = Forward(facts, ledger)
    forward.cast("X", facts.plan.array("X").elements, "inputs")
    forward.weights("W", "b")
    forward.put(facts.plan.array("Y").elements, part="outputs")


def attention(facts: Facts, ledger: Ledger) -> None:
    """O = softmax(Q Kᵀ / √D) V: the scores in full with the ``math`` back end, else the output."""
    forward = Forward(facts, ledger)
    batch, heads, length, width = facts.plan.array("Q").shape
    for name in "QKV":
        forward.cast(name, batch * heads * length * width, "inputs")
    _attention(forward, batch * heads, length, width, part="outputs")


def _attention(
    forward: Forward, heads: int, length: int, width: int, *, part: str = "activations"
) -> str:
    """Put out attention; fused back ends keep the logarithm of each row's sum beside the output.

    The ``math`` back end writes the scores and their softmax (``_scaled_dot_product_attention_math``
    also scales Q and K first); the fused ones hold a tile at a time (Dao et al. 2022).
    """
    ledger = forward.ledger
    if forward.facts.switch("sdpa") == "math" or forward.facts.framework != "torch":
        scaled = [forward.put(heads * length * width, part="workspace") for _ in "QK"]
        scores = forward.put(heads * length * length, part="workspace")
        weights = forward.put(heads * length * length, scores, part="workspace", keeps=False)
        out = forward.put(heads * length * width, weights, *scaled, part=part)
    else:
        sums = ledger.take("log sums", heads * length * STATISTICS_B, "workspace")
        out = forward.put(heads * length * width, sums, part=part)
    return out


def softmax(facts: Facts, ledger: Ledger) -> None:
    """One array of the input's size; autocast has it computed in fp32."""
    elements = facts.plan.array("X").elements
    ledger.take("Y", elements * (facts.stored if facts.casts else facts.computed), "outputs")


def layer_norm(facts: Facts, ledger: Ledger) -> None:
    """One array of the input's size, and the mean and the reciprocal deviation of each row."""
    array = facts.plan.array("X")
    rows = math.prod(array.shape[:-1])
    ledger.take("statistics", 2 * rows * max(STATISTICS_B, facts.stored), "workspace")
    ledger.take("Y", array.elements * (facts.stored if facts.casts else facts.computed), "outputs")


def transformer_block(facts: Facts, ledger: Ledger) -> None:
    """A pre-norm block: Q, K and V in one array, attention, and an MLP of four times the width."""
    forward = Forward(facts, ledger)
    batch, length, width = facts.plan.array("X").shape
    heads, rows = facts.size("H"), batch * length
    forward.weights("Wqkv", "bqkv", "Wo", "bo", "Wu", "bu", "Wd", "bd")
    normed = forward.put(rows * width)
    joined = forward.put(3 * rows * width, normed)
    mixed = _attention(forward, batch * heads, length, width // heads)
    if not facts.records:
        ledger.give(joined)
    out = forward.put(rows * width, mixed)
    residual = forward.put(rows * width, out)
    normed = forward.put(rows * width)
    hidden = forward.activated(4 * rows * width, normed)
    down = forward.put(rows * width, hidden)
    forward.put(rows * width, down, residual, part="outputs", keeps=False)


def cnn(facts: Facts, ledger: Ledger) -> None:
    """Two rounds of convolution, ReLU and pooling (whose indices are kept), then a linear layer."""
    forward = Forward(facts, ledger)
    batch, _, size, _ = facts.plan.array("X").shape
    forward.cast("X", facts.plan.array("X").elements, "inputs")
    read: tuple[str, ...] = ()
    for number in (1, 2):
        channels = facts.plan.array(f"W{number}").shape[0]
        forward.weights(f"W{number}", f"b{number}")
        image = forward.activated(batch * channels * size * size, *read)
        size //= 2
        pooled = batch * channels * size * size
        indices = ledger.take(f"indices {number}", pooled * 8, "workspace")
        read = (forward.put(pooled, image), )
        if not facts.records:
            ledger.give(indices)
    forward.weights("W3", "b3")
    forward.put(batch * facts.plan.array("W3").shape[0], *read, part="outputs")


def _samples(facts: Facts) -> int:
    """Return how many samples are computed at once."""
    return 1 if facts.switch("one_by_one") else facts.plan.array("X").shape[0]


WALKS: dict[str, Walk] = {
    "matmul": matmul,
    "mlp": mlp,
    "mlp_training": mlp_training,
    "conv2d": conv2d,
    "attention": attention,
    "softmax": softmax,
    "layer_norm": layer_norm,
    "transformer_block": transformer_block,
    "cnn": cnn,
}
