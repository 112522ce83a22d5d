"""The models that frameworks run, by name, and what each must compute in float64."""

from __future__ import annotations

from gpuexplorer.workloads.models import forward
from gpuexplorer.workloads.models.reference import Array, ReferenceModel
from gpuexplorer.workloads.models.training import VELOCITIES, WEIGHTS, mlp_training

__all__ = ["MODELS", "Array", "ReferenceModel"]

_BLOCK_WEIGHTS = ("g1", "n1", "Wqkv", "bqkv", "Wo", "bo", "g2", "n2", "Wu", "bu", "Wd", "bd")

MODELS: dict[str, ReferenceModel] = {
    m.name: m
    for m in (
        ReferenceModel(
            "matmul", "Matrix multiply", ("A", "B"), ("C",), (), forward.matmul, ("A", "C"),
        ),
        ReferenceModel(
            "mlp", "MLP forward", ("X", *WEIGHTS), ("Y",), WEIGHTS, forward.mlp, ("X", "Y"),
        ),
        ReferenceModel(
            "mlp_training", "MLP training step", ("X", "labels", *WEIGHTS, *VELOCITIES),
            ("loss", *WEIGHTS, *VELOCITIES), WEIGHTS, mlp_training, trains=True,
        ),
        ReferenceModel(
            "conv2d", "2-D convolution", ("X", "W", "b"), ("Y",), ("W", "b"), forward.conv2d,
            ("X", "Y"),
        ),
        ReferenceModel(
            "attention", "Scaled dot-product attention", ("Q", "K", "V"), ("O",), (),
            forward.attention, ("Q", "K", "V", "O"), sample_axes=2,
        ),
        ReferenceModel("softmax", "Softmax", ("X",), ("Y",), (), forward.softmax, ("X", "Y")),
        ReferenceModel(
            "layer_norm", "Layer norm", ("X", "g", "b"), ("Y",), ("g", "b"), forward.layer_norm,
            ("X", "Y"), sample_axes=2,
        ),
        ReferenceModel(
            "transformer_block", "Transformer block", ("X", *_BLOCK_WEIGHTS), ("Y",),
            _BLOCK_WEIGHTS, forward.transformer_block, ("X", "Y"),
        ),
        ReferenceModel(
            "cnn", "Small CNN", ("X", *WEIGHTS), ("Y",), WEIGHTS, forward.cnn, ("X", "Y"),
        ),
    )
}  # fmt: skip
