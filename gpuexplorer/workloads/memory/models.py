"""What each model's launch takes beside its arrays: its layers in order, each with its formula.

The walks follow eager PyTorch: an operator's result is a new array, and an array goes when nothing
refers to it any more. In inference that is when the layers that read it are done; with gradients
recorded, an operator also keeps what its backward function would need, which PyTorch's
``tools/autograd/derivatives.yaml`` names: ``addmm`` and ``convolution`` their inputs, ``relu`` and
``softmax`` their result, ``gelu`` its input, ``native_layer_norm`` its input and the statistics.
A graph compiler fuses element-wise operators, so with ``torch.compile``, ``jax.jit`` and XLA an
activation function takes no array of its own.
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
WIDE_B = 4
"""Bytes of a number in fp32, and of a sum of 8-bit products."""
INDEX_B = 8
"""Bytes of the place of a largest element, which pooling writes beside the elements."""


class Forward:
    """A forward pass of ``samples`` samples at a time."""

    def __init__(self, facts: Facts, ledger: Ledger) -> None:
        self.facts, self.ledger = facts, ledger
        self.item = facts.computed
        # With gradients recorded, what every sample saved stays as long as its result does.
        alone = bool(facts.switch("one_by_one")) and not facts.records
        self.samples = 1 if alone else facts.samples
        self._taken = 0
        if alone:
            (output,) = facts.plan.outputs
            others = output.elements * (1 - 1 / facts.samples)
            self.put(others, part="outputs")  # the samples that were computed before the last

    def put(self, elements: float, *, part: str = "activations", item: int | None = None) -> str:
        """Take what an operator puts out, so many elements; return its name."""
        self._taken += 1
        nbytes = elements * (self.item if item is None else item)
        return self.ledger.take(f"{part} {self._taken}", nbytes, part)

    def drop(self, *names: str, saved: bool = False) -> None:
        """Let go of arrays, unless an operator saved them for a backward pass."""
        if not (saved and self.facts.records):
            self.ledger.give(*names)

    def cast(self, *names: str, part: str = "weights", share: float = 1.0) -> tuple[str, ...]:
        """Take the copies that autocast makes of factors; return their names."""
        taken = []
        for name in names if self.facts.casts else ():
            elements = self.facts.plan.array(name).elements * share
            taken.append(self.ledger.take(f"{name} cast", elements * self.item, part))
        return tuple(taken)

    def cast_data(self, *names: str) -> tuple[str, ...]:
        """Take autocast's copies of the samples that are computed at a time."""
        return self.cast(*names, part="inputs", share=self.samples / self.facts.samples)

    def drop_casts(self, *names: str) -> None:
        """Let go of copies of weights, which autocast keeps except in inference mode."""
        if self.facts.switch("grad_mode") == "inference":
            self.ledger.give(*names)

    def relu(self, before: str) -> str:
        """Put out an element-wise function that saves its result; return the result."""
        if self.facts.fuses or self.facts.switch("in_place"):
            return before
        _, nbytes = self.ledger.held(before)
        self._taken += 1
        after = self.ledger.take(f"activations {self._taken}", nbytes)
        self.drop(before)
        return after

    def linear(self, weight: str, bias: str, rows: float, *, part: str = "activations") -> str:
        """Put out a linear layer of so many rows; the weight is (outputs, inputs).

        Rounded to e4m3, its input is there in fp32 and divided by its scale before it is in 8 bits.
        """
        outputs, inputs = self.facts.plan.array(weight).shape
        casts = self.cast(weight, bias)
        rounded: tuple[str, ...] = ()
        if self.facts.precision == "fp8_e4m3":
            wide = self.put(rows * inputs, part="workspace", item=2 * WIDE_B)
            rounded = (self.put(rows * inputs, part="workspace", item=1),)
            self.drop(wide)
        out = self.product(rows, inputs, outputs, part=part)
        self.drop(*rounded)
        self.drop_casts(*casts)
        return out

    def product(self, rows: float, inner: float, columns: float, *, part: str) -> str:
        """Put out a product; one of 8-bit numbers is first there in a wider form.

        Sums of whole numbers are 32-bit ones of their own. On a CPU numbers of e4m3 are widened to
        fp32 and multiplied there.
        """
        beside: tuple[str, ...] = ()
        if self.facts.precision == "int8":
            beside = (self.put(rows * columns, part="workspace", item=WIDE_B),)
        elif self.facts.precision == "fp8_e4m3" and self.facts.on_cpu:
            factors = self.put((rows + columns) * inner, part="workspace", item=WIDE_B)
            beside = (self.put(rows * columns, part="workspace", item=WIDE_B),)
            self.drop(factors)
        out = self.put(rows * columns, part=part)
        self.drop(*beside)
        return out

    def convolution(
        self, weight: str, bias: str, pixels: float, *, part: str = "activations"
    ) -> str:
        """Put out a convolution of so many pixels of all samples that keeps the images' size.

        On a CPU oneDNN works in a layout of its own, unless channels are last already: it reorders
        what it reads, and its result once more. It has no fp64; there PyTorch writes for each pixel
        all the numbers that a filter reads (``_slow_conv2d_forward``, also called im2col).
        """
        filters, channels, height, width = self.facts.plan.array(weight).shape
        casts = self.cast(weight, bias)
        own: tuple[str, ...] = ()
        if self.facts.reorders_images:
            if self.facts.precision == "fp64":
                own = (self.put(pixels * channels * height * width, part="workspace"),)
            else:
                reordered = self.put(pixels * channels, part="workspace")
                own = (self.put(pixels * filters, part="workspace"),)
                self.drop(reordered)
        out = self.put(pixels * filters, part=part)
        self.drop(*own)
        self.drop_casts(*casts)
        return out

    def scores(self, heads: int, length: int, width: int) -> tuple[str, ...]:
        """Take what attention holds beside its output; return what goes when that is there.

        The ``math`` back end scales Q and K and writes the scores and their softmax, in fp32 at
        least, and looks for rows without a score (``_scaled_dot_product_attention_math``); the
        fused ones hold a tile of them at a time, and keep the logarithm of each row's sum (Dao et
        al. 2022).
        """
        if self.facts.switch("sdpa") != "math" and self.facts.framework == "torch":
            return (self.put(heads * length, part="workspace", item=STATISTICS_B),)
        wide = max(self.item, WIDE_B)
        arrays, square = heads * length * width, heads * length * length
        copies = 2 if wide == self.item else 5  # before scaling, 16-bit numbers are widened
        scaled = [self.put(arrays, part="workspace", item=wide) for _ in range(copies)]
        scores = self.put(square, part="workspace", item=wide)
        weights = self.put(square, part="workspace", item=wide)
        self.drop(self.put(square, part="workspace", item=1))
        self.drop(scores)
        return (*scaled, weights)

    def result(self, name: str, *, item: int | None = None) -> None:
        """Take the result of the samples that are computed at a time, then that of all."""
        elements = self.facts.plan.array(name).elements
        self.put(elements * self.samples / self.facts.samples, part="outputs", item=item)
        self.gather(name, item=item)

    def gather(self, name: str, *, item: int | None = None) -> None:
        """Take the array that samples which come apart are put together in."""
        if self.samples < self.facts.samples:
            self.put(self.facts.plan.array(name).elements, part="outputs", item=item)


