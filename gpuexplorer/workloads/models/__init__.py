"""The models that frameworks run, by name, and what each must compute in float64."""

from __future__ import annotations

from gpuexplorer.workloads.models import forward
from gpuexplorer.workloads.models.reference import Array, ReferenceModel
from gpuexplorer.workloads.models.training import VELOCITIES, WEIGHTS, mlp_training

__all__ = ["MODELS", "Array", "ReferenceModel"]

_BLOCK_WEIGHTS = ("g1", "n1", "Wqkv", "bqkv", "Wo", "bo", "g2", "n2", "Wu", "bu", "Wd", "bd")

_WEIGHT_AXES = {name: 2 if name.startswith("W") else 1 for name in WEIGHTS}

MODELS: dict[str, ReferenceModel] = {
    m.name: m
    for m in (
        ReferenceModel(
            "matmul", "Matrix multiply", ("A", "B"), ("C",), (), forward.matmul,
            {"A": 2, "B": 2, "C": 2}, ("A", "C"),
        ),
        ReferenceModel(
            "mlp", "MLP forward", ("X", *WEIGHTS), ("Y",), WEIGHTS, forward.mlp,
            {"X": 2, "Y": 2, **_WEIGHT_AXES}, ("X", "Y"),
        ),
        ReferenceModel(
            "mlp_training", "MLP training step", ("X", "labels", *WEIGHTS, *VELOCITIES),
            ("loss", *WEIGHTS, *VELOCITIES), WEIGHTS, mlp_training,
            {"X": 2, "labels": 1, "loss": 1, **_WEIGHT_AXES}
            | {f"v{name}": axes for name, axes in _WEIGHT_AXES.items()},
            trains=True,
        ),
        ReferenceModel(
            "conv2d", "2-D convolution", ("X", "W", "b"), ("Y",), ("W", "b"), forward.conv2d,
            {"X": 4, "W": 4, "b": 1, "Y": 4}, ("X", "Y"),
        ),
        ReferenceModel(
            "attention", "Scaled dot-product attention", ("Q", "K", "V"), ("O",), (),
            forward.attention, dict.fromkeys("QKVO", 4), ("Q", "K", "V", "O"), sample_axes=2,
        ),
        ReferenceModel(
            "softmax", "Softmax", ("X",), ("Y",), (), forward.softmax, {"X": 2, "Y": 2}, ("X", "Y"),
        ),
        ReferenceModel(
            "layer_norm", "Layer norm", ("X", "g", "b"), ("Y",), ("g", "b"), forward.layer_norm,
            {"X": 3, "g": 1, "b": 1, "Y": 3}, ("X", "Y"), sample_axes=2,
        ),
        ReferenceModel(
            "transformer_block", "Transformer block", ("X", *_BLOCK_WEIGHTS), ("Y",),
            _BLOCK_WEIGHTS, forward.transformer_block,
            {"X": 3, "Y": 3} | {name: 2 if name.startswith("W") else 1 for name in _BLOCK_WEIGHTS},
            ("X", "Y"), sizes=("H",),
        ),
        ReferenceModel(
            "cnn", "Small CNN", ("X", *WEIGHTS), ("Y",), WEIGHTS, forward.cnn,
            {**_WEIGHT_AXES, "X": 4, "W1": 4, "W2": 4, "Y": 2}, ("X", "Y"),
        ),
    )
}  # fmt: skip
