"""JAX imported once, with what has to be decided before that, and its devices."""

from __future__ import annotations

import os
from typing import Any

from gpuexplorer.backends.frameworks import import_framework, pip_install, quieten
from gpuexplorer.core.errors import CannotRunHere

PREALLOCATE = "XLA_PYTHON_CLIENT_PREALLOCATE"

_begun: dict[str, bool] = {}
"""How JAX takes GPU memory in this process; empty before its first use."""


def load(threads: int, *, memory_growth: bool = True) -> Any:
    """Return JAX with so many CPU threads, 64-bit types, and GPU memory taken as it is needed.

    Types are always given, so that having 64-bit ones changes nothing for the others. XLA's pool of
    threads takes its size from ``PJRT_NPROC`` when the first device is asked for. Raises
    CannotRunHere when JAX began with another ``memory_growth``, which holds for the process's life.
    """
    if _begun.setdefault("memory_growth", memory_growth) != memory_growth:
        raise CannotRunHere(
            "how JAX takes GPU memory was decided when it started in this engine",
            remedy="run this by itself, so that a new engine starts",
        )
    quieten()
    os.environ["PJRT_NPROC"] = str(threads)
    os.environ[PREALLOCATE] = "false" if memory_growth else "true"
    jax = import_framework("jax", "JAX", "jax", "jaxlib")
    jax.config.update("jax_enable_x64", True)
    return jax


def jax_device(jax: Any, device_id: str) -> Any:
    """Return JAX's own device; CannotRunHere when it does not see it."""
    kind, _, index = device_id.partition(":")[2].partition(":")
    if kind == "cpu":
        return jax.devices("cpu")[0]
    try:
        found = jax.devices("cuda")
    except RuntimeError as error:
        raise CannotRunHere(
            f"JAX finds no GPU here: {str(error).splitlines()[0]}",
            remedy=f"install its CUDA libraries with {pip_install('jax[cuda13]')} (or cuda12)",
            detail=str(error),
        ) from None
    if int(index) >= len(found):
        raise CannotRunHere(
            f"JAX sees {len(found)} GPUs here, and {device_id} is none of them",
            remedy="choose another of the GPUs",
        )
    return found[int(index)]
