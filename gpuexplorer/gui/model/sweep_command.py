"""A sweep as the command that does the same in a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from gpuexplorer.core.change import switch_value
from gpuexplorer.core.config import OWN_FILL
from gpuexplorer.gui.model.sweep_axes import values_text
from gpuexplorer.reproduce import NOT_SWITCHES, short_block, surroundings
from gpuexplorer.search.measuring import SAMPLES, Measuring
from gpuexplorer.search.space import BLOCK_AXES, Space

OPTIONS = {
    "variant": "--variant", "precision": "--precision", "device": "--device", "fill": "--fill",
    "cache": "--cache", "threads": "--threads", "block": "--block",
    **{name: "--block-" + name[-1] for name in BLOCK_AXES},
}  # fmt: skip


def sweep_command(
    space: Space,
    measuring: Measuring,
    kernels: Sequence[Path] = (),
    *,
    threads: int | None = None,
    engine: str | None = None,
) -> str:
    """Return the ``gpuexplorer sweep`` command of a space, quoted for a shell.

    ``threads`` are the CPU threads of the engine, where somebody chose them, and ``engine`` the
    word for it, None for the built-in one.
    """
    base, axes = space.base, space.by_name
    words = ["gpuexplorer", "sweep", base.workload]

    def add(option: str, text: str) -> None:
        words.extend((option, text))

    if base.variant is not None and "variant" not in axes:
        add("--variant", base.variant)
    sizes = {symbol: str(value) for symbol, value in base.size.items()}
    sizes |= {a.symbol: values_text(a.values) for n, a in axes.items() if n.startswith("size.")}
    if sizes:
        add("--size", ",".join(f"{symbol}={text}" for symbol, text in sizes.items()))
    blocks = set(axes) & {"block", *BLOCK_AXES}
    if base.block is not None and not blocks:
        add("--block", "x".join(map(str, short_block(base.block))))
    elif base.block is not None and blocks and "block" not in blocks:
        for name, threads_along in zip(BLOCK_AXES, (*base.block, 1, 1)[:3], strict=True):
            if name not in blocks and (name != "block.z" or threads_along != 1):
                add(OPTIONS[name], str(threads_along))
    if base.precision is not None and "precision" not in axes:
        add("--precision", base.precision)
    if "device" not in axes and base.device != "auto":
        add("--device", base.device)
    for name, axis in axes.items():
        if name in OPTIONS:
            add(OPTIONS[name], values_text(axis.values))
    for name, value in base.tunables.items():
        if f"tunable.{name}" not in axes:
            add("--tunable", f"{name}={value}")
    for name, axis in axes.items():
        if name.startswith("tunable."):
            add("--tunable", f"{axis.symbol}={values_text(axis.values)}")
    for name, chosen in base.switches.items():
        if name not in NOT_SWITCHES and f"switch.{name}" not in axes:
            add("--switch", f"{name}={switch_value(chosen)}")
    for name, axis in axes.items():
        if name.startswith("switch."):
            add("--switch", f"{axis.symbol}={','.join(map(switch_value, axis.values))}")
    if base.cache != "hot" and "cache" not in axes:
        add("--cache", base.cache)
    if base.fill not in (None, OWN_FILL) and "fill" not in axes:
        add("--fill", str(base.fill))
    if base.seed != 1:
        add("--seed", str(base.seed))
    if threads is not None and "threads" not in axes:
        add("--threads", str(threads))
    if base.switches.get("include_transfers"):
        words.append("--include-transfers")
    if measuring.samples is not None and measuring.samples != SAMPLES:
        add("--samples", str(measuring.samples))
    if measuring.allow_long:
        words.append("--yes")
    return shlex.join(words + surroundings(kernels, engine))
