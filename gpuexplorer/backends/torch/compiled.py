"""torch.compile: done before anything is timed, kept from run to run, and watched.

What is compiled is kept for a few configurations, so that runs in turns compile once.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import sysconfig
from collections import OrderedDict
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.workloads.plan import Plan

KEPT = 6
"""Configurations kept compiled; PyTorch itself gives up after eight of one function."""
STEPS = 3
"""Steps of the trial: one compiles, one records CUDA graphs where they are, one runs."""
LEAVE_OUT = "or leave --switch compile out"


class Compiled:
    """A module and what it was compiled to."""

    backend: ClassVar[str] = "inductor"
    _kept: ClassVar[OrderedDict[str, Compiled]] = OrderedDict()

    def __init__(self, torch: Any, module: Any, mode: str) -> None:
        self.module = module
        self.call = torch.compile(
            module,
            fullgraph=True,
            dynamic=False,
            backend=self.backend,
            mode=None if mode == "default" else mode,
        )

    @classmethod
    def forget(cls, torch: Any) -> None:
        """Let go of everything compiled, so that PyTorch's limit of one function is far again."""
        torch._dynamo.reset()
        cls._kept.clear()

    @classmethod
    def of(
        cls,
        torch: Any,
        module: Any,
        mode: str,
        *,
        plan: Plan,
        place: str,
        run: Callable[[Compiled], None],
    ) -> Compiled:
        """Return what a plan's module was compiled to: kept from an earlier run, or compiled now.

        ``run`` runs ``STEPS`` steps with it, which compiles. Raises CannotRunHere when no compiler
        is there.
        """
        key = f"{place} {_what(plan)}"
        kept = cls._kept.get(key)
        if kept is not None:
            cls._kept.move_to_end(key)
            return kept
        kind = "cpu" if place == "cpu" else "gpu"
        check_compiler(torch, kind)
        if len(cls._kept) >= KEPT:
            cls.forget(torch)
        if kind == "cpu":  # helpers that wait for work would be there while we measure
            config: Any = import_module("torch._inductor.config")
            config.compile_threads = 1
        made = cls(torch, module, mode)
        run(made)
        cls._kept[key] = made
        return made


def _what(plan: Plan) -> str:
    """Return what the compiled code depends on."""
    config = msgspec.structs.replace(plan.config, seed=0, fill="", cache="hot")
    return f"{plan.source_sha256} {config.key}"


def graphs(torch: Any) -> int:
    """Return how many graphs PyTorch has compiled in this process."""
    if "torch._dynamo" not in sys.modules:
        return 0
    return int(torch._dynamo.utils.counters["stats"]["unique_graphs"])


def check_compiler(torch: Any, kind: str) -> None:
    """Raise CannotRunHere when what torch.compile compiles with is not there."""
    if kind == "gpu":
        if importlib.util.find_spec("triton") is None:
            raise CannotRunHere(
                "torch.compile needs Triton on a GPU, and this Python does not have it",
                remedy=f"install it with pip install triton, {LEAVE_OUT}",
            )
        named = os.environ.get("CC")
        if not any(shutil.which(name) for name in ([named] if named else ["gcc", "clang"])):
            raise CannotRunHere(
                "torch.compile needs a C compiler on a GPU, and none was found",
                remedy=f"install gcc, name one in the environment variable CC, {LEAVE_OUT}",
            )
    else:
        _check_cpp()
    headers = Path(sysconfig.get_path("include")) / "Python.h"
    if not headers.is_file():
        raise CannotRunHere(
            f"torch.compile needs Python's header files, and {headers} is not there",
            remedy=f"install them (such as the package python3-dev), {LEAVE_OUT}",
        )


def _check_cpp() -> None:
    from torch._inductor.cpp_builder import get_cpp_compiler

    try:
        get_cpp_compiler()
    except RuntimeError as error:
        raise CannotRunHere(
            "torch.compile needs a C++ compiler, and none was found",
            remedy=f"install g++, name one in the environment variable CXX, {LEAVE_OUT}",
            detail=str(error),
        ) from None
