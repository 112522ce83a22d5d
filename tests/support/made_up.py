"""The made-up language in tests: what of a shown text was not translated."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

from gpuexplorer.core.language import use
from tests.words.files import write_made_up
from tests.words.sentences import ROOT

_PLAIN = re.compile(r"(?<![\w.:/\\'“‘=@$-])[A-Za-z]{3,}(?![\w/\\'”’=(@:-]|\.\w)")
"""A word, and no part of a name, a path, an option or code."""
NAMES = {
    "Adam", "BLAS", "CPU", "CSV", "CUBIN", "CUDA", "Core", "CuPy", "Dask", "EPYC", "Explorer",
    "FLOP", "GPU", "GiB", "HTML", "Intel", "JAX", "JSON", "Keras", "KiB", "Linux", "MiB", "NVIDIA",
    "NVML", "NVRTC", "NumPy", "OpenCL", "PTX", "PoCL", "PyOpenCL", "PyTorch", "Python", "SHA",
    "SLURM", "SQL", "SSH", "TensorFlow", "Unix", "Windows", "clang", "cpu", "cuda", "fp16", "fp32",
    "fp64", "gcc", "gpuexplorer", "opencl", "torch",
}  # fmt: skip


@cache
def names() -> frozenset[str]:
    """Return the names that no language changes: of workloads and of what they have."""
    found = set(NAMES)
    for path in sorted((ROOT.parent / "kernels").rglob("workload.toml")):
        manifest = tomllib.loads(path.read_text(encoding="utf-8"))
        found |= {manifest["name"], *manifest["sizes"], *manifest["variants"]}
        found |= {*manifest.get("precisions", ()), *manifest.get("arrays", ())}
        for variant in manifest["variants"].values():
            found |= {*variant.get("tunables", ()), *variant.get("switches", ())}
    return frozenset(found)


def use_made_up(folder: Path) -> None:
    """Speak the made-up language, from a file in a folder."""
    path = folder / "made-up.po"
    write_made_up(path)
    use(path)


def untranslated(text: str, *others: str) -> list[str]:
    """Return the words of a shown text that were not translated, but for names."""
    known = names() | set(others)
    return [word for word in _PLAIN.findall(text) if word not in known and not word.isupper()]
