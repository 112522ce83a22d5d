"""A Python file with ``build()`` as a workload: read, looked over, never run here.

    def build(batch=32):                      # whole-number defaults become sizes
        return torch.nn.Linear(256, 64), torch.randn(batch, 256)

    def loss(output):                         # optional: there is a training step, too
        return output.square().mean()

What the window and the command line need to know of it is read from its syntax tree; its code runs
in the engine alone, and only once the user has agreed (``workloads.trust``).
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import msgspec

from gpuexplorer.core.errors import InputError
from gpuexplorer.exchange.files import read_file
from gpuexplorer.workloads.frameworks import OWN_FAMILIES, OWN_MODELS
from gpuexplorer.workloads.programs import (
    SUFFIX,
    Program,
    bound,
    imports_all,
    parsed,
    statements,
)
from gpuexplorer.workloads.strict import suggestion

FORWARD, TRAINING = OWN_MODELS
FORWARD_VARIANT, TRAINING_VARIANT = "torch", "torch_training"
MAX_FILE_B = 1 << 20
ITERATIONS = "iterations"
"""The size of a file whose ``build()`` takes no whole numbers: iterations of one launch."""
MOST_ITERATIONS = 1024
SIZE_FACTOR = 64
"""A size may be chosen up to the power of two above so many times its default."""
LARGEST = 2**31 - 1
TOLERANCES = {
    "fp64": 1e-9,
    "fp32": 1e-3,
    "tf32": 3e-2,
    "bf16": 2e-1,
    "fp16": 3e-2,
    "autocast_bf16": 2e-1,
    "autocast_fp16": 3e-2,
}
"""Allowed distance from float64 by precision, where the file does not say ``TOLERANCE``: layers
behind each other add up their roundings, so it is some ten times what a single product has."""
_TAKEN = frozenset(
    {
        "variant", "block", "size", "precision", "device", "cache", "fill", "seed", "transfers",
        "workload", "kernels", "engine", "itemsize", "accum_itemsize", "block_x", "block_y",
        "block_z", "grid_x", "grid_y", "grid_z", "threads",
    }
)  # fmt: skip
"""Names that mean something else where sizes are named."""


class ModelFile(Program, frozen=True):
    """What a model's file says of itself without being run."""

    title: str
    sizes: dict[str, int] = msgspec.field(default_factory=dict)
    """``build()``'s parameters that are whole numbers, with their defaults."""
    has_loss: bool = False
    tolerances: dict[str, float] = msgspec.field(default_factory=lambda: dict(TOLERANCES))


def is_model_file(word: str | Path) -> bool:
    """Return whether a word names a Python file rather than a workload."""
    return str(word).lower().endswith(SUFFIX)


def read_model(path: Path) -> ModelFile:
    """Read a model's file and look it over without running anything.

    Raises InputError with file and line for a file that cannot be read, is not UTF-8 text, has a
    syntax error, no ``build()``, or a ``build()`` that cannot be called without arguments.
    """
    data = read_file(path, MAX_FILE_B)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text", remedy="save it as UTF-8") from None
    return look_over(text, path)


def look_over(text: str, path: Path) -> ModelFile:
    """Return what a model's text says of itself; raises as ``read_model`` does."""
    tree = parsed(text, path)
    there = list(statements(tree.body))
    build = bound("build", there)
    if build is None and not imports_all(there):
        raise InputError(
            f"{path}: there is no function build()",
            remedy="define build() that returns (module, example inputs)",
        )
    sizes: dict[str, int] = {}
    if isinstance(build, ast.AsyncFunctionDef):
        raise InputError(
            f"{path}:{build.lineno}: build() is an async function", remedy="write 'def build():'"
        )
    if isinstance(build, ast.FunctionDef):
        sizes = _sizes(build, path)
    has_loss = bound("loss", there) is not None or (
        isinstance(build, ast.FunctionDef) and _returns_three(build)
    )
    tolerances = dict(TOLERANCES)
    tolerances |= _tolerances(bound("TOLERANCE", there), path)
    said = (ast.get_docstring(tree) or "").strip().splitlines()
    title = said[0].strip().rstrip(".") if said else f"{path.stem} (own model)"
    return ModelFile(path, text, title[:80], sizes, has_loss, tolerances)


