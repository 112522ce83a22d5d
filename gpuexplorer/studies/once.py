"""A whole study in one call, as ``gpuexplorer.study`` has it: an engine, the measuring, its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Unpack

from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.knobs import DEFAULTS, ConditionArguments, RequestArguments, request_of
from gpuexplorer.core.studies import STUDY_GROUP, Study, document_and_runs
from gpuexplorer.engine.interleave import ROUNDS
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.history.keeping import Keeping
from gpuexplorer.search.arguments import arguments
from gpuexplorer.search.call import kept_in, not_kept, with_partial, workload_of
from gpuexplorer.search.engines import Several
from gpuexplorer.studies import KINDS
from gpuexplorer.studies.ladder import LadderStudy
from gpuexplorer.studies.running import SECONDS, How, StudyStep
from gpuexplorer.workloads.strict import suggestion

Kind = Literal["precision", "switches", "speedup", "scaling", "ladder"]

OWN: dict[str, dict[str, str]] = {
    "precision": {"precisions": "precisions"},
    "switches": {"look_at": "switches", "try_threads": "threads", "order": "order"},
    "speedup": {"devices": "names", "symbol": "symbol", "sizes": "sizes"},
    "scaling": {"variants": "variants", "symbol": "symbol", "sizes": "sizes"},
    "ladder": {"variants": "variants"},
}
"""The arguments that a kind of study has apart from a run's, and what its lab calls them."""
DECIDES: dict[str, dict[str, str]] = {
    "precision": {"precision": "precisions"},
    "speedup": {"device": "devices", "include_transfers": ""},
    "scaling": {"include_transfers": ""},
    "ladder": dict.fromkeys(("block", "tunables", "switches", "include_transfers"), ""),
}
"""A run's arguments that a kind of study decides by itself, and by which of its own, if by any."""


@arguments()
def study(
    kind: Kind,
    workload: str,
    *,
    precisions: Sequence[str] | None = None,
    look_at: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    try_threads: Sequence[int] = (),
    devices: Sequence[str] | None = None,
    variants: Sequence[str] | None = None,
    sizes: Sequence[int] | None = None,
    symbol: str | None = None,
    seconds: float = SECONDS,
    samples: int | None = None,
    rounds: int | None = None,
    history: bool | str | Path = False,
    kernels: str | Path | Sequence[str | Path] = (),
    python: str | None = None,
    trust: bool = False,
    allow_long: bool = False,
    on_step: Callable[[StudyStep], None] | None = None,
    **knobs: Unpack[RequestArguments],
) -> Study:
    """Measure a study in turns and return its document.

        lab = gpuexplorer.study("precision", "attention", variant="torch")
        bought = gpuexplorer.study("switches", "mlp_training", variant="torch")
        both = gpuexplorer.study("speedup", "matmul", sizes=[64, 256, 1024])
        grows = gpuexplorer.study("scaling", "matmul", variants=["naive", "tiled"])
        rungs = gpuexplorer.study("ladder", "matmul", size=1024)

    ``precision``: every precision that the workload and the device have, or those of
    ``precisions``, with its error against float64. ``switches``: every switch by itself, or those
    of ``look_at`` (``"compile"`` or ``"compile=default"``), and numbers of CPU threads
    (``try_threads``), beside a baseline that has the ``switches``; then all that pay together, or
    those of ``order``. ``speedup``: two ``devices`` (None: the CPU and the GPU) over ``sizes`` of
    ``symbol`` (None: of the first, doubling around its default), with and without transfers.
    ``scaling``: how the time of some ``variants`` grows over such ``sizes``. ``ladder``: the
    kernels of the workload, or some ``variants``, each with its own block or what was tuned for it,
    beside the one before and the fastest library.

    Each configuration is sampled for ``seconds`` over ``rounds`` turns (None: 12, or fewer where
    each takes long), and for ``samples`` launches at most. What fails or is not offered has its
    reason in the document. ``history`` keeps the runs: True in the user's own, or in the one named.
    The rest is as ``run`` has it. An argument that the kind of study has no use for is refused.

    Raises InputError for a request that cannot be, CannotRunHere when this machine lacks what it
    needs, WorkFailed when nothing could be measured. The error that ends a study has the document
    of what was measured by then as ``partial``, None for nothing.
    """
    chosen = workload_of(workload, kernels, trust=trust)
    if kind not in KINDS:
        raise InputError(f"no study '{kind}'", remedy=suggestion(kind, KINDS))
    request = request_of(chosen.name, **knobs)
    how = How(rounds or ROUNDS, seconds, samples, allow_long, exact=rounds is not None)
    given: dict[str, Any] = {
        "precisions": precisions, "look_at": look_at, "try_threads": try_threads, "order": order,
        "devices": devices, "variants": variants, "symbol": symbol, "sizes": sizes,
    }  # fmt: skip
    _check(kind, {**given, **knobs}, next(iter(chosen.manifest.sizes)))
    options = {theirs: given[ours] for ours, theirs in OWN[kind].items()}
    ceilings = CeilingStore().find

    def opened(number: int | None) -> EngineSession:
        return EngineSession(python=python, threads=number, ceilings=ceilings)

    with kept_in(history) as store, Several(opened, request.threads) as session:
        keeping = Keeping(STUDY_GROUP, store, not_kept)
        lab = KINDS[kind].lab(request, chosen, session.devices, how, **options)

        def step(at: StudyStep) -> None:
            keeping.offer(lambda: document_and_runs(lab.document()))
            if on_step is not None:
                on_step(at)

        try:
            with with_partial(lambda: done if (done := lab.document()).runs else None):
                found: Study = lab.run(session, step)
        finally:
            if lab.document().runs:
                keeping.end(*document_and_runs(lab.document()))
    return found


