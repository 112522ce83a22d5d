"""A study of the Lab as the command that does the same in a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpuexplorer.core.knobs import TRANSFERS, option_words, values_of
from gpuexplorer.gui.model.lab_wanted import Wanted
from gpuexplorer.reproduce import surroundings
from gpuexplorer.studies import How


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
    request = wanted.request
    values: dict[str, tuple[Any, ...]] = {n: (v,) for n, v in values_of(request).items()}
    if wanted.symbol is not None and wanted.sizes is not None:
        values[f"size.{wanted.symbol}"] = wanted.sizes
    if wanted.kind == "precision":
        values.pop("precision", None)
        values |= {"precision": wanted.precisions} if wanted.precisions is not None else {}
    if wanted.kind == "speedup":
        values.pop(TRANSFERS, None)
    if wanted.sides is not None:
        values["device"] = wanted.sides
    if threads is not None:
        values["threads"] = (threads,)
    words = ["gpuexplorer", "study", wanted.kind, request.workload, *option_words(values)]
    if wanted.kind == "switches" and wanted.switches is not None:
        words += ["--switches", ",".join(wanted.switches)]
    if wanted.threads:
        words += ["--try-threads", ",".join(map(str, wanted.threads))]
    default = How()
    if wanted.how.rounds != default.rounds:
        words += ["--rounds", str(wanted.how.rounds)]
    if wanted.how.seconds != default.seconds:
        words += ["--seconds", f"{wanted.how.seconds:g}"]
    return shlex.join(words + surroundings(kernels, engine))
