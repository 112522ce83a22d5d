"""Is what a runner computes right? Checked before anything is timed, and again afterwards."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from gpuexplorer.backends.base import Batch, HostArray, Runner
from gpuexplorer.core.errors import WrongResult
from gpuexplorer.core.result import Verification
from gpuexplorer.core.units import listed, plural
from gpuexplorer.measure.job import (
    COPY_DEADLINE_S,
    FIRST_BATCH_S,
    LARGE_INPUTS_B,
    Job,
    Sink,
    batch_size,
    launch,
    launch_deadline_s,
)
from gpuexplorer.workloads.fills import make_inputs

SHORT_S = 0.1
"""A launch below this can be followed access by access, one block of it, in seconds."""


def verify(
    job: Job, sink: Sink, predicted_s: float | None
) -> tuple[Verification | None, Batch, float | None]:
    """Run once on poisoned outputs and compare with float64.

    Returns the verification (None where it cannot be checked), the launch, and the seconds to copy
    the outputs back. Where the result was verified before, the launch only warms up, and nothing
    is copied back.
    """
    runner = job.runner
    allowed_s = launch_deadline_s(predicted_s, job.least_deadline_s)
    sink.stage("verify", allowed_s)
    refill = {a.name: job.problem.inputs[a.name] for a in runner.plan.arrays if a.role == "inout"}
    if refill:
        runner.upload(refill)
    if job.known_verification is not None:
        job.verification, job.intact = job.known_verification, True
        return job.verification, launch(job, 1), None
    runner.poison()
    first = launch(job, 1)
    runner.check_guards()
    _check_inputs(job)
    started = time.perf_counter()
    outputs = _outputs(runner)
    download_s = time.perf_counter() - started
    sink.stage("compare", COPY_DEADLINE_S * 5 + allowed_s)  # a model checks itself by a step
    if not (job.in_search or runner.plan.config.even_if_wrong) and first.seconds[0] < SHORT_S:
        runner.check_alignment()
    own = runner.check_itself()
    if own is None:
        own = job.problem.reference.unchecked
    if isinstance(own, str):
        job.not_verified = own
        return None, first, download_s
    verification = own or _compare(job, outputs, float(first.seconds[0]))
    # Where it holds no number any more, there is no error to speak of.
    if not verification.ok and not (
        runner.plan.config.even_if_wrong and math.isfinite(verification.max_rel_error)
    ):
        if own is None and runner.plan.steps:
            if _differ(outputs, _launched_anew(job), verification.tolerance):
                raise _changing(job, outputs)
        which = [job.problem.reference.explain(outputs)] if own is None else []
        words = "; ".join([_wrong_words(job, verification), *which])
        raise WrongResult(words, remedy=runner.wrong_remedy)
    job.verification = verification
    return verification, first, download_s


def _compare(job: Job, outputs: Mapping[str, HostArray], first_s: float) -> Verification:
    """Compare outputs with float64.

    In a search on a GPU short launches go on meanwhile, which keep it warm: nothing is sampled
    before the result is known to be right. On a CPU they would take the cores.
    """
    reference = job.problem.reference
    if not job.in_search or job.runner.device.kind != "gpu" or first_s > FIRST_BATCH_S:
        return reference.verify(outputs)
    with ThreadPoolExecutor(1, thread_name_prefix="compare") as beside:
        found = beside.submit(reference.verify, outputs)
        began = time.perf_counter()
        while not found.done():
            launch(job, batch_size(max(first_s, job.whole_s), FIRST_BATCH_S))
            job.warmed_up_s = time.perf_counter() - began
        return found.result()


def _wrong_words(job: Job, verification: Verification) -> str:
    config = job.runner.plan.config
    return (
        f"the result of {config.workload}/{config.variant} in {config.precision} is wrong: "
        f"relative error {verification.max_rel_error:.2g}, allowed {verification.tolerance:.2g}"
        f" ({verification.method})"
    )


def verify_again(job: Job, sink: Sink) -> None:
    """See that a kernel's result is right again, after launches of other data and of the timing.

    A kernel that reads what another thread is still to write may find the right value there,
    because the launch before left it. So the inputs are other ones for a launch in between.
    Raises WrongResult for a result that changes.
    """
    runner, first = job.runner, job.verification
    if not job.verification_waits or first is None or not first.ok:
        return
    job.verified_again = True
    sink.stage("verify", COPY_DEADLINE_S + launch_deadline_s(job.predicted_s, job.least_deadline_s))
    _check_inputs(job)
    if sum(a.nbytes for a in runner.plan.inputs) <= LARGE_INPUTS_B:
        runner.upload(make_inputs(runner.plan, seed=runner.plan.config.seed + 1))
        runner.launch_plain()
    outputs = _launched_anew(job)
    if not job.problem.reference.verify(outputs).ok:
        raise _changing(job, outputs)


def _check_inputs(job: Job) -> None:
    """Raise WrongResult where launches changed an array that they should only read.

    Whatever runs next on the same arrays would be wrong, and not what changed them.
    """
    plan = job.runner.plan
    for array in plan.arrays if plan.steps else ():
        if array.role != "in":
            continue
        found = job.runner.download((array.name,))[array.name]
        if not np.array_equal(_bits(found), _bits(job.problem.inputs[array.name])):
            raise WrongResult(
                f"{plan.config.workload}/{plan.config.variant} overwrites its input '{array.name}'",
                remedy="write to an output instead, or give the array the role inout in the "
                "manifest and name it under 'reset'; if no kernel is to write there, compare the "
                "indexes with the arrays' sizes",
            )
    job.intact = True


def _bits(values: HostArray) -> HostArray:
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


def _launched_anew(job: Job) -> dict[str, HostArray]:
    """Return the outputs of one more launch on the inputs and poisoned outputs."""
    runner = job.runner
    runner.upload(job.problem.inputs)
    runner.poison()
    runner.launch_plain()
    runner.check_guards()
    return _outputs(runner)


def _outputs(runner: Runner) -> dict[str, HostArray]:
    return runner.download(tuple(a.name for a in runner.plan.outputs))


def _differ(
    ones: Mapping[str, HostArray], others: Mapping[str, HostArray], tolerance: float
) -> bool:
    """Return whether two launches' outputs differ by more than rounding in another order."""
    for name, one in ones.items():
        first, second = one.astype(np.float64), others[name].astype(np.float64)
        limit = tolerance * max(np.abs(first).max(initial=0.0, where=np.isfinite(first)), 1e-300)
        if not np.allclose(first, second, rtol=tolerance, atol=limit, equal_nan=True):
            return True
    return False


def _changing(job: Job, outputs: Mapping[str, HostArray]) -> WrongResult:
    """Return what is said of a result that is not always the same; ``outputs`` are wrong ones."""
    from gpuexplorer.compile.bound_symbols import kept_variables

    config = job.runner.plan.config
    remedies = [
        "look for values that one thread writes and another reads without __syncthreads() or "
        "__syncwarp() between them, for shared memory that is read before it is written, and for "
        "two threads that write one element"
    ]
    if kept := kept_variables(job.runner.plan):
        said = plural(
            len(kept),
            "{names} keeps its value from the launch before: set it back at the end of the kernel, "
            "or name it under 'symbols' and 'reset' in the manifest",
            "{names} keep their values from the launch before: set them back at the end of the "
            "kernel, or name them under 'symbols' and 'reset' in the manifest",
            names=listed(f"'{name}'" for name in kept),
        )
        remedies.insert(0, said)
    return WrongResult(
        f"the result of {config.workload}/{config.variant} in {config.precision} changes from "
        f"launch to launch: in one of them {job.problem.reference.explain(outputs)}",
        remedy="; ".join(remedies),
    )