def matmul(facts: Facts, ledger: Ledger) -> None:
    """C = A B: the product, and under autocast its factors once more."""
    forward = Forward(facts, ledger)
    forward.cast("A", "B", part="inputs")
    rows, inner = facts.plan.array("A").shape
    forward.product(rows, inner, facts.plan.array("B").shape[1], part="outputs")


def mlp(facts: Facts, ledger: Ledger) -> None:
    """X → H → H → Y with ReLU: a layer's input is there until its ReLU is done."""
    forward = Forward(facts, ledger)
    data = forward.cast_data("X")
    before = forward.linear("W1", "b1", forward.samples)
    forward.drop(*data, saved=True)
    first = forward.relu(before)
    second = forward.relu(forward.linear("W2", "b2", forward.samples))
    forward.drop(first, saved=True)
    forward.linear("W3", "b3", forward.samples, part="outputs")
    forward.gather("Y")
    forward.drop(second, saved=True)


def conv2d(facts: Facts, ledger: Ledger) -> None:
    """One convolution; its result is put together where samples come apart."""
    forward = Forward(facts, ledger)
    forward.cast_data("X")
    pixels = math.prod(facts.plan.array("X").shape[2:])
    forward.convolution("W", "b", forward.samples * pixels, part="outputs")
    forward.gather("Y")


