"""The shipped models, written once over the operators of a framework; images channels last."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from gpuexplorer.backends.functional import Arrays, Written
from gpuexplorer.backends.layouts import FILTERS, IMAGES, LINEAR, AfterImages, Layout
from gpuexplorer.workloads.models.training import LEARNING_RATE, MOMENTUM, WEIGHTS

Sizes = Mapping[str, int]


class FunctionalModels(ABC):
    """What the models are made of in one framework, and the models."""

    heads: ClassVar[Mapping[str, Layout]] = {}
    """How ``attention`` has its arrays, where not as the manifest: (batch, head, position, ...)."""

    # ---- what a framework says

    @abstractmethod
    def product(self, left: Any, right: Any) -> Any:
        """Return the product of two matrices."""

    @abstractmethod
    def linear(self, x: Any, arrays: Arrays, layer: str) -> Any:
        """Return x W + b with a layer's two arrays, where x may have more axes than two."""

    @abstractmethod
    def reshape(self, x: Any, shape: tuple[int, ...]) -> Any:
        """Return the same elements in another shape."""

    @abstractmethod
    def relu(self, x: Any) -> Any:
        """Return what is above 0."""

    @abstractmethod
    def gelu(self, x: Any) -> Any:
        """Return GELU in its tanh form."""

    @abstractmethod
    def softmax_of(self, x: Any) -> Any:
        """Return the softmax over the last axis."""

    @abstractmethod
    def normed(self, x: Any, gain: Any, bias: Any) -> Any:
        """Return the layer norm over the last axis."""

    @abstractmethod
    def convolved(self, x: Any, filters: Any, bias: Any) -> Any:
        """Return a convolution that keeps the images' size."""

    @abstractmethod
    def max_pooled(self, x: Any) -> Any:
        """Return the greatest of each 2 × 2 pixels."""

    @abstractmethod
    def attended(self, q: Any, k: Any, v: Any) -> Any:
        """Return softmax(q kᵀ / √D) v, with arrays as ``heads`` says."""

    @abstractmethod
    def attended_within(self, joined: Any) -> Any:
        """Return causal attention, (batch, position, head, feature), of q, k, v on a third axis."""

    @abstractmethod
    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        """Return the mean cross-entropy."""

    @abstractmethod
    def loss_and_gradients(
        self, loss_of: Callable[[Arrays], Any], weights: Arrays
    ) -> tuple[Any, Arrays]:
        """Return a loss and its gradient for each weight."""

    # ---- the models

    def written(self, family: str, sizes: Sizes) -> Written:
        """Return a workload's model."""
        models: dict[str, Callable[[Sizes], Written]] = {
            "matmul": self.matmul,
            "mlp": self.mlp,
            "mlp_training": self.mlp_training,
            "conv2d": self.conv2d,
            "attention": self.attention,
            "softmax": self.softmax,
            "layer_norm": self.layer_norm,
            "transformer_block": self.transformer_block,
            "cnn": self.cnn,
        }
        return models[family](sizes)

    def matmul(self, sizes: Sizes) -> Written:
        """C = A B."""
        return Written(lambda arrays: {"C": self.product(arrays["A"], arrays["B"])})

    def _three_layers(self, x: Any, arrays: Arrays, activation: Callable[[Any], Any]) -> Any:
        hidden = activation(self.linear(x, arrays, "1"))
        hidden = activation(self.linear(hidden, arrays, "2"))
        return self.linear(hidden, arrays, "3")

    def mlp(self, sizes: Sizes) -> Written:
        """Three linear layers with ReLU between them."""

        def compute(arrays: Arrays) -> Arrays:
            return {"Y": self._three_layers(arrays["X"], arrays, self.relu)}

        return Written(compute, {"W1": LINEAR, "W2": LINEAR, "W3": LINEAR})

    def mlp_training(self, sizes: Sizes) -> Written:
        """One step of SGD with momentum on the mean cross-entropy."""

        def compute(arrays: Arrays) -> Arrays:
            def loss_of(weights: Arrays) -> Any:
                logits = self._three_layers(arrays["X"], weights, self.gelu)
                return self.cross_entropy(logits, arrays["labels"])

            weights = {name: arrays[name] for name in WEIGHTS}
            loss, gradients = self.loss_and_gradients(loss_of, weights)
            results: Arrays = {"loss": self.reshape(loss, (1,))}
            for name in WEIGHTS:
                velocity = MOMENTUM * arrays[f"v{name}"] + gradients[name]
                results[f"v{name}"] = velocity
                results[name] = arrays[name] - LEARNING_RATE * velocity
            return results

        return Written(compute, {f"{v}W{n}": LINEAR for v in ("", "v") for n in (1, 2, 3)})

    def conv2d(self, sizes: Sizes) -> Written:
        """One convolution with bias that keeps the size."""

        def compute(arrays: Arrays) -> Arrays:
            return {"Y": self.convolved(arrays["X"], arrays["W"], arrays["b"])}

        return Written(compute, {"X": IMAGES, "Y": IMAGES, "W": FILTERS})

    def attention(self, sizes: Sizes) -> Written:
        """Scaled dot-product attention."""

        def compute(arrays: Arrays) -> Arrays:
            return {"O": self.attended(arrays["Q"], arrays["K"], arrays["V"])}

        return Written(compute, self.heads)

    def softmax(self, sizes: Sizes) -> Written:
        """Softmax over the last axis."""
        return Written(lambda arrays: {"Y": self.softmax_of(arrays["X"])})

    def layer_norm(self, sizes: Sizes) -> Written:
        """Layer norm over the last axis."""
        return Written(lambda arrays: {"Y": self.normed(arrays["X"], arrays["g"], arrays["b"])})

    def transformer_block(self, sizes: Sizes) -> Written:
        """A pre-norm transformer block: causal attention, then an MLP of four times the width."""
        heads = sizes["H"]

        def compute(arrays: Arrays) -> Arrays:
            x = arrays["X"]
            batch, length, width = x.shape
            normed = self.normed(x, arrays["g1"], arrays["n1"])
            joined = self.reshape(
                self.linear(normed, arrays, "qkv"), (batch, length, 3, heads, width // heads)
            )
            mixed = self.reshape(self.attended_within(joined), (batch, length, width))
            residual = x + self.linear(mixed, arrays, "o")
            normed = self.normed(residual, arrays["g2"], arrays["n2"])
            hidden = self.gelu(self.linear(normed, arrays, "u"))
            return {"Y": residual + self.linear(hidden, arrays, "d")}

        return Written(compute, dict.fromkeys(("Wqkv", "Wo", "Wu", "Wd"), LINEAR))

    def cnn(self, sizes: Sizes) -> Written:
        """Two rounds of convolution, ReLU and pooling, then a linear layer."""

        def compute(arrays: Arrays) -> Arrays:
            x = arrays["X"]
            for layer in ("1", "2"):
                x = self.convolved(x, arrays[f"W{layer}"], arrays[f"b{layer}"])
                x = self.max_pooled(self.relu(x))
            return {"Y": self.linear(self.reshape(x, (x.shape[0], -1)), arrays, "3")}

        last = AfterImages(2 * sizes["K"])
        return Written(compute, {"X": IMAGES, "W1": FILTERS, "W2": FILTERS, "W3": last})
