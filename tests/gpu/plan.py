"""Every check of a card by its command, the riskiest first; about 28 minutes of a card's time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

OUT = "{out}"
"""Stands in an argument for the folder that takes what a check writes."""
FOLDER = "tests/gpu"
AGAINST_CUPY = "tests/backends/test_cuda_against_cupy.py"


@dataclass(frozen=True)
class Check:
    """A check: arguments for this Python, and how long they may take."""

    name: str
    limit_s: float
    arguments: tuple[str, ...]
    needs: str = ""
    """A package without which there is nothing to check."""
    figure: bool = False
    """Whether it is a run, whose document the last argument names, that belongs to the figures."""

    def command(self, python: str, out: Path) -> list[str]:
        """Return the command that runs it."""
        return [python, *(argument.replace(OUT, str(out)) for argument in self.arguments)]


def _script(name: str, limit_s: float, path: str, *arguments: str, needs: str = "") -> Check:
    return Check(name, limit_s, (path, *arguments), needs)


def _program(name: str, limit_s: float, *arguments: str, needs: str = "") -> Check:
    return Check(name, limit_s, ("-m", "gpuexplorer", *arguments), needs)


def _tests(name: str, limit_s: float, *files: str, needs: str = "") -> Check:
    """Return a process of its own for each file: a context that is lost takes no other with it."""
    options = ("-p", "no:cacheprovider", "-q", "--timeout", "120")
    report = ("--junitxml", f"{OUT}/tests-{name}.xml")
    paths = files or (f"{FOLDER}/test_gpu_{name}.py",)
    return Check(f"tests {name}", limit_s, ("-m", "pytest", *paths, *options, *report), needs)


def _run(name: str, *arguments: str) -> Check:
    options = ("--device", "cuda", "--seconds", "1", "--no-history")
    document = ("--json", f"{OUT}/run-{name}.json")
    return Check(
        f"run {name}", 60.0, ("-m", "gpuexplorer", "run", *arguments, *options, *document),
        figure=True,
    )  # fmt: skip


TORCH = "torch:cuda:0"
RISKIEST = _script("riskiest", 210, f"{FOLDER}/riskiest.py", "--json", f"{OUT}/riskiest.json")
WHICH_GPU = _script(
    "which GPU", 60, f"{FOLDER}/riskiest.py", "--only", "versions", "--json", f"{OUT}/gpu.json"
)
"""Comes before all others where the riskiest are not asked for: whose figures are they?"""
CHECKS = (
    RISKIEST,
    _program("devices", 60, "devices", "--json", f"{OUT}/devices.json"),
    _program("doctor", 60, "doctor", "--json", f"{OUT}/doctor.json"),
    _tests("device", 60),
    _tests("timing", 120),
    _tests("kernels", 240),
    _tests("faults", 180),
    _tests("telemetry", 240),
    _tests("cupy", 60, AGAINST_CUPY),
    _run("matmul-naive", "matmul", "--variant", "naive", "--size", "4096", "--block", "16x16"),
    _run("matmul-tiled", "matmul", "--variant", "tiled", "--size", "4096"),
    _run("matmul-cublas", "matmul", "--variant", "cublas", "--size", "4096"),
    _run("matmul-cublas-fp16", "matmul", "--variant", "cublas", "--size", "4096",
         "--precision", "fp16"),
    _run("matmul-cublas-bf16", "matmul", "--variant", "cublas", "--size", "4096",
         "--precision", "bf16"),
    _run("matmul-mma-bf16", "matmul", "--variant", "mma", "--size", "4096", "--precision", "bf16"),
    _run("matmul-small", "matmul", "--variant", "naive", "--size", "64", "--block", "16x16"),
    _run("matmul-small-cold", "matmul", "--variant", "naive", "--size", "64", "--block", "16x16",
         "--cache", "cold"),
    _run("copy", "stream", "--variant", "copy", "--size", "134217728"),
    _run("triad", "stream", "--variant", "triad", "--size", "134217728"),
    _run("transpose", "transpose", "--variant", "padded", "--size", "8192"),
    _run("reduction", "reduction", "--variant", "tree", "--size", "67108864"),
    _program("selftest", 300, "selftest", "--device", "cuda:0", "--json", f"{OUT}/selftest.json"),
    _tests("analysis", 120),
    _tests("torch_models", 240, needs="torch"),
    _tests("memory", 120, needs="torch"),
    _tests("own_model", 120, needs="torch"),
    _tests("statistics", 120),
    _tests("calibration", 180),
    _tests("engines", 90),
    _tests("studies", 180, needs="torch"),
    _tests("frameworks", 180),
    _script("agreement", 120, f"{FOLDER}/agreement.py", "--json", f"{OUT}/agreement.json"),
    _program("calibrate", 180, "calibrate", "--device", "cuda:0",
             "--json", f"{OUT}/ceilings.json"),
    _script("copy bandwidth", 120, "tests/bench/copy_bandwidth.py", "--device", "cuda",
            needs="torch"),
    _script("ladder", 300, "tests/bench/ladder.py", "matmul", "--size", "4096", "--device", "cuda",
            "--precision", "fp32,bf16,fp16", "--leave-out", "naive,uncoalesced", "--rounds", "6"),
    _script("memory prediction", 120, "tests/bench/memory_prediction.py", "--device", TORCH,
            needs="torch"),
    _script("A/A", 120, "tests/bench/aa.py", "--device", "cuda", "--size", "1024"),
    _script("torch.utils.benchmark", 180, "tests/bench/torch_benchmark.py", "--device", TORCH,
            "--json", f"{OUT}/torch-benchmark.json", needs="torch"),
    _program("study precision", 120, "study", "precision", "matmul", "--variant", "torch",
             "--device", TORCH, "--size", "4096", "--plot", f"{OUT}/precision.png",
             "--json", f"{OUT}/precision.json", needs="torch"),
    _program("study speedup", 120, "study", "speedup", "matmul", "--size", "32:2048:*2", "--yes",
             "--plot", f"{OUT}/speedup.png", "--json", f"{OUT}/speedup.json"),
    _program("study switches", 240, "study", "switches", "mlp_training", "--variant", "torch",
             "--device", TORCH, "--rounds", "6", "--plot", f"{OUT}/switches.png",
             "--json", f"{OUT}/switches.json", needs="torch"),
    _run("matmul-naive-32x8", "matmul", "--variant", "naive", "--size", "4096", "--block", "32x8"),
    _run("matmul-zeros", "matmul", "--variant", "cublas", "--size", "8192", "--precision", "fp16",
         "--fill", "zeros"),
    _run("matmul-normal", "matmul", "--variant", "cublas", "--size", "8192", "--precision", "fp16",
         "--fill", "normal"),
)  # fmt: skip
"""Sizes fit a card with 4 GiB."""