def attention(facts: Facts, ledger: Ledger) -> None:
    """O = softmax(Q Kᵀ / √D) V."""
    forward = Forward(facts, ledger)
    _, heads, length, width = facts.plan.array("Q").shape
    forward.cast_data("Q", "K", "V")
    beside = forward.scores(forward.samples * heads, length, width)
    forward.result("O")
    forward.drop(*beside, saved=True)


def softmax(facts: Facts, ledger: Ledger) -> None:
    """One array of the input's size; autocast has it computed in fp32."""
    Forward(facts, ledger).result("Y", item=facts.stored if facts.casts else None)


def layer_norm(facts: Facts, ledger: Ledger) -> None:
    """One array of the input's size, and the mean and the reciprocal deviation of each row."""
    rows = math.prod(facts.plan.array("X").shape[:-1])
    ledger.take("statistics", 2 * rows * max(STATISTICS_B, facts.stored), "workspace")
    Forward(facts, ledger).result("Y", item=facts.stored if facts.casts else None)


def transformer_block(facts: Facts, ledger: Ledger) -> None:
    """A pre-norm block: Q, K and V in one array, attention, and an MLP of four times the width.

    Under autocast a layer norm puts out fp32, which the product behind it converts again.
    """
    forward = Forward(facts, ledger)
    _, length, width = facts.plan.array("X").shape
    heads, rows = facts.size("H"), forward.samples * length
    row = rows * width
    wide = facts.stored if facts.casts else facts.computed

    normed = forward.put(row, item=wide)
    _converted(forward, row)
    joined = forward.linear("Wqkv", "bqkv", rows)
    beside = forward.scores(forward.samples * heads, length, width // heads)
    mixed = forward.put(row)
    forward.drop(*beside, normed, joined, saved=True)
    out = forward.linear("Wo", "bo", rows)
    forward.drop(mixed, saved=True)
    residual = forward.put(row, item=wide)
    forward.drop(out)

    normed = forward.put(row, item=wide)
    _converted(forward, row)
    before = forward.linear("Wu", "bu", rows)
    forward.drop(normed, saved=True)
    hidden = before
    if not facts.fuses:
        hidden = forward.put(4 * row)
        forward.drop(before, saved=True)
    down = forward.linear("Wd", "bd", rows)
    forward.drop(hidden, saved=True)
    forward.result("Y", item=wide)
    forward.drop(down)
    forward.drop(residual, saved=True)


def _converted(forward: Forward, elements: float) -> None:
    """Take autocast's copy of an activation, which goes once the product is there."""
    if forward.facts.casts:
        forward.drop(forward.put(elements), saved=True)


def cnn(facts: Facts, ledger: Ledger) -> None:
    """Two rounds of convolution, ReLU and pooling, then a linear layer; one layer at a time."""
    forward = Forward(facts, ledger)
    size = facts.plan.array("X").shape[-1]
    forward.cast_data("X")
    pooled: str | None = None
    for number in ("1", "2"):
        channels = facts.plan.array(f"W{number}").shape[0]
        image = forward.convolution(f"W{number}", f"b{number}", forward.samples * size**2)
        if pooled is not None:
            forward.drop(pooled, saved=True)
        image = forward.relu(image)
        size //= 2
        pooled = forward.put(forward.samples * channels * size * size)
        indices = forward.put(
            forward.samples * channels * size * size, part="workspace", item=INDEX_B
        )
        forward.drop(indices, image, saved=True)
    forward.linear("W3", "b3", forward.samples, part="outputs")
    forward.gather("Y")


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