def _check(kind: str, given: Mapping[str, Any], first: str) -> None:
    """Raise InputError for an argument that a study would ignore; ``first`` is the first size."""
    others = {name for own in OWN.values() for name in own} - set(OWN[kind])
    decides = DECIDES.get(kind, {})
    for name, value in given.items():
        if name in others | set(decides) and value not in (None, (), {}, DEFAULTS.get(name)):
            instead = decides.get(name)
            raise InputError(
                f"{name} is not for the study '{kind}'",
                remedy=f"give {instead}" if instead else "leave it out",
            )
    size, varied = given.get("size") or {}, given["symbol"] or first
    held = {symbol or first for symbol in (size if isinstance(size, Mapping) else {first})}
    if KINDS[kind].over_sizes and varied in held:
        raise InputError(
            f"the study '{kind}' varies size {varied}", remedy="give its values as sizes"
        )
    variant, variants = given.get("variant"), given["variants"]
    if variant is not None and variants and variant not in variants:
        raise InputError(f"variant '{variant}' is none of variants", remedy="name it among them")


@arguments()
def ladder(
    workload: str,
    *,
    variants: Sequence[str] | None = None,
    seconds: float = SECONDS,
    samples: int | None = None,
    rounds: int | None = None,
    history: bool | str | Path = False,
    kernels: str | Path | Sequence[str | Path] = (),
    python: str | None = None,
    trust: bool = False,
    allow_long: bool = False,
    on_step: Callable[[StudyStep], None] | None = None,
    **knobs: Unpack[ConditionArguments],
) -> LadderStudy:
    """Measure the kernels of a workload in turns, as rungs up to the libraries; return the study.

        for rung in gpuexplorer.ladder("matmul", size=1024).rungs:
            print(rung.variant, rung.rate, rung.step, rung.beside)

    ``variants`` are the rungs and libraries (None: all that run on the device). Each has the block
    and tunables that ``tune`` found for it on this hardware, else the manifest's. The rest is as
    ``study`` has it, and so is what is raised.
    """
    found = study(
        "ladder", workload, variants=variants, seconds=seconds, samples=samples, rounds=rounds,
        history=history, kernels=kernels, python=python, trust=trust, allow_long=allow_long,
        on_step=on_step, **knobs,
    )  # fmt: skip
    assert isinstance(found, LadderStudy)
    return found
