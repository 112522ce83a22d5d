"""A sweep as the command that does the same in a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from gpuexplorer.core.knobs import BLOCK_AXES, option_words, values_of
from gpuexplorer.reproduce import surroundings
from gpuexplorer.search.measuring import SAMPLES, Measuring
from gpuexplorer.search.space import Space


def sweep_command(
    space: Space,
    measuring: Measuring,
    kernels: Sequence[Path] = (),
    *,
    threads: int | None = None,
    engine: str | None = None,
) -> str:
    """Return the ``gpuexplorer sweep`` command of a space, quoted for a shell.

    ``threads`` are the CPU threads of the engine, where they were chosen, and ``engine`` the
    word for it, None for the built-in one.
    """
    base, axes = space.base, {axis.name: axis.values for axis in space.axes}
    values = {name: (value,) for name, value in values_of(base).items()} | axes
    if any(name in axes for name in BLOCK_AXES) and "block" in values:
        sides = (*values.pop("block")[0], 1, 1)[:3]
        whole = {n: (side,) for n, side in zip(BLOCK_AXES, sides, strict=True)}
        values = {n: v for n, v in whole.items() if n != "block.z" or v != (1,)} | values
    if threads is not None and "threads" not in axes:
        values["threads"] = (threads,)
    words = ["gpuexplorer", "sweep", base.workload, *option_words(values)]
    if measuring.samples is not None and measuring.samples != SAMPLES:
        words += ["--samples", str(measuring.samples)]
    if measuring.allow_long:
        words.append("--yes")
    return shlex.join(words + surroundings(kernels, engine))
