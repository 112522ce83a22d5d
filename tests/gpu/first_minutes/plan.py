"""Every check at first contact, the riskiest first, and where to look when it fails."""

from __future__ import annotations

from tests.gpu.first_minutes import device, jit, results, telemetry, timing
from tests.gpu.first_minutes.check import Check

_CUDA = "gpuexplorer/backends/cuda"
_NVRTC = "gpuexplorer/compile/nvrtc.py"
_DRIVER, _SESSION, _GATE, _TIMING = (
    f"{_CUDA}/{name}.py" for name in ("driver", "session", "gate", "timing")
)
_RUNNER, _KERNELS, _LIBRARY = (f"{_CUDA}/{name}.py" for name in ("runner", "kernels", "library"))
_NVML = "gpuexplorer/telemetry/nvml.py"

CHECKS = (
    Check("driver", "driver", device.driver, (_DRIVER,)),
    Check("versions", "device", device.versions,
          (f"{_CUDA}/backend.py", f"{_CUDA}/describe.py", _LIBRARY)),
    Check("compiler", "device", device.compiler, (_NVRTC, f"{_CUDA}/build.py", _GATE)),
    Check("gate opens", "session", timing.gate_opens, (_SESSION, _GATE)),
    Check("gate holds", "session", timing.gate_holds, (_GATE, _SESSION)),
    Check("empty event pairs", "session", timing.empty_pairs, (_TIMING, _SESSION)),
    Check("empty launches", "session", timing.empty_batches, (_TIMING, _GATE)),
    Check("events tell the time", "session", timing.events_tell_time, (_TIMING,)),
    Check("closing", "session", device.closing, (_SESSION, _GATE)),
    Check("naive product", "results", results.naive, (_KERNELS, _RUNNER, f"{_CUDA}/memory.py")),
    Check("69 KiB of shared memory", "results", results.large_shared, (_KERNELS, _SESSION)),
    Check("cuBLAS fp32", "results", results.cublas_fp32, (_LIBRARY, _RUNNER)),
    Check("cuBLAS fp16", "results", results.cublas_fp16, (_LIBRARY, _RUNNER)),
    Check("clock", "clock", timing.clock, (_GATE, _NVML)),
    Check("telemetry", "clock", telemetry.telemetry,
          (_NVML, "gpuexplorer/telemetry/ladder.py", "gpuexplorer/telemetry/gpm.py")),
    Check("CUPTI's records", "records", timing.recorded, (f"{_CUDA}/activity.py", _TIMING)),
    Check("wmma", "headers", results.tensor_cores, (_NVRTC,)),
    Check("PTX", "headers", jit.ptx, (_SESSION, _NVRTC, f"{_CUDA}/build.py")),
    Check("kernel time limit", "device facts", device.time_limit,
          (_DRIVER, f"{_CUDA}/describe.py")),
    Check("MIG", "device facts", device.mig, (_DRIVER, _NVML)),
    Check("own .cu", "own", results.own_kernel,
          ("gpuexplorer/engine/process.py", "gpuexplorer/measure/recipe.py",
           "gpuexplorer/measure/laboratory.py"), limit_s=60.0),
    Check("torch model", "torch", results.torch_model,
          ("gpuexplorer/backends/torch/model_runner.py", "gpuexplorer/backends/torch/clock.py",
           "gpuexplorer/backends/torch/load.py"), limit_s=45.0),
)  # fmt: skip


def by_group() -> dict[str, list[Check]]:
    """Return the checks by group, in the order of the first of each."""
    groups: dict[str, list[Check]] = {}
    for check in CHECKS:
        groups.setdefault(check.group, []).append(check)
    return groups
