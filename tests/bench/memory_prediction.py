"""Predicted against counted memory: the MLP's training step in PyTorch at three sizes, and more.

    python tests/bench/memory_prediction.py [--device D] [--threads T] [--quick]

Each run goes the way of any run: through an engine, timed for a moment, its memory counted at the
end by PyTorch's own word. Prints one JSON document with a row each, and exits with 1 when the
prediction of any of them lies more than 10 % from what was counted.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import CannotRunHere, ExplorerError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load

LIMIT = 0.10
"""How far a prediction may lie from what was counted, as a share of it."""
SECONDS = 0.05
SIZES = (
    {"B": 512, "D": 512, "H": 1024, "C": 10},
    {"B": 4096, "D": 784, "H": 1024, "C": 10},
    {"B": 256, "D": 1024, "H": 4096, "C": 1000},
)
"""Of the training step: balanced, mostly activations, mostly weights."""
PRECISIONS = ("fp64", "bf16", "fp16", "autocast_bf16")
Switches = dict[str, bool | int | float | str]
SWITCHES: tuple[Switches, ...] = (
    {"checkpointing": True},
    {"fused_optimizer": True},
)
FORWARD: tuple[tuple[str, dict[str, int]], ...] = (
    ("matmul", {"N": 1024}),
    ("mlp", {"B": 4096, "D": 784, "H": 1024, "C": 10}),
    ("softmax", {"B": 4096, "D": 1024}),
    ("layer_norm", {"B": 16, "S": 256, "D": 512}),
    ("attention", {"B": 4, "H": 8, "S": 512, "D": 64}),
    ("transformer_block", {"B": 4, "S": 256, "D": 512, "H": 8}),
    ("conv2d", {"B": 8, "C": 32, "H": 64, "K": 64, "R": 3}),
    ("cnn", {"B": 32, "C": 3, "H": 64, "K": 32, "N": 10}),
)


def cases(quick: bool) -> list[RunRequest]:
    """Return what is run: first what has to hold, then the rest."""
    wanted: list[tuple[str, dict[str, int], str, Switches]] = [
        ("mlp_training", size, "fp32", {}) for size in SIZES
    ]
    if not quick:
        wanted += [("mlp_training", SIZES[1], precision, {}) for precision in PRECISIONS]
        wanted += [("mlp_training", SIZES[1], "fp32", switches) for switches in SWITCHES]
        wanted += [(name, size, "fp32", {}) for name, size in FORWARD]
    return [
        RunRequest(
            workload=name, variant="torch", size=size, precision=precision, switches=switches
        )
        for name, size, precision, switches in wanted
    ]  # fmt: skip


def row(result: RunResult) -> dict[str, Any]:
    """Return one line of the table."""
    config, use = result.config, result.memory
    found: dict[str, Any] = {
        "workload": config.workload,
        "size": config.size,
        "precision": config.precision,
        "switches": config.switches,
    }
    if use is None or use.predicted is None:
        return {**found, "reason": "nothing is known of its memory"}
    return {
        **found,
        "predicted_B": use.predicted.total_B,
        "parts_B": dict(use.predicted.named()),
        "counted_B": use.peak_B,
        "counter": use.counter,
        "reason": use.reason,
        "error": use.relative_error,
    }


def main() -> int:
    """Run everything and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="torch:cpu")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--quick", action="store_true", help="the three sizes alone")
    options = parser.parse_args()
    workloads = load()
    rows: list[dict[str, Any]] = []
    with EngineSession(threads=options.threads) as session:
        devices = session.devices()
        for request in cases(options.quick):
            request.device = options.device
            workload = workloads[request.workload]
            try:
                config = complete(request, workload, devices)
                result = session.measure(
                    config, workload, RunOptions(seconds=SECONDS, allow_long=True)
                ).result()
            except CannotRunHere as error:
                rows.append({"workload": request.workload, "precision": request.precision,
                             "not_run": str(error)})  # fmt: skip
                continue
            except ExplorerError as error:
                rows.append({"workload": request.workload, "precision": request.precision,
                             "failed": str(error)})  # fmt: skip
                continue
            rows.append(row(result))
    judged = [r for r in rows if "not_run" not in r]
    bad = [r for r in judged if r.get("error") is None or abs(r["error"]) > LIMIT]
    worst = max((abs(r["error"]) for r in judged if r.get("error") is not None), default=None)
    document = {"limit": LIMIT, "worst_error": worst, "outside": len(bad), "rows": rows}
    print(json.dumps(document, indent=1))
    return 1 if bad or not judged else 0


if __name__ == "__main__":
    sys.exit(main())
