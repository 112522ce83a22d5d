"""A workload as the parts hand it around: its manifest and sources, by value."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, Self

import msgspec
from msgspec.structs import replace

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.precision import KERNEL_PRECISIONS, PRECISIONS
from gpuexplorer.workloads import formulas
from gpuexplorer.workloads.fills import WHOLE
from gpuexplorer.workloads.frameworks import OWN_FAMILIES, check_model, family_of, is_own
from gpuexplorer.workloads.library import Kind, check_call
from gpuexplorer.workloads.manifest import (
    ArraySpec,
    Manifest,
    ReferenceSpec,
    TunedSpec,
    VariantSpec,
    WorkSpec,
)
from gpuexplorer.workloads.models import MODELS
from gpuexplorer.workloads.python_function import check_function
from gpuexplorer.workloads.strict import brief, convert, suggestion

MANIFEST_NAME = "workload.toml"
MODEL_FILE = "model.py"
"""What a model's own file is called among the sources, whatever its name."""
MAX_SOURCES_B = 8 << 20
"""Of manifest and sources in UTF-8: half of what a message to an engine may hold."""
BLOCK_NAMES = frozenset({"block_x", "block_y", "block_z"})
_SIMPLE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
MOST_PARTS = 32
_LONG_KEY = re.compile(
    rf"(?:^[ \t]*+\[*+|[{{,])[ \t]*+(?:{_PART}\.[ \t]*+){{{MOST_PARTS}}}", re.MULTILINE
)
MOST_AXES = 32
"""Axes of an array: NumPy has no more in all its versions."""
GRID_NAMES = frozenset({"grid_x", "grid_y", "grid_z"})
BFLOAT_CALLS = frozenset({"cublas.gemm", "cupy.copy", "cupy.transpose"})
"""Library calls that take bf16: it is a type of cuBLAS, and to what copies it is 16 bits."""


class WorkloadSource(msgspec.Struct, frozen=True, kw_only=True):
    """A workload's folder as text, so that it can travel to an engine anywhere."""

    manifest: str
    files: dict[str, str] = {}
    """Kernel sources by file name."""
    origin: str = MANIFEST_NAME
    """What error messages call the manifest (usually its path)."""

    def __hash__(self) -> int:
        return hash((self.origin, self.manifest))

    @property
    def sha256(self) -> str:
        """The fingerprint of manifest and sources."""
        digest = hashlib.sha256()
        for name, text in [(MANIFEST_NAME, self.manifest), *sorted(self.files.items())]:
            digest.update(f"{name}\0{len(text)}\0{text}".encode())
        return digest.hexdigest()


class Workload:
    """A checked workload.

    Raises InputError naming the file and the key when the manifest is not valid.
    """

    def __init__(self, source: WorkloadSource) -> None:
        self.source = source
        where = source.origin
        self.sha256 = source.sha256
        try:
            _check_length(source)
            self.manifest = convert(_tables(source.manifest, where), Manifest, where)
            _check(self.manifest, source)
        except InputError as error:
            what = brief(error.what.removeprefix(f"{where}: "))
            remedy = brief(error.remedy)
            raise InputError(f"{where}: {what}", remedy=remedy, detail=error.detail) from None

    @property
    def name(self) -> str:
        """The name it is run by."""
        return self.manifest.name

    @property
    def is_own_model(self) -> bool:
        """Whether it is a user's own file with a model."""
        return any(is_own(variant.model) for variant in self.manifest.variants.values())

    def variant(self, name: str) -> VariantSpec:
        """Return a variant; InputError when there is none of that name."""
        try:
            return self.manifest.variants[name]
        except KeyError:
            raise InputError(
                f"workload '{self.name}' has no variant '{name}'",
                remedy=suggestion(name, self.manifest.variants),
            ) from None

    def work_of(self, variant: str) -> WorkSpec:
        """Return the useful work of a variant: its own, or the workload's."""
        return self.variant(variant).work or self.manifest.work

    def reference_of(self, variant: str) -> ReferenceSpec:
        """Return what is right for a variant: its own reference, or the workload's.

        Nobody says it for a variant that is the reference itself.
        """
        found = self.variant(variant).reference or self.manifest.reference
        return ReferenceSpec(unchecked=True) if found.variant == variant else found

    def precisions_of(self, variant: str) -> list[str]:
        """Return the precisions a variant is written for."""
        return _precisions(self.manifest, self.variant(variant))

    def tolerance_of(self, variant: str, precision: str) -> float:
        """Return how far a variant's result may lie from float64: its own, or the workload's."""
        usual = self.manifest.precisions[precision].tolerance
        return self.variant(variant).tolerances.get(precision, usual)


