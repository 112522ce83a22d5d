"""From a saved edit of a kernel to its verified time, and to a compiler's message.

Prints JSON: seconds over 50 edits of the textbook's product, each verified and measured in turns
with the version before, and over 20 edits that do not compile. Text is read from the file, as a
watched file is; what an editor waits after the last key is not counted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from gpuexplorer.core.config import RunRequest
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.search.versions import Version, Versions
from gpuexplorer.workloads.kernel_answers import Answers
from gpuexplorer.workloads.loader import keep_manifest, kernel_workload
from tests.support.own_kernels import TEXTBOOK

SUM = "sum += A[row * N + k] * B[k * N + col];"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=50)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    versions, request = Versions(), RunRequest(workload="mine", device=arguments.device)
    with tempfile.TemporaryDirectory() as folder, EngineSession() as session:
        path = Path(folder) / "mine.cu"
        path.write_text(TEXTBOOK, encoding="utf-8")
        keep_manifest(path, Answers(reference={"": "A @ B"}))
        devices = session.devices()

        def take(text: str) -> tuple[float, Version]:
            path.write_text(text, encoding="utf-8")
            began = time.perf_counter()
            version = versions.take(session, kernel_workload(path), devices, request)
            return time.perf_counter() - began, version

        first_s, _ = take(TEXTBOOK)
        timed, refused = [], []
        for number in range(arguments.edits):
            seconds, version = take(TEXTBOOK.replace(SUM, f"{SUM} // edit {number}\n"))
            if version.comparison is None:
                raise SystemExit(f"edit {number} was not measured: {version.error}")
            timed.append(seconds)
        for number in range(20):
            seconds, version = take(TEXTBOOK.replace(SUM, f"undeclared{number} = 1;"))
            if f"undeclared{number}" not in str(version.error):
                raise SystemExit(f"the message is another one: {version.error}")
            refused.append(seconds)
    print(
        json.dumps(
            {
                "first_s": first_s,
                "median_s": statistics.median(timed),
                "slowest_s": max(timed),
                "message_median_s": statistics.median(refused),
                "message_slowest_s": max(refused),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
