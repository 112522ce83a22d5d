"""Keras 3 on whichever backend it is set to: the shipped workloads as its users write them."""

from gpuexplorer.backends.keras.backend import KerasBackend

__all__ = ["KerasBackend"]
