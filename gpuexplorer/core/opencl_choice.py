"""Which variables of the environment choose an OpenCL driver."""

from __future__ import annotations

import os

CHOICE_VARIABLE = "GPUEXPLORER_OPENCL_CPU"
"""Names the driver to use, ``intel``, ``pocl`` or ``system``; by default the first that works."""
VENDORS_VARIABLE = "OCL_ICD_VENDORS"
"""Names the drivers that the loader finds."""
OURS_VARIABLE = "GPUEXPLORER_OPENCL_VENDORS"
"""Repeats what a backend of this process set there: it is not the user's own setting."""


def chosen_by_user() -> dict[str, str]:
    """Return the variables by which the user chose a driver."""
    found = {n: os.environ[n] for n in (CHOICE_VARIABLE, VENDORS_VARIABLE) if os.environ.get(n)}
    if found.get(VENDORS_VARIABLE) == os.environ.get(OURS_VARIABLE):
        found.pop(VENDORS_VARIABLE, None)
    return found
