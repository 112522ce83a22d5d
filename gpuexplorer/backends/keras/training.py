"""One training step in Keras, as its own guides write the loop for each framework."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from typing import Any

import keras

from gpuexplorer.backends.keras.models import Network, WeightVariable
from gpuexplorer.backends.keras.underlying import OnJax, OnTensorFlow, OnTorch, UnderlyingFramework
from gpuexplorer.backends.layouts import Layout
from gpuexplorer.workloads.models.training import LEARNING_RATE, MOMENTUM

TrainingStep = Callable[[Any, Any], Any]


class Training(ABC):
    """Network, loss and optimiser; a step takes data and labels and returns the loss."""

    step: TrainingStep

    def __init__(self, network: Network) -> None:
        self.model = network.model
        self.loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.optimizer = keras.optimizers.SGD(LEARNING_RATE, momentum=MOMENTUM)
        self.optimizer.build(self.model.trainable_variables)
        layouts: dict[int, tuple[str, Layout | None]] = {
            id(held.variable): (held.name, held.layout) for held in network.weights
        }
        named = [layouts[id(variable)] for variable in self.model.trainable_variables]
        self.weights = (
            *network.weights,
            # Keras keeps the step itself, -0.1 v, where the workload's velocity is v.
            *(
                WeightVariable(f"v{name}", momentum, layout, -LEARNING_RATE)
                for (name, layout), momentum in zip(named, self.optimizer.momentums, strict=True)
            ),
        )

    def begin(self) -> None:
        """Take up what was written to the variables."""

    def end(self) -> None:
        """Have the variables hold what was learnt."""


class TensorFlowTraining(Training):
    """A step with a gradient tape."""

    def __init__(self, network: Network, framework: OnTensorFlow, **switches: bool) -> None:
        super().__init__(network)
        tf, variables = framework.tf, self.model.trainable_variables

        def step(x: Any, labels: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = self.loss(labels, self.model(x, training=True))
            self.optimizer.apply(tape.gradient(loss, variables), variables)
            return loss

        self.step = framework.compiled(step, None, **switches)


class TorchTraining(Training):
    """A step with PyTorch's own backward pass."""

    def __init__(self, network: Network, framework: OnTorch, **switches: bool) -> None:
        super().__init__(network)
        torch, variables = framework.torch, self.model.trainable_variables

        def step(x: Any, labels: Any) -> Any:
            self.model.zero_grad()
            loss = self.loss(labels, self.model(x, training=True))
            loss.backward()
            with torch.no_grad():
                self.optimizer.apply([v.value.grad for v in variables], variables)
            return loss.detach()

        self.step = framework.compiled(step, None, **switches)


class JaxTraining(Training):
    """A step as a function from one state to the next."""

    _state: tuple[list[Any], ...] = ()

    def __init__(self, network: Network, framework: OnJax, **switches: bool) -> None:
        super().__init__(network)
        model, optimizer, loss_of = self.model, self.optimizer, self.loss

        def loss_and_rest(learn: Any, keep: Any, x: Any, labels: Any) -> tuple[Any, Any]:
            y, keep = model.stateless_call(learn, keep, x, training=True)
            return loss_of(labels, y), keep

        gradients_of = framework.jax.value_and_grad(loss_and_rest, has_aux=True)

        def advance(state: Any, x: Any, labels: Any) -> tuple[Any, Any]:
            learn, keep, kept = state
            (loss, keep), gradients = gradients_of(learn, keep, x, labels)
            learn, kept = optimizer.stateless_apply(kept, gradients, learn)
            return loss, (learn, keep, kept)

        advance = framework.compiled(advance, None, **switches)

        def step(x: Any, labels: Any) -> Any:
            loss, self._state = advance(self._state, x, labels)
            return loss, self._state

        self.step = step
        self._variables = (
            model.trainable_variables, model.non_trainable_variables, optimizer.variables,
        )  # fmt: skip

    def begin(self) -> None:
        """Make a state of the variables' values."""
        self._state = tuple([v.value for v in group] for group in self._variables)

    def end(self) -> None:
        """Have the variables hold the state."""
        for group, values in zip(self._variables, self._state, strict=True):
            for variable, value in zip(group, values, strict=True):
                variable.assign(value)


def training_on(framework: UnderlyingFramework, network: Network, **switches: bool) -> Training:
    """Return the training step of the framework that Keras computes with."""
    if isinstance(framework, OnTensorFlow):
        return TensorFlowTraining(network, framework, **switches)
    if isinstance(framework, OnTorch):
        return TorchTraining(network, framework, **switches)
    assert isinstance(framework, OnJax)
    return JaxTraining(network, framework, **switches)