def _sizes(build: ast.FunctionDef, path: Path) -> dict[str, int]:
    """Return the parameters with whole numbers as defaults; one without any default is refused."""
    arguments = build.args
    plain = [*arguments.posonlyargs, *arguments.args]
    missing = plain[: len(plain) - len(arguments.defaults)]
    missing += [
        a for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is None
    ]
    if missing:
        raise InputError(
            f"{path}:{build.lineno}: build() takes '{missing[0].arg}', and nothing says what it is",
            remedy=f"give it a default, such as {missing[0].arg}=32",
        )
    defaults = [
        *zip(plain[len(plain) - len(arguments.defaults) :], arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    by_position = {a.arg for a in arguments.posonlyargs}
    return {
        argument.arg: default.value
        for argument, default in defaults
        if isinstance(default, ast.Constant)
        and type(default.value) is int
        and 1 <= default.value <= LARGEST
        and argument.arg not in _TAKEN
        and argument.arg not in by_position
    }


def _returns_three(build: ast.FunctionDef) -> bool:
    """Return whether ``build()`` returns three things somewhere, the third a loss."""
    nested = {
        inner
        for node in ast.walk(build)
        if node is not build
        and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for inner in ast.walk(node)
    }
    return any(
        isinstance(node, ast.Return)
        and isinstance(node.value, ast.Tuple)
        and len(node.value.elts) == 3
        for node in ast.walk(build)
        if node not in nested
    )


def _tolerances(value: ast.AST | None, path: Path) -> dict[str, float]:
    """Return what ``TOLERANCE`` says: a number for every precision, or some by name."""
    if value is None:
        return {}
    line = getattr(value, "lineno", 1)
    try:
        said = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError):
        said = None
    if isinstance(said, int | float) and not isinstance(said, bool):
        said = dict.fromkeys(TOLERANCES, said)
    if not isinstance(said, dict):
        raise InputError(
            f"{path}:{line}: TOLERANCE is neither a number nor a dict of numbers by precision",
            remedy='write it like TOLERANCE = {"bf16": 0.1}',
        )
    for name, number in said.items():
        if name not in TOLERANCES:
            raise InputError(
                f"{path}:{line}: TOLERANCE names '{name}'", remedy=suggestion(str(name), TOLERANCES)
            )
        if not isinstance(number, int | float) or not 0 < number < 1:
            raise InputError(
                f"{path}:{line}: the tolerance {number!r} does not lie between 0 and 1",
                remedy="a result may be further from float64 by this part of its size",
            )
    return {str(name): float(number) for name, number in said.items()}


# ---- as a workload


def workload_name(path: Path, taken: set[str] | frozenset[str] = frozenset()) -> str:
    """Return the name a file is run by: its own, without what a name cannot hold."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem).strip("-_") or "model"
    return f"{name}-own" if name in taken else name


def manifest_of(model: ModelFile, name: str) -> str:
    """Return the manifest that a model's file stands for.

    Arrays, operations and bytes are not known before the file has run; the engine counts them.
    """
    lines = [
        "format = 1",
        f"name = {_text(name)}",
        f"title = {_text(model.title)}",
        f"summary = {_text(f'Your own model: {model.path.name}.')}",
        "arrays = {}",
        "",
        "[work]",
        "flops = 0",
        "read_bytes = 0",
        "write_bytes = 0",
        "",
        "[reference]",
        f"model = {_text(OWN_FAMILIES[0])}",
    ]
    sizes = model.sizes or {ITERATIONS: 1}
    for symbol, default in sizes.items():
        most = MOST_ITERATIONS
        if symbol in model.sizes:
            most = min(LARGEST, 1 << (default * SIZE_FACTOR).bit_length())
        lines += [
            "",
            f"[sizes.{symbol}]",
            "min = 1",
            f"max = {most}",
            f"default = {default}",
        ]
    for precision, tolerance in model.tolerances.items():
        lines += ["", f"[precisions.{precision}]", f"tolerance = {tolerance!r}"]
    lines += [
        "",
        f"[variants.{FORWARD_VARIANT}]",
        'title = "PyTorch, forward"',
        'teaches = "The module as build() returns it, in evaluation mode, on its example inputs."',
        f"model = {_text(FORWARD)}",
    ]
    if model.has_loss:
        lines += [
            "",
            f"[variants.{TRAINING_VARIANT}]",
            'title = "PyTorch, training step"',
            'teaches = "Forward, loss, backward and one step of gradient descent (SGD); the '
            'weights are set back before each."',
            f"model = {_text(TRAINING)}",
            f"[variants.{TRAINING_VARIANT}.reference]",
            f"model = {_text(OWN_FAMILIES[1])}",
        ]
    return "\n".join(lines) + "\n"


def _text(words: str) -> str:
    """Return words as a TOML string."""
    plain = "".join(c for c in words if c.isprintable())
    return json.dumps(plain, ensure_ascii=False)
