"""The memory of one launch and its arrays by formula, from the plan alone: nothing is run.

A kernel and a library call take their arrays. A framework's model also takes what its layers put
out, what backward needs of that, gradients and the optimiser's state; ``models`` goes through its
layers with a ledger and says what each takes and when it lets go.
"""

from __future__ import annotations

from functools import lru_cache

from gpuexplorer.core.memory import MemoryParts
from gpuexplorer.workloads.frameworks import family_of
from gpuexplorer.workloads.memory.facts import Facts
from gpuexplorer.workloads.memory.ledger import Ledger
from gpuexplorer.workloads.memory.models import WALKS
from gpuexplorer.workloads.models import MODELS
from gpuexplorer.workloads.plan import ArrayPlan, Plan


def predict(plan: Plan) -> MemoryParts | None:
    """Return the largest moment of a run: its arrays, and what a launch takes beside them.

    None for a model whose layers are not known here, such as a user's own.
    """
    if plan.model is None:
        return _arrays_of(plan)
    if family_of(plan.model) not in WALKS:
        return None
    facts, ledger = Facts.of(plan), Ledger()
    hold_arrays(facts, ledger)
    WALKS[family_of(plan.model)](facts, ledger)
    return ledger.peak


def held_parts(plan: Plan) -> MemoryParts:
    """Return what is held between two launches: the arrays alone."""
    if plan.model is None or family_of(plan.model) not in WALKS:
        return _arrays_of(plan)
    ledger = Ledger()
    hold_arrays(Facts.of(plan), ledger)
    return ledger.peak


def hold_arrays(facts: Facts, ledger: Ledger) -> None:
    """Hold a model's weights and data, as they lie on the device between launches.

    A weight that learns is there twice where each launch begins from the same weights: once as it
    is, and once as it was written.
    """
    reset = set(facts.plan.reset)
    for array in facts.plan.arrays:
        if array.role == "out":
            continue  # a step puts its results into new arrays
        nbytes = facts.stored_B(array)
        if array.name in facts.model.weights:
            part = "weights"
        elif array.name in facts.optimizer_state:
            part = "optimizer"
        else:
            part = "inputs"
        ledger.take(array.name, nbytes, part)
        if array.name in reset and array.role == "inout":
            ledger.take(f"{array.name} as written", nbytes, part)


def reference_B(plan: Plan) -> float:
    """Return what the check against float64 holds of a model: every value of it in 8 bytes.

    A model whose samples are each computed alone is checked by some of them, and a kernel's
    reference works through its arrays by pieces: these take little.
    """
    family = family_of(plan.model or "")
    if family not in WALKS or MODELS[family].per_sample:
        return 0.0
    facts, ledger = Facts.in_float64(plan), Ledger()
    hold_arrays(facts, ledger)
    WALKS[family](facts, ledger)
    return ledger.peak.total_B


def _arrays_of(plan: Plan) -> MemoryParts:
    """Return the arrays of a kernel or library call; copies to set them back from are scratch."""
    return _parts_of(plan.arrays, plan.reset if plan.library is None else ())


@lru_cache(maxsize=256)  # asked for several times a configuration, and alike in a whole search
def _parts_of(arrays: tuple[ArrayPlan, ...], set_back: tuple[str, ...]) -> MemoryParts:
    parts = dict.fromkeys(("inputs", "outputs", "workspace"), 0.0)
    for array in arrays:
        part = {"in": "inputs", "scratch": "workspace"}.get(array.role, "outputs")
        parts[part] += array.nbytes
        if array.role == "inout" and array.name in set_back:
            parts["workspace"] += array.nbytes
    return MemoryParts.of(parts)
