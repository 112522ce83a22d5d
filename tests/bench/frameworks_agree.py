"""Every workload in every framework: errors against float64, times in turns, and one chart.

    python tests/bench/frameworks_agree.py [--python PYTHON] [--rounds N] [--plot FILE]

The engine runs in the environment that `make frameworks` builds, unless PYTHON says otherwise.
Prints one JSON document. The limit of each workload is its manifest's tolerance in that precision;
a run that exceeds it, or fails, ends this with 1. The chart has a comparison a workload, with
PyTorch as the reference.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from gpuexplorer.charts.comparison import comparison_chart
from gpuexplorer.charts.render import render
from gpuexplorer.charts.spec import ChartSpec, Panel
from gpuexplorer.core.compared import ComparisonResult
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.search.compare import Comparing
from gpuexplorer.search.contestants import contestants_of, read_words
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.frameworks import FRAMEWORKS
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.models import MODELS

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-frameworks" / "bin" / "python"
COMPILED = {"jax": {"jit": True}, "tensorflow": {"xla": True}, "keras": {"xla": True}}
PANELS_A_ROW = 3


def main() -> int:
    """Run everything; return 0 when all of it agrees with float64."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--python", default=str(PYTHON) if PYTHON.exists() else None)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=10, help="turns of each framework")
    parser.add_argument("--seconds", type=float, default=60.0, help="each comparison at most")
    parser.add_argument("--precisions", default="fp64,fp32,bf16,fp16")
    parser.add_argument("--workloads", default=",".join(MODELS))
    parser.add_argument("--threads", type=int)
    parser.add_argument("--plot", type=Path, default=Path("out/frameworks.png"))
    options = parser.parse_args()
    if options.python is None:
        print(json.dumps({"bench": "frameworks_agree", "skipped": "make frameworks first"}))
        return 0
    names = options.workloads.split(",")
    with EngineSession(python=options.python, threads=options.threads) as session:
        runs = [row for name in names for row in agreement(session, name, options)]
        compared = [in_turns(session, name, options) for name in names]
    options.plot.parent.mkdir(parents=True, exist_ok=True)
    render(one_chart(names, compared), options.plot)
    failed = [row for row in runs if not row["ok"]]
    document = {
        "bench": "frameworks_agree",
        "limit": "the manifest's tolerance of each precision",
        "failed": len(failed),
        "runs": runs,
        "times": [times(name, result) for name, result in zip(names, compared, strict=True)],
        "chart": str(options.plot),
    }
    print(json.dumps(document, indent=1))
    return 1 if failed else 0


def agreement(
    session: EngineSession, name: str, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Run a workload in each framework, precision and mode, and return the errors."""
    workload = load()[name]
    rows = []
    for framework in FRAMEWORKS:
        for precision in options.precisions.split(","):
            if precision not in workload.precisions_of(framework):
                continue
            compiled = COMPILED.get(framework, {})
            modes = [compiled] if framework == "jax" else [{}]
            if precision == "fp32" and compiled:
                modes = [{}, compiled]
            for switches in modes:
                wanted = RunRequest(
                    workload=name, variant=framework, precision=precision, device=options.device,
                    switches=dict(switches),
                )  # fmt: skip
                rows.append(row_of(session, wanted))
    return rows


def row_of(session: EngineSession, wanted: RunRequest) -> dict[str, Any]:
    """Run one configuration briefly and return how far it is from float64."""
    workload = load()[wanted.workload]
    row: dict[str, Any] = {
        "workload": wanted.workload, "framework": wanted.variant, "precision": wanted.precision,
        "switches": wanted.switches, "ok": False,
    }  # fmt: skip
    try:
        config = complete(wanted, workload, session.devices())
        record = session.measure(config, workload, RunOptions(seconds=1.0, samples=20))
    except ExplorerError as error:
        return {**row, "error": str(error)}
    result = record.result()
    print(f"{row['workload']} {row['framework']} {row['precision']}", file=sys.stderr)
    check = result.verification
    assert check is not None  # as every run of ours has one
    return {
        **row,
        "ok": check.ok,
        "device": result.config.device,
        "max_rel_error": check.max_rel_error,
        "rms_rel_error": check.rms_rel_error,
        "tolerance": check.tolerance,
        "median_s": result.timing.median_s,
    }


def in_turns(session: EngineSession, name: str, options: argparse.Namespace) -> ComparisonResult:
    """Measure the frameworks on one workload in turns."""
    shared = RunRequest(workload=name, device=options.device)
    contestants = contestants_of(read_words(tuple(FRAMEWORKS), shared, []), session.devices())
    comparing = Comparing(contestants, rounds=options.rounds)
    comparing.measure(session, seconds=options.seconds)
    return comparing.result()


def times(name: str, result: ComparisonResult) -> dict[str, Any]:
    """Return the medians and ratios of a comparison."""
    return {
        "workload": name,
        "rounds": result.rounds,
        "frameworks": {
            one.run.config.variant: {
                "median_s": one.run.timing.median_s,
                "ratio": one.ratio,
                "ci95": [one.ci95_low, one.ci95_high],
                "method": one.run.timing.method,
            }
            for one in result.contestants
        },
    }


def one_chart(names: list[str], compared: list[ComparisonResult]) -> ChartSpec:
    """Return the comparisons of all workloads as the panels of one chart."""
    charts = [comparison_chart(result) for result in compared]
    panels: list[Panel] = []
    for name, result, chart in zip(names, compared, charts, strict=True):
        panel = chart.rows[0][0]
        frameworks = tuple(one.run.config.variant for one in result.contestants)
        panels.append(
            msgspec.structs.replace(
                panel,
                title=name,
                x=msgspec.structs.replace(panel.x, label="time over PyTorch's"),
                y=msgspec.structs.replace(panel.y, categories=frameworks),
                series=tuple(msgspec.structs.replace(s, name="") for s in panel.series),
                share_y=bool(len(panels) % PANELS_A_ROW),
                height=0.8,
            )
        )
    rows = [tuple(panels[i : i + PANELS_A_ROW]) for i in range(0, len(panels), PANELS_A_ROW)]
    device = compared[0].contestants[0].run.device
    return ChartSpec(
        title="The same models in four frameworks",
        subtitle=f"fp32 · {device.name} · each workload at its default size",
        rows=tuple(rows),
        notes=("Measured in turns, in an order that chance decided, with 95 % intervals. Every "
               "result agrees with float64 within its tolerance.",),
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
