"""What practitioners count of a model's run: samples or tokens a second."""

from __future__ import annotations

from gpuexplorer.core.config import RunConfig

BATCH, SEQUENCE = "B", "S"
"""The size symbols of a batch and of a sequence, in the shipped workloads and in a user's own."""


def items_per_launch(config: RunConfig) -> tuple[int, str] | None:
    """Return how many items one launch works on, and what they are; None without a batch.

    A batch of sequences is counted in tokens, any other in samples. A kernel's sizes are its own
    affair, so what has blocks of threads is never counted.
    """
    batch = config.size.get(BATCH)
    if batch is None or config.block is not None:
        return None
    sequence = config.size.get(SEQUENCE)
    return (batch, "samples") if sequence is None else (batch * sequence, "tokens")


def items_per_s(config: RunConfig, time_s: float | None) -> tuple[float, str] | None:
    """Return items a second and their unit, such as ``tokens/s``; None where none are counted."""
    found = items_per_launch(config)
    if found is None or not time_s:
        return None
    number, what = found
    return number / time_s, f"{what}/s"