def _tables(text: str, where: str) -> dict[str, Any]:
    """Read TOML; InputError for what is none, or would take more than it can be worth."""
    has_long_line = any(line.count(".") >= MOST_PARTS for line in text.split("\n"))
    long = _LONG_KEY.search(text) if has_long_line else None  # which takes long
    if long is not None:  # a table for each part, and a note on each way there: gigabytes
        line = text.count("\n", 0, long.start()) + 1
        raise InputError(
            f"{where}: a key has more than {MOST_PARTS} parts (at line {line})",
            remedy="a manifest's keys have six at most",
        )
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: not valid TOML: {error}") from None
    except RecursionError:
        raise InputError(
            f"{where}: not valid TOML: lists or tables are nested too deeply",
            remedy="remove a level",
        ) from None
    except ValueError:  # Python reads numbers of 4,300 digits at most
        raise InputError(
            f"{where}: a number has thousands of digits", remedy="use at most 64 bits"
        ) from None


def _precisions(manifest: Manifest, variant: VariantSpec) -> list[str]:
    limited = variant.precisions or list(manifest.precisions)
    known = _known_precisions(variant)
    return [p for p in manifest.precisions if p in limited and p in known]


def _known_precisions(variant: VariantSpec) -> tuple[str, ...]:
    """Return what a variant may be run in by its kind: models have most, library calls least."""
    if variant.model is not None:
        return tuple(PRECISIONS)
    if variant.library is None or variant.library in BFLOAT_CALLS:
        return KERNEL_PRECISIONS
    return tuple(name for name in KERNEL_PRECISIONS if name != "bf16")


def _check_length(source: WorkloadSource) -> None:
    """Check that all of it fits into a message to an engine."""
    texts = (source.manifest, *source.files.values())
    if sum(len(text.encode()) for text in texts) > MAX_SOURCES_B:
        raise InputError(
            f"its sources are larger than {MAX_SOURCES_B >> 20} MiB together",
            remedy="keep only what the kernels need",
        )


def _check(manifest: Manifest, source: WorkloadSource) -> None:
    """Check what types cannot say: names that must exist, formulas that must be readable."""
    for key, names in (("name", [manifest.name]), ("variants", list(manifest.variants))):
        for name in names:
            if not _SIMPLE_NAME.fullmatch(name):
                raise InputError(
                    f"'{key}' holds '{name[:60]}'",
                    remedy="use letters, digits, '_' and '-' only, up to 100",
                )
    if not manifest.sizes:
        raise InputError("'sizes' is empty", remedy="declare at least one size symbol")
    if not manifest.variants:
        raise InputError("'variants' is empty", remedy="declare at least one variant")
    for symbol, size in manifest.sizes.items():
        if not 1 <= size.min <= size.default <= size.max:
            raise InputError(f"'sizes.{symbol}' needs 1 <= min <= default <= max")
    for name, precision in manifest.precisions.items():
        _known("precisions", name, PRECISIONS)
        if not 0 < precision.tolerance < 1:
            raise InputError(f"'precisions.{name}.tolerance' must lie between 0 and 1")
    if not manifest.precisions:
        raise InputError("'precisions' is empty", remedy=f"offer some of {', '.join(PRECISIONS)}")
    if manifest.default_variant is not None:
        _known("default_variant", manifest.default_variant, manifest.variants)
    base = frozenset(manifest.sizes) | {"itemsize", "accum_itemsize"}
    _check_symbols(manifest)
    for name, array in manifest.arrays.items():
        if not array.shape:
            raise InputError(f"'arrays.{name}.shape' is empty", remedy="use [1] for one element")
        if len(array.shape) > MOST_AXES:
            raise InputError(
                f"'arrays.{name}.shape' has {len(array.shape)} axes",
                remedy=f"use {MOST_AXES} at most",
            )
        for formula in array.shape:
            _formula(f"arrays.{name}.shape", formula, base)
        _check_fill(f"arrays.{name}", array, base)
    for name, scalar in manifest.scalars.items():
        _formula(f"scalars.{name}.value", scalar.value, base)
    for constraint in manifest.constraints:
        _formula("constraints", constraint.rule, base)
    _check_work(manifest.work, "work", base)
    _check_reference(manifest, manifest.reference, "reference", source.files)
    known = _Names.of(manifest, base)
    for name, variant in manifest.variants.items():
        key = f"variants.{name}"
        _check_variant(manifest, source, key, variant, known)
        if variant.after is not None:
            _check_after(manifest, name, variant.after)
        if variant.work is not None:
            _check_work(variant.work, f"{key}.work", base)
        if variant.reference is not None:
            _check_reference(manifest, variant.reference, f"{key}.reference", source.files)


