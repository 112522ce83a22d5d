"""A study of the Lab as the command that does the same in a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from gpuexplorer.core.change import switch_value
from gpuexplorer.core.config import OWN_FILL
from gpuexplorer.gui.model.lab_wanted import Wanted
from gpuexplorer.gui.model.sweep_axes import values_text
from gpuexplorer.reproduce import short_block, surroundings
from gpuexplorer.search.studies import How
from gpuexplorer.workloads.switches import TRANSFERS


def study_command(
    wanted: Wanted,
    kernels: Sequence[Path] = (),
    *,
    threads: int | None = None,
    engine: str | None = None,
) -> str:
    """Return the ``gpuexplorer study`` command, quoted for a shell.

    ``threads`` are the CPU threads of the engine, where somebody chose them, and ``engine`` the
    word for it, None for the built-in one.
    """
    asked = wanted.request
    words = ["gpuexplorer", "study", wanted.kind, asked.workload]
    if asked.variant is not None:
        words += ["--variant", asked.variant]
    sizes = {symbol: str(value) for symbol, value in asked.size.items()}
    if wanted.symbol is not None and wanted.sizes is not None:
        sizes[wanted.symbol] = values_text(wanted.sizes)
    if sizes:
        words += ["--size", ",".join(f"{symbol}={text}" for symbol, text in sizes.items())]
    if asked.block is not None:
        words += ["--block", "x".join(map(str, short_block(asked.block)))]
    words += _looked_at(wanted)
    for name, value in asked.tunables.items():
        words += ["--set", f"{name}={value}"]
    for name, switched in asked.switches.items():
        if name != TRANSFERS:
            words += ["--switch", f"{name}={switch_value(switched)}"]
    if asked.cache != "hot":
        words += ["--cache", asked.cache]
    if asked.fill not in (None, OWN_FILL):
        words += ["--fill", str(asked.fill)]
    if asked.seed != 1:
        words += ["--seed", str(asked.seed)]
    if threads is not None:
        words += ["--threads", str(threads)]
    if asked.switches.get(TRANSFERS) and wanted.kind != "speedup":
        words.append("--include-transfers")
    default = How()
    if wanted.how.rounds != default.rounds:
        words += ["--rounds", str(wanted.how.rounds)]
    if wanted.how.seconds != default.seconds:
        words += ["--seconds", f"{wanted.how.seconds:g}"]
    return shlex.join(words + surroundings(kernels, engine))


def _looked_at(wanted: Wanted) -> list[str]:
    """Return what this kind of study looks at, and the device or the devices."""
    asked = wanted.request
    words = []
    if wanted.kind == "precision":
        if wanted.precisions is not None:
            words += ["--precision", ",".join(wanted.precisions)]
    elif asked.precision is not None:
        words += ["--precision", asked.precision]
    if wanted.kind == "switches" and wanted.switches is not None:
        words += ["--switches", ",".join(wanted.switches)]
    if wanted.threads:
        words += ["--try-threads", ",".join(map(str, wanted.threads))]
    if wanted.sides is not None:
        words += ["--devices", ",".join(wanted.sides)]
    elif asked.device != "auto":
        words += ["--device", asked.device]
    return words
