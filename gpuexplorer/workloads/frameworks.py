"""The frameworks whose models a manifest may name, and how such a name is read."""

from __future__ import annotations

from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads.models import MODELS
from gpuexplorer.workloads.strict import suggestion

FRAMEWORKS: dict[str, str] = {
    "torch": "PyTorch",
    "tensorflow": "TensorFlow",
    "keras": "Keras",
    "jax": "JAX",
}
"""The backend that runs a framework's models, and the framework's own name."""


OWN_MODELS = ("torch.own", "torch.own_training")
"""A user's own file, forward and as a training step; see ``own_model``."""
OWN_FAMILIES = ("own", "own_training")


def framework_of(model: str) -> str:
    """Return the framework of ``FRAMEWORK.MODEL``, which is its backend's name."""
    return model.partition(".")[0]


def family_of(model: str) -> str:
    """Return what a model computes, whichever framework does it: ``mlp`` of ``torch.mlp``."""
    return model.partition(".")[2]


def is_own(model: str | None) -> bool:
    """Return whether a variant's model is the user's own file."""
    return model in OWN_MODELS


def check_model(model: str) -> None:
    """Raise InputError when ``FRAMEWORK.MODEL`` names what is not there."""
    framework, _, family = model.partition(".")
    if framework not in FRAMEWORKS:
        raise InputError(
            f"no framework '{framework}' for the model '{model}'",
            remedy=f"{suggestion(framework, FRAMEWORKS)}; a model is FRAMEWORK.MODEL",
        )
    if family not in MODELS and model not in OWN_MODELS:
        raise InputError(
            f"no model '{family}' in '{model}'", remedy=suggestion(family, list(MODELS))
        )