def _check_after(manifest: Manifest, name: str, after: str) -> None:
    """Check that a step of the ladder leads up from a kernel that stands before it."""
    variants = manifest.variants
    order = list(variants)
    kernels = [one for one in order[: order.index(name)] if variants[one].call is None]
    if variants[name].call is not None or after not in kernels:
        raise InputError(
            f"'variants.{name}.after' names '{after}', which is no kernel that stands before it",
            remedy=suggestion(after, kernels),
        )


class _Names(msgspec.Struct, frozen=True):
    """What a variant's formulas and arguments may name; put together once for all variants."""

    arguments: Mapping[str, object]
    base: frozenset[str]
    block: frozenset[str]
    """Those of ``base``, and the block's sides."""
    grid: frozenset[str]
    """Those of ``block``, and the grid's sides."""

    @classmethod
    def of(cls, manifest: Manifest, base: frozenset[str]) -> Self:
        """Return what the manifest declares."""
        arguments = {**manifest.arrays, **manifest.scalars, **manifest.sizes}
        block = base | BLOCK_NAMES
        return cls(arguments, base, block, block | GRID_NAMES)

    def with_tunables(self, variant: VariantSpec) -> Self:
        """Return the names of one variant."""
        own = frozenset(variant.tunables)
        return replace(self, block=self.block | own, grid=self.grid | own) if own else self


def _check_symbols(manifest: Manifest) -> None:
    """Sizes, arrays and scalars share one name space with the names that formulas offer."""
    taken = {"itemsize", "accum_itemsize"} | BLOCK_NAMES | GRID_NAMES
    for key in ("sizes", "arrays", "scalars"):
        for name in getattr(manifest, key):
            if not name.isidentifier() or name in taken:
                raise InputError(
                    f"'{key}.{name}' is not a free name", remedy="choose another identifier"
                )
            taken.add(name)


def _check_fill(key: str, array: ArraySpec, base: frozenset[str]) -> None:
    _formula(f"{key}.scale", array.scale, base)
    if array.values is not None:
        _formula(f"{key}.values", array.values, base, arrays=True)
        if array.role not in ("in", "inout") or (array.scale, array.below) != (1, None):
            raise InputError(
                f"'{key}.values' says what an input holds, without 'scale' and 'below'",
                remedy="say role = 'in' or 'inout' and leave those out, or leave 'values' out",
            )
    if array.below is not None:
        _formula(f"{key}.below", array.below, base)
        if array.type not in WHOLE or array.fill != "integers":
            raise InputError(
                f"'{key}.below' is for whole numbers",
                remedy="say type = 'int' or the like and fill = 'integers', or leave 'below' out",
            )


def _check_work(work: WorkSpec, key: str, base: frozenset[str]) -> None:
    for part in ("flops", "read_bytes", "write_bytes"):
        _formula(f"{key}.{part}", getattr(work, part), base)


def _check_reference(
    manifest: Manifest, reference: ReferenceSpec, key: str, files: dict[str, str]
) -> None:
    inputs = [name for name, array in manifest.arrays.items() if array.role in ("in", "inout")]
    if reference.model is not None:
        if reference.model not in OWN_FAMILIES:  # which is compared with itself in float64
            _known(f"{key}.model", reference.model, MODELS)
            _check_arrays(manifest, reference.model, f"{key}.model")
            _check_axes(manifest, reference.model, f"{key}.model")
        if reference != ReferenceSpec(model=reference.model):
            raise InputError(
                f"'{key}' has a model and more", remedy="leave everything but 'model' out"
            )
        return
    seen = frozenset(inputs) | frozenset(manifest.sizes) | frozenset(manifest.scalars)
    for name, expression in reference.outputs.items():
        _known(f"{key}.outputs", name, manifest.arrays)
        if manifest.arrays[name].role not in ("out", "inout"):
            raise InputError(f"'{key}.outputs.{name}' checks an array that is not an output")
        _formula(f"{key}.outputs.{name}", expression, seen, arrays=True)
        if reference.check == "freivalds" and formulas.product_factors(expression) is None:
            raise InputError(
                f"'{key}.outputs.{name}' is checked by freivalds and is not a product 'P @ Q'",
                remedy="use check = 'rows' or 'full'",
            )
        if reference.check == "freivalds" and len(manifest.arrays[name].shape) != 2:
            raise InputError(
                f"'{key}.outputs.{name}' is checked by freivalds and is not a matrix",
                remedy="use check = 'rows' or 'full'",
            )
    if reference.unchecked:
        if reference != ReferenceSpec(unchecked=True):
            raise InputError(
                f"'{key}' is unchecked and more", remedy="leave everything but 'unchecked' out"
            )
        return
    if reference.variant is not None:
        _known(f"{key}.variant", reference.variant, manifest.variants)
        if reference != ReferenceSpec(variant=reference.variant):
            raise InputError(
                f"'{key}' has a variant and more", remedy="leave everything but 'variant' out"
            )
        return
    if reference.python is not None:
        function = reference.python
        if reference != ReferenceSpec(python=function):
            raise InputError(
                f"'{key}' has a Python function and more",
                remedy="leave everything but 'python' out",
            )
        _within(f"{key}.python", lambda: check_function(function, files, seen))
        return
    if not reference.outputs:
        raise InputError(
            f"'{key}.outputs' is empty",
            remedy="say what a right result is, or unchecked = true where nobody can",
        )
    for part in ("row_arrays", "column_arrays"):
        for name in getattr(reference, part):
            _known(f"{key}.{part}", name, inputs)
    if reference.check == "rows" and not reference.row_arrays and not reference.column_arrays:
        raise InputError(
            f"'{key}' is checked by rows and says no 'row_arrays'",
            remedy="name the arrays cut to rows, or in 'column_arrays' those cut to columns",
        )
    if reference.scale is not None:
        _formula(f"{key}.scale", reference.scale, seen, arrays=True)


