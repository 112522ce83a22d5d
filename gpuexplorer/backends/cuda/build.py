"""From a step's source to a cubin for the device's exact architecture, or PTX for a newer one."""

from __future__ import annotations

from collections.abc import Callable

from gpuexplorer.backends.cuda import gate
from gpuexplorer.backends.cuda.kernels import Build, BuiltStep
from gpuexplorer.compile.arguments import bind_arguments, unknown_types
from gpuexplorer.compile.bound_symbols import bound_symbols, filled_B, with_room
from gpuexplorer.compile.groups import grid_barrier
from gpuexplorer.compile.nvrtc import compile_kernels, signatures, target_for
from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.workloads.cuda_source import CudaSource, Signature
from gpuexplorer.workloads.includes import inline_includes
from gpuexplorer.workloads.instances import split_entry
from gpuexplorer.workloads.plan import KernelLaunch, Plan


def builder(arch: str) -> Build:
    """Return what compiles one step for a GPU of ``arch``, such as ``sm_90a``."""

    def build(plan: Plan, step: KernelLaunch) -> BuiltStep:
        entries = sorted({s.entry for s in plan.steps if s.source == step.source})
        known = signatures(step.source, plan.files, entries)

        def signature(entry: str) -> Signature:
            name, _ = split_entry(entry)
            if name not in known:
                raise InputError(f"{step.source} has no kernel '{entry}'")
            return known[name]

        _refuse_grid_barrier(plan, step)
        symbols = bound_symbols(plan, step)
        compiled = compile_kernels(
            step.source,
            with_room(plan.files, step.source, filled_B(plan, step)),
            target_for(arch),
            precision=plan.config.precision,
            defines=plan.defines,
            entries=entries,
            variables=list(symbols),
            probed=[e for e in entries if unknown_types(signature(e), plan.config.precision)],
        )
        kernel = compiled.kernels[step.entry]
        return BuiltStep(
            code=compiled.code,
            target=compiled.target,
            symbol=kernel.symbol,
            arguments=bind_arguments(step, plan, signature(step.entry), kernel.parameters),
            variables={compiled.variables[name]: value for name, value in symbols.items()},
        )

    return build


def _refuse_grid_barrier(plan: Plan, step: KernelLaunch) -> None:
    """Refuse what would end the context: a barrier of the grid in a launch that is not cooperative.

    WorkFailed names file and line.
    """
    source = CudaSource(inline_includes(step.source, plan.files))
    entry, _ = split_entry(step.entry)
    at = grid_barrier(source, entry)
    if at is not None:
        raise WorkFailed(
            f"{source.where(at)}: '{entry}' waits for the whole grid, for which all of its blocks "
            "would have to run at once",
            remedy="end the kernel there, and launch another one for what follows",
        )


def gate_compiler(arch: str) -> Callable[[], bytes]:
    """Return what compiles the gate's kernels for a GPU of ``arch``."""

    def compile_gate() -> bytes:
        files = {gate.SOURCE_NAME: gate.SOURCE}
        return compile_kernels(gate.SOURCE_NAME, files, target_for(arch), entries=gate.ENTRIES).code

    return compile_gate
