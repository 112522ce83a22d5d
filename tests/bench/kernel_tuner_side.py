"""The side of Kernel Tuner in ``tune_against_kernel_tuner.py``; runs in an environment of its own.

    KERNEL_TUNERS_PYTHON kernel_tuner_side.py WISHES.json ANSWER.json

It needs kernel_tuner with its OpenCL backend, and nothing of GPU Explorer. The wishes hold the
matrices' size, the configurations as [threads in x, threads in y, TILE], and the samples of each.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

# kernels/matmul/tiled.cu in OpenCL C, line by line. Kernel Tuner cannot hand local memory to a
# kernel, so the tiles are declared with the sizes that it defines as macros.
KERNEL = """
__kernel void matrixMulTiled(__global const float *A, __global const float *B,
                             __global float *C, int N)
{
    __local float tiles[TILE * (block_size_x + block_size_y)];
    __local float *tileA = tiles;
    __local float *tileB = tiles + get_local_size(1) * TILE;
    int width = get_local_size(0);

    int x = get_local_id(0);
    int y = get_local_id(1);
    int row = get_group_id(1) * get_local_size(1) + y;
    int col = get_group_id(0) * get_local_size(0) + x;

    float sum = 0;
    for (int start = 0; start < N; start += TILE) {
        for (int k = x; k < TILE; k += (int)get_local_size(0)) {
            bool inside = row < N && start + k < N;
            tileA[y * TILE + k] = inside ? A[row * N + start + k] : 0.0f;
        }
        for (int k = y; k < TILE; k += (int)get_local_size(1)) {
            bool inside = start + k < N && col < N;
            tileB[k * width + x] = inside ? B[(start + k) * N + col] : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        for (int k = 0; k < TILE; k++) {
            sum += tileA[y * TILE + k] * tileB[k * width + x];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < N && col < N) {
        C[row * N + col] = sum;
    }
}
"""


def main() -> int:
    """Tune by brute force and write what came of it."""
    wishes = json.loads(Path(sys.argv[1]).read_text())
    import kernel_tuner  # type: ignore[import-not-found]
    import numpy as np

    n = wishes["size"]
    legal = {tuple(place) for place in wishes["configurations"]}
    names = ("block_size_x", "block_size_y", "TILE")
    tune_params = {name: sorted({p[i] for p in legal}) for i, name in enumerate(names)}
    generator = np.random.default_rng(1)
    a = generator.standard_normal((n, n)).astype(np.float32)
    b = generator.standard_normal((n, n)).astype(np.float32)
    c = np.zeros((n, n), np.float32)

    def allowed(chosen: dict[str, Any]) -> bool:
        return tuple(chosen[name] for name in names) in legal

    began = time.perf_counter()
    results, _ = kernel_tuner.tune_kernel(
        "matrixMulTiled",
        KERNEL,
        (n, n),
        [a, b, c, np.int32(n)],
        tune_params,
        grid_div_x=["block_size_x"],
        grid_div_y=["block_size_y"],
        restrictions=allowed,
        lang="OpenCL",
        compiler_options=[wishes["option"]],
        iterations=wishes["samples"],
        strategy="brute_force",
        quiet=True,
    )
    search_s = time.perf_counter() - began
    tried = [
        {
            "configuration": [result[name] for name in names],
            "time_s": result["time"] / 1e3 if isinstance(result["time"], float) else None,
            "samples": len(result.get("times", [])),
            "compile_s": result.get("compile_time", 0.0) / 1e3,
            "measure_s": result.get("benchmark_time", 0.0) / 1e3,
        }
        for result in results
    ]
    answer = {
        "version": kernel_tuner.__version__ if hasattr(kernel_tuner, "__version__") else None,
        "search_s": search_s,
        "tried": tried,
    }
    Path(sys.argv[2]).write_text(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