def _check_variant(
    manifest: Manifest,
    source: WorkloadSource,
    key: str,
    variant: VariantSpec,
    known: _Names,
) -> None:
    if sum((bool(variant.library), bool(variant.launch), bool(variant.model))) != 1:
        raise InputError(f"'{key}' needs either 'library', 'model' or 'launch' steps")
    for precision in variant.precisions:
        _known(f"{key}.precisions", precision, manifest.precisions)
        offered = _known_precisions(variant)
        if precision not in offered:
            raise InputError(
                f"'{key}.precisions' names '{precision}', which only models have"
                if precision not in KERNEL_PRECISIONS
                else f"'{key}.precisions' names '{precision}', which its library call lacks",
                remedy=f"use some of {', '.join(offered)}",
            )
    if not _precisions(manifest, variant):
        raise InputError(
            f"'{key}' has no precision", remedy="let the workload offer one that it can run in"
        )
    for precision, tolerance in variant.tolerances.items():
        _known(f"{key}.tolerances", precision, _precisions(manifest, variant))
        if not 0 < tolerance < 1:
            raise InputError(f"'{key}.tolerances.{precision}' must lie between 0 and 1")
    if variant.model is not None:
        _check_model_variant(manifest, key, variant)
    if is_own(variant.model) and MODEL_FILE not in source.files:
        raise InputError(
            f"'{key}.model' is a file of your own, and there is none",
            remedy="run the file itself: gpuexplorer run model.py",
        )
    for name in variant.reset:
        _known(f"{key}.reset", name, manifest.arrays)
    for name in variant.args:
        _known(f"{key}.args", name, known.arguments)
    if variant.library is not None:
        kinds: list[Kind] = ["array" if n in manifest.arrays else "scalar" for n in variant.args]
        _within(f"{key}.library", lambda: check_call(variant.library or "", kinds))
    names = known.with_tunables(variant)
    for name, tunable in variant.tunables.items():
        if not name.isidentifier() or name in known.grid:
            raise InputError(f"'{key}.tunables.{name}' is not a free name")
        if tunable.formula is not None:
            _formula(f"{key}.tunables.{name}.formula", tunable.formula, known.block)
        elif not tunable.values:
            raise InputError(f"'{key}.tunables.{name}' needs 'values' or a 'formula'")
        elif tunable.default is not None and tunable.default not in tunable.values:
            raise InputError(f"'{key}.tunables.{name}.default' is not one of its values")
    for index, tuned in enumerate(variant.tuned):
        _check_tuned(manifest, f"{key}.tuned[{index}]", variant, tuned, names.base)
    for constraint in variant.constraints:
        _formula(f"{key}.constraints", constraint.rule, names.block)
    for formula in (variant.requested_read_bytes, variant.requested_write_bytes):
        if formula is not None:
            _formula(f"{key}.requested bytes", formula, names.grid)
    for index, step in enumerate(variant.launch):
        at = f"{key}.launch[{index}]"
        if step.source not in source.files:
            raise InputError(
                f"'{at}.source' names '{step.source}', which is not in the folder",
                remedy=suggestion(step.source, source.files),
            )
        for part, values in (("block", step.block), ("grid", step.grid)):
            if not 1 <= len(values) <= 3:
                raise InputError(f"'{at}.{part}' needs one to three dimensions")
            for formula in values:
                _formula(f"{at}.{part}", formula, names.block)
                if isinstance(formula, int) and formula < 1:
                    raise InputError(f"'{at}.{part}' holds {formula}", remedy="use 1 or more")
        _formula(f"{at}.shared_bytes", step.shared_bytes, names.block)
        for name in step.symbols:
            _known(f"{at}.symbols", name, known.arguments)
            scratch = name in manifest.arrays and manifest.arrays[name].role == "scratch"
            if scratch and name not in variant.reset:
                raise InputError(
                    f"'{at}.symbols' names '{name}', which nobody reads or fills",
                    remedy="leave it out: the variable keeps what a launch leaves",
                )
        for argument in step.args:
            if isinstance(argument, str):
                _known(f"{at}.args", argument, known.arguments)
            else:
                _formula(f"{at}.args", argument.value, names.grid)


def _check_tuned(
    manifest: Manifest, key: str, variant: VariantSpec, tuned: TunedSpec, base: frozenset[str]
) -> None:
    if not tuned.on:
        raise InputError(f"'{key}.on' is empty", remedy="say which devices it holds for")
    if tuned.where is not None:
        _formula(f"{key}.where", tuned.where, base)
    for precision in tuned.precisions:
        _known(f"{key}.precisions", precision, _precisions(manifest, variant))
    if tuned.block and (len(tuned.block) != variant.dimensions or min(tuned.block) < 1):
        raise InputError(
            f"'{key}.block' needs as many numbers as the variant's block has, each 1 or more"
        )
    for name, value in tuned.tunables.items():
        _known(f"{key}.tunables", name, variant.tunables)
        if value not in variant.tunables[name].values:
            raise InputError(f"'{key}.tunables.{name}' is not one of its values")


def _check_model_variant(manifest: Manifest, key: str, variant: VariantSpec) -> None:
    model = variant.model or ""
    _within(f"{key}.model", lambda: check_model(model))
    family, expected = family_of(model), (variant.reference or manifest.reference).model
    if family in MODELS:
        _check_arrays(manifest, family, f"{key}.model")
        if expected not in (None, family):
            raise InputError(
                f"'{key}.model' is '{model}', and the reference is that of '{expected}'",
                remedy=f"name a model '{expected}', or give the variant a reference of its own",
            )
        _check_axes(manifest, family, f"{key}.model")
    for part in ("args", "reset", "requires", "tunables", "tuned", "constraints"):
        if getattr(variant, part):
            raise InputError(
                f"'{key}.{part}' is for kernels and library calls", remedy="leave it out"
            )


def _check_arrays(manifest: Manifest, model: str, key: str) -> None:
    """Check that the manifest declares a model's sizes, and its arrays in their roles."""
    spec = MODELS[model]
    for symbol in spec.sizes:
        if symbol not in manifest.sizes:
            raise InputError(
                f"'{key}' names '{model}', which needs a size '{symbol}'",
                remedy=f"declare it in 'sizes.{symbol}'",
            )
    for name in dict.fromkeys((*spec.inputs, *spec.outputs)):
        read, written = name in spec.inputs, name in spec.outputs
        role = "inout" if read and written else "in" if read else "out"
        array = manifest.arrays.get(name)
        if array is None or array.role != role:
            raise InputError(
                f"'{key}' names '{model}', which needs an array '{name}' with role = '{role}'",
                remedy=f"declare it in 'arrays.{name}'",
            )


def _check_axes(manifest: Manifest, model: str, key: str) -> None:
    """Check that a model's arrays have as many axes as it takes of each."""
    for name, axes in MODELS[model].axes.items():
        if len(manifest.arrays[name].shape) != axes:
            raise InputError(
                f"'{key}' names '{model}', which needs a {axes}-dimensional array '{name}'",
                remedy=f"correct 'arrays.{name}.shape'",
            )


def _known(key: str, name: str, known: object) -> None:
    if name not in known:  # type: ignore[operator]
        raise InputError(
            f"'{key}' names '{name}'",
            remedy=suggestion(name, known),  # type: ignore[arg-type]
        )


def _formula(
    key: str, formula: str | int | float, names: frozenset[str], *, arrays: bool = False
) -> None:
    if isinstance(formula, str):
        _within(key, lambda: formulas.check_names(formula, names, arrays=arrays))


def _within(key: str, check: Callable[[], None]) -> None:
    """Run a check and name the key in what it refuses."""
    try:
        check()
    except InputError as error:
        raise InputError(f"'{key}': {error.what}", remedy=error.remedy) from None
